"""What `repair mint` makes of the outcomes of both controls: one table of every combination, and what a trial changes.

Outcomes are written as letters, one a run: `PF` passed in the first run and failed in the second, `-` was not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pytest

from repair import words
from repair.mint.classes import LISTED, Derivation, Derived, Group, classify, derive, give_up, groups, try_out
from repair.model import Finding, ListName, Observed, Outcome, Policy, Row, Rule, Run, worst
from repair.outcomes.spelling import MAX_ID
from tests.support.tables import LETTERS, NO_FLOOR, runs

PASSED = frozenset({Outcome.PASSED})
BROKEN = Observed(Outcome.MISSING, "ModuleNotFoundError: No module named 'ledger.tax'")


def row(empty: str, oracle: str, members: Mapping[str, tuple[str, str]] | None = None) -> Row:
    below = {test: (runs(before), runs(after)) for test, (before, after) in (members or {}).items()}
    return Row("t", frozenset(), runs(empty), runs(oracle), members=below)


def controls(
    tests: Mapping[str, tuple[str, str]], cause: str = "", broken: Mapping[str, tuple[str, str]] | None = None
) -> tuple[list[Run], list[Run]]:
    """The (empty, oracle) runs in which these tests had these outcomes; of places `-` stands for one that was whole."""

    def control(which: int) -> list[Run]:
        number = len(next(iter({**tests, **(broken or {})}.values()))[which])
        made = []
        for at in range(number):
            seen = {test: pair[which][at] for test, pair in tests.items()}
            places = {place: BROKEN for place, pair in (broken or {}).items() if pair[which][at] != "-"}
            found = {
                test: Observed(LETTERS[letter], "" if letter == "P" else cause)
                for test, letter in seen.items()
                if letter != "-"
            }
            made.append(Run("sha256:image", 0, {}, found=found, broken=places))
        return made

    return control(0), control(1)


def derived(tests: Mapping[str, tuple[str, str]], policy: Policy = NO_FLOOR, cause: str = "") -> Derivation:
    return derive(*controls(tests, cause), policy)


# ---- one test: always, sometimes, never under each control

POLICY = {
    ("never", "always"): Derived.F2P,
    ("always", "always"): Derived.P2P,
    ("sometimes", "always"): Derived.FLAKY,
    ("always", "sometimes"): Derived.FLAKY,
    ("sometimes", "sometimes"): Derived.FLAKY,
    ("never", "sometimes"): Derived.FLAKY,
    ("always", "never"): Derived.LOST,
    ("sometimes", "never"): Derived.LOST,
    ("never", "never"): Derived.NEVER,
}
SPELT = {"always": ["PPP"], "sometimes": ["PPF", "PsP", "mPE", "PxX"], "never": ["FFF", "sms", "mmm", "xXE"]}


def combinations() -> Iterator[object]:
    for (before, after), expected in POLICY.items():
        for empty, oracle in product(SPELT[before], SPELT[after]):
            said = f"passes {before} without ({empty}), {after} with the reference ({oracle}): {expected}"
            yield pytest.param(empty, oracle, expected, id=said)


@pytest.mark.parametrize(("empty", "oracle", "expected"), list(combinations()))
def test_every_combination_of_always_sometimes_and_never(empty: str, oracle: str, expected: Derived) -> None:
    assert classify(row(empty, oracle), PASSED) is expected


@pytest.mark.parametrize("oracle", LETTERS)
@pytest.mark.parametrize("empty", LETTERS)
def test_of_one_run_each_a_test_is_in_a_list_where_it_passes_with_the_reference(empty: str, oracle: str) -> None:
    expected = POLICY["always" if empty == "P" else "never", "always" if oracle == "P" else "never"]
    assert classify(row(empty, oracle), PASSED) is expected


@pytest.mark.parametrize(
    ("passing", "empty", "oracle", "expected"),
    [
        pytest.param("Px", "xPx", "PxP", Derived.P2P, id="xfailed passes, by turns with passed: P2P"),
        pytest.param("Px", "FFF", "xxx", Derived.F2P, id="xfailed passes, with the reference alone: F2P"),
        pytest.param("Px", "xxx", "FsX", Derived.LOST, id="xfailed passes, without the reference alone: lost"),
        pytest.param("Px", "XXX", "xxX", Derived.FLAKY, id="xfailed passes and xpassed does not: flaky"),
        pytest.param("PX", "xxx", "PXX", Derived.F2P, id="xpassed passes and xfailed does not: F2P"),
        pytest.param("PxX", "xXP", "XPx", Derived.P2P, id="all that is expected passes: P2P"),
        pytest.param("P", "xxx", "xxx", Derived.NEVER, id="xfailed passes only where the policy says so: never"),
    ],
)
def test_what_passes_is_the_policys_to_say(passing: str, empty: str, oracle: str, expected: Derived) -> None:
    assert classify(row(empty, oracle), frozenset(runs(passing))) is expected


@pytest.mark.parametrize(("empty", "oracle"), [("", "P"), ("P", ""), ("", "")])
def test_a_test_without_an_outcome_has_no_class(empty: str, oracle: str) -> None:
    with pytest.raises(ValueError, match="t has no outcome for a control"):
        classify(row(empty, oracle), PASSED)


# ---- an id that several tests share


@pytest.mark.parametrize(
    ("empty", "oracle", "members", "expected"),
    [
        pytest.param(
            "PP", "PP", {"a": ("PP", "PP"), "b": ("PP", "PP")}, Derived.P2P, id="all members always pass: P2P"
        ),
        pytest.param(
            "FF", "PP", {"a": ("PP", "PP"), "b": ("FF", "PP")}, Derived.F2P, id="one member needs the reference: F2P"
        ),
        pytest.param(
            "FF", "FF", {"a": ("PP", "FF"), "b": ("FF", "PP")}, Derived.LOST, id="one member is lost, one gained: lost"
        ),
        pytest.param(
            "FF", "FP", {"a": ("PF", "sm"), "b": ("FF", "FP")}, Derived.LOST, id="one member is lost, one flakes: lost"
        ),
        pytest.param(
            "FP", "mm", {"a": ("FP", "mm"), "b": ("PP", "PP")}, Derived.LOST, id="lost as a whole, one member not: lost"
        ),
        pytest.param(
            "FF", "FF", {"a": ("FF", "FF"), "b": ("PP", "PP")}, Derived.NEVER, id="one member never passes: never"
        ),
        pytest.param(
            "FF", "PF", {"a": ("FF", "PF"), "b": ("PP", "PP")}, Derived.FLAKY, id="one member passes by turns: flaky"
        ),
        pytest.param(
            "PP", "PP", {"a": ("PP", "PP"), "b": ("PP", "mm")}, Derived.LOST, id="one member is gone with it: lost"
        ),
    ],
)
def test_a_group_is_its_worst_member_and_lost_where_a_member_is(
    empty: str, oracle: str, members: Mapping[str, tuple[str, str]], expected: Derived
) -> None:
    assert classify(row(empty, oracle, members), PASSED) is expected


def test_a_group_that_some_member_loses_refuses_with_its_cause() -> None:
    def run(outcomes: Mapping[str, str]) -> Run:
        below = {test: LETTERS[letter] for test, letter in outcomes.items()}
        return Run("i", 1, {}, found={"test_sum": Observed(worst(tuple(below.values())), "AssertionError", below)})

    found = derive([run({"a": "P", "b": "F"})], [run({"a": "F", "b": "P"})], NO_FLOOR)
    assert found.classes == {"test_sum": Derived.LOST}
    assert found.reasons[0] == Finding(Rule.LOST, None, "failed", "failed", "AssertionError", "", ("test_sum",))


# ---- what no run of one control found


def test_a_module_that_does_not_import_without_the_reference_says_so_of_its_tests() -> None:
    tests = {"tests/test_new.py::test_tax": ("--", "PP"), "tests/test_old.py::test_sum": ("PP", "PP")}
    found = derive(*controls(tests, broken={"tests/test_new.py": ("mm", "--")}), NO_FLOOR)
    assert found.classes == {
        "tests/test_new.py::test_tax": Derived.F2P,
        "tests/test_old.py::test_sum": Derived.P2P,
    }
    assert found.rows["tests/test_new.py::test_tax"].cause_empty == BROKEN.cause
    assert found.rows["tests/test_new.py::test_tax"].empty == runs("mm")
    place = found.broken["tests/test_new.py"]
    assert (place.empty, place.oracle, place.cause_empty) == (runs("mm"), runs("PP"), BROKEN.cause)


@pytest.mark.parametrize(
    ("places", "cause"),
    [
        pytest.param({}, "not collected", id="no broken place: not collected"),
        pytest.param({"a/test_b.py": "in the module"}, "in the module", id="its module"),
        pytest.param({"a/test_b.py::TestC": "in the class"}, "in the class", id="its class"),
        pytest.param({"a": "in a conftest"}, "in a conftest", id="a folder above"),
        pytest.param({".": "everywhere"}, "everywhere", id="pytest did not start"),
        pytest.param(
            {".": "everywhere", "a": "in a conftest", "a/test_b.py": "in the module"}, "in the module", id="the nearest"
        ),
        pytest.param({"a/test_b.p": "other", "a/test": "other"}, "not collected", id="a name that begins alike is not"),
        pytest.param({"b": "other", "a/test_c.py": "other"}, "not collected", id="a neighbour is not"),
    ],
)
def test_the_nearest_broken_place_is_the_cause(places: Mapping[str, str], cause: str) -> None:
    broken = {place: Observed(Outcome.ERROR, said) for place, said in places.items()}
    test = "a/test_b.py::TestC::test_d"
    oracle = Run("i", 0, {}, found={test: Observed(Outcome.PASSED)})
    found = derive([Run("i", 2, {}, broken=broken)], [oracle], NO_FLOOR)
    assert found.rows[test].cause_empty == cause
    assert found.classes[test] is Derived.F2P
    assert found.rows[test].empty == (Outcome.ERROR if cause != "not collected" else Outcome.MISSING,)


@pytest.mark.parametrize(
    ("test", "holder"),
    [
        ("test_tax (shop.test_tax.TestTax.test_tax)", "(shop.test_tax.TestTax"),
        ("test_tax (shop.test_tax.TestTax)", "(shop.test_tax"),
        ("basket adds tax", "basket "),
    ],
    ids=["a unittest class", "a unittest module", "a mocha suite"],
)
def test_a_holder_outside_pytest_is_the_cause_too(test: str, holder: str) -> None:
    oracle = Run("i", 0, {}, found={test: Observed(Outcome.PASSED)})
    found = derive([Run("i", 1, {}, broken={holder: BROKEN})], [oracle], NO_FLOOR)
    assert found.rows[test].cause_empty == BROKEN.cause


def test_a_test_that_no_oracle_run_found_and_an_empty_one_passed_is_lost() -> None:
    found = derived({"old": ("PP", "--"), "new": ("--", "PP")})
    assert found.classes == {"old": Derived.LOST, "new": Derived.F2P}
    assert found.reasons == (Finding(Rule.LOST, None, "passed", "missing", "not collected", "", ("old",)),)


# ---- ids that some runs of one control collect and others don't


@pytest.mark.parametrize(
    ("empty", "oracle", "expected"),
    [
        pytest.param("FFF", "PP-", Derived.CHANGING, id="gone in one oracle run: changing, and no F2P"),
        pytest.param("P-P", "PPP", Derived.CHANGING, id="gone in one empty run: changing, and no P2P"),
        pytest.param("P--", "---", Derived.CHANGING, id="an address: passed in the one run that had it"),
        pytest.param("--P", "P--", Derived.CHANGING, id="a name that two runs of nine share"),
        pytest.param("PP-", "FFF", Derived.CHANGING, id="empty does not always have it: nothing that can be lost"),
        pytest.param("F--", "---", Derived.CHANGING, id="an address that fails"),
        pytest.param("PPP", "FF-", Derived.LOST, id="empty always has it and it never passes with: lost all the same"),
        pytest.param("PPP", "--F", Derived.LOST, id="the reference makes it come and go, and fail: lost"),
        pytest.param("PFP", "-sF", Derived.LOST, id="empty always has it, passes by turns: lost"),
        pytest.param("PPP", "PP-", Derived.CHANGING, id="empty always has it, one oracle run does not: changing"),
        pytest.param("---", "PPP", Derived.F2P, id="in every oracle run alone: F2P"),
        pytest.param("PPP", "---", Derived.LOST, id="in every empty run alone: lost"),
    ],
)
def test_an_id_that_is_not_the_same_in_each_run_is_no_test_to_list(empty: str, oracle: str, expected: Derived) -> None:
    found = derived({"t": (empty, oracle), "new": ("FFF", "PPP")})
    assert found.classes == {"t": expected, "new": Derived.F2P}
    assert [(reason.rule, reason.ids) for reason in found.reasons] == (
        [(Rule.LOST, ("t",))] if expected is Derived.LOST else []
    )


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("a/test_b.py", Derived.FLAKY, id="its module did not import: flaky"),
        pytest.param("a", Derived.FLAKY, id="a conftest above did not: flaky"),
        pytest.param(".", Derived.FLAKY, id="nothing was collected: flaky"),
        pytest.param("a/test_c.py", Derived.CHANGING, id="another module did not: changing"),
    ],
)
def test_what_a_broken_place_keeps_from_a_run_has_no_changing_id(place: str, expected: Derived) -> None:
    found = derive(*controls({"a/test_b.py::t": ("FF", "P-")}, broken={place: ("--", "-m")}), NO_FLOOR)
    assert found.classes == {"a/test_b.py::t": expected}


# ---- ids that no list can hold


@pytest.mark.parametrize(
    ("test", "listed"),
    [
        pytest.param("t" * MAX_ID, True, id="as long as can be"),
        pytest.param("t" * (MAX_ID + 1), False, id="longer"),
        pytest.param("c::a\nb", False, id="a line end"),
        pytest.param("c::a\0b", False, id="a zero byte"),
        pytest.param("", False, id="empty"),
        pytest.param(" c::a\tb\x1b ", True, id="blanks, a tab, an escape"),
    ],
)
@pytest.mark.parametrize(
    ("empty", "oracle", "otherwise"),
    [
        pytest.param("FF", "PP", Derived.F2P, id="an F2P"),
        pytest.param("PP", "PP", Derived.P2P, id="a P2P"),
    ],
)
def test_what_would_be_listed_is_unlistable_where_no_list_can_hold_it(
    test: str, listed: bool, empty: str, oracle: str, otherwise: Derived
) -> None:
    found = derived({test: (empty, oracle), "new": ("FF", "PP")})
    assert found.classes[test] is (otherwise if listed else Derived.UNLISTABLE)
    assert (test in {*found.f2p, *found.p2p}) is listed
    assert found.reasons == (), "the others are listed"


@pytest.mark.parametrize(
    ("empty", "oracle", "expected"),
    [
        pytest.param("PP", "FF", Derived.LOST, id="lost"),
        pytest.param("PF", "PP", Derived.FLAKY, id="flaky"),
        pytest.param("FF", "ss", Derived.NEVER, id="never"),
    ],
)
def test_what_would_not_be_listed_anyway_keeps_its_class(empty: str, oracle: str, expected: Derived) -> None:
    found = derived({"a\nb": (empty, oracle), "new": ("FF", "PP")})
    assert found.classes["a\nb"] is expected
    assert bool(found.reasons) is (expected is Derived.LOST)


def test_a_test_that_ended_the_run_is_an_error_in_it() -> None:
    """A control that sets a test aside has it among what it found, as an error."""
    cause = "the run ended twice inside this test"
    empty = Run("i", 1, {}, deadly=("dies",), found={"dies": Observed(Outcome.ERROR, cause)})
    oracle = replace(empty, found={"dies": Observed(Outcome.ERROR, cause), "new": Observed(Outcome.PASSED)})
    found = derive([empty], [oracle], NO_FLOOR)
    assert found.classes == {"dies": Derived.NEVER, "new": Derived.F2P}
    assert Group(Derived.NEVER, "error", "error", cause, "", ("dies",)) in groups(found)


# ---- the task as a whole


def test_a_task_whose_tests_hold_has_no_reason() -> None:
    found = derived({"new": ("FF", "PP"), **{f"old{n}": ("PP", "PP") for n in range(10)}}, Policy())
    assert (found.reasons, found.f2p, len(found.p2p)) == ((), ("new",), 10)


@pytest.mark.parametrize(
    ("tests", "policy", "expected"),
    [
        pytest.param({"old": ("P", "P")}, NO_FLOOR, [Rule.NO_F2P], id="nothing needs the reference: no-f2p"),
        pytest.param({"new": ("F", "P")}, Policy(min_p2p=1), [Rule.FEW_P2P], id="fewer than the floor: few-p2p"),
        pytest.param({}, Policy(min_p2p=1), [Rule.NO_F2P, Rule.FEW_P2P], id="nothing was found: both"),
        pytest.param({"gone": ("P", "m"), "new": ("F", "P")}, NO_FLOOR, [Rule.LOST], id="one is lost: lost"),
        pytest.param(
            {"gone": ("P", "m"), "broke": ("P", "F")}, NO_FLOOR, [Rule.LOST, Rule.LOST, Rule.NO_F2P], id="all are told"
        ),
        pytest.param({"new": ("F", "P"), "a": ("F", "F"), "b": ("s", "s")}, NO_FLOOR, [], id="never refuses nothing"),
        pytest.param({"new": ("FF", "PP"), "a": ("PF", "FP")}, NO_FLOOR, [], id="flaky refuses nothing"),
    ],
)
def test_reasons(tests: Mapping[str, tuple[str, str]], policy: Policy, expected: list[Rule]) -> None:
    empty, oracle = controls(tests) if tests else ([Run("i", 5, {})], [Run("i", 5, {})])
    assert [reason.rule for reason in derive(empty, oracle, policy).reasons] == expected


def test_lost_tests_are_told_by_what_they_share() -> None:
    found = derived({"a": ("PP", "FF"), "b": ("PP", "FF"), "c": ("PF", "FF"), "new": ("FF", "PP")}, cause="why")
    assert found.reasons == (
        Finding(Rule.LOST, None, "passed", "failed", "why", "", ("a", "b")),
        Finding(Rule.LOST, None, "failed 1/2, passed 1/2", "failed", "why", "", ("c",)),
    )


def test_a_patch_that_does_not_apply_is_the_only_reason() -> None:
    found = [Run("i", None, {}, patch=f"oracle.patch: {said}") for said in ("b", "a", "b")]
    good = Run("i", 0, {}, found={"t": Observed(Outcome.PASSED)})
    assert derive([good], found, Policy()) == Derivation(
        {}, {}, (Finding(Rule.PATCH, cause="oracle.patch: a"), Finding(Rule.PATCH, cause="oracle.patch: b"))
    )


# ---- the lists by themselves

TESTS = {"new": ("FFF", "PPP"), "new2": ("FFF", "PPP"), "old": ("PPP", "PPP"), "old2": ("PPP", "PPP")}


def tried(outcomes: Mapping[str, tuple[str, str]], found: Derivation, policy: Policy = NO_FLOOR) -> Derivation:
    """A trial in which these tests had these outcomes and the others held."""
    as_listed = {**dict.fromkeys(found.f2p, ("F", "P")), **dict.fromkeys(found.p2p, ("P", "P"))}
    pair = controls({**as_listed, **outcomes}, "alone it needs another test")
    empty, oracle = ([replace(run, observed=run.found, found={}) for run in many] for many in pair)
    return try_out(found, empty, oracle, policy)


def lasting(letters: str, *without: str) -> dict[str, tuple[str, str]]:
    """What all tests but some do in a trial of as many turns."""
    held = {name: (letters.replace("P", "F") if name.startswith("new") else letters, letters) for name in TESTS}
    return {name: pair for name, pair in held.items() if name not in without}


def test_what_holds_stays_as_it_was() -> None:
    found = derived(TESTS)
    again = tried({}, found)
    assert set(again.tried) == set(TESTS)
    assert replace(again, tried={}) == found


@pytest.mark.parametrize(
    ("test", "empty", "oracle", "expected"),
    [
        pytest.param("new", "P", "P", Derived.UNSTABLE, id="an F2P that passes without: unstable"),
        pytest.param("new", "F", "F", Derived.UNSTABLE, id="an F2P that fails with: unstable"),
        pytest.param("new", "s", "P", Derived.F2P, id="an F2P that skips without, where it failed before: still F2P"),
        pytest.param("old", "F", "P", Derived.UNSTABLE, id="a P2P that fails without: unstable"),
        pytest.param("new", "m", "m", Derived.UNSTABLE, id="an F2P that nobody finds: unstable"),
        pytest.param("old", "F", "F", Derived.UNSTABLE, id="a P2P that fails in both: unstable"),
    ],
)
def test_what_comes_out_otherwise_is_listed_no_longer(test: str, empty: str, oracle: str, expected: Derived) -> None:
    again = tried({test: (empty, oracle)}, derived(TESTS))
    assert again.classes[test] is expected
    assert {other: again.classes[other] for other in TESTS if other != test} == {
        other: Derived.F2P if other.startswith("new") else Derived.P2P for other in TESTS if other != test
    }
    assert again.reasons == ()


@pytest.mark.parametrize(
    ("test", "empty", "oracle"),
    [
        pytest.param("new", "P", "F", id="an F2P the other way round"),
        pytest.param("old", "P", "F", id="a P2P that the reference breaks"),
        pytest.param("old", "P", "m", id="a P2P that is gone with the reference"),
        pytest.param("old", "PFF", "FFF", id="a P2P that passes once in three without, and never with"),
    ],
)
def test_what_its_trial_shows_as_lost_refuses_as_it_does_in_whole_files(test: str, empty: str, oracle: str) -> None:
    """`repair run` would refuse it as a regression: it must not vanish from the lists as a test that is unstable."""
    again = tried({**lasting("P" * len(empty), test), test: (empty, oracle)}, derived(TESTS))
    assert again.classes[test] is Derived.LOST
    [reason] = again.reasons
    assert (reason.rule, reason.ids, reason.cause) == (Rule.LOST, (test,), "alone it needs another test")
    row = again.tried[test]
    assert (row.empty, row.oracle) == (runs(empty), runs(oracle))
    [group] = [group for group in groups(again) if group.derived is Derived.LOST]
    assert (group.empty, group.oracle) == (reason.empty, reason.oracle), "as the trial showed it, not whole files"
    assert reason.oracle != "passed"


def test_a_lost_test_and_an_unstable_one_are_told_apart() -> None:
    again = tried({"old": ("P", "F"), "old2": ("F", "F")}, derived(TESTS))
    assert (again.ids(Derived.LOST), again.ids(Derived.UNSTABLE)) == (("old",), ("old2",))
    assert [reason.ids for reason in again.reasons] == [("old",)]


def test_what_was_lost_in_a_trial_may_flake_in_all_of_its_turns() -> None:
    """`minting` judges a trial's turns together: a test that passed with the reference in one of them flakes."""
    assert tried({"old": ("PPPP", "FFFP"), **lasting("PPPP", "old")}, derived(TESTS)).classes["old"] is Derived.UNSTABLE


def test_an_unstable_test_is_shown_as_its_trial_was() -> None:
    again = tried({"old": ("F", "F")}, derived(TESTS))
    [group] = [group for group in groups(again) if group.derived is Derived.UNSTABLE]
    assert group == Group(Derived.UNSTABLE, "failed", "failed", "alone it needs another test", "", ("old",))
    assert again.rows["old"].empty == runs("PPP"), "what minted it is kept beside it"
    third = tried({}, again)
    assert "old" not in {*third.f2p, *third.p2p}
    assert third.tried["old"] == again.tried["old"], "a test's last trial stays, though the next goes without it"


@pytest.mark.parametrize(
    ("outcomes", "policy", "expected"),
    [
        pytest.param({"new": ("P", "P"), "new2": ("F", "F")}, NO_FLOOR, [Rule.NO_F2P], id="no F2P is left"),
        pytest.param({"new": ("P", "P")}, NO_FLOOR, [], id="one F2P is left"),
        pytest.param({"old": ("F", "P")}, Policy(min_p2p=2), [Rule.FEW_P2P], id="fewer P2P than the floor are left"),
        pytest.param({"old": ("F", "P")}, Policy(min_p2p=1), [], id="as many P2P as the floor are left"),
    ],
)
def test_what_is_left_is_judged_again(
    outcomes: Mapping[str, tuple[str, str]], policy: Policy, expected: list[Rule]
) -> None:
    assert [reason.rule for reason in tried(outcomes, derived(TESTS), policy).reasons] == expected


def test_giving_up_says_how_often_it_was_tried() -> None:
    found = derived(TESTS)
    [reason] = give_up(found, 3).reasons
    assert reason.rule is Rule.NOT_CONFIRMED
    assert reason.cause.startswith("the lists came out otherwise in each of 3 trials")
    assert "repair probe" in reason.cause, "what to do next"
    assert give_up(found, 3).classes == found.classes


# ---- groups


def test_groups_go_by_class_then_size_and_hold_every_test_once() -> None:
    tests = {
        "n1": ("FF", "FF"),
        "f1": ("FF", "PP"),
        "f2": ("FF", "PP"),
        "p1": ("PP", "PP"),
        "l1": ("PP", "FF"),
        "k1": ("PF", "PP"),
        "k2": ("FP", "PP"),
        "k3": ("PP", "PF"),
        "f3": ("mm", "PP"),
        "c1": ("P-", "PP"),
        "u\n1": ("PP", "PP"),
    }
    shown = [(group.derived, group.empty, group.oracle, group.ids) for group in groups(derived(tests))]
    assert shown == [
        (Derived.F2P, "failed", "passed", ("f1", "f2")),
        (Derived.F2P, "missing", "passed", ("f3",)),
        (Derived.P2P, "passed", "passed", ("p1",)),
        (Derived.FLAKY, "failed 1/2, passed 1/2", "passed", ("k1", "k2")),
        (Derived.FLAKY, "passed", "failed 1/2, passed 1/2", ("k3",)),
        (Derived.LOST, "passed", "failed", ("l1",)),
        (Derived.NEVER, "failed", "failed", ("n1",)),
        (Derived.CHANGING, "missing 1/2, passed 1/2", "passed", ("c1",)),
        (Derived.UNLISTABLE, "passed", "passed", ("u\n1",)),
    ]


def test_listed_tests_need_no_cause_and_others_show_both() -> None:
    empty = Run("i", 1, {}, found={"new": Observed(Outcome.FAILED, "a"), "never": Observed(Outcome.FAILED, "a")})
    oracle = Run("i", 1, {}, found={"new": Observed(Outcome.PASSED), "never": Observed(Outcome.FAILED, "b")})
    found = derive([empty], [oracle], NO_FLOOR)
    assert [(group.cause, group.cause_empty) for group in groups(found)] == [("", ""), ("b", "a")]


def test_every_class_is_listed_or_explained() -> None:
    assert LISTED == {Derived.F2P: ListName.F2P, Derived.P2P: ListName.P2P}
    assert set(words.DERIVED) == set(Derived)
