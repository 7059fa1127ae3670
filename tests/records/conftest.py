"""What tests of records share: a repository that holds a panel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.git import Git, commit, write


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """A repository with a panel at below/panel and one commit, tagged `one`."""
    root = tmp_path / "repo"
    write(root / "below" / "panel", {"panel.toml": b"", "calc/task.json": b"{}\r\n", "calc/oracle.patch": b"\xff\n"})
    git(root.parent, "init", "-q", "-b", "main", "repo")
    commit(root, git)
    git(root, "tag", "one")
    return root
