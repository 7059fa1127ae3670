"""The files of a foreign task directory. They are read up to a size that no task needs, and no link is followed.

A task directory comes from a stranger: a link in it could lead to any file of this machine.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from repair.errors import UsageError
from repair.formats.base import RowError

MAX_BYTES = 256 << 20  # bytes of one file


@dataclass(frozen=True, slots=True)
class File:
    """A file below a folder.

    `name`: its path below the folder, with slashes.
    `content`: its bytes.
    `mode`: its permission bits.
    """

    name: str
    content: bytes
    mode: int


def is_there(directory: Path, name: str) -> bool:
    """Whether a directory has an entry of this name, a link included. Raises `UsageError` where it cannot be read."""
    path = directory / name
    try:
        return path.exists() or path.is_symlink()
    except OSError as err:
        raise UsageError(f"{directory} cannot be read: {err.strerror}", "check its permissions") from None


def content(directory: Path, name: str) -> bytes:
    """The bytes of a file by its path below the task's directory. Raises `RowError`, with that path as field."""
    path = directory
    try:
        for part in name.split("/"):
            path = path / part
            if path.is_symlink():
                raise RowError(name, "is a link, or below one: put the file itself there")
        if not path.is_file():
            raise RowError(name, "is no plain file" if path.exists() else "is missing")
        if path.stat().st_size > MAX_BYTES:
            raise RowError(name, f"is larger than {MAX_BYTES >> 20} MiB: no task needs that")
        return path.read_bytes()
    except OSError as err:
        raise RowError(name, f"cannot be read: {err.strerror}") from None


def text(directory: Path, name: str) -> str:
    """A file as UTF-8 text, with its byte-order mark and line ends as they are. Raises `RowError`."""
    data = content(directory, name)
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise RowError(name, f"line {line} is not UTF-8") from None


def optional_text(directory: Path, name: str) -> str | None:
    """As `text`; None where the directory has no such file."""
    return text(directory, name) if is_there(directory, name) else None


def tree(directory: Path, name: str) -> tuple[File, ...]:
    """All files below a folder of the task, sorted by path; empty without such a folder. Raises `RowError`."""
    listing = []
    folders = [name]
    while folders:
        folder = folders.pop()
        for entry in _entries(directory, folder):
            below = f"{folder}/{entry.name}"
            if entry.is_symlink():
                raise RowError(below, "is a link, or below one: put the file itself there")
            if entry.is_dir():
                folders.append(below)
            else:
                mode = stat.S_IMODE(entry.stat().st_mode) & 0o777
                listing.append(File(below.removeprefix(f"{name}/"), content(directory, below), mode))
    return tuple(sorted(listing, key=lambda file: file.name))


def _entries(directory: Path, folder: str) -> list[Path]:
    path = directory / folder
    if path.is_symlink():
        raise RowError(folder, "is a link, or below one: put the folder itself there")
    try:
        return sorted(path.iterdir()) if path.is_dir() else []
    except OSError as err:
        raise RowError(folder, f"cannot be read: {err.strerror}") from None


def marked(path: Path, marker: str, depth: int) -> list[Path]:
    """The directories that hold the file `marker`, sorted: `path` itself, or else those at most `depth` levels below.

    Hidden directories and links do not count, nor do directories below one that holds the file. Raises `UsageError`
    where a directory cannot be read.
    """
    if is_there(path, marker):
        return [path]
    directories: list[Path] = []
    try:
        for entry in sorted(path.iterdir()) if depth and path.is_dir() else []:
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
                directories += marked(entry, marker, depth - 1)
    except OSError as err:
        raise UsageError(f"{err.filename or path} cannot be read: {err.strerror}", "check its permissions") from None
    return directories
