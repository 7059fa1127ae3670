"""Where an imported task came from: `source.json` next to its task.json, and `source/` for what is not a JSON row.

source.json ends in the row as it came, byte for byte. `source/` holds the row of a Parquet file, or the whole task
directory. So an export can give back columns that `repair` does not use.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.formats import registry
from repair.formats.base import Draft, RowError
from repair.formats.raw.json_text import members
from repair.formats.raw.row_files import Container, Item
from repair.formats.scribe import write_directory
from repair.outcomes.spelling import MAX_ID, can_be_listed
from repair.panel.inputs import tree_digest
from repair.panel.keys import wrong_key
from repair.panel.read import SOURCE, SOURCE_FOLDER, name_problem, read_bytes
from repair.text import MAX_WIDTH, is_encodable, sha256

Put = Callable[[str, Mapping[str, bytes]], None]
SCHEMA = 1  # 1: the first
PARQUET_ROW = "row.parquet"
JSON_BLANKS = b" \t\n\r"
# What git does with a task directory that holds a file of this name, at any depth.
GIT_NOTES = {
    ".gitignore": "holds .gitignore: git leaves files of it out unless they are added with -f",
    ".gitattributes": "holds .gitattributes: git may change line ends below it, "
    "unless .git/info/attributes says `* -text` before git adds and checks out",
}


@dataclass(frozen=True, slots=True)
class Source:
    """What an imported task keeps of its source.

    `format`: the format's name.
    `container`: what the task came in.
    `file`: the file of rows or the task directory, as a path below what was imported.
    `number`: the number of the row or task directory, from 1.
    `sha256`: the digest of the row or task directory as it came, in hexadecimal.
    `directory`: the task's `source/`.
    `beside`: the content of the files that belong to all tasks of that source, by path.
    """

    format: str
    container: Container
    file: str
    number: int
    sha256: str
    directory: Path
    beside: Mapping[str, bytes] = field(default_factory=dict)

    def row(self) -> bytes:
        """The bytes of the row; for Parquet, those of a file that holds this row alone."""
        if self.container is Container.PARQUET:
            return read_bytes(self.directory / PARQUET_ROW)
        return _parts(self.directory.with_name(SOURCE))["row"].encode()


def task_document(draft: Draft) -> dict[str, Any]:
    """The task.json of a draft as a JSON object. Raises `RowError` where it would not load."""
    _check_ids("FAIL_TO_PASS", draft.f2p)
    _check_ids("PASS_TO_PASS", draft.p2p)
    document: dict[str, Any] = {"instance_id": draft.instance_id, "image": draft.image}
    if draft.base_commit is not None:
        document["base_commit"] = draft.base_commit
    document |= draft.runtime
    if not is_encodable(json.dumps(document, ensure_ascii=False)):
        key = next(key for key, value in document.items() if not is_encodable(json.dumps(value, ensure_ascii=False)))
        raise RowError(key, "holds half a character (a lone surrogate)")
    wrong = wrong_key(document)
    if wrong is not None:
        raise RowError(*wrong)
    return document | {"FAIL_TO_PASS": list(draft.f2p), "PASS_TO_PASS": list(draft.p2p)}


def _as_lines(document: Mapping[str, Any]) -> bytes:
    """ASCII JSON with one key per line. A list that is too long for a line has one item per line."""
    lines = []
    for key, value in document.items():
        text = _encode(value)
        if isinstance(value, list) and len(text) > MAX_WIDTH:
            text = "[\n  " + _encode_lines(value)[1:-1] + "\n ]"
        lines.append(f' "{key}": {text}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


_encode = json.JSONEncoder().encode
_encode_lines = json.JSONEncoder(separators=(",\n  ", ": ")).encode


def _check_ids(name: str, ids: Sequence[str]) -> None:
    """Raise `RowError` for the first id that no list may hold. A fast check of all ids as one text comes first."""
    text = "\0".join(ids)
    one_line_each = text.count("\0") == max(0, len(ids) - 1) and "\n" not in text
    if one_line_each and is_encodable(text) and all(ids) and max(map(len, ids), default=0) <= MAX_ID:
        return
    for number, test in enumerate(ids, 1):
        if not can_be_listed(test) or not is_encodable(test):
            raise RowError(name, f"id {number} is no test id of at most {MAX_ID} characters: {test[:60]!r}")


def write(
    panel: Path, draft: Draft, format_name: str, item: Item, tree: Path | None, put: Put = write_directory
) -> tuple[str, ...]:
    """Write one task with its source; notes on what git does with it. Leaves nothing where it raises `RowError`.

    `tree`: the task directory that it came from, None for a row. `put`: makes a JSON row's task, at once or later.
    """
    if problem := name_problem(draft.instance_id):
        raise RowError("instance_id", problem)
    task = _as_lines(task_document(draft))
    # the blanks around a row are not part of it: `Source.row` could not tell them from those of source.json
    raw = item.raw if item.container is Container.PARQUET else item.raw.strip(JSON_BLANKS)
    digest, notes = (sha256(raw), ()) if tree is None else _checked(tree)
    source = {
        "schema": SCHEMA,
        "format": format_name,
        "container": item.container,
        "file": item.file.encode("utf-8", "backslashreplace").decode(),
        "number": item.number,
        "sha256": digest,
    }
    if tree is not None and (shared := registry.DIRECTORIES[format_name].beside(tree)):
        source["beside"] = {path: content.decode("utf-8", "surrogateescape") for path, content in shared.items()}
    files = _files(draft, task) | {SOURCE: _as_lines(source)}
    is_json = tree is None and item.container is not Container.PARQUET
    if is_json:
        files[SOURCE] = files[SOURCE].removesuffix(b"\n}\n") + b',\n "row": ' + raw + b"\n}\n"
    directory = panel / draft.instance_id
    (put if is_json else write_directory)(str(directory), files)
    if tree is not None:
        _copy(tree, directory)
    elif not is_json:
        write_directory(str(directory / SOURCE_FOLDER), {PARQUET_ROW: raw})
    return notes


def _files(draft: Draft, task: bytes) -> dict[str, bytes]:
    """The files of a task's directory but its source, by name."""
    files = {
        "task.json": task,
        "instruction.md": draft.instruction.encode("utf-8", "backslashreplace"),
        "oracle.patch": draft.oracle_patch,
        "tests.patch": draft.tests_patch,
        "entry.patch": draft.entry_patch,
    }
    return {name: content for name, content in files.items() if content is not None}


def _copy(tree: Path, directory: Path) -> None:
    """Copy a task directory to the task's `source/`, and what builds its image to the task's environment/.

    Raises `RowError`, and then leaves nothing of the task.
    """
    try:
        shutil.copytree(tree, directory / SOURCE_FOLDER)
        if (tree / "environment" / "Dockerfile").is_file():
            shutil.copytree(tree / "environment", directory / "environment")
    except shutil.Error as err:
        shutil.rmtree(directory)
        raise RowError("", f"cannot be copied: {err.args[0][0][2]}") from None


def _checked(tree: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a task directory, and notes on what git does with its files.

    Raises `RowError` that names a path which is not a plain file, or which git cannot keep.
    """
    names = set()
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise RowError(path.relative_to(tree).as_posix(), "is a link or no plain file: put the file itself there")
        name = path.name.casefold()
        if name == ".git":
            raise RowError(
                path.relative_to(tree).as_posix(), "cannot be kept in git: remove it, or put an archive in its place"
            )
        names.add(name)
    try:
        return tree_digest(tree) or "", tuple(note for name, note in GIT_NOTES.items() if name in names)
    except UsageError as err:
        raise RowError("", err.message) from None


def read(directory: Path) -> Source | None:
    """Read the source of a task directory; None where the task was not imported.

    Raises `UsageError` where the source is not what the import wrote.
    """
    file = directory / SOURCE
    if not file.exists():
        return None
    try:
        document = {key: json.loads(text) for key, text in _parts(file).items() if key != "row"}
        if document["schema"] != SCHEMA:
            raise UsageError(f"{file} has schema {document['schema']!r}", f"this version reads {SCHEMA}")
        source = Source(
            str(document["format"]),
            Container(document["container"]),
            str(document["file"]),
            int(document["number"]),
            str(document["sha256"]),
            directory / SOURCE_FOLDER,
            {str(path): text.encode("utf-8", "surrogateescape") for path, text in document.get("beside", {}).items()},
        )
        known = registry.DIRECTORIES if source.container is Container.DIRECTORY else registry.ROWS
        if source.format not in known:
            raise UsageError(f"{file}: there is no format {source.format!r} of this kind", "was it a later version's?")
        digest = tree_digest(source.directory) if source.container is Container.DIRECTORY else sha256(source.row())
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as err:
        raise UsageError(f"{file} is not what an import wrote ({type(err).__name__}: {err})", "import again") from None
    if digest != source.sha256:
        raise UsageError(f"the source of {directory} is not what was imported", "restore it, or import again")
    return source


def _parts(file: Path) -> dict[str, str]:
    """The values of a source.json by key, each as its JSON text."""
    text = read_bytes(file).decode()
    return {key: text[slice(*span)] for key, _, span in members(text)}
