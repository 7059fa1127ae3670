"""SWE-bench-Live rows: what their commands become, and what is left out."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from repair.formats.base import Draft, Wants
from repair.formats.rows.swebench_live import FORMAT
from tests.formats import rows


def draft(**changes: Any) -> Draft:
    return FORMAT.draft(rows.live(**changes), Wants())


def test_a_row_of_the_first_revisions_has_no_image_and_no_rebuild() -> None:
    old = draft(docker_image=..., rebuild_cmds=..., print_cmds=..., log_parser="pytest", pull_number=7)
    assert old.image == "starryzhang/sweb.eval.x86_64.acme_1776_ledger-7"
    assert old.runtime["test_cmd"] == 'pytest -rA "$@"'


COMMANDS = {
    "a list in its text": ('["pytest -q"]', 'pytest -q "$@"'),
    "a list in its Python text": ("['pytest -q']", 'pytest -q "$@"'),
    "one command": ("pytest -q", 'pytest -q "$@"'),
    "blanks are no commands": (["", " pytest -q ", "  "], 'pytest -q "$@"'),
}


@pytest.mark.parametrize(("given", "command"), COMMANDS.values(), ids=COMMANDS)
def test_test_commands_of_any_type(given: object, command: str) -> None:
    assert draft(test_cmds=given).runtime["test_cmd"] == command


def test_several_test_commands_all_run_in_one_shell() -> None:
    runtime = draft(test_cmds=["cd build", "ctest --verbose"]).runtime
    assert runtime["framework"] == "ctest"
    assert "select" not in runtime
    assert runtime["test_cmd"].index("cd build") < runtime["test_cmd"].index("ctest --verbose")


REBUILT = {
    "a build comes before the tests": (["make -j2"], 'make -j2 && pytest -rA "$@"', False),
    "in order": (["cd build", "make"], 'cd build && make && pytest -rA "$@"', False),
    "a list in its text": ('["make"]', 'make && pytest -rA "$@"', False),
    "a comment swallows nothing": (["make # all of it"], '{ make # all of it\n} && pytest -rA "$@"', False),
    "nor does a last semicolon": (["make;"], '{ make;\n} && pytest -rA "$@"', False),
    "what fetches packages is left out": (["npm ci", "npm run build"], 'npm run build && pytest -rA "$@"', True),
    "pip, too": (["python3 -m pip -q install -e .[dev]"], 'pytest -rA "$@"', True),
    "bare yarn, too": (["yarn"], 'pytest -rA "$@"', True),
    "not where it needs no network": (
        ["pip install --no-build-isolation -e ."],
        'pip install --no-build-isolation -e . && pytest -rA "$@"',
        False,
    ),
    "not what builds as well": (["npm ci && npm run build"], 'npm ci && npm run build && pytest -rA "$@"', False),
    "maven's install is a build": (["mvn install -DskipTests"], 'mvn install -DskipTests && pytest -rA "$@"', False),
    "none": (None, 'pytest -rA "$@"', False),
}


@pytest.mark.parametrize(("given", "command", "noted"), REBUILT.values(), ids=REBUILT)
def test_rebuild_commands(given: object, command: str, noted: bool) -> None:
    found = draft(rebuild_cmds=given)
    assert found.runtime["test_cmd"] == command
    note = "its rebuild commands install packages: left out, no network there"
    assert found.notes == ((note,) if noted else ())


RUN = {
    "the tests run after the build": (["echo built"], ["echo ran"], "built\nran\n", 0),
    "a build that fails ends the run": (["echo built; false", "echo more"], ["echo ran"], "built\n", 1),
    "before several tests, too": (["false"], ["echo one", "echo two"], "", 1),
    "one shell for all": (["cd /", "X=built # for the tests"], ["echo $X", "pwd"], "built\n/\n", 0),
    "a failed test does not end the others": (["true;"], ["false", "echo ran"], "ran\n", 1),
    "a build of several lines": (["cat <<'END'\nbuilt\nEND"], ["echo ran"], "built\nran\n", 0),
}


@pytest.mark.parametrize(("rebuild", "tests", "said", "status"), RUN.values(), ids=RUN)
def test_what_a_shell_makes_of_it(rebuild: list[str], tests: list[str], said: str, status: int) -> None:
    text = draft(rebuild_cmds=rebuild, test_cmds=tests).runtime["test_cmd"]
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode, done.stderr) == (said, status, "")


def test_the_rebuild_does_not_decide_the_framework() -> None:
    runtime = draft(rebuild_cmds=["mvn install -DskipTests"], test_cmds=["./check.sh"]).runtime
    assert runtime["framework"] == "unknown"


def test_a_windows_image_is_noted() -> None:
    found = draft(docker_image="starryzhang/sweb.eval.win.acme_1776_ledger-12")
    assert found.notes == ("its image is for Windows, which no engine for Linux containers runs",)


FETCHED = "its test commands install packages: left out, no network there"
TEST_COMMANDS = {
    "packages first": (["npm ci", "npx jest"], "npx jest", (FETCHED,)),
    "nothing else": (["npm ci"], "npm ci", ()),
    "none": (["npx jest"], "npx jest", ()),
}


@pytest.mark.parametrize(("every", "kept", "notes"), TEST_COMMANDS.values(), ids=TEST_COMMANDS)
def test_test_commands_that_fetch_packages_are_left_out(every: list[str], kept: str, notes: tuple[str, ...]) -> None:
    found = draft(test_cmds=every)
    assert (found.runtime["test_cmd"], found.notes) == (kept, notes)
