"""Small files that would fill the memory: each reader ends in its own words within a limit that the system holds."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from repair.outcomes import junit, plugin_log
from repair.panel import read
from tests.fuzz.targets import SEPARATOR
from tests.support.paths import ROOT

LIMIT = 768 << 20  # bytes of address space, of which a child needs some 200 MiB to begin with

# Gives one target several inputs; what is no answer of a reader ends it with a traceback, as does a lack of memory.
_CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.fuzz.targets import TARGETS
for data in sys.stdin.buffer.read().split(b"\\xff"):
    TARGETS[sys.argv[2]](data, Path(sys.argv[3]))
"""
_SAID = """
import io, sys
from repair.outcomes import junit
from repair.errors import ReportError
try:
    print(len(junit.read(io.BytesIO(sys.stdin.buffer.read()), "r.xml").cases), "cases")
except ReportError as err:
    print(err.message)
"""


def within_limit(*command: str | Path, data: bytes) -> str:
    """What a child prints that is given `data` and no more than `LIMIT`."""
    done = subprocess.run(
        [sys.executable, "-c", *command],
        input=data,
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode().strip()


def packed(*parts: bytes | tuple[bytes, int]) -> bytes:
    """One gzip file of parts, each as often as is said."""
    members = (part if isinstance(part, tuple) else (part, 1) for part in parts)
    return b"".join(gzip.compress(part, 9) * times for part, times in members)


CASES = (b"<testcase name='a'/>" * 1000, 10_000)  # ten million
BOMBS: dict[str, tuple[bytes, str]] = {
    "ten million test cases": (
        packed(b"<testsuite>", CASES, b"</testsuite>"),
        "holds more than 500000 test cases: refused",
    ),
    "ten million elements in a test case": (
        packed(b"<testsuite><testcase>", (b"<x/>" * 1000, 10_000), b"</testcase></testsuite>"),
        "holds more elements than a report has: refused",
    ),
    "a million elements, one in the other": (
        packed((b"<testsuite>" * 1000, 1000)),
        "nests elements more than 200 deep: refused",
    ),
    "a million attributes": (
        packed(b"<testsuite ", *(b"".join(b"a%d_%d='' " % (n, m) for m in range(10_000)) for n in range(100)), b"/>"),
        "holds a tag or comment of more than 8 MiB: refused",
    ),
    "a comment without an end": (
        packed(b"<testsuite><!--", (b"x" * (1 << 20), 200)),
        "holds a tag or comment of more than 8 MiB: refused",
    ),
    "more than a report may hold": (
        packed(b"<testsuite>", (b" " * (1 << 20), junit.MAX_BYTES >> 20)),
        "holds more than 256 MiB",
    ),
    "what XML forbids, in place of which more stands": (
        packed(b"<testsuite>", (b"\1" * (1 << 20), 90)),
        "holds more than 256 MiB",
    ),
}


@pytest.mark.parametrize(("data", "said"), BOMBS.values(), ids=BOMBS)
def test_a_report_that_grows_is_refused(data: bytes, said: str) -> None:
    assert len(data) < 4 << 20
    assert within_limit(_SAID, data=data) == f"r.xml {said}"


def all_within_limit(name: str, directory: Path, *inputs: bytes) -> None:
    """Give a target of `fuzz.targets` all of these in a child."""
    within_limit(_CHILD, ROOT, name, directory, data=b"\xff".join(inputs))


DEEP = (b"[" * 1_000_000, b'{"a":' * 1_000_000, b"[" * 500_000 + b"]" * 500_000)
JSON: dict[str, Callable[[bytes], bytes]] = {
    "task": bytes,
    "written": lambda deep: deep + SEPARATOR + deep,
    "outcomes": bytes,
    "mint": bytes,
    "source": bytes,
    "journal": bytes,
    "events": lambda deep: deep + b"\n",
    "rows": lambda deep: b"\1" + deep + b"\n",
}


@pytest.mark.parametrize(("name", "form"), JSON.items(), ids=JSON)
def test_json_that_nests_without_an_end_is_refused(name: str, form: Callable[[bytes], bytes], tmp_path: Path) -> None:
    all_within_limit(name, tmp_path, *map(form, DEEP))


@pytest.mark.parametrize("name", ["panel", "harbor"])
def test_toml_that_nests_without_an_end_is_refused(name: str, tmp_path: Path) -> None:
    long_keys = b"a" + b".a" * 100_000 + b" = 1", b"[" + b"a." * 100_000 + b"a]"
    most = b"a" + b".a" * (read.MAX_DOTS - 1) + b" = 1"
    all_within_limit(name, tmp_path, b"a = " + b"[" * 1_000_000, *long_keys, most)


def test_groups_that_multiply_an_id_are_refused(tmp_path: Path) -> None:
    long, lengths = "t" * 1_000_000, list(range(1, 1_000_000))
    events = [
        json.dumps(event).encode() + b"\n" for event in (["item", long, None, lengths], ["item", "ab", long, [1] * 999])
    ]
    assert max(map(len, events)) < plugin_log.MAX_LINE
    all_within_limit("events", tmp_path, *events)


def test_a_lack_of_memory_would_be_seen() -> None:
    with pytest.raises(AssertionError, match="MemoryError"):
        within_limit("import sys; sys.stdin.read(); bytes(1 << 30)", data=b"")
