"""What a foreign format says of a task, in native terms, and what a format is.

A format is a value: how its rows or directories are known, what they mean, and where they hold the two lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from repair.model import Verifier

Row = Mapping[str, Any]


class RowError(Exception):
    """A row is no task: the field that is at fault, and what is wrong with it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field, self.problem = field, problem


@dataclass(frozen=True, slots=True)
class Wants:
    """What the user of an import asks for, over what the rows say.

    `image_template` is an image's name over {a column} and {id}, {id_1776}, {id_s}, {org}, {name}; `test_cmd` the
    command that runs the tests.
    """

    image_template: str | None = None
    test_cmd: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """One task as a foreign format gives it. `runtime` holds keys of task.json as JSON values.

    `entry_patch` makes the entry state of the image; `notes` are what the pre-flight says of this task.
    """

    instance_id: str
    image: str
    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    oracle_patch: bytes
    tests_patch: bytes | None = None
    entry_patch: bytes | None = None
    instruction: str = ""
    base_commit: str | None = None
    runtime: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A format whose tasks are rows.

    `f2p` and `p2p` name the columns that hold the lists, `also` those that repeat ids; `plain` makes the id of an item
    of these columns, where it is not the item itself.

    `fits` says of a row whether it is of this format, by its columns; `draft` raises `RowError`. `write` makes a row
    of a native task for a conversion, with the names of what the row cannot carry; None where nothing can. `verifier`
    makes the row's own verifier of the ids that are kept; None where the format has none.
    """

    name: str
    title: str
    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    fits: Callable[[Row], bool]
    draft: Callable[[Row, Wants], Draft]
    also: tuple[str, ...] = ()
    plain: Callable[[str], str] = str
    write: Callable[[Carried], tuple[dict[str, Any], tuple[str, ...]]] | None = None
    verifier: Callable[[Row, tuple[str, ...]], Verifier] | None = None


@dataclass(frozen=True, slots=True)
class DirectoryFormat:
    """A format whose tasks are directories.

    `tasks` gives the task directories at or below a path, empty where it is none of this format. `trimmed` gives
    the files that change (by path relative to the task's directory) when ids are dropped; `record` is the digest
    of the repair.json, or None. `verifier` makes the own verifier of a directory whose lists hold the given ids; None
    where it has none. `beside` gives the files that belong to all tasks, by path relative to the root that the format
    has, `below` the folder under that root in which the task directories are.
    """

    name: str
    title: str
    tasks: Callable[[Path], Iterable[Path]]
    draft: Callable[[Path, Wants], Draft]
    trimmed: Callable[[Path, frozenset[str], frozenset[str], str | None], Mapping[str, bytes]]
    verifier: Callable[[Path, tuple[str, ...]], Verifier | None] | None = None
    beside: Callable[[Path], Mapping[str, bytes]] = lambda _: {}
    below: str = ""


@dataclass(frozen=True, slots=True)
class Carried:
    """A native task on its way into a foreign row: its lists are the kept ones; patches as texts."""

    instance_id: str
    image: str
    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    oracle_patch: str
    tests_patch: str
    instruction: str
    base_commit: str | None
    workdir: str
    framework: str
    test_cmd: str  # as a shell text
    others: frozenset[str]  # keys of task.json that differ from their defaults, and files, beyond the above
    repo: str  # "owner/name" as the task's row says it, else by its id


# ---- reading a row


def text(row: Row, column: str, *, empty: bool = True) -> str:
    """A text column. Raises `RowError` where it is missing, no text, or empty and must not be."""
    value = row.get(column)
    if not isinstance(value, str):
        raise RowError(column, "is missing" if value is None else f"expected a text, found {type(value).__name__}")
    if not empty and not value.strip():
        raise RowError(column, "is empty")
    return value


def optional_text(row: Row, *columns: str) -> str | None:
    """The first of some columns that holds a text that is not blank; None where none does."""
    return next((row[c] for c in columns if isinstance(row.get(c), str) and row[c].strip()), None)


def patch(row: Row, column: str, *, required: bool = True) -> bytes | None:
    """A diff column as bytes, ending in a line end; None where it is blank and need not be there."""
    value = row.get(column)
    if not required and (value is None or (isinstance(value, str) and not value.strip())):
        return None
    content = text(row, column, empty=False)
    try:
        return (content if content.endswith("\n") else content + "\n").encode()
    except UnicodeEncodeError:
        raise RowError(column, "holds half a character (a lone surrogate)") from None


def instance_id(row: Row) -> str:
    return text(row, "instance_id", empty=False)


_PLACE = re.compile(r"\{(\w+)\}")


def image_of(row: Row, wants: Wants, *columns: str, default: str | None = None) -> str:
    """The image of a row: by the user's template, by the first of `columns` that says one, or by `default`."""
    template = wants.image_template
    if template is None:
        named = optional_text(row, *columns)
        if named is not None:
            return named.strip()
        template = default
    if template is None:
        raise RowError(columns[0] if columns else "image", "names no image; give --image-template")
    return fill(template, row)


def fill(template: str, row: Row) -> str:
    """A template over a row's columns and the spellings of its instance id that image names use."""
    ident = str(row.get("instance_id", ""))
    repo = str(row.get("repo", ""))
    derived = {
        "id": ident.lower(),
        "id_1776": ident.lower().replace("__", "_1776_"),
        "id_s": ident.lower().replace("__", "_s_"),
        "org": repo.partition("/")[0].lower(),
        "name": repo.rpartition("/")[2].lower(),
    }

    def value(match: re.Match[str]) -> str:
        name = match[1]
        found: object = derived.get(name, row.get(name))
        if type(found) not in (str, int) or found == "":
            raise RowError(name, f"the image template asks for it, and the row does not say it: {template}")
        return str(found)

    return _PLACE.sub(value, template)
