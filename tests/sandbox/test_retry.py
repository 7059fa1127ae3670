"""What is tried again, how often, and after which pauses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from repair.errors import (
    ContainerKilled,
    EngineError,
    EngineLost,
    ImageError,
    MemoryKill,
    NoEvidence,
    RepairError,
    TimeoutOutsideTest,
)
from repair.sandbox.retry import NEVER, Retry


class Engine:
    """Fails so many times with one error, then answers; `pauses` are the seconds that passed in between."""

    def __init__(self, failures: int, error: Callable[[], RepairError], *, stopped: bool = False) -> None:
        self.failures, self.error, self.stopped = failures, error, stopped
        self.calls = 0
        self.pauses: list[float] = []

    def answer(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error()
        return "done"

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return self.stopped


def busy() -> EngineError:
    return EngineError("could not create a container: busy", transient=True)


@pytest.mark.parametrize("error", [busy, lambda: EngineLost("gone")], ids=["busy", "lost"])
def test_what_the_engine_fails_to_do_is_tried_again_after_a_pause(error: Callable[[], RepairError]) -> None:
    engine = Engine(1, error)
    assert Retry(1, engine.wait)(engine.answer) == "done"
    assert engine.pauses == [3.0]


def test_pauses_double_up_to_a_minute() -> None:
    engine = Engine(7, busy)
    assert Retry(7, engine.wait)(engine.answer) == "done"
    assert engine.pauses == [3.0, 6.0, 12.0, 24.0, 48.0, 60.0, 60.0]


def test_after_the_last_try_the_error_is_the_answer() -> None:
    engine = Engine(9, busy)
    with pytest.raises(EngineError, match="busy"):
        Retry(2, engine.wait)(engine.answer)
    assert engine.calls == 3


@pytest.mark.parametrize(
    "error",
    [
        *(ImageError, TimeoutOutsideTest, MemoryKill, ContainerKilled, NoEvidence),
        *(EngineError, lambda text: EngineLost(text, transient=False)),
    ],
    ids=["image", "timeout", "memory", "killed", "no-evidence", "refused", "no-such-context"],
)
def test_what_is_no_passing_fault_of_the_engine_is_never_tried_again(error: Callable[[str], RepairError]) -> None:
    engine = Engine(1, lambda: error("as it is"))
    with pytest.raises(RepairError, match="as it is"):
        Retry(5, engine.wait)(engine.answer)
    assert (engine.calls, engine.pauses) == (1, [])


def test_a_run_that_is_being_stopped_tries_nothing_again() -> None:
    engine = Engine(1, busy, stopped=True)
    with pytest.raises(EngineError):
        Retry(5, engine.wait)(engine.answer)
    assert engine.calls == 1


def test_each_further_try_is_told_with_its_reason_and_number() -> None:
    engine, told = Engine(2, busy), list[str]()
    Retry(3, engine.wait, told.append)(engine.answer)
    assert told == [
        "could not create a container: busy; trying again in 3 s (1 of 3)",
        "could not create a container: busy; trying again in 6 s (2 of 3)",
    ]


def test_without_retries_nothing_is_tried_again() -> None:
    engine = Engine(1, busy)
    with pytest.raises(EngineError):
        NEVER(engine.answer)
    assert engine.calls == 1
