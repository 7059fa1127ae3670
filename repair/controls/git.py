"""git over strangers' files: no configuration but ours, bounded, and what it refuses told from how it breaks."""

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

MAX_MEMORY = 3 << 30  # of one git process, where the system can bound it: a small diff may copy or inflate without end
TIMEOUT = 600  # seconds

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
    "core.protectHFS": "true",  # no spelling of .git is a file's name, whatever this machine's file system
    "core.protectNTFS": "true",
    "core.attributesFile": os.devnull,
    "core.hooksPath": os.devnull,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What git printed, and as one line what it refuses; None where it refuses nothing."""

    out: bytes
    problem: str | None


class Git:
    """git in the working tree `tree`; its own directory is `folder`/git, outside: no stranger's file configures it."""

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
        """Run git. Raises an `InfrastructureError` where it breaks instead of answering: no patch is to blame."""
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
                _bound_memory(git.pid)  # before it has read anything
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
        # at corrupt binary content it says so, skips the rest, and ends with 0
        refuses = git.returncode != 0 or re.search(rb"^error: ", err, re.MULTILINE)
        return Answer(out, (_said(err) or "git refuses it") if refuses else None)


def _bound_memory(pid: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):
            ours = resource.getrlimit(resource.RLIMIT_AS)[1]
            most = MAX_MEMORY if ours == resource.RLIM_INFINITY else min(ours, MAX_MEMORY)
            resource.prlimit(pid, resource.RLIMIT_AS, (most, most))


# How a tree can stand in a patch's way. What else a system has against reading or writing a file is no patch's fault.
_BY_TREE = (
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.ELOOP, errno.ENAMETOOLONG),
    errno.EXDEV,
)
_REFUSALS = (1, 128)  # git's statuses where it says no; a shell, a loader or a signal gives others


def _refuse_broken(status: int, stderr: bytes) -> None:
    said = stderr.decode("utf-8", "replace").splitlines()
    complaints = [line for line in said if line.startswith(("error: ", "fatal: "))]
    reasons = {line.rpartition(": ")[2] for line in complaints}
    if reasons & _texts(errno.ENOSPC, errno.EDQUOT):
        raise DiskFull("no space left here to apply the patches", f"free some in {tempfile.gettempdir()}, run again")
    answers = status == 0 or (status in _REFUSALS and complaints)
    by_system = reasons & (_texts(*errno.errorcode) - _texts(*_BY_TREE))
    if not answers or by_system or any(line.startswith("fatal: Out of memory") for line in complaints):
        raise _broke(_said(stderr) or (f"signal {-status}" if status < 0 else f"status {status}"))


def _texts(*numbers: int) -> set[str]:
    return {os.strerror(number) for number in numbers}


def _broke(said: str) -> NoEvidence:
    return NoEvidence(
        f"git broke over a patch ({said})", f"see that git works here; it may take {MAX_MEMORY >> 30} GiB of memory"
    )


def _said(stderr: bytes) -> str:
    lines = [line.removeprefix("error: ").strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    return normalise("; ".join(line for line in lines if line and not line.startswith("warning: ")))
