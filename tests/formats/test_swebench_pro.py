"""SWE-bench Pro rows: lists in Python repr, tests that enter by a checkout, and no command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats import commands
from repair.formats.base import Draft, Wants
from repair.formats.rows.swebench_pro import FORMAT
from tests.formats import rows
from tests.formats.rows import COMMIT, ISSUE, TESTS_FILE

CHECKOUT = f"git checkout {COMMIT} -- {TESTS_FILE}"


def draft(wants: Wants | None = None, **change: Any) -> Draft:
    return FORMAT.draft(rows.pro(**change), wants or Wants())


def test_the_solver_is_told_requirements_and_interface_too() -> None:
    assert draft(interface="").instruction == f"{ISSUE}\n\nRequirements:\n- `sign` returns -1, 0 or 1."
    assert draft(requirements="", interface=None).instruction == ISSUE.strip()


@pytest.mark.parametrize(
    "column", ["problem_statement", "patch", "before_repo_set_cmd", "dockerhub_tag", "repo_language"]
)
def test_a_text_that_is_json_encoded_is_decoded_once(column: str) -> None:
    change: dict[str, Any] = {column: json.dumps(rows.pro()[column])}
    assert draft(**change) == draft()


def test_a_text_that_only_begins_with_a_quote_stays() -> None:
    assert draft(problem_statement='"sign" is lost', requirements="", interface="").instruction == '"sign" is lost'


@pytest.mark.parametrize(
    ("selected", "command"),
    {
        "repr": ("['tests/test_due.py']", "python -m pytest tests/test_due.py"),
        "each once": ('["a/test_b.py", "a/sums.json", "a/test_b.py::test_c"]', "python -m pytest a/test_b.py"),
        "a blank in a name": ('["tests/test a.py"]', "python -m pytest 'tests/test a.py'"),
        "data files alone": ('["tests/data/sums.json"]', "python -m pytest"),
        "absent": (None, "python -m pytest"),
    }.values(),
    ids=["repr", "each once", "a blank in a name", "data files alone", "absent"],
)
def test_files_to_run(selected: Any, command: str) -> None:
    assert draft(selected_test_files_to_run=selected).runtime["test_cmd"] == f'{CHECKOUT} && {command} "$@"'


NOT_PLAIN = {
    "another command": "make fixtures",
    "two commands": f"{CHECKOUT} && make",
    "a command glued on": f"{CHECKOUT};make",
    "its output kept": f"{CHECKOUT} > log",
    "a command inside": f"git checkout {COMMIT} -- tests/$(date).py",
    "a whole commit": f"git checkout {COMMIT}",
    "no file": f"git checkout {COMMIT} --",
    "a branch": "git checkout main -- tests/test_money.py",
    "an option": f"git checkout --force {COMMIT} -- tests/test_money.py",
    "a quote that does not end": f"git checkout {COMMIT} -- 'tests/test_money.py",
}


@pytest.mark.parametrize("line", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_a_last_line_that_is_no_plain_checkout_is_left_out_with_a_note(line: str) -> None:
    found = draft(before_repo_set_cmd=f"git clean -fd\n{line}\n")
    assert found.runtime["test_cmd"] == f'python -m pytest {TESTS_FILE} "$@"'
    assert found.notes[0].startswith("the last line of before_repo_set_cmd is no plain git checkout")


@pytest.mark.parametrize("value", [None, "", " \n"], ids=["absent", "empty", "blank"])
def test_a_row_without_a_checkout_has_a_note(value: str | None) -> None:
    found = draft(before_repo_set_cmd=value)
    assert found.runtime["test_cmd"] == f'python -m pytest {TESTS_FILE} "$@"'
    assert found.notes[0] == "the row has no before_repo_set_cmd, test_patch brings the hidden tests in"
    assert found.tests_patch == rows.TESTS.encode()
    without = draft(before_repo_set_cmd=value, test_patch=" ")
    assert (without.notes[0], without.tests_patch) == (
        "the row has no before_repo_set_cmd, no hidden tests enter",
        None,
    )


def test_the_shell_gets_a_path_as_it_is_written() -> None:
    found = draft(before_repo_set_cmd=f"git checkout {COMMIT} -- tests/$id.py 'a b' `x`")
    assert found.runtime["test_cmd"].startswith(f"git checkout {COMMIT} -- 'tests/$id.py' 'a b' '`x`' && ")


@pytest.mark.parametrize(
    ("before", "command"), [(CHECKOUT, CHECKOUT), (None, "true")], ids=["with a checkout", "without"]
)
@pytest.mark.parametrize("language", ["js", "go", None])
def test_another_language_has_no_command(language: str | None, before: str | None, command: str) -> None:
    found = draft(repo_language=language, before_repo_set_cmd=before)
    assert found.runtime == {"workdir": "/app", "framework": commands.UNKNOWN, "test_cmd": command}
    assert found.notes[-1] == "the row holds no test command: give --test-cmd"


def test_a_command_of_the_users_is_of_any_language() -> None:
    for command in ("gotestsum ./...", "pytest -p no:cacheprovider"):
        wants = Wants(test_cmd=command)
        assert draft(wants, repo_language="go") == draft(wants)
