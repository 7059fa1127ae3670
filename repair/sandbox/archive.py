"""Files as tar archives: how everything crosses between here and a container.

What comes out is a stranger's: only plain files, links and directories are taken, and sizes are capped as they stream.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from repair.errors import NoEvidence
from repair.text import printable

MAX_OUT = 1 << 30  # bytes that one container may hand out
MAX_ENTRIES = 20_000
MAX_HEADER = 16 << 10  # bytes of what an archive says of one member: tarfile may take their square to read them
NAME = re.compile(r"[\w.-]{1,100}")


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


def pack(entries: Sequence[Entry], changed: float = 0.0) -> bytes:
    """An archive of files, links and directories, in this order, changed at that time (seconds since the epoch)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.mode, member.uid, member.gid = entry.mode, entry.uid, entry.gid
            member.mtime = int(changed)
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
        # a directory's rest is not read
        tar = tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member)  # noqa: SIM115
        member = tar.next()
        if member is None or not (_is_plain(member) or member.issym() or member.isdir()) or member.size > limit:
            raise NoEvidence(
                f"{printable(path)[:200]} is no plain file of at most {limit >> 20} MiB", "see what writes it"
            )
        body = tar.extractfile(member) if member.isfile() else None
        content = body.read() if body else b""
    link = member.linkname if member.issym() else None
    name = path.lstrip("/")
    return Entry(name, content, member.mode, member.uid, member.gid, link, member.isdir(), member.mtime)


def below(chunks: Iterator[bytes], path: str) -> Entry | None:
    """The link called `path` in the archive of the directory above it, which is read so far; None for anything else."""
    name = PurePosixPath(path).name
    with (
        contextlib.closing(_Stream(chunks, MAX_OUT)) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as tar,
    ):
        for member in tar:
            parts = PurePosixPath(member.name).parts
            if parts[-1:] == (name,) and len(parts) <= 2 and member.issym():
                return Entry(path.lstrip("/"), b"", member.mode, member.uid, member.gid, member.linkname)
    return None


def unpack(chunks: Iterator[bytes], path: str, into: Path) -> None:
    """Write the plain files of an archived directory into `into`, by their own names.

    Raises `NoEvidence` for links, devices, directories, names and sizes that no honest run leaves, and for what would
    replace a file that is there; `tarfile.ReadError` for an archive that is broken or cut.
    """
    total = entries = 0
    folder = PurePosixPath(path).name
    with (
        contextlib.closing(_Stream(chunks, MAX_OUT)) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as tar,
    ):
        for member in tar:
            above, _, name = member.name.rstrip("/").rpartition("/")
            entries, total = entries + 1, total + member.size
            if entries > MAX_ENTRIES or total > MAX_OUT:
                raise NoEvidence(
                    f"{path} holds more than a run's reports do: {entries} files and {total >> 20} MiB up to"
                    f" {printable(name)[:80]}",
                    f"see what the tests write there; {MAX_ENTRIES} files and {MAX_OUT >> 20} MiB are taken at most",
                )
            if (above, name) == ("", folder) and member.isdir():
                continue
            there = not NAME.fullmatch(name) or name in (".", "..") or os.path.lexists(into / name)
            if above != folder or not _is_plain(member) or there:
                shown = printable(member.name)[:80]
                raise NoEvidence(f"{path} holds {shown}, which is no report", "see the task's log")
            source = tar.extractfile(member)
            assert source is not None
            with (into / name).open("xb") as target:
                shutil.copyfileobj(source, target)


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Is it a file of a size that can be, whose bytes are all there?"""
    return member.isfile() and not member.issparse() and member.size >= 0


class _Member(tarfile.TarInfo):
    """A member by headers that make sense; tarfile itself takes what makes none for an archive's end, or breaks."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as err:
            if buf and not any(buf):  # an archive's end
                raise
            raise tarfile.ReadError(str(err)) from None
        if member.type in _EXTENDED and not 0 <= member.size <= MAX_HEADER:
            raise tarfile.ReadError(f"an extended header of {member.size} bytes")
        return member

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as err:
            if type(err).__name__ == "InvalidHeaderError":  # newer ones raise it here, and take it for an archive's end
                raise tarfile.ReadError(str(err)) from None
            raise
        except (ValueError, ArithmeticError, LookupError, RecursionError) as err:
            raise tarfile.ReadError(f"a header that makes no sense ({type(err).__name__})") from None


_EXTENDED = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)


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
