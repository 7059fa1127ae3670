"""Report files from the disk, for `repair parse`: outcomes by id, and why a file is no evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from repair.errors import ReportError, UsageError
from repair.model import Outcome
from repair.outcomes import junit, lookup
from repair.text import printable


@dataclass(frozen=True, slots=True)
class Reports:
    """What several report files say together; `problems` are files that are no evidence."""

    outcomes: Mapping[str, Outcome]
    flags: tuple[str, ...]
    problems: tuple[str, ...]


def read_all(files: Sequence[Path], ids: Sequence[str] | None) -> Reports:
    """Read report files as one run's; with `ids`, the outcome of each of these instead of all that are there."""
    cases: list[junit.Case] = []
    flags: set[str] = set()
    problems = []
    for file in files:
        try:
            with file.open("rb") as stream:
                report = junit.read(stream, str(file))
        except ReportError as err:
            problems.append(str(err))
            continue
        except OSError as err:
            raise UsageError(f"{file} cannot be read: {err.strerror}", "name JUnit files") from None
        cases.extend(report.cases)
        flags |= report.flags
        if report.truncated:
            problems.append(f"{file} is truncated; the run that should have written it did not finish")
    if ids is None:
        named = lookup.by_node_id(cases)
        others = junit.outcomes(case for case in cases if case.node_id is None)
        outcomes = {**others, **named}
    else:
        outcomes = {test: seen.outcome for test, seen in lookup.forward(ids, cases).items()}
    return Reports(dict(sorted(outcomes.items())) if ids is None else outcomes, tuple(sorted(flags)), tuple(problems))


def read_ids(file: Path) -> list[str]:
    """Ids from a file: one a line, or a JSON list of texts."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8", "save it as UTF-8") from None
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "name a file of ids, one a line") from None
    try:
        ids = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]
    if not isinstance(ids, list) or not all(isinstance(test, str) for test in ids):
        raise UsageError(f"{file}: expected one id a line, or a JSON list of texts")
    return ids


def shown(test: str) -> str:
    """An id as a terminal may show it."""
    return printable(test)
