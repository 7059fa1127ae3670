"""A panel of three tasks in a repository, for `repair diff`: change it, and read what is told of that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import Capture, ask
from tests.support.git import Git, commit

KEEP, ADD = "tests/test_calc.py::test_keep[3]", "tests/test_calc.py::test_add"
LOST = {KEEP: records.MISSING}


@pytest.fixture
def panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Git) -> Path:
    """An empty panel below the root of a repository that is the working directory."""
    git(tmp_path, "init", "-q", "-b", "main", "repo")
    directory = tmp_path / "repo" / "panels" / "books"
    directory.mkdir(parents=True)
    (directory / "panel.toml").write_text('name = "books"\n\n[policy]\nmin_p2p = 5\n\n[gate]\nmin_tasks = 2\n')
    monkeypatch.chdir(tmp_path / "repo")
    return directory


@pytest.fixture
def books(panel: Path, make_task: MakeTask, git: Git) -> Path:
    """Three tasks with their records, committed: clean, repaired, refused."""
    records.write(make_task("calc-1"))
    records.write(make_task("calc-2"), LOST, LOST)
    records.write(make_task("calc-3"), {}, {ADD: records.FAILED})
    commit(panel, git)
    return panel


def unlist(task: Path, test: str = KEEP) -> None:
    document = json.loads((task / "task.json").read_text())
    document["PASS_TO_PASS"].remove(test)
    (task / "task.json").write_text(json.dumps(document))


def document(capsys: Capture, *arguments: str | Path) -> dict[str, Any]:
    code, out, err = ask(capsys, "diff", *arguments, "--format", "json")
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    assert found["exit"] == code
    return found
