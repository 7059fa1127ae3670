"""repair.json and outcomes.json as bytes: golden files, round trips, and documents that are none of ours.

`UPDATE_GOLDEN=1 python -m pytest tests/records/test_documents.py` writes the golden files again, for a review.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair import rules, table
from repair.errors import StoreError
from repair.model import Evidence, Image, Inputs, ListName, Observed, Outcome, Policy, Row, Run, Table
from repair.records.documents import outcomes_json, read_outcomes, repair_json
from repair.text import MAX_WIDTH, inline, pretty, sha256
from tests.support.paths import TESTS

GOLDEN = TESTS / "golden"
INPUTS = Inputs("a" * 64, None, "b" * 64, "c" * 64)
IMAGE = Image("sha256:" + "1" * 64, None, "linux/amd64")

PASSED = Observed(Outcome.PASSED)
FAILED = Observed(Outcome.FAILED, "AssertionError at calc.py:2")
SKIPPED = Observed(Outcome.SKIPPED, "could not import 'lxml': No module named 'lxml'")
GONE = Observed(Outcome.MISSING, "tests/test_meta.py: ModuleNotFoundError: No module named 'pretend'")


def run(observed: Mapping[str, Observed], exit: int | None = 0, **more: Any) -> Run:  # noqa: A002 - the field's name
    return Run(IMAGE.id, exit, observed, **more)


def evidence(
    f2p: list[str],
    p2p: list[str],
    empty: list[Run],
    oracle: list[Run],
    confirm: tuple[list[str], list[str], list[Run], list[Run]] | None = None,
    image: Image = IMAGE,
) -> Evidence:
    found = Evidence("calc-1", "0.1.0", image, tuple(empty), tuple(oracle), table.build(f2p, p2p, empty, oracle))
    if confirm is None:
        return found
    kept_f2p, kept_p2p, again_empty, again_oracle = confirm
    return replace(
        found,
        confirm_empty=tuple(again_empty),
        confirm_oracle=tuple(again_oracle),
        confirm_table=table.build(kept_f2p, kept_p2p, again_empty, again_oracle),
    )


def _clean() -> Evidence:
    return evidence(["f"], ["p", "q"], [run({"f": FAILED, "p": PASSED, "q": PASSED}, 1)], [run(_all("f", "p", "q"))])


def _all(*ids: str) -> dict[str, Observed]:
    return dict.fromkeys(ids, PASSED)


def _repaired() -> Evidence:
    """Two repeats, a group, drops of every rule, several causes, ids of every alphabet."""
    group = Observed(Outcome.SKIPPED, SKIPPED.cause, {"t.py::g[1]": Outcome.PASSED, "t.py::g[2]": Outcome.SKIPPED})
    both = {
        "t.py::g": group,
        "t.py::naïve[\u202e\U0001f40d\x7f]": SKIPPED,
        "meta.py::a": GONE,
        "meta.py::b": GONE,
        "t.py::f2[lxml]": SKIPPED,
        "t.py::p": PASSED,
    }
    first = run({**both, "t.py::f": FAILED, "t.py::flaky": PASSED}, 1, flags=("exit status 1 although no test failed",))
    second = run({**both, "t.py::f": FAILED, "t.py::flaky": FAILED}, 1)
    after = {**both, "t.py::f": PASSED}
    return evidence(
        ["t.py::f", "t.py::f2[lxml]"],
        ["t.py::p", "t.py::g", "t.py::naïve[\u202e\U0001f40d\x7f]", "meta.py::b", "meta.py::a", "t.py::flaky"],
        [first, second],
        [run({**after, "t.py::flaky": FAILED}, 1), run({**after, "t.py::flaky": PASSED}, deadly=("t.py::slow",))],
        (
            ["t.py::f"],
            ["t.py::p"],
            [run({"t.py::f": FAILED, "t.py::p": PASSED}, 1)] * 2,
            [run(_all("t.py::f", "t.py::p"))] * 2,
        ),
        replace(IMAGE, digest="registry.example/calc@sha256:" + "2" * 64, platform="linux/arm64"),
    )


def _refused() -> Evidence:
    """A regression, a failing F2P, and a drop that is recorded all the same."""
    return evidence(
        ["f", "g"],
        ["p", "q"],
        [run({"f": FAILED, "g": FAILED, "p": PASSED, "q": GONE}, 1)],
        [run({"f": FAILED, "g": PASSED, "p": SKIPPED, "q": GONE}, 1)],
    )


def _patch_refused() -> Evidence:
    said = "oracle.patch: calc.py: patch does not apply"
    return evidence(["f"], ["p"], [run({"f": FAILED, "p": PASSED}, 1)], [run({}, None, patch=said)])


def _not_confirmed() -> Evidence:
    before = run({"f": FAILED, "p": PASSED, "q": GONE}, 1)
    again = run({"f": FAILED, "p": PASSED}, 1)
    return evidence(
        ["f"],
        ["p", "q"],
        [before],
        [run({"f": PASSED, "p": PASSED, "q": GONE})],
        (["f"], ["p"], [again], [run({"f": PASSED, "p": FAILED}, 1)]),
    )


CASES: dict[str, Callable[[], Evidence]] = {
    "clean": _clean,
    "repaired": _repaired,
    "refused": _refused,
    "patch-refused": _patch_refused,
    "not-confirmed": _not_confirmed,
}


def policy(case: str) -> Policy:
    return Policy(min_p2p=0, repeats=2 if case == "repaired" else 1)


def documents(case: str) -> dict[str, bytes]:
    found = CASES[case]()
    outcomes = outcomes_json(found)
    record = repair_json(rules.repair_of(found, INPUTS, policy(case)), sha256(outcomes))
    return {f"{case}.repair.json": record, f"{case}.outcomes.json": outcomes}


def without_observed(found: Evidence) -> Evidence:
    """Evidence as outcomes.json holds it: what a run observed is in the table."""

    def bare(runs: tuple[Run, ...]) -> tuple[Run, ...]:
        return tuple(replace(run, observed={}) for run in runs)

    return replace(
        found,
        empty=bare(found.empty),
        oracle=bare(found.oracle),
        confirm_empty=bare(found.confirm_empty),
        confirm_oracle=bare(found.confirm_oracle),
    )


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
    found = _repaired()
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
    found = _clean()
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])) | st.just("ids"), inner, max_size=4)
    ),
)


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


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
OUTCOMES = st.sampled_from(Outcome)


def _rows(runs: int) -> st.SearchStrategy[tuple[Row, ...]]:
    cells = st.lists(OUTCOMES, min_size=runs, max_size=runs).map(tuple)
    row = st.builds(
        Row,
        TEXT,
        st.sets(st.sampled_from(ListName), min_size=1).map(frozenset),
        cells,
        cells,
        TEXT,
        TEXT,
        st.dictionaries(TEXT, st.tuples(cells, cells), max_size=3),
    )
    return st.lists(row, max_size=4, unique_by=lambda row: row.id).map(tuple)


RUNS = st.lists(
    st.builds(
        Run,
        TEXT,
        st.none() | st.integers(0, 255),
        st.just({}),
        st.none() | TEXT,
        st.lists(TEXT).map(tuple),
        st.lists(TEXT).map(tuple),
    ),
    max_size=2,
).map(tuple)
IMAGES = st.builds(Image, TEXT, st.none() | TEXT, st.none() | TEXT)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    rows = draw(_rows(draw(st.integers(0, 3))))
    found = Evidence(draw(TEXT), draw(TEXT), draw(IMAGES), draw(RUNS), draw(RUNS), Table(rows, draw(ERRORS)))
    if not draw(st.booleans()):
        return found
    kept = tuple(row for row in rows if draw(st.booleans()))
    again = tuple(replace(row, cause_oracle=draw(TEXT), members={}) for row in kept)
    second = Table(again, draw(ERRORS))
    return replace(found, confirm_empty=draw(RUNS), confirm_oracle=draw(RUNS), confirm_table=second)


ERRORS = st.lists(TEXT, max_size=2).map(tuple)


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
    document = json.loads(outcomes_json(_not_confirmed()))
    with pytest.raises(StoreError) as caught:
        read_outcomes(json.dumps(spoil(document)).encode())
    assert str(caught.value).startswith("outcomes.json ")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("status", [True, "0", 0.0, 10**30, [0]])
def test_an_exit_status_is_a_number(status: Any) -> None:
    document = json.loads(outcomes_json(_clean()))
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
    document = json.loads(outcomes_json(_repaired()))
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
