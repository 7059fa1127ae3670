"""Trees of git that no git writes, and links out of the panel: nothing is written beside the temporary directory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from repair.errors import UsageError
from repair.records.diff import revisions
from repair.records.diff.compare import Unseen
from repair.records.diff.revisions import Entry
from tests.support.cli import Capture, ask
from tests.support.git import Git, at, commit, write

Forge = Callable[[str], str]
LINK, FILE, TREE = "120000 blob", "100644 blob", "040000 tree"


@pytest.fixture
def forge(repo: Path, tmp_path: Path, git: Git) -> Forge:
    """Commit a panel's tree that has these lines besides its own: `{outside}`, `{file}`, `{below}` stand for objects.

    `{outside}` is a target that leads to a directory beside the repository, `{below}` a tree with the link `b`.
    """
    (tmp_path / "outside").mkdir()

    def write_object(content: bytes) -> str:
        command = ["git", "hash-object", "-w", "--stdin"]
        return subprocess.run(command, cwd=repo, input=content, capture_output=True, check=True).stdout.decode().strip()

    def tree(lines: str) -> str:
        command = ["git", "mktree"]
        done = subprocess.run(command, cwd=repo, input=os.fsencode(lines), capture_output=True, check=True)
        return done.stdout.decode().strip()

    def forged(lines: str) -> str:
        outside = write_object(os.fsencode(tmp_path / "outside"))
        objects = {
            "outside": outside,
            "file": write_object(b"x"),
            "nul": write_object(b"a\0b"),
            "none": write_object(b""),
            "long": write_object(b"a/" * 4_000),
            "below": tree(f"{LINK} {outside}\tb\n"),
        }
        panel = tree(git(repo, "ls-tree", "HEAD:below/panel") + "\n" + lines.format(**objects) + "\n")
        root = tree(f"{TREE} {tree(f'{TREE} {panel}' + chr(9) + 'panel' + chr(10))}\tbelow\n")
        return git(repo, "commit-tree", root, "-m", "x", "-p", "HEAD")

    return forged


FORGED = {
    "a link and a directory": (
        f"{LINK} {{outside}}\ta\n{TREE} {{below}}\ta",
        "git's tree holds a as a file and as a directory",
    ),
    "a file and a directory": (
        f"{FILE} {{file}}\ta\n{TREE} {{below}}\ta",
        "git's tree holds a as a file and as a directory",
    ),
    "a hidden link and a directory": (
        f"{LINK} {{outside}}\t.a\n{TREE} {{below}}\t.a",
        "git's tree holds .a as a file and as a directory",
    ),
    "two directories with a link": (f"{TREE} {{below}}\ta\n{TREE} {{below}}\ta", "git's tree holds a/b twice"),
    "two links": (f"{LINK} {{outside}}\ta\n{LINK} {{outside}}\ta", "git's tree holds a twice"),
    "a link and a file": (f"{FILE} {{file}}\ta\n{LINK} {{outside}}\ta", "git's tree holds a twice"),
    "two files": (f"{FILE} {{file}}\ta\n{FILE} {{file}}\ta", "git's tree holds a twice"),
    "a NUL in a target": (f"{LINK} {{nul}}\ta", "a has a target that no link can have"),
    "an empty target": (f"{LINK} {{none}}\ta", "a has a target that no link can have"),
    "a very long target": (f"{LINK} {{long}}\ta", "a has a target that no link can have"),
}


@pytest.mark.parametrize(("lines", "said"), [pytest.param(*case, id=name) for name, case in FORGED.items()])
def test_a_forged_tree_is_refused_and_nothing_is_written_outside(
    capsys: Capture, repo: Path, tmp_path: Path, forge: Forge, lines: str, said: str
) -> None:
    forged = forge(lines)
    code, out, err = ask(capsys, "diff", repo / "below" / "panel", f"HEAD..{forged}")
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("standing", ["a link to a directory", "a broken link", "a file"])
def test_a_directory_is_made_only_where_nothing_stands(tmp_path: Path, standing: str) -> None:
    (tmp_path / "outside").mkdir()
    root = tmp_path / "panel"
    root.mkdir()
    if standing == "a file":
        (root / "a").write_bytes(b"")
    else:
        (root / "a").symlink_to(tmp_path / ("outside" if standing == "a link to a directory" else "nowhere"))
    with pytest.raises(UsageError, match="a/b/c and another path of the tree are one here; rename one of them"):
        revisions._new(root, Entry("120000", "", PurePosixPath("a/b/c")))
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


# ---- what is not read

LINKS: dict[str, tuple[str, str, bool]] = {
    "a task elsewhere in the repository": ("calc-2", "../../elsewhere/calc-2", True),
    "a task outside": ("calc-2", "/nowhere/calc-2", True),
    "a task in a hidden directory": ("calc-2", ".store/calc-2", True),
    "a hidden directory": ("calc-2", ".store", True),
    "a task in a submodule": ("calc-2", "calc/vendor/sub/calc-2", True),
    "panel.toml": ("panel.toml", "../../LICENSE", True),
    "a file of a task": ("calc/tests.patch", "../../../LICENSE", True),
    "a licence beside panel.toml": ("LICENSE", "../../LICENSE", False),
    "a licence by a way that git does not go": ("LICENSE", "calc/../../LICENSE", True),
    "a link to a licence": ("LICENSE", "../../COPYING", True),
    "a task of the panel": ("calc-2", "calc", False),
    "the panel": ("calc-2", ".", False),
    "a broken link in the panel": ("calc-2", "calc-3", False),
    "a hidden file of the panel": ("calc-2", ".gitattributes", False),
}


@pytest.mark.parametrize(("name", "target", "unseen"), [pytest.param(*case, id=name) for name, case in LINKS.items()])
def test_links_that_are_not_followed_are_named(repo: Path, git: Git, name: str, target: str, unseen: bool) -> None:
    panel = repo / "below" / "panel"
    write(repo, {"LICENSE": b"x", "calc/LICENSE": b"x", "elsewhere/calc-2/task.json": b"{}"})
    write(panel, {".store/calc-2/task.json": b"{}", ".gitattributes": b""})
    (repo / "COPYING").symlink_to("LICENSE")
    git(panel, "submodule", "add", "-q", repo, "calc/vendor/sub")
    (panel / name).unlink(missing_ok=True)
    (panel / name).symlink_to(target)
    head = commit(repo, git)
    with revisions.panel_at(revisions.find(panel), head) as found:
        assert found is not None
        links = [one for one in found.unseen if not one.submodule]
    assert links == ([Unseen(name, target)] if unseen else [])


def test_submodules_are_named_with_their_commits(repo: Path, git: Git) -> None:
    first = git(repo, "rev-parse", "HEAD")
    git(repo / "below" / "panel", "submodule", "add", "-q", repo, "calc/environment/sub")
    head = commit(repo, git)
    with revisions.panel_at(revisions.find(repo / "below" / "panel"), head) as found:
        assert found is not None
        assert found.unseen == (Unseen("calc/environment/sub", first, submodule=True),)
    assert at(repo / "below" / "panel", "one") is not None
