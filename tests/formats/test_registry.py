"""Which format a row or a directory is of, where that is hard to say: a message says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.formats import registry
from repair.formats.base import Row, RowError, Wants
from tests.formats import rows
from tests.formats.row_samples import COMMON, NULLS, ROWS

# SWE-bench's columns without those that tell whose they are.
PLAIN: Row = {**{column: rows.classic()[column] for column in COMMON}, **rows.LISTS}


def test_a_set_up_commit_without_a_value_is_a_sign_where_there_is_no_other() -> None:
    row = {**PLAIN, "environment_setup_commit": None}
    assert registry.of_row(row, registry.AUTO).name == "swe-bench"
    assert registry.of_row({**row, "repo": "iterative/dvc"}, registry.AUTO).name == "swe-gym"


@pytest.mark.parametrize("column", ["patch", "problem_statement"])
@pytest.mark.parametrize("name", ["swe-bench", "swe-bench-live", "swe-rebench-v2", "swe-smith"])
def test_a_null_that_every_format_needs_is_the_drafts_to_name(name: str, column: str) -> None:
    row = {**NULLS, **ROWS[name].build(), column: None}
    assert registry.of_row(row, registry.AUTO).name == name


def test_a_row_that_fits_two_formats_asks_which() -> None:
    both = {**rows.five(), **rows.live()}
    with pytest.raises(RowError) as caught:
        registry.of_row(both, registry.AUTO)
    assert caught.value.field == ""
    assert caught.value.problem == "fits swe-bench-5 and swe-bench-live: say which with --format"
    for name in ("swe-bench-5", "swe-bench-live"):
        assert registry.of_row(both, name).name == name


FEW = {
    "a column": (PLAIN, "swe-bench, but for environment_setup_commit; --format swe-bench"),
    "a null": (
        {**PLAIN, "image_assets": None, "test_cmds": None},
        "swe-bench, but for environment_setup_commit; --format swe-bench",
    ),
    "two columns": (
        {column: value for column, value in PLAIN.items() if column != "base_commit"},
        "swe-bench, but for base_commit and environment_setup_commit; --format swe-bench",
    ),
    "another format's": (
        {column: value for column, value in rows.five().items() if column != "log_parser"},
        "swe-bench-5, but for log_parser; --format swe-bench-5",
    ),
}


@pytest.mark.parametrize(("row", "nearest"), FEW.values(), ids=FEW)
def test_a_row_that_lacks_a_few_columns_hears_which(row: Row, nearest: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row(row, registry.AUTO)
    assert caught.value.problem.endswith(f"; nearest: {nearest} takes it as that")
    registry.of_row(row, nearest.partition(",")[0]).draft(row, Wants())


@pytest.mark.parametrize("column", ["patch", "FAIL_TO_PASS", "repo"])
def test_a_row_that_lacks_more_is_near_to_none(column: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row({**PLAIN, column: None}, registry.AUTO)
    assert "nearest" not in caught.value.problem


UNKNOWN: dict[str, tuple[Row, str]] = {
    "no column": ({}, "fits no format that is known by its columns ()"),
    "other columns": ({"question": 1, "answer": 2}, "fits no format that is known by its columns (answer, question)"),
    "a native task": (
        {"instance_id": "a", "image": "b", **rows.LISTS},
        "its columns (FAIL_TO_PASS, PASS_TO_PASS, image, instance_id)",
    ),
    "SWE-bench's columns, of a repo that nobody knows": (PLAIN, "fits no format that is known"),
    "many columns": (
        {f"c{n:02}": n for n in range(40)},
        "(c00, c01, c02, c03, c04, c05, c06, c07, c08, c09, c10, c11, …)",
    ),
    "a repo that is none": ({**PLAIN, "repo": ["acme"]}, "fits no format that is known"),
    "a repo that is null": ({**PLAIN, "repo": None}, "fits no format that is known"),
}


@pytest.mark.parametrize(("row", "problem"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_row_that_fits_none_shows_its_columns(row: Row, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row(row, registry.AUTO)
    assert problem in caught.value.problem
    assert caught.value.field == ""


@pytest.mark.parametrize("name", registry.DIRECTORIES)
def test_a_row_is_of_no_format_of_directories(name: str) -> None:
    with pytest.raises((RowError, UsageError), match="director"):
        registry.of_row(rows.classic(), name)


@pytest.mark.parametrize("name", [registry.AUTO, *registry.ROWS, *registry.DIRECTORIES])
def test_names_of_formats(name: str) -> None:
    registry.check_name(name)


@pytest.mark.parametrize("name", ["", "SWE-bench", "swebench", "jsonl", "swe-bench "])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(UsageError, match="there is no format") as caught:
        registry.check_name(name)
    assert all(known in caught.value.next for known in ("auto", "swe-bench", "harbor", "r2e-gym"))


# ---- directories


def test_a_directory_that_holds_both_asks_which(tmp_path: Path) -> None:
    rows.task_repo(tmp_path)
    rows.harbor(tmp_path)
    with pytest.raises(UsageError, match="holds tasks of swe-bench-5-repo and harbor; say which with --format"):
        registry.of_directory(tmp_path, registry.AUTO)
    found = registry.of_directory(tmp_path, "harbor")
    assert found is not None
    assert found[0] is registry.DIRECTORIES["harbor"]


@pytest.mark.parametrize("name", [registry.AUTO, *registry.DIRECTORIES, "swe-bench"])
def test_a_directory_of_files_holds_no_task(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    assert registry.of_directory(tmp_path, name) is None
