"""What hypothesis makes: JSON, values of keys, and evidence."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from repair.model import Evidence, Image, ListName, Outcome, Row, Run, Table

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])) | st.just("ids"), inner, max_size=4)
    ),
)
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
