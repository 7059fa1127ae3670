"""Causes ranked over a panel: what to mend in which image first.

Pure. A cause in a record names the file that failed to import; over a panel the same missing module is one cause.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

NO_CAUSE = "no cause given"
_PLACE = re.compile(r"^[^\s:]+: (?=[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit)\b)")
_NEAREST = "; nearest: "


class Caused(Protocol):
    """What has a cause and ids: a finding, or what is wrong with a list."""

    @property
    def cause(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Ranked:
    """One cause over a panel: how many `tests` have it, and the tasks that have it, each with its number of tests.

    `tasks` are sorted by number, largest first.
    """

    cause: str
    tests: int
    tasks: tuple[tuple[str, int], ...]


def common(cause: str) -> str:
    """A cause without what is one file's or one id's own, so that tasks can share it."""
    return _PLACE.sub("", cause).partition(_NEAREST)[0] or NO_CAUSE


def rank(found: Iterable[tuple[str, Caused]]) -> tuple[Ranked, ...]:
    """The causes of (task, finding) pairs that have ids, those with most tests first."""
    causes: dict[str, Counter[str]] = {}
    for task, finding in found:
        if finding.ids:
            causes.setdefault(common(finding.cause), Counter())[task] += len(finding.ids)
    ranked = (_ranked(cause, tasks) for cause, tasks in causes.items())
    return tuple(sorted(ranked, key=lambda cause: (-cause.tests, cause.cause)))


def _ranked(cause: str, tasks: Counter[str]) -> Ranked:
    counts = sorted(tasks.items(), key=lambda pair: (-pair[1], pair[0]))
    return Ranked(cause, tasks.total(), tuple(counts))
