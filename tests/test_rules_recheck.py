"""When the controls run again before a verdict: a table by what the first runs refuse for, then what always holds.

Outcomes are written as letters, one a run, as in tests/test_rules.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from repair import rules, table
from repair.model import ListName, Observed, Outcome, Policy, Row, Rule, Run, Table, Verdict
from tests.support.cases import Case, cases, forgiven, policies, repeatable
from tests.support.tables import F2P, P2P, decide, measuring, reasons, row

PASSED = Outcome.PASSED
FLOOR = 10


def due(*rows: Row, policy: Policy) -> int:
    return rules.runs_due(Table(rows), policy)


def good(number: int, repeats: int) -> list[Row]:
    """So many P2P as they should be."""
    return [row(f"keeps{n}", P2P, "P" * repeats, "P" * repeats) for n in range(number)]


REGRESSES = row("worse", P2P, "P", "F")
Rows = list[Row]


# ---- one run of each control: what refuses the task, and whether more evidence could change that


@pytest.mark.parametrize(
    ("rows", "again"),
    [
        # nothing refuses
        pytest.param([*good(10, 1)], False, id="clean: no"),
        pytest.param([*good(10, 1), row("t", P2P, "F", "F")], False, id="repaired: no"),
        # regressions alone
        pytest.param([*good(10, 1), REGRESSES], True, id="one regression: yes"),
        pytest.param([*good(10, 1), REGRESSES, row("u", P2P, "P", "s")], True, id="two regressions: yes"),
        pytest.param([*good(10, 1), row("t", P2P, "P", "m")], True, id="a regression that is missing with: yes"),
        pytest.param([*good(10, 1), REGRESSES, row("t", P2P, "F", "F")], True, id="a regression and a drop: yes"),
        # with too few P2P
        pytest.param([*good(9, 1), REGRESSES], True, id="few-p2p that vanishes with the regression kept: yes"),
        pytest.param([*good(8, 1), REGRESSES], False, id="few-p2p that stays: no"),
        pytest.param([*good(9, 1), row("t", P2P, "F", "F")], False, id="few-p2p without a regression: no"),
        # with anything else that stays
        pytest.param([*good(10, 1), REGRESSES, row("t", F2P, "F", "F")], False, id="an F2P that failed: no"),
        pytest.param([*good(10, 1), REGRESSES, row("t", F2P, "P", "s")], False, id="an F2P that is lost: no"),
        pytest.param([*good(10, 1), REGRESSES, row("t", F2P, "F", "s")], True, id="an F2P that is dropped: yes"),
        pytest.param([*good(10, 1), REGRESSES, row("t", P2P, "m", "F")], False, id="a P2P unobserved-before: no"),
        pytest.param([*good(10, 1), REGRESSES, row("t", ListName, "F", "P")], False, id="both-lists: no"),
        pytest.param([*good(10, 1), row("t", ListName, "P", "F")], False, id="a regression in both lists: no"),
        pytest.param([*good(10, 1), row("t", F2P, "P", "F")], False, id="an F2P that regresses is no P2P: no"),
    ],
)
def test_controls_run_again_where_a_kept_regression_would_leave_no_reason(rows: Rows, again: bool) -> None:
    policy = Policy(min_p2p=FLOOR, repeats=1, recheck=3)
    assert due(*rows, measuring(1), policy=policy) == (4 if again else 1)
    assert due(*rows, measuring(1), policy=replace(policy, recheck=0)) == 1, "without recheck never"


@pytest.mark.parametrize(
    ("rows", "again"),
    [
        pytest.param([REGRESSES], False, id="no F2P at all: no"),
        pytest.param([REGRESSES, row("t", F2P, "F", "s")], False, id="no F2P is kept: no"),
        pytest.param([REGRESSES, row("t", F2P, "P", "P")], False, id="empty passes every F2P: no"),
        pytest.param([REGRESSES, row("t", F2P, "P", "P"), row("u", F2P, "F", "P")], True, id="it passes only one: yes"),
        pytest.param([], False, id="no ids: no"),
    ],
)
def test_what_more_runs_of_p2p_cannot_mend(rows: Rows, again: bool) -> None:
    assert due(*rows, policy=Policy(min_p2p=0, recheck=2)) == (3 if again else 1)


@pytest.mark.parametrize(
    ("members", "again"),
    [
        pytest.param({"g[1]": ("P", "F"), "g[2]": ("P", "P")}, True, id="a member regresses, and so its group: yes"),
        pytest.param(
            {"g[1]": ("P", "F"), "g[2]": ("F", "F")}, True, id="a member regresses behind one that fails: yes"
        ),
        pytest.param({"g[1]": ("F", "F"), "g[2]": ("P", "P")}, False, id="a member never passes: no"),
        pytest.param({"g[1]": ("m", "F"), "g[2]": ("F", "F")}, False, id="a member is unobserved-before: no"),
        pytest.param({"measures": ("P", "F"), "g[2]": ("P", "P")}, False, id="a member stands in F2P too: no"),
    ],
)
def test_a_group_runs_again_for_its_members(members: Mapping[str, tuple[str, str]], again: bool) -> None:
    empty, oracle = (min((pair[which] for pair in members.values()), key="FmP".index) for which in (0, 1))
    group = row("g", P2P, empty, oracle, members=members)
    assert due(group, *good(10, 1), measuring(1), policy=Policy(recheck=2)) == (3 if again else 1)


def test_a_patch_that_does_not_apply_asks_for_no_more() -> None:
    seen = Table((row("t", P2P, "", ""),), ("oracle.patch: no such file",))
    assert rules.runs_due(seen, Policy(repeats=2, recheck=3)) == 2


@pytest.mark.parametrize(
    ("passing", "oracle", "again"),
    [
        pytest.param("P", "x", True, id="xfailed with the reference, and does not pass: yes"),
        pytest.param("Px", "x", False, id="xfailed with the reference, and passes: no"),
        pytest.param("Px", "X", True, id="xpassed with the reference, and does not pass: yes"),
    ],
)
def test_what_passes_is_the_policys_to_say(passing: str, oracle: str, again: bool) -> None:
    allowed = frozenset({"P": PASSED, "x": Outcome.XFAILED, "X": Outcome.XPASSED}[letter] for letter in passing)
    policy = Policy(min_p2p=0, passing=allowed, recheck=1)
    assert due(row("t", P2P, "P", oracle), measuring(1), policy=policy) == (2 if again else 1)


# ---- several runs


@pytest.mark.parametrize(
    ("empty", "oracle", "again"),
    [
        pytest.param("PP", "PF", True, id="flaky with, always without: yes"),
        pytest.param("PF", "FF", True, id="never with, sometimes without: yes"),
        pytest.param("PF", "FP", False, id="flaky with and without, which drops it: no"),
        pytest.param("FP", "PP", False, id="always with: no"),
        pytest.param("FF", "PF", False, id="flaky with, never without, which drops it: no"),
        pytest.param("ss", "PF", False, id="flaky with, skipped without: unobserved-before: no"),
    ],
)
def test_two_repeats_and_three_more(empty: str, oracle: str, again: bool) -> None:
    policy = Policy(min_p2p=0, repeats=2, recheck=3)
    assert due(row("t", P2P, empty, oracle), measuring(2), policy=policy) == (5 if again else 2)


@pytest.mark.parametrize(
    ("empty", "oracle", "again"),
    [
        pytest.param("PPFFF", "FFPPP", True, id="regressed at first and flakes now: five"),
        pytest.param("PPPPP", "FFFFF", True, id="regresses in all runs: five"),
        pytest.param("PPPPP", "PPFFF", False, id="regressed later alone, when nobody should have looked: two"),
        pytest.param("PFPPP", "FPFFF", False, id="flaked at first: two"),
    ],
)
def test_only_the_first_runs_say_whether_more_are_due(empty: str, oracle: str, again: bool) -> None:
    policy = Policy(min_p2p=0, repeats=2, recheck=3)
    assert due(row("t", P2P, empty, oracle), measuring(5), policy=policy) == (5 if again else 2)


@pytest.mark.parametrize(
    ("empty", "oracle", "verdict", "rule"),
    [
        pytest.param("P" + "FPF", "F" + "PFP", Verdict.REPAIRED, Rule.FLAKY_BOTH, id="flakes under both: dropped"),
        pytest.param("P" + "FFF", "F" + "PFF", Verdict.REPAIRED, Rule.FLAKY_BOTH, id="passes once under each: dropped"),
        pytest.param("P" + "PPP", "F" + "PFP", Verdict.REFUSED, Rule.REGRESSION, id="flakes with it alone: refused"),
        pytest.param("P" + "PPP", "F" + "PPP", Verdict.REFUSED, Rule.REGRESSION, id="failed with it once: refused"),
        pytest.param("P" + "PPP", "F" + "FFF", Verdict.REFUSED, Rule.REGRESSION, id="always fails with it: refused"),
        pytest.param("P" + "FFF", "F" + "FFF", Verdict.REFUSED, Rule.REGRESSION, id="passed once without: refused"),
    ],
)
def test_the_same_rule_judges_all_runs_together(empty: str, oracle: str, verdict: Verdict, rule: Rule) -> None:
    policy = Policy(min_p2p=0, recheck=3)
    rows = row("t", P2P, empty, oracle), measuring(4)
    assert due(*rows, policy=policy) == 4
    decision = decide(*rows, policy=policy)
    assert decision.verdict is verdict
    assert [finding.rule for finding in (*decision.dropped, *decision.reasons)] == [rule]


def test_an_f2p_that_fails_in_a_further_run_refuses_after_all() -> None:
    policy = Policy(min_p2p=0, recheck=2)
    rows = row("t", P2P, "PFP", "FPF"), row("measures", F2P, "FFF", "PPF")
    assert due(*rows, policy=policy) == 3
    assert reasons(decide(*rows, policy=policy)) == [(Rule.FAILED, F2P, ("measures",)), (Rule.NO_F2P, None, ())]


# ---- what always holds

more = st.integers(0, 4)


def with_recheck(policy: Policy, repeats: int, recheck: int) -> Policy:
    return replace(policy, repeats=repeats, recheck=recheck)


def regressing(case: Case) -> Case:
    """The case with a P2P more, which passes without the reference and fails with it."""

    def seeing(many: tuple[Run, ...], outcome: Outcome) -> tuple[Run, ...]:
        return tuple(replace(run, observed={**run.observed, "worse": Observed(outcome)}) for run in many)

    return Case(case.f2p, (*case.p2p, "worse"), seeing(case.empty, PASSED), seeing(case.oracle, Outcome.FAILED))


@repeatable
@given(cases(), policies)
def test_without_recheck_repeats_are_due(case: Case, policy: Policy) -> None:
    assert rules.runs_due(case.table, with_recheck(policy, len(case.empty), 0)) == len(case.empty)


@repeatable
@given(cases(), cases(), policies, more, st.booleans())
def test_it_depends_on_the_first_runs_alone(case: Case, other: Case, policy: Policy, recheck: int, bad: bool) -> None:
    case = regressing(case) if bad else case
    repeats = len(case.empty)
    policy = with_recheck(policy, repeats, recheck)
    longer = replace(case, empty=case.empty + other.empty, oracle=case.oracle + other.oracle)
    # groups may show further members in later runs
    assume(
        all(len(one.members) == len(two.members) for one, two in zip(case.table.rows, longer.table.rows, strict=True))
    )
    assert rules.runs_due(longer.table, policy) == rules.runs_due(case.table, policy)


@repeatable
@given(cases(), policies, st.integers(1, 4), st.booleans())
def test_more_are_due_only_where_regressions_refuse_and_nothing_that_stays(
    case: Case, policy: Policy, recheck: int, bad: bool
) -> None:
    case = regressing(case.measuring()) if bad else case
    policy = with_recheck(policy, len(case.empty), recheck)
    number = rules.runs_due(case.table, policy)
    assert number in {policy.repeats, policy.repeats + recheck}
    decision = rules.decide(case.table, policy)
    if number > policy.repeats:
        assert decision.verdict is Verdict.REFUSED
        told = {reason.rule for reason in decision.reasons}
        assert {Rule.REGRESSION} <= told <= {Rule.REGRESSION, Rule.FEW_P2P}
    elif {reason.rule for reason in decision.reasons} == {Rule.REGRESSION}:
        raise AssertionError("regressions alone refuse, and nobody looks again")


@repeatable
@given(cases(), policies, st.integers(1, 4))
def test_a_regression_of_an_admitted_task_always_calls_for_more(case: Case, policy: Policy, recheck: int) -> None:
    case, policy, decision = forgiven(case, policy)
    policy = with_recheck(policy, len(case.empty), recheck)
    assert rules.admits(decision.verdict)
    assert rules.runs_due(regressing(case).table, policy) == policy.repeats + recheck


@repeatable
@given(cases(), policies, st.integers(1, 4))
def test_of_how_many_more_the_policy_alone_decides(case: Case, policy: Policy, recheck: int) -> None:
    case = regressing(case)
    one = rules.runs_due(case.table, with_recheck(policy, len(case.empty), 1))
    some = rules.runs_due(case.table, with_recheck(policy, len(case.empty), recheck))
    assert (some - len(case.empty)) == recheck * (one - len(case.empty))


@repeatable
@given(cases(most_runs=1), cases(most_runs=1), policies)
def test_the_verdict_after_a_recheck_is_the_rules_of_all_runs(case: Case, later: Case, policy: Policy) -> None:
    """A recheck adds evidence: no run is taken back, so what regressed in all runs still refuses."""
    case, later = regressing(case.measuring()), regressing(later.measuring())
    both = replace(case, empty=case.empty + later.empty, oracle=case.oracle + later.oracle)
    again = with_recheck(policy, 1, len(later.empty))
    decision = rules.decide(both.table, again)
    assert decision == rules.decide(table.build(both.f2p, both.p2p, both.empty, both.oracle), policy)
    assert decision.verdict is Verdict.REFUSED
    assert "worse" in {test for reason in decision.reasons if reason.rule is Rule.REGRESSION for test in reason.ids}
