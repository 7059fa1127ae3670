"""The foreign formats by name, and the choice of the format that a row or a directory is of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from repair.errors import UsageError
from repair.formats.base import DirectoryFormat, Row, RowError, RowFormat, Wants
from repair.formats.directories import harbor, swebench_repo
from repair.formats.rows import (
    multi_swebench,
    r2e_gym,
    swe_gym,
    swe_rebench,
    swe_smith,
    swebench,
    swebench_live,
    swebench_pro,
)

ROWS: Mapping[str, RowFormat] = {
    "swe-bench": swebench.CLASSIC,
    "swe-bench-5": swebench.FIVE,
    "swe-bench-pro": swebench_pro.FORMAT,
    "swe-bench-live": swebench_live.FORMAT,
    "swe-smith": swe_smith.FORMAT,
    "swe-rebench": swe_rebench.V1,
    "swe-rebench-v2": swe_rebench.V2,
    "swe-gym": swe_gym.FORMAT,
    "multi-swe-bench": multi_swebench.FORMAT,
    "r2e-gym": r2e_gym.FORMAT,
}
DIRECTORIES: Mapping[str, DirectoryFormat] = {
    "swe-bench-5-repo": swebench_repo.FORMAT,
    "harbor": harbor.FORMAT,
}
# Columns by which a format is recognised, and which a task does not need.
KNOWN_BY: Mapping[str, tuple[str, ...]] = {
    "swe-bench": ("base_commit", "problem_statement", "environment_setup_commit"),
    "swe-bench-5": ("log_parser",),
    "swe-bench-live": ("test_patch",),
    "swe-rebench": ("test_patch",),
    "swe-rebench-v2": ("test_patch",),
}
NATIVE = "native"
AUTO = "auto"


def of_row(row: Row, name: str) -> RowFormat:
    """The format of a row: the named one, or with `auto` the one that fits.

    Raises `RowError` where no format fits, or several do.
    """
    if name in DIRECTORIES:
        raise RowError("", f"tasks of {name} are directories, and this is a row")
    if name != AUTO:
        return ROWS[name]
    fits = swebench.fitting(ROWS.values(), row)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise RowError("", f"fits {' and '.join(known.name for known in fits)}: say which with --format")
    shown = ", ".join(
        column if column.isidentifier() and len(column) < 40 else repr(column[:40]) for column in sorted(row)[:12]
    )
    columns = f"{shown}{', …' if len(row) > 12 else ''}"
    raise RowError("", f"fits no format that is known by its columns ({columns}){_nearest(row)}")


def _nearest(row: Row) -> str:
    """The end of a message: the only format that takes a row without the columns in `KNOWN_BY`. Empty without one."""
    near = []
    values = {column: value for column, value in row.items() if value is not None}
    for known, columns in KNOWN_BY.items():
        missing = [column for column in columns if column not in values]
        if ROWS[known].fits({**values, **dict.fromkeys(missing, "")}) and _is_task(row, ROWS[known]):
            near.append((known, missing))
    if len(near) != 1:
        return ""
    ((name, missing),) = near
    return f"; nearest: {name}, but for {' and '.join(missing)}; --format {name} takes it as that"


def _is_task(row: Row, known: RowFormat) -> bool:
    try:
        known.draft(row, Wants())
    except RowError:
        return False
    return True


def of_directory(path: Path, name: str) -> tuple[DirectoryFormat, list[Path]] | None:
    """The format of a directory and its task directories; None where it holds none.

    Raises `UsageError` where it holds tasks of several formats.
    """
    matches = []
    for known in DIRECTORIES.values():
        if name in (AUTO, known.name):
            tasks = list(known.tasks(path))
            matches += [(known, tasks)] if tasks else []
    if len(matches) > 1:
        names = " and ".join(known.name for known, _ in matches)
        raise UsageError(f"{path} holds tasks of {names}", "say which with --format")
    return matches[0] if matches else None


def check_name(name: str) -> None:
    """Raise `UsageError` unless `name` is the name of a foreign format, or `auto`."""
    if name not in (AUTO, *ROWS, *DIRECTORIES):
        raise UsageError(f"there is no format {name}", f"one of {', '.join((AUTO, *ROWS, *DIRECTORIES))}")
