"""New lists for a panel: both controls run whole test files, and the lists that follow are tried by themselves.

The old panel stays as it is. Its journal keeps the runs, so that minting again continues from them.
`repair.mint.write` writes the new panel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from repair import __version__
from repair.controls.plan import PYTEST, controls, prepared
from repair.controls.session import Done, Options, Say, Work, each, silent
from repair.errors import UsageError
from repair.mint import classes
from repair.mint.against import Discrepancies, compare
from repair.mint.classes import Derivation, Derived
from repair.mint.document import Minted
from repair.mint.write import check_can_be_copied, refuse_edited
from repair.model import Control, Finding, Image, Panel, Rule, Run, Task
from repair.outcomes.evidence import some
from repair.panel import patches, read
from repair.panel.inputs import inputs
from repair.sandbox import Sandbox
from repair.table import refuse_patch_errors, refuse_two_spellings, spelt_by

MAX_TURNS = 3  # of `repeats` runs each, while a test looks lost
MAX_TRIALS = 3  # of the derived lists
Runs = tuple[Sequence[Run], Sequence[Run]]  # of (empty, oracle)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to mint: `repeats` runs of each control; with `all_tests`, the test command chooses what runs."""

    repeats: int = 3
    all_tests: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What minting gave for one task: its new lists, and what its old lists have wrong."""

    minted: Minted
    against: Discrepancies


def run(panel: Panel, sandbox: Sandbox, options: Options, plan: Plan, say: Say = silent) -> list[Done[Found]]:
    """Mint every task of the panel, in its order. Only raw files and the journal are written.

    On a KeyboardInterrupt it removes the containers and raises it again.
    """
    return each(panel, sandbox, options, say, _minter(plan), spell, records=False)


def _minter(plan: Plan) -> Callable[[Work, Task], Found]:
    def mint(work: Work, task: Task) -> Found:
        files, origin = test_files(task, plan)
        check_can_be_copied(task.directory)
        inputs_before = inputs(task)
        image = work.image(task)
        planned = prepared(task)
        policy = work.panel.policy
        empty, oracle = _observed(work, planned, image, files, plan)
        derivation = _or_nothing(classes.derive(empty, oracle, policy), files)
        template = spelt_by((*oracle, *empty)) or task.id_template
        tried, trials = _try_out(work, replace(planned, id_template=template), image, derivation)
        files_run = {*files, *changed(task)} if files else ()
        against = compare(task.f2p, task.p2p, tried, (empty, oracle), files_run, policy)
        new = replace(task, f2p=tried.f2p, p2p=tried.p2p)
        made_from = replace(inputs(new), environment=inputs_before.environment)
        refuse_edited(new, made_from, read.load_settings(work.panel.directory)["defaults"])
        facts = (tuple(map(_facts, empty)), tuple(map(_facts, oracle)))
        return Found(Minted(new, __version__, image, made_from, policy, origin, files, *facts, tried, trials), against)

    return mint


def _observed(work: Work, task: Task, image: Image, files: tuple[str, ...], plan: Plan) -> Runs:
    """The (empty, oracle) runs of whole files, at least `plan.repeats` of each."""

    def planned(runs: range) -> list[Control]:
        return controls(task, (*task.f2p, *task.p2p), runs, name="mint", files=files)

    def is_lost(empty: Sequence[Run], oracle: Sequence[Run]) -> bool:
        return bool(classes.derive(empty, oracle, work.panel.policy).ids(Derived.LOST))

    return _in_turns(work, image, plan.repeats, planned, is_lost)


def _try_out(work: Work, task: Task, image: Image, found: Derivation) -> tuple[Derivation, int]:
    """(derivation, number of trials): the derived lists run by themselves, as in `repair run`, until every id holds."""
    policy = work.panel.policy
    for trial in range(MAX_TRIALS):
        if found.reasons:
            return found, trial
        before = found

        def planned(runs: range, listed: Derivation = before) -> list[Control]:
            return controls(task, (*listed.f2p, *listed.p2p), runs, name="trial", journalled=False)

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
    """The (empty, oracle) runs, `repeats` of each; as many again, at most twice, while a test looks lost.

    A lost test refuses its task, and a flaky test may look lost by chance.
    """
    empty: list[Run] = []
    oracle: list[Run] = []
    for turn in range(MAX_TURNS):
        more = work.pair(planned(range(turn * repeats, (turn + 1) * repeats)), image)
        empty, oracle = [*empty, *more[0]], [*oracle, *more[1]]
        refuse_two_spellings([*oracle, *empty])
        if not is_lost(empty, oracle):
            break
    return empty, oracle


def _or_nothing(found: Derivation, files: Sequence[str]) -> Derivation:
    """The derivation; where no run collected a test, this becomes the reason why the task gets no lists."""
    if found.rows or any(reason.rule is Rule.PATCH for reason in found.reasons):
        return found
    why = next((row.cause_oracle or row.cause_empty for row in found.broken.values()), "")
    where = some(list(files)) if files else "what test_cmd runs"
    advice = "set test_files in task.json, or use --all-tests" if files else "mend test_cmd"
    return replace(found, reasons=(Finding(Rule.NO_F2P, cause=f"no test was collected from {where}: {why or advice}"),))


def _facts(run: Run) -> Run:
    """A run without its tests: a panel may have many, and the derivation already holds them."""
    return Run(run.image, run.exit, {}, run.patch, run.deadly, run.flags, run.template)


def test_files(task: Task, plan: Plan) -> tuple[tuple[str, ...], str]:
    """(files, origin): the test files that a task's lists come from, and what names them.

    No files means all that the test command runs. Raises `UsageError` where tests.patch names no Python file.
    """
    if plan.all_tests or task.framework != PYTEST:
        return (), "test_cmd"
    if task.test_files:
        return tuple(sorted(set(task.test_files))), "test_files"
    paths = {file.new for file in patches.files(task.tests_patch or b"") if file.new is not None}
    files = tuple(sorted(path for path in paths if path.endswith(".py")))
    if not files:
        raise UsageError(
            f"{task.directory / 'tests.patch'} changes no Python file",
            "set test_files in task.json, or use --all-tests",
        )
    return files, "tests.patch"


def changed(task: Task) -> set[str]:
    """The files that tests.patch names, deleted ones included."""
    files = patches.files(task.tests_patch or b"")
    return {path for file in files for path in (file.old, file.new) if path is not None}


def spell(ended: Done[Found]) -> str:
    """How the minting of one task ended, in a few words."""
    if ended.value is None:
        return "not run" if ended.error is None else f"failed: {ended.error}"
    minted = ended.value.minted
    if minted.refused:
        return f"refused in {ended.seconds:.1f} s"
    return f"minted in {ended.seconds:.1f} s: {len(minted.task.f2p)} F2P, {len(minted.task.p2p)} P2P"
