"""Runs outside pytest as they are judged by a template: the task's, its framework's, or the one that fits."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from repair.errors import NoEvidence
from repair.model import Control, ControlKind, Ended, Image, Observed, Outcome, Run, Task
from repair.outcomes import evidence
from repair.outcomes.evidence import Attempt
from repair.outcomes.spelling import CANDIDATES, Template
from repair.table import refuse_two_spellings

P, F, M = Outcome.PASSED, Outcome.FAILED, Outcome.MISSING
UNITTEST: Template = ("{name} ({classname})", "{name} ({classname}.{name})")
DEFAULT = CANDIDATES[0]

XML = (
    '<testsuite name="{suite}" file="{file}"><testcase classname="{classname}" name="{name}"/>'
    '<testcase classname="{classname}" name="{name}b"><failure type="Wrong"/></testcase></testsuite>'
)
REPORT = XML.format(suite="money", file="t/money.x", classname="ledger.Money", name="adds")


def judged(
    tmp_path: Path, ids: Iterable[str], framework: str = "any", template: Template = (), xml: str = REPORT
) -> Run:
    (tmp_path / "report-1.xml").write_text(xml)
    task = Task("t", "i", tuple(ids), (), b"", None, tmp_path, framework=framework, id_template=template)
    control = Control(task, ControlKind.ORACLE, (), tuple(ids))
    return evidence.judge_reports(control, Image("sha256:1"), Attempt(Ended(0, False), 1, tmp_path))


def outcomes(run: Run) -> dict[str, str]:
    return {test: str(seen.outcome) for test, seen in run.observed.items()}


def test_a_run_holds_the_template_that_fits(tmp_path: Path) -> None:
    run = judged(tmp_path, ["ledger.Money#adds", "ledger.Money#addsb"])
    assert run.template == ("{classname}#{name}",)
    assert outcomes(run) == {"ledger.Money#adds": "passed", "ledger.Money#addsb": "failed"}
    assert run.flags == ()


@pytest.mark.parametrize("template", [("{suite}: {name}",), ("{name}", "{name} of {file}"), ("{classname}",)])
def test_a_template_of_the_task_is_never_overridden(tmp_path: Path, template: Template) -> None:
    """Though the listed ids fit the framework's own, all of them."""
    listed = ["ledger.Money::adds", "ledger.Money.addsb"]
    assert outcomes(judged(tmp_path, listed, "maven")) == dict(zip(listed, ["passed", "failed"], strict=True))
    run = judged(tmp_path, listed, "maven", template)
    assert (run.template, set(outcomes(run).values()), run.flags) == (template, {"missing"}, ())


def test_a_template_of_the_task_spells_what_no_other_does(tmp_path: Path) -> None:
    run = judged(tmp_path, ["money: adds", "addsb of t/money.x"], template=("{suite}: {name}", "{name} of {file}"))
    assert outcomes(run) == {"money: adds": "passed", "addsb of t/money.x": "failed"}


def test_ids_of_two_kinds_are_no_evidence(tmp_path: Path) -> None:
    """One template would take what the others name for missing, and the rule would drop it."""
    with pytest.raises(
        NoEvidence, match=r"2 of 3 ids fit \{name\}, and 1 others only \{classname\}::\{name\}; set id_templ"
    ):
        judged(tmp_path, ["adds", "ledger.Money::addsb", "addsb"])
    run = judged(tmp_path, ["adds", "ledger.Money::addsb", "addsb"], template=("{name}", "{classname}::{name}"))
    assert outcomes(run) == {"adds": "passed", "ledger.Money::addsb": "failed", "addsb": "failed"}


def test_a_report_that_fits_nothing_is_judged_by_the_frameworks_own(tmp_path: Path) -> None:
    run = judged(tmp_path, ["gone"], "unittest")
    assert (run.template, outcomes(run)) == (UNITTEST, {"gone": "missing"})


# ---- unittest's ids by the version of Python

BY_PYTHON = """<testsuite><testcase classname="ledger.tests.TestMoney" name="test_adds"/>
<testcase classname="ledger.tests.TestMoney" name="test_rounds"><failure/></testcase>
<testcase classname="ledger.tests.TestDates" name="test_adds"><skipped/></testcase></testsuite>"""
IDS_BY_PYTHON = {
    "test_adds (ledger.tests.TestMoney)": "passed",
    "test_adds (ledger.tests.TestMoney.test_adds)": "passed",
    "test_adds (ledger.tests.TestDates)": "skipped",
    "test_rounds (ledger.tests.TestMoney)": "failed",
    "test_rounds (ledger.tests.TestMoney.test_rounds)": "failed",
    "test_rounds (ledger.tests.TestMoney.test_adds)": "missing",
    "test_rounds (ledger.tests.TestDates)": "missing",
    "Money rounds half to even.": "missing",  # a docstring's first line, which no report holds
}


@pytest.mark.parametrize("framework", ["unittest", "django", "any"])
def test_unittests_ids_of_either_python(tmp_path: Path, framework: str) -> None:
    run = judged(tmp_path, IDS_BY_PYTHON, framework, xml=BY_PYTHON)
    assert outcomes(run) == IDS_BY_PYTHON
    assert run.template == UNITTEST


def test_the_shared_case_of_unittests_ids(shared: Path | None, tmp_path: Path) -> None:
    folders = [] if shared is None else [shared / "cases" / "70-unittest-ids-by-python"]  # else the table above stands
    for folder in folders:
        expected = json.loads((folder / "expected.json").read_text())["expected_ids"]
        for framework in ("unittest", "any"):
            xml = (folder / "input" / "r.xml").read_text()
            assert outcomes(judged(tmp_path, expected, framework, xml=xml)) == expected


# ---- two runs of one task


def run(template: Template, outcome: Outcome = P) -> Run:
    return Run("sha256:1", 0, {"a": Observed(outcome), "b": Observed(M)}, template=template)


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [run(())],
        [run(DEFAULT), run(DEFAULT, F)],
        [run(DEFAULT), run(("{name}",), M)],  # what resolves nothing was spelt by nobody
        [run(()), run(DEFAULT)],
        [run(UNITTEST), run(UNITTEST)],
    ],
    ids=["no run", "pytest's", "one", "one that resolves nothing", "one without", "one of two spellings"],
)
def test_runs_that_are_spelt_alike(runs: list[Run]) -> None:
    refuse_two_spellings(runs)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not M])
def test_runs_that_are_spelt_in_two_ways_are_no_evidence(outcome: Outcome) -> None:
    with pytest.raises(NoEvidence) as caught:
        refuse_two_spellings([run(("{name}",), outcome), run(DEFAULT), run(DEFAULT)])
    assert str(caught.value) == (
        "the runs' reports spell ids in different ways: {classname}::{name} and {name}; set id_template in task.json"
    )
