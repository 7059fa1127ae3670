"""What holds of every derivation: properties that hypothesis tries to break, with the same runs every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from repair import rules, table
from repair.mint.classes import Derivation, Derived, derive, groups, try_out
from repair.model import Observed, Outcome, Policy, Rule, Run, Verdict, worst
from repair.outcomes.spelling import MAX_ID, can_be_listed
from tests.support.mint import BROKEN
from tests.support.tables import LETTERS

WHOLE = frozenset({Rule.NO_F2P, Rule.FEW_P2P, Rule.EMPTY_PASSES})

FILES = ("tests/test_a.py", "tests/sub/test_b.py")
KINDS = ["P", "P", "F", "PF", "PPPF", "s", "m", "PxXsmEF", "PPPF-"]  # `-` is an id that a run does not collect
NAMES = ("", "", "", "", "\n", "x" * MAX_ID)  # the last two make an id that no list can hold


@st.composite
def both_controls(draw: st.DrawFn) -> tuple[list[Run], list[Run]]:
    """Up to six tests in two files, each of which may not import in a run. Few draws: they are what takes time."""
    pair: tuple[list[Run], list[Run]] = ([], [])
    number = draw(st.integers(0, 6))
    kinds = [[draw(st.sampled_from(KINDS)) for _ in range(2)] for _ in range(number)]
    members = [draw(st.sampled_from([(), (), (), (f"m{n}", f"n{n}")])) for n in range(number)]
    names = [draw(st.sampled_from(NAMES)) for _ in range(number)]
    for which, many in enumerate(pair):
        for _ in range(draw(st.integers(1, 3))):
            gone = draw(st.sampled_from([(), (), (), FILES[:1], FILES]))
            found = {}
            for n in range(number):
                every = st.sampled_from(list(product(kinds[n][which], repeat=max(1, len(members[n])))))
                letters = draw(every)
                if "-" in letters:
                    continue
                outcomes = tuple(LETTERS[letter] for letter in letters)
                below = dict(zip(members[n], outcomes, strict=False))
                cause = "" if worst(outcomes) is Outcome.PASSED else f"why {n % 2}"
                if FILES[n % 2] not in gone:
                    found[f"{FILES[n % 2]}::test_{n}{names[n]}"] = Observed(worst(outcomes), cause, below)
            many.append(Run("sha256:image", 0, {}, found=found, broken=dict.fromkeys(gone, BROKEN)))
    return pair


policies = st.builds(
    lambda floor, more: Policy(floor, frozenset({Outcome.PASSED, *more})),
    st.integers(0, 3),
    st.sets(st.sampled_from([Outcome.XFAILED, Outcome.XPASSED])),
)
repeatable = settings(derandomize=True, deadline=None, max_examples=150)
Controls = tuple[list[Run], list[Run]]


def listed_in(found: Derivation, empty: Sequence[Run], oracle: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The same runs, as a control of the derived lists alone would show them."""
    ids, gone = (*found.f2p, *found.p2p), Observed(Outcome.MISSING, "not collected")
    pair = [
        [replace(run, observed={t: run.found.get(t, gone) for t in ids}) for run in many] for many in (empty, oracle)
    ]
    return pair[0], pair[1]


def is_lost(both: Controls, test: str, policy: Policy) -> bool:
    """Does a test, or a member of its group, pass in some empty run of these and in no oracle run?"""
    seen = [[run.observed[test] for run in many] for many in both]
    members = {member for many in seen for found in many for member in found.members}

    def sees(many: Sequence[Observed], member: str | None) -> bool:
        outcomes = [found.outcome if member is None else found.members.get(member) for found in many]
        return any(outcome in policy.passing for outcome in outcomes)

    return any(sees(seen[0], name) and not sees(seen[1], name) for name in (None, *members))


def passes(many: Sequence[Run], test: str, policy: Policy) -> list[bool]:
    return [test in run.found and run.found[test].outcome in policy.passing for run in many]


@repeatable
@given(both_controls(), policies)
def test_every_test_that_was_found_has_one_class_and_stands_in_one_group(both: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    every = {test for run in (*both[0], *both[1]) for test in run.found}
    assert set(found.classes) == set(found.rows) == every
    assert sorted(test for group in groups(found) for test in group.ids) == sorted(every)
    assert sorted(test for kind in Derived for test in found.ids(kind)) == sorted(every)


@repeatable
@given(both_controls(), policies)
def test_lists_hold_what_passed_in_every_oracle_run_and_are_disjoint(both: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    assert not set(found.f2p) & set(found.p2p)
    for test in (*found.f2p, *found.p2p):
        assert all(passes(both[1], test, policy))
        assert can_be_listed(test)
    assert all(all(passes(both[0], test, policy)) for test in found.p2p)
    assert not any(any(passes(both[0], test, policy)) for test in found.f2p)


@repeatable
@given(both_controls(), policies)
def test_what_changes_is_what_a_control_did_not_always_find_though_it_could(both: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    for test in found.ids(Derived.CHANGING):
        could = [[run for run in many if test.partition("::")[0] not in run.broken] for many in both]
        assert any({test in run.found for run in many} == {True, False} for many in could)


@repeatable
@given(both_controls(), policies)
def test_nothing_that_passes_without_the_reference_and_never_with_it_vanishes(both: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    told = {test for reason in found.reasons if reason.rule is Rule.LOST for test in reason.ids}
    gone = {
        test for test in found.classes if any(passes(both[0], test, policy)) and not any(passes(both[1], test, policy))
    }
    unsaid = {test for test in gone if found.classes[test] is Derived.CHANGING}
    assert gone - unsaid <= told == set(found.ids(Derived.LOST))
    assert all(any(test not in run.found for run in both[0]) for test in unsaid), "empty itself does not always find it"
    assert bool(told) <= bool(found.reasons)


@repeatable
@given(both_controls(), policies, st.randoms())
def test_the_order_of_runs_and_of_what_they_found_does_not_matter(
    both: Controls, policy: Policy, random: Random
) -> None:
    def shuffled(many: list[Run]) -> list[Run]:
        mixed = random.sample(many, len(many))
        return [replace(run, found=dict(random.sample(list(run.found.items()), len(run.found)))) for run in mixed]

    one, other = derive(*both, policy), derive(shuffled(both[0]), shuffled(both[1]), policy)
    assert other.classes == one.classes
    assert groups(other) == groups(one)
    assert other.reasons == one.reasons
    assert set(other.broken) == set(one.broken)


@repeatable
@given(both_controls(), policies)
def test_the_rule_drops_nothing_of_the_lists_and_finds_the_same_reasons(both: Controls, policy: Policy) -> None:
    """So a minted panel is clean as long as its tests do what they did."""
    found = derive(*both, policy)
    decision = rules.decide(table.build(found.f2p, found.p2p, *listed_in(found, *both)), policy)
    assert decision.dropped == ()
    assert decision.reasons == tuple(reason for reason in found.reasons if reason.rule is not Rule.LOST)
    assert {reason.rule for reason in decision.reasons} <= WHOLE
    assert (decision.kept_f2p, decision.kept_p2p) == (found.f2p, found.p2p)
    assert (decision.verdict is Verdict.CLEAN) == (not decision.reasons)


@repeatable
@given(both_controls(), policies)
def test_a_trial_that_shows_the_same_changes_nothing(both: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    again = try_out(found, *listed_in(found, *both), policy)
    assert replace(again, tried={}) == found
    assert set(again.tried) == {*found.f2p, *found.p2p}


@repeatable
@given(both_controls(), both_controls(), policies)
def test_a_trial_only_ever_takes_from_the_lists(both: Controls, later: Controls, policy: Policy) -> None:
    found = derive(*both, policy)
    again = try_out(found, *listed_in(found, *later), policy)
    assert set(again.f2p) <= set(found.f2p)
    assert set(again.p2p) <= set(found.p2p)
    taken = {test for test in found.classes if again.classes[test] is not found.classes[test]}
    lost = set(again.ids(Derived.LOST)) - set(found.ids(Derived.LOST))
    assert taken == {*again.ids(Derived.UNSTABLE), *lost} <= {*found.f2p, *found.p2p}
    after = listed_in(found, *later)
    assert lost == {test for test in taken if is_lost(after, test, policy)}
    assert lost <= {test for reason in again.reasons if reason.rule is Rule.LOST for test in reason.ids}
    decision = rules.decide(table.build(again.f2p, again.p2p, *listed_in(again, *later)), policy)
    assert decision.dropped == ()


def test_the_properties_above_have_seen_every_class() -> None:
    seen: set[Derived] = set()

    @repeatable
    @given(both_controls(), both_controls(), policies)
    def look(both: Controls, later: Controls, policy: Policy) -> None:
        found = derive(*both, policy)
        seen.update(found.classes.values())
        seen.update(try_out(found, *listed_in(found, *later), policy).classes.values())

    look()
    assert seen == set(Derived)
