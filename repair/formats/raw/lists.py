"""List columns of foreign rows: real lists, JSON texts, Python-repr texts, or objects keyed by test.

No text is evaluated: it is read as JSON, or else as a Python literal. A text that is neither is an error, and so is an
absent list. An empty list is data.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from repair.formats.base import RowError
from repair.formats.raw.json_text import Span, elements, members, staying, string_parts


def read(value: Any, field: str) -> tuple[str, ...]:
    """The ids of a list column, in their order. Raises `RowError`, with the field `field`."""
    if value is None:
        raise RowError(field, "is missing; an empty list would be []")
    items = parsed(value, field) if isinstance(value, str) else value
    if isinstance(items, dict):
        items = list(items)
    if not isinstance(items, list | tuple) or not {str}.issuperset(map(type, items)):
        raise RowError(field, f"expected a list of test ids, found {_shown(value)}")
    return tuple(items)


def parsed(text: str, field: str) -> Any:
    """The value of a text column, as JSON or as a Python literal. Raises `RowError` where it is neither."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    except RecursionError:
        raise RowError(field, "is nested too deeply") from None
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = ast.literal_eval(tree)
        strings = sum(isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) for node in ast.walk(tree))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise RowError(field, f"is neither JSON nor a Python literal: {_shown(text)}") from None
    # Python joins strings without a comma between them, so a list as numpy prints it would be one id
    if sum(1 for _ in _STRING.finditer(text)) != strings:
        raise RowError(field, f"holds strings without a comma between them, as numpy prints lists: {_shown(text)}")
    return value


_STRING = re.compile(
    r"""'{3}(?:[^\\]|\\.)*?'{3}|"{3}(?:[^\\]|\\.)*?"{3}|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL
)
Goes = Callable[[Any], bool]  # whether an item of a list column goes


def without(value: str, goes: Goes) -> str:
    """The JSON text of a list column without the items that go; everything else is as it came."""
    return _join(value, _staying(value, goes)) if value.lstrip()[:1] in ("[", "{", '"') else value


def text_without(text: str, goes: Goes) -> str:
    """A list as a text, JSON or Python repr, without the items that go. A text that is not a list stays as it is."""
    return _join(text, _staying(text, goes))


def _join(text: str, spans: Sequence[Span]) -> str:
    return "".join(text[begin:end] for begin, end in spans)


def _staying(text: str, goes: Goes) -> list[Span]:
    """The spans of a list's text that stay when items go. Of a text that is not a list all stays."""
    try:
        value = json.loads(text)
        if isinstance(value, list):
            return staying(text, [(span, not goes(item)) for item, span in elements(text)])
        if isinstance(value, dict):
            return staying(text, [(whole, not goes(key)) for key, whole, _ in members(text)])
        if isinstance(value, str):
            return string_parts(text, _staying(value, goes))
    except (ValueError, RecursionError):
        pass
    try:
        return _literal_staying(text, goes)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [(0, len(text))]


def value_without(value: Any, goes: Goes) -> Any:
    """The value of a list column, of any type, without the items that go."""
    if isinstance(value, str):
        return text_without(value, goes)
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if not goes(key)}
    if isinstance(value, list):  # Parquet gives maps as pairs
        return [item for item in value if not goes(item[0] if isinstance(item, tuple) else item)]
    return value


def _literal_staying(text: str, goes: Goes) -> list[Span]:
    """As `_staying`, for the text of a Python list, tuple, set or dict. Raises `ValueError` for another text."""
    stripped = text.strip()
    body = ast.parse(stripped, mode="eval").body
    place = _Places(stripped, len(text) - len(text.lstrip()))
    if isinstance(body, ast.Dict):
        pairs = [(key, value) for key, value in zip(body.keys, body.values, strict=True) if key is not None]
        return staying(
            text, [((place.begin(key), place.end(value)), not goes(ast.literal_eval(key))) for key, value in pairs]
        )
    if not isinstance(body, ast.List | ast.Tuple | ast.Set):
        raise ValueError("expected a list")
    items = [((place.begin(item), place.end(item)), not goes(ast.literal_eval(item))) for item in body.elts]
    spans = staying(text, items)
    kept = [span for span, stays in items if stays]
    if isinstance(body, ast.Tuple) and len(kept) == 1 and "," not in text[items[-1][0][1] :]:
        comma = text.index(",", items[0][0][1])  # a tuple of one needs its comma
        spans.insert(-1, (comma, comma + 1))
    return spans


class _Places:
    """Where the nodes of a parsed text stand, in characters. `shift`: number of blanks stripped off its beginning."""

    def __init__(self, text: str, shift: int) -> None:
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self.starts = [shift]
        self.offsets: dict[int, Sequence[int]] = {}
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def begin(self, node: ast.expr) -> int:
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        return self._at(node.end_lineno or 0, node.end_col_offset or 0)

    def _at(self, line: int, column: int) -> int:  # `column` counts bytes of UTF-8
        text = self.lines[line - 1]
        if not text.isascii():
            column = bisect_left(self._bytes_before(line), column)
        return self.starts[line - 1] + column

    def _bytes_before(self, line: int) -> Sequence[int]:
        """The numbers of bytes of a line before each of its characters, and before its end."""
        if line not in self.offsets:
            sizes = (len(character.encode("utf-8", "surrogatepass")) for character in self.lines[line - 1])
            self.offsets[line] = tuple(accumulate(sizes, initial=0))
        return self.offsets[line]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}… ({type(value).__name__})"
