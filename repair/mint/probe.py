"""Runs of named tests of one task under eight conditions, often enough to tell why an outcome changes.

A probe records nothing and journals nothing. Only raw files stay, under names of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from repair.controls.plan import PYTEST, Result, controls, prepared, settle
from repair.controls.pool import STARTED
from repair.controls.session import Done, Options, Say, Work, each, silent
from repair.errors import EngineLost, InfrastructureError, NoEvidence
from repair.mint.steadiness import CONDITIONS, Conditions, Judged, Network, Place, judge
from repair.model import Control, Image, ListName, Observed, Outcome, Panel, Run, Select, Task
from repair.sandbox import Sandbox
from repair.table import refuse_two_spellings, smallest


@dataclass(frozen=True, slots=True)
class Plan:
    """What to probe: `ids` holds test ids, each once; `repeats` counts the runs under each condition."""

    ids: tuple[str, ...]
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """One test under every condition that its task allows.

    `id`: the test id.
    `lists`: the task's lists that name it.
    `outcomes`: an outcome per run by condition. Empty means not observed; an absent condition cannot be arranged.
    `causes`: why the test does not pass, by condition; empty where it passes or no run says why.
    `judged`: what the outcomes say together.
    """

    id: str
    lists: tuple[ListName, ...]
    outcomes: Mapping[Conditions, tuple[Outcome, ...]]
    causes: Mapping[Conditions, str]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that could not be observed, of the suite or of one test alone: its conditions and its error."""

    where: Conditions
    error: InfrastructureError


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe of one task observed.

    `image`: the image that the tests ran in.
    `passing`: outcomes that count as a pass.
    `repeats`: the number of runs under each condition.
    `runs`: the number of all runs, those that could not be observed included.
    `alone`: one test can run by itself; false outside pytest, for example.
    `tests`: the probed tests, in the order of the plan.
    `failures`: the runs that could not be observed.
    """

    image: Image
    passing: frozenset[Outcome]
    repeats: int
    runs: int
    alone: bool
    tests: tuple[Subject, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to make: of the suite where `alone` is None, else of that test by itself."""

    control: Control
    where: Conditions
    alone: str | None = None


def run(panel: Panel, sandbox: Sandbox, options: Options, plan: Plan, say: Say = silent) -> Done[Probed]:
    """Probe the only task of a panel.

    On a KeyboardInterrupt it removes the containers and raises it again.
    """
    (ended,) = each(panel, sandbox, options, say, _prober(plan), _spell, records=False)
    return ended


def _spell(ended: Done[Probed]) -> str:
    if ended.value is not None:
        return f"probed: {ended.value.runs} runs in {ended.seconds:.1f} s"
    return "not run" if ended.error is None else f"failed: {ended.error}"


def _prober(plan: Plan) -> Callable[[Work, Task], Probed]:
    def probe(work: Work, task: Task) -> Probed:
        planned = prepared(task)
        image = work.image(planned)
        planned_trials = trials(planned, plan)
        work.tell(task, f"0 of {len(planned_trials)} runs")
        planned_controls = [trial.control for trial in planned_trials]
        results = work.run(planned_controls, image, _Count(work, task, planned_trials))
        ended = list(zip(planned_trials, map(_without_patch_errors, settle(planned_controls, results)), strict=True))
        for _, result in ended:
            if isinstance(result, EngineLost):
                raise result
        refuse_two_spellings([result for _, result in ended if isinstance(result, Run)])
        passing = work.panel.policy.passing
        tests = tuple(_subject(test, planned, ended, passing) for test in plan.ids)
        failures = tuple(Failure(trial.where, error) for trial, error in ended if not isinstance(error, Run))
        return Probed(image, passing, plan.repeats, len(planned_trials), can_be_alone(planned), tests, failures)

    return probe


# ---- the runs of a probe


def can_be_alone(task: Task) -> bool:
    """Can one test of a planned task run by itself?

    Outside pytest, and where ids have other names than pytest's, the test command decides what runs.
    """
    return task.framework == PYTEST and not task.id_template


def trials(task: Task, plan: Plan) -> list[Trial]:
    """Every run of a planned task's probe, repeat by repeat: a change over time then affects all conditions alike."""
    planned = []
    suite = _suite(task)
    listed = (*task.f2p, *task.p2p, *plan.ids)
    for network in Network:
        under_network = replace(task, network=network)
        planned += _under(replace(suite, network=network), listed, plan, None)
        for test in plan.ids if can_be_alone(task) else ():
            planned += _under(replace(under_network, select=Select.IDS), (test,), plan, test)
    return sorted(planned, key=lambda trial: trial.control.repeat)


def _under(task: Task, ids: Iterable[str], plan: Plan, alone: str | None) -> list[Trial]:
    place, network = Place.SUITE if alone is None else Place.ALONE, Network(task.network)
    name = f"probe-{place}-{network}" + (f"-{plan.ids.index(alone) + 1}" if alone is not None else "")
    planned = controls(task, ids, range(plan.repeats), name=name, journalled=False)
    return [Trial(control, Conditions(control.kind, place, network), alone) for control in planned]


def _suite(task: Task) -> Task:
    """The task as its suite runs. Without lists, the suite is the whole files of the named tests."""
    listed = task.f2p or task.p2p
    return replace(task, select=Select.FILES) if not listed and task.select is Select.IDS else task


class _Count:
    """Tells the progress display how many runs of a probe have ended, and which run ended last."""

    def __init__(self, work: Work, task: Task, todo: Sequence[Trial]) -> None:
        self._work, self._task = work, task
        self._places = {trial.control.label: trial.where for trial in todo}
        self._count = itertools.count(1)

    def __call__(self, control: Control, what: str) -> None:
        if what != STARTED:
            where = self._places[control.label]
            ended = f"{next(self._count)} of {len(self._places)} runs"
            self._work.tell(self._task, f"{ended}, the latest: {where.control}, {where.column}")


# ---- what the runs show


def _without_patch_errors(result: Result) -> Result:
    """A result; a patch that does not apply is an error here, since a probe decides nothing."""
    if isinstance(result, Run) and result.patch is not None:
        return NoEvidence(f"a patch does not apply: {result.patch}", "mend it; `repair run` refuses such a task")
    return result


def _subject(test: str, task: Task, seen: Sequence[tuple[Trial, Result]], passing: frozenset[Outcome]) -> Subject:
    observed: dict[Conditions, list[Observed]] = {
        where: [] for where in CONDITIONS if where.place is Place.SUITE or can_be_alone(task)
    }
    for trial, run in seen:
        if isinstance(run, Run) and trial.alone in (None, test):
            observed[trial.where].append(run.observed[test])
    outcomes = {where: tuple(case.outcome for case in cases) for where, cases in observed.items()}
    causes = {
        where: smallest(case.cause for case in cases if case.outcome not in passing)
        for where, cases in observed.items()
    }
    lists = tuple(name for name in ListName if test in task.listed(name))
    return Subject(test, lists, outcomes, causes, judge(outcomes, passing))
