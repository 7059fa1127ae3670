"""Runs to the outcome table: its rows, their outcomes and causes, the members of groups, one test under two names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from repair import rules, table
from repair.model import ListName, Observed, Outcome, Policy, Row, Rule, Run, Table
from repair.outcomes import lookup
from repair.outcomes.plugin_log import Item

PASSED, SKIPPED, MISSING = Outcome.PASSED, Outcome.SKIPPED, Outcome.MISSING
ERROR, FAILED = Outcome.ERROR, Outcome.FAILED
F2P, P2P = ListName.F2P, ListName.P2P
NO_FLOOR = Policy(min_p2p=0)

Members = Mapping[str, Outcome]


def run(observed: Mapping[str, Observed] | None = None, **outcomes: Outcome) -> Run:
    """An observed run, of whole observations or of bare outcomes."""
    return Run("sha256:image", 0, {**(observed or {}), **{test: Observed(found) for test, found in outcomes.items()}})


def unapplied(error: str) -> Run:
    return Run("sha256:image", None, {}, patch=error)


def group(members: Members, cause: str = "") -> Observed:
    return Observed(max(members.values(), key=lambda outcome: outcome.severity), cause, members)


def only(built: Table) -> Row:
    [row] = built.rows
    return row


def test_rows_are_sorted_and_hold_an_outcome_a_run() -> None:
    built = table.build(
        ["b"], ["c", "a"], [run(a=PASSED, b=FAILED, c=ERROR)] * 2, [run(a=PASSED, b=PASSED, c=SKIPPED), run(a=FAILED)]
    )
    assert [(row.id, set(row.lists), row.empty, row.oracle) for row in built.rows] == [
        ("a", {P2P}, (PASSED, PASSED), (PASSED, FAILED)),
        ("b", {F2P}, (FAILED, FAILED), (PASSED, MISSING)),
        ("c", {P2P}, (ERROR, ERROR), (SKIPPED, MISSING)),
    ]
    assert built.patch_errors == ()


def test_what_a_run_does_not_speak_of_is_missing_with_a_cause() -> None:
    row = only(table.build([], ["t"], [run()], [run(other=PASSED)]))
    assert (row.empty, row.oracle) == ((MISSING,), (MISSING,))
    assert row.cause_empty
    assert row.cause_oracle


def test_an_id_that_is_listed_twice_counts_once() -> None:
    built = table.build(["f", "f"], ["p"] * 10, [run(f=FAILED, p=PASSED)], [run(f=PASSED, p=PASSED)])
    assert [row.id for row in built.rows] == ["f", "p"]


def test_an_id_in_both_lists_is_one_row() -> None:
    row = only(table.build(["t"], ["t"], [run(t=FAILED)], [run(t=PASSED)]))
    assert row.lists == {F2P, P2P}


def test_empty_lists_give_an_empty_table() -> None:
    assert table.build([], [], [run(t=PASSED)], [run(t=PASSED)]) == Table(())


def test_ids_count_to_the_last_character() -> None:
    ids = ["t[a]", "t[A]", "t[a] ", "t[ä]", "t[a\u0308]"]
    built = table.build([], ids, [run({ids[0]: Observed(PASSED)})], [run({ids[0]: Observed(PASSED)})])
    assert {row.id: row.oracle for row in built.rows} == {
        test: (PASSED if test == "t[a]" else MISSING,) for test in ids
    }


@pytest.mark.parametrize(
    ("causes", "smallest"),
    [
        pytest.param(["b", "a", "c"], "a", id="the smallest text"),
        pytest.param(["", "b", ""], "b", id="a run without one says nothing"),
        pytest.param(["", ""], "", id="no run has one"),
        pytest.param([], "", id="no run"),
    ],
)
def test_the_cause_over_several_runs(causes: list[str], smallest: str) -> None:
    seen = [run({"t": Observed(FAILED, cause)}) for cause in causes]
    row = only(table.build([], ["t"], seen, [run(t=PASSED)]))
    assert (row.cause_empty, row.cause_oracle) == (smallest, "")
    assert only(table.build([], ["t"], [run(t=PASSED)], seen)).cause_oracle == smallest


@pytest.mark.parametrize(
    ("empty", "oracle", "errors"),
    [
        pytest.param(["tests.patch: a"], ["tests.patch: a"], ("tests.patch: a",) * 2, id="in both controls"),
        pytest.param([None], ["oracle.patch: a"], ("oracle.patch: a",), id="under the oracle only"),
        pytest.param(["tests.patch: a"], [None], ("tests.patch: a",), id="under empty only"),
        pytest.param([None, None], [None, "oracle.patch: a"], ("oracle.patch: a",), id="in one run of several"),
        pytest.param([None], [""], ("",), id="without a word"),
    ],
)
def test_where_a_patch_did_not_apply_there_are_no_outcomes(
    empty: list[str | None], oracle: list[str | None], errors: tuple[str, ...]
) -> None:
    controls = [
        [run({"t": group({"t[1]": FAILED})}) if error is None else unapplied(error) for error in control]
        for control in (empty, oracle)
    ]
    built = table.build(["t"], ["u"], *controls)
    assert built == Table((Row("t", frozenset({F2P}), (), ()), Row("u", frozenset({P2P}), (), ())), errors)


# ---- groups


def test_members_over_runs_are_missing_where_they_were_not_seen() -> None:
    before = [run({"t": Observed(MISSING, "no such file")}), run({"t": group({"t[2]": FAILED, "t[1]": PASSED})})]
    after = [run({"t": group({"t[1]": PASSED, "t[3]": SKIPPED})}), run()]
    row = only(table.build(["t"], [], before, after))
    assert dict(row.members) == {
        "t[1]": ((MISSING, PASSED), (PASSED, MISSING)),
        "t[2]": ((MISSING, FAILED), (MISSING, MISSING)),
        "t[3]": ((MISSING, MISSING), (SKIPPED, MISSING)),
    }
    assert list(row.members) == sorted(row.members)
    assert (row.empty, row.oracle) == ((MISSING, FAILED), (SKIPPED, MISSING))


# ---- one test under two names


def resolved(ids: Sequence[str], outcome: Outcome) -> Run:
    """A run that collected one test, whose id begins at the rootdir or at the working directory."""
    item = Item(other="sub/test_a.py::T::test_m", groups=())
    seen = lookup.Seen({"test_a.py::T::test_m": Observed(outcome, "")}, {"test_a.py::T::test_m": item})
    return run(lookup.resolve(ids, seen))


@pytest.mark.parametrize(
    ("f2p", "p2p"),
    [
        pytest.param("sub/test_a.py::T::test_m", "test_a.py::T::test_m", id="from the working directory and the root"),
        pytest.param("test_a.py::T::test_m", "sub/test_a.py::T::test_m", id="from the root and the working directory"),
        pytest.param("test_a.py::T::test_m", "test_a.py::T::()::test_m", id="as pytest 3 and later ones spell it"),
    ],
)
def test_a_test_in_both_lists_under_two_names_refuses(f2p: str, p2p: str) -> None:
    ids = [f2p, p2p]
    decision = rules.decide(table.build([f2p], [p2p], [resolved(ids, FAILED)], [resolved(ids, PASSED)]), NO_FLOOR)
    assert [(finding.rule, finding.ids) for finding in decision.reasons] == [(Rule.BOTH_LISTS, tuple(sorted(ids)))]


def test_a_test_under_two_names_in_one_list_counts_once_for_the_floor() -> None:
    ids = ["sub/test_a.py::T::test_m", "test_a.py::T::()::test_m", "test_a.py::T::test_m"]
    seen = resolved(ids, PASSED)
    solved = [run({**seen.observed, "f": Observed(outcome)}) for outcome in (FAILED, PASSED)]
    decision = rules.decide(table.build(["f"], ids, solved[:1], solved[1:]), Policy(min_p2p=2))
    assert [finding.rule for finding in decision.reasons] == [Rule.FEW_P2P]
