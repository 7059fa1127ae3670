"""Files as tar archives: how everything crosses between here and a container.

What comes out is a stranger's: only plain files, links and directories are taken, and sizes are capped as they stream.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from repair.cause import printable
from repair.errors import NoEvidence

MAX_OUT = 1 << 30  # bytes that one container may hand out
MAX_ENTRIES = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or directory of a container's file system: path without a leading slash, and what tar says.

    `mtime` in seconds since the epoch, by the engine's clock; it is not written, only read.
    """

    path: str
    content: bytes
    mode: int
    uid: int = 0
    gid: int = 0
    link: str | None = None
    directory: bool = False
    mtime: float = 0.0


def pack(entries: Sequence[Entry]) -> bytes:
    """An archive of files, links and directories, in this order, changed now."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
            member.mtime = int(time.time())
            if entry.directory:
                member.type = tarfile.DIRTYPE
            elif entry.link is not None:
                member.type, member.linkname = tarfile.SYMTYPE, entry.link
            else:
                member.size = len(entry.content)
            archive.addfile(member, io.BytesIO(entry.content))
    return stream.getvalue()


def first(chunks: Iterator[bytes], path: str, limit: int) -> Entry:
    """The first member of an archive that comes in chunks, called `path`; the rest is not read."""
    with contextlib.closing(_Stream(chunks, limit + (1 << 20))) as stream:
        tar = tarfile.open(fileobj=stream, mode="r|")  # noqa: SIM115 - a directory's rest is not read
        member = tar.next()
        if member is None or not (member.isfile() or member.issym() or member.isdir()) or member.size > limit:
            raise NoEvidence(f"{path} is no plain file of at most {limit >> 20} MiB", "see the image")
        body = tar.extractfile(member) if member.isfile() else None
        content = body.read() if body else b""
    link = member.linkname if member.issym() else None
    name = path.lstrip("/")
    return Entry(name, content, member.mode, member.uid, member.gid, link, member.isdir(), member.mtime)


def unpack(chunks: Iterator[bytes], path: str, into: Path) -> None:
    """Write the plain files of an archived directory into `into`, by their own names.

    Raises `NoEvidence` for links, devices, directories and sizes that no honest run leaves.
    """
    total = entries = 0
    with contextlib.closing(_Stream(chunks, MAX_OUT)) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            parts = PurePosixPath(member.name).parts
            entries, total = entries + 1, total + member.size
            if entries > MAX_ENTRIES or total > MAX_OUT:
                raise NoEvidence(f"{path} holds more than a run's reports do", "see the task's log")
            if len(parts) == 1 and member.isdir():
                continue
            if len(parts) != 2 or not member.isfile() or not re.fullmatch(r"[\w.-]+", parts[1]):
                name = printable(member.name)[:80]
                raise NoEvidence(f"{path} holds {name}, which is no report", "see the task's log")
            source = tar.extractfile(member)
            assert source is not None
            with (into / parts[1]).open("wb") as target:
                shutil.copyfileobj(source, target)


class _Stream(io.RawIOBase):
    """The chunks of a response as a file that can be read forward, up to `limit` bytes."""

    def __init__(self, chunks: Iterator[bytes], limit: int) -> None:
        self._chunks, self._left, self._buffer = chunks, limit, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._buffer:
            self._buffer = next(self._chunks, b"")
            self._left -= len(self._buffer)
            if self._left < 0:
                raise NoEvidence("the container hands out more than a run's reports", "see the task's log")
        taken, self._buffer = self._buffer[: len(buffer)], self._buffer[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()
        super().close()
