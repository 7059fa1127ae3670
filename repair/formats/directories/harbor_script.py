"""A Harbor task's tests/test.sh and the files next to it: the command that runs the tests, and lists of ids in them.

Adapters write the script. It sets the shell up, puts the hidden tests in place, records the output of the tests and
grades it. Pure: no part of a script is run here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from repair.formats import commands
from repair.formats.base import RowError, Wants
from repair.formats.raw import lists
from repair.formats.raw.json_text import replace_values
from repair.outcomes.frameworks import plan, shell
from repair.outcomes.rewards import BEGIN, END

NAME = "tests/test.sh"
IN_BRANCHES = f"its {NAME} runs tests in branches: the first command is taken, the others are left out"

# ---- the command

_RECORDS = re.compile(r"exec\s.*>\s*\(\s*tee\b")  # the output goes to a log from here on
_ENDS = re.compile(r"exec\s+1>&3\b")
_BESIDE = re.compile(r"\s*(?:set\s|exec\s|LOG_FILE=|export LOG_FILE\b)")  # lines that only record
# A hidden status would contradict the report. No part of `repair` reads the log, so it needs no file.
_HIDES = re.compile(
    r"""\s*(?:\|\|\s*(?:true|:)|;\s*\w+=\$\?|\|&?\s*tee\b[^|;&]*|(?:\d|&)?>>?\s*[^\s;&|]+|2>&1)\s*;?\s*\Z"""
)
_BRANCHES = re.compile(
    r"\s*(?:(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|exit|return)\b|;;|[{}()]|\w+\s*\(\))"
)
_GRADER = re.compile(r"\bparser\.py\b")


def runtime(script: str, wants: Wants) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """The keys of task.json that run the tests of a test.sh, and notes; None where it shows no known runner.

    The tests stand between SWE-bench's markers, else where the output is recorded, else where a runner is called.
    """
    # a line with a here-document would take the lines after it for its text, and it sets no shell up
    lines = [line.bare for line in commands.statements(script.replace("\r\n", "\n")) if not line.has_body]
    plain = [line for line in lines if "\n" not in line]  # a text over several lines is data
    called = [n for n, line in enumerate(plain) if plan.recognise(line) and not _GRADER.search(line)]
    marked = _markers(plain) or _recorded(plain)
    first, last = marked or _called(plain, called) or (0, 0)
    tests = [_shown(line) for line in plain[first:last] if not _BESIDE.match(line)]
    if not any(tests):
        return None
    before = [line for line in plain[:first] if not _BESIDE.match(line) and BEGIN not in line]
    keys, notes = commands.of_script("\n".join([*before, BEGIN, *tests, END]), NAME, wants)
    if keys["framework"] == commands.UNKNOWN:
        return None
    return keys, notes if marked or last > called[-1] else (*notes, IN_BRANCHES)


def _markers(lines: list[str]) -> tuple[int, int] | None:
    """Where the lines between SWE-bench's markers begin and end; None without both markers."""
    begin = next((n for n, line in enumerate(lines) if BEGIN in line), None)
    end = next((n for n, line in enumerate(lines) if END in line), None)
    return None if begin is None or end is None else (begin + 1, end)


def _recorded(lines: list[str]) -> tuple[int, int] | None:
    """Where the lines whose output is recorded begin and end; None where they show no known runner."""
    begin = next((n for n, line in enumerate(lines) if _RECORDS.match(line)), None)
    if begin is None:
        return None
    end = next((n for n, line in enumerate(lines) if n > begin and _ENDS.match(line)), None)
    span = None if end is None else (begin + 1, end)
    return span if span and plan.recognise("\n".join(lines[slice(*span)])) else None


def _called(lines: list[str], called: list[int]) -> tuple[int, int] | None:
    """Where the lines from the first call of a runner to the last begin and end; None without a call."""
    if not called:
        return None
    first, last = called[0], called[-1]
    # with a branch in between, a command may run twice or never: only the first is taken
    return (first, first + 1) if any(map(_BRANCHES.match, lines[first:last])) else (first, last + 1)


def _shown(line: str) -> str:
    """A command without the parts that hide its status or its output."""
    while (shorter := _HIDES.sub("", line)) != line:
        line = shorter
    return line


# ---- lists of ids


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a task, to find them where a verifier holds them a second time.

    `f2p`, `p2p`: the ids of the two lists.
    `dropped_f2p`, `dropped_p2p`: the ids that are dropped of them.
    `columns`: the list columns of the task's row, each with a test of the items that go.
    `plain`: makes an id of an item.
    `patches`: texts in which an id does not stand in a list.
    """

    f2p: frozenset[str]
    p2p: frozenset[str]
    dropped_f2p: frozenset[str]
    dropped_p2p: frozenset[str]
    columns: Mapping[str, lists.Goes]
    plain: Callable[[str], str] = str
    patches: tuple[str, ...] = ()

    @property
    def dropped(self) -> frozenset[str]:
        return self.dropped_f2p | self.dropped_p2p

    def lost(self, ids: Iterable[str]) -> frozenset[str] | None:
        """The ids that a list loses; None where it is not one of the task's lists."""
        known = {self.f2p: self.dropped_f2p, self.p2p: self.dropped_p2p, self.f2p | self.p2p: self.dropped}
        return known.get(frozenset(ids))


def trimmed(name: str, text: str, known: Lists, *, strict: bool) -> str:
    """A file of the verifier with the task's lists trimmed wherever they stand in it as JSON or as Python lists.

    `strict` is for shell scripts. With it, a dropped id also leaves a command that has kept ids among its arguments.
    Raises `RowError` where a dropped id stays in a list of ids. With `strict` it must not stay in quotes, alone on a
    line, or in a command either.
    """
    if not any(start in text for start in {_start(test) for test in known.dropped}):
        return text
    text = _replaced(text, _rows(text, known))
    text = _replaced(text, _displays(name, text, known))
    if strict:
        text = _replaced(text, _arguments(text, known))
        rest = text
        for patch in known.patches:
            for spelling in (shlex.quote(patch)[1:-1], patch.strip("\n")):
                rest = rest.replace(spelling, "") if spelling else rest
        left = min(_listed(known.dropped, rest) | _named(known.dropped, rest), default=None)
        if left is not None:
            raise RowError(name, f"still lists {left!r}, which is dropped, in a form that cannot be trimmed")
    return text


def _replaced(text: str, parts: Iterator[tuple[int, int, Callable[[str], str]]]) -> str:
    """A text with some parts changed. Each part is its begin, its end, and a function of its text."""
    pieces, done = [], 0
    for begin, end, change in parts:
        pieces += [text[done:begin], change(text[begin:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _rows(text: str, known: Lists) -> Iterator[tuple[int, int, Callable[[str], str]]]:
    """The parts that are JSON objects with columns of the task's lists, to be trimmed."""
    decoder, done = json.JSONDecoder(), 0
    for match in re.finditer(r'\{(?=\s*")', text):
        if match.start() < done:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if any(column in value for column in known.columns):
            yield match.start(), end, lambda old: replace_values(old, changes(known.columns))
            done = end


def _displays(name: str, text: str, known: Lists) -> Iterator[tuple[int, int, Callable[[str], str]]]:
    """The parts that are lists of the task, to be trimmed.

    Raises `RowError` for another list that holds only ids of the task, and a dropped one among them.
    """
    listed = known.f2p | known.p2p
    for match in _DISPLAY.finditer(text):
        try:
            ids = [known.plain(item) for item in lists.read(match[0], name)]
        except RowError:
            continue
        if listed.isdisjoint(ids):
            continue
        lost = known.lost(ids)
        if lost:
            yield match.start(), match.end(), partial(_without, known, lost)
        elif lost is None and listed.issuperset(ids) and not known.dropped.isdisjoint(ids):
            left = min(known.dropped.intersection(ids))
            raise RowError(name, f"holds a list with {left!r}, which is dropped, that is neither F2P nor P2P")


# Words that do not take the next word for a value.
_FLAGS = re.compile(r"-r\w+|-[vqslx]+|--(?:no-\S+|verbose|quiet|\S+=\S*)?|[^-].*", re.DOTALL)


def _arguments(text: str, known: Lists) -> Iterator[tuple[int, int, Callable[[str], str]]]:
    """The parts to be removed: dropped ids, with the blanks before them, in commands that name kept ids, too."""
    dropped = known.dropped
    kept = (known.f2p | known.p2p) - dropped
    for command in shell.commands(text):
        words = [(word, word.value) for word in command.words]
        operands = [
            (before, word, value) for (before, flag), (word, value) in pairwise(words) if _FLAGS.fullmatch(flag)
        ]
        if not any(value in kept for *_, value in operands):
            continue
        for before, word, value in operands:
            if value in dropped and not text[before.end : word.start].strip(" \t\\\n"):
                yield before.end, word.end, lambda _: ""


_HARMLESS = re.compile(r"--(?:deselect|ignore)(?:=|(?:[ \t]|\\\n)++)")
_AROUND = "'\"\\;&|`"


def _named(tests: Iterable[str], text: str) -> set[str]:
    """The ids that are words of a command, in any quotes. Ids that the command leaves out do not count.

    An id without punctuation does not count: that word may be anything, such as a goal of a build.
    """
    spelt = {entry.strip(_AROUND): test for test in tests if re.search(r"\W", test) for entry in _spellings(test)}
    spelt.pop("", None)
    pieces = [piece for piece in shell.scan(text) if piece.kind is not shell.Kind.COMMENT]
    words = _HARMLESS.sub("--deselect=", "".join(piece.text for piece in pieces)).split()
    words += [piece.value for piece in pieces if piece.kind is shell.Kind.WORD and "\\" in piece.text]
    ids = set()
    for word in (word.strip(_AROUND) for word in words):
        if not word.startswith("--deselect="):
            entries = (word, word.strip(f"{_AROUND}()"), word.partition("=")[2].strip(f"{_AROUND}()"))
            ids |= {spelt[entry] for entry in entries if entry in spelt}
    return ids


def _without(known: Lists, lost: frozenset[str], old: str) -> str:
    return lists.text_without(old, lambda item: known.plain(item) in lost)


def changes(columns: Mapping[str, lists.Goes]) -> dict[str, Callable[[str], str]]:
    """For each list column of a row the function that trims the text of its value."""
    return {name: partial(_column_without, goes) for name, goes in columns.items()}


def _column_without(goes: lists.Goes, value: str) -> str:
    return lists.without(value, goes)


_ITEM = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_DISPLAY = re.compile(rf"\[\s*+{_ITEM}(?:\s*+,\s*+{_ITEM})*+\s*+,?\s*+\]", re.DOTALL)  # of texts: nothing nests


def _spellings(test: str) -> set[str]:
    """An id as it is, as JSON writes it, as JSON writes that once more, and as Python writes it."""
    once = json.dumps(test)[1:-1]
    return {test, once, json.dumps(once)[1:-1], json.dumps(test, ensure_ascii=False)[1:-1], repr(test)[1:-1]}


# How an id begins in all of its spellings. Many ids begin alike, so a text without a dropped id is soon known.
_START = re.compile(r"[A-Za-z0-9_./:-]{1,4}")


def _start(test: str) -> str:
    match = _START.match(test)
    return match[0] if match else ""


def _listed(tests: Iterable[str], text: str) -> set[str]:
    """The ids that stand in quotes, or alone on a line. It takes one pass, however many ids there are."""
    spelt = {spelling: test for test in tests for spelling in _spellings(test)}
    lone = {spelling.strip(" \t"): test for spelling, test in spelt.items()}
    ids = set()
    for line in text.split("\n"):
        bare = line.removesuffix("\r").strip(" \t")
        for entry in (bare, bare.removesuffix(",").rstrip(" \t")):
            if entry in lone:
                ids.add(lone[entry])
    for quote in "'\"":
        ids |= _quoted(spelt, quote, text)
    return ids


def _quoted(spelt: Mapping[str, str], quote: str, text: str) -> set[str]:
    """The ids between two quotes, with as many of the same quotes between these as their spelling has.

    A shell script does not show which quote opens and which closes, so any two may enclose an id. Backslashes may stand
    before the second one, as in a text within a text.
    """
    by_count: dict[int, dict[str, str]] = {}
    for spelling, test in spelt.items():
        by_count.setdefault(spelling.count(quote), {})[spelling.rstrip("\\")] = test
    marks = list(re.finditer(rf"(?<!\\)\\*+{quote}", text))
    starts, ends = [match.end() for match in marks], [match.start() for match in marks]
    ids = set()
    for count, wanted in by_count.items():
        longest = max(map(len, wanted))
        for begin, end in zip(starts, ends[count + 1 :], strict=False):
            if end - begin <= longest and (entry := text[begin:end]) in wanted:
                ids.add(wanted[entry])
    return ids
