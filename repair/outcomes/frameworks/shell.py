"""Shell texts: the pieces that they are made of, and the simple commands in them.

Pure. The pieces of a text give it back when they are joined, so that something can be put between them. What the
scanner does not understand it leaves in one piece; nothing is expanded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    WORD = "word"
    TARGET = "target"  # of a redirection
    REDIRECT = "redirect"
    OPERATOR = "operator"
    SPACE = "space"
    COMMENT = "comment"
    BODY = "body"  # of a here-document


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, and the index of its first character there."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def value(self) -> str:
        """The word without its quotes; expansions stay as they are written."""
        return _QUOTED.sub(_unquoted, self.text)


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words without keywords and redirections, where all of it ends, and whether it stands in a
    loop or in a function, where one text may run several times.
    """

    words: tuple[Piece, ...]
    end: int
    repeats: bool = False


_QUOTED = re.compile(r"""'(?P<plain>[^']*)'|"(?P<rich>(?:[^"\\]|\\.)*)"|\\(?P<one>.)""", re.DOTALL)
_KINDS = (
    (Kind.SPACE, re.compile(r"(?:[ \t]|\\\n)+")),
    (Kind.COMMENT, re.compile(r"#[^\n]*")),
    (Kind.REDIRECT, re.compile(r"&>>?|(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>>|>&|>\||[<>](?!\())")),
    (Kind.OPERATOR, re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")),
)
_HERE = re.compile(r"(?<!<)<<-?$")
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\$`{}]+")
_GLUED = re.compile(r"(?:[\w\]]\+?=|[?*+@!])$")  # an array's or an extended pattern's bracket follows
_ANSI_C = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_CLOSERS = {"(": ")", "{": "}"}
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_LOOPS = ("for", "select", "while", "until")
_OPENERS = {**dict.fromkeys(_LOOPS, "done"), "{": "}", "case": "esac"}
_NO_END = "\n"  # of a function's body that is no group: its end is not looked for
_ENDS = frozenset({"done", "}", "esac", "fi"})  # behind which a keyword may follow


def commands(text: str) -> Iterator[Command]:
    """The simple commands of a shell text, in order; none of those inside of words."""
    words: list[Piece] = []
    end, nesting = 0, _Nesting()
    for piece in (*scan(text), Piece(Kind.OPERATOR, "", len(text))):
        if piece.kind is Kind.WORD:
            function = bool(words) and words[0].text == "function" and piece.text == "{"
            if function:
                words, nesting.leading, nesting.body = [], True, True
            elif words or piece.text not in _KEYWORDS:
                words.append(piece)
            nesting.word(piece.text)
        if piece.kind in (Kind.WORD, Kind.TARGET):
            end = piece.end
        if piece.kind is not Kind.OPERATOR:
            continue
        # before "(" stands a function's name, before a ")" that nothing opened the pattern of a case
        if words and piece.text != "(" and (piece.text != ")" or nesting.closes(")")):
            yield Command(tuple(words), end, nesting.repeats)
        nesting.operator(piece.text, words)
        words = []


@dataclass(slots=True)
class _Nesting:
    """The compound commands that are open at a place of a text, innermost last: the word that closes each, and whether
    what is in it may run more than once.
    """

    open: list[tuple[str, bool]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    leading: bool = True  # a keyword may stand here
    named: bool = False  # a bracket was opened behind a word
    body: bool = False  # a function's body is next

    @property
    def repeats(self) -> bool:
        return bool(self.open) and self.open[-1][1]

    def closes(self, closer: str) -> bool:
        """Whether this ends something; a ")" may end the pattern of a case instead."""
        return self.counts[closer] > 0 and (closer != ")" or self.open[-1][0] != "esac")

    def word(self, text: str) -> None:
        self.named = False
        if self.leading and self.body:
            self._open("}" if text == "{" else _NO_END, repeats=True)
        elif self.leading and text in _OPENERS:
            self._open(_OPENERS[text], repeats=text in _LOOPS)
        elif self.leading and text in _ENDS:
            self._close(text)
        self.leading = self.leading and (text in _KEYWORDS or text in _ENDS)

    def operator(self, text: str, words: Sequence[Piece]) -> None:
        function = bool(words) and words[0].text == "function"
        if text == "(":
            self._open(")", repeats=self.body or function)
        elif text == ")":
            self.body = self.named
            self._close(text)
        elif function:
            self.body = True
        self.named, self.leading = text == "(" and bool(words), True

    def _open(self, closer: str, *, repeats: bool) -> None:
        self.open.append((closer, repeats or self.repeats))
        self.counts[closer] += 1
        self.body = False

    def _close(self, closer: str) -> None:
        if not self.closes(closer):
            return
        closed = ""
        while closed != closer:
            closed, _ = self.open.pop()
            self.counts[closed] -= 1


def scan(text: str) -> tuple[Piece, ...]:
    """All of a shell text as pieces, in order; joined they are the text. What never ends, ends with the text."""
    pieces: list[Piece] = []
    bodies: list[tuple[str, bool]] = []  # here-documents that begin after this line
    redirect = ""  # that waits for its target
    at = 0
    while at < len(text):
        kind, end = _piece(text, at)
        if kind is Kind.WORD and redirect:
            kind = Kind.TARGET
        piece = Piece(kind, text[at:end], at)
        pieces.append(piece)
        if kind is Kind.TARGET and _HERE.search(redirect):
            bodies.append((piece.value, redirect.endswith("-")))
        if kind is not Kind.SPACE:
            redirect = piece.text if kind is Kind.REDIRECT else ""
        at = end
        if bodies and piece.text == "\n":
            end = _bodies(text, at, bodies)
            if end > at:
                pieces.append(Piece(Kind.BODY, text[at:end], at))
            bodies, at = [], end
    return tuple(pieces)


def _piece(text: str, at: int) -> tuple[Kind, int]:
    """What the piece at `at` is, and where it ends."""
    for kind, pattern in _KINDS:
        if match := pattern.match(text, at):
            return kind, match.end()
    end = _unit(text, at + 1) if text[at] in "<>" else at  # no redirection: a bracket follows
    while end < len(text):
        if plain := _PLAIN.match(text, end):
            end = plain.end()
        elif text[end] in "'\"\\$`" or (text[end] == "(" and _GLUED.search(text, max(at, end - 3), end)):
            end = _unit(text, end)
        elif text[end] in " \t\n;&|()<>":
            break
        else:
            end += 1
    return Kind.WORD, end


def _unit(text: str, at: int) -> int:
    """Where the quote, expansion, bracket or escape that begins at `at` ends."""
    open_: list[str] = []  # what closes the contexts that are open, innermost last
    while at < len(text):
        char, quoted = text[at], bool(open_) and open_[-1] == '"'
        if char == "\\":
            at += 2
        elif open_ and char == open_[-1]:
            open_.pop()
            at += 1
        elif char == "'" and not quoted:
            at = (text.find("'", at + 1) + 1) or len(text)
        elif text.startswith("$'", at) and not quoted:
            match = _ANSI_C.match(text, at)
            at = match.end() if match else len(text)
        elif char in '"`':
            open_.append(char)
            at += 1
        elif text.startswith(("$(", "${"), at):
            open_.append(_CLOSERS[text[at + 1]])
            at += 2
        else:
            if char == "(" and not quoted:
                open_.append(")")
            at += 1
        if not open_:
            break
    return min(at, len(text))


def _bodies(text: str, at: int, bodies: Sequence[tuple[str, bool]]) -> int:
    """Where the here-documents that begin at `at` end: each by its word, and whether tabs go before its lines."""
    for word, tabs in bodies:
        line = None
        while line != word and at < len(text):
            end = (text.find("\n", at) + 1) or len(text)
            line = text[at:end].removesuffix("\n")
            line, at = line.lstrip("\t") if tabs else line, end
    return at


def _unquoted(match: re.Match[str]) -> str:
    if match["rich"] is not None:
        return re.sub(r'\\(?:\n|([\\"$`]))', r"\1", match["rich"])
    return match["plain"] if match["plain"] is not None else match["one"].strip("\n")
