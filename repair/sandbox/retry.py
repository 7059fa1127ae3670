"""Trying again what the engine refused for the moment. What was observed, a timeout, a memory kill never is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from repair.errors import EngineError

PAUSE, LONGEST = 3.0, 60.0  # seconds before the first further attempt, doubled each time, and at most

T = TypeVar("T")


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Retry:
    """Calls something until the engine answers, `retries` further times at most, with growing pauses.

    `wait` lets so many seconds pass and says whether the run is being stopped; `say` tells a watcher.
    """

    retries: int
    wait: Callable[[float], bool]
    say: Callable[[str], None] = _silent

    def __call__(self, call: Callable[[], T]) -> T:
        """What `call` returns. Raises what it raised last; everything but a transient `EngineError` at once."""
        for done in range(self.retries):
            try:
                return call()
            except EngineError as err:
                if not err.transient:
                    raise
                pause = min(PAUSE * 2**done, LONGEST)
                self.say(f"{err.message}; trying again in {pause:g} s ({done + 1} of {self.retries})")
                if self.wait(pause):
                    raise
        return call()


NEVER = Retry(0, lambda _: False)
