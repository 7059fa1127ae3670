"""Ids outside pytest that several tests share: a class, a file, a name in two places. The rule sees every member."""

from __future__ import annotations

import pytest

from repair import rules, table
from repair.model import Outcome, Policy, Rule, Run, Verdict
from repair.outcomes import lookup
from repair.outcomes.junit import Case

P, F, S, M = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED, Outcome.MISSING
KEEP = ("keep", "Keep", P, P)
FIX = ("fix", "Fix", F, P)


def decide(listed: dict[str, str], template: str, *tests: tuple[str, str, Outcome, Outcome]) -> dict[str, object]:
    """The decision where each test is (name, class, under empty, with the reference); `listed` has each id's list."""
    runs = []
    for side in (0, 1):
        outcomes = [(name, group, (before, after)[side]) for name, group, before, after in tests]
        cases = [Case(group, name, one, "" if one is P else "why", class_=group) for name, group, one in outcomes]
        cases = [case for case in cases if case.outcome is not M]
        seen = lookup.of_cases(cases, (template,), "jest")
        runs.append(Run("sha256:1", 1, lookup.resolve(listed, seen), template=(template,)))
    f2p, p2p = ([test for test, name in listed.items() if name == which] for which in ("F2P", "P2P"))
    decision = rules.decide(table.build(f2p, p2p, runs[:1], runs[1:]), Policy(min_p2p=1))
    dropped = {test for finding in decision.dropped for test in finding.ids}
    return {"verdict": decision.verdict, "dropped": dropped, "rules": {finding.rule for finding in decision.reasons}}


LISTS = {"Fix": "F2P", "Keep": "P2P", "Bar": "P2P"}


def test_a_regression_behind_a_failing_sibling_refuses() -> None:
    bar = (("net", "Bar", F, F), ("good", "Bar", P, F))
    found = decide(LISTS, "{classname}", KEEP, FIX, *bar)
    assert (found["verdict"], found["rules"]) == (Verdict.REFUSED, {Rule.REGRESSION})


def test_a_class_that_fails_in_both_is_dropped_whatever_else_ran() -> None:
    """What a member is called does not depend on its siblings: one fails in both, one is there only later."""
    bar = (("net", "Bar", F, F), ("more", "Bar", M, P))
    found = decide(LISTS, "{classname}", KEEP, FIX, *bar)
    assert (found["verdict"], found["dropped"]) == (Verdict.REPAIRED, {"Bar"})


def test_a_class_of_which_one_test_skips_with_the_reference_is_no_id_for_f2p() -> None:
    found = decide({"Fix": "F2P", "Keep": "P2P"}, "{classname}", KEEP, FIX, ("off", "Fix", S, S))
    assert (found["verdict"], Rule.MIXED_GROUP in found["rules"]) == (Verdict.REFUSED, True)  # type: ignore[operator]


def test_a_name_in_two_packages_is_both_tests() -> None:
    lists = {"fix": "F2P", "keep": "P2P", "TestNew": "P2P"}
    found = decide(lists, "{name}", KEEP, FIX, ("TestNew", "p/a", P, F), ("TestNew", "p/b", F, F))
    assert (found["verdict"], found["rules"]) == (Verdict.REFUSED, {Rule.REGRESSION})


def test_a_template_that_tells_tests_apart_makes_no_groups() -> None:
    seen = lookup.of_cases([Case("k", "a", P), Case("k", "b", F, "why")], ("{classname} > {name}",))
    assert lookup.resolve(["k > a"], seen)["k > a"].members == {}


@pytest.mark.parametrize("listed", ["k::a", "k"])
def test_a_member_is_no_id_of_its_own(listed: str) -> None:
    seen = lookup.of_cases([Case("k", "a", P), Case("l", "a", F, "why")], ("{name}",))
    assert lookup.resolve([listed], seen)[listed].outcome is M


def test_what_mocha_leaves_out_behind_a_failed_hook_takes_its_outcome() -> None:
    hook = Case("price when heavy", '"before each" hook for "is high"', F, "Error: no scales")
    seen = lookup.of_cases([hook], ("{classname} {name}",), "mocha")
    found = lookup.resolve(["price when heavy is high", "price when light is low"], seen)
    heavy = found["price when heavy is high"]
    assert (heavy.outcome, heavy.cause) == (F, "Error: no scales")
    assert found["price when light is low"].outcome is M
