"""Parquet: types and metadata come back, only what is trimmed changes, and without pyarrow a message says so."""

from __future__ import annotations

import datetime
import io
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from repair.errors import UsageError
from repair.formats.base import RowError
from repair.formats.raw import lists, parquet, row_files
from repair.formats.raw.row_files import Container

NOON = datetime.datetime(2025, 1, 2, 12, tzinfo=datetime.UTC)
SCHEMA = pa.schema(
    [
        pa.field("instance_id", pa.string(), nullable=False, metadata={"unit": "none", "note": "é"}),
        pa.field("FAIL_TO_PASS", pa.list_(pa.string())),
        pa.field("PASS_TO_PASS", pa.string()),
        pa.field("large", pa.large_list(pa.large_string())),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("small", pa.int8()),
        pa.field("score", pa.float64()),
        pa.field("half", pa.float32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("day", pa.date32()),
        pa.field("exact", pa.decimal128(10, 2)),
        pa.field("raw", pa.binary()),
        pa.field("yes", pa.bool_()),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("tests", pa.struct([pa.field("a", pa.int8()), pa.field("b", pa.struct([("fix", pa.string())]))])),
        pa.field("map", pa.map_(pa.string(), pa.int32())),
        pa.field("nothing", pa.null()),
    ],
    metadata={"huggingface": '{"info": {}}', b"\xff": b"\x00"},
)


def row(number: int, **changes: Any) -> dict[str, Any]:
    odd = bool(number % 2)
    return {
        "instance_id": f"acme__ledger-{number}",
        "FAIL_TO_PASS": ["a", "é", f"only {number}"],
        "PASS_TO_PASS": '["a", "b\\u00e9"]' if odd else "['a', 'b']",
        "large": ["a"] * number,
        "number": -(2**63) + number,
        "small": None if odd else 1,
        "score": math.nan if odd else None,
        "half": 1.5,
        "at": NOON + datetime.timedelta(microseconds=number),
        "day": None,
        "exact": None,
        "raw": b"\xff\x00",
        "yes": odd,
        "kind": f"kind {number % 3}",
        "tests": {"a": 1, "b": {"fix": "PASS"}} if odd else None,
        "map": [("a", number), ("b", None)],
        "nothing": None,
        **changes,
    }


def table(*numbers: int, **changes: Any) -> pa.Table:
    return pa.Table.from_pylist([row(number, **changes) for number in numbers], SCHEMA)


def written(directory: Path, content: pa.Table, name: str = "rows.parquet", **options: Any) -> Path:
    file = directory / name
    pq.write_table(content, file, **options)
    return file


def back(file: Path, change: Mapping[str, Callable[[Any], Any]] | None = None) -> pa.Table:
    """A file's rows, taken apart and joined again, with some columns changed."""
    return pq.read_table(io.BytesIO(parquet.joined((raw, change or {}) for raw, _ in parquet.rows(file))))


OPTIONS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "many row groups": {"row_group_size": 7},
    "packed otherwise": {"compression": "zstd", "use_dictionary": False},
    "an old version": {"version": "1.0", "data_page_version": "2.0"},
    "without Arrow's own schema": {"store_schema": False},
    "lists whose item is called item": {"use_compliant_nested_type": False},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_all_rows_joined_are_the_table(tmp_path: Path, options: dict[str, Any]) -> None:
    file = written(tmp_path, table(*range(20)), **options)
    source, found = pq.read_table(file), back(file)
    assert found.schema.equals(source.schema, check_metadata=True), found.schema
    assert found.num_rows == 20
    assert str(found.to_pylist()) == str(source.to_pylist())  # NaN is NaN


def test_more_rows_than_are_read_at_once(tmp_path: Path) -> None:
    count = 2 * parquet.BATCH + 1
    file = written(tmp_path, table(*range(count)).select(["instance_id", "kind", "tests"]))
    assert back(file).equals(pq.read_table(file))
    assert len({row["instance_id"] for _, row in parquet.rows(file)}) == count


def test_a_row_is_a_file_with_the_values_that_it_says(tmp_path: Path) -> None:
    for number, (raw, values) in enumerate(parquet.rows(written(tmp_path, table(1, 2)))):
        alone = pq.read_table(io.BytesIO(raw))
        assert alone.num_rows == 1
        assert str(parquet.values(raw)) == str(values) == str(pq.read_table(io.BytesIO(raw)).to_pylist()[0])
        assert values["instance_id"] == f"acme__ledger-{number + 1}"
        assert values["map"] == [("a", number + 1), ("b", None)]


def test_rows_are_items_of_their_file(tmp_path: Path) -> None:
    found = list(row_files.rows(written(tmp_path, table(1, 2), "any.name"), "data/any.name"))
    assert [(item.container, item.place) for item in found] == [
        (Container.PARQUET, "data/any.name row 1"),
        (Container.PARQUET, "data/any.name row 2"),
    ]
    assert all(item.row is not None and parquet.values(item.raw)["number"] == item.row["number"] for item in found)


def test_a_table_without_rows(tmp_path: Path) -> None:
    assert list(parquet.rows(written(tmp_path, table()))) == []


def without_a(value: Any) -> Any:
    return lists.value_without(value, {"a"}.__contains__)


TRIMMED: dict[str, tuple[Any, Any]] = {
    "FAIL_TO_PASS": (["a", "é", "only 1"], ["é", "only 1"]),
    "PASS_TO_PASS": ('["a", "b\\u00e9"]', '["b\\u00e9"]'),
    "large": (["a"], []),
    "tests": ({"a": 1, "b": {"fix": "PASS"}}, {"a": None, "b": {"fix": "PASS"}}),  # a struct keeps its fields
    "map": ([("a", 1), ("b", None)], [("b", None)]),
}


@pytest.mark.parametrize("column", TRIMMED)
def test_only_the_column_that_is_trimmed_changes(tmp_path: Path, column: str) -> None:
    before, after = TRIMMED[column]
    file = written(tmp_path, table(1, 2, 3))
    source, found = pq.read_table(file), back(file, {column: without_a})
    assert found.schema.equals(source.schema, check_metadata=True)
    assert (source[column][0].as_py(), found[column][0].as_py()) == (before, after)
    others = [name for name in source.column_names if name != column]
    assert str(found.select(others).to_pylist()) == str(source.select(others).to_pylist())


def test_only_the_rows_that_are_trimmed_change(tmp_path: Path) -> None:
    raws = [raw for raw, _ in parquet.rows(written(tmp_path, table(1, 2)))]
    found = pq.read_table(io.BytesIO(parquet.joined(zip(raws, ({}, {"FAIL_TO_PASS": without_a}), strict=True))))
    assert found["FAIL_TO_PASS"].to_pylist() == [["a", "é", "only 1"], ["é", "only 2"]]


def test_a_dictionary_takes_a_new_value(tmp_path: Path) -> None:
    file = written(tmp_path, table(1, 2))
    found = back(file, {"kind": lambda value: value + "!"})
    assert found.schema.equals(pq.read_table(file).schema, check_metadata=True)
    assert found["kind"].to_pylist() == ["kind 1!", "kind 2!"]


def test_a_column_that_is_not_there_needs_no_change(tmp_path: Path) -> None:
    file = written(tmp_path, table(1))
    assert back(file, {"fixed_tests": without_a}).schema.equals(pq.read_table(file).schema, check_metadata=True)


def test_a_value_that_a_column_cannot_hold_names_the_column(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="number: cannot be trimmed in Parquet"):
        back(written(tmp_path, table(1)), {"number": lambda _: "one"})


SCHEMAS = {
    "a column more": lambda one: one.append_column("more", pa.array([1])),
    "a column less": lambda one: one.drop_columns(["kind"]),
    "another type": lambda one: one.set_column(5, "small", pa.array([1], pa.int16())),
    "another order": lambda one: one.select(one.column_names[::-1]),
    "other metadata": lambda one: one.replace_schema_metadata({"huggingface": "{}"}),
}


@pytest.mark.parametrize("change", SCHEMAS.values(), ids=SCHEMAS)
def test_different_schemas_are_refused(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    one, other = written(tmp_path, table(2), "one"), written(tmp_path, change(table(2)), "other")
    raws = [raw for file in (one, other) for raw, _ in parquet.rows(file)]
    with pytest.raises(UsageError, match="Parquet files of different schemas"):
        parquet.joined((raw, {}) for raw in raws)
    assert parquet.joined((raw, {}) for raw in (raws[0], raws[0]))


# ---- files that are none, and values that Python has no word for

WHOLE = io.BytesIO()
pq.write_table(table(1), WHOLE)
CUT = [0, 1, 4, 5, 100, len(WHOLE.getvalue()) // 2, -100, -8, -4, -1]


@pytest.mark.parametrize("end", CUT)
def test_a_file_that_is_cut_is_refused(tmp_path: Path, end: int) -> None:
    file = tmp_path / "rows.parquet"
    file.write_bytes(WHOLE.getvalue()[:end])
    with pytest.raises(UsageError) as caught:
        list(parquet.rows(file))
    assert caught.value.message.startswith(f"{file}: no valid Parquet: ")
    assert caught.value.next == "fetch or write it again"


@pytest.mark.parametrize("at", range(0, len(WHOLE.getvalue()), 97))
def test_a_file_with_wrong_bytes_is_read_or_refused(tmp_path: Path, at: int) -> None:
    file = tmp_path / "rows.parquet"
    content = bytearray(WHOLE.getvalue())
    content[at : at + 3] = b"\xff\x00\x7f"
    file.write_bytes(content)
    try:
        found = list(parquet.rows(file))
    except UsageError:
        return
    assert len(found) <= 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file|not exist"):
        list(parquet.rows(tmp_path / "rows.parquet"))


HARD: dict[str, pa.Array] = {
    "nanoseconds": pa.array([1], pa.timestamp("ns")),
    "a year that no calendar has": pa.array([10**18], pa.timestamp("us")),
    "a day that no calendar has": pa.array([10**7], pa.date32()),
    "a list of dictionaries": pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "bytes that are no text": pa.array([b"\xff"]).view(pa.string()),
}


@pytest.mark.parametrize("column", HARD.values(), ids=HARD)
def test_a_value_that_nobody_reads_spoils_no_row(tmp_path: Path, column: pa.Array) -> None:
    file = written(tmp_path, pa.table({"instance_id": ["a"], "odd": column}))
    (found,) = parquet.rows(file)
    assert found[1]["instance_id"] == parquet.values(found[0])["instance_id"] == "a"
    source, joined = pq.read_table(file), back(file, {"instance_id": str.upper})
    assert joined.schema.equals(source.schema, check_metadata=True)
    assert joined["odd"].combine_chunks().equals(source["odd"].combine_chunks())


# ---- without pyarrow

_BLOCKED = """
import sys
from pathlib import Path
sys.modules["pyarrow"] = sys.modules["pyarrow.parquet"] = None
from repair.errors import UsageError
from repair.formats import registry
from repair.formats.raw import parquet, row_files as sources
file = Path(sys.argv[1])
for read in (lambda: list(parquet.rows(file)), lambda: list(sources.rows(file, "r")), lambda: parquet.values(b"")):
    try:
        read()
    except UsageError as err:
        print(err)
print(len(list(sources.rows(Path(sys.argv[2]), "r"))))
"""


def test_without_pyarrow_only_parquet_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "rows.jsonl"
    lines.write_bytes(b'{"a": 1}\n')
    command = [sys.executable, "-c", _BLOCKED, str(written(tmp_path, table(1))), str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    refused = "Parquet needs pyarrow, which is not installed; pip install 'repair-panel[parquet]'"
    assert done.stdout.splitlines() == [refused] * 3 + ["1"]
