"""A panel as git has it at a revision: its files as raw blobs, in a temporary directory.

Not by `git archive` or a checkout: attributes and line-end settings would change bytes, and with them digests.
git gets lists of arguments and no say about where its repository is.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from repair.errors import UsageError
from repair.files import Scratch, written
from repair.panel.read import WORK
from repair.records.diff.compare import Unseen
from repair.text import printable

CHUNK = 1 << 20
MAX_TARGET = 4095  # bytes of a link's target: no system takes more
OUTSIDE = ".outside-the-panel"  # where a link points instead of out of the panel; nothing is there
TREES = ("environment", "source")  # of a task: their links are digested as links and never followed
MISLEADING = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
    *("GIT_REPLACE_REF_BASE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_IMPLICIT_WORK_TREE", "GIT_TRACE", "GIT_EXTERNAL_DIFF"),
)


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that holds a panel. `folder` is a directory in it, `prefix` the panel's path from its root.

    `name` is the name of the panel's directory, which need not exist now.
    """

    folder: Path
    prefix: str
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree: git's mode, the blob's id (a submodule's commit), and its path in the panel."""

    mode: str
    blob: str
    path: PurePosixPath

    @property
    def is_link(self) -> bool:
        return self.mode == "120000"

    @property
    def is_submodule(self) -> bool:
        return self.mode == "160000"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A panel's files at a revision, and what of it is not among them."""

    directory: Path
    unseen: tuple[Unseen, ...] = ()


def find(directory: Path) -> Repository:
    """The repository that holds a directory, or held it. Raises `UsageError` with git's own words where none does."""
    real = Path(os.path.realpath(directory))
    there = next(parent for parent in (real, *real.parents) if parent.is_dir())
    done = _git(there, "rev-parse", "--is-inside-work-tree")
    if done.returncode != 0:
        raise UsageError(f"{directory} is in no git repository that can be read: {_said(done)}")
    if done.stdout.strip() != b"true":
        raise UsageError(f"{directory} is in no working tree of git", "name a panel in a checkout")
    above = os.fsdecode(_git(there, "rev-parse", "--show-prefix").stdout.removesuffix(b"\n"))
    prefix = PurePosixPath(above, real.relative_to(there).as_posix()).as_posix()
    return Repository(there, "" if prefix == "." else prefix, real.name)


def names_commit(directory: Path, text: str) -> bool:
    """Does a text name revisions of the repository that holds a directory, if one does?"""
    if not text.strip("."):
        return False
    try:
        span(find(directory), text)
    except UsageError:
        return False
    return True


def span(repository: Repository, text: str) -> tuple[str, str | None]:
    """The commits that `REV`, `REV..REV` or `REV...REV` name; None stands for the working tree.

    Three dots begin at the merge base, a missing end is HEAD, as git has it. Raises `UsageError`.
    """
    for dots in ("...", ".."):
        first, found, second = text.partition(dots)
        if found:
            start, end = _commit(repository, first or "HEAD"), _commit(repository, second or "HEAD")
            return (_merge_base(repository, start, end, text) if dots == "..." else start), end
    return _commit(repository, text), None


def _commit(repository: Repository, revision: str) -> str:
    if revision.startswith("-"):
        raise UsageError(f"{printable(revision)} is no revision: it begins with -", "name a commit, branch or tag")
    done = _git(repository.folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.decode().strip()
    shown = printable(revision)
    if _is_shallow(repository):
        advice = f"fetch it first: git fetch --depth=1 origin {shown}, or fetch-depth: 0 in actions/checkout"
        raise UsageError(f"{shown} is no revision in this shallow clone", advice)
    raise UsageError(f"{shown} is no revision of the repository", "name a commit, branch or tag that git log shows")


def _merge_base(repository: Repository, start: str, end: str, text: str) -> str:
    done = _git(repository.folder, "merge-base", start, end)
    if done.returncode != 0:
        shallow = "fetch the whole history (fetch-depth: 0 in actions/checkout)"
        advice = shallow if _is_shallow(repository) else "name both revisions with two dots"
        raise UsageError(f"{printable(text)}: git knows no common ancestor", advice)
    return done.stdout.decode().split()[0]


def _is_shallow(repository: Repository) -> bool:
    return _git(repository.folder, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


@contextmanager
def panel_at(repository: Repository, commit: str) -> Iterator[Snapshot | None]:
    """The panel's files at a commit, in a directory of the panel's name that is gone afterwards; None for no panel.

    Raises `UsageError`, also for a tree that names two things alike, `StoreError` and `DiskFull`.
    """
    tree = _git(repository.folder, "rev-parse", "--verify", "--quiet", f"{commit}:{repository.prefix}")
    kind = _git(repository.folder, "cat-file", "-t", tree.stdout.decode().strip()) if tree.returncode == 0 else tree
    if kind.returncode != 0 or kind.stdout.strip() != b"tree":
        yield None
        return
    entries = _entries(repository, tree.stdout.decode().strip())
    with Scratch("diff") as folder:
        root = Path(os.path.realpath(folder), repository.name or "panel")
        with written(root), _blobs(repository.folder) as blobs:
            root.mkdir()
            _write_files(entries, blobs, root)
            links = _write_links(entries, blobs, root)
        submodules = [Unseen(str(entry.path), entry.blob, submodule=True) for entry in entries if entry.is_submodule]
        leading_out = [link for link in links if not _is_to_file(repository, commit, link)]
        yield Snapshot(root, (*leading_out, *submodules))


def _entries(repository: Repository, tree: str) -> list[Entry]:
    done = _git(repository.folder, "ls-tree", "-r", "-z", "--full-tree", tree)
    if done.returncode != 0:
        raise UsageError(f"git cannot list {repository.prefix or 'the panel'}: {_said(done)}", "see git fsck")
    entries = []
    for line in done.stdout.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, blob = head.decode().split()
        parts = os.fsdecode(path).split("/")
        if any(part in ("", ".", "..") for part in parts):  # no git writes such a tree
            raise UsageError(f"git's tree holds the path {printable(os.fsdecode(path))}", "see git fsck")
        entries.append(Entry(mode, blob, PurePosixPath(*parts)))
    _refuse_two_of_a_name(entries)
    return [entry for entry in entries if not _is_left_out(entry.path)]


def _refuse_two_of_a_name(entries: Sequence[Entry]) -> None:
    """Refuse a forged tree in which a path is there twice, or is a file and a directory: a link could be written to."""
    known: set[PurePosixPath] = set()
    for entry in entries:
        if entry.path in known:
            raise UsageError(f"git's tree holds {printable(str(entry.path))} twice", "see git fsck")
        known.add(entry.path)
    for entry in entries:
        above = next((parent for parent in entry.path.parents if parent in known), None)
        if above is not None:
            shown = printable(str(above))
            raise UsageError(f"git's tree holds {shown} as a file and as a directory", "see git fsck")


def _is_left_out(path: PurePosixPath) -> bool:
    """Whether a path is in a hidden directory of the panel, or is repair's own; further below, a digest may hold it."""
    return (path.parts[0].startswith(".") and len(path.parts) > 1) or path.parts[0] == WORK


# ---- writing


def _write_files(entries: Sequence[Entry], blobs: Blobs, root: Path) -> None:
    for entry in entries:
        if not entry.is_link and not entry.is_submodule:
            path = _new(root, entry)
            try:
                with path.open("xb") as stream:
                    blobs.copy(entry.blob, stream)
            except FileExistsError:
                raise _one_here(entry.path) from None
            path.chmod(0o755 if entry.mode == "100755" else 0o644)


def _write_links(entries: Sequence[Entry], blobs: Blobs, root: Path) -> list[Unseen]:
    """Write links, after all files; those that lead to no file of the panel lead nowhere, and are what comes back."""
    links = [entry for entry in entries if entry.is_link]
    for entry in links:
        target = blobs.read(entry.blob, MAX_TARGET)
        if not target or b"\0" in target or len(target) > MAX_TARGET:
            raise UsageError(f"{printable(str(entry.path))} has a target that no link can have", "see git fsck")
        try:
            _new(root, entry).symlink_to(os.fsdecode(target))
        except FileExistsError:
            raise _one_here(entry.path) from None
    submodules = frozenset(entry.path for entry in entries if entry.is_submodule)
    out = [entry.path for entry in links if not _is_in_tree(entry) and _leads_out(root, entry.path, submodules)]
    unseen = [Unseen(str(path), os.fsdecode((root / path).readlink())) for path in out]
    for path in out:
        (root / path).unlink()
        (root / path).symlink_to(OUTSIDE)
    return unseen


def _is_in_tree(entry: Entry) -> bool:
    return len(entry.path.parts) > 2 and entry.path.parts[1] in TREES


def _leads_out(root: Path, link: PurePosixPath, submodules: frozenset[PurePosixPath]) -> bool:
    """Whether a link leads out of the panel, or to what of the panel is not written."""
    real = Path(os.path.realpath(root / link))
    if real == root:
        return False
    if not real.is_relative_to(root):
        return True
    path = PurePosixPath(real.relative_to(root).as_posix())
    hidden = path.parts[0].startswith(".") and not os.path.lexists(real)
    return hidden or _is_left_out(path) or any(place in submodules for place in (path, *path.parents))


def _new(root: Path, entry: Entry) -> Path:
    """The place of an entry, the directories above it made.

    Where names count the same that git tells apart, such as `A` and `a`, a link could be one of them.
    """
    folder = root
    for part in entry.path.parts[:-1]:
        folder /= part
        try:
            folder.mkdir()
        except FileExistsError:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                raise _one_here(entry.path) from None
    return folder / entry.path.name


def _one_here(path: PurePosixPath) -> UsageError:
    return UsageError(f"{printable(str(path))} and another path of the tree are one here", "rename one of them")


def _is_to_file(repository: Repository, commit: str, link: Unseen) -> bool:
    """Whether a link beside panel.toml is to a plain file of the repository, such as a licence: no task is there.

    Only where all `..` come first is the place where git looks the place to which the link leads.
    """
    target = PurePosixPath(link.target)
    names = [part for part in target.parts if part != ".."]
    up = len(target.parts) - len(names)
    above = PurePosixPath(repository.prefix).parts
    if "/" in link.path or link.path == "panel.toml" or target.is_absolute():
        return False
    if ".." in target.parts[up:] or up > len(above) or not names:
        return False
    place = "/".join((*above[: len(above) - up], *names))
    done = _git(repository.folder, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", place)
    return done.returncode == 0 and done.stdout.startswith((b"100644 blob", b"100755 blob"))


# ---- git


class Blobs:
    """A running `git cat-file --batch`: contents by blob id, byte for byte."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._ask, self._answer = process.stdin, process.stdout

    def copy(self, blob: str, into: IO[bytes]) -> None:
        left = self._size(blob)
        while left:
            chunk = self._answer.read(min(left, CHUNK))
            if not chunk:
                raise _lost(blob)
            into.write(chunk)
            left -= len(chunk)
        self._answer.read(1)

    def read(self, blob: str, most: int) -> bytes:
        """A blob's content; of one that is larger than `most` bytes, one byte more than that."""
        left = self._size(blob)
        content = self._answer.read(min(left, most + 1))
        left -= len(content)
        while left:
            skipped = self._answer.read(min(left, CHUNK))
            if not skipped:
                raise _lost(blob)
            left -= len(skipped)
        self._answer.read(1)
        return content

    def _size(self, blob: str) -> int:
        try:
            self._ask.write(f"{blob}\n".encode())
            self._ask.flush()
        except BrokenPipeError:
            raise _lost(blob) from None
        words = self._answer.readline().split()
        if len(words) != 3 or words[1] != b"blob":
            raise _lost(blob)
        return int(words[2])


def _lost(blob: str) -> UsageError:
    return UsageError(f"git does not give the blob {blob}", "see git fsck, or fetch it where the clone is partial")


@contextmanager
def _blobs(folder: Path) -> Iterator[Blobs]:
    with subprocess.Popen(
        ["git", "cat-file", "--batch"],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield Blobs(process)
        finally:
            process.kill()


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not here", "install git, or compare two directories") from None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1"}


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return printable(" ".join(done.stderr.decode("utf-8", "replace").split())) or f"git's status is {done.returncode}"
