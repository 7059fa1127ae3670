"""Engines to break, `repair` in processes of its own, and tasks whose tests take their time."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.ledger import Row, witness
from tests.faults.live_run import Docker, Ended, LiveRun
from tests.faults.private_engine import PrivateEngine, private_engine

PLAIN = "repair-test/odd-plain:1"
Start = Callable[..., LiveRun]
Repair = Callable[..., Ended]
Seen = Callable[..., None]


def adds(path: str, text: str) -> bytes:
    """A patch that adds one file."""
    lines = text.splitlines()
    head = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return (head + "".join(f"+{line}\n" for line in lines)).encode()


# A test that says that it has begun, then sleeps: NAP seconds anywhere, ORACLE_NAP where add is mended.
NAP = adds(
    "tests/test_nap.py",
    """\
import os, pathlib, time
import calc

def test_nap():
    seconds = float(os.environ.get("NAP", "0"))
    if calc.add(1, 2) == 3:
        seconds += float(os.environ.get("ORACLE_NAP", "0"))
    if seconds:
        pathlib.Path("/tmp/begun").touch()
    time.sleep(seconds)
""",
)
NAP_ID = "tests/test_nap.py::test_nap"


def change(task: Path, **keys: object) -> None:
    """Change keys of a task.json; None removes one."""
    file = task / "task.json"
    document = {**json.loads(file.read_text()), **keys}
    file.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))


def records(panel: Path) -> dict[str, bytes]:
    """The bytes of every record of a panel, by path."""
    found = [*panel.glob("*/repair.json"), *panel.glob("*/outcomes.json")]
    return {str(file.relative_to(panel)): file.read_bytes() for file in found}


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> Seen:
    """Say what a fault was seen to do: `seen(fault, phase, what, times=1)`; see `faults.ledger`."""
    test = f"{request.path.name}::{request.function.__name__}"

    def say(fault: str, phase: str, what: str, times: int = 1) -> None:
        witness(Row(fault, phase, what, times, test))

    return say


@pytest.fixture
def tag() -> str:
    """What makes a test's tasks its own on an engine that others use, too."""
    return secrets.token_hex(4)


@pytest.fixture
def docker() -> Docker:
    """The user's own engine."""
    return Docker()


@pytest.fixture(scope="session")
def loaded_engine() -> Iterator[PrivateEngine]:
    with tempfile.TemporaryDirectory(prefix="repair-engine-", dir="/tmp") as root, private_engine(Path(root)) as engine:
        engine.load(PLAIN)
        yield engine


@pytest.fixture
def private(loaded_engine: PrivateEngine) -> Iterator[PrivateEngine]:
    """A private engine that runs, holds the plain image and no container."""
    if not loaded_engine.runs:
        loaded_engine.start()
    yield loaded_engine
    if not loaded_engine.runs:
        loaded_engine.start()
    left = loaded_engine.docker("ps", "-aq").stdout.split()
    if left:
        loaded_engine.docker("rm", "-f", *left)


@pytest.fixture
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start `repair ARGUMENTS...` and watch it: `start("run", panel, docker=...)`; ended at the end of the test."""
    started: list[LiveRun] = []

    def begin(*arguments: str | Path, docker: Docker | None = None) -> LiveRun:
        started.append(LiveRun(arguments, docker or Docker(), tmp_path_factory.mktemp("live")))
        return started[-1]

    yield begin
    for live in started:
        live.close()


@pytest.fixture
def repair(start: Start) -> Repair:
    """Run `repair ARGUMENTS...` to its end."""

    def finish(*arguments: str | Path, docker: Docker | None = None) -> Ended:
        return start(*arguments, docker=docker).end()

    return finish
