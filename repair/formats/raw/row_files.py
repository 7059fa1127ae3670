"""Rows from files of JSON, JSON lines and Parquet, one at a time, each with its bytes as they came.

JSON lines stream, however long the file is. A row that cannot be read is an item with a problem, so that an import
reports it. A file of another kind is a `UsageError`.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from repair.errors import UsageError
from repair.formats.raw.json_text import elements
from repair.text import cut

MAX_ROW = 256 << 20  # bytes of a line of JSON lines
MAX_JSON = 2 << 30  # bytes of a JSON file, which memory has to hold as a whole
SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")
OF_ROWS = ("instance_id", "patch", "fix_patch", "parsed_commit_content")  # each row has one of these columns


class Container(StrEnum):
    """What a task came in."""

    LINES = "jsonl"
    ARRAY = "json"
    OBJECT = "object"  # a JSON file that is one row
    PARQUET = "parquet"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class Item:
    """One row or task directory.

    `container`: what it came in.
    `file`: name of the file or directory.
    `number`: which row it is, from 1; of JSON lines, the line.
    `raw`: the bytes of the row as they came; for Parquet, a file of this row alone. Empty for a directory.
    `row`: its values by column; None where it cannot be read, and for a directory.
    `problem`: why it cannot be read; empty where it can.
    """

    container: Container
    file: str
    number: int
    raw: bytes
    row: Mapping[str, Any] | None
    problem: str = ""

    @property
    def place(self) -> str:
        """Where it stands, such as `rows.jsonl row 3`."""
        alone = self.container in (Container.OBJECT, Container.DIRECTORY)
        return self.file if alone else f"{self.file} row {self.number}"


def rows(file: Path, name: str) -> Iterator[Item]:
    """The rows of one file, in order. `name` is the name of the file in items. Raises `UsageError`."""
    try:
        with file.open("rb") as stream:
            yield from _rows(file, name, stream)
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "name a file of rows, or a directory") from None


def _rows(file: Path, name: str, stream: BinaryIO) -> Iterator[Item]:
    head = _head(stream)
    if head.startswith(b"PAR1"):
        from repair.formats.raw import parquet

        yield from (Item(Container.PARQUET, name, n, raw, row) for n, (raw, row) in enumerate(parquet.rows(file), 1))
        return
    if head.startswith(b"\x1f\x8b"):
        raise UsageError(f"{file} is packed with gzip", "unpack it first")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{file} is UTF-16", "save it as UTF-8")
    first = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if not first:
        raise UsageError(f"{file} is empty", "name a file of rows")
    if file.suffix.lower() in (".jsonl", ".ndjson") or (first == b"{" and _first_line_is_whole(stream)):
        yield from _lines(name, stream)
    elif first in (b"[", b"{"):
        yield from _whole(file, name, stream)
    else:
        raise UsageError(f"{file} is neither JSON, JSON lines nor Parquet", "name a file of rows")


def _head(stream: BinaryIO) -> bytes:
    """The first bytes of a stream that are not all blank. The stream is at its start afterwards."""
    head = stream.read(4096)
    while not head.removeprefix(codecs.BOM_UTF8).strip() and (more := stream.read(1 << 20)):
        head = more
    stream.seek(0)
    return head


def _first_line_is_whole(stream: BinaryIO) -> bool:
    """Whether the first line is a whole object with more behind it. JSON lines begin so, and no other JSON does."""
    line = stream.readline(MAX_ROW)
    more = bool(stream.readline(1))
    stream.seek(0)
    try:
        return isinstance(json.loads(line), dict) and more
    except (ValueError, RecursionError):
        return False


def _lines(name: str, stream: BinaryIO) -> Iterator[Item]:
    number = 0
    while line := stream.readline(MAX_ROW + 1):
        number += 1
        raw = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).rstrip(b"\r\n")
        if len(line) > MAX_ROW:
            raise UsageError(f"{name} line {number} is longer than {MAX_ROW >> 20} MiB", "no row needs that")
        if raw.strip():
            row, problem = _parse(raw)
            yield Item(Container.LINES, name, number, raw, row, problem)


def _parse(raw: bytes) -> tuple[Mapping[str, Any] | None, str]:
    """A row and an empty text, or None and why the bytes are not a row."""
    try:
        row = json.loads(raw.decode())
    except UnicodeDecodeError as err:
        return None, f"byte {err.start + 1} is not UTF-8"
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as err:
        return None, _said(err)
    return (row, "") if isinstance(row, dict) else (None, f"expected an object, found {type(row).__name__}")


def _whole(file: Path, name: str, stream: BinaryIO) -> Iterator[Item]:
    """The rows of a JSON array, or the only row of a file that is an object. Raises `UsageError`."""
    content = stream.read(MAX_JSON + 1)
    if len(content) > MAX_JSON:
        raise UsageError(f"{file} is larger than {MAX_JSON >> 30} GiB", "convert it to JSON lines, which stream")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise UsageError(f"{file}: line {line} is not UTF-8", "save the file as UTF-8") from None
    if text.lstrip()[0] == "{":
        raw = text.strip().encode()
        row, problem = _parse(raw)
        if row is None:
            raise UsageError(f"{file}: {problem}", "mend that place")
        _check_is_row(file, row)
        yield Item(Container.OBJECT, name, 1, raw, row)
        return
    try:
        for number, (value, (begin, end)) in enumerate(elements(text), 1):
            problem = "" if isinstance(value, dict) else f"expected an object, found {type(value).__name__}"
            row = value if isinstance(value, dict) else None
            yield Item(Container.ARRAY, name, number, text[begin:end].encode(), row, problem)
    except RecursionError:
        raise UsageError(f"{file}: nested too deeply", "a row is flat") from None
    except ValueError as err:
        raise UsageError(f"{file}: {_said(err)}", "mend that place") from None


def _check_is_row(file: Path, row: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an object that holds rows, as some tools write tables."""
    if not row or any(column in row for column in OF_ROWS):
        return
    if all(isinstance(value, dict) and "instance_id" in value for value in row.values()):
        raise UsageError(f"{file} is one object, whose values are the rows", "write these as an array")
    for key, value in row.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            shown = cut(key, 40)
            raise UsageError(
                f"{file} is one object and no row: {shown!r} holds an array", "take that out: it is the file"
            )


def _said(err: ValueError) -> str:
    """Why a text is not valid JSON, in words for the user."""
    if "integer string conversion" in str(err):  # Python's own message advises programmers
        return "holds a number of more than 4300 digits"
    return f"no valid JSON: {err}"


def row_files(directory: Path) -> list[Path]:
    """The files of rows at or below a directory, sorted, without hidden ones. Raises `UsageError` for a packed file."""
    packed = tuple(f"{suffix}.gz" for suffix in SUFFIXES)
    paths = sorted(path for path in directory.rglob("*") if path.name.lower().endswith((*SUFFIXES, *packed)))
    paths = [path for path in paths if not any(part.startswith(".") for part in path.relative_to(directory).parts)]
    paths = [path for path in paths if path.is_file()]
    for path in paths:
        if path.name.lower().endswith(packed):
            raise UsageError(f"{path} is packed with gzip", "unpack it first")
    return paths
