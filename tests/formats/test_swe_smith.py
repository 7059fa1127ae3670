"""SWE-smith rows: the patch is the bug, and the reference its reverse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats.base import RowError, Wants
from repair.formats.rows.swe_smith import FORMAT
from repair.panel import patches

BUG = (
    "diff --git a/ledger/sums.py b/ledger/sums.py\n"
    "--- a/ledger/sums.py\n"
    "+++ b/ledger/sums.py\n"
    "@@ -1,2 +1,2 @@\n"
    " def total(a, b):\n"
    "-    return a + b\n"
    "+    return a - b\n"
)
NO_WISHES = Wants()


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "acme__ledger.1a2b3c4d.func_basic__9x8y7z",
        "repo": "swesmith/acme__ledger.1a2b3c4d",
        "patch": BUG,
        "FAIL_TO_PASS": ["tests/test_sums.py::test_total"],
        "PASS_TO_PASS": ["tests/test_sums.py::test_none"],
        "image_name": "acme/swesmith.x86_64.acme_1776_ledger.1a2b3c4d",
        "problem_statement": "Totals are differences.",
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def test_a_row_as_published() -> None:
    draft = FORMAT.draft(a_row(), NO_WISHES)
    assert draft.instance_id == "acme__ledger.1a2b3c4d.func_basic__9x8y7z"
    assert draft.image == "acme/swesmith.x86_64.acme_1776_ledger.1a2b3c4d"
    assert draft.entry_patch == BUG.encode()
    assert draft.oracle_patch == patches.reverse(BUG.encode())
    assert draft.tests_patch is None
    assert (draft.f2p, draft.p2p) == (("tests/test_sums.py::test_total",), ("tests/test_sums.py::test_none",))
    assert (draft.instruction, draft.base_commit) == ("Totals are differences.", None)
    assert draft.runtime == {
        "workdir": "/testbed",
        "framework": "pytest",
        "test_cmd": 'source /opt/miniconda3/bin/activate testbed && python -m pytest "$@"',
        "select": "files",
    }


def test_the_reference_takes_the_bug_back() -> None:
    mend = FORMAT.draft(a_row(), NO_WISHES).oracle_patch.decode()
    assert "\n-    return a - b\n+    return a + b\n" in mend


def test_a_row_of_an_older_revision() -> None:
    old = a_row(base_commit="1" * 40, created_at="2025-01-02", PASS_TO_PASS='["t.py::a"]', problem_statement="")
    draft = FORMAT.draft(old, NO_WISHES)
    assert FORMAT.fits(old)
    assert (draft.base_commit, draft.p2p, draft.instruction) == ("1" * 40, ("t.py::a",), "")


def test_a_bug_without_a_last_line_end_is_the_same_bug() -> None:
    assert FORMAT.draft(a_row(patch=BUG.rstrip("\n")), NO_WISHES).entry_patch == BUG.encode()


def test_wishes_go_before_the_row() -> None:
    wants = Wants(image_template="registry.example/{org}:{id}", test_cmd="pytest tests")
    draft = FORMAT.draft(a_row(image_name=...), wants)
    assert draft.image == "registry.example/swesmith:acme__ledger.1a2b3c4d.func_basic__9x8y7z"
    assert draft.runtime["test_cmd"] == 'pytest tests "$@"'


OTHER_RUNNER = {"FAIL_TO_PASS": ["TestTotal"], "PASS_TO_PASS": ["TestNone"]}


def test_ids_of_another_runner_need_a_command() -> None:
    with pytest.raises(RowError, match="FAIL_TO_PASS: names no test of pytest's, and the row no command"):
        FORMAT.draft(a_row(**OTHER_RUNNER), NO_WISHES)
    runtime = FORMAT.draft(a_row(**OTHER_RUNNER), Wants(test_cmd="go test -v ./...")).runtime
    assert (runtime["framework"], runtime["test_cmd"]) == ("go", "go test -v ./...")


def test_empty_lists_are_data() -> None:
    draft = FORMAT.draft(a_row(FAIL_TO_PASS=[], PASS_TO_PASS="[]"), NO_WISHES)
    assert (draft.f2p, draft.p2p) == ((), ())


BINARY = (
    "diff --git a/logo.png b/logo.png\nindex 1111111..2222222 100644\nBinary files a/logo.png and b/logo.png differ\n"
)
WRONG = {
    "no bug": ({"patch": ""}, "patch", "is empty"),
    "a bug that cannot be taken back": ({"patch": BINARY}, "patch", "cannot be reversed"),
    "text that is no diff": ({"patch": "see the issue"}, "patch", "cannot be reversed"),
    "no image": ({"image_name": None}, "image_name", "names no image; give --image-template"),
    "no list": ({"FAIL_TO_PASS": ...}, "FAIL_TO_PASS", "is missing"),
    "a list that is none": ({"PASS_TO_PASS": "t.py::a t.py::b"}, "PASS_TO_PASS", "neither JSON nor a Python literal"),
    "no id": ({"instance_id": 12}, "instance_id", "expected a text, found int"),
}


@pytest.mark.parametrize(("changes", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_row_that_is_no_task(changes: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        FORMAT.draft(a_row(**changes), NO_WISHES)
    assert caught.value.field == field
    assert problem in caught.value.problem


FOREIGN = {
    "SWE-bench": a_row(test_patch=BUG, base_commit="1", environment_setup_commit="3"),
    "SWE-bench 5": a_row(test_patch=BUG, image="acme/ledger", eval_script="true"),
    "SWE-bench-Live": a_row(test_patch=BUG, test_cmds=["pytest"]),
    "SWE-rebench": a_row(test_patch=BUG, install_config={"test_cmd": "pytest"}, FAIL_TO_FAIL=[]),
    "SWE-rebench V2": a_row(test_patch=BUG, install_config={"test_cmd": "pytest"}),
    "SWE-Gym": a_row(test_patch=BUG, repo="getmoto/moto"),
    "R2E-Gym": {"repo_name": "acme", "docker_image": "acme/r2e", "expected_output_json": json.dumps({"A.b": "PASSED"})},
    "the columns of many": a_row(image_name=..., repo="acme/ledger"),
    "no row at all": {},
}


@pytest.mark.parametrize("row", FOREIGN.values(), ids=FOREIGN)
def test_rows_of_other_formats_do_not_fit(row: dict[str, Any]) -> None:
    assert not FORMAT.fits(row)


OWN = {
    "no hidden tests": a_row(test_patch=""),
    "hidden tests that are null": a_row(test_patch=None),
    "as published": a_row(),
    "a copy without image": a_row(image_name=...),
    "a copy of a fork": a_row(repo="a/b"),
}


@pytest.mark.parametrize("row", OWN.values(), ids=OWN)
def test_its_own_rows_fit(row: dict[str, Any]) -> None:
    assert FORMAT.fits(row)
