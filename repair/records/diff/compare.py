"""What changed between two states of a panel, task by task: values in, a frozen `Diff` out.

What a record is worth and what a gate counts is decided elsewhere and comes in as words and numbers. Two tasks are
compared at a time, so that a large panel's tables are never held together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from repair import rules
from repair.model import ControlKind, Decision, Finding, ListName, Outcome, Policy, Row, Rule

UNREADABLE = "unreadable"  # the word for a task or a panel whose files do not load
STALE = "stale"  # the word for a record that was made from something else
RECORD_FILES = frozenset({"repair.json", "outcomes.json"})
OWN = "own verifier"
OBSERVED = frozenset({"image id", "image digest", OWN})  # keys that a record says, and no task.json
LINK = "link at "  # begins a key whose value is a link's target; a record is made from what is read there
NO_INPUTS = RECORD_FILES | {"instruction.md"}  # files that no record is made from
SOURCE = frozenset({"source.json", "source/"})  # a record is made from them where the own verifier was asked
Texts = Mapping[str, str]
NOTHING: Texts = MappingProxyType({})


class Kind(StrEnum):
    ADDED = "added"
    GONE = "gone"
    CHANGED = "changed"


class What(StrEnum):
    """What became of a task's ids: in task.json's lists, or by the decision."""

    LISTED = "listed"
    UNLISTED = "unlisted"
    MOVED = "moved"
    DROPPED = "dropped"
    BACK = "back"  # dropped before, kept now
    OTHER_CAUSE = "other-cause"  # dropped before and now, for another rule or cause
    REASON = "reason"  # the task is refused for them, and was not before
    NO_REASON = "no-reason"


@dataclass(frozen=True, slots=True)
class Status:
    """A task's verdict, or what is wrong with its record, as one word; `why` says why it is not admitted.

    `edited`: the record is not what was written, or cannot be read. Counts are (listed, kept), None where nothing was
    decided; `note` is the first cause or reason.
    """

    word: str
    admitted: bool = False
    why: str = ""
    edited: bool = False
    f2p: tuple[int, int] | None = None
    p2p: tuple[int, int] | None = None
    dropped: int = 0
    note: str = ""

    @property
    def unsound(self) -> bool:
        """There is a record, and it does not hold."""
        return self.edited or self.word == STALE


@dataclass(frozen=True, slots=True)
class State:
    """One task on one side: its keys as JSON texts, its lists, digests of its files by name, and its evidence."""

    name: str
    status: Status
    keys: Texts = field(default_factory=lambda: NOTHING)
    f2p: tuple[str, ...] = ()
    p2p: tuple[str, ...] = ()
    files: Texts = field(default_factory=lambda: NOTHING)
    decision: Decision | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Unseen:
    """What of a panel was not read at a revision: a link out of it with its target, or a submodule with its commit."""

    path: str
    target: str
    submodule: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """A panel on one side. `problem`: its panel.toml does not load; `absent`: there is no panel.

    `sum` is the gate's own, such as `34 clean + 6 repaired = 40 ≥ 40`; it says nothing where some of the tasks are
    `unreadable` or `unseen`. `link` is the target of a panel.toml that is one.
    """

    label: str
    name: str = ""
    policy: Policy | None = None
    defaults: Texts = field(default_factory=lambda: NOTHING)
    min_tasks: int = 0
    clean: int = 0
    repaired: int = 0
    sum: str = ""
    problem: str = ""
    absent: bool = False
    unreadable: int = 0
    unseen: tuple[Unseen, ...] = ()
    link: str = ""

    @property
    def admitted(self) -> int:
        return self.clean + self.repaired

    @property
    def judged(self) -> bool:
        """Whether all was read that the gate is judged by."""
        return self.policy is not None and not self.unreadable and not self.unseen

    @property
    def passed(self) -> bool:
        return self.judged and self.admitted >= self.min_tasks


@dataclass(frozen=True, slots=True)
class Changed:
    """A key with its value before and after, as JSON text; empty where it is not set. `looser` admits more tasks."""

    key: str
    before: str
    after: str
    looser: bool = False


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of one task that the same happened to. `list` is F2P, P2P or, for moved ones, `F2P → P2P`."""

    what: What
    list: str
    ids: tuple[str, ...]
    rule: Rule | None = None
    cause: str = ""
    empty: str = ""
    oracle: str = ""


@dataclass(frozen=True, slots=True)
class Rates:
    """Ids whose outcomes differ from run to run on a side, and otherwise than before; empty where not observed."""

    control: ControlKind
    before: str
    after: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What changed of one task. `under_record`: what its record was made from changed, and repair.json stayed.

    `replaced`: the reverse of it, which a run anew does, and a forgery. `files` are (name, added | gone | changed).
    """

    name: str
    kind: Kind
    before: Status | None
    after: Status | None
    ids: tuple[Ids, ...] = ()
    keys: tuple[Changed, ...] = ()
    files: tuple[tuple[str, Kind], ...] = ()
    rates: tuple[Rates, ...] = ()
    under_record: bool = False
    replaced: bool = False

    @property
    def lists_changed(self) -> bool:
        return any(group.what in (What.LISTED, What.UNLISTED, What.MOVED) for group in self.ids)

    @property
    def breaks_record(self) -> bool:
        """Whether a record is there that does not hold, and did before, or was not there, or got further from it.

        That repair.json is another one excuses nothing: whoever edits a list can edit that as well.
        """
        if self.after is None or not self.after.unsound:
            return False
        new = self.before is None or not self.before.unsound
        return new or self.under_record or any(file in RECORD_FILES for file, _ in self.files)


@dataclass(frozen=True, slots=True)
class Diff:
    """Two sides and all that differs; `settings` are of panel.toml, `same` counts the tasks without a difference.

    `not_compared` counts those of both sides that could not be, as a panel.toml does not load.
    `whole`: whole panels were compared, so that the gate says something.
    """

    before: Side
    after: Side
    settings: tuple[Changed, ...]
    changes: tuple[Change, ...]
    same: int = 0
    whole: bool = True
    not_compared: int = 0

    @property
    def differs(self) -> bool:
        """Whether anything differs, or might: what was not read counts."""
        sides = (self.before.problem, self.before.absent) != (self.after.problem, self.after.absent)
        return sides or bool(self.settings or self.changes or self.unseen)

    @property
    def unseen(self) -> tuple[tuple[Unseen, bool, bool], ...]:
        """What was not read, each with whether that is so before, and after. A submodule that stayed is the same."""
        old, new = self.before.unseen, self.after.unseen
        found = {one: (one in old, one in new) for one in (*old, *new)}
        return tuple((one, *sides) for one, sides in found.items() if not (one.submodule and all(sides)))


# ---- panel.toml


def settings(before: Side, after: Side) -> tuple[Changed, ...]:
    """What changed in panel.toml: the policy first, then gate, defaults, name. Nothing where a side has none."""
    if before.policy is None or after.policy is None:
        return ()
    old, new = before.policy, after.policy
    numbers = [
        ("policy.min_p2p", old.min_p2p, new.min_p2p),
        ("policy.repeats", old.repeats, new.repeats),
        ("gate.min_tasks", before.min_tasks, after.min_tasks),
    ]
    changed = [Changed(key, str(was), str(now), looser=now < was) for key, was, now in numbers if was != now]
    if old.passing != new.passing:
        looser = not new.passing <= old.passing
        changed.append(Changed("policy.passing", _names(old.passing), _names(new.passing), looser))
    if old.recheck != new.recheck:
        changed.append(Changed("policy.recheck", str(old.recheck), str(new.recheck), new.recheck > old.recheck))
    changed.sort(key=lambda one: (one.key.startswith("gate."), not one.looser, one.key))
    changed += [Changed(f"defaults.{one.key}", one.before, one.after) for one in _keys(before.defaults, after.defaults)]
    others = [("name", before.name, after.name), (f"{LINK}panel.toml", before.link, after.link)]
    return (*changed, *(Changed(*one) for one in others if one[1] != one[2]))


def _names(passing: Iterable[Outcome]) -> str:
    return ", ".join(sorted(passing))


def _keys(before: Texts, after: Texts) -> tuple[Changed, ...]:
    return tuple(
        Changed(key, before.get(key, ""), after.get(key, ""))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    )


# ---- one task


def made_from(key: str) -> bool:
    """Is a key of a task one of those that its record is made from?"""
    return key not in OBSERVED and not key.startswith(LINK)


def task(before: State | None, after: State | None, defaults: Iterable[Changed] = ()) -> Change | None:
    """What changed of one task; None for nothing. What panel.toml's changed `defaults` explain is not said again."""
    if before is None or after is None:
        if after is not None:
            return Change(after.name, Kind.ADDED, None, after.status)
        return None if before is None else Change(before.name, Kind.GONE, before.status, None)
    name = before.name if before.name == after.name else f"{before.name} → {after.name}"
    if UNREADABLE in (before.status.word, after.status.word):
        differs = before.status != after.status or before.files != after.files
        return Change(name, Kind.CHANGED, before.status, after.status) if differs else None
    explained = {(one.key.removeprefix("defaults."), one.before, one.after) for one in defaults}
    all_keys = _keys(before.keys, after.keys)
    keys = tuple(one for one in all_keys if (one.key, one.before, one.after) not in explained)
    files = tuple(_files(before.files, after.files))
    listed = tuple(_listed(before, after))
    no_inputs = NO_INPUTS if OWN in after.keys else NO_INPUTS | SOURCE
    inputs = listed or any(made_from(one.key) for one in all_keys) or any(file not in no_inputs for file, _ in files)
    had, has = before.files.get("repair.json"), after.files.get("repair.json")
    change = Change(
        name,
        Kind.CHANGED,
        before.status,
        after.status,
        (*listed, *_decided(before, after)),
        keys,
        files,
        tuple(_rates(before.rows, after.rows)),
        under_record=bool(inputs) and has is not None and has == had,
        replaced=not inputs and None not in (had, has) and has != had,
    )
    unchanged = before.status == after.status and not (change.ids or keys or files or change.rates)
    return None if unchanged else change


def _files(before: Texts, after: Texts) -> Iterable[tuple[str, Kind]]:
    for file in sorted(before.keys() | after.keys()):
        if file not in before:
            yield file, Kind.ADDED
        elif file not in after:
            yield file, Kind.GONE
        elif before[file] != after[file]:
            yield file, Kind.CHANGED


def _listed(before: State, after: State) -> Iterable[Ids]:
    """Ids that task.json lists otherwise."""
    new = {ListName.F2P: {*after.f2p} - {*before.f2p}, ListName.P2P: {*after.p2p} - {*before.p2p}}
    gone = {ListName.F2P: {*before.f2p} - {*after.f2p}, ListName.P2P: {*before.p2p} - {*after.p2p}}
    for start, end in ((ListName.F2P, ListName.P2P), (ListName.P2P, ListName.F2P)):
        moved = gone[start] & new[end]
        gone[start] -= moved
        new[end] -= moved
        if moved:
            yield Ids(What.MOVED, f"{start} → {end}", tuple(sorted(moved)))
    for what, lists in ((What.UNLISTED, gone), (What.LISTED, new)):
        for name, ids in lists.items():
            if ids:
                yield Ids(what, name, tuple(sorted(ids)))


Found = Mapping[tuple[str, str], Finding]


def _decided(before: State, after: State) -> Iterable[Ids]:
    """Ids that the decision treats otherwise. A record that is gone brings nothing back: nothing is decided then."""
    if after.decision is None:
        return
    was, now = _dropped(before.decision), _dropped(after.decision)
    yield from _groups(What.DROPPED, {key: found for key, found in now.items() if key not in was})
    listed = {(ListName.F2P, test) for test in after.f2p} | {(ListName.P2P, test) for test in after.p2p}
    yield from _groups(What.BACK, {key: found for key, found in was.items() if key not in now and key in listed})
    other = {key: found for key, found in now.items() if key in was and _why(found) != _why(was[key])}
    yield from _groups(What.OTHER_CAUSE, other)
    had, has = _reasons(before.decision), _reasons(after.decision)
    yield from _groups(What.REASON, {key: found for key, found in has.items() if key not in had})
    yield from _groups(What.NO_REASON, {key: found for key, found in had.items() if key not in has})


def _why(finding: Finding) -> tuple[Rule, str, str]:
    return finding.rule, finding.cause, finding.cause_empty


def _dropped(decision: Decision | None) -> Found:
    findings = decision.dropped if decision else ()
    return {(finding.list or "", test): finding for finding in findings for test in finding.ids}


def _reasons(decision: Decision | None) -> Found:
    findings = decision.reasons if decision else ()
    return {(f"{finding.rule} {finding.list or ''}", test): finding for finding in findings for test in finding.ids}


def _groups(what: What, found: Found) -> Iterable[Ids]:
    """Ids that share all but themselves, largest groups first."""
    groups: dict[Ids, list[str]] = {}
    for (_, test), finding in found.items():
        cause = finding.cause or finding.cause_empty
        key = Ids(what, finding.list or "", (), finding.rule, cause, finding.empty, finding.oracle)
        groups.setdefault(key, []).append(test)
    for key in sorted(groups, key=lambda key: (-len(groups[key]), key.list, key.rule or "", key.cause, key.oracle)):
        ids = tuple(sorted(groups[key]))
        yield Ids(what, key.list, ids, key.rule, key.cause, key.empty, key.oracle)


def _rates(before: Sequence[Row], after: Sequence[Row]) -> Iterable[Rates]:
    """Ids that pass and fail by turns on a side, where that changed."""
    old, new = {row.id: row for row in before}, {row.id: row for row in after}
    for control in ControlKind:
        groups: dict[tuple[str, str], list[str]] = {}
        for test in sorted(old.keys() | new.keys()):
            was, now = _runs(old.get(test), control), _runs(new.get(test), control)
            if len(set(was)) < 2 and len(set(now)) < 2:
                continue
            spelt = rules.spell(was) if was else "", rules.spell(now) if now else ""
            if spelt[0] != spelt[1]:
                groups.setdefault(spelt, []).append(test)
        for (was_spelt, now_spelt), ids in groups.items():
            yield Rates(control, was_spelt, now_spelt, tuple(ids))


def _runs(row: Row | None, control: ControlKind) -> tuple[Outcome, ...]:
    if row is None:
        return ()
    return row.empty if control is ControlKind.EMPTY else row.oracle
