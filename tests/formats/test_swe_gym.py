"""SWE-Gym rows: known by their repos, since their columns are SWE-bench's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats.base import RowError, Wants
from repair.formats.rows import swebench
from repair.formats.rows.swe_gym import FORMAT, REPOS

PATCH = "diff --git a/dvc/ledger.py b/dvc/ledger.py\n--- a/dvc/ledger.py\n+++ b/dvc/ledger.py\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = PATCH.replace("dvc/ledger.py", "tests/test_ledger.py")
NO_WISHES = Wants()


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "Iterative__dvc-12",
        "hints_text": "",
        "patch": PATCH,
        "test_patch": TESTS,
        "created_at": "2022-01-02T03:04:05Z",
        "problem_statement": "Sums are off by one.",
        "repo": "iterative/dvc",
        "base_commit": "1" * 40,
        "version": "1.2",
        "PASS_TO_PASS": ["tests/test_ledger.py::test_add"],
        "FAIL_TO_PASS": ["tests/test_ledger.py::test_sum"],
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def test_a_row_as_published() -> None:
    draft = FORMAT.draft(a_row(), NO_WISHES)
    assert draft.instance_id == "Iterative__dvc-12"
    assert draft.image == "xingyaoww/sweb.eval.x86_64.iterative_s_dvc-12:latest"
    assert (draft.f2p, draft.p2p) == (("tests/test_ledger.py::test_sum",), ("tests/test_ledger.py::test_add",))
    assert (draft.oracle_patch, draft.tests_patch, draft.entry_patch) == (PATCH.encode(), TESTS.encode(), None)
    assert (draft.instruction, draft.base_commit) == ("Sums are off by one.", "1" * 40)
    assert draft.runtime == {
        "workdir": "/testbed",
        "framework": "pytest",
        "test_cmd": 'source /opt/miniconda3/bin/activate testbed && python -m pytest "$@"',
        "select": "files",
    }


def test_a_copy_with_scripts_and_texts_is_the_same_task() -> None:
    scripts = dict.fromkeys(("regression_script", "setup_script", "test_script"), "#!/bin/bash\nfalse\n")
    row = a_row()
    copy = row | scripts | {name: json.dumps(row[name]) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    assert FORMAT.fits(copy)
    assert FORMAT.draft(copy, NO_WISHES) == FORMAT.draft(row, NO_WISHES)


@pytest.mark.parametrize("column", ["image_name", "docker_image", "image"])
def test_a_copy_may_name_its_image(column: str) -> None:
    assert FORMAT.draft(a_row(**{column: "acme/dvc:12"}), NO_WISHES).image == "acme/dvc:12"


def test_wishes_go_before_the_row() -> None:
    wants = Wants(image_template="registry.example/{name}:{version}", test_cmd="pytest tests")
    draft = FORMAT.draft(a_row(), wants)
    assert draft.image == "registry.example/dvc:1.2"
    assert draft.runtime["test_cmd"] == 'pytest tests "$@"'


WRONG = {
    "no hidden tests": ({"test_patch": None}, "test_patch", "is missing"),
    "no reference": ({"patch": "\n"}, "patch", "is empty"),
    "no list": ({"FAIL_TO_PASS": None}, "FAIL_TO_PASS", "is missing; an empty list would be []"),
    "a list that is none": ({"PASS_TO_PASS": "[log(dvc"}, "PASS_TO_PASS", "neither JSON nor a Python literal"),
    "no id": ({"instance_id": ""}, "instance_id", "is empty"),
}


@pytest.mark.parametrize(("changes", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_row_that_is_no_task(changes: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        FORMAT.draft(a_row(**changes), NO_WISHES)
    assert caught.value.field == field
    assert problem in caught.value.problem


FOREIGN = {
    "SWE-bench, by its set-up commit": a_row(environment_setup_commit=None),
    "SWE-bench, by its repo": a_row(repo="pallets/flask"),
    "a repo that nobody knows": a_row(repo="acme/ledger"),
    "SWE-bench 5": a_row(image="acme/dvc", eval_script="true", log_parser="pytest"),
    "SWE-bench-Live": a_row(test_cmds=["pytest"]),
    "SWE-rebench": a_row(FAIL_TO_FAIL=[], PASS_TO_FAIL=[]),
    "SWE-rebench V2": a_row(install_config={"test_cmd": "pytest"}),
    "SWE-smith": a_row(test_patch=..., image_name="acme/smith"),
    "no lists": a_row(FAIL_TO_PASS=..., PASS_TO_PASS=...),
    "no row at all": {},
}


@pytest.mark.parametrize("row", FOREIGN.values(), ids=FOREIGN)
def test_rows_of_other_formats_do_not_fit(row: dict[str, Any]) -> None:
    assert not FORMAT.fits(row)


@pytest.mark.parametrize("repo", [*sorted(REPOS), "Project-MONAI/MONAI"])
def test_its_own_rows_fit_and_are_not_swe_benchs(repo: str) -> None:
    row = a_row(repo=repo)
    assert FORMAT.fits(row)
    assert not swebench.CLASSIC.fits(row)
