"""Patches and images that reach for what is not theirs: beyond the repo, into .git, onto this machine, for its memory.

A refused patch changes nothing at all, in the container or here: a canary on this machine and a file that every patch
would mend as well stay as they are.
"""

from __future__ import annotations

import zlib
from base64 import b85encode
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

import pytest

from repair.controls import apply, git
from repair.errors import DiskFull, NoEvidence
from repair.sandbox.archive import Entry
from tests.engine.conftest import BuildImage
from tests.engine.lab import ADD, Lab, added

pytestmark = pytest.mark.engine

SECRET = b"a secret of this machine\n"
BROKEN, MENDED = b"return a - b", b"return a + b"
BIG = 4 << 20


@dataclass(frozen=True)
class Place:
    """An image that is up to no good, and the folder of this machine at which it aims."""

    image: str
    canary: Path

    @property
    def seen(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in self.canary.iterdir()}


@pytest.fixture(scope="module")
def place(build_image: BuildImage, tmp_path_factory: pytest.TempPathFactory) -> Place:
    canary = tmp_path_factory.mktemp("canary")
    (canary / "secret").write_bytes(SECRET)
    evil = f'[filter \\"x\\"]\\n\\tclean = touch {canary}/ran; cat\\n\\tsmudge = touch {canary}/ran; cat\\n'
    evil += f'\\tprocess = touch {canary}/ran\\n[diff \\"x\\"]\\n\\tcommand = touch {canary}/ran\\n'
    evil += f"[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch {canary}/ran\\n\\thooksPath = evil\\n"
    image = build_image(
        f"""\
FROM repair-test/odd-plain:1
RUN mkdir -p {canary} && printf one >{canary}/other && ln -s /etc etc && ln -s .. up && ln -s /.repair-0123abcd ours \\
 && ln -s {canary} here && ln -s {canary}/secret secret && ln -s .git inner
RUN mkdir folder evil evil/objects evil/refs && for name in folder/secret folder/planted folder/only mended.txt \\
    evil/objects/x evil/refs/x "$(printf 'two\\nlines')" "$(printf 'red\\033[31m\\342\\200\\256')"; do \\
    echo one >"$name"; done
RUN printf "{evil}" >evil/config && cp evil/config .gitconfig && cp evil/config .git/config.worktree \\
 && mkdir -p .config/git && cp evil/config .config/git/config && echo ../evil >.git/commondir \\
 && printf '* filter=x diff=x merge=x\\n' >.gitattributes && cp .gitattributes .config/git/attributes \\
 && mkdir -p .git/info && cp .gitattributes .git/info/attributes
RUN mkfifo pipe && mknod device c 1 3 && head -c {BIG} /dev/zero >big
"""
    )
    return Place(image, canary)


@dataclass(frozen=True)
class Tried:
    """What became of a chain of patches, and some files of the container afterwards."""

    applied: apply.Applied
    files: dict[str, Entry | None]


def tried(lab: Lab, place: Place, *chain: bytes, look: tuple[str, ...] = ()) -> Tried:
    """Apply a chain in a fresh container, and look at files there, calc.py among them."""
    task = lab.task([], image=place.image)
    image = lab.sandbox.images.get(task, False, lambda _: None)
    names = ["tests.patch", "oracle.patch"][-len(chain) :]
    patches = list(zip(names, chain, strict=True))
    with lab.sandbox.container(task, image, "hostile", ["/bin/true"]) as box:
        try:
            applied = apply.apply(box, "/testbed", patches, patches)
        finally:
            assert place.seen == {"secret": SECRET}, "this machine is as it was"
        return Tried(applied, {path: box.get(path) for path in ("/testbed/calc.py", *look)})


def quoted(path: str) -> str:
    text = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in path.encode())
    return f'"{text}"'


def create(path: str) -> bytes:
    name = quoted(f"b/{path}") if not path.startswith("/") else path
    return f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+new\n".encode()


def change(path: str) -> bytes:
    return f"--- {quoted(f'a/{path}')}\n+++ {quoted(f'b/{path}')}\n@@ -1 +1 @@\n-one\n+two\n".encode()


def delete(path: str) -> bytes:
    both = f"diff --git {quoted(f'a/{path}')} {quoted(f'b/{path}')}\ndeleted file mode 100644\n"
    return f"{both}--- {quoted(f'a/{path}')}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n".encode()


def made(path: str, mode: str, text: str) -> bytes:
    """A link or a submodule, by git's mode for it."""
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..0123456\n--- /dev/null\n+++ b/{path}\n"
    end = "\n" if mode == "160000" else "\n\\ No newline at end of file\n"
    return f"{head}@@ -0,0 +1 @@\n+{text}{end}".encode()


def link(path: str, to: object) -> bytes:
    return made(path, "120000", str(to))


def moved(verb: str, old: str, new: str) -> bytes:
    return f"diff --git a/{old} b/{new}\nsimilarity index 100%\n{verb} from {old}\n{verb} to {new}\n".encode()


SUBMODULE = "Subproject commit 0123456789012345678901234567890123456789"
REFUSED = {
    # ---- through links
    "through a link of the image": [create("etc/planted")],
    "through a link that leads up": [create("up/planted")],
    "through a link to our folder": [create("ours/in/select.json")],
    "through a link to this machine's folder": [change("here/secret")],
    "through a link into .git": [create("inner/hooks/post-checkout")],
    "through a link that the patch makes": [link("new", "/etc") + create("new/planted")],
    "through a link that the patch makes later": [create("new/planted") + link("new", "/etc")],
    "through a link that the patch before makes": [link("new", "/etc"), create("new/planted")],
    "through a link that the patch before puts for a folder": [
        delete("folder/only") + link("folder", "CANARY"),
        change("folder/planted"),
    ],
    "through a link that the patch before puts for a folder, at a secret": [
        delete("folder/only") + link("folder", "CANARY"),
        change("folder/secret"),
    ],
    "a link itself, as if it were a file": [change("secret")],
    # ---- into .git
    **{
        f"into {path!a}": [create(path)]
        for path in (
            *(".git/config", ".git/hooks/post-checkout", ".git/commondir", ".git/info/attributes", ".git"),
            *("tests/.git/config", ".GIT/config", ".git /config", ".git./config", "git~1/config", "GIT~1/config"),
            *(".git\u200c/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/config"),
        )
    },
    "a link for .git": [link(".git", "evil")],
    "a submodule for .git": [made(".git", "160000", SUBMODULE)],
    "a rename into .git": [moved("rename", "mended.txt", ".git/hooks/post-checkout")],
    # ---- out of the repo
    "absolute": [create("/etc/planted")],
    "up": [create("../etc/planted")],
    "up, in the middle": [create("tests/../../etc/planted")],
    "into our folder": [create("../.repair-0123abcd/in/select.json")],
    "a rename out": [moved("rename", "mended.txt", "../etc/planted")],
    "a copy in": [moved("copy", "../etc/passwd", "mine")],
    # ---- names that no file can have
    "a path of ten thousand characters": [create("a/" * 5000 + "x")],
    "a name of ten thousand characters": [create("a" * 10_000)],
    "a name of three hundred bytes": [create("\u00e9" * 150)],
    # ---- git's own directory is the image's
    "git's directory is said to be another": [
        b"".join(map(change, ("mended.txt", "evil/objects/x", "evil/refs/x", "evil/config"))) + create(".git/commondir")
    ],
    "inflates to more than it says": [
        b"diff --git a/bomb b/bomb\nnew file mode 100644\nindex " + b"0" * 40 + b".." + b"1" * 40 + b"\n"
        b"GIT binary patch\nliteral 10\n" + b"BOMB" + b"\n\nliteral 0\nHcmV?d00001\n\n"
    ],
}
PLANTED = ("/etc/planted", "/planted", "/.repair-0123abcd", "/testbed/.git/hooks/post-checkout")


def binary(data: bytes) -> bytes:
    """Deflated data in the lines of a git binary patch."""
    packed, lines = zlib.compress(data, 9), []
    for start in range(0, len(packed), 52):
        part = packed[start : start + 52]
        size = chr(ord("A") + len(part) - 1) if len(part) <= 26 else chr(ord("a") + len(part) - 27)
        lines.append(size.encode() + b85encode(part, pad=True))
    return b"\n".join(lines)


@pytest.mark.parametrize("name", REFUSED)
def test_a_patch_that_reaches_out_is_refused_and_changes_nothing(lab: Lab, place: Place, name: str) -> None:
    *before, last = (
        part.replace(b"CANARY", str(place.canary).encode()).replace(b"BOMB", binary(bytes(1 << 20)))
        for part in REFUSED[name]
    )
    found = tried(lab, place, *before, ADD + last, look=(*PLANTED, f"{place.canary}/other", f"{place.canary}/planted"))
    error = found.applied.error
    assert error is not None
    assert error.startswith("oracle.patch: ")
    assert error.isprintable()
    assert len(error) <= 400
    assert SECRET.decode().strip() not in error
    calc, *planted, other, beyond = found.files.values()
    assert calc is not None
    assert other is not None
    assert (BROKEN in calc.content, other.content) == (True, b"one")
    assert [*planted, beyond] == [None] * (len(PLANTED) + 1)


APPLIES = {
    "drivers in .gitattributes, used": [change("mended.txt")],
    "drivers in .gitattributes, changed": [
        b"--- a/.gitattributes\n+++ b/.gitattributes\n@@ -1 +1 @@\n-* filter=x diff=x merge=x\n+* filter=x diff=x\n",
        change("mended.txt"),
    ],
    "drivers that the patch brings": [
        added({"more/.gitattributes": "* filter=x diff=x merge=x\n", ".gitconfig2": "x\n"}),
        added({"more/mended.txt": "two\n"}) + change("mended.txt"),
    ],
    "a submodule that runs a command": [
        added({".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% CANARY/ran\n'})
        + made("x", "160000", SUBMODULE),
        change("mended.txt"),
    ],
    "a link for a folder": [delete("folder/secret") + link("folder", "CANARY"), change("mended.txt")],
    "a link to this machine": [link("mine", "CANARY/secret"), change("mended.txt")],
    "a copy": [moved("copy", "mended.txt", "copied.txt"), change("mended.txt")],
    "names of several lines": [create("three\nmore\nlines") + create("red\x1b[31m"), change("two\nlines")],
}


@pytest.mark.parametrize("name", APPLIES)
def test_what_may_be_applied_runs_nothing_and_reads_nothing_here(lab: Lab, place: Place, name: str) -> None:
    chain = [part.replace(b"CANARY", str(place.canary).encode()) for part in APPLIES[name]]
    look = (f"{place.canary}/secret", f"{place.canary}/ran", "/testbed/mended.txt", "/testbed/two\nlines")
    found = tried(lab, place, *chain, look=look)
    assert found.applied.error is None
    _, secret, ran, *mended = found.files.values()
    assert (secret, ran) == (None, None)
    assert b"two\n" in [entry.content for entry in mended if entry is not None]
    assert f"{place.canary}/secret" not in found.applied.deleted


def test_what_goes_with_its_folder_is_not_deleted_beyond_the_link(lab: Lab, place: Place) -> None:
    found = tried(lab, place, delete("folder/secret") + link("folder", "/etc"), look=("/testbed/folder",))
    assert found.applied == apply.Applied()
    folder = found.files["/testbed/folder"]
    assert folder is not None
    assert folder.link == "/etc"


def test_errors_about_odd_names_are_printable(lab: Lab, place: Place) -> None:
    found = tried(lab, place, ADD + create("red\x1b[31m\u202e"))
    assert found.applied.error is not None
    assert "red" in found.applied.error
    assert found.applied.error.isprintable()


# ---- what cannot be done at all: no verdict

HEADS = b"diff --git a/%d b/%d\nnew file mode 100644\nindex 0000000..e69de29\n"


def sized(number: int) -> bytes:
    """A number as git's deltas spell sizes."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def binary_change(path: str, kind: str, size: int, data: bytes) -> bytes:
    """A binary change of a file that holds `one`, whose new content is said to be of any name."""
    old = sha1(b"blob 4\0one\n", usedforsecurity=False).hexdigest()
    head = f"diff --git a/{path} b/{path}\nindex {old}..{'1' * 40} 100644\nGIT binary patch\n{kind} {size}\n"
    return head.encode() + binary(data) + b"\n\n" + b"literal 4\n" + binary(b"one\n") + b"\n\n"


DELTA = sized(4) + sized(64 << 30) + b"\x01x"
IMPOSSIBLE = {
    "ten gigabytes that the patch declares": (binary_change("mended.txt", "literal", 10 << 30, b"x"), "larger than"),
    "sixty-four gigabytes that a delta declares": (
        binary_change("mended.txt", "delta", len(DELTA), DELTA),
        "git broke over a patch (fatal: Out of memory",
    ),
    "a hundred thousand files": (b"".join(HEADS % (n, n) for n in range(100_000)), "100000 files"),
    "a pipe in the image": (change("pipe"), "/testbed/pipe is no plain file"),
    "a device in the image": (change("device"), "/testbed/device is no plain file"),
    "the deletion of a name of two lines": (delete("two\nlines"), "deletes two\\nlines, whose name has several lines"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_is_too_much_or_no_file_gives_no_verdict(lab: Lab, place: Place, name: str) -> None:
    content, words = IMPOSSIBLE[name]
    with pytest.raises(NoEvidence) as caught:
        tried(lab, place, content)
    assert words in caught.value.message
    assert str(caught.value).isprintable()


def test_files_of_the_image_are_bounded(lab: Lab, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MAX_BYTES", BIG - 1)
    with pytest.raises(NoEvidence, match="/testbed/big is no plain file of at most 3 MiB"):
        tried(lab, place, moved("rename", "big", "bigger"))


COPIES = b"".join(moved("copy", "big", f"copy{n}") for n in range(40))


def test_copies_of_copies_are_bounded(lab: Lab, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MAX_BYTES", 20 * BIG)
    with pytest.raises(NoEvidence, match="larger than 80 MiB"):
        tried(lab, place, COPIES)


def test_the_memory_of_git_is_bounded(lab: Lab, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "MAX_MEMORY", 20 * BIG)
    with pytest.raises(NoEvidence, match="git broke over a patch"):
        tried(lab, place, COPIES)


@pytest.mark.parametrize(
    ("says", "error"),
    [
        ("echo \"error: unable to write file 'x' mode 100644: No space left on device\" >&2; exit 1", DiskFull),
        ("echo 'error: unable to write file x mode 100644: Disk quota exceeded' >&2; exit 1", DiskFull),
        ("kill -9 $$", NoEvidence),
        ("echo 'fatal: Out of memory, malloc failed' >&2; exit 128", NoEvidence),
        ("echo \"error: failed to write to 'calc.py': Input/output error\" >&2; exit 1", NoEvidence),
        ("echo 'error: calc.py: Too many open files' >&2; exit 1", NoEvidence),
        ("echo 'fatal: cannot open /repo: Read-only file system' >&2; exit 128", NoEvidence),
        ("echo 'git: error while loading shared libraries: libz.so.1' >&2; exit 127", NoEvidence),
        ("echo 'xcrun: error: invalid active developer path' >&2; exit 1", NoEvidence),
        ("exit 130", NoEvidence),
        ("exit 1", NoEvidence),
    ],
    ids=[
        *("no space", "no quota", "killed", "no memory", "a bad disk", "no files left", "a disk for reading"),
        *("no library", "no such program behind it", "interrupted", "without a word"),
    ],
)
def test_a_git_that_breaks_refuses_nothing(
    lab: Lab, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, error: type[Exception]
) -> None:
    git = tmp_path / "git"
    git.write_text(f'#!/bin/sh\ncase "$*" in *numstat*) {says} ;; esac\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(error):
        tried(lab, place, ADD)
