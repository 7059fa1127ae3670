"""Reports outside pytest that are not all of a run: cut short, not written, not at the place that was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import NoEvidence
from repair.model import Control, ControlKind, Ended, Image, Run, Task
from repair.outcomes import evidence
from repair.outcomes.evidence import Attempt, NoReport

REPORT = (
    '<testsuite><testcase classname="A" name="p"/>'
    '<testcase classname="A" name="f"><failure type="W"/></testcase></testsuite>'
)


def judged(
    tmp_path: Path, status: int, junit: tuple[str, ...] = ("*.xml",), there: tuple[str, ...] = ("a.xml",)
) -> Run:
    for number, _ in enumerate(there, 1):
        (tmp_path / f"report-{number}.xml").write_text(REPORT)
    (tmp_path / "reports").write_text("".join(f"./{name}\n" for name in there))
    task = Task("t", "i", ("A::p",), (), b"", None, tmp_path, framework="any", junit=junit)
    control = Control(task, ControlKind.ORACLE, (), ("A::p",))
    return evidence.judge_reports(control, Image("sha256:1"), Attempt(Ended(0, False), status, tmp_path))


@pytest.mark.parametrize("status", [124, 130, 137, 143])
def test_a_command_that_was_cut_short_may_have_written_half_of_its_reports(tmp_path: Path, status: int) -> None:
    with pytest.raises(NoEvidence, match=f"cut short \\(status {status}\\), and its reports may not be all"):
        judged(tmp_path, status)


@pytest.mark.parametrize("status", [1, 2, 8, 123, 125, 126, 127, 128])
def test_a_status_that_runners_have_for_failures_is_none(tmp_path: Path, status: int) -> None:
    assert judged(tmp_path, status).exit == status


def test_a_status_that_counts_the_failures_is_none(tmp_path: Path) -> None:
    """mocha's."""
    failures = "".join(f'<testcase classname="A" name="f{n}"><failure type="W"/></testcase>' for n in range(137))
    (tmp_path / "report-1.xml").write_text(f'<testsuite><testcase classname="A" name="p"/>{failures}</testsuite>')
    (tmp_path / "reports").write_text("a.xml\n")
    task = Task("t", "i", ("A::p",), (), b"", None, tmp_path, framework="mocha", junit=("a.xml",))
    control = Control(task, ControlKind.ORACLE, (), ("A::p",))
    run = evidence.judge_reports(control, Image("sha256:1"), Attempt(Ended(0, False), 137, tmp_path))
    assert run.observed["A::p"].outcome == "passed"


def test_each_report_that_was_named_is_due(tmp_path: Path) -> None:
    with pytest.raises(NoReport, match=r"no report at /tmp/2\.xml \(status 1\)"):
        judged(tmp_path, 1, ("/tmp/1.xml", "/tmp/2.xml"), ("/tmp/1.xml",))
    with pytest.raises(NoEvidence, match=r"no report at out/2\.xml \(status 0\)"):
        judged(tmp_path, 0, ("a.xml", "out/2.xml"), ("a.xml",))
    assert judged(tmp_path, 1, ("a.xml", "more/*.xml"), ("a.xml",)).exit == 1
