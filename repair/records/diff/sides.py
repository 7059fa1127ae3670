"""Two panels, or two states of one, from the disk or from git to a `Diff`.

Both sides are read as they are: what does not load is said of its task or side, and never ends the comparison.
A task whose files and policy are the same on both sides is examined once, and no two tasks' tables are held together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from repair.errors import RepairError, UsageError
from repair.files import read_if_there
from repair.model import ListName, Panel, Task
from repair.panel import read
from repair.panel.inputs import effective, tree_digest
from repair.panel.read import OUTCOMES, RECORD
from repair.records import gate, summary
from repair.records.check import MINT, Examined, examine
from repair.records.diff import compare as comparison
from repair.records.diff import revisions
from repair.records.diff.compare import LINK, OWN, UNREADABLE, Change, Changed, Diff, Side, State, Status, Unseen
from repair.text import inline, sha256

PLAIN = ("instruction.md", RECORD, OUTCOMES, MINT, "source.json")
FILES = ("task.json", "oracle.patch", "tests.patch", "entry.patch", *PLAIN)
TREES = ("environment", "source")
LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
MARKS = ("task.json", "oracle.patch", RECORD)  # a directory that holds one of them is meant to be a task
HERE = "working tree"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one side is: a directory, None where git has no such; `only` names the one task that is meant.

    `unseen` is what of it is not there, though it could be part of a task.
    """

    label: str
    directory: Path | None
    only: str | None = None
    unseen: tuple[Unseen, ...] = ()


@contextmanager
def places(first: Path, second: str) -> Iterator[tuple[Place, Place]]:
    """The two sides that the command line names: two directories, or two states of one by revision.

    Files of a revision are there as long as the context is. Raises `UsageError` where they are no two sides.
    """
    if not second:
        raise UsageError("B is empty", "name a directory or a revision")
    if os.path.isdir(second):  # noqa: PTH112 - a text that no path can be is no directory
        if revisions.names_commit(Path(first), second):
            # who writes a pull request could choose what it is compared with
            raise UsageError(f"{second} is a directory and a revision", f"say ./{second} or {second}^{{commit}}")
        yield _there(_place(first)), _there(_place(Path(second)))
        return
    here = _place(first)
    assert here.directory is not None
    try:
        repository = revisions.find(here.directory)
        start, end = revisions.span(repository, second)
    except UsageError as err:
        raise UsageError(f"{second} is no directory, and as a revision: {err.message}", err.next) from None
    names = second.partition("...") if "..." in second else second.partition("..")
    labels = (names[0] or "HEAD", names[2] or "HEAD") if names[1] else (second, HERE)
    if names[1] == "...":
        labels = (start[:12], labels[1])
    with revisions.panel_at(repository, start) as before:
        if end is None:
            there = here.directory if here.directory.is_dir() else None
            yield _then(labels[0], before, here.only), Place(labels[1], there, here.only)
            return
        with revisions.panel_at(repository, end) as after:
            yield _then(labels[0], before, here.only), _then(labels[1], after, here.only)


def _then(label: str, found: revisions.Snapshot | None, only: str | None) -> Place:
    """A side at a revision."""
    if found is None:
        return Place(label, None, only)
    return Place(label, found.directory, only, tuple(one for one in found.unseen if _matters(one.path, only)))


def _matters(path: str, only: str | None) -> bool:
    """Could panel.toml, a task, or a file or directory that a task is made of, be at a path in a panel?"""
    first, *rest = PurePosixPath(path).parts
    if first.startswith(".") or (only is not None and first not in (only, "panel.toml")):
        return False
    return not rest or rest[0] in (*FILES, *TREES)


def _place(path: Path) -> Place:
    """A panel, or a task in its panel."""
    is_task = read.is_there(path / "task.json", Path.is_file) and not (path / "panel.toml").exists()
    if not is_task:
        return Place(str(path), path)
    directory = Path(os.path.abspath(path))  # noqa: PTH100 - a link in a panel stays in that panel
    return Place(str(path), directory.parent, directory.name)


def _there(place: Place) -> Place:
    """A side that was named by its directory, which must then hold a panel."""
    directory = place.directory
    assert directory is not None
    if not read.is_there(directory, Path.is_dir):
        raise UsageError(f"{directory} is no directory", "name a panel")
    if not os.path.lexists(directory / "panel.toml") and not _names(directory):
        raise UsageError(f"{directory} is no panel: it has no panel.toml", "name the directory that holds panel.toml")
    return place


def compare(before: Place, after: Place) -> Diff:
    """All that differs between two sides. Raises `UsageError` where neither can be read, or one is a task alone."""
    if (before.only is None) != (after.only is None):
        raise UsageError(f"{before.label} and {after.label} are not alike", "name two panels, or two tasks")
    old, new = _open(before), _open(after)
    for panel in (old, new):
        other = new if panel is old else old
        if panel.settings is None and other.settings is None:
            raise UsageError(panel.problem or f"{panel.place.label} holds no panel", "name a directory with panel.toml")
    changed = comparison.settings(old.side(), new.side())
    defaults = _defaults(changed)
    found: tuple[list[Examined], list[Examined]] = ([], [])
    changes: list[Change] = []
    pairs = list(_pairs(old, new))
    for pair in pairs:
        change = _compare(old, new, pair, defaults, found)
        if change is not None:
            changes.append(change)
    whole = before.only is None
    sides = old.side(found[0]), new.side(found[1])
    not_compared = sum(None not in pair for pair in pairs) if old.problem or new.problem else 0
    same = len(pairs) - len(changes) - not_compared
    return Diff(*sides, changed, tuple(changes), same, whole, not_compared)


def _defaults(changed: Sequence[Changed]) -> list[Changed]:
    """What changed of [defaults], with repair's own default where a side sets none."""
    plain = Task("x", "x", (), (), b"", None, Path())
    own = {f"defaults.{key}": inline(value) for key, value in effective(plain).items()}
    return [
        replace(one, before=one.before or own.get(one.key, ""), after=one.after or own.get(one.key, ""))
        for one in changed
        if one.key.startswith("defaults.")
    ]


Pair = tuple[str | None, str | None]


def _pairs(old: _Opened, new: _Opened) -> Iterator[Pair]:
    if old.place.only is not None and new.place.only is not None and old.names and new.names:
        yield old.place.only, new.place.only
        return
    for name in sorted({*old.names, *new.names}):
        yield (name if name in old.names else None), (name if name in new.names else None)


def _compare(
    old: _Opened, new: _Opened, pair: Pair, defaults: Sequence[Changed], found: tuple[list[Examined], list[Examined]]
) -> Change | None:
    first, second = pair
    if first is not None and first == second and _same(old, new, first):
        _, examined = new.look(first)
        for known in found:
            known.extend([examined] if examined else [])
        return None
    states = []
    for panel, name, known in zip((old, new), pair, found, strict=True):
        state, examined = panel.look(name) if name is not None else (None, None)
        known.extend([examined] if examined else [])
        states.append(state)
    if (old.problem or new.problem) and None not in states:
        return None  # a panel.toml that does not load is said once, not of each task
    return comparison.task(states[0], states[1], defaults)


# ---- one side


@dataclass(frozen=True, slots=True)
class _Opened:
    """A panel as far as it can be read: without `settings` its panel.toml does not load, or it is not there."""

    place: Place
    settings: Mapping[str, Any] | None
    names: frozenset[str]
    problem: str = ""

    def side(self, found: Sequence[Examined] = ()) -> Side:
        """What there is to say of the panel itself, its gate judged by what was found."""
        if self.settings is None:
            return Side(self.place.label, problem=self.problem, absent=not self.problem, unseen=self.place.unseen)
        judged = gate.judge(found, self.settings["min_tasks"])
        return Side(
            self.place.label,
            self.settings["name"],
            self.settings["policy"],
            {key: inline(value) for key, value in self.settings["defaults"].items()},
            judged.min_tasks,
            judged.clean,
            judged.repaired,
            judged.sum,
            unreadable=len(self.names) - len(found),
            unseen=self.place.unseen,
            link=self.links("panel.toml").get("panel.toml", ""),
        )

    def links(self, *paths: str) -> dict[str, str]:
        """Those of some paths in the panel that are links, with their targets as they were committed."""
        assert self.place.directory is not None
        unseen = {one.path: one.target for one in self.place.unseen if not one.submodule}
        found = {}
        for path in paths:
            with suppress(OSError):
                found[path] = unseen.get(path) or str((self.place.directory / path).readlink())
        return found

    def task_links(self, name: str) -> dict[str, str]:
        """What of a task is a link, as keys of a state."""
        found = self.links(name, *(f"{name}/{part}" for part in (*FILES, *TREES)))
        return {LINK + (path[len(name) + 1 :] or "the directory"): target for path, target in found.items()}

    def look(self, name: str) -> tuple[State, Examined | None]:
        """One task, examined; what was examined comes back without each test's outcomes."""
        if self.settings is None or self.place.directory is None:
            return State(name, Status(UNREADABLE, why="panel.toml does not load")), None
        directory = self.place.directory / name
        try:
            task = read.load_task(directory, self.settings["defaults"])
            panel = Panel(
                self.settings["name"],
                self.place.directory,
                self.settings["policy"],
                self.settings["min_tasks"],
                (task,),
            )
            found = examine(panel, task)
            return _state(found, self.task_links(name)), replace(found, table=None, evidence=None)
        except RepairError as err:
            why = _without(self.place.directory, err.message)
            return State(name, Status(UNREADABLE, why=why), files=_raw_files(directory) | self.task_links(name)), None


def _open(place: Place) -> _Opened:
    directory = place.directory
    if directory is None:
        return _Opened(place, None, frozenset())
    names = frozenset(_names(directory))
    if place.only is not None:
        names &= {place.only}
    if not names and not os.path.lexists(directory / "panel.toml"):
        return _Opened(place, None, names)
    try:
        return _Opened(place, read.load_settings(directory), names)
    except UsageError as err:
        return _Opened(place, None, names, _without(directory, err.message))


def _names(directory: Path) -> list[str]:
    """The directories that are meant to be tasks, those that lost a file included."""
    try:
        entries = [entry for entry in os.scandir(directory) if not entry.name.startswith(".") and entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as err:
        raise UsageError(f"{directory} cannot be read: {err.strerror}", "check name and permissions") from None
    return [entry.name for entry in entries if any(os.path.lexists(f"{entry.path}/{mark}") for mark in MARKS)]


def _without(directory: Path, message: str) -> str:
    """A message that names files by their paths in the panel: a revision's are in a directory that nobody knows."""
    return message.replace(f"{directory}/", "").replace(str(directory), "the panel")


def _state(found: Examined, links: dict[str, str]) -> State:
    task, decision = found.task, found.decision
    keys = {key: inline(value) for key, value in effective(task).items() if key not in LISTS}
    if found.evidence is not None:
        keys |= {"image id": found.evidence.image.id, "image digest": found.evidence.image.digest or "null"}
        if found.evidence.verifier is not None:
            keys[OWN] = "empty {:g}, oracle {:g}".format(*found.evidence.verifier)
    return State(
        task.instance_id,
        _status(found),
        keys | links,
        task.listed(ListName.F2P),
        task.listed(ListName.P2P),
        _digests(task),
        decision,
        found.table.rows if found.table is not None else (),
    )


def _status(found: Examined) -> Status:
    """A task as the gate sees it."""
    task = summary.of_record(found)
    return Status(task.word, task.admitted, task.why, task.edited, task.f2p, task.p2p, task.dropped, task.note)


def _digests(task: Task) -> dict[str, str]:
    """Digests of a task's files; what task.json means is in its keys and lists."""
    found = dict(task.patches) | {name: read_if_there(task.directory / name) for name in PLAIN}
    digests = {name: sha256(content) for name, content in found.items() if content is not None}
    trees = {f"{name}/": tree_digest(task.directory / name) for name in TREES}
    return digests | {name: digest for name, digest in trees.items() if digest is not None}


def _raw_files(directory: Path) -> dict[str, str]:
    """Digests of a task's files where it does not load; what cannot be read counts as absent."""
    digests = {}
    for name in FILES:
        try:
            content = (directory / name).read_bytes()
        except OSError:
            continue
        digests[name] = sha256(content)
    for name in TREES:
        with suppress(UsageError):
            digest = tree_digest(directory / name)
            digests |= {} if digest is None else {f"{name}/": digest}
    return digests


def _same(old: _Opened, new: _Opened, name: str) -> bool:
    """Is a task byte for byte and link for link what it was, under the same policy and defaults?"""
    first, second = old.place.directory, new.place.directory
    if old.settings is None or new.settings is None or first is None or second is None:
        return False
    if any(old.settings[key] != new.settings[key] for key in ("policy", "defaults")):
        return False
    if old.task_links(name) != new.task_links(name):
        return False
    try:
        files = all(read_if_there(first / name / file) == read_if_there(second / name / file) for file in FILES)
        return files and all(tree_digest(first / name / tree) == tree_digest(second / name / tree) for tree in TREES)
    except UsageError:
        return False
