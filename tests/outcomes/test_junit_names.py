"""What a testcase says of itself beside its outcome: suite, file and class, from the case or what stands around it."""

from __future__ import annotations

import io

import pytest

from repair.outcomes import junit

CASE = "<testcase classname='ledger.Money' name='adds'/>"

NAMES: dict[str, tuple[str, tuple[str, str, str]]] = {  # report, (suite, file, class)
    "a suite with a name": (f"<testsuite name='money'>{CASE}</testsuite>", ("money", "", "ledger.Money")),
    "a suite without a name": (f"<testsuite>{CASE}</testsuite>", ("", "", "ledger.Money")),
    "no suite": (CASE, ("", "", "ledger.Money")),
    "the innermost suite": (
        f"<testsuites><testsuite name='out'><testsuite name='in'>{CASE}</testsuite></testsuite></testsuites>",
        ("in", "", "ledger.Money"),
    ),
    "the innermost suite though it has no name": (
        f"<testsuite name='out' file='a.x'><testsuite>{CASE}</testsuite></testsuite>",
        ("", "", "ledger.Money"),
    ),
    "a suite behind another that ended": (
        f"<testsuite name='out'><testsuite name='in'><testcase name='x'/></testsuite>{CASE}</testsuite>",
        ("out", "", "ledger.Money"),
    ),
    "testsuites is no suite": (f"<testsuites name='all' file='a.x'>{CASE}</testsuites>", ("", "", "ledger.Money")),
    "a namespace": (
        "<j:testsuite xmlns:j='urn:j' name='money'><j:testcase classname='k' name='a' file='a.x'/></j:testsuite>",
        ("money", "a.x", "k"),
    ),
    "a file of the case": (
        "<testsuite file='suite.x'><testcase name='a' file='case.x'/></testsuite>",
        ("", "case.x", ""),
    ),
    "a file of the suite": ("<testsuite file='suite.x'><testcase name='a'/></testsuite>", ("", "suite.x", "")),
    "an empty file of the case": (
        "<testsuite file='suite.x'><testcase name='a' file=''/></testsuite>",
        ("", "suite.x", ""),
    ),
    "a file path of the suite": ("<testsuite filepath='suite.x'><testcase name='a'/></testsuite>", ("", "suite.x", "")),
    "a file of a case without suite": ("<testcase name='a' file='case.x'/>", ("", "case.x", "")),
    "a class beside a classname": (
        "<testsuite><testcase classname='ledger.Money' class='Ledger\\Money' name='a'/></testsuite>",
        ("", "", "Ledger\\Money"),
    ),
    "a class without a classname": ("<testsuite><testcase class='Money' name='a'/></testsuite>", ("", "", "Money")),
    "neither class nor classname": ("<testsuite><testcase name='a'/></testsuite>", ("", "", "")),
    "references and letters of any alphabet": (
        "<testsuite name='&lt;größe&gt;'><testcase name='a' file='a&amp;b.x'/></testsuite>",
        ("<größe>", "a&b.x", ""),
    ),
}


@pytest.mark.parametrize(("report", "names"), NAMES.values(), ids=NAMES)
def test_names(report: str, names: tuple[str, str, str]) -> None:
    case = junit.read(io.BytesIO(report.encode()), "r.xml").cases[-1]
    assert (case.suite, case.file, case.class_) == names


def test_a_report_that_is_read_twice_has_the_same_names() -> None:
    """Illegal characters make a report be read again; what stands around a case is not lost in that."""
    report = f"<testsuite name='money' file='t.x'><system-out>\x1b[1m</system-out>{CASE}</testsuite>".encode()
    found = junit.read(io.BytesIO(report), "r.xml")
    assert found.flags == {junit.SANITIZED}
    assert [(case.suite, case.file, case.class_) for case in found.cases] == [("money", "t.x", "ledger.Money")]


def test_names_change_no_id() -> None:
    report = b"<testsuite name='money' file='t.x'><testcase class='K' name='a'/></testsuite>"
    assert [case.id for case in junit.read(io.BytesIO(report), "r.xml").cases] == ["a"]
