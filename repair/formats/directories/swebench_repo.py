"""SWE-bench 5 task repos: sweb.yaml at the root, and one directory per task with the parts of a row as files.

task.yaml holds a row's small columns and tests.json its lists. All parts together are a SWE-bench 5 row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.formats import commands
from repair.formats.base import DirectoryFormat, Draft, RowError, Wants
from repair.formats.directories import files
from repair.formats.raw import lists
from repair.formats.raw.json_text import replace_values
from repair.formats.rows import swebench
from repair.model import Verifier

ROOT, FOLDER, SETTINGS, TESTS = "sweb.yaml", "tasks", "task.yaml", "tests.json"
LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
PARTS = {
    "patch": "gold.patch",
    "test_patch": "test.patch",
    "eval_script": "eval.sh",
    "problem_statement": "problem_statement.md",
}
ASSETS = "test_assets"


def _tasks(path: Path) -> Iterable[Path]:
    if files.is_there(path, ROOT):
        return files.marked(path / FOLDER, SETTINGS, 1)
    return [path] if files.is_there(path, SETTINGS) and files.is_there(path, TESTS) else []


def _draft(directory: Path, wants: Wants) -> Draft:
    row = _settings(files.text(directory, SETTINGS))
    row.setdefault("instance_id", directory.absolute().name)
    tests = _tests(files.text(directory, TESTS))
    row |= {name: tests.get(name) for name in LISTS}
    row |= {column: files.optional_text(directory, name) for column, name in PARTS.items()}
    if not _holds(row.get("image_assets")):
        row.pop("image_assets", None)
    try:
        drafted = swebench.FIVE.draft(row, wants)
    except RowError as err:
        raise RowError(_file(err.field), err.problem) from None
    if files.tree(directory, ASSETS):
        drafted = replace(drafted, notes=(*drafted.notes, f"{ASSETS}/ is not put into the image"))
    return drafted


def _file(column: str) -> str:
    """The file that holds a column, with the column's key where the file holds several columns."""
    if column in PARTS:
        return PARTS[column]
    return f"{TESTS if column in LISTS else SETTINGS} {column}".rstrip()


def _holds(assets: Any) -> bool:
    """Whether task.yaml names an asset. It lists assets by where they belong, and most of these lists are empty."""
    return any(assets.values()) if isinstance(assets, dict) else bool(assets)


def _settings(text: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        install = "pip install 'repair-panel[yaml]'"
        raise UsageError("reading SWE-bench task repos needs PyYAML", install) from None
    try:
        settings = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as err:
        message = " ".join(str(err).split())  # of PyYAML, or of its constructors, as for `!!int ""`
        raise RowError(SETTINGS, f"is no valid YAML: {message}") from None
    if not isinstance(settings, dict):
        raise RowError(SETTINGS, f"expected keys with values, found {type(settings).__name__}")
    return settings


def _tests(text: str) -> dict[str, Any]:
    try:
        tests = json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise RowError(TESTS, "is nested too deeply") from None
    except ValueError as err:
        raise RowError(TESTS, f"is no valid JSON: {err}") from None
    if not isinstance(tests, dict):
        raise RowError(TESTS, f"expected an object, found {type(tests).__name__}")
    return tests


def _trimmed(
    directory: Path,
    dropped_f2p: frozenset[str],
    dropped_p2p: frozenset[str],
    record: str | None,  # noqa: ARG001 - task.yaml has no place for it
) -> Mapping[str, bytes]:
    text = files.text(directory, TESTS)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    dropped = dict(zip(LISTS, (dropped_f2p, dropped_p2p), strict=True))
    changes: dict[str, Callable[[str], str]] = {name: partial(_without, ids) for name, ids in dropped.items()}
    try:
        new = mark + replace_values(text.removeprefix(mark), changes)
    except (ValueError, SyntaxError) as err:
        raise RowError(TESTS, f"cannot be trimmed: {err}") from None
    return {} if new == text else {TESTS: new.encode()}


def _without(dropped: frozenset[str], value: str) -> str:
    return lists.without(value, dropped.__contains__)


def _verifier(directory: Path, kept: tuple[str, ...]) -> Verifier | None:
    script = files.optional_text(directory, PARTS["eval_script"])
    settings = _settings(files.text(directory, SETTINGS))
    return None if script is None else commands.eval_verifier(script, settings.get("log_parser"), kept)


def _beside(directory: Path) -> Mapping[str, bytes]:
    """The root's sweb.yaml, by its path; empty where the task directory does not lie in a task repo."""
    root = directory.absolute().parent.parent
    return {ROOT: files.text(root, ROOT).encode()} if files.is_there(root, ROOT) else {}


FORMAT = DirectoryFormat(
    name="swe-bench-5-repo",
    title="SWE-bench 5 task repos",
    tasks=_tasks,
    draft=_draft,
    trimmed=_trimmed,
    verifier=_verifier,
    beside=_beside,
    below=FOLDER,
)
