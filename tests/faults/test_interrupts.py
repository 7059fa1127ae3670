"""Ctrl-C in a live run: containers gone, finished work kept, its own exit status; and `clean` beside live runs."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import NAP, NAP_ID, Repair, Seen, Start, records
from tests.faults.live_run import Docker, LiveRun, eventually
from tests.faults.private_engine import PrivateEngine
from tests.faults.terminal import Terminal

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
LIMIT = 5  # seconds from the interrupt until no container is left: part of what is promised
SLEEP = {"env": {"NAP": "300"}, "p2p": [NAP_ID], "tests": NAP, "timeout": 600}


def assert_gone(docker: Docker, since: float, *tasks: str) -> None:
    eventually(lambda: not docker.containers(*tasks), since + LIMIT - time.monotonic())
    print(f"containers were gone after {time.monotonic() - since:.1f} s")


def test_an_interrupt_keeps_what_is_finished_and_the_next_run_goes_on_from_there(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, repair: Repair, seen: Seen
) -> None:
    quick = make_task(f"a-quick-{tag}", p2p=[])
    slow = make_task(f"b-slow-{tag}", p2p=[NAP_ID], tests=NAP, env={"ORACLE_NAP": "25"}, timeout=600)
    behind = make_task(f"c-behind-{tag}", p2p=[])
    live = start("run", panel, slow.name, quick.name, behind.name, "-j", "1")
    live.until(quick.name, "clean in")
    live.until(slow.name, "empty: observed")
    docker.in_test(slow.name)
    finished = records(panel)
    begin = time.monotonic()
    live.send(signal.SIGINT)
    assert_gone(docker, begin, slow.name, quick.name, behind.name)

    done = live.end()
    assert done.code == 130, done
    assert done.err.splitlines() == ["repair: stopped; finished records are kept, run again to go on from there"]
    assert records(panel) == finished
    assert (quick / "repair.json").exists()
    assert not (slow / "repair.json").exists()

    again = repair("run", panel)
    assert again.code == 0, again
    assert f"{slow.name}: empty: observed before, taken from the journal" in again.out
    assert f"{slow.name}: oracle: started" in again.out
    assert records(panel).items() > finished.items()
    assert len(records(panel)) == 6
    assert "from outside" not in done.out, "what an interrupt removes was removed by nobody else"
    seen("Ctrl-C", "between tasks and in a test", "exit 130, finished records kept, the next run completes")


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.3])
def test_an_interrupt_while_containers_are_being_made_leaves_none(
    delay: float, make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, seen: Seen
) -> None:
    tasks = [make_task(f"{number}-{tag}", **SLEEP).name for number in range(3)]
    live = start("run", panel, "-j", "6")
    live.until(": started")
    live.lasts(delay)
    begin = time.monotonic()
    live.send(signal.SIGINT)
    assert live.end().code == 130
    assert_gone(docker, begin, *tasks)
    assert records(panel) == {}
    seen("Ctrl-C", f"{delay} s after containers are being made", "exit 130, no container, no record")


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGINT, signal.SIGINT), (signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)],
    ids=lambda signals: "-then-".join(number.name for number in signals),
)
def test_a_second_signal_does_not_keep_the_first_from_cleaning_up(
    signals: tuple[signal.Signals, ...],
    make_task: MakeTask,
    panel: Path,
    tag: str,
    docker: Docker,
    start: Start,
    seen: Seen,
) -> None:
    task = make_task(f"task-{tag}", **SLEEP)
    live = start("run", panel)
    docker.in_test(task.name, 2)
    begin = time.monotonic()
    for number in signals:
        live.send(number)
        live.lasts(0.05)
    done = live.end()
    assert done.code in {130, 143}, done
    assert "Traceback" not in done.err
    assert_gone(docker, begin, task.name)
    seen(" then ".join(number.name for number in signals), "in a test", "ends once, no container left")


@pytest.fixture
def terminal(panel: Path) -> Iterator[Callable[[], Terminal]]:
    opened: list[Terminal] = []

    def open_one() -> Terminal:
        opened.append(Terminal(panel))
        return opened[-1]

    yield open_one
    for screen in opened:
        screen.close()


def test_ctrl_c_on_a_terminal_ends_the_live_display_and_the_containers(
    terminal: Callable[[], Terminal], make_task: MakeTask, panel: Path, tag: str, docker: Docker, seen: Seen
) -> None:
    task = make_task(f"task-{tag}", **SLEEP)
    screen = terminal()
    screen.until(b"started")
    docker.in_test(task.name, 2)
    begin = time.monotonic()
    screen.press(b"\x03")
    assert screen.end() == 130, screen.shown
    assert_gone(docker, begin, task.name)
    text = screen.shown.decode()
    assert "repair: stopped" in text
    assert "Traceback" not in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"), "the cursor stays hidden"
    assert records(panel) == {}
    seen("Ctrl-C", "on a terminal, in a test", "exit 130, no container, the cursor is back")


@pytest.fixture
def silent_registry() -> Iterator[str]:
    """A registry on loopback that takes a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def interrupted(live: LiveRun) -> float:
    """Interrupt a run; the seconds that it took to end."""
    begin = time.monotonic()
    live.send(signal.SIGINT)
    done = live.end()
    assert done.code == 130, done
    return time.monotonic() - begin


def test_an_interrupt_ends_a_run_that_waits_for_a_pull(
    silent_registry: str, make_task: MakeTask, panel: Path, tag: str, start: Start, seen: Seen
) -> None:
    make_task(f"task-{tag}", image=f"{silent_registry}/repair-test/{tag}:1")
    live = start("run", panel)
    live.until("pulling")
    assert interrupted(live) < 2 * LIMIT
    assert records(panel) == {}
    seen("Ctrl-C", "in a pull that hangs", "exit 130 at once")


def test_an_interrupt_ends_a_run_that_waits_for_a_build_and_the_build(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, start: Start, seen: Seen
) -> None:
    task = make_task(f"task-{tag}", image=f"127.0.0.1:9/repair-test/{tag}:1")
    (task / "environment").mkdir()
    (task / "environment" / "Dockerfile").write_text(f"FROM repair-test/odd-plain:1\nRUN sleep 60 # {tag}\n")

    def steps() -> list[str]:
        return [line for line in docker("ps", "-a", "--no-trunc").splitlines() if tag in line]

    live = start("run", panel)
    live.until("building")
    eventually(steps)
    assert interrupted(live) < 2 * LIMIT
    eventually(lambda: not steps(), LIMIT)
    assert records(panel) == {}
    seen("Ctrl-C", "in a build", "exit 130 at once, the build ends, too")


def test_clean_spares_a_live_run_and_removes_what_a_dead_one_left(
    make_task: MakeTask,
    panel: Path,
    private: PrivateEngine,
    start: Start,
    repair: Repair,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seen: Seen,
) -> None:
    docker = Docker(private.address)
    for name in ("dead", "live"):
        make_task(name, **SLEEP)
    dead, live = (start("run", panel, name, docker=docker) for name in ("dead", "live"))
    docker.in_test("dead", 2)
    spared = docker.in_test("live", 2)
    dead.send(signal.SIGKILL)
    assert dead.end().code == -signal.SIGKILL
    assert len(docker.containers("dead")) == 2

    monkeypatch.setenv("TMPDIR", str(tmp_path))  # another shell than the one in which the run was started
    done = repair("clean", docker=docker)

    assert done.code == 0, done
    assert "2 containers removed, 2 spared" in done.out
    assert docker.containers("dead") == []
    assert sorted(docker.containers("live")) == sorted(spared)
    assert len(docker("ps", "-q").split()) == 2
    live.send(signal.SIGINT)
    assert live.end().code == 130
    assert docker.containers() == []
    seen(
        "SIGKILL to the client",
        "in a test, beside a live run, then clean",
        "clean removes its containers and spares the others",
    )
