"""The errors that end a command, each class with its own exit code.

A verdict is returned; an error is raised and means that the question could not be answered. Every message names its
subject, what happened and what to do next. `tests/test_errors.py` keeps the codes unique.
"""

from __future__ import annotations

from typing import ClassVar


class RepairError(Exception):
    """Base of every error that a user can cause or meet.

    `code`: the exit status of the process.
    `kind`: the short name under which failures are grouped.
    `message`: what happened, and to what.
    `next`: what the user can do about it; empty where the message says all.
    """

    code: ClassVar[int] = 3
    kind: ClassVar[str] = "bug"

    def __init__(self, message: str, next: str = "") -> None:  # noqa: A002 - the word that the reader sees
        super().__init__(message)
        self.message = message
        self.next = next

    def __str__(self) -> str:
        return f"{self.message}; {self.next}" if self.next else self.message


class UsageError(RepairError):
    """The user must change the command line, panel.toml or a file of a task."""

    code = 2
    kind = "usage"


class ReportError(RepairError):
    """A report file is not evidence: it is not JUnit, is truncated, is too large, or holds a document type."""

    code = 4
    kind = "report"


class InfrastructureError(RepairError):
    """A control could not be observed. It is evidence for nothing; another run may observe it."""

    code = 5
    kind = "infrastructure"


class ImageError(InfrastructureError):
    """The task's image is neither present, nor pullable, nor built by its Dockerfile."""

    code = 6
    kind = "image"


class EngineError(InfrastructureError):
    """The container engine fails or refuses a call.

    `transient`: the same call may succeed a moment later, because nothing is wrong with what was asked for.
    """

    code = 7
    kind = "engine"

    def __init__(self, message: str, next: str = "", *, transient: bool = False) -> None:  # noqa: A002
        super().__init__(message, next)
        self.transient = transient


class EngineLost(EngineError):  # noqa: N818 - a state of the engine, which ends when it is back
    """The engine cannot be reached. Every further control would fail the same way, so the whole run ends once."""

    code = 8
    kind = "engine-lost"

    def __init__(self, message: str, next: str = "", *, transient: bool = True) -> None:  # noqa: A002
        super().__init__(message, next, transient=transient)


class TimeoutOutsideTest(InfrastructureError):  # noqa: N818
    """The control's time ran out, and no test can be blamed for it."""

    code = 9
    kind = "timeout"


class MemoryKill(InfrastructureError):  # noqa: N818
    """The kernel killed the control because it reached its memory limit."""

    code = 10
    kind = "memory"


class ContainerKilled(InfrastructureError):  # noqa: N818
    """Something outside the run killed, paused, restarted or removed the container."""

    code = 11
    kind = "killed"


class NoEvidence(InfrastructureError):  # noqa: N818
    """The run left no report, half a report, or a report that contradicts itself."""

    code = 12
    kind = "no-evidence"


class StoreError(RepairError):
    """A record or another file cannot be written or read safely."""

    code = 13
    kind = "store"


class NoJUnit(InfrastructureError):  # noqa: N818
    """The task's test runner writes no JUnit report, so no control of the task runs."""

    code = 15
    kind = "no-junit"


class DiskFull(InfrastructureError):  # noqa: N818
    """No space is left: on the client's disk, on the engine's disk or in the container."""

    code = 14
    kind = "disk"
