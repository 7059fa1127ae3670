"""Our reader of shell texts beside shfmt, a parser that others keep: both find the same simple commands.

shfmt stays out of the package. A process for each text takes a hundred times as long, and parts of scripts that are no
whole program are refused, while ours reads on.
"""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.outcomes.frameworks.shell import commands
from tests.outcomes import test_frameworks_commands as recognised
from tests.outcomes import test_frameworks_once as once
from tests.outcomes import test_frameworks_plan as plans
from tests.outcomes import test_frameworks_shell as shells

SHFMT = Path(sysconfig.get_path("scripts")) / "shfmt"
Node = dict[str, Any]  # of shfmt's syntax tree

TEXTS = dict.fromkeys(
    (
        *(text for text, _ in shells.PIECES),
        *(text for text, _ in shells.SIMPLE),
        *(text for text, _ in shells.AGAIN),
        *recognised.RECOGNISED,
        *(text for text, *_ in recognised.TOLD),
        *(text for text, _ in recognised.REPEATED),
        *(text for _, text in once.AGAIN),
        *(text for _, own, planned, _ in plans.TEXTS for text in (own, planned)),
        *(text for both in plans.ARGUMENTS for text in both),
        *(frame % (run % "'a && b' >o") for frame in plans.FRAMES for run in plans.RUNS.values()),
    )
)

# Texts that shfmt refuses, with the programs that ours finds in them.
REFUSED = {
    # no shell runs them
    "a=(b; c) d+=(e) f(": [],
    "a 'never ends; b": ["a"],
    "} ) done; once": ["once"],
    "[[ a\nb": ["[[", "b"],
    "a) b;;\nesac": ["b"],
    "case x in a) for y; do run;; b) once; esac": ["run", "once"],
    # bash runs them: brackets of a subshell
    "((a; b) | c)": ["a", "b", "c"],
    "function f ( run ); once": ["run", "once"],
}

# Texts of which the two say different things, with who is right.
KNOWN = {
    "coproc a": "shfmt: ours takes coproc for a program",
    "f() ((1)); a": "shfmt: to ours a function without braces or brackets never ends, and a may repeat",
    "a $(case x in b) c;; esac); d": "shfmt: ours counts the brackets of an expansion and knows no case in it",
    "a $(cat <<E\nit's\nE\n); b": "shfmt: ours sees a quote in a here-document of an expansion",
    "a\rb": "ours: to bash a carriage return is a letter",
}


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command: each word with where it begins, where all of it ends, and whether it may run several times."""

    words: tuple[tuple[int, str], ...]
    end: int
    repeats: bool


def ours(text: str) -> list[Simple]:
    """What our reader finds, without the heads and ends of compound commands."""
    found = []
    for command in commands(text):
        first = command.words[0]
        if first.text == "[[":
            found.append(Simple(((first.start, "[["),), 0, command.repeats))
        elif first.text not in ("for", "select", "case", "in", "done", "esac", "fi", "}"):
            words = tuple((word.start, word.text) for word in command.words)
            found.append(Simple(words, command.end, command.repeats))
    return found


# ---- shfmt


class RefusedError(Exception):
    """shfmt's message, and the text."""


def theirs(texts: Sequence[str]) -> list[list[Simple]]:
    """What shfmt finds in each text, by one process for all of them."""
    starts, source = [], b""
    for text in texts:
        starts.append(len(source))
        source += text.encode() + b"\n\n"  # a last backslash takes one of them
    command = [str(SHFMT), "--language-dialect", "bash", "--to-json"]
    done = subprocess.run(command, input=source, capture_output=True, check=False)
    if done.returncode != 0:
        message = done.stderr.decode()
        line = re.match(r"(?:<standard input>:)?(\d+):", message)
        lines = source.split(b"\n")[: int(line[1]) - 1] if line else []
        at = bisect_right(starts, sum(len(line) + 1 for line in lines)) - 1
        raise RefusedError(message, texts[at])
    found: list[list[Simple]] = [[] for _ in texts]
    for statement in json.loads(done.stdout).get("Stmts", ()):
        number = bisect_right(starts, statement["Pos"]["Offset"]) - 1
        found[number] += _commands(statement, source, starts[number], repeats=False)
    return found


_INSIDE = ("Stmts", "X", "Y", "Cond", "Then", "Else", "Do", "Items", "Stmt")  # where statements hold others


def _commands(node: Node, source: bytes, start: int, *, repeats: bool) -> Iterator[Simple]:
    command: Node = node.get("Cmd", node)
    kind = command.get("Type")
    if kind == "TestClause":
        yield Simple(((_characters(source, start, command["Pos"]), "[["),), 0, repeats)
    elif kind in ("CallExpr", "DeclClause", "ArithmCmd"):
        yield _simple(node, command, source, start, repeats=repeats)
    elif kind == "FuncDecl":
        yield from _function(command["Body"], source, start, repeats=repeats)
    else:
        repeats = repeats or kind in ("ForClause", "WhileClause")
        for inner in (inner for name in _INSIDE for inner in _listed(command.get(name, ()))):
            yield from _commands(inner, source, start, repeats=repeats)


def _listed(value: Any) -> Iterable[Node]:
    return [value] if isinstance(value, dict) else value


def _function(body: Node, source: bytes, start: int, *, repeats: bool) -> Iterator[Simple]:
    """A function's body; to shfmt what follows it behind `|`, `&&` or `||` is a part of it."""
    if body["Cmd"]["Type"] == "BinaryCmd":
        yield from _function(body["Cmd"]["X"], source, start, repeats=repeats)
        yield from _commands(body["Cmd"]["Y"], source, start, repeats=repeats)
    else:
        yield from _commands(body, source, start, repeats=True)


def _simple(statement: Node, command: Node, source: bytes, start: int, *, repeats: bool) -> Simple:
    if command["Type"] == "ArithmCmd":
        words = [command]
    else:
        words = [*_listed(command.get("Variant", ())), *command.get("Assigns", ()), *command.get("Args", ())]
    targets = [redirect["Word"] for redirect in statement.get("Redirs", ())]
    ends = [_characters(source, start, word["End"]) for word in (words[-1], *targets)]
    return Simple(tuple(_word(word, source, start) for word in words), max(ends), repeats)


def _word(word: Node, source: bytes, start: int) -> tuple[int, str]:
    text = source[word["Pos"]["Offset"] : word["End"]["Offset"]].decode()
    return _characters(source, start, word["Pos"]), text


def _characters(source: bytes, start: int, place: Node) -> int:
    """shfmt counts bytes from the beginning of everything, ours counts a text's characters."""
    return len(source[start : place["Offset"]].decode())


# ---- the texts of the other tests


def test_both_find_the_same_commands_in_what_the_other_tests_read() -> None:
    texts = [text for text in TEXTS if text not in REFUSED]
    assert len(texts) > 300
    differ = [text for text, found in zip(texts, theirs(texts), strict=True) if found != ours(text)]
    assert differ == []


@pytest.mark.parametrize(("text", "programs"), REFUSED.items(), ids=REFUSED)
def test_a_text_that_shfmt_refuses_is_read_to_its_end(text: str, programs: list[str]) -> None:
    with pytest.raises(RefusedError):
        theirs([text])
    assert [simple.words[0][1] for simple in ours(text)] == programs


def test_what_they_see_differently_is_known() -> None:
    same = [text for text, found in zip(KNOWN, theirs(list(KNOWN)), strict=True) if found == ours(text)]
    assert same == []


def test_a_refused_text_is_named() -> None:
    with pytest.raises(RefusedError) as raised:
        theirs(["a\nb", "é", "a\nfi", "c"])
    assert raised.value.args[1] == "a\nfi"


def test_what_follows_a_function_is_no_part_of_it() -> None:
    printed = subprocess.run(["bash", "-c", "f() { echo in; } && echo out"], capture_output=True, text=True, check=True)
    assert printed.stdout == "out\n"


# ---- texts by shell's grammar

PROGRAMS = st.sampled_from(["a", "./b", "'c'", "A=1", "A=1 d", "[", "$e", "\\f"])
WORDS = st.sampled_from(
    [
        *("b", "-x", "x#y", "é", "--", "=", "!", "in", "do", "done", "fi", "then", "time", "{a,b}", "a{", "}"),
        *("'q; r'", '"s $(t; u) v"', "$'it\\'s'", "a\\ b", "a\\\nb", "\\(", "*.py", "?(a|b)", "<(p; q)"),
        *("$x", "${y:-z w}", "${x#(}", "$((1 + (2)))", "`c d`", "$(e | f)", "$[1+2]"),
        *(">o", "2>&1", ">> o", "<i", "&>o", "<<<w", "{fd}>o", ">|o", "<>x"),
    ]
)
SIMPLE = st.builds(lambda program, words: " ".join([program, *words]), PROGRAMS, st.lists(WORDS, max_size=3))
FRAMES = st.sampled_from(
    [
        *("( %s)", "( %s) >o", "{ %s; }", "{ %s\n} 2>&1", "{ %s & }", "{ ! %s; }", "{ time -p %s; }", "{ A=1\n%s; }"),
        *("export A=b c && %s", "%s; %s", "%s\n\n%s", "%s && %s", "%s ||\n%s", "%s | %s", "%s |& %s", "%s # c\n%s"),
        *("if %s; then %s; fi", "if %s\nthen\n%s\nelse %s; fi", "if %s; then %s; elif %s; then %s; fi"),
        *("while %s; do %s; done", "until %s\ndo %s\ndone >o", "while ( %s) do %s; done", "if { %s; } then %s; fi"),
        *("for x in a b; do %s; done", "for x\ndo %s; done", "for x do %s; done", "select x in a b; do %s; done"),
        *("for ((i = 0; i < 2; i++)); do %s; done", "for ((;;)) do %s; done"),
        *("f() { %s; }", "f ()\n( %s )", "function f { %s; }", "function f() { %s; }", "function f\n{\n%s\n}"),
        *("f() if %s; then %s; fi", "f() for x in y; do %s; done", "function f() while %s; do %s; done"),
        *("case x in a|b) %s;; (c) %s ;& esac", "case x in\n a | b ) %s\n;;\n# c\n*) %s\nesac"),
        "case x\nin a) %s; esac",
        *("cat <<E\nit's\nE\n%s", "cat <<-'E F' | tee >o && d\n\tit's $(\n\tE F\n%s"),
        *("[[ a && ! (b || c) ]] && %s", "[[ a =~ ^(u|v)$ ]]; %s", "((i = 1 << 2)) || %s", "(( (1+2)*(3) ))\n%s"),
    ]
)


def filled(frame: str, parts: list[str]) -> str:
    return frame % tuple(parts[: frame.count("%s")])


PARTS = st.recursive(SIMPLE, lambda inner: st.builds(filled, FRAMES, st.lists(inner, min_size=4, max_size=4)))


@settings(derandomize=True, max_examples=25)
@given(st.lists(PARTS, min_size=1, max_size=10))
def test_both_find_the_same_commands_in_texts_by_the_grammar(texts: list[str]) -> None:
    for text, found in zip(texts, theirs(texts), strict=True):
        assert found == ours(text), text
