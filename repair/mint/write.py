"""The new panel of the minted tasks: copies of their directories, with the new lists."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import new_directory
from repair.mint.document import Minted, mint_json
from repair.model import Inputs, Panel, Task
from repair.panel import read
from repair.panel.inputs import inputs
from repair.panel.read import ATTRIBUTES, OUTCOMES, RECORD
from repair.records.check import MINT
from repair.text import pretty

SCHEMAS = ".schemas"

# Not copied: what was made from the old lists, and their source.
LEFT_BEHIND = (RECORD, OUTCOMES, MINT, "task.json", "source.json", "source")


def refuse_edited(task: Task, made_from: Inputs, defaults: Mapping[str, Any]) -> None:
    """Raise `UsageError` where a task's files changed since its runs: its new lists would belong to other files."""
    current = replace(read.load_task(task.directory, defaults, lists=False), f2p=task.f2p, p2p=task.p2p)
    if inputs(current) != made_from:
        raise UsageError(f"{task.directory} was changed since it was run to be minted", "mint again")


def write_panel(panel: Panel, target: Path, found: Sequence[Minted]) -> None:
    """Write a new panel of the tasks that got lists. A refused task gets only its mint.json. Nothing is replaced.

    Raises `StoreError` or `UsageError` where no panel that loads can be written; then nothing is left at `target`.
    """
    with new_directory(target) as new:
        for entry in sorted(panel.directory.iterdir()):
            if entry.is_file() and (entry.name in ("panel.toml", ".gitattributes") or entry.match("README*")):
                shutil.copy(entry, new / entry.name)
        if (panel.directory / SCHEMAS).is_dir():
            shutil.copytree(panel.directory / SCHEMAS, new / SCHEMAS)
        if not (new / ".gitattributes").exists():
            (new / ".gitattributes").write_bytes(ATTRIBUTES)
        settings = read.load_settings(new)
        for minted in found:
            directory = new / minted.task.directory.name
            made_from = minted.inputs
            if minted.refused:
                directory.mkdir()
            else:
                refuse_edited(minted.task, minted.inputs, settings["defaults"])
                _copy(minted.task.directory, directory)
                _write_lists(minted.task, directory / "task.json")
                made_from = inputs(read.load_task(directory, settings["defaults"]))
            (directory / MINT).write_bytes(mint_json(replace(minted, inputs=made_from)))


def check_can_be_copied(task: Path) -> None:
    """Raise `UsageError` where a task's directory holds what no new panel could hold.

    The user learns of it before a night of runs.

    A link may lead to a place in its own task; it stays a link. It may lead to plain files of its panel; they are
    copied. A link that leads elsewhere would publish a private file of the user who mints.
    """
    for path in sorted(task.rglob("*")):
        if not path.is_symlink():
            _check_plain(path)
        elif not _leads_inside(path, task):
            target = path.resolve()
            if not target.is_relative_to(task.parent.resolve()) or task.resolve().is_relative_to(target):
                raise UsageError(f"{path} leads out of the panel", "copy what is meant to its place")
            for below in (target, *sorted(target.rglob("*"))):
                _check_plain(below)


def _check_plain(path: Path) -> None:
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is no plain file, and cannot be copied", "remove it, or copy what is meant")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} cannot be read", "check its permissions")


def _leads_inside(link: Path, task: Path) -> bool:
    return link.resolve().is_relative_to(task.resolve())


def _copy(task: Path, target: Path) -> None:
    """Copy a task's directory without what was made from its old lists.

    A link that leads out of the task becomes a copy of its target.
    """

    def left_behind(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if folder == str(task) and name in LEFT_BEHIND]

    shutil.copytree(task, target, symlinks=True, ignore=left_behind, copy_function=shutil.copy)
    for path in sorted(task.rglob("*")):
        copy = target / path.relative_to(task)
        if path.is_symlink() and copy.is_symlink() and not _leads_inside(path, task):
            copy.unlink()
            shutil.copytree(path, copy) if path.is_dir() else shutil.copy(path, copy)


def _write_lists(task: Task, file: Path) -> None:
    """Write a task's task.json with its new lists; all other keys stay as they are."""
    document = json.loads((task.directory / "task.json").read_text("utf-8-sig"))
    document |= {"FAIL_TO_PASS": list(task.f2p), "PASS_TO_PASS": list(task.p2p)}
    file.write_text(pretty(document) + "\n", "ascii")
