"""The export of a repaired panel into the format that it came from, or into another that can hold it.

The records say which ids leave the lists; everything else stays as it came. No file that is there is replaced.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import new_directory, write_new
from repair.formats import registry
from repair.formats.base import RowError, RowFormat, Wants
from repair.formats.outgoing import Outgoing, Remarks, carried, check, differences
from repair.formats.raw import lists, parquet
from repair.formats.raw.json_text import replace_values
from repair.formats.raw.row_files import SUFFIXES, Container
from repair.formats.source import Source
from repair.formats.source import read as read_source
from repair.formats.trimming import (
    column_changes,
    copy_directory,
    on_one_line,
    row_of,
)
from repair.model import ListName, Panel, Task
from repair.panel import read
from repair.records.check import Examined, Soundness, examine
from repair.text import capped

SAME = "same"
LINES = (".jsonl", ".ndjson")  # endings of files with a row per line
SHOWN = 5  # most examples in a message
NOT_COPIED = (read.SOURCE, read.SOURCE_FOLDER, "outcomes.json", "repair.json", "task.json", "mint.json")


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did.

    `format`: name of the format.
    `tasks`: names of the tasks that went out.
    `dropped`: number of ids.
    `left_out`: each task that did not go out, with why.
    `untrimmed`: each task that went out without an admitted record, with why.
    `lost`: names of tasks by what a conversion could not carry.
    `changed`: names of tasks by key of task.json that differs from the source.
    `stale`: names of tasks by column that counts or names dropped ids.
    """

    format: str
    tasks: tuple[str, ...]
    dropped: int
    left_out: tuple[tuple[str, str], ...] = ()
    untrimmed: tuple[tuple[str, str], ...] = ()
    lost: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    stale: Mapping[str, Sequence[str]] = field(default_factory=dict)


def run(panel: Panel, target: Path, format_name: str, *, every: bool) -> Exported:
    """Write a panel's admitted tasks (with `every` all tasks) to `target`, a new file or directory.

    Raises `UsageError` where the tasks cannot go into one such format; then nothing is written.
    """
    chosen, left_out, untrimmed = [], [], []
    for task in panel.tasks:
        record = examine(panel, task)
        admitted = record.admitted
        if admitted or every:
            chosen.append(_outgoing(task, record, admitted=admitted))
            untrimmed += [] if admitted else [(task.instance_id, _why_not(record))]
        else:
            left_out.append((task.instance_id, _why_not(record)))
    if not chosen:
        raise _none_admitted(panel, left_out)
    name = _target_format(chosen, format_name)
    chosen.sort(key=lambda task: (task.source.file, task.source.number) if task.source else ("", 0))
    remarks = Remarks()
    if name in registry.ROWS:
        _rows(chosen, target, name, remarks)
    elif target.suffix.lower() in SUFFIXES:
        raise UsageError(f"{name} tasks are directories, and {target.name} is named like a file", "name a directory")
    elif name == registry.NATIVE:
        _native(panel, chosen, target)
    else:
        _directories(chosen, target, name, remarks)
    return Exported(
        name,
        tuple(task.task.instance_id for task in chosen),
        sum(task.dropped for task in chosen),
        tuple(left_out),
        tuple(untrimmed),
        remarks.lost,
        remarks.changed,
        remarks.stale,
    )


def _none_admitted(panel: Panel, left_out: Sequence[tuple[str, str]]) -> UsageError:
    shown = capped([f"{name}: {why}" for name, why in left_out], SHOWN)
    absent = any("absent" in why for _, why in left_out)
    then = "run `repair run` first, or export --all" if absent else "see `repair check`, or export --all"
    return UsageError("\n".join([f"no task of {panel.directory} is admitted", *shown]), then)


def _why_not(found: Examined) -> str:
    if found.soundness is not Soundness.SOUND or found.decision is None:
        return f"its record is {found.soundness}"
    return str(found.decision.verdict)


def _outgoing(task: Task, found: Examined, *, admitted: bool) -> Outgoing:
    dropped: dict[ListName, frozenset[str]] = {name: frozenset() for name in ListName}
    if admitted and found.decision is not None:
        for name in ListName:
            ids = (test for finding in found.decision.dropped if finding.list is name for test in finding.ids)
            dropped[name] = frozenset(ids)
    record = found.sha256 if admitted else None
    return Outgoing(task, read_source(task.directory), dropped[ListName.F2P], dropped[ListName.P2P], record)


def _target_format(chosen: Sequence[Outgoing], wanted: str) -> str:
    if wanted != SAME:
        if wanted == registry.AUTO:
            raise UsageError("there is no format auto to write", "name one, or same")
        if wanted != registry.NATIVE:
            registry.check_name(wanted)
        return wanted
    names = sorted({task.source.format if task.source else registry.NATIVE for task in chosen})
    if len(names) > 1:
        raise UsageError(
            f"the tasks come from {' and '.join(names)}", "export them apart, with -i and -x, or name --format"
        )
    return names[0]


# ---- rows


def _rows(chosen: Sequence[Outgoing], target: Path, name: str, remarks: Remarks) -> None:
    """Write tasks as rows of one file."""
    known = registry.ROWS[name]
    if all(task.source is not None and task.source.format == name for task in chosen):
        for task in chosen:
            check(task, remarks, known)
        write_new(target, _same_rows(chosen, known, target))
        return
    if known.write is None:
        raise UsageError(f"{name} cannot hold tasks of another format", "export them as they came (--format same)")
    _check_suffix(target, is_parquet=False)
    rows, refused = [], []
    for task in chosen:
        if task.source is not None and task.source.format == name:
            check(task, remarks, known)
            rows.append(_as_json(task, task.source, known))
            continue
        row, missing, wrong = _converted(task, known)
        rows.append(json.dumps(row, ensure_ascii=False))
        refused += [f"{task.task.instance_id}: {', '.join(wrong)}"] if wrong else []
        for what in (*missing, *(["the other columns of its row"] if task.source is not None else [])):
            remarks.lost.setdefault(what, []).append(task.task.instance_id)
    if refused:
        head = f"in {name} {len(refused)} of {len(chosen)} tasks would be other tasks, for what it cannot hold"
        raise UsageError("\n".join([head, *capped(refused, SHOWN)]), "leave them out with -x, or name another format")
    write_new(target, "".join(f"{row}\n" for row in rows).encode())


def _converted(task: Outgoing, known: RowFormat) -> tuple[dict[str, Any], tuple[str, ...], list[str]]:
    """A task as a row of another format, with what the row loses, and which losses make it another task."""
    assert known.write is not None
    native = carried(task)
    row, missing = known.write(native)
    try:
        back = known.draft(row, Wants())
    except RowError as err:
        return row, missing, [str(err)]
    return row, missing, differences(task, back)


def _as_json(task: Outgoing, source: Source, known: RowFormat) -> str:
    """A row that already has the target's format, as JSON: as it came, with its lists trimmed."""
    if source.container is not Container.PARQUET:
        return on_one_line(replace_values(source.row().decode(), column_changes(known, task.gone, lists.without)))
    change = column_changes(known, task.gone, lists.value_without)
    row = {column: change[column](value) if column in change else value for column, value in row_of(source).items()}
    return json.dumps(row, ensure_ascii=False, default=str)  # Parquet holds dates, too


def _same_rows(chosen: Sequence[Outgoing], known: RowFormat, target: Path) -> bytes:
    sources = [(task, task.source) for task in chosen if task.source is not None]
    containers = {source.container for _, source in sources}
    if Container.PARQUET in containers:
        if len(containers) > 1:
            raise UsageError("some tasks come from Parquet and others from JSON", "export them apart, with -i and -x")
        _check_suffix(target, is_parquet=True)
        try:
            return parquet.joined(
                (source.row(), column_changes(known, task.gone, lists.value_without)) for task, source in sources
            )
        except RowError as err:
            raise UsageError(str(err), "convert with --format to a format of JSON rows") from None
    _check_suffix(target, is_parquet=False)
    rows = [
        replace_values(source.row().decode(), column_changes(known, task.gone, lists.without))
        for task, source in sources
    ]
    if containers == {Container.LINES} or target.suffix.lower() in LINES:
        return "".join(f"{on_one_line(row)}\n" for row in rows).encode()
    if containers == {Container.OBJECT} and len(rows) == 1:
        return f"{rows[0]}\n".encode()
    return "[\n{}\n]\n".format(",\n".join(rows)).encode()


def _check_suffix(target: Path, *, is_parquet: bool) -> None:
    """Raise `UsageError` where the target's name says that it is another kind of file."""
    suffix = target.suffix.lower()
    if suffix in SUFFIXES and is_parquet != (suffix == ".parquet"):
        kind, name = ("Parquet", ".parquet") if is_parquet else ("JSON", ".jsonl or .json")
        raise UsageError(f"what goes out is {kind}, and {target.name} does not say so", f"name a file {name}")


# ---- directories


def _directories(chosen: Sequence[Outgoing], target: Path, name: str, remarks: Remarks) -> None:
    """Write task directories as they came, with trimmed lists."""
    known = registry.DIRECTORIES[name]
    foreign = [task.task.instance_id for task in chosen if task.source is None or task.source.format != name]
    if foreign:
        raise UsageError(f"{name} cannot hold tasks of another format: {', '.join(foreign[:3])}", "use --format same")
    places: dict[tuple[str, ...], Path] = {}
    for task in chosen:
        check(task, remarks)
        place = _place(task, known.below)
        if place in places:
            raise UsageError(
                f"{places[place]} and {task.task.directory} would both be {'/'.join(place)}",
                "export them apart, with -i and -x",
            )
        places[place] = task.task.directory
    inner = next((place for place in places for end in range(1, len(place)) if place[:end] in places), None)
    if inner is not None:
        raise UsageError(f"{'/'.join(inner)} would lie in another task", "export them apart, with -i and -x")
    with new_directory(target) as directory:
        for task, place in zip(chosen, places, strict=True):
            assert task.source is not None
            copy_directory(task.source, known, task.gone, task.record, directory.joinpath(*place))
            for path, content in task.source.beside.items():
                _put_beside(directory, path, content)


def _place(task: Outgoing, below: str) -> tuple[str, ...]:
    """The path of a task directory in the target: the one it had, or its name in the format's folder of tasks."""
    assert task.source is not None
    parts = _plain_parts(task.source.file, task.task.directory)
    return (below, parts[-1]) if below else parts


def _plain_parts(path: str, directory: Path) -> tuple[str, ...]:
    """The parts of a relative path. Raises `UsageError` where the path may lead out of its folder."""
    parts = tuple(path.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise UsageError(f"{directory / read.SOURCE} names {path!r}, which is no plain path", "import again")
    return parts


def _put_beside(directory: Path, path: str, content: bytes) -> None:
    """Write a file that belongs to all tasks. Raises `UsageError` where it differs between two sources."""
    file = directory.joinpath(*_plain_parts(path, directory))
    if file.exists() and file.read_bytes() != content:
        raise UsageError(
            f"the tasks come from several roots with different {path}", "export them apart, with -i and -x"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _native(panel: Panel, chosen: Sequence[Outgoing], target: Path) -> None:
    """Write a panel of native tasks with trimmed lists, and without records."""
    with new_directory(target) as directory:
        for name in ("panel.toml", ".gitattributes"):
            if (panel.directory / name).is_file():
                shutil.copy(panel.directory / name, directory / name)
        if (panel.directory / ".schemas").is_dir():  # task.json names its schema, for editors
            shutil.copytree(panel.directory / ".schemas", directory / ".schemas")
        for task in chosen:
            copy = directory / task.task.instance_id
            shutil.copytree(task.task.directory, copy, symlinks=True, ignore=_at_top(task.task.directory))
            text = read.decode(read.read_bytes(task.task.directory / "task.json"), copy / "task.json")
            dropped = {"FAIL_TO_PASS": task.dropped_f2p, "PASS_TO_PASS": task.dropped_p2p}
            change = {key: _less(ids) for key, ids in dropped.items()}
            (copy / "task.json").write_bytes(replace_values(text, change).encode())


def _at_top(directory: Path) -> Callable[[str, list[str]], Sequence[str]]:
    """For `copytree`: leave `NOT_COPIED` out at the top of a task only. `_native` writes task.json itself."""
    return lambda folder, _: NOT_COPIED if Path(folder) == directory else ()


def _less(ids: frozenset[str]) -> Callable[[str], str]:
    return lambda value: lists.without(value, ids.__contains__)
