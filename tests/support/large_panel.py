"""A panel of any size with a record for every task, without an engine: `python -m
tests.support.large_panel DIR TASKS TESTS`.

Of five tasks one drops a tenth of its P2P, one is refused for a regression, and the others are clean.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from repair.model import Observed, Outcome
from tests.conftest import ORACLE
from tests.support import records


def write(directory: Path, tasks: int, tests: int) -> None:
    """Make the panel in `directory`, which is new; each task has ten F2P and P2P for the rest of its tests."""
    directory.mkdir(parents=True)
    (directory / "panel.toml").write_text(f'name = "large"\n\n[gate]\nmin_tasks = {tasks // 2}\n')
    f2p = [f"tests/test_calc.py::test_new[{number}]" for number in range(10)]
    p2p = [f"tests/test_calc.py::TestCalc::test_old[{number}-kept]" for number in range(tests - 10)]
    for number in range(tasks):
        task = directory / f"calc-{number:05d}"
        task.mkdir()
        document = {
            "instance_id": task.name,
            "image": f"large/calc-{number % 40}:1",
            "FAIL_TO_PASS": f2p,
            "PASS_TO_PASS": p2p,
        }
        (task / "task.json").write_text(json.dumps(document))
        (task / "oracle.patch").write_bytes(ORACLE)
        absent = Observed(
            Outcome.MISSING, f"tests/test_calc.py: ModuleNotFoundError: No module named 'dep{number % 7}'"
        )
        broken = Observed(Outcome.FAILED, "AssertionError at calc.py:2")
        dropped = dict.fromkeys(p2p[: len(p2p) // 10], absent) if number % 5 == 1 else {}
        regressing = dict.fromkeys(p2p[:3], broken) if number % 5 == 2 else {}
        records.write(task, dropped, {**dropped, **regressing})


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
