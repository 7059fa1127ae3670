"""Temporary folders that nobody has to clean up after: one whose process was killed goes when the next is made.

Each is locked while its process lives; the system lets go of the lock when it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from repair.errors import DiskFull, StoreError, UsageError

# ---- reading and writing whole files


def read_if_there(file: Path) -> bytes | None:
    """A file's content, or None where there is no such file."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "check its permissions") from None


@contextlib.contextmanager
def written(where: Path) -> Iterator[None]:
    """Say which place could not be written, and why."""
    try:
        yield
    except FileExistsError:
        raise
    except shutil.Error as err:  # of a whole tree: (from, to, why) of each file
        why = str(err.args[0][0][2])
        if f"[Errno {errno.ENOSPC}]" in why or f"[Errno {errno.EDQUOT}]" in why:
            raise DiskFull(f"no space left under {where}", "free some, then run again") from None
        raise StoreError(f"{err.args[0][0][1]} cannot be written: {why}", "check permissions and file system") from None
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left under {where}", "free some, then run again") from None
        place = err.filename or where
        raise StoreError(f"{place} cannot be written: {err.strerror}", "check permissions and file system") from None


def write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; folders above it are made."""
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", "name a file that isn't; nothing is replaced")
    _nearest(file.absolute())
    with written(file):
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, replacing what is there."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    with written(file):
        if file.exists() and not file.is_file():
            raise StoreError(f"{file} is no plain file", "name one that may be replaced")
        try:
            with temporary.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)


NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
RENAME_NOREPLACE = 1
AT_FDCWD = -100


def publish(source: Path, target: Path) -> None:
    """Give a synced file its name, only if nothing has that name. Raises `FileExistsError`, or `StoreError`.

    Linking is the way; where a file system has no hard links, a rename that refuses to replace.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        if not os.path.samestat(os.lstat(source), os.lstat(target)):  # an answer that got lost on a network share
            raise
    except OSError as err:
        if err.errno not in NO_LINKS:
            raise
        _rename_no_replace(source, target)


def _rename_no_replace(source: Path, target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    status = -1
    if rename is not None:
        status = rename(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), RENAME_NOREPLACE)
    if status == 0:
        return
    code = ctypes.get_errno() if rename is not None else errno.ENOSYS
    if code == errno.EEXIST:
        raise FileExistsError(code, os.strerror(code), str(target))
    raise StoreError(
        f"{target.parent} is on a file system without hard links ({os.strerror(code)})",
        "keep the panel on one that has them, so that no record can be replaced",
    )


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- new directories


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill, which gets the name `path` when it is whole and else is gone again.

    Raises `UsageError` where something has that name, an empty directory aside.
    """
    check_new(path)
    target = path.absolute()
    there = _nearest(target)  # folders above are made when all is well
    temporary = there / f".{target.name}.{secrets.token_hex(4)}.tmp"
    with written(path):
        temporary.mkdir()
        try:
            yield temporary
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(target)
            sync_directory(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_new(path: Path) -> None:
    """Raise `UsageError` where a new directory could not get the name `path`, since something else has it."""
    try:
        there = os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir()))
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "check its permissions") from None
    if there:
        raise UsageError(f"{path} is there already", "name a directory that isn't; nothing is replaced")
    _nearest(path.absolute())


def _nearest(path: Path) -> Path:
    """The nearest folder above that is there. Raises `UsageError` where something else stands in the way."""
    try:
        there = next(parent for parent in path.parents if os.path.lexists(parent))
        if there.is_dir():
            return there
    except OSError as err:
        raise UsageError(f"{path} cannot be written: {err.strerror}", "check name and permissions") from None
    raise UsageError(f"{there} is no directory", "name another place")


# ---- temporary folders

PREFIX = "repair-scratch-"
_swept: set[Path] = set()
_lock = threading.Lock()


class Scratch:
    """A folder of its own below `parent`, the usual place without, that nobody else may look into; gone on `close`."""

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        above = parent or Path(tempfile.gettempdir())
        with _lock:
            if above not in _swept:
                _swept.add(above)
                sweep(above)
        self._above = above
        while True:
            with _named(above):
                self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=above))
            with contextlib.suppress(FileNotFoundError):  # somebody swept between the two
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                with contextlib.suppress(OSError):  # without locks on this file system it stays after a kill, no more
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if self.path.exists():
                    break
                os.close(descriptor)
        # when the process ends, at the latest
        self._close = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())

    def close(self) -> None:
        """Remove it, with all that is in it."""
        self._close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        if error is not None:
            with _named(self._above):
                raise error


def _remove(path: Path, descriptor: int, maker: int) -> None:
    if os.getpid() == maker:  # not in a process that was forked from it
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


@contextlib.contextmanager
def _named(above: Path) -> Iterator[None]:
    """Say which disk is full: it need not be the panel's."""
    try:
        yield
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left under {above}", "free some, or set TMPDIR, then run again") from None
        raise


def sweep(above: Path | None = None) -> None:
    """Remove the folders below `above`, or the usual place, whose processes are gone, if they are ours to remove."""
    for path in (above or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or gone, or no folder
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)
