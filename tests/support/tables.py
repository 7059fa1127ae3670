"""The table that the rule judges, written as letters.

Each letter is the outcome of one run: `PF` passed in the first run and failed in the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from repair import rules
from repair.model import Decision, ListName, Outcome, Policy, Row, Rule, Table

LETTERS = {
    "P": Outcome.PASSED,
    "X": Outcome.XPASSED,
    "x": Outcome.XFAILED,
    "s": Outcome.SKIPPED,
    "m": Outcome.MISSING,
    "E": Outcome.ERROR,
    "F": Outcome.FAILED,
}
NO_FLOOR = Policy(min_p2p=0)
F2P, P2P = ListName.F2P, ListName.P2P


def runs(letters: str) -> tuple[Outcome, ...]:
    return tuple(LETTERS[letter] for letter in letters)


def row(
    test: str,
    lists: ListName | Iterable[ListName],
    empty: str,
    oracle: str,
    causes: tuple[str, str] = ("", ""),
    members: Mapping[str, tuple[str, str]] | None = None,
) -> Row:
    """A row of the table; `causes` and `members` are (empty, oracle)."""
    below = {member: (runs(before), runs(after)) for member, (before, after) in (members or {}).items()}
    of = frozenset([lists] if isinstance(lists, ListName) else lists)
    return Row(test, of, runs(empty), runs(oracle), *causes, members=below)


def decide(*rows: Row, policy: Policy = NO_FLOOR) -> Decision:
    return rules.decide(Table(rows), policy)


def measuring(number: int) -> Row:
    """An F2P as it should be, over so many runs."""
    return row("measures", F2P, "F" * number, "P" * number)


def reasons(decision: Decision) -> list[tuple[Rule, ListName | None, tuple[str, ...]]]:
    return [(finding.rule, finding.list, finding.ids) for finding in decision.reasons]
