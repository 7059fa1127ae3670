"""The kind of a test by its outcomes under eight conditions: why they change, for `repair probe`. Pure.

The conditions are both controls, each alone and in the suite, each without and with a network. A *cell* is one test's
outcomes under one of them, one per observed run.

A cell passes where all of its runs pass, does not pass where none passes, and is mixed otherwise. A cell without a run
says nothing. The first line of this table that holds gives the kind:

| cells | kind |
|---|---|
| some cell is mixed: the same conditions, different outcomes | `flaky` |
| alone and suite differ, and with and without a network do | `order-and-network` |
| alone and suite differ, in some control with the same network | `order-dependent` |
| with and without a network differ, in some control at the same place | `network-needing` |
| a control has no observed cell, or just two that differ, in place and network both | `unobserved` |
| every cell of both controls passes | `P2P` |
| every cell of the oracle passes, none of empty does | `F2P` |
| every cell of empty passes, none of the oracle does | `lost` |
| no cell passes, and the test is missing in every run of both | `missing` |
| no cell passes | `never` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from repair.model import ControlKind, Outcome


class Place(StrEnum):
    """Which tests run together: the test by itself, or all that its task lists."""

    ALONE = "alone"
    SUITE = "suite"


class Network(StrEnum):
    """The `network` of a task: without or with one."""

    NONE = "none"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a run."""

    control: ControlKind
    place: Place
    network: Network

    @property
    def column(self) -> str:
        """Place and network in a word: `alone`, `alone+net`, `suite`, `suite+net`."""
        return f"{self.place}{'+net' * (self.network is Network.BRIDGE)}"


CONDITIONS = tuple(Conditions(*these) for these in product(ControlKind, Place, Network))
Cells = Mapping[Conditions, tuple[Outcome, ...]]


class Kind(StrEnum):
    """What a test is; the table of this module defines each kind."""

    P2P = "P2P"
    F2P = "F2P"
    LOST = "lost"
    NEVER = "never"
    MISSING = "missing"
    FLAKY = "flaky"
    ORDER = "order-dependent"
    NETWORK = "network-needing"
    ORDER_AND_NETWORK = "order-and-network"
    UNOBSERVED = "unobserved"


class Need(StrEnum):
    """What a test passes with and does not pass without, in one control or in both."""

    NEIGHBOURS = "neighbours"
    SOLITUDE = "solitude"
    NETWORK = "network"
    NO_NETWORK = "no-network"


ORDER = frozenset({Need.NEIGHBOURS, Need.SOLITUDE})


@dataclass(frozen=True, slots=True)
class Judged:
    """What the cells of one test say together.

    `kind`: what the test is.
    `needs`: what it needs to pass; empty for a flaky test.
    `mixed`: the mixed cells, which only a flaky test has.
    `untold`: questions (`order`, `network`) that some control leaves open, since its cells were not observed.
    """

    kind: Kind
    needs: tuple[Need, ...] = ()
    mixed: tuple[Conditions, ...] = ()
    untold: tuple[str, ...] = ()


def judge(cells: Cells, passing: frozenset[Outcome]) -> Judged:
    """Judge one test by its cells. A cell that is absent or empty was not observed."""
    mixed = tuple(where for where in CONDITIONS if len(_passes(cells, where, passing)) > 1)
    untold = tuple(name for name, pairs in (("order", _places), ("network", _networks)) if _open(cells, pairs))
    if mixed:
        return Judged(Kind.FLAKY, mixed=mixed, untold=untold)
    needs = tuple(need for need in Need if need in _needs(cells, passing))
    return Judged(_kind(cells, needs, passing), needs, untold=untold)


def _passes(cells: Cells, where: Conditions, passing: frozenset[Outcome]) -> frozenset[bool]:
    """Whether the runs of a cell pass: both values for a mixed cell, none for a cell without a run."""
    return frozenset(outcome in passing for outcome in cells.get(where, ()))


Pair = tuple[Conditions, Conditions]


def _places(control: ControlKind) -> list[Pair]:
    """Pairs of conditions that differ in the place alone: (alone, suite)."""
    return [(Conditions(control, Place.ALONE, net), Conditions(control, Place.SUITE, net)) for net in Network]


def _networks(control: ControlKind) -> list[Pair]:
    """Pairs of conditions that differ in the network alone: (none, bridge)."""
    return [(Conditions(control, at, Network.NONE), Conditions(control, at, Network.BRIDGE)) for at in Place]


def _open(cells: Cells, pairs: Callable[[ControlKind], list[Pair]]) -> bool:
    """Does some control have no pair of which both cells were observed?"""
    return any(
        not any(cells.get(left) and cells.get(right) for left, right in pairs(control)) for control in ControlKind
    )


def _needs(cells: Cells, passing: frozenset[Outcome]) -> frozenset[Need]:
    """The needs that some pair of cells shows. No cell may be mixed."""
    named = ((_places, Need.SOLITUDE, Need.NEIGHBOURS), (_networks, Need.NO_NETWORK, Need.NETWORK))
    needs = set()
    for pairs, first, second in named:
        for left, right in (pair for control in ControlKind for pair in pairs(control)):
            results = _passes(cells, left, passing), _passes(cells, right, passing)
            if all(results) and results[0] != results[1]:
                needs.add(first if True in results[0] else second)
    return frozenset(needs)


def _kind(cells: Cells, needs: tuple[Need, ...], passing: frozenset[Outcome]) -> Kind:
    """The kind of a test without mixed cells."""
    order, network = any(need in ORDER for need in needs), any(need not in ORDER for need in needs)
    if order or network:
        return Kind.ORDER_AND_NETWORK if order and network else Kind.ORDER if order else Kind.NETWORK
    results = {control: _over(cells, control, passing) for control in ControlKind}
    if any(len(values) != 1 for values in results.values()):
        return Kind.UNOBSERVED
    empty, oracle = True in results[ControlKind.EMPTY], True in results[ControlKind.ORACLE]
    if oracle:
        return Kind.P2P if empty else Kind.F2P
    if empty:
        return Kind.LOST
    missing = all(outcome is Outcome.MISSING for outcomes in cells.values() for outcome in outcomes)
    return Kind.MISSING if missing else Kind.NEVER


def _over(cells: Cells, control: ControlKind, passing: frozenset[Outcome]) -> frozenset[bool]:
    """Whether the runs of a control pass, over all of its cells."""
    return frozenset().union(*(_passes(cells, where, passing) for where in CONDITIONS if where.control is control))
