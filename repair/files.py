"""Temporary folders that nobody has to clean up after: one whose process was killed goes when the next is made.

Each is locked while its process lives; the system lets go of the lock when it dies.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from repair.errors import DiskFull

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
