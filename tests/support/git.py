"""Git repositories of panels: the type of the `git` fixture, commits, and a panel's files at a revision."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from repair.records.diff import revisions

Git = Callable[..., str]


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def commit(root: Path, git: Git) -> str:
    """Commit all that is there; the commit's hash."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    return git(root, "rev-parse", "HEAD")


def files_below(root: Path) -> dict[str, bytes]:
    """The content of each file by its path; of a link, where it leads."""
    return {
        path.relative_to(root).as_posix(): b"-> " + os.fsencode(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def at(panel: Path, revision: str = "HEAD") -> dict[str, bytes] | None:
    """The files of a panel at a revision; None where it has no panel there."""
    repository = revisions.find(panel)
    start, _ = revisions.span(repository, revision)
    with revisions.panel_at(repository, start) as copy:
        return None if copy is None else files_below(copy.directory)
