"""Applies unified diffs to a created container's files, with git on this machine, whatever the image holds.

The touched files are fetched, patched here without fuzz, checked, and put back with their owners and modes. So no
tool, user or ownership in the image can change a verdict.

Diffs and fetched files come from strangers. Links are copied and never followed. What they may take of this machine is
bounded, here and in `repair.controls.git`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from repair.controls.git import Git
from repair.errors import ImageError, NoEvidence
from repair.files import Scratch
from repair.sandbox import Container
from repair.sandbox.archive import Entry
from repair.text import normalise, printable

Patches = Sequence[tuple[str, bytes]]

MAX_FILES = 20_000  # files that the diffs of one task may touch
MAX_BYTES = 512 << 20  # bytes of all files that the diffs touch, before and after
MAX_PATH = 4000  # bytes of a path: systems allow 4096, and the folder of the copies takes some
MAX_NAME = 255  # bytes of one folder's or file's name: no system of an image allows more


class _DoesNotApplyError(Exception):
    """git refuses a patch. The message is git's answer as one line."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of patches.

    `error`: why the task is refused, as one line; None where every patch applied.
    `deleted`: the absolute paths that the container must still delete.
    """

    error: str | None = None
    deleted: tuple[str, ...] = ()


def apply(container: Container, workdir: str, patches: Patches, chain: Patches) -> Applied:
    """Apply `patches` in order, all or nothing; `chain` is all patches of the task, by which their root is found.

    Paths in a diff begin at the working directory or, where that lies inside a repo, at the repo's root: where the
    whole chain applies. Deletions are returned, because archives cannot express them. Raises `ImageError` where the
    image has no working directory, and `NoEvidence` where git breaks or the patches take too much of this machine.
    """
    roots = _roots(container, workdir)
    if not patches:
        return Applied()
    base = roots[0] if len(roots) == 1 else _root_of(container, roots, chain)
    with Scratch("patch") as folder:
        try:
            tree = _Tree(container, base, folder)
            for patch_name, content in patches:
                tree.apply(patch_name, content)
        except _DoesNotApplyError as err:
            return Applied(error=str(err))
        entries, deleted = tree.changes()
    container.put(entries)
    return Applied(deleted=deleted)


def _root_of(container: Container, roots: Sequence[str], chain: Patches) -> str:
    """The root at which the whole chain applies. Where both fit (new files only), the beginning of the paths tells."""
    workdir, repo = roots
    paths_by_root = {root: _paths_if_it_fits(container, root, chain) for root in roots}
    if paths_by_root[workdir] is None or paths_by_root[repo] is None:
        return repo if paths_by_root[repo] is not None else workdir
    subfolder = PurePosixPath(workdir).relative_to(repo)
    from_repo = all(path.startswith(f"{subfolder}/") for path in paths_by_root[repo] or ())
    return repo if from_repo and container.get(f"{workdir}/{subfolder}") is None else workdir


def _paths_if_it_fits(container: Container, root: str, chain: Patches) -> set[str] | None:
    """The paths that the chain touches; None where it does not apply at `root`."""
    with Scratch("patch") as folder:
        tree = _Tree(container, root, folder)
        try:
            for patch_name, content in chain:
                tree.apply(patch_name, content)
        except _DoesNotApplyError:
            return None
    return tree.touched


def _roots(container: Container, workdir: str) -> list[str]:
    """Where a diff's paths may begin: the working directory, and the root of a repo around it. Raises `ImageError`."""
    directory = container.get(workdir)
    if directory is None:
        raise ImageError(f"the image has no directory {workdir}", "set `workdir` to where the repo is in the image")
    if container.get(f"{workdir}/.git") is None:
        for parent in list(PurePosixPath(workdir).parents)[:-1]:
            if container.get(f"{parent}/.git") is not None:
                return [workdir, str(parent)]
    return [workdir]


class _Tree:
    """The touched files of a container, copied here to be patched. `folder`: an empty folder for the copies."""

    def __init__(self, container: Container, base: str, folder: Path) -> None:
        self.container, self.base, self.folder = container, base.rstrip("/"), folder
        self.local = folder / "tree"
        self.local.mkdir()
        self.entries: dict[str, Entry | None] = {}
        self.touched: set[str] = set()
        self.fetched = 0  # bytes of all copies
        self._git = Git(folder, self.local)

    def apply(self, name: str, content: bytes) -> None:
        """Apply one patch here. Raises `_DoesNotApplyError` unless every file changes as the diff says."""
        _refuse_large(name, sum(map(int, _LITERAL.findall(content))))
        paths = self._numstat(name, content)
        self.touched.update(paths)
        if len(self.touched) > MAX_FILES:
            raise NoEvidence(
                f"{name} makes it {len(self.touched)} files that the patches touch, more than {MAX_FILES}",
                "leave out of it what no test needs",
            )
        for path in filter(_may_be_fetched, paths):
            self._fetch(path)
        problem = self._git.ask("apply", "--whitespace=nowarn", "-", stdin=content).problem
        # The reverse of a copy would create its source, which is there.
        if problem is None and not _COPY.search(content):
            backwards = ("--check", "--reverse")
            problem = self._git.ask("apply", "--whitespace=nowarn", *backwards, "-", stdin=content).problem
        if problem is not None:
            raise _DoesNotApplyError(f"{name}: {problem}")
        _refuse_large(name, sum(os.lstat(self.local / path).st_size for path in self._local_paths()))

    def _numstat(self, name: str, content: bytes) -> list[str]:
        """The paths that a patch names, sorted. Raises `_DoesNotApplyError` where git cannot read the patch."""
        paths = []
        for direction in ((), ("--reverse",)):
            answer = self._git.ask("apply", "--numstat", "-z", *direction, "-", stdin=content)
            if answer.problem is not None:
                raise _DoesNotApplyError(f"{name}: {answer.problem}")
            paths += [line.split(b"\t", 2)[2] for line in answer.out.split(b"\0") if line.count(b"\t") >= 2]
        for path in paths:
            if len(path) > MAX_PATH or max(map(len, path.split(b"/"))) > MAX_NAME:
                raise _DoesNotApplyError(f"{name}: {normalise(path[:99].decode('utf-8', 'replace'))}…: name too long")
        try:
            return sorted({path.decode("utf-8") for path in paths})
        except UnicodeDecodeError:
            raise _DoesNotApplyError(f"{name}: it touches a path that is not UTF-8") from None

    def _fetch(self, path: str) -> None:
        """Copy the file at `path`, with the folders above it and their .gitattributes."""
        self._fetch_attributes("")
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            if str(parent) not in self.entries:
                self._copy(str(parent))
            known = self.entries[str(parent)]
            if known is None:
                break
            if not known.directory:
                return  # git refuses a path below a link or a file
            self._fetch_attributes(f"{parent}/")
        if path not in self.entries and not self._is_made_here(path):
            self._copy(path)

    def _fetch_attributes(self, folder: str) -> None:
        """Copy a folder's .gitattributes: it says which line ends files have here, which a diff does not show."""
        if f"{folder}.gitattributes" not in self.entries:
            self._copy(f"{folder}.gitattributes")

    def _is_made_here(self, path: str) -> bool:
        """Did an earlier patch put something at this path or above it? Then nothing is fetched for it."""
        return self._is_covered(path) or os.path.lexists(self.local / path)

    def _is_covered(self, path: str) -> bool:
        """Is something other than a folder above this path here? A link there may lead anywhere."""
        parents = (self.local / parent for parent in reversed(PurePosixPath(path).parents))
        return any(parent.is_symlink() or parent.is_file() for parent in parents)

    def _copy(self, path: str) -> None:
        entry = self.entries[path] = self.container.get(f"{self.base}/{path}", MAX_BYTES)
        target = self.local / path
        if entry is None or self._is_made_here(path):
            return
        self.fetched += len(entry.content)
        _refuse_large(f"{self.base}/{path}", self.fetched)
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.directory:
            target.mkdir()
        elif entry.link is not None:
            target.symlink_to(entry.link)
        else:
            target.write_bytes(entry.content)
            target.chmod(0o755 if entry.mode & 0o100 else 0o644)

    def changes(self) -> tuple[list[Entry], tuple[str, ...]]:
        """The entries to write into the container, parents first, and the absolute paths to delete there."""
        written, deleted = [], []
        for path in sorted(self._local_paths() | set(self.entries)):
            if self._is_covered(path):
                continue  # the folder that is replaced takes it along
            old, target = self.entries.get(path), self.local / path
            if not os.path.lexists(target):
                if old is not None and not old.directory:
                    _refuse_line_ends(path)
                    deleted.append(f"{self.base}/{path}")
                continue
            new = self._describe(path, target, old)
            if new is not None:
                written.append(new)
        return written, tuple(deleted)

    def _local_paths(self) -> set[str]:
        paths = set()
        for folder, folders, files in os.walk(self.local):
            relative = Path(folder).relative_to(self.local)
            paths |= {str(PurePosixPath(relative) / name) for name in (*folders, *files)}
        return paths

    def _describe(self, path: str, target: Path, old: Entry | None) -> Entry | None:
        """The entry to write for a path as it is here now; None where the container holds it like that."""
        name = f"{self.base}/{path}".lstrip("/")
        uid, gid = self._owner(path, old)
        if target.is_symlink():
            link = os.readlink(target)  # noqa: PTH115 - the link's text as it is
            return None if old and old.link == link else Entry(name, b"", 0o777, uid, gid, link=link)
        if target.is_dir():
            return None if old and old.directory else Entry(name, b"", 0o755, uid, gid, directory=True)
        content, runs = target.read_bytes(), bool(target.stat().st_mode & 0o100)
        is_file = old is not None and not old.directory and old.link is None
        if old is not None and is_file and old.content == content and bool(old.mode & 0o100) == runs:
            return None
        mode = old.mode if old is not None and is_file else 0o644
        return Entry(name, content, mode | 0o111 if runs else mode & ~0o111, uid, gid)

    def _owner(self, path: str, old: Entry | None) -> tuple[int, int]:
        """The user and group of a path: its own or, for a new file, those of the directory that it comes into."""
        if old is not None:
            return old.uid, old.gid
        for parent in PurePosixPath(path).parents:
            key = str(parent)
            if key not in self.entries:
                self.entries[key] = self.container.get(f"{self.base}/{key}" if key != "." else self.base or "/")
            known = self.entries[key]
            if known is not None:
                return known.uid, known.gid
        return 0, 0


_COPY = re.compile(rb"^copy from ", re.MULTILINE)
_LITERAL = re.compile(rb"^literal (\d{1,18})\r?$", re.MULTILINE)


def _refuse_large(what: str, size: int) -> None:
    """Raise `NoEvidence` where files that patches touch have more than `MAX_BYTES`."""
    if size > MAX_BYTES:
        raise NoEvidence(
            f"the files that the patches touch are larger than {MAX_BYTES >> 20} MiB with {printable(what)}",
            "leave out of the patches what no test needs",
        )


def _refuse_line_ends(path: str) -> None:
    """Raise `NoEvidence` for a name with a line end: a container reads line by line what it must delete."""
    if "\n" in path:
        raise NoEvidence(f"a patch deletes {printable(path)}, whose name has several lines", "keep it, or rename it")


def _may_be_fetched(path: str) -> bool:
    """May this path be copied here? git itself refuses the others: they leave the tree, or lead into a .git."""
    parts = path.split("/")
    return bool(path) and not path.startswith("/") and ".." not in parts and not any(map(_is_git, parts))


def _is_git(name: str) -> bool:
    """Is this a name of .git on some file system? Some ignore case, format characters, or final dots and blanks."""
    folded = "".join(char for char in name.casefold() if unicodedata.category(char) != "Cf")
    return folded.partition(":")[0].rstrip(". ") in {".git", "git~1"}
