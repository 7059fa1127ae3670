"""The client's clock jumps, or is wrong by years: nothing that is decided, kept or removed depends on it."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.faults.conftest import NAP, NAP_ID, Repair, Seen, Start, adds, change
from tests.faults.live_run import Docker
from tests.faults.private_engine import PrivateEngine
from tests.faults.survival import assert_survived, undisturbed

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
KEPT = "tests/test_calc.py::test_keep[0]"
PHANTOM = "tests/test_calc.py::test_phantom"
# As make asks whether what a patch has changed is newer than what was built of it before.
FRESH = adds(
    "tests/test_fresh.py",
    "import os, time\n\ndef test_fresh():\n    assert abs(time.time() - os.path.getmtime(__file__)) < 1800",
)
FRESH_ID = "tests/test_fresh.py::test_fresh"
HANG_ID = "tests/test_hang.py::test_hang"
HANG = adds("tests/test_hang.py", "import time\n\ndef test_hang():\n    time.sleep(3600)")
DAY = 24 * 3600
JUMPS = {"+2 days": 2 * DAY, "-2 days": -2 * DAY}
YEARS = [1980, 2037, 2100]
PHASES: dict[str, tuple[str, ...]] = {
    "a first control starts": (": started",),
    "a first control is observed": (": observed",),
    "a confirmation starts": ("(confirmation)", ": started"),
}


class Clock:
    """The clock that a process sees: off by some seconds, which may change while the process runs.

    The wall's alone, or with `monotonic` all that `repair` looks at.
    """

    def __init__(self, library: Path, file: Path, monotonic: bool = False) -> None:
        self._file = file
        self.environment = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(file)}
        if monotonic:
            self.environment["SHIFTED_MONOTONIC"] = "1"
        self.shift(0)

    def shift(self, seconds: int) -> None:
        """Let it be off by so many seconds; whoever looks next sees it."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._file)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(__file__).with_name("shifted_clock.c")
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"], check=True)
    return made


@pytest.fixture
def clock(library: Path, tmp_path: Path) -> Clock:
    return Clock(library, tmp_path / "clock")


@pytest.fixture(scope="module")
def tag() -> str:
    """What makes this module's tasks its own on an engine that others use, too."""
    return secrets.token_hex(4)


@pytest.fixture
def tasks(make_task: MakeTask, tag: str) -> tuple[str, ...]:
    """Two tasks, of which one has something to confirm."""
    found = [
        make_task(f"a-repaired-{tag}", p2p=[KEPT, FRESH_ID, PHANTOM], tests=FRESH),
        make_task(f"b-clean-{tag}", p2p=[KEPT, FRESH_ID, NAP_ID], tests=FRESH + NAP, env={"NAP": "3"}),
    ]
    return tuple(task.name for task in found)


@pytest.fixture(scope="module")
def whole_records() -> dict[str, bytes]:
    return {}


@pytest.fixture
def expected(tasks: tuple[str, ...], panel: Path, whole_records: dict[str, bytes], repair: Repair) -> dict[str, bytes]:
    """The records of `tasks` that a run whose clock is right writes."""
    if not whole_records:
        assert tasks
        whole_records.update(undisturbed(panel, repair))
    return whole_records


def to(year: int) -> int:
    """Seconds from now to the beginning of a year."""
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp() - time.time())


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_clock_that_jumps_during_a_run_changes_no_byte_of_a_record(
    phase: str,
    jump: str,
    tasks: tuple[str, ...],
    clock: Clock,
    panel: Path,
    docker: Docker,
    start: Start,
    seen: Seen,
    expected: dict[str, bytes],
) -> None:
    live = start("run", panel, docker=Docker(extra=clock.environment))
    assert live.until(*PHASES[phase])
    clock.shift(JUMPS[jump])
    done = live.end()
    assert done.code == 0, done
    assert_survived(panel, expected, docker, *tasks)
    seen(f"client's clock jumps by {jump}", phase, "same records, exit 0")


@pytest.mark.parametrize("year", YEARS)
def test_a_clock_that_is_wrong_by_years_changes_no_byte_of_a_record(
    year: int,
    tasks: tuple[str, ...],
    clock: Clock,
    panel: Path,
    docker: Docker,
    repair: Repair,
    seen: Seen,
    expected: dict[str, bytes],
) -> None:
    clock.shift(to(year))
    done = repair("run", panel, docker=Docker(extra=clock.environment))
    assert done.code == 0, done
    assert_survived(panel, expected, docker, *tasks)
    seen(f"client's clock is in {year}", "from the start", "same records, exit 0")


@pytest.mark.parametrize("jump", JUMPS)
def test_a_clock_that_jumps_neither_hastens_nor_puts_off_a_timeout(
    jump: str, make_task: MakeTask, clock: Clock, panel: Path, tag: str, docker: Docker, start: Start, seen: Seen
) -> None:
    quick = {"p2p": [KEPT, HANG_ID], "tests": HANG, "timeout": 40}
    hangs = make_task(f"hangs-{tag}", **quick)
    naps = make_task(f"naps-{tag}", p2p=[NAP_ID], tests=NAP, env={"NAP": "10"}, timeout=600)
    live = start("run", panel, "-j", "4", docker=Docker(extra=clock.environment))
    docker.in_test(naps.name)
    clock.shift(JUMPS[jump])
    done = live.end(300)
    assert done.code == 0, done
    assert f"{hangs.name}: repaired" in done.out, "its time ran out, twice in each control"
    assert f"{naps.name}: clean" in done.out, "its time did not"
    assert docker.containers(hangs.name, naps.name) == []
    seen(f"client's clock jumps by {jump}", "in a test that hangs", "its timeout comes as set, others' does not")


def test_a_client_that_was_suspended_for_hours_takes_no_time_for_run_out(
    tasks: tuple[str, ...],
    panel: Path,
    library: Path,
    tmp_path: Path,
    docker: Docker,
    start: Start,
    seen: Seen,
    expected: dict[str, bytes],
) -> None:
    clock = Clock(library, tmp_path / "clock", monotonic=True)
    live = start("run", panel, docker=Docker(extra=clock.environment))
    assert live.until(": started")
    clock.shift(5 * 3600)
    done = live.end()
    assert done.code == 0, done
    assert_survived(panel, expected, docker, *tasks)
    seen("client suspended for 5 h", "a first control starts", "same records, exit 0")


@pytest.mark.parametrize("wrong", JUMPS)
def test_clean_and_the_next_run_spare_a_live_run_whatever_their_clocks_say(
    wrong: str,
    make_task: MakeTask,
    clock: Clock,
    panel: Path,
    private: PrivateEngine,
    start: Start,
    repair: Repair,
    seen: Seen,
) -> None:
    docker, elsewhen = Docker(private.address), Docker(private.address, clock.environment)
    clock.shift(JUMPS[wrong])
    for name in ("here", "there"):
        make_task(name, p2p=[NAP_ID], tests=NAP, env={"NAP": "300"})
    make_task("other", p2p=[KEPT])
    runs = start("run", panel, "here", docker=docker), start("run", panel, "there", docker=elsewhen)
    spared = [*docker.in_test("here", 2), *docker.in_test("there", 2)]

    for who in (docker, elsewhen):
        assert "0 containers removed, 4 spared" in repair("clean", docker=who).out
    assert repair("run", panel, "other", docker=elsewhen).code == 0

    assert sorted(docker.containers()) == sorted(spared)
    for live in runs:
        live.send(signal.SIGINT)
        assert live.end().code == 130
    assert docker.containers() == []
    seen(f"client's clock off by {wrong}", "clean and run beside live runs", "live runs spared", 2)


def test_attempts_before_and_after_a_clock_was_set_back_are_kept_and_the_last_one_is_shown(
    make_task: MakeTask, panel: Path, tag: str, repair: Repair, seen: Seen
) -> None:
    says = adds("tests/test_says.py", "import os\n\ndef test_says():\n    assert os.environ['SAYS'] == 'nothing'")
    task = make_task(f"says-{tag}", p2p=["tests/test_says.py::test_says", KEPT], tests=says, env={"SAYS": "early"})
    assert repair("run", panel).code == 0
    attempts = panel / ".repair" / "attempts" / task.name
    early = {file: file.read_bytes() for file in attempts.glob("*/*")}
    for file in early:
        os.utime(file, (4_000_000_000, 4_000_000_000))  # as a clock makes them that is in the year 2096
    (task / "repair.json").unlink()
    change(task, env={"SAYS": "late"})
    assert repair("run", panel).code == 0

    assert early.items() <= {file: file.read_bytes() for file in attempts.glob("*/*")}.items()
    shown = repair("show", task, "--log", "oracle").out
    assert "'late' == 'nothing'" in shown
    assert "'early' == 'nothing'" not in shown
    seen("client's clock set back by years", "between two runs", "all attempts kept, the last one's log is shown")
