"""Text that records, tables and messages show: normalised causes, safe characters, lengths, JSON.

Pure. Raw text stays in the logs. What differs from run to run without meaning anything is replaced here, so that the
same evidence gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# ---- causes

MAX_CHARS = 300  # of a normalised cause
MAX_READ = 20_000  # characters of a raw text; no cause needs what follows
_SPACE = re.compile(r"\s+")
_STYLING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (_STYLING, ""),
    (re.compile(r"/\.repair-[0-9a-f]+"), "/.repair"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "0x…"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"/pytest-of-[^/\s'\"]+/pytest-\d+"), "/pytest"),
    (re.compile(r"(?:/private)?(?:/var)?/tmp/[^\s'\",:;)\]]+"), "/tmp/…"),  # noqa: S108
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<hex>"),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} [\d:]{8} \d{4}\b"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)? ?(?:ns|us|µs|ms|s|sec|secs|seconds?|minutes?)\b"), "<duration>"),
    (re.compile(r"\b(pid|PID|port|thread|Thread|process|worker)([ =:#-]+)\d+"), r"\1\2<n>"),
    (re.compile(r"\b\d{5,}\b"), "<n>"),
)
_SET = re.compile(r"\{([^{}:,]*(?:,[^{}:,]*)+)\}")


def normalise(text: str) -> str:
    """`text` as one line of at most 300 characters that is the same in every run.

    It replaces addresses, durations, times, temporary paths and counters, and sorts the members of sets.
    """
    text = text[:MAX_READ]
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = _SET.sub(lambda m: "{" + ", ".join(sorted(part.strip() for part in m[1].split(","))) + "}", text)
    text = printable(_SPACE.sub(" ", text).strip())
    return cut(text, MAX_CHARS)


def first_line(text: str) -> str:
    """The first line of `text` that is not blank, normalised; empty where every line is blank."""
    return normalise(next((line for line in text.splitlines() if line.strip()), ""))


_NO_SPACE = re.compile("no space left on device|disk quota exceeded|disk is full", re.IGNORECASE)


def says_no_space(text: str) -> bool:
    """Does `text` hold the words by which systems and SQLite say that a disk is full?"""
    return _NO_SPACE.search(text) is not None


# ---- text that is safe to show and to write

# Unicode's controls, format characters, surrogates, private use, and separators of lines and paragraphs.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def shown_line(line: str) -> str:
    """A log's line as a terminal or a page may show it: without styling, control characters spelt as escapes."""
    return printable(_STYLING.sub("", line.rstrip("\r\n")).expandtabs())


def printable(text: str) -> str:
    """`text` with control characters, bidirectional marks and lone surrogates spelt as escapes: no reader is fooled."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def clean(text: str) -> str:
    """`text` that every encoder takes: lone surrogates are spelt as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_encodable(text: str) -> bool:
    """Can `text` be written as UTF-8?

    Text with a lone surrogate cannot: half a character, or a file name's byte that is not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---- lengths and numbers


def cut(text: str, most: int) -> str:
    """`text` in at most `most` characters; a longer text ends with `…`."""
    return text if len(text) <= most else text[: most - 1] + "…"


def number(count: int, noun: str) -> str:
    """`count` with its noun, such as `1 task` or `2 tasks`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def capped(lines: Sequence[str], most: int, indent: str = "") -> list[str]:
    """The first `most` lines and, where there are more, a line behind `indent` that says how many are left out."""
    return [*lines[:most], *([f"{indent}and {len(lines) - most} more"] if len(lines) > most else [])]


# ---- JSON and digests

MAX_WIDTH = 100  # characters of a value that takes one line
_encode = json.JSONEncoder(default=dict).encode


def sha256(content: bytes) -> str:
    """The sha256 of `content`, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def inline(value: Any) -> str:
    """`value` as one line of ASCII JSON: keys in the order given, a blank after each `,` and `:`."""
    return _encode(value).replace("\x7f", "\\u007f")


def pretty(value: Any, depth: int = 0) -> str:
    """`value` as ASCII JSON for people, indented by `depth` blanks.

    A value that fits on one line takes one line. A list of `ids` always has one id per line.
    """
    pad, end = " " * (depth + 1), " " * depth
    if isinstance(value, Mapping) and value:
        text = "" if isinstance(value.get("ids"), list | tuple) else inline(value)
        if not text or len(text) > MAX_WIDTH or '"ids": [' in text:
            items = (f"{pad}{inline(key)}: {_item(key, item, depth + 1)}" for key, item in value.items())
            return "{\n" + ",\n".join(items) + f"\n{end}}}"
        return text
    if isinstance(value, list | tuple) and value:
        text = inline(value)
        if len(text) > MAX_WIDTH or '"ids": [' in text:
            return _lines((pretty(item, depth + 1) for item in value), depth)
        return text
    return inline(value)


def _item(key: str, value: Any, depth: int) -> str:
    is_ids = key == "ids" and isinstance(value, list | tuple) and value
    return _lines(map(inline, value), depth) if is_ids else pretty(value, depth)


def _lines(items: Iterable[str], depth: int) -> str:
    return "[\n" + ",\n".join(" " * (depth + 1) + item for item in items) + "\n" + " " * depth + "]"
