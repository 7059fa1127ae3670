"""`repair parse`: report files and id lists from the disk, through the library and the command."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.model import Outcome
from repair.outcomes import report_files
from tests.support.paths import TESTS

DATA = TESTS / "data" / "reports"
TRUTH: dict[str, dict[str, str]] = json.loads((DATA / "outcomes.json").read_text())

WHOLE = (
    "<testsuite><testcase classname='k' name='a'/><testcase classname='k' name='b'><failure/></testcase></testsuite>"
)
MORE = "<testsuite><testcase classname='k' name='a'><skipped/></testcase><testcase classname='m' name='c'/></testsuite>"
CUT = WHOLE[: WHOLE.index("<failure")]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def parse(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "repair", "parse", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def parsed(*arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(parse("--json", *arguments).stdout)
    return document


# ---- the library


def test_several_files_are_one_run_and_the_worst_outcome_counts(tmp_path: Path) -> None:
    files = [write(tmp_path, "1.xml", WHOLE), write(tmp_path, "2.xml.gz", gzip.compress(MORE.encode()))]
    expected = {"k::a": Outcome.SKIPPED, "k::b": Outcome.FAILED, "m::c": Outcome.PASSED}
    for order in (files, files[::-1]):
        found = report_files.read_all(order, None)
        assert (found.outcomes, found.flags, found.problems) == (expected, (), ())
        assert list(found.outcomes) == sorted(found.outcomes)


def test_pytest_ids_are_exact_where_our_plugin_wrote_them(tmp_path: Path) -> None:
    named = (
        "<testcase classname='t' name='x'><properties><property name='repair_nodeid' "
        "value='&quot;sub/t.py::x&quot;'/></properties></testcase>"
    )
    file = write(tmp_path, "r.xml", f"<testsuite>{named}<testcase classname='k' name='y'/></testsuite>")
    assert report_files.read_all([file], None).outcomes == {"k::y": Outcome.PASSED, "sub/t.py::x": Outcome.PASSED}
    listed = ["sub/t.py::x", "t.py::gone"]
    assert report_files.read_all([file], listed).outcomes == {
        "sub/t.py::x": Outcome.PASSED,
        "t.py::gone": Outcome.MISSING,
    }


def test_a_file_that_is_no_evidence_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    files = [
        write(tmp_path, name, text) for name, text in (("a.xml", WHOLE), ("b.xml", ""), ("c.xml", CUT), ("d", "{}"))
    ]
    found = report_files.read_all(files, None)
    assert found.outcomes == {"k::a": Outcome.PASSED, "k::b": Outcome.FAILED}
    assert found.flags == ("truncated",)
    assert [problem.split()[0] for problem in found.problems] == [str(file) for file in files[1:]]


def test_listed_ids_keep_their_order(tmp_path: Path) -> None:
    file = write(tmp_path, "r.xml", WHOLE)
    assert list(report_files.read_all([file], ["z", "k::b", "k::a"]).outcomes) == ["z", "k::b", "k::a"]


def test_an_absent_file_and_a_folder_are_usage_errors(tmp_path: Path) -> None:
    for file in (tmp_path / "gone.xml", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            report_files.read_all([file], None)


IDS: dict[str, tuple[str | bytes, list[str]]] = {
    "one a line": ("t.py::a\nt.py::b\n", ["t.py::a", "t.py::b"]),
    "no end to the last line": ("t.py::a\nt.py::b", ["t.py::a", "t.py::b"]),
    "blank lines between": ("\nt.py::a\n\n  \nt.py::b\n", ["t.py::a", "t.py::b"]),
    "Windows line ends": ("t.py::a\r\nt.py::b\r\n", ["t.py::a", "t.py::b"]),
    "a byte-order mark": (b"\xef\xbb\xbft.py::a\n", ["t.py::a"]),
    "blanks inside and at the end belong to the id": ("t.py::a[x y ]\n", ["t.py::a[x y ]"]),
    "a line separator belongs to the id": (
        "t.py::a[\u2028]\nt.py::b[\x0b\x85]\n",
        ["t.py::a[\u2028]", "t.py::b[\x0b\x85]"],
    ),
    "a JSON list": ('["t.py::a", "t.py::b\\n"]', ["t.py::a", "t.py::b\n"]),
    "an empty JSON list": ("[]", []),
    "an empty file": ("", []),
    "a line that begins like a list": ("[100%]\n", ["[100%]"]),
}


@pytest.mark.parametrize(("text", "ids"), IDS.values(), ids=IDS)
def test_read_ids(tmp_path: Path, text: str | bytes, ids: list[str]) -> None:
    assert report_files.read_ids(write(tmp_path, "ids", text)) == ids


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '["a", 1]', "[null]", b"\xff\xfe"], ids=["object", "number", "null", "bytes"]
)
def test_ids_that_are_neither_lines_nor_a_list_of_texts(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(UsageError, match="ids"):
        report_files.read_ids(write(tmp_path, "ids", text))


# ---- the command


def test_parse_prints_a_line_an_id(tmp_path: Path) -> None:
    done = parse(write(tmp_path, "r.xml", WHOLE))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["passed   k::a", "failed   k::b"]


def test_parse_as_json_prints_one_object_and_nothing_else(tmp_path: Path) -> None:
    done = parse("--json", write(tmp_path, "r.xml", WHOLE.replace("<failure/>", "<failure>\x00</failure>")))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"outcomes": {"k::a": "passed", "k::b": "failed"}, "flags": ["sanitized"]}


def test_parse_reads_what_other_runners_write() -> None:
    together = parsed(*(DATA / name for name in TRUTH))
    assert together == {
        "outcomes": {test: seen for truth in TRUTH.values() for test, seen in truth.items()},
        "flags": [],
    }


def test_parse_with_ids_answers_for_each_of_them(tmp_path: Path) -> None:
    file = write(tmp_path, "r.xml", WHOLE)
    lines, listed = write(tmp_path, "ids", "k::b\nt.py::gone\n"), write(tmp_path, "ids.json", '["k::b", "t.py::gone"]')
    for ids in (lines, listed):
        assert parsed(file, "--ids", ids)["outcomes"] == {"k::b": "failed", "t.py::gone": "missing"}


@pytest.mark.parametrize("text", ["", "<html/>", "nonsense", CUT, "<!DOCTYPE t><testsuite/>"])
def test_parse_exits_4_for_no_evidence(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, "r.xml", text)
    for arguments in ((file,), ("--json", file), (file, write(tmp_path, "good.xml", WHOLE))):
        done = parse(*arguments)
        assert done.returncode == 4
        assert done.stderr.startswith(f"repair: {file}")
        assert len(done.stderr.splitlines()) == 1
    assert parsed(file)["flags"] == (["truncated"] if text == CUT else [])


def test_parse_of_a_file_that_is_not_there_exits_2(tmp_path: Path) -> None:
    done = parse("gone.xml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone.xml cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_parse_shows_no_terminal_escape_of_a_report(tmp_path: Path) -> None:
    file = write(tmp_path, "r.xml", "<testsuite><testcase classname='k' name='a&#x202e;\u200bb&#10;c'/></testsuite>")
    assert parse(file).stdout == "passed   k::a\\u202e\\u200bb\\nc\n"
    assert parsed(file)["outcomes"] == {"k::a\u202e\u200bb\nc": "passed"}
