"""Records are written once, whole and the same: two runs at once, and runs that are killed at any moment."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from repair.controls.workspace import Workspace
from repair.model import Run
from repair.panel import read
from repair.sandbox import run_locks
from repair.sandbox.run_locks import is_dead
from tests.faults.conftest import Repair, Seen, Start, records
from tests.faults.live_run import PATIENCE, Docker, LiveRun

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
KEEP = "tests/test_calc.py::test_keep[{}]"
PHANTOM = "tests/test_calc.py::test_phantom"
FILES = {"task.json", "instruction.md", "oracle.patch", "outcomes.json", "repair.json"}

# Where a run is when it is ended: the words of the line that it has just printed, and how often before.
PHASES: dict[str, tuple[tuple[str, ...], int]] = {
    "the-run-begins": ((), 0),
    "a-first-control-starts": ((": started",), 1),
    "controls-are-under-way": ((": started",), 3),
    "a-first-control-is-observed": ((": observed",), 1),
    "controls-are-observed": ((": observed",), 4),
    "a-confirmation-starts": (("(confirmation)", ": started"), 1),
    "confirmations-are-under-way": (("(confirmation)", ": started"), 2),
    "a-confirmation-is-observed": (("(confirmation)", ": observed"), 2),
    "between-tasks": ((" in ", "[1/3]"), 1),
    "most-tasks-are-decided": ((" in ", "[2/3]"), 1),
}
IN_MOVED_TO = 0x80
HALF_WRITTEN = "outcomes-written-and-no-record-yet"
EARLY = {"a-first-control-starts", "controls-are-under-way"}
LATE = {"a-confirmation-is-observed", "most-tasks-are-decided", HALF_WRITTEN}  # no time to lose


@pytest.fixture(scope="module")
def seed() -> int:
    """Where the moments come from at which runs are ended; REPAIR_FAULTS_SEED repeats them."""
    return int(os.environ.get("REPAIR_FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))


@pytest.fixture
def three(make_task: MakeTask, panel: Path) -> Path:
    """A panel of one task for each verdict."""
    make_task("a-repaired", p2p=[KEEP.format(0), PHANTOM])
    make_task("b-clean", p2p=[KEEP.format(1)])
    make_task("c-refused", f2p=[PHANTOM], p2p=[KEEP.format(2)])
    return panel


def copy(panel: Path, name: str) -> Path:
    return Path(shutil.copytree(panel, panel.with_name(name)))


def run_of(docker: Docker, live: LiveRun) -> list[str]:
    """The containers that a process left."""
    found = docker("ps", "-a", "--filter", "label=repair.run", "--format", '{{.ID}} {{.Label "repair.run"}}')
    return [line for line in found.splitlines() if f"-{live.process.pid}-" in line]


def assert_whole(panel: Path, expected: dict[str, bytes]) -> None:
    assert records(panel) == expected
    for task in panel.glob("*/task.json"):
        assert {file.name for file in task.parent.iterdir()} == FILES
    assert list((panel / ".repair" / "tmp").iterdir()) == []


def test_two_runs_at_once_write_each_record_once_as_one_run_does(
    make_task: MakeTask, panel: Path, docker: Docker, start: Start, repair: Repair
) -> None:
    for number in range(3):
        make_task(f"clean-{number}", p2p=[KEEP.format(number)])
        make_task(f"repaired-{number}", p2p=[KEEP.format(number), PHANTOM])
    alone = copy(panel, "alone")
    assert repair("run", alone).code == 0
    runs = [start("run", panel) for _ in range(2)]
    ended = [live.end() for live in runs]

    assert [done.code for done in ended] == [0, 0], ended
    assert_whole(panel, records(alone))
    decided = [
        line for done in ended for line in done.out.splitlines() if ": clean in" in line or ": repaired in" in line
    ]
    assert len(decided) == 6, ended
    assert [run_of(docker, live) for live in runs] == [[], []]


@contextlib.contextmanager
def first_file(directories: Iterable[Path]) -> Iterator[int]:
    """A descriptor that can be read as soon as a file appears in one of the directories: a poll would come too late."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    try:
        for directory in directories:
            assert libc.inotify_add_watch(descriptor, os.fsencode(directory), IN_MOVED_TO) > 0
        yield descriptor
    finally:
        os.close(descriptor)


def reach(phase: str, live: LiveRun, descriptor: int, delay: float) -> None:
    """Wait until a run is in a phase, and `delay` seconds more."""
    if phase == HALF_WRITTEN:  # its first outcomes.json appears; the record follows within a few writes to the disk
        assert select.select([descriptor], [], [], PATIENCE)[0]
        return
    words, times = PHASES[phase]
    assert not words or live.until(*words, times=times), "the run ended before its phase"
    live.lasts(delay)


KILL, TERM = signal.SIGKILL, signal.SIGTERM
STATUS = {KILL: -KILL, TERM: 143}


@pytest.mark.parametrize("number", [KILL, TERM], ids=lambda number: number.name)
@pytest.mark.parametrize("phase", [*PHASES, HALF_WRITTEN])
def test_a_run_ended_at_a_random_moment_is_completed_by_the_next(
    phase: str,
    number: signal.Signals,
    seed: int,
    three: Path,
    docker: Docker,
    start: Start,
    repair: Repair,
    whole: dict[str, bytes],
    tmp_path: Path,
    seen: Seen,
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    here = Docker(extra={"TMPDIR": str(temporary)})
    chance = random.Random(f"{seed} {phase} {number}")
    delay = 0.0 if phase in LATE else chance.random() * 0.3
    with first_file(task.parent for task in three.glob("*/task.json")) as descriptor:
        live = start("run", three, docker=here)
        reach(phase, live, descriptor, delay)
        live.send(number)
    print(f"REPAIR_FAULTS_SEED={seed}: {number.name} in {phase}, after {delay:.3f} s where a delay applies")
    ended = live.end()
    # so early, Python itself ends by the signal; later, a run may have got to its end where the machine is busy
    also = [-number] if phase == "the-run-begins" else [] if phase in EARLY else [0]
    assert ended.code in {STATUS[number], *also}, ended
    if number is TERM:
        assert run_of(docker, live) == []
        assert ended.code != STATUS[TERM] or "run again" in ended.err
    before = records(three)
    print("left behind:", ", ".join(sorted(before)) or "nothing")

    again = repair("run", three, docker=here)

    assert again.code == 0, again
    assert_whole(three, whole)
    assert list(temporary.iterdir()) == []
    kept = {file: content for file, content in before.items() if file.endswith("repair.json")}
    assert whole.items() >= kept.items()
    assert run_of(docker, live) == []
    seen(f"{number.name} to the client", phase.replace("-", " "), "the next run completes, same records")


@pytest.fixture(scope="module")
def whole_records() -> dict[str, bytes]:
    return {}


@pytest.fixture
def whole(three: Path, whole_records: dict[str, bytes], repair: Repair) -> dict[str, bytes]:
    """The records of a run of `three` that nobody disturbed."""
    if not whole_records:
        undisturbed = copy(three, "undisturbed")
        assert repair("run", undisturbed).code == 0
        whole_records.update(records(undisturbed))
    return whole_records


def test_taking_up_a_task_spares_the_temporary_files_of_tasks_with_a_longer_name(
    make_task: MakeTask, panel: Path
) -> None:
    make_task("kit-1.0")
    make_task("kit-1.0.1")
    loaded = read.load(panel)
    short, longer = loaded.tasks
    workspace, other = Workspace(loaded, "one"), Workspace(loaded, "other")
    done = threading.Event()

    def take_up() -> None:
        while not done.is_set():
            with other.task_lock(short, done.is_set):
                pass

    thread = threading.Thread(target=take_up)
    thread.start()
    try:
        for number in range(200):
            workspace.note(longer, f"key-{number}", Run("image", 0, {}), [])
    finally:
        done.set()
        thread.join()
    assert len(list((panel / ".repair" / "journal").iterdir())) == 200


def test_a_run_that_starts_is_not_stopped_by_one_that_takes_up_the_first_task(make_task: MakeTask, panel: Path) -> None:
    make_task("first")
    loaded = read.load(panel)
    (task,) = loaded.tasks
    starting, running = Workspace(loaded, "starting"), Workspace(loaded, "running")
    done = threading.Event()

    def take_up() -> None:
        while not done.is_set():
            with running.task_lock(task, done.is_set):
                pass

    thread = threading.Thread(target=take_up)
    thread.start()
    try:
        for _ in range(200):
            starting.check_can_publish(loaded.tasks)
    finally:
        done.set()
        thread.join()


@pytest.fixture
def as_nobody() -> Iterator[None]:
    os.seteuid(65534)
    yield
    os.seteuid(0)


DIE = """
import os
from repair.sandbox import run_locks as runs
run_id = runs.new_run_id()
held = runs.alive(run_id)
held.__enter__()
print(run_id, flush=True)
os._exit(0)  # as a kill does: the lock's file stays
"""


def test_the_dead_run_of_another_user_is_seen_as_dead(request: pytest.FixtureRequest) -> None:
    run_id = subprocess.run([sys.executable, "-c", DIE], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    request.getfixturevalue("as_nobody")
    assert is_dead(run_id)


def test_a_run_where_process_ids_are_others_is_of_another_host() -> None:
    show = [sys.executable, "-c", "from repair.sandbox import run_locks as runs; print(runs.new_run_id())"]
    container = ["unshare", "--pid", "--fork", "--mount-proc"]
    here, there = (
        subprocess.run([*around, *show], capture_output=True, text=True, check=True).stdout.strip()
        for around in ([], container)
    )
    assert (run_locks.is_of_this_host(here), run_locks.is_of_this_host(there)) == (True, False)
