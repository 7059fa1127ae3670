"""A control before its container: the task as it is run, the key of its journal entry, the text that its shell gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from repair.controls import plan, runner
from repair.controls.plan import controls
from repair.errors import NoJUnit
from repair.model import Control, ControlKind, Image, Select, Task

TASK = Task("t", "i", ("f",), ("p",), b"--- o\n", None, Path("t"))
GO = replace(TASK, framework="go", test_cmd="gotestsum --junitfile out.xml", junit=("out.xml",))


@pytest.mark.parametrize(
    ("task", "select"),
    [
        (TASK, Select.IDS),
        (replace(TASK, select=Select.FILES), Select.FILES),
        (replace(TASK, id_template=("{name}",)), Select.ALL),
        (replace(TASK, id_template=("{name}",), select=Select.FILES), Select.ALL),
        (replace(GO, id_template=("{name}",)), Select.IDS),
    ],
    ids=["ids", "files", "spelt otherwise", "spelt otherwise, files", "another framework"],
)
def test_pytest_runs_all_where_ids_name_no_files(task: Task, select: Select) -> None:
    planned = plan.prepared(task)
    assert planned.select is select
    control = Control(planned, ControlKind.EMPTY, (), ("a/test_t.py::test_a", "test_b"))
    named = [option for option in runner._pytest_arguments(control, "/here") if "test_" in option]
    assert named == ([] if select is Select.ALL else ["a/test_t.py", "test_b"])


def test_reports_that_the_task_names_are_taken_as_they_are() -> None:
    planned = plan.prepared(replace(GO, test_cmd="make check", env=MappingProxyType({"A": "1"})))
    assert (planned.test_cmd, planned.junit, planned.env) == ("make check", ("out.xml",), {"A": "1"})


def test_what_a_task_says_of_its_environment_wins_over_the_plan() -> None:
    jest = replace(TASK, framework="jest", test_cmd="npx jest", env=MappingProxyType({"JEST_JUNIT_TITLE": "{title}"}))
    planned = plan.prepared(jest)
    assert planned.env["JEST_JUNIT_TITLE"] == "{title}"
    assert "JEST_JUNIT_CLASSNAME" in planned.env
    assert planned.junit


def test_a_runner_without_reports_is_no_junit() -> None:
    with pytest.raises(NoJUnit):
        plan.prepared(replace(TASK, framework="cargo", test_cmd="cargo test"))


def test_each_way_to_spell_ids_has_its_journal_entry() -> None:
    image = Image("sha256:1")
    templates = [(), ("{name}",), ("{name}", "{file}"), ("{file}", "{name}")]
    tasks = [replace(GO, id_template=template) for template in templates]
    keys = {plan.digest(Control(task, ControlKind.EMPTY, (), ("f",)), image) for task in tasks}
    assert len(keys) == len(templates)


# ---- what the plugin is told of which tests to run

WHOLE = Control(TASK, ControlKind.EMPTY, (), ("a/test_t.py::test_a",), files=("a/test_t.py",))
NAMED = replace(TASK, test_files=("a/test_t.py",))
TOLD_OTHERWISE: dict[str, tuple[Control, Control]] = {
    "files that nobody named": (WHOLE, replace(WHOLE, task=NAMED)),
    "other files": (WHOLE, replace(WHOLE, files=("a/test_u.py",))),
    "no files": (WHOLE, replace(WHOLE, files=())),
    "whole files or the ids in them": (WHOLE, replace(WHOLE, files=None)),
    "other ids in whole files": (WHOLE, replace(WHOLE, ids=("a/test_t.py::test_b",))),
    "other ids": (replace(WHOLE, files=None), replace(WHOLE, files=None, ids=("a/test_t.py::test_b",))),
    "the ids or all of their files": (
        replace(WHOLE, files=None),
        replace(WHOLE, files=None, task=replace(TASK, select=Select.FILES)),
    ),
}


def selected(control: Control) -> bytes:
    [entry] = [entry for entry in runner._entries(control, "/here", (), ()) if entry.path.endswith("select.json")]
    return entry.content


@pytest.mark.parametrize("pair", TOLD_OTHERWISE.values(), ids=TOLD_OTHERWISE)
def test_what_the_plugin_is_told_is_in_the_journals_key(pair: tuple[Control, Control]) -> None:
    image = Image("sha256:1")
    assert selected(pair[0]) != selected(pair[1])
    assert plan.digest(pair[0], image) != plan.digest(pair[1], image)


def test_what_it_is_not_told_is_not() -> None:
    """`repair run` has no whole files, so what they would be keeps its journal."""
    image, listed = Image("sha256:1"), replace(WHOLE, files=None)
    assert selected(listed) == selected(replace(listed, task=NAMED))
    assert plan.digest(listed, image) == plan.digest(replace(listed, task=NAMED), image)
    turned = replace(WHOLE, files=("b.py", "a.py")), replace(WHOLE, files=("a.py", "b.py"))
    assert plan.digest(turned[0], image) == plan.digest(turned[1], image)


def test_every_control_gets_the_entry_patch_first() -> None:
    task = replace(TASK, entry_patch=b"--- e\n", tests_patch=b"--- t\n")
    empty, oracle = controls(task, ("f", "p"), range(1))
    assert [name for name, _ in empty.patches] == ["entry.patch", "tests.patch"]
    assert [name for name, _ in oracle.patches] == ["entry.patch", "tests.patch", "oracle.patch"]
    empty, oracle = controls(TASK, ("f", "p"), range(1))
    assert (empty.patches, oracle.patches) == ((), (("oracle.patch", b"--- o\n"),))


TEXTS: dict[str, tuple[str, str, str]] = {
    "pytest": ("pytest", "pytest -q", 'pytest -q "$@"\n'),
    "pytest with its arguments": ("pytest", 'pytest "$@" -q\n', 'pytest "$@" -q\n'),
    "pytest before something else": ("pytest", "pytest -q; echo done", 'pytest -q "$@"; echo done\n'),
    "a script that runs pytest": ("pytest", "./check ", './check "$@"\n'),
    "another framework": ("go", "go test ./... \n", "go test ./...\n"),
    "another framework with arguments of its own": ("go", 'go test "$@"', 'go test "$@"\n'),
}


@pytest.mark.parametrize(("framework", "text", "sent"), TEXTS.values(), ids=TEXTS)
def test_our_arguments_go_to_pytest_alone(framework: str, text: str, sent: str) -> None:
    assert runner._text(replace(TASK, framework=framework, test_cmd=text)) == sent


def test_what_an_emulated_engine_showed_is_not_recalled_for_a_native_one() -> None:
    control, image = Control(TASK, ControlKind.EMPTY, (), ("f",)), Image("sha256:1")
    assert plan.digest(control, image) != plan.digest(control, replace(image, emulated=True))
