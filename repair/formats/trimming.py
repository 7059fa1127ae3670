"""An imported task as an export gives it: its source with trimmed lists, and its own verifier on a trimmed copy."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import Scratch
from repair.formats import registry
from repair.formats.base import DirectoryFormat, Draft, Row, RowError, RowFormat, Wants
from repair.formats.raw import lists, parquet
from repair.formats.raw.row_files import Container
from repair.formats.source import Source
from repair.formats.source import read as read_source
from repair.model import Task, Verifier
from repair.panel.read import SOURCE, SOURCE_FOLDER

LISTS_ONLY = Wants(image_template="any", test_cmd="true")  # for a row without an image or a command
Gone = tuple[frozenset[str], frozenset[str]]  # the ids that are dropped of F2P and of P2P


def column_changes(
    known: RowFormat, gone: Gone, edit: Callable[[Any, lists.Goes], Any]
) -> dict[str, Callable[[Any], Any]]:
    """For each list column of a row the function that trims its value; empty where nothing is dropped.

    `edit` takes a value and a test of its items, and gives the value without the items that the test is true of.
    """

    def changed(ids: frozenset[str]) -> Callable[[Any], Any]:
        return lambda value: edit(value, lambda item: isinstance(item, str) and known.plain(item) in ids)

    f2p, p2p = gone
    if not f2p and not p2p:
        return {}
    return {
        **{column: changed(f2p) for column in known.f2p},
        **{column: changed(p2p) for column in known.p2p},
        **{column: changed(f2p | p2p) for column in known.also},
    }


def row_of(source: Source) -> Row:
    """The values of an imported row, by column."""
    raw = source.row()
    row: Row = parquet.values(raw) if source.container is Container.PARQUET else json.loads(raw)
    return row


def check_unchanged(task: Task, source: Source) -> tuple[str, ...]:
    """Compare an imported task with its source: the keys of task.json that differ, and the instruction if it does.

    Raises `UsageError` where the task has another name, other lists or other patches than its source. An export of the
    source would bring the old ones back.
    """
    draft, is_whole = _drafted(source)
    where = f"{SOURCE_FOLDER}/" if source.container in (Container.DIRECTORY, Container.PARQUET) else SOURCE
    # a directory without an id in its files has the name of its place, and the place of each source is `source`
    name = Path(source.file).name if draft.instance_id == source.directory.name else draft.instance_id
    if name != task.instance_id:
        raise UsageError(
            f"{task.directory} was imported as {name!r}, and what it came from still says so",
            "rename it back, remove it, or export --format native",
        )
    if (set(draft.f2p), set(draft.p2p)) != (set(task.f2p), set(task.p2p)):
        raise UsageError(
            f"{task.directory / 'task.json'} lists other ids than {where}, which it was imported from",
            "restore the lists, or export --format native",
        )
    for name, now, before in (
        ("entry.patch", task.entry_patch, draft.entry_patch),
        ("tests.patch", task.tests_patch, draft.tests_patch),
        ("oracle.patch", task.oracle_patch, draft.oracle_patch),
    ):
        if now != before:
            raise UsageError(
                f"{task.directory / name} is not the one of {where}, which it was imported from",
                "restore it, or export --format native",
            )
    return _changed_keys(task, draft, is_whole=is_whole)


def _drafted(source: Source) -> tuple[Draft, bool]:
    """The draft of a source, and whether the source alone gives it. Some rows have no command or image."""
    for wants in (Wants(), LISTS_ONLY):
        try:
            if source.container is Container.DIRECTORY:
                return registry.DIRECTORIES[source.format].draft(source.directory, wants), wants != LISTS_ONLY
            return registry.ROWS[source.format].draft(row_of(source), wants), wants != LISTS_ONLY
        except RowError as err:
            problem = err
    raise UsageError(f"{source.directory}: {problem}", "restore it from git, or import again")


def _changed_keys(task: Task, draft: Draft, *, is_whole: bool) -> tuple[str, ...]:
    """The keys of task.json, and the instruction, that differ from a draft.

    Where the draft is not whole, the keys that the user set at the import do not count.
    """
    now: dict[str, Any] = json.loads((task.directory / "task.json").read_bytes().decode("utf-8-sig"))
    before = json.loads(json.dumps({"image": draft.image, "base_commit": draft.base_commit, **draft.runtime}))
    requested = set() if is_whole else {"image", "test_cmd", "framework", "select"}
    lists_and_name = {"instance_id", "FAIL_TO_PASS", "PASS_TO_PASS"}
    keys = {key for key in {*now, *before} if now.get(key) != before.get(key)} - requested - lists_and_name
    file = task.directory / "instruction.md"
    instruction = file.read_bytes() if file.is_file() else b""
    if instruction != draft.instruction.encode("utf-8", "backslashreplace"):
        keys.add("instruction.md")
    return tuple(sorted(keys))


def stale_columns(row: Row, known: RowFormat, gone: Gone) -> tuple[str, ...]:
    """The columns of a row that drops make wrong: counts of a list that lost ids, commands that name a dropped id."""
    f2p, p2p = gone
    lists_of = ((known.f2p, f2p), (known.p2p, p2p))
    sizes = {_size(row.get(column)) for columns, ids in lists_of if ids for column in columns} - {None}
    counts = ((column, value) for column, value in row.items() if type(value) is int and _COUNT.fullmatch(column))
    naming = (name for name in _COMMANDS if any(test in str(row.get(name, "")) for test in f2p | p2p if "::" in test))
    return (*(column for column, value in counts if value in sizes), *naming)


_COMMANDS = ("eval_script", "test_cmds", "rebuild_cmds", "install_config")
_COUNT = re.compile(r"(?:n|num|number|count|len)_?(?:of_)?.*(?:pass|p2p|f2p).*", re.IGNORECASE)


def _size(value: Any) -> int | None:
    try:
        items = lists.parsed(value, "") if isinstance(value, str) else value
    except RowError:
        return None
    return len(items) if isinstance(items, list | tuple | dict) else None


def repo_of(source: Source) -> str | None:
    """The repo that an imported row names, as "owner/name"; None where it names none."""
    if source.container is Container.DIRECTORY:
        return None
    row = row_of(source)
    org, repo = row.get("org"), row.get("repo") or row.get("repo_name")
    if not isinstance(repo, str) or not repo.strip():
        return None
    return f"{org}/{repo}" if isinstance(org, str) and org and "/" not in repo else repo


def on_one_line(row: str) -> str:
    """The text of a JSON object on one line. Line ends stand between its parts only: a JSON string cannot hold one."""
    return re.sub(r"[ \t]*[\r\n][ \t\r\n]*", " ", row) if re.search(r"[\r\n]", row) else row


def copy_directory(source: Source, known: DirectoryFormat, gone: Gone, record: str | None, target: Path) -> None:
    """Copy an imported task directory to `target`, with its lists trimmed. Raises `UsageError`.

    `record`: the digest of the task's repair.json, which the copy may name; None without one.
    """
    try:
        changed = known.trimmed(source.directory, *gone, record)
    except RowError as err:
        raise UsageError(f"{source.directory}: {err}", "leave it out with -x, or export --format native") from None
    shutil.copytree(source.directory, target)
    for path, content in changed.items():
        (target / path).write_bytes(content)


def verifier_of(directory: Path, gone: Gone, kept: tuple[str, ...]) -> Verifier:
    """The own verifier of an imported task, on a trimmed copy. `kept` are the ids that stay.

    Raises `UsageError` where the task has no verifier of its own.
    """
    source = read_source(directory)
    verifier = None
    if source is not None:
        try:
            verifier = _verifier(source, gone, kept)
        except RowError as err:
            raise UsageError(f"{source.directory}: {err}", "mend it, or run without --verifier own") from None
    if verifier is None:
        raise UsageError(f"{directory.name} has no verifier of its own", "run without --verifier own")
    return verifier


def _verifier(source: Source, gone: Gone, kept: tuple[str, ...]) -> Verifier | None:
    """The own verifier of a source; None where it has none. Raises `RowError` or `UsageError`."""
    if source.container is not Container.DIRECTORY:
        rows = registry.ROWS[source.format]
        return None if rows.verifier is None else rows.verifier(row_of(source), kept)
    known = registry.DIRECTORIES[source.format]
    if known.verifier is None:
        return None
    with Scratch("copy") as folder:
        copy = folder / source.directory.parent.name
        copy_directory(source, known, gone, None, copy)
        return known.verifier(copy, kept)
