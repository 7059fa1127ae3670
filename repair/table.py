"""Turns the runs of both controls into the outcome table that the rule judges, and refuses runs that contradict.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repair.errors import NoEvidence
from repair.model import ListName, Observed, Outcome, Row, Run, Table


def build(f2p: Iterable[str], p2p: Iterable[str], empty: Sequence[Run], oracle: Sequence[Run]) -> Table:
    """The table of the listed ids over all runs: sorted by id, each id once.

    Where a patch did not apply in some run, the table holds git's answers and its rows have no outcomes.
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
        for member in sorted({member for observed in (*before, *after) for member in observed.members})
    }
    return Row(
        test,
        lists,
        tuple(observed.outcome for observed in before),
        tuple(observed.outcome for observed in after),
        smallest(observed.cause for observed in before),
        smallest(observed.cause for observed in after),
        members,
    )


def _of(member: str, runs: Sequence[Observed]) -> tuple[Outcome, ...]:
    """The outcomes of a group's member, run by run."""
    return tuple(observed.members.get(member, Outcome.MISSING) for observed in runs)


def smallest(causes: Iterable[str]) -> str:
    """The cause that stands for several runs; empty where no run has a cause.

    It is the smallest text, so that the order of the runs does not matter.
    """
    return min((cause for cause in causes if cause), default="")


def refuse_contradictions(empty: Sequence[Run], oracle: Sequence[Run]) -> None:
    """Raise `NoEvidence` where runs contradict each other: over a patch, or over the spelling of ids."""
    for runs in (empty, oracle):
        if any(run.patch is None for run in runs):
            refuse_patch_errors(runs)
    refuse_two_answers(empty, oracle)
    refuse_two_spellings([*oracle, *empty])


def refuse_patch_errors(runs: Sequence[Run]) -> None:
    """Raise `NoEvidence` where a patch did not apply in one of these runs.

    The caller knows of a run in which it did apply. The same image cannot both take a patch and refuse it.
    """
    error = next((run.patch for run in runs if run.patch is not None), None)
    if error is not None:
        raise NoEvidence(f"a patch applied in one run and not in another: {error}", "find what changes the image")


def refuse_two_answers(empty: Sequence[Run], oracle: Sequence[Run]) -> None:
    """Raise `NoEvidence` where the controls disagree about a patch of both.

    The oracle control applies the patches of the empty control, then its own. Only its own may fail there alone.
    """
    empty_errors, oracle_errors = {run.patch for run in empty}, {run.patch for run in oracle}
    only_oracle = empty_errors == {None} and all(
        error is None or error.startswith("oracle.patch: ") for error in oracle_errors
    )
    if empty and oracle and not only_oracle and empty_errors != oracle_errors:
        refuse_patch_errors([*empty, *oracle])


def refuse_two_spellings(runs: Sequence[Run]) -> None:
    """Raise `NoEvidence` where the reports of two runs fit different templates: one id could mean two tests."""
    templates = sorted({run.template[0] for run in runs if run.template and _resolved(run)})
    if len(templates) > 1:
        raise NoEvidence(
            f"the runs' reports spell ids in different ways: {' and '.join(templates)}", "set id_template in task.json"
        )


def _resolved(run: Run) -> bool:
    """Does any id or test of the run have an outcome other than `MISSING`?"""
    return any(observed.outcome is not Outcome.MISSING for observed in (*run.observed.values(), *run.found.values()))


def spelt_by(runs: Sequence[Run]) -> tuple[str, ...]:
    """The template of the first run that resolved an id; empty where no run did, or where ids are node ids."""
    return next((run.template for run in runs if _resolved(run)), ())
