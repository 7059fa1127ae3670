"""Causes ranked over a panel: what to fix in which image first.

Pure. A cause in a record names the file that failed to import. Over a panel, the same missing module is one cause.
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
    """Anything with a cause and ids: a finding, or listed ids that the image classes otherwise."""

    @property
    def cause(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Ranked:
    """One cause over a panel.

    `cause`: its text, as `common` gives it.
    `tests`: how many tests have it, over all tasks.
    `tasks`: (task, its number of tests with the cause), the largest number first.
    """

    cause: str
    tests: int
    tasks: tuple[tuple[str, int], ...]


def common(cause: str) -> str:
    """A cause without what belongs to one file or one id, so that tasks can share it; `NO_CAUSE` for none."""
    return _PLACE.sub("", cause).partition(_NEAREST)[0] or NO_CAUSE


def rank(found: Iterable[tuple[str, Caused]]) -> tuple[Ranked, ...]:
    """The causes of (task, finding) pairs, those with most tests first. A finding without ids does not count."""
    causes: dict[str, Counter[str]] = {}
    for task, finding in found:
        if finding.ids:
            causes.setdefault(common(finding.cause), Counter())[task] += len(finding.ids)
    ranked = (_ranked(cause, tasks) for cause, tasks in causes.items())
    return tuple(sorted(ranked, key=lambda cause: (-cause.tests, cause.cause)))


def _ranked(cause: str, tasks: Counter[str]) -> Ranked:
    counts = sorted(tasks.items(), key=lambda pair: (-pair[1], pair[0]))
    return Ranked(cause, tasks.total(), tuple(counts))
