"""A container's end, as far as the connection that waits tells: an engine's API stands in that answers as told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import requests.exceptions

from repair.errors import EngineError
from repair.sandbox.connection import Connection
from repair.sandbox.container import Container, Ended

RUNS = {"Running": True, "ExitCode": 0, "OOMKilled": False}
ENDED = {"Running": False, "ExitCode": 3, "OOMKilled": False}


class Api:
    """The calls of docker's API client that a container's run makes."""

    def __init__(self, wait: Callable[[], None], *states: dict[str, Any]) -> None:
        self._wait, self._states, self.killed = wait, list(states), False

    def start(self, _: str) -> None:
        pass

    def wait(self, _: str, timeout: int) -> None:
        if not self.killed:
            self._wait()

    def kill(self, _: str) -> None:
        self.killed = True

    def inspect_container(self, _: str) -> dict[str, Any]:
        return {"State": self._states.pop(0) if len(self._states) > 1 else self._states[0]}


def container(api: Api) -> Container:
    connection = SimpleNamespace(client=SimpleNamespace(api=api), ping=lambda: None, address="tcp://far:1")
    return Container(cast("Connection", connection), "c0ffee")


def no_answer() -> None:
    raise requests.exceptions.ConnectionError("[Errno 110] Connection timed out")


def test_a_connection_whose_time_runs_out_is_not_the_test_s_time_limit() -> None:
    api = Api(no_answer, RUNS)
    with pytest.raises(EngineError) as caught:
        container(api).run(1800)
    assert caught.value.transient
    assert not api.killed


def test_a_container_that_runs_on_beyond_its_time_is_killed() -> None:
    api = Api(no_answer, RUNS, ENDED)
    assert container(api).run(0.5) == Ended(None, False)
    assert api.killed


def test_a_container_that_has_ended_by_itself_has_its_own_status_though_nobody_was_told() -> None:
    api = Api(no_answer, ENDED)
    assert container(api).run(0.5) == Ended(3, False)
    assert not api.killed
