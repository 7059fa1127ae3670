"""SWE-bench Pro rows: lists in Python repr, tests that enter by a checkout, and no command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats import commands
from repair.formats.base import Draft, RowError, Wants
from repair.formats.rows.swebench_pro import FORMAT

COMMIT = "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"
CHECKOUT = f"git checkout {COMMIT} -- tests/test_money.py tests/test_due.py"
BEFORE = f"git reset --hard aaaa1111\ngit clean -fd \ngit checkout aaaa1111 \n{CHECKOUT}"
MONEY = "ledger/money.py"
PATCH = f"diff --git a/{MONEY} b/{MONEY}\n--- a/{MONEY}\n+++ b/{MONEY}\n@@ -1 +1 @@\n-a\n+b\n"
F2P = ["tests/test_money.py::test_sign[it's]"]
P2P = ["tests/test_money.py::test_zero", 'tests/test_due.py::test_due["x"]']

ROW: dict[str, Any] = {
    "repo": "acme/ledger",
    "instance_id": "instance_acme__ledger-0f1e2d3c4b5a69788796a5b4c3d2e1f001122334-vnan",
    "base_commit": "aaaa1111",
    "patch": PATCH,
    "test_patch": "diff --git a/tests/test_money.py b/tests/test_money.py\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    "problem_statement": "Amounts lose their sign.",
    "requirements": "- `sign` returns -1, 0 or 1.",
    "interface": "No new interfaces are introduced.",
    "repo_language": "python",
    "fail_to_pass": str(F2P),
    "pass_to_pass": str(P2P),
    "issue_specificity": '["major_bug"]',
    "issue_categories": '["back_end_knowledge"]',
    "before_repo_set_cmd": BEFORE,
    "selected_test_files_to_run": '["tests/test_money.py", "tests/data/sums.json", "tests/test_money.py::test_zero"]',
    "dockerhub_tag": "acme.ledger-acme__ledger-0f1e2d3c",
}
OTHERS: dict[str, dict[str, Any]] = {
    "swe-bench": dict.fromkeys(
        ("repo", "instance_id", "base_commit", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS"), ""
    ),
    "swe-bench-5": dict.fromkeys(("instance_id", "image", "eval_script", "FAIL_TO_PASS", "PASS_TO_PASS"), ""),
    "live": dict.fromkeys(("instance_id", "patch", "test_cmds", "log_parser", "FAIL_TO_PASS", "PASS_TO_PASS"), ""),
    "smith": dict.fromkeys(("instance_id", "patch", "image_name", "FAIL_TO_PASS", "PASS_TO_PASS"), ""),
    "multi-swe-bench": dict.fromkeys(("org", "repo", "number", "fix_patch", "f2p_tests", "p2p_tests"), ""),
    "r2e-gym": dict.fromkeys(("repo_name", "docker_image", "expected_output_json", "parsed_commit_content"), ""),
}


def draft(wants: Wants | None = None, **change: Any) -> Draft:
    return FORMAT.draft({**ROW, **change}, wants or Wants())


def test_a_python_row_as_published() -> None:
    found = draft()
    assert found.instance_id == ROW["instance_id"]
    assert found.image == "jefzda/sweap-images:acme.ledger-acme__ledger-0f1e2d3c"
    assert (found.f2p, found.p2p) == (tuple(F2P), tuple(P2P))
    assert found.oracle_patch == PATCH.encode()
    assert found.tests_patch is None  # the tests enter by the checkout
    assert found.base_commit == "aaaa1111"
    assert found.runtime == {
        "workdir": "/app",
        "framework": "pytest",
        "test_cmd": f'{CHECKOUT} && python -m pytest tests/test_money.py "$@"',
        "select": "files",
    }
    assert found.notes == ("its run_script.sh is kept apart from the row: python -m pytest runs in its place",)


def test_the_solver_is_told_requirements_and_interface_too() -> None:
    assert draft().instruction == (
        "Amounts lose their sign.\n\nRequirements:\n- `sign` returns -1, 0 or 1.\n\n"
        "New interfaces:\nNo new interfaces are introduced."
    )
    assert draft(requirements="", interface=None).instruction == "Amounts lose their sign."


LISTS = {
    "Python repr": str(F2P),
    "JSON text": json.dumps(F2P),
    "a real list": F2P,
    "repr, JSON-encoded": json.dumps(str(F2P)),
    "JSON text, JSON-encoded": json.dumps(json.dumps(F2P)),
}


@pytest.mark.parametrize("value", LISTS.values(), ids=LISTS)
def test_a_list_in_any_spelling(value: Any) -> None:
    assert draft(fail_to_pass=value).f2p == tuple(F2P)


def test_an_empty_list_is_data() -> None:
    assert draft(pass_to_pass="[]").p2p == ()


@pytest.mark.parametrize(
    "column", ["problem_statement", "patch", "before_repo_set_cmd", "dockerhub_tag", "repo_language"]
)
def test_a_text_that_is_json_encoded_is_decoded_once(column: str) -> None:
    change: dict[str, Any] = {column: json.dumps(ROW[column])}
    assert draft(**change) == draft()


def test_a_text_that_only_begins_with_a_quote_stays() -> None:
    assert draft(problem_statement='"sign" is lost', requirements="", interface="").instruction == '"sign" is lost'


@pytest.mark.parametrize(
    ("selected", "command"),
    {
        "repr": ("['tests/test_due.py']", "python -m pytest tests/test_due.py"),
        "a blank in a name": ('["tests/test a.py"]', "python -m pytest 'tests/test a.py'"),
        "data files alone": ('["tests/data/sums.json"]', "python -m pytest"),
        "absent": (None, "python -m pytest"),
    }.values(),
    ids=["repr", "a blank in a name", "data files alone", "absent"],
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
    assert found.runtime["test_cmd"] == 'python -m pytest tests/test_money.py "$@"'
    assert found.notes[0].startswith("the last line of before_repo_set_cmd is no plain git checkout")


@pytest.mark.parametrize("value", [None, "", " \n"], ids=["absent", "empty", "blank"])
def test_a_row_without_a_checkout_has_a_note(value: str | None) -> None:
    found = draft(before_repo_set_cmd=value)
    assert found.runtime["test_cmd"] == 'python -m pytest tests/test_money.py "$@"'
    assert found.notes[0] == "the row has no before_repo_set_cmd, test_patch brings the hidden tests in"
    assert found.tests_patch == ROW["test_patch"].encode()
    without = draft(before_repo_set_cmd=value, test_patch=" ")
    assert (without.notes[0], without.tests_patch) == (
        "the row has no before_repo_set_cmd, no hidden tests enter",
        None,
    )


def test_the_shell_gets_a_path_as_it_is_written() -> None:
    found = draft(before_repo_set_cmd=f"git checkout {COMMIT} -- tests/$id.py 'a b' `x`")
    assert found.runtime["test_cmd"].startswith(f"git checkout {COMMIT} -- 'tests/$id.py' 'a b' '`x`' && ")


@pytest.mark.parametrize(
    ("before", "command"), [(BEFORE, CHECKOUT), (None, "true")], ids=["with a checkout", "without"]
)
@pytest.mark.parametrize("language", ["js", "go", None])
def test_another_language_has_no_command(language: str | None, before: str | None, command: str) -> None:
    found = draft(repo_language=language, before_repo_set_cmd=before)
    assert found.runtime == {"workdir": "/app", "framework": commands.UNKNOWN, "test_cmd": command}
    assert found.notes[-1] == "the row holds no test command: give --test-cmd"


@pytest.mark.parametrize("language", ["python", "go"])
def test_a_command_of_the_users_comes_behind_the_checkout(language: str) -> None:
    found = draft(Wants(test_cmd="gotestsum ./..."), repo_language=language)
    assert found.runtime == {"workdir": "/app", "framework": "go", "test_cmd": f"{CHECKOUT} && gotestsum ./..."}
    assert found.notes == ()
    found = draft(Wants(test_cmd="pytest -p no:cacheprovider"), repo_language=language)
    assert found.runtime["test_cmd"] == f'{CHECKOUT} && pytest -p no:cacheprovider "$@"'


def test_an_image_by_template() -> None:
    wants = Wants(image_template="mirror/{dockerhub_tag}")
    assert draft(wants).image == "mirror/acme.ledger-acme__ledger-0f1e2d3c"


ERRORS: dict[str, tuple[str, Any, str]] = {
    "no F2P": ("fail_to_pass", None, "is missing"),
    "F2P is no list": ("fail_to_pass", "tests/test_money.py", "neither JSON nor"),
    "P2P holds numbers": ("pass_to_pass", "[1]", "expected a list"),
    "no patch": ("patch", "", "is empty"),
    "no id": ("instance_id", None, "is missing"),
    "no image": ("dockerhub_tag", "", "the row does not say it"),
    "files to run are no list": ("selected_test_files_to_run", "x y", "neither JSON nor"),
}


@pytest.mark.parametrize(("column", "value", "problem"), ERRORS.values(), ids=ERRORS)
def test_a_row_that_is_no_task(column: str, value: Any, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as caught:
        draft(**{column: value})
    assert caught.value.field == column


@pytest.mark.parametrize("absent", ["dockerhub_tag", "selected_test_files_to_run", "test_patch", "interface"])
def test_its_rows_are_known(absent: str) -> None:
    assert FORMAT.fits(ROW)
    assert FORMAT.fits({column: value for column, value in ROW.items() if column != absent})


@pytest.mark.parametrize("row", OTHERS.values(), ids=OTHERS)
def test_rows_of_others_are_not(row: dict[str, Any]) -> None:
    assert not FORMAT.fits(row)


def test_it_names_its_list_columns() -> None:
    assert (FORMAT.f2p, FORMAT.p2p, FORMAT.also, FORMAT.write) == (("fail_to_pass",), ("pass_to_pass",), (), None)
