"""Diffs as text: what they name, what git would never take, and their reverse, held against the real git."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.errors import UsageError
from repair.panel import patches
from repair.panel.patches import FileDiff

EDIT = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+two\n same\n"
NO_CONFIG = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def git(tree: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Outside any repo but one that is named: there git takes binary content from a diff, having no other."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@invalid", "-c", "core.autocrlf=false")
    env = {"PATH": os.environ["PATH"], "HOME": str(tree), "GIT_CEILING_DIRECTORIES": str(tree.parent), **NO_CONFIG}
    return subprocess.run(["git", *who, *args], cwd=tree, env=env, input=stdin, capture_output=True, check=False)


# ---- the files that a diff names


def test_files() -> None:
    moved = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
    assert patches.files(moved + b"text\n" + new("z") + BINARY) == (
        FileDiff("x", "y", False),
        FileDiff(None, "z", False),
        FileDiff("x", "x", True),
    )


# ---- what git would never take, or must not


def new(path: str) -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n".encode()
    )


BINARY = (
    b"diff --git a/x b/x\n"
    b"index f76dd238ade08917e6712764a16a22005a50573d..6b2aaa7640726588bcd3d57e1de4b1315b7f315e 100644\n"
    b"GIT binary patch\nliteral 1\nIcmZPs000620ssI2\n\nliteral 1\nIcmZPo000310RR91\n\n"
)
PROBLEMS: dict[str, tuple[bytes, list[str]]] = {
    "a good diff": (EDIT, []),
    "a good binary diff": (BINARY, []),
    "no newline at the end": (EDIT[:-1], []),
    "text around it": (b"From: nobody\nSubject: mend\n---\n x | 2 +-\n\n" + EDIT + b"-- \n2.39.5\n\n", []),
    "an absolute path": (new("/etc/x"), ["/etc/x: an absolute path"]),
    "an absolute path, plain": (EDIT.replace(b"a/x", b"/x").replace(b"b/x", b"/x"), ["/x: an absolute path"]),
    "a way up": (new("s/../x"), ["s/../x: `..` in a path"]),
    "a way up, quoted": (
        EDIT.replace(b"a/x", b'"a/\\056./x"').replace(b"b/x", b'"b/\\056./x"'),
        ["../x: `..` in a path"],
    ),
    "the same folder": (new("./x"), ["./x: `.` in a path"]),
    "git's own folder": (new(".git/hooks/x"), [".git/hooks/x: a path into .git"]),
    "git's own folder, deep and in capitals": (new("s/.GIT/x"), ["s/.GIT/x: a path into .git"]),
    "git's own folder, by its short name": (new("git~1/x"), ["git~1/x: a path into .git"]),
    "a rename into git's own folder": (
        b"diff --git a/x b/.git/x\nsimilarity index 100%\nrename from x\nrename to .git/x\n",
        [".git/x: a path into .git"],
    ),
    "what only begins like it": (new(".github/x"), []),
    "a zero byte": (EDIT.replace(b"a/x", b'"a/\\000"').replace(b"b/x", b'"b/\\000"'), ["\\x00: a zero byte in a path"]),
    "binary without content": (
        b"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        ["x: a binary file without its content"],
    ),
    "binary without content, outside git": (
        b"Binary files a/y and b/y differ\n" + EDIT,
        ["y: a binary file without its content"],
    ),
    "binary content cut": (
        BINARY[: BINARY.index(b"\n\nlit")] + b"\n" + new("y"),
        ["x: its binary content is cut short"],
    ),
    "binary content without its last line": (BINARY[:-2], ["x: its binary content lacks the blank line at its end"]),
    "a hunk that is short": (
        EDIT.replace(b" same\n", b""),
        ["x: hunk 1 has 1 old and 1 new lines where its header says 2 and 2"],
    ),
    "a hunk that goes on": (EDIT + b"+three\n", ["x: hunk 1 has 2 old and 3 new lines where its header says 2 and 2"]),
    "the second hunk": (
        EDIT + b"@@ -9,2 +9,3 @@ def f():\n-a\n+b\n",
        ["x: hunk 2 has 1 old and 1 new lines where its header says 2 and 3"],
    ),
    "a hunk without a change": (EDIT.replace(b"-one\n+two\n", b" one\n"), ["x: hunk 1 changes nothing"]),
    "a hunk header that is none": (EDIT.replace(b"-1,2", b"-x,2"), ["x: hunk 1 has a header that cannot be read"]),
    "a hunk without a file": (EDIT[EDIT.index(b"@@") :], ["line 1: a hunk without a file before it"]),
    "a new file that has old lines": (
        new("y").replace(b"-0,0 +1 @@\n", b"-1 +1,2 @@\n y\n"),
        ["y: a new file with old lines"],
    ),
    "a deleted file whose lines stay": (
        b"--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n",
        ["x: a deleted file with lines that stay"],
    ),
    "a deletion without its lines": (
        b"diff --git a/x b/x\ndeleted file mode 100644\nindex 1234567..0000000\n",
        ["x: a file without its content"],
    ),
    "a header alone": (b"diff --git a/x b/x\nindex 1234567..7654321 100644\n", ["x: a header without a change"]),
    "a new file without the line for it": (
        new("x").replace(b"new file mode 100644\n", b"index 0000000..1234567\n"),
        ["x: /dev/null and the line `new file mode` are not together"],
    ),
    "half a header": (
        b"diff --git a/x b/x\nindex 1234567..7654321 100644\n--- a/x\n" + EDIT[16:],
        ["x: only one of the lines --- and +++"],
    ),
    "a git header without a name": (b"diff --git a/x b/y\n\n" + EDIT, ["line 1: a git header without a file's name"]),
    "git's header without prefixes": (
        b"diff --git x x\nindex 1234567..7654321 100644\n--- x\n+++ x\n" + EDIT[16:],
        ["x: no a/ and b/ before its path"],
    ),
    "git's binary header in Windows line ends": (
        b"diff --git a/x b/x\r\nold mode 100644\r\nnew mode 100755\r\n",
        ["x: Windows line ends in a header, in which git then finds no name or binary content"],
    ),
    "a merge": (
        b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n",
        ["x: the combined diff of a merge, which git apply passes over"],
    ),
    "no diff": (b"Mend the ledger.\n", ["nothing in it is a diff"]),
    "nothing": (b"", ["nothing in it is a diff"]),
    "each once": (new("../x") + new("../x"), ["../x: `..` in a path"]),
}


@pytest.mark.parametrize(("text", "said"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_problems(text: bytes, said: list[str]) -> None:
    assert list(patches.problems(text)) == said


# git passes over these in silence, or reads another path; the newline is the caller's to add
LENIENT = {"a hunk that goes on", "binary without content, outside git", "an absolute path, plain"}


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in {*LENIENT, "no newline at the end"}])
def test_git_thinks_so_too(name: str, tmp_path: Path) -> None:
    text, said = PROBLEMS[name]
    (tmp_path / "x").write_bytes(b"\0" if text == BINARY else b"one\nsame\n")
    done = git(tmp_path, "apply", "--check", "-", stdin=text)
    assert (done.returncode != 0) == bool(said), done.stderr


# ---- the reverse

REVERSED: dict[str, tuple[bytes, bytes]] = {
    "an edit": (EDIT, b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n"),
    "counts and section": (
        b"--- a/x\n+++ b/x\n@@ -7 +7,2 @@ def f(): # @@ -1 +1 @@\n-a\n+b\n+c\n",
        b"--- a/x\n+++ b/x\n@@ -7,2 +7 @@ def f(): # @@ -1 +1 @@\n-b\n-c\n+a\n",
    ),
    "a new file": (
        new("x"),
        b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    ),
    "a new file, plain": (
        b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
        b"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    ),
    "modes and index": (
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1234567..7654321\n" + EDIT,
        (
            b"diff --git a/x b/x\nold mode 100755\nnew mode 100644\nindex 7654321..1234567\n"
            b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n"
        ),
    ),
    "index with a mode": (
        b"diff --git a/x b/x\nindex 12..34 100644\n" + EDIT,
        b"diff --git a/x b/x\nindex 34..12 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n",
    ),
    "a rename with an edit": (
        (
            b'diff --git a/x y "b/\\303\\251"\nsimilarity index 80%\nrename from x y\nrename to "\\303\\251"\n'
            b'--- a/x y\t\n+++ "b/\\303\\251"\n@@ -1 +1 @@\n-a\n+b\n'
        ),
        (
            b'diff --git "a/\\303\\251" b/x y\nsimilarity index 80%\nrename from "\\303\\251"\nrename to x y\n'
            b'--- "a/\\303\\251"\n+++ b/x y\t\n@@ -1 +1 @@\n-b\n+a\n'
        ),
    ),
    "a rename without prefixes": (
        b"diff --git src/x lib/y\nsimilarity index 100%\nrename from src/x\nrename to lib/y\n",
        b"diff --git lib/y src/x\nsimilarity index 100%\nrename from lib/y\nrename to src/x\n",
    ),
    "no prefixes": (
        EDIT.replace(b"a/x", b"x").replace(b"b/x", b"x"),
        b"--- x\n+++ x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n",
    ),
    "times go with their file": (
        EDIT.replace(b"a/x", b"a/x\t2020").replace(b"b/x", b"b/x\t2021"),
        b"--- a/x\t2021\n+++ b/x\t2020\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n",
    ),
    "two names, of which git takes the second": (
        EDIT.replace(b"a/x", b"a/old"),
        b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n",
    ),
    "no newline at the end of a file": (
        b"--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n",
        b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n-b\n\\ No newline at end of file\n+a\n\\ No newline at end of file\n",
    ),
    "changes that alternate": (
        b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n+A\n-a\n+B\n-b\n same\n",
        b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-A\n-B\n+a\n+b\n same\n",
    ),
    "Windows line ends in the content": (
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n",
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\r\n+a\r\n",
    ),
    "Windows line ends all over, cut at the end": (
        EDIT.replace(b"\n", b"\r\n")[:-2],
        b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n".replace(b"\n", b"\r\n"),
    ),
    "binary": (
        BINARY.rstrip(),
        (
            b"diff --git a/x b/x\n"
            b"index 6b2aaa7640726588bcd3d57e1de4b1315b7f315e..f76dd238ade08917e6712764a16a22005a50573d 100644\n"
            b"GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 1\nIcmZPs000620ssI2\n\n"
        ),
    ),
    "an old diff of one file, then only another's mode": (
        EDIT.removeprefix(b"diff --git a/x b/x\n") + b"diff --git a/s b/s\nold mode 100644\nnew mode 100755\n",
        (
            b"diff --git a/s b/s\nold mode 100755\nnew mode 100644\n\n"
            b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n"
        ),
    ),
    "two files, and a mail around them": (
        b"Subject: mend\n\n" + EDIT + b"\n" + new("y") + b"-- \n2.39.5\n",
        (
            b"diff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
            b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-two\n+one\n same\n"
        ),
    ),
}


@pytest.mark.parametrize(("text", "undone"), REVERSED.values(), ids=REVERSED.keys())
def test_reverse(text: bytes, undone: bytes) -> None:
    assert patches.reverse(text) == undone
    assert patches.reverse(patches.reverse(undone)) == undone


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", "y: a copy", id="a copy"),
        pytest.param(PROBLEMS["binary content cut"][0], "x: its binary content is cut", id="binary, cut"),
        pytest.param(BINARY[: BINARY.rindex(b"literal")], "x: binary content in one direction", id="binary, one way"),
        pytest.param(PROBLEMS["binary without content"][0], "x: a binary file", id="binary without content"),
        pytest.param(EDIT.replace(b" same\n", b""), "x: hunk 1", id="a hunk that is short"),
        pytest.param(PROBLEMS["a deletion without its lines"][0], "x: a file", id="a deletion without its lines"),
        pytest.param(b"Mend the ledger.\n", "nothing in it is a diff", id="no diff"),
        pytest.param(b"", "nothing in it is a diff", id="nothing"),
    ],
)
def test_what_cannot_be_reversed(text: bytes, said: str) -> None:
    with pytest.raises(UsageError, match="cannot be reversed") as caught:
        patches.reverse(text)
    assert said in str(caught.value)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    st.lists(
        st.sampled_from([*EDIT.splitlines(True), *new("y").splitlines(True), *BINARY.splitlines(True), b"\xff", b"\n"])
    )
)
def test_no_text_breaks_it(lines: list[bytes]) -> None:
    text = b"".join(lines)
    assert patches.files(text) or patches.problems(text)
    assert reversed_or_empty(text) == b"" or patches.files(patches.reverse(text))


def reversed_or_empty(text: bytes) -> bytes:
    try:
        return patches.reverse(text)
    except UsageError:
        return b""


# ---- against the real git

NAMES = st.sampled_from(
    ["x", "na me", "b/x", "a b/a b", 'q"uo\te', "é", "s/b/ü.txt", "-- x", "x.orig", "s/back\\slash"]
)
LINES = st.lists(st.sampled_from(["a", "b", "-- a", "++ b", "", "c\r", "é", "@@ -1 +1 @@", "\\ No", " d"]), max_size=9)
TEXTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), LINES, st.sampled_from(["", "\n"]))
CONTENTS = st.one_of(TEXTS, TEXTS, st.binary(max_size=40).map(lambda data: b"\0" + data))


Tree = dict[str, tuple[bytes, bool]]  # what a file holds, and whether it runs


@dataclass(frozen=True)
class Change:
    before: Tree
    after: Tree


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A few files, of which some are edited, deleted, renamed, or get another mode; and new ones."""
    before = draw(st.dictionaries(NAMES, st.tuples(CONTENTS, st.booleans()), min_size=1, max_size=5))
    after = {}
    for name, (content, runs) in before.items():
        fate = draw(st.sampled_from(["same", "edit", "edit", "gone", "moved", "mode"]))
        if fate == "edit":
            after[name] = (draw(st.one_of(CONTENTS, st.just(content + b"more\n"))), runs)
        elif fate == "moved":
            after[f"{name} to"] = (content, runs)
        elif fate != "gone":
            after[name] = (content, runs != (fate == "mode"))
    for name in draw(st.lists(NAMES, max_size=2)):
        after.setdefault(name, (draw(CONTENTS), False))
    return Change(
        *({name: entry for name, entry in tree.items() if not clashes(name, tree)} for tree in (before, after))
    )


def clashes(name: str, others: Tree) -> bool:
    return any(other.startswith(f"{name}/") for other in others)


def write(folder: Path, tree: Tree) -> None:
    folder.mkdir()
    for name, (content, runs) in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755 if runs else 0o644)


def read(folder: Path) -> Tree:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): (file.read_bytes(), os.access(file, os.X_OK)) for file in files}


def identity(repo: Path, folder: Path) -> str:
    """git's id of a folder's files."""
    where = (f"--git-dir={repo}", f"--work-tree={folder}")
    git(folder, *where, "add", "-A", ".")
    return git(folder, *where, "write-tree").stdout.decode().strip()


@pytest.mark.parametrize("quotepath", ["true", "false"])
@settings(derandomize=True, deadline=None, max_examples=15)
@given(change=changes())
def test_the_reverse_does_what_git_apply_reverse_does(quotepath: str, change: Change) -> None:
    with tempfile.TemporaryDirectory() as name:
        repo, old, tree = (Path(name) / part for part in ("repo", "old", "tree"))
        write(old, change.before)
        write(tree, change.after)
        git(Path(name), "init", "-q", "--bare", str(repo))
        ids = identity(repo, old), identity(repo, tree)
        text = git(repo, "-c", f"core.quotepath={quotepath}", "diff", "--binary", "-M", *ids).stdout
        if not text:
            return
        assert patches.problems(text) == ()
        undone = patches.reverse(text)
        assert patches.problems(undone) == ()
        assert [(f.new, f.old, f.binary) for f in patches.files(text)][::-1] == [
            (f.old, f.new, f.binary) for f in patches.files(undone)
        ]
        for patch, args, expected in (
            (text, ["--reverse"], change.before),
            (text, [], change.after),
            (undone, [], change.before),
            (patches.reverse(undone), [], change.after),
        ):
            done = git(tree, "apply", "--whitespace=nowarn", *args, "-", stdin=patch)
            assert done.returncode == 0, done.stderr
            assert read(tree) == expected


def test_a_side_that_names_nothing_cannot_be_reversed() -> None:
    with pytest.raises(UsageError, match="names nothing"):
        patches.reverse(b"--- a/x\n+++ \tb/y\n@@ -0,0 +1 @@\n+a\n")
