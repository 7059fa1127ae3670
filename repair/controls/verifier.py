"""Runs a task's own verifier in a fresh container, under one control, and reads its reward.

The verifier brings its own tests, so the tests patch stays out. A run without a clear reward is an infrastructure
error.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from repair.controls import apply, plan, runner
from repair.errors import ContainerKilled, MemoryKill, NoEvidence, TimeoutOutsideTest
from repair.model import Control, Image, Run, Verifier
from repair.outcomes.logs import refuse_full_disk_by_log
from repair.outcomes.rewards import score
from repair.sandbox import Sandbox
from repair.sandbox.archive import Entry
from repair.sandbox.retry import NEVER, Retry
from repair.text import printable

MAX_REWARD = 1 << 20  # bytes of a reward file


def verify(sandbox: Sandbox, control: Control, image: Image, attempt: Callable[[], Path], retry: Retry = NEVER) -> Run:
    """Run a control's verifier: the run has its reward and no outcomes. The arguments are those of `runner.observe`.

    Raises an `InfrastructureError` where there is no reward.
    """
    status, reward = retry(partial(runner.explained, attempt, partial(_reward, sandbox, control, image)))
    return Run(image.id, status, {}, reward=reward)


def _reward(sandbox: Sandbox, control: Control, image: Image, directory: Path) -> tuple[int, float]:
    """The command's status and the reward. Raw files go to `directory`."""
    task, verifier = control.task, control.verifier
    assert verifier is not None
    here = f"/.repair-{secrets.token_hex(4)}"
    command = ["/bin/sh", f"{here}/control.sh", here, task.workdir, *verifier.command]
    task = replace(task, env=MappingProxyType({**verifier.env, **task.env}))
    with sandbox.container(task, image, control.label, command) as box:
        applied = apply.apply(box, task.workdir, control.patches, task.patches)
        if applied.error is not None:
            raise NoEvidence(f"without the tests patch {applied.error}", "see whether the patches build on each other")
        box.put(_entries(here.lstrip("/"), verifier, applied.deleted))
        try:
            ended = box.run(verifier.timeout)
        finally:
            if not sandbox.closed:
                box.log(directory / "log")
        box.fetch(f"{here}/out", directory)
        begun = box.get(f"{here}/out/begun")
        rewards = {}
        for path in verifier.rewards:
            entry = box.get(path, MAX_REWARD)
            if entry is not None and entry.link is None and not entry.directory:
                if begun is None or entry.mtime < int(begun.mtime):
                    raise NoEvidence(f"{path} is older than the run", "remove it from the image")
                rewards[path] = entry.content
    status = runner.status_in(directory)
    log = f"see {directory}/log"
    if ended.memory_kill or runner.memory_kills(directory):
        raise MemoryKill(f"the verifier reached the memory limit of {task.memory >> 20} MiB", "raise `memory`")
    if ended.code is None:
        raise TimeoutOutsideTest(f"the verifier did not end within {verifier.timeout:g} s", log)
    if status is None:
        raise ContainerKilled(f"the container was killed from outside (status {ended.code})", "run again")
    refuse_full_disk_by_log(directory)
    try:
        return status, score(verifier, rewards, (directory / "log").read_bytes())
    except NoEvidence as err:
        raise NoEvidence(f"{printable(err.message)} (status {status})", f"{err.next}; {log}") from None


# Commands that fetch something, outside comments.
_FETCHES = re.compile(
    rb"^[^#\n]*\b(curl|wget|git clone|apt(?:-get)? (?:-\S+ )*(?:install|update)|uvx|uv (?:run|pip|tool|sync)"
    rb"|pip3? install|npm (?:ci|i|install)|yarn install|conda (?:install|create|env|update))\b",
    re.MULTILINE,
)


def fetches(verifier: Verifier) -> str:
    """The command by which a verifier's own script would fetch something; empty where none is seen."""
    script = next((content for path, content, _ in verifier.files if path == verifier.command[-1]), b"")
    match = _FETCHES.search(script)
    return match[1].decode() if match else ""


def _entries(here: str, verifier: Verifier, deleted: tuple[str, ...]) -> list[Entry]:
    """The files that go into a container: script, inputs, the verifier's files and directories."""
    entries = [Entry(f"{here}{below}", b"", 0o755, directory=True) for below in ("", "/in")]
    entries.append(Entry(f"{here}/out", b"", 0o1777, directory=True))
    entries.append(Entry(f"{here}/control.sh", plan.inside("control.sh"), 0o644))
    entries.append(Entry(f"{here}/in/delete", "".join(f"{path}\n" for path in deleted).encode(), 0o644))
    entries.append(Entry(f"{here}/in/junit", b"", 0o644))
    folders = {str(parent) for path, _, _ in verifier.files for parent in Path(path).parents}
    folders |= {str(parent) for path in verifier.directories for parent in (Path(path), *Path(path).parents)}
    for folder in sorted(folders - {"/"}):
        mode = 0o1777 if folder in verifier.directories else 0o755
        entries.append(Entry(folder.lstrip("/"), b"", mode, directory=True))
    entries += [Entry(path.lstrip("/"), content, mode) for path, content, mode in verifier.files]
    return entries
