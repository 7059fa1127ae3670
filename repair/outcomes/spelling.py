"""How ids outside pytest are spelt: a template over what a JUnit case says of itself, or the one that fits best.

Pure. An id is never bent to fit: a template either spells it exactly or does not.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from repair.outcomes.junit import Case

MAX_ID = 4096  # characters of one test id in a list
Template = tuple[str, ...]  # spellings of one and the same id, the main one first

# Tried in this order where neither the task nor its framework decides; of equals the first counts.
CANDIDATES: tuple[Template, ...] = (
    ("{classname}::{name}",),
    ("{name}",),
    ("{classname}.{name}",),
    ("{classname}/{name}",),
    ("{classname}#{name}",),
    ("{classname} {name}",),
    ("{classname} > {name}",),
    ("{name} ({classname})", "{name} ({classname}.{name})"),
    ("{file}::{name}",),
    ("{file}::{classname}::{name}",),
    ("{file}::{suite}::{name}",),
    ("{file} > {name}",),
    ("{file} | {name}",),
    ("{file}:{name}",),
    ("{suite}::{name}",),
    ("{suite}/{name}",),
    ("{suite} {name}",),
    ("{suite} > {name}",),
    ("{classname}",),
    ("{file}",),
    ("{suite}",),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The template that was taken, and what a reader should know of the choice: ties, ids that fit another.

    `mixed`: some listed ids are spelt by another template only, and are no beginnings of ids of this one: it would
    miss tests that ran.
    """

    template: Template
    flags: tuple[str, ...] = ()
    mixed: bool = False


class Named(Protocol):
    """What has the names of a test that a template can ask for: a JUnit case, or a pytest node id taken apart."""

    @property
    def suite(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def classname(self) -> str: ...
    @property
    def class_(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def pytest_id(self) -> str | None: ...


def spell(template: str, test: Named) -> str | None:
    """The id of a test by one spelling; None where it does not say what the template asks for.

    `{class}` is PHPUnit's attribute of that name, or the class's name; `{test}` is a pytest node id without its file
    and with `.` for `::`, such as `Class.test[x]`.
    """
    pieces = []
    for text, place in _parts(template):
        value = _VALUES[place](test)
        if place and not value:
            return None
        pieces += [text, value]
    return "".join(pieces)


_VALUES: Mapping[str, Callable[[Named], str]] = {
    "": lambda _: "",  # behind the last place
    "suite": lambda named: named.suite,
    "file": lambda named: named.file,
    "classname": lambda named: named.classname,
    "class": lambda named: named.class_,
    "name": lambda named: named.name,
    "test": lambda named: ".".join((named.pytest_id or "").split("::")[1:]),
}
PLACES = tuple(_VALUES)[1:]
_PLACE = re.compile(rf"\{{({'|'.join(PLACES)})\}}")


@lru_cache(maxsize=256)
def _parts(template: str) -> tuple[tuple[str, str], ...]:
    """A template as pairs of a text and the place behind it."""
    pieces = [*_PLACE.split(template), ""]
    return tuple(zip(pieces[::2], pieces[1::2], strict=True))


def can_be_listed(test: str) -> bool:
    """Can a list of a task.json hold this id?"""
    return 0 < len(test) <= MAX_ID and not {"\n", "\0"}.intersection(test)


def spellings(template: Template, test: Named) -> list[str]:
    """All ids of a test, the main one first; without a class and a spelling its name is one.

    Without outer blanks too: jest-junit writes one before a bare name.
    """
    found = [spelt for spelt in (spell(spelling, test) for spelling in template) if spelt]
    found = found or ([] if test.classname else [test.name])
    return list(dict.fromkeys(text for spelt in found for text in (spelt, spelt.strip()) if text))


def choose(listed: Iterable[str], cases: Sequence[Case], default: Template) -> Choice:
    """The one template that spells most of `listed`; `default` where nothing spells more."""
    wanted = frozenset(listed)
    first = _Fit.of(default, wanted, cases)
    if len(first.cases) == len(wanted):
        return Choice(default)
    fits = [first, *(_Fit.of(other, wanted, cases) for other in CANDIDATES if other != default)]
    best = max(fits, key=lambda fit: len(fit.cases))  # max takes the first of equals
    flags = tuple(_remarks(best, fits, len(wanted))) if best.cases else ()
    others = {test for fit in fits for test in fit.cases.keys() - best.cases.keys()}
    return Choice(best.template, flags, mixed=bool(others) and not _are_cut(others, best.template, cases))


def _are_cut(tests: Collection[str], template: Template, cases: Iterable[Case]) -> bool:
    """Do these ids each begin one that the template spells? Then they were cut short, and fit another by chance."""
    spelt = sorted({test for case in cases for test in spellings(template, case)})
    places = [bisect_left(spelt, test) for test in tests]  # of the first id that is not before it
    return all(at < len(spelt) and spelt[at].startswith(test) for at, test in zip(places, tests, strict=True))


@dataclass(frozen=True, slots=True)
class _Fit:
    """Which cases a template gives each listed id that it spells."""

    template: Template
    cases: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @staticmethod
    def of(template: Template, wanted: frozenset[str], cases: Sequence[Case]) -> _Fit:
        found: dict[str, set[int]] = {}
        for number, case in enumerate(cases):
            for test in wanted.intersection(spellings(template, case)):
                found.setdefault(test, set()).add(number)
        return _Fit(template, {test: frozenset(numbers) for test, numbers in found.items()})


def _remarks(best: _Fit, fits: Sequence[_Fit], wanted: int) -> Iterable[str]:
    ties = [fit.template[0] for fit in fits if fit is not best and _rivals(fit, best)]
    if ties:
        yield f"ids fit {best.template[0]} and {', '.join(ties)} alike: set id_template"
    other = max(fits, key=lambda fit: len(fit.cases.keys() - best.cases.keys()))
    number = len(other.cases.keys() - best.cases.keys())
    if number:
        yield f"{len(best.cases)} of {wanted} ids fit {best.template[0]}, and {number} others only {other.template[0]}"


def _rivals(fit: _Fit, best: _Fit) -> bool:
    """Does another template spell as many ids, and mean other tests by them?"""
    return len(fit.cases) == len(best.cases) and fit.cases != best.cases
