"""The table of faults: what each injected fault was seen to do, written to docs/faults.md and held to it.

A test says what it saw by the fixture `seen`. In a plain run the row must stand in docs/faults.md, word for word;
`scripts/faults` runs the suite with REPAIR_FAULTS_ROWS set, and writes the table from what was seen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.paths import ROOT

DOCUMENT = ROOT / "docs" / "faults.md"
ROWS = "REPAIR_FAULTS_ROWS"  # a file that gets a JSON line for each row instead

HEAD = """\
# Faults

What `repair` does when things break under it. Each line is a fault that the tests inject into a real engine, where in a
run it comes, what was seen, and the test that does it. After each, these are asserted: no record is lost, half-written
or other than an undisturbed run's (compared byte by byte), no temporary file is left, no container is left after the
next `run` or `clean`, and a rerun completes. `scripts/faults` writes this file from what the tests saw; the tests fail
where they see anything else.
"""


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """One kind of fault in one phase: injected so many times, with what was seen each time."""

    fault: str
    phase: str
    seen: str
    times: int
    test: str

    def line(self) -> str:
        """The row as a line of the table."""
        cells = (self.fault, self.phase, str(self.times), self.seen, f"`{self.test}`")
        return f"| {' | '.join(cells)} |"


def witness(row: Row, environment: Mapping[str, str] = os.environ) -> None:
    """Take down a row, or hold it to the document."""
    assert "|" not in row.fault + row.phase + row.seen, "a cell of the table holds no bar"
    file = environment.get(ROWS)
    if file is not None:
        with Path(file).open("a") as stream:
            stream.write(json.dumps(asdict(row)) + "\n")
        return
    written = DOCUMENT.read_text().splitlines()
    assert row.line() in written, f"docs/faults.md has no such line (scripts/faults writes it anew): {row.line()}"


def document(rows: Iterable[Row]) -> str:
    """The whole file: each row once, sorted, under the sum of what was injected."""
    table = sorted(set(rows))
    total, kinds = sum(row.times for row in table), len({row.fault for row in table})
    head = f"{HEAD}\n**{total} faults of {kinds} kinds are injected, and all {total} are survived.**\n"
    lines = ["| fault | phase | times | seen | test |", "|---|---|---|---|---|", *(row.line() for row in table)]
    return f"{head}\n" + "\n".join(lines) + "\n"


def read_rows(file: Path) -> list[Row]:
    """The rows that a run of the suite took down."""
    return [Row(**json.loads(line)) for line in file.read_text().splitlines()]


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(document(read_rows(Path(sys.argv[1]))))
