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
_ARITHMETIC = re.compile(r"\(\((?:[^()]|\([^()]*\))*+\)\)")  # a word: what is in it is no command
_KINDS = (
    (Kind.SPACE, re.compile(r"(?:[ \t]|\\\n)+")),
    (Kind.COMMENT, re.compile(r"#[^\n]*")),
    (Kind.REDIRECT, re.compile(r"&>>?|(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|<&|>>|>&|>\||[<>](?!\())")),
    (Kind.WORD, _ARITHMETIC),
    (Kind.OPERATOR, re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")),
)
_HERE = re.compile(r"(?<!<)<<-?$")
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\$`{}]+")
_GLUED = re.compile(r"(?:[\w\]]\+?=|[?*+@!])$")  # an array's or an extended pattern's bracket follows
_ANSI_C = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_CLOSERS = {"(": ")", "{": "}"}
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "function"})
_LOOPS = ("for", "select", "while", "until")
_OPENERS = {**dict.fromkeys(_LOOPS, "done"), "{": "}", "case": "esac", "if": "fi"}
_NO_END = "\n"  # of a function's body that is a simple command, as some shells have it: its end is not looked for
_ENDS = frozenset({"done", "}", "esac", "fi"})  # behind which a keyword may follow
_END_OF_CASE = (";;", ";&", ";;&")
_IN_TEST = ("&&", "||", "|", "(", ")")  # operators of `[[ ]]`


def commands(text: str) -> Iterator[Command]:
    """The simple commands of a shell text, in order; none of those inside of words.

    The head of a loop or of a case is one of them, and so is the word that ends a compound command.
    """
    reader = _Reader()
    for piece in (*scan(text), Piece(Kind.OPERATOR, "", len(text))):
        command = None
        if piece.kind is Kind.WORD:
            command = reader.word(piece)
        elif piece.kind is Kind.OPERATOR:
            command = reader.operator(piece.text)
        elif piece.kind is Kind.TARGET:
            reader.end = piece.end
        if command is not None:
            yield command


@dataclass(slots=True)
class _Reader:
    """A place of a text: the words of its command so far, and the compound commands that are open there.

    `open` holds them, innermost last: the word that closes each, and whether what is in it may run more than once.
    """

    words: list[Piece] = field(default_factory=list)
    end: int = 0  # of the last word or target
    open: list[tuple[str, bool]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # of the closing words in `open`
    leading: bool = True  # a keyword may stand here
    before: str = ""  # the keyword directly before
    named: bool = False  # a bracket was opened behind a name
    body: bool = False  # a function's body is next
    pattern: bool = False  # of a case

    def word(self, piece: Piece) -> Command | None:
        """Take a word; return the command that ends before it, or the head of a case that ends with it."""
        text, before = piece.text, self.before
        leading = self.leading or (text == "do" and self._is_head_of_loop())
        self.leading, self.before, self.named = text.startswith("(("), "", False
        if before == "function":
            self.leading = self.body = True
            return None
        if before == "time" and text == "-p":
            self.leading = True
            return None
        if self.pattern and not (leading and text == "esac"):
            return None
        if leading and text in _KEYWORDS:
            command = self._done()
            self._keyword(text)
            self.leading, self.before = True, text
            return command
        if leading:
            self._keyword(text)
            self.leading = self.leading or text in _ENDS
        self.words.append(piece)
        self.end = piece.end
        if text == "in" and self._is_head_of_case(leading=leading):
            self.pattern = self.leading = True
            return self._done()
        return None

    def operator(self, text: str) -> Command | None:
        """Take an operator; return the command that it ends."""
        if self.pattern:
            self.pattern, self.leading = text != ")", text in (")", "\n")
            return None
        if self._is_test() and text in _IN_TEST:
            return None
        named = bool(self.words) or self.body
        # a function's name is before "(", a pattern of a case that began elsewhere before ")"
        ends = text != "(" and (text != ")" or self._closes(")"))
        command = self._done()
        if text == "(":
            self._open(")", repeats=self.body)
        elif text == ")":
            self.body = self.named
            self._close(text)
        elif text in _END_OF_CASE and self._closes("esac"):
            self._close("esac")
            self._open("esac", repeats=False)
            self.pattern = True
        self.leading, self.before, self.named = True, "", text == "(" and named
        return command if ends else None

    @property
    def _repeats(self) -> bool:
        return bool(self.open) and self.open[-1][1]

    def _done(self) -> Command | None:
        words, self.words = tuple(self.words), []
        return Command(words, self.end, self._repeats) if words else None

    def _is_head_of_case(self, *, leading: bool) -> bool:
        """Does this `in` end the head of a case? The first two words of the head may stand on a line before."""
        if leading:
            return bool(self.open) and self.open[-1][0] == "esac"
        return len(self.words) == 3 and self.words[0].text == "case"

    def _is_head_of_loop(self) -> bool:
        """Are these words a loop over the arguments, `for x`? A `do` may follow directly."""
        return len(self.words) == 2 and self.words[0].text in ("for", "select")

    def _is_test(self) -> bool:
        """Is a `[[` open?"""
        return bool(self.words) and self.words[0].text == "[[" and self.words[-1].text != "]]"

    def _keyword(self, text: str) -> None:
        """Open and close compound commands by a word that stands where a keyword may."""
        if text in _OPENERS:
            self._open(_OPENERS[text], repeats=self.body or text in _LOOPS)
        elif self.body:
            self._open(_NO_END, repeats=True)
        elif text in _ENDS:
            self._close(text)

    def _closes(self, closer: str) -> bool:
        """Whether this ends something; a ")" may end the pattern of a case instead."""
        return self.counts[closer] > 0 and (closer != ")" or self.open[-1][0] != "esac")

    def _open(self, closer: str, *, repeats: bool) -> None:
        self.open.append((closer, repeats or self._repeats))
        self.counts[closer] += 1
        self.body = False

    def _close(self, closer: str) -> None:
        if not self._closes(closer):
            return
        self.pattern, closed = False, ""
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
            if char == "(" and not quoted and open_[-1:] != ["}"]:
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
