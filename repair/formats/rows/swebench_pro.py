"""SWE-bench Pro rows: lower-case lists in Python repr, hidden tests by a git checkout, no test command.

The harness runs a script that is not in the row. The row only names the files to run. The last line of its
`before_repo_set_cmd` is a checkout of the hidden tests from the commit that solved the task.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from repair.formats import commands
from repair.formats.base import Draft, Row, RowFormat, Wants, image_of, instance_id, optional_text, patch
from repair.formats.raw import lists
from repair.formats.rows.swebench import has

IMAGE = "jefzda/sweap-images:{dockerhub_tag}"
WORKDIR = "/app"
BEFORE, SELECTED = "before_repo_set_cmd", "selected_test_files_to_run"
# Columns that the solver reads after the issue, each under its heading.
SECTIONS = (("requirements", "Requirements"), ("interface", "New interfaces"))
_OPERATORS = frozenset("();<>|&")


def _fits(row: Row) -> bool:
    lists_and_patch = has(row, "instance_id", "patch", "fail_to_pass", "pass_to_pass")
    return lists_and_patch and any(name in row for name in (BEFORE, SELECTED, "dockerhub_tag"))


def _draft(raw: Row, wants: Wants) -> Draft:
    row = {column: _decoded(value) for column, value in raw.items()}
    checkout, problem = _checkout(row)
    tests = patch(row, "test_patch", required=False) if checkout is None else None
    enters = "no hidden tests enter" if tests is None else "test_patch brings the hidden tests in"
    runtime, more = _runtime(row, wants, checkout)
    return Draft(
        instance_id=instance_id(row),
        image=image_of(row, wants, default=IMAGE),
        f2p=lists.read(row.get("fail_to_pass"), "fail_to_pass"),
        p2p=lists.read(row.get("pass_to_pass"), "pass_to_pass"),
        oracle_patch=patch(row, "patch") or b"",
        tests_patch=tests,
        instruction=_instruction(row),
        base_commit=optional_text(row, "base_commit"),
        runtime={"workdir": WORKDIR, **runtime},
        notes=(*((f"{problem}, {enters}",) if problem else ()), *more),
    )


def checkout(raw: Row) -> str | None:
    """The git checkout that brings a row's hidden tests in; None where the row has no plain checkout."""
    return _checkout({BEFORE: _decoded(raw.get(BEFORE))})[0]


def _decoded(value: Any) -> Any:
    """The value of a column. For a text that is itself a JSON string it is the value of that string."""
    if not isinstance(value, str) or not value.lstrip().startswith('"'):
        return value
    try:
        inner = json.loads(value)
    except ValueError:
        return value
    return inner if isinstance(inner, str) else value


def _checkout(row: Row) -> tuple[str | None, str]:
    """The git checkout that brings the hidden tests in, with its words quoted; or None and why it is not plain."""
    lines = (optional_text(row, BEFORE) or "").strip().splitlines()
    if not lines:
        return None, f"the row has no {BEFORE}"
    words = _words(lines[-1])
    is_plain = words[:2] == ["git", "checkout"] and words[3:4] == ["--"] and len(words) > 4
    if not is_plain or not re.fullmatch(r"[0-9a-f]{7,64}", words[2]):
        return None, f"the last line of {BEFORE} is no plain git checkout of files: left out"
    return shlex.join(words), ""


def _words(line: str) -> list[str]:
    """The words of a shell line; empty where the line is more than one command, or has a quote that does not end."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        words = list(reader)
    except ValueError:
        return []
    return [] if any(_OPERATORS.issuperset(word) for word in words) else words


def _runtime(row: Row, wants: Wants, checkout: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of task.json that run the tests after the checkout, and notes."""
    before = () if checkout is None else (checkout,)
    if wants.test_cmd is not None:
        return commands.runtime([wants.test_cmd], Wants(), *before), ()
    if (optional_text(row, "repo_language") or "").strip().lower() != "python":
        keys = {"framework": commands.UNKNOWN, "test_cmd": checkout or "true"}
        return keys, ("the row holds no test command: give --test-cmd",)
    command = shlex.join(["python", "-m", "pytest", *_python_files(row)])
    note = "its run_script.sh is kept apart from the row: python -m pytest runs in its place"
    return commands.runtime([command], Wants(), *before), (note,)


def _python_files(row: Row) -> list[str]:
    """The Python files to run, each once. The column names data files, too."""
    value = row.get(SELECTED)
    if value is None:
        return []
    named = (test.partition("::")[0] for test in lists.read(value, SELECTED))
    return list(dict.fromkeys(name for name in named if name.endswith(".py")))


def _instruction(row: Row) -> str:
    issue = optional_text(row, "problem_statement") or ""
    sections = ((title, optional_text(row, column)) for column, title in SECTIONS)
    return "\n\n".join([issue, *(f"{title}:\n{content}" for title, content in sections if content)]).strip()


FORMAT = RowFormat(
    name="swe-bench-pro",
    title="SWE-bench Pro",
    f2p=("fail_to_pass",),
    p2p=("pass_to_pass",),
    fits=_fits,
    draft=_draft,
)
