"""What a container's end and files are taken for: an engine's API stands in that answers as told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker.errors
import pytest
import requests.exceptions

from repair.errors import ContainerKilled, EngineError, NoEvidence
from repair.model import Ended
from repair.sandbox.archive import Entry, pack
from repair.sandbox.connection import Connection
from repair.sandbox.container import Container

RUNS = {"Running": True, "ExitCode": 0, "OOMKilled": False, "Status": "running", "Dead": False}
ENDED = {"Running": False, "ExitCode": 3, "OOMKilled": False, "Status": "exited", "Dead": False}
GOING = {"removing": {**ENDED, "Status": "removing"}, "dead": {**ENDED, "Status": "dead", "Dead": True}}
OUT = pack([Entry("out", b"", 0o755, directory=True), Entry("out/exit", b"0", 0o644)])


class Api:
    """The calls of docker's API client that a container's run makes; without `archive` no path is there."""

    def __init__(self, wait: Callable[[], None], *states: dict[str, Any], archive: bytes | None = None) -> None:
        self._wait, self._states, self._archive, self.killed = wait, list(states), archive, False

    def start(self, _: str) -> None:
        pass

    def wait(self, _: str, timeout: int) -> None:
        if not self.killed:
            self._wait()

    def kill(self, _: str) -> None:
        self.killed = True

    def get_archive(self, _: str, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        if self._archive is None:
            raise docker.errors.NotFound(f"Could not find the file {path} in container c0ffee")
        return iter([self._archive]), {"mode": 0o755}

    def inspect_container(self, _: str) -> dict[str, Any]:
        return {"State": self._states.pop(0) if len(self._states) > 1 else self._states[0]}


def container(api: Api) -> Container:
    connection = SimpleNamespace(
        client=SimpleNamespace(api=api), ping=lambda: None, address="tcp://far:1", is_podman=False
    )
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
    api = Api(no_answer, RUNS, RUNS, RUNS, ENDED)
    assert container(api).run(0.5) == Ended(None, False)
    assert api.killed


def test_a_container_that_has_ended_by_itself_has_its_own_status_though_nobody_was_told() -> None:
    api = Api(no_answer, ENDED)
    assert container(api).run(0.5) == Ended(3, False)
    assert not api.killed


def at_once() -> None:
    """The wait of a container that has ended."""


def test_a_path_is_missing_only_where_the_container_is_whole() -> None:
    assert container(Api(at_once, ENDED)).get("/repo/calc.py") is None


@pytest.mark.parametrize("state", GOING)
@pytest.mark.parametrize("archive", [None, OUT], ids=["a-path-is-missing", "a-path-is-there"])
def test_what_is_read_of_a_container_that_goes_is_no_evidence(
    state: str, archive: bytes | None, tmp_path: Path
) -> None:
    box = container(Api(at_once, GOING[state], archive=archive))
    with pytest.raises(ContainerKilled, match=r"read /repo/calc\.py .* removed from outside"):
        box.get("/repo/calc.py")
    with pytest.raises(ContainerKilled, match=r"read /here/out .* removed from outside"):
        box.fetch("/here/out", tmp_path)
    with pytest.raises(ContainerKilled, match=r"start the container: .* removed from outside"):
        box.run(1)


def test_what_only_a_proxy_has_not_found_is_no_missing_path() -> None:
    class Proxied(Api):
        def get_archive(self, _: str, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
            raise docker.errors.NotFound("404 page not found")

    with pytest.raises(ContainerKilled):
        container(Proxied(at_once, ENDED)).get("/repo/calc.py")


def test_a_folder_that_is_gone_from_a_whole_container_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(NoEvidence, match="/here/out is gone from the container"):
        container(Api(at_once, ENDED)).fetch("/here/out", tmp_path)


def test_an_engine_that_breaks_over_a_container_that_goes_names_the_removal() -> None:
    def refuse() -> None:
        raise docker.errors.APIError("RWLayer of container c0ffee is unexpectedly nil")

    with pytest.raises(ContainerKilled, match=r"wait for the container: .* removed from outside"):
        container(Api(refuse, RUNS, GOING["removing"])).run(1)


class Restarts(Api):
    """Started twice: the second time by somebody else, as soon as it is asked about again."""

    def inspect_container(self, _: str) -> dict[str, Any]:
        state = super().inspect_container(_)["State"]
        return {"State": {**state, "StartedAt": "2026-01-01T00:00:01Z" if self._begun else "2026-01-01T00:00:00Z"}}

    _begun = False

    def wait(self, _: str, timeout: int) -> None:
        self._begun = True


def test_a_container_that_somebody_starts_again_is_no_evidence() -> None:
    with pytest.raises(ContainerKilled, match=r"started again from outside"):
        container(Restarts(at_once, RUNS, ENDED)).run(60)


def test_a_container_that_somebody_pauses_did_not_use_up_its_time() -> None:
    paused = {**RUNS, "Status": "paused", "Paused": True}
    api = Api(no_answer, RUNS, paused, paused, ENDED)
    with pytest.raises(ContainerKilled, match=r"paused from outside"):
        container(api).run(0.5)
    assert api.killed
