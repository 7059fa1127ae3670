"""A disk that refuses: full, without hard links, closed to us. Nothing is half-written and nothing is replaced."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from repair import files
from repair.controls.workspace import Workspace
from repair.errors import StoreError
from repair.panel import read
from tests.conftest import MakeTask
from tests.support import denied, records
from tests.support.workspaces import check_can_publish, left_over, save


@pytest.fixture
def task(make_task: MakeTask) -> Path:
    return make_task(f2p=["f"], p2p=["a", "b"])


@pytest.mark.parametrize("name", [".repair", ".repair/journal", ".repair/locks"])
def test_a_file_where_our_folder_belongs_is_an_error_of_the_store(panel: Path, task: Path, name: str) -> None:
    (panel / name).parent.mkdir(exist_ok=True)
    (panel / name).write_text("")
    with pytest.raises(StoreError, match=str(panel / name)):
        Workspace(records.load(task)[0], "run")


def test_publish_gives_a_file_its_name_once(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")
    files.publish(source, target)
    files.publish(source, target)  # the same file: an answer got lost, and the call is made again
    assert target.read_text() == "new"
    (tmp_path / "other").write_text("other")
    with pytest.raises(FileExistsError):
        files.publish(tmp_path / "other", target)
    assert target.read_text() == "new"


def test_publish_into_a_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("new")
    with pytest.raises(FileNotFoundError):
        files.publish(tmp_path / "source", tmp_path / "gone" / "target")


if sys.platform == "linux":  # where the kernel can be asked to refuse a call, as a file system would

    def test_without_hard_links_a_rename_that_refuses_to_replace_will_do(panel: Path, task: Path) -> None:
        assert denied.call(save, task, calls={"link": errno.EPERM}) == ""
        assert (task / "repair.json").read_bytes() == b"record\n"
        assert left_over(panel) == []

    def test_without_hard_links_a_record_is_not_replaced_either(tmp_path: Path) -> None:
        (tmp_path / "source").write_text("new")
        (tmp_path / "target").write_text("old")
        arguments = (tmp_path / "source", tmp_path / "target")
        assert denied.call(files.publish, *arguments, calls={"link": errno.ENOTSUP}).startswith("FileExistsError")
        assert (tmp_path / "target").read_text() == "old"

    def test_without_either_nothing_is_run_in_vain(panel: Path, task: Path) -> None:
        calls = {"link": errno.EPERM, "renameat2": errno.EINVAL}
        assert denied.call(check_can_publish, task, calls={"link": errno.EPERM}) == ""
        said = denied.call(check_can_publish, task, calls=calls)
        assert said.startswith(f"StoreError: {panel}/.repair/tmp is on a file system without hard links")
        assert left_over(panel) == []

    @pytest.mark.parametrize(
        ("call", "code"),
        [("fsync", errno.ENOSPC), ("rename", errno.ENOSPC), ("link", errno.ENOSPC), ("link", errno.EDQUOT)],
    )
    def test_a_full_disk_leaves_no_record_and_can_be_tried_again(panel: Path, task: Path, call: str, code: int) -> None:
        said = denied.call(save, task, calls={call: code})
        assert said.startswith("DiskFull: no space left under ")
        assert not (task / "repair.json").exists()
        save(task)
        assert (task / "outcomes.json").read_bytes() == b"outcomes\n"
        assert (task / "repair.json").read_bytes() == b"record\n"
        assert left_over(panel) == []

    @pytest.mark.parametrize("call", ["fsync", "rename"])
    def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, call: str) -> None:
        file = tmp_path / "manifest.json"
        file.write_bytes(b"old")
        said = denied.call(files.write_atomically, file, b"new", calls={call: errno.ENOSPC})
        assert said.startswith("DiskFull: ")
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("manifest.json", b"old")]

    def test_a_panel_on_two_file_systems_is_named(task: Path) -> None:
        said = denied.call(save, task, calls={"rename": errno.EXDEV})
        assert said.startswith(f"StoreError: {task.parent}/.repair and {task} are on two file systems")
        assert left_over(task.parent) == []

    def test_a_folder_that_may_not_be_written_is_named(task: Path) -> None:
        said = denied.call(save, task, calls={"rename": errno.EACCES})
        assert said.startswith("StoreError: ")
        assert str(task.parent) in said
        assert "Permission denied" in said


def test_write_atomically_replaces(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "a.json", b"1")
    files.write_atomically(tmp_path / "a.json", b"2")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.json", b"2")]


@pytest.mark.parametrize("kind", ["directory", "pipe", "nowhere"])
def test_write_atomically_replaces_nothing_but_a_file(tmp_path: Path, kind: str) -> None:
    """A pipe stands for /dev/stdout, which a rename would do away with."""
    target = tmp_path / "gone" / "x" if kind == "nowhere" else tmp_path / "x"
    if kind == "directory":
        target.mkdir()
    elif kind == "pipe":
        os.mkfifo(target)
    before = [path.lstat() for path in tmp_path.iterdir()]
    with pytest.raises(StoreError, match=str(target.parent)):
        files.write_atomically(target, b"new")
    assert [path.lstat() for path in tmp_path.iterdir()] == before


def test_a_record_that_cannot_be_looked_at_is_not_taken_for_absent(make_task: MakeTask, panel: Path) -> None:
    task = read.load_task(make_task("t"), {})
    (panel / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match="cannot be looked at"):
        read.has_record(replace(task, directory=panel / "loop"))
