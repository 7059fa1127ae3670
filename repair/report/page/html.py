"""A panel as one HTML file: the values that the page shows, and the page as text.

Pure; the templates next to this module make the text. The page holds all that it needs and may fetch nothing.
Its Content-Security-Policy names its one script and its one style by their digests.
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
CAUSES = 500  # most causes that the page shows
SCRIPTS = ("report.js", "grid.js", "task.js")
_OTHER = ("stale", "edited", "inconsistent")


@dataclass(frozen=True, slots=True)
class GateView:
    """The gate's answer and its sum. `passed` is None where the page shows a part of the panel only."""

    passed: bool | None
    sum: str


@dataclass(frozen=True, slots=True)
class TaskView:
    """One row of the task table, with the number of its flaky ids.

    `data` is the task's own page as JSON that is safe in a script element: see `repair.report.page.data`.
    """

    task: Summary
    data: str
    flaky: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """One task's share of a cause: how many of its tests have it, and the image in which to fix it."""

    task: str
    tests: int
    image: str


@dataclass(frozen=True, slots=True)
class CauseView:
    """One cause over the panel; in `shares`, the tasks with most tests come first."""

    cause: str
    tests: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class FlakyView:
    """An id whose runs of a control differ. `rates`: (control, outcomes with their rates) of each such control."""

    task: str
    id: str
    rates: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows.

    `panel`: the name of the panel.
    `tool`: the version of repair that makes the page.
    `gate`: the gate's answer and its sum.
    `policy`: each key of the policy with its value in words.
    `tasks`: the rows of the task table.
    `causes`: causes over the panel, those with most tests first.
    `flaky`: the flaky ids that the page lists.
    `flaky_ids`: the number of all flaky ids, listed or not.
    """

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
    """A part of the bar over a panel's tasks.

    `word`: the state of its tasks, a key of `STATES`.
    `number`: how many tasks it stands for.
    `begin`, `width`: where it lies, in units of `BAR`.
    """

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
    """The label of each task: its name in printable form, with a number where another task has the same label."""
    by_name: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        label, number = printable(name), 1
        while label in taken:
            number += 1
            label = f"{printable(name)} ({number})"
        by_name[name] = label
        taken.add(label)
    return by_name


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
    """The bar over the panel's tasks, in the order of `STATES`. A word for unsound records needs such a task."""
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
    """The page's one script: its files, joined in a scope of their own."""
    return '"use strict";\n(() => {\n' + "\n".join(map(_source, SCRIPTS)) + "})();\n"


@cache
def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]
