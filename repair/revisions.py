"""A panel as git has it at a revision: its files as raw blobs, in a temporary directory.

Not by `git archive` or a checkout: attributes and line-end settings would change bytes, and with them digests.
git gets lists of arguments and no say about where its repository is.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from repair.cause import printable
from repair.errors import UsageError
from repair.store import RECORD, WORK, written

CHUNK = 1 << 20
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
    """A file of a tree: git's mode, the blob's id, and its path in the panel."""

    mode: str
    blob: str
    path: PurePosixPath


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
def panel_at(repository: Repository, commit: str) -> Iterator[Path | None]:
    """The panel's files at a commit, in a directory of the panel's name that is gone afterwards; None for no panel.

    A task's `source/` is there only where its record was made from it. Raises `UsageError`, `StoreError`, `DiskFull`.
    """
    tree = _git(repository.folder, "rev-parse", "--verify", "--quiet", f"{commit}:{repository.prefix}")
    kind = _git(repository.folder, "cat-file", "-t", tree.stdout.decode().strip()) if tree.returncode == 0 else tree
    if kind.returncode != 0 or kind.stdout.strip() != b"tree":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="repair-diff-") as folder:
        root = Path(os.path.realpath(folder), repository.name or "panel")
        with written(root), _blobs(repository.folder) as blobs:
            root.mkdir()
            _write(_entries(repository, tree.stdout.decode().strip()), blobs, root)
        yield root


def _entries(repository: Repository, tree: str) -> list[Entry]:
    done = _git(repository.folder, "ls-tree", "-r", "-z", "--full-tree", tree)
    if done.returncode != 0:
        raise UsageError(f"git cannot list {repository.prefix or 'the panel'}: {_said(done)}", "see git fsck")
    entries = []
    for line in done.stdout.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, kind, blob = head.decode().split()
        parts = os.fsdecode(path).split("/")
        if any(part in ("", ".", "..") for part in parts):  # no git writes such a tree
            raise UsageError(f"git's tree holds the path {printable(os.fsdecode(path))}", "see git fsck")
        if kind == "blob" and not (parts[0].startswith(".") and len(parts) > 1) and WORK not in parts:
            entries.append(Entry(mode, blob, PurePosixPath(*parts)))
    return entries


def _write(entries: Sequence[Entry], blobs: Blobs, root: Path) -> None:
    """Write files first and links last, so that nothing is ever written through a link."""
    plain = [entry for entry in entries if not _in_source(entry)]
    _write_files(plain, blobs, root)
    wanted = {entry.path.parts[0] for entry in plain if _is_from_source(entry, root)}
    sources = [entry for entry in entries if _in_source(entry) and entry.path.parts[0] in wanted]
    _write_files(sources, blobs, root)
    links = [entry for entry in (*plain, *sources) if entry.mode == "120000"]
    for entry in links:
        path = root / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.fsdecode(blobs.read(entry.blob)))
    for entry in links:
        path = root / entry.path
        in_tree = len(entry.path.parts) > 2 and entry.path.parts[1] in TREES
        if not in_tree and not Path(os.path.realpath(path)).is_relative_to(root):
            path.unlink()
            path.symlink_to(OUTSIDE)


def _in_source(entry: Entry) -> bool:
    return len(entry.path.parts) > 2 and entry.path.parts[1] == "source"


def _is_from_source(entry: Entry, root: Path) -> bool:
    """Whether this is the record of a task whose own verifier was asked: it holds a digest of the source."""
    is_record = entry.path.parts[1:] == (RECORD,) and entry.mode != "120000"
    return is_record and b'"source"' in (root / entry.path).read_bytes()


def _write_files(entries: Sequence[Entry], blobs: Blobs, root: Path) -> None:
    for entry in entries:
        if entry.mode != "120000":
            path = root / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with path.open("xb") as stream:
                    blobs.copy(entry.blob, stream)
            except FileExistsError:
                shown = printable(str(entry.path))
                raise UsageError(f"{shown} and another file of the tree are one here", "rename one of them") from None
            path.chmod(0o755 if entry.mode == "100755" else 0o644)


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

    def read(self, blob: str) -> bytes:
        size = self._size(blob)
        content = self._answer.read(size)
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
