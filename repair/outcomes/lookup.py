"""Listed ids to outcomes: what one run says of each id of a task's lists.

Pure. An id is looked up among what was collected, in either of its forms; one that names a group is the worst of its
members; one that names nothing is missing and never guessed into another.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from repair.model import Observed, Outcome, worst
from repair.outcomes.frameworks.known import FRAMEWORKS
from repair.outcomes.junit import Case
from repair.outcomes.plugin_log import Item, Record
from repair.outcomes.spelling import Template, spellings
from repair.text import clean, cut, printable

NOT_RUN = Observed(Outcome.MISSING, "collected, but not run: the repo's own options deselect it")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run showed: per test, per collector that failed or skipped, per file that is not there.

    `aliases` are further ids, each with the tests that it stands for; `holders` are classes, modules and suites whose
    set-up failed or skipped, or that did not import; `members` are tests that no id names but as one of a group;
    `ids` is how a list names all that was collected.
    """

    outcomes: Mapping[str, Observed]
    items: Mapping[str, Item] = field(default_factory=dict)
    broken: Mapping[str, Observed] = field(default_factory=dict)
    nofile: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    holders: Mapping[str, Observed] = field(default_factory=dict)
    members: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()


def of_cases(cases: Iterable[Case], template: Template = ("{classname}::{name}",), framework: str = "") -> Seen:
    """What a report shows where ids are spelt by `template`; without a class the name alone is an id too.

    A spelling that leaves out class or name may be several tests': it is the group of them. Of some frameworks it is
    known what their reports leave out: of a unittest whose subtests failed they hold these alone, and of a class or
    suite whose set-up failed only that.
    """
    found: dict[str, Observed] = {}
    aliases: dict[str, dict[str, None]] = {}
    holders: dict[str, Observed] = {}
    named: set[str] = set()  # what an id may name by itself
    ids: set[str] = set()
    known = FRAMEWORKS.get(framework)
    tells_apart = "{name}" in template[0] and ("{class" in template[0] or "{test}" in template[0])
    for case in cases:
        holder = known.holder(case) if known is not None else None
        if holder is not None:
            _merge(holders, *holder)
            continue
        whole = _without_subtest(case) if known is not None and known.has_subtests else case
        spelt = [clean(test) for test in spellings(template, whole)]
        if not spelt:
            continue
        ids.add(spelt[0])
        real = spelt[0] if tells_apart or not case.classname else clean(whole.id)
        _merge(found, real, Observed(case.outcome, case.cause))
        for other in dict.fromkeys([*spelt, *(clean(test) for test in spellings(template, case))]):
            if other == real:
                named.add(real)
            else:
                aliases.setdefault(other, {})[real] = None
    return Seen(
        found,
        {test: Item(None, ()) for test in found},
        aliases={other: tuple(sorted({*tests, other} & found.keys())) for other, tests in aliases.items()},
        holders=holders,
        members=frozenset(found.keys() - named),
        ids=frozenset(ids),
    )


_SUBTEST = re.compile(r"(\w+) [(\[].*", re.DOTALL)


def _without_subtest(case: Case) -> Case:
    """The test of which a case may be a subtest, `test_x (i=1)` or `test_x [message]`: it fails where that fails."""
    subtest = _SUBTEST.fullmatch(case.name) if case.classname else None
    return replace(case, name=subtest[1]) if subtest else case


def of_record(record: Record, outcomes: Mapping[str, Observed], template: Template = ()) -> Seen:
    """What a pytest run shows: its record's collection, with outcomes that the report agrees to.

    Where the task's ids are no node ids, `template` spells them: from the node ids, since a test may write what it
    likes into its report. A test that did not run stands for an id only where none that ran does.
    """
    aliases: dict[str, list[str]] = {}
    named = (spellings(template, _names_of(test)) for test in record.items) if template else ()
    ids = {clean(spelt[0]) for spelt in named if spelt}
    for ran in (True, False) if template else ():
        spelt: dict[str, list[str]] = {}
        for test in record.items:
            if (test in outcomes) is ran:
                for other in spellings(template, _names_of(test)):
                    if other not in record.items:
                        spelt.setdefault(clean(other), []).append(test)
        aliases = {**spelt, **aliases}
    return Seen(
        outcomes,
        record.items,
        record.broken,
        frozenset(record.nofile),
        {other: tuple(tests) for other, tests in aliases.items()},
        ids=frozenset(ids if template else record.items),
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a test by its pytest node id, as its report has them."""

    classname: str
    name: str
    file: str
    pytest_id: str
    suite: str = ""

    @property
    def class_(self) -> str:
        return self.classname


def _names_of(test: str) -> _Names:
    path, *parts = split_id(test)
    classname = ".".join([module_name(path), *parts[:-1]])
    return _Names(classname, parts[-1] if parts else test, path, test)


def by_node_id(cases: Iterable[Case]) -> dict[str, Outcome]:
    """A report's outcomes by the node ids that our plugin wrote into it; cases without one are left out."""
    found: dict[str, Outcome] = {}
    for case in cases:
        test = case.pytest_id
        if test is not None:
            found[test] = worst((found.get(test, case.outcome), case.outcome))
    return found


def _merge(found: dict[str, Observed], test: str, new: Observed) -> None:
    old = found.get(test, new)
    found[test] = max(old, new, key=lambda one: (one.outcome.severity, [-ord(c) for c in one.cause]))


def resolve(listed: Iterable[str], seen: Seen) -> dict[str, Observed]:
    """The outcome of each listed id, with its cause where it is no pass."""
    index = _Index(seen)
    return {test: index.look_up(test) for test in listed}


def everything(seen: Seen) -> dict[str, Observed]:
    """All that was collected, by the ids that a list would have."""
    return resolve(sorted(seen.ids), seen)


def unreadable(seen: Seen) -> dict[str, Observed]:
    """Files, folders and classes that gave fewer tests than they hold, or none, each with why."""
    broken = {**seen.broken, **seen.holders}
    return broken | {path: Observed(Outcome.MISSING, "no such file in the image") for path in seen.nofile}


class _Index:
    """`Seen`, arranged for look-ups by id, by either form, and by group."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.forms: dict[str, str] = {}
        self.groups: dict[str, list[str]] = {}
        for test, item in seen.items.items():
            for group in item.groups:
                self.groups.setdefault(group, []).append(test)
            if item.other is not None:
                self.forms.setdefault(item.other, test)
        self.forms.update((test, test) for test in seen.items if test not in seen.members)
        for other, tests in seen.aliases.items():
            self.groups.setdefault(other, []).extend(tests)
        self.sorted = sorted({*self.forms, *seen.aliases})
        self.bases: dict[str, list[str]] | None = None

    def look_up(self, listed: str) -> Observed:
        test = listed if listed in self.forms else listed.replace("::()", "")
        if test in self.forms and test not in self.seen.aliases:
            real = self.forms[test]
            seen = self.seen.outcomes.get(real, NOT_RUN)
            # under another name than its own an id names a group of one: so the same test is known as the same
            return seen if real == listed else replace(seen, members={real: seen.outcome})
        below = self._broken_below(test)
        if test in self.groups:
            return self._group(test, below)
        above = self._broken_above(test)
        if above is not None:
            return above
        if below:
            return min(below.values(), key=lambda one: (-one.outcome.severity, one.cause))
        holder = nearest(test, self.seen.holders)
        if holder is not None:
            return self.seen.holders[holder]
        path = test.split("::", 1)[0]
        if path in self.seen.nofile:
            return Observed(Outcome.MISSING, f"{printable(path)}: no such file in the image")
        return Observed(Outcome.MISSING, self._nearest(test))

    def _group(self, group: str, below: Mapping[str, Observed]) -> Observed:
        members = {test: self.seen.outcomes.get(test, NOT_RUN) for test in sorted(self.groups[group])}
        members.update(below)
        outcome = worst(tuple(member.outcome for member in members.values()))
        cause = min(member.cause for member in members.values() if member.outcome is outcome)
        return Observed(outcome, cause, {test: member.outcome for test, member in members.items()})

    def _broken_above(self, test: str) -> Observed | None:
        """The nearest collector above `test` that failed or skipped."""
        place = nearest(test, self.seen.broken)
        return None if place is None else self.seen.broken[place]

    def _broken_below(self, test: str) -> dict[str, Observed]:
        return {place: found for place, found in self.seen.broken.items() if place.startswith(test + "::")}

    def _nearest(self, test: str) -> str:
        """Say that nothing collected has this id, naming what comes nearest; an id cut short first."""
        start = bisect_left(self.sorted, test)
        near = [form for form in self.sorted[start : start + 3] if form.startswith(test)]
        if not near:
            near = self._alike(test)
        if not near:
            return "not collected"
        return "not collected; nearest: " + ", ".join(cut(printable(form), 90) for form in near)

    def _alike(self, test: str) -> list[str]:
        if self.bases is None:
            self.bases = {}
            for form in self.sorted:
                self.bases.setdefault(base(form), []).append(form)
        wanted = base(test)
        if wanted in self.bases:
            return self.bases[wanted][:3]
        path = wanted.split("::", 1)[0]
        same_file = [form for form in self.bases if form.split("::", 1)[0] == path]
        return difflib.get_close_matches(wanted, same_file[:2000], n=3, cutoff=0.7)


def nearest(test: str, places: Iterable[str]) -> str | None:
    """Of files, folders, classes and suites the nearest that holds a test; None where none does."""
    return max((place for place in places if _holds(place, test)), key=len, default=None)


def _holds(place: str, test: str) -> bool:
    """Does an id name a test of this place: in pytest's way, or a class, module or suite as others print it?"""
    if place.startswith("("):
        return f"{place})" in test or f"{place}." in test
    if place.endswith(" "):
        return test.startswith(place)
    return test == place or test.startswith((place + "::", place + "/"))


def base(test: str) -> str:
    """An id without its parameters: what stands before the first `[` behind the file's name."""
    path, separator, rest = test.partition("::")
    return path + separator + rest.partition("[")[0]


def forward(listed: Iterable[str], cases: Sequence[Case]) -> dict[str, Observed]:
    """The outcome of each listed id in reports that our plugin may have had no part in.

    An id may be `classname::name` as it stands. A pytest node id determines the classname and name under which
    pytest reports it, never the other way round; so each listed id goes forward to its keys and is looked up.
    """
    keys = _Keys(cases)
    return {test: keys.look_up(test) for test in listed}


class _Keys:
    """A report's cases, arranged for look-ups by node id, by `classname::name`, and by pytest's own keys."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.named = by_node_id(cases)
        self.index = _Index(of_cases(cases))
        self.collectors = {case.name: case for case in cases if not case.classname and case.name}
        self.by_key: dict[tuple[str, str], list[Case]] = {}
        for case in cases:
            key = (clean(case.classname).replace(".()", ""), clean(case.name))
            self.by_key.setdefault(key, []).append(case)

    def look_up(self, listed: str) -> Observed:
        if listed in self.named:
            return Observed(self.named[listed])
        if listed in self.index.forms:
            return self.index.look_up(listed)
        found = [case for key in junit_keys(listed) for case in self.by_key.get(key, ())]
        if found:
            outcome = worst(tuple(case.outcome for case in found))
            return Observed(outcome, min(case.cause for case in found if case.outcome is outcome))
        members = self.members(listed)
        if members:
            return Observed(worst(tuple(members.values())), "", members)
        collector = self.collectors.get(module_name(split_id(listed)[0]))
        if collector is not None and "::" in listed:
            skipped = collector.outcome is Outcome.SKIPPED
            return Observed(Outcome.SKIPPED if skipped else Outcome.MISSING, collector.cause)
        return self.index.look_up(listed)

    def members(self, listed: str) -> dict[str, Outcome]:
        """Outcomes below an id that names a function without its parameters, a class or a file."""
        path, *parts = split_id(listed)
        if not _is_file(path) or (parts and "[" in parts[-1]):
            return {}
        holder = ".".join([module_name(path), *parts])
        found: dict[str, Outcome] = {}
        for (classname, name), cases in self.by_key.items():
            of_function = parts and f"{classname}.{name}".startswith(holder + "[") and "[" not in classname
            if of_function or classname == holder or classname.startswith(holder + "."):
                found[f"{classname}::{name}"] = worst(tuple(case.outcome for case in cases))
        return found


def split_id(test: str) -> list[str]:
    """A pytest node id's path, classes and name; `::` inside parameters does not separate."""
    head, bracket, parameters = test.partition("[") if "::" not in test else _before_parameters(test)
    parts = [part for part in head.split("::") if part != "()"]
    return [*parts[:-1], parts[-1] + bracket + parameters]


def _before_parameters(test: str) -> tuple[str, str, str]:
    """Split at the first `[` behind the file's name."""
    start = test.index("::")
    at = test.find("[", start)
    return (test, "", "") if at < 0 else (test[:at], "[", test[at + 1 :])


def _is_file(path: str) -> bool:
    """Does the path of an id name a file, by its ending, and not a folder?"""
    return "." in path.rpartition("/")[2]


def module_name(path: str) -> str:
    """`a/b/test_c.py` as pytest writes it in a classname: dotted, without `.py`, other endings kept."""
    return path.removesuffix(".py").replace("/", ".")


def junit_keys(test: str) -> list[tuple[str, str]]:
    """The (classname, name) pairs under which some version of pytest reports this node id."""
    path, *parts = split_id(test)
    if not parts or not _is_file(path):
        return [("", test)]
    dotted = (".".join([module_name(path), *parts[:-1]]), parts[-1])
    return [dotted, ("", test)]  # up to 9.1 a `[` in the path puts the whole id into the name
