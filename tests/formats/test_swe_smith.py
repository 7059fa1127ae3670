"""SWE-smith rows: what older revisions say, and tests that pytest does not run."""

from __future__ import annotations

from repair.formats.base import Wants
from repair.formats.rows.swe_smith import FORMAT
from tests.formats import rows


def test_a_row_of_an_older_revision_says_its_commit() -> None:
    draft = FORMAT.draft(rows.smith(base_commit="1" * 40, created_at="2025-01-02", problem_statement=""), Wants())
    assert (draft.base_commit, draft.instruction) == ("1" * 40, "")


def test_ids_of_another_runner_need_a_command() -> None:
    row = rows.smith(FAIL_TO_PASS=["TestTotal"], PASS_TO_PASS=["TestNone"])
    runtime = FORMAT.draft(row, Wants(test_cmd="go test -v ./...")).runtime
    assert (runtime["framework"], runtime["test_cmd"]) == ("go", "go test -v ./...")
