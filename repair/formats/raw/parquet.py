"""Parquet files of rows. Only this module imports pyarrow, which is an extra: `pip install 'repair-panel[parquet]'`.

A task keeps its row as a Parquet file of one row. So an export gives types, dictionaries and schema metadata back.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from repair.errors import UsageError
from repair.formats.base import RowError

BATCH = 200  # rows that are read at once


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    """pyarrow and pyarrow.parquet. Raises `UsageError` where they are not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed", "pip install 'repair-panel[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


def rows(file: Path) -> Iterator[tuple[bytes, Mapping[str, Any]]]:
    """Each row of a file, as a Parquet file of this row and as values. Raises `UsageError` where it cannot be read."""
    arrow, parquet = _pyarrow()
    try:
        source = parquet.ParquetFile(file)
        for batch in source.iter_batches(batch_size=BATCH):
            table = arrow.Table.from_batches([batch], source.schema_arrow)
            for number, row in enumerate(_values(arrow, table)):
                yield _bytes(parquet, table.slice(number, 1)), row
    except (arrow.ArrowException, ValueError, OSError) as err:
        raise UsageError(f"{file}: no valid Parquet: {err}", "fetch or write it again") from None


def _values(arrow: ModuleType, table: Any) -> list[Mapping[str, Any]]:
    """The rows of a table, as values by column. A column that Python cannot hold is texts, or else None."""
    columns = {name: _column(arrow, table.column(name)) for name in table.column_names}
    return [{name: column[number] for name, column in columns.items()} for number in range(table.num_rows)]


def _column(arrow: ModuleType, column: Any) -> list[Any]:
    for as_text in (False, True):
        try:
            values: list[Any] = (column.cast(arrow.string()) if as_text else column).to_pylist()
        except (arrow.ArrowException, ValueError, TypeError, OverflowError):  # such as nanoseconds and far dates
            continue
        return values
    return [None] * len(column)


def _bytes(parquet: ModuleType, table: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, use_compliant_nested_type=False)  # lists keep the names of their items
    return sink.getvalue()


def values(raw: bytes) -> Mapping[str, Any]:
    """The values of a Parquet file of one row, by column."""
    arrow, parquet = _pyarrow()
    return _values(arrow, parquet.read_table(io.BytesIO(raw)))[0]


def joined(files: Iterable[tuple[bytes, Mapping[str, Callable[[Any], Any]]]]) -> bytes:
    """One Parquet file of files of one row, in order. Each comes with functions that change its values, by column.

    Raises `UsageError` where the schemas differ, and `RowError` where a column cannot hold its changed value.
    """
    arrow, parquet = _pyarrow()
    tables: list[Any] = []
    for raw, change in files:
        table = parquet.read_table(io.BytesIO(raw))
        for name, new in change.items():
            if name in table.column_names:
                table = _changed(arrow, table, name, new)
        if tables and not table.schema.equals(tables[0].schema, check_metadata=True):
            raise UsageError(
                "the rows come from Parquet files of different schemas", "export them apart, with -i and -x"
            )
        tables.append(table)
    return _bytes(parquet, arrow.concat_tables(tables))


def _changed(arrow: ModuleType, table: Any, name: str, new: Callable[[Any], Any]) -> Any:
    """A table of one row with the value of one column changed. Raises `RowError` where the column cannot hold it."""
    place = table.column_names.index(name)
    field = table.schema.field(place)
    before = table.column(place).to_pylist()[0]
    after = new(before)
    if after == before:
        return table
    try:
        return table.set_column(place, field, arrow.array([after], type=field.type))
    except (arrow.ArrowException, TypeError) as err:
        raise RowError(name, f"cannot be trimmed in Parquet: {err}") from None
