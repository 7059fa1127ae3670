"""A panel's disk that is full, or turns read-only, at any moment of a run."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair import errors
from tests.faults.conftest import Repair, Seen, Start, adds, change, records
from tests.faults.live_run import Docker, Ended, LiveRun
from tests.faults.private_engine import ext4
from tests.faults.survival import assert_survived, copy

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
Reach = Callable[[str], LiveRun]
Rerun = Callable[[], None]
KEEP = "tests/test_calc.py::test_keep[{}]"
PHANTOM = "tests/test_calc.py::test_phantom"
SIZE, INODES = 24 << 20, 1024
FREE = "free some"

# Where a run is when its disk fills up: words of the line that it has just printed, and which such line it is.
PHASES: dict[str, tuple[tuple[str, ...], int]] = {
    "a first control starts": ((": started",), 1),
    "a first control is observed": ((": observed",), 1),
    "both controls are observed": ((": observed",), 2),
    "a confirmation starts": (("(confirmation)", ": started"), 1),
    "a confirmation is observed": (("(confirmation)", ": observed"), 1),
    "between tasks": ((" in ", "[1/3]"), 1),
}
FILLED = [*(("blocks", phase) for phase in PHASES), ("inodes", "a first control starts"), ("inodes", "between tasks")]


@dataclass(frozen=True)
class Disk:
    """A small ext4 file system in a file, mounted at `place`."""

    image: Path
    place: Path

    def mount(self, image: Path) -> None:
        subprocess.run(["mount", "-o", "loop", str(image), str(self.place)], check=True)

    def fill(self) -> None:
        """Write until not a block is free."""
        with (self.place / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 20, 1):
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(bytes(size))

    def use_up_inodes(self) -> None:
        """Make files until there can be no more, of one that holds little room itself."""
        (self.place / "ballast").mkdir()
        with contextlib.suppress(OSError):
            for number in range(INODES):
                (self.place / "ballast" / str(number)).touch()

    def free(self) -> None:
        subprocess.run(["rm", "-r", str(self.place / "ballast")], check=True)

    def break_(self) -> None:
        """Do as the kernel does on an error of the disk: nothing can be written any more."""
        subprocess.run(["mount", "-o", "remount,abort", str(self.place)], check=True)

    def mend(self) -> None:
        """Check it and mount it anew: a copy, since another mount namespace may hold the broken one."""
        subprocess.run(["umount", str(self.place)], check=True)
        mended = Path(shutil.copyfile(self.image, self.image.with_suffix(".mended")))
        status = subprocess.run(["fsck.ext4", "-p", str(mended)], check=False, capture_output=True).returncode
        assert status in (0, 1), "1 is for errors that were mended"
        self.mount(mended)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    found = Disk(ext4(tmp_path / "image", SIZE, "-N", str(INODES)), tmp_path / "disk")
    found.place.mkdir()
    found.mount(found.image)
    yield found
    subprocess.run(["umount", "--lazy", str(found.place)], check=True)


@pytest.fixture(scope="module")
def tag() -> str:
    """What makes this module's tasks its own on an engine that others use, too."""
    return secrets.token_hex(4)


@pytest.fixture
def panel(disk: Disk) -> Path:
    """An empty panel on the small disk."""
    directory = disk.place / "panel"
    directory.mkdir()
    (directory / "panel.toml").write_text('name = "test"\n\n[policy]\nmin_p2p = 0\n')
    return directory


@pytest.fixture
def tasks(make_task: MakeTask, tag: str) -> tuple[str, ...]:
    """One task for each verdict."""
    found = (
        make_task(f"a-repaired-{tag}", p2p=[KEEP.format(0), PHANTOM]),
        make_task(f"b-clean-{tag}", p2p=[KEEP.format(1)]),
        make_task(f"c-refused-{tag}", f2p=[PHANTOM], p2p=[KEEP.format(2)]),
    )
    return tuple(task.name for task in found)


@pytest.fixture(scope="module")
def whole_records() -> dict[str, bytes]:
    return {}


@pytest.fixture
def expected(
    tasks: tuple[str, ...], panel: Path, tmp_path: Path, whole_records: dict[str, bytes], repair: Repair
) -> dict[str, bytes]:
    """The records that an undisturbed run of `tasks` writes, on a disk that has room."""
    if not whole_records:
        assert tasks
        alone = copy(panel, tmp_path / "alone")
        assert repair("run", alone).code == 0
        whole_records.update(records(alone))
    return whole_records


@pytest.fixture
def reach(start: Start, panel: Path) -> Reach:
    """Start a run, of one container at a time, and follow it to a phase."""

    def follow(phase: str) -> LiveRun:
        live = start("run", panel, "-j", "1")
        words, times = PHASES[phase]
        assert live.until(*words, times=times), "the run ended before its phase"
        return live

    return follow


@pytest.fixture
def rerun(tasks: tuple[str, ...], panel: Path, docker: Docker, repair: Repair, expected: dict[str, bytes]) -> Rerun:
    """Run again: that completes, and all is as if nothing had happened."""

    def complete() -> None:
        again = repair("run", panel)
        assert again.code == 0, again
        assert_survived(panel, expected, docker, *tasks)

    return complete


def assert_full(done: Ended, *words: str) -> None:
    assert done.code == errors.DiskFull.code, done
    for word in (*words, FREE):
        assert word in done.err, done
    assert "Traceback" not in done.err


def test_a_run_that_begins_on_a_full_disk_runs_nothing_and_says_where(
    disk: Disk, panel: Path, repair: Repair, rerun: Rerun, seen: Seen
) -> None:
    disk.fill()
    done = repair("run", panel)
    assert_full(done, f"no space left under {panel}")
    assert "started" not in done.out
    assert records(panel) == {}

    disk.free()
    rerun()
    seen("PANEL's disk full", "before the run", "exit 14, nothing runs, rerun completes")


@pytest.mark.parametrize(("fault", "phase"), FILLED)
def test_a_disk_that_fills_up_during_a_run_costs_no_record_and_the_next_run_completes(
    fault: str,
    phase: str,
    tasks: tuple[str, ...],
    disk: Disk,
    panel: Path,
    reach: Reach,
    rerun: Rerun,
    seen: Seen,
    expected: dict[str, bytes],
) -> None:
    live = reach(phase)
    disk.fill() if fault == "blocks" else disk.use_up_inodes()

    done = live.end()

    undecided = [task for task in tasks if not (panel / task / "repair.json").exists()]
    assert_full(done, str(panel), *undecided)
    assert records(panel).items() <= expected.items()
    assert len(undecided) < len(tasks) or phase != "between tasks", "what was decided before stays"
    disk.free()
    rerun()
    seen(f"PANEL's disk out of {fault}", phase, "exit 14, no record of this task, rerun completes")


@pytest.mark.parametrize("phase", ["a first control starts", "both controls are observed", "between tasks"])
def test_a_disk_that_breaks_during_a_run_costs_no_record_and_the_next_run_completes(
    phase: str,
    tasks: tuple[str, ...],
    disk: Disk,
    panel: Path,
    reach: Reach,
    rerun: Rerun,
    seen: Seen,
    expected: dict[str, bytes],
) -> None:
    # the tasks; records are synced by who writes them
    subprocess.run(["sync", "--file-system", str(panel)], check=True)
    live = reach(phase)
    before = records(panel)
    disk.break_()

    done = live.end()

    assert done.code == errors.StoreError.code, done
    assert "Traceback" not in done.err
    for word in (str(panel), "Read-only file system", "check permissions and file system", tasks[-1]):
        assert word in done.err, done
    disk.mend()
    assert before.items() <= records(panel).items() <= expected.items()
    rerun()
    seen("PANEL's disk turns read-only", phase, "exit 13, no record of this task, rerun completes")


CHATTY = adds(
    "tests/test_chatty.py", 'import os\n\ndef test_chatty():\n    [os.write(1, b"x" * (1 << 20)) for _ in range(30)]'
)


def test_a_log_that_fills_the_disk_is_its_own_tasks_failure_and_no_others(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, repair: Repair, tmp_path: Path, seen: Seen
) -> None:
    loud = {
        "tests": CHATTY,
        "p2p": ["tests/test_chatty.py::test_chatty"],
        "test_cmd": ["python3", "-m", "pytest", "-s"],
    }
    chatty, quiet = make_task(f"a-chatty-{tag}", **loud), make_task(f"b-quiet-{tag}", p2p=[KEEP.format(0)])
    done = repair("run", panel, "-j", "1")

    assert_full(done, chatty.name, str(panel))
    assert {Path(file).parts[0] for file in records(panel)} == {quiet.name}
    change(chatty, test_cmd=None)
    assert repair("run", panel).code == 0
    alone = copy(panel, tmp_path / "alone")
    assert repair("run", alone).code == 0
    assert_survived(panel, records(alone), docker, chatty.name, quiet.name)
    seen("log larger than PANEL's disk", "in a control", "exit 14, no record of this task, the others fit")
