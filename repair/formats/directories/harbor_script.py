"""A Harbor task's tests/test.sh, and what stands beside it: the command that runs the tests, and lists of ids in it.

Adapters write a script that sets the shell up, puts the hidden tests in place, records the test command's output and
grades it. Pure, and nothing of a script is run here.
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
_BESIDE = re.compile(r"\s*(?:set\s|exec\s|LOG_FILE=|export LOG_FILE\b)")  # the recording itself
# A status that is hidden would contradict the report, and a log that nobody reads needs no file.
_HIDES = re.compile(
    r"""\s*(?:\|\|\s*(?:true|:)|;\s*\w+=\$\?|\|&?\s*tee\b[^|;&]*|(?:\d|&)?>>?\s*[^\s;&|]+|2>&1)\s*;?\s*\Z"""
)
_BRANCHES = re.compile(
    r"\s*(?:(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|function|exit|return)\b|;;|[{}()]|\w+\s*\(\))"
)
_GRADER = re.compile(r"\bparser\.py\b")


def runtime(script: str, wants: Wants) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """The keys of task.json that run what a test.sh runs, with notes; None where no known runner can be seen in it.

    The tests stand between SWE-bench's markers, else where the output is recorded, else where a runner is called.
    """
    # a here-document's line would take what follows for its text, and brings nothing that sets a shell up
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
    begin = next((n for n, line in enumerate(lines) if BEGIN in line), None)
    end = next((n for n, line in enumerate(lines) if END in line), None)
    return None if begin is None or end is None else (begin + 1, end)


def _recorded(lines: list[str]) -> tuple[int, int] | None:
    begin = next((n for n, line in enumerate(lines) if _RECORDS.match(line)), None)
    if begin is None:
        return None
    end = next((n for n, line in enumerate(lines) if n > begin and _ENDS.match(line)), None)
    found = None if end is None else (begin + 1, end)
    return found if found and plan.recognise("\n".join(lines[slice(*found)])) else None


def _called(lines: list[str], called: list[int]) -> tuple[int, int] | None:
    if not called:
        return None
    first, last = called[0], called[-1]
    # what begins or ends in between may not be run twice, or not at all
    return (first, first + 1) if any(map(_BRANCHES.match, lines[first:last])) else (first, last + 1)


def _shown(line: str) -> str:
    """A command without what hides its status or its output."""
    while (shorter := _HIDES.sub("", line)) != line:
        line = shorter
    return line


# ---- lists of ids


@dataclass(frozen=True, slots=True)
class Lists:
    """A task's lists as a verifier may hold them a second time, what is dropped of them, and texts that hold no list.

    `columns` are those of a row that holds them, each with what goes of it; `plain` makes an id of an item.
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
        """What a list loses: None where it is none of the task's."""
        known = {self.f2p: self.dropped_f2p, self.p2p: self.dropped_p2p, self.f2p | self.p2p: self.dropped}
        return known.get(frozenset(ids))


def trimmed(name: str, text: str, known: Lists, *, strict: bool) -> str:
    """A file of the verifier with the task's lists trimmed wherever they stand in it as JSON or as Python lists.

    Raises `RowError` where an id that is dropped stays in a list of ids. `strict`, for shell scripts: in quotes, alone
    on a line, or in a command, where it is taken out if it is one of several arguments that are ids.
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
    pieces, done = [], 0
    for begin, end, change in parts:
        pieces += [text[done:begin], change(text[begin:end])]
        done = end
    return "".join([*pieces, text[done:]])


def _rows(text: str, known: Lists) -> Iterator[tuple[int, int, Callable[[str], str]]]:
    """JSON objects that have the columns of the task's lists."""
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
    """Lists of texts that are the task's. Raises `RowError` for one of its ids alone that is none of them."""
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


# Words that don't take the next one for a value.
_FLAGS = re.compile(r"-r\w+|-[vqslx]+|--(?:no-\S+|verbose|quiet|\S+=\S*)?|[^-].*", re.DOTALL)


def _arguments(text: str, known: Lists) -> Iterator[tuple[int, int, Callable[[str], str]]]:
    """Dropped ids, with the blanks before them, that are words of a command which names kept ones, too."""
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
    """The ids that stand among the words of a command, in whatever quotes, but for those that it leaves out.

    Words without punctuation may be anything, such as a goal of a build.
    """
    spelt = {entry.strip(_AROUND): test for test in tests if re.search(r"\W", test) for entry in _spellings(test)}
    spelt.pop("", None)
    pieces = [piece for piece in shell.scan(text) if piece.kind is not shell.Kind.COMMENT]
    words = _HARMLESS.sub("--deselect=", "".join(piece.text for piece in pieces)).split()
    words += [piece.value for piece in pieces if piece.kind is shell.Kind.WORD and "\\" in piece.text]
    found = set()
    for word in (word.strip(_AROUND) for word in words):
        if not word.startswith("--deselect="):
            entries = (word, word.strip(f"{_AROUND}()"), word.partition("=")[2].strip(f"{_AROUND}()"))
            found |= {spelt[entry] for entry in entries if entry in spelt}
    return found


def _without(known: Lists, lost: frozenset[str], old: str) -> str:
    return lists.text_without(old, lambda item: known.plain(item) in lost)


def changes(columns: Mapping[str, lists.Goes]) -> dict[str, Callable[[str], str]]:
    """How the texts of a row's list columns change."""
    return {name: partial(_column_without, goes) for name, goes in columns.items()}


def _column_without(goes: lists.Goes, value: str) -> str:
    return lists.without(value, goes)


_ITEM = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_DISPLAY = re.compile(rf"\[\s*+{_ITEM}(?:\s*+,\s*+{_ITEM})*+\s*+,?\s*+\]", re.DOTALL)  # of texts: nothing nests


def _spellings(test: str) -> set[str]:
    """An id as it is, in a JSON text, in a JSON text in a JSON text, and as Python writes it."""
    once = json.dumps(test)[1:-1]
    return {test, once, json.dumps(once)[1:-1], json.dumps(test, ensure_ascii=False)[1:-1], repr(test)[1:-1]}


# What an id begins with in all its spellings. Few differ, so a text in which no dropped id stands is known soon.
_START = re.compile(r"[A-Za-z0-9_./:-]{1,4}")


def _start(test: str) -> str:
    match = _START.match(test)
    return match[0] if match else ""


def _listed(tests: Iterable[str], text: str) -> set[str]:
    """The ids that stand in quotes, or alone on a line. In one pass over the text, however many there are."""
    spelt = {spelling: test for test in tests for spelling in _spellings(test)}
    lone = {spelling.strip(" \t"): test for spelling, test in spelt.items()}
    found = set()
    for line in text.split("\n"):
        bare = line.removesuffix("\r").strip(" \t")
        for entry in (bare, bare.removesuffix(",").rstrip(" \t")):
            if entry in lone:
                found.add(lone[entry])
    for quote in "'\"":
        found |= _quoted(spelt, quote, text)
    return found


def _quoted(spelt: Mapping[str, str], quote: str, text: str) -> set[str]:
    """The ids between two quotes, with as many of the same quotes between these as their spelling has.

    Which quote opens and which closes is nobody's to know in a shell script, so any two may. The closing one may have
    backslashes before it, as in a text within a text.
    """
    by_count: dict[int, dict[str, str]] = {}
    for spelling, test in spelt.items():
        by_count.setdefault(spelling.count(quote), {})[spelling.rstrip("\\")] = test
    marks = list(re.finditer(rf"(?<!\\)\\*+{quote}", text))
    starts, ends = [match.end() for match in marks], [match.start() for match in marks]
    found = set()
    for count, wanted in by_count.items():
        longest = max(map(len, wanted))
        for begin, end in zip(starts, ends[count + 1 :], strict=False):
            if end - begin <= longest and (entry := text[begin:end]) in wanted:
                found.add(wanted[entry])
    return found
