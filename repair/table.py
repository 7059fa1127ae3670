"""Runs of both controls to the outcome table that the rule judges. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repair.model import ListName, Observed, Outcome, Row, Run, Table


def build(f2p: Iterable[str], p2p: Iterable[str], empty: Sequence[Run], oracle: Sequence[Run]) -> Table:
    """The table of the listed ids over all runs, sorted by id, each id once.

    Where a patch did not apply in some run, the table holds what git said and no outcome.
    """
    lists = {ListName.F2P: frozenset(f2p), ListName.P2P: frozenset(p2p)}
    ids = sorted(lists[ListName.F2P] | lists[ListName.P2P])
    errors = tuple(run.patch for run in (*empty, *oracle) if run.patch is not None)
    if errors:
        empty, oracle = (), ()
    rows = [_row(test, frozenset(name for name in ListName if test in lists[name]), empty, oracle) for test in ids]
    return Table(tuple(rows), errors)


_UNLISTED = Observed(Outcome.MISSING, "not looked for")


def _row(test: str, lists: frozenset[ListName], empty: Sequence[Run], oracle: Sequence[Run]) -> Row:
    before = [run.observed.get(test, _UNLISTED) for run in empty]
    after = [run.observed.get(test, _UNLISTED) for run in oracle]
    members = {
        member: (_of(member, before), _of(member, after))
        for member in sorted({member for seen in (*before, *after) for member in seen.members})
    }
    return Row(
        test,
        lists,
        tuple(seen.outcome for seen in before),
        tuple(seen.outcome for seen in after),
        smallest(seen.cause for seen in before),
        smallest(seen.cause for seen in after),
        members,
    )


def _of(member: str, runs: Sequence[Observed]) -> tuple[Outcome, ...]:
    return tuple(seen.members.get(member, Outcome.MISSING) for seen in runs)


def smallest(causes: Iterable[str]) -> str:
    """The cause that counts over several runs: the smallest text, so that their order does not matter."""
    return min((cause for cause in causes if cause), default="")
