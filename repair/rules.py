"""The rule: which ids two controls agree to drop, and when a task is refused instead.

Pure: a table and a policy go in, a decision comes out. No model's output can reach it. A confirmation applies the same
rule to the kept lists and a second table. The README states the rule row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from repair.model import (
    ControlKind,
    Decision,
    Evidence,
    Finding,
    Inputs,
    ListName,
    Outcome,
    Policy,
    Repair,
    Row,
    Rule,
    Table,
    Verdict,
)

NOT_RUN = frozenset({Outcome.SKIPPED, Outcome.MISSING})
BROKE = frozenset({Outcome.FAILED, Outcome.ERROR})

KEEP = None  # the answer of `judge` for an id that stays in its list
DROPS = frozenset({Rule.FAILED_BOTH, Rule.FLAKY_BOTH, Rule.UNOBSERVED})


def decide(table: Table, policy: Policy) -> Decision:
    """The decision on one task, by the outcomes of its listed ids under both controls.

    Every row needs an outcome for each control, else `ValueError` is raised. The exception is a table with
    `patch_errors`: it refuses the task for these alone, and nothing is dropped.
    """
    if table.patch_errors:
        errors = sorted(set(table.patch_errors))
        return Decision(
            Verdict.REFUSED,
            _ids(table.rows, ListName.F2P),
            _ids(table.rows, ListName.P2P),
            (),
            tuple(Finding(Rule.PATCH, cause=error) for error in errors),
        )
    judgements = [(row, name, judge(row, name, policy.passing)) for row in table.rows for name in sorted(row.lists)]
    kept = {
        name: [row for row, list_name, rule in judgements if list_name is name and rule is KEEP] for name in ListName
    }
    dropped = _findings((row, name, rule) for row, name, rule in judgements if rule in DROPS)
    reasons = _findings((row, name, rule) for row, name, rule in judgements if rule is not KEEP and rule not in DROPS)
    reasons += _shared_ids(table.rows)
    reasons += whole_task(kept[ListName.F2P], kept[ListName.P2P], policy)
    verdict = Verdict.REFUSED if reasons else Verdict.REPAIRED if dropped else Verdict.CLEAN
    return Decision(
        verdict,
        _ids(kept[ListName.F2P], ListName.F2P),
        _ids(kept[ListName.P2P], ListName.P2P),
        tuple(dropped),
        tuple(reasons),
    )


def runs_due(table: Table, policy: Policy) -> int:
    """The number of runs of each control that policy and evidence call for.

    The first `policy.repeats` runs of `table` decide it. It is `policy.recheck` more where every reason to refuse would
    vanish if the P2P ids that regress were kept.
    """
    if table.patch_errors:
        return policy.repeats
    rows = [_first(row, policy.repeats) for row in table.rows]
    regressions = [
        ListName.P2P in row.lists and judge(row, ListName.P2P, policy.passing) is Rule.REGRESSION for row in rows
    ]
    spared_rows = [_passing(row) if regresses else row for row, regresses in zip(rows, regressions, strict=True)]
    recheck = any(regressions) and decide(Table(tuple(spared_rows)), policy).verdict is not Verdict.REFUSED
    return policy.repeats + (policy.recheck if recheck else 0)


def _first(row: Row, runs: int) -> Row:
    """The row with the outcomes of its first `runs` runs only."""
    members = {test: (empty[:runs], oracle[:runs]) for test, (empty, oracle) in row.members.items()}
    return replace(row, empty=row.empty[:runs], oracle=row.oracle[:runs], members=members)


def _passing(row: Row) -> Row:
    """The row as if every oracle run passed it."""
    return replace(row, oracle=(Outcome.PASSED,) * len(row.oracle))


def judge(row: Row, name: ListName, passing: frozenset[Outcome]) -> Rule | None:
    """The rule's answer for one id of one list: `KEEP`, a rule to drop it by, or a reason to refuse its task.

    Raises `ValueError` where a control has no outcome for the id.
    """
    if not row.empty or not row.oracle:
        raise ValueError(f"{row.id} has no outcome for a control")
    oracle = [outcome in passing for outcome in row.oracle]
    empty = [outcome in passing for outcome in row.empty]
    rule = _judge_f2p(row, oracle, empty, passing) if name is ListName.F2P else _judge_p2p(row, oracle, empty)
    if rule in DROPS and row.members:
        return _worst_member(row, name, passing) or rule
    return rule


def _worst_member(row: Row, name: ListName, passing: frozenset[Outcome]) -> Rule | None:
    """The reason to refuse that a single member of a group gives; None where no member gives a reason.

    The group's worst outcome hides it.
    """
    members = (Row(test, row.lists, empty, oracle) for test, (empty, oracle) in sorted(row.members.items()))
    rules = (judge(member, name, passing) for member in members)
    return next((rule for rule in rules if rule is not KEEP and rule not in DROPS), None)


def _judge_p2p(row: Row, oracle: list[bool], empty: list[bool]) -> Rule | None:
    if all(oracle):
        return KEEP
    if all(empty) or (any(empty) and not any(oracle)):
        return Rule.REGRESSION
    if BROKE.intersection(row.oracle) and NOT_RUN.issuperset(row.empty):
        return Rule.UNOBSERVED_BEFORE
    return Rule.FLAKY_BOTH if any(oracle) and any(empty) else Rule.FAILED_BOTH


def _judge_f2p(row: Row, oracle: list[bool], empty: list[bool], passing: frozenset[Outcome]) -> Rule | None:
    if all(oracle):
        return KEEP
    if not NOT_RUN.issuperset(row.oracle):
        return Rule.FAILED
    if any(passing.intersection(outcomes) for _, outcomes in row.members.values()):
        return Rule.MIXED_GROUP  # a drop would lose members that pass, and the group cannot be kept
    return Rule.LOST if any(empty) else Rule.UNOBSERVED


def _shared_ids(rows: Sequence[Row]) -> list[Finding]:
    """At most one finding: the ids that are in both lists, as themselves or through a group that holds them."""
    both: set[str] = set()
    covers = {name: _covers(rows, name) for name in ListName}
    for test in covers[ListName.F2P].keys() & covers[ListName.P2P].keys():
        both |= covers[ListName.F2P][test] | covers[ListName.P2P][test]
    return [Finding(Rule.BOTH_LISTS, ids=tuple(sorted(both)))] if both else []


def _covers(rows: Sequence[Row], name: ListName) -> dict[str, set[str]]:
    """Each test that a list covers, with the listed ids that name it."""
    covers: dict[str, set[str]] = {}
    for row in rows:
        if name in row.lists:
            for test in (row.id, *row.members):
                covers.setdefault(test, set()).add(row.id)
    return covers


def whole_task(f2p: Sequence[Row], p2p: Sequence[Row], policy: Policy) -> list[Finding]:
    """The reasons to refuse a task as a whole, by the rows of the ids that its lists keep."""
    reasons = []
    if not f2p:
        reasons.append(Finding(Rule.NO_F2P, cause="no F2P is kept: nothing would measure the change"))
    kept = len({frozenset(row.members) or frozenset({row.id}) for row in p2p})  # a test under two names counts once
    if kept < policy.min_p2p:
        reasons.append(Finding(Rule.FEW_P2P, cause=f"{kept} P2P kept, the policy asks for {policy.min_p2p}"))
    runs = min((len(row.empty) for row in f2p), default=0)
    solved_runs = [run + 1 for run in range(runs) if all(row.empty[run] in policy.passing for row in f2p)]
    if solved_runs:
        numbers = ", ".join(map(str, solved_runs))
        reasons.append(
            Finding(Rule.EMPTY_PASSES, cause=f"every kept F2P passes with nothing applied, in run {numbers}")
        )
    return reasons


def _findings(judged: Iterable[tuple[Row, ListName, Rule | None]]) -> list[Finding]:
    """Findings, each with the ids that share all else: by list and rule, the largest group of a rule first."""
    groups: dict[Finding, list[str]] = {}
    for row, name, rule in judged:
        assert rule is not None
        before = row.cause_empty if name is ListName.P2P else ""  # every F2P id is meant to fail without the reference
        key = Finding(
            rule,
            name,
            empty=spell(row.empty),
            oracle=spell(row.oracle),
            cause=row.cause_oracle or before,
            cause_empty=before if row.cause_oracle and before != row.cause_oracle else "",
        )
        groups.setdefault(key, []).append(row.id)
    order = sorted(
        groups,
        key=lambda g: (g.list or "", g.rule, -len(groups[g]), g.cause, g.cause_empty, g.empty, g.oracle),
    )
    return [Finding(g.rule, g.list, g.empty, g.oracle, g.cause, g.cause_empty, tuple(sorted(groups[g]))) for g in order]


def spell(outcomes: Sequence[Outcome]) -> str:
    """The outcomes of several runs in a few words: `passed`, or `failed 2/3, passed 1/3` where they differ."""
    if len(set(outcomes)) == 1:
        return str(outcomes[0])
    counts = sorted(((outcomes.count(o), o) for o in set(outcomes)), key=lambda c: (-c[0], c[1]))
    return ", ".join(f"{outcome} {count}/{len(outcomes)}" for count, outcome in counts)


def flaky(evidence: Evidence) -> Iterator[tuple[str, tuple[tuple[ControlKind, str], ...]]]:
    """Each id whose outcomes differ between runs of one control, with its rates by control.

    The runs of the confirmation count too.
    """
    second_rows = {row.id: row for row in evidence.confirm_table.rows} if evidence.confirm_table is not None else {}
    for row in evidence.table.rows:
        second_row = second_rows.get(row.id)
        empty = row.empty if second_row is None else (*row.empty, *second_row.empty)
        oracle = row.oracle if second_row is None else (*row.oracle, *second_row.oracle)
        runs = ((ControlKind.EMPTY, empty), (ControlKind.ORACLE, oracle))
        rates = tuple((control, spell(outcomes)) for control, outcomes in runs if len(set(outcomes)) > 1)
        if rates:
            yield row.id, rates


def scores(rows: Sequence[Row], passing: frozenset[Outcome]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The score of every (empty, oracle) run: 1.0 if every row passed in it, else 0.0. No rows give no scores."""

    def of(runs: Sequence[Sequence[Outcome]]) -> tuple[float, ...]:
        return tuple(float(passing.issuperset(run)) for run in zip(*runs, strict=True))

    return of([row.empty for row in rows]), of([row.oracle for row in rows])


def _ids(rows: Iterable[Row], name: ListName) -> tuple[str, ...]:
    return tuple(sorted(row.id for row in rows if name in row.lists))


def settle(first: Decision, confirmation: Decision) -> Decision:
    """The decision after a confirmation.

    It is `first` where the confirmation is clean, else a refusal with the findings of the second pair of controls.
    """
    if confirmation.verdict is Verdict.CLEAN:
        return first
    findings = (*confirmation.reasons, *confirmation.dropped)
    reasons = tuple(
        replace(finding, rule=Rule.NOT_CONFIRMED, cause=f"{finding.rule}: {finding.cause}".removesuffix(": "))
        for finding in findings
    )
    return replace(first, verdict=Verdict.REFUSED, reasons=reasons)


def agree(decision: Decision, rewards: tuple[float, float]) -> Decision:
    """The decision after the task's own verifier gave its rewards for (empty, oracle).

    It is a refusal unless the rewards are 0.0 and 1.0. A decision that refuses stays as it is.
    """
    if not admits(decision.verdict) or rewards == (0.0, 1.0):
        return decision
    cause = f"empty {rewards[0]:g}, oracle {rewards[1]:g}"
    return replace(decision, verdict=Verdict.REFUSED, reasons=(Finding(Rule.OWN_VERIFIER, cause=cause),))


def admits(verdict: Verdict) -> bool:
    """Does a gate admit a task with this verdict? A repaired task was confirmed, else it would be refused."""
    match verdict:
        case Verdict.CLEAN | Verdict.REPAIRED:
            return True
        case Verdict.REFUSED:
            return False
        case _:
            assert_never(verdict)


def repair_of(evidence: Evidence, made_from: Inputs, policy: Policy) -> Repair:
    """The record that `repair run` writes and `repair check` rebuilds: the decision on `evidence` and its basis."""
    decision = final_decision(evidence, policy)
    if evidence.confirm_table is None:
        return Repair(decision, evidence, made_from, policy)
    scores_empty, scores_oracle = scores(evidence.confirm_table.rows, policy.passing)
    return Repair(decision, evidence, made_from, policy, scores_empty, scores_oracle)


def final_decision(evidence: Evidence, policy: Policy) -> Decision:
    """The rule's decision on all that was observed: the first table, the confirmation, the own verifier."""
    decision = decide(evidence.table, policy)
    if evidence.confirm_table is not None:
        decision = settle(decision, decide(evidence.confirm_table, policy))
    return decision if evidence.verifier is None else agree(decision, evidence.verifier)
