"""Import: what is written, which rows are taken, and what the pre-flight says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repair.errors import EngineError, UsageError
from repair.formats import importing
from repair.formats.base import Wants
from repair.formats.importing import Choice, Preflight
from repair.formats.suspects import Suspect
from repair.panel import read
from tests.formats import rows
from tests.support.exchange import kept_row, take


def reasons(found: Preflight) -> list[str]:
    return [str(reason) for reason in found.reasons]


# ---- rows


def test_nothing_else_is_written(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(7), rows.smith(8)])
    take(source, name="panel")
    assert sorted(rows.tree(tmp_path / "panel")) == [
        ".gitattributes",
        *(f"acme__ledger-7{name}" for name in ("", "/instruction.md", "/oracle.patch", "/source.json")),
        *(f"acme__ledger-7/{name}" for name in ("task.json", "tests.patch")),
        "acme__ledger.1a2b3c4d.func_basic__8",
        *(
            f"acme__ledger.1a2b3c4d.func_basic__8/{name}"
            for name in (
                *("entry.patch", "instruction.md", "oracle.patch", "source.json"),
                "task.json",
            )
        ),
        "panel.toml",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["panel", "rows.jsonl"]
    assert read.load(tmp_path / "panel").name == "panel"


@pytest.mark.parametrize("panel", ["a panel", 'p"q', "p\\n", "größe", "p😀", "-p", "p\x7f"])
def test_a_panel_of_any_name_loads(tmp_path: Path, panel: str) -> None:
    take(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()]), name=panel)
    assert read.load(tmp_path / panel).name == panel


def test_a_format_that_does_not_fit_says_which_column_is_missing(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()])
    with pytest.raises(UsageError) as found:
        take(source, Choice(format="swe-bench-live"))
    assert "rows.jsonl row 1: test_cmds: is missing" in str(found.value)


# ---- files of a directory, and task directories


def test_all_files_of_a_directory_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    (folder / "more").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    rows.single(folder / "a.json", [rows.classic(1)])
    rows.jsonl(folder / "b.jsonl", [rows.classic(2), rows.classic(3)])
    rows.parquet(folder / "more" / "c.parquet", [rows.classic(4)])
    rows.jsonl(folder / ".hidden" / "d.jsonl", [rows.classic(5)])
    (folder / "README.md").write_text("Rows.\n")
    found, tasks = take(folder)
    assert (found.rows, sorted(tasks)) == (4, [f"acme__ledger-{number}" for number in (1, 2, 3, 4)])


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "rows" / name).mkdir(parents=True)
        rows.jsonl(tmp_path / "rows" / name / "rows.jsonl", [rows.classic(1)])
    found, _ = take(tmp_path / "rows")
    assert reasons(found) == ["b/rows.jsonl row 1: instance_id: acme__ledger-1 is that of a/rows.jsonl row 1, too"]


def test_one_task_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = rows.harbor(tmp_path / "source")
    assert list(take(tree, name="../a")[1]) == ["acme__ledger-7"]
    monkeypatch.chdir(tree)
    found = importing.run(Path(), tmp_path / "b", Choice(), Wants())
    assert (found.tasks, found.reasons) == (1, [])
    assert rows.tree(tmp_path / "b" / "acme__ledger-7" / "source") == rows.tree(tree)


@pytest.mark.parametrize("within", [".", "acme__ledger-7"], ids=["of tasks", "of one task"])
def test_a_panel_within_the_directory_that_is_imported_is_refused(tmp_path: Path, within: str) -> None:
    rows.harbor(tmp_path)
    before = rows.tree(tmp_path)
    with pytest.raises(UsageError, match="lies in"):
        importing.run(tmp_path / within, tmp_path / "acme__ledger-7" / "panel", Choice(), Wants())
    assert rows.tree(tmp_path) == before


def test_a_task_that_says_its_name_is_chosen_by_it(tmp_path: Path) -> None:
    rows.task_repo(tmp_path / "source", files={"task.yaml": rows.SETTINGS.format(name="other-1")})
    assert list(take(tmp_path / "source", Choice(include=("other-*",)))[1]) == ["other-1"]


# ---- choosing


def numbered(tmp_path: Path, *more: rows.Row) -> Path:
    return rows.jsonl(tmp_path / "rows.jsonl", [*map(rows.classic, range(1, 6)), *more])


@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        (Choice(), [1, 2, 3, 4, 5]),
        (Choice(include=("*-2", "*-4")), [2, 4]),
        (Choice(include=("acme*",), exclude=("*-[1-3]",)), [4, 5]),
        (Choice(exclude=("ACME*",)), [1, 2, 3, 4, 5]),
        (Choice(limit=2), [1, 2]),
        (Choice(limit=2, exclude=("*-1",)), [2, 3]),
        (Choice(limit=9), [1, 2, 3, 4, 5]),
    ],
    ids=["all", "include", "both", "case counts", "limit", "limit of what is left", "a limit above"],
)
def test_rows_are_chosen_by_name_and_number(tmp_path: Path, choice: Choice, taken: list[int]) -> None:
    found, tasks = take(numbered(tmp_path), choice)
    assert list(tasks) == [f"acme__ledger-{number}" for number in taken]
    assert (found.rows, found.left_out, found.reasons) == (5, 5 - len(taken), [])


def test_the_limit_counts_tasks_not_rows(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(1, patch=""), *map(rows.classic, (2, 3, 4))])
    found, tasks = take(source, Choice(limit=2))
    assert list(tasks) == ["acme__ledger-2", "acme__ledger-3"]
    assert (len(found.reasons), found.left_out) == (1, 1)


def test_a_broken_row_that_is_not_wanted_is_left_out(tmp_path: Path) -> None:
    found, _ = take(numbered(tmp_path, rows.classic(9, patch="")), Choice(exclude=("*-9",)))
    assert (found.left_out, found.reasons) == (1, [])


def test_a_row_without_a_name_of_its_own_is_chosen_by_the_task_s(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.r2e(1), rows.r2e(2)])
    _, tasks = take(source, Choice(include=("ledger__000000000002",)))
    assert list(tasks) == ["ledger__000000000002"]


def test_where_all_is_left_out_nothing_is_written(tmp_path: Path) -> None:
    source = numbered(tmp_path)
    with pytest.raises(UsageError) as found:
        take(source, Choice(include=("other",)))
    assert "5 rows were left out by -i, -x or --limit" in str(found.value)
    assert list(tmp_path.iterdir()) == [source]


def line(kind: str, number: int) -> str:
    match kind:
        case "good":
            row = rows.classic(number)
        case "twice":
            row = rows.classic(0)
        case "excluded":
            row = rows.classic(number, instance_id=f"out-{number}", patch="")
        case "broken":
            row = rows.classic(number, PASS_TO_PASS="[log(")
        case "foreign":
            row = {"number": number}
        case _:
            return kind
    return json.dumps(row)


KINDS = ["good", "twice", "excluded", "broken", "foreign", '{"a": ', "[]", "7", "\t"]


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(st.sampled_from(KINDS)), st.none() | st.integers(1, 4))
def test_every_row_is_counted_once(
    tmp_path_factory: pytest.TempPathFactory, kinds: Sequence[str], limit: int | None
) -> None:
    source = tmp_path_factory.mktemp("mixed") / "rows.jsonl"
    kinds = ["good", *kinds]
    source.write_text("".join(f"{line(kind, number)}\n" for number, kind in enumerate(kinds, 1)))
    found, tasks = take(source, Choice(limit=limit, exclude=("out-*",)))
    assert found.rows == len(kinds) - kinds.count("\t")
    whole = kinds.count("good") + ("twice" in kinds)
    assert len(tasks) == (whole if limit is None else min(limit, whole))
    if limit is None:
        assert found.left_out == kinds.count("excluded")
    assert sum(found.formats.values()) == len(found.f2p) == len(found.p2p) == len(tasks)
    numbers = [int(reason.place.removeprefix("rows.jsonl row ")) for reason in found.reasons]
    assert numbers == sorted(set(numbers))
    assert all(kinds[number - 1] not in ("good", "excluded") for number in numbers)


# ---- the pre-flight


def test_suspect_ids_are_named_with_their_tasks(tmp_path: Path) -> None:
    odd = ["t.py::a[x", "/home/kim/t.py::b", "[100%]", "t.py::c", "t.py::c", "title", rows.F2P[0]]
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(1, PASS_TO_PASS=odd), rows.live(2, PASS_TO_PASS=odd)])
    found, _ = take(source)
    assert {kind: (seen.count, list(seen.tasks), seen.ids[0][1]) for kind, seen in found.suspects.items()} == {
        kind: (2, ["acme__ledger-1", "acme__ledger-2"], test)
        for kind, test in {
            Suspect.TWICE: "t.py::c",
            Suspect.BOTH: rows.F2P[0],
            Suspect.HOST_PATH: "/home/kim/t.py::b",
            Suspect.PROGRESS: "[100%]",
            Suspect.CUT: "t.py::a[x",
            Suspect.NO_NODE_ID: "title",
        }.items()
    }


def test_no_more_than_a_thousand_suspects_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    odd = [f"title {number}" for number in range(1500)]
    found, _ = take(rows.jsonl(tmp_path / "rows.jsonl", [rows.live(PASS_TO_PASS=odd)]))
    seen = found.suspects[Suspect.NO_NODE_ID]
    assert (seen.count, len(seen.ids)) == (1500, 1000)


def test_lists_are_measured_and_short_ones_named(tmp_path: Path) -> None:
    short = [*rows.P2P[:9], rows.P2P[0]]
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(1, PASS_TO_PASS=short), rows.live(2, FAIL_TO_PASS=[])])
    found, _ = take(source)
    assert (found.f2p, found.p2p, found.few_p2p) == ([3, 0], [10, len(rows.P2P)], ["acme__ledger-1"])
    assert found.no_f2p == ["acme__ledger-2"]


@pytest.mark.parametrize(
    ("numbers", "median"),
    [([5, 1, 3, 9], 4), ([0, 16], 8), ([3, 4], 3.5), ([9, 1, 4], 4), ([7], 7)],
    ids=str,
)
def test_the_middle_of_some_lengths(numbers: list[int], median: float) -> None:
    found = importing.lengths(numbers)
    assert found == {"fewest": min(numbers), "median": median, "most": max(numbers)}
    assert type(found["median"]) is type(median)


def test_a_runner_without_junit_is_named_and_imported(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(1), rows.live(2, test_cmds=["cargo test"])])
    found, tasks = take(source)
    ((name, why),) = found.no_junit
    assert (name, "cargo nextest" in why) == ("acme__ledger-2", True)
    assert len(tasks) == 2


def test_what_is_left_out_of_a_task_is_noted(tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(n, rebuild_cmds=["pip install -e ."]) for n in (1, 2)])
    assert list(take(source)[0].notes.values()) == [["acme__ledger-1", "acme__ledger-2"]]


def test_images_are_looked_for_by_their_full_name(tmp_path: Path) -> None:
    images = ["acme/a", "acme/b:2", "registry.example:5000/c"]
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(n, docker_image=i) for n, i in enumerate(images)])
    found, _ = take(source)
    importing.look_for_images(found, ["docker.io/acme/a:latest", "acme/b:1", "registry.example:5000/c:latest"])
    assert (found.missing_images, found.engine) == (["acme/b:2"], "")


def test_without_an_engine_no_image_is_called_missing(tmp_path: Path) -> None:
    found, _ = take(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()]))
    importing.look_for_images(found, EngineError("no engine here", "start one"))
    assert (found.missing_images, found.engine) == (None, "no engine here")


# ---- real rows, where they are


def test_real_rows_import_with_all_their_columns(shared: Path | None, tmp_path: Path) -> None:
    for source in sorted((shared / "instances").glob("*.json")) if shared else []:
        found = importing.run(source, tmp_path / source.stem, Choice(), Wants())
        assert (found.tasks, found.reasons) == (1, [])
        (task,) = read.load(tmp_path / source.stem).tasks
        assert kept_row(task.directory) == source.read_bytes().strip()
