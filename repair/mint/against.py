"""The comparison of a task's lists with those that its image gives: wrong ids by cause, and lacking ones.

Pure. `repair mint --compare` shows it. A listed id is wrong where the minting runs give it another class than its list.
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
    """Listed ids that the image classes otherwise, alike in list, class, outcomes and cause.

    `list`: the list that names the ids.
    `derived`: the class that the image gives them.
    `empty`, `oracle`: their outcomes over all runs of that control, in words.
    `cause`: why they do not pass, without what is one file's own; empty where they belong in the other list.
    `ids`: sorted.
    """

    list: ListName
    derived: Derived
    empty: str
    oracle: str
    cause: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """How one task's lists differ from what its image gives. Where a patch does not apply, only `listed` is filled.

    `listed`, `hold`: numbers of (F2P, P2P) ids: those that are listed, and those that the image classes as listed.
    `wrong`: listed ids that the image classes otherwise, the largest group first.
    `lacking_f2p`, `lacking_p2p`: ids that the image gives and no list names.
    `outside`: listed ids whose files did not run.
    `patch_error`: why a patch does not apply; empty where all apply.
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
    """Compare a task's lists with its (empty, oracle) runs.

    `found` classes every test of these runs. `files` had to run; none means all files.
    """
    listed_table = build(f2p, p2p, *runs)
    listed = (len(set(f2p)), len(set(p2p)))
    if listed_table.patch_errors:
        return Discrepancies(listed, (0, 0), (), (), (), (), listed_table.patch_errors[0])
    all_runs = (*runs[0], *runs[1])
    ran = {*files, *(_file(test) for run in all_runs for test in run.found)}
    broken = {place for run in all_runs for place in run.broken}
    rows = [row for row in listed_table.rows if not files or _was_looked_for(row, ran, broken)]
    groups: dict[tuple[ListName, Derived, str, str, str], list[str]] = {}
    hold = dict.fromkeys(ListName, 0)
    for row in rows:
        derived = _class_of(row, found, policy)
        for name in sorted(row.lists):
            if LISTED.get(derived) is name:
                hold[name] += 1
            else:
                groups.setdefault((name, derived, *_why(row, derived, found)), []).append(row.id)
    order = sorted(groups, key=lambda key: (-len(groups[key]), key))
    named = {test for row in rows for test in (row.id, *row.members)}
    return Discrepancies(
        listed,
        (hold[ListName.F2P], hold[ListName.P2P]),
        tuple(Wrong(*key, tuple(sorted(groups[key]))) for key in order),
        tuple(test for test in found.f2p if not named.intersection(_names(found, test))),
        tuple(test for test in found.p2p if not named.intersection(_names(found, test))),
        tuple(sorted({row.id for row in listed_table.rows} - {row.id for row in rows})),
    )


def _names(found: Derivation, test: str) -> tuple[str, ...]:
    return (test, *found.rows[test].members)


def _was_looked_for(row: Row, ran: Collection[str], broken: Collection[str]) -> bool:
    """Did the file of a listed id run, or would it have run but for a broken place?"""
    has_outcome = bool(row.members) or {*row.empty, *row.oracle} != {Outcome.MISSING}
    return has_outcome or _file(row.id) in ran or nearest(row.id, broken) is not None


def _class_of(row: Row, found: Derivation, policy: Policy) -> Derived:
    """The class of a listed id: that of the one test that it names, else that of the group as a whole."""
    tests = [test for test in (row.id, *row.members) if test in found.classes]
    return found.classes[tests[0]] if len(tests) == 1 else classify(row, policy.passing)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _why(row: Row, derived: Derived, found: Derivation) -> tuple[str, str, str]:
    """(empty, oracle, cause) of a wrong id. An id that belongs in the other list has no cause: its outcomes say all.

    An id that a trial took off its list has the outcomes of that trial.
    """
    if derived not in LISTED:
        row = next((found.tried[test] for test in (row.id, *row.members) if test in found.tried), row)
    empty, oracle, cause, _ = shown(row, with_causes=derived not in LISTED)
    return empty, oracle, common(cause) if cause else ""
