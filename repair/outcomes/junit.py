"""JUnit report bytes to outcomes; the only importer of junitparser.

Reports come from many producers and from strangers' tests. They are streamed, sizes are capped, a document type
is refused. A report is read as it is and, where that fails, once more with its illegal characters replaced.
What is not understood is never a pass.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO
from xml.parsers import expat

import junitparser

from repair.errors import ReportError
from repair.model import Observed, Outcome, worst
from repair.text import clean, first_line, printable, says_no_space

MAX_BYTES = 256 << 20  # of one report, unpacked
MAX_DEPTH = 200
MAX_CASES = 500_000
MAX_ELEMENTS = 10_000_000
MAX_IN_CASE = 100_000  # elements in one testcase, all of which are held together
MAX_TOKEN = 8 << 20  # bytes of one tag with its attributes, comment or instruction, which expat holds whole
MAX_CAUSE = 1 << 20  # characters of a text in which its first line is looked for
CHUNK = 1 << 20
Result = junitparser.Failure | junitparser.Error | junitparser.Skipped

NODE_ID = "repair_nodeid"  # the property that our pytest plugin writes first

TRUNCATED = "truncated"
SANITIZED = "sanitized"

_JUNIT = frozenset({"testsuites", "testsuite", "testcase"})
_NEUTRAL = frozenset({"system-out", "system-err", "properties", "property", "flakyFailure", "flakyError"})
_RERUNS = frozenset({"rerunFailure", "rerunError"})
# Values of the attributes `status` and `result`, in lower case, that googletest, ctest and others write.
_STATUS = {
    **dict.fromkeys(("", "run", "passed", "pass", "ok", "success", "successful", "completed", "true"), Outcome.PASSED),
    **dict.fromkeys(
        ("notrun", "disabled", "suppressed", "skipped", "skip", "ignored", "pending", "todo"), Outcome.SKIPPED
    ),
    **dict.fromkeys(("fail", "failed", "failure"), Outcome.FAILED),
    "error": Outcome.ERROR,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One testcase element: its names as written, its outcome, and why it is no pass.

    `node_id` is the JSON text of our plugin's property, or None. `class_` is the attribute `class` (PHPUnit's) or else
    `classname`, `suite` the innermost testsuite's name, `file` the attribute of the case or else of its suite; empty
    where they are not said. `no_space`: it is no pass and says somewhere that no space was left.
    """

    classname: str
    name: str
    outcome: Outcome
    cause: str = ""
    node_id: str | None = None
    class_: str = ""
    suite: str = ""
    file: str = ""
    no_space: bool = False

    @property
    def id(self) -> str:
        """`classname::name`, the id outside pytest; the name alone where no class is given."""
        return f"{self.classname}::{self.name}" if self.classname else self.name

    @property
    def pytest_id(self) -> str | None:
        """The pytest node id that our plugin wrote into the case; None where it wrote none."""
        if self.node_id is None:
            return None
        try:
            test = json.loads(self.node_id)
        except ValueError:
            return None
        return clean(test) if isinstance(test, str) else None


@dataclass(frozen=True, slots=True)
class Report:
    """What a report file holds. `flags` says what was wrong with it; a truncated one is no evidence."""

    cases: tuple[Case, ...]
    flags: frozenset[str] = frozenset()

    @property
    def truncated(self) -> bool:
        return TRUNCATED in self.flags


def read(source: BinaryIO, name: str) -> Report:
    """Read one report, plain or gzip. `name` is what messages call it.

    Raises `ReportError` where the file is no JUnit report at all; one that was cut while it was written comes back
    with the flag `truncated` and the cases that were whole.
    """
    data = _unpack(source, name)
    if not data.strip(b"\x00\t\r\n \xef\xbb\xbf\xff\xfe"):
        raise ReportError(f"{name} is empty", "the run that should have written it did not finish")
    cases: list[Case] = []
    try:
        if _declared(data) is not None:
            _refuse_unbounded(data, name)
            _cases(data, name, cases)
            return Report(tuple(cases))
    except (ET.ParseError, LookupError, ValueError):
        cases.clear()
    data = _sanitize(data, name)
    try:
        _refuse_unbounded(data, name)
        _cases(data, name, cases)
    except ET.ParseError as err:
        if not cases and not re.match(rb"\s*<", data):
            raise ReportError(f"{name} is not XML: truncated, or no report ({err})", _NOT_JUNIT) from None
        return Report(tuple(cases), frozenset({TRUNCATED}))
    return Report(tuple(cases), frozenset({SANITIZED}))


def outcomes(cases: Iterable[Case]) -> dict[str, Outcome]:
    """The outcome of each `classname::name`; one that is reported several times takes the worst."""
    result: dict[str, Outcome] = {}
    for case in cases:
        if case.name:
            seen = result.get(case.id, case.outcome)
            result[case.id] = worst((seen, case.outcome))
    return result


_NOT_JUNIT = "point `junit` at the file that the test runner writes as JUnit XML"


def _unpack(source: BinaryIO, name: str) -> bytes:
    head = source.read(2)
    packed = io.BufferedReader(_Rewound(head, source))
    try:
        stream = gzip.GzipFile(fileobj=packed) if head == b"\x1f\x8b" else packed
        data = stream.read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as err:
        raise ReportError(f"{name} is a broken gzip file ({err})", "the run that wrote it did not finish") from None
    _refuse_larger(len(data), name)
    return data


def _refuse_larger(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise ReportError(f"{name} holds more than {MAX_BYTES >> 20} MiB", "split the report or write less output")


class _Rewound(io.RawIOBase):
    """A stream that begins with bytes already read from another."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(chunk) :] if self._head else b""
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _refuse_unbounded(data: bytes, name: str) -> None:
    """Refuse what costs far more than its length before any of it is kept.

    That is a DTD, whose small entities expat expands without a limit, a tag or comment that does not end, which it
    holds and reads anew with every chunk, and more or deeper elements than a report has. What is no XML is left for
    others to say.
    """
    limits = _Limits(name)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = limits.doctype
    parser.StartElementHandler, parser.EndElementHandler = limits.start, limits.end
    try:
        for start in range(0, len(data), CHUNK):
            parser.Parse(data[start : start + CHUNK], False)
            if start - parser.CurrentByteIndex > MAX_TOKEN:
                raise limits.refusal(f"holds a tag or comment of more than {MAX_TOKEN >> 20} MiB")
    except (expat.ExpatError, LookupError, ValueError):
        return


class _Limits:
    """Counts a document's elements, in expat's handlers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.depth = self.elements = self.cases = 0
        self.case, self.in_case = MAX_DEPTH, 0  # depth of the testcase around what is read, and elements in it

    def refusal(self, why: str) -> ReportError:
        return ReportError(f"{self.name} {why}: refused", _NOT_JUNIT)

    def doctype(self, *_: object) -> None:
        raise self.refusal("declares a document type, which no JUnit report needs")

    def start(self, tag: str, _: object) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH:
            raise self.refusal(f"nests elements more than {MAX_DEPTH} deep")
        self.in_case += self.depth > self.case
        if tag.rpartition(":")[2] == "testcase":
            self.cases += 1
            if self.depth < self.case:
                self.case, self.in_case = self.depth, 0
        if self.cases > MAX_CASES:
            raise self.refusal(f"holds more than {MAX_CASES} test cases")
        if self.elements > MAX_ELEMENTS or self.in_case > MAX_IN_CASE:
            raise self.refusal("holds more elements than a report has")

    def end(self, _: str) -> None:
        if self.depth == self.case:
            self.case = MAX_DEPTH
        self.depth -= 1


def _cases(data: bytes, name: str, into: list[Case]) -> None:
    """Append every testcase at whatever depth to `into`, in document order, holding one element's text at a time.

    They are appended as they are read, so that a later syntax error loses none.
    """
    path: list[ET.Element] = []
    is_junit = False
    for event, element in _events(data):
        if event == "start":
            element.tag = element.tag.rpartition("}")[2]
            is_junit = is_junit or element.tag in _JUNIT
            path.append(element)
            continue
        path.pop()
        if element.tag == "testcase":
            into.append(_case(element, path))
        _forget(element, path)
    if not is_junit:
        root = printable(element.tag)[:60]
        raise ReportError(f"{name} is no JUnit report: its root is <{root}>: refused", _NOT_JUNIT)


def _events(data: bytes) -> Iterator[tuple[str, ET.Element]]:
    """As `ElementTree.iterparse`, in chunks that are long enough for tags that are."""
    parser: Any = ET.XMLPullParser(("start", "end"))
    for start in range(0, len(data), CHUNK):
        parser.feed(data[start : start + CHUNK])
        yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


def _forget(element: ET.Element, path: list[ET.Element]) -> None:
    """Free an element that is read, unless a testcase around it still needs it."""
    if not any(parent.tag == "testcase" for parent in path[-2:]):
        element.clear()
        if path:
            del path[-1][:]  # those behind it, too, which are read already and come by themselves


def _case(element: ET.Element, path: list[ET.Element]) -> Case:
    case: junitparser.TestCase = junitparser.TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    seen = _judge(element, case)
    node_id = next((p.get("value") for p in element.iterfind("properties/property") if p.get("name") == NODE_ID), None)
    suite = next((parent for parent in reversed(path) if parent.tag == "testsuite"), element)
    name = "" if suite is element else suite.get("name", "")
    file = element.get("file") or suite.get("file") or suite.get("filepath") or ""
    return Case(
        case.classname or "",
        case.name or "",
        seen.outcome,
        seen.cause,
        node_id,
        element.get("class") or case.classname or "",
        name,
        file,
        seen.outcome is not Outcome.PASSED and any(map(says_no_space, _texts(element))),
    )


def _texts(element: ET.Element) -> Iterator[str]:
    """All that a testcase says: texts, and the attributes of what is in it."""
    yield from element.itertext()
    for child in element:
        yield from child.attrib.values()


def _judge(element: ET.Element, case: junitparser.TestCase) -> Observed:
    """The outcome that a testcase's children and status say together; the failure wins over what stands beside it."""
    results = [result for result in case.result if isinstance(result, Result)]
    found = [_judge_result(result, element) for result in results]
    for child in element:
        tag = child.tag
        if tag in ("failure", "error", "skipped") or tag in _NEUTRAL:
            continue
        if tag in _RERUNS:
            if not results:
                found.append(Observed(Outcome.FAILED, f"<{tag}> without a final result"))
        else:
            found.append(Observed(Outcome.ERROR, f"unknown element <{printable(tag)[:60]}>"))
    if not found:
        for attribute in ("status", "result"):
            value = element.get(attribute, "").strip()
            outcome = _STATUS.get(value.lower(), Outcome.ERROR)
            if outcome is not Outcome.PASSED:
                found.append(Observed(outcome, f"{attribute}={printable(value)[:60]}"))
    return max(found, key=lambda one: one.outcome.severity, default=Observed(Outcome.PASSED))


_GO_PROGRESS = re.compile(r"\A(?:=== \w+ .*\n)+")  # gotestsum gives all that the test printed


def _judge_result(result: Result, element: ET.Element) -> Observed:
    message, kind = result.message or "", result.type or ""
    text = first_line(_GO_PROGRESS.sub("", (message or result._elem.text or "")[:MAX_CAUSE]))
    if not isinstance(result, junitparser.Skipped):
        # of what failed its type says enough: messages hold values that differ from run to run
        cause = first_line(kind) if kind and not kind.endswith(("ImportError", "ModuleNotFoundError")) else text
        failed = isinstance(result, junitparser.Failure) or kind == "UnexpectedSuccess"  # the latter: xmlrunner
        return Observed(Outcome.FAILED if failed else Outcome.ERROR, cause or first_line(kind))
    if kind in ("pytest.xfail", "XFAIL") or (not kind and message == "expected test failure"):  # the latter: pytest 3
        return Observed(Outcome.XFAILED, text)
    if element.get("status", "").lower() == "notrun" and not re.match(r"SKIP_|Disabled|$", message):
        return Observed(Outcome.ERROR, text)  # ctest writes a binary that is missing or a fixture that failed as a skip
    return Observed(Outcome.SKIPPED, text)


_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
_LONG = 64  # characters of a reference that two chunks may share
_DECLARATION = re.compile(r"<\?xml\s[^>]*\?>")
_DECLARED = re.compile(rb"\s*<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)")
# What texts are written in. Python has codecs of other kinds too, some of which take time without a bound.
_TEXT = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e)?|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*"
)


def _sanitize(data: bytes, name: str) -> bytes:
    """The same document as UTF-8, with what XML forbids replaced by U+FFFD."""
    for encoding, errors in _encodings(data):
        try:
            return _legal(data, codecs.getincrementaldecoder(encoding)(errors), name)
        except UnicodeError:
            continue
    raise AssertionError("the last one takes any bytes")


def _encodings(data: bytes) -> Iterator[tuple[str, str]]:
    """Byte-order mark, declaration, UTF-8, and Windows-1252 for what is none of these, each with its error handler."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-16", "replace"
        return
    declared = _declared(data)
    if declared:
        yield declared, "strict"
    yield from (("utf-8", "strict"), ("cp1252", "replace"))


def _declared(data: bytes) -> str | None:
    """The encoding that a document declares, as Python calls it; empty where it declares none, None for no text's."""
    declared = _DECLARED.match(data[:CHUNK].removeprefix(codecs.BOM_UTF8))
    if declared is None:
        return ""
    try:
        known = codecs.lookup(declared[1].decode()).name
    except LookupError:
        return None
    return known if _TEXT.fullmatch(known) else None


def _legal(data: bytes, decoder: codecs.IncrementalDecoder, name: str) -> bytes:
    """`data` in UTF-8 without its declaration and what XML forbids, a chunk at a time. Raises `UnicodeError`."""
    found, rest, begun = bytearray(), "", False
    for start in range(0, len(data), CHUNK):
        last = start + CHUNK >= len(data)
        text = decoder.decode(data[start : start + CHUNK], last)
        if not begun:
            text = text.lstrip("\ufeff \t\r\n\x00")
            begun = bool(text)
            declaration = _DECLARATION.match(text)
            text = text[declaration.end() :] if declaration else text
        text = rest + _ILLEGAL.sub("\ufffd", text)
        at = len(text) if last else text.rfind("&", max(0, len(text) - _LONG))
        end = len(text) if at < 0 or ";" in text[at:] else at
        rest = text[end:]
        found += _REFERENCE.sub(_legal_reference, text[:end]).encode()
        _refuse_larger(len(found), name)
    return bytes(found)


def _legal_reference(match: re.Match[str]) -> str:
    digits = (match[1] or match[2]).lstrip("0") or "0"
    code = int(digits, 16 if match[1] else 10) if len(digits) < 8 else -1
    return match[0] if 0 <= code < 0x110000 and not _ILLEGAL.match(chr(code)) else "\ufffd"
