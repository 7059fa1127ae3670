"""New lists for a panel: both controls over whole test files, lists derived and tried, a new panel written.

The panel that they come from stays as it is. Runs are journalled there, so that minting again goes on from them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repair import __version__, derivation, diff, runner
from repair.attributes import ATTRIBUTES
from repair.derivation import Derivation, Derived
from repair.discrepancies import Discrepancies, compare
from repair.documents import pretty
from repair.errors import UsageError
from repair.minted import FILE, Minted, mint_json
from repair.model import Image, Panel, Run, Task
from repair.observing import Ended, Options, Say, Work, controls, each, refuse_patch_errors, silent, spelt_by
from repair.sandbox import Sandbox
from repair.store import OUTCOMES, RECORD, inputs, new_directory

MAX_TURNS = 3
MAX_TRIALS = 3
SCHEMAS = ".schemas"
LEFT_BEHIND = (RECORD, OUTCOMES, FILE, "source.json", "source")  # of the old lists, or of where they came from


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
        image = work.image(task)
        planned = runner.planned(task)
        policy = work.panel.policy
        empty, oracle = _observed(work, planned, image, files, plan)
        found = derivation.derive(empty, oracle, policy)
        against = compare(task.f2p, task.p2p, found, (empty, oracle), {*files, *changed(task)} if files else (), policy)
        spelt = spelt_by((*oracle, *empty)) or task.id_template
        tried, trials = _try_out(work, replace(planned, id_template=spelt), image, found)
        new = replace(task, f2p=tried.f2p, p2p=tried.p2p)
        facts = (tuple(map(_facts, empty)), tuple(map(_facts, oracle)))
        made_from = inputs(new)
        return Found(Minted(new, __version__, image, made_from, policy, origin, files, *facts, tried, trials), against)

    return mint


def _observed(
    work: Work, task: Task, image: Image, files: tuple[str, ...], plan: Plan
) -> tuple[Sequence[Run], Sequence[Run]]:
    """What both controls show of whole files, `repeats` times; as often again, twice at most, while a test is lost.

    A test that passes by turns may look lost by chance, and would refuse its task.
    """
    empty: list[Run] = []
    oracle: list[Run] = []
    for turn in range(MAX_TURNS):
        runs = range(turn * plan.repeats, (turn + 1) * plan.repeats)
        wanted = controls(task, (*task.f2p, *task.p2p), runs)
        more = work.observe([replace(control, files=files) for control in wanted], image, "mint-")
        empty, oracle = [*empty, *more[0]], [*oracle, *more[1]]
        if not derivation.derive(empty, oracle, work.panel.policy).ids(Derived.LOST):
            break
    return empty, oracle


def _facts(run: Run) -> Run:
    """A run without its tests: a panel may have many, and the derivation holds them."""
    return Run(run.image, run.exit, {}, run.patch, run.deadly, run.flags, run.template)


def _try_out(work: Work, task: Task, image: Image, found: Derivation) -> tuple[Derivation, int]:
    """Run the derived lists by themselves, as `repair run` will, until all of them hold; how often that was."""
    for trial in range(MAX_TRIALS):
        if found.reasons:
            return found, trial
        listed = (*found.f2p, *found.p2p)
        empty, oracle = work.observe(
            controls(task, listed, range(work.panel.policy.repeats), confirm=True), image, "mint-"
        )
        refuse_patch_errors((*empty, *oracle))
        before, found = found, derivation.try_out(found, empty, oracle, work.panel.policy)
        if found.classes == before.classes:
            return found, trial + 1
    return (found if found.reasons else derivation.give_up(found, MAX_TRIALS)), MAX_TRIALS


def test_files(task: Task, plan: Plan) -> tuple[tuple[str, ...], str]:
    """The files that a task's lists are minted from, and where they come from; none means all that test_cmd runs.

    Raises `UsageError` where there are none to be had.
    """
    if plan.all_tests or task.framework != runner.PYTEST:
        return (), "test_cmd"
    if task.test_files:
        return tuple(sorted(set(task.test_files))), "test_files"
    new = {file.new for file in diff.files(task.tests_patch or b"") if file.new is not None}
    files = tuple(sorted(path for path in new if path.endswith(".py")))
    if not files:
        raise UsageError(
            f"{task.directory / 'tests.patch'} changes no Python file",
            "set test_files in task.json, or use --all-tests",
        )
    return files, "tests.patch"


def changed(task: Task) -> set[str]:
    """The files that tests.patch names, those that it deletes among them."""
    files = diff.files(task.tests_patch or b"")
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
    """Write a new panel of the tasks that got lists; of a refused one only its mint.json. Nothing is replaced."""
    with new_directory(target) as new:
        for entry in sorted(panel.directory.iterdir()):
            if entry.is_file():
                shutil.copy2(entry, new / entry.name)
            elif entry.name == SCHEMAS:
                shutil.copytree(entry, new / entry.name)
        if not (new / ".gitattributes").exists():
            (new / ".gitattributes").write_bytes(ATTRIBUTES)
        for minted in found:
            directory = new / minted.task.directory.name
            if minted.refused:
                directory.mkdir()
            else:
                _copy(minted.task.directory, directory)
                _write_lists(directory / "task.json", minted.task)
            (directory / FILE).write_bytes(mint_json(minted))


def _copy(task: Path, target: Path) -> None:
    """Copy a task's directory without what was made of its old lists."""
    target.mkdir()
    for entry in sorted(task.iterdir()):
        if entry.name in LEFT_BEHIND:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name, follow_symlinks=False)


def _write_lists(file: Path, task: Task) -> None:
    """Put a task's lists into its task.json; all other keys stay as they are."""
    document = json.loads(file.read_text("utf-8-sig"))
    document |= {"FAIL_TO_PASS": list(task.f2p), "PASS_TO_PASS": list(task.p2p)}
    mode = file.stat().st_mode
    file.unlink()
    file.write_text(pretty(document) + "\n", "ascii")
    file.chmod(mode)
