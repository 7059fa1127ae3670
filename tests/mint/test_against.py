"""Lists as they are against what the image shows, id by id: what holds, what is wrong and why, what is lacking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from repair.mint.against import Discrepancies, Wrong, compare
from repair.mint.classes import Derived, derive, try_out
from repair.model import ListName, Observed, Outcome, Policy, Run

POLICY = Policy(min_p2p=0)
LETTERS = {"P": Outcome.PASSED, "F": Outcome.FAILED, "s": Outcome.SKIPPED, "E": Outcome.ERROR}
GONE = Observed(Outcome.MISSING, "not collected; nearest: tests/test_a.py::test_b")
A = "tests/test_a.py::"


def run(found: Mapping[str, Observed], listed: Sequence[str], broken: Mapping[str, Observed]) -> Run:
    return Run("i", 1, {test: found.get(test, GONE) for test in listed}, found=found, broken=broken)


def compared(
    f2p: Sequence[str],
    p2p: Sequence[str],
    tests: Mapping[str, tuple[str, str]],
    files: Sequence[str] = ("tests/test_a.py",),
    broken: Mapping[str, Observed] | None = None,
) -> Discrepancies:
    """Lists against tests with outcomes as letters, one a run, under (empty, oracle)."""
    runs: tuple[list[Run], list[Run]] = ([], [])
    for which, many in enumerate(runs):
        for at in range(len(next(iter(tests.values()), ("P", "P"))[which])):
            found = {
                test: Observed(
                    LETTERS[pair[which][at]], "" if pair[which][at] == "P" else "tests/test_a.py: OSError: no"
                )
                for test, pair in tests.items()
            }
            many.append(run(found, (*f2p, *p2p), broken or {}))
    return compare(f2p, p2p, derive(*runs, POLICY), runs, files, POLICY)


def test_lists_as_the_image_has_them_agree() -> None:
    found = compared([f"{A}new"], [f"{A}old"], {f"{A}new": ("F", "P"), f"{A}old": ("P", "P")})
    assert found == Discrepancies((1, 1), (1, 1), (), (), (), ())
    assert found.agree


@pytest.mark.parametrize(
    ("name", "empty", "oracle", "derived", "cause"),
    [
        pytest.param(ListName.F2P, "PP", "PP", Derived.P2P, "", id="an F2P that passes without"),
        pytest.param(ListName.P2P, "FF", "PP", Derived.F2P, "", id="a P2P that needs the reference"),
        pytest.param(ListName.P2P, "FF", "FF", Derived.NEVER, "OSError: no", id="a P2P that never passes"),
        pytest.param(ListName.P2P, "PF", "FP", Derived.FLAKY, "OSError: no", id="a P2P that flakes"),
        pytest.param(ListName.P2P, "PP", "FF", Derived.LOST, "OSError: no", id="a P2P that the reference breaks"),
        pytest.param(ListName.F2P, "ss", "ss", Derived.NEVER, "OSError: no", id="an F2P that is skipped"),
        pytest.param(ListName.F2P, "FF", "PF", Derived.FLAKY, "OSError: no", id="an F2P that flakes"),
    ],
)
def test_what_is_in_the_wrong_list_or_should_be_in_none(
    name: ListName, empty: str, oracle: str, derived: Derived, cause: str
) -> None:
    test = f"{A}test_b"
    lists: dict[ListName, list[str]] = {ListName.F2P: [], ListName.P2P: []}
    lists[name] = [test]
    found = compared(lists[ListName.F2P], lists[ListName.P2P], {test: (empty, oracle)})
    [wrong] = found.wrong
    assert (wrong.list, wrong.derived, wrong.cause, wrong.ids) == (name, derived, cause, (test,))
    assert (found.hold, found.outside, found.agree) == ((0, 0), (), False)
    assert found.lacking_f2p + found.lacking_p2p == (), "what is listed wrongly lacks nowhere"


def test_an_id_that_is_nowhere_never_passes_and_has_the_cause_that_all_such_share() -> None:
    found = compared([], [f"{A}gone", f"{A}cut["], {f"{A}new": ("F", "P")})
    assert found.wrong == (
        Wrong(ListName.P2P, Derived.NEVER, "missing", "missing", "not collected", (f"{A}cut[", f"{A}gone")),
    )
    assert found.lacking_f2p == (f"{A}new",)


def test_an_id_in_both_lists_is_wrong_in_one() -> None:
    found = compared([f"{A}t"], [f"{A}t", f"{A}t"], {f"{A}t": ("F", "P")})
    assert (found.listed, found.hold) == ((1, 1), (1, 0))
    assert [(wrong.list, wrong.derived) for wrong in found.wrong] == [(ListName.P2P, Derived.F2P)]


def test_the_largest_group_is_first() -> None:
    tests = {f"{A}{name}": ("FF", "FF") for name in "abc"} | {f"{A}d": ("PF", "PF")}
    found = compared([f"{A}d"], [f"{A}{name}" for name in "abc"], tests)
    assert [wrong.ids for wrong in found.wrong] == [(f"{A}a", f"{A}b", f"{A}c"), (f"{A}d",)]


def test_a_group_stands_for_its_members_and_lacks_none_of_them() -> None:
    members = {f"{A}t[1]": Outcome.PASSED, f"{A}t[2]": Outcome.PASSED}
    whole = Run(
        "i", 0, {f"{A}t": Observed(Outcome.PASSED, "", members)}, found={t: Observed(o) for t, o in members.items()}
    )
    found = compare((), (f"{A}t",), derive([whole], [whole], POLICY), ([whole], [whole]), ("tests/test_a.py",), POLICY)
    assert found.agree
    assert found.hold == (0, 1)


# ---- after the lists were tried by themselves


def after_trial(p2p: Sequence[str], *, oracle: str, empty: str) -> Discrepancies:
    """What is wrong with some P2P where a third test, which passes in whole files, has these outcomes in its trial."""
    tests = {f"{A}new": ("F", "P"), f"{A}old": ("P", "P"), f"{A}leans": ("P", "P")}
    pair = [
        [run({test: Observed(LETTERS[letters[which]]) for test, letters in tests.items()}, p2p, {})] for which in (0, 1)
    ]
    alone = tests | {f"{A}leans": (empty, oracle)}
    why = {"P": "", "F": "AssertionError at a.py:9"}
    seen = [
        {test: Observed(LETTERS[letters[which]], why[letters[which]]) for test, letters in alone.items()}
        for which in (0, 1)
    ]
    found = derive(pair[0], pair[1], POLICY)
    assert found.classes[f"{A}leans"] is Derived.P2P
    tried = try_out(found, [Run("i", 1, seen[0])], [Run("i", 1, seen[1])], POLICY)
    return compare((f"{A}new",), p2p, tried, (pair[0], pair[1]), ("tests/test_a.py",), POLICY)


@pytest.mark.parametrize(
    ("empty", "oracle", "derived"),
    [
        pytest.param("F", "F", Derived.UNSTABLE, id="it fails alone"),
        pytest.param("F", "P", Derived.UNSTABLE, id="it needs the reference alone"),
        pytest.param("P", "F", Derived.LOST, id="the reference breaks it alone"),
    ],
)
def test_what_came_out_otherwise_when_it_was_tried_is_wrong_in_any_list(
    empty: str, oracle: str, derived: Derived
) -> None:
    found = after_trial((f"{A}old", f"{A}leans"), empty=empty, oracle=oracle)
    assert (found.listed, found.hold, found.agree) == ((1, 2), (1, 1), False)
    outcomes = (str(LETTERS[empty]), str(LETTERS[oracle]))
    assert found.wrong == (Wrong(ListName.P2P, derived, *outcomes, "AssertionError at a.py:9", (f"{A}leans",)),)
    assert found.lacking_p2p == ()


def test_what_came_out_otherwise_is_lacking_in_no_list() -> None:
    assert after_trial((f"{A}old",), empty="F", oracle="F").agree
    held = after_trial((f"{A}old",), empty="P", oracle="P")
    assert held.lacking_p2p == (f"{A}leans",), "what held when it was tried is"


# ---- files that were not run


@pytest.mark.parametrize(
    "files",
    [("tests/test_a.py",), ("tests/test_*.py",), ("tests",), ("sub/tests/test_a.py",)],
    ids=["its file", "a glob", "a folder", "from the repo's root"],
)
def test_what_ran_is_compared_however_its_file_was_named(files: tuple[str, ...]) -> None:
    found = compared([], [f"{A}t", "tests/test_z.py::t"], {f"{A}t": ("P", "P")}, files)
    assert (found.hold, found.outside) == ((0, 1), ("tests/test_z.py::t",))
    assert (found.wrong, found.lacking_p2p) == ((), ())
    assert not found.agree, "that nobody looked is no agreement"


def test_where_all_tests_ran_nothing_is_outside() -> None:
    found = compared([], [f"{A}t", "tests/test_z.py::t"], {f"{A}t": ("P", "P")}, ())
    assert found.outside == ()
    assert [wrong.ids for wrong in found.wrong] == [("tests/test_z.py::t",)]


@pytest.mark.parametrize("files", [("tests/test_b.py",), ("tests/test_*.py",)], ids=["its file", "a glob"])
def test_a_file_that_does_not_import_was_looked_at(files: tuple[str, ...]) -> None:
    why = Observed(Outcome.MISSING, "tests/test_b.py: ModuleNotFoundError: No module named 'ledger'")
    runs = [Run("i", 2, {"tests/test_b.py::t": why}, broken={"tests/test_b.py": why})]
    found = compare((), ("tests/test_b.py::t",), derive(runs, runs, POLICY), (runs, runs), files, POLICY)
    assert found.outside == ()
    assert [wrong.cause for wrong in found.wrong] == ["ModuleNotFoundError: No module named 'ledger'"]


def test_a_patch_that_does_not_apply_is_all_there_is_to_say() -> None:
    good = run({f"{A}t": Observed(Outcome.PASSED)}, [f"{A}t"], {})
    bad = replace(good, patch="oracle.patch: no such file", found={}, observed={})
    runs = ([good], [bad])
    found = compare((), (f"{A}t",), derive(*runs, POLICY), runs, ("tests/test_a.py",), POLICY)
    assert (found.listed, found.hold, found.agree) == ((0, 1), (0, 0), False)
    assert (found.wrong, found.lacking_f2p, found.lacking_p2p, found.outside) == ((), (), (), ())
    assert found.patch_error == "oracle.patch: no such file"
