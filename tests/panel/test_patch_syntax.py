"""What a diff is read as: its files, their names as git knows them, and where each part of it ends."""

from __future__ import annotations

import pytest

from repair.panel.patch_syntax import Part, read

Named = tuple[str | None, str | None, bool]  # its path before and after, and whether it is binary
EDIT = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+two\n same\n"


def parts(text: bytes) -> list[Part]:
    return [part for part in read(text) if isinstance(part, Part)]


FILES: dict[str, tuple[bytes, list[Named]]] = {
    "a plain diff": (EDIT, [("x", "x", False)]),
    "a plain diff without prefixes": (
        EDIT.replace(b"a/x", b"src/x").replace(b"b/x", b"src/x"),
        [("src/x", "src/x", False)],
    ),
    "folders of two versions": (
        EDIT.replace(b"a/x", b"ledger-1/x").replace(b"b/x", b"ledger-2/x"),
        [("x", "x", False)],
    ),
    "times after a tab": (EDIT.replace(b"/x\n", b"/x\t2020-01-02 03:04:05.000 +0000\n"), [("x", "x", False)]),
    "times after a blank": (EDIT.replace(b"/x\n", b"/x 2020-01-02 03:04:05.000 +0000\n"), [("x", "x", False)]),
    "a backup beside the file": (EDIT.replace(b"a/x", b"a/x.orig"), [("x", "x", False)]),
    "a time of zero is no file": (
        b"--- a/x\t1970-01-01 01:00:00.000000000 +0100\n+++ b/x\n@@ -0,0 +1 @@\n+one\n",
        [(None, "x", False)],
    ),
    "a new file": (b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n", [(None, "x", False)]),
    "a deleted file": (b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", [("x", None, False)]),
    "a new empty file": (
        b"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n",
        [(None, "x", False)],
    ),
    "a mode, of a name with blanks": (
        b"diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n",
        [("x b/x", "x b/x", False)],
    ),
    "a rename": (
        b"diff --git a/x y b/b/z\nsimilarity index 100%\nrename from x y\nrename to b/z\n",
        [("x y", "b/z", False)],
    ),
    "quoted names": (
        b'diff --git "a/\\303\\251\\t" "b/\\303\\251\\t"\nold mode 100644\nnew mode 100755\n',
        [("é\t", "é\t", False)],
    ),
    "a name that is not UTF-8": (EDIT.replace(b"/x", b"/\xff"), [("\udcff", "\udcff", False)]),
    "binary files that differ": (
        b"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        [("x", "x", True)],
    ),
    "binary files that differ, outside git": (
        b"Binary files a/x and b/x differ\n" + EDIT.replace(b"/x", b"/y"),
        [("x", "x", True), ("y", "y", False)],
    ),
    "lines that look like a header": (
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/y\n+++ b/y\n" + EDIT.replace(b"/x", b"/z"),
        [("x", "x", False), ("z", "z", False)],
    ),
    "no diff": (b"Mend the ledger.\n", []),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("text", "named"), FILES.values(), ids=FILES.keys())
def test_the_files_that_a_diff_names(text: bytes, named: list[Named]) -> None:
    assert [(part.header.before, part.header.after, part.binary) for part in parts(text)] == named


HUNKS: dict[str, tuple[bytes, list[tuple[int, int]]]] = {
    "as its header says": (b"@@ -1,2 +1 @@\n-a\n b\n", [(2, 1)]),
    "what follows is text": (b"@@ -1 +1 @@\n-a\n+b\n\ntext\n", [(1, 1)]),
    "a mail's signature is no line of it": (b"@@ -1 +1,9 @@\n-a\n+b\n-- \n2.39.5\n", [(1, 1)]),
    "a blank line is one that an editor stripped": (b"@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n", [(3, 3)]),
    "no newline at the end": (b"@@ -1 +1 @@\n-a\n\\ No newline\n+b\n\\ No newline\n", [(1, 1)]),
    "more lines than said": (b"@@ -1 +1 @@\n-a\n+b\n+c\n", [(1, 2)]),
    "a header that cannot be read": (b"@@ -x +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n", [(1, 1), (1, 1)]),
}


@pytest.mark.parametrize(("text", "found"), HUNKS.values(), ids=HUNKS.keys())
def test_where_a_hunk_ends(text: bytes, found: list[tuple[int, int]]) -> None:
    (part,) = parts(b"--- a/x\n+++ b/x\n" + text)
    assert [hunk.found for hunk in part.hunks] == found


LONG = 300_000
LONG_LINES: dict[str, tuple[bytes, list[Named]]] = {
    "blanks in a name": (EDIT.replace(b"/x", b"/" + b" " * LONG + b"x"), [(" " * LONG + "x", " " * LONG + "x", False)]),
    "carriage returns": (b"diff --git a/x b/x\nindex " + b"\r" * LONG + b"x\n", [("x", "x", False)]),
    "a merge's carriage returns": (b"diff --cc " + b"\r" * LONG + b"x\n", []),
    "files that do not differ": (b"Binary files " + b" and " * LONG + b"\n", []),
}


@pytest.mark.parametrize(("text", "named"), LONG_LINES.values(), ids=LONG_LINES.keys())
def test_a_long_line_is_read_in_one_go(text: bytes, named: list[Named]) -> None:
    assert [(part.header.before, part.header.after, part.binary) for part in parts(text)] == named
