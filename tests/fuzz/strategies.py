"""Inputs of which a part still makes sense: good ones that were damaged, and trees of the right words in odd places."""

from __future__ import annotations

import copy
import json
import tarfile
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

TOKENS = (
    *(
        b"\0",
        b"\n",
        b"\r\n",
        b"<",
        b"</",
        b"/>",
        b"]]>",
        b"<!--",
        b"<![CDATA[",
        b"&#0;",
        b"&#x110000;",
        b"<!DOCTYPE x>",
    ),
    *(
        b'"',
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b"[]",
        b"{}",
        b"null",
        b"true",
        b"-1",
        b"1e999",
        b"1" * 30,
        b"NaN",
        b'"\\ud800"',
    ),
    *(b"::", b"::()", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "ß\u202e\u2028\x7f".encode(), b"../"),
    *(b"@@ -1 +1 @@\n", b"--- a/x\n", b"+++ b/x\n", b"diff --git a/x b/x\n", b"\\ No newline\n", b"GIT binary patch\n"),
)


@st.composite
def damaged(draw: st.DrawFn, good: Sequence[bytes]) -> bytes:
    """A good input with some bytes flipped, cut, doubled, moved or replaced by words of the formats."""
    data = bytearray(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        match draw(st.sampled_from(["cut", "end", "double", "move", "flip", "word", "bytes"])):
            case "cut":
                del data[start:end]
            case "end":
                del data[start:]
            case "double":
                data[start:start] = data[start:end]
            case "move":
                to = draw(st.integers(0, len(data)))
                data[to:to] = data[start:end]
            case "flip" if start < len(data):
                data[start] ^= 1 << draw(st.integers(0, 7))
            case "word":
                data[start:end] = draw(st.sampled_from(TOKENS))
            case _:
                data[start:end] = draw(st.binary(max_size=20))
    return bytes(data)


# ---- texts and JSON

ODD_IDS = st.lists(
    st.sampled_from(
        ["::", ":", "[", "]", "()", "/", ".", ".py", " ", "tests", "test_calc.py", "a", "(", ")", "\\", "#"]
    )
    | st.text(st.characters(codec="utf-8"), max_size=3)
    | st.sampled_from(["\ud800", "\udcff", "\u202e", "ﬀ", "\x7f", "\x1b[2J", "A" * 5000]),
    max_size=8,
).map("".join)

ODD_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**40, 0.5, -0.0, float("inf"), float("nan"), 1e300])
    | ODD_IDS
    | st.sampled_from(["passed", "failed", "FAIL_TO_PASS", "ids", "all", "4g", "none", "{name}", "{{name}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_IDS, inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document, as what holds it and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


@st.composite
def replaced(draw: st.DrawFn, good: Sequence[Any]) -> Any:
    """A good document in which some values are others, gone, or under another key."""
    document = copy.deepcopy(draw(st.sampled_from(good)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            return draw(ODD_VALUES)
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["other", "gone", "renamed", "of elsewhere"])):
            case "gone":
                del holder[key]
            case "renamed" if isinstance(holder, dict):
                holder[draw(ODD_IDS)] = holder.pop(key)
            case "of elsewhere":
                other, name = draw(st.sampled_from(places))
                holder[key] = copy.deepcopy(other[name]) if name in other or isinstance(other, list) else None
            case _:
                holder[key] = draw(ODD_VALUES)
    return document


def as_json(value: Any) -> bytes:
    """JSON that other parsers may refuse: half characters as escapes, NaN and infinity by name."""
    return json.dumps(value).encode()


# ---- JUnit

_NAMES = st.sampled_from(
    [
        *("testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out", "system-err"),
        *("properties", "property", "rerunFailure", "flakyFailure", "x", "j:testcase", "a:b", "ß"),
    ]
)
_ATTRIBUTES = st.sampled_from(
    [
        "name",
        "classname",
        "class",
        "file",
        "filepath",
        "status",
        "result",
        "type",
        "message",
        "value",
        "time",
        "x",
        "j:x",
    ]
)
_VALUES = ODD_IDS | st.sampled_from(
    ["repair_nodeid", '"a.py::b"', '"\\ud800"', "[", "passed", "notrun", "pytest.xfail", "nan", "setUpClass (a.B)"]
)


def _xml(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("&", "&amp;").replace("<", "&lt;")


@st.composite
def _element(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    name = draw(_NAMES)
    given = draw(st.dictionaries(_ATTRIBUTES, _VALUES, max_size=5))
    attributes = "".join(f" {key}={quoteattr(_xml(value))}" for key, value in given.items())
    body = "".join(draw(st.lists(inner, max_size=4)))
    return f"<{name}{attributes}>{body}</{name}>"


_TEXTS = ODD_IDS.map(_xml) | st.sampled_from(
    ["<!-- x -->", "<?pi x?>", "<![CDATA[<x>]]>", "&#13;", "&#8;", "&x;", "<br>"]
)
_TREES = st.recursive(_TEXTS, _element, max_leaves=12)


@st.composite
def junit_reports(draw: st.DrawFn) -> bytes:
    """Trees of JUnit's elements in any order, in some encoding."""
    declared = draw(
        st.sampled_from(["", "utf-8", "utf-16", "latin-1", "idna", "punycode", "undefined", "x-none", "hex"])
    )
    body = draw(_element(_TREES))
    head = f"<?xml version='1.0' encoding='{declared}'?>" if declared else ""
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1", "cp1252"]))
    return (head + f"<testsuite xmlns:j='urn:j'>{body}</testsuite>").encode(encoding, "replace")


# ---- TOML

_TOML = st.recursive(
    st.sampled_from(["1", "-1", "0.5", "inf", "nan", "true", '""', '"x"', "'4g'", '"""\n"""', "1979-05-27", "07:32:00"])
    | ODD_IDS.map(lambda text: json.dumps(text.encode("utf-8", "replace").decode())),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(["a", "LANG", '"="']), inner, max_size=2).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        )
    ),
    max_leaves=4,
)


@st.composite
def panels(draw: st.DrawFn, keys: Sequence[str]) -> bytes:
    """panel.toml in which known keys and sections have values of any kind."""
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        key = draw(st.sampled_from(keys))
        lines.append(draw(st.sampled_from([f"[{key}]", f"[[{key}]]", f"{key} = {draw(_TOML)}", f"{key}.x = 1"])))
    return "\n".join(lines).encode()


# ---- tar

_KINDS = st.sampled_from(
    [b"0", b"\0", b"1", b"2", b"3", b"5", b"6", b"7", b"g", b"x", b"X", b"K", b"L", b"S", b"V", b"\xff"]
)
_PAX = st.sampled_from(
    ["path", "size", "mtime", "uid", "linkpath", "hdrcharset", "GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.size"]
)
_SIZES = st.integers(-2, 1200) | st.sampled_from([2**30, 2**33, 2**62, -(2**40)])


@st.composite
def _header(draw: st.DrawFn) -> bytes:
    """One header block with a right checksum, whatever else it says, and what may be its content."""
    member = tarfile.TarInfo(draw(st.sampled_from(["out", "out/r.xml", "../x", "/etc/x", "out/..", "out/" + "n" * 90])))
    member.type, member.linkname = draw(_KINDS), draw(st.sampled_from(["", "../x", "out/r.xml"]))
    content = draw(st.binary(max_size=600))
    if member.type in (b"x", b"g", b"X"):
        pairs = draw(st.dictionaries(_PAX, ODD_IDS | _SIZES.map(str), max_size=3))
        lines = [f" {key}={value}\n".encode("utf-8", "surrogatepass") for key, value in pairs.items()]
        content = b"".join(b"%d" % (len(line) + draw(st.integers(1, 4))) + line for line in lines)
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT)[-tarfile.BLOCKSIZE :])
    size = draw(st.just(len(content)) | _SIZES)
    block[124:136] = b"%011o\0" % size if 0 <= size < 8**11 else size.to_bytes(12, "big", signed=True)
    block[124] |= 0x80 * (size >= 8**11)
    if draw(st.booleans()):
        at = draw(st.integers(0, 500))
        block[at : at + 8] = draw(st.binary(min_size=8, max_size=8))
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """Headers that lie, one after the other, in chunks of some size."""
    chunk = draw(st.integers(0, 15))
    return (
        bytes([chunk])
        + b"".join(draw(st.lists(_header(), min_size=1, max_size=4)))
        + draw(st.sampled_from([b"", bytes(1024), bytes(512), b"\xff" * 512]))
    )


# ---- diffs

_COUNTS = st.sampled_from(["", ",0", ",1", ",2", ",18446744073709551616", ",x", ",-1"])


@st.composite
def diffs(draw: st.DrawFn, good: Sequence[bytes]) -> bytes:
    """Lines of good diffs, some of them doubled, gone, in another order or with other numbers."""
    lines = b"".join(good).splitlines(keepends=True)
    chosen = draw(st.lists(st.sampled_from(lines), max_size=30))
    if draw(st.booleans()):
        start = draw(st.integers(0, len(lines) - 1))
        chosen = lines[start : start + draw(st.integers(1, 12))] + chosen[:5]
    hunk = f"@@ -{draw(st.integers(0, 3))}{draw(_COUNTS)} +1{draw(_COUNTS)} @@\n".encode()
    return b"".join(hunk if line.startswith(b"@@") and draw(st.booleans()) else line for line in chosen)
