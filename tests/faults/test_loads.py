"""Tests that devour, hang, flood and hide: what each makes of its own control, and that nothing else suffers."""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repair import errors
from repair.outcomes import junit
from repair.sandbox import LOG_BYTES, PIDS
from tests.engine.lab import write_panel, write_task
from tests.faults.conftest import Repair, Seen, Start, adds, change, records
from tests.faults.live_run import Docker, Ended, LiveRun, eventually
from tests.faults.survival import assert_survived, copy, undisturbed

pytestmark = [pytest.mark.faults, pytest.mark.engine]

LOAD = "tests/test_load.py"
LOAD_ID = f"{LOAD}::test_load"
KEPT = "tests/test_calc.py::test_keep[0]"
LONG = 1800  # seconds for a run that writes gigabytes
# Bytes of memory that the client may take, whatever containers pour out: less than any of them pours, and far more than
# the tests' own process ever takes, as the peak of whoever starts a process counts as that process's, too.
PEAK = 1 << 30
MakeTask = Callable[..., Path]


def load_file(body: str, *before: str) -> bytes:
    """A hidden test file with one test, `body`."""
    lines = ["import os, signal, subprocess, sys, time", "import pytest", *before, "def test_load():", f"    {body}"]
    return adds(LOAD, "\n".join(lines))


HARMLESS = load_file("pass")


@dataclass(frozen=True)
class Load:
    """What a task's tests do, and what must come of it: `error` with `words`, or a verdict with a first cause.

    `fault`, `phase` and `seen` are the cells of its row.
    """

    fault: str
    phase: str
    seen: str
    tests: bytes = HARMLESS
    keys: Mapping[str, Any] = field(default_factory=dict)
    error: type[errors.RepairError] | None = None
    words: tuple[str, ...] = ()
    verdict: str = "clean"
    cause: str | None = None


SLEEP = "time.sleep(3600)"
IGNORE = "[signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]"
LAST = ("@pytest.fixture(autouse=True)", "def last():", "    yield", f"    {SLEEP}")
FINISH = adds("tests/conftest.py", f"import time\n\ndef pytest_sessionfinish():\n    {SLEEP}")
DAEMON = """\
if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execlp("sh", "sh", "-c", "trap '' TERM INT; while sleep 0.01; do echo on; done", os.environ["MARK"])
        os._exit(0)"""
FLOOD = "[os.write(1, b'x' * (1 << 20)) for _ in range(2048)]"
TAMPER = 'python3 -m pytest "$@"; s=$?; for a; do case $a in --junitxml=*) r=${a#*=};; esac; done; '
SHORT = {"timeout": 30}
OUTSIDE = errors.TimeoutOutsideTest
TWICE = "set aside as error after two attempts, task repaired"
RAISE = "exit 9, no record, raise timeout"
ENDED_TWICE = ("repaired", "the run ended twice inside this test")

SLEEPERS = {
    "deaf": Load(
        "SIGTERM ignored", "in a test that hangs", TWICE, load_file(SLEEP, IGNORE), SHORT, None, (), *ENDED_TWICE
    ),
    "hang": Load("hang", "in a test", TWICE, load_file(SLEEP), SHORT, None, (), *ENDED_TWICE),
    "teardown": Load("hang", "in a teardown", TWICE, load_file("pass", *LAST), SHORT, None, (), *ENDED_TWICE),
    "collection": Load(
        "hang", "in collection", RAISE, load_file("pass", SLEEP), SHORT, OUTSIDE, ("before any test", "raise `timeout`")
    ),
    "finish": Load(
        "hang", "at session finish", RAISE, HARMLESS + FINISH, SHORT, OUTSIDE, (f"after {LOAD_ID}", "raise `timeout`")
    ),
    "daemon": Load("daemon that writes on", "left by a passing test", "task clean, daemon gone", load_file(DAEMON)),
}
GIANTS = {
    "log": Load(
        "2 GiB printed",
        "past pytest's capture",
        "task clean, log cut at 32 MiB",
        load_file(FLOOD),
        {"test_cmd": ["python3", "-m", "pytest", "-s"]},
    ),
    "capture": Load(
        "2 GiB printed",
        "into pytest's capture",
        "exit 10, no record, raise memory",
        load_file(FLOOD),
        {"memory": "512m"},
        errors.MemoryKill,
        ("memory limit of 512 MiB", LOAD_ID, "raise `memory`"),
    ),
    "report": Load(
        "5 GiB report",
        "from pytest",
        "exit 12, no record",
        keys={"test_cmd": TAMPER + 'fallocate -l 5G "$r"; exit $s'},
        error=errors.NoEvidence,
        words=("more than a run's reports", "see "),
    ),
    "other-report": Load(
        "5 GiB report",
        "from another runner",
        "exit 12, no record",
        keys={"test_cmd": "head -c 5G /dev/zero >report.xml; exit 1", "framework": "own", "junit": ["report.xml"]},
        error=errors.NoEvidence,
        words=(f"report.xml is no plain file of at most {junit.MAX_BYTES >> 20} MiB", "see "),
    ),
}


@dataclass(frozen=True)
class Aftermath:
    """A panel of loads and of one task that is well: its run, and the run after every load was mended."""

    panel: Path
    tasks: tuple[str, ...]
    done: Ended
    left: tuple[str, ...]
    before: dict[str, bytes]
    again: Ended
    expected: dict[str, bytes]

    def outcomes(self, load: str) -> tuple[bytes | None, bytes]:
        """outcomes.json of a load's task as it was, and of the same task mended."""
        name = next(f"{task}/outcomes.json" for task in self.tasks if task.startswith(f"{load}-"))
        return self.before.get(name), self.expected[name]


def suffer(loads: Mapping[str, Load], scratch: Path, *options: str) -> Aftermath:
    """Run a panel of loads; mend all, run again; run the mended panel undisturbed, too."""
    tag, docker = secrets.token_hex(4), Docker()
    panel = write_panel(scratch / "panel", "[policy]\nmin_p2p = 0\n")
    write_task(panel, f"well-{tag}", p2p=[KEPT], cpus=1, timeout=LONG)
    plain = {"cpus": 1, "timeout": LONG, "env": {}, "test_cmd": None, "memory": None, "framework": None, "junit": None}
    for name, load in loads.items():
        task = write_task(panel, f"{name}-{tag}", p2p=[KEPT, LOAD_ID], tests=load.tests)
        change(task, **{**plain, "env": {"MARK": f"repair-{tag}"}, **load.keys})
    tasks = tuple(task.parent.name for task in panel.glob("*/task.json"))

    def run(where: Path, *arguments: str) -> Ended:
        live = LiveRun(("run", where, *arguments), docker, scratch)
        try:
            return live.end(LONG)
        finally:
            live.close()

    done = run(panel, *options)
    left, before = (*docker.containers(*tasks), *processes(f"repair-{tag}")), records(panel)
    for name in loads:
        task = panel / f"{name}-{tag}"
        change(task, **plain)
        (task / "tests.patch").write_bytes(HARMLESS)
        for record in ("repair.json", "outcomes.json"):
            (task / record).unlink(missing_ok=True)
    again, alone = run(panel), copy(panel, scratch / "alone")
    assert run(alone).code == 0
    return Aftermath(panel, tasks, done, left, before, again, records(alone))


def processes(mark: str) -> Iterator[str]:
    """The host's processes that have a word of their own in their command lines."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if mark.encode() in words:
            yield file.parent.name


@pytest.fixture(scope="module")
def sleepers(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    return suffer(SLEEPERS, tmp_path_factory.mktemp("sleepers"), "-j", "4")


@pytest.fixture(scope="module")
def giants(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    return suffer(GIANTS, tmp_path_factory.mktemp("giants"))


@pytest.fixture(params=[*SLEEPERS, *GIANTS])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def aftermath(name: str, request: pytest.FixtureRequest) -> Aftermath:
    found: Aftermath = request.getfixturevalue("sleepers" if name in SLEEPERS else "giants")
    return found


def test_a_load_makes_of_its_own_control_what_the_rules_say_and_of_no_other(
    name: str, aftermath: Aftermath, seen: Seen
) -> None:
    load = {**SLEEPERS, **GIANTS}[name]
    task = next(task for task in aftermath.tasks if task.startswith(f"{name}-"))
    record = json.loads(aftermath.before.get(f"{task}/repair.json", b"null"))
    before, mended = aftermath.outcomes(name)
    if load.error is not None:
        assert record is before is None
        told = [line for line in aftermath.done.err.splitlines() if line.startswith(f"  {task}: ")]
        assert len(told) == 1, aftermath.done
        assert all(word in told[0] for word in load.words), told
    else:
        assert record["verdict"] == load.verdict
        assert [group["cause"] for group in record["dropped"]] == [load.cause] * (load.cause is not None)
        assert (before == mended) is (load.verdict == "clean"), "what passes shows nothing of what it did besides"
    seen(load.fault, load.phase, load.seen)


@pytest.mark.parametrize("loads", ["sleepers", "giants"])
def test_what_loads_leave_is_gone_and_mended_tasks_have_an_undisturbed_runs_records(
    loads: str, docker: Docker, request: pytest.FixtureRequest
) -> None:
    found: Aftermath = request.getfixturevalue(loads)
    (well,) = (task for task in found.tasks if task.startswith("well-"))
    assert found.done.code == errors.TimeoutOutsideTest.code if loads == "sleepers" else errors.InfrastructureError.code
    assert found.left == ()
    assert {
        file: found.before[file] for file in found.expected if file.startswith(well)
    }.items() <= found.expected.items()
    assert found.again.code == 0, found.again
    assert_survived(found.panel, found.expected, docker, *found.tasks)


def test_whatever_containers_pour_out_the_client_holds_little_of_it(giants: Aftermath) -> None:
    print(f"the client's peak was {giants.done.peak >> 20} MiB")
    assert giants.done.peak < PEAK
    kept = [file.stat().st_size for file in (giants.panel / ".repair" / "attempts").rglob("*") if file.is_file()]
    assert max(kept) <= LOG_BYTES


# Doubles until nothing more can be started, and then sleeps: the machine stays in use meanwhile.
BOMB = "os.system('bomb() { bomb & bomb & sleep 3600; }; bomb')"


def processes_of(docker: Docker, box: str) -> int:
    """How many processes a container has; 0 where it is gone."""
    for line in docker("stats", "--no-stream", "--format", "{{.ID}} {{.PIDs}}").splitlines():
        identity, _, number = line.partition(" ")
        if box.startswith(identity) and number.isdigit():  # of a container that is just going no number is told
            return int(number)
    return 0


def test_a_fork_bomb_is_held_to_its_processes_and_set_aside(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, repair: Repair, seen: Seen
) -> None:
    keys = {"cpus": 0.5, "timeout": 30, "env": {"MARK": f"repair-{tag}"}}
    bomb = make_task(f"a-bomb-{tag}", p2p=[KEPT, LOAD_ID], tests=load_file(f"{BOMB}; {SLEEP}"), **keys)
    well = make_task(f"b-well-{tag}", p2p=[KEPT], cpus=1)
    live = start("run", panel, "-j", "2")

    def crowd() -> int:
        found = max((processes_of(docker, box) for box in docker.containers(bomb.name)), default=0)
        return found if found > PIDS // 2 else 0

    assert eventually(crowd) <= PIDS
    done = live.end(LONG)
    assert done.code == 0, done
    record = json.loads((bomb / "repair.json").read_bytes())
    assert (record["verdict"], record["dropped"][0]["cause"]) == ENDED_TWICE
    assert docker.containers(bomb.name, well.name) == []

    (bomb / "repair.json").unlink()
    (bomb / "tests.patch").write_bytes(HARMLESS)
    assert repair("run", panel).code == 0
    assert_survived(panel, undisturbed(panel, repair), docker, bomb.name, well.name)
    seen("fork bomb", "in a test", f"{PIDS} processes at most, {TWICE}")


def test_an_interrupt_ends_a_test_that_is_deaf_to_signals(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, repair: Repair, seen: Seen
) -> None:
    deaf = load_file(f"open('/tmp/begun', 'w').close(); {SLEEP}", IGNORE)
    task = make_task(f"deaf-{tag}", p2p=[KEPT, LOAD_ID], tests=deaf)
    live = start("run", panel)
    docker.in_test(task.name, 2)
    live.send(signal.SIGINT)
    assert live.end().code == 130
    assert docker.containers(task.name) == []
    assert records(panel) == {}

    (task / "tests.patch").write_bytes(HARMLESS)
    assert repair("run", panel).code == 0
    assert_survived(panel, undisturbed(panel, repair), docker, task.name)
    seen("SIGTERM ignored", "in a test, Ctrl-C", "exit 130, containers gone, rerun completes")
