"""SWE-bench 5 task repos: a row in files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.formats.base import Wants
from repair.formats.directories.swebench_repo import FORMAT
from tests.formats import rows
from tests.formats.directory_samples import SETTINGS


def test_what_is_not_put_into_the_image_is_said(tmp_path: Path) -> None:
    assets = "image_assets:\n  patch: []\n  problem_statement: {}\n"
    named: rows.Files = {
        "task.yaml": SETTINGS + assets.format("[https://acme.example/a.png]"),
        "test_assets/a.png": b"\x89PNG",
    }
    assert FORMAT.draft(rows.task_repo(tmp_path, 1, named), Wants()).notes == (
        "image_assets are not put into the image",
        "test_assets/ is not put into the image",
    )
    none = {"task.yaml": SETTINGS + assets.format("[]")}
    assert FORMAT.draft(rows.task_repo(tmp_path, 2, none), Wants()).notes == ()


def test_the_directory_names_a_task_that_does_not(tmp_path: Path) -> None:
    task = rows.task_repo(tmp_path, files={"task.yaml": SETTINGS.replace("instance_id: acme__ledger-7\n", "")})
    assert FORMAT.draft(task, Wants()).instance_id == "acme__ledger-7"


def test_a_task_without_hidden_tests_patch(tmp_path: Path) -> None:
    assert FORMAT.draft(rows.task_repo(tmp_path, files={"test.patch": None}), Wants()).tests_patch is None


def test_tasks_of_a_root_and_of_one_task(tmp_path: Path) -> None:
    task = rows.task_repo(tmp_path)
    second = tmp_path / "tasks" / "acme__ledger-2"
    second.mkdir()
    (second / "task.yaml").write_text(SETTINGS)
    (tmp_path / "tasks" / "notes").mkdir()
    assert list(FORMAT.tasks(tmp_path)) == [second, task]
    assert list(FORMAT.tasks(task)) == [task]
    assert list(FORMAT.tasks(second)) == []
    assert list(FORMAT.tasks(tmp_path / "tasks" / "notes")) == []


def test_without_pyyaml_the_user_learns_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r"needs PyYAML; pip install 'repair-panel\[yaml\]'"):
        FORMAT.draft(rows.task_repo(tmp_path), Wants())
