"""SWE-bench 5 task repos: a row in files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.formats.base import RowError, Wants
from repair.formats.directories.swebench_repo import FORMAT

FIX = "diff --git a/sums.py b/sums.py\n--- a/sums.py\n+++ b/sums.py\n@@ -1 +1 @@\n-a - b\n+a + b\n"
TESTS = "diff --git a/tests/t.py b/tests/t.py\n--- a/tests/t.py\n+++ b/tests/t.py\n@@ -1 +1 @@\n-1\n+2\n"
IMAGE = "image: acme/eval.ledger-7:latest\n"
SETTINGS = """\
base_commit: 0f1e2d3c
created_at: '2024-05-06T07:08:09Z'
datasets:
- acme/tasks
eval_type: pass_and_fail
image: acme/eval.ledger-7:latest
image_assets:
  patch: []
  problem_statement: []
  test_patch: []
instance_id: acme__ledger-7
log_parser: parse_log_pytest
repo: acme/ledger
split: test
version: '1.2'
"""
LISTS = """{
  "FAIL_TO_PASS": [
    "tests/test_sums.py::test_total"
  ],
  "PASS_TO_PASS": [
    "tests/test_sums.py::test_a",
    "tests/test_sums.py::test_b"
  ]
}
"""
SCRIPT = f"""#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git apply -v - <<'EOF_1'
{TESTS}EOF_1
: '>>>>> Start Test Output'
pytest -rA tests/test_sums.py
: '>>>>> End Test Output'
git checkout 0f1e2d3c tests/test_sums.py
"""
FILES = {
    "task.yaml": SETTINGS,
    "tests.json": LISTS,
    "gold.patch": FIX,
    "test.patch": TESTS,
    "eval.sh": SCRIPT,
    "problem_statement.md": "Totals are differences.\n",
    "hints.md": "Look at sums.py.\n",
    "Dockerfile": "FROM scratch\n",
}
NO_WISHES = Wants()


def a_repo(root: Path, **changes: str | None) -> Path:
    """A task repo with one task; `changes` are its files, with `_` for the dot, None for none."""
    task = root / "tasks" / "acme__ledger-7"
    task.mkdir(parents=True)
    (root / "sweb.yaml").write_text("datasets:\n- acme/tasks\n")
    changed = {name.replace("_", ".") if name != "problem_statement_md" else "problem_statement.md": text
               for name, text in changes.items()}  # fmt: skip
    for name, text in (FILES | changed).items():
        if text is not None:
            (task / name).write_bytes(text.encode())
    return task


def test_a_task_as_published(tmp_path: Path) -> None:
    draft = FORMAT.draft(a_repo(tmp_path), NO_WISHES)
    assert (draft.instance_id, draft.image, draft.base_commit) == (
        "acme__ledger-7",
        "acme/eval.ledger-7:latest",
        "0f1e2d3c",
    )
    assert draft.f2p == ("tests/test_sums.py::test_total",)
    assert draft.p2p == ("tests/test_sums.py::test_a", "tests/test_sums.py::test_b")
    assert (draft.oracle_patch, draft.tests_patch) == (FIX.encode(), TESTS.encode())
    assert draft.instruction == "Totals are differences.\n"
    assert draft.runtime["framework"] == "pytest"
    assert "pytest -rA tests/test_sums.py" in draft.runtime["test_cmd"]
    assert "conda activate testbed" in draft.runtime["test_cmd"]
    assert draft.notes == ()


def test_what_is_not_put_into_the_image_is_said(tmp_path: Path) -> None:
    settings = SETTINGS.replace("problem_statement: []", "problem_statement: [https://acme.example/a.png]")
    task = a_repo(tmp_path, task_yaml=settings)
    (task / "test_assets").mkdir()
    (task / "test_assets" / "a.png").write_bytes(b"\x89PNG")
    assert FORMAT.draft(task, NO_WISHES).notes == (
        "image_assets are not put into the image",
        "test_assets/ is not put into the image",
    )


def test_the_user_says_image_and_command(tmp_path: Path) -> None:
    draft = FORMAT.draft(a_repo(tmp_path), Wants(image_template="own/{id_1776}", test_cmd="pytest -x"))
    assert draft.image == "own/acme_1776_ledger-7"
    assert draft.runtime["test_cmd"] == 'pytest -x "$@"'


def test_the_directory_names_a_task_that_does_not(tmp_path: Path) -> None:
    task = a_repo(tmp_path, task_yaml=SETTINGS.replace("instance_id: acme__ledger-7\n", ""))
    assert FORMAT.draft(task, NO_WISHES).instance_id == "acme__ledger-7"


def test_a_task_without_hidden_tests_patch(tmp_path: Path) -> None:
    assert FORMAT.draft(a_repo(tmp_path, test_patch=None), NO_WISHES).tests_patch is None


ERRORS: dict[str, tuple[dict[str, str | None], str, str]] = {
    "no lists": ({"tests_json": None}, "tests.json", "is missing"),
    "lists that are no JSON": ({"tests_json": '{"FAIL_TO_PASS": ['}, "tests.json", "no valid JSON"),
    "lists that are no object": ({"tests_json": "[]"}, "tests.json", "expected an object"),
    "lists nested without end": ({"tests_json": "[" * 200_000}, "tests.json", "nested too deeply"),
    "one list": ({"tests_json": '{"FAIL_TO_PASS": []}'}, "tests.json PASS_TO_PASS", "is missing"),
    "no settings": ({"task_yaml": None}, "task.yaml", "is missing"),
    "settings that are no YAML": ({"task_yaml": "a: [1"}, "task.yaml", "no valid YAML"),
    "settings with a Python object": ({"task_yaml": "a: !!python/object:os.x {}"}, "task.yaml", "no valid YAML"),
    "settings with a number of no digits": ({"task_yaml": "a: !!int ''"}, "task.yaml", "no valid YAML"),
    "settings with a truth that is none": ({"task_yaml": "a: !!bool perhaps"}, "task.yaml", "no valid YAML"),
    "settings with a time that is none": ({"task_yaml": "a: !!timestamp then"}, "task.yaml", "no valid YAML"),
    "settings with a day that is none": ({"task_yaml": "a: 2024-13-45"}, "task.yaml", "no valid YAML"),
    "settings that are a list": ({"task_yaml": "- a"}, "task.yaml", "expected keys"),
    "no image": ({"task_yaml": SETTINGS.replace(IMAGE, "")}, "task.yaml image", "no image"),
    "an eval type nobody knows": ({"task_yaml": SETTINGS.replace("pass_and_fail", "mood")}, "task.yaml eval_type", ""),
    "no reference": ({"gold_patch": None}, "gold.patch", "is missing"),
    "an empty reference": ({"gold_patch": "\n"}, "gold.patch", "is empty"),
    "no script": ({"eval_sh": None}, "eval.sh", "is missing"),
    "a script without markers": ({"eval_sh": "pytest\n"}, "eval.sh", "no command between"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_a_task_that_is_none_names_its_file(name: str, tmp_path: Path) -> None:
    changes, field, problem = ERRORS[name]
    with pytest.raises(RowError) as caught:
        FORMAT.draft(a_repo(tmp_path, **changes), NO_WISHES)
    assert caught.value.field == field
    assert problem in caught.value.problem


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    task = a_repo(tmp_path)
    (task / "gold.patch").write_bytes(b"ok\n\xff\n")
    with pytest.raises(RowError, match=r"gold\.patch: line 2 is not UTF-8"):
        FORMAT.draft(task, NO_WISHES)


@pytest.mark.parametrize("name", ["task.yaml", "tests.json", "gold.patch", "test.patch", "problem_statement.md"])
def test_a_link_is_not_followed(name: str, tmp_path: Path) -> None:
    task = a_repo(tmp_path / "repo")
    outside = tmp_path / "outside"
    (task / name).rename(outside)
    (task / name).symlink_to(outside)
    with pytest.raises(RowError) as caught:
        FORMAT.draft(task, NO_WISHES)
    assert (caught.value.field, "is a link" in caught.value.problem) == (name, True)


def test_tasks_of_a_root_and_of_one_task(tmp_path: Path) -> None:
    task = a_repo(tmp_path)
    second = tmp_path / "tasks" / "acme__ledger-2"
    second.mkdir()
    (second / "task.yaml").write_text(SETTINGS)
    (tmp_path / "tasks" / "notes").mkdir()
    assert list(FORMAT.tasks(tmp_path)) == [second, task]
    assert list(FORMAT.tasks(task)) == [task]
    assert list(FORMAT.tasks(second)) == []
    assert list(FORMAT.tasks(tmp_path / "tasks" / "notes")) == []


def test_trimmed_changes_the_dropped_ids_alone(tmp_path: Path) -> None:
    task = a_repo(tmp_path)
    changed = FORMAT.trimmed(task, frozenset(), frozenset({"tests/test_sums.py::test_a"}), "ab" * 32)
    assert changed == {"tests.json": LISTS.replace('    "tests/test_sums.py::test_a",\n', "").encode()}
    (task / "tests.json").write_bytes(changed["tests.json"])
    assert FORMAT.draft(task, NO_WISHES).p2p == ("tests/test_sums.py::test_b",)


def test_trimmed_drops_from_its_own_list(tmp_path: Path) -> None:
    task = a_repo(tmp_path)
    changed = FORMAT.trimmed(task, frozenset({"tests/test_sums.py::test_total"}), frozenset(), None)
    found = json.loads(changed["tests.json"])
    assert (found["FAIL_TO_PASS"], len(found["PASS_TO_PASS"])) == ([], 2)


def test_nothing_dropped_changes_no_file(tmp_path: Path) -> None:
    assert FORMAT.trimmed(a_repo(tmp_path), frozenset(), frozenset(), "ab" * 32) == {}


def test_without_pyyaml_the_user_learns_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r"needs PyYAML; pip install 'repair-panel\[yaml\]'"):
        FORMAT.draft(a_repo(tmp_path), NO_WISHES)
