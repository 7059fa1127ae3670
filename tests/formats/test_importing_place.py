"""Where a panel may be put, and what is there when an import ends before its end: nothing of that name."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from repair.errors import StoreError, UsageError
from repair.formats import importing
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.panel import read
from tests.formats import rows
from tests.support import denied
from tests.support.nobody import NOBODY


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(number) for number in (1, 2, 3)])


def take(source: Path, panel: Path, choice: Choice | None = None) -> importing.Preflight:
    return importing.run(source, panel, choice or Choice(), Wants())


# ---- the place


@pytest.mark.parametrize("what", ["file", "directory", "panel", "link", "broken link"])
def test_nothing_that_is_there_is_replaced(tmp_path: Path, source: Path, what: str) -> None:
    panel = tmp_path / "panel"
    match what:
        case "file":
            panel.write_text("mine")
        case "directory":
            panel.mkdir()
            (panel / ".mine").write_text("")
        case "panel":
            take(source, panel)
        case "link":
            panel.symlink_to(tmp_path / "elsewhere")
            (tmp_path / "elsewhere").mkdir()
        case _:
            panel.symlink_to(tmp_path / "nowhere")
    before = rows.tree(tmp_path)
    with pytest.raises(UsageError, match=r"panel is there already; name a directory that isn't; nothing is replaced"):
        take(source, panel)
    assert rows.tree(tmp_path) == before


def test_an_empty_directory_is_filled(tmp_path: Path, source: Path) -> None:
    (tmp_path / "panel").mkdir()
    assert take(source, tmp_path / "panel").tasks == 3
    assert len(read.load(tmp_path / "panel").tasks) == 3


def test_folders_above_are_made(tmp_path: Path, source: Path) -> None:
    take(source, tmp_path / "a" / "b" / "panel")
    assert len(read.load(tmp_path / "a" / "b" / "panel").tasks) == 3


def test_a_relative_place(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    take(Path("../rows.jsonl"), Path("panel"))
    assert read.load(tmp_path / "here" / "panel").name == "panel"


@pytest.mark.parametrize("panel", ["rows.jsonl/panel", "x" * 300], ids=["below a file", "a name too long"])
def test_a_place_that_cannot_be(tmp_path: Path, source: Path, panel: str) -> None:
    with pytest.raises((UsageError, StoreError)) as found:
        take(source, tmp_path / panel)
    assert str(tmp_path) in str(found.value)
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("deep", ["panel", "a/b/panel"])
@pytest.mark.parametrize("name", ["gone.jsonl", "empty.jsonl", "bad.jsonl"])
def test_where_nothing_is_imported_no_folder_is_made(tmp_path: Path, name: str, deep: str) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    before = rows.tree(tmp_path)
    with pytest.raises(UsageError):
        take(tmp_path / name, tmp_path / deep)
    assert rows.tree(tmp_path) == before


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: None, "is not there; name a file of rows or a directory"),
        (Path.mkdir, "holds neither task directories nor files of rows; see `repair import --help`"),
        (lambda path: path.symlink_to("nowhere"), "is not there"),
    ],
    ids=["missing", "an empty directory", "a broken link"],
)
def test_a_source_that_is_none(tmp_path: Path, make: object, said: str) -> None:
    assert callable(make)
    make(tmp_path / "source")
    with pytest.raises(UsageError) as found:
        take(tmp_path / "source", tmp_path / "panel")
    assert str(found.value).startswith(f"{tmp_path / 'source'} ")
    assert said in str(found.value)


# ---- ended before the end


class Interrupted(Choice):
    """A choice that is interrupted at the third row, when two tasks are written."""

    def takes(self, name: str) -> bool:
        if name.endswith("-3"):
            raise KeyboardInterrupt
        return True


def test_an_interrupted_import_leaves_nothing(tmp_path: Path, source: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        take(source, tmp_path / "panel", Interrupted())
    assert list(tmp_path.iterdir()) == [source]


def interrupt(tmp_path: Path, number: signal.Signals) -> int:
    """The exit status of an import that gets a signal once its first task is written."""
    many = [rows.classic(number) for number in range(20_000)]
    source, first = rows.jsonl(tmp_path / "many.jsonl", many), many[0]["instance_id"]
    command = [sys.executable, "-m", "repair", "import", str(source), "-o", str(tmp_path / "panel")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if any((folder / first / "task.json").exists() for folder in tmp_path.glob(".panel.*")):
                break
        process.send_signal(number)
        process.wait()
    return process.returncode


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    assert interrupt(tmp_path, signal.SIGINT) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["many.jsonl"]


def test_a_killed_import_leaves_no_panel_and_is_in_nobody_s_way(tmp_path: Path) -> None:
    assert interrupt(tmp_path, signal.SIGKILL) == -signal.SIGKILL
    assert all(path.name == "many.jsonl" or path.name.startswith(".panel.") for path in tmp_path.iterdir())
    assert take(tmp_path / "many.jsonl", tmp_path / "panel", Choice(limit=2)).tasks == 2
    found = take(tmp_path, tmp_path.parent / f"{tmp_path.name}-again", Choice(limit=1))
    assert set(found.formats) == {"swe-bench"}


# ---- a system that refuses


# Root imports another source first, so that all modules are there: the interpreter's files may be closed to others.
AS_SOMEBODY_ELSE = """
import contextlib, io, os, sys
import repair.cli
if os.geteuid() == 0:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        repair.cli.run_app(["import", sys.argv[2], "-o", sys.argv[3]])
        repair.cli.run_app(["--unknown"])
    os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
sys.exit(repair.cli.run_app(sys.argv[4:]))
"""


def _take(source: str, panel: str) -> None:
    take(Path(source), Path(panel))


if sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}:

    @pytest.mark.parametrize(("code", "said"), [(errno.ENOSPC, "DiskFull: "), (errno.EACCES, "StoreError: ")])
    def test_where_the_panel_cannot_get_its_name_nothing_stays(
        tmp_path: Path, source: Path, code: int, said: str
    ) -> None:
        assert denied.call(_take, str(source), str(tmp_path / "panel"), calls={"rename": code}).startswith(said)
        assert list(tmp_path.iterdir()) == [source]


@pytest.fixture
def open_source() -> Iterator[Path]:
    """Sources where another user may come by, and a folder in which that user may write."""
    directory = Path(tempfile.mkdtemp(prefix="repair-test-"))
    directory.chmod(0o755)
    (directory / "out").mkdir()
    (directory / "out").chmod(0o777)
    rows.jsonl(directory / "rows.jsonl", [rows.classic(1)])
    (directory / "rows").mkdir()
    rows.jsonl(directory / "rows" / "a.jsonl", [rows.classic(1)])
    rows.harbor(directory / "warm")
    for number in (1, 2):
        rows.harbor(directory / "tasks", number)
    yield directory
    shutil.rmtree(directory)


def as_somebody_else(directory: Path, source: str, panel: str) -> tuple[int, list[str]]:
    """Exit status and what is said, by a user who is not root."""
    warm = str(directory / "warm"), str(directory / "warm-panel")
    command = "import", str(directory / source), "-o", str(directory / panel)
    done = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY_ELSE, str(NOBODY), *warm, *command],
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, [*done.stderr.splitlines(), *done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("closed", "source"), [("rows.jsonl", "rows.jsonl"), ("rows/a.jsonl", "rows"), ("tasks", "tasks")]
)
def test_a_source_that_may_not_be_read_is_named(open_source: Path, closed: str, source: str) -> None:
    (open_source / closed).chmod(0)
    code, said = as_somebody_else(open_source, source, "out/panel")
    assert code == 2
    assert len(said) == 1
    assert said[0].startswith(f"repair: {open_source / closed} cannot be read: Permission denied; ")


@pytest.mark.parametrize(
    "file", ["task.toml", "tests/config.json", "environment/source/data.bin", "environment/source"]
)
def test_a_task_with_a_file_that_may_not_be_read_is_named_and_the_others_imported(open_source: Path, file: str) -> None:
    (open_source / "tasks" / "acme__ledger-2" / file).chmod(0)
    code, said = as_somebody_else(open_source, "tasks", "out/panel")
    assert code == 1, said
    assert said[0] == "2 task directories: 1 task, 1 that is no task"
    (line,) = [line for line in said if "acme__ledger-2: " in line]
    assert "cannot be read" in line or "Permission denied" in line


def test_a_place_that_may_not_be_written_is_named(open_source: Path) -> None:
    code, said = as_somebody_else(open_source, "rows.jsonl", "panel")
    assert (code, len(said)) == (StoreError.code, 1)
    assert "Permission denied" in said[0]
