"""Tasks as text: the list of each id, and its outcomes under both controls as letters.

An id is written `LIST ID EMPTY ORACLE`, and `;` stands between two ids. Each letter is the outcome of one run: `PF`
passed in the first run and failed in the second, `-` is in no report, and in a run with `!` the patch does not apply.
`both` stands in both lists. `10 P2P t P P` is ten ids. `F2P g = a F P, b F P` is a group with two members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from repair import rules, table
from repair.model import Decision, Finding, ListName, Observed, Outcome, Policy, Row, Run, Table, worst

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
UNAPPLIED = "oracle.patch: no"

Shown = tuple[str, str]  # letters under (empty, oracle)


def runs(letters: str) -> tuple[Outcome, ...]:
    return tuple(LETTERS[letter] for letter in letters)


def table_of(text: str, *, measured: bool = True) -> Table:
    """The table of a task; where it is `measured`, it has the F2P `measures`, which is as it should be."""
    ids = list(_ids(text))
    number = max((len(shown[0]) for _, _, members in ids for shown in members.values()), default=1)
    if measured:
        ids.append(("F2P", "measures", {"": ("F" * number, "P" * number)}))
    f2p, p2p = ([test for lists, test, _ in ids if lists in (name, "both")] for name in ListName)
    empty, oracle = ([_run(ids, which, at) for at in range(number)] for which in (0, 1))
    return table.build(f2p, p2p, empty, oracle)


def _ids(text: str) -> Iterator[tuple[str, str, dict[str, Shown]]]:
    """Each id as its lists, itself and its members; the one member of an id that is not a group has no name."""
    for part in filter(None, map(str.strip, text.split(";"))):
        head, _, group = part.partition(" = ")
        words = head.split()
        number = int(words.pop(0)) if words[0].isdigit() else 0
        lists, test, *letters = words
        below = [member.split() for member in group.split(",")] if group else [["", *letters]]
        members = {member: (empty, oracle) for member, empty, oracle in below}
        yield from ((lists, name, members) for name in ([f"{test}{n}" for n in range(number)] if number else [test]))


def _run(ids: Iterable[tuple[str, str, Mapping[str, Shown]]], which: int, at: int) -> Run:
    observed = {}
    for _, test, members in ids:
        letters = {member: shown[which][at] for member, shown in members.items()}
        if "!" in letters.values():
            return Run("sha256:image", None, {}, patch=UNAPPLIED)
        outcomes = {member: LETTERS[letter] for member, letter in letters.items() if letter != "-"}
        if outcomes:
            observed[test] = Observed(worst(tuple(outcomes.values())), "", {} if "" in outcomes else outcomes)
    return Run("sha256:image", 0, observed)


def row(
    test: str,
    lists: ListName | Iterable[ListName],
    empty: str,
    oracle: str,
    causes: tuple[str, str] = ("", ""),
) -> Row:
    """A row of the table; `causes` are (empty, oracle)."""
    of = frozenset([lists] if isinstance(lists, ListName) else lists)
    return Row(test, of, runs(empty), runs(oracle), *causes)


def decide(*rows: Row, policy: Policy = NO_FLOOR) -> Decision:
    return rules.decide(Table(rows), policy)


def measuring(number: int) -> Row:
    """An F2P as it should be, over so many runs."""
    return row("measures", F2P, "F" * number, "P" * number)


def told(findings: Iterable[Finding]) -> list[str]:
    """Each finding as its rule, list, ids and cause."""
    return [
        " ".join(filter(None, [finding.rule, finding.list, *finding.ids, finding.cause and f"({finding.cause})"]))
        for finding in findings
    ]
