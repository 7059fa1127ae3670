"""The panel's `.repair/`, and the records of its tasks.

`.repair/` holds the raw files of every attempt, the journal of observed runs, locks and temporary files. A task's
repair.json is never replaced: a synced temporary file is linked into place, so that an existing record stays whatever
happens. Until it is there, everything else that is written is a leftover.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import filelock
import orjson

from repair.errors import StoreError
from repair.files import publish, read_if_there, sync_directory, sync_file, written
from repair.model import Observed, Outcome, Panel, Run, Task
from repair.panel.read import OUTCOMES, RECORD, WORK, has_record
from repair.text import sha256


class Workspace:
    """A panel's `.repair/`. `run_id` names the attempts of this run.

    Raises `StoreError` where a place of its own is not a directory.
    """

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
        """Raise `StoreError` unless the records of all `tasks` can get their names here without replacing others."""
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
        """Hold a task for one process. It waits while another holds it, until `stopped()`; then it raises `StoreError`.

        The system frees the lock when the process dies.
        """
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
        """A new empty directory for one attempt's raw files. None is ever used twice."""
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
        """Write outcomes.json and repair.json of a decision. The caller holds the task's lock.

        Raises `StoreError` where there is a repair.json already: it stays as it is.
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
        """A new synced file with `content`, on the file system of the panel."""
        path = self.root / "tmp" / f"{_stem(task)}.{secrets.token_hex(6)}.tmp"
        with path.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        return path

    # ---- the journal of observed runs

    def recall(self, key: str) -> Run | None:
        """The run that was observed for a control with this digest; None where the journal holds no whole entry."""
        content = read_if_there(self.root / "journal" / f"{key}.json")
        return None if content is None else read_entry(content)

    def note(self, task: Task, key: str, run: Run, attempts: Iterable[Path]) -> None:
        """Keep an observed run for the next `repair run`. The raw files of its attempts are synced first."""
        with written(self.root):
            for attempt in attempts:
                for file in attempt.iterdir():
                    sync_file(file)
                sync_directory(attempt)
            source = self._temporary(task, entry_of(run))
            source.replace(self.root / "journal" / f"{key}.json")
            sync_directory(self.root / "journal")


def _stem(task: Task) -> str:
    """A file name that stands for a task: of fixed length, and not the beginning of another task's."""
    return sha256(task.instance_id.encode())[:32]


def _two_file_systems(work: Path, directory: Path) -> StoreError:
    return StoreError(f"{work} and {directory} are on two file systems", "keep a panel on one")


# ---- logs of attempts


def latest_log(panel: Panel, task: Task, kind: str) -> Path | None:
    """The newest log of one control of a task, confirmations aside; None where none is kept here.

    Only plain files count. The panel's maker might have put a link there, to a file of the user who looks.
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
    """The number of an attempt at its task. Numbers go on from run to run, whatever the clock says."""
    match = re.match(r"[^-]*-\d+-[0-9a-f]+-(\d+)-", attempt.name)  # behind the run's id: host, process, random
    return int(match[1]) if match else 0


# ---- entries of the journal


def entry_of(run: Run) -> bytes:
    """A run as the journal keeps it. All of its patches applied."""
    assert run.patch is None
    document = {
        "image": run.image,
        "exit": run.exit,
        "deadly": run.deadly,
        "flags": run.flags,
        "template": run.template,
        "observed": _observed_document(run.observed),
        **({"found": _observed_document(run.found)} if run.found else {}),
        **({"broken": _observed_document(run.broken)} if run.broken else {}),
    }
    return orjson.dumps(document)


def read_entry(content: bytes) -> Run | None:
    """The run of a journal's entry; None where the content is not an entry."""
    try:
        document = orjson.loads(content)
        return Run(
            _text(document["image"]),
            None if document["exit"] is None else _status(document["exit"]),
            _observed(document["observed"]),
            deadly=_texts(document["deadly"]),
            flags=_texts(document["flags"]),
            template=_texts(document["template"]),
            found=_observed(document.get("found", {})),
            broken=_observed(document.get("broken", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _observed_document(observed: Mapping[str, Observed]) -> dict[str, Any]:
    return {
        test: [record.outcome, record.cause, dict(record.members)] if record.members else [record.outcome, record.cause]
        for test, record in observed.items()
    }


def _observed(document: Any) -> dict[str, Observed]:
    observed = {}
    for test, (outcome, cause, *members) in document.items():
        below = {member: Outcome(text) for member, text in members[0].items()} if members else {}
        observed[test] = Observed(Outcome(outcome), _text(cause), below)
    return observed


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _status(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value
