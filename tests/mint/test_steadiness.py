"""What outcomes under eight conditions say of a test: each line of the table, and that there is one for everything."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.mint.steadiness import CONDITIONS, Cells, Conditions, Judged, Kind, Need, Network, Place, judge
from repair.model import ControlKind, Outcome

PASSED = frozenset({Outcome.PASSED})
EMPTY, ORACLE = ControlKind
LETTERS = {"P": Outcome.PASSED, "F": Outcome.FAILED, "S": Outcome.SKIPPED, "M": Outcome.MISSING, "x": Outcome.XFAILED}
ALL_P, ALL_F, ALL_M, NOT = "PP PP PP PP", "FF FF FF FF", "MM MM MM MM", "- - - -"


def cells(empty: str, oracle: str) -> Cells:
    """Cells from letters: alone, alone with a network, in the suite, in the suite with a network; `-` is none."""
    texts = [*empty.split(), *oracle.split()]
    pairs = zip(CONDITIONS, texts, strict=True)
    return {where: tuple(LETTERS[letter] for letter in text) for where, text in pairs if text != "-"}


def needs(*names: Need) -> tuple[Need, ...]:
    return names


# (empty, oracle, kind, needs), in the order of the docstring's table
TABLE: dict[str, tuple[str, str, Kind, tuple[Need, ...]]] = {
    "one cell of empty is mixed": ("PF PP PP PP", ALL_P, Kind.FLAKY, ()),
    "one cell of the oracle is mixed": (ALL_F, "PP PP PP FP", Kind.FLAKY, ()),
    "every cell is mixed": ("PF PF PF PF", "FP PF PF PF", Kind.FLAKY, ()),
    "mixed goes before order and network": ("FF PP PP PF", ALL_P, Kind.FLAKY, ()),
    "mixed with skips": (ALL_P, "PP PP SP PP", Kind.FLAKY, ()),
    "mixed where the oracle was not observed": ("PF PP PP PP", NOT, Kind.FLAKY, ()),
    "order and network in one control": (
        ALL_F,
        "FF FF FF PP",
        Kind.ORDER_AND_NETWORK,
        needs(Need.NEIGHBOURS, Need.NETWORK),
    ),
    "order in one control, network in the other": (
        "PP FF PP FF",
        "PP PP FF FF",
        Kind.ORDER_AND_NETWORK,
        needs(Need.SOLITUDE, Need.NO_NETWORK),
    ),
    "all four ways": (ALL_F, "PP FF FF PP", Kind.ORDER_AND_NETWORK, tuple(Need)),
    "passes in the suite only": (ALL_F, "FF FF PP PP", Kind.ORDER, needs(Need.NEIGHBOURS)),
    "passes alone only": (ALL_F, "PP PP FF FF", Kind.ORDER, needs(Need.SOLITUDE)),
    "order under empty": ("FF FF PP PP", ALL_P, Kind.ORDER, needs(Need.NEIGHBOURS)),
    "order in both, the other way round": (
        "FF FF PP PP",
        "PP PP FF FF",
        Kind.ORDER,
        needs(Need.NEIGHBOURS, Need.SOLITUDE),
    ),
    "order, seen without a network only": (ALL_P, "FF - PP -", Kind.ORDER, needs(Need.NEIGHBOURS)),
    "passes with a network only": ("FF PP FF PP", "FF PP FF PP", Kind.NETWORK, needs(Need.NETWORK)),
    "passes without a network only": (ALL_F, "PP FF PP FF", Kind.NETWORK, needs(Need.NO_NETWORK)),
    "network under empty": ("FF PP FF PP", ALL_P, Kind.NETWORK, needs(Need.NETWORK)),
    "network, seen in the suite only": ("- - FF PP", ALL_P, Kind.NETWORK, needs(Need.NETWORK)),
    "network, where the other control was not observed": (NOT, "FF PP FF PP", Kind.NETWORK, needs(Need.NETWORK)),
    "nothing was observed": (NOT, NOT, Kind.UNOBSERVED, ()),
    "the oracle was not observed": (ALL_P, NOT, Kind.UNOBSERVED, ()),
    "empty was not observed": (NOT, ALL_F, Kind.UNOBSERVED, ()),
    "two cells that differ in both ways": (ALL_F, "FF - - PP", Kind.UNOBSERVED, ()),
    "passes everywhere": (ALL_P, ALL_P, Kind.P2P, ()),
    "passes in all that was observed": ("- - - PP", "PP - - -", Kind.P2P, ()),
    "passes with the reference": (ALL_F, ALL_P, Kind.F2P, ()),
    "is missing without the reference": (ALL_M, ALL_P, Kind.F2P, ()),
    "passes without the reference": (ALL_P, ALL_F, Kind.LOST, ()),
    "is missing with the reference": (ALL_P, ALL_M, Kind.LOST, ()),
    "is missing everywhere": (ALL_M, ALL_M, Kind.MISSING, ()),
    "fails everywhere": (ALL_F, ALL_F, Kind.NEVER, ()),
    "is skipped everywhere": ("SS SS SS SS", "SS SS SS SS", Kind.NEVER, ()),
    "is missing but for one run": (ALL_M, "MM MM MM MF", Kind.NEVER, ()),
    "fails in several ways": (ALL_F, "FS FM SS FF", Kind.NEVER, ()),
    "an expected failure is no pass": (ALL_P, "PP Px PP PP", Kind.FLAKY, ()),
}


@pytest.mark.parametrize(("empty", "oracle", "kind", "wanted"), TABLE.values(), ids=TABLE)
def test_the_kind_of_a_test(empty: str, oracle: str, kind: Kind, wanted: tuple[Need, ...]) -> None:
    judged = judge(cells(empty, oracle), PASSED)
    assert (judged.kind, judged.needs) == (kind, wanted)


def test_the_table_has_a_line_for_every_kind_and_need() -> None:
    assert {kind for _, _, kind, _ in TABLE.values()} == set(Kind)
    assert {need for *_, wanted in TABLE.values() for need in wanted} == set(Need)


def test_what_counts_as_a_pass_is_the_policy_s() -> None:
    seen = cells(ALL_P, "PP Px PP PP")
    assert judge(seen, PASSED | {Outcome.XFAILED}).kind is Kind.P2P


def test_the_mixed_cells_are_named() -> None:
    judged = judge(cells(ALL_P, "PP PF PP FP"), PASSED)
    assert judged.mixed == (
        Conditions(ORACLE, Place.ALONE, Network.BRIDGE),
        Conditions(ORACLE, Place.SUITE, Network.BRIDGE),
    )


@pytest.mark.parametrize(
    ("empty", "oracle", "untold"),
    [
        pytest.param(ALL_P, ALL_P, (), id="all was observed"),
        pytest.param("PP - PP -", "PP - PP -", ("network",), id="no network could be had"),
        pytest.param("- - PP PP", "- - PP PP", ("order",), id="nothing ran alone"),
        pytest.param("PP - - PP", ALL_P, ("order", "network"), id="one control has no two to compare"),
        pytest.param("PP PP PP -", "- PP PP PP", (), id="one comparison of each is enough"),
    ],
)
def test_what_was_not_told(empty: str, oracle: str, untold: tuple[str, ...]) -> None:
    assert judge(cells(empty, oracle), PASSED) == Judged(Kind.P2P, untold=untold)


# ---- over everything

State = str  # of a cell: passes, does not, none; what is mixed is flaky, whatever else there is
APART = {
    other: [
        (one, two)
        for one in CONDITIONS
        for two in CONDITIONS
        if [name for name in ("control", "place", "network") if getattr(one, name) != getattr(two, name)] == [other]
    ]
    for other in ("place", "network")
}


def stated(states: Mapping[Conditions, State]) -> Kind:
    """The kind whose line of the table, below flaky, is the first to hold for cells; written as the table is."""

    def differ(other: str) -> bool:
        """Do two cells differ that have all in common but `other`?"""
        return any({states[one], states[two]} == {"P", "F"} for one, two in APART[other])

    def only(control: ControlKind, *wanted: State) -> bool:
        return {state for where, state in states.items() if where.control is control} - {"-"} == set(wanted)

    order, network = differ("place"), differ("network")
    lines = [
        (Kind.ORDER_AND_NETWORK, order and network),
        (Kind.ORDER, order),
        (Kind.NETWORK, network),
        (Kind.UNOBSERVED, any(only(control) or only(control, "P", "F") for control in ControlKind)),
        (Kind.P2P, only(EMPTY, "P") and only(ORACLE, "P")),
        (Kind.F2P, only(EMPTY, "F") and only(ORACLE, "P")),
        (Kind.LOST, only(EMPTY, "P") and only(ORACLE, "F")),
        (Kind.NEVER, only(EMPTY, "F") and only(ORACLE, "F")),
    ]
    return next(kind for kind, holds in lines if holds)


def test_every_combination_has_the_kind_that_the_table_states() -> None:
    for states in product(("P", "F", "-"), repeat=len(CONDITIONS)):
        named = dict(zip(CONDITIONS, states, strict=True))
        judged = judge(
            {where: tuple(LETTERS[letter] for letter in state.strip("-")) for where, state in named.items()}, PASSED
        )
        assert judged.kind is stated(named), states


CELLS = st.dictionaries(
    st.sampled_from(CONDITIONS), st.lists(st.sampled_from(list(Outcome)), max_size=5).map(tuple), max_size=8
)


@given(CELLS, st.randoms(use_true_random=False))
def test_neither_the_order_of_runs_nor_that_of_cells_matters(seen: Cells, chance: random.Random) -> None:
    shuffled = [(where, tuple(chance.sample(outcomes, len(outcomes)))) for where, outcomes in seen.items()]
    chance.shuffle(shuffled)
    assert judge(dict(shuffled), PASSED) == judge(seen, PASSED)


@given(CELLS)
def test_an_empty_cell_is_an_absent_one(seen: Cells) -> None:
    assert judge({where: outcomes for where, outcomes in seen.items() if outcomes}, PASSED) == judge(seen, PASSED)


@given(CELLS)
def test_needs_go_with_the_kind(seen: Cells) -> None:
    judged = judge(seen, PASSED)
    order = {Need.NEIGHBOURS, Need.SOLITUDE} & set(judged.needs)
    network = {Need.NETWORK, Need.NO_NETWORK} & set(judged.needs)
    assert bool(order) == (judged.kind in {Kind.ORDER, Kind.ORDER_AND_NETWORK})
    assert bool(network) == (judged.kind in {Kind.NETWORK, Kind.ORDER_AND_NETWORK})


@given(CELLS)
def test_flaky_is_what_passes_and_does_not_under_the_same_conditions(seen: Cells) -> None:
    judged = judge(seen, PASSED)
    mixed = {where for where, outcomes in seen.items() if Outcome.PASSED in outcomes and set(outcomes) != PASSED}
    assert set(judged.mixed) == mixed
    assert (judged.kind is Kind.FLAKY) == bool(mixed)
