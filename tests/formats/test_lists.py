"""List columns of every type: what they say, and the same column with some ids taken out."""

from __future__ import annotations

import ast
import json
import pprint
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.formats.base import RowError
from repair.formats.raw import lists

CHARS = st.sampled_from([*"ab'\"\\[](){},: \n\t/", "é", "ü", "😀", "\u2028", "\x85", "\x0c", "\x1c", "\0"])
IDS = st.lists(st.text(CHARS, max_size=8) | st.sampled_from(["t.py::test_a[x, y]", "A > B", "it's"]), max_size=6)

READ: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a list": (["b", "a"], ("b", "a")),
    "a tuple": (("b", "a"), ("b", "a")),
    "an empty list": ([], ()),
    "an id twice": (["a", "a"], ("a", "a")),
    "JSON text": ('["b", "a"]', ("b", "a")),
    "JSON text with blanks around": (' \n["b"]\n', ("b",)),
    "JSON text of an empty list": ("[]", ()),
    "JSON text with escapes": (r'["\u00e9\/", "\ud800"]', ("é/", "\ud800")),
    "Python text": ("['b', 'a']", ("b", "a")),
    "Python text with both quotes": ("""["it's", 'say "x"']""", ("it's", 'say "x"')),
    "Python text with escapes": (r"['\u00e9', 'a\\b', 'c\n']", ("é", "a\\b", "c\n")),
    "Python text over lines": ("\n['b',\n 'a',\n]\n", ("b", "a")),
    "Python text of a tuple": ("('b', 'a')", ("b", "a")),
    "Python text of an empty list": (" [] ", ()),
    "an object": ({"b": {"run": "PASS"}, "a": None}, ("b", "a")),
    "JSON text of an object": ('{"b": {}, "a": 1}', ("b", "a")),
    "Python text of an object": ("{'b': {}, 'a': None}", ("b", "a")),
}


@pytest.mark.parametrize(("value", "ids"), READ.values(), ids=READ)
def test_read(value: Any, ids: tuple[str, ...]) -> None:
    assert lists.read(value, "FAIL_TO_PASS") == ids


NOT_READ: dict[str, tuple[Any, str]] = {
    "absent": (None, "is missing; an empty list would be []"),
    "an empty text": ("", "is neither JSON nor a Python literal: ''"),
    "a text": ("tests/test_a.py::test_b", "is neither JSON nor a Python literal"),
    "cut short": ('["a", "b', "is neither JSON nor a Python literal"),
    "null in its text": ("null", "expected a list of test ids, found 'null'"),
    "None in its text": ("None", "expected a list of test ids, found 'None'"),
    "a number": (3, "expected a list of test ids, found 3"),
    "a bare JSON string": ('"a"', "expected a list of test ids"),
    "numbers": ([1, 2], "expected a list of test ids, found [1, 2]"),
    "a list in a list": ([["a"]], "expected a list of test ids"),
    "null among the ids": (["a", None], "expected a list of test ids"),
    "a call": ("list('ab')", "is neither JSON nor a Python literal"),
    "an import": ("__import__('os').getcwd()", "is neither JSON nor a Python literal"),
    "an f-string": ("[f'{1}']", "is neither JSON nor a Python literal"),
    "a list as numpy prints it": ("['a.py::x' 'a.py::y']", "without a comma between them"),
    "over lines": ("['a.py::x'\n 'a.py::y', 'b']", "without a comma between them"),
    "quotes of both kinds": ("""["it's" 'b']""", "without a comma between them"),
    "a NUL": ("['a\0']", "is neither JSON nor a Python literal"),
    "half a character in Python text": ("['\ud800']", "is neither JSON nor a Python literal"),
    "a deep JSON text": ("[" * 100_000, "is nested too deeply"),
    "a deep Python text": ("(" * 100_000, "is neither JSON nor a Python literal"),
    "a huge number": ("9" * 5000, "is neither JSON nor a Python literal"),
}


@pytest.mark.parametrize(("value", "problem"), NOT_READ.values(), ids=NOT_READ)
def test_what_is_no_list_names_the_field(value: Any, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        lists.read(value, "PASS_TO_PASS")
    assert caught.value.field == "PASS_TO_PASS"
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize("depth", [100, 400, 800])
def test_a_list_as_deep_as_json_reads_it_is_refused_and_no_crash(depth: int) -> None:
    text = "[" * depth + "]" * depth
    for value in (text, json.loads(text)):
        with pytest.raises(RowError, match=r"expected a list of test ids|is nested too deeply"):
            lists.read(value, "FAIL_TO_PASS")


# ---- some ids taken out

Drop = Callable[[Sequence[str]], set[str]]
DROPS: dict[str, Drop] = {
    "none": lambda _: set(),
    "all": set,
    "the first": lambda ids: set(ids[:1]),
    "the last": lambda ids: set(ids[-1:]),
    "every second": lambda ids: set(ids[::2]),
}
ANY_DROP = st.sampled_from(list(DROPS.values()))


def one_a_line(ids: list[str]) -> str:
    return "[" + "".join(f"\n    {test!r}," for test in ids) + "\n]"


def wide(ids: list[str]) -> str:
    return "[ " + " ,\r\n ".join(map(repr, ids)) + " ]"


WRITERS: dict[str, Callable[[list[str]], str]] = {
    "JSON": json.dumps,
    "JSON, not only ASCII": lambda ids: json.dumps(ids, ensure_ascii=False),
    "JSON, compact": lambda ids: json.dumps(ids, separators=(",", ":")),
    "JSON, indented": lambda ids: json.dumps(ids, indent=4),
    "Python": repr,
    "Python, only ASCII": ascii,
    "Python, a tuple": lambda ids: repr(tuple(ids)),
    "Python, wrapped": lambda ids: pprint.pformat(ids, width=20),
    "Python, one a line": one_a_line,
    "Python, lines that end in CRLF": wide,
    "Python, blanks around": lambda ids: f" \n{ids!r}\n ",
}


def spelt(text: str) -> list[str]:
    """The ids of a list's text, through JSON or Python alone."""
    try:
        found = json.loads(text)
    except ValueError:
        found = ast.literal_eval(text.strip())
    assert isinstance(found, list | tuple)
    return list(found)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@given(ids=IDS, drop=ANY_DROP)
def test_a_text_without_some_ids(write: Callable[[list[str]], str], ids: list[str], drop: Drop) -> None:
    text, gone = write(ids), drop(ids)
    found = lists.text_without(text, gone.__contains__)
    assert spelt(found) == [test for test in ids if test not in gone]
    if not gone:
        assert found == text


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@given(ids=IDS, drop=ANY_DROP, ensure_ascii=st.booleans())
def test_a_column_that_is_such_a_text(
    write: Callable[[list[str]], str], ids: list[str], drop: Drop, ensure_ascii: bool
) -> None:
    text, gone = write(ids), drop(ids)
    column = json.dumps(text, ensure_ascii=ensure_ascii)
    found = lists.without(column, gone.__contains__)
    assert found == json.dumps(lists.text_without(text, gone.__contains__), ensure_ascii=ensure_ascii)


TEXTS = {
    "in the middle": ("['a', 'b', 'c']", {"b"}, "['a', 'c']"),
    "the first": ("['a', 'b', 'c']", {"a"}, "['b', 'c']"),
    "the last": ("['a', 'b', 'c']", {"c"}, "['a', 'b']"),
    "all": ("['a', 'b']", {"a", "b"}, "[]"),
    "all, with a last comma": ("['a', 'b', ]", {"a", "b"}, "[]"),
    "all but one, with a last comma": ("['a', 'b', ]", {"b"}, "['a', ]"),
    "quotes stay as they are": ("""['a', "b", 'it\\'s', \"say 'x'\"]""", {"b"}, """['a', 'it\\'s', \"say 'x'\"]"""),
    "escapes stay as they are": (r"['\x61', 'b', '\u00e9\351é']", {"b"}, r"['\x61', '\u00e9\351é']"),
    "by what an escape means": (r"['\x61', 'b']", {"a"}, "['b']"),
    "behind characters of many bytes": ("['é😀é', 'a', 'ü', 'b']", {"a"}, "['é😀é', 'ü', 'b']"),
    "over lines": ("[\n  'é',\n  'a', 'b',\n]", {"a"}, "[\n  'é', 'b',\n]"),
    "lines that end in CR": ("['é',\r 'a',\r 'b']", {"a"}, "['é',\r 'b']"),
    "a long string": ("['''x\ny''', 'a', 'b']", {"a"}, "['''x\ny''', 'b']"),
    "two strings that are one id": ("['x' 'y', 'a']", {"a"}, "['x' 'y']"),
    "a form feed in a string": ("['x\x0cy', 'a', 'b']", {"a"}, "['x\x0cy', 'b']"),
    "a next-line in a string": ("['x\x85y',\n 'a', 'b']", {"a"}, "['x\x85y', 'b']"),
    "a line separator in a string": ("['x\u2028y', 'a', 'b']", {"a"}, "['x\u2028y', 'b']"),
    "a tuple that keeps two": ("('a', 'b', 'c')", {"a"}, "('b', 'c')"),
    "a tuple that keeps one": ("('a', 'b')", {"a"}, "('b',)"),
    "a tuple that keeps none": ("('a', 'b')", {"a", "b"}, "()"),
    "a Python object": ("{'a': {'b': 1}, 'b': None, 'c': []}", {"b"}, "{'a': {'b': 1}, 'c': []}"),
    "a Python object, all": ("{'a': {'b': 1}}", {"a"}, "{}"),
    "a JSON object": ('{"a": {"b": 1.10}, "b": null}', {"b"}, '{"a": {"b": 1.10}}'),
    "a text in a text": (r'"[\"a\", \"b\"]"', {"a"}, r'"[\"b\"]"'),
    "Python text in a text": (r"""  "['a', '\u00e9']" """, {"a"}, r"""  "['\u00e9']" """),
    "no list but a word": ("n/a", {"a"}, "n/a"),
    "nothing": ("", {"a"}, ""),
    "None": ("None", {"a"}, "None"),
}


@pytest.mark.parametrize(("text", "gone", "found"), TEXTS.values(), ids=TEXTS)
def test_a_text_keeps_all_else(text: str, gone: set[str], found: str) -> None:
    assert lists.text_without(text, gone.__contains__) == found


@pytest.mark.parametrize(("text", "gone", "found"), TEXTS.values(), ids=TEXTS)
def test_a_string_column_keeps_all_else(text: str, gone: set[str], found: str) -> None:
    assert lists.without(json.dumps(text), gone.__contains__) == json.dumps(found)


VALUES: dict[str, tuple[Any, Any]] = {
    "a list": (["a", "b", "a"], ["b"]),
    "all of a list": (["a"], []),
    "JSON text": ('["a", "b"]', '["b"]'),
    "Python text": ("['a', 'b']", "['b']"),
    "an object": ({"a": 1, "b": {"a": 2}}, {"b": {"a": 2}}),
    "pairs": ([("a", 1), ("b", None)], [("b", None)]),
    "nothing": (None, None),
    "a number": (1.5, 1.5),
}


@pytest.mark.parametrize(("value", "found"), VALUES.values(), ids=VALUES)
def test_a_value_without_some_ids(value: Any, found: Any) -> None:
    assert lists.value_without(value, {"a"}.__contains__) == found


@given(IDS, ANY_DROP, st.sampled_from([list, json.dumps, repr, dict.fromkeys]))
def test_what_is_left_reads_as_the_list_that_is_left(
    ids: list[str], drop: Drop, write: Callable[[list[str]], Any]
) -> None:
    gone = drop(ids)
    value = write(ids)
    trimmed = lists.value_without(value, gone.__contains__)
    assert lists.read(trimmed, "f") == tuple(test for test in lists.read(value, "f") if test not in gone)
    column = json.dumps(value)
    assert json.loads(lists.without(column, gone.__contains__)) == trimmed
