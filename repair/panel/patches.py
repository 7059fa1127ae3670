"""Unified diffs and git diffs as bytes: the files that they name, why git cannot take them, and how to undo them.

Pure. `patch_syntax` reads a diff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from repair.errors import UsageError
from repair.panel.patch_syntax import (
    EXTENDED,
    HUNK,
    INDEX,
    MOVES,
    NULL,
    Header,
    Hunk,
    Part,
    below,
    name_and_tail,
    read,
    shown,
    spelt,
    unquoted,
)

_EMPTY_BLOBS = (  # the hash of an empty file under SHA-1 and SHA-256
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_SWAPPED = ((b"old mode ", b"new mode "), *MOVES[:2])
_PARTNER = {**dict(_SWAPPED), **{second: first for first, second in _SWAPPED}}
_SIDES = (b"--- ", b"+++ ")
_TURNED = {b"new file mode ": b"deleted file mode ", b"deleted file mode ": b"new file mode "}


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. Paths are UTF-8 with surrogateescape, without git's quoting and without `a/` and `b/`.

    `old`: the path before; None for a new file.
    `new`: the path after; None for a deleted file.
    `binary`: its content is binary.
    """

    old: str | None
    new: str | None
    binary: bool


def files(diff: bytes) -> tuple[FileDiff, ...]:
    """The files that a unified diff or git diff names, in order; empty where it is not a diff. Never raises."""
    parts = (part for part in read(diff) if isinstance(part, Part))
    return tuple(FileDiff(part.header.before, part.header.after, part.binary) for part in parts)


def problems(diff: bytes) -> tuple[str, ...]:
    """Why `git apply` can never take a diff, or must not: a line per problem, empty for a good diff. Never raises.

    A missing newline at the very end is not a problem here. The caller that hands the diff to git adds it.
    """
    lines: list[str] = []
    for part in read(diff):
        if isinstance(part, str):
            lines.append(part)
            continue
        lines += [*_path_faults(part.header), *_faults(part)]
        if part.open:
            lines.append(f"{part.header.shown}: its binary content lacks the blank line at its end")
    return tuple(dict.fromkeys(lines))


def reverse(diff: bytes) -> bytes:
    """The diff that undoes `diff`: it does what `git apply -R` would do.

    Its files come in the opposite order, since two parts may change one path. It lacks the text between files, and has
    a newline at the end. Raises `UsageError` that names what cannot be reversed.
    """
    parts: list[Part] = []
    faults: list[str] = []
    for part in read(diff):
        if isinstance(part, str):
            faults.append(part)
        else:
            parts.append(part)
            faults += [*_faults(part), *_one_way(part)]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UsageError(f"the diff cannot be reversed: {faults[0]}{more}", "make it anew with git diff --binary")
    parts.reverse()
    texts = [b"".join(_reversed(part)) for part in parts]
    return b"".join(text + b"\n" * _runs_on(*pair) for text, pair in zip(texts, pairwise([*parts, None]), strict=True))


# ---- judging


def _path_faults(header: Header) -> Iterator[str]:
    named = (unquoted(side) for side in header.sides if side != NULL)
    for path in dict.fromkeys((header.old, header.new, *(name for name in named if name.startswith(b"/")))):
        folders = [folder.lower() for folder in path.split(b"/")]
        if path.startswith(b"/"):
            yield f"{shown(path)}: an absolute path"
        if b".." in folders:
            yield f"{shown(path)}: `..` in a path"
        if b"." in folders:
            yield f"{shown(path)}: `.` in a path"
        if any(folder.partition(b":")[0].rstrip(b". ") in {b".git", b"git~1"} for folder in folders):
            yield f"{shown(path)}: a path into .git"
        if b"\0" in path:
            yield f"{shown(path)}: a zero byte in a path"


def _faults(part: Part) -> Iterator[str]:
    """Why git can take a part in neither direction."""
    header, values = part.header, part.header.values
    if values is not None:
        yield from _name_faults(header, values, whole=part.binary)
    if part.absent:
        yield f"{header.shown}: a binary file without its content"
    if part.cut:
        yield f"{header.shown}: its binary content is cut short"
    for number, hunk in enumerate(part.hunks, 1):
        if fault := _hunk_fault(hunk):
            yield f"{header.shown}: hunk {number} {fault}"
    if not part.absent and not part.cut:
        yield from _content_faults(part)


def _hunk_fault(hunk: Hunk) -> str | None:
    if hunk.said is None:
        return "has a header that cannot be read"
    if hunk.said != hunk.found:
        return "has {} old and {} new lines where its header says {} and {}".format(*hunk.found, *hunk.said)
    return None if any(line[:1] in b"-+" for line in hunk.lines) else "changes nothing"


def _content_faults(part: Part) -> Iterator[str]:
    header = part.header
    if header.is_new and any(hunk.said and hunk.said[0] for hunk in part.hunks):
        yield f"{header.shown}: a new file with old lines"
    if header.is_deleted and any(hunk.said and hunk.said[1] for hunk in part.hunks):
        yield f"{header.shown}: a deleted file with lines that stay"
    if part.hunks or part.marker or header.values is None:
        return
    values = header.values
    index = INDEX.match(values.get(b"index ", b""))
    for is_it, blob in ((header.is_deleted, 1), (header.is_new, 2)):
        if is_it and index and index[blob].strip(b"0") and not any(b.startswith(index[blob]) for b in _EMPTY_BLOBS):
            yield f"{header.shown}: a file without its content"
    modes = [values.get(key, b"").strip() for key in (b"old mode ", b"new mode ")]
    if not (header.is_new or header.is_deleted or header.moved or (all(modes) and modes[0] != modes[1])):
        yield f"{header.shown}: a header without a change"


def _name_faults(header: Header, values: Mapping[bytes, bytes], *, whole: bool) -> Iterator[str]:
    """Why git cannot read the names of a git header.

    `whole`: the part is binary, so its lines need git's own line ends.
    """
    sides = [side for side in header.sides if side not in {b"", NULL}]
    windows = header.lines[0].endswith(b"\r\n") and b'"' not in header.lines[0]
    if not (sides or header.moved or header.pair):
        yield "a git header without a file's name"
    elif windows and (whole or not (sides or header.moved)):
        yield f"{header.shown}: Windows line ends in a header, in which git then finds no name or binary content"
    if len(sides) == 1 and b"" in header.sides and not (header.is_new or header.is_deleted):
        yield f"{header.shown}: only one of the lines --- and +++"
    names = [unquoted(text) for text in sides or header.pair or ()]
    if header.moved is None and any(below(name) is None for name in names):
        yield f"{header.shown}: no a/ and b/ before its path"
    for side, key, end in zip(header.sides, (b"new file mode ", b"deleted file mode "), (0, 1), strict=True):
        if side and (side == NULL) != (key in values):
            yield f"{header.shown}: /dev/null and the line `{key.decode().strip()}` are not together"
        elif header.moved and side and below(unquoted(side)) != header.moved[end]:
            yield f"{header.shown}: a rename that its lines --- and +++ do not name"


def _one_way(part: Part) -> Iterator[str]:
    """Why a part that git can take cannot be reversed."""
    if part.header.values is None and b"" in part.header.sides:
        yield f"{part.header.shown}: a `---` or `+++` line that names nothing"
    if part.header.values is not None and b"copy from " in part.header.values:
        yield f"{part.header.shown}: a copy, whose reverse would be a deletion of lines that are not in the diff"
    if len(part.blocks) == 1 and not part.cut:
        yield f"{part.header.shown}: binary content in one direction only"


# ---- reversing


def _runs_on(part: Part | None, after: Part | None) -> bool:
    """Whether git would take the `---` and `+++` of the part `after` for those of `part`, a git header alone."""
    if part is None or after is None or part.header.values is None or after.header.values is not None:
        return False
    return not part.hunks and not part.marker


def _reversed(part: Part) -> Iterator[bytes]:
    yield from _reversed_header(part.header)
    if part.marker:
        yield part.marker
        for block in reversed(part.blocks):
            yield from (*block, b"\n")
    for hunk in part.hunks:
        yield HUNK.sub(rb"@@ -\3 +\1 @@", hunk.header, count=1)
        yield from _reversed_lines(hunk.lines)


def _reversed_lines(lines: tuple[bytes, ...]) -> Iterator[bytes]:
    """The lines of a hunk, reversed. A `\\` line stays with the line before it.

    Of each run of changes, the lines that were added come first, as removed; then those that were removed, as added.
    """
    run: dict[bytes, list[bytes]] = {b"-": [], b"+": []}
    last: list[bytes] | None = None
    for line in lines:
        kind = line[:1]
        if kind in {b"-", b"+"}:
            turned = b"+" if kind == b"-" else b"-"
            last = run[turned]
            last.append(turned + line[1:])
        elif kind == b"\\" and last is not None:
            last.append(line)
        else:
            yield from (*run[b"-"], *run[b"+"], line)
            run, last = {b"-": [], b"+": []}, None
    yield from (*run[b"-"], *run[b"+"])


def _reversed_header(header: Header) -> Iterator[bytes]:
    matches = [(line, EXTENDED.fullmatch(line)) for line in header.lines]
    sides, tails = _turned(header.sides, header.prefixes), {}
    for _, match in matches:
        if match and match[1] in _SIDES:
            tails[match[1]] = name_and_tail(match[2], dated=header.values is None)[1]
    for line, match in matches:
        if match is None:
            end = line[len(line.rstrip(b"\r\n")) :]
            yield b"diff --git " + b" ".join(_turned(header.pair, header.prefixes)) + end if header.pair else line
            continue
        key, value, end = match.groups()
        if key in _SIDES:
            own = _SIDES.index(key)
            if header.sides[1 - own]:
                yield key + sides[own] + tails[_SIDES[1 - own]] + end
            else:
                yield _SIDES[1 - own] + sides[1 - own] + tails[key] + end
        elif key == b"index ":
            yield key + INDEX.sub(rb"\2..\1", value, count=1) + end
        else:
            yield _TURNED.get(key, key) + (header.values or {}).get(_PARTNER.get(key, key), value) + end


def _turned(texts: tuple[bytes, bytes], prefixes: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    return spelt(texts[1], prefixes[1], prefixes[0]), spelt(texts[0], prefixes[0], prefixes[1])
