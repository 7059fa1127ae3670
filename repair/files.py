"""Files on this machine: written whole or not at all, new directories, and temporary folders.

It turns the system's errors into `UsageError`, `StoreError` and `DiskFull`, whose messages name the place.
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
    """A file's content, or None where there is no such file. Raises `UsageError` where it cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "check its permissions") from None


@contextlib.contextmanager
def written(where: Path) -> Iterator[None]:
    """Turn the errors of writing below `where` into `DiskFull` where no space is left, else into `StoreError`.

    The message names the place and the reason. A `FileExistsError` passes unchanged.
    """
    try:
        yield
    except FileExistsError:
        raise
    except shutil.Error as err:  # copying a whole tree gives (from, to, why) of each file
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
    """Write a new file whole or not at all, and make the folders above it.

    Raises `UsageError` where something has that name already.
    """
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", "name a file that isn't; nothing is replaced")
    _nearest(file.absolute())
    with written(file):
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, in place of a plain file of that name.

    Raises `StoreError` where something else has the name.
    """
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


# How systems answer that they cannot make a hard link here.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
RENAME_NOREPLACE = 1  # a flag of Linux's renameat2
AT_FDCWD = -100  # a relative path begins at the working directory


def publish(source: Path, target: Path) -> None:
    """Give a synced file the name `target`, unless something else has that name.

    It makes a hard link. A file system without hard links gets a rename that refuses to replace. Raises
    `FileExistsError` where the name is taken, and `StoreError` where the file system can do neither.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        # Where both are one file, a network share made the link and lost its answer.
        if not os.path.samestat(os.lstat(source), os.lstat(target)):
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
    """Wait until a directory's entries are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Wait until a file's content is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- new directories


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A temporary directory to fill. It gets the name `path` when the block ends, and is removed where the block fails.

    Raises `UsageError` where something other than an empty directory has that name.
    """
    check_new(path)
    target = path.absolute()
    base = _nearest(target)  # the folders above `path` are made once the directory is whole
    temporary = base / f".{target.name}.{secrets.token_hex(4)}.tmp"
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
    """Raise `UsageError` where a new directory cannot get the name `path`.

    Something other than an empty directory has that name, or something other than a folder is in its way.
    """
    try:
        taken = os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir()))
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "check its permissions") from None
    if taken:
        raise UsageError(f"{path} is there already", "name a directory that isn't; nothing is replaced")
    _nearest(path.absolute())


def _nearest(path: Path) -> Path:
    """The nearest folder above `path` that exists. Raises `UsageError` where something else is in the way."""
    try:
        folder = next(parent for parent in path.parents if os.path.lexists(parent))
        if folder.is_dir():
            return folder
    except OSError as err:
        raise UsageError(f"{path} cannot be written: {err.strerror}", "check name and permissions") from None
    raise UsageError(f"{folder} is no directory", "name another place")


# ---- temporary folders

PREFIX = "repair-scratch-"
_swept: set[Path] = set()
_lock = threading.Lock()


class Scratch:
    """A temporary folder that only this user may enter. `close` removes it.

    `parent`: the folder above it; None means the system's folder for temporary files.
    `path`: the folder itself.

    The process holds a lock on the folder. After a kill the system frees the lock, and the next process that makes a
    `Scratch` in the same place removes the folder.
    """

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
            with contextlib.suppress(FileNotFoundError):  # another process removed it before it was locked
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                with contextlib.suppress(OSError):  # a file system without locks: the folder stays after a kill
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                if self.path.exists():
                    break
                os.close(descriptor)
        # the end of the process removes it, if nothing did before
        self._close = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        self._close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
        if error is not None:
            with _named(self._above):
                raise error


def _remove(path: Path, descriptor: int, maker: int) -> None:
    if os.getpid() == maker:  # a forked process leaves it to its parent
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


@contextlib.contextmanager
def _named(above: Path) -> Iterator[None]:
    """Turn a full disk into a `DiskFull` that names the disk: it need not be the panel's."""
    try:
        yield
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left under {above}", "free some, or set TMPDIR, then run again") from None
        raise


def sweep(above: Path | None = None) -> None:
    """Remove the temporary folders below `above` whose processes have ended.

    None means the system's folder for temporary files. Folders that this user may not remove stay.
    """
    for path in (above or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # its process lives, another user owns it, or it is not a folder
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)
