"""Panels in and out: what all tests of import and export do."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from repair.formats import exporting, importing
from repair.formats import source as formats_source
from repair.formats.base import Wants
from repair.formats.importing import Choice, Preflight
from repair.model import Task
from repair.panel import read
from tests.formats import rows
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import ROWS
from tests.support import records

# What tasks may come in: a file of rows, or task directories.
EVERY = (*rows.CONTAINERS, *DIRECTORIES)


def source_of(folder: Path, kind: str, number: int = 7) -> Path:
    """A source with one task, as a row of SWE-bench in a file or as a directory, below a folder."""
    if kind in DIRECTORIES:
        DIRECTORIES[kind].make(folder / "source", number)
        return folder / "source"
    name, write = rows.CONTAINERS[kind]
    return write(folder / name, [rows.classic(number)])


def take(
    source: Path, choice: Choice | None = None, wants: Wants | None = None, name: str = "taken"
) -> tuple[Preflight, dict[str, Task]]:
    """Import next to the source; the pre-flight and the tasks of the panel as it loads."""
    panel = source.parent / name
    preflight = importing.run(source, panel, choice or Choice(), wants or Wants())
    assert preflight.rows == preflight.tasks + len(preflight.reasons) + preflight.left_out
    tasks = {task.instance_id: task for task in read.load(panel).tasks}
    assert len(tasks) == preflight.tasks
    assert sorted(path.name for path in panel.iterdir()) == sorted([*tasks, ".gitattributes", "panel.toml"])
    return preflight, tasks


def imported(source: Path, wants: Wants | None = None) -> Path:
    """The panel of a source, next to it."""
    panel = source.parent / f"{source.name}-panel"
    assert not importing.run(source, panel, Choice(), wants or Wants()).reasons
    return panel


def kept_row(directory: Path) -> bytes:
    """The row that a task remembers."""
    source = formats_source.read(directory)
    assert source is not None
    return source.row()


def record(panel: Path, dropped: Collection[str] = (), *names: str) -> None:
    """Write records that drop some ids, of the named tasks or of all."""
    outcomes = dict.fromkeys(dropped, records.MISSING)
    for task in read.load(panel).tasks:
        if not names or task.instance_id in names:
            records.write(task.directory, outcomes, outcomes)


def export(panel: Path, target: Path, format_name: str = "same", *, every: bool = False) -> exporting.Exported:
    return exporting.run(read.load(panel), target, format_name, every=every)


def only_task(panel: Path) -> Task:
    (task,) = read.load(panel).tasks
    return task


def dropped_of(f2p: Sequence[str] = rows.F2P, p2p: Sequence[str] = rows.P2P) -> tuple[str, ...]:
    """Ids that the tests drop: first, middle and last, and those that are hard to write."""
    return f2p[1], p2p[0], *p2p[2:6], p2p[-1]


def less(value: Any, dropped: Collection[str]) -> Any:
    """A list column without some ids, written as its format's publisher would write it."""
    if isinstance(value, dict):
        return {test: outcome for test, outcome in value.items() if test not in dropped}
    if isinstance(value, list):
        return [test for test in value if test not in dropped]
    assert isinstance(value, str)
    if value.startswith(("{", '["')):
        return json.dumps(less(json.loads(value), dropped))
    return str(less(ast.literal_eval(value), dropped))


def ids_of(name: str) -> tuple[str, ...]:
    """The columns of a format that hold ids."""
    sample = ROWS[name]
    return (*sample.f2p, *sample.p2p, *sample.also)


def trimmed(name: str, row: rows.Row, dropped: Collection[str]) -> rows.Row:
    """A row as its publisher would have written it of the shorter lists."""
    return {column: less(value, dropped) if column in ids_of(name) else value for column, value in row.items()}
