"""Infrastructure is never evidence: engines that go, containers that are killed, runs that say nothing or lie."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repair import errors
from tests.faults.conftest import NAP, NAP_ID, Repair, Seen, Start, adds, change, records
from tests.faults.live_run import Docker, Ended
from tests.faults.private_engine import PrivateEngine

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
ENDS = {"stopped": PrivateEngine.stop, "killed": PrivateEngine.kill}
TAMPER = 'python3 -m pytest "$@"; s=$?; for a; do case $a in --junitxml=*) r=${a#*=};; esac; done; '


@dataclass(frozen=True)
class Fault:
    """What is wrong with a task, the error that it is, and words that the message must have."""

    error: type[errors.InfrastructureError]
    words: tuple[str, ...]
    keys: dict[str, Any] = field(default_factory=dict)
    tests: bytes = NAP


def by_command(text: str) -> dict[str, Any]:
    return {"test_cmd": text}


CONFTEST = "tests/conftest.py"
EAT = "bytearray(1 << 30)"
FAULTS = {
    "image-missing": Fault(
        errors.ImageError,
        ("no image", "cannot be pulled", "there is no", "build or pull it"),
        {"image": "127.0.0.1:9/none:1"},
    ),
    "time-is-out-before-any-test": Fault(
        errors.TimeoutOutsideTest,
        ("no end within 4 s", "before any test", "raise `timeout`"),
        {"timeout": 4},
        adds(CONFTEST, "import time\ntime.sleep(300)"),
    ),
    "time-is-out-after-the-last-test": Fault(
        errors.TimeoutOutsideTest,
        ("no end within 20 s", "after tests/test_calc.py::test_keep[1]", "raise `timeout`"),
        {"timeout": 20},
        adds(CONFTEST, "import time\n\ndef pytest_sessionfinish():\n    time.sleep(300)"),
    ),
    "time-is-out-after-a-whole-report": Fault(
        errors.TimeoutOutsideTest,
        ("no end within 4 s", "raise `timeout`"),
        {"timeout": 4},
        adds(CONFTEST, "import atexit, time\natexit.register(time.sleep, 300)"),
    ),
    "memory-kill-in-a-test": Fault(
        errors.MemoryKill,
        ("memory limit of 64 MiB", "tests/test_calc.py::test_add", "raise `memory`"),
        {"memory": "64m"},
        adds(CONFTEST, f"def pytest_runtest_call(item):\n    {EAT}"),
    ),
    "memory-kill-before-any-test": Fault(
        errors.MemoryKill, ("memory limit of 64 MiB", "raise `memory`"), {"memory": "64m"}, adds(CONFTEST, EAT)
    ),
    "memory-kill-of-a-child-that-the-tests-ignore": Fault(
        errors.MemoryKill,
        ("memory limit of 64 MiB", "raise `memory`"),
        {"memory": "64m"},
        adds(CONFTEST, f"import subprocess\nsubprocess.call(['python3', '-c', '{EAT}'])"),
    ),
    "no-report": Fault(errors.NoEvidence, ("no report was written", "see "), by_command(TAMPER + 'rm "$r"; exit $s')),
    "nothing-ran-and-nothing-was-said": Fault(
        errors.NoEvidence, ("no report and no test to blame", "mend test_cmd"), by_command("exit 0 #")
    ),
    "half-a-report": Fault(
        errors.NoEvidence, ("truncated", "see "), by_command(TAMPER + 't=$(head -c 400 "$r"); echo "$t" >"$r"; exit $s')
    ),
    "an-empty-report": Fault(errors.NoEvidence, ("report", "see "), by_command(TAMPER + ': >"$r"; exit $s')),
    "a-report-that-hides-its-failures": Fault(
        errors.NoEvidence,
        ("record says failed", "test_add", "find what changes reports"),
        by_command(TAMPER + 'sed -z -i "s:<failure.*</failure>::" "$r"; exit 0'),
    ),
    "exit-0-with-failures": Fault(
        errors.NoEvidence,
        ("exit status 0 although", "test_add", "runner's own status"),
        by_command('python3 -m pytest "$@" || true'),
    ),
}


def assert_failed(done: Ended, error: type[errors.RepairError], *words: str) -> None:
    assert done.code == error.code, done
    for word in words:
        assert word in done.err, done


@pytest.mark.parametrize("name", FAULTS)
def test_a_control_that_is_not_observed_leaves_no_record_and_stops_no_other_task(
    name: str,
    make_task: MakeTask,
    panel: Path,
    tag: str,
    docker: Docker,
    repair: Repair,
    seen: Seen,
) -> None:
    fault, p2p = FAULTS[name], ["tests/test_calc.py::test_keep[0]", "tests/test_calc.py::test_keep[1]"]
    sick = make_task(f"sick-{tag}", p2p=p2p, tests=fault.tests, **fault.keys)
    make_task(f"well-{tag}", p2p=p2p)

    done = repair("run", panel)

    assert_failed(done, fault.error, sick.name, *fault.words)
    assert {file.partition("/")[0] for file in records(panel)} == {f"well-{tag}"}
    assert docker.containers(sick.name, f"well-{tag}") == []

    change(sick, **{**dict.fromkeys(fault.keys), "image": "repair-test/odd-plain:1"})
    (sick / "tests.patch").write_bytes(NAP)
    again = repair("run", panel)
    assert again.code == 0, again
    assert json.loads((sick / "repair.json").read_bytes())["verdict"] == "clean"
    what = f"exit {fault.error.code}, no record, the other task decided, a rerun completes"
    seen(name.replace("-", " "), "both controls", what, times=2)


def test_failures_of_two_kinds_are_both_told_and_exit_with_the_general_code(
    make_task: MakeTask, panel: Path, tag: str, repair: Repair
) -> None:
    for name in ("image-missing", "no-report"):
        make_task(f"{name}-{tag}", **FAULTS[name].keys)
    done = repair("run", panel)
    words = [word for name in ("image-missing", "no-report") for word in (f"{name}-{tag}", *FAULTS[name].words)]
    assert_failed(done, errors.InfrastructureError, *words)


@pytest.mark.parametrize(
    "how",
    [("kill",), ("kill", "--signal", "TERM"), ("stop", "--time", "0"), ("restart", "--time", "0"), ("rm", "--force")],
    ids=" ".join,
)
def test_a_container_that_somebody_ends_in_a_test_is_no_evidence(
    how: tuple[str, ...],
    make_task: MakeTask,
    panel: Path,
    tag: str,
    docker: Docker,
    start: Start,
    repair: Repair,
    seen: Seen,
) -> None:
    task = make_task(f"hit-{tag}", p2p=[NAP_ID], tests=NAP, env={"NAP": "300"})
    make_task(f"well-{tag}", p2p=[])
    live = start("run", panel)
    docker(*how, *docker.in_test(task.name, 2))

    assert_failed(live.end(), errors.ContainerKilled, task.name, "from outside", "run again")
    assert {file.partition("/")[0] for file in records(panel)} == {f"well-{tag}"}
    assert docker.containers(task.name) == []

    change(task, env={})
    assert repair("run", panel).code == 0
    assert (task / "repair.json").exists()
    what = f"exit {errors.ContainerKilled.code}, no record, the other task decided, a rerun completes"
    seen(f"docker {' '.join(how)} of a container", "in a test", what, times=2)


def test_a_container_that_somebody_pauses_until_its_time_is_out_is_no_evidence(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, repair: Repair, seen: Seen
) -> None:
    task = make_task(f"hit-{tag}", p2p=[NAP_ID], tests=NAP, env={"NAP": "5"}, timeout=40)
    make_task(f"well-{tag}", p2p=[])
    live = start("run", panel)
    docker("pause", *docker.in_test(task.name, 2))

    assert_failed(live.end(), errors.ContainerKilled, task.name, "paused from outside", "run again")
    assert {file.partition("/")[0] for file in records(panel)} == {f"well-{tag}"}
    assert docker.containers(task.name) == []
    assert repair("run", panel).code == 0
    assert (task / "repair.json").exists()
    what = f"exit {errors.ContainerKilled.code}, no record, the other task decided, a rerun completes"
    seen("docker pause of a container", "in a test", what, times=2)


def test_an_engine_that_does_not_run_is_told_once_with_what_to_do(
    make_task: MakeTask, panel: Path, private: PrivateEngine, repair: Repair, seen: Seen
) -> None:
    for number in range(3):
        make_task(f"task-{number}", p2p=[])
    private.stop()
    done = repair("run", panel, docker=Docker(private.address))
    assert_failed(done, errors.EngineLost, "start the engine")
    assert len(done.err.splitlines()) == 1
    assert "Traceback" not in done.err
    assert records(panel) == {}

    private.start()
    assert repair("run", panel, docker=Docker(private.address)).code == 0
    assert len(records(panel)) == 6
    seen("engine stopped", "before the run", "exit 8, told once, a rerun completes")


@pytest.mark.parametrize("clean_first", [False, True], ids=["next-run-sweeps", "clean-sweeps"])
@pytest.mark.parametrize("end", ENDS)
def test_an_engine_that_goes_during_a_run_ends_it_once_and_the_next_completes(
    end: str,
    clean_first: bool,
    make_task: MakeTask,
    panel: Path,
    private: PrivateEngine,
    start: Start,
    repair: Repair,
    seen: Seen,
) -> None:
    docker = Docker(private.address)
    make_task("a-quick", p2p=[])
    slow = [make_task(f"slow-{number}", p2p=[NAP_ID], tests=NAP, env={"NAP": "300"}) for number in range(2)]
    make_task("z-behind", p2p=[])
    assert repair("run", panel, "a-quick", docker=docker).code == 0
    live = start("run", panel, "-j", "3", docker=docker)  # one less than the slow tasks have controls
    for task in slow:
        docker.in_test(task.name)
    before = records(panel)
    ENDS[end](private)

    done = live.end()
    assert_failed(done, errors.EngineLost, "start the engine")
    assert done.err.count("start the engine") == 1, done
    assert not [line for line in done.out.splitlines() if "not run" in line and "could not" in line], done
    assert records(panel).items() >= before.items()
    assert not any((task / "repair.json").exists() for task in slow)

    private.start()
    if clean_first:
        assert repair("clean", docker=docker).code == 0
        assert docker.containers() == []
    for task in slow:
        change(task, env={})
    again = repair("run", panel, docker=docker)
    assert again.code == 0, again
    assert len(records(panel)) == 8
    assert docker.containers() == []
    by = "clean" if clean_first else "the next run"
    seen(f"engine {end} for good", f"in a test, then {by}", "exit 8, told once, a rerun completes")


@pytest.mark.parametrize("end", ENDS)
def test_an_engine_that_is_restarted_during_a_run_is_no_evidence(
    end: str,
    make_task: MakeTask,
    panel: Path,
    private: PrivateEngine,
    start: Start,
    repair: Repair,
    seen: Seen,
) -> None:
    docker = Docker(private.address)
    task = make_task(p2p=[NAP_ID], tests=NAP, env={"NAP": "300"})
    live = start("run", panel, "--retries", "0", docker=docker)
    docker.in_test(task.name, 2)
    ENDS[end](private)
    private.start()

    done = live.end()
    assert done.code in {errors.EngineLost.code, errors.ContainerKilled.code}, done
    assert task.name in done.err
    assert records(panel) == {}

    change(task, env={})
    again = repair("run", panel, docker=docker)
    assert again.code == 0, again
    assert docker.containers() == []
    seen(f"engine {end} and started", "in a test, --retries 0", "no record, a rerun completes")


def test_a_run_whose_engine_hangs_ends_on_an_interrupt(
    make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start, repair: Repair, seen: Seen
) -> None:
    docker = Docker(private.address)
    task = make_task(p2p=[NAP_ID], tests=NAP, env={"NAP": "300"})
    live = start("run", panel, docker=docker)
    docker.in_test(task.name, 2)
    with private.frozen():
        live.send(signal.SIGINT)
        ended = not live.lasts(30)
    assert ended, "the engine's silence kept the run from ending"
    assert live.end().code == 130
    assert repair("clean", docker=docker).code == 0
    assert docker.containers() == []
    seen("engine hangs", "in a test, then Ctrl-C", "exit 130, no record, clean removes the rest")
