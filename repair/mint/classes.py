"""Lists from runs: how `repair mint` classes each test that the controls saw, and when a task gets no lists.

Pure. The outcomes of both controls alone decide the classes; the README has their table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from repair import rules, table
from repair.model import Finding, ListName, Observed, Outcome, Policy, Row, Rule, Run
from repair.outcomes import lookup
from repair.outcomes.spelling import can_be_listed


class Derived(StrEnum):
    """What a test is in a task's image, over all runs of both controls."""

    F2P = "F2P"  # passes in every oracle run and in no empty run
    P2P = "P2P"  # passes in every run of both controls
    FLAKY = "flaky"  # passes in some runs of a control and not in others
    UNSTABLE = "unstable"  # was F2P or P2P, and had another class in a trial of the lists
    LOST = "lost"  # passes in some run without the reference and in none with it: its task is refused
    NEVER = "never"  # passes in no run
    CHANGING = "changing"  # some runs of one control collect it, and others do not
    UNLISTABLE = "unlistable"  # would be F2P or P2P, but no list can hold its id


EVERYWHERE = "."  # the broken place of a run that collected no test at all
LISTED = {Derived.F2P: ListName.F2P, Derived.P2P: ListName.P2P}


def _none() -> Mapping[str, Row]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Group:
    """Tests of one class that share their outcomes and causes.

    `derived`: the class.
    `empty`, `oracle`: the outcomes over all runs of that control, in words.
    `cause`: why the tests do not pass, under the oracle where that says why; empty for F2P and P2P.
    `cause_empty`: why they do not pass under empty, where that is another cause; else empty.
    `ids`: sorted.
    """

    derived: Derived
    empty: str
    oracle: str
    cause: str
    cause_empty: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """Every test that some run found, with its class.

    `rows`: the outcomes of each test, by id.
    `classes`: the class of each test, by id.
    `reasons`: why the task gets no lists; empty where it gets them.
    `broken`: outcomes of files and folders that lacked tests in some run; `passed` in a run where none was lacking.
    `tried`: the outcomes of each test in the last trial of the lists that it was in.
    """

    rows: Mapping[str, Row]
    classes: Mapping[str, Derived]
    reasons: tuple[Finding, ...] = ()
    broken: Mapping[str, Row] = field(default_factory=_none)
    tried: Mapping[str, Row] = field(default_factory=_none)

    def ids(self, derived: Derived) -> tuple[str, ...]:
        """The ids of one class, sorted."""
        return tuple(sorted(test for test, found in self.classes.items() if found is derived))

    @property
    def f2p(self) -> tuple[str, ...]:
        return self.ids(Derived.F2P)

    @property
    def p2p(self) -> tuple[str, ...]:
        return self.ids(Derived.P2P)


def classify(row: Row, passing: frozenset[Outcome]) -> Derived:
    """The class of one test. Raises `ValueError` where a control has no run of it.

    A group is lost where one of its members is lost: the group's worst outcome would hide that member.
    """
    if not row.empty or not row.oracle:
        raise ValueError(f"{row.id} has no outcome for a control")
    empty = [outcome in passing for outcome in row.empty]
    oracle = [outcome in passing for outcome in row.oracle]
    members = (Row(test, row.lists, before, after) for test, (before, after) in row.members.items())
    if (any(empty) and not any(oracle)) or any(classify(member, passing) is Derived.LOST for member in members):
        return Derived.LOST
    if all(oracle) and len(set(empty)) == 1:
        return Derived.P2P if empty[0] else Derived.F2P
    return Derived.FLAKY if any(empty) or any(oracle) else Derived.NEVER


def derive(empty: Sequence[Run], oracle: Sequence[Run], policy: Policy) -> Derivation:
    """Class every test that some run of either control found, and decide whether the lists make a task."""
    errors = sorted({run.patch for run in (*empty, *oracle) if run.patch is not None})
    if errors:
        return Derivation({}, {}, tuple(Finding(Rule.PATCH, cause=error) for error in errors))
    tests = {test for run in (*empty, *oracle) for test in run.found}
    places = {place for run in (*empty, *oracle) for place in run.broken}
    outcomes = table.build((), tests, _each(empty, tests, _in_run), _each(oracle, tests, _in_run))
    broken = table.build((), places, _each(empty, places, _as_place), _each(oracle, places, _as_place))
    changing = _changing(empty) | _changing(oracle)
    always_in_empty = {test for test in tests if all(test in run.found for run in empty)}
    classes = {row.id: _listable(row, policy.passing) for row in outcomes.rows}
    changed = {test for test in changing if classes[test] is not Derived.LOST or test not in always_in_empty}
    derivation = Derivation(
        {row.id: row for row in outcomes.rows},
        {**classes, **dict.fromkeys(changed, Derived.CHANGING)},
        broken={row.id: row for row in broken.rows},
    )
    return _judged(derivation, policy)


def _listable(row: Row, passing: frozenset[Outcome]) -> Derived:
    derived = classify(row, passing)
    return Derived.UNLISTABLE if derived in LISTED and not can_be_listed(row.id) else derived


def _changing(runs: Sequence[Run]) -> set[str]:
    """Ids that some runs of a control collected and others did not, where no broken place explains it."""
    collected = {test for run in runs for test in run.found}
    return {
        test
        for run in runs
        for test in collected - run.found.keys()
        if EVERYWHERE not in run.broken and lookup.nearest(test, run.broken) is None
    }


def try_out(found: Derivation, empty: Sequence[Run], oracle: Sequence[Run], policy: Policy) -> Derivation:
    """The derivation after its lists ran by themselves: an id whose class changed leaves its list.

    An id that the trial shows as lost refuses the task, as it does in runs of whole files.
    Where every id held, only `tried` changes.
    """
    trial = table.build(found.f2p, found.p2p, empty, oracle)
    trial_classes = {row.id: classify(row, policy.passing) for row in trial.rows}
    moved = {test: derived for test, derived in trial_classes.items() if derived is not found.classes[test]}
    corrections = {test: derived if derived is Derived.LOST else Derived.UNSTABLE for test, derived in moved.items()}
    classes = {**found.classes, **corrections}
    tried = {**found.tried, **{row.id: row for row in trial.rows}}
    return _judged(replace(found, classes=classes, tried=tried), policy)


def give_up(found: Derivation, trials: int) -> Derivation:
    """The derivation of a task whose lists held in none of `trials` trials: it gets no lists."""
    reason = Finding(
        Rule.NOT_CONFIRMED, cause=f"the lists came out otherwise in each of {trials} trials: see `repair probe`"
    )
    return replace(found, reasons=(reason,))


def _judged(found: Derivation, policy: Policy) -> Derivation:
    lost = [
        Finding(Rule.LOST, None, group.empty, group.oracle, group.cause, group.cause_empty, group.ids)
        for group in groups(found)
        if group.derived is Derived.LOST
    ]
    f2p, p2p = ([found.rows[test] for test in ids] for ids in (found.f2p, found.p2p))
    return replace(found, reasons=(*lost, *rules.whole_task(f2p, p2p, policy)))


def groups(found: Derivation) -> tuple[Group, ...]:
    """All tests by what they share: classes in the order of `Derived`, the largest group of a class first."""
    alike: dict[tuple[Derived, str, str, str, str], list[str]] = {}
    for test, derived in found.classes.items():
        moved = derived not in LISTED and test in found.tried  # show the trial that took it off its list
        row = found.tried[test] if moved else found.rows[test]
        alike.setdefault((derived, *shown(row, with_causes=derived not in LISTED)), []).append(test)
    order = sorted(alike, key=lambda key: (list(Derived).index(key[0]), -len(alike[key]), key))
    return tuple(Group(*key, tuple(sorted(alike[key]))) for key in order)


def shown(row: Row, *, with_causes: bool) -> tuple[str, str, str, str]:
    """(empty, oracle, cause, cause_empty) of a row, as in `Group`; both causes are empty without `with_causes`."""
    cause = row.cause_oracle or row.cause_empty if with_causes else ""
    other = row.cause_empty if with_causes and row.cause_oracle and row.cause_empty != row.cause_oracle else ""
    return rules.spell(row.empty), rules.spell(row.oracle), cause, other


def _each(runs: Sequence[Run], ids: Iterable[str], what: Callable[[Run, str], Observed]) -> list[Run]:
    return [replace(run, observed={test: what(run, test) for test in ids}) for run in runs]


def _in_run(run: Run, test: str) -> Observed:
    """What a run says of a test. Where this run did not find the test, the nearest broken place says why."""
    if test in run.found:
        return run.found[test]
    place = lookup.nearest(test, run.broken)
    return run.broken.get(place or EVERYWHERE, Observed(Outcome.MISSING, "not collected"))


def _as_place(run: Run, place: str) -> Observed:
    return run.broken.get(place, Observed(Outcome.PASSED))
