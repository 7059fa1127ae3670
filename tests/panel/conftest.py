"""What tests of panels share: a panel that another user can reach."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_panel() -> Iterator[Path]:
    """A panel with one task where another user may come by, which pytest's own temporary folders forbid."""
    directory = Path(tempfile.mkdtemp(prefix="repair-test-"))
    directory.chmod(0o755)
    task = directory / "task-1"
    (task / "environment" / "sub").mkdir(parents=True)
    (directory / "panel.toml").write_text("")
    document = {"instance_id": "task-1", "image": "x", "FAIL_TO_PASS": ["f"], "PASS_TO_PASS": ["p"]}
    (task / "task.json").write_text(json.dumps(document))
    (task / "oracle.patch").write_text("x")
    (task / "tests.patch").write_text("x")
    (task / "repair.json").write_text('{"inputs": {}, "policy": {}}')
    (task / "environment" / "sub" / "Dockerfile").write_text("FROM x")
    yield directory
    for path in (directory, task, task / "environment" / "sub"):
        path.chmod(0o755)
    shutil.rmtree(directory)
