"""Lists as they are against lists as the image gives them: what a builder got wrong, id by id and by cause.

Pure. A listed id is wrong where the runs that a task is minted from class it otherwise than its list says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from repair.mint.classes import LISTED, Derivation, Derived, classify, shown
from repair.model import ListName, Outcome, Policy, Row, Run
from repair.outcomes.lookup import nearest
from repair.records.causes import common
from repair.table import build


@dataclass(frozen=True, slots=True)
class Wrong:
    """Listed ids that the image classes otherwise, alike in list, class, outcomes and cause."""

    list: ListName
    derived: Derived
    empty: str
    oracle: str
    cause: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """One task's lists against its image: numbers of (F2P, P2P) that are listed and that hold, what is wrong, and what
    the lists lack. `outside` are listed ids whose files were not run; where a patch does not apply, nothing was.
    """

    listed: tuple[int, int]
    hold: tuple[int, int]
    wrong: tuple[Wrong, ...]
    lacking_f2p: tuple[str, ...]
    lacking_p2p: tuple[str, ...]
    outside: tuple[str, ...]
    patch_error: str = ""

    @property
    def agree(self) -> bool:
        return not (self.wrong or self.lacking_f2p or self.lacking_p2p or self.outside or self.patch_error)


def compare(
    f2p: Collection[str],
    p2p: Collection[str],
    found: Derivation,
    runs: tuple[Sequence[Run], Sequence[Run]],
    files: Collection[str],
    policy: Policy,
) -> Discrepancies:
    """Hold a task's lists against its (empty, oracle) runs; `files` are those that had to run, none means all."""
    seen = build(f2p, p2p, *runs)
    listed = (len(set(f2p)), len(set(p2p)))
    if seen.patch_errors:
        return Discrepancies(listed, (0, 0), (), (), (), (), seen.patch_errors[0])
    every = (*runs[0], *runs[1])
    ran = {*files, *(_file(test) for run in every for test in run.found)}
    broken = {place for run in every for place in run.broken}
    rows = [row for row in seen.rows if not files or _was_looked_for(row, ran, broken)]
    alike: dict[tuple[ListName, Derived, str, str, str], list[str]] = {}
    hold = dict.fromkeys(ListName, 0)
    for row in rows:
        derived = _class_of(row, found, policy)
        for name in sorted(row.lists):
            if LISTED.get(derived) is name:
                hold[name] += 1
            else:
                alike.setdefault((name, derived, *_why(row, derived, found)), []).append(row.id)
    order = sorted(alike, key=lambda key: (-len(alike[key]), key))
    named = {test for row in rows for test in (row.id, *row.members)}
    return Discrepancies(
        listed,
        (hold[ListName.F2P], hold[ListName.P2P]),
        tuple(Wrong(*key, tuple(sorted(alike[key]))) for key in order),
        tuple(test for test in found.f2p if not named.intersection(_names(found, test))),
        tuple(test for test in found.p2p if not named.intersection(_names(found, test))),
        tuple(sorted({row.id for row in seen.rows} - {row.id for row in rows})),
    )


def _names(found: Derivation, test: str) -> tuple[str, ...]:
    return (test, *found.rows[test].members)


def _was_looked_for(row: Row, ran: Collection[str], broken: Collection[str]) -> bool:
    """Did a listed id's file run, or would it have, but for what is broken?"""
    seen = bool(row.members) or {*row.empty, *row.oracle} != {Outcome.MISSING}
    return seen or _file(row.id) in ran or nearest(row.id, broken) is not None


def _class_of(row: Row, found: Derivation, policy: Policy) -> Derived:
    """The class of a listed id: its test's, where it names one, else that of the group."""
    names = [test for test in (row.id, *row.members) if test in found.classes]
    return found.classes[names[0]] if len(names) == 1 else classify(row, policy.passing)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _why(row: Row, derived: Derived, found: Derivation) -> tuple[str, str, str]:
    """(empty, oracle, cause): of what passes in every run the outcomes say it all; of what moved, its trial."""
    if derived not in LISTED:
        row = next((found.tried[test] for test in (row.id, *row.members) if test in found.tried), row)
    empty, oracle, cause, _ = shown(row, with_causes=derived not in LISTED)
    return empty, oracle, common(cause) if cause else ""
