"""The errors that end a command, each class with its exit code.

A verdict is returned, an error is raised: it means that the question could not be answered. Every message
says what it is about, what happened and what to do next. `tests/test_errors.py` keeps the codes unique.
"""

from __future__ import annotations

from typing import ClassVar


class RepairError(Exception):
    """Base of every error that a user can cause or meet; `code` is the process's exit status.

    `next` says what to do about it; `kind` is the short name under which failures are grouped.
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
    """The command line, panel.toml or a task's files are not what they should be."""

    code = 2
    kind = "usage"


class ReportError(RepairError):
    """A report file is no evidence: not JUnit, truncated, too large, or holding a document type."""

    code = 4
    kind = "report"


class InfrastructureError(RepairError):
    """A control could not be observed. It is evidence for nothing; running again may help."""

    code = 5
    kind = "infrastructure"


class ImageError(InfrastructureError):
    """The task's image is neither present, nor pullable, nor built by its Dockerfile."""

    code = 6
    kind = "image"


class EngineError(InfrastructureError):
    """The container engine is gone or refuses. Where it cannot be reached, the whole run ends once.

    `transient`: the same call may succeed a moment later, since nothing is wrong with what was asked for.
    """

    code = 7
    kind = "engine"

    def __init__(self, message: str, next: str = "", *, transient: bool = False) -> None:  # noqa: A002
        super().__init__(message, next)
        self.transient = transient


class EngineLost(EngineError):  # noqa: N818 - a state of the engine, ended by its return
    """The engine cannot be reached at all: every further control would fail the same way."""

    code = 8
    kind = "engine-lost"

    def __init__(self, message: str, next: str = "", *, transient: bool = True) -> None:  # noqa: A002
        super().__init__(message, next, transient=transient)


class TimeoutOutsideTest(InfrastructureError):  # noqa: N818
    """The control's time ran out and no test can be blamed for it."""

    code = 9
    kind = "timeout"


class MemoryKill(InfrastructureError):  # noqa: N818
    """The kernel killed the control for its memory limit."""

    code = 10
    kind = "memory"


class ContainerKilled(InfrastructureError):  # noqa: N818
    """Somebody outside killed or removed the container."""

    code = 11
    kind = "killed"


class NoEvidence(InfrastructureError):  # noqa: N818
    """The run left no report, half a report, or one that contradicts itself."""

    code = 12
    kind = "no-evidence"


class StoreError(RepairError):
    """A record cannot be written or read safely."""

    code = 13
    kind = "store"


class NoJUnit(InfrastructureError):  # noqa: N818
    """The task's test runner writes no JUnit report, so nothing was run."""

    code = 15
    kind = "no-junit"


class DiskFull(InfrastructureError):  # noqa: N818
    """No space left, on the client's disk or in the container."""

    code = 14
    kind = "disk"
