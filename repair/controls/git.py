"""git over strangers' files: bounded, by our configuration alone, and with its refusals told from its failures."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from repair.errors import DiskFull, InfrastructureError, NoEvidence
from repair.text import normalise

# Bytes of one git process, where the system can bound it: a small diff may copy or inflate without end.
MAX_MEMORY = 3 << 30
TIMEOUT = 600  # seconds of one git process

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_SETTINGS = {
    "core.autocrlf": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.protectHFS": "true",  # no file may have a name that some file system reads as .git
    "core.protectNTFS": "true",
    "core.attributesFile": os.devnull,
    "core.hooksPath": os.devnull,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """git's answer. `out`: what it printed. `problem`: what it refuses, as one line; None where it refuses nothing."""

    out: bytes
    problem: str | None


class Git:
    """git in the working tree `tree`. Its own directory is `folder`/git, outside: no stranger's file configures it."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self._tree = tree
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "home"),
            **_ENVIRONMENT,
            "GIT_DIR": str(folder / "git"),
            "GIT_WORK_TREE": str(tree),
        }
        answer = self.ask("init", "--quiet", "--template=")
        if answer.problem is not None:
            raise _broke(answer.problem)

    def ask(self, *args: str, stdin: bytes = b"") -> Answer:
        """Run git. Raises an `InfrastructureError` where it breaks instead of answering: then no patch is to blame."""
        settings = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        pipe = subprocess.PIPE
        try:
            with subprocess.Popen(
                ["git", *settings, *args],
                cwd=self._tree,
                env=self._environment,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
            ) as git:
                _bound_memory(git.pid)  # before git has read any input
                try:
                    out, err = git.communicate(stdin, timeout=TIMEOUT)
                except BaseException:
                    git.kill()
                    raise
        except FileNotFoundError:
            raise InfrastructureError("git is not installed here, and it applies the patches", "install git") from None
        except subprocess.TimeoutExpired:
            raise NoEvidence("git took more than ten minutes over a patch", "look at the patch's size") from None
        _refuse_broken(git.returncode, err)
        # At corrupt binary content git prints an error, skips the rest, and ends with 0.
        refuses = git.returncode != 0 or re.search(rb"^error: ", err, re.MULTILINE)
        return Answer(out, (_said(err) or "git refuses it") if refuses else None)


def _bound_memory(pid: int) -> None:
    """Bound the memory of a process, where the system can, by `MAX_MEMORY` and by our own limit."""
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):
            limit = resource.getrlimit(resource.RLIMIT_AS)[1]
            memory = MAX_MEMORY if limit == resource.RLIM_INFINITY else min(limit, MAX_MEMORY)
            resource.prlimit(pid, resource.RLIMIT_AS, (memory, memory))


# The system's errors by which a tree stands in a patch's way. No other error over a file is the patch's fault.
_BY_TREE = (
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG),
    errno.EXDEV,
)
_REFUSALS = (1, 128)  # git's statuses where it refuses; a shell, a loader or a signal gives others


def _refuse_broken(status: int, stderr: bytes) -> None:
    """Raise `DiskFull` where no space is left here, and `NoEvidence` where git broke instead of answering."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    complaints = [line for line in lines if line.startswith(("error: ", "fatal: "))]
    reasons = {line.rpartition(": ")[2] for line in complaints}
    if reasons & _texts(errno.ENOSPC, errno.EDQUOT):
        raise DiskFull("no space left here to apply the patches", f"free some in {tempfile.gettempdir()}, run again")
    answers = status == 0 or (status in _REFUSALS and complaints)
    by_system = reasons & (_texts(*errno.errorcode) - _texts(*_BY_TREE))
    if not answers or by_system or any(line.startswith("fatal: Out of memory") for line in complaints):
        raise _broke(_said(stderr) or (f"signal {-status}" if status < 0 else f"status {status}"))


def _texts(*numbers: int) -> set[str]:
    """The system's texts for error numbers."""
    return {os.strerror(number) for number in numbers}


def _broke(said: str) -> NoEvidence:
    return NoEvidence(
        f"git broke over a patch ({said})", f"see that git works here; it may take {MAX_MEMORY >> 30} GiB of memory"
    )


def _said(stderr: bytes) -> str:
    """git's messages as one line, without its warnings."""
    lines = [line.removeprefix("error: ").strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    return normalise("; ".join(line for line in lines if line and not line.startswith("warning: ")))
