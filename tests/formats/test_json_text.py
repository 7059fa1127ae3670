"""JSON as somebody else wrote it: what is taken out is gone, and all the rest is the same text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.formats.raw import json_text
from repair.formats.raw.lists import without

BLANKS = st.sampled_from(["", " ", "  ", "\n", "\r\n", "\n    ", "\t", " \n\t "])
NUMBERS = st.sampled_from(
    ["0", "-0", "-0.0", "1.10", "1e400", "-1E+400", "1E5", "0.1e-9", "NaN", "Infinity", "-Infinity", "9" * 400]
)
CHARS = st.sampled_from([*"ab/\\\"\n\t\b[]{},:'", "é", "ü", "\u2028", "\x7f", "\x85", "😀", "\ud800", "\udfff", "\0"])
# Two halves of a pair side by side would be read as one character.
IDS = st.text(CHARS, max_size=8).filter(lambda text: "\ud800\udfff" not in text) | st.just("t.py::test_a[x, y]")


def spelt(char: str, way: str) -> str:
    """One character in a JSON string, in one of the ways in which it may be written."""
    plain = char if char >= " " and char not in '"\\' and not 0xD800 <= ord(char) < 0xE000 else None
    units = char.encode("utf-16-be", "surrogatepass")
    numbers = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    escaped = "".join(f"\\u{number:04X}" if way == "upper" else f"\\u{number:04x}" for number in numbers)
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\n": "\\n", "\t": "\\t", "\b": "\\b"}.get(char)
    if way == "plain":
        return plain or short or escaped
    return (short or plain or escaped) if way == "short" else escaped


@st.composite
def strings(draw: st.DrawFn, value: str) -> str:
    """A JSON string of `value`, each character in one of two ways."""
    ways = st.sampled_from(draw(st.sampled_from([("plain", "upper"), ("short", "lower")])))
    return '"' + "".join(spelt(char, draw(ways)) for char in value) + '"'


@st.composite
def others(draw: st.DrawFn) -> str:
    """The text of a value that is none of the lists."""
    leaves = NUMBERS | st.sampled_from(["null", "true", "false", "[]", "{}", "[ ]"]) | IDS.flatmap(strings)
    found: str = draw(
        leaves
        | st.tuples(leaves, BLANKS, leaves).map(lambda three: f"[{three[1]}{three[0]},{three[1]}{three[2]}]")
        | st.tuples(leaves, BLANKS).map(lambda two: f'{{"FAIL_TO_PASS":{two[1]}{two[0]}{two[1]}}}')
    )
    return found


def together(draw: st.DrawFn, items: list[str], brackets: str) -> tuple[str, list[tuple[str, str]]]:
    """Items with blanks around them between brackets; and the pieces: each item with the separator before it."""
    pieces = [((draw(BLANKS) + "," if n else "") + draw(BLANKS), item) for n, item in enumerate(items)]
    text = brackets[0] + "".join(before + item for before, item in pieces) + draw(BLANKS) + brackets[1]
    return text, pieces


@st.composite
def arrays(draw: st.DrawFn) -> tuple[str, list[str]]:
    ids = draw(st.lists(IDS, max_size=6))
    text, _ = together(draw, [draw(strings(test)) for test in ids], "[]")
    return text, ids


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, list[str], list[tuple[str, str]]]:
    """A row's text, the ids of its FAIL_TO_PASS, and all members as key and text of the value."""
    array, ids = draw(arrays())
    members = [("FAIL_TO_PASS", array)]
    for key in draw(st.lists(IDS, max_size=4, unique=True)):
        members.insert(draw(st.integers(0, len(members))), (key, draw(others())))
    spelt_members = [f"{draw(strings(key))}{draw(BLANKS)}:{draw(BLANKS)}{value}" for key, value in members]
    text, _ = together(draw, spelt_members, "{}")
    return draw(BLANKS) + text + draw(BLANKS), ids, members


def same(found: Any, wanted: Any) -> bool:
    """Equal, NaN to NaN, and floats to the bit."""
    return repr(found) == repr(wanted)


def dropping(ids: set[str]) -> dict[str, Callable[[str], str]]:
    return {"FAIL_TO_PASS": lambda value: without(value, ids.__contains__)}


CHOICES: dict[str, Callable[[list[str]], set[str]]] = {
    "all": set,
    "the first": lambda ids: set(ids[:1]),
    "the last": lambda ids: set(ids[-1:]),
    "every second": lambda ids: set(ids[::2]),
    "all but one": lambda ids: set(ids) - set(ids[1:2]),
    "an id that is not there": lambda _: {"not there"},
}


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
@settings(max_examples=40)
@given(row=rows())
def test_a_row_without_some_ids_says_all_else(
    choice: Callable[[list[str]], set[str]], row: tuple[str, list[str], list[tuple[str, str]]]
) -> None:
    text, ids, members = row
    gone = choice(ids)
    found = json_text.replace_values(text, dropping(gone))
    wanted = json.loads(text)
    wanted["FAIL_TO_PASS"] = [test for test in ids if test not in gone]
    assert same(json.loads(found), wanted)
    at = 0
    for key, value in members:  # every other value is there in its own spelling, in order
        if key != "FAIL_TO_PASS":
            at = found.index(value, at) + len(value)


@settings(max_examples=60)
@given(rows())
def test_outside_of_the_list_not_a_character_changes(row: tuple[str, list[str], list[tuple[str, str]]]) -> None:
    text, ids, members = row
    array = dict(members)["FAIL_TO_PASS"]
    trimmed = without(array, set(ids[::2]).__contains__)
    found = json_text.replace_values(text, dropping(set(ids[::2])))
    assert found in {
        text[: at.start()] + trimmed + text[at.start() + len(array) :] for at in re.finditer(re.escape(array), text)
    }


@settings(max_examples=60)
@given(rows(), st.booleans())
def test_where_nothing_goes_the_text_is_the_same(
    row: tuple[str, list[str], list[tuple[str, str]]], changes_nothing: bool
) -> None:
    text, _, _ = row
    change = dropping(set()) if changes_nothing else {}
    assert json_text.replace_values(text, change) == text


@given(arrays(), st.data())
def test_items_that_stay_keep_their_spelling(array: tuple[str, list[str]], data: st.DataObject) -> None:
    text, ids = array
    gone = set(data.draw(st.lists(st.sampled_from(ids)))) if ids else set()
    before = {span: text[slice(*span)] for _, span in json_text.elements(text)}
    kept = [spelling for (test, _), spelling in zip(json_text.elements(text), before.values(), strict=True)]
    found = without(text, gone.__contains__)
    stays = [spelling for spelling, test in zip(kept, ids, strict=True) if test not in gone]
    assert [found[slice(*span)] for _, span in json_text.elements(found)] == stays


LAYOUTS = {
    "one line": ('["a", "b", "c"]', {"b"}, '["a", "c"]'),
    "without blanks": ('["a","b","c"]', {"a"}, '["b","c"]'),
    "the last": ('["a", "b", "c"]', {"c"}, '["a", "b"]'),
    "two": ('["a", "b", "c"]', {"a", "c"}, '["b"]'),
    "a line each": ('[\n  "a",\n  "b",\n  "c"\n]', {"b"}, '[\n  "a",\n  "c"\n]'),
    "a line each, the first": ('[\n  "a",\n  "b",\n  "c"\n]', {"a"}, '[\n  "b",\n  "c"\n]'),
    "a line each, the last": ('[\n  "a",\n  "b",\n  "c"\n]', {"c"}, '[\n  "a",\n  "b"\n]'),
    "all of a line each": ('[\n  "a",\n  "b"\n]', {"a", "b"}, "[]"),
    "all": ('[ "a" ]', {"a"}, "[]"),
    "comma first": ('[ "a"\n, "b"\n, "c"\n]', {"b"}, '[ "a"\n, "c"\n]'),
    "twice": ('["a", "b", "a"]', {"a"}, '["b"]'),
    "by what an escape means": (r'["\u0061", "b"]', {"a"}, '["b"]'),
    "an object": ('{"a": {"x": 1.10}, "b" : NaN , "c":[]}', {"a"}, '{"b" : NaN , "c":[]}'),
    "an object, all": ('{"a": {}, "b": 1}', {"a", "b"}, "{}"),
    "an object's inner keys stay": ('{"a": {"b": 1}, "b": 2}', {"b"}, '{"a": {"b": 1}}'),
    "an empty list": ("[ ]", {"a"}, "[ ]"),
    "null": ("null", {"a"}, "null"),
    "a number": ("1e400", {"a"}, "1e400"),
}


@pytest.mark.parametrize(("text", "gone", "found"), LAYOUTS.values(), ids=LAYOUTS)
def test_layout(text: str, gone: set[str], found: str) -> None:
    assert without(text, gone.__contains__) == found


def test_a_key_that_stands_twice_changes_twice() -> None:
    text = '{"FAIL_TO_PASS": ["a"], "x": 1, "FAIL_TO_PASS": ["a", "b"]}'
    assert json_text.replace_values(text, dropping({"a"})) == '{"FAIL_TO_PASS": [], "x": 1, "FAIL_TO_PASS": ["b"]}'


def test_a_key_is_known_by_what_its_escapes_mean() -> None:
    text = r'{"FAIL\u005fTO_PASS": ["a", "b"]}'
    assert json_text.replace_values(text, dropping({"a"})) == r'{"FAIL\u005fTO_PASS": ["b"]}'


def test_the_keys_of_an_inner_object_are_no_columns() -> None:
    text = '{"x": {"FAIL_TO_PASS": ["a"]}, "FAIL_TO_PASS": ["a", "b"]}'
    assert json_text.replace_values(text, dropping({"a"})) == '{"x": {"FAIL_TO_PASS": ["a"]}, "FAIL_TO_PASS": ["b"]}'


@settings(max_examples=60)
@given(rows())
def test_members_are_where_they_stand(row: tuple[str, list[str], list[tuple[str, str]]]) -> None:
    text, _, members = row
    found = list(json_text.members(text))
    assert [(key, text[slice(*value)]) for key, _, value in found] == members
    assert all(json.loads("{" + text[slice(*whole)] + "}").keys() == {key} for key, whole, _ in found)


BROKEN = {
    "no array": "{}",
    "nothing": "",
    "not closed": '["a"',
    "no comma": '["a" "b"]',
    "a comma too many": '["a",]',
    "single quotes": "['a']",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_array_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting|Invalid"):
        list(json_text.elements(text))


BROKEN_OBJECTS = {
    "no object": "[]",
    "a key that is none": "{1: 2}",
    "no colon": '{"a" 2}',
    "no value": '{"a":}',
    "not closed": '{"a": 2',
}


@pytest.mark.parametrize("text", BROKEN_OBJECTS.values(), ids=BROKEN_OBJECTS)
def test_what_is_no_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        list(json_text.members(text))


def test_values_are_read_as_json_reads_them() -> None:
    values = [value for value, _ in json_text.elements('[NaN, 1e400, 1.10, "\\ud800", ' + "9" * 400 + "]")]
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, 1.1, "\ud800", int("9" * 400)]


STRINGS = {
    "plain": (r'"[\"a\", \"\u00e9/\"]"', r'"[\"\u00e9/\"]"'),
    "not only ASCII": (r'"[\"a\", \"é/\"]"', r'"[\"é/\"]"'),
    "slashes": (r'"[\"a\", \"\u00e9\/\"]"', r'"[\"\u00e9\/\"]"'),
    "slashes, not only ASCII": (r'"[\"a\", \"é\/\"]"', r'"[\"é\/\"]"'),
    "capital letters": (r'"[\"a\", \"\u00E9\"]"', r'"[\"\u00E9\"]"'),
    "more escaped than need be": (r'"[\"a\", \"\u003c\u0026\u002f\"]"', r'"[\"\u003c\u0026\u002f\"]"'),
    "one and the same in two ways": (r'"[\"a\", \"/\/é\u00e9\u00E9\"]"', r'"[\"/\/é\u00e9\u00E9\"]"'),
    "pairs": (r'"[\"a\", \"\ud83d\ude00😀\"]"', r'"[\"\ud83d\ude00😀\"]"'),
    "half a pair": (r'"[\"a\", \"\ud83d\", \"é\"]"', r'"[\"\ud83d\", \"é\"]"'),
    "escapes of the inner text": (r'"[\"a\", \"\\u00e9\\n\\\"\"]"', r'"[\"\\u00e9\\n\\\"\"]"'),
    "a text in a text": (r'"\"[\\\"a\\\", \\\"\\u00e9\u00e9\\\"]\""', r'"\"[\\\"\\u00e9\u00e9\\\"]\""'),
    "Python": (r'"[\u0027a\u0027, \u0027\u00E9\u0027]"', r'"[\u0027\u00E9\u0027]"'),
}


@pytest.mark.parametrize(("text", "found"), STRINGS.values(), ids=STRINGS)
def test_a_list_in_a_string_keeps_the_spelling_of_what_stays(text: str, found: str) -> None:
    assert json.loads(text) != json.loads(found)
    assert without(text, {"a"}.__contains__) == found


@given(arrays(), st.data())
def test_a_list_in_a_string_of_any_spelling(array: tuple[str, list[str]], data: st.DataObject) -> None:
    inner, ids = array
    text = data.draw(strings(inner))
    gone = set(ids[::2])
    found = without(text, gone.__contains__)
    assert json.loads(found) == without(inner, gone.__contains__)
    if not gone:
        assert found == text
