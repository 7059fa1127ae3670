"""JSON as text: where its parts stand, and how some items leave a list while all else stays as it came.

`repair` never formats a foreign row: numbers, escapes, blanks and the order of keys stay as their author wrote them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")

Span = tuple[int, int]  # where a part begins and ends, in characters


def elements(text: str) -> Iterator[tuple[Any, Span]]:
    """The items of an array, each with its span. Raises `ValueError` where the text is not exactly one array."""
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
    """The keys of an object, each with the spans of the whole member and of its value.

    Raises `ValueError` where the text is not an object.
    """
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
    """The place behind the blanks that begin at `at`."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, what: str) -> int:
    """The place behind `what` and the blanks around it. Raises `ValueError` where something else is at `at`."""
    at = _skip(text, at)
    if text[at : at + 1] != what:
        raise ValueError(f"expected {what!r} at character {at}")
    return _skip(text, at + 1)


def replace_values(row: str, change: Mapping[str, Callable[[str], str]]) -> str:
    """The text of an object with the values of some keys changed. `change` holds functions of a value's text, by key.

    Raises `ValueError` where `row` is not an object.
    """
    pieces, done = [], 0
    for key, _, (begin, end) in members(row):
        if key in change:
            pieces += [row[done:begin], change[key](row[begin:end])]
            done = end
    return "".join([*pieces, row[done:]])


def staying(text: str, items: Sequence[tuple[Span, bool]]) -> list[Span]:
    """The spans of a list's text that stay when items go. `items` holds the span of each item, and whether it stays.

    An item goes with the separator before it. The other separators stay as they are.
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


# One character of a JSON string as its text spells it; a surrogate pair is one character.
_PIECE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)


def string_parts(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of the value of a JSON string as spans of its text, whatever it escapes. The two quotes are among them."""
    first, last = text.index('"') + 1, text.rindex('"')
    places = list(accumulate(map(len, _PIECE.findall(text, first, last)), initial=first))
    return [(0, first), *((places[begin], places[end]) for begin, end in spans), (last, len(text))]
