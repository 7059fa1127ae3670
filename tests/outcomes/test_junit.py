"""Report bytes to outcomes: what many producers write, what a cut or hostile report may not do."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.errors import ReportError
from repair.model import Outcome
from repair.outcomes import junit
from tests.support.memory import PEAK
from tests.support.paths import TESTS


def read(data: bytes) -> junit.Report:
    return junit.read(io.BytesIO(data), "r.xml")


def outcomes(data: bytes) -> dict[str, str]:
    return {test: str(outcome) for test, outcome in junit.outcomes(read(data).cases).items()}


def suite(*cases: str) -> bytes:
    return f"<testsuite>{''.join(cases)}</testsuite>".encode()


def case(inner: str = "", attributes: str = "") -> bytes:
    return suite(f'<testcase classname="k" name="a" {attributes}>{inner}</testcase>')


# ---- shapes: where testcases stand, how they are named

SHAPES: dict[str, tuple[bytes, dict[str, str]]] = {
    "suites nest to any depth": (
        (
            b"<testsuites><testsuite><testsuite><testsuite><testcase classname='in' name='x'/></testsuite></testsuite>"
            b"<testcase classname='mid' name='y'><failure/></testcase></testsuite></testsuites>"
        ),
        {"in::x": "passed", "mid::y": "failed"},
    ),
    "the root is one suite": (suite("<testcase classname='k' name='a'/>"), {"k::a": "passed"}),
    "the root is a testcase": (b"<testcase classname='k' name='a'><error/></testcase>", {"k::a": "error"}),
    "the root is foreign and suites are inside": (
        b"<results><testsuite><testcase classname='k' name='a'/></testsuite></results>",
        {"k::a": "passed"},
    ),
    "a namespace changes nothing": (
        b"<j:testsuite xmlns:j='urn:j'><j:testcase classname='k' name='a'><j:failure/></j:testcase></j:testsuite>",
        {"k::a": "failed"},
    ),
    "a default namespace changes nothing": (
        b"<testsuite xmlns='urn:j'><testcase classname='k' name='a'><skipped/></testcase></testsuite>",
        {"k::a": "skipped"},
    ),
    "a name without class stands alone": (suite("<testcase name='lone'/>"), {"lone": "passed"}),
    "a nameless case is not invented": (suite("<testcase classname='k' name=''/>", "<testcase classname='k'/>"), {}),
    "no test is no test": (b"<testsuites><testsuite tests='0'/></testsuites>", {}),
    "an error of the suite is nobody's outcome": (
        suite("<error message='setup'/>", "<testcase classname='k' name='a'/>"),
        {"k::a": "passed"},
    ),
    "a time of any form is not read": (
        suite("<testcase classname='k' name='a' time='1,234.5 s'/>", "<testcase classname='k' name='b' time=''/>"),
        {"k::a": "passed", "k::b": "passed"},
    ),
    "one name twice takes the worst, whichever is first": (
        suite(
            "<testcase classname='k' name='a'><failure/></testcase>",
            "<testcase classname='k' name='a'/>",
            "<testcase classname='k' name='b'/>",
            "<testcase classname='k' name='b'><skipped/></testcase>",
        ),
        {"k::a": "failed", "k::b": "skipped"},
    ),
    "a comment and an instruction say nothing": (
        suite("<testcase classname='k' name='a'><!-- <failure/> --><?pi <failure/> ?></testcase>"),
        {"k::a": "passed"},
    ),
    "text that looks like a failure is text": (
        suite("<testcase classname='k' name='a'><system-out><![CDATA[<failure/></testcase>]]></system-out></testcase>"),
        {"k::a": "passed"},
    ),
    "names with references and line breaks": (
        suite("<testcase classname='k' name='a&#10;&lt;b&gt;&#x41;'/>"),
        {"k::a\n<b>A": "passed"},
    ),
}


@pytest.mark.parametrize(("data", "expected"), SHAPES.values(), ids=SHAPES)
def test_shape(data: bytes, expected: dict[str, str]) -> None:
    assert outcomes(data) == expected
    assert read(data).flags == frozenset()


# ---- what the children of one testcase say together

JUDGED: dict[str, tuple[str, str, str]] = {  # children, attributes, outcome
    "nothing below": ("", "", "passed"),
    "failure": ("<failure/>", "", "failed"),
    "error": ("<error/>", "", "error"),
    "skipped": ("<skipped/>", "", "skipped"),
    "failure beside skipped": ("<skipped/><failure/>", "", "failed"),
    "failure beside error": ("<error/><failure/>", "", "failed"),
    "error beside skipped": ("<error/><skipped/>", "", "error"),
    "two failures": ("<failure message='1'/><failure message='2'/>", "", "failed"),
    "output and properties are neutral": (
        "<system-out>x</system-out><system-err/><properties><property name='p' value='v'/></properties>",
        "",
        "passed",
    ),
    "a property called failure is neutral": (
        "<properties><property name='failure' value='1'><failure/></property></properties>",
        "",
        "passed",
    ),
    "an unknown child is no pass": ("<verdict/>", "", "error"),
    "an unknown child beside a skip is no skip": ("<skipped/><verdict/>", "", "error"),
    "a child spelt in capitals is unknown": ("<Failure/>", "", "error"),
    "pytest xfail": ("<skipped type='pytest.xfail' message='known'/>", "", "xfailed"),
    "pytest 3 xfail": ("<skipped message='expected test failure'/>", "", "xfailed"),
    "unittest expected failure": ("<skipped type='XFAIL' message='x'/>", "", "xfailed"),
    "unittest unexpected success": ("<error type='UnexpectedSuccess'/>", "", "failed"),
    "surefire: passed at the second try": ("<flakyFailure message='1st'/>", "", "passed"),
    "surefire: erred, then passed": ("<flakyError/><flakyError/>", "", "passed"),
    "surefire: failed again": ("<failure/><rerunFailure/>", "", "failed"),
    "surefire: erred again": ("<error/><rerunError/>", "", "error"),
    "a rerun without a final result is no pass": ("<rerunFailure/>", "", "failed"),
    "ctest: ran": ("", "status='run'", "passed"),
    "ctest: failed": ("<failure message=''/>", "status='fail'", "failed"),
    "ctest: fail by status alone": ("", "status='fail'", "failed"),
    "ctest: disabled": ("<system-out>Disabled</system-out>", "status='disabled'", "skipped"),
    "ctest: skipped by its return code": (
        "<skipped message='SKIP_RETURN_CODE=77'/>",
        "status='notrun'",
        "skipped",
    ),
    "ctest: skipped by a pattern": (
        "<skipped message='SKIP_REGULAR_EXPRESSION_MATCHED'/>",
        "status='notrun'",
        "skipped",
    ),
    "ctest: its binary is missing": ("<skipped message='Unable to find executable'/>", "status='notrun'", "error"),
    "ctest: a fixture failed": ("<skipped message='Fixture dependency failed'/>", "status='notrun'", "error"),
    "gtest: completed": ("", "status='run' result='completed'", "passed"),
    "gtest: suppressed": ("", "status='notrun' result='suppressed'", "skipped"),
    "gtest: skipped": ("<skipped message='x'/>", "status='run' result='skipped'", "skipped"),
    "gtest: skipped by its result alone": ("", "status='run' result='skipped'", "skipped"),
    "an unknown status is no pass": ("", "status='maybe'", "error"),
    "an unknown result is no pass": ("", "status='run' result='interrupted'", "error"),
    "a status in capitals": ("", "status='PASSED'", "passed"),
    "a failure beats a passing status": ("<failure/>", "status='passed'", "failed"),
}


@pytest.mark.parametrize(("inner", "attributes", "outcome"), JUDGED.values(), ids=JUDGED)
def test_one_testcase(inner: str, attributes: str, outcome: str) -> None:
    assert outcomes(case(inner, attributes)) == {"k::a": outcome}


CAUSES = {
    "the message": ("<failure message='assert 1 == 2'>trace\nback</failure>", "assert 1 == 2"),
    "else the text's first line": ("<failure>\n\n first\nsecond</failure>", "first"),
    "else the type": ("<error type='OSError'/>", "OSError"),
    "a skip's reason": ("<skipped message='no network'/>", "no network"),
    "the failure's among several": ("<skipped message='s'/><failure message='f'/>", "f"),
    "no pass, no cause": ("", ""),
    "an unknown element is named": ("<verdict/>", "unknown element <verdict>"),
    "normalised": ("<failure message='at 0x7f00dead'/>", "at 0x…"),
}


@pytest.mark.parametrize(("inner", "cause"), CAUSES.values(), ids=CAUSES)
def test_cause(inner: str, cause: str) -> None:
    assert read(case(inner)).cases[0].cause == cause


# ---- whole reports of other runners

REPORTS = TESTS / "data" / "reports"
TRUTH: dict[str, dict[str, str]] = json.loads((REPORTS / "outcomes.json").read_text())


@pytest.mark.parametrize("name", TRUTH)
def test_producer(name: str) -> None:
    data = (REPORTS / name).read_bytes()
    assert outcomes(data) == TRUTH[name]
    assert read(data).flags == frozenset()


def test_only_our_first_property_names_a_pytest_id() -> None:
    forged = (
        "<properties><property name='repair_nodeid' value='\"real\"'/>"
        "<property name='repair_nodeid' value='\"forged\"'/></properties>"
    )
    assert read(case(forged)).cases[0].node_id == '"real"'
    assert read(case("<properties><property name='other' value='x'/></properties>")).cases[0].node_id is None


# ---- bytes: encodings, control characters, gzip

E_ACUTE = "<testsuite><testcase classname='k' name='é'/></testsuite>"
ENCODED: dict[str, tuple[bytes, set[str]]] = {
    "UTF-8": (E_ACUTE.encode(), set()),
    "UTF-8 with a byte-order mark": (E_ACUTE.encode("utf-8-sig"), set()),
    "UTF-16, big and little end": (E_ACUTE.encode("utf-16"), set()),
    "UTF-16 little end with a declaration": (
        ('<?xml version="1.0" encoding="UTF-16"?>' + E_ACUTE).encode("utf-16"),
        set(),
    ),
    "UTF-16 big end with a mark": (b"\xfe\xff" + E_ACUTE.encode("utf-16-be"), set()),
    "Latin-1, declared": (b'<?xml version="1.0" encoding="ISO-8859-1"?>' + E_ACUTE.encode("latin-1"), set()),
    "Windows-1252, declared": (b'<?xml version="1.0" encoding="windows-1252"?>' + E_ACUTE.encode("cp1252"), set()),
    "Latin-1, undeclared": (E_ACUTE.encode("latin-1"), {"sanitized"}),
    "Latin-1, declared as UTF-8": (
        b'<?xml version="1.0" encoding="UTF-8"?>' + E_ACUTE.encode("latin-1"),
        {"sanitized"},
    ),
    "UTF-8, declared as UTF-16": (b'<?xml version="1.0" encoding="UTF-16"?>' + E_ACUTE.encode(), {"sanitized"}),
    "an encoding that nobody knows": (b'<?xml version="1.0" encoding="x-none"?>' + E_ACUTE.encode(), {"sanitized"}),
    "blanks before the declaration": (b' \n<?xml version="1.0"?>' + E_ACUTE.encode(), {"sanitized"}),
    "a byte-order mark, then a declaration of another": (
        b'\xef\xbb\xbf<?xml version="1.0" encoding="ascii"?>' + E_ACUTE.encode(),
        {"sanitized"},
    ),
}


@pytest.mark.parametrize(("data", "flags"), ENCODED.values(), ids=ENCODED)
def test_encoding(data: bytes, flags: set[str]) -> None:
    assert outcomes(data) == {"k::é": "passed"}
    assert read(data).flags <= {"sanitized"}
    assert read(data).flags == flags


def test_control_bytes_are_replaced_and_the_report_is_read() -> None:
    data = (
        b"<testsuite><testcase classname='k' name='e\x1b[1m&#0;&#xffff;&#x110000;'><failure>\x00</failure></testcase>"
    )
    data += b"<testcase classname='k' name='ok&#10;'/></testsuite>"
    assert outcomes(data) == {"k::e\ufffd[1m\ufffd\ufffd\ufffd": "failed", "k::ok\n": "passed"}
    assert read(data).flags == {"sanitized"}


def test_gzip_is_unpacked_whatever_its_name() -> None:
    assert outcomes(gzip.compress(case("<failure/>"))) == {"k::a": "failed"}


@pytest.mark.parametrize("cut", [3, 12, -9, -1])
def test_a_broken_gzip_is_refused(cut: int) -> None:
    with pytest.raises(ReportError, match="broken gzip"):
        read(gzip.compress(case("x" * 400))[:cut])


def test_a_gzip_with_a_wrong_checksum_is_refused() -> None:
    data = bytearray(gzip.compress(case()))
    data[-6] ^= 1
    with pytest.raises(ReportError, match="broken gzip"):
        read(bytes(data))


# ---- caps


def test_depth_is_capped() -> None:
    assert outcomes(b"<testsuite>" * 150 + case() + b"</testsuite>" * 150) == {"k::a": "passed"}
    with pytest.raises(ReportError, match="deep"):
        read(b"<testsuite>" * 5000 + b"</testsuite>" * 5000)


def test_depth_inside_a_testcase_is_capped() -> None:
    with pytest.raises(ReportError, match="deep"):
        read(case("<properties>" * 500 + "</properties>" * 500))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<testcase name='a'/>" * 9, "more than 8 test cases"),
        ("<testcase name='a'>" + "<system-out/>" * 17 + "</testcase>", "more elements than a report has"),
        ("<testcase name='a'>" + "<x><x/><x/></x>" * 6 + "</testcase>", "more elements than a report has"),
        ("<properties/>" * 32, "more elements than a report has"),
    ],
    ids=["cases", "elements in a case", "elements below them", "elements"],
)
def test_numbers_are_capped(monkeypatch: pytest.MonkeyPatch, body: str, said: str) -> None:
    for name, most in (("MAX_CASES", 8), ("MAX_IN_CASE", 16), ("MAX_ELEMENTS", 32)):
        monkeypatch.setattr(junit, name, most)
    most_of_all = "<testcase name='a'/>" * 7 + "<testcase name='a'>" + "<system-out/>" * 16 + "</testcase>"
    assert len(read(suite(most_of_all)).cases) == 8
    with pytest.raises(ReportError, match=said):
        read(suite(body))


@pytest.mark.parametrize("begin", ["<!--", "<testcase name='", "<?pi ", "<testcase "], ids=str.split)
def test_a_tag_without_an_end_is_refused(begin: str) -> None:
    with pytest.raises(ReportError, match="a tag or comment of more than 8 MiB"):
        read(("<testsuite>" + begin + 'x="" ' * (2 << 20)).encode())


def test_a_long_tag_is_read() -> None:
    message = "x" * (6 << 20)
    (found,) = read(case(f"<failure message='{message}'/>")).cases
    assert found.outcome is Outcome.FAILED


# ---- what XML forbids, and encodings that are none

SANITIZED_ALL = {
    "a reference of 5,000 digits": b"<testsuite><testcase name='a&#%b;'/></testsuite>" % (b"1" * 5000),
    **{
        f"the codec {codec}": b"<?xml version='1.0' encoding='%b'?>" % codec.encode() + suite("<testcase name='a'/>")
        for codec in ("punycode", "undefined", "unicode_escape", "rot13", "zlib")
    },
}


@pytest.mark.parametrize("data", SANITIZED_ALL.values(), ids=SANITIZED_ALL)
def test_what_breaks_python_itself_is_replaced(data: bytes) -> None:
    report = read(data)
    assert report.flags == {junit.SANITIZED}
    assert [found.name.strip("\ufffd") for found in report.cases] == ["a"]


@pytest.mark.parametrize("before", range(junit.CHUNK - 12, junit.CHUNK + 1))
def test_a_forbidden_reference_is_replaced_wherever_chunks_part(before: int) -> None:
    start = "<testsuite><testcase name='a'><system-out>"
    text = start + "ö" * ((before - len(start)) // 2) + "&#x0;&#0;</system-out></testcase></testsuite>"
    report = read(text.encode())
    assert (len(report.cases), report.flags) == (1, frozenset({junit.SANITIZED}))


_MEASURED = """
import io, sys
from repair.outcomes import junit
from repair.errors import ReportError
data = sys.stdin.buffer.read()
before = peak()
try:
    report = junit.read(io.BytesIO(data), "r.xml")
    print(len(report.cases), end=" ")
except ReportError as err:
    print(str(err).split(";")[0].replace(" ", "_"), end=" ")
print((peak() - before) >> 10)
"""


def measured(data: bytes) -> tuple[str, int]:
    """What a fresh process makes of a report, and how many MiB its peak grew by."""
    done = subprocess.run([sys.executable, "-c", PEAK + _MEASURED], input=data, capture_output=True, check=True)
    said, grown = done.stdout.decode().split()
    return said, int(grown)


def test_memory_for_a_huge_text_is_a_few_times_the_text() -> None:
    text = "<system-out>" + "x" * (30 << 20) + "</system-out>"
    said, grown = measured(gzip.compress(suite(f"<testcase classname='k' name='a'>{text}</testcase>"), 1))
    assert said == "1"
    assert grown < 200


def test_memory_does_not_grow_with_texts_that_are_read() -> None:
    one = f"<testcase classname='k' name='a'><system-out>{'x' * (1 << 20)}</system-out></testcase>"
    said, grown = measured(gzip.compress(suite(*[one] * 60), 1))
    assert said == "60"
    assert grown < 60 * 3


def test_a_bomb_is_refused_before_it_is_unpacked_whole() -> None:
    member = gzip.compress(b" " * (64 << 20), 9)  # members of one gzip file are read as one
    packed = gzip.compress(b"<testsuite>") + member * (junit.MAX_BYTES // (64 << 20))
    assert len(packed) < 1 << 20
    said, grown = measured(packed)
    assert said == "r.xml_holds_more_than_256_MiB"
    assert grown < 3 * (junit.MAX_BYTES >> 20)


# ---- refused: nothing is read

DTD = "<!DOCTYPE t [<!ENTITY a 'aa'>]><testsuite><testcase classname='k' name='&a;'/></testsuite>"
REFUSED: dict[str, tuple[bytes, str]] = {
    "a document type": (DTD.encode(), "document type"),
    "a document type after a comment and blanks": (b"<!-- x -->\n\n" + DTD.encode(), "document type"),
    "a document type after a long comment": (b"<!--" + b"x" * 200_000 + b"-->" + DTD.encode(), "document type"),
    "a document type in UTF-16": (DTD.encode("utf-16"), "document type"),
    "a document type in Latin-1": (
        b"<?xml version='1.0' encoding='latin-1'?><!DOCTYPE \xe9><testsuite/>",
        "document type",
    ),
    "a document type that is seen once control bytes are gone": (b"<!-- \x01 -->" + DTD.encode(), "document type"),
    "a document type behind a wrong declaration": (
        b"<?xml version='1.0' encoding='x-none'?>" + DTD.encode(),
        "document type",
    ),
    "an external document type": (b"<!DOCTYPE t SYSTEM 'file:///etc/hostname'><testsuite/>", "document type"),
    "a document type in gzip": (gzip.compress(DTD.encode()), "document type"),
    "no byte": (b"", "empty"),
    "blanks alone": (b" \r\n\t", "empty"),
    "a byte-order mark alone": (b"\xef\xbb\xbf", "empty"),
    "gzip of nothing": (gzip.compress(b""), "empty"),
    "a page": (b"<html><body>404</body></html>", "no JUnit report"),
    "a coverage report": (b"<coverage line-rate='1'/>", "no JUnit report"),
    "a page that says so in a namespace": (b"<h:html xmlns:h='urn:h'/>", "no JUnit report"),
    "JSON": (b'{"tests": 1}', "not XML"),
    "a log": (b"collected 3 items\n", "not XML"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00", "not XML"),
}


@pytest.mark.parametrize(("data", "word"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, word: str) -> None:
    with pytest.raises(ReportError, match=word) as caught:
        read(data)
    assert caught.value.code == 4
    assert caught.value.message.startswith("r.xml")
    assert caught.value.next


# ---- cut and mutated

WHOLE = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="s"><testcase classname="k" name="a"/>'
    b'<testcase classname="k" name="b" status="run"><failure message="m&amp;m">text</failure></testcase>'
    b'<testcase classname="k" name="b2"><skipped/></testcase>'
    b'<testcase classname="k" name="\xc3\xa9"><system-out><![CDATA[<x>]]></system-out></testcase>'
    b'<testcase classname="k" name="d"><error/></testcase></testsuite></testsuites>\n'
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_report_cut_anywhere_invents_nothing_and_says_so(encoding: str, packed: bool) -> None:
    text = WHOLE.decode()
    whole = text.replace("utf-8", encoding).encode(encoding)
    truth = outcomes(whole)
    assert truth == {"k::a": "passed", "k::b": "failed", "k::b2": "skipped", "k::é": "passed", "k::d": "error"}
    whole = gzip.compress(whole) if packed else whole
    end = len(whole) if packed else len(whole.rstrip(b"\n\x00"))
    for at in range(end):
        try:
            report = read(whole[:at])
        except ReportError:
            continue
        assert report.truncated, at
        found = {test: str(outcome) for test, outcome in junit.outcomes(report.cases).items()}
        assert found.items() <= truth.items(), at


def test_a_cut_report_keeps_the_cases_that_were_whole() -> None:
    report = read(WHOLE[: WHOLE.index(b"<skipped/>")])
    assert report.flags == {"truncated"}
    assert [case.name for case in report.cases] == ["a", "b"]


def test_control_bytes_in_a_cut_report_do_not_hide_the_cut() -> None:
    data = WHOLE.replace(b"text", b"\x00\x1b")
    assert read(data).flags == {"sanitized"}
    assert read(data[:-30]).truncated


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    for form in (data, b"<testsuite>" + data, gzip.compress(data), b"\x1f\x8b" + data, b"\xff\xfe" + data):
        try:
            read(form)
        except ReportError:
            continue


@settings(max_examples=300)
@given(st.data())
def test_mutated_reports_are_read_or_refused(data: st.DataObject) -> None:
    mutated = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(mutated)))
        length = data.draw(st.integers(0, 12))
        mutated[start : start + length] = data.draw(
            st.binary(max_size=12) | st.sampled_from([b"<", b"&#0;", b"<!D", b"]]>"])
        )
    try:
        report = read(bytes(mutated))
    except ReportError:
        return
    assert all(isinstance(case.outcome, Outcome) for case in report.cases)


@given(st.text(max_size=40).filter(lambda tag: bool(tag.strip())))
def test_an_unknown_status_is_never_a_pass(status: str) -> None:
    legal = "".join(char for char in status if char.isalnum())
    known = junit._STATUS.get(legal.strip().lower())
    found = outcomes(case("", f"status='{legal}'"))
    assert (found["k::a"] == "passed") == (known is Outcome.PASSED)
