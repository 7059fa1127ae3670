"""Where controls run: a fixed number of threads here, each waiting for one container; the engine may be elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from repair.errors import InfrastructureError

T = TypeVar("T")


class Pool:
    """At most `jobs` controls at a time, first come first served."""

    def __init__(self, jobs: int) -> None:
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="control")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._executor.shutdown(wait=error is None, cancel_futures=error is not None)

    def all(self, calls: Sequence[Callable[[], T]]) -> list[T | InfrastructureError]:
        """The result of every call, in their order; an infrastructure error is a result, any other is raised."""
        futures = [self._executor.submit(_caught, call) for call in calls]
        return [future.result() for future in futures]


def _caught(call: Callable[[], T]) -> T | InfrastructureError:
    try:
        return call()
    except InfrastructureError as err:
        return err
