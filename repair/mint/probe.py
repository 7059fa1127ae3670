"""Named tests of one task under eight conditions, often enough to tell why one does not hold still.

Nothing is recorded and nothing is journalled: what is left are raw files, under names of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from repair.controls import runner
from repair.controls.plan import PYTEST, controls, prepared
from repair.controls.session import Done, Options, Say, Work, each, silent
from repair.errors import EngineLost, InfrastructureError, NoEvidence
from repair.files import written
from repair.mint.steadiness import CONDITIONS, Conditions, Judged, Network, Place, judge
from repair.model import Control, ControlKind, Image, ListName, Observed, Outcome, Panel, Run, Select, Task
from repair.outcomes.evidence import NoReport, without_report
from repair.sandbox import Sandbox
from repair.table import refuse_two_spellings, smallest


@dataclass(frozen=True, slots=True)
class Plan:
    """What to probe: test ids, each once, `repeats` runs under each condition."""

    ids: tuple[str, ...]
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """One test under every condition that there was: outcomes by run, why they are no pass, what they say together.

    A condition without outcomes could not be observed; one that is absent cannot be arranged for this task.
    """

    id: str
    lists: tuple[ListName, ...]
    outcomes: Mapping[Conditions, tuple[Outcome, ...]]
    causes: Mapping[Conditions, str]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that could not be observed: of the suite, or of one test alone."""

    where: Conditions
    error: InfrastructureError


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe saw: `runs` counts all that were made, `passing` are the outcomes that count as a pass.

    `alone` is false where one test cannot be run by itself, as outside pytest.
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
    """One run to make: of the suite, or of the test `alone`."""

    control: Control
    where: Conditions
    alone: str | None = None


def run(panel: Panel, sandbox: Sandbox, options: Options, plan: Plan, say: Say = silent) -> Done[Probed]:
    """Probe the one task of a panel.

    A KeyboardInterrupt removes the containers and is raised again.
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
        todo = trials(planned, plan)
        count = itertools.count(1)
        work.tell(task, f"0 of {len(todo)} runs")
        found = work.pool.all([partial(_observe, work, trial, image, count, len(todo)) for trial in todo])
        pairs = list(zip(todo, found, strict=True))
        seen = [(trial, _settle(trial, result, pairs)) for trial, result in pairs]
        for _, error in seen:
            if isinstance(error, EngineLost):
                raise error
        refuse_two_spellings([result for _, result in seen if isinstance(result, Run)])
        passing = work.panel.policy.passing
        tests = tuple(_subject(test, planned, seen, passing) for test in plan.ids)
        failures = tuple(Failure(trial.where, error) for trial, error in seen if not isinstance(error, Run))
        return Probed(image, passing, plan.repeats, len(todo), can_be_alone(planned), tests, failures)

    return probe


# ---- what is run


def can_be_alone(task: Task) -> bool:
    """Can one test of a planned task be run by itself? Outside pytest, and by other names, the command decides."""
    return task.framework == PYTEST and not task.id_template


def trials(task: Task, plan: Plan) -> list[Trial]:
    """Every run of a planned task's probe, repeat by repeat, so that what changes with time changes under all alike."""
    every = []
    suite = _suite(task)
    listed = (*task.f2p, *task.p2p, *plan.ids)
    for network in Network:
        here = replace(task, network=network)
        every += _under(replace(suite, network=network), listed, plan, None)
        for test in plan.ids if can_be_alone(task) else ():
            every += _under(replace(here, select=Select.IDS), (test,), plan, test)
    return sorted(every, key=lambda trial: trial.control.repeat)


def _under(task: Task, ids: Iterable[str], plan: Plan, alone: str | None) -> list[Trial]:
    place, network = Place.SUITE if alone is None else Place.ALONE, Network(task.network)
    planned = controls(task, ids, range(plan.repeats))
    return [Trial(control, Conditions(control.kind, place, network), alone) for control in planned]


def _suite(task: Task) -> Task:
    """The task as its suite runs; where it has no lists yet, that is all of the named tests' files."""
    listed = task.f2p or task.p2p
    return replace(task, select=Select.FILES) if not listed and task.select is Select.IDS else task


def _observe(work: Work, trial: Trial, image: Image, count: Iterator[int], of: int) -> Run:
    control, where = trial.control, trial.where
    label = f"{where.control}-probe-{where.place}-{where.network}-{control.repeat + 1}"

    def attempt() -> Path:
        return work.workspace.attempt(control.task, label)

    try:
        with written(work.workspace.root):
            run = runner.observe(work.sandbox, control, image, attempt, work.retry(control.task))
        if run.patch is not None:
            raise NoEvidence(f"a patch does not apply: {run.patch}", "mend it; `repair run` refuses such a task")
        return run
    finally:
        work.tell(control.task, f"{next(count)} of {of} runs, the latest: {where.control}, {where.column}")


# ---- what that gave

Result = Run | InfrastructureError


def _settle(trial: Trial, result: Result, pairs: Sequence[tuple[Trial, Result]]) -> Result:
    """A run's result; no report under empty is one where every oracle run like it left a whole one."""
    if not isinstance(result, NoReport) or trial.where.control is not ControlKind.EMPTY:
        return result
    like = replace(trial.where, control=ControlKind.ORACLE), trial.alone
    whole = all(isinstance(run, Run) for other, run in pairs if (other.where, other.alone) == like)
    return without_report(trial.control, result) if whole else result


def _subject(test: str, task: Task, seen: Sequence[tuple[Trial, Result]], passing: frozenset[Outcome]) -> Subject:
    observed: dict[Conditions, list[Observed]] = {
        where: [] for where in CONDITIONS if where.place is Place.SUITE or can_be_alone(task)
    }
    for trial, run in seen:
        if isinstance(run, Run) and trial.alone in (None, test):
            observed[trial.where].append(run.observed[test])
    outcomes = {where: tuple(one.outcome for one in runs) for where, runs in observed.items()}
    causes = {
        where: smallest(one.cause for one in runs if one.outcome not in passing) for where, runs in observed.items()
    }
    lists = tuple(name for name in ListName if test in task.listed(name))
    return Subject(test, lists, outcomes, causes, judge(outcomes, passing))
