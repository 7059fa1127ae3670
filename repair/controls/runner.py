"""Runs one control in a fresh container: what goes in, what comes out, and what that says of every listed id.

A run that ends inside a test is tried again. A test that ends it twice is set aside, and the rest runs without it.
What could not be observed is raised as an infrastructure error and is evidence for nothing.
"""

from __future__ import annotations

import errno
import re
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import orjson

from repair.controls import apply
from repair.controls.fetch import fetch_reports
from repair.controls.plan import PYTEST, choice, files_of, inside
from repair.errors import DiskFull, InfrastructureError, NoEvidence
from repair.model import Control, ControlKind, Ended, Image, Run, Task
from repair.outcomes.evidence import (
    Attempt,
    NoReport,
    judge_pytest,
    judge_reports,
    read_record,
    refuse_outside_kill,
    refuse_strangers,
    some,
)
from repair.outcomes.frameworks.plan import with_arguments
from repair.outcomes.logs import full_disk_first, head, last_line, log_tail, refuse_full_disk
from repair.sandbox import Sandbox
from repair.sandbox.archive import Entry
from repair.sandbox.retry import NEVER, Retry

MAX_DEADLY = 3  # tests that one control may set aside
MAX_ATTEMPTS = 8  # of one control
T = TypeVar("T")
MAX_ARGUMENTS = 100_000  # characters of file names on pytest's command line


def observe(sandbox: Sandbox, control: Control, image: Image, attempt: Callable[[], Path], retry: Retry = NEVER) -> Run:
    """Run a control until it is observed. An empty run outside pytest that leaves no report is tried twice.

    `attempt` makes an empty directory for each attempt's raw files. `retry` repeats, each time in a fresh container,
    what the engine fails to do for the moment. Raises an `InfrastructureError` where the control cannot be observed.
    """
    ended_inside: Counter[str] = Counter()
    deadly: list[str] = []
    earlier: NoReport | None = None
    for _ in range(MAX_ATTEMPTS):
        call = partial(_attempt, sandbox, control, image, tuple(deadly))
        result = retry(partial(explained, attempt, call))
        if result.patch_error is not None:
            return Run(image.id, None, {}, patch=result.patch_error)
        if control.task.framework != PYTEST:
            try:
                with full_disk_first(result.directory):
                    return judge_reports(control, image, result)
            except NoReport as err:
                _refuse_no_report(control, earlier, err)
                earlier = err
                continue
        record = read_record(result)
        with full_disk_first(result.directory):
            if not record.open or result.ended.memory_kill:
                return judge_pytest(control, image, result, record, tuple(deadly))
            refuse_outside_kill(result)
        refuse_full_disk(result.directory)
        ended_inside.update(record.open)
        deadly += _deadly(record.open, ended_inside, deadly, result)
    raise NoEvidence(
        f"the run ended inside tests {MAX_ATTEMPTS} times: {some(sorted(ended_inside))}", f"see {result.directory}/log"
    )


def _refuse_no_report(control: Control, earlier: NoReport | None, error: NoReport) -> None:
    """Raise unless a run without a report is to be tried again: the first one under empty."""
    if control.kind is not ControlKind.EMPTY or (earlier is not None and earlier.status == error.status):
        raise error
    if earlier is not None:
        raise NoEvidence(f"no report, with status {earlier.status} and then {error.status}", error.next) from None


def _deadly(open_tests: Sequence[str], ended: Counter[str], deadly: Sequence[str], result: Attempt) -> list[str]:
    """The test that ended the run for the second time, to be set aside; empty where none did.

    `ended` counts how often each test ended the run. Raises `NoEvidence` where no more tests can be set aside.
    """
    repeated = [test for test in open_tests if ended[test] > 1]
    if len(repeated) > 1:
        raise NoEvidence(
            f"the run ended twice inside several tests at once: {some(repeated)}",
            "run them one after the other (an xdist option in test_cmd or addopts?)",
        )
    if repeated and len(deadly) == MAX_DEADLY:
        raise NoEvidence(
            f"more than {MAX_DEADLY} tests end the run: {some([*deadly, *repeated])}", f"see {result.directory}/log"
        )
    return repeated


def explained(attempt: Callable[[], Path], call: Callable[[Path], T]) -> T:
    """What `call` returns for a new directory of `attempt`. Where it fails, the file `error` in there says why."""
    directory = attempt()
    try:
        return call(directory)
    except InfrastructureError as err:
        (directory / "error").write_text(f"{err}\n", "utf-8")
        raise
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):  # half a log says little, and other tasks need the room
            for file in directory.iterdir():
                file.unlink()
        raise


def _attempt(sandbox: Sandbox, control: Control, image: Image, deadly: tuple[str, ...], directory: Path) -> Attempt:
    """Run a control once without the tests in `deadly`, and leave raw files in `directory`."""
    task = control.task
    here = f"/.repair-{secrets.token_hex(4)}"
    command = ["/bin/sh", f"{here}/control.sh", here, task.workdir]
    command += ["-"] if isinstance(task.test_cmd, str) else task.test_cmd
    command += _pytest_arguments(control, here) if task.framework == PYTEST else []
    with sandbox.container(task, image, control.label, command) as box:
        applied = apply.apply(box, task.workdir, control.patches, task.patches)
        if applied.error is not None:
            return Attempt(Ended(None, False), None, directory, applied.error)
        entries = _entries(control, here.lstrip("/"), deadly, applied.deleted)
        if not sandbox.tells_memory_kills:
            entries.append(Entry(f"{here}/in/watch".lstrip("/"), b"", 0o644))
        box.put(entries)
        try:
            ended = box.run(task.timeout)
        finally:
            if not sandbox.closed:
                box.log(directory / "log")
        box.fetch(f"{here}/out", directory)
        refuse_strangers(directory, task.framework)
        status = status_in(directory)
        ended = replace(ended, memory_kill=ended.memory_kill or memory_kills(directory) > 0)
        if task.framework != PYTEST and status is not None:
            fetch_reports(box, control, here, directory)
    if ended.code in (97, 98) or _disk_full(directory, status):
        message = last_line(directory)
        if "No space left" in message or _disk_full(directory, status):
            raise DiskFull("no space left in the container", "free some on the engine's disk, then run again")
        raise NoEvidence(f"the container could not be prepared: {message}", "set `user` to one who may write there")
    return Attempt(ended, status, directory)


def _pytest_arguments(control: Control, here: str) -> list[str]:
    """Our arguments: options, which win over the repo's own since they come last, then the listed ids' files."""
    options = ["-p", "repair_pytest", f"--junitxml={here}/out/report.xml", "--junitprefix="]
    options += ["--continue-on-collection-errors", "--maxfail=0"]
    # With `./` pytest reads no path as an option or as a file of arguments.
    files = [f"./{path}" if path.startswith(("-", "@")) else path for path in files_of(control)]
    return options + (files if sum(map(len, files)) <= MAX_ARGUMENTS else [])


def _entries(control: Control, here: str, deadly: tuple[str, ...], deleted: tuple[str, ...]) -> list[Entry]:
    """The files that go into a container: script, inputs, plugin. `here`: our own folder, without the leading slash."""
    task = control.task
    entries = [Entry(f"{here}{below}", b"", 0o755, directory=True) for below in ("", "/in")]
    entries.append(Entry(f"{here}/out", b"", 0o1777, directory=True))
    entries.append(Entry(f"{here}/control.sh", inside("control.sh"), 0o644))
    lines = {"junit": () if task.framework == PYTEST else task.junit, "delete": deleted}
    for name, content in lines.items():
        entries.append(Entry(f"{here}/in/{name}", "".join(f"{line}\n" for line in content).encode(), 0o644))
    if isinstance(task.test_cmd, str):
        entries.append(Entry(f"{here}/in/test_cmd", _text(task).encode(), 0o644))
    if task.framework == PYTEST:
        select = {"skip": deadly, **choice(control)}
        entries.append(Entry(f"{here}/in/select.json", orjson.dumps(select), 0o644))
        entries.append(Entry(f"{here}/plugin", b"", 0o755, directory=True))
        entries.append(Entry(f"{here}/plugin/repair_pytest.py", inside("repair_pytest.py"), 0o644))
    return entries


def _text(task: Task) -> str:
    """A test command that is a text, with our arguments where pytest takes them. Other runners get none."""
    assert isinstance(task.test_cmd, str)
    text = task.test_cmd.rstrip()
    if task.framework == PYTEST:
        text = with_arguments(text)
        text += "" if '"$@"' in text else ' "$@"'
    return text + "\n"


def status_in(directory: Path) -> int | None:
    """The exit status of the test command; None where it never ended."""
    text = head(directory / "exit").strip()
    return int(text) if re.fullmatch(r"\d{1,3}", text) else None


def memory_kills(directory: Path) -> int:
    """How often the kernel killed a process of the container for its memory limit, as the script in it saw."""
    counts = re.findall(r"^oom_kill (\d{1,9})$", head(directory / "memory"), re.MULTILINE)
    return sum(map(int, counts))


def _disk_full(directory: Path, status: int | None) -> bool:
    """Does the log of a test command that never ended say that a disk is full?"""
    return status is None and "No space left on device" in log_tail(directory / "log")
