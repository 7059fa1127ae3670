"""What reads a stranger's bytes, as one function a reader: `TARGETS` by name.

Each takes the bytes, and a directory of its own for code that reads files; it may find there what an earlier call
left. Whatever a reader documents for bad input is taken as an answer; all else comes out, and is a bug. Where one
file says less than several, the bytes are those files with `SEPARATOR` between them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from repair.controls import workspace as controls_workspace
from repair.errors import NoEvidence, RepairError, ReportError, StoreError, UsageError
from repair.formats import importing
from repair.formats import source as formats_source
from repair.formats.base import Wants
from repair.formats.raw import row_files
from repair.outcomes import junit, lookup, plugin_log, report_files
from repair.outcomes.frameworks import plan
from repair.outcomes.frameworks.known import FRAMEWORKS
from repair.outcomes.spelling import CANDIDATES, can_be_listed, choose
from repair.panel import inputs, patches, read
from repair.records import check, documents
from repair.records.diff import touched
from repair.records.documents import outcomes_json, read_outcomes
from repair.sandbox import archive
from tests.formats import rows as rows_
from tests.support import records

Target = Callable[[bytes, Path], None]

SEPARATOR = b"\0"  # in none of the formats that are joined: JSON, JUnit, event lines, ids
FILES = 5  # at most of joined ones

TASK = "task-1"
ORACLE = b"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-a - b\n+a + b\n"
ADD = "tests/test_calc.py::test_add"
KEEP = [f"tests/test_calc.py::test_keep[{number}]" for number in range(12)]
PLAIN_PANEL = b'name = "fuzz"\n\n[policy]\nmin_p2p = 0\n'
PLAIN_TASK = json.dumps(
    {"instance_id": TASK, "image": "fuzz/none:1", "FAIL_TO_PASS": [ADD], "PASS_TO_PASS": KEEP}
).encode()


def report(data: bytes, directory: Path) -> None:
    """A JUnit report, plain or gzip, and the same as `repair parse` reads it from a file."""
    with contextlib.suppress(ReportError):
        found = junit.read(io.BytesIO(data), "report.xml")
        assert junit.read(io.BytesIO(data), "report.xml") == found
        assert set(junit.outcomes(found.cases)) == {case.id for case in found.cases if case.name}
        lookup.by_node_id(found.cases)
    file = directory / "report.xml"
    file.write_bytes(data)
    report_files.read_all([file], None)


def ids(data: bytes, directory: Path) -> None:
    """Listed ids, one a line, and the report in which they are looked up, by every template and framework."""
    lines, *rest = data.split(SEPARATOR, 1)
    file = directory / "ids"
    file.write_bytes(lines)
    try:
        listed = report_files.read_ids(file)
        cases = junit.read(io.BytesIO(*rest), "report.xml").cases
    except RepairError:
        return
    listed += [case.id for case in cases[:3]]
    assert choose(listed, cases, CANDIDATES[0]).template in CANDIDATES
    assert lookup.forward(listed, cases).keys() == set(listed)
    for framework in ("", *FRAMEWORKS):
        for template in (CANDIDATES[0], CANDIDATES[7], ("{class}.{name}", "{test}")):
            seen = lookup.of_cases(cases, template, framework)
            assert lookup.resolve(listed, seen).keys() == set(listed)
            lookup.everything(seen)
            lookup.unreadable(seen)
    all(map(can_be_listed, listed))


def events(data: bytes, directory: Path) -> None:
    """The plugin's record: the event lines of pytest's own process, then of its workers."""
    streams = [io.BytesIO(part) for part in data.split(SEPARATOR, FILES)]
    names = (plugin_log.MAIN, *(f"gw{number}" for number in range(FILES)))
    found = plugin_log.read(dict(zip(names, streams, strict=False)))
    listed = [*found.items, ADD, "tests/test_calc.py", *found.broken, *found.nofile]
    for template in ((), ("{classname}::{name}",), ("{test}",), ("{file}::{suite}::{name}",)):
        seen = lookup.of_record(found, found.outcomes, template)
        assert lookup.resolve(listed, seen).keys() == set(listed)
        lookup.everything(seen)
        lookup.unreadable(seen)


def task(data: bytes, directory: Path) -> None:
    """A task.json, and what is made of a task that loads before anything runs."""
    _load(directory, PLAIN_PANEL, data)


def panel(data: bytes, directory: Path) -> None:
    """A panel.toml over one good task."""
    _load(directory, data, PLAIN_TASK)


def _load(directory: Path, settings: bytes, document: bytes) -> None:
    where = _panel(directory)
    (where / "panel.toml").write_bytes(settings)
    (where / TASK / "task.json").write_bytes(document)
    for lists in (True, False):
        with contextlib.suppress(UsageError):
            loaded = read.load(where, lists=lists)
            (only,) = loaded.tasks
            inputs.inputs(only)
            documents.policy_digest(loaded.policy)
            with contextlib.suppress(RepairError):
                plan.plan(only.framework, only.test_cmd, only.junit)


def _panel(directory: Path) -> Path:
    where = directory / "panel"
    (where / TASK).mkdir(parents=True, exist_ok=True)
    (where / TASK / "oracle.patch").write_bytes(ORACLE)
    return where


def patch(data: bytes, directory: Path) -> None:
    """A diff: its files, its problems, and its reverse, which is of as many files."""
    files = patches.files(data)
    patches.problems(data)
    try:
        undone = patches.reverse(data)
    except UsageError:
        return
    assert len(patches.files(undone)) == len(files)
    with contextlib.suppress(UsageError):
        patches.reverse(undone)


def links(data: bytes, directory: Path) -> None:
    """A checkout's files and links, one a line as `path` or `path -> target`, and a change of all these paths."""
    root = directory / "checkout"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    names = []
    for line in os.fsdecode(data).split("\n")[:40]:
        name, arrow, target = line.partition(" -> ")
        names.append(name)
        path = root.joinpath(*(part for part in name.split("/") if part not in ("", ".", "..")))
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # what no file system takes is no checkout
            if path.parent.resolve().is_relative_to(root.resolve()):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(target) if arrow else path.touch()
    checkout = touched.read(root)
    assert set(touched.panels_of(names, checkout)) <= set(checkout.panels)


def written(data: bytes, directory: Path) -> None:
    """A task's repair.json, outcomes.json and mint.json, beside the task that they are of."""
    where = _panel(directory) / TASK
    (where.parent / "panel.toml").write_bytes(PLAIN_PANEL)
    (where / "task.json").write_bytes(PLAIN_TASK)
    for name in (read.RECORD, read.OUTCOMES, check.MINT):
        (where / name).unlink(missing_ok=True)
    for name, content in zip(
        (read.RECORD, read.OUTCOMES, check.MINT),
        data.split(SEPARATOR),
        strict=False,
    ):
        (where / name).write_bytes(content)
    loaded, only = records.load(where)
    found = check.examine(loaded, only)
    assert found.soundness is check.Soundness.SOUND or found.details


def outcomes(data: bytes, directory: Path) -> None:
    """An outcomes.json alone: what is read is written as what reads the same."""
    with contextlib.suppress(StoreError):
        evidence = read_outcomes(data)
        assert read_outcomes(outcomes_json(evidence)) == evidence


def mint(data: bytes, directory: Path) -> None:
    """A mint.json alone."""
    with contextlib.suppress(StoreError):
        check.lists_in(data)


def tar(data: bytes, directory: Path) -> None:
    """An archive out of a container; its first byte says how long the chunks are in which it comes."""
    size = 1 << (data[0] % 16) if data else 1
    with contextlib.suppress(NoEvidence, tarfile.ReadError):
        archive.first(_chunks(data[1:], size), "/out/report.xml", 1 << 16)
    into = directory / "out"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    with contextlib.suppress(NoEvidence, tarfile.ReadError):
        archive.unpack(_chunks(data[1:], size), "/out", into)
    assert all(file.is_file() and not file.is_symlink() for file in into.iterdir())


def _chunks(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def rows(data: bytes, directory: Path) -> None:
    """A file of foreign rows, by its first byte of which suffix, imported; what becomes a panel loads."""
    suffix = row_files.SUFFIXES[data[0] % len(row_files.SUFFIXES)] if data else ".jsonl"
    source, panel_ = directory / f"rows{suffix}", directory / "imported"
    source.write_bytes(data[1:])
    shutil.rmtree(panel_, ignore_errors=True)
    try:
        found = importing.run(source, panel_, importing.Choice(), Wants())
    except UsageError:
        assert not panel_.exists()
        return
    assert found.rows == found.tasks + len(found.reasons) + found.left_out
    loaded = read.load(panel_)
    assert len(loaded.tasks) == found.tasks
    assert all(formats_source.read(each.directory) is not None for each in loaded.tasks)


def harbor(data: bytes, directory: Path) -> None:
    """The files of a Harbor task directory."""
    _import_directory(data, directory, rows_.harbor, ("task.toml", "tests/config.json", "tests/test.sh"))


def task_repo(data: bytes, directory: Path) -> None:
    """The files of a task of a SWE-bench 5 task repo."""
    _import_directory(data, directory, rows_.task_repo, ("task.yaml", "tests.json", "eval.sh"))


def _import_directory(data: bytes, directory: Path, make: Callable[[Path], Path], names: Sequence[str]) -> None:
    root, panel_ = directory / "root", directory / "imported"
    for place in (root, panel_):
        shutil.rmtree(place, ignore_errors=True)
    where = make(root)
    for name, content in zip(names, data.split(SEPARATOR), strict=False):
        (where / name).write_bytes(content)
    with contextlib.suppress(UsageError):
        importing.run(root, panel_, importing.Choice(), Wants())
        assert len(read.load(panel_).tasks) == 1


def source(data: bytes, directory: Path) -> None:
    """The source.json of an imported task."""
    (directory / read.SOURCE).write_bytes(data)
    with contextlib.suppress(UsageError):
        formats_source.read(directory)


def journal(data: bytes, directory: Path) -> None:
    """An entry of the journal of observed runs: a run of which a record can be written, or nothing."""
    workspace = _workspace(directory)
    (workspace.root / "journal" / "key.json").write_bytes(data)
    found = workspace.recall("key")
    if found is not None:
        texts = [found.image, found.patch or "", *found.deadly, *found.flags, *found.template]
        texts += [seen.cause for seen in found.observed.values()]
        assert all(isinstance(text, str) for text in texts)
        assert found.exit is None or type(found.exit) is int
        workspace.note(records.load(_panel(directory) / TASK)[1], "again", found, ())
        assert workspace.recall("again") == found


@cache
def _workspace(directory: Path) -> controls_workspace.Workspace:
    where = _panel(directory)
    (where / "panel.toml").write_bytes(PLAIN_PANEL)
    (where / TASK / "task.json").write_bytes(PLAIN_TASK)
    return controls_workspace.Workspace(read.load(where), "fuzz")


TARGETS: Mapping[str, Target] = {
    function.__name__: function
    for function in (
        *(report, ids, events, task, panel, patch, links),
        *(written, outcomes, mint, tar, rows, harbor, task_repo, source, journal),
    )
}
