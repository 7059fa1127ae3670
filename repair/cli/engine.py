"""`repair clean` and `repair doctor`: the engine, and what earlier runs left on it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repair.cli.options import load
from repair.errors import EngineError
from repair.text import printable

if TYPE_CHECKING:
    from repair.model import Panel
    from repair.sandbox import Sandbox

LITTLE_DISK = 5 << 30  # bytes; at this or less, `repair doctor` reports a problem


def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those of other hosts' runs, about which nothing is known here.")
    ] = False,
) -> None:
    """Remove the containers and temporary folders that killed runs left; those of a run that lives are spared.

    Example: repair clean
    """
    from repair import files
    from repair.sandbox import Sandbox
    from repair.sandbox.run_locks import is_dead, is_of_this_host, new_run_id

    files.sweep()
    removed = 0
    with contextlib.closing(Sandbox(new_run_id())) as sandbox:
        left = sandbox.left_over()
        for identity, run_id, task in left:
            if is_dead(run_id) or (everything and not is_of_this_host(run_id)):
                if not sandbox.remove(identity):
                    raise EngineError(f"could not remove {identity[:12]}", "see the engine's log, then clean again")
                removed += 1
                print(f"removed {identity[:12]} ({printable(task)})")
    spared = len(left) - removed
    print(
        f"{removed} containers removed"
        + (f", {spared} spared: their runs live, or belong to another host" * bool(spared))
    )


def doctor(
    panel: Annotated[
        Path | None, typer.Argument(help="Also look at this panel's images.", show_default=False, readable=False)
    ] = None,
) -> None:
    """Say what repair sees: engine, version, storage, free disk, git, and a panel's images; each with what to do.

    Exit status 0 if a run could start; the error's own otherwise.

    Example: repair doctor panels/demo
    """
    loaded = None if panel is None else load(panel)
    ready = True
    for finding in examine(loaded):
        ready = ready and finding.good
        print(printable(f"{'ok  ' if finding.good else 'BAD '} {finding.what}"))
        if finding.next:
            print(printable(f"     {finding.next}"))
    raise typer.Exit(0 if ready else 1)


# ---- the examination


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination: whether it is good, what was found, and what to do about it."""

    good: bool
    what: str
    next: str = ""


def examine(panel: Panel | None) -> Iterator[Finding]:
    """Look at git, the engine, its disk, and the images of a panel; None stands for no panel."""
    from repair.sandbox import Sandbox
    from repair.sandbox.run_locks import new_run_id

    yield _git()
    try:
        sandbox = Sandbox(new_run_id())
    except EngineError as err:
        yield Finding(False, err.message, err.next)
        return
    with contextlib.closing(sandbox):
        yield from _engine(sandbox, panel)


def _engine(sandbox: Sandbox, panel: Panel | None) -> Iterator[Finding]:
    engine = sandbox.engine
    yield Finding(
        True,
        f"engine {engine.version} (API {engine.api}) at {engine.address}: {engine.cpus} cores,"
        f" {engine.memory >> 30} GiB of memory, {engine.architecture}, storage {engine.storage}",
    )
    for warning in engine.warnings:
        yield Finding(True, f"the engine warns: {warning}")
    yield from _disk(engine.root)
    leftovers = sandbox.left_over()
    if leftovers:
        yield Finding(
            True, f"{len(leftovers)} containers of repair runs are on the engine", "`repair clean` removes dead ones"
        )
    if panel is not None:
        yield from _images(panel, sandbox)


def _git() -> Finding:
    if shutil.which("git") is None:
        return Finding(False, "git is not installed", "install git: it applies the patches")
    version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Finding(True, version)


def _disk(root: str) -> Iterator[Finding]:
    """The free disk of the engine. It can be seen only where the engine is on this machine."""
    if root and Path(root).is_dir():
        free = shutil.disk_usage(root).free
        advice = "" if free > LITTLE_DISK else "free some: `docker system df` shows what images and containers take"
        yield Finding(free > LITTLE_DISK, f"{free >> 30} GiB free under {root}", advice)
    else:
        yield Finding(True, "the engine's disk cannot be seen from here: it is on another machine")


def _images(panel: Panel, sandbox: Sandbox) -> Iterator[Finding]:
    for name in sorted({task.image for task in panel.tasks}):
        task = next(task for task in panel.tasks if task.image == name)
        image = sandbox.images.find(task)
        if image is not None:
            emulated = f", emulated here ({image.platform})" if image.emulated else ""
            yield Finding(True, f"image {name} is here{emulated}")
        elif (task.directory / "environment" / "Dockerfile").is_file():
            yield Finding(True, f"image {name} is not here", "`repair run` pulls it, or builds it from environment/")
        else:
            yield Finding(False, f"image {name} is not here", "`repair run` tries to pull it; build it if it can't")
