"""A key's reader and its schema say the same, value by value; where they part is said here and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.model import Outcome, Policy, Task
from repair.outcomes.spelling import MAX_ID
from repair.panel import keys
from repair.panel import read as panel_read
from repair.panel.keys import FILL_IN, Key, Kind, WrongError
from tests.support.keys import BAD, GOOD_KEYS, Draft
from tests.support.strategies import ANYTHING

TABLES = {"task": keys.TASK_JSON, "policy": keys.POLICY, "gate": keys.GATE, "panel": keys.PANEL}
ALL = [(f"{table}.{name}", key) for table, known in TABLES.items() for name, key in known.items()]


def reads(kind: Kind | Key, value: Any) -> bool:
    try:
        kind.read(value)
    except WrongError:
        return False
    return True


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    return bool(Draft(schema).is_valid(value))


def agree(kind: Kind, value: Any) -> bool:
    """Do both say the same of a value as JSON has it, but for what only one of them can say?"""
    read, fit = reads(kind, value), fits(kind.schema, value)
    return read == fit or (fit and (_is_whole_float(value) or _is_size(kind, value)))


def _is_whole_float(value: Any) -> bool:
    """JSON Schema takes 2.0 for a whole number; TOML and the readers tell it from 2."""
    return isinstance(value, float) and value.is_integer()


def _is_size(kind: Kind, value: Any) -> bool:
    """How large a text's size is, its pattern does not say."""
    return kind is keys.MEMORY and isinstance(value, str)


# ---- value by value

MORE: list[tuple[str, Any, bool]] = [
    ("test_files", [], True),
    ("test_files", ["tests/test_*.py", "a.py"], True),
    ("test_files", "tests/test_a.py", False),
    ("test_files", [""], False),
    ("test_files", ["a\0b"], False),
    ("image", f"{FILL_IN}the image's name", False),
    ("image", f"me/{FILL_IN}", True),
    ("image", "\n x", True),
    ("image", "\u3000\t", False),
    ("user", " ", False),
    ("workdir", "/a\0", False),
    ("workdir", "/\n", True),
    ("test_cmd", "\0", False),
    ("test_cmd", [""], False),
    ("junit", [], True),
    ("PASS_TO_PASS", ["a\n"], False),
    ("PASS_TO_PASS", ["a" * MAX_ID], True),
    ("PASS_TO_PASS", ["\U0001f40d" * MAX_ID], True),
    ("PASS_TO_PASS", ["a" * (MAX_ID + 1)], False),
    ("env", {"A\n": "1"}, False),
    ("env", {"1A": "1"}, False),
    ("env", {"Ä": "1"}, False),
    ("env", {"AÄ": "1"}, False),
    ("env", {"_": "a\0"}, False),
    ("env", {}, True),
    ("memory", "512m\n", False),
    ("memory", "٥٠٠m", False),
    ("memory", "9\u212a", False),
    ("memory", (6 << 20) - 1, False),
    ("memory", (1 << 50) - 1, True),
    ("memory", 1 << 50, False),
    ("timeout", 1e9, False),
    ("timeout", 999_999_999.5, True),
    ("id_template", "{name}\n", True),
    ("id_template", ["{name}\0"], False),
    ("id_template", "{{name}", False),
    ("id_template", "}{name}", True),
    ("base_commit", None, True),
]
TASK_VALUES = [*((key, value, True) for key, value in GOOD_KEYS), *((key, value, False) for key, value in BAD), *MORE]


@pytest.mark.parametrize(("name", "value", "good"), TASK_VALUES, ids=[f"{k}={v!r:.30}" for k, v, _ in TASK_VALUES])
def test_reader_and_schema_of_a_tasks_key_agree(name: str, value: Any, good: bool) -> None:
    key = keys.TASK[name]
    assert reads(key, value) is good
    assert fits(key.kind.schema, value) is good or _is_size(key.kind, value)
    assert agree(key.kind, value)


PANEL_VALUES: dict[str, tuple[Key, list[Any], list[Any]]] = {
    "min_p2p": (keys.POLICY["min_p2p"], [0, 1, 10**9], [-1, 10**9 + 1, True, "1", None, 1.5, []]),
    "repeats": (keys.POLICY["repeats"], [1, 100], [0, 101, True]),
    "recheck": (keys.POLICY["recheck"], [0, 1, 100], [-1, 101, False, "0"]),
    "passing": (
        keys.POLICY["passing"],
        [["passed"], ["xfailed", "passed", "xfailed", "xpassed"]],
        [[], ["xfailed"], ["passed", "skipped"], "passed", [1], {}, ["passed", ["xfailed"]]],
    ),
    "min_tasks": (keys.GATE["min_tasks"], [0, 8], [-1, "8"]),
    "name": (keys.PANEL["name"], ["x", "ü x"], ["", " ", 5, None]),
    "[policy]": (keys.PANEL["policy"], [{}, {"min_p2p": 1}], [[], 1]),
    "$schema": (keys.TASK_JSON["$schema"], ["../x.json"], ["", 5]),
}


@pytest.mark.parametrize(("key", "good", "bad"), PANEL_VALUES.values(), ids=PANEL_VALUES)
def test_reader_and_schema_of_another_key_agree(key: Key, good: list[Any], bad: list[Any]) -> None:
    for values, wanted in ((good, True), (bad, False)):
        assert [value for value in values if reads(key, value) is not wanted] == []
        assert [value for value in values if fits(key.kind.schema, value) is not wanted] == []


@pytest.mark.parametrize(("key", "value"), [("memory", "1k"), ("memory", "999999999999999g")])
def test_how_large_a_size_is_only_the_reader_says(key: str, value: str) -> None:
    assert (reads(keys.TASK[key], value), fits(keys.TASK[key].kind.schema, value)) == (False, True)


@pytest.mark.parametrize("key", [keys.POLICY["min_p2p"], keys.POLICY["repeats"], keys.TASK["memory"]])
def test_a_whole_number_with_a_point_is_one_for_the_schema_alone(key: Key) -> None:
    value = 16777216.0 if key is keys.TASK["memory"] else 2.0
    assert (reads(key, value), fits(key.kind.schema, value)) == (False, True)


WORDS = st.sampled_from(
    ["", " ", "\0", "\n", "/", "{", "}", "{name}", "{classname}", "7", "k", "m", "g", "b", "K", "A", "_", "ü", FILL_IN]
)
TEXTS = st.lists(WORDS, max_size=6).map("".join)
NEAR = st.one_of(
    TEXTS,
    st.lists(TEXTS | st.sampled_from(Outcome).map(str), max_size=4),
    st.dictionaries(TEXTS, TEXTS, max_size=3),
    st.integers(-2, 1 << 51),
    st.floats(allow_nan=False),
    st.sampled_from(["none", "bridge", "ids", "files", "all", "passed", *Outcome]).map(str),
)


@settings(deadline=None, max_examples=100)
@pytest.mark.parametrize(("name", "key"), ALL, ids=[name for name, _ in ALL])
@given(value=NEAR | ANYTHING.filter(lambda value: "nan" not in repr(value)))
def test_reader_and_schema_agree_on_any_value(name: str, key: Key, value: Any) -> None:
    del name
    plain = json.loads(json.dumps(value))
    assert agree(key.kind, plain), plain


# ---- the tables


@pytest.mark.parametrize(("name", "key"), ALL, ids=[name for name, _ in ALL])
def test_every_key_says_in_one_line_what_it_means(name: str, key: Key) -> None:
    del name
    assert re.fullmatch(r"[A-Z$][^\n]{10,110}[.]", key.about)
    jsonschema.Draft202012Validator.check_schema(key.kind.schema)


def test_the_keys_are_the_fields_of_the_model() -> None:
    elsewhere = {"oracle_patch", "tests_patch", "entry_patch", "directory"}
    assert {panel_read.FIELDS.get(key, key) for key in keys.TASK} == set(Task.__dataclass_fields__) - elsewhere
    assert set(keys.POLICY) == set(Policy.__dataclass_fields__)
    assert keys.REQUIRED == ("instance_id", "image", "FAIL_TO_PASS", "PASS_TO_PASS")


def test_a_default_reads_as_what_the_model_has() -> None:
    task = Task("t", "x", (), (), b"x", None, Path())
    for model, table in ((task, {**keys.RUNTIME, "base_commit": keys.TASK["base_commit"]}), (Policy(), keys.POLICY)):
        for name, key in table.items():
            if name != "id_template":  # absent: there is no way to write it
                assert key.read(key.default) == getattr(model, name)
    assert keys.RUNTIME["id_template"].default == []


def test_no_table_can_be_changed() -> None:
    with pytest.raises(TypeError):
        keys.TASK["more"] = keys.TASK["image"]  # type: ignore[index]
