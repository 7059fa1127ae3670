"""Shell texts in pieces: what a shell sees in them, and that none of it is lost."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.outcomes.frameworks.shell import Kind, commands, scan


def kinds(text: str) -> list[tuple[str, str]]:
    return [(piece.kind.value, piece.text) for piece in scan(text) if piece.kind is not Kind.SPACE]


PIECES: list[tuple[str, list[tuple[str, str]]]] = [
    ("a&&b||c", [("word", "a"), ("operator", "&&"), ("word", "b"), ("operator", "||"), ("word", "c")]),
    ("a 2>&1 >b", [("word", "a"), ("redirect", "2>&"), ("target", "1"), ("redirect", ">"), ("target", "b")]),
    ("a2>b", [("word", "a2"), ("redirect", ">"), ("target", "b")]),
    ("a &> b", [("word", "a"), ("redirect", "&>"), ("target", "b")]),
    ("a#b #c", [("word", "a#b"), ("comment", "#c")]),
    ('"a $(b "c)" d) e" f', [("word", '"a $(b "c)" d) e"'), ("word", "f")]),
    ("$'it\\'s; x' y", [("word", "$'it\\'s; x'"), ("word", "y")]),
    ("$((1 + (2))) x", [("word", "$((1 + (2)))"), ("word", "x")]),
    (
        "a <<< b\nb",
        [("word", "a"), ("redirect", "<<<"), ("target", "b"), ("operator", "\n"), ("word", "b")],
    ),
    ("a <(b; c)d >e", [("word", "a"), ("word", "<(b; c)d"), ("redirect", ">"), ("target", "e")]),
    ("a=(b; c) d+=(e) f(", [("word", "a=(b; c)"), ("word", "d+=(e)"), ("word", "f"), ("operator", "(")]),
    (
        "a <<X <<Y; b\n1\nX\n2\nY\nc",
        [
            ("word", "a"),
            ("redirect", "<<"),
            ("target", "X"),
            ("redirect", "<<"),
            ("target", "Y"),
            ("operator", ";"),
            ("word", "b"),
            ("operator", "\n"),
            ("body", "1\nX\n2\nY\n"),
            ("word", "c"),
        ],
    ),
    ("a 'never ends; b", [("word", "a"), ("word", "'never ends; b")]),
]


@pytest.mark.parametrize(("text", "pieces"), PIECES)
def test_the_scanner_sees_the_pieces_that_a_shell_sees(text: str, pieces: list[tuple[str, str]]) -> None:
    assert kinds(text) == pieces


SHELLY = st.text(st.sampled_from("ab1 \t\n'\"\\$`(){}<>|&;#=-*"), max_size=60) | st.text(max_size=30)


@settings(derandomize=True, deadline=None)
@given(SHELLY)
def test_the_scanner_loses_no_character(text: str) -> None:
    pieces = scan(text)
    assert "".join(piece.text for piece in pieces) == text
    assert all(text[piece.start : piece.end] == piece.text and piece.text for piece in pieces)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1, max_size=6))
def test_quoted_words_keep_their_values(words: list[str]) -> None:
    assert [piece.value for piece in scan(shlex.join(words)) if piece.kind is Kind.WORD] == words


SIMPLE: list[tuple[str, list[list[str]]]] = [
    ("a b; c", [["a", "b"], ["c"]]),
    ("if ! a; then time b; fi", [["a"], ["b"], ["fi"]]),
    (">x a <y b 2>&1", [["a", "b"]]),
    ("(a) | { b; }", [["a"], ["b"], ["}"]]),
    ("f() { a; }", [["a"], ["}"]]),
    ('a "$(b; c)" | d', [["a", "$(b; c)"], ["d"]]),
    ("case x in\n y) a;;\nesac", [["case", "x", "in"], ["a"], ["esac"]]),
    ("(case x in\n y) a;;\nesac; b)", [["case", "x", "in"], ["a"], ["esac"], ["b"]]),
    ("function f { a; }", [["a"], ["}"]]),
    ("# a", []),
    ("function f\n{ a; }", [["a"], ["}"]]),
    ("time -p a -p", [["a", "-p"]]),
    ("a ${x#(} b; c", [["a", "${x#(}", "b"], ["c"]]),
    ("((x = 1 << 2))\na", [["((x = 1 << 2))"], ["a"]]),
    ("((a; b) | c)", [["a"], ["b"], ["c"]]),
    ("for ((;;)) do a; done", [["for", "((;;))"], ["a"], ["done"]]),
    ("for x do a; done", [["for", "x"], ["a"], ["done"]]),
    ("while (a) do b; done", [["a"], ["b"], ["done"]]),
    ("if { a; } then b; fi", [["a"], ["}"], ["b"], ["fi"]]),
    ("[[ a && ! (b || c) ]] && d", [["[[", "a", "!", "b", "c", "]]"], ["d"]]),
    ("[[ a\nb", [["[[", "a"], ["b"]]),
    ("case x in a | b) c;; (d) e ;&\n f) g;; esac", [["case", "x", "in"], ["c"], ["e"], ["g"], ["esac"]]),
    ("case x\nin esac\na", [["case", "x"], ["in"], ["esac"], ["a"]]),
    ("case in in in) a; esac", [["case", "in", "in"], ["a"], ["esac"]]),
    ("a) b;;\nesac", [["b"], ["esac"]]),
]


@pytest.mark.parametrize(("text", "words"), SIMPLE)
def test_simple_commands(text: str, words: list[list[str]]) -> None:
    assert [[word.value for word in command.words] for command in commands(text)] == words


AGAIN: list[tuple[str, str]] = [
    ("{ once; }; (once)", ""),
    ("if once; then once; else once; fi", ""),
    ("for x in a b; do run; done; once", "run"),
    ("for x\ndo\nrun\ndone\nonce", "run"),
    ("for x do\nrun; done; once", "run"),
    ("for ((i = 0; i < 9; i++)); do run; done; once", "run"),
    ("while run; do run; done | once", "run run"),
    ("until ! run\ndo (run); { run; }; done && once", "run run run"),
    ("while a; do while b; do run; done; run; done; once", "run run"),
    ("for x in y; do case x in\n z) run;; w) if a; then run; fi;; esac; run; done; once", "run run run"),
    ("(for x in y; do case x in\n z) a;; esac; run; done; once); once", "run"),
    ("for x in y; do if a; then { run; } fi done; once", "run"),
    ("f() { run; { run; }; run; }; once", "run run run"),
    ("f() { for x in y; do run; done }; once", "run"),
    ("f() { if x; then run; fi }\nonce", "run"),
    ("f ( )\n\n{\nrun\n}\nonce", "run"),
    ("f() # c\n( run; (run) ); once", "run run"),
    ("function f { run; }; once", "run"),
    ("function f() { run; }; once", "run"),
    ("function f\n{\nrun\n}\nonce", "run"),
    ("function f ( run ); once", "run"),
    ("echo done for while; once; echo }; once", ""),
    ("a=(); { once; }", ""),
    ("} ) done; once", ""),
    ("f() { a; } > log; ( once )", ""),
    ("f() for x in y; do run; done; once", "run"),
    ("f() if run; then run; fi; once", "run run"),
    ("case x in a) f() run;; b) once; esac", "run"),
    ("case x in a) for y; do run;; b) once; esac", "run"),
]


@pytest.mark.parametrize(("text", "again"), AGAIN)
def test_what_stands_in_a_loop_or_in_a_function_may_run_again(text: str, again: str) -> None:
    told = [(command.words[0].value, command.repeats) for command in commands(text)]
    assert [name for name, repeats in told if name == "run" and repeats] == again.split()
    assert ("once", False) in told
    assert ("once", True) not in told


@pytest.mark.parametrize("text", ["x=()" * 50_000, "cat <<E\n" + "a\n" * 200_000, "$(" * 100_000], ids=lambda t: t[:8])
def test_a_long_text_is_read_in_one_go(text: str) -> None:
    assert len(list(commands(text))) == 1


@pytest.mark.parametrize("part", ["(a;", "while a; do ", "f() { a; ", "case x in\n a) ", "{ a; )"])
def test_a_deep_text_is_read_in_one_go(part: str) -> None:
    assert len(list(commands(part * 20_000))) >= 20_000
