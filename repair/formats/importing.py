"""The import of a foreign panel: every row becomes a task or a reason why it is not a task, and the counts add up.

The panel is written next to its place, and gets its name when it is whole.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from repair.errors import EngineError, NoJUnit, RepairError, UsageError
from repair.files import new_directory, write_atomically, written
from repair.formats import registry, suspects
from repair.formats.base import Draft, RowError, Wants
from repair.formats.directories import files
from repair.formats.raw import row_files
from repair.formats.raw.row_files import Container, Item
from repair.formats.scribe import Scribe
from repair.formats.source import write as write_task
from repair.formats.suspects import Suspect
from repair.model import Policy
from repair.outcomes.frameworks import plan
from repair.panel import patches
from repair.panel.read import ATTRIBUTES, WORK
from repair.sandbox.references import spelt_out
from repair.text import capped, pretty, printable


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row or a directory is not a task.

    `place`: where it stands, such as `rows.jsonl row 3`.
    `field`: the column or file at fault; empty where none is.
    `problem`: what is wrong.
    """

    place: str
    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.field}: {self.problem}" if self.field else f"{self.place}: {self.problem}"


MAX_SHOWN = 1000  # most suspect ids of one kind that a pre-flight keeps
KEPT = f"{WORK}/import.json"  # the whole pre-flight, below a panel


@dataclass(slots=True)
class Suspected:
    """The suspect ids of one kind.

    `count`: number of ids.
    `tasks`: names of the tasks that list them, as keys.
    `ids`: the first of them, each as (task, id).
    """

    count: int = 0
    tasks: dict[str, None] = field(default_factory=dict)
    ids: list[tuple[str, str]] = field(default_factory=list)

    def add(self, task: str, test: str) -> None:
        self.count += 1
        self.tasks[task] = None
        if len(self.ids) < MAX_SHOWN:
            self.ids.append((task, test))


@dataclass(slots=True)
class Preflight:
    """What an import saw. `rows` is the sum of the tasks, the reasons and `left_out`.

    `rows`: number of rows or task directories.
    `directories`: the source holds task directories.
    `left_out`: number of rows that -i, -x or --limit left out.
    `reasons`: why the other rows are not tasks.
    `formats`: number of tasks by format.
    `f2p`, `p2p`: lengths of the two lists, a number per task.
    `suspects`: ids that look wrong, by kind.
    `no_f2p`: names of tasks without F2P ids.
    `few_p2p`: names of tasks with fewer P2P ids than the default policy asks for.
    `no_junit`: names of tasks whose command writes no JUnit, each with why.
    `notes`: names of tasks by note.
    `images`: names of tasks by image.
    `not_looked_at`: places next to the task directories that may hold more tasks.
    `missing_images`: images that the engine lacks; None where no engine answered.
    `engine`: why no engine answered; empty where one did.
    """

    rows: int = 0
    directories: bool = False
    left_out: int = 0
    reasons: list[Reason] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    f2p: list[int] = field(default_factory=list)
    p2p: list[int] = field(default_factory=list)
    suspects: dict[Suspect, Suspected] = field(default_factory=dict)
    no_f2p: list[str] = field(default_factory=list)
    few_p2p: list[str] = field(default_factory=list)
    no_junit: list[tuple[str, str]] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    images: dict[str, list[str]] = field(default_factory=dict)
    not_looked_at: list[str] = field(default_factory=list)
    missing_images: list[str] | None = None
    engine: str = ""

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.f2p)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows an import takes.

    `format`: name of the format, or auto.
    `limit`: most tasks; None means all.
    `include`: globs of instance ids, of which a row matches one; empty matches all.
    `exclude`: globs of instance ids, of which a row matches none.
    """

    format: str = registry.AUTO
    limit: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        """Whether an instance id fits the globs."""
        wanted = not self.include or any(fnmatchcase(name, glob) for glob in self.include)
        return wanted and not any(fnmatchcase(name, glob) for glob in self.exclude)


def run(source: Path, panel: Path, choice: Choice, wants: Wants) -> Preflight:
    """Import `source`, a file of rows or a directory, as the new panel `panel`.

    Raises `UsageError` where the source cannot be read at all or holds no task; then nothing is written.
    """
    registry.check_name(choice.format)
    if source.is_dir() and panel.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"{panel} lies in {source}, which is to be imported", "name a place outside")
    if files.is_there(source, "panel.toml"):
        raise UsageError(f"{source} is a panel already", f"repair run {printable(shlex.quote(str(source)))}")
    with new_directory(panel) as target, Scribe() as scribe:
        work = _Import(choice, wants, target, scribe)
        for item, tree, format_name in _items(source, choice.format, work.found):
            work.found.rows += 1
            try:
                work.take(item, tree, format_name)
            except RowError as err:
                work.found.reasons.append(Reason(item.place, err.field, err.problem))
        if not work.found.tasks:
            raise _no_task(source, work.found)
        (target / ".gitattributes").write_bytes(ATTRIBUTES)
        (target / "panel.toml").write_text(f"name = {_toml(panel.absolute().name)}\n", "utf-8")
    return work.found


def _no_task(source: Path, found: Preflight) -> UsageError:
    shown = capped(list(map(str, found.reasons)), 5)
    what = "task directories" if found.directories else "rows"
    left = [f"{found.left_out} {what} were left out by -i, -x or --limit"] if found.left_out else []
    head = f"{source} holds no task that can be imported"
    return UsageError("\n".join([head, *shown, *left]), "nothing was written")


def _toml(text: str) -> str:
    """A text as a string of TOML."""
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _items(source: Path, format_name: str, found: Preflight) -> Iterator[tuple[Item, Path | None, str]]:
    """All rows or task directories of a source: each with its directory (None for a row) and the name of a format.

    For a row that is the name that the user gave. Raises `UsageError` where the source cannot be read.
    """
    if source.is_dir():
        directory = registry.of_directory(source, format_name)
        if directory is not None:
            known, trees = directory
            found.directories = True
            found.not_looked_at = _beside(source, trees, known.name, format_name)
            for number, tree in enumerate(trees, 1):
                name = tree.relative_to(source).as_posix() if tree != source else tree.absolute().name
                yield Item(Container.DIRECTORY, name, number, b"", None), tree, known.name
            return
        paths = row_files.row_files(source) if format_name not in registry.DIRECTORIES else []
        if not paths:
            raise UsageError(f"{source} holds neither task directories nor files of rows", "see `repair import --help`")
    elif not source.exists():
        raise UsageError(f"{source} is not there", "name a file of rows or a directory")
    else:
        paths = [source]
    for file in paths:
        name = file.relative_to(source).as_posix() if file != source else file.name
        for item in row_files.rows(file, name):
            yield item, None, format_name


def _beside(source: Path, trees: Iterable[Path], name: str, asked: str) -> list[str]:
    """Files of rows, and places of another format's tasks, that lie next to the task directories of a source.

    Raises `UsageError` for tasks of another format where the user named no format.
    """
    taken, beside = frozenset(trees), []
    for place, folders, names in os.walk(source):
        folder = Path(place)
        if folder in taken:
            folders.clear()
            continue
        folders[:] = sorted(child for child in folders if not child.startswith("."))
        other = _of_another_format(folder, name)
        if other is not None:
            known, below = other
            where = folder.relative_to(source).as_posix()
            if asked == registry.AUTO:
                message = f"{source} holds tasks of {name}, and {where} in it of {known}"
                raise UsageError(message, f"import {where} by itself, and the others with --format {name}")
            beside.append((folder / below).relative_to(source).as_posix())
            folders[:] = [child for child in folders if below and child != below]
        if other is None or other[1]:
            rows = sorted(file for file in names if not file.startswith(".") and _is_of_rows(file))
            beside += [(folder / file).relative_to(source).as_posix() for file in rows]
    return beside


def _of_another_format(folder: Path, name: str) -> tuple[str, str] | None:
    """The other format that has a task or tasks in a folder, and where they lie in it; None without such a format.

    Where they lie is empty for a folder that is a task itself; else it is the folder of tasks that the format names.
    """
    for known in registry.DIRECTORIES.values():
        tasks = list(known.tasks(folder)) if known.name != name else []
        if tasks == [folder] or (tasks and known.below):
            return known.name, "" if tasks == [folder] else known.below
    return None


def _is_of_rows(file: str) -> bool:
    return file.lower().removesuffix(".gz").endswith(row_files.SUFFIXES)


@dataclass(slots=True)
class _Import:
    """One import at work.

    `choice`, `wants`: what the user asks for.
    `panel`: the directory of the new panel.
    `found`: the pre-flight so far.
    `places`: where each task came from, by its id in lower case, since some file systems do not tell cases apart.
    """

    choice: Choice
    wants: Wants
    panel: Path
    scribe: Scribe
    found: Preflight = field(default_factory=Preflight)
    places: dict[str, str] = field(default_factory=dict)

    def take(self, item: Item, tree: Path | None, format_name: str) -> None:
        """Make one row or directory a task, or count it as left out. Raises `RowError` where it is not a task."""
        if self.choice.limit is not None and self.found.tasks >= self.choice.limit:
            self.found.left_out += 1
            return
        try:
            draft, format_name = _draft(item, tree, format_name, self.wants)
            name = draft.instance_id
        except RowError:
            name = tree.absolute().name if tree is not None else str((item.row or {}).get("instance_id", ""))
            if self.choice.takes(name) or not name:
                raise
        if not self.choice.takes(name):
            self.found.left_out += 1
            return
        first = self.places.get(name.casefold())
        if first is not None:
            raise RowError("instance_id", f"{name} is that of {first}, too")
        _check_patches(draft)
        notes = write_task(self.panel, draft, format_name, item, tree, self.scribe.put)
        self.places[name.casefold()] = item.place
        self._note(draft, format_name, notes)

    def _note(self, draft: Draft, format_name: str, notes: Iterable[str]) -> None:
        """Add a task to the pre-flight. `notes` are remarks on it that its draft does not have."""
        preflight, name, runtime = self.found, draft.instance_id, draft.runtime
        preflight.formats[format_name] += 1
        preflight.f2p.append(len(draft.f2p))
        preflight.p2p.append(len(draft.p2p))
        node_ids = runtime.get("framework") == "pytest" and "id_template" not in runtime
        for suspect, test in suspects.of(draft.f2p, draft.p2p, node_ids=node_ids):
            preflight.suspects.setdefault(suspect, Suspected()).add(name, test)
        if not draft.f2p:
            preflight.no_f2p.append(name)
        if len(set(draft.p2p)) < Policy().min_p2p:
            preflight.few_p2p.append(name)
        command = runtime["test_cmd"]
        why = _no_junit(
            runtime["framework"],
            command if isinstance(command, str) else tuple(command),
            tuple(runtime.get("junit", ())),
        )
        if why:
            preflight.no_junit.append((name, why))
        for note in (*draft.notes, *notes):
            preflight.notes.setdefault(note, []).append(name)
        preflight.images.setdefault(draft.image, []).append(name)


def _draft(item: Item, tree: Path | None, format_name: str, wants: Wants) -> tuple[Draft, str]:
    """The draft of a row or directory, and the name of its format. Raises `RowError`."""
    if tree is not None:
        return registry.DIRECTORIES[format_name].draft(tree, wants), format_name
    if item.row is None:
        raise RowError("", item.problem)
    known = registry.of_row(item.row, format_name)
    return known.draft(item.row, wants), known.name


def _check_patches(draft: Draft) -> None:
    """Raise `RowError` where git can never take a diff of the draft."""
    for column, content in (
        ("patch", draft.entry_patch or draft.oracle_patch),
        ("test_patch", draft.tests_patch),
    ):
        problems = patches.problems(content) if content is not None else ()
        if problems:
            raise RowError(column, "; ".join(problems[:3]))


@lru_cache(maxsize=256)  # most rows of a panel have the same command
def _no_junit(framework: str, command: str | tuple[str, ...], junit: tuple[str, ...]) -> str:
    """Why a command writes no JUnit; empty where it does."""
    try:
        plan.plan(framework, command, junit)
    except NoJUnit as err:
        return err.message
    return ""


def look_for_images(found: Preflight, tags: Iterable[str] | EngineError) -> None:
    """Complete a pre-flight with the images that the engine lacks. `tags`: its images, or why no engine answered."""
    if isinstance(tags, RepairError):
        found.engine = tags.message
        return
    present = frozenset(tags)
    found.missing_images = sorted(image for image in found.images if spelt_out(image) not in present)


def keep(panel: Path, document: Mapping[str, Any]) -> None:
    """Write the whole pre-flight into the panel's `.repair`, which git ignores. Raises `StoreError`."""
    file = panel / KEPT
    with written(file):
        file.parent.mkdir(exist_ok=True)
        (file.parent / ".gitignore").write_text("*\n")
    write_atomically(file, f"{pretty(document)}\n".encode())


def lengths(numbers: Sequence[int]) -> Mapping[str, int | float]:
    """The smallest, the middle and the largest of some list lengths, by name."""
    median = statistics.median(numbers)
    return {"fewest": min(numbers), "median": int(median) if median == int(median) else median, "most": max(numbers)}
