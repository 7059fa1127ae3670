"""Runs of both controls to the outcome table that the rule judges. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repair.errors import NoEvidence
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


def refuse_contradictions(empty: Sequence[Run], oracle: Sequence[Run]) -> None:
    """Raise `NoEvidence` where runs of both controls contradict each other: over a patch, or over how ids are spelt."""
    for runs in (empty, oracle):
        if any(run.patch is None for run in runs):
            refuse_patch_errors(runs)
    refuse_two_answers(empty, oracle)
    refuse_two_spellings([*oracle, *empty])


def refuse_patch_errors(runs: Sequence[Run]) -> None:
    """Raise where a patch does not apply that did in another run: the same image cannot take it and not take it."""
    error = next((run.patch for run in runs if run.patch is not None), None)
    if error is not None:
        raise NoEvidence(f"a patch applied in one run and not in another: {error}", "find what changes the image")


def refuse_two_answers(empty: Sequence[Run], oracle: Sequence[Run]) -> None:
    """Raise where the controls disagree about a patch of both: the oracle control applies empty's, then its own."""
    first, both = {run.patch for run in empty}, {run.patch for run in oracle}
    own = first == {None} and all(error is None or error.startswith("oracle.patch: ") for error in both)
    if empty and oracle and not own and first != both:
        refuse_patch_errors([*empty, *oracle])


def refuse_two_spellings(runs: Sequence[Run]) -> None:
    """Raise where the reports of two runs fit different templates: then one id could mean two tests."""
    found = sorted({run.template[0] for run in runs if run.template and _resolved(run)})
    if len(found) > 1:
        raise NoEvidence(
            f"the runs' reports spell ids in different ways: {' and '.join(found)}", "set id_template in task.json"
        )


def _resolved(run: Run) -> bool:
    return any(seen.outcome is not Outcome.MISSING for seen in (*run.observed.values(), *run.found.values()))


def spelt_by(runs: Sequence[Run]) -> tuple[str, ...]:
    """The template by which runs spelt the ids that they resolved; empty where they are node ids."""
    return next((run.template for run in runs if _resolved(run)), ())
