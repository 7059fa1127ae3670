"""A `Diff` as GitHub Markdown for a pull request's comment: below GitHub's limit, and nothing of a task's is markup.

A text of somebody else stands in a code span and nowhere else: there is no HTML, link, image, mention or reference in
one. No tables: what a bar means in them depends on the parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from repair.records.diff.compare import Diff
from repair.report.diff.sections import Entry, Line, Section, Theirs, number, sections, title
from repair.text import printable

LIMIT = 65_000  # characters; held in bytes of UTF-8, which are never fewer
RESERVE = 4_000  # bytes for titles, and for what closes sections and says how much was cut
MORE = 60  # bytes of such a line
A_TASK = 1_500  # bytes that a task may take, however many there are
MAX_TEXT = 300  # characters of one text
END = 100  # characters of these for the end of a text that is cut, where ids differ
MAX_RUN = 16  # backticks in a row; GitHub knows no fence of more than 80
FOLD = 10  # more lines than these are folded
TASKS = "changes by task"
_LONG_RUN = re.compile(f"`{{{MAX_RUN + 1},}}")


def markdown(diff: Diff) -> str:
    """A diff as GitHub Markdown of fewer than 65,000 characters, and bytes; what does not fit is cut with a count."""
    head = f"### repair diff: {inline(title(diff))}\n"
    if not diff.differs:
        return f"{head}\nNo difference ({number(diff.same, 'task')}).\n"
    parts = [head]
    left = LIMIT - RESERVE - _size(head)
    for section in sections(diff):
        if section.loud:
            part = _alert(section, left // 2)
        elif section.title == TASKS:
            part = _by_task(section, left)
        else:
            part = _plain(section, left // 2)
        parts.append(part)
        left = max(0, left - _size(part))
    return "\n".join(parts)


def code(text: str) -> str:
    """Somebody else's text as a code span on one line: a fence that the text does not hold, and at most 300 of it.

    A longer text is cut in the middle; of very many backticks in a row one is shown with their number, `×80`.
    """
    text = _LONG_RUN.sub(lambda run: f"`×{len(run[0])}", printable(text))
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - END - 1]}…{text[-END:]}"
    if not text.strip():
        return "(blank)"
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def inline(line: Line) -> str:
    """A line of ours and theirs; ours holds no markup, and its `<` is the gate's."""
    return "".join(code(part.text) if isinstance(part, Theirs) else part.replace("<", "&lt;") for part in line)


def _alert(section: Section, room: int) -> str:
    """What must not be overlooked, as one of GitHub's alerts."""
    lines = ["[!CAUTION]", _bold(section), "", *_fitting(section.entries, None, 0, room)]
    return "".join(f"> {line}\n" for line in lines)


def _plain(section: Section, room: int) -> str:
    lines = _fitting(section.entries, None, 0, room)
    if len(lines) <= FOLD:
        return _text([_bold(section), "", *lines])
    return _text([_bold(section), "", *_folded(number(len(section.entries), "line"), lines)])


def _by_task(section: Section, room: int) -> str:
    """Each task with its changes; what is long is folded, and when there is no more room the rest is counted."""
    parts = [_text([_bold(section)])]
    for position, entry in enumerate(section.entries):
        head = f"\n#### {inline(entry.line)}\n\n"
        lines = _fitting(entry.below, None, 0, min(max(room // 4, A_TASK), room) - _size(head))
        if len(lines) > FOLD:
            lines = _folded(number(len(entry.below), "change"), lines)
        part = head + _text(lines)
        if _size(part) + MORE > room:
            left = number(len(section.entries) - position, "more task")
            parts.append(f"\nand {left}, which repair diff shows in a terminal\n")
            break
        parts.append(part)
        room -= _size(part)
    return "".join(parts)


def _bold(section: Section) -> str:
    return f"**{section.title[0].upper()}{section.title[1:]}**"


def _folded(summary: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


def _fitting(entries: Sequence[Entry], limit: int | None, depth: int, room: int) -> list[str]:
    """Entries as nested list items of about `room` bytes, and what is below each; the rest of each list as a count.

    All lines of a list come before what is below any, and that is cut to shares: no entry crowds out the next ones.
    """
    pad = "  " * depth
    lines: list[str] = []
    for entry in entries[:limit]:
        line = f"{pad}- {inline(entry.line)}"
        taken = _size(line) + 1 + (MORE if entry.below else 0)
        if taken > room:
            break
        lines.append(line)
        room -= taken
    found: list[str] = []
    shares = sum(bool(entry.below) for entry in entries[: len(lines)])
    for entry, line in zip(entries, lines, strict=False):
        found.append(line)
        if entry.below:
            below = _fitting(entry.below, entry.limit, depth + 1, room // shares)
            room -= _size(_text(below)) - MORE
            shares -= 1
            found += below
    left = len(entries) - len(lines)
    return [*found, f"{pad}- and {left} more"] if left else found


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _size(text: str) -> int:
    return len(text.encode())
