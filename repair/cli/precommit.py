"""The pre-commit hook: `repair check` of every panel that the given files touch.

pre-commit calls it as `python -I -m repair.cli.precommit FILE...`. `-I` isolates it, since the repository that calls it
may hold a folder `repair` of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from repair.cli import run_app
from repair.records.diff.touched import panels_of, read
from repair.text import printable


def main(files: Sequence[str]) -> int:
    """Check the panels of `files` one after the other; the greatest exit status, or 0 where `files` touch no panel."""
    worst = 0
    for panel in panels_of(files, read(Path())):
        print(f"repair check {printable(panel)}", flush=True)
        worst = max(worst, run_app(["check", "--", panel]))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
