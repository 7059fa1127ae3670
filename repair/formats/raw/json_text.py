"""JSON as text: where its parts stand, and a document with some list items taken out and all else as it came.

Foreign rows are never written anew: numbers, escapes, blanks and the order of keys stay what somebody else chose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")

Span = tuple[int, int]


def elements(text: str) -> Iterator[tuple[Any, Span]]:
    """The items of the array that a text is, each with its span. Raises `ValueError` where it is no array alone."""
    at = _expect(text, 0, "[")
    more = text[at : at + 1] != "]"
    while more:
        value, end = _DECODER.raw_decode(text, at)
        yield value, (at, end)
        at = _skip(text, end)
        more = text[at : at + 1] != "]"
        at = _expect(text, at, ",") if more else at
    if _skip(text, at + 1) < len(text):
        raise ValueError(f"something stands behind the array, at character {at + 1}")


def members(text: str) -> Iterator[tuple[str, Span, Span]]:
    """The keys of the object that a text is, with the spans of the whole member and of its value."""
    at = _expect(text, 0, "{")
    if text[at : at + 1] == "}":
        return
    while True:
        key, end = _DECODER.raw_decode(text, at)
        if not isinstance(key, str):
            raise ValueError(f"expected a key at character {at}")
        begin = _expect(text, _skip(text, end), ":")
        _, end = _DECODER.raw_decode(text, begin)
        yield key, (at, end), (begin, end)
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return
        at = _expect(text, at, ",")


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _expect(text: str, at: int, what: str) -> int:
    """The place behind `what` and the blanks around it."""
    at = _skip(text, at)
    if text[at : at + 1] != what:
        raise ValueError(f"expected {what!r} at character {at}")
    return _skip(text, at + 1)


def replace_values(row: str, change: Mapping[str, Callable[[str], str]]) -> str:
    """The object with the values of some keys changed, each by a function of the value's text."""
    pieces, done = [], 0
    for key, _, (begin, end) in members(row):
        if key in change:
            pieces += [row[done:begin], change[key](row[begin:end])]
            done = end
    return "".join([*pieces, row[done:]])


def staying(text: str, items: Sequence[tuple[Span, bool]]) -> list[Span]:
    """The parts of a list's text that are left when items go; each item comes with whether it stays.

    Separators stay as they are: that before an item goes with it.
    """
    if all(stays for _, stays in items):
        return [(0, len(text))]
    head, tail = (0, items[0][0][0]), (items[-1][0][1], len(text))
    kept = [number for number, (_, stays) in enumerate(items) if stays]
    if not kept:
        end = len(text[: head[1]].rstrip())
        begin = len(text) - len(text[tail[0] :].lstrip(" \t\r\n,"))
        return [(0, end), (begin, len(text))]
    spans = [head, items[kept[0]][0]]
    for number in kept[1:]:
        spans += [(items[number - 1][0][1], items[number][0][0]), items[number][0]]
    return [*spans, tail]


_PIECE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)


def string_parts(text: str, spans: Sequence[Span]) -> list[Span]:
    """Parts of what a JSON string holds as parts of its text, however it escapes them; the quotes are among them."""
    first, last = text.index('"') + 1, text.rindex('"')
    places = list(accumulate(map(len, _PIECE.findall(text, first, last)), initial=first))
    return [(0, first), *((places[begin], places[end]) for begin, end in spans), (last, len(text))]
