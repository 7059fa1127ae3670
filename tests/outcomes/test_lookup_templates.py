"""Ids that are no node ids: names of two tests at once, pytest's by a template, and what unittest reports of a test."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from repair.model import Observed, Outcome
from repair.outcomes import junit, lookup, plugin_log
from repair.outcomes.junit import Case
from repair.outcomes.plugin_log import Item, Record
from repair.outcomes.spelling import Template

P, F, E, S, M, X = (
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.SKIPPED,
    Outcome.MISSING,
    Outcome.XFAILED,
)
UNITTEST: Template = ("{name} ({classname})", "{name} ({classname}.{name})")
JEST: Template = ("{classname} {name}", "{name}")


def case(classname: str, name: str, outcome: Outcome = P, cause: str = "", **more: Any) -> Case:
    return Case(classname, name, outcome, cause, **more)


def one(listed: str, seen: lookup.Seen) -> Observed:
    return lookup.resolve([listed], seen)[listed]


# ---- reports of other runners


def test_a_second_spelling_that_two_tests_share_is_the_worst_of_both() -> None:
    seen = lookup.of_cases([case("money", "adds"), case("dates", "adds", F, "E1"), case("dates", "ends")], JEST)
    assert one("adds", seen) == Observed(F, "E1", {"money adds": P, "dates adds": F})
    assert one("ends", seen) == Observed(P, "", {"dates ends": P})  # under another name: a group of one
    assert one("money adds", seen) == Observed(P)


def test_a_test_whose_main_name_is_anothers_second_is_among_its_members() -> None:
    seen = lookup.of_cases([case("money", "adds"), case("", "adds", S, "no")], JEST)
    assert one("adds", seen) == Observed(S, "no", {"adds": S, "money adds": P})


def test_one_name_twice_takes_the_worst_with_the_first_of_its_causes() -> None:
    cases = [case("k", "a"), case("k", "a", F, "b"), case("k", "a", F, "a"), case("k", "a", S, "0")]
    for seed in range(5):
        shuffled = random.Random(seed).sample(cases, len(cases))
        assert one("k::a", lookup.of_cases(shuffled)) == Observed(F, "a")


def test_a_name_without_a_class_stands_alone_whatever_the_template() -> None:
    cases = [case("", "lone"), case("k", "lone", F, "x")]
    for template in (("{classname}::{name}",), ("{suite}: {name}",), UNITTEST):
        assert one("lone", lookup.of_cases(cases[:1], template)).outcome is P
        assert one("lone", lookup.of_cases(cases[1:], template)).outcome is M


def test_a_case_without_a_name_is_not_invented() -> None:
    assert lookup.of_cases([case("k", ""), case("", "")]).outcomes == {}


CUT: dict[str, tuple[Template, str, str]] = {
    "classname::name": (("{classname}::{name}",), "ledger::adds", "ledger::adds money, ledger::adds money twice"),
    "a template of the task's": (("{suite}/{name}",), "s/adds", "s/adds money, s/adds money twice"),
    "a second spelling": (JEST, "adds", "adds money, adds money twice"),
    "unittest": (UNITTEST, "adds money", "adds money (ledger), adds money (ledger.adds money)"),
}


@pytest.mark.parametrize(("template", "listed", "near"), CUT.values(), ids=CUT)
def test_an_id_cut_at_a_blank_is_missing_and_what_begins_with_it_is_named(
    template: Template, listed: str, near: str
) -> None:
    cases = [case("ledger", "adds money", suite="s"), case("ledger", "adds money twice", F, suite="s")]
    found = one(listed, lookup.of_cases(cases, template))
    assert found.outcome is M
    assert found.cause.startswith(f"not collected; nearest: {near}")


def test_a_lone_surrogate_in_a_template_is_spelt_as_an_escape() -> None:
    seen = lookup.of_cases([case("k", "a")], ("\ud800{name}",))
    assert set(seen.aliases) == {"\\ud800a"}


@pytest.mark.parametrize("name", ["()", "a()", "(::()", "a::()"])
def test_an_id_that_looks_like_pytest_3_is_found_as_it_stands(name: str) -> None:
    seen = lookup.of_cases([case("operator", name), case("operator", "", F)])
    assert one(f"operator::{name}", seen) == Observed(P)


def test_what_parse_prints_it_takes_again() -> None:
    cases = [case("k", "a "), case("k", " a", S, "no"), case("k", "()"), case("", " b "), case("k::()", "c")]
    printed = junit.outcomes(cases)
    found = lookup.forward(printed, cases)
    assert {test: seen.outcome for test, seen in found.items()} == printed


# ---- pytest


def pytest_case(node_id: str, outcome: Outcome = P) -> Case:
    path, _, name = node_id.rpartition("::")
    return case(path.replace("/", "."), name, outcome, node_id=json.dumps(node_id), file=path.split("::")[0])


def of_record(template: Template, outcomes: dict[str, Outcome], deselected: tuple[str, ...] = ()) -> lookup.Seen:
    seen = Record(items={test: plugin_log._item(test, None, []) for test in (*outcomes, *deselected)})
    causes = {test: Observed(found, "" if found is P else f"why {test}") for test, found in outcomes.items()}
    return lookup.of_record(seen, causes, template)


TWO_FILES = {
    "a/test_t.py::test_x": P,
    "b/test_t.py::test_x": F,
    "b/test_t.py::TestK::test_y[1 2]": P,
    "c/test_t.py::TestK::test_y[1 2]": S,
}

PYTEST: dict[str, tuple[Template, str, Outcome, list[str]]] = {
    "a bare name in two files": (("{name}",), "test_x", F, ["a/test_t.py::test_x", "b/test_t.py::test_x"]),
    "a bare name with parameters": (
        ("{name}",),
        "test_y[1 2]",
        S,
        ["b/test_t.py::TestK::test_y[1 2]", "c/test_t.py::TestK::test_y[1 2]"],
    ),
    "a bare name without its parameters": (("{name}",), "test_y", M, []),
    "a test without its file": (
        ("{test}",),
        "TestK.test_y[1 2]",
        S,
        ["b/test_t.py::TestK::test_y[1 2]", "c/test_t.py::TestK::test_y[1 2]"],
    ),
    "a function without its file": (("{test}",), "test_x", F, ["a/test_t.py::test_x", "b/test_t.py::test_x"]),
    "a file and a name": (("{file} | {name}",), "b/test_t.py | test_x", F, ["b/test_t.py::test_x"]),
    "the second of two spellings": (("{name}", "{test}"), "TestK.test_y[1 2]", S, ["b/test_t.py::TestK::test_y[1 2]"]),
    "a file": (("{file}",), "b/test_t.py", F, ["b/test_t.py::TestK::test_y[1 2]", "b/test_t.py::test_x"]),
}


@pytest.mark.parametrize(("template", "listed", "outcome", "members"), PYTEST.values(), ids=PYTEST)
def test_a_pytest_id_by_a_template(template: Template, listed: str, outcome: Outcome, members: list[str]) -> None:
    for tests in (TWO_FILES, dict(reversed(TWO_FILES.items()))):
        found = one(listed, of_record(template, tests))
        assert found.outcome is outcome
        assert set(members) <= set(found.members)
        assert {test: TWO_FILES[test] for test in found.members} == found.members
        assert bool(found.cause) == (outcome is not P)


def test_a_node_id_stays_itself_beside_a_template() -> None:
    seen = of_record(("{name}",), TWO_FILES)
    assert one("a/test_t.py::test_x", seen) == Observed(P)
    assert one("test_t.py::test_x", seen).outcome is M


def test_a_node_id_wins_over_a_template_that_spells_it_for_another() -> None:
    """A template must not make one test's id stand for another test."""
    seen = Record(items={test: Item(None, ()) for test in ("t.py::a", "t.py::b")})
    found = lookup.of_record(seen, {"t.py::a": Observed(P, ""), "t.py::b": Observed(F, "x")}, ("{file}::a",))
    assert one("t.py::a", found) == Observed(P)


def test_without_a_template_a_pytest_run_has_no_other_names() -> None:
    assert of_record((), TWO_FILES).aliases == {}


def test_a_pytest_id_cut_at_a_blank_is_missing_and_named() -> None:
    found = one("test_y[1", of_record(("{name}",), TWO_FILES))
    assert found == Observed(M, "not collected; nearest: test_y[1 2]")


def test_the_worse_of_record_and_report_is_what_a_template_finds() -> None:
    """What was agreed on counts, not the report alone, where a test erred behind its last row."""
    seen = Record(items={"t.py::a": Item(None, ())})
    found = lookup.of_record(seen, {"t.py::a": Observed(E, "crash")}, ("{name}",))
    assert one("a", found) == Observed(E, "crash", {"t.py::a": E})


# ---- unittest


def unittests(*cases: Case) -> lookup.Seen:
    return lookup.of_cases(cases, UNITTEST, "unittest")


A, A_LATER = "test_a (app.T)", "test_a (app.T.test_a)"

SUBTESTS: dict[str, tuple[list[Case], Outcome]] = {
    "one fails": ([case("app.T", "test_a (i=1)", F, "Wrong")], F),
    "one fails, with a message": ([case("app.T", "test_a [first] (i=1)", F, "Wrong")], F),
    "one fails, with a message alone": ([case("app.T", "test_a [(first)]", F, "Wrong")], F),
    "a value holds a line break": ([case("app.T", "test_a (text='a\n(b)')", E, "Wrong")], E),
    "one fails, one errs": ([case("app.T", "test_a (i=1)", E, "Odd"), case("app.T", "test_a (i=2)", F, "Wrong")], F),
    "one skips": ([case("app.T", "test_a (i=1)", S, "Wrong")], S),
    "one fails and the test itself has a row": (
        [case("app.T", "test_a"), case("app.T", "test_a (i=1)", F, "Wrong")],
        F,
    ),
    "one passes and the test itself fails": ([case("app.T", "test_a", F, "Wrong"), case("app.T", "test_a (i=1)")], F),
}


@pytest.mark.parametrize(("cases", "outcome"), SUBTESTS.values(), ids=SUBTESTS)
def test_subtests_count_against_their_test(cases: list[Case], outcome: Outcome) -> None:
    for seen in (unittests(*cases), unittests(*reversed(cases))):
        for listed in (A, A_LATER):
            found = one(listed, seen)
            assert (found.outcome, found.cause) == (outcome, "Wrong")
        assert one("test_a (app.U)", seen).outcome is M
        assert one("test_aa (app.T)", seen).outcome is M


def test_a_subtest_is_an_id_too() -> None:
    seen = unittests(case("app.T", "test_a (i=1)", F, "Wrong"), case("app.T", "test_a (i=2)"))
    whole = {A: F}  # what a subtest is called may hold an address or a time: it counts for its test
    assert one("test_a (i=1) (app.T)", seen) == Observed(F, "Wrong", whole)
    assert one("test_a (i=2) (app.T)", seen) == Observed(F, "Wrong", whole)
    assert one(A, seen) == Observed(F, "Wrong")


HOLDERS: dict[str, tuple[Case, str, Observed]] = {
    "a class's set-up that fails": (case("", "setUpClass (app.T)", E, "KeyError"), A, Observed(E, "KeyError")),
    "by the later spelling": (case("", "setUpClass (app.T)", E, "KeyError"), A_LATER, Observed(E, "KeyError")),
    "a class's set-up that skips": (case("", "setUpClass (app.T)", S, "no db"), A, Observed(S, "no db")),
    "a module's set-up that fails": (case("", "setUpModule (app)", E, "KeyError"), A, Observed(E, "KeyError")),
    "a module's set-up that skips": (case("", "setUpModule (app)", S, "no db"), A_LATER, Observed(S, "no db")),
    "a module that does not import": (
        case("unittest.loader._FailedTest", "app", E, "No module named 'pretend'"),
        A,
        Observed(M, "No module named 'pretend'"),
    ),
    "a module in a package that does not import": (
        case("unittest.loader._FailedTest.app", "sub", E, "No module named 'pretend'"),
        "test_a (app.sub.T)",
        Observed(M, "No module named 'pretend'"),
    ),
}


@pytest.mark.parametrize(("holder", "listed", "told"), HOLDERS.values(), ids=HOLDERS)
def test_what_kept_unittests_from_running(holder: Case, listed: str, told: Observed) -> None:
    seen = unittests(case("app.Other", "test_b"), holder)
    assert one(listed, seen) == told
    assert one("test_b (app.Other)", seen).outcome is P
    assert one(listed.replace("(app", "(apply"), seen).outcome is M
    assert set(seen.outcomes) == {"test_b (app.Other)"}


@pytest.mark.parametrize("holder", [holder for holder, _, _ in HOLDERS.values()], ids=HOLDERS)
def test_a_test_that_ran_all_the_same_keeps_its_outcome(holder: Case) -> None:
    assert one(A, unittests(case("app.T", "test_a"), holder)).outcome is P


def test_the_worst_of_a_holders_rows_counts() -> None:
    rows = [case("", "setUpClass (app.T)", S, "no db"), case("", "setUpClass (app.T)", E, "KeyError")]
    for cases in (rows, rows[::-1]):
        assert one(A, unittests(*cases)) == Observed(E, "KeyError")


def test_the_nearest_holder_counts_in_whatever_order() -> None:
    rows = [
        case("", "setUpModule (app)", E, "KeyError"),
        case("", "setUpClass (app.T)", S, "no db"),
        case("unittest.loader._FailedTest", "app", E, "ImportError"),
    ]
    for cases in (rows, rows[::-1]):
        assert one(A, unittests(*cases)) == Observed(S, "no db")


@pytest.mark.parametrize("name", ["tearDownClass (app.T)", "tearDownModule (app)"])
def test_a_tear_down_that_fails_says_nothing_of_tests(name: str) -> None:
    seen = unittests(case("app.T", "test_a"), case("", name, E, "KeyError"))
    assert one(A, seen) == Observed(P)
    assert one("test_gone (app.T)", seen).outcome is M
    assert one(name, seen) == Observed(E, "KeyError")  # who lists it finds it


@pytest.mark.parametrize(
    "rows",
    [
        [case("app.T", "test_a (i=1)", F, "Wrong")],
        [case("", "setUpClass (app.T)", S, "no db")],
        [case("unittest.loader._FailedTest", "app", E, "No module named 'pretend'")],
    ],
    ids=["subtest", "set-up", "import"],
)
def test_other_frameworks_have_none_of_this(rows: list[Case]) -> None:
    """In another runner's report the same names are tests like all others."""
    seen = lookup.of_cases(rows, UNITTEST)
    assert (one(A, seen).outcome, one(A_LATER, seen).outcome) == (M, M)
    assert len(seen.outcomes) == 1
    assert seen.holders == {}


def test_outcomes_that_are_no_pass_keep_their_kind() -> None:
    seen = unittests(case("app.T", "test_x", X, "known"), case("app.T", "test_s", S, "no"))
    assert [one(f"{name} (app.T)", seen) for name in ("test_x", "test_s")] == [Observed(X, "known"), Observed(S, "no")]


def test_what_xmlrunner_writes_from_end_to_end() -> None:
    report = b"""<testsuites><testsuite name="app.T-1"><testcase classname="app.T" name="test_a (n=2, text='x y')">
<failure type="AssertionError" message="2 != 3"/></testcase><testcase classname="app.T" name="test_b"/></testsuite>
<testsuite name="unittest.suite._ErrorHolder-1"><testcase classname="" name="setUpClass (app.U)">
<error type="RuntimeError" message="no"/></testcase></testsuite><testsuite name="unittest.loader._FailedTest-1">
<testcase classname="unittest.loader._FailedTest" name="broken"><error type="ImportError" message="ImportError: no"/>
</testcase></testsuite></testsuites>"""
    cases: list[Case] = []
    junit._cases(report, "r.xml", cases)
    listed = ["test_a (app.T)", "test_b (app.T)", "test_c (app.U)", "test_d (broken.V)", "test_e (app.W)"]
    found = lookup.resolve(listed, unittests(*cases))
    assert list(found.values()) == [
        Observed(F, "AssertionError"),
        Observed(P, ""),
        Observed(E, "RuntimeError"),
        Observed(M, "ImportError: no"),
        Observed(M, "not collected"),
    ]
