"""docs/faults.md is what the fault suite writes: sorted, summed up, and each line by a test that is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults.ledger import DOCUMENT, ROWS, Row, document, read_rows, witness
from tests.support.paths import TESTS

FAULTS = TESTS / "faults"
ROW = Row("engine stopped", "in a test", "exit 8", 1, "test_engine_faults.py::test_it")


def rows() -> list[Row]:
    found = []
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| fault |"):
            fault, phase, times, seen, test = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append(Row(fault, phase, seen, int(times), test.strip("`")))
    return found


def test_the_document_is_what_its_rows_make() -> None:
    assert DOCUMENT.read_text() == document(rows())
    assert len(rows()) > 50


def test_each_line_names_a_test_that_is_there() -> None:
    named = {row.test for row in rows()}
    there = {
        f"{file.name}::{node.name}"
        for file in FAULTS.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert named <= there


def test_each_test_that_tells_what_it_saw_has_a_line() -> None:
    telling = {
        f"{file.name}::{node.name}"
        for file in FAULTS.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if "seen" in {argument.arg for argument in node.args.args}
    }
    assert telling == {row.test for row in rows()}


def test_a_row_that_is_not_in_the_document_fails_the_test_that_saw_it() -> None:
    with pytest.raises(AssertionError, match="no such line"):
        witness(ROW, {})


def test_a_row_that_is_taken_down_comes_back(tmp_path: Path) -> None:
    witness(ROW, {ROWS: str(tmp_path / "rows")})
    assert read_rows(tmp_path / "rows") == [ROW]


def test_faults_and_kinds_are_counted() -> None:
    text = document([ROW, Row("engine stopped", "before the run", "exit 8", 3, "test_x.py::test_it"), ROW])
    assert "**4 faults of 1 kinds are injected, and all 4 are survived.**" in text
