"""Engines from afar, over ssh and tcp: the same records, nothing left, time limits that hold, errors that say where."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair import errors
from tests.faults.conftest import NAP, NAP_ID, Repair, Start, adds, change, records
from tests.faults.live_run import Docker
from tests.faults.private_engine import PrivateEngine
from tests.faults.remote import Door, Line, certificates, dialer, sshd
from tests.faults.survival import copy
from tests.faults.terminal import Terminal

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
KEEP = "tests/test_calc.py::test_keep[{}]"
PHANTOM = "tests/test_calc.py::test_phantom"
PORT = 2375
FAR = 300  # seconds that a busy machine may take over a run by ssh, whose every connection is a login
SLEEP = {"p2p": [NAP_ID], "tests": NAP, "env": {"NAP": "300"}}
# What other programs are told of authorities and proxies: docker heeds neither for an engine on this machine.
OTHERS = {"REQUESTS_CA_BUNDLE": "/nowhere.pem", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
WAYS = ["ssh", "ssh-context", "tcp", "tls", "tls-context"]


@dataclass(frozen=True, kw_only=True)
class Shell(Docker):
    """The engine that a shell with these settings has."""

    settings: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DOCKER_HOST": "", **self.settings}


@dataclass(frozen=True, kw_only=True)
class Far(Shell):
    """An engine from afar: the address by which messages name it, and the line to it, which can be cut."""

    named: str
    line: Line


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory, loaded_engine: PrivateEngine) -> Iterator[Door]:
    with sshd(tmp_path_factory.mktemp("door"), DOCKER_HOST=loaded_engine.address) as opened:
        yield opened


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("tls") / "good")


@pytest.fixture
def line() -> Iterator[Callable[..., Line]]:
    """Lay a line to a port: `line(port, network)`."""
    with contextlib.ExitStack() as laid:
        yield lambda *where: laid.enter_context(contextlib.closing(Line(dialer(*where))))


@pytest.fixture
def ported(private: PrivateEngine) -> Iterator[Callable[..., None]]:
    """Let the private engine listen at a port of its namespace, with more options of dockerd's."""

    def listen(*options: str | Path) -> None:
        private.stop()
        private.options = ("--host", f"tcp://127.0.0.1:{PORT}", *map(str, options))
        private.start()

    yield listen
    if private.options:
        private.stop()
        private.options = ()


def verified(folder: Path) -> tuple[str | Path, ...]:
    """dockerd's options for an authority's clients alone."""
    files = {"--tlscacert": "ca.pem", "--tlscert": "server-cert.pem", "--tlskey": "server-key.pem"}
    return ("--tlsverify", *(part for option, name in files.items() for part in (option, folder / name)))


def as_context(folder: Path, endpoint: str) -> dict[str, str]:
    """A docker context of its own settings with this endpoint."""
    settings = {"DOCKER_CONFIG": str(folder), "DOCKER_CONTEXT": "far"}
    command = ["docker", "context", "create", "far", "--docker", endpoint]
    subprocess.run(command, env={**os.environ, "DOCKER_CONFIG": str(folder)}, check=True, capture_output=True)
    return settings


@pytest.fixture
def far(
    request: pytest.FixtureRequest,
    private: PrivateEngine,
    ported: Callable[..., None],
    line: Callable[..., Line],
    door: Door,
    certified: Path,
    tmp_path: Path,
) -> Far:
    """The private engine, which holds the plain image, by the way that a test asks for."""
    way, _, by_context = str(request.param).partition("-")
    if way == "ssh":
        laid = line(door.port)
        host, settings = f"ssh://{door.user}@127.0.0.1:{laid.port}", {"PATH": door.ssh(tmp_path.name)}
        endpoint = f"host={host}"
    else:
        ported(*(verified(certified) if way == "tls" else ()))
        laid = line(PORT, private.network)
        host, settings, endpoint = f"tcp://127.0.0.1:{laid.port}", {}, ""
    if way == "tls":
        endpoint = f"host={host},ca={certified}/ca.pem,cert={certified}/cert.pem,key={certified}/key.pem"
        settings = {} if by_context else {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(certified)}
    settings |= as_context(tmp_path / "config", endpoint) if by_context else {"DOCKER_HOST": host}
    return Far(settings={**OTHERS, **settings}, named=host, line=laid)


@pytest.fixture
def three(make_task: MakeTask, panel: Path) -> Path:
    """A panel of one task for each verdict."""
    make_task("a-repaired", p2p=[KEEP.format(0), PHANTOM])
    make_task("b-clean", p2p=[KEEP.format(1)])
    make_task("c-refused", f2p=[PHANTOM], p2p=[KEEP.format(2)])
    return panel


@pytest.mark.parametrize("far", WAYS, indirect=True)
def test_a_run_from_afar_writes_the_records_that_one_by_the_socket_writes(
    far: Far, three: Path, private: PrivateEngine, start: Start, repair: Repair
) -> None:
    near = Docker(private.address)
    beside = copy(three, three.with_name("beside"))
    assert repair("run", beside, docker=near).code == 0

    done = start("run", three, docker=far).end(FAR)

    assert done.code == 0, done
    assert len(records(three)) == 6
    assert records(three) == records(beside)
    assert near.containers() == []
    assert f" at {far.named}: " in repair("doctor", docker=far).out


@pytest.mark.parametrize("far", ["ssh", "tcp", "tls"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: str(number.name))
def test_a_signal_to_all_of_a_terminals_processes_leaves_no_container_afar(
    number: signal.Signals, far: Far, make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start
) -> None:
    near = Docker(private.address)
    task = make_task(**SLEEP)
    live = start("run", panel, docker=far)
    near.in_test(task.name, 2)
    os.killpg(live.process.pid, number)

    assert live.end().code == 128 + number
    assert near.containers() == []
    assert records(panel) == {}


@pytest.mark.parametrize("far", ["ssh", "tcp", "tls"], indirect=True)
def test_what_hangs_is_ended_in_time_afar(
    far: Far, make_task: MakeTask, panel: Path, private: PrivateEngine, repair: Repair
) -> None:
    make_task(tests=adds("tests/conftest.py", "import time\ntime.sleep(300)"), timeout=4)
    done = repair("run", panel, docker=far)
    assert done.code == errors.TimeoutOutsideTest.code, done
    assert "no end within 4 s" in done.err
    assert Docker(private.address).containers() == []


@pytest.mark.parametrize("far", ["ssh", "tcp", "tls"], indirect=True)
def test_a_line_that_is_cut_in_a_test_is_an_engine_error_that_says_where_and_the_next_run_completes(
    far: Far, make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start, repair: Repair
) -> None:
    near = Docker(private.address)
    task = make_task(**SLEEP)
    live = start("run", panel, docker=far)
    near.in_test(task.name, 2)
    far.line.cut()

    done = live.end()
    assert done.code == errors.EngineLost.code, done
    assert f"could not reach the engine at {far.named}: " in done.err
    assert "Traceback" not in done.err
    assert records(panel) == {}
    assert len(near.containers(task.name)) == 2

    far.line.mend()
    change(task, env={})
    again = repair("run", panel, docker=far)
    assert again.code == 0, again
    assert len(records(panel)) == 2
    assert near.containers() == []


@pytest.mark.parametrize("far", ["ssh", "tcp", "tls"], indirect=True)
def test_a_line_that_breaks_for_a_moment_costs_another_attempt(
    far: Far, make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start
) -> None:
    near = Docker(private.address)
    task = make_task(p2p=[NAP_ID], tests=NAP, env={"ORACLE_NAP": "20"})
    live = start("run", panel, docker=far)
    near.in_test(task.name)
    far.line.drop()

    done = live.end()
    assert done.code == 0, done
    assert "trying again" in done.out
    assert json.loads((task / "repair.json").read_bytes())["verdict"] == "clean"
    assert near.containers() == []


def unreachable(panel: Path, repair: Repair, make_task: MakeTask, **settings: str) -> str:
    """What a run says that cannot reach its engine; it must say it once, and write nothing."""
    for number in range(2):
        make_task(f"task-{number}", p2p=[])
    done = repair("run", panel, docker=Shell(settings=settings))
    assert done.code == errors.EngineLost.code, done
    assert records(panel) == {}
    (said,) = done.err.splitlines()
    return said


@pytest.mark.parametrize(
    ("key", "known", "words"),
    [
        ("stranger", "host", "Permission denied (publickey"),
        ("key", "stranger", "Host key verification failed"),
        ("key", "", "Host key verification failed"),
    ],
    ids=["refused-key", "another-host-key", "unknown-host-key"],
)
def test_an_ssh_that_gets_no_entry_says_why(
    key: str, known: str, words: str, door: Door, tmp_path: Path, panel: Path, make_task: MakeTask, repair: Repair
) -> None:
    host = f"ssh://{door.user}@127.0.0.1:{door.port}"
    said = unreachable(panel, repair, make_task, DOCKER_HOST=host, PATH=door.ssh(tmp_path.name, key, known))
    assert f"could not reach the engine at {host}: " in said
    assert words in said


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("ssh://127.0.0.1:9", "Connection refused"),
        ("ssh://nowhere.invalid", "Could not resolve hostname"),
        ("ssh://", "is not ssh://"),
        ("ssh://127.0.0.1:many", "many"),
        ("tcp://127.0.0.1:9", "Connection refused"),
        ("tcp://nowhere.invalid:2375", "nowhere.invalid"),
    ],
)
def test_a_wrong_address_says_why(
    host: str, words: str, door: Door, tmp_path: Path, panel: Path, make_task: MakeTask, repair: Repair
) -> None:
    said = unreachable(panel, repair, make_task, DOCKER_HOST=host, PATH=door.ssh(tmp_path.name))
    assert "could not reach the engine" in said
    assert words in said


@pytest.mark.parametrize(
    ("there", "words"),
    [({"PATH": "/nowhere"}, "docker: "), ({"DOCKER_HOST": "unix:///nowhere/docker.sock"}, "/nowhere/docker.sock")],
    ids=["no-docker-command", "no-engine"],
)
def test_an_ssh_that_finds_no_engine_says_why(
    there: dict[str, str], words: str, tmp_path: Path, panel: Path, make_task: MakeTask, repair: Repair
) -> None:
    with sshd(tmp_path, **there) as door:
        host = f"ssh://{door.user}@127.0.0.1:{door.port}"
        said = unreachable(panel, repair, make_task, DOCKER_HOST=host, PATH=door.ssh("client"))
    assert f"could not reach the engine at {host}: " in said
    assert words in said


def test_without_an_ssh_the_error_names_it(tmp_path: Path, panel: Path, make_task: MakeTask, repair: Repair) -> None:
    (tmp_path / "empty").mkdir()
    said = unreachable(panel, repair, make_task, DOCKER_HOST="ssh://127.0.0.1:9", PATH=str(tmp_path / "empty"))
    assert "ssh: No such file or directory" in said


@pytest.mark.parametrize(
    ("key", "known"), [("stranger", "host"), ("key", "")], ids=["a-password", "an-unknown-host-key"]
)
def test_an_ssh_asks_no_question_on_the_terminal(
    key: str,
    known: str,
    door: Door,
    tmp_path: Path,
    panel: Path,
    make_task: MakeTask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_task(p2p=[])
    monkeypatch.setenv("DOCKER_HOST", f"ssh://{door.user}@127.0.0.1:{door.port}")
    monkeypatch.setenv("PATH", door.ssh(tmp_path.name, key, known))
    with contextlib.closing(Terminal(panel)) as screen:
        assert screen.end() == errors.EngineLost.code, screen.shown
    shown = screen.shown.decode().lower()
    assert "could not reach the engine" in shown
    assert "password:" not in shown
    assert "yes/no" not in shown


@pytest.mark.parametrize("wrong", ["no-certificates", "another-authority", "plain"])
def test_a_port_that_wants_certificates_lets_nobody_in_without(
    wrong: str,
    private: PrivateEngine,
    ported: Callable[..., None],
    line: Callable[..., Line],
    certified: Path,
    tmp_path: Path,
    panel: Path,
    make_task: MakeTask,
    repair: Repair,
) -> None:
    ported(*verified(certified))
    host = f"tcp://127.0.0.1:{line(PORT, private.network).port}"
    settings = {"DOCKER_HOST": host}
    if wrong != "plain":
        folder = certificates(tmp_path / "tls") if wrong == "another-authority" else tmp_path
        settings |= {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(folder)}
    said = unreachable(panel, repair, make_task, **settings)
    assert f"could not reach the engine at {host}: " in said
