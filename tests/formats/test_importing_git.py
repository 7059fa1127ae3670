"""An imported panel in git: what was imported is there, byte for byte, in a clone on any machine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from repair.formats import importing
from repair.formats import source as formats_source
from repair.formats.base import Wants
from repair.formats.importing import Choice, Preflight
from repair.panel import read
from tests.formats import rows

WINDOWS = {"windows": "core.autocrlf=true", "input": "core.autocrlf=input", "plain": "core.autocrlf=false"}


def git(where: Path, *arguments: str, config: str = "core.autocrlf=true") -> None:
    settings = ("-c", config, "-c", "user.name=kim", "-c", "user.email=kim@acme.example")
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | own
    subprocess.run(["git", *settings, *arguments], cwd=where, env=environment, check=True, capture_output=True)


def take(source: Path, panel: Path) -> Preflight:
    found = importing.run(source, panel, Choice(), Wants())
    importing.keep(panel, {"exit": 0})
    return found


def cloned(repo: Path, config: str = "core.autocrlf=true") -> Path:
    """Everything of a directory committed and cloned; the clone."""
    git(repo, "init", "-q", config=config)
    git(repo, "add", "-A", config=config)
    git(repo, "commit", "-q", "-m", "panel", config=config)
    git(repo.parent, "clone", "-q", str(repo), "clone", config=config)
    return repo.parent / "clone"


def without_git(directory: Path) -> dict[str, bytes | str]:
    own = (".git", ".repair")
    return {name: content for name, content in rows.tree(directory).items() if name.split("/")[0] not in own}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A directory whose own attributes would have git change line ends."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".gitattributes").write_text("* text=auto eol=crlf\n")
    return tmp_path / "repo"


def survives(repo: Path, config: str) -> None:
    is_whole(repo, cloned(repo, config))


def is_whole(repo: Path, clone: Path) -> None:
    before = {task.instance_id: task for task in read.load(repo / "panel").tasks}
    after = {task.instance_id: task for task in read.load(clone / "panel").tasks}
    assert before.keys() == after.keys()
    for name, task in after.items():
        source, was = formats_source.read(task.directory), formats_source.read(before[name].directory)
        assert source is not None
        assert was is not None
        assert source.sha256 == was.sha256
    assert without_git(clone / "panel") == without_git(repo / "panel")
    assert not (clone / "panel" / ".repair").exists()


@pytest.mark.parametrize("config", WINDOWS.values(), ids=WINDOWS)
def test_harbor_tasks_survive_a_clone(tmp_path: Path, repo: Path, config: str) -> None:
    files: rows.Files = {"environment/a.bat": "echo a\r\n", "tests/unix.txt": "a\nb\n", ".hidden/b": "b\r\n"}
    (rows.harbor(tmp_path / "source", 1, files) / "solution" / "solve.sh").chmod(0o755)
    take(tmp_path / "source", repo / "panel")
    survives(repo, config)


@pytest.mark.parametrize("config", WINDOWS.values(), ids=WINDOWS)
def test_rows_with_windows_line_ends_survive_a_clone(tmp_path: Path, repo: Path, config: str) -> None:
    row = rows.classic(1, patch=rows.PATCH.replace("-a - b\n+a + b\n", "-a - b\r\n+a + b\r\n"))
    text = json.dumps([row, rows.classic(2)], indent=2).replace("\n", "\r\n")
    (tmp_path / "rows.json").write_bytes(text.encode())
    take(tmp_path / "rows.json", repo / "panel")
    assert b"\r\n" in (repo / "panel" / "acme__ledger-1" / "source.json").read_bytes()
    survives(repo, config)


def test_a_task_that_holds_what_git_reads_is_noted(tmp_path: Path, repo: Path) -> None:
    rows.harbor(tmp_path / "source", 1, {"environment/.gitignore": "*.bin\n"})
    rows.harbor(tmp_path / "source", 2, {"environment/.gitattributes": "* text=auto\n"})
    rows.harbor(tmp_path / "source", 3)
    rows.harbor(tmp_path / "source", 4, {"environment/repo/.git/HEAD": "ref: refs/heads/main\n"})
    found = take(tmp_path / "source", repo / "panel")
    assert {note.partition(":")[0]: names for note, names in found.notes.items() if note.startswith("holds .git")} == {
        "holds .gitignore": ["acme__ledger-1"],
        "holds .gitattributes": ["acme__ledger-2"],
    }
    (reason,) = map(str, found.reasons)
    assert reason.startswith("acme__ledger-4: environment/repo/.git: cannot be kept in git: ")


def test_what_the_note_on_gitignore_advises_works(tmp_path: Path, repo: Path) -> None:
    rows.harbor(tmp_path / "source", 1, {"environment/.gitignore": "*.bin\n"})
    take(tmp_path / "source", repo / "panel")
    git(repo, "init", "-q")
    git(repo, "add", "-f", "panel/acme__ledger-1")
    survives(repo, "core.autocrlf=true")


def test_what_the_note_on_gitattributes_advises_works(tmp_path: Path, repo: Path) -> None:
    files: rows.Files = {"environment/.gitattributes": "* text eol=crlf\n", "environment/a.bat": "a\r\nb\n"}
    rows.harbor(tmp_path / "source", 1, files)
    take(tmp_path / "source", repo / "panel")
    clone = tmp_path / "clone"
    git(repo, "init", "-q")
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("* -text\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "panel")
    git(tmp_path, "clone", "-q", "--no-checkout", str(repo), "clone")
    (clone / ".git" / "info").mkdir(exist_ok=True)
    (clone / ".git" / "info" / "attributes").write_text("* -text\n")
    git(clone, "checkout", "-q", "HEAD", "--", ".")
    is_whole(repo, clone)
