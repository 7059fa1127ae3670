"""What holds of every decision: properties that hypothesis tries to break, with the same tables in every run."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from repair import rules, table
from repair.model import Decision, Finding, ListName, Observed, Outcome, Policy, Row, Rule, Run, Table, Verdict
from tests.support.cases import Case, cases, forgiven, policies, repeatable
from tests.support.tables import F2P, P2P

NOT_RUN = {Outcome.SKIPPED, Outcome.MISSING}
BROKE = {Outcome.FAILED, Outcome.ERROR}


# ---- tasks, mostly of ids that a repair keeps or drops, so that every verdict comes about


def passes(policy: Policy, outcomes: tuple[Outcome, ...]) -> str:
    """Over its runs an id passes always, sometimes or never."""
    passed = sum(outcome in policy.passing for outcome in outcomes)
    return "always" if passed == len(outcomes) else "sometimes" if passed else "never"


def rows_of(found: tuple[Finding, ...], name: ListName, judged: Table) -> list[Row]:
    ids = {test for finding in found if finding.list is name for test in finding.ids}
    return [row for row in judged.rows if row.id in ids]


# ---- the order of things means nothing


@repeatable
@given(cases(), policies, st.randoms())
def test_the_order_of_rows_does_not_matter(case: Case, policy: Policy, random: Random) -> None:
    rows = list(case.table.rows)
    random.shuffle(rows)
    assert rules.decide(Table(tuple(rows)), policy) == rules.decide(case.table, policy)


@repeatable
@given(cases(), st.randoms())
def test_the_order_and_the_repetition_of_listed_ids_do_not_matter(case: Case, random: Random) -> None:
    f2p, p2p = (random.sample(ids * 2, 2 * len(ids)) for ids in (case.f2p, case.p2p))
    assert table.build(f2p, p2p, case.empty, case.oracle) == case.table


@repeatable
@given(cases(), policies, st.randoms())
def test_the_order_of_a_controls_runs_does_not_matter(case: Case, policy: Policy, random: Random) -> None:
    empty, oracle = random.sample(case.empty, len(case.empty)), random.sample(case.oracle, len(case.oracle))

    def decide(*controls: tuple[Run, ...]) -> Decision:
        decision = rules.decide(table.build(case.f2p, case.p2p, *controls), policy)
        # which run it was that the empty control solved is all that may differ
        reasons = (replace(f, cause="") if f.rule is Rule.EMPTY_PASSES else f for f in decision.reasons)
        return replace(decision, reasons=tuple(reasons))

    assert decide(tuple(empty), tuple(oracle)) == decide(case.empty, case.oracle)


# ---- what is dropped, kept, refused


@repeatable
@given(cases(), policies)
def test_a_dropped_p2p_never_passed_or_is_flaky_with_the_reference_and_no_stable_pass_without(
    case: Case, policy: Policy
) -> None:
    for row in rows_of(rules.decide(case.table, policy).dropped, P2P, case.table):
        before, after = passes(policy, row.empty), passes(policy, row.oracle)
        assert (before, after) == ("never", "never") or (after == "sometimes" and before != "always")


@repeatable
@given(cases(), policies)
def test_a_dropped_f2p_did_not_run_with_the_reference_and_never_passed(case: Case, policy: Policy) -> None:
    for row in rows_of(rules.decide(case.table, policy).dropped, F2P, case.table):
        assert set(row.oracle) <= NOT_RUN
        assert passes(policy, row.empty) == "never"
        assert not any(policy.passing & set(after) for _, after in row.members.values())


@repeatable
@given(cases(), policies)
def test_no_member_of_a_dropped_group_would_refuse_alone(case: Case, policy: Policy) -> None:
    dropped = rules.decide(case.table, policy).dropped
    for name in ListName:
        for row in rows_of(dropped, name, case.table):
            members = [Row(test, frozenset({name}), *outcomes) for test, outcomes in row.members.items()]
            reasons = rules.decide(Table(tuple(members)), policy).reasons
            assert not [finding for finding in reasons if finding.ids]


@repeatable
@given(cases(), policies)
def test_every_listed_id_is_kept_dropped_or_refused(case: Case, policy: Policy) -> None:
    decision = rules.decide(case.table, policy)
    for name, ids, kept in ((F2P, case.f2p, decision.kept_f2p), (P2P, case.p2p, decision.kept_p2p)):
        told = [test for f in (*decision.dropped, *decision.reasons) if f.list is name for test in f.ids]
        assert sorted([*kept, *told]) == sorted(set(ids))


@repeatable
@given(cases(), policies)
def test_the_verdict_says_what_the_findings_say(case: Case, policy: Policy) -> None:
    decision = rules.decide(case.table, policy)
    if decision.reasons:
        assert decision.verdict is Verdict.REFUSED
    else:
        assert decision.verdict is (Verdict.REPAIRED if decision.dropped else Verdict.CLEAN)
    assert {finding.rule for finding in decision.dropped} <= rules.DROPS
    assert not {finding.rule for finding in decision.reasons} & rules.DROPS


@repeatable
@given(cases(), policies)
def test_an_admitted_task_scores_one_with_the_reference_and_nothing_without(case: Case, policy: Policy) -> None:
    case, policy, decision = forgiven(case, policy)
    assert rules.admits(decision.verdict)
    kept = [row for row in case.table.rows if row.id in (*decision.kept_f2p, *decision.kept_p2p)]
    empty, oracle = rules.scores(kept, policy.passing)
    assert set(oracle) == {1.0}
    assert set(empty) == {0.0}


@repeatable
@given(cases(), policies)
def test_a_repaired_task_decided_again_on_its_kept_lists_is_clean(case: Case, policy: Policy) -> None:
    case, policy, decision = forgiven(case, policy)
    assume(decision.verdict is Verdict.REPAIRED)
    floors = [replace(policy, min_p2p=floor) for floor in range(len(decision.kept_p2p) + 1)]
    policy = [stricter for stricter in floors if not rules.decide(case.table, stricter).reasons][-1]
    again = rules.decide(table.build(decision.kept_f2p, decision.kept_p2p, case.empty, case.oracle), policy)
    assert again == Decision(Verdict.CLEAN, decision.kept_f2p, decision.kept_p2p, (), ())
    assert rules.settle(decision, again) == decision


# ---- what refuses goes on refusing


@repeatable
@given(cases(), policies, st.data())
def test_adding_a_regression_always_refuses(case: Case, policy: Policy, data: st.DataObject) -> None:
    case, policy, _ = forgiven(case, policy)
    number = len(case.empty)
    before = data.draw(st.sampled_from(list(product(sorted(policy.passing), repeat=number))))
    bad = [found for found in product(Outcome, repeat=number) if not policy.passing.issuperset(found)]
    added = Row("worse", frozenset({P2P}), before, data.draw(st.sampled_from(bad)))
    decision = rules.decide(Table((*case.table.rows, added)), policy)
    assert decision.verdict is Verdict.REFUSED
    assert [(finding.rule, finding.ids) for finding in decision.reasons] == [(Rule.REGRESSION, ("worse",))]


@repeatable
@given(cases(), policies, st.integers(1, 5))
def test_a_higher_floor_admits_nothing_more(case: Case, policy: Policy, more: int) -> None:
    judged = forgiven(case, policy)[0].table
    decision = rules.decide(judged, policy)
    stricter = rules.decide(judged, replace(policy, min_p2p=policy.min_p2p + more))
    assert rules.admits(decision.verdict) or not rules.admits(stricter.verdict)
    assert stricter.dropped == decision.dropped
    assert {finding.rule for finding in stricter.reasons} - {finding.rule for finding in decision.reasons} <= {
        Rule.FEW_P2P
    }


@repeatable
@given(cases(), policies, st.data())
def test_listing_an_id_in_the_other_list_too_always_refuses(case: Case, policy: Policy, data: st.DataObject) -> None:
    case, policy, _ = forgiven(case, policy)
    assume(case.f2p or case.p2p)
    both = data.draw(st.sampled_from([*case.f2p, *case.p2p]))
    decision = rules.decide(table.build((*case.f2p, both), (*case.p2p, both), case.empty, case.oracle), policy)
    [reason] = [finding for finding in decision.reasons if finding.rule is Rule.BOTH_LISTS]
    assert both in reason.ids


@repeatable
@given(cases(), policies, st.lists(st.text(max_size=5), min_size=1, max_size=3))
def test_a_patch_that_does_not_apply_refuses_for_that_alone(case: Case, policy: Policy, errors: list[str]) -> None:
    decision = rules.decide(replace(case.table, patch_errors=tuple(errors)), policy)
    assert [(finding.rule, finding.cause) for finding in decision.reasons] == [
        (Rule.PATCH, error) for error in sorted(set(errors))
    ]
    assert decision.dropped == ()


# ---- the plain rule


def plain(row: Row, name: ListName, policy: Policy) -> str:
    """With one run: what passes with the reference is kept, both fail → drop, only the oracle fails → refuse."""
    if passes(policy, row.oracle) == "always":
        return "keep"
    if name is P2P and set(row.oracle) <= BROKE and set(row.empty) <= NOT_RUN:
        return "ambiguous: empty did not see it, so it did not see it fail"
    if name is F2P and not set(row.oracle) <= NOT_RUN:
        return "ambiguous: that it fails without the reference says nothing, it is meant to"
    return "drop" if passes(policy, row.empty) == "never" else "refuse"


@repeatable
@given(cases(most_runs=1), policies)
def test_with_one_run_the_rule_is_the_plain_one_and_refuses_what_is_ambiguous(case: Case, policy: Policy) -> None:
    rows = [row for row in case.table.rows if not row.members]
    decision = rules.decide(Table(tuple(rows)), policy)
    for name, kept in ((F2P, decision.kept_f2p), (P2P, decision.kept_p2p)):
        dropped = rows_of(decision.dropped, name, case.table)
        refused = rows_of(decision.reasons, name, case.table)
        for row in rows:
            if name in row.lists:
                said = "keep" if row.id in kept else "drop" if row in dropped else "refuse" if row in refused else ""
                wanted = plain(row, name, policy)
                assert said == ("refuse" if wanted.startswith("ambiguous") else wanted)


# ---- when the controls run again

more = st.integers(0, 4)


def with_recheck(policy: Policy, repeats: int, recheck: int) -> Policy:
    return replace(policy, repeats=repeats, recheck=recheck)


def regressing(case: Case) -> Case:
    """The case with a P2P more, which passes without the reference and fails with it."""

    def seeing(many: tuple[Run, ...], outcome: Outcome) -> tuple[Run, ...]:
        return tuple(replace(run, observed={**run.observed, "worse": Observed(outcome)}) for run in many)

    return Case(case.f2p, (*case.p2p, "worse"), seeing(case.empty, Outcome.PASSED), seeing(case.oracle, Outcome.FAILED))


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


# ---- the task's own verifier

DROPPED = (Finding(Rule.UNOBSERVED, ListName.F2P, "missing", "missing", "no lxml", ids=("g",)),)
DECISIONS = {
    "clean": Decision(Verdict.CLEAN, ("f",), ("p",), (), ()),
    "repaired": Decision(Verdict.REPAIRED, ("f",), ("p",), DROPPED, ()),
    "refused": Decision(Verdict.REFUSED, ("f",), (), DROPPED, (Finding(Rule.REGRESSION, ListName.P2P, ids=("p",)),)),
    "not confirmed": Decision(Verdict.REFUSED, ("f",), ("p",), DROPPED, (Finding(Rule.NOT_CONFIRMED, ids=("p",)),)),
}


rewards = st.sampled_from([0.0, 0.25, 0.999, 1.0]) | st.floats(0, 1)


@repeatable
@given(st.sampled_from(sorted(DECISIONS)), st.tuples(rewards, rewards))
def test_a_verifier_admits_nothing_that_the_controls_do_not(name: str, own: tuple[float, float]) -> None:
    before, after = DECISIONS[name], rules.agree(DECISIONS[name], own)
    assert rules.agree(after, own) == after
    if own == (0.0, 1.0) or not rules.admits(before.verdict):
        assert after == before
    else:
        reason = Finding(Rule.OWN_VERIFIER, cause=f"empty {own[0]:g}, oracle {own[1]:g}")
        assert after == replace(before, verdict=Verdict.REFUSED, reasons=(reason,))
    assert Rule.OWN_VERIFIER not in rules.DROPS


# ---- and the properties above have seen it all


def test_the_tables_bring_about_every_rule_and_verdict() -> None:
    seen: set[Rule | Verdict] = set()

    @settings(repeatable, max_examples=600)
    @given(cases(), policies)
    def look(case: Case, policy: Policy) -> None:
        decision = rules.decide(case.table, policy)
        seen.update(finding.rule for finding in (*decision.dropped, *decision.reasons))
        seen.update([decision.verdict, forgiven(case, policy)[2].verdict])

    look()
    assert seen == {*Rule, *Verdict} - {
        Rule.PATCH,
        Rule.NOT_CONFIRMED,
        Rule.OWN_VERIFIER,
    }  # which no table brings about
