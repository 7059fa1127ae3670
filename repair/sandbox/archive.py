"""Tar archives: the form in which files cross between this machine and a container.

What comes out of a container is a stranger's. Only plain files, links and directories are taken, and their sizes are
capped as they stream.
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
MAX_ENTRIES = 20_000  # of one archive
MAX_HEADER = 16 << 10  # bytes of one member's extended header: tarfile's cost may grow with their square
NAME = re.compile(r"[\w.-]{1,100}")  # of a file that a run may leave


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or directory in a container's file system.

    `path`: absolute, without the leading slash.
    `content`: the bytes of a plain file; empty for a link or a directory.
    `mode`: permission bits.
    `uid`, `gid`: the owner's and the group's numbers.
    `link`: the target of a symbolic link; None for a file or a directory.
    `directory`: it is a directory.
    `mtime`: seconds since the epoch by the engine's clock. It is read and never written.
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
    """An archive of `entries`, in this order. `changed`: when they changed, in seconds since the epoch."""
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
    """The first member of an archive that comes in chunks, as the entry `path`; the rest is not read.

    Raises `NoEvidence` unless the member is a link, a directory, or a plain file of at most `limit` bytes.
    """
    with contextlib.closing(_Stream(chunks, limit + (1 << 20))) as stream:
        # Not in a `with`: the rest of a directory's archive is never read.
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
    """The link `path`, from an archive of the directory above it; None for anything else.

    The archive is read up to the link.
    """
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
    """Write the plain files of an archived directory into `into`, under their own names.

    Raises `NoEvidence` for what no honest run leaves: links, devices, directories, odd names and sizes. A name that is
    taken in `into` raises it too. Raises `tarfile.ReadError` for an archive that is broken or cut.
    """
    total = entries = 0
    folder = PurePosixPath(path).name
    with (
        contextlib.closing(_Stream(chunks, MAX_OUT)) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as tar,
    ):
        for member in tar:
            parent, _, name = member.name.rstrip("/").rpartition("/")
            entries, total = entries + 1, total + member.size
            if entries > MAX_ENTRIES or total > MAX_OUT:
                raise NoEvidence(
                    f"{path} holds more than a run's reports do: {entries} files and {total >> 20} MiB up to"
                    f" {printable(name)[:80]}",
                    f"see what the tests write there; {MAX_ENTRIES} files and {MAX_OUT >> 20} MiB are taken at most",
                )
            if (parent, name) == ("", folder) and member.isdir():
                continue
            refused = not NAME.fullmatch(name) or name in (".", "..") or os.path.lexists(into / name)
            if parent != folder or not _is_plain(member) or refused:
                shown = printable(member.name)[:80]
                raise NoEvidence(f"{path} holds {shown}, which is no report", "see the task's log")
            source = tar.extractfile(member)
            assert source is not None
            with (into / name).open("xb") as target:
                shutil.copyfileobj(source, target)


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Is it a file of a possible size, with all of its bytes in the archive?"""
    return member.isfile() and not member.issparse() and member.size >= 0


class _Member(tarfile.TarInfo):
    """A member whose headers make sense; else it raises `tarfile.ReadError`.

    tarfile itself takes a header without sense for the end of the archive, or fails with other errors.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as err:
            if buf and not any(buf):  # a block of zeros ends an archive
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
            if type(err).__name__ == "InvalidHeaderError":  # newer tarfiles raise it here and take it for the end
                raise tarfile.ReadError(str(err)) from None
            raise
        except (ValueError, ArithmeticError, LookupError, RecursionError) as err:
            raise tarfile.ReadError(f"a header that makes no sense ({type(err).__name__})") from None


_EXTENDED = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)


class _Stream(io.RawIOBase):
    """The chunks of a response as a file to read forward. It raises `NoEvidence` after `limit` bytes."""

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
