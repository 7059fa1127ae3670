"""Temporary folders that nobody has to clean up after: one whose process was killed goes when the next is made.

Each is locked while its process lives; the system lets go of the lock when it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from types import TracebackType

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
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=above))
            with contextlib.suppress(FileNotFoundError):  # somebody swept between the two
                descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if self.path.exists():
                    break
                os.close(descriptor)
        self._close = weakref.finalize(self, _remove, self.path, descriptor)  # when the process ends, at the latest

    def close(self) -> None:
        """Remove it, with all that is in it."""
        self._close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _remove(path: Path, descriptor: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(descriptor)


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
