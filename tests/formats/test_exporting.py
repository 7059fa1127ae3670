"""Export in the format that a panel came from: which tasks go out, in which order, and what is said of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from repair.formats import importing
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.panel import read
from repair.text import sha256
from tests.formats import rows
from tests.support import records
from tests.support.exchange import dropped_of, export, imported, less, record, trimmed

# ---- rows


def test_several_files_of_one_object_become_an_array(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for number in (2, 1):
        rows.single(tmp_path / "rows" / f"{number}.json", [rows.classic(number)])
    export(imported(tmp_path / "rows"), tmp_path / "out.json", every=True)
    assert json.loads((tmp_path / "out.json").read_text()) == [rows.classic(1), rows.classic(2)]


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


def test_harbor_tasks_come_back_where_they_came_from(tmp_path: Path) -> None:
    rows.harbor(tmp_path / "source" / "x" / "y", 7)
    rows.harbor(tmp_path / "source" / "z", 8)
    export(imported(tmp_path / "source"), tmp_path / "out", every=True)
    assert rows.tree(tmp_path / "out") == rows.tree(tmp_path / "source")


def test_of_a_harbor_task_the_lists_change_and_the_record_is_named(tmp_path: Path) -> None:
    gone = dropped_of()
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
