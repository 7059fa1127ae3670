"""SWE-bench rows, classic and of version 5: what they say of tests that pytest does not run, and what is noted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats.base import Wants
from repair.formats.rows.swebench import CLASSIC, FIVE
from tests.formats import rows

NO_COMMAND = "the row holds no test command, and its ids are not pytest's: give --test-cmd"
ASSETS = "image_assets are not put into the image"


def a_row(**changes: Any) -> rows.Row:
    """A row of Multimodal, whose tests are in JavaScript."""
    ids = {"FAIL_TO_PASS": '["Unit | sums | total"]', "PASS_TO_PASS": '["Unit | sums | zero"]'}
    assets = json.dumps({"problem_statement": ["https://acme.example/sum.png"]})
    return rows.classic(**{**ids, "environment_setup_commit": ..., "image_assets": assets, **changes})


def test_a_row_whose_ids_are_not_pytests_has_no_command() -> None:
    assert CLASSIC.fits(a_row())
    draft = CLASSIC.draft(a_row(), Wants())
    assert draft.runtime == {"workdir": "/testbed", "framework": "unknown", "test_cmd": "true"}
    assert draft.notes == (NO_COMMAND, ASSETS)


def test_it_runs_by_the_command_that_is_given() -> None:
    draft = CLASSIC.draft(a_row(), Wants(test_cmd="npx jest"))
    assert (draft.runtime["framework"], draft.notes) == ("jest", (ASSETS,))


PYTESTS = {
    "an id with a file": (a_row(PASS_TO_PASS=["tests/test_sums.py::test_zero"]), "pytest"),
    "no ids": (a_row(FAIL_TO_PASS=[], PASS_TO_PASS="[]"), "pytest"),
    "a repo that is known to run pytest": (a_row(repo="psf/requests"), "pytest"),
    "SymPy": (a_row(repo="sympy/sympy", FAIL_TO_PASS=["test_total"], PASS_TO_PASS=[]), "pytest"),
    "Django": (a_row(repo="django/django", FAIL_TO_PASS=["test_total (sums.Tests)"], PASS_TO_PASS=[]), "django"),
}


@pytest.mark.parametrize(("row", "framework"), PYTESTS.values(), ids=PYTESTS)
def test_other_rows_have_one(row: dict[str, Any], framework: str) -> None:
    draft = CLASSIC.draft(row, Wants())
    assert draft.runtime["framework"] == framework
    assert NO_COMMAND not in draft.notes


@pytest.mark.parametrize("assets", [None, "", "{}", {}, "null", ...])
def test_no_assets_are_nothing_to_note(assets: object) -> None:
    assert ASSETS not in CLASSIC.draft(a_row(image_assets=assets), Wants()).notes
    assert ASSETS not in FIVE.draft(rows.five(image_assets=assets), Wants()).notes
    assert ASSETS in FIVE.draft(rows.five(image_assets={"a": "b"}), Wants()).notes


@pytest.mark.parametrize(("kind", "noted"), [("fail_only", True), ("pass_and_fail", False), (None, False)])
def test_what_is_in_no_log_is_missing_here(kind: str | None, noted: bool) -> None:
    notes = FIVE.draft(rows.five(eval_type=kind), Wants()).notes
    said = "eval_type fail_only: its harness takes a test that is in no log for passed; here it is missing"
    assert (said in notes) is noted
