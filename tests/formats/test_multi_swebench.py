"""Multi-SWE-bench rows: tests as objects, four columns that make two lists, a script in the image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats import commands
from repair.formats.base import Draft, RowError, Wants
from repair.formats.rows.multi_swebench import FORMAT

MONEY = "src/main/java/Money.java"
FIX = f"diff --git a/{MONEY} b/{MONEY}\n--- a/{MONEY}\n+++ b/{MONEY}\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = FIX.replace("main", "test").replace("Money", "MoneyTest")


def outcomes(*tests: str, run: str = "PASS", test: str = "PASS", fix: str = "PASS") -> dict[str, dict[str, str]]:
    return {name: {"run": run, "test": test, "fix": fix} for name in tests}


ROW: dict[str, Any] = {
    "org": "Acme",
    "repo": "Ledger",
    "number": 42,
    "state": "closed",
    "title": "Keep the sign",
    "body": "Fixes #7.",
    "base": {"label": "acme:main", "ref": "main", "sha": "aaaa1111"},
    "resolved_issues": [{"number": 7, "title": "Sign is lost", "body": "-1 becomes 1."}],
    "fix_patch": FIX,
    "test_patch": TESTS,
    "fixed_tests": outcomes("acme.MoneyTest", "acme.DueTest", "acme.NewTest", test="FAIL"),
    "p2p_tests": outcomes("acme.CalendarTest", "acme.ConfigTest"),
    "f2p_tests": outcomes("acme.MoneyTest", test="FAIL"),
    "s2p_tests": outcomes("acme.DueTest", test="SKIP"),
    "n2p_tests": outcomes("acme.NewTest", run="NONE", test="NONE"),
    "run_result": {"passed_count": 4, "failed_count": 0, "skipped_count": 0},
    "test_patch_result": {"passed_count": 2, "failed_count": 1, "skipped_count": 1},
    "fix_patch_result": {"passed_count": 5, "failed_count": 0, "skipped_count": 0},
    "instance_id": "Acme__Ledger-42",
}
F2P, P2P = ("acme.MoneyTest", "acme.DueTest", "acme.NewTest"), ("acme.CalendarTest", "acme.ConfigTest")
JUNIT = [
    "**/target/surefire-reports/TEST-*.xml",
    "**/target/failsafe-reports/TEST-*.xml",
    "**/build/test-results/**/TEST-*.xml",
]
OTHERS: dict[str, dict[str, Any]] = {
    "swe-bench": dict.fromkeys(("repo", "instance_id", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS"), ""),
    "swe-bench-pro": dict.fromkeys(("repo", "instance_id", "patch", "fail_to_pass", "before_repo_set_cmd"), ""),
    "live": dict.fromkeys(("instance_id", "pull_number", "patch", "test_cmds", "FAIL_TO_PASS", "PASS_TO_PASS"), ""),
    "r2e-gym": dict.fromkeys(("repo_name", "docker_image", "expected_output_json", "parsed_commit_content"), ""),
    "a copy in SWE-bench's columns": dict.fromkeys(("repo", "instance_id", "fix_patch", "FAIL_TO_PASS"), ""),
}


def draft(wants: Wants | None = None, **change: Any) -> Draft:
    return FORMAT.draft({**ROW, **change}, wants or Wants())


def test_a_java_row_as_published() -> None:
    found = draft()
    assert found.instance_id == "Acme__Ledger-42"
    assert found.image == "mswebench/acme_m_ledger:pr-42"
    assert (found.f2p, found.p2p) == (F2P, P2P)
    assert (found.oracle_patch, found.tests_patch) == (FIX.encode(), TESTS.encode())
    assert found.base_commit == "aaaa1111"
    assert found.runtime == {
        "workdir": "/home/Ledger",
        "framework": "maven",
        "test_cmd": "bash /home/run.sh",
        "junit": JUNIT,
    }
    assert found.notes == ()


def test_an_id_follows_from_org_repo_and_number() -> None:
    assert draft(instance_id=None).instance_id == "Acme__Ledger-42"
    assert draft(instance_id=None, number="42") == draft()


def test_objects_as_text_are_the_same() -> None:
    columns = ("base", "resolved_issues", "fixed_tests", "p2p_tests", "f2p_tests", "s2p_tests", "n2p_tests")
    for spelt in (json.dumps, repr):
        change: dict[str, Any] = {column: spelt(ROW[column]) for column in columns}
        assert draft(**change) == draft()


LISTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "an empty object": ({}, ()),
    "an empty object as text": ("{}", ()),
    "a list": (["acme.DueTest"], ("acme.DueTest",)),
    "null marks another row's test": ({"acme.DueTest": {"fix": "PASS"}, "acme.Elsewhere": None}, ("acme.DueTest",)),
}


@pytest.mark.parametrize(("value", "tests"), LISTS.values(), ids=LISTS)
def test_a_test_column(value: Any, tests: tuple[str, ...]) -> None:
    assert draft(p2p_tests=value).p2p == tests


def test_an_id_in_two_of_the_columns_is_listed_once() -> None:
    assert draft(s2p_tests=ROW["f2p_tests"]).f2p == ("acme.MoneyTest", "acme.NewTest")


GO = FIX.replace("main/java/Money.java", "money.go")
LANGUAGES: dict[str, tuple[dict[str, Any], str]] = {
    "said: java": ({"language": "Java", "fix_patch": GO}, "maven"),
    "said: kotlin": ({"lang": "kotlin", "fix_patch": GO}, "maven"),
    "said: go": ({"language": "go"}, commands.UNKNOWN),
    "unsaid, the fix is in java": ({}, "maven"),
    "unsaid, the fix is in go": ({"fix_patch": GO}, commands.UNKNOWN),
    "prose says nothing": ({"fix_patch": GO, "title": "java", "body": "mvn test"}, commands.UNKNOWN),
}


@pytest.mark.parametrize(("change", "framework"), LANGUAGES.values(), ids=LANGUAGES)
def test_where_reports_are_follows_from_the_language(change: dict[str, Any], framework: str) -> None:
    found = draft(**change)
    assert found.runtime["framework"] == framework
    assert found.runtime["test_cmd"] == "bash /home/run.sh"
    assert found.runtime.get("junit", []) == (JUNIT if framework == "maven" else [])
    assert any("--test-cmd" in note for note in found.notes) is (framework == commands.UNKNOWN)


def test_a_command_of_the_users() -> None:
    found = draft(Wants(test_cmd="gotestsum ./..."), language="go")
    assert found.runtime == {"workdir": "/home/Ledger", "framework": "go", "test_cmd": "gotestsum ./..."}
    assert found.notes == ()


def test_an_image_by_template() -> None:
    assert draft(Wants(image_template="mirror/{org}.{name}:{number}")).image == "mirror/acme.ledger:42"
    assert draft(Wants(image_template="mirror/{id}"), instance_id=None).image == "mirror/acme__ledger-42"


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "the issue": ({}, "Sign is lost\n\n-1 becomes 1."),
    "several issues": (
        {"resolved_issues": [{"title": "One", "body": "1"}, {"title": "Two", "body": None}]},
        "One\n\n1\n\nTwo",
    ),
    "no issue": ({"resolved_issues": []}, "Keep the sign\n\nFixes #7."),
    "issues that cannot be read": ({"resolved_issues": "see above"}, "Keep the sign\n\nFixes #7."),
    "nothing": ({"resolved_issues": None, "title": None, "body": ""}, ""),
}


@pytest.mark.parametrize(("change", "instruction"), TOLD.values(), ids=TOLD)
def test_what_the_solver_is_told(change: dict[str, Any], instruction: str) -> None:
    assert draft(**change).instruction == instruction


@pytest.mark.parametrize("base", [None, "main", {"label": "x"}], ids=["absent", "a text", "without a hash"])
def test_a_base_that_says_no_commit(base: Any) -> None:
    assert draft(base=base).base_commit is None


def test_a_test_patch_may_be_empty() -> None:
    assert draft(test_patch="").tests_patch is None


ERRORS: dict[str, tuple[str, Any, str]] = {
    "no f2p_tests": ("f2p_tests", None, "is missing"),
    "no s2p_tests": ("s2p_tests", None, "is missing"),
    "no n2p_tests": ("n2p_tests", None, "is missing"),
    "no p2p_tests": ("p2p_tests", None, "is missing"),
    "p2p_tests blank": ("p2p_tests", "", "expected a list|neither JSON"),
    "p2p_tests no object": ("p2p_tests", "acme.DueTest", "neither JSON nor"),
    "a number for tests": ("p2p_tests", 3, "expected a list"),
    "columns for tests": ("f2p_tests", {"name": ["acme.MoneyTest"], "fix": ["PASS"]}, "holds columns"),
    "no fix": ("fix_patch", "", "is empty"),
    "no org": ("org", None, "is missing"),
    "no repo": ("repo", "", "is empty"),
    "no number": ("number", None, "is missing"),
    "a number that is none": ("number", "pr-42", "expected a pull request's number"),
    "a truth for a number": ("number", True, "expected a pull request's number"),
}


@pytest.mark.parametrize(("column", "value", "problem"), ERRORS.values(), ids=ERRORS)
def test_a_row_that_is_no_task(column: str, value: Any, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as caught:
        draft(**{column: value})
    assert caught.value.field == column


@pytest.mark.parametrize("absent", ["instance_id", "fixed_tests", "s2p_tests", "run_result", "state"])
def test_its_rows_are_known(absent: str) -> None:
    assert FORMAT.fits(ROW)
    assert FORMAT.fits({column: value for column, value in ROW.items() if column != absent})


@pytest.mark.parametrize("row", OTHERS.values(), ids=OTHERS)
def test_rows_of_others_are_not(row: dict[str, Any]) -> None:
    assert not FORMAT.fits(row)


def test_it_names_its_list_columns() -> None:
    assert FORMAT.f2p == ("f2p_tests", "s2p_tests", "n2p_tests")
    assert (FORMAT.p2p, FORMAT.also, FORMAT.write) == (("p2p_tests",), ("fixed_tests",), None)
