"""The raw files that one attempt of a control left, read in parts that are bounded: a stranger's tests wrote them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from repair.errors import ContainerKilled, DiskFull, NoEvidence
from repair.text import printable, says_no_space

LOG_TAIL = 64 << 10
HEAD = 64 << 10
LITTLE, MUCH = 16 << 20, 1 << 30  # bytes that are nearly nothing of any disk, and too many to be that of a large one
FEW = 64  # files that are nearly nothing


def log_tail(file: Path) -> str:
    """The end of a log as text; empty where there is none."""
    if not file.exists():
        return ""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - LOG_TAIL))
        return stream.read().decode("utf-8", "replace")


def last_line(directory: Path) -> str:
    """The last line of an attempt's log that is not blank, printable, 200 characters at most."""
    lines = [line.strip() for line in log_tail(directory / "log").splitlines() if line.strip()]
    return printable(lines[-1])[:200] if lines else ""


def head(file: Path) -> str:
    """The beginning of a short file that may have been made long; empty where there is none."""
    if not file.exists():
        return ""
    with file.open("rb") as stream:
        return stream.read(HEAD).decode("ascii", "replace")


def out_of_space(directory: Path) -> bool:
    """Was nearly nothing left of a disk when the test command had ended, or of its files? False where nobody knows."""
    whole, end, _ = head(directory / "disk").partition("\nend\n")
    scale = 0
    for line in whole.splitlines() if end else ():
        numbers = re.search(r" (\d{1,18}) +\d+ +(-?\d{1,18}) +(?:\d+%|-) ", line)
        if numbers is None:
            scale = 1 if "nodes" in line else 1024  # a table's head: of files, or of blocks
            continue
        size, free = (int(number) * scale for number in numbers.groups())
        least = FEW if scale == 1 else max(LITTLE, min(size // 100, MUCH))
        if size > 0 and free < least:
            return True
    return False


def refuse_full_disk(directory: Path) -> None:
    """Raise where nearly nothing is left of the disk: what went wrong there may have gone wrong for that."""
    if out_of_space(directory):
        raise DiskFull("no space left in the container", "free some on the engine's disk, then run again")


def refuse_full_disk_by_log(directory: Path) -> None:
    """Raise where nearly nothing is left of the disk and the log says so."""
    if says_no_space(log_tail(directory / "log")):
        refuse_full_disk(directory)


@contextlib.contextmanager
def full_disk_first(directory: Path) -> Iterator[None]:
    """What cannot be observed on a full disk is the disk's fault."""
    try:
        yield
    except (NoEvidence, ContainerKilled):
        refuse_full_disk(directory)
        raise
