"""Tasks on their way out of a native panel: what each carries, and what cannot be carried."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from repair.errors import UsageError
from repair.formats.base import Carried, Draft, RowFormat
from repair.formats.rows import swebench
from repair.formats.source import Source
from repair.formats.trimming import (
    Gone,
    check_unchanged,
    repo_of,
    row_of,
    stale_columns,
)
from repair.model import ListName, Task


@dataclass(frozen=True, slots=True)
class Remarks:
    """Remarks on the tasks on their way out: the fields of `Exported` with these names."""

    lost: dict[str, list[str]] = field(default_factory=dict)
    changed: dict[str, list[str]] = field(default_factory=dict)
    stale: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One task on its way out.

    `source`: what it was imported from; None where it was not imported.
    `dropped_f2p`, `dropped_p2p`: the ids that its record drops.
    `record`: the sha256 of its repair.json; None without an admitted record.
    """

    task: Task
    source: Source | None
    dropped_f2p: frozenset[str]
    dropped_p2p: frozenset[str]
    record: str | None

    @property
    def gone(self) -> Gone:
        return self.dropped_f2p, self.dropped_p2p

    @property
    def dropped(self) -> int:
        return len(self.dropped_f2p) + len(self.dropped_p2p)

    def kept(self, name: ListName) -> tuple[str, ...]:
        """One list of task.json without the dropped ids, in its order."""
        ids, dropped = (self.task.f2p, self.dropped_f2p) if name is ListName.F2P else (self.task.p2p, self.dropped_p2p)
        return tuple(test for test in ids if test not in dropped)


def differences(task: Outgoing, back: Draft) -> list[str]:
    """The losses that make it another task: its entry state, directory, runner or ids differ when it is read back."""
    own = task.task
    default = Task("", "", (), (), b"", None, own.directory)
    differences = ["entry.patch"] if own.entry_patch is not None else []
    for key in ("workdir", "framework", "junit", "id_template"):
        value = back.runtime.get(key, getattr(default, key))
        if isinstance(getattr(own, key), tuple):
            value = (value,) if isinstance(value, str) else tuple(value)
        differences += [key] if value != getattr(own, key) else []
    return differences


def check(task: Outgoing, remarks: Remarks, known: RowFormat | None = None) -> None:
    """Raise `UsageError` where a task no longer fits its source. Note its changed keys and stale columns."""
    assert task.source is not None
    for key in check_unchanged(task.task, task.source):
        remarks.changed.setdefault(key, []).append(task.task.instance_id)
    if known is not None and task.dropped:
        for column in stale_columns(row_of(task.source), known, task.gone):
            remarks.stale.setdefault(column, []).append(task.task.instance_id)


def carried(task: Outgoing) -> Carried:
    own = task.task
    text = own.test_cmd if isinstance(own.test_cmd, str) else shlex.join(own.test_cmd)
    default = Task(own.instance_id, own.image, (), (), b"", None, own.directory)
    keys = ("junit", "id_template", "select", "env", "timeout", "cpus", "memory", "network", "user", "platform")
    others = {key for key in keys if getattr(own, key) != getattr(default, key)}
    others |= {"entry.patch"} if own.entry_patch is not None else set()
    others |= {"environment"} if (own.directory / "environment").is_dir() else set()
    try:
        instruction = (own.directory / "instruction.md").read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        instruction = ""
    return Carried(
        own.instance_id,
        own.image,
        task.kept(ListName.F2P),
        task.kept(ListName.P2P),
        _as_text(own, "oracle.patch", own.oracle_patch),
        _as_text(own, "tests.patch", own.tests_patch or b""),
        instruction,
        own.base_commit,
        own.workdir,
        own.framework,
        text.replace(' "$@"', ""),
        frozenset(others),
        (repo_of(task.source) if task.source else None) or swebench.repo_of(own.instance_id),
    )


def _as_text(task: Task, name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError(
            f"{task.directory / name} is not UTF-8, and no row can hold it", "export it as it came"
        ) from None
