"""Which runs are alive: a run's process holds a lock while it lives, and its containers have the run's id as a label.

So a process of another user or another shell can tell the containers of a killed run from those of a live one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

from repair.files import written
from repair.text import sha256


def new_run_id() -> str:
    """A new id, `host-pid-random`: the label of the run's containers and the name of its lock."""
    return f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}"


def _host() -> str:
    """This machine's name, with a digest of its id and of the namespace of its process ids.

    Two machines may have the same name, and a process id only means something in its namespace.
    """
    name = re.sub(r"[^A-Za-z0-9.]", ".", socket.gethostname()) or "host"
    origin = b""
    with contextlib.suppress(OSError):
        origin += Path("/etc/machine-id").read_bytes()
    with contextlib.suppress(OSError):  # a container has its own
        origin += str(Path("/proc/self/ns/pid").stat().st_ino).encode()
    return f"{name}.{sha256(origin)[:8]}"


def _locks() -> Path:
    path = Path("/tmp/repair-locks")  # noqa: S108 - every shell of this host must find it, whatever its TMPDIR
    with contextlib.suppress(FileExistsError), written(path):
        path.mkdir()
        path.chmod(0o1777)
    return path


@contextlib.contextmanager
def alive(run_id: str) -> Iterator[None]:
    """Hold the lock that tells other processes that this run's containers are in use."""
    path = _locks() / f"{run_id}.lock"
    with written(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(descriptor, 0o644)  # whatever the umask is: other users test whether it is held
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def known_runs() -> list[str]:
    """The ids of the runs of this host that have a lock file, held or not."""
    return sorted(path.stem for path in _locks().glob(f"{_host()}-*.lock"))


def is_of_this_host(run_id: str) -> bool:
    """Was this run started on this host?"""
    return run_id.rpartition("-")[0].rpartition("-")[0] == _host()


def _lives(run_id: str) -> bool:
    """Does a process have the id that this run's process had? It decides where the lock file was removed."""
    pid = run_id.split("-")[-2]
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def is_dead(run_id: str) -> bool:
    """Was this run started on this host, and has its process ended? A dead run's lock file is removed.

    Nothing is known of the runs of another host, so they are spared.
    """
    if not is_of_this_host(run_id):
        return False
    path = _locks() / f"{run_id}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return not _lives(run_id)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        with contextlib.suppress(OSError):  # it belongs to another user
            path.unlink()
        return True
    finally:
        os.close(descriptor)
