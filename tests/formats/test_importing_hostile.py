"""Sources that strangers made: each bad row is one line, the others are imported, and nothing is written outside."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.formats import importing
from repair.formats import source as formats_source
from repair.formats.base import Wants
from repair.formats.importing import Choice, Preflight
from repair.panel import read
from tests.formats import rows

GOOD = rows.classic(1)


def take(source: Path) -> Preflight:
    """Import to `panel` beside the source, which loads; nothing else beside it changes."""
    before = rows.tree(source.parent)
    found = importing.run(source, source.parent / "panel", Choice(), Wants())
    after = rows.tree(source.parent)
    assert {name: after.get(name) for name in before} == before
    assert all(name.partition("/")[0] == "panel" for name in after.keys() - before.keys())
    assert len(read.load(source.parent / "panel").tasks) == found.tasks
    assert found.rows == found.tasks + len(found.reasons) + found.left_out
    return found


def only_reason(source: Path) -> str:
    """The one reason of a source whose other row is good: a line that can be shown."""
    found = take(source)
    assert found.tasks == 1
    (reason,) = map(str, found.reasons)
    assert reason.isprintable()
    assert len(reason) < 600
    return reason


def refused(source: Path) -> str:
    """Why nothing at all is imported; nothing is there afterwards."""
    before = rows.tree(source.parent)
    with pytest.raises(UsageError) as found:
        importing.run(source, source.parent / "panel", Choice(), Wants())
    assert rows.tree(source.parent) == before
    return str(found.value)


def _two(file: Path, row: rows.Row) -> Path:
    file.write_text("".join(f"{json.dumps(each)}\n" for each in (GOOD, row)))
    return file


# ---- names

NAMES = {
    "the same": (GOOD["instance_id"], "acme__ledger-1 is that of rows.jsonl row 1, too"),
    "but for capitals": ("ACME__ledger-1", "ACME__ledger-1 is that of rows.jsonl row 1, too"),
    "above": ("../acme", "holds a slash"),
    "absolute": ("/tmp/acme", "holds a slash"),
    "deep": ("a/b/c", "holds a slash"),
    "dots": ("..", "cannot name a directory"),
    "hidden": (".git", "cannot name a directory"),
    "panel.toml": ("panel.toml", "cannot name a directory"),
    "zero": ("a\0b", "cannot be printed"),
    "control": ("a\x1b[2Jb", "cannot be printed"),
    "line end": ("a\nrepair: all is well", "cannot be printed"),
    "surrogate": ("a\ud800", "cannot be printed"),
    "three hundred characters": ("x" * 300, "is longer than 200 bytes"),
    "a megabyte": ("x" * 1_000_000, "is longer than 200 bytes"),
    "blank": (" ", "is empty"),
    "no text": (7, "expected a text, found int"),
    "a list": (["a"], "expected a text, found list"),
    "none": (None, "is missing"),
}


@pytest.mark.parametrize(("name", "said"), NAMES.values(), ids=NAMES)
def test_a_name_that_no_task_may_have(tmp_path: Path, name: object, said: str) -> None:
    reason = only_reason(_two(tmp_path / "rows.jsonl", rows.classic(instance_id=name)))
    assert reason.startswith("rows.jsonl row 2: instance_id: ")
    assert said in reason


# ---- ids and lists

LISTS: dict[str, tuple[Any, str]] = {
    "an absurdly long id": (["t::" + "a" * 100_000], "id 1 is no test id of at most 4096 characters"),
    "an id over lines": (["t::a", "t::b\nt::c"], "id 2 is no test id"),
    "an empty id": ([""], "id 1 is no test id"),
    "half a character": (["t[\udfff]"], "id 1 is no test id"),
    "a number": ([1], "expected a list of test ids"),
    "a text": ("tests/a.py::b", "is neither JSON nor a Python literal"),
    "a program": ("__import__('os').system('true')", "is neither JSON nor a Python literal"),
    "a list that is cut": ('["t::a", "t::', "is neither JSON nor a Python literal"),
    "none": (None, "is missing; an empty list would be []"),
    "an empty text": ("", "is neither JSON nor a Python literal"),
    "nested without end": ("[" * 100_000, ""),
    "parentheses without end": ("(" * 100_000, ""),
    "a huge number": ("9" * 10_000, ""),
}


@pytest.mark.parametrize("column", ["FAIL_TO_PASS", "PASS_TO_PASS"])
@pytest.mark.parametrize(("value", "said"), LISTS.values(), ids=LISTS)
def test_a_list_that_is_none(tmp_path: Path, column: str, value: Any, said: str) -> None:
    reason = only_reason(_two(tmp_path / "rows.jsonl", rows.live(**{column: value})))
    assert reason.startswith(f"rows.jsonl row 2: {column}: ")
    assert said in reason


# ---- patches


def to(path: str, old: str = "a/", new: str = "b/") -> str:
    return f"diff --git {old}{path} {new}{path}\n--- {old}{path}\n+++ {new}{path}\n@@ -1 +1 @@\n-a\n+b\n"


BINARY = (
    "diff --git a/a.png b/a.png\nnew file mode 100644\nindex 0000000..f76dd23\n"
    "GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n"
)
NO_CONTENT = "diff --git a/a.png b/a.png\nindex 1234567..89abcde 100644\nBinary files a/a.png and b/a.png differ\n"
BAD_PATCHES: dict[str, Any] = {
    "above": to("../../etc/passwd"),
    "absolute": to("/etc/passwd", "", ""),
    "into git's own": to(".git/hooks/pre-commit"),
    "into git's own in capitals": to("a/.GIT/config"),
    "binary without content": NO_CONTENT,
    "no diff": "This row has no patch.\n",
    "a hunk that ends early": to("a.py").replace("@@ -1 +1 @@", "@@ -1,3 +1,3 @@"),
    "half a character": to("a.py") + "+\ud800\n",
    "no text": 7,
}


@pytest.mark.parametrize("column", ["patch", "test_patch"])
@pytest.mark.parametrize("patch", BAD_PATCHES.values(), ids=BAD_PATCHES)
def test_a_patch_that_git_never_takes(tmp_path: Path, column: str, patch: Any) -> None:
    reason = only_reason(_two(tmp_path / "rows.jsonl", rows.classic(**{column: patch})))
    assert reason.startswith(f"rows.jsonl row 2: {column}: ")


@pytest.mark.parametrize("patch", ["", " \n", None], ids=["empty", "blank", "none"])
def test_a_reference_that_changes_nothing(tmp_path: Path, patch: str | None) -> None:
    reason = only_reason(_two(tmp_path / "rows.jsonl", rows.classic(patch=patch)))
    assert reason.startswith("rows.jsonl row 2: patch: is ")


GOOD_PATCHES = {
    "Windows' line ends": to("a.py").replace("-a\n+b\n", "-a\r\n+b\r\n"),
    "Windows' line ends all over": to("a.py").replace("\n", "\r\n"),
    "binary with content": BINARY,
    "a name with blanks": to("a b.py"),
    "a folder that is git's by half": to(".github/a.yml"),
    "no line end at its end": to("a.py")[:-1],
    "a rename": "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n",
}


@pytest.mark.parametrize("patch", GOOD_PATCHES.values(), ids=GOOD_PATCHES)
def test_a_patch_that_is_odd_and_good(tmp_path: Path, patch: str) -> None:
    source = _two(tmp_path / "rows.jsonl", rows.classic(patch=patch, test_patch=patch))
    assert take(source).reasons == []
    task = read.load(tmp_path / "panel").tasks[1]
    assert task.oracle_patch == task.tests_patch == (patch if patch.endswith("\n") else patch + "\n").encode()


# ---- files


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (b'{"instance_id": "acme', "no valid JSON: Unterminated string"),
        (b'{"a": 1}{"b": 2}', "no valid JSON: Extra data"),
        (b'{"instance_id": "caf\xe9"}', "byte 21 is not UTF-8"),
        (b"\xef\xbb\xbf{}", "no valid JSON: "),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "holds a number of more than 4300 digits"),
        (b"[1, 2]", "expected an object, found list"),
        (b"null", "expected an object, found NoneType"),
        (b"{}", "fits no format that is known by its columns ()"),
        (json.dumps({"a\nrepair: all is well\x1b[2J": 1}).encode(), "fits no format"),
        (json.dumps({"b" * 100_000: 1}).encode(), "fits no format"),
    ],
    ids=[
        *("truncated", "two in one line", "Latin-1", "a mark within", "deep list", "deep object", "a huge number"),
        *("a list", "null", "empty", "a column that is a line", "a column without end"),
    ],
)
def test_a_line_that_is_no_row(tmp_path: Path, second: bytes, said: str) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_bytes(json.dumps(GOOD).encode() + b"\n" + second + b"\n")
    reason = only_reason(source)
    assert reason.startswith("rows.jsonl row 2: ")
    assert said in reason


def test_numbers_that_json_has_none_of_are_kept(tmp_path: Path) -> None:
    text = json.dumps(rows.classic(big=10**400)).replace("}", ', "nan": NaN, "inf": -Infinity}')
    (tmp_path / "rows.jsonl").write_text(text + "\n")
    assert take(tmp_path / "rows.jsonl").reasons == []
    source = formats_source.read(tmp_path / "panel" / "acme__ledger-7")
    assert source is not None
    assert source.row().decode() == text


@pytest.mark.parametrize("container", rows.CONTAINERS)
def test_a_byte_order_mark_is_no_part_of_a_row(tmp_path: Path, container: str) -> None:
    if container == "parquet":
        return
    file, write = rows.CONTAINERS[container]
    source = write(tmp_path / file, [GOOD])
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    assert take(source).reasons == []


def test_blank_space_before_the_rows_is_none(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n" * 10_000 + json.dumps(GOOD))
    assert take(tmp_path / "rows.jsonl").tasks == 1


FILES = {
    "empty": ("rows.jsonl", b"", "is empty"),
    "blank": ("rows.json", b" \n\n", "is empty"),
    "packed": ("rows.jsonl", b"\x1f\x8b\x08\x00", "is packed with gzip; unpack it first"),
    "UTF-16": ("rows.json", '{"a": 1}'.encode("utf-16"), "is UTF-16; save it as UTF-8"),
    "no JSON": ("rows.json", b"instance_id,patch\n1,2\n", "is neither JSON, JSON lines nor Parquet"),
    "an array that is cut": ("rows.json", json.dumps([GOOD, GOOD]).encode()[:-9], "no valid JSON: "),
    "an array of Latin-1": ("rows.json", b'[\n{"a": "\xe9"}]', "line 2 is not UTF-8"),
    "a deep array": ("rows.json", b"[" * 100_000, "nested too deeply"),
    "an object that is cut": ("rows.json", b'{"a":\n', "no valid JSON: "),
    "a huge number": ("rows.json", b'[{"a": ' + b"9" * 5000 + b"}]", "more than 4300 digits"),
    "Parquet that is cut": ("rows.parquet", b"PAR1 and no more", "no valid Parquet: "),
    "an empty array": ("rows.json", b"[]", "holds no task that can be imported"),
}


@pytest.mark.parametrize(("name", "content", "said"), FILES.values(), ids=FILES)
def test_a_file_that_holds_no_rows(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    message = refused(tmp_path / name)
    assert message.startswith(f"{tmp_path / name}")
    assert said in message
    assert len(message) < 500


def test_many_bad_rows_are_counted_and_the_first_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n" * 40)
    lines = refused(tmp_path / "rows.jsonl").splitlines()
    assert lines[1].startswith("rows.jsonl row 1: ")
    assert (len(lines), lines[-1]) == (7, "and 35 more; nothing was written")


# ---- task directories


def _link(tree: Path) -> None:
    (tree / "solution" / "odd").symlink_to("solve.sh")


def _link_outside(tree: Path) -> None:
    (tree / "environment" / "odd").symlink_to("/etc/hostname")


def _link_of_the_tests(tree: Path) -> None:
    (tree / "tests" / "odd").symlink_to("/etc/hostname")


def _link_to_a_directory(tree: Path) -> None:
    (tree / "odd").symlink_to("/etc")


def _broken_link(tree: Path) -> None:
    (tree / "odd").symlink_to("nowhere")


def _loop(tree: Path) -> None:
    (tree / "odd").symlink_to(".")


def _pipe(tree: Path) -> None:
    os.mkfifo(tree / "environment" / "odd")


@pytest.mark.parametrize(
    "make", [_link, _link_outside, _link_of_the_tests, _link_to_a_directory, _broken_link, _loop, _pipe]
)
def test_what_is_no_plain_file_is_named(tmp_path: Path, make: Callable[[Path], None]) -> None:
    rows.harbor(tmp_path / "source", 1)
    make(rows.harbor(tmp_path / "source", 2))
    reason = only_reason(tmp_path / "source")
    assert reason.startswith("acme__ledger-2: ")
    assert "odd: is " in reason


def test_a_link_to_a_task_directory_is_no_task(tmp_path: Path) -> None:
    outside = rows.harbor(tmp_path / "outside", 2)
    rows.harbor(tmp_path / "source", 1)
    (tmp_path / "source" / "acme__ledger-2").symlink_to(outside)
    assert (take(tmp_path / "source").rows, len(read.load(tmp_path / "panel").tasks)) == (1, 1)


@pytest.mark.parametrize("file", ["task.toml", "tests/config.json", "instruction.md"])
def test_a_file_that_is_a_link_to_a_secret_is_not_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "secret").write_text("[metadata]\nsecret = 1\n")
    rows.harbor(tmp_path / "source", 1)
    tree = rows.harbor(tmp_path / "source", 2, {file: None})
    (tree / file).symlink_to(tmp_path / "secret")
    assert only_reason(tmp_path / "source").startswith(f"acme__ledger-2: {file}: is a link")


def test_directories_of_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        rows.harbor(tmp_path / "source" / folder, 1)
    reason = only_reason(tmp_path / "source")
    assert reason == "b/acme__ledger-1: instance_id: acme__ledger-1 is that of a/acme__ledger-1, too"
