"""XML that is made to break its reader: refused at once, with nothing fetched and little memory taken."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from repair.errors import ReportError
from repair.outcomes import junit
from tests.support.memory import PEAK

CASE = "<testsuite><testcase classname='k' name='{}'/></testsuite>"
LAUGHS = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 20))


def declared(subset: str, name: str = "x") -> str:
    return f"<!DOCTYPE t [{subset}]>{CASE.format(name)}"


def test_no_entity_is_expanded_or_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.dtd"
    secret.write_text("<!ENTITY stolen 'secret'>")
    documents = {
        "a bomb": declared(f"<!ENTITY l0 'ha'>{LAUGHS}", "&l19;"),
        "one long entity, often": declared(f"<!ENTITY a '{'x' * 100_000}'>", "&a;" * 100_000),
        "an external entity": declared(f"<!ENTITY a SYSTEM '{secret.as_uri()}'>", "&a;"),
        "an external entity of the network": declared("<!ENTITY a SYSTEM 'http://192.0.2.1/'>", "&a;"),
        "a parameter entity": declared("<!ENTITY % a '<!ENTITY b \"c\">'> %a;", "&b;"),
        "an external parameter entity": declared(f"<!ENTITY % a SYSTEM '{secret.as_uri()}'> %a;", "&stolen;"),
        "an external subset": f"<!DOCTYPE t SYSTEM '{secret.as_uri()}'>{CASE.format('&stolen;')}",
        "an entity that holds itself": declared("<!ENTITY a '&a;'>", "&a;"),
        "a default attribute": declared("<!ATTLIST testcase status CDATA 'passed'>"),
    }
    for what, document in documents.items():
        for encoding in ("utf-8", "utf-16"):
            with pytest.raises(ReportError, match="document type"):
                junit.read(io.BytesIO(document.encode(encoding)), what)


def test_an_entity_that_nobody_declared_is_no_test() -> None:
    report = junit.read(io.BytesIO(CASE.format("&a;").encode()), "r.xml")
    assert report.truncated
    assert report.cases == ()


_MEASURED = """
import io
from repair.outcomes import junit
from repair.errors import ReportError
stream = io.BytesIO({document})
before = peak()
try:
    junit.read(stream, "r.xml")
except ReportError as err:
    print(str(err).split(";")[0])
print((peak() - before) >> 10)
"""
HUGE = {
    "10^6 nested elements": ("b'<testsuite>' * 10**6", "more than 200 deep"),
    "10^6 nested elements that end": ("b'<testsuite>' * 10**6 + b'</testsuite>' * 10**6", "more than 200 deep"),
    "10^6 elements nested in a test case": ("b'<testcase>' + b'<a>' * 10**6", "more than 200 deep"),
    "10^7 test cases": ("b'<testsuite>' + b'<testcase name=\"a\"/>' * 10**7 + b'</testsuite>'", "test cases: refused"),
}


@pytest.mark.parametrize(("document", "said"), HUGE.values(), ids=HUGE)
def test_a_huge_report_is_refused_in_little_memory(document: str, said: str) -> None:
    """In MiB; the report itself is 191 MiB at most, and is held once more while it is read."""
    script = PEAK + _MEASURED.format(document=document)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    refused, grown = done.stdout.splitlines()
    assert said in refused
    assert int(grown) < 800
