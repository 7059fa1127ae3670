"""A panel's files at a revision, from real repositories: every byte as it was committed, wherever git is asked from."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.records.diff import revisions
from tests.support.git import Git, at, commit, files_below, write

FIRST = {"panel.toml": b"", "calc/task.json": b"{}\r\n", "calc/oracle.patch": b"\xff\n"}


def test_files_come_as_they_were_committed(repo: Path, git: Git) -> None:
    panel = repo / "below" / "panel"
    write(panel, {"calc/task.json": b"{}\n", "calc-2/task.json": b"[]"})
    assert at(panel) == FIRST
    commit(repo, git)
    assert at(panel) == FIRST | {"calc/task.json": b"{}\n", "calc-2/task.json": b"[]"}
    assert at(panel, "one") == FIRST


@pytest.mark.parametrize("crlf", ["true", "input", "false"])
def test_no_setting_and_no_attribute_changes_a_byte(repo: Path, git: Git, crlf: str) -> None:
    panel = repo / "below" / "panel"
    (panel / ".gitattributes").write_text("* -text\n")
    commit(repo, git)
    attributes = "* text=auto eol=crlf ident\n*.patch export-ignore\n*.json export-subst working-tree-encoding=UTF-16\n"
    git(repo, "config", "core.autocrlf", crlf)
    write(panel, {"calc/oracle.patch": b"one\ntwo\r\n$Id$ $Format:%H$\n"})
    commit(repo, git)
    (repo / ".git" / "info" / "attributes").write_text(attributes)
    found = at(panel)
    assert found is not None
    assert found["calc/oracle.patch"] == b"one\ntwo\r\n$Id$ $Format:%H$\n"
    assert found["calc/task.json"] == b"{}\r\n"


def test_names_of_all_kinds_and_the_execute_bit(repo: Path, git: Git) -> None:
    panel = repo / "below" / "panel"
    names = {"calc/a b": b"1", "calc/a\nb\t": b"2", "calc/é\u202e": b"3", "calc/-x": b"4", 'calc/"q"\\': b"5"}
    write(panel, names | {"calc/environment/run.sh": b"6"})
    (panel / "calc" / "environment" / "run.sh").chmod(0o755)
    commit(repo, git)
    assert at(panel) == FIRST | names | {"calc/environment/run.sh": b"6"}
    repository = revisions.find(panel)
    with revisions.panel_at(repository, git(repo, "rev-parse", "HEAD")) as at_head:
        assert at_head is not None
        root = at_head.directory
        assert (root / "calc" / "environment" / "run.sh").stat().st_mode & 0o111
        assert not (root / "calc" / "a b").stat().st_mode & 0o111


def test_what_a_comparison_does_not_need_stays_in_git(repo: Path, git: Git) -> None:
    panel = repo / "below" / "panel"
    write(panel, {"calc/source/row": b"1", ".repair/journal/x": b"2", ".git-like/x": b"3"})
    git(repo, "add", "-f", "below/panel/.repair/journal/x")
    commit(repo, git)
    found = at(panel)
    assert found is not None
    assert set(found) - set(FIRST) == {"calc/source/row"}


def test_what_a_digest_holds_is_there_whatever_its_name(repo: Path, git: Git) -> None:
    panel = repo / "below" / "panel"
    files = {
        "calc/environment/.repair/payload": b"1",
        "calc/environment/.git-like/x": b"2",
        "calc/source/.repair": b"3",
    }
    write(panel, files)
    commit(repo, git)
    assert at(panel) == FIRST | files


def test_the_directory_is_gone_afterwards_whatever_happens(
    repo: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    repository, head = revisions.find(repo / "below" / "panel"), git(repo, "rev-parse", "HEAD")

    def interrupted() -> None:
        with revisions.panel_at(repository, head) as found:
            assert found is not None
            assert found.directory.is_relative_to(tmp_path / "tmp")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_panel_that_is_not_there_is_none(repo: Path, git: Git) -> None:
    write(repo / "new", {"panel.toml": b""})
    assert at(repo / "new") is None
    assert at(repo / "below" / "panel" / "panel.toml") is None
    git(repo, "rm", "-rq", "below/panel")
    assert at(repo / "below" / "panel") == FIRST  # gone from the working tree, and in HEAD
    commit(repo, git)
    assert at(repo / "below" / "panel") is None


def test_a_panel_may_be_the_whole_repository(tmp_path: Path, git: Git) -> None:
    write(tmp_path / "books", FIRST)
    git(tmp_path, "init", "-q", "books")
    head = commit(tmp_path / "books", git)
    with revisions.panel_at(revisions.find(tmp_path / "books"), head) as found:
        assert found is not None
        assert (found.directory.name, files_below(found.directory)) == ("books", FIRST)


@pytest.mark.parametrize("way", ["absolute", "relative", "link", "link below", "inside"])
def test_a_panel_is_found_however_it_is_named(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (tmp_path / "link").symlink_to(repo / "below" / "panel")
    (tmp_path / "deep").symlink_to(repo / "below")
    monkeypatch.chdir(repo / "below" / "panel" / "calc" if way == "inside" else tmp_path)
    named = {
        "absolute": repo / "below" / "panel",
        "relative": Path("repo/below/../below/panel"),
        "link": Path("link"),
        "link below": Path("deep/panel"),
        "inside": Path(".."),
    }
    assert at(named[way]) == FIRST


def test_a_linked_working_tree_and_a_submodule_have_their_own_head(repo: Path, tmp_path: Path, git: Git) -> None:
    git(repo, "worktree", "add", "-q", "-b", "other", tmp_path / "tree")
    write(tmp_path / "tree" / "below" / "panel", {"calc/task.json": b"other"})
    commit(tmp_path / "tree", git)
    assert at(tmp_path / "tree" / "below" / "panel") == FIRST | {"calc/task.json": b"other"}
    assert at(repo / "below" / "panel") == FIRST
    git(repo, "submodule", "add", "-q", tmp_path / "tree", "below/panel/sub")
    commit(repo, git)
    assert at(repo / "below" / "panel" / "sub" / "below" / "panel") == FIRST | {"calc/task.json": b"other"}
    found = at(repo / "below" / "panel")
    assert found is not None
    assert set(found) == set(FIRST)


def test_another_repository_in_the_environment_is_not_heeded(
    repo: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "wrong")
    commit(tmp_path / "wrong", git)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "wrong" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "wrong"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    assert at(repo / "below" / "panel") == FIRST


def test_a_replaced_object_is_read_as_it_was(repo: Path, git: Git) -> None:
    first = git(repo, "rev-parse", "HEAD:below/panel/calc/task.json")
    write(repo / "below" / "panel", {"calc/task.json": b"other"})
    commit(repo, git)
    git(repo, "replace", first, git(repo, "rev-parse", "HEAD:below/panel/calc/task.json"))
    assert at(repo / "below" / "panel", "one") == FIRST


# ---- links

LINKS = {
    "a file of the panel": ("tests.patch", "oracle.patch", True),
    "a file of another task": ("tests.patch", "../other/oracle.patch", True),
    "an absolute path": ("tests.patch", "/etc/hostname", False),
    "out of the panel": ("tests.patch", "../../../secret", False),
    "out of the panel by another link": ("tests.patch", "environment/out", False),
    "out of it, where it is only digested": ("environment/out", "/etc/hostname", True),
    "a loop": ("tests.patch", "tests.patch", True),
}


@pytest.mark.parametrize(("name", "target", "kept"), [pytest.param(*case, id=name) for name, case in LINKS.items()])
def test_links_are_links_and_never_lead_out(repo: Path, git: Git, name: str, target: str, kept: bool) -> None:
    task = repo / "below" / "panel" / "calc"
    write(repo, {"secret": b"x", "below/panel/other/oracle.patch": b"y"})
    (task / "environment").mkdir()
    (task / "environment" / "out").symlink_to("/etc/hostname")
    (task / name).unlink(missing_ok=True)
    (task / name).symlink_to(target)
    commit(repo, git)
    found = at(repo / "below" / "panel")
    assert found is not None
    assert found[f"calc/{name}"] == (f"-> {target}" if kept else f"-> {revisions.OUTSIDE}").encode()


def test_a_panel_or_task_that_is_a_link_out_leads_nowhere(repo: Path, tmp_path: Path, git: Git) -> None:
    write(tmp_path / "else", {"task.json": b"secret"})
    (repo / "below" / "panel" / "linked").symlink_to(tmp_path / "else")
    (repo / "below" / "panel" / "calc" / "environment").symlink_to(tmp_path / "else")
    commit(repo, git)
    nowhere = f"-> {revisions.OUTSIDE}".encode()
    assert at(repo / "below" / "panel") == FIRST | {"linked": nowhere, "calc/environment": nowhere}


# ---- which revisions


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("one", "one", None),
        ("HEAD", "main", None),
        ("one..main", "one", "main"),
        ("one..", "one", "main"),
        ("..one", "main", "one"),
        ("side..main", "side", "main"),
        ("side...main", "one", "main"),
        ("side...", "one", "main"),
        ("main~1", "one", None),
        ("v1.0", "one", None),
    ],
)
def test_revisions_and_ranges(repo: Path, git: Git, text: str, start: str, end: str | None) -> None:
    git(repo, "tag", "-a", "-m", "x", "v1.0", "one")
    git(repo, "checkout", "-q", "-b", "side")
    write(repo, {"x": b"side"})
    commit(repo, git)
    git(repo, "checkout", "-q", "main")
    write(repo, {"x": b"main"})
    commit(repo, git)
    commits = (git(repo, "rev-parse", f"{start}^{{commit}}"), end and git(repo, "rev-parse", f"{end}^{{commit}}"))
    assert revisions.span(revisions.find(repo / "below" / "panel"), text) == commits


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere", "nowhere is no revision of the repository"),
        ("one..nowhere", "nowhere is no revision of the repository"),
        ("f" * 40, "f is no revision of the repository"),
        ("-p", "begins with -"),
        ("--output=x", "begins with -"),
        ("one..--all", "begins with -"),
        ("--all..one", "begins with -"),
        ("HEAD:below", "no revision"),
        ("a\x1b[31mb", r"a\x1b[31mb is no revision"),
        ("one main", "no revision"),
    ],
)
def test_what_is_no_revision_is_refused(repo: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        revisions.span(revisions.find(repo / "below" / "panel"), text)
    assert said in str(caught.value)
    assert not (repo / "below" / "x").exists()


def test_a_shallow_clone_says_what_to_fetch(repo: Path, tmp_path: Path, git: Git) -> None:
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "-b", "side")
    commit(repo, git)
    git(repo, "checkout", "-q", "main")
    write(repo, {"x": b"main"})
    commit(repo, git)
    git(tmp_path, "clone", "-q", "--depth=1", "--no-tags", "--no-single-branch", f"file://{repo}", "shallow")
    repository = revisions.find(tmp_path / "shallow" / "below" / "panel")
    with pytest.raises(
        UsageError, match=f"{first} is no revision in this shallow clone; fetch it first.*fetch-depth: 0"
    ):
        revisions.span(repository, first)
    with pytest.raises(UsageError, match=r"no common ancestor; fetch the whole history \(fetch-depth: 0"):
        revisions.span(repository, "origin/side...HEAD")
    assert at(tmp_path / "shallow" / "below" / "panel") == FIRST


def test_outside_of_a_repository_git_has_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="not a git repository"):
        revisions.find(tmp_path)


def test_a_repository_of_somebody_else_is_gits_to_refuse(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(UsageError, match=r"detected dubious ownership.*safe\.directory"):
        revisions.find(repo / "below" / "panel")


@pytest.mark.parametrize("where", [".git", "bare"])
def test_a_place_without_a_working_tree_holds_no_panel(repo: Path, git: Git, where: str) -> None:
    git(repo, "clone", "-q", "--bare", ".", "bare")
    with pytest.raises(UsageError, match="no working tree"):
        revisions.find(repo / where)


def test_without_git_it_says_so(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git is not here; install git"):
        revisions.find(repo)


def test_a_blob_that_is_lost_is_named(repo: Path, git: Git) -> None:
    blob = git(repo, "rev-parse", "HEAD:below/panel/calc/task.json")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(UsageError, match=f"git does not give the blob {blob}"):
        at(repo / "below" / "panel")
