"""The report files of a run outside pytest: the patterns that name them, and their way out of the container.

A stranger writes both patterns and names. The time to match them is at most the product of their lengths.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path

from repair.errors import NoEvidence
from repair.model import Control
from repair.outcomes import junit
from repair.outcomes.logs import refuse_full_disk
from repair.sandbox import Container
from repair.sandbox.archive import MAX_OUT
from repair.text import is_encodable, printable

# ---- patterns

ANY = "**"  # any number of folders, or none
Matches = Callable[[str], bool]


def glob(pattern: str) -> Matches:
    """What tells whether a path fits a pattern. Both may begin with `./`, which says nothing.

    The pattern is like a shell's: `*`, `?` and `[…]` stay within one name, `**` is any number of folders, or none.
    """
    parts = [None if part == ANY else _name(part) for part in pattern.removeprefix("./").split("/")]

    def matches(path: str) -> bool:
        places = _skipped(parts, {0})
        for name in path.removeprefix("./").split("/"):
            places = _skipped(parts, {place for at in places for place in _after(parts, at, name)})
        return len(parts) in places

    return matches


def _after(parts: list[Matches | None], at: int, name: str) -> list[int]:
    """The places in a pattern to which `name` leads from the place `at`: how many of its parts are behind."""
    if at == len(parts):
        return []
    part = parts[at]
    if part is None:
        return [at]
    return [at + 1] if part(name) else []


def _skipped(parts: list[Matches | None], places: set[int]) -> set[int]:
    """The places, and those behind each `**` that stands for no folder at all."""
    reached = set(places)
    for at in range(len(parts)):
        if at in reached and parts[at] is None:
            reached.add(at + 1)
    return reached


def _name(part: str) -> Matches:
    expression = re.compile(fnmatch.translate(re.sub(r"\*+", "*", part)))
    return lambda name: expression.match(name) is not None


# ---- report files

MAX_NAMES = 16 << 20  # bytes of the list of report files
MAX_REPORTS = 5_000  # report files of one run


def fetch_reports(box: Container, control: Control, here: str, directory: Path) -> None:
    """Copy the report files that match `junit` to `directory`, numbered. `here`: our own folder in the container.

    Raises `DiskFull` where the run's disk was full. Raises `NoEvidence` where the list of reports is gone or cut short.
    It raises that too for too many reports, and for a report that is older than the run or is not a plain file.
    """
    begun = box.get(f"{here}/out/begun")
    if not (directory / "reports").exists():
        refuse_full_disk(directory)
        raise NoEvidence("the list of the run's report files is gone", f"see {directory}/log")
    if (directory / "reports").stat().st_size > MAX_NAMES:
        raise NoEvidence("the run names more report files than any does", "see what writes /.repair-*/out/reports")
    names = (directory / "reports").read_text("utf-8", "surrogateescape").split("\n")
    if names[-2:] != ["/", ""]:
        refuse_full_disk(directory)
        raise NoEvidence("the list of the run's report files is cut short", f"see {directory}/log")
    patterns = [glob(pattern) for pattern in control.task.junit]
    matching = [name for name in sorted(set(names) - {""}) if any(matches(name) for matches in patterns)]
    if len(matching) > MAX_REPORTS:
        raise NoEvidence(f"there are more than {MAX_REPORTS} report files", "name fewer in `junit`")
    left = MAX_OUT
    for number, name in enumerate(matching, 1):
        if not is_encodable(name):
            raise NoEvidence(
                f"the name of the report {printable(name)} is not UTF-8", "see what the test command writes there"
            )
        path = name if name.startswith("/") else f"{control.task.workdir}/{name}"
        entry = box.get(path, min(junit.MAX_BYTES, left))
        if entry is None or entry.link is not None or entry.directory:
            raise NoEvidence(f"the report {printable(name)} is no plain file", "see what the test command writes there")
        if begun is None or entry.mtime < int(begun.mtime):
            raise NoEvidence(
                f"the report {printable(name)} is older than the run", "remove it from the image, or name another file"
            )
        left -= len(entry.content)
        (directory / f"report-{number}.xml").write_bytes(entry.content)
