"""The parts of a unified diff or git diff, one per file: the lines that name the file, its hunks, its binary content.

Pure. Diffs come from strangers, in any encoding, and are read as `git apply` reads them. A hunk ends where its
header's counts are used up. A file's name comes from its rename lines, else from `---` and `+++`, else from
`diff --git`. git takes the lines between two files for text and passes over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from repair.text import MAX_CHARS, cut, printable

MAX_NAMES = 20_000  # bytes of a `diff --git` line; no path is longer, and each blank is tried as the end of a name

# A stranger's line may be of any length, so the time of each pattern grows with the length, not with its square.
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
_BODY = frozenset({b" ", b"-", b"+", b"\\", b"\n"})  # how a hunk's lines begin; editors strip the first blank
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
    """The lines that name one file. A name "as spelt" has git's quoting and a prefix; a path has neither.

    `lines`: all of these lines, with their line ends.
    `values`: a git header's values by key; None in a traditional diff, which has only `---` and `+++`.
    `sides`: the names in `---` and `+++` as spelt; empty where the line is absent.
    `pair`: the names in `diff --git` as spelt; None without that line, or where a reader cannot tell them apart.
    `moved`: the two paths of a rename or copy; None for any other change.
    `old`, `new`: the file's paths.
    `prefixes`: what stands before the two paths in the lines, such as `a/` and `b/`.
    `is_new`, `is_deleted`: there is no file before, or after.
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
        """The path before as text, UTF-8 with surrogateescape; None for a new file."""
        return None if self.is_new else _decoded(self.old)

    @property
    def after(self) -> str | None:
        """The path after as text, UTF-8 with surrogateescape; None for a deleted file."""
        return None if self.is_deleted else _decoded(self.new)

    @property
    def shown(self) -> str:
        return shown(self.old if self.is_deleted else self.new)


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk of a file.

    `header`: its `@@` line.
    `lines`: the lines below the header, with their line ends.
    `said`: numbers of old and new lines that the header gives; None where it cannot be read.
    `found`: numbers of old and new lines that are there.
    """

    header: bytes
    lines: tuple[bytes, ...]
    said: tuple[int, int] | None
    found: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """One file's part of a diff.

    `header`: the lines that name the file.
    `hunks`: the changes of its text.
    `marker`: the line that begins binary content; empty without it.
    `blocks`: git's binary content as lines, forward and backward.
    `absent`: a line that says that binary files differ stands in place of their content.
    `cut`: a block is not whole.
    `open`: the diff ends before the blank line that ends the last block.
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
    """The parts of a diff in order. A text among them says what git would stop at, or pass over in silence.

    A diff without any part gives one text.
    """
    lines, at = _lines(diff), 0
    parts: list[Part | str] = []
    while at < len(lines):
        if header := _git_header(lines, at) or _traditional_header(lines, at):
            part, at = _part(header, lines, at + len(header.lines))
            parts.append(part)
            continue
        if HUNK.match(lines[at]):
            parts.append(f"line {at + 1}: a hunk without a file before it")
        elif differ := _DIFFER.fullmatch(lines[at]):
            parts.append(Part(_plain(lines[at : at + 1], (differ[1], b""), (differ[2], b"")), absent=True))
        elif lines[at].startswith(b"diff --git ") and not _names_one_file(lines[at]):
            parts.append(f"line {at + 1}: a git header without a file's name")
        elif merged := _MERGED.fullmatch(lines[at]):
            parts.append(f"{shown(unquoted(merged[1]))}: the combined diff of a merge, which git apply passes over")
        at += 1
    return tuple(parts) or ("nothing in it is a diff",)


def _lines(diff: bytes) -> list[bytes]:
    """The lines of a diff with their ends. A last line without an end gets the end of the first line."""
    lines = [line + b"\n" for line in diff.split(b"\n")]
    last = lines.pop()
    if last != b"\n":
        windows = bool(lines) and lines[0].endswith(b"\r\n") and not last.endswith(b"\r\n")
        lines.append(last[:-1] + b"\r\n" if windows else last)
    return lines


def _part(header: Header, lines: list[bytes], at: int) -> tuple[Part, int]:
    """The part with this header, whose content begins at line `at`; and the line behind the part."""
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
    """git's binary content from line `at` on: at most two blocks, the line behind them, and whether it is cut.

    It is cut where there is no block, or where a line that is not blank follows a block.
    """
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
    """The hunk whose header is line `at`.

    Where the header's counts do not fit, the hunk goes on as long as lines look like a hunk's.
    """
    header = HUNK.match(lines[at])
    counts = (int(header[2] or 1), int(header[4] or 1)) if header else None
    end = _end_as_said(lines, at + 1, counts) if counts else None
    if end is None or (end < len(lines) and lines[end].strip() and _is_body(lines, end)):
        end = at + 1
        while end < len(lines) and _is_body(lines, end):
            end += 1
    body = tuple(lines[at + 1 : end])
    kinds = [line[:1] for line in body]
    both = kinds.count(b" ") + kinds.count(b"\n")
    return Hunk(lines[at], body, counts, (both + kinds.count(b"-"), both + kinds.count(b"+")))


def _end_as_said(lines: list[bytes], at: int, said: tuple[int, int]) -> int | None:
    """The line behind a hunk with the numbers of old and new lines in `said`; None where its lines give others."""
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
    """Whether a line looks like a hunk's. The signature of a mail and the header of the next file do not."""
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
        return None  # git takes that line alone for text
    moves = (
        (unquoted(values[old_key]), unquoted(values[new_key]))
        for old_key, new_key in MOVES
        if {old_key, new_key} <= values.keys()
    )
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
    """A traditional header, of two names with what follows each.

    git patches one file: under the shorter name where the other begins with it, else under the name of `+++`.
    """
    sides = left[0], right[0]
    old, new, prefixes = _bare(*(b"" if side == NULL else side for side in sides))
    if not old.startswith(new) and not new.startswith(old):
        sides = spelt(right[0], prefixes[1], prefixes[0]), right[0]
    name = old if new.startswith(old) else new
    is_new = sides[0] == NULL or _is_epoch(left[1])
    is_deleted = not is_new and (sides[1] == NULL or _is_epoch(right[1]))
    return Header(tuple(lines), None, sides, None, None, name, name, prefixes, is_new, is_deleted)


def _pair(both: bytes, sides: tuple[bytes, bytes], moved: tuple[bytes, bytes] | None) -> tuple[bytes, bytes] | None:
    """The two names of a `diff --git` line as spelt; None where a reader cannot tell them apart.

    Names with blanks make the line ambiguous, so the header's other lines decide.
    """
    for left, right in _splits(both):
        old, new = unquoted(left), unquoted(right)
        if moved is not None:
            if _before(left, moved[0]) is not None and _before(right, moved[1]) is not None:
                return left, right
        elif old == new or (below(old) or b"/") == below(new) or (left, right) == sides:
            return left, right
    return None


def _names_one_file(line: bytes) -> bool:
    """Whether a `diff --git` line that stands alone names one file twice. git passes over it then, and else stops."""
    pair = _pair(line.removeprefix(b"diff --git ").rstrip(b"\n"), (b"", b""), None)
    return pair is not None and below(unquoted(pair[0])) is not None


def _splits(both: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The ways to take a `diff --git` line apart into two names as spelt."""
    if quoted := _QUOTED.match(both):
        yield quoted[0], both[quoted.end() + 1 :]
    elif len(both) <= MAX_NAMES:
        yield from ((both[: blank.start()], both[blank.end() :]) for blank in re.finditer(rb"[ \t]", both))


def _bare(left: bytes, right: bytes) -> tuple[bytes, bytes, tuple[bytes, bytes]]:
    """The paths of two names as spelt, and the prefixes that were before them. An absent name is empty.

    A first folder is a prefix if it is one of git's own, or if the two names differ in nothing else.
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
    """A name as spelt, with the prefix `other` in place of `prefix`.

    /dev/null and a name without that prefix stay as they are.
    """
    quote = b'"' if _QUOTED.fullmatch(text) else b""
    if text == NULL or not text.startswith(quote + prefix):
        return text
    return quote + other + text.removeprefix(quote + prefix)


def _before(text: bytes, path: bytes) -> bytes | None:
    """The prefix that a name as spelt has before `path`; None where the name is not a prefix with that path."""
    name = unquoted(text)
    prefix = name.removesuffix(path)
    return prefix if name.endswith(path) and (not prefix or prefix.endswith(b"/")) else None


def below(name: bytes) -> bytes | None:
    """A name without its first folder, as `git apply` reads it; None where it has no folder."""
    return name.partition(b"/")[2] or None


def name_and_tail(text: bytes, *, dated: bool = False) -> tuple[bytes, bytes]:
    """The text of a `---` or `+++` line as the name as spelt and the rest. The rest begins with a tab.

    Where `dated`, the rest may also be a time without a tab before it.
    """
    if quoted := _QUOTED.match(text):
        end = quoted.end()
    else:
        end = text.find(b"\t")
        if end < 0:
            date = _DATED.search(text) if dated else None
            end = date.start() if date else len(text)
    return text[:end], text[end:]


def _is_epoch(tail: bytes) -> bool:
    """Whether what follows a name is the time zero, of any zone. `diff -N` writes it where there is no file."""
    time = _EPOCH.fullmatch(tail)
    if time is None:
        return False
    offset = int(time[4][1:]) * 60 + int(time[5])
    minutes = int(time[2]) * 60 + int(time[3]) - (1440 if time[1].startswith(b"1969") else 0)
    return minutes == (-offset if time[4].startswith(b"-") else offset)


def unquoted(text: bytes) -> bytes:
    """A name without git's C quoting. A name without quotes stays as it is."""
    if not _QUOTED.fullmatch(text):
        return text
    return _ESCAPE.sub(lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else _ESCAPES.get(m[1], m[1]), text[1:-1])


def _decoded(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def shown(path: bytes) -> str:
    """A path as a message shows it: controls spelt as escapes, at most 300 characters."""
    return cut(printable(_decoded(path)), MAX_CHARS)
