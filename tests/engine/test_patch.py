"""Diffs that do not apply refuse their task and nothing else; those that look odd and do apply are applied."""

from __future__ import annotations

import pytest

from repair.errors import ImageError
from repair.pipeline import Result, State
from tests.engine.conftest import BuildImage
from tests.engine.lab import ADD, F2P, P2P, Lab, added, record, write_panel, write_task

pytestmark = pytest.mark.engine

FILES = r"""
FROM repair-test/odd-plain:1
RUN printf 'one\r\ntwo\r\nthree\r\n' >windows.txt && printf 'one\ntwo' >open.txt && ln -s /etc outside \
 && ln -s tests inside \
 && mkdir notes && printf '*.txt text eol=crlf\n' >notes/.gitattributes && printf 'one\r\ntwo\r\n' >notes/a.txt
"""


def change(path: str, old: str, new: str, *below: str) -> bytes:
    """A diff of a file's first line; `below` are those that follow it, all of them where there are none."""
    lines = 1 + len(below)
    context = "".join(f" {line}\n" for line in below)
    return f"--- a/{path}\n+++ b/{path}\n@@ -1,{lines} +1,{lines} @@\n-{old}\n+{new}\n{context}".encode()


def create(path: str) -> bytes:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n".encode()


REFUSED = {
    "content conflict": (ADD.replace(b"a - b", b"a * b"), "calc.py: patch does not apply"),
    "context that is only near": (ADD.replace(b"def add(a, b)", b"def add(a,  b)"), "calc.py: patch does not apply"),
    "applied already": (change("tests/../calc.py", "x", "y"), "tests/../calc.py"),
    "a file that is not there": (change("lost.py", "a", "b"), "lost.py: No such file or directory"),
    "a new file that is there": (added({"calc.py": "x\n"}), "calc.py: already exists"),
    "no diff at all": (b"Please change calc.py.\n", "No valid patches in input"),
    "cut short": (ADD[:-20], "corrupt patch at line"),
    "a hunk that holds nothing": (b"--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n", "corrupt patch at line"),
    "a hunk without lines": (b"--- a/calc.py\n+++ b/calc.py\n@@ -0,0 +0,0 @@\n", "corrupt patch at line"),
    "a binary without its content": (
        b"diff --git a/x.bin b/x.bin\nindex 0123456..789abcd 100644\nBinary files a/x.bin and b/x.bin differ\n",
        "x.bin",
    ),
    "outside, by dots": (create("../../etc/planted"), "../../etc/planted"),
    "outside, by dots in the middle": (create("tests/../../planted"), "tests/../../planted"),
    "outside, absolute": (create("/etc/planted"), "/etc/planted"),
    "into .git": (create(".git/hooks/post-checkout"), ".git/hooks/post-checkout"),
    "into a .git below": (create("tests/.git/config"), "tests/.git/config"),
    "through a link that leaves": (create("outside/planted"), "outside/planted"),
    "through a link that stays": (create("inside/planted.py"), "inside/planted.py"),
    "a path that is not UTF-8": (create("x").replace(b"b/x", b'"b/caf\\351.txt"'), "not UTF-8"),
    "one good file and one bad": (
        ADD + change("tests/test_calc.py", "import nothing", "import something"),
        "test_calc",
    ),
    "Unix line ends for a Windows file": (change("windows.txt", "one", "uno"), "windows.txt: patch does not apply"),
    "a final newline that is not there": (change("open.txt", "two", "due"), "open.txt: patch does not apply"),
}

APPLIES = {
    "Windows line ends": b"--- a/windows.txt\n+++ b/windows.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+due\r\n three\r\n",
    "Windows line ends by the repo's attributes": change("notes/a.txt", "one", "uno", "two"),
    "no final newline before": (
        b"--- a/open.txt\n+++ b/open.txt\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n"
    ),
    "no final newline after": (
        b"--- a/open.txt\n+++ b/open.txt\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+due\n"
        b"\\ No newline at end of file\n"
    ),
    "text around the diff": b"From: someone\nSubject: mend add\n\nIt subtracts.\n---\n calc.py | 2 +-\n\n",
    "lines that moved": b"",
    "one file twice": b"".join(
        b"--- a/open.txt\n+++ b/open.txt\n@@ -1,2 +1,2 @@\n-%b\n+%b\n two\n\\ No newline at end of file\n" % pair
        for pair in ((b"one", b"uno"), (b"uno", b"eins"))
    ),
    "a name with blanks and a quote": b'--- /dev/null\n+++ "b/a \\"b\\" c.txt"\n@@ -0,0 +1 @@\n+new\n',
    "a submodule's new commit": b"diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..0123456\n--- /dev/null\n"
    b"+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 0123456789012345678901234567890123456789\n",
}
SEEN = {
    "Windows line ends by the repo's attributes": ("notes/a.txt", b"uno\r\ntwo\r\n"),
    "Windows line ends": ("windows.txt", b"one\r\ndue\r\nthree\r\n"),
    "no final newline before": ("open.txt", b"one\ntwo\n"),
    "no final newline after": ("open.txt", b"one\ndue"),
    "one file twice": ("open.txt", b"eins\ntwo"),
    "a name with blanks and a quote": ('a "b" c.txt', b"new\n"),
}
HIDDEN = "import os\n\n\ndef test_seen():\n    assert open({!r}, 'rb').read() == {!r}\n"


@pytest.fixture(scope="module")
def refused(lab: Lab, build_image: BuildImage) -> dict[str, Result]:
    panel, image = write_panel(lab.fresh()), build_image(FILES)
    for name, (patch, _) in REFUSED.items():
        write_task(panel, name, oracle=patch, image=image)
    write_task(panel, "the hidden tests", tests=change("lost.py", "a", "b"), image=image)
    write_task(panel, "no such folder", workdir="/nowhere")
    return lab.run(panel)


@pytest.mark.parametrize("name", REFUSED)
def test_a_diff_that_does_not_apply_is_the_only_reason(refused: dict[str, Result], name: str) -> None:
    result = refused[name]
    assert result.error is None
    document = record(result.task.directory)
    assert (document["verdict"], document["dropped"], document["confirmation"]) == ("refused", [], None)
    (reason,) = document["reasons"]
    assert set(reason) == {"rule", "cause"}
    assert reason["rule"] == "patch"
    assert reason["cause"].startswith("oracle.patch: ")
    assert REFUSED[name][1] in reason["cause"]
    assert document["controls"]["oracle"] == [{"exit": None, "patch": reason["cause"]}]
    assert document["controls"]["empty"] == [{"exit": 1}]


def test_hidden_tests_that_do_not_apply_refuse_by_both_controls(refused: dict[str, Result]) -> None:
    document = record(refused["the hidden tests"].task.directory)
    (reason,) = document["reasons"]
    assert reason == {"rule": "patch", "cause": "tests.patch: lost.py: No such file or directory"}
    assert [runs[0]["exit"] for runs in document["controls"].values()] == [None, None]


def test_a_working_directory_that_is_not_there_is_the_images_fault(refused: dict[str, Result]) -> None:
    result = refused["no such folder"]
    assert result.state is State.FAILED
    assert isinstance(result.error, ImageError)
    assert "/nowhere" in result.error.message
    assert "`workdir`" in result.error.next
    assert not (result.task.directory / "repair.json").exists()


@pytest.fixture(scope="module")
def applied(lab: Lab, build_image: BuildImage) -> dict[str, Result]:
    panel, image = write_panel(lab.fresh()), build_image(FILES)
    for name, patch in APPLIES.items():
        path, content = SEEN.get(name, ("open.txt", b"one\ntwo"))
        oracle = ADD.replace(b"@@ -1,2 +1,2", b"@@ -7,2 +7,2") if name == "lines that moved" else ADD
        hidden = added({"tests/test_seen.py": HIDDEN.format(path, content)})
        ids = ["tests/test_seen.py::test_seen"] if name in SEEN else []
        write_task(panel, name, [*F2P, *ids], P2P, patch + oracle, hidden, image=image)
    place, words = "tests/test_calc.py", ("import pytest", "import pytest  # hidden", "import pytest  # reference")
    write_task(
        panel,
        "hidden tests and reference in one file",
        tests=change(place, words[0], words[1], "", "import calc"),
        oracle=ADD + change(place, words[1], words[2], "", "import calc"),
        image=image,
    )
    chain = [added({"made.txt": "hidden\n"}), ADD + change("made.txt", "hidden", "reference")]
    write_task(panel, "reference changes what hidden tests add", tests=chain[0], oracle=chain[1], image=image)
    return lab.run(panel)


@pytest.mark.parametrize(
    "name", [*APPLIES, "hidden tests and reference in one file", "reference changes what hidden tests add"]
)
def test_an_odd_diff_applies(applied: dict[str, Result], name: str) -> None:
    result = applied[name]
    assert result.error is None
    assert record(result.task.directory)["reasons"] == []
    assert record(result.task.directory)["verdict"] == "clean"
