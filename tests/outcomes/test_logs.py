"""A test that fails for want of space is no evidence; one that says so where there is space is, and is flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import ContainerKilled, DiskFull, NoEvidence
from repair.model import Control, ControlKind, Ended, Image, Run, Task
from repair.outcomes import evidence
from repair.outcomes.evidence import Attempt
from repair.outcomes.logs import full_disk_first, out_of_space

BLOCKS = "Filesystem     1024-blocks   Used Available Capacity Mounted on\noverlay {size} 1 {free} 41% /\n"
FILES = "Filesystem     Inodes IUsed IFree IUse% Mounted on\noverlay {size} 1 {free} 32% /\n"
GIB = 1 << 20  # in blocks
FLAG = "a test that does not pass says that no space was left"
FAILURE = '<failure type="OSError">{}</failure>'


def table(blocks: int, of: int = 100 * GIB, files: int = 44_650, of_files: int = 65_536) -> str:
    return BLOCKS.format(size=of, free=blocks) + FILES.format(size=of_files, free=files) + "end\n"


FULL, ROOMY = table(832), table(50 * GIB)


def judged(tmp_path: Path, case: str, disk: str = FULL) -> Run:
    (tmp_path / "disk").write_text(disk)
    (tmp_path / "report-1.xml").write_text(f'<testsuite><testcase classname="A" name="p">{case}</testcase></testsuite>')
    (tmp_path / "reports").write_text("a.xml\n")
    task = Task("t", "i", ("A::p",), (), b"", None, tmp_path, framework="any", junit=("a.xml",))
    control = Control(task, ControlKind.ORACLE, (), ("A::p",))
    return evidence.judge_reports(
        control, Image("sha256:1"), Attempt(Ended(0, False), int("<failure" in case or "<error" in case), tmp_path)
    )


@pytest.mark.parametrize(
    "case",
    [
        FAILURE.format("OSError: [Errno 28] No space left on device"),
        FAILURE.format("Error: ENOSPC: no space left on device, write"),
        FAILURE.format("sqlite3.OperationalError: database or disk is full"),
        FAILURE.format("wrong") + "<system-err>cp: Disk quota exceeded</system-err>",
        '<error message="No space left on device"/>',
        '<skipped message="No space left on device"/>',
    ],
)
def test_a_test_that_says_so_on_a_full_disk_is_no_evidence(tmp_path: Path, case: str) -> None:
    with pytest.raises(DiskFull, match="no space left in the container; free some"):
        judged(tmp_path, case)
    assert judged(tmp_path, case, ROOMY).flags == (FLAG,)


def test_one_that_passes_on_a_full_disk_is_and_so_is_one_that_fails_for_something_else(tmp_path: Path) -> None:
    passed = judged(tmp_path, "")
    assert passed.observed["A::p"].outcome == "passed"
    assert judged(tmp_path, FAILURE.format("wrong")).flags == ()


@pytest.mark.parametrize(
    ("disk", "full"),
    [
        (table(0), True),
        (table((16 << 10) - 1), True),
        (table(GIB - 1), True),  # 1 % of 100 GiB
        (table(GIB), False),
        (table(GIB, of=10_000 * GIB), False),  # a large disk's percent is much
        (table(GIB - 1, of=10_000 * GIB), True),
        (table(16 << 10, of=GIB), False),
        (table(50 * GIB, files=63), True),
        (table(50 * GIB, files=64), False),
        (table(50 * GIB, files=0, of_files=0), False),  # btrfs counts none
        (table(0).removesuffix("end\n"), False),
        (ROOMY + FULL, False),  # what stood there before
        ("", False),
        ("df: not found\nend\n", False),
    ],
)
def test_a_disk_is_full_where_nearly_nothing_is_left_of_it(tmp_path: Path, disk: str, full: bool) -> None:
    (tmp_path / "disk").write_text(disk)
    assert out_of_space(tmp_path) is full


@pytest.mark.parametrize("error", [NoEvidence, ContainerKilled])
def test_what_cannot_be_observed_on_a_full_disk_is_the_disks_fault(
    tmp_path: Path, error: type[NoEvidence | ContainerKilled]
) -> None:
    result = Attempt(Ended(0, False), 3, tmp_path)
    with pytest.raises(error), full_disk_first(result.directory):
        raise error("half a report")
    (tmp_path / "disk").write_text(FULL)
    with pytest.raises(DiskFull), full_disk_first(result.directory):
        raise error("half a report")


def test_a_number_that_no_disk_has_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "disk").write_text(FULL.replace(" 832 ", f" {'9' * 5000} "))
    assert not out_of_space(tmp_path)
