"""Decides the tasks of a panel: runs both controls, applies the rule, confirms what it drops, writes the record.

A task that could not be observed gets no record, and stops no other task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from repair import __version__, rules, table
from repair.controls.plan import controls, prepared
from repair.controls.session import Done, Options, Say, VerifierOf, Work, each, silent
from repair.controls.verifier import fetches
from repair.errors import NoEvidence, RepairError, UsageError
from repair.model import Decision, Evidence, Image, ListName, Panel, Table, Task, Verdict
from repair.panel.inputs import inputs, source_digest
from repair.panel.read import has_record
from repair.records.check import Soundness, examine
from repair.records.documents import outcomes_json, repair_json
from repair.rules import final_decision, repair_of
from repair.sandbox import Sandbox
from repair.table import refuse_patch_errors, spelt_by
from repair.text import sha256


class State(StrEnum):
    """What a run did with one task."""

    RECORDED = "recorded"  # decided by this run
    KEPT = "kept"  # its record still fits, or was observed again as it is
    UNSOUND = "unsound"  # its record does not fit its task or its evidence, or was observed otherwise
    FAILED = "failed"  # it could not be observed, or its record not written
    NOT_RUN = "not-run"  # the run ended before its turn, or its record is not fit to compare with


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one task.

    `table`, `decision`: its outcomes, and the rule's decision on them; None where neither is known.
    `error`: what kept it from a decision; None where nothing did.
    `soundness`: what is wrong with its record, in a word or two; empty where nothing is.
    `details`: the same as lines.
    `seconds`: wall time.
    """

    task: Task
    state: State
    table: Table | None = None
    decision: Decision | None = None
    error: RepairError | None = None
    soundness: str = ""
    details: tuple[str, ...] = ()
    seconds: float = 0.0


def run(panel: Panel, sandbox: Sandbox, options: Options, say: Say = silent) -> list[Result]:
    """Decide every task of the panel that has no record; the results are in the order of the panel.

    A `KeyboardInterrupt` removes the containers and is raised again; finished records stay.
    """
    return [_result(ended) for ended in each(panel, sandbox, options, say, _decide, _spell)]


def rerun(panel: Panel, sandbox: Sandbox, options: Options, say: Say = silent) -> list[Result]:
    """Run the controls of every task again and compare with its outcomes.json; only raw files are written.

    A result is `KEPT` where the evidence is the same. It is `UNSOUND` where not, with the ids that differ.
    """
    fresh = replace(options, fresh=True)
    return [_result(ended) for ended in each(panel, sandbox, fresh, say, _compare, _spell, records=False)]


def _result(ended: Done[Result]) -> Result:
    if ended.value is not None:
        return replace(ended.value, seconds=ended.seconds)
    state = State.NOT_RUN if ended.error is None else State.FAILED
    return Result(ended.task, state, error=ended.error, seconds=ended.seconds)


def _decide(work: Work, task: Task) -> Result:
    """Decide a task and write its record, unless it has a record already."""
    if has_record(task):
        return _recorded(work.panel, task)
    made_from = inputs(task)
    verify = work.session.options.verifier is not None
    source = source_digest(task) if verify else None
    evidence = _evidence(work, task, verify=verify)
    if evidence.verifier is not None:
        if source_digest(task) != source:
            raise UsageError(f"{task.directory} was changed while its own verifier ran", "run again")
        made_from = replace(made_from, source=source)
    repair = repair_of(evidence, made_from, work.panel.policy)
    outcomes = outcomes_json(evidence)
    work.workspace.save(task, outcomes, repair_json(repair, sha256(outcomes)))
    return Result(task, State.RECORDED, evidence.table, repair.decision)


def _compare(work: Work, task: Task) -> Result:
    """Run a task's controls again and compare them with its record's evidence."""
    record = examine(work.panel, task)
    if record.evidence is None or record.soundness is not Soundness.SOUND:
        return Result(task, State.NOT_RUN, details=record.details)
    now = replace(_evidence(work, task, verify=record.evidence.verifier is not None), tool=record.evidence.tool)
    if outcomes_json(now) == outcomes_json(record.evidence):
        return Result(task, State.KEPT, record.table, record.decision)
    return Result(task, State.UNSOUND, soundness="observed otherwise", details=_differences(record.evidence, now))


def _evidence(work: Work, task: Task, *, verify: bool) -> Evidence:
    """The evidence on a task: both controls, and a confirmation where ids would be dropped.

    With `verify` it holds the rewards of the task's own verifier too, where the controls would admit the task.
    """
    task = prepared(task)
    if verify:
        # A task without a verifier of its own raises here, before anything runs.
        _verifier_of(work)(task.directory, (frozenset(), frozenset()), ())
    image = work.image(task)
    evidence = _recheck(work, task, _first(work, task, image))
    decision = rules.decide(evidence.table, work.panel.policy)
    if decision.verdict is Verdict.REPAIRED:
        evidence = _confirm(work, task, evidence, decision)
    final = final_decision(evidence, work.panel.policy)
    if verify and rules.admits(final.verdict):
        evidence = replace(evidence, verifier=_verify(work, task, image, final))
    return evidence


def _verify(work: Work, task: Task, image: Image, decision: Decision) -> tuple[float, float]:
    """The rewards of the task's own verifier for (empty, oracle), each from a fresh container."""
    dropped = {
        name: frozenset(test for finding in decision.dropped if finding.list is name for test in finding.ids)
        for name in ListName
    }
    kept = (*decision.kept_f2p, *decision.kept_p2p)
    verifier = _verifier_of(work)(task.directory, (dropped[ListName.F2P], dropped[ListName.P2P]), kept)
    without_tests = replace(task, tests_patch=None)  # the verifier brings its own
    empty, oracle = work.pair(
        controls(without_tests, (), range(1), name="verifier", journalled=False, verifier=verifier), image
    )
    rewards = (empty[0].reward or 0.0, oracle[0].reward or 0.0)
    tool = fetches(verifier) if task.network == "none" else ""
    if tool and rewards[1] != 1.0:
        raise NoEvidence(
            f"its own verifier gives empty {rewards[0]:g} and oracle {rewards[1]:g}, and uses {tool} without a network",
            'put what it fetches into the image, or set network = "bridge"',
        )
    return rewards


def _verifier_of(work: Work) -> VerifierOf:
    """What gives a task's own verifier. Raises `UsageError` where this command has nothing that does."""
    verifier = work.session.options.verifier
    if verifier is None:
        raise UsageError("this record's verifier cannot be asked here", "run `repair check --rerun`")
    return verifier


def _first(work: Work, task: Task, image: Image) -> Evidence:
    """The evidence of the first `repeats` runs of both controls."""
    runs = range(work.panel.policy.repeats)
    empty, oracle = work.pair(controls(task, (*task.f2p, *task.p2p), runs), image)
    outcomes = table.build(task.f2p, task.p2p, empty, oracle)
    return Evidence(task.instance_id, __version__, image, tuple(empty), tuple(oracle), outcomes)


def _recheck(work: Work, task: Task, evidence: Evidence) -> Evidence:
    """`evidence` with further runs of both controls, where policy and evidence call for them."""
    before = len(evidence.empty)
    due = range(before, rules.runs_due(evidence.table, work.panel.policy))
    if not due:
        return evidence
    task = _spelt_as(evidence, task)
    empty, oracle = work.pair(controls(task, (*task.f2p, *task.p2p), due), evidence.image)
    refuse_patch_errors((*empty, *oracle))
    empty, oracle = [*evidence.empty, *empty], [*evidence.oracle, *oracle]
    outcomes = table.build(task.f2p, task.p2p, empty, oracle)
    return replace(evidence, empty=tuple(empty), oracle=tuple(oracle), table=outcomes)


def _spelt_as(evidence: Evidence, task: Task) -> Task:
    """The task with the template of its first runs: the report of a further run may fit another template too."""
    return replace(task, id_template=spelt_by((*evidence.oracle, *evidence.empty)) or task.id_template)


def _confirm(work: Work, task: Task, evidence: Evidence, decision: Decision) -> Evidence:
    """`evidence` with a second pair of controls on the ids that are kept, run as often as the first pair."""
    f2p, p2p = decision.kept_f2p, decision.kept_p2p
    task, runs = _spelt_as(evidence, task), range(len(evidence.empty))
    planned = controls(task, (*f2p, *p2p), runs, name="confirmation", journalled=False)
    empty, oracle = work.pair(planned, evidence.image)
    second = table.build(f2p, p2p, empty, oracle)
    return replace(evidence, confirm_empty=tuple(empty), confirm_oracle=tuple(oracle), confirm_table=second)


def _recorded(panel: Panel, task: Task) -> Result:
    """The result for a task that has a record: kept, or what is wrong with the record."""
    record = examine(panel, task)
    if record.soundness is Soundness.SOUND:
        return Result(task, State.KEPT, record.table, record.decision)
    return Result(task, State.UNSOUND, soundness=record.soundness, details=record.details)


def _differences(before: Evidence, now: Evidence) -> tuple[str, ...]:
    """The differences between two observations of one task, as lines; never empty."""
    lines = []
    if before.image.id != now.image.id:
        lines.append(f"the image is another: {before.image.id} then, {now.image.id} now")
    old_rows = {row.id: row for row in before.table.rows}
    for row in now.table.rows:
        old_row = old_rows.get(row.id)
        if old_row is not None and (old_row.empty, old_row.oracle) != (row.empty, row.oracle):
            cells = [rules.spell(c) if c else "nothing" for c in (old_row.empty, old_row.oracle, row.empty, row.oracle)]
            lines.append(f"{row.id}: {cells[0]}/{cells[1]} then, {cells[2]}/{cells[3]} now")
    return tuple(lines) or ("the outcomes agree, their causes, flags or confirmation do not",)


def _spell(ended: Done[Result]) -> str:
    """What became of a task, in a few words."""
    result = _result(ended)
    match result.state:
        case State.RECORDED:
            assert result.decision is not None
            return f"{result.decision.verdict} in {result.seconds:.1f} s"
        case State.KEPT:
            return "has a record, left alone"
        case State.UNSOUND:
            return f"has a record that is {result.soundness}, left alone"
        case State.FAILED:
            return f"failed: {result.error}"
        case State.NOT_RUN:
            return "not run"
