"""repair.json and outcomes.json as bytes: golden files, round trips, and documents that are none of ours.

`UPDATE_GOLDEN=1 python -m pytest tests/records/test_documents.py` writes the golden files again, for a review.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.errors import StoreError
from repair.model import Evidence, ListName
from repair.records.documents import outcomes_json, read_outcomes
from repair.text import MAX_WIDTH, inline, pretty
from tests.support.evidence import CASES, documents, evidence, without_observed
from tests.support.paths import TESTS
from tests.support.strategies import JSON, evidences

GOLDEN = TESTS / "golden"

# ---- golden files


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    for name, content in documents(case).items():
        if os.environ.get("UPDATE_GOLDEN"):
            (GOLDEN / name).write_bytes(content)
        assert content.decode() == (GOLDEN / name).read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {name for case in CASES for name in documents(case)}


@pytest.mark.parametrize("case", CASES)
def test_verdict_of_each_golden_case(case: str) -> None:
    record = json.loads(documents(case)[f"{case}.repair.json"])
    assert record["verdict"] == {"clean": "clean", "repaired": "repaired"}.get(case, "refused")
    dropped = {test for group in record["dropped"] for test in group["ids"]}
    assert sum(count["dropped"] for count in record["counts"].values()) == len(dropped)
    for count in record["counts"].values():
        assert count["kept"] + count["dropped"] <= count["listed"]


@pytest.mark.parametrize("case", CASES)
def test_both_are_ascii_and_end_with_a_line_break(case: str) -> None:
    for content in documents(case).values():
        assert content.isascii()
        assert not re.search(rb"[^\n\x20-\x7e]", content)
        assert content.endswith(b"}\n")
        json.loads(content)


@pytest.mark.parametrize("case", CASES)
def test_ids_stand_one_a_line(case: str) -> None:
    found = CASES[case]()
    outcomes, record = (content.decode().splitlines() for content in reversed(documents(case).values()))
    for row in found.table.rows:
        assert sum(line.startswith(f"{inline(row.id)}: ") for line in outcomes) == 1
    groups = [group for key in ("dropped", "reasons") for group in json.loads("\n".join(record))[key]]
    for test in {test for group in groups for test in group.get("ids", ())}:
        assert f"{inline(test)}" in {line.strip(" ,") for line in record}


def test_the_decision_comes_first() -> None:
    record = json.loads(documents("repaired")["repaired.repair.json"])
    assert list(record)[:5] == ["instance_id", "verdict", "reasons", "counts", "dropped"]


def test_the_order_in_which_ids_were_listed_and_seen_changes_no_byte() -> None:
    found = CASES["repaired"]()
    backwards = [replace(run, observed=dict(reversed(list(run.observed.items())))) for run in found.empty]
    again = evidence(
        ["t.py::f2[lxml]", "t.py::f"],
        [row.id for row in reversed(found.table.rows) if ListName.P2P in row.lists] * 2,
        backwards,
        list(found.oracle),
        (["t.py::f"], ["t.py::p"], list(found.confirm_empty), list(found.confirm_oracle)),
        found.image,
    )
    assert outcomes_json(again) == outcomes_json(found)


def test_where_an_image_is_emulated_is_no_part_of_a_record() -> None:
    found = CASES["clean"]()
    elsewhere = replace(found, image=replace(found.image, emulated=True))
    assert outcomes_json(elsewhere) == outcomes_json(found)


# ---- JSON as text


@pytest.mark.parametrize(
    "value",
    [
        {"ids": "a text"},
        {"ids": {"ids": "passed"}},
        {"ids": []},
        {"a": [{"ids": ["x", "y"]}], "ids": 5},
        {"cause": '"ids": ["x"]'},
        {"note": "x" * 200, "ids": None},
        [],
        {},
        [[], {}, None, True, 0, -1, 0.5, "ü\U0001f40d\x7f\u2028"],
    ],
)
def test_pretty_keeps_the_value(value: Any) -> None:
    assert json.loads(pretty(value)) == value


@settings(deadline=None)
@given(value=JSON)
def test_any_value_reads_back(value: Any) -> None:
    for text in (inline(value), pretty(value)):
        assert text.isascii()
        assert json.loads(text) == value
    assert "\n" not in inline(value)


def test_what_is_short_stands_on_one_line() -> None:
    short = {"key": "x" * (MAX_WIDTH - len('{"key": ""}'))}
    assert pretty(short) == inline(short)
    assert "\n" in pretty({"key": short["key"] + "x"})


# ---- round trips


@pytest.mark.parametrize("case", CASES)
def test_outcomes_read_back(case: str) -> None:
    found = CASES[case]()
    again = read_outcomes(outcomes_json(found))
    assert again == without_observed(found)
    assert outcomes_json(again) == outcomes_json(found)


@settings(deadline=None)
@given(found=evidences())
def test_any_evidence_reads_back(found: Evidence) -> None:
    content = outcomes_json(found)
    assert read_outcomes(content) == found
    assert outcomes_json(read_outcomes(content)) == content


# ---- documents that are none of ours


def _set(*path: str, to: Any) -> Callable[[Any], Any]:
    def change(document: Any) -> Any:
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to
        return document

    return change


HOSTILE: list[Callable[[Any], Any]] = [
    lambda document: None,
    lambda document: [document],
    lambda document: "schema",
    *(lambda document, key=key: document.pop(key) and document for key in ("schema", "tool", "image", "tests")),
    _set("schema", to=2),
    _set("schema", to="1"),
    _set("schema", to=["\x1b[2J"] * 1000),
    _set("instance_id", to=5),
    _set("image", to="sha256:1"),
    _set("image", "id", to=None),
    _set("tests", to=[]),
    _set("tests", "f", to=None),
    _set("tests", "f", to={}),
    _set("tests", "f", "lists", to=["S2P"]),
    _set("tests", "f", "lists", to=5),
    _set("tests", "f", "empty", to=["green"]),
    _set("tests", "f", "empty", to="passed"),
    _set("tests", "f", "empty", to=[["passed"]]),
    _set("tests", "f", "empty", to=["\x1b[31m\u202e"]),
    _set("tests", "f", "cause", to={"empty": "x"}),
    _set("tests", "f", "cause", to=["x"]),
    _set("tests", "f", "members", to=["x"]),
    _set("tests", "f", "members", to={"x": {"empty": ["passed"]}}),
    _set("tests", "f", "confirm", to=5),
    _set("controls", to={}),
    _set("controls", "empty", to=None),
    _set("controls", "empty", to=[{}]),
    _set("controls", "oracle", to={"exit": 0}),
    _set("controls", "patch_errors", to=[1]),
    _set("controls", "confirm", to=[]),
    _set("controls", "confirm", to={"empty": [], "oracle": []}),
]


@pytest.mark.parametrize("spoil", HOSTILE)
def test_a_document_that_is_not_ours_is_refused(spoil: Callable[[Any], Any]) -> None:
    document = json.loads(outcomes_json(CASES["not-confirmed"]()))
    with pytest.raises(StoreError) as caught:
        read_outcomes(json.dumps(spoil(document)).encode())
    assert str(caught.value).startswith("outcomes.json ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("status", [True, "0", 0.0, 10**30, [0]])
def test_an_exit_status_is_a_number(status: Any) -> None:
    document = json.loads(outcomes_json(CASES["clean"]()))
    document["controls"]["empty"][0]["exit"] = status
    with pytest.raises(StoreError):
        read_outcomes(json.dumps(document).encode())


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff{}", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"schema": NaN}', b"{}\0"]
)
def test_bytes_that_are_no_json_are_refused(content: bytes) -> None:
    with pytest.raises(StoreError, match=r"outcomes\.json is not one of ours"):
        read_outcomes(content)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_whatever_a_document_holds_nothing_but_a_store_error_is_raised(data: st.DataObject) -> None:
    document = json.loads(outcomes_json(CASES["repaired"]()))
    place: Any = document
    while True:  # somewhere in the document
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        below = place[key]
        if not below or not isinstance(below, dict | list) or data.draw(st.booleans()):
            break
        place = below
    place[key] = data.draw(JSON)
    try:
        found = read_outcomes(json.dumps(document).encode())
    except StoreError:
        return
    outcomes_json(found)
