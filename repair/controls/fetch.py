"""Patterns of report files, as a shell's: `*`, `?` and `[…]` stay within one name, `**` is any folders or none.

A stranger writes both patterns and names: the time is at most that of their lengths multiplied.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

ANY = "**"
Matches = Callable[[str], bool]


def glob(pattern: str) -> Matches:
    """Whether a path fits a pattern; both may begin with `./`, which says nothing."""
    parts = [None if part == ANY else _name(part) for part in pattern.removeprefix("./").split("/")]

    def matches(path: str) -> bool:
        places = _skipped(parts, {0})
        for name in path.removeprefix("./").split("/"):
            places = _skipped(parts, {place for at in places for place in _after(parts, at, name)})
        return len(parts) in places

    return matches


def _after(parts: list[Matches | None], at: int, name: str) -> list[int]:
    """The places in a pattern where a path may be behind `name`, from one before it."""
    if at == len(parts):
        return []
    part = parts[at]
    if part is None:
        return [at]
    return [at + 1] if part(name) else []


def _skipped(parts: list[Matches | None], places: set[int]) -> set[int]:
    """The places, and those behind each `**` that stands for no folder at all."""
    found = set(places)
    for at in range(len(parts)):
        if at in found and parts[at] is None:
            found.add(at + 1)
    return found


def _name(part: str) -> Matches:
    expression = re.compile(fnmatch.translate(re.sub(r"\*+", "*", part)))
    return lambda name: expression.match(name) is not None
