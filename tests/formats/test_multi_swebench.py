"""Multi-SWE-bench rows: tests as objects, four columns that make two lists, a script in the image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats import commands
from repair.formats.base import Draft, Wants
from repair.formats.rows.multi_swebench import FORMAT
from tests.formats import rows

MONEY = "src/main/java/Money.java"
JAVA = rows.PATCH.replace(rows.FILE, MONEY)
GO = rows.PATCH.replace(rows.FILE, "money.go")
JUNIT = [
    "**/target/surefire-reports/TEST-*.xml",
    "**/target/failsafe-reports/TEST-*.xml",
    "**/build/test-results/**/TEST-*.xml",
]


def draft(**change: Any) -> Draft:
    return FORMAT.draft(rows.multi(**change), Wants())


def test_id_image_and_directory_follow_from_org_repo_and_number() -> None:
    found = draft(org="Acme", repo="Ledger", number="42", instance_id=None)
    assert (found.instance_id, found.image) == ("Acme__Ledger-42", "mswebench/acme_m_ledger:pr-42")
    assert found.runtime["workdir"] == "/home/Ledger"


def test_objects_as_text_are_the_same() -> None:
    for spelt in (json.dumps, repr):
        change = {column: spelt(rows.multi()[column]) for column in ("base", "resolved_issues")}
        assert draft(**change) == draft()


LISTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a list": (["acme.DueTest"], ("acme.DueTest",)),
    "null marks another row's test": ({"acme.DueTest": {"fix": "PASS"}, "acme.Elsewhere": None}, ("acme.DueTest",)),
}


@pytest.mark.parametrize(("value", "tests"), LISTS.values(), ids=LISTS)
def test_a_test_column(value: Any, tests: tuple[str, ...]) -> None:
    assert draft(p2p_tests=value).p2p == tests


def test_an_id_in_two_of_the_columns_is_listed_once() -> None:
    assert draft(s2p_tests=rows.multi()["f2p_tests"]).f2p == (rows.F2P[0], rows.F2P[2])


LANGUAGES: dict[str, tuple[dict[str, Any], str]] = {
    "said: java": ({"language": "Java", "fix_patch": GO}, "maven"),
    "said: kotlin": ({"lang": "kotlin", "fix_patch": GO}, "maven"),
    "said: go": ({"language": "go", "fix_patch": JAVA}, commands.UNKNOWN),
    "unsaid, the fix is in java": ({"fix_patch": JAVA}, "maven"),
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


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "the issue": ({}, f"Totals\n\n{rows.ISSUE.strip()}"),
    "several issues": (
        {"resolved_issues": [{"title": "One", "body": "1"}, {"title": "Two", "body": None}]},
        "One\n\n1\n\nTwo",
    ),
    "no issue": ({"resolved_issues": []}, "Mend totals\n\nFixes #3."),
    "issues that cannot be read": ({"resolved_issues": "see above"}, "Mend totals\n\nFixes #3."),
    "nothing": ({"resolved_issues": None, "title": None, "body": ""}, ""),
}


@pytest.mark.parametrize(("change", "instruction"), TOLD.values(), ids=TOLD)
def test_what_the_solver_is_told(change: dict[str, Any], instruction: str) -> None:
    assert draft(**change).instruction == instruction


@pytest.mark.parametrize("base", [None, "main", {"label": "x"}], ids=["absent", "a text", "without a hash"])
def test_a_base_that_says_no_commit(base: Any) -> None:
    assert draft(base=base).base_commit is None
