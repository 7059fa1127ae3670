"""Why a test does not hold still: what its outcomes under eight conditions say of it, for `repair probe`. Pure.

The conditions are both controls, each alone and in the suite, each without and with a network; a *cell* is one test's
outcomes under one of them, in as many runs as were observed. A cell passes where all of its runs did, does not where
none did, and is mixed otherwise; a cell without a run says nothing. The first line that holds is the kind:

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
    """In what company a test runs: by itself, or with all that its task lists."""

    ALONE = "alone"
    SUITE = "suite"


class Network(StrEnum):
    """A task's `network`."""

    NONE = "none"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a run is made under."""

    control: ControlKind
    place: Place
    network: Network

    @property
    def column(self) -> str:
        """Its place and network in a word: `alone`, `alone+net`, `suite`, `suite+net`."""
        return f"{self.place}{'+net' * (self.network is Network.BRIDGE)}"


CONDITIONS = tuple(Conditions(*these) for these in product(ControlKind, Place, Network))
Cells = Mapping[Conditions, tuple[Outcome, ...]]


class Kind(StrEnum):
    """What a test is; see the table above."""

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
    """What a test passes with and not without, in one control or in both."""

    NEIGHBOURS = "neighbours"
    SOLITUDE = "solitude"
    NETWORK = "network"
    NO_NETWORK = "no-network"


ORDER = frozenset({Need.NEIGHBOURS, Need.SOLITUDE})


@dataclass(frozen=True, slots=True)
class Judged:
    """What the cells of one test say: its kind; what it needs, where it is not flaky; the mixed cells.

    `untold` are questions that some control left open, since its cells were not observed: `order`, `network`.
    """

    kind: Kind
    needs: tuple[Need, ...] = ()
    mixed: tuple[Conditions, ...] = ()
    untold: tuple[str, ...] = ()


def judge(cells: Cells, passing: frozenset[Outcome]) -> Judged:
    """What the cells of one test say of it; a cell that is absent or empty was not observed."""
    mixed = tuple(where for where in CONDITIONS if len(_passes(cells, where, passing)) > 1)
    untold = tuple(name for name, pairs in (("order", _places), ("network", _networks)) if _open(cells, pairs))
    if mixed:
        return Judged(Kind.FLAKY, mixed=mixed, untold=untold)
    needs = tuple(need for need in Need if need in _needs(cells, passing))
    return Judged(_kind(cells, needs, passing), needs, untold=untold)


def _passes(cells: Cells, where: Conditions, passing: frozenset[Outcome]) -> frozenset[bool]:
    """Whether the runs of a cell passed: both where it is mixed, neither where there is none."""
    return frozenset(outcome in passing for outcome in cells.get(where, ()))


Pair = tuple[Conditions, Conditions]


def _places(control: ControlKind) -> list[Pair]:
    """Conditions that differ in the place alone: (alone, suite)."""
    return [(Conditions(control, Place.ALONE, net), Conditions(control, Place.SUITE, net)) for net in Network]


def _networks(control: ControlKind) -> list[Pair]:
    """Conditions that differ in the network alone: (none, bridge)."""
    return [(Conditions(control, at, Network.NONE), Conditions(control, at, Network.BRIDGE)) for at in Place]


def _open(cells: Cells, pairs: Callable[[ControlKind], list[Pair]]) -> bool:
    """Is there a control that has no pair to compare?"""
    return any(not any(cells.get(one) and cells.get(two) for one, two in pairs(control)) for control in ControlKind)


def _needs(cells: Cells, passing: frozenset[Outcome]) -> frozenset[Need]:
    """The needs that some pair of cells shows; none of them is mixed."""
    named = ((_places, Need.SOLITUDE, Need.NEIGHBOURS), (_networks, Need.NO_NETWORK, Need.NETWORK))
    needs = set()
    for pairs, first, second in named:
        for one, two in (pair for control in ControlKind for pair in pairs(control)):
            shown = _passes(cells, one, passing), _passes(cells, two, passing)
            if all(shown) and shown[0] != shown[1]:
                needs.add(first if True in shown[0] else second)
    return frozenset(needs)


def _kind(cells: Cells, needs: tuple[Need, ...], passing: frozenset[Outcome]) -> Kind:
    """The kind of a test without mixed cells."""
    order, network = any(need in ORDER for need in needs), any(need not in ORDER for need in needs)
    if order or network:
        return Kind.ORDER_AND_NETWORK if order and network else Kind.ORDER if order else Kind.NETWORK
    seen = {control: _over(cells, control, passing) for control in ControlKind}
    if any(len(shown) != 1 for shown in seen.values()):
        return Kind.UNOBSERVED
    empty, oracle = True in seen[ControlKind.EMPTY], True in seen[ControlKind.ORACLE]
    if oracle:
        return Kind.P2P if empty else Kind.F2P
    if empty:
        return Kind.LOST
    missing = all(outcome is Outcome.MISSING for outcomes in cells.values() for outcome in outcomes)
    return Kind.MISSING if missing else Kind.NEVER


def _over(cells: Cells, control: ControlKind, passing: frozenset[Outcome]) -> frozenset[bool]:
    """Whether the runs of a control passed, over all of its cells."""
    return frozenset().union(*(_passes(cells, where, passing) for where in CONDITIONS if where.control is control))
