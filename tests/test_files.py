"""Temporary folders: gone with their use, and those of a process that was killed with the next one that is made."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from repair import files
from repair.errors import DiskFull
from repair.files import Scratch

MAKE = """
import os, sys
from pathlib import Path
from repair.files import Scratch
made = Scratch("test", Path(sys.argv[1]))
(made.path / "file").write_text("x")
print(made.path, flush=True)
sys.stdin.read()
"""


FORK = """
import os, sys
from pathlib import Path
from repair.files import Scratch
made = Scratch("test", Path(sys.argv[1]))
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
print("still there" if made.path.exists() else "gone", flush=True)
"""


@pytest.fixture(autouse=True)
def as_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was swept yet."""
    monkeypatch.setattr(files, "_swept", set())


def made_elsewhere(above: Path) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", MAKE, str(above)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_is_its_makers_alone_and_goes_with_its_use(tmp_path: Path) -> None:
    with Scratch("test", tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "below").mkdir()
        assert [folder] == list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_and_what_a_live_one_has_stays(tmp_path: Path) -> None:
    dead, left = made_elsewhere(tmp_path)
    live, kept = made_elsewhere(tmp_path)
    dead.kill()
    dead.communicate()
    with Scratch("test", tmp_path) as folder:
        assert set(tmp_path.iterdir()) == {folder, kept}
        assert not left.exists()
        assert (kept / "file").exists()
    live.communicate("")
    assert live.returncode == 0
    assert not kept.exists(), "it goes with its process"


def test_a_link_of_such_a_name_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").touch()
    (tmp_path / f"{files.PREFIX}link").symlink_to(target)
    (tmp_path / f"{files.PREFIX}file").touch()
    files.sweep(tmp_path)
    assert (target / "file").exists()


def test_where_nothing_can_be_locked_a_folder_is_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with Scratch("test", tmp_path) as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_is_forked_and_ends_leaves_its_parent_s_folder(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], check=True, capture_output=True, text=True)
    assert done.stdout == "still there\n"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_is_named_by_its_own_place(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=f"no space left under {re.escape(str(tmp_path))}"), Scratch("test", tmp_path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_folders_of_other_names_are_nobody_s_to_remove(tmp_path: Path) -> None:
    (tmp_path / "repair-locks").mkdir()
    files.sweep(tmp_path)
    assert (tmp_path / "repair-locks").exists()
