"""Multi-SWE-bench rows: tests as objects by id, in one column for each change of their outcome.

F2P are the tests that pass with the fix, and that failed, were skipped or were in no log before it. The image runs its
tests by a script of its own, which no row holds. Maven and Gradle leave JUnit reports in known places all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repair.formats import commands
from repair.formats.base import Draft, Row, RowError, RowFormat, Wants, image_of, optional_text, patch, text
from repair.formats.raw import lists
from repair.formats.rows.swebench import has
from repair.outcomes.frameworks import known

IMAGE = "mswebench/{org}_m_{name}:pr-{number}"
RUN = "bash /home/run.sh"
F2P, P2P = ("f2p_tests", "s2p_tests", "n2p_tests"), ("p2p_tests",)
JVM = frozenset({"java", "kotlin"})
SOURCES = (".java", ".kt", ".groovy")


def _fits(row: Row) -> bool:
    return has(row, "org", "repo", "number", "fix_patch", *P2P) and any(column in row for column in F2P)


def _draft(row: Row, wants: Wants) -> Draft:
    org, repo, number = text(row, "org", empty=False), text(row, "repo", empty=False), _number(row)
    ident = optional_text(row, "instance_id") or f"{org}__{repo}-{number}"
    runtime, notes = _runtime(row, wants)
    named = {**row, "repo": f"{org}/{repo}", "number": number, "instance_id": ident}
    return Draft(
        instance_id=ident,
        image=image_of(named, wants, default=IMAGE),
        f2p=tuple(dict.fromkeys(test for column in F2P for test in _tests(row, column))),
        p2p=_tests(row, *P2P),
        oracle_patch=patch(row, "fix_patch") or b"",
        tests_patch=patch(row, "test_patch", required=False),
        instruction=_instruction(row),
        base_commit=_base_commit(row),
        runtime={"workdir": f"/home/{repo}", **runtime},
        notes=notes,
    )


def _number(row: Row) -> int:
    value = row.get("number")
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RowError("number", "is missing" if value is None else "expected a pull request's number")
    return value


def _tests(row: Row, column: str) -> tuple[str, ...]:
    """The ids of a column. Raises `RowError`.

    Some tables give every row the keys of all rows. In these, a test with null is not one of the row's.
    """
    value = _parsed(row, column)
    if isinstance(value, Mapping):
        if any(isinstance(outcomes, list) for outcomes in value.values()):
            raise RowError(column, "holds columns, not an object for each test: take the publisher's JSON lines")
        value = [test for test, outcomes in value.items() if outcomes is not None]
    return lists.read(value, column)


def _parsed(row: Row, column: str) -> Any:
    """The value of an object column, which copies of the data set hold as text. Raises `RowError`."""
    value = row.get(column)
    return lists.parsed(value, column) if isinstance(value, str) and value.strip() else value


def _runtime(row: Row, wants: Wants) -> tuple[dict[str, Any], tuple[str, ...]]:
    if wants.test_cmd is not None:
        return commands.runtime([], wants), ()
    if _is_jvm(row):
        files = [name for tool in ("maven", "gradle") for name in known.FRAMEWORKS[tool].files]
        return {"framework": "maven", "test_cmd": RUN, "junit": files}, ()
    note = "its /home/run.sh writes no JUnit that anybody knows of: give --test-cmd"
    return {"framework": commands.UNKNOWN, "test_cmd": RUN}, (note,)


def _is_jvm(row: Row) -> bool:
    """Whether the repo's language is one of `JVM`: by the row's language, or else by the files that the fix touches."""
    language = optional_text(row, "language", "lang")
    if language is not None:
        return language.strip().lower() in JVM
    return bool(commands.touched(patch(row, "fix_patch", required=False), *SOURCES))


def _instruction(row: Row) -> str:
    """The issues that the fix resolves, or else the text of the pull request."""
    issues = _loosely(row, "resolved_issues")
    texts = [_titled(issue) for issue in issues if isinstance(issue, Mapping)] if isinstance(issues, list) else []
    return "\n\n".join(issue for issue in texts if issue) or _titled(row)


def _titled(said: Mapping[str, Any]) -> str:
    """Title and body of an issue or a pull request."""
    parts = (optional_text(said, "title"), optional_text(said, "body"))
    return "\n\n".join(part.strip() for part in parts if part)


def _base_commit(row: Row) -> str | None:
    base = _loosely(row, "base")
    return optional_text(base, "sha") if isinstance(base, Mapping) else optional_text(row, "base_commit")


def _loosely(row: Row, column: str) -> Any:
    """The value of an object column that no verdict depends on; None where it cannot be read."""
    try:
        return _parsed(row, column)
    except RowError:
        return None


FORMAT = RowFormat(
    name="multi-swe-bench",
    title="Multi-SWE-bench",
    f2p=F2P,
    p2p=P2P,
    fits=_fits,
    draft=_draft,
    also=("fixed_tests",),
)
