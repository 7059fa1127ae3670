"""A `Diff` in words, policy first: sections of lines, which terminals and pull requests lay out each in their way.

What comes out of a task, a file name or a revision is marked as `Theirs`, so that whoever lays it out cannot take it
for ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from repair.records.diff.compare import (
    LINK,
    NO_INPUTS,
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
    Unseen,
    What,
    made_from,
)
from repair.report.terminal import columns, cut
from repair.text import printable
from repair.words import of

SHOWN = 20  # ids or tasks of one group; the JSON document has all
LONG = 60  # characters; of longer values what both share is cut
SHARED = 12  # characters of that, which stay on each side of what differs
BECOMES = " → "
REPLACED = "records that were replaced though nothing that they are made from changed"


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
    changes = sorted(diff.changes, key=_rank)
    changed = [change for change in changes if change.kind is Kind.CHANGED]
    but = ", but the policy" if any(one.key.startswith("policy.") for one in diff.settings) else ""
    found = (
        Section("the panel", tuple(_sides(diff)), loud=True),
        Section("not compared", tuple(_unseen(diff, *one) for one in diff.unseen), loud=True),
        Section("the policy changed", tuple(_settings(diff, "policy.", "gate.")), loud=True),
        Section("the defaults of all tasks changed", tuple(_settings(diff, "defaults.")), loud=True),
        Section("records that do not hold", tuple(_records(diff.changes)), loud=True),
        Section(f"{REPLACED}{but}", tuple(_replaced(changed)), loud=True),
        Section("gate", tuple(_gate(diff))),
        Section("verdicts", tuple(_verdicts(changed))),
        Section("tasks added", tuple(_there(changes, Kind.ADDED))),
        Section("tasks gone", tuple(_there(changes, Kind.GONE))),
        Section("panel.toml, other settings", tuple(_settings(diff, "name", LINK))),
        Section("changes by task", tuple(_task(change) for change in changed if _has_parts(change))),
    )
    return tuple(section for section in found if section.entries)


def _rank(change: Change) -> int:
    """What is no longer admitted stands first, then what newly is: room is cut at the end."""
    was, now = (status is not None and status.admitted for status in (change.before, change.after))
    return 2 if was == now else int(now)


def number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


# ---- the panel


def _sides(diff: Diff) -> Iterable[Entry]:
    for side, other in ((diff.before, diff.after), (diff.after, diff.before)):
        if side.problem:
            yield Entry((Theirs(side.label), ": panel.toml cannot be read: ", Theirs(side.problem)))
        elif side.absent and not other.absent:
            yield Entry((Theirs(side.label), ": there is no panel"))


def _unseen(diff: Diff, one: Unseen, before: bool, after: bool) -> Entry:
    sides = [Theirs(side.label) for side, is_so in ((diff.before, before), (diff.after, after)) if is_so]
    what = ": a submodule, at " if one.submodule else ": a link out of the panel's files, to "
    where: Line = (sides[0], " and ", sides[1]) if len(sides) == 2 else (sides[0],)
    return Entry((Theirs(one.path), what, Theirs(one.target), "; what is there was not read at ", *where))


def _settings(diff: Diff, *beginnings: str) -> Iterable[Entry]:
    for one in diff.settings:
        if one.key.startswith(beginnings):
            yield Entry((*_change(one), *((" (looser: it admits more)",) if one.looser else ())))


def _change(one: Changed) -> Line:
    before, after = (Theirs(value) if value else "not set" for value in _apart(one.before, one.after))
    return Theirs(one.key), ": ", before, BECOMES, after


def _apart(before: str, after: str) -> tuple[str, str]:
    """Two values as they are, or long ones from shortly before where they differ until shortly after.

    Whatever is cut of them later, what is shown is not the same.
    """
    if max(len(before), len(after)) <= LONG:
        return before, after
    front = _shared(before, after)
    end = _shared(before[front:][::-1], after[front:][::-1])

    def part(value: str) -> str:
        start, stop = max(0, front - SHARED), min(len(value), len(value) - end + SHARED)
        return f"{'…' * (start > 0)}{value[start:stop]}{'…' * (stop < len(value))}"

    return part(before), part(after)


def _shared(before: str, after: str) -> int:
    """How many characters two texts share in front."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))


def _gate(diff: Diff) -> Iterable[Entry]:
    before, after = diff.before, diff.after
    yield Entry((f"admitted {before.admitted} → {after.admitted}", *([] if not diff.whole else [_met(before, after)])))
    if diff.whole:
        yield Entry((f"gate before: {_sum(before)}",))
        yield Entry((f"gate after: {_sum(after)}",))
    kinds = [change.kind for change in diff.changes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in Kind)
    apart = f", {diff.not_compared} not compared" if diff.not_compared else ""
    yield Entry((f"tasks: {counts}, {diff.same} the same{apart}",))


def _sum(side: Side) -> str:
    if side.unreadable or side.unseen:
        return f"cannot be judged ({side.clean} clean + {side.repaired} repaired could be read)"
    return side.sum or "none"


def _met(before: Side, after: Side) -> str:
    if after.unreadable:
        return f": the gate cannot be judged: {number(after.unreadable, 'task')} cannot be read"
    if after.unseen:
        return ": the gate cannot be judged: not all was read"
    if after.passed:
        was_open = before.unreadable or before.unseen
        return ": the gate is met" if before.passed or was_open else ": the gate is met now"
    return ": THE GATE IS NO LONGER MET" if before.passed else ": the gate is not met"


# ---- tasks, in brief


def _records(changes: Sequence[Change]) -> Iterable[Entry]:
    """Lists that changed under a record first, then other inputs, then what else is wrong with a record."""
    said: dict[Line, list[str]] = {}
    for change in sorted(changes, key=lambda change: (not change.lists_changed, not change.under_record)):
        if change.breaks_record and change.after is not None:
            said.setdefault(_broken(change, change.after), []).append(change.name)
    return (_alike(names, line, SHOWN) for line, names in said.items())


def _alike(names: Sequence[str], line: Line, limit: int | None = None) -> Entry:
    """What is said of one task, or of several with their names below."""
    if len(names) == 1:
        return Entry((Theirs(names[0]), *line))
    return Entry((number(len(names), "task"), *line), tuple(Entry((Theirs(name),)) for name in names), limit)


def _replaced(changed: Sequence[Change]) -> Iterable[Entry]:
    """By verdicts: what was run anew, or forged. Those that do not hold are said already."""
    said: dict[Line, list[str]] = {}
    for change in changed:
        if change.replaced and not change.breaks_record and change.before is not None and change.after is not None:
            said.setdefault((f": {change.before.word} → {change.after.word}",), []).append(change.name)
    return (_alike(names, line, SHOWN) for line, names in said.items())


def _broken(change: Change, after: Status) -> Line:
    lists = [_ids_in_words(group) for group in change.ids if group.what in (What.LISTED, What.UNLISTED, What.MOVED)]
    keys = [one.key for one in change.keys if made_from(one.key)]
    inputs = ", ".join([*keys, *(file for file, _ in change.files if file not in NO_INPUTS)])
    others: Line = ("; " if lists else "", Theirs(inputs), " changed") if inputs else ()
    what: Line = ("; ".join(lists), *others) if lists or others else ("panel.toml's [defaults] changed",)
    if change.under_record:
        return f": {after.word}; repair.json stayed as it was, but ", *what
    if lists or others:
        return f": its record is {after.word}", *_because(after), "; ", *what
    return f": its record is {after.word}", *_because(after)


def _verdicts(changed: Sequence[Change]) -> Iterable[Entry]:
    """Each change of verdict once, however many reasons tasks have for it, as every one must find room."""
    groups: dict[tuple[int, bool, str, str], list[tuple[str, Status]]] = {}
    for change in changed:
        if change.before is not None and change.after is not None and _said(change.before) != _said(change.after):
            key = (_rank(change), change.after.word != UNREADABLE, change.before.word, change.after.word)
            groups.setdefault(key, []).append((change.name, change.after))
    for key in sorted(groups, key=lambda key: key[:2]):
        *_, was, now = key
        verdict = f": {was} → {now}" if was != now else f": {now} for another reason"
        reasons = {_because(after) for _, after in groups[key]}
        if len(reasons) == 1:
            yield _alike([name for name, _ in groups[key]], (verdict, *reasons.pop()), SHOWN)
            continue
        below = tuple(Entry((Theirs(name), *_because(after))) for name, after in groups[key])
        yield Entry((number(len(below), "task"), verdict), below, SHOWN)


def _said(status: Status) -> tuple[str, bool, str]:
    return status.word, status.admitted, status.why


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
    """A diff for a terminal of `width` columns; None, for a pipe, cuts no line and breaks none."""
    lines = [_plain(title(diff))]
    for section in sections(diff):
        lines += ["", f"{'!! ' if section.loud else ''}{section.title.upper() if section.loud else section.title}"]
        for entry in section.entries:
            lines += _indented(entry, 1, width)
    lines += [] if diff.differs else [f"no difference ({number(diff.same, 'task')})"]
    return "".join(f"{line if width is None else cut(line, width)}\n" for line in lines)


def _indented(entry: Entry, depth: int, width: int | None) -> Iterable[str]:
    pad = "  " * depth
    fits = width is None or columns(pad + _plain(entry.line)) <= width
    if not fits and BECOMES in entry.line:
        at = entry.line.index(BECOMES)
        yield pad + _plain(entry.line[:at])
        yield f"{pad} {BECOMES}{_plain(entry.line[at + 1 :])}"
    elif width is not None and not fits and isinstance(entry.line[0], Theirs) and len(entry.line) == 1:
        yield pad + _middle_cut(_plain(entry.line), width - len(pad))
    else:
        yield pad + _plain(entry.line)
    limit = len(entry.below) if entry.limit is None else entry.limit
    for below in entry.below[:limit]:
        yield from _indented(below, depth + 1, width)
    if len(entry.below) > limit:
        yield f"{pad}  and {len(entry.below) - limit} more"


def _middle_cut(text: str, width: int) -> str:
    """A text in at most `width` columns, with its end: ids differ there."""
    room = max(0, width // 3)
    end = text[-room:] if room else ""
    while columns(end) > room:
        end = end[1:]
    return cut(text, width - room) + end


def _plain(line: Line) -> str:
    return "".join(printable(part.text if isinstance(part, Theirs) else part) for part in line)
