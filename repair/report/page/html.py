"""A panel as one HTML file: what the page shows, as values, and the page as text.

Pure: values in, a text out, made by the templates beside it. The page holds all that it needs and may fetch nothing:
its Content-Security-Policy names its one script and its one style by their digests.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from repair.records.summary import Summary
from repair.report.page.data import script_json
from repair.text import printable
from repair.words import FLAKY, GATE_MET, GATE_NOT_MET, LETTERS, NO_OUTCOME, OUTCOMES, STATES

BAR = 1000  # units of the bar's width
CAUSES = 500  # that are shown
SCRIPTS = ("report.js", "grid.js", "task.js")
_OTHER = ("stale", "edited", "inconsistent")


@dataclass(frozen=True, slots=True)
class GateView:
    """The gate's answer and its sum; `passed` None where only a part of the panel is shown."""

    passed: bool | None
    sum: str


@dataclass(frozen=True, slots=True)
class TaskView:
    """One row of the task table, with the number of its flaky ids.

    `data` is the task's own page, JSON that is safe in a script element: see `repair.report.page.data`.
    """

    task: Summary
    data: str
    flaky: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """What one task has of a cause: how many of its tests, and the image in which to mend it."""

    task: str
    tests: int
    image: str


@dataclass(frozen=True, slots=True)
class CauseView:
    """One cause over the panel, tasks with most tests first."""

    cause: str
    tests: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class FlakyView:
    """An id whose runs of a control differ: (control, outcomes with their rates) of each such control."""

    task: str
    id: str
    rates: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows. `flaky` holds some of `flaky_ids` ids; `policy` is (key, value) in words."""

    panel: str
    tool: str
    gate: GateView
    policy: tuple[tuple[str, str], ...]
    tasks: tuple[TaskView, ...]
    causes: tuple[CauseView, ...] = ()
    flaky: tuple[FlakyView, ...] = ()
    flaky_ids: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the bar: a word for tasks, how many there are, and where it lies in units of `BAR`."""

    word: str
    number: int
    begin: float
    width: float


def render(page: Page) -> str:
    """The whole file as text; the same page gives the same text."""
    script, style = _script(), _source("report.css")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            security=security(script, style),
            script=script,
            style=style,
            headline=headline(page.gate),
            segments=segments(page),
            causes=page.causes[:CAUSES],
            labels=labels([view.task.name for view in page.tasks]),
            states=STATES,
            outcomes=[(LETTERS[outcome], str(outcome), OUTCOMES[outcome]) for outcome in LETTERS],
            words=script_json(
                {"outcomes": {LETTERS[o]: o for o in LETTERS}, "none": NO_OUTCOME, "states": dict(STATES)}
            ),
            flaky_word=FLAKY,
        )
    )


def labels(names: Iterable[str]) -> dict[str, str]:
    """What each task is called: its name as it can be shown, with a number where another's looks the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        label, number = printable(name), 1
        while label in taken:
            number += 1
            label = f"{printable(name)} ({number})"
        found[name] = label
        taken.add(label)
    return found


def headline(gate: GateView) -> str:
    """The gate in two words."""
    match gate.passed:
        case None:
            return "part of a panel"
        case True:
            return GATE_MET
        case False:
            return GATE_NOT_MET


def segments(page: Page) -> tuple[Segment, ...]:
    """The bar over the panel's tasks in the order of `STATES`; words that nobody has to hear of only where they are."""
    words = [view.task.word for view in page.tasks]
    parts, begin = [], 0.0
    for word in STATES:
        number = words.count(word)
        if number or word not in _OTHER:
            width = BAR * number / len(words) if words else 0.0
            parts.append(Segment(word, number, round(begin, 2), round(width, 2)))
            begin += width
    return tuple(parts)


def security(script: str, style: str) -> str:
    """The page's Content-Security-Policy: nothing is fetched, and nothing runs but its own script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("repair.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"shown": printable, "thousands": "{:,}".format}
    return environment


@cache
def _script() -> str:
    """The page's one script: its files in a scope of their own."""
    return '"use strict";\n(() => {\n' + "\n".join(map(_source, SCRIPTS)) + "})();\n"


@cache
def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]
