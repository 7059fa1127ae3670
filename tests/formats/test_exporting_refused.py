"""Exports that are refused, in a line that says what to do, and leave nothing behind."""

from __future__ import annotations

import errno
import json
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.formats import exporting
from repair.panel import read
from tests.conftest import ORACLE, MakeTask
from tests.formats import rows
from tests.formats.directory_samples import DIRECTORIES
from tests.support import denied
from tests.support.exchange import EVERY, export, imported, record, source_of


def refused(panel: Path, target: Path | None = None, format_name: str = "same", *, every: bool = True) -> str:
    """Why an export is refused; all is as it was afterwards."""
    before = rows.tree(panel.parent)
    with pytest.raises(UsageError) as found:
        export(panel, target or panel.parent / "out", format_name, every=every)
    assert rows.tree(panel.parent) == before
    return str(found.value)


def of_row(tmp_path: Path, **changes: Any) -> Path:
    return imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(**changes)]))


def test_without_an_admitted_task_nothing_is_written(tmp_path: Path) -> None:
    panel = of_row(tmp_path)
    assert refused(panel, every=False).splitlines() == [
        f"no task of {panel} is admitted",
        "acme__ledger-7: its record is absent; run `repair run` first, or export --all",
    ]


def test_of_many_that_are_not_admitted_some_are_named(tmp_path: Path) -> None:
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(number) for number in range(1, 8)]))
    record(panel)
    for task in read.load(panel).tasks:
        edit(task.directory / "task.json", lambda document: document.update(timeout=60))
    said = refused(panel, every=False).splitlines()
    assert said[1:] == [
        *(f"acme__ledger-{number}: its record is stale" for number in range(1, 6)),
        "and 2 more; see `repair check`, or export --all",
    ]


# ---- sources that do not go together


def test_tasks_of_several_formats(tmp_path: Path) -> None:
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(1), rows.live(2)]))
    assert refused(panel) == (
        "the tasks come from swe-bench and swe-bench-live; export them apart, with -i and -x, or name --format"
    )


def test_imported_and_native_tasks(tmp_path: Path, panel: Path, make_task: MakeTask) -> None:
    of_row(tmp_path)
    make_task("task-1")
    (tmp_path / "rows.jsonl-panel" / "acme__ledger-7").rename(panel / "acme__ledger-7")
    assert refused(panel).startswith("the tasks come from native and swe-bench; ")


def both(tmp_path: Path, *files: Path) -> Path:
    assert len({file.parent for file in files}) == 1
    panel = imported(files[0].parent)
    assert len(read.load(panel).tasks) == len(files)
    return panel


def test_rows_of_parquet_and_of_json(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    panel = both(
        tmp_path,
        rows.parquet(tmp_path / "rows" / "a.parquet", [rows.classic(1)]),
        rows.jsonl(tmp_path / "rows" / "b.jsonl", [rows.classic(2)]),
    )
    assert refused(panel).startswith("some tasks come from Parquet and others from JSON; ")


def test_parquet_of_several_schemas(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    panel = both(
        tmp_path,
        rows.parquet(tmp_path / "rows" / "a.parquet", [rows.classic(1)]),
        rows.parquet(tmp_path / "rows" / "b.parquet", [rows.classic(2, more=1)]),
    )
    assert refused(panel).startswith("the rows come from Parquet files of different schemas; ")


# ---- formats


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("swe-bunch", "there is no format swe-bunch; one of auto, swe-bench, "),
        ("auto", "there is no format auto to write"),
        ("", "there is no format "),
    ],
)
def test_a_format_that_cannot_be_written(tmp_path: Path, name: str, said: str) -> None:
    assert refused(of_row(tmp_path), format_name=name).startswith(said)


# ---- what changed since the import


def edit(file: Path, change: Callable[[Any], Any]) -> None:
    document = json.loads(file.read_bytes())
    change(document)
    file.write_text(json.dumps(document))


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "an id less": lambda task: task["PASS_TO_PASS"].pop(),
    "an id more": lambda task: task["FAIL_TO_PASS"].append("t.py::more"),
    "an id in the other list": lambda task: task["PASS_TO_PASS"].append(task["FAIL_TO_PASS"].pop()),
}


@pytest.mark.parametrize("container", EVERY)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_lists_that_were_changed_by_hand(
    tmp_path: Path, container: str, change: Callable[[dict[str, Any]], object]
) -> None:
    """Trimming the row would bring back what somebody took out."""
    panel = imported(source_of(tmp_path, container))
    task = panel / "acme__ledger-7" / "task.json"
    edit(task, change)
    said = refused(panel)
    where = "source.json" if container in ("jsonl", "array", "object") else "source/"
    assert said.startswith(f"{task} lists other ids than {where}, which it was imported from; restore the lists, or ")
    done = export(panel, tmp_path / "out", "native", every=True)
    assert done.tasks == ("acme__ledger-7",)


@pytest.mark.parametrize("file", ["oracle.patch", "tests.patch", "entry.patch"])
@pytest.mark.parametrize("container", EVERY)
def test_patches_that_were_changed_by_hand(tmp_path: Path, container: str, file: str) -> None:
    """The record would vouch for a reference that the row does not hold."""
    panel = imported(source_of(tmp_path, container))
    patch = panel / "acme__ledger-7" / file
    patch.write_bytes(ORACLE)
    record(panel)
    assert f"{patch} is not the one of source" in refused(panel, every=False)


@pytest.mark.parametrize("container", ["jsonl", *DIRECTORIES])
@pytest.mark.parametrize("keep", [True, False], ids=["copied", "renamed"])
def test_a_task_of_another_name(tmp_path: Path, container: str, keep: bool) -> None:
    panel = imported(source_of(tmp_path, container))
    shutil.copytree(panel / "acme__ledger-7", panel / "two")
    edit(panel / "two" / "task.json", lambda task: task.update(instance_id="two"))
    if not keep:
        shutil.rmtree(panel / "acme__ledger-7")
    assert refused(panel) == (
        f"{panel / 'two'} was imported as 'acme__ledger-7', and what it came from still says so; "
        "rename it back, remove it, or export --format native"
    )


def two_roots(tmp_path: Path, second: str) -> Path:
    """A panel of Harbor tasks from two imports, of which the second says that it came from `second`."""
    for number in (7, 8):
        rows.harbor(tmp_path / f"source-{number}", number)
    panel = imported(tmp_path / "source-7")
    (imported(tmp_path / "source-8") / "acme__ledger-8").rename(panel / "acme__ledger-8")
    edit(panel / "acme__ledger-8" / "source.json", lambda source: source.update(file=second))
    return panel


@pytest.mark.parametrize("path", ["..", ".", "", "/x", "a//b", "../x", "x\0y"])
def test_a_source_that_names_no_plain_path(tmp_path: Path, path: str) -> None:
    said = refused(two_roots(tmp_path, f"{path}/acme__ledger-8"))
    assert said.endswith("which is no plain path; import again")


def test_a_task_in_another_task(tmp_path: Path) -> None:
    said = refused(two_roots(tmp_path, "acme__ledger-7/acme__ledger-8"))
    assert said.startswith("acme__ledger-7/acme__ledger-8 would lie in another task; ")


def test_a_file_beside_the_tasks_may_lie_in_a_folder(tmp_path: Path) -> None:
    rows.task_repo(tmp_path / "source")
    panel = imported(tmp_path / "source")
    edit(panel / "acme__ledger-7" / "source.json", lambda source: source.update(beside={"a/b/c": "x"}))
    export(panel, tmp_path / "out", every=True)
    assert (tmp_path / "out" / "a" / "b" / "c").read_text() == "x"


def test_lists_in_another_order_are_the_same(tmp_path: Path) -> None:
    panel = of_row(tmp_path)
    edit(panel / "acme__ledger-7" / "task.json", lambda task: task["PASS_TO_PASS"].reverse())
    export(panel, tmp_path / "out.jsonl", every=True)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "rows.jsonl").read_bytes()


@pytest.mark.parametrize("format_name", ["same", "swe-bench-5", "native"])
def test_a_row_that_was_edited(tmp_path: Path, format_name: str) -> None:
    panel = of_row(tmp_path)
    edit(panel / "acme__ledger-7" / "source.json", lambda source: source["row"].update(version="1.3"))
    said = refused(panel, format_name=format_name)
    assert said == f"the source of {panel / 'acme__ledger-7'} is not what was imported; restore it, or import again"


@pytest.mark.parametrize("known", ["swe-bench-99", "harbor", "native", ""])
def test_a_source_of_a_format_that_cannot_be_its_own(tmp_path: Path, known: str) -> None:
    panel = of_row(tmp_path)
    edit(panel / "acme__ledger-7" / "source.json", lambda source: source.update(format=known))
    assert f"{panel / 'acme__ledger-7'}" in refused(panel)


# ---- where to


@pytest.mark.parametrize(
    ("container", "name", "format_name", "said"),
    [
        ("jsonl", "out.parquet", "same", "what goes out is JSON, and out.parquet does not say so; name a file .jsonl"),
        ("array", "out.Parquet", "same", "what goes out is JSON, and out.Parquet does not say so; "),
        ("parquet", "out.jsonl", "same", "what goes out is Parquet, and out.jsonl does not say so; name a file .parq"),
        ("parquet", "out.json", "same", "what goes out is Parquet, and out.json does not say so; "),
        ("parquet", "out.parquet", "swe-bench-5", "what goes out is JSON, and out.parquet does not say so; "),
        ("jsonl", "out.jsonl", "native", "native tasks are directories, and out.jsonl is named like a file; "),
    ],
)
def test_a_name_that_says_another_kind_of_file(
    tmp_path: Path, container: str, name: str, format_name: str, said: str
) -> None:
    file, write = rows.CONTAINERS[container]
    panel = imported(write(tmp_path / file, [rows.classic()]))
    assert refused(panel, tmp_path / name, format_name).startswith(said)


@pytest.mark.parametrize("format_name", ["same", "swe-bench-5", "native"])
@pytest.mark.parametrize("what", ["file", "directory", "link", "broken link"])
def test_nothing_that_is_there_is_replaced(tmp_path: Path, what: str, format_name: str) -> None:
    panel = of_row(tmp_path)
    target = tmp_path / "target"
    match what:
        case "file":
            target.write_text("mine")
        case "directory":
            target.mkdir()
            (target / "mine").write_text("")
        case "link":
            target.symlink_to("rows.jsonl")
        case _:
            target.symlink_to("nowhere")
    assert refused(panel, target, format_name).startswith(f"{target} is there already; name a ")


@pytest.mark.parametrize("format_name", ["same", "native"])
def test_folders_above_are_made(tmp_path: Path, format_name: str) -> None:
    export(of_row(tmp_path), tmp_path / "a" / "b" / "out", format_name, every=True)
    assert (tmp_path / "a" / "b" / "out").exists()


@pytest.mark.parametrize("name", DIRECTORIES)
def test_directories_that_cannot_be_exported_leave_no_folder(tmp_path: Path, name: str) -> None:
    panel = imported(source_of(tmp_path, name))
    edit(panel / "acme__ledger-7" / "task.json", lambda task: task["PASS_TO_PASS"].pop())
    refused(panel, tmp_path / "deep" / "er" / "out")


def test_a_verifier_that_cannot_be_trimmed_is_named(tmp_path: Path) -> None:
    gone = rows.P2P[3]
    rows.harbor(tmp_path / "source", files={"tests/test.sh": f"{rows.TEST_SH}check '{gone}'\n"})
    panel = imported(tmp_path / "source")
    record(panel, [gone])
    said = refused(panel, every=False)
    assert said.startswith(f"{panel / 'acme__ledger-7' / 'source'}: tests/test.sh: still lists ")
    assert said.endswith("leave it out with -x, or export --format native")


def _export(panel: str, target: str, format_name: str) -> None:
    exporting.run(read.load(Path(panel)), Path(target), format_name, every=True)


if sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}:

    @pytest.mark.parametrize(
        ("format_name", "call"), [("same", "fsync"), ("same", "rename"), ("swe-bench-5", "fsync"), ("native", "rename")]
    )
    def test_on_a_full_disk_nothing_half_written_stays(tmp_path: Path, format_name: str, call: str) -> None:
        panel = of_row(tmp_path)
        before = rows.tree(tmp_path)
        arguments = str(panel), str(tmp_path / "out"), format_name
        said = denied.call(_export, *arguments, calls={call: errno.ENOSPC})
        assert said.startswith("DiskFull: no space left")
        assert rows.tree(tmp_path) == before
