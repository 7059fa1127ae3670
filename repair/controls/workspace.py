"""The disk: a task's records, written once; the panel's `.repair/` with raw files, journal and locks.

repair.json is never replaced: a synced temporary file is linked into place, so that an existing one stays whatever
happens. Everything else that is written is a leftover until it is there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import filelock
import orjson

from repair.controls import journal
from repair.errors import DiskFull, StoreError, UsageError
from repair.model import Inputs, ListName, Panel, Policy, Run, Task
from repair.records.documents import inline, policy_document, sha256

RECORD = "repair.json"
OUTCOMES = "outcomes.json"
WORK = ".repair"
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


# ---- what a record is made from


def inputs(task: Task) -> Inputs:
    """Digests of the task as it is now: its effective keys, its environment/ and its patches."""
    return Inputs(
        task=sha256(inline(effective(task)).encode("ascii")),
        environment=tree_digest(task.directory / "environment"),
        oracle_patch=sha256(task.oracle_patch),
        tests_patch=None if task.tests_patch is None else sha256(task.tests_patch),
        entry_patch=None if task.entry_patch is None else sha256(task.entry_patch),
    )


def source_digest(task: Task) -> str:
    """sha256 over what an imported task came from: its source.json and `source/`."""
    parts = [sha256(read_if_there(task.directory / "source.json") or b""), tree_digest(task.directory / "source")]
    return sha256(inline(parts).encode("ascii"))


def effective(task: Task) -> dict[str, Any]:
    """The task after defaults, keys sorted, its lists as sorted sets.

    `id_template` and `test_files` are there only where they are set.
    """
    own_names = {"id_template": list(task.id_template)} if task.id_template else {}
    minted_from = {"test_files": list(task.test_files)} if task.test_files else {}
    return {
        "FAIL_TO_PASS": list(task.listed(ListName.F2P)),
        "PASS_TO_PASS": list(task.listed(ListName.P2P)),
        "base_commit": task.base_commit,
        "cpus": task.cpus,
        "env": dict(sorted(task.env.items())),
        "framework": task.framework,
        **own_names,
        "image": task.image,
        "instance_id": task.instance_id,
        "junit": list(task.junit),
        "memory": task.memory,
        "network": task.network,
        "platform": task.platform,
        "select": task.select,
        **minted_from,
        "test_cmd": task.test_cmd if isinstance(task.test_cmd, str) else list(task.test_cmd),
        "timeout": task.timeout,
        "user": task.user,
        "workdir": task.workdir,
    }


def policy_digest(policy: Policy) -> str:
    """sha256 of the policy, in hexadecimal."""
    return sha256(inline(policy_document(policy)).encode("ascii"))


def tree_digest(directory: Path) -> str | None:
    """sha256 over the names, kinds, execute bits and contents of a directory's files; None where there is none."""
    if not directory.is_dir():
        return None
    lines = []
    try:
        for folder, folders, files in os.walk(directory, onerror=_raise):
            for name in (*files, *(name for name in folders if Path(folder, name).is_symlink())):
                path = Path(folder, name)
                lines.append(inline([*_content(path), _utf8(path.relative_to(directory).as_posix())]))
    except OSError as err:
        raise UsageError(f"{err.filename} cannot be read: {err.strerror}", "check its permissions") from None
    return sha256("\n".join(sorted(lines)).encode("ascii"))


def _content(path: Path) -> tuple[str, str]:
    """Kind and digest of a file or link; what is neither has no content."""
    if path.is_symlink():
        return "link", sha256(os.fsencode(path.readlink()))
    if path.is_file():
        return "run" if path.stat().st_mode & 0o100 else "file", sha256(path.read_bytes())
    return "other", ""


def _raise(err: OSError) -> None:
    raise err


def _utf8(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# ---- one task's records


def read_record(task: Task) -> dict[str, Any] | None:
    """A task's repair.json as parsed, or None where there is none. Raises `StoreError` where it is not one of ours."""
    content = read_if_there(task.directory / RECORD)
    if content is None:
        return None
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as err:
        raise StoreError(
            f"{task.directory / RECORD} is no valid JSON: {err}", "restore it from git, or remove it"
        ) from None
    if not isinstance(document, dict):
        raise StoreError(f"{task.directory / RECORD} is no record", "restore it from git, or remove it")
    return document


def read_if_there(file: Path) -> bytes | None:
    """A file's content, or None where there is no such file."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "check its permissions") from None


def has_record(task: Task) -> bool:
    """Is there a repair.json, of whatever content?"""
    try:
        os.lstat(task.directory / RECORD)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as err:  # a disk or a share that does not answer has not said no
        raise StoreError(f"{task.directory / RECORD} cannot be looked at: {err.strerror}", "see the disk") from None
    return True


class Workspace:
    """A panel's `.repair/`: raw files of every attempt, the journal, locks, and temporary files."""

    def __init__(self, panel: Panel, run_id: str) -> None:
        self.run_id = run_id
        self.root = panel.directory / WORK
        self._attempts = 0
        self._lock = threading.Lock()
        try:
            with written(self.root):
                for name in ("journal", "locks", "tmp"):
                    (self.root / name).mkdir(parents=True, exist_ok=True)
                ignore = self.root / ".gitignore"
                if not ignore.exists():
                    ignore.write_text("*\n")
        except FileExistsError as err:
            raise StoreError(f"{err.filename} is no directory", "remove it: it is repair's own place") from None

    def check_can_publish(self, tasks: Iterable[Task]) -> None:
        """Raise unless this file system can give a record its name without replacing one, for all of `tasks`."""
        probe = self.root / "tmp" / f"probe-{secrets.token_hex(6)}"
        source = probe.with_suffix(".tmp")
        with written(self.root):
            source.write_bytes(b"")
            try:
                publish(source, probe)
            finally:
                source.unlink(missing_ok=True)
                probe.unlink(missing_ok=True)
            here = self.root.stat().st_dev
            for task in tasks:
                if task.directory.stat().st_dev != here:
                    raise _two_file_systems(self.root, task.directory)

    @contextlib.contextmanager
    def task_lock(self, task: Task, stopped: Callable[[], bool]) -> Iterator[None]:
        """Hold a task for one process; waits for another until `stopped()`. The system frees it when we die."""
        lock = filelock.FileLock(self.root / "locks" / f"{_stem(task)}.lock")
        with written(self.root):
            while True:
                try:
                    lock.acquire(timeout=1)
                    break
                except filelock.Timeout:
                    if stopped():
                        raise StoreError(f"{task.instance_id} is held by another run", "wait for it to end") from None
        try:
            for left in (self.root / "tmp").glob(f"{_stem(task)}.*.tmp"):
                left.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def attempt(self, task: Task, label: str) -> Path:
        """A new empty directory for one attempt's raw files; none is ever used twice."""
        above = self.root / "attempts" / task.instance_id
        with written(above):
            above.mkdir(parents=True, exist_ok=True)
            while True:
                with self._lock:
                    self._attempts = max([self._attempts, *(_number(path) for path in above.iterdir())]) + 1
                    path = above / f"{self.run_id}-{self._attempts:04d}-{label}"
                try:
                    path.mkdir()
                except FileExistsError:  # an earlier run over this panel by the same process
                    continue
                return path

    def save(self, task: Task, outcomes: bytes, record: bytes) -> None:
        """Write both files of a decision; the task's lock must be held.

        Raises `StoreError` where another repair.json came first: then nothing of ours replaces it.
        """
        directory = task.directory
        with written(directory):
            if has_record(task):
                raise StoreError(f"{directory / RECORD} is there already", "remove it to decide anew")
            source = self._temporary(task, outcomes)
            try:
                source.replace(directory / OUTCOMES)
            except OSError as err:
                if err.errno != errno.EXDEV:
                    raise
                source.unlink()
                raise _two_file_systems(self.root, directory) from None
            sync_directory(directory)
            source = self._temporary(task, record)
            source.chmod(0o444)
            try:
                publish(source, directory / RECORD)
            except FileExistsError:
                raise StoreError(f"{directory / RECORD} is there already", "remove it to decide anew") from None
            finally:
                source.unlink(missing_ok=True)
            sync_directory(directory)

    def _temporary(self, task: Task, content: bytes) -> Path:
        path = self.root / "tmp" / f"{_stem(task)}.{secrets.token_hex(6)}.tmp"
        with path.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        return path

    # ---- the journal of observed runs

    def recall(self, key: str) -> Run | None:
        """The run that was observed for a control with this digest, or None. What is not whole counts as absent."""
        content = read_if_there(self.root / "journal" / f"{key}.json")
        return None if content is None else journal.read(content)

    def note(self, task: Task, key: str, run: Run, attempts: Iterable[Path]) -> None:
        """Keep an observed run for the next `repair run`, once its raw files are on the disk."""
        with written(self.root):
            for attempt in attempts:
                for file in attempt.iterdir():
                    _sync_file(file)
                sync_directory(attempt)
            source = self._temporary(task, journal.entry(run))
            source.replace(self.root / "journal" / f"{key}.json")
            sync_directory(self.root / "journal")


def _stem(task: Task) -> str:
    """A file name that stands for a task: of fixed length, and no other's beginning."""
    return sha256(task.instance_id.encode())[:32]


def _two_file_systems(work: Path, directory: Path) -> StoreError:
    return StoreError(f"{work} and {directory} are on two file systems", "keep a panel on one")


@contextlib.contextmanager
def written(where: Path) -> Iterator[None]:
    """Say which place could not be written, and why."""
    try:
        yield
    except FileExistsError:
        raise
    except shutil.Error as err:  # of a whole tree: (from, to, why) of each file
        why = str(err.args[0][0][2])
        if f"[Errno {errno.ENOSPC}]" in why or f"[Errno {errno.EDQUOT}]" in why:
            raise DiskFull(f"no space left under {where}", "free some, then run again") from None
        raise StoreError(f"{err.args[0][0][1]} cannot be written: {why}", "check permissions and file system") from None
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no space left under {where}", "free some, then run again") from None
        place = err.filename or where
        raise StoreError(f"{place} cannot be written: {err.strerror}", "check permissions and file system") from None


def publish(source: Path, target: Path) -> None:
    """Give a synced file its name, only if nothing has that name. Raises `FileExistsError`, or `StoreError`.

    Linking is the way; where a file system has no hard links, a rename that refuses to replace.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        if not os.path.samestat(os.lstat(source), os.lstat(target)):  # an answer that got lost on a network share
            raise
    except OSError as err:
        if err.errno not in NO_LINKS:
            raise
        _rename_no_replace(source, target)


RENAME_NOREPLACE = 1
AT_FDCWD = -100


def _rename_no_replace(source: Path, target: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    status = -1
    if rename is not None:
        status = rename(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), RENAME_NOREPLACE)
    if status == 0:
        return
    code = ctypes.get_errno() if rename is not None else errno.ENOSYS
    if code == errno.EEXIST:
        raise FileExistsError(code, os.strerror(code), str(target))
    raise StoreError(
        f"{target.parent} is on a file system without hard links ({os.strerror(code)})",
        "keep the panel on one that has them, so that no record can be replaced",
    )


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def latest_log(panel: Panel, task: Task, kind: str) -> Path | None:
    """The newest log of one control of a task, confirmations aside; None where none is kept here.

    Only plain files count: whoever made the panel might have put a link there, to a file of whoever looks.
    """
    work = (panel.directory / WORK).resolve()
    attempts = (panel.directory / WORK / "attempts" / task.instance_id).glob(f"*-{kind}-[0-9]*/log")
    ours = (
        path
        for path in attempts
        if path.is_file() and path.resolve() == work / path.relative_to(panel.directory / WORK)
    )
    return max(ours, key=lambda path: (_number(path.parent), path.stat().st_mtime_ns), default=None)


def _number(attempt: Path) -> int:
    """Which attempt at its task this is: they are numbered on from run to run, whatever the clock says."""
    found = re.match(r"[^-]*-\d+-[0-9a-f]+-(\d+)-", attempt.name)  # after a run's id: host, process, random
    return int(found[1]) if found else 0


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill, which gets the name `path` when it is whole and else is gone again.

    Raises `UsageError` where something has that name, an empty directory aside.
    """
    check_new(path)
    target = path.absolute()
    there = _nearest(target)  # folders above are made when all is well
    temporary = there / f".{target.name}.{secrets.token_hex(4)}.tmp"
    with written(path):
        temporary.mkdir()
        try:
            yield temporary
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(target)
            sync_directory(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_new(path: Path) -> None:
    """Raise `UsageError` where a new directory could not get the name `path`, since something else has it."""
    try:
        there = os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir()))
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "check its permissions") from None
    if there:
        raise UsageError(f"{path} is there already", "name a directory that isn't; nothing is replaced")
    _nearest(path.absolute())


def _nearest(path: Path) -> Path:
    """The nearest folder above that is there. Raises `UsageError` where something else stands in the way."""
    try:
        there = next(parent for parent in path.parents if os.path.lexists(parent))
        if there.is_dir():
            return there
    except OSError as err:
        raise UsageError(f"{path} cannot be written: {err.strerror}", "check name and permissions") from None
    raise UsageError(f"{there} is no directory", "name another place")


def write_new(file: Path, content: bytes) -> None:
    """Write a file that is not there yet, whole or not at all; folders above it are made."""
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", "name a file that isn't; nothing is replaced")
    _nearest(file.absolute())
    with written(file):
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, replacing what is there."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    with written(file):
        if file.exists() and not file.is_file():
            raise StoreError(f"{file} is no plain file", "name one that may be replaced")
        try:
            with temporary.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
