"""A `Diff` in words, policy first: sections of lines, which terminals and pull requests lay out each in their way.

What comes out of a task, a file name or a revision is marked as `Theirs`, so that whoever lays it out cannot take it
for ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from repair.cause import printable
from repair.comparison import (
    NO_INPUTS,
    OBSERVED,
    RECORD_FILES,
    UNREADABLE,
    Change,
    Changed,
    Diff,
    Ids,
    Kind,
    Rates,
    Side,
    Status,
    What,
)
from repair.report.terminal import cut
from repair.report.words import of

SCHEMA = 1  # of the JSON document; 1: the first
SHOWN = 20  # ids of one group; the JSON document has all


@dataclass(frozen=True, slots=True)
class Theirs:
    """A text that somebody else wrote."""

    text: str


Line = tuple[str | Theirs, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line and what stands below it; of what is below, `limit` lines are shown at most."""

    line: Line
    below: tuple[Entry, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Entries under a title; what is `loud` comes first and must not be overlooked."""

    title: str
    entries: tuple[Entry, ...]
    loud: bool = False


def title(diff: Diff) -> Line:
    return Theirs(diff.before.label), " → ", Theirs(diff.after.label)


def sections(diff: Diff) -> tuple[Section, ...]:
    """All that a diff has to say, most important first; empty where nothing differs."""
    if not diff.differs:
        return ()
    changed = [change for change in diff.changes if change.kind is Kind.CHANGED]
    found = (
        Section("the panel", tuple(_sides(diff)), loud=True),
        Section("the policy changed", tuple(map(_setting, _rules(diff))), loud=True),
        Section("records that do not hold", tuple(_records(changed)), loud=True),
        Section("gate", tuple(_gate(diff))),
        Section("verdicts", tuple(_verdicts(changed))),
        Section("tasks added", tuple(_there(diff.changes, Kind.ADDED))),
        Section("tasks gone", tuple(_there(diff.changes, Kind.GONE))),
        Section("panel.toml, other settings", tuple(_setting(one) for one in diff.settings if not _is_rule(one))),
        Section("changes by task", tuple(_task(change) for change in changed if _has_parts(change))),
    )
    return tuple(section for section in found if section.entries)


def number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


# ---- the panel


def _sides(diff: Diff) -> Iterable[Entry]:
    for side, other in ((diff.before, diff.after), (diff.after, diff.before)):
        if side.problem:
            yield Entry((Theirs(side.label), ": panel.toml cannot be read: ", Theirs(side.problem)))
        elif side.absent and not other.absent:
            yield Entry((Theirs(side.label), ": there is no panel"))


def _is_rule(one: Changed) -> bool:
    return one.key.startswith(("policy.", "gate."))


def _rules(diff: Diff) -> Sequence[Changed]:
    return [one for one in diff.settings if _is_rule(one)]


def _setting(one: Changed) -> Entry:
    looser = (" (looser: it admits more)",) if one.looser else ()
    return Entry((*_change(one), *looser))


def _change(one: Changed) -> Line:
    before = Theirs(one.before) if one.before else "not set"
    after = Theirs(one.after) if one.after else "not set"
    return Theirs(one.key), ": ", before, " → ", after


def _gate(diff: Diff) -> Iterable[Entry]:
    before, after = diff.before, diff.after
    yield Entry((f"admitted {before.admitted} → {after.admitted}", *([] if not diff.whole else [_met(before, after)])))
    if diff.whole:
        yield Entry((f"gate before: {before.sum or 'none'}",))
        yield Entry((f"gate after: {after.sum or 'none'}",))
    kinds = [change.kind for change in diff.changes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in Kind)
    yield Entry((f"tasks: {counts}, {diff.same} the same",))


def _met(before: Side, after: Side) -> str:
    if after.passed:
        return ": the gate is met" if before.passed else ": the gate is met now"
    return ": THE GATE IS NO LONGER MET" if before.passed else ": the gate is not met"


# ---- tasks, in brief


def _records(changed: Sequence[Change]) -> Iterable[Entry]:
    """Lists that changed under a record first, then other inputs, then records that were edited themselves."""
    said: dict[Line, list[str]] = {}
    for change in sorted(changed, key=lambda change: not change.lists_changed):
        if change.under_record and change.after is not None:
            said.setdefault(_under_record(change, change.after), []).append(change.name)
    for change in changed:
        before, after = change.before, change.after
        if after is not None and after.edited and not (before is not None and before.edited):
            said.setdefault((f": its record is {after.word}", *_because(after)), []).append(change.name)
    return (_alike(names, line, SHOWN) for line, names in said.items())


def _alike(names: Sequence[str], line: Line, limit: int | None = None) -> Entry:
    """What is said of one task, or of several with their names below."""
    if len(names) == 1:
        return Entry((Theirs(names[0]), *line))
    return Entry((number(len(names), "task"), *line), tuple(Entry((Theirs(name),)) for name in names), limit)


def _under_record(change: Change, after: Status) -> Line:
    lists = [_ids_in_words(group) for group in change.ids if group.what in (What.LISTED, What.UNLISTED, What.MOVED)]
    keys = [one.key for one in change.keys if one.key not in OBSERVED]
    inputs = ", ".join([*keys, *(file for file, _ in change.files if file not in NO_INPUTS)])
    others: Line = ("; " if lists else "", Theirs(inputs), " changed") if inputs else ()
    return (f": {after.word}; repair.json stayed as it was, but {'; '.join(lists)}", *others)


def _verdicts(changed: Sequence[Change]) -> Iterable[Entry]:
    """Each change of verdict once, with the tasks that have it; what is no longer admitted comes first."""
    groups: dict[tuple[Status, Status], list[str]] = {}
    for change in changed:
        if change.before is not None and change.after is not None and _said(change.before) != _said(change.after):
            groups.setdefault((_said(change.before), _said(change.after)), []).append(change.name)
    lost = {key: (key[1].admitted - key[0].admitted, key[1].word != UNREADABLE) for key in groups}
    for key in sorted(groups, key=lost.__getitem__):
        before, after = key
        verdict: Line = (f": {before.word} → {after.word}", *_because(after))
        if before.word == after.word:
            verdict = (f": {after.word} for another reason", *_because(after))
        yield _alike(groups[key], verdict)


def _said(status: Status) -> Status:
    return Status(status.word, status.admitted, status.why)


def _because(status: Status) -> Line:
    return (" (", Theirs(status.why), ")") if status.why else ()


def _there(changes: Sequence[Change], kind: Kind) -> Iterable[Entry]:
    for change in changes:
        status = change.after if kind is Kind.ADDED else change.before
        if change.kind is kind and status is not None:
            counts: list[str | Theirs] = []
            if status.f2p is not None and status.p2p is not None:
                (f2p, kept_f2p), (p2p, kept_p2p) = status.f2p, status.p2p
                counts = [f", F2P {f2p} → {kept_f2p}, P2P {p2p} → {kept_p2p}, {status.dropped} dropped"]
            note: Line = (" (", Theirs(status.note), ")") if status.note and not status.why else _because(status)
            yield Entry((Theirs(change.name), f": {status.word}", *counts, *note))


# ---- tasks, in full


def _has_parts(change: Change) -> bool:
    return bool(change.ids or change.keys or change.files or change.rates)


def _task(change: Change) -> Entry:
    assert change.after is not None
    below = [_ids(group) for group in change.ids]
    below += [Entry(_change(one)) for one in change.keys]
    below += [_rates(rates) for rates in change.rates]
    files = [(name, kind) for name, kind in change.files if name not in RECORD_FILES]
    below += [Entry((Theirs(name), f": {kind}")) for name, kind in files]
    records = [f"{name} {kind}" for name, kind in change.files if name in RECORD_FILES]
    below += [Entry((f"record: {', '.join(records)}",))] if records else []
    return Entry((Theirs(change.name), f": {change.after.word}"), tuple(below))


def _ids(group: Ids) -> Entry:
    cause: Line = (" (", Theirs(group.cause), ")") if group.cause else ()
    seen = f" [empty {group.empty}, oracle {group.oracle}]" if group.empty or group.oracle else ""
    names = tuple(Entry((Theirs(test),)) for test in group.ids)
    return Entry((_ids_in_words(group), *cause, seen), names, SHOWN)


def _ids_in_words(group: Ids) -> str:
    count, name = number(len(group.ids), "id"), f"{group.list} " if group.list else ""
    why = f": {of(group.rule)}" if group.rule is not None else ""
    said = {
        What.LISTED: f"{count} added to {group.list} in task.json",
        What.UNLISTED: f"{count} removed from {group.list} in task.json",
        What.MOVED: f"{count} moved {group.list} in task.json",
        What.DROPPED: f"{count} of {name}dropped since{why}",
        What.BACK: f"{count} of {name}back, no longer dropped",
        What.OTHER_CAUSE: f"{count} of {name}dropped for another cause{why}",
        What.REASON: f"{count} {name}refused since{why}",
        What.NO_REASON: f"{count} {name}no longer refused{why}",
    }
    return said[group.what]


def _rates(rates: Rates) -> Entry:
    before, after = rates.before or "not observed", rates.after or "not observed"
    line = f"{number(len(rates.ids), 'id')} flaky under {rates.control}: {before} → {after}"
    return Entry((line,), tuple(Entry((Theirs(test),)) for test in rates.ids), SHOWN)


# ---- a terminal


def text(diff: Diff, width: int | None) -> str:
    """A diff for a terminal of `width` columns; None, for a pipe, cuts no line."""
    lines = [_plain(title(diff))]
    for section in sections(diff):
        lines += ["", f"{'!! ' if section.loud else ''}{section.title.upper() if section.loud else section.title}"]
        for entry in section.entries:
            lines += _indented(entry, 1)
    lines += [] if diff.differs else [f"no difference ({number(diff.same, 'task')})"]
    return "".join(f"{line if width is None else cut(line, width)}\n" for line in lines)


def _indented(entry: Entry, depth: int) -> Iterable[str]:
    yield "  " * depth + _plain(entry.line)
    limit = len(entry.below) if entry.limit is None else entry.limit
    for below in entry.below[:limit]:
        yield from _indented(below, depth + 1)
    if len(entry.below) > limit:
        yield "  " * (depth + 1) + f"and {len(entry.below) - limit} more"


def _plain(line: Line) -> str:
    return "".join(printable(part.text if isinstance(part, Theirs) else part) for part in line)


# ---- JSON


def document(diff: Diff) -> dict[str, Any]:
    """A diff as a document: the sides, `settings` of panel.toml, and each changed task with all of its ids.

    `{"schema", "exit", "before", "after", "settings": [{"key", "before", "after", "looser"}], "same", "tasks": [...]}`;
    a task is `{"instance_id", "change", "before", "after", "changed_under_record", "ids", "keys", "files", "rates"}`.
    """
    return {
        "schema": SCHEMA,
        "exit": int(diff.differs),
        "before": _side(diff.before),
        "after": _side(diff.after),
        "settings": [_changed(one) | {"looser": one.looser} for one in diff.settings],
        "same": diff.same,
        "tasks": [_document(change) for change in diff.changes],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "name": side.name or None,
        "problem": side.problem or None,
        "absent": side.absent,
        "admitted": side.admitted,
        "clean": side.clean,
        "repaired": side.repaired,
        "min_tasks": side.min_tasks,
        "passed": side.passed,
    }


def _changed(one: Changed) -> dict[str, Any]:
    return {"key": one.key, "before": one.before or None, "after": one.after or None}


def _document(change: Change) -> dict[str, Any]:
    return {
        "instance_id": change.name,
        "change": change.kind,
        "before": change.before and _status(change.before),
        "after": change.after and _status(change.after),
        "changed_under_record": change.under_record,
        "ids": [
            {
                "what": group.what,
                "list": group.list or None,
                "rule": group.rule,
                "empty": group.empty or None,
                "oracle": group.oracle or None,
                "cause": group.cause or None,
                "ids": list(group.ids),
            }
            for group in change.ids
        ],
        "keys": [_changed(one) for one in change.keys],
        "files": {name: str(kind) for name, kind in change.files},
        "rates": [
            {
                "control": rates.control,
                "before": rates.before or None,
                "after": rates.after or None,
                "ids": list(rates.ids),
            }
            for rates in change.rates
        ],
    }


def _status(status: Status) -> dict[str, Any]:
    def counts(pair: tuple[int, int] | None) -> dict[str, int] | None:
        return None if pair is None else {"listed": pair[0], "kept": pair[1]}

    return {
        "is": status.word,
        "admitted": status.admitted,
        "why_not": status.why or None,
        "F2P": counts(status.f2p),
        "P2P": counts(status.p2p),
        "dropped": status.dropped,
        "note": status.note or None,
    }
