"""`repair diff`: what must not be overlooked in a pull request, however it is hidden."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support import records
from tests.support.books import books, document, panel, unlist
from tests.support.cli import Capture, ask
from tests.support.git import Git, commit

__all__ = ["books", "panel"]  # fixtures


@pytest.mark.parametrize("file", ["source.json", "source/verifier.sh", "mint.json", "environment/Dockerfile"])
@pytest.mark.parametrize("way", ["changed", "gone", "of a task that does not load"])
def test_every_file_that_is_read_is_compared(capsys: Capture, books: Path, git: Git, file: str, way: str) -> None:
    task = books / "calc-2"
    (task / file).parent.mkdir(exist_ok=True)
    (task / file).write_text("one\n")
    if way == "of a task that does not load":
        (task / "task.json").write_text("{")
    git(books, "tag", "base", commit(books, git))
    (task / file).unlink() if way == "gone" else (task / file).write_text("two\n")
    assert [found["instance_id"] for found in document(capsys, books, "base")["tasks"]] == ["calc-2"]
    commit(books, git)
    [found] = document(capsys, books, "base..main")["tasks"]
    if way != "of a task that does not load":
        assert list(found["files"]) == [f"{file.partition('/')[0]}/" if "/" in file else file]


@pytest.mark.parametrize("edit", ["list", "list and record", "defaults", "defaults and record", "policy"])
def test_a_record_that_holds_no_more_is_loud_whatever_else_changed(capsys: Capture, books: Path, edit: str) -> None:
    settings = books / "panel.toml"
    if "list" in edit:
        unlist(books / "calc-1")
    elif "defaults" in edit:
        settings.write_text(settings.read_text() + '[defaults]\nnetwork = "bridge"\n')
    else:
        settings.write_text(settings.read_text().replace("min_p2p = 5", "min_p2p = 4"))
    if "record" in edit:
        record = books / "calc-1" / "repair.json"
        records.overwrite(record, record.read_bytes() + b"\n")
    found = document(capsys, books, "HEAD")["tasks"]
    assert [task["instance_id"] for task in found if task["breaks_record"]] == [
        f"calc-{number}" for number in ((1,) if "list" in edit else (1, 2, 3))
    ]
    loud = ask(capsys, "diff", books, "HEAD")[1].partition("\ngate\n")[0]
    assert "!! RECORDS THAT DO NOT HOLD" in loud
    assert "calc-1" in loud
    assert ('defaults.network: not set → "bridge"' in loud) is ("defaults" in edit)


@pytest.mark.parametrize("kind", ["link", "submodule"])
def test_what_git_has_no_files_of_is_never_passed_over(
    capsys: Capture, books: Path, tmp_path: Path, git: Git, kind: str
) -> None:
    if kind == "link":
        (books / "calc-3").rename(tmp_path / "repo" / "calc-3")
        (books / "calc-3").symlink_to("../../calc-3")
    else:
        git(tmp_path, "init", "-q", "other")
        shutil.copytree(books / "calc-3", tmp_path / "other", dirs_exist_ok=True)
        git(books, "rm", "-rq", "calc-3")
        commit(tmp_path / "other", git)
        git(books, "submodule", "add", "-q", tmp_path / "other", "calc-3")
    git(books, "tag", "base", commit(books, git))
    (books / "calc-3" / "oracle.patch").write_text("other\n")
    if kind == "submodule":
        commit(books / "calc-3", git)
    commit(books, git)
    for revision in ("base..main", "base"):
        code, out, _ = ask(capsys, "diff", books, revision)
        assert code == 1
        assert "!! NOT COMPARED\n  calc-3: a " in out
    assert ask(capsys, "diff", books, "main..main")[0] == (1 if kind == "link" else 0)
    assert ask(capsys, "diff", books / "calc-1", "base..main")[0] == 0


def test_a_gate_is_not_met_where_a_task_does_not_load(capsys: Capture, books: Path) -> None:
    (books / "panel.toml").write_text((books / "panel.toml").read_text().replace("min_tasks = 2", "min_tasks = 1"))
    (books / "calc-1" / "task.json").write_text("{")
    assert ask(capsys, "gate", books)[0] == 2
    assert "admitted 2 → 1: the gate cannot be judged: 1 task cannot be read" in ask(capsys, "diff", books, "HEAD")[1]
    after = document(capsys, books, "HEAD")["after"]
    assert (after["admitted"], after["unreadable"], after["passed"]) == (1, 1, False)


def test_a_forged_pair_of_record_and_outcomes_is_loud(capsys: Capture, books: Path) -> None:
    for name in ("repair.json", "outcomes.json"):
        (books / "calc-3" / name).unlink()
    records.write(books / "calc-3")
    assert ask(capsys, "check", books)[0] == 0
    assert ask(capsys, "diff", books, "HEAD")[1].splitlines()[2:4] == [
        "!! RECORDS THAT WERE REPLACED THOUGH NOTHING THAT THEY ARE MADE FROM CHANGED",
        "  calc-3: refused → clean",
    ]
    assert [task["record_replaced"] for task in document(capsys, books, "HEAD")["tasks"]] == [True]


def test_what_a_digest_holds_is_compared_whatever_its_name(capsys: Capture, books: Path, git: Git) -> None:
    payload = books / "calc-1" / "environment" / ".repair" / "payload"
    payload.parent.mkdir(parents=True)
    payload.write_text("one\n")
    git(books, "add", "-f", payload)
    git(books, "tag", "base", commit(books, git))
    assert ask(capsys, "diff", books, "base")[0] == 0
    payload.write_text("two\n")
    commit(books, git)
    [found] = document(capsys, books, "base..main")["tasks"]
    assert found["files"] == {"environment/": "changed"}


@pytest.mark.parametrize("path", ["task.json", "oracle.patch", "repair.json", "environment", ""])
@pytest.mark.parametrize("loads", [True, False])
def test_a_link_to_the_same_bytes_is_a_difference(
    capsys: Capture, books: Path, git: Git, path: str, loads: bool
) -> None:
    task = books / "calc-1"
    (task / "environment").mkdir()
    (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
    if not loads:
        (task / "task.json").write_text("{")
    git(books, "tag", "base", commit(books, git))
    target = "../store" if path else "store"
    (task / path).rename(books / "store")
    (task / path).symlink_to(target)
    assert ask(capsys, "diff", books, "HEAD")[0] == 1
    commit(books, git)
    tasks = document(capsys, books, "base..main")["tasks"]
    [found] = [one for one in tasks if one["instance_id"] == "calc-1"]
    if loads:
        key = f"link at {path or 'the directory'}"
        assert found["keys"] == [{"key": key, "before": None, "after": target}]
        assert not found["changed_under_record"]
    assert ask(capsys, "diff", books, "main")[0] == 0


def test_a_panel_toml_that_is_a_link_to_the_same_bytes_is_a_difference(capsys: Capture, books: Path) -> None:
    (books / "panel.toml").rename(books / "calc-1" / "settings.toml")
    (books / "panel.toml").symlink_to("calc-1/settings.toml")
    found = document(capsys, books, "HEAD")
    assert [(one["key"], one["after"]) for one in found["settings"]] == [("link at panel.toml", "calc-1/settings.toml")]


def test_a_target_of_any_bytes_can_be_said(capsys: Capture, books: Path) -> None:
    instruction = books / "calc-1" / "instruction.md"
    instruction.unlink(missing_ok=True)
    instruction.symlink_to(os.fsdecode(b"no\xffwhere"))
    [found] = document(capsys, books, "HEAD")["tasks"]
    assert found["keys"][0]["after"].startswith("no")
    for form in ("terminal", "markdown"):
        code, out, err = ask(capsys, "diff", books, "HEAD", "--format", form)
        assert (code, "link at instruction.md" in out, err) == (1, True, "")


def test_a_link_out_of_the_panel_keeps_its_target(capsys: Capture, books: Path, git: Git) -> None:
    (books.parent / "shared").write_text("do it\n")
    (books / "calc-1" / "instruction.md").unlink(missing_ok=True)
    (books / "calc-1" / "instruction.md").symlink_to("../../shared")
    commit(books, git)
    [found] = document(capsys, books, "HEAD")["tasks"]
    assert found["keys"] == []


def test_tasks_of_a_panel_that_does_not_load_are_not_the_same(capsys: Capture, books: Path) -> None:
    (books / "panel.toml").unlink()
    shutil.rmtree(books / "calc-3")
    found = document(capsys, books, "HEAD")
    assert (found["same"], found["not_compared"], len(found["tasks"])) == (0, 2, 1)
    shown = ask(capsys, "diff", books, "HEAD")[1]
    assert "tasks: 0 added, 1 gone, 0 changed, 0 the same, 2 not compared\n" in shown
