"""Retries of calls that the engine refuses for the moment.

What was observed is never retried here, a timeout and a memory kill included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from repair.errors import EngineError

PAUSE, LONGEST = 3.0, 60.0  # seconds before the first retry, doubled each time, and the longest pause

T = TypeVar("T")


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Retry:
    """Repeats a call until the engine answers, with growing pauses.

    `retries`: how many further calls to make at most.
    `wait`: lets so many seconds pass; True means that the run is being stopped.
    `say`: tells a watcher of each pause.
    """

    retries: int
    wait: Callable[[float], bool]
    say: Callable[[str], None] = _silent

    def __call__(self, call: Callable[[], T]) -> T:
        """What `call` returns. Raises a transient `EngineError` after the last call, and any other error at once."""
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
