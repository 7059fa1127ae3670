"""What a format of foreign panels is, and what it gives for each task.

A format is a value. It says how to recognise its rows or directories, what they mean, and where the two lists are.
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
    """A row or a task directory is not a task.

    `field`: the column or file at fault; empty where none is.
    `problem`: what is wrong with it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field, self.problem = field, problem


@dataclass(frozen=True, slots=True)
class Wants:
    """What the user of an import sets in place of what the rows say. None leaves it to the rows.

    `image_template`: an image's name over {a column} and {id}, {id_1776}, {id_s}, {org}, {name}.
    `test_cmd`: the shell command that runs the tests.
    """

    image_template: str | None = None
    test_cmd: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """One task as a foreign format gives it.

    `instance_id`: its name.
    `image`: its image's name.
    `f2p`, `p2p`: the ids of the two lists, in the order of the source.
    `oracle_patch`: the reference diff.
    `tests_patch`: the hidden tests' diff; None where no diff brings them in.
    `entry_patch`: the diff that makes the entry state of the image; None where the image is in that state.
    `instruction`: what the solver sees.
    `base_commit`: the commit that the image holds, for people; None where the source does not say.
    `runtime`: more keys of task.json, as JSON values.
    `notes`: what the pre-flight says of this task.
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

    `name`: its name on the command line.
    `title`: its name in prose.
    `f2p`, `p2p`: names of the columns that hold the lists.
    `fits`: tells by a row's columns whether it is of this format.
    `draft`: makes a task of a row; raises `RowError`.
    `also`: names of further columns that repeat ids of the lists.
    `plain`: makes the id of an item of these columns.
    `write`: makes a row of a native task, and the names of what the row cannot carry. None where the format takes no
    native tasks.
    `verifier`: makes a row's own verifier on the ids that are kept; None where the format has none.
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

    `name`: its name on the command line.
    `title`: its name in prose.
    `tasks`: finds the task directories at or below a path; empty where none is of this format.
    `draft`: makes a task of a directory; raises `RowError`.
    `trimmed`: makes the files that change, by path below the directory. It takes a directory, the dropped F2P and P2P
    ids, and the digest of the repair.json (None without one); raises `RowError`.
    `verifier`: makes the own verifier of a directory whose lists hold the given ids, or None where the directory has
    none; raises `RowError`. None where the format has none.
    `beside`: reads the files that belong to all tasks, by path below the root of the format.
    `below`: the folder below that root which holds the task directories; empty where the format has no such folder.
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
    """A native task on its way into a foreign row.

    `instance_id`: its name.
    `image`: its image's name.
    `f2p`, `p2p`: the ids that are kept.
    `oracle_patch`, `tests_patch`: the diffs as texts; empty where there is none.
    `instruction`: what the solver sees.
    `base_commit`: the commit that the image holds; None where it is not known.
    `workdir`: where the tests run, in the image.
    `framework`: the test runner.
    `test_cmd`: the command that runs the tests, as a shell text.
    `others`: keys of task.json that differ from their defaults, and files, that are not among these fields.
    `repo`: "owner/name", from the task's row or else from its id.
    """

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
    test_cmd: str
    others: frozenset[str]
    repo: str


# ---- reading a row


def text(row: Row, column: str, *, empty: bool = True) -> str:
    """The text of a column. Raises `RowError` where it is missing or not a text, or blank and not to be `empty`."""
    value = row.get(column)
    if not isinstance(value, str):
        raise RowError(column, "is missing" if value is None else f"expected a text, found {type(value).__name__}")
    if not empty and not value.strip():
        raise RowError(column, "is empty")
    return value


def optional_text(row: Row, *columns: str) -> str | None:
    """The first text of these columns that is not blank; None where no column holds one."""
    return next((row[c] for c in columns if isinstance(row.get(c), str) and row[c].strip()), None)


def patch(row: Row, column: str, *, required: bool = True) -> bytes | None:
    """The diff of a column as bytes that end in a newline. Raises `RowError` where the column is no such text.

    Where the diff is not `required`, None for a column that is missing or blank.
    """
    value = row.get(column)
    if not required and (value is None or (isinstance(value, str) and not value.strip())):
        return None
    content = text(row, column, empty=False)
    try:
        return (content if content.endswith("\n") else content + "\n").encode()
    except UnicodeEncodeError:
        raise RowError(column, "holds half a character (a lone surrogate)") from None


def instance_id(row: Row) -> str:
    """The name of a row's task. Raises `RowError` where the row has none."""
    return text(row, "instance_id", empty=False)


_PLACE = re.compile(r"\{(\w+)\}")


def image_of(row: Row, wants: Wants, *columns: str, default: str | None = None) -> str:
    """The name of a row's image: by the user's template, else from the first of `columns` that has a text.

    `default` is the template where no column has one. Raises `RowError` where no name comes of it.
    """
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
    """Fill in a template over a row's columns, and over the forms of its id and repo that image names use.

    Raises `RowError` for a place that the row does not fill.
    """
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
        item: object = derived.get(name, row.get(name))
        if type(item) not in (str, int) or item == "":
            raise RowError(name, f"the image template asks for it, and the row does not say it: {template}")
        return str(item)

    return _PLACE.sub(value, template)
