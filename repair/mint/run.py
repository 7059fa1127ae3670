"""New lists for a panel: both controls over whole test files, lists derived and tried, a new panel written.

The panel that they come from stays as it is. Runs are journalled there, so that minting again goes on from them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from repair import __version__
from repair.controls import runner
from repair.controls.session import (
    Ended,
    Options,
    Say,
    Work,
    controls,
    each,
    refuse_patch_errors,
    refuse_two_spellings,
    silent,
    spelt_by,
)
from repair.controls.workspace import OUTCOMES, RECORD, inputs, new_directory
from repair.errors import UsageError
from repair.mint import classes
from repair.mint.against import Discrepancies, compare
from repair.mint.classes import Derivation, Derived
from repair.mint.document import FILE, Minted, mint_json
from repair.model import Control, Finding, Image, Inputs, Panel, Rule, Run, Task
from repair.outcomes.evidence import some
from repair.panel import patches, read
from repair.panel.attributes import ATTRIBUTES
from repair.records.documents import pretty
from repair.sandbox import Sandbox

MAX_TURNS = 3
MAX_TRIALS = 3
SCHEMAS = ".schemas"
# What was made of the old lists, or is where they came from.
LEFT_BEHIND = (RECORD, OUTCOMES, FILE, "task.json", "source.json", "source")
Runs = tuple[Sequence[Run], Sequence[Run]]  # of (empty, oracle)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to mint: `repeats` runs of each control; `all_tests` runs what the test command runs by itself."""

    repeats: int = 3
    all_tests: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What minting one task gave: its new lists, and what its old ones have wrong."""

    minted: Minted
    against: Discrepancies


def run(panel: Panel, sandbox: Sandbox, options: Options, plan: Plan, say: Say = silent) -> list[Ended[Found]]:
    """Mint every task of the panel, in its order; nothing is written but raw files and the journal.

    A KeyboardInterrupt removes the containers and is raised again.
    """
    return each(panel, sandbox, options, say, _minter(plan), spell, records=False)


def _minter(plan: Plan) -> Callable[[Work, Task], Found]:
    def mint(work: Work, task: Task) -> Found:
        files, origin = test_files(task, plan)
        check_can_be_copied(task.directory)
        before = inputs(task)
        image = work.image(task)
        planned = runner.planned(task)
        policy = work.panel.policy
        empty, oracle = _observed(work, planned, image, files, plan)
        found = _or_nothing(classes.derive(empty, oracle, policy), files)
        spelt = spelt_by((*oracle, *empty)) or task.id_template
        tried, trials = _try_out(work, replace(planned, id_template=spelt), image, found)
        ran = {*files, *changed(task)} if files else ()
        against = compare(task.f2p, task.p2p, tried, (empty, oracle), ran, policy)
        new = replace(task, f2p=tried.f2p, p2p=tried.p2p)
        made_from = replace(inputs(new), environment=before.environment)
        _refuse_edited(new, made_from, read.load_settings(work.panel.directory)["defaults"])
        facts = (tuple(map(_facts, empty)), tuple(map(_facts, oracle)))
        return Found(Minted(new, __version__, image, made_from, policy, origin, files, *facts, tried, trials), against)

    return mint


def _refuse_edited(task: Task, made_from: Inputs, defaults: Mapping[str, Any]) -> None:
    """Raise where a task's files are not those that ran: its lists would be said to be made from others."""
    now = replace(read.load_task(task.directory, defaults, lists=False), f2p=task.f2p, p2p=task.p2p)
    if inputs(now) != made_from:
        raise UsageError(f"{task.directory} was changed since it was run to be minted", "mint again")


def _observed(work: Work, task: Task, image: Image, files: tuple[str, ...], plan: Plan) -> Runs:
    """What both controls show of whole files, `repeats` times or more."""

    def planned(runs: range) -> list[Control]:
        return [replace(control, files=files) for control in controls(task, (*task.f2p, *task.p2p), runs)]

    def is_lost(empty: Sequence[Run], oracle: Sequence[Run]) -> bool:
        return bool(classes.derive(empty, oracle, work.panel.policy).ids(Derived.LOST))

    return _in_turns(work, image, plan.repeats, planned, is_lost)


def _try_out(work: Work, task: Task, image: Image, found: Derivation) -> tuple[Derivation, int]:
    """Run the derived lists by themselves, as `repair run` will, until all of them hold; how often that was."""
    policy = work.panel.policy
    for trial in range(MAX_TRIALS):
        if found.reasons:
            return found, trial
        before = found

        def planned(runs: range, listed: Derivation = before) -> list[Control]:
            return controls(task, (*listed.f2p, *listed.p2p), runs, confirm=True)

        def is_lost(empty: Sequence[Run], oracle: Sequence[Run], listed: Derivation = before) -> bool:
            refuse_patch_errors((*empty, *oracle))
            return bool(classes.try_out(listed, empty, oracle, policy).ids(Derived.LOST))

        found = classes.try_out(before, *_in_turns(work, image, policy.repeats, planned, is_lost), policy)
        if found.classes == before.classes:
            return found, trial + 1
    return (found if found.reasons else classes.give_up(found, MAX_TRIALS)), MAX_TRIALS


def _in_turns(
    work: Work,
    image: Image,
    repeats: int,
    planned: Callable[[range], list[Control]],
    is_lost: Callable[[Sequence[Run], Sequence[Run]], bool],
) -> Runs:
    """The runs of both controls, `repeats` times each; as often again, twice at most, while a test is lost.

    A test that passes by turns may look lost by chance, and would refuse its task.
    """
    empty: list[Run] = []
    oracle: list[Run] = []
    for turn in range(MAX_TURNS):
        more = work.observe(planned(range(turn * repeats, (turn + 1) * repeats)), image, "mint-")
        empty, oracle = [*empty, *more[0]], [*oracle, *more[1]]
        refuse_two_spellings([*oracle, *empty])
        if not is_lost(empty, oracle):
            break
    return empty, oracle


def _or_nothing(found: Derivation, files: Sequence[str]) -> Derivation:
    """The derivation; where no test was collected at all, that is the reason why there are no lists."""
    if found.rows or any(reason.rule is Rule.PATCH for reason in found.reasons):
        return found
    why = next((row.cause_oracle or row.cause_empty for row in found.broken.values()), "")
    where = some(list(files)) if files else "what test_cmd runs"
    advice = "set test_files in task.json, or use --all-tests" if files else "mend test_cmd"
    return replace(found, reasons=(Finding(Rule.NO_F2P, cause=f"no test was collected from {where}: {why or advice}"),))


def _facts(run: Run) -> Run:
    """A run without its tests: a panel may have many, and the derivation holds them."""
    return Run(run.image, run.exit, {}, run.patch, run.deadly, run.flags, run.template)


def test_files(task: Task, plan: Plan) -> tuple[tuple[str, ...], str]:
    """The files that a task's lists are minted from, and where they come from; none means all that test_cmd runs.

    Raises `UsageError` where there are none to be had.
    """
    if plan.all_tests or task.framework != runner.PYTEST:
        return (), "test_cmd"
    if task.test_files:
        return tuple(sorted(set(task.test_files))), "test_files"
    new = {file.new for file in patches.files(task.tests_patch or b"") if file.new is not None}
    files = tuple(sorted(path for path in new if path.endswith(".py")))
    if not files:
        raise UsageError(
            f"{task.directory / 'tests.patch'} changes no Python file",
            "set test_files in task.json, or use --all-tests",
        )
    return files, "tests.patch"


def changed(task: Task) -> set[str]:
    """The files that tests.patch names, those that it deletes among them."""
    files = patches.files(task.tests_patch or b"")
    return {path for file in files for path in (file.old, file.new) if path is not None}


def spell(ended: Ended[Found]) -> str:
    """What minting a task came to, in a few words."""
    if ended.value is None:
        return "not run" if ended.error is None else f"failed: {ended.error}"
    minted = ended.value.minted
    if minted.refused:
        return f"refused in {ended.seconds:.1f} s"
    return f"minted in {ended.seconds:.1f} s: {len(minted.task.f2p)} F2P, {len(minted.task.p2p)} P2P"


# ---- the new panel


def write(panel: Panel, target: Path, found: Sequence[Minted]) -> None:
    """Write a new panel of the tasks that got lists; of a refused one only its mint.json. Nothing is replaced.

    Raises `StoreError` or `UsageError` where it would not be a panel that loads; then nothing is there.
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
                _refuse_edited(minted.task, minted.inputs, settings["defaults"])
                _copy(minted.task.directory, directory)
                _write_lists(minted.task, directory / "task.json")
                made_from = inputs(read.load_task(directory, settings["defaults"]))
            (directory / FILE).write_bytes(mint_json(replace(minted, inputs=made_from)))


def check_can_be_copied(task: Path) -> None:
    """Raise `UsageError` where a task's directory holds what no new panel could: asked before a night's runs.

    A link may lead to what is in the task, where it stays a link, or to plain files of its panel, which are copied;
    one that leads elsewhere would publish a file of whoever mints.
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
    """Copy a task's directory without what was made of its old lists; a link that leads out of it as what it is to."""

    def left_behind(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if folder == str(task) and name in LEFT_BEHIND]

    shutil.copytree(task, target, symlinks=True, ignore=left_behind, copy_function=shutil.copy)
    for path in sorted(task.rglob("*")):
        copy = target / path.relative_to(task)
        if path.is_symlink() and copy.is_symlink() and not _leads_inside(path, task):
            copy.unlink()
            shutil.copytree(path, copy) if path.is_dir() else shutil.copy(path, copy)


def _write_lists(task: Task, file: Path) -> None:
    """Write a task's task.json with its new lists; all other keys are as they were."""
    document = json.loads((task.directory / "task.json").read_text("utf-8-sig"))
    document |= {"FAIL_TO_PASS": list(task.f2p), "PASS_TO_PASS": list(task.p2p)}
    file.write_text(pretty(document) + "\n", "ascii")
