"""What every format of rows in the registry promises: which rows are its own, and what they mean.

A format's row of test data, in row_samples.py, is all that these tests know of it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from repair.formats import registry
from repair.formats.base import Carried, DirectoryFormat, Draft, Row, RowError, RowFormat, Wants
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import NULLS, ROWS
from tests.formats.sample import RowSample, cases

NO_WISHES = Wants()
HALF = "\ud800"  # half a character, which no file can hold


def only(row: Row, columns: tuple[str, ...]) -> Row:
    return {column: row[column] for column in columns}


def without(row: Row, column: str) -> Row:
    return {key: value for key, value in row.items() if key != column}


def of(row: Row) -> list[str]:
    """The formats that a row fits."""
    return [known.name for known in registry.ROWS.values() if known.fits(row)]


def error(known: RowFormat, row: Row) -> RowError:
    """Why a row is not a task."""
    with pytest.raises(RowError) as caught:
        known.draft(row, NO_WISHES)
    return caught.value


@pytest.fixture(scope="module", params=registry.ROWS)
def known(request: pytest.FixtureRequest) -> RowFormat:
    return registry.ROWS[request.param]


@pytest.fixture(scope="module")
def sample(known: RowFormat) -> RowSample:
    return ROWS[known.name]


@pytest.fixture(scope="module")
def row(sample: RowSample) -> Row:
    return sample.build()


@pytest.fixture(scope="module")
def draft(known: RowFormat, row: Row) -> Draft:
    return known.draft(row, NO_WISHES)


def test_every_format_has_its_name_and_a_row_of_test_data() -> None:
    assert set(ROWS) == set(registry.ROWS)
    assert set(DIRECTORIES) == set(registry.DIRECTORIES)
    every: list[tuple[str, RowFormat | DirectoryFormat]] = [*registry.ROWS.items(), *registry.DIRECTORIES.items()]
    assert [known.name for _, known in every] == [name for name, _ in every]
    assert all(known.title for _, known in every)
    assert not {registry.AUTO, registry.NATIVE} & {name for name, _ in every}
    assert len({name for name, _ in every}) == len(every)


# ---- which rows are of a format


def test_its_row_fits_it_alone(known: RowFormat, sample: RowSample, row: Row) -> None:
    for columns in (row, only(row, sample.enough)):
        assert of(columns) == [known.name]
        assert registry.of_row(columns, registry.AUTO) is known
        assert registry.of_row({**NULLS, **columns}, registry.AUTO) is known


@pytest.mark.parametrize(("name", "changes"), cases("forms", ROWS))
def test_a_row_of_another_form_fits_it_alone(name: str, changes: Row) -> None:
    row = ROWS[name].build(**changes)
    assert of(row) == [name]
    assert registry.of_row({**NULLS, **row}, registry.AUTO).name == name


@pytest.mark.parametrize(("name", "changes"), cases("foreign", ROWS))
def test_a_row_with_a_sign_of_another_format_does_not_fit(name: str, changes: Row) -> None:
    assert not registry.ROWS[name].fits(ROWS[name].build(**changes))


def test_a_row_fits_without_the_columns_that_no_task_needs(known: RowFormat, sample: RowSample, row: Row) -> None:
    assert not known.fits({})
    assert all(known.fits(without(row, column)) for column in row if column not in sample.enough)


def test_a_row_needs_each_column_that_a_task_is_made_of(known: RowFormat, sample: RowSample, row: Row) -> None:
    for column in sample.enough:
        less = without(only(row, sample.enough), column)
        assert not known.fits(less) or error(known, less).problem


@pytest.mark.parametrize("value", ["", None], ids=["blank", "null"])
def test_what_a_column_says_does_not_matter_where_it_does_not_tell(
    known: RowFormat, sample: RowSample, row: Row, value: str | None
) -> None:
    """What a column is worth is for the draft to say, which names it."""
    blank = {column: row[column] if column in sample.telling else value for column in sample.enough}
    assert of(blank) == [known.name]


def test_a_null_in_a_list_s_column_is_the_draft_s_to_name(known: RowFormat, row: Row) -> None:
    for column in (*known.f2p, *known.p2p):
        nulled = {**NULLS, **row, column: None}
        assert registry.of_row(nulled, registry.AUTO) is known
        assert error(known, nulled).field == column


def test_the_format_that_is_asked_for_is_taken(known: RowFormat) -> None:
    assert registry.of_row({}, known.name) is known
    assert error(known, {}).field


# ---- what a row means


def test_a_row_as_published(draft: Draft, sample: RowSample) -> None:
    assert draft == sample.draft


def test_a_row_of_the_columns_that_it_needs_is_a_task(known: RowFormat, sample: RowSample, row: Row) -> None:
    least = known.draft(only(row, sample.enough), NO_WISHES)
    assert (least.f2p, least.p2p, least.oracle_patch) == (sample.draft.f2p, sample.draft.p2p, sample.draft.oracle_patch)
    assert least.runtime["test_cmd"]


def test_it_names_its_columns_of_ids(known: RowFormat, sample: RowSample, row: Row) -> None:
    assert (known.f2p, known.p2p, known.also) == (sample.f2p, sample.p2p, sample.also)
    assert {*known.f2p, *known.p2p, *known.also} <= row.keys()
    assert known.f2p or known.also
    assert (known.write is not None) is bool(sample.written)


def columns_of_lists(sample: RowSample) -> tuple[str, ...]:
    """The columns that the lists are read from."""
    return (*sample.f2p, *sample.p2p) or sample.also


def value_of(row: Row, column: str) -> Any:
    """What a column of ids says, whatever it is spelt like."""
    value = row[column]
    return ast.literal_eval(value) if isinstance(value, str) else value


def test_a_list_is_the_same_in_any_spelling(known: RowFormat, sample: RowSample, row: Row, draft: Draft) -> None:
    for spelling in sample.spellings:
        spelt = {column: spelling(value_of(row, column)) for column in (*columns_of_lists(sample), *sample.also)}
        assert known.draft({**row, **spelt}, NO_WISHES) == draft


def test_an_empty_list_is_data(known: RowFormat, sample: RowSample, row: Row, draft: Draft) -> None:
    for empty in sample.empty:
        neither = known.draft({**row, **dict.fromkeys(columns_of_lists(sample), empty)}, NO_WISHES)
        assert (neither.f2p, neither.p2p) == ((), ())
        if sample.p2p:
            one = known.draft({**row, **dict.fromkeys(sample.f2p, empty)}, NO_WISHES)
            assert (one.f2p, one.p2p) == ((), draft.p2p)
            other = known.draft({**row, **dict.fromkeys(sample.p2p, empty)}, NO_WISHES)
            assert (other.f2p, other.p2p) == (draft.f2p, ())


def test_what_is_not_a_list_names_its_column(known: RowFormat, sample: RowSample, row: Row) -> None:
    for column in columns_of_lists(sample):
        wrong: dict[str, Any] = {"t.py::a t.py::b": sample.unread, '["t.py::a", "t.': sample.unread}
        for value, problem in [*wrong.items(), (None, "is missing"), (3, sample.untyped), ([1], sample.untyped)]:
            caught = error(known, {**row, column: value})
            assert caught.field == column
            assert problem in caught.problem
        assert error(known, without(row, column)).field == column


def test_a_row_without_a_reference_names_its_column(known: RowFormat, sample: RowSample, row: Row) -> None:
    broken = row[sample.oracle].replace("a + b", f"a {HALF} b")
    wrong = {None: "is missing", "": "is empty", " \n": "is empty", 7: "expected a text", broken: "half a character"}
    for value, problem in wrong.items():
        caught = error(known, {**row, sample.oracle: value})
        assert (caught.field, problem in caught.problem) == (sample.oracle, True), caught
    assert error(known, without(row, sample.oracle)).field == sample.oracle


def test_the_hidden_tests_may_be_blank_and_not_half_a_character(
    known: RowFormat, sample: RowSample, row: Row, draft: Draft
) -> None:
    if sample.tests is None:
        assert draft.tests_patch is None
        return
    for blank in ("", " \n"):
        assert known.draft({**row, sample.tests: blank}, NO_WISHES) == replace(draft, tests_patch=None)
    caught = error(known, {**row, sample.tests: f"{row[sample.tests]}+{HALF}\n"})
    assert (caught.field, "half a character" in caught.problem) == (sample.tests, True)


def test_a_diff_without_its_last_line_end_is_the_same(
    known: RowFormat, sample: RowSample, row: Row, draft: Draft
) -> None:
    cut = {column: row[column].removesuffix("\n") for column in (sample.oracle, sample.tests) if column is not None}
    assert known.draft({**row, **cut}, NO_WISHES) == draft


def test_a_row_without_a_name_names_its_column(known: RowFormat, sample: RowSample, row: Row, draft: Draft) -> None:
    if sample.ident is None:
        assert known.draft({**row, "instance_id": None}, NO_WISHES) == draft
        named = known.draft({**row, "instance_id": None}, Wants("mirror/{id}"))
        assert named.image == f"mirror/{draft.instance_id}"
        assert known.draft({**row, "instance_id": "own"}, NO_WISHES).instance_id == "own"
        return
    for value, problem in {None: "is missing", " ": "is empty", 12: "expected a text, found int"}.items():
        caught = error(known, {**row, sample.ident: value})
        assert (caught.field, problem in caught.problem) == (sample.ident, True), caught


@pytest.mark.parametrize(("name", "wrong"), cases("errors", ROWS))
def test_a_row_that_is_not_a_task_names_its_field(name: str, wrong: tuple[Row, str, str]) -> None:
    changes, field, problem = wrong
    caught = error(registry.ROWS[name], ROWS[name].build(**changes))
    assert caught.field == field
    assert problem in caught.problem


# ---- what the user says of it


def test_wishes_go_before_the_row(known: RowFormat, sample: RowSample, row: Row) -> None:
    wished = known.draft(row, Wants("mirror/own", "pytest tests"))
    assert (wished.image, wished.runtime["test_cmd"], wished.notes) == ("mirror/own", sample.wished, ())
    assert known.draft({**row, **sample.unasked}, Wants("mirror/own", "pytest tests")) == wished


def test_an_image_may_be_called_by_columns(known: RowFormat, sample: RowSample, row: Row) -> None:
    for place, value in sample.places.items():
        assert known.draft(row, Wants(f"mirror/{{{place}}}")).image == f"mirror/{value}"


def test_an_image_may_be_called_like_the_task(known: RowFormat, sample: RowSample, row: Row) -> None:
    named = {**row, sample.ident or "instance_id": "Acme__Ledger-7"}
    image = known.draft(named, Wants("mirror/{id}/{id_1776}/{id_s}")).image
    assert image == "mirror/acme__ledger-7/acme_1776_ledger-7/acme_s_ledger-7"


def test_another_runner_gets_no_arguments_of_pytest(known: RowFormat, sample: RowSample, row: Row) -> None:
    runtime = known.draft(row, Wants(test_cmd="gotestsum ./...")).runtime
    command = sample.wished.replace('pytest tests "$@"', "gotestsum ./...")
    assert runtime == {"workdir": sample.draft.runtime["workdir"], "framework": "go", "test_cmd": command}


# ---- rows of native tasks


WRITERS = [name for name, known in registry.ROWS.items() if known.write is not None]


def written_of(name: str, **changes: Any) -> tuple[Row, tuple[str, ...]]:
    """A format's own task as the format writes it, with what the row cannot carry."""
    task, write = ROWS[name].draft, registry.ROWS[name].write
    assert write is not None
    values: dict[str, Any] = {
        "instance_id": task.instance_id,
        "image": task.image,
        "f2p": task.f2p,
        "p2p": task.p2p,
        "oracle_patch": task.oracle_patch.decode(),
        "tests_patch": (task.tests_patch or b"").decode(),
        "instruction": task.instruction,
        "base_commit": task.base_commit,
        "workdir": task.runtime["workdir"],
        "framework": "pytest",
        "test_cmd": "pytest",
        "others": frozenset[str](),
        "repo": "acme/ledger",
    }
    return write(Carried(**(values | changes)))


@pytest.mark.parametrize("name", WRITERS)
def test_a_native_task_becomes_a_row_that_reads_back(name: str) -> None:
    sample, row = ROWS[name], ROWS[name].build()
    written, lost = written_of(name)
    assert lost == sample.lost
    assert of(written) == [name]
    assert written.keys() == {*row, *sample.added}
    assert only(written, sample.written) == only(row, sample.written)
    back = registry.ROWS[name].draft(written, NO_WISHES)
    assert replace(back, runtime={}, notes=()) == replace(sample.draft, runtime={}, notes=())
    assert back.runtime["workdir"] == sample.draft.runtime["workdir"]
    if "test_cmd" not in lost:
        assert 'pytest -rA "$@"' in back.runtime["test_cmd"].replace("\n)", ' "$@"')


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_row_cannot_carry_is_said(name: str) -> None:
    sample = ROWS[name]
    for key, value in {"workdir": "/elsewhere", "framework": "go"}.items():
        losses = {*sample.lost, *([key] if key in sample.loses else [])}
        assert written_of(name, **{key: value})[1] == tuple(sorted(losses))
    others = {"env", "entry.patch"}
    assert written_of(name, others=frozenset(others))[1] == tuple(sorted({*sample.lost, *others}))
