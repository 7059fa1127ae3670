"""Export in the format that a panel came from: as it came where nothing is dropped, else the lists alone trimmed."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from repair.formats import exporting, importing
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.formats.registry import ROWS
from repair.panel import read
from repair.text import sha256
from tests.formats import rows
from tests.support import records

FORMATS = list(rows.EVERY)


def imported(source: Path, wants: Wants | None = None) -> Path:
    """The panel of a source, beside it."""
    panel = source.parent / f"{source.name}-panel"
    found = importing.run(source, panel, Choice(), wants or Wants())
    assert not found.reasons
    return panel


def record(panel: Path, gone: Collection[str] = (), *names: str) -> None:
    """Write records that drop some ids, of the named tasks or of all."""
    seen = dict.fromkeys(gone, records.MISSING)
    for task in read.load(panel).tasks:
        if not names or task.instance_id in names:
            records.write(task.directory, seen, seen)


def export(panel: Path, target: Path, format_name: str = "same", *, every: bool = False) -> exporting.Exported:
    return exporting.run(read.load(panel), target, format_name, every=every)


def gone_of(name: str) -> tuple[str, ...]:
    """Ids that the tests drop: first, middle and last, and those that are hard to write."""
    f2p, p2p = rows.listed(name)
    return f2p[1], p2p[0], *p2p[2:6], p2p[-1]


def less(value: Any, gone: Collection[str]) -> Any:
    """A list column without some ids, written as its format's publisher would write it."""
    if isinstance(value, dict):
        return {test: outcome for test, outcome in value.items() if test not in gone}
    if isinstance(value, list):
        return [test for test in value if test not in gone]
    assert isinstance(value, str)
    if value.startswith(("{", '["')):
        return json.dumps(less(json.loads(value), gone))
    return str(less(ast.literal_eval(value), gone))


def trimmed(name: str, row: rows.Row, gone: Collection[str]) -> rows.Row:
    known = ROWS[name]
    columns = {*known.f2p, *known.p2p, *known.also}
    assert columns
    return {column: less(value, gone) if column in columns else value for column, value in row.items()}


def of_parquet(file: Path) -> Any:
    from pyarrow import parquet

    return parquet.read_table(file)


# ---- rows, nothing dropped


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "all"])
def test_lines_come_back_byte_for_byte(tmp_path: Path, name: str, recorded: bool) -> None:
    build = rows.EVERY[name]
    mine = [build(number, odd="é\u2028/😀", amount=1.50, big=10**30, empty={}) for number in (3, 1, 2)]
    source = rows.jsonl(tmp_path / "rows.jsonl", mine)
    text = (
        source.read_text()
        .replace('"big": 1', '"big":\t 1')
        .replace("1.5,", "1.50e0,")
        .replace("/😀", "\\/\\ud83d\\ude00")
    )
    source.write_text(text)
    panel = imported(source)
    if recorded:
        record(panel)
    done = export(panel, tmp_path / "out.jsonl", every=not recorded)
    assert (tmp_path / "out.jsonl").read_bytes() == source.read_bytes()
    assert (done.format, len(done.tasks), done.dropped, done.lost) == (name, 3, 0, {})
    assert (done.changed, done.stale) == ({}, {})
    absent = tuple((task, "its record is absent") for task in sorted(done.tasks))
    assert done.untrimmed == (() if recorded else absent)


@pytest.mark.parametrize("name", FORMATS)
def test_the_rows_of_an_array_come_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    build = rows.EVERY[name]
    texts = [json.dumps(build(1), indent=3), json.dumps(build(2), separators=(",", ":"), ensure_ascii=False)]
    (tmp_path / "rows.json").write_text(f"[{texts[0]},\n\n{texts[1]}\n]")
    export(imported(tmp_path / "rows.json"), tmp_path / "out.json", every=True)
    assert (tmp_path / "out.json").read_text() == f"[\n{texts[0]},\n{texts[1]}\n]\n"


def test_one_object_comes_back_byte_for_byte(tmp_path: Path) -> None:
    source = rows.single(tmp_path / "row.json", [rows.classic()])
    export(imported(source), tmp_path / "out.json", every=True)
    assert (tmp_path / "out.json").read_bytes() == source.read_bytes() + b"\n"


def test_several_files_of_one_object_become_an_array(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for number in (2, 1):
        rows.single(tmp_path / "rows" / f"{number}.json", [rows.classic(number)])
    export(imported(tmp_path / "rows"), tmp_path / "out.json", every=True)
    assert json.loads((tmp_path / "out.json").read_text()) == [rows.classic(1), rows.classic(2)]


@pytest.mark.parametrize("name", FORMATS)
def test_parquet_comes_back_with_its_values_and_schema(tmp_path: Path, name: str) -> None:
    import pyarrow
    from pyarrow import parquet

    build = rows.EVERY[name]
    table = pyarrow.Table.from_pylist([build(number, amount=1.5, nothing=None) for number in (3, 1, 2)])
    table = table.append_column("kind", pyarrow.array(["a", "b", "a"]).dictionary_encode())
    table = table.append_column("small", pyarrow.array([1, 2, None], pyarrow.int8()))
    table = table.append_column("at", pyarrow.array([1, 2, 3], pyarrow.timestamp("ms", "UTC")))
    table = table.replace_schema_metadata({b"made by": b"acme"})
    parquet.write_table(table, tmp_path / "rows.parquet")
    export(imported(tmp_path / "rows.parquet"), tmp_path / "out.parquet", every=True)
    found = of_parquet(tmp_path / "out.parquet")
    assert found.schema.equals(of_parquet(tmp_path / "rows.parquet").schema, check_metadata=True)
    assert found.to_pylist() == table.to_pylist()


# ---- rows, with drops


@pytest.mark.parametrize("name", FORMATS)
def test_of_a_line_the_lists_alone_change(tmp_path: Path, name: str) -> None:
    """What comes out is what the publisher would have written of the shorter lists, to the byte."""
    mine = [rows.EVERY[name](number, odd="é/", amount=1.5) for number in (2, 1)]
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", mine))
    record(panel, gone_of(name))
    done = export(panel, tmp_path / "out.jsonl")
    wanted = rows.jsonl(tmp_path / "wanted.jsonl", [trimmed(name, row, gone_of(name)) for row in mine])
    assert (tmp_path / "out.jsonl").read_bytes() == wanted.read_bytes()
    assert (done.dropped, done.untrimmed, done.left_out) == (2 * len(gone_of(name)), (), ())


@pytest.mark.parametrize("container", ["array", "object"])
@pytest.mark.parametrize("name", FORMATS)
def test_of_other_json_the_lists_alone_change(tmp_path: Path, name: str, container: str) -> None:
    file, write = rows.CONTAINERS[container]
    row = rows.EVERY[name](odd="é/")
    panel = imported(write(tmp_path / file, [row]))
    record(panel, gone_of(name))
    export(panel, tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    wanted = trimmed(name, row, gone_of(name))
    assert found == ([wanted] if container == "array" else wanted)


@pytest.mark.parametrize("name", FORMATS)
def test_of_parquet_the_lists_alone_change(tmp_path: Path, name: str) -> None:
    mine = [rows.EVERY[name](number) for number in (2, 1)]
    source = rows.parquet(tmp_path / "rows.parquet", mine)
    panel = imported(source)
    record(panel, gone_of(name))
    export(panel, tmp_path / "out.parquet")
    found = of_parquet(tmp_path / "out.parquet")
    assert found.schema.equals(of_parquet(source).schema, check_metadata=True)
    wanted = [trimmed(name, row, gone_of(name)) for row in mine]
    assert [_without_null(row) for row in found.to_pylist()] == wanted


def _without_null(row: rows.Row) -> rows.Row:
    """Where a table holds objects by test, each row has all keys, and null for those that are not its own."""
    return {
        column: {key: item for key, item in value.items() if item is not None} if column.endswith("_tests") else value
        for column, value in row.items()
    }


A, B, C = rows.P2P[0], rows.P2P[2], rows.P2P[8]
LAYOUTS: dict[str, tuple[str, str]] = {
    "blanks": (f'[ "{A}" ,\n  "{B}",  "{C}" ]', f'[ "{A}",  "{C}" ]'),
    "the first": (f'["{B}",\n"{A}", "{C}"]', f'["{A}", "{C}"]'),
    "the last": (f'["{A}","{C}"\t,"{B}"\n]', f'["{A}","{C}"\n]'),
    "twice": (f'["{B}", "{A}", "{B}", "{C}"]', f'["{A}", "{C}"]'),
    "escapes": ('["' + A.replace("/", "\\/") + f'", "\\u0074{B[1:]}"]', '["' + A.replace("/", "\\/") + '"]'),
    "the only one": (f'["{B}"]', "[]"),
    "none": ("[ ]", "[ ]"),
    "repr": (f"['{A}', \"{B}\", '{C}']", f"['{A}', '{C}']"),
    "repr over lines": (f"['{A}',\n '''{B}''',\n '{C}',\n]", f"['{A}',\n '{C}',\n]"),
    "a tuple": (f"('{A}', \"{B}\")", f"('{A}',)"),
}


@pytest.mark.parametrize("nested", [True, False], ids=["text", "list"])
@pytest.mark.parametrize(("before", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_list_s_layout_is_kept(tmp_path: Path, before: str, after: str, nested: bool) -> None:
    """As a text in the row, and JSON's also as a list in it."""
    nested = nested or before[-1] == ")" or before[1] == "'"
    row = json.dumps(rows.classic(PASS_TO_PASS="@"))
    value, wanted = (json.dumps(text) if nested else text for text in (before, after))
    (tmp_path / "row.json").write_text(row.replace('"@"', value) + "\n")
    panel = imported(tmp_path / "row.json")
    (panel / "panel.toml").write_text("[policy]\nmin_p2p = 0\n")
    record(panel, [B])
    export(panel, tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == row.replace('"@"', wanted) + "\n"


# ---- directories


DIRECTORIES: dict[str, Callable[..., Path]] = {"harbor": rows.harbor, "swe-bench-5-repo": rows.task_repo}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_directories_come_back_file_by_file(tmp_path: Path, name: str) -> None:
    for number in (7, 8):
        tree = DIRECTORIES[name](tmp_path / "source", number, {"more/run.sh": "#!/bin/sh\n", "a.bin": b"\xff\0"})
        (tree / "more" / "run.sh").chmod(0o755)
    done = export(imported(tmp_path / "source"), tmp_path / "out", every=True)
    assert (done.changed, done.stale) == ({}, {})
    assert rows.tree(tmp_path / "out") == rows.tree(tmp_path / "source")
    scripts = list((tmp_path / "out").rglob("run.sh"))
    assert len(scripts) == 2
    assert all(script.stat().st_mode & 0o111 for script in scripts)


def test_harbor_tasks_come_back_where_they_came_from(tmp_path: Path) -> None:
    rows.harbor(tmp_path / "source" / "x" / "y", 7)
    rows.harbor(tmp_path / "source" / "z", 8)
    export(imported(tmp_path / "source"), tmp_path / "out", every=True)
    assert rows.tree(tmp_path / "out") == rows.tree(tmp_path / "source")


def test_of_a_task_repo_the_lists_alone_change(tmp_path: Path) -> None:
    rows.task_repo(tmp_path / "source")
    panel = imported(tmp_path / "source")
    record(panel, gone_of("swe-bench-5"))
    export(panel, tmp_path / "out")
    changed = changes(tmp_path / "source", tmp_path / "out")
    file = "tasks/acme__ledger-7/tests.json"
    assert list(changed) == [file]
    lists = {"FAIL_TO_PASS": list(rows.F2P), "PASS_TO_PASS": list(rows.P2P)}
    wanted = {name: less(ids, gone_of("swe-bench-5")) for name, ids in lists.items()}
    assert changed[file].decode() == json.dumps(wanted, indent=2) + "\n"


def test_of_a_harbor_task_the_lists_change_and_the_record_is_named(tmp_path: Path) -> None:
    gone = gone_of("swe-bench")
    heredoc = f"{rows.TEST_SH}cat > lists.py <<'EOF'\nP2P = {list(rows.P2P)}\nEOF\n"
    rows.harbor(tmp_path / "source", files={"tests/test.sh": heredoc})
    panel = imported(tmp_path / "source")
    record(panel, gone)
    export(panel, tmp_path / "out")
    changed = changes(tmp_path / "source", tmp_path / "out")
    task = "acme__ledger-7"
    assert sorted(changed) == [f"{task}/task.toml", f"{task}/tests/config.json", f"{task}/tests/test.sh"]
    wanted = trimmed("swe-bench", rows.classic(), gone)
    assert changed[f"{task}/tests/config.json"].decode() == json.dumps(wanted, indent=2)
    assert changed[f"{task}/tests/test.sh"].decode() == heredoc.replace(
        str(list(rows.P2P)), str(less(list(rows.P2P), gone))
    )
    settings = tomllib.loads(changed[f"{task}/task.toml"].decode())
    digest = sha256((panel / task / "repair.json").read_bytes())
    assert settings["metadata"] == {"author_name": "Acme", "repair_record": f"sha256:{digest}"}


def changes(source: Path, target: Path) -> dict[str, bytes]:
    before, after = rows.tree(source), rows.tree(target)
    assert before.keys() == after.keys()
    return {name: content for name, content in after.items() if content != before[name] and isinstance(content, bytes)}


@pytest.mark.parametrize(
    ("make", "files"),
    [
        (rows.harbor, {"task.toml": "[metadata]\n", "environment/Dockerfile": None}),
        (rows.task_repo, {"task.yaml": "instance_id: acme__ledger-7\nlog_parser: parse_log_pytest\n"}),
    ],
    ids=["harbor", "task repo"],
)
def test_what_was_imported_with_wishes_is_exported_without(
    tmp_path: Path, make: Callable[..., Path], files: dict[str, str | None]
) -> None:
    make(tmp_path / "source", files=files)
    panel = imported(tmp_path / "source", Wants("acme/{id}", "pytest"))
    export(panel, tmp_path / "out", every=True)
    assert rows.tree(tmp_path / "out") == rows.tree(tmp_path / "source")


# ---- which tasks


def mixed(tmp_path: Path) -> tuple[Path, list[rows.Row]]:
    """Rows in an order that is not their names': repaired, refused, without a record, clean, and stale."""
    mine = [rows.classic(number) for number in (5, 4, 3, 2, 1)]
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", mine))
    record(panel, [rows.P2P[3]], "acme__ledger-5")
    records.write(panel / "acme__ledger-4", {}, dict.fromkeys(rows.F2P, records.FAILED))
    record(panel, (), "acme__ledger-2", "acme__ledger-1")
    file = panel / "acme__ledger-1" / "task.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"timeout": 60}))
    return panel, mine


def test_what_is_admitted_goes_out_in_the_order_of_the_rows(tmp_path: Path) -> None:
    panel, mine = mixed(tmp_path)
    done = export(panel, tmp_path / "out.jsonl")
    assert (done.tasks, done.dropped, done.untrimmed) == (("acme__ledger-5", "acme__ledger-2"), 1, ())
    assert done.left_out == (
        ("acme__ledger-1", "its record is stale"),
        ("acme__ledger-3", "its record is absent"),
        ("acme__ledger-4", "refused"),
    )
    wanted = [trimmed("swe-bench", mine[0], [rows.P2P[3]]), mine[3]]
    assert (tmp_path / "out.jsonl").read_bytes() == rows.jsonl(tmp_path / "wanted", wanted).read_bytes()


def test_all_go_out_those_without_an_admitted_record_as_they_came(tmp_path: Path) -> None:
    panel, mine = mixed(tmp_path)
    done = export(panel, tmp_path / "out.jsonl", every=True)
    assert (len(done.tasks), done.dropped, done.left_out) == (5, 1, ())
    assert done.untrimmed == (
        ("acme__ledger-1", "its record is stale"),
        ("acme__ledger-3", "its record is absent"),
        ("acme__ledger-4", "refused"),
    )
    assert done.changed == {"timeout": ["acme__ledger-1"]}
    wanted = [trimmed("swe-bench", mine[0], [rows.P2P[3]]), *mine[1:]]
    assert (tmp_path / "out.jsonl").read_bytes() == rows.jsonl(tmp_path / "wanted", wanted).read_bytes()


def test_rows_go_out_in_the_order_of_their_files(tmp_path: Path) -> None:
    for name, numbers in (("a", (4, 3)), ("b", (2, 1))):
        (tmp_path / "rows" / name).mkdir(parents=True)
        rows.jsonl(tmp_path / "rows" / name / "rows.jsonl", [rows.classic(number) for number in numbers])
    export(imported(tmp_path / "rows"), tmp_path / "out.jsonl", every=True)
    out = (tmp_path / "out.jsonl").read_text()
    assert [json.loads(line)["instance_id"] for line in out.splitlines()] == [
        f"acme__ledger-{number}" for number in (4, 3, 2, 1)
    ]


# ---- what else there is to say


def test_counts_of_ids_that_are_dropped_are_named(tmp_path: Path) -> None:
    size = {"n_pass_to_pass": len(rows.P2P), "num_f2p": len(rows.F2P), "num_passes": -1, "is_p2p": True, "p2p": "16"}
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(1, **size), rows.classic(2, **size)]))
    record(panel, [rows.P2P[1]], "acme__ledger-1")
    record(panel, (), "acme__ledger-2")
    assert export(panel, tmp_path / "out.jsonl").stale == {"n_pass_to_pass": ["acme__ledger-1"]}


def test_a_command_that_names_a_dropped_id_is_named(tmp_path: Path) -> None:
    """pytest ends at an argument that names nothing, and so would the harness that the row goes to."""
    script = rows.five(1)["eval_script"].replace("pytest", f"pytest {rows.P2P[1]}")
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.five(1, eval_script=script), rows.five(2)]))
    record(panel, [rows.P2P[1]], "acme__ledger-1")
    record(panel, [rows.P2P[1]], "acme__ledger-2")
    assert export(panel, tmp_path / "out.jsonl").stale == {"eval_script": ["acme__ledger-1"]}


@pytest.mark.parametrize("container", rows.CONTAINERS)
def test_what_the_row_does_not_say_is_named(tmp_path: Path, container: str) -> None:
    file, write = rows.CONTAINERS[container]
    source = write(tmp_path / file, [rows.classic()])
    panel = imported(source)
    task = panel / "acme__ledger-7"
    document = json.loads((task / "task.json").read_bytes())
    (task / "task.json").write_text(json.dumps(document | {"image": "acme/other", "timeout": 60}))
    (task / "instruction.md").write_text("Mend it otherwise.\n")
    done = export(panel, tmp_path / f"out{source.suffix}", every=True)
    assert done.changed == {key: ["acme__ledger-7"] for key in ("image", "instruction.md", "timeout")}


def test_a_command_that_was_wished_for_is_not_the_row_s(tmp_path: Path) -> None:
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()]), Wants("acme/{id}", "go test ./..."))
    done = export(panel, tmp_path / "out.jsonl", every=True)
    assert set(done.changed) == {"framework", "image", "select", "test_cmd"}


# ---- what a file's name says


@pytest.mark.parametrize("container", ["array", "object", "jsonl"])
@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.JSONL", "out.json", "out"])
def test_what_goes_out_can_be_imported_whatever_its_name_is(tmp_path: Path, container: str, name: str) -> None:
    file, write = rows.CONTAINERS[container]
    row = rows.classic(amount=1.5, odd="a\n  b /é")
    export(imported(write(tmp_path / file, [row])), tmp_path / name, every=True)
    assert not importing.run(tmp_path / name, tmp_path / "again", Choice(), Wants()).reasons
    text = (tmp_path / name).read_text()
    if name not in ("out.json", "out"):
        assert (text.count("\n"), json.loads(text)) == (1, row)
    elif container != "array":
        assert json.loads(text) == row


# ---- real rows, where they are


def real_rows(shared: Path | None) -> Sequence[Path]:
    return sorted((shared / "instances").glob("*.json")) if shared else []


def test_real_rows_come_back(shared: Path | None, tmp_path: Path) -> None:
    for source in real_rows(shared):
        panel, target = tmp_path / source.stem, tmp_path / source.name
        importing.run(source, panel, Choice(), Wants())
        export(panel, target, every=True)
        assert target.read_bytes() == source.read_bytes().strip() + b"\n"


def test_of_real_rows_the_lists_alone_change(shared: Path | None, tmp_path: Path) -> None:
    for source in real_rows(shared):
        panel, target = tmp_path / source.stem, tmp_path / source.name
        importing.run(source, panel, Choice(), Wants())
        (panel / "panel.toml").write_text("[policy]\nmin_p2p = 0\n")
        (task,) = read.load(panel).tasks
        gone = {*task.p2p[::3]} - {*task.f2p}
        record(panel, gone)
        done = export(panel, target, every=True)
        before, after = json.loads(source.read_bytes()), json.loads(target.read_bytes())
        assert list(before) == list(after)
        trims = not done.untrimmed  # a row without F2P is refused
        for column, value in before.items():
            if trims and column in ("PASS_TO_PASS", "FAIL_TO_PASS"):
                ids = json.loads(value) if isinstance(value, str) else value
                kept = json.loads(after[column]) if isinstance(value, str) else after[column]
                assert (type(after[column]), kept) == (type(value), [test for test in ids if test not in gone])
            else:
                assert after[column] == value
