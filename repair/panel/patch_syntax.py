"""The parts of a unified diff or git diff, a file each: what names the file, its hunks and its binary content.

Pure. Diffs come from strangers, in any encoding, and are read as `git apply` reads them: a hunk ends where its
header's counts are used up, a file's name comes from its rename lines, else from `---` and `+++`, else from
`diff --git`. What stands between the files is text to git.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from repair.text import MAX_CHARS, cut, printable

MAX_NAMES = 20_000  # bytes in a `diff --git` line: no path is longer, and where its names part is found by trying

# Each pattern takes time that grows with a line's length, not with its square: lines are as long as strangers like.
NULL = b"/dev/null"
_PREFIXES = frozenset({b"a/", b"b/", b"c/", b"i/", b"o/", b"w/", b"1/", b"2/"})  # git's, diff.mnemonicPrefix too
_OTHER_SIDE = {b"a/": b"b/", b"b/": b"a/"}

EXTENDED = re.compile(
    rb"((?:old|new|deleted file|new file) mode |(?:copy|rename) (?:from|to) |rename (?:old|new) "
    rb"|(?:dis)?similarity index |index |--- |\+\+\+ )((?:.*[^\r\n])?)(\r*\n)"
)
INDEX = re.compile(rb"([0-9a-f]+)\.\.([0-9a-f]+)")
HUNK = re.compile(rb"@@ -(\d+(?:,(\d{1,18}))?) \+(\d+(?:,(\d{1,18}))?) @@")
_DIFFER = re.compile(rb"(?:Binary files|Files) (?=.* differ\r*\n)(.+) and (.+) differ\r*\n")
_MERGED = re.compile(rb"diff --(?:cc|combined) ((?:.*[^\r\n])?)\r*\n")
_BODY = frozenset({b" ", b"-", b"+", b"\\", b"\n"})  # what a hunk's line begins with; editors strip blank ones
_BLOCK = re.compile(rb"(?:literal|delta) \d+\n")
_BASE85 = re.compile(rb"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+\n")
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[abtnvfr"\\])')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_DATED = re.compile(rb"(?<! ) +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_EPOCH = re.compile(rb"\s+(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([-+]\d\d):?(\d\d)\s*")

MOVES = ((b"rename from ", b"rename to "), (b"rename old ", b"rename new "), (b"copy from ", b"copy to "))


@dataclass(frozen=True, slots=True)
class Header:
    """What names one file. `before` and `after` are its paths as text, None where there is no file then: UTF-8 with
    surrogateescape, git's quoting undone, `a/` and `b/` taken off.

    `old` and `new` are its paths; `prefixes` are what stands before them in the lines.
    `values` are a git header's lines by key, None in a traditional diff, which has `---` and `+++` alone. `sides` are
    the names in those two as spelt, empty where they are absent; `pair` those of `diff --git`, where it can be told
    which they are; `moved` those of a rename or copy.
    """

    lines: tuple[bytes, ...]
    values: Mapping[bytes, bytes] | None
    sides: tuple[bytes, bytes]
    pair: tuple[bytes, bytes] | None
    moved: tuple[bytes, bytes] | None
    old: bytes
    new: bytes
    prefixes: tuple[bytes, bytes]
    is_new: bool
    is_deleted: bool

    @property
    def before(self) -> str | None:
        return None if self.is_new else _decoded(self.old)

    @property
    def after(self) -> str | None:
        return None if self.is_deleted else _decoded(self.new)

    @property
    def shown(self) -> str:
        return shown(self.old if self.is_deleted else self.new)


@dataclass(frozen=True, slots=True)
class Hunk:
    """`said` are old and new lines as its header counts them, None where that cannot be read; `found` as they are."""

    header: bytes
    lines: tuple[bytes, ...]
    said: tuple[int, int] | None
    found: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """One file's part of a diff. `blocks` are git's binary content, forward and backward, after the line `marker`.

    `absent`: a line that says that binary files differ stands for their content. `cut`: a block is no
    whole one; `open`: the diff ends before the blank line that ends the last block.
    """

    header: Header
    hunks: tuple[Hunk, ...] = ()
    marker: bytes = b""
    blocks: tuple[tuple[bytes, ...], ...] = ()
    absent: bool = False
    cut: bool = False
    open: bool = False

    @property
    def binary(self) -> bool:
        return self.absent or bool(self.marker)


# ---- parts


def read(diff: bytes) -> tuple[Part | str, ...]:
    """The parts in order, and between them, in words, what git would stop at or silently pass over."""
    lines, at = _lines(diff), 0
    found: list[Part | str] = []
    while at < len(lines):
        if header := _git_header(lines, at) or _traditional_header(lines, at):
            part, at = _part(header, lines, at + len(header.lines))
            found.append(part)
            continue
        if HUNK.match(lines[at]):
            found.append(f"line {at + 1}: a hunk without a file before it")
        elif differ := _DIFFER.fullmatch(lines[at]):
            found.append(Part(_plain(lines[at : at + 1], (differ[1], b""), (differ[2], b"")), absent=True))
        elif lines[at].startswith(b"diff --git ") and not _names_one_file(lines[at]):
            found.append(f"line {at + 1}: a git header without a file's name")
        elif merged := _MERGED.fullmatch(lines[at]):
            found.append(f"{shown(unquoted(merged[1]))}: the combined diff of a merge, which git apply passes over")
        at += 1
    return tuple(found) or ("nothing in it is a diff",)


def _lines(diff: bytes) -> list[bytes]:
    """The lines with their ends. The last one gets the end that the first one has, where it lacks it."""
    lines = [line + b"\n" for line in diff.split(b"\n")]
    last = lines.pop()
    if last != b"\n":
        windows = bool(lines) and lines[0].endswith(b"\r\n") and not last.endswith(b"\r\n")
        lines.append(last[:-1] + b"\r\n" if windows else last)
    return lines


def _part(header: Header, lines: list[bytes], at: int) -> tuple[Part, int]:
    """The part that begins with `header` and goes on at line `at`, and where it ends."""
    if header.values is not None and at < len(lines):
        if lines[at].rstrip() == b"GIT binary patch":
            blocks, end, cut = _blocks(lines, at + 1)
            open_ = bool(blocks) and not cut and lines[end - 1] != b"\n"
            return Part(header, marker=lines[at], blocks=blocks, cut=cut, open=open_), end
        if _DIFFER.fullmatch(lines[at]):
            return Part(header, absent=True), at + 1
    hunks = []
    while at < len(lines) and lines[at].startswith(b"@@ -"):
        hunks.append(_hunk(lines, at))
        at += 1 + len(hunks[-1].lines)
    return Part(header, tuple(hunks)), at


def _blocks(lines: list[bytes], at: int) -> tuple[tuple[tuple[bytes, ...], ...], int, bool]:
    """git's binary content: at most two blocks, where they end, and whether one lacks the blank line at its end."""
    blocks: list[tuple[bytes, ...]] = []
    while len(blocks) < 2 and at < len(lines) and _BLOCK.fullmatch(lines[at]):
        end = at + 1
        while end < len(lines) and _BASE85.fullmatch(lines[end]):
            end += 1
        blocks.append(tuple(lines[at:end]))
        if end == len(lines) or lines[end] != b"\n":
            return tuple(blocks), end, end < len(lines)
        at = end + 1
    return tuple(blocks), at, not blocks


def _hunk(lines: list[bytes], at: int) -> Hunk:
    header = HUNK.match(lines[at])
    said = (int(header[2] or 1), int(header[4] or 1)) if header else None
    end = _end_as_said(lines, at + 1, said) if said else None
    if end is None or (end < len(lines) and lines[end].strip() and _is_body(lines, end)):
        end = at + 1
        while end < len(lines) and _is_body(lines, end):
            end += 1
    body = tuple(lines[at + 1 : end])
    kinds = [line[:1] for line in body]
    both = kinds.count(b" ") + kinds.count(b"\n")
    return Hunk(lines[at], body, said, (both + kinds.count(b"-"), both + kinds.count(b"+")))


def _end_as_said(lines: list[bytes], at: int, said: tuple[int, int]) -> int | None:
    """Where a hunk of so many old and new lines ends; None where its lines don't come to that."""
    old, new = said
    while old or new:
        kind = lines[at][:1] if at < len(lines) else b""
        if kind not in _BODY:
            return None
        old -= kind in b" \n-"
        new -= kind in b" \n+"
        if old < 0 or new < 0:
            return None
        at += 1
    return at + 1 if at < len(lines) and lines[at].startswith(b"\\ ") else at


def _is_body(lines: list[bytes], at: int) -> bool:
    """Does a line look like a hunk's, for want of counts? A mail's signature and the next file's header do not."""
    line, after = lines[at], lines[at + 1] if at + 1 < len(lines) else b""
    if line == b"\n":
        return after != b"\n" and after[:1] in _BODY and _is_body(lines, at + 1)
    if line.rstrip() == b"--" or (line.startswith(b"--- ") and after.startswith(b"+++ ")):
        return False
    return line[:1] in _BODY


# ---- names


def _git_header(lines: list[bytes], at: int) -> Header | None:
    if not lines[at].startswith(b"diff --git "):
        return None
    end, values = at + 1, dict[bytes, bytes]()
    while end < len(lines) and (line := EXTENDED.fullmatch(lines[end])):
        values[line[1]] = line[2]
        end += 1
    if not values:
        return None  # by itself that line is text to git
    moves = ((unquoted(values[one]), unquoted(values[two])) for one, two in MOVES if {one, two} <= values.keys())
    moved = next(moves, None)
    sides = name_and_tail(values.get(b"--- ", b""))[0], name_and_tail(values.get(b"+++ ", b""))[0]
    pair = _pair(lines[at].removeprefix(b"diff --git ").rstrip(b"\r\n"), sides, moved)
    left, right = (
        side if side not in {b"", NULL} else named for side, named in zip(sides, pair or (b"", b""), strict=True)
    )
    old, new, prefixes = _bare(left, right)
    if moved is not None:
        old, new = moved
        before, after = _before(left, old), _before(right, new)
        prefixes = b"a/" if before is None else before, b"b/" if after is None else after
    is_new, is_deleted = b"new file mode " in values or sides[0] == NULL, b"deleted file mode " in values
    is_deleted = is_deleted or sides[1] == NULL
    return Header(tuple(lines[at:end]), values, sides, pair, moved, old, new, prefixes, is_new, is_deleted)


def _traditional_header(lines: list[bytes], at: int) -> Header | None:
    if [line[:4] for line in lines[at : at + 3]] != [b"--- ", b"+++ ", b"@@ -"]:
        return None
    old, new = (name_and_tail(line[4:].rstrip(b"\r\n"), dated=True) for line in lines[at : at + 2])
    return _plain(lines[at : at + 2], old, new)


def _plain(lines: list[bytes], left: tuple[bytes, bytes], right: tuple[bytes, bytes]) -> Header:
    """A traditional header. git patches one file: of two names the shorter where the other adds to it, else `+++`'s."""
    sides = left[0], right[0]
    old, new, prefixes = _bare(*(b"" if side == NULL else side for side in sides))
    if not old.startswith(new) and not new.startswith(old):
        sides = spelt(right[0], prefixes[1], prefixes[0]), right[0]
    name = old if new.startswith(old) else new
    is_new = sides[0] == NULL or _is_epoch(left[1])
    is_deleted = not is_new and (sides[1] == NULL or _is_epoch(right[1]))
    return Header(tuple(lines), None, sides, None, None, name, name, prefixes, is_new, is_deleted)


def _pair(both: bytes, sides: tuple[bytes, bytes], moved: tuple[bytes, bytes] | None) -> tuple[bytes, bytes] | None:
    """The two names of a `diff --git` line as spelt. Names with blanks make it ambiguous, so the other lines help."""
    for left, right in _splits(both):
        old, new = unquoted(left), unquoted(right)
        if moved is not None:
            if _before(left, moved[0]) is not None and _before(right, moved[1]) is not None:
                return left, right
        elif old == new or (below(old) or b"/") == below(new) or (left, right) == sides:
            return left, right
    return None


def _names_one_file(line: bytes) -> bool:
    """Does a `diff --git` line that stands alone name one file twice? Then git passes over it, else it stops there."""
    pair = _pair(line.removeprefix(b"diff --git ").rstrip(b"\n"), (b"", b""), None)
    return pair is not None and below(unquoted(pair[0])) is not None


def _splits(both: bytes) -> Iterator[tuple[bytes, bytes]]:
    if quoted := _QUOTED.match(both):
        yield quoted[0], both[quoted.end() + 1 :]
    elif len(both) <= MAX_NAMES:
        yield from ((both[: blank.start()], both[blank.end() :]) for blank in re.finditer(rb"[ \t]", both))


def _bare(left: bytes, right: bytes) -> tuple[bytes, bytes, tuple[bytes, bytes]]:
    """Both paths of two names as spelt, either of them empty if absent, and what was taken off them as a prefix.

    A first folder is one if it is among git's own, or the one thing in which the two names differ.
    """
    old, new = unquoted(left or right), unquoted(right or left)
    heads = [name[: name.find(b"/") + 1] for name in (old, new)]
    if heads[0] == heads[1] or old.removeprefix(heads[0]) != new.removeprefix(heads[1]):
        heads = [head if head in _PREFIXES else b"" for head in heads]
    before, after = heads
    old, new = old.removeprefix(before), new.removeprefix(after)
    if not (left and right):
        before, after = (before, _OTHER_SIDE.get(before, before)) if left else (_OTHER_SIDE.get(after, after), after)
    return old, new, (before, after)


def spelt(text: bytes, prefix: bytes, other: bytes) -> bytes:
    """A name as spelt with another prefix; /dev/null has none."""
    quote = b'"' if _QUOTED.fullmatch(text) else b""
    if text == NULL or not text.startswith(quote + prefix):
        return text
    return quote + other + text.removeprefix(quote + prefix)


def _before(text: bytes, path: bytes) -> bytes | None:
    """The prefix that a name as spelt has before its path; None where it is no such name."""
    name = unquoted(text)
    prefix = name.removesuffix(path)
    return prefix if name.endswith(path) and (not prefix or prefix.endswith(b"/")) else None


def below(name: bytes) -> bytes | None:
    """The name without its first folder, as git apply reads it; None where it has none."""
    return name.partition(b"/")[2] or None


def name_and_tail(text: bytes, *, dated: bool = False) -> tuple[bytes, bytes]:
    """A name as spelt in `---` or `+++`, and what follows it: a tab and, where `dated`, a time with or without one."""
    if quoted := _QUOTED.match(text):
        end = quoted.end()
    else:
        end = text.find(b"\t")
        if end < 0:
            date = _DATED.search(text) if dated else None
            end = date.start() if date else len(text)
    return text[:end], text[end:]


def _is_epoch(tail: bytes) -> bool:
    """A time of zero stands for no file, as diff -N writes it in whatever zone."""
    time = _EPOCH.fullmatch(tail)
    if time is None:
        return False
    offset = int(time[4][1:]) * 60 + int(time[5])
    minutes = int(time[2]) * 60 + int(time[3]) - (1440 if time[1].startswith(b"1969") else 0)
    return minutes == (-offset if time[4].startswith(b"-") else offset)


def unquoted(text: bytes) -> bytes:
    """A name without git's C quoting; as it stands where it has none."""
    if not _QUOTED.fullmatch(text):
        return text
    return _ESCAPE.sub(lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else _ESCAPES.get(m[1], m[1]), text[1:-1])


def _decoded(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def shown(path: bytes) -> str:
    return cut(printable(_decoded(path)), MAX_CHARS)
