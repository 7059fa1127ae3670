"""Causes over a panel: what tasks share, whatever file or id it was found at."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.model import Finding, Rule
from repair.records.causes import NO_CAUSE, Ranked, common, rank


@dataclass(frozen=True)
class Found:
    cause: str
    ids: tuple[str, ...]


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        pytest.param("", NO_CAUSE, id="none"),
        pytest.param("needs a printer", "needs a printer", id="a skip's own words"),
        pytest.param(
            "tests/test_a.py: ModuleNotFoundError: No module named 'ledger'",
            "ModuleNotFoundError: No module named 'ledger'",
            id="a file that does not import",
        ),
        pytest.param("tests/conftest.py: ledger.BadError: no", "ledger.BadError: no", id="an error of the repo's own"),
        pytest.param("tests/test_a.py: SystemExit: 1", "SystemExit: 1", id="a file that exits"),
        pytest.param("tests/test_a.py: UserWarning: old", "UserWarning: old", id="a warning that is an error"),
        pytest.param("AssertionError at a.py:3", "AssertionError at a.py:3", id="a place behind"),
        pytest.param("note: the printer is off", "note: the printer is off", id="a word with a colon is no file"),
        pytest.param("ValueError: x: OSError: y", "ValueError: x: OSError: y", id="an error that quotes another"),
        pytest.param("not collected; nearest: a.py::t[1], a.py::t[2]", "not collected", id="what comes nearest"),
        pytest.param("not collected; nearest: ", "not collected", id="nothing that comes nearest"),
    ],
)
def test_what_tasks_can_share_of_a_cause(cause: str, expected: str) -> None:
    assert common(cause) == expected


def test_the_cause_with_most_tests_is_first_and_tasks_go_by_number() -> None:
    found = [
        ("b", Found("x.py: ImportError: no lxml", ("t3", "t4"))),
        ("a", Found("y.py: ImportError: no lxml", ("t2",))),
        ("a", Found("needs a printer", ("t9", "t1"))),
        ("c", Found("z.py: ImportError: no lxml", ("t5",))),
        ("a", Found("x.py: ImportError: no lxml", ("t0",))),
    ]
    assert rank(found) == (
        Ranked("ImportError: no lxml", 5, (("a", 2), ("b", 2), ("c", 1))),
        Ranked("needs a printer", 2, (("a", 2),)),
    )


def test_the_tasks_with_most_tests_come_first() -> None:
    found = [(f"task{n}", Found("why", tuple(f"t{m}" for m in range(n)))) for n in range(1, 7)]
    [ranked] = rank(found)
    assert [task for task, _ in ranked.tasks] == [f"task{n}" for n in (6, 5, 4, 3, 2, 1)]


def test_what_has_no_id_is_no_cause_of_a_test() -> None:
    whole = Finding(Rule.FEW_P2P, cause="3 P2P kept, the policy asks for 10")
    assert rank([("a", whole)]) == ()
    assert rank([]) == ()


def test_causes_with_as_many_tests_go_by_name() -> None:
    assert [ranked.cause for ranked in rank([("a", Found(cause, ("t",))) for cause in "bca"])] == ["a", "b", "c"]


causes = st.sampled_from(["", "x.py: ImportError: no", "y.py: ImportError: no", "gone; nearest: a", "gone"])
pairs = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.builds(Found, causes, st.lists(st.sampled_from("tuvw"), max_size=3).map(tuple))
    )
)


@given(pairs, st.randoms())
def test_no_test_is_lost_and_order_does_not_matter(found: list[tuple[str, Found]], random: Random) -> None:
    ranked = rank(found)
    assert sum(cause.tests for cause in ranked) == sum(len(one.ids) for _, one in found)
    assert all(cause.tests == sum(number for _, number in cause.tasks) for cause in ranked)
    assert len({cause.cause for cause in ranked}) == len(ranked)
    assert rank(random.sample(found, len(found))) == ranked
