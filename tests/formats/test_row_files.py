"""Files of rows: what is a row, what is a problem with one row, and what is no file of rows at all."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.errors import UsageError
from repair.formats.raw import row_files
from repair.formats.raw.row_files import Container, Item
from tests.support.memory import PEAK

BOM = codecs.BOM_UTF8
PRETTY = b'{\n  "a": 1.10,\n  "b": "\\u00e9"\n}\n'


def read(directory: Path, content: bytes, name: str = "rows.json") -> list[Item]:
    file = directory / name
    file.write_bytes(content)
    return list(row_files.rows(file, name))


def refusal(directory: Path, content: bytes, name: str = "rows.json") -> UsageError:
    with pytest.raises(UsageError) as caught:
        read(directory, content, name)
    assert str(directory / name) in caught.value.message
    assert caught.value.next
    return caught.value


# ---- what is a row

L, A, O = Container.LINES, Container.ARRAY, Container.OBJECT  # noqa: E741 - as short as the tables want it
WHOLE: dict[str, tuple[str, bytes, Container, list[bytes]]] = {
    "lines": ("r.jsonl", b'{"a": 1}\n{"a": 2}\n', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines, the other suffix": ("r.ndjson", b'{"a": 1}\n', L, [b'{"a": 1}']),
    "lines, a suffix in capitals": ("r.JSONL", b'{"a": 1}\n', L, [b'{"a": 1}']),
    "lines, the last without end": ("r.jsonl", b'{"a": 1}\n{"a": 2}', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines that end in CRLF": ("r.jsonl", b'{"a": 1}\r\n{"a": 2}\r\n', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines behind a byte-order mark": ("r.jsonl", BOM + b'{"a": 1}\n{"a": 2}\n', L, [b'{"a": 1}', b'{"a": 2}']),
    "one line": ("r.jsonl", b'{"a": 1}\n', L, [b'{"a": 1}']),
    "lines in a .json": ("r.json", b'{"a": 1}\n{"a": 2}\n', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines in a .json, behind a mark": ("r.json", BOM + b'{"a": 1}\n{"a": 2}', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines in a file of no suffix": ("rows", b'{"a": 1}\n{"a": 2}\n', L, [b'{"a": 1}', b'{"a": 2}']),
    "lines with blanks in them": ("r.jsonl", b' {"a":  1 } \n', L, [b' {"a":  1 } ']),
    "a separator that only Unicode calls a line's end": ("r.jsonl", '{"a": "\u2028"}\n'.encode(), L, [b""]),
    "an array": ("r.json", b'[{"a": 1}, {"a": 2}]', A, [b'{"a": 1}', b'{"a": 2}']),
    "an array over lines": ("r.json", b'[\n{"a":\n1}\n,\n{"a": 2}\n]\n', A, [b'{"a":\n1}', b'{"a": 2}']),
    "an array behind a mark": ("r.json", BOM + b'\r\n[{"a": 1}]', A, [b'{"a": 1}']),
    "an array in a file of no suffix": ("rows", b'[{"a": 1}]', A, [b'{"a": 1}']),
    "an array behind many blanks": ("r.json", b" " * 9000 + b'[{"a": 1}]', A, [b'{"a": 1}']),
    "an empty array": ("r.json", b"[ ]\n", A, []),
    "an object over lines": ("r.json", PRETTY, O, [PRETTY.strip()]),
    "an object on one line": ("r.json", b'{"a": 1}', O, [b'{"a": 1}']),
    "an object on one line with an end": ("r.json", b'{"a": 1}\n', O, [b'{"a": 1}']),
    "an object behind a mark": ("r.json", BOM + PRETTY, O, [PRETTY.strip()]),
    "an object behind blanks": ("r.json", b"\n\n" + PRETTY, O, [PRETTY.strip()]),
}


@pytest.mark.parametrize(("name", "content", "container", "raws"), WHOLE.values(), ids=WHOLE)
def test_rows(tmp_path: Path, name: str, content: bytes, container: Container, raws: list[bytes]) -> None:
    found = read(tmp_path, content, name)
    assert [item.raw for item in found] == [raw or content.rstrip() for raw in raws]
    for number, item in enumerate(found, 1):
        assert (item.container, item.file, item.number, item.problem) == (container, name, number, "")
        assert item.row == json.loads(item.raw)


def test_a_blank_line_is_no_row_and_counts_as_a_line(tmp_path: Path) -> None:
    found = read(tmp_path, b'\n{"a": 1}\n \t\r\n\r\n{"a": 2}\n\n', "r.jsonl")
    assert [(item.place, item.row) for item in found] == [("r.jsonl row 2", {"a": 1}), ("r.jsonl row 5", {"a": 2})]


def test_rows_stand_in_what_the_caller_says(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / "r.json").write_bytes(b'[{"a": 1}]')
    for name in ("r.jsonl", "r.json"):
        assert [item.place for item in row_files.rows(tmp_path / name, f"data/{name}")] == [f"data/{name} row 1"]


def test_a_file_that_is_one_row_is_its_own_place(tmp_path: Path) -> None:
    assert [item.place for item in read(tmp_path, PRETTY, "one.json")] == ["one.json"]
    assert [item.place for item in read(tmp_path, b"[" + PRETTY + b"]", "one.json")] == ["one.json row 1"]


def test_numbers_are_as_large_and_as_odd_as_json_has_them(tmp_path: Path) -> None:
    line = b'{"i": ' + b"9" * 4000 + b', "f": 1e400, "n": NaN, "m": -Infinity, "s": "\\ud800"}'
    for content, name in ((line, "r.jsonl"), (b"[" + line + b"]", "r.json"), (line, "r.json")):
        (item,) = read(tmp_path, content, name)
        assert item.raw == line
        assert item.row is not None
        assert (item.row["i"], item.row["f"], item.row["s"]) == (int("9" * 4000), float("inf"), "\ud800")


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TABLES = st.lists(st.dictionaries(st.text(max_size=6), CELLS, max_size=4), min_size=1, max_size=5)


@settings(max_examples=50)
@given(TABLES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from([b"", BOM]))
def test_any_table_comes_back_from_lines_and_from_an_array(
    table: list[dict[str, Any]], ascii_only: bool, indent: int | str | None, mark: bytes
) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in table)
    array = json.dumps(table, ensure_ascii=ascii_only, indent=indent)
    with tempfile.TemporaryDirectory() as name:
        for content, suffix in ((lines, "jsonl"), (array, "json")):
            found = read(Path(name), mark + content.encode(), f"rows.{suffix}")
            assert [item.row for item in found] == table
            assert [json.loads(item.raw) for item in found] == table


# ---- a problem with one row

BAD_LINES = {
    "broken": (b'{"a": }', "no valid JSON: "),
    "cut short": (b'{"a": "tes', "no valid JSON: "),
    "two on a line": (b'{"a": 1} {"a": 2}', "no valid JSON: "),
    "a comma behind it": (b'{"a": 1},', "no valid JSON: "),
    "not UTF-8": (b'{"a": "\xff"}', "byte 8 is not UTF-8"),
    "Latin-1": ('{"é": 1}'.encode("latin-1"), "byte 3 is not UTF-8"),
    "half a character as bytes": (b'{"a": "\xed\xa0\x80"}', "byte 8 is not UTF-8"),
    "a NUL": (b'{"a": "\0"}', "no valid JSON: "),
    "NULs alone": (b"\0\0\0\0", "no valid JSON: "),
    "100,000 levels": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "100,000 levels that never end": (b'{"a": ' + b'{"a":' * 100_000, "nested too deeply"),
    "a number of 5,000 digits": (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
    "a list": (b'[{"a": 1}]', "expected an object, found list"),
    "a number": (b"3", "expected an object, found int"),
    "a text": (b'"a"', "expected an object, found str"),
    "null": (b"null", "expected an object, found NoneType"),
    "a mark inside the file": (BOM + b'{"a": 1}', "no valid JSON: "),
    "half of a UTF-16 file": ('{"a": 1}'.encode("utf-16"), "byte 1 is not UTF-8"),
}


@pytest.mark.parametrize(("line", "problem"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_is_no_row_is_a_problem_and_the_others_come(tmp_path: Path, line: bytes, problem: str) -> None:
    first, bad, last = read(tmp_path, b'{"a": 1}\n' + line + b'\n{"a": 3}\n', "r.jsonl")
    assert (first.row, first.problem, last.row, last.problem, last.number) == ({"a": 1}, "", {"a": 3}, "", 3)
    assert (bad.row, bad.raw, bad.number) == (None, line, 2)
    assert problem in bad.problem
    assert len(bad.problem) < 200
    assert "sys." not in bad.problem


@pytest.mark.parametrize("at", range(1, 9))
def test_a_last_line_that_is_cut_is_a_problem_and_no_row(tmp_path: Path, at: int) -> None:
    *_, last = read(tmp_path, b'{"a": 1}\n' + b'{"a": "x"}'[:at], "r.jsonl")
    assert (last.number, last.row) == (2, None)
    assert last.problem.startswith("no valid JSON: ")


def test_a_first_line_that_is_broken_is_a_problem_too(tmp_path: Path) -> None:
    found = read(tmp_path, b'{"a": \n{"a": 2}\n', "r.jsonl")
    assert [(item.number, item.row) for item in found] == [(1, None), (2, {"a": 2})]


def test_an_object_over_lines_is_no_json_lines(tmp_path: Path) -> None:
    found = read(tmp_path, PRETTY, "r.jsonl")
    assert [item.row for item in found] == [None] * 4
    assert all(item.problem for item in found)


def test_what_is_no_object_in_an_array_is_a_problem(tmp_path: Path) -> None:
    found = read(tmp_path, b'[{"a": 1}, [2], 3, null, "x", {"a": 6}]')
    assert [item.row for item in found] == [{"a": 1}, None, None, None, None, {"a": 6}]
    assert [item.problem for item in found[1:3]] == ["expected an object, found list", "expected an object, found int"]
    assert [item.raw for item in found[1:3]] == [b"[2]", b"3"]
    assert found[-1].place == "rows.json row 6"


NESTED: dict[str, tuple[Any, str]] = {
    "an array under a key": ({"data": [{"instance_id": "a"}]}, "is one object and no row: 'data' holds an array; take"),
    "beside what is said of it": ({"version": 1, "rows": [{"org": "acme"}]}, "no row: 'rows' holds an array; take"),
    "rows by their ids": ({"a": {"instance_id": "a"}, "b": {"instance_id": "b"}}, "one object, whose values are the"),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("content", "problem"), NESTED.values(), ids=NESTED)
def test_an_object_around_rows_is_no_row(tmp_path: Path, content: Any, problem: str, indent: int | None) -> None:
    assert problem in str(refusal(tmp_path, json.dumps(content, indent=indent).encode()))


ALONE: dict[str, Any] = {
    "with a list of objects": {"instance_id": "a", "resolved_issues": [{"number": 1}]},
    "of objects": {"fix_patch": {"instance_id": "a"}},
    "with lists of other things": {"a": [1], "b": [], "c": [{"d": 1}, 2]},
    "of plain objects": {"a": {"b": 1}},
    "of nothing": {},
}


@pytest.mark.parametrize("content", ALONE.values(), ids=ALONE)
def test_an_object_that_is_a_row(tmp_path: Path, content: Any) -> None:
    (item,) = read(tmp_path, json.dumps(content).encode())
    assert item.row == content


# ---- no file of rows

REFUSED = {
    "empty": (b"", "is empty"),
    "blanks": (b" \r\n\t\n", "is empty"),
    "many blanks": (b"\n" * 9000, "is empty"),
    "a mark alone": (BOM, "is empty"),
    "gzip": (gzip.compress(b'{"a": 1}\n'), "is packed with gzip"),
    "UTF-16": ('{"a": 1}\n'.encode("utf-16"), "is UTF-16"),
    "UTF-16, the other end first": (codecs.BOM_UTF16_BE + '{"a": 1}\n'.encode("utf-16-be"), "is UTF-16"),
    "UTF-16 without a mark": ('{"a": 1}'.encode("utf-16-le"), "no valid JSON"),
    "a table": (b"instance_id,patch\n", "is neither JSON, JSON lines nor Parquet"),
    "a bare number": (b"12\n", "is neither JSON, JSON lines nor Parquet"),
    "NULs": (b"\0\0\0\0", "is neither JSON, JSON lines nor Parquet"),
    "an array that is cut": (b'[{"a": 1}, {"a"', "no valid JSON"),
    "an array that does not end": (b'[{"a": 1}', "no valid JSON"),
    "an array with broken rows": (b'[{"a": 1}, {"a": }]', "no valid JSON"),
    "a comma too many": (b'[{"a": 1},]', "no valid JSON"),
    "something behind the array": (b'[{"a": 1}] x', "no valid JSON"),
    "an array behind the array": (b'[{"a": 1}]\n[{"a": 2}]', "no valid JSON"),
    "an object behind the array": (b'[{"a": 1}]\n{"a": 2}', "no valid JSON"),
    "an array that is not UTF-8": (b'[\n{"a": "\xff"}]', "line 2 is not UTF-8"),
    "an array 100,000 levels deep": (b"[" * 100_000, "nested too deeply"),
    "an object that is cut": (b'{\n"a": 1', "no valid JSON"),
    "two objects over lines": (b'{\n"a": 1}\n{\n"a": 2}', "no valid JSON"),
    "an object 100,000 levels deep": (b'{"a":\n' + b"[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize(("content", "problem"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    assert problem in refusal(tmp_path, content).message


@pytest.mark.parametrize("name", ["empty", "a mark alone", "gzip", "UTF-16"])
def test_refused_as_json_lines_too(tmp_path: Path, name: str) -> None:
    content, problem = REFUSED[name]
    assert problem in refusal(tmp_path, content, "rows.jsonl").message


def test_a_number_without_end_in_an_array_is_told_in_plain_words(tmp_path: Path) -> None:
    """A problem of that row, or of the file: not of the interpreter that reads it."""
    try:
        said = "".join(item.problem for item in read(tmp_path, b'[{"a": ' + b"9" * 5000 + b"}]"))
    except UsageError as err:
        said = str(err)
    assert "digits" in said
    assert "sys." not in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(row_files.rows(tmp_path / "rows.jsonl", "rows.jsonl"))


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        list(row_files.rows(tmp_path, "rows"))


# Root imports first: the interpreter's own files may be closed to everybody else.
_AS_SOMEBODY_ELSE = """
import os, sys
from pathlib import Path
from repair.errors import UsageError
from repair.formats.raw import row_files as sources
list(sources.rows(Path(sys.argv[1]), "r"))
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    list(sources.rows(Path(sys.argv[2]), "r"))
except UsageError as err:
    print(err)
"""


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that everybody may look into, as pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_file_that_may_not_be_read(open_directory: Path) -> None:
    here, closed = open_directory / "here.jsonl", open_directory / "closed.jsonl"
    for file in (here, closed):
        file.write_bytes(b'{"a": 1}\n')
    closed.chmod(0)
    command = [sys.executable, "-c", _AS_SOMEBODY_ELSE, str(here), str(closed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{closed} cannot be read: Permission denied; ")


# ---- long files

_MEASURED = """
import sys
from pathlib import Path
from repair.formats.raw import row_files as sources
file = Path(sys.argv[1])
next(sources.rows(file, "r"))
before = peak()
print(sum(item.row is not None for item in sources.rows(file, "r")))
print((peak() - before) >> 10)
"""


def test_lines_stream_however_long_the_file_is(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    line = json.dumps({"instance_id": "acme__ledger-1", "patch": "+x\n" * 20_000}).encode() + b"\n"
    count = (64 << 20) // len(line)
    file.write_bytes(line * count)
    command = [sys.executable, "-c", PEAK + _MEASURED, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == count > 500
    assert grown < 60


def test_the_first_row_comes_before_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(b'{"a": 1}\n' * 9)
    found = row_files.rows(file, "r.jsonl")
    assert next(found).number == 1
    os.truncate(file, 0)
    assert sum(1 for _ in found) <= 8


@pytest.mark.parametrize("name", ["r.jsonl", "r.json"])
def test_a_line_that_is_longer_than_any_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(row_files, "MAX_ROW", 100)
    content = b'{"a": 1}\n{"a": "' + b"x" * 90 + b'"}\n{"a": 3}\n'
    assert len(read(tmp_path, content, name)) == 3
    with pytest.raises(UsageError, match=f"{name} line 2 is longer than"):
        read(tmp_path, content.replace(b"x", b"xx", 1), name)


def test_an_array_that_is_larger_than_can_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "MAX_JSON", 20)
    assert len(read(tmp_path, b'[{"a": 1},{"a": 22}]')) == 2
    assert "is larger than" in refusal(tmp_path, b'[{"a": 1},{"a": 222}]').message


# ---- directories


def test_the_files_of_a_directory(tmp_path: Path) -> None:
    wanted = ["B.JSONL", "a.jsonl", "data/b.parquet", "data/deep/c.json", "z.ndjson"]
    others = ["README.md", "a.jsonl.bak", ".hidden.json", ".git/x.json", "data/.cache/y.jsonl", "json"]
    for name in [*wanted, *others]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b'{"a": 1}')
    (tmp_path / "folder.json").mkdir()
    found = [file.relative_to(tmp_path).as_posix() for file in row_files.row_files(tmp_path)]
    assert found == wanted


def test_a_directory_below_a_hidden_one_is_not_hidden(tmp_path: Path) -> None:
    inner = tmp_path / ".cache" / "panel"
    inner.mkdir(parents=True)
    (inner / "rows.json").write_bytes(b"[]")
    assert row_files.row_files(inner) == [inner / "rows.json"]


@pytest.mark.parametrize("name", ["r.jsonl.gz", "r.json.gz", "data/r.NDJSON.GZ"])
def test_a_packed_file_of_a_directory_is_not_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / name).write_bytes(gzip.compress(b'{"a": 2}\n'))
    with pytest.raises(UsageError, match=f"{name} is packed with gzip; unpack it first"):
        row_files.row_files(tmp_path)


def test_other_packed_files_are_passed_over(tmp_path: Path) -> None:
    for name in (".r.jsonl.gz", "logs.tar.gz", "r.csv.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b""))
    assert row_files.row_files(tmp_path) == []


def test_a_directory_without_files_of_rows(tmp_path: Path) -> None:
    assert row_files.row_files(tmp_path) == []
