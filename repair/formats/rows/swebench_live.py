"""SWE-bench-Live rows: SWE-bench's columns with real lists, an image, and the commands that run the tests.

The harness applies the patches, then runs `rebuild_cmds` and `test_cmds` in one shell in /testbed. `print_cmds` prints
the results, which `repair` reads from a report instead. `repair` never runs `log_parser`, which may be a program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from repair.formats import commands
from repair.formats.base import Carried, Draft, Row, RowError, RowFormat, Wants, image_of, instance_id
from repair.formats.raw import lists
from repair.formats.rows import swebench
from repair.formats.rows.swebench import base, has

IMAGE = "starryzhang/sweb.eval.x86_64.{id_1776}"
_WINDOWS = re.compile(r"\bsweb\.eval\.win\.")
# A command that only fetches packages. It fails without network, and some such commands empty their folder first.
_FETCHES = re.compile(
    r"\s*(?:(?:python3? -m )?pip3?|uv pip|npm|pnpm|yarn|poetry|uv|composer|bundle|conda|apt-get|apt)"
    r"(?: -\S+)* (?:install|ci|i|add|sync|update)\b[^;&|\n]*"
    r"|\s*yarn(?: -\S+)*\s*|\s*go mod (?:download|tidy)\s*"
)
_OFFLINE = re.compile(r"--(?:no-build-isolation|no-index|offline)\b")


def _fits(row: Row) -> bool:
    return has(row, "instance_id", "patch", "test_patch", "test_cmds", "FAIL_TO_PASS", "PASS_TO_PASS")


def _commands(row: Row, column: str) -> list[str]:
    """The commands of a column, which holds a list, the text of a list, or a single command. Raises `RowError`."""
    value = row.get(column)
    if isinstance(value, str):
        value = lists.parsed(value, column) if value.lstrip().startswith("[") else [value]
    if not isinstance(value, list | tuple) or not all(isinstance(command, str) for command in value):
        raise RowError(column, "is missing" if value is None else "expected a list of shell commands")
    return [command.strip() for command in value if command.strip()]


def _rebuild(row: Row) -> tuple[list[str], tuple[str, ...]]:
    """The commands that run before the tests so that these see the patches, and a note on what is left out."""
    listed = _commands(row, "rebuild_cmds") if row.get("rebuild_cmds") is not None else []
    kept = _offline(listed)
    notes = ("its rebuild commands install packages: left out, no network there",) if len(kept) < len(listed) else ()
    return [commands.step(command) for command in kept], notes


def _offline(every: Sequence[str]) -> list[str]:
    return [command for command in every if _OFFLINE.search(command) or not _FETCHES.fullmatch(command)]


def _tests(row: Row) -> tuple[list[str], tuple[str, ...]]:
    """The commands that run the tests, and a note on what is left out."""
    listed = _commands(row, "test_cmds")
    kept = _offline(listed) or listed
    notes = ("its test commands install packages: left out, no network there",) if len(kept) < len(listed) else ()
    return kept, notes


def _draft(row: Row, wants: Wants) -> Draft:
    instance_id(row)  # the image's name may be made from it
    image = image_of(row, wants, "docker_image", default=IMAGE)
    rebuild, notes = _rebuild(row)
    tests, more = ([], ()) if wants.test_cmd is not None else _tests(row)
    if wants.test_cmd is None and not tests:
        raise RowError("test_cmds", "holds no command; give --test-cmd")
    notes = (*notes, *more)
    if _WINDOWS.search(image):
        notes = (*notes, "its image is for Windows, which no engine for Linux containers runs")
    keys = {"workdir": commands.TESTBED, **commands.runtime(tests, wants, *rebuild)}
    return base(row, image=image, runtime=keys, notes=notes)


def _write(task: Carried) -> tuple[dict[str, Any], tuple[str, ...]]:
    row = {
        "repo": task.repo,
        "pull_number": task.instance_id.rpartition("-")[2],
        "instance_id": task.instance_id,
        "issue_numbers": [],
        "base_commit": task.base_commit or "",
        "patch": task.oracle_patch,
        "test_patch": task.tests_patch,
        "problem_statement": task.instruction,
        "hints_text": "",
        "all_hints_text": "",
        "commit_urls": [],
        "created_at": "",
        "commit_url": "",
        "rebuild_cmds": [],
        "test_cmds": [swebench.reporting(task)],
        "print_cmds": [],
        "log_parser": "pytest" if task.framework == "pytest" else "",
        "FAIL_TO_PASS": list(task.f2p),
        "PASS_TO_PASS": list(task.p2p),
        "docker_image": task.image,
    }
    lost = {"workdir"} if task.workdir != commands.TESTBED else set()
    if task.framework != "pytest":
        lost.add("framework")  # its harness reads logs, and only its parser for pytest has a name
    return row, tuple(sorted({*task.others, *lost}))


FORMAT = RowFormat(
    name="swe-bench-live",
    title="SWE-bench-Live",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_fits,
    draft=_draft,
    write=_write,
)
