"""An engine's disk that is full: what fails for want of space there is no evidence."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repair import errors
from tests.faults.conftest import PLAIN, Repair, Seen, Start, adds, change, records
from tests.faults.live_run import Docker, Ended
from tests.faults.private_engine import PrivateEngine, private_engine
from tests.faults.survival import assert_survived, undisturbed

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
KEPT = "tests/test_calc.py::test_keep[0]"
FILLS, FILLS_ID = "tests/test_fills.py", "tests/test_fills.py::test_fills"
SIZE = 1 << 30
FULL = "exit 14, no record, others decided, rerun completes"


class EngineDisk:
    """The disk of a private engine, filled from beside it."""

    def __init__(self, engine: PrivateEngine) -> None:
        self._engine, self._ballast = engine, engine.data / "ballast"

    def fill(self, leave: int = 0) -> None:
        """Write until nothing is free, then give back so many bytes."""
        self._engine.inside("sh", "-c", f"dd if=/dev/zero of={self._ballast} bs=64k 2>/dev/null || true")
        self._engine.inside("truncate", "--size", f"-{leave}", str(self._ballast))

    def free(self) -> None:
        self._engine.inside("rm", "-f", str(self._ballast))


@pytest.fixture(scope="module")
def small_engine() -> Iterator[PrivateEngine]:
    with (
        tempfile.TemporaryDirectory(prefix="repair-engine-", dir="/tmp") as root,
        private_engine(Path(root), SIZE) as engine,
    ):
        engine.load(PLAIN)
        yield engine


@pytest.fixture
def disk(small_engine: PrivateEngine) -> Iterator[EngineDisk]:
    found = EngineDisk(small_engine)
    yield found
    found.free()
    left = small_engine.docker("ps", "-aq").stdout.split()
    if left:
        small_engine.docker("rm", "-f", *left)


@pytest.fixture
def docker(small_engine: PrivateEngine) -> Docker:
    """The engine with the small disk."""
    return Docker(small_engine.address)


def filling(body: str) -> bytes:
    """A hidden test file with one test, `body`."""
    lines = ["import errno, os, pathlib, shutil, time", "import pytest", "def test_fills():", *body.splitlines()]
    return adds(FILLS, "\n".join(lines))


HARMLESS = filling("    pass")


def assert_full(done: Ended, *words: str) -> None:
    assert done.code == errors.DiskFull.code, done
    for word in (*words, "no space left", "free some", "run again"):
        assert word in done.err, done
    assert "Traceback" not in done.err


def decided(panel: Path) -> set[str]:
    return {Path(file).parts[0] for file in records(panel)}


def test_a_disk_that_is_full_before_a_container_is_made_is_told(
    make_task: MakeTask, panel: Path, disk: EngineDisk, docker: Docker, repair: Repair, seen: Seen
) -> None:
    names = [make_task(f"task-{number}", p2p=[KEPT]).name for number in range(2)]
    expected = undisturbed(panel, repair, docker)
    disk.fill()
    assert_full(repair("run", panel, docker=docker), *names)
    assert records(panel) == {}

    disk.free()
    assert repair("run", panel, docker=docker).code == 0
    assert_survived(panel, expected, docker)
    seen("engine's disk full", "before containers are made", "exit 14, no record, rerun completes")


def test_a_patch_for_which_there_is_no_room_is_no_patch_that_does_not_apply(
    make_task: MakeTask, panel: Path, disk: EngineDisk, docker: Docker, repair: Repair, seen: Seen
) -> None:
    large = adds("tests/large.txt", "\n".join(["x" * 1000] * 20_000))
    big = make_task("a-big", p2p=[KEPT], tests=large)
    small = make_task("b-small", p2p=[KEPT])
    expected = undisturbed(panel, repair, docker)
    disk.fill(leave=12 << 20)
    assert_full(repair("run", panel, "-j", "1", docker=docker), big.name)
    assert decided(panel) == {small.name}

    disk.free()
    assert repair("run", panel, docker=docker).code == 0
    assert_survived(panel, expected, docker)
    seen("engine's disk full", "while patches are put", FULL)


FAILURES = {
    "says so": """\
    with open("/big", "wb", buffering=0) as big:
        while True:
            big.write(bytes(1 << 16))""",
    "says so, to SQLite": """\
    import sqlite3
    base = sqlite3.connect("/base")
    base.execute("create table t (x)")
    while True:
        base.execute("insert into t values (zeroblob(1 << 20))")
        base.commit()""",
    "skips itself": """\
    try:
        with open("/big", "wb", buffering=0) as big:
            while True:
                big.write(bytes(1 << 16))
    except OSError as err:
        pytest.skip(str(err))""",
    "ends the run": """\
    with open("/big", "wb", buffering=0) as big:
        for size in (1 << 16, 1):
            try:
                while True:
                    big.write(bytes(size))
            except OSError:
                pass
    os._exit(1)""",
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_test_that_fails_since_it_filled_the_disk_is_no_evidence(
    how: str, make_task: MakeTask, panel: Path, disk: EngineDisk, docker: Docker, repair: Repair, seen: Seen
) -> None:
    sick = make_task("a-sick", p2p=[FILLS_ID], tests=filling(FAILURES[how]))
    well = make_task("b-well", p2p=[KEPT])
    disk.fill(leave=40 << 20)
    assert_full(repair("run", panel, "-j", "1", docker=docker), sick.name)
    assert decided(panel) == {well.name}

    (sick / "tests.patch").write_bytes(HARMLESS)
    disk.free()
    again = repair("run", panel, docker=docker)
    assert again.code == 0, again
    assert_survived(panel, undisturbed(panel, repair, docker), docker)
    seen("engine's disk full", f"a test fills it and {how}", FULL)


def test_a_test_that_fails_since_another_container_filled_the_disk_is_no_evidence(
    make_task: MakeTask,
    panel: Path,
    disk: EngineDisk,
    docker: Docker,
    start: Start,
    repair: Repair,
    seen: Seen,
    small_engine: PrivateEngine,
) -> None:
    writes = """\
    pathlib.Path("/tmp/begun").touch()
    with open("/some", "wb", buffering=0) as some:
        for _ in range(int(os.environ.get("TURNS", "1"))):
            some.write(bytes(1 << 12))
            time.sleep(0.05)"""
    task = make_task(p2p=[FILLS_ID], tests=filling(writes), env={"TURNS": "6000"})
    live = start("run", panel, "-j", "1", docker=docker)
    docker.in_test(task.name)
    filler = ("dd", "if=/dev/zero", "of=/big", "bs=64k")
    small_engine.docker("run", "--name", "filler", "--network", "none", PLAIN, *filler, check=False)

    assert_full(live.end(), task.name)

    assert records(panel) == {}
    small_engine.docker("rm", "-f", "filler")
    change(task, env={})
    assert repair("run", panel, docker=docker).code == 0
    assert_survived(panel, undisturbed(panel, repair, docker), docker)
    seen("engine's disk full", "another container fills it", "exit 14, no record, rerun completes")


def test_a_test_that_only_says_so_is_evidence_and_flagged(
    make_task: MakeTask, panel: Path, docker: Docker, repair: Repair, seen: Seen
) -> None:
    task = make_task(p2p=[KEPT, FILLS_ID], tests=filling("    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"))
    assert repair("run", panel, docker=docker).code == 0
    record = json.loads((task / "repair.json").read_bytes())
    assert record["verdict"] == "repaired"
    flags = json.loads((task / "outcomes.json").read_bytes())["controls"]["oracle"][0]["flags"]
    assert [flag for flag in flags if "no space was left" in flag] == flags != []
    seen("ENOSPC simulated by a test", "on a disk with room", "evidence, the run is flagged")
