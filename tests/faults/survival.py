"""What a panel must be like after a fault: the records of an undisturbed run, and nothing that was left by the way."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.faults.conftest import Repair, records
from tests.faults.live_run import Docker

RECORDS = ("repair.json", "outcomes.json")
FILES = {"task.json", "instruction.md", "oracle.patch", "tests.patch", *RECORDS}


def copy(panel: Path, to: Path) -> Path:
    """A panel with the same tasks, of which nobody has run any."""
    return Path(shutil.copytree(panel, to, ignore=shutil.ignore_patterns(".repair", *RECORDS)))


def undisturbed(panel: Path, repair: Repair, docker: Docker | None = None) -> dict[str, bytes]:
    """The records that a run of the same tasks writes where nothing disturbs it; of a copy, as the tasks are now."""
    alone = copy(panel, panel.with_name(f"{panel.name}-undisturbed"))
    done = repair("run", alone, docker=docker)
    assert done.code == 0, done
    return records(alone)


def assert_clean(panel: Path, docker: Docker, *tasks: str) -> None:
    """Nothing is left that is no record: no temporary file, no stranger's file in a task, no container of `tasks`."""
    for task in panel.glob("*/task.json"):
        assert {file.name for file in task.parent.iterdir()} <= FILES
    assert list(panel.rglob("*.tmp")) == []
    assert list((panel / ".repair" / "tmp").iterdir()) == []
    assert docker.containers(*tasks) == []


def assert_survived(panel: Path, expected: dict[str, bytes], docker: Docker, *tasks: str) -> None:
    """All records are there and byte for byte those of an undisturbed run, and nothing else is left."""
    assert records(panel) == expected
    assert_clean(panel, docker, *tasks)
