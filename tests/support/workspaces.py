"""A task's files as a run writes them, and what a run leaves behind."""

from __future__ import annotations

from pathlib import Path

from repair.controls.workspace import Workspace
from tests.support import records


def save(directory: Path, outcomes: bytes = b"outcomes\n", record: bytes = b"record\n") -> None:
    panel, loaded = records.load(directory)
    workspace = Workspace(panel, "run")
    with workspace.task_lock(loaded, lambda: True):
        workspace.save(loaded, outcomes, record)


def check_can_publish(directory: Path) -> None:
    panel, loaded = records.load(directory)
    Workspace(panel, "run").check_can_publish([loaded])


def left_over(panel: Path) -> list[str]:
    """What a commit of the panel, or the next run, would find and nobody meant to leave."""
    found = [*(panel / ".repair" / "tmp").iterdir(), *panel.glob("*.tmp")]
    found += [path for task in panel.glob("[!.]*/") for path in (*task.glob(".*"), *task.glob("*.tmp"))]
    return [path.name for path in found]
