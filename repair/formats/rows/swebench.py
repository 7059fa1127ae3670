"""SWE-bench rows: classic, Lite, Verified and Multimodal, and the rows of SWE-bench 5 with image and eval script.

Classic rows hold the lists as JSON text, and neither image nor command. The name of the image follows from the id, and
the tests run in the image's conda environment.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from repair.formats import commands
from repair.formats.base import (
    Carried,
    Draft,
    Row,
    RowError,
    RowFormat,
    Wants,
    image_of,
    instance_id,
    optional_text,
    patch,
    text,
)
from repair.formats.raw import lists
from repair.model import Verifier
from repair.outcomes.frameworks.commands import calls
from repair.outcomes.rewards import BEGIN, END
from repair.panel import patches

COMMON = ("repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement")
IMAGE = "swebench/sweb.eval.x86_64.{id_1776}:latest"
REPOS = frozenset(
    {
        *("astropy/astropy", "django/django", "matplotlib/matplotlib", "mwaskom/seaborn", "pallets/flask"),
        *("psf/requests", "pydata/xarray", "pylint-dev/pylint", "pytest-dev/pytest", "scikit-learn/scikit-learn"),
        *("sphinx-doc/sphinx", "sympy/sympy"),
    }
)
NO_COMMAND = "the row holds no test command, and its ids are not pytest's: give --test-cmd"
FAIL_ONLY = "eval_type fail_only: its harness takes a test that is in no log for passed; here it is missing"
# Columns that only rows of the formats that grew out of this one have.
OTHERS = ("eval_script", "test_cmds", "install_config", "before_repo_set_cmd", "FAIL_TO_FAIL")


def has(row: Row, *columns: str) -> bool:
    """Whether a row has all of these columns, of any value."""
    return all(column in row for column in columns)


def fitting(formats: Iterable[RowFormat], row: Row) -> list[RowFormat]:
    """The formats that a row is of by its columns. A column with null is absent: a union of tables has all columns.

    Where no format fits so, columns that formats need count with null, too: then the draft names the fault of the row.
    Where still no format fits, a set-up commit of null counts, too, since copies of SWE-bench have it.
    """
    formats = tuple(formats)
    needed = {*COMMON, "fix_patch", *(column for known in formats for column in (*known.f2p, *known.p2p))}
    for kept in (set[str](), needed, needed | {"environment_setup_commit"}):
        values = {column: value for column, value in row.items() if value is not None or column in kept}
        matches = [known for known in formats if known.fits(values)]
        if matches:
            return matches
    return []


def _is_classic(row: Row) -> bool:
    signs = has(row, "environment_setup_commit") or has(row, "image_assets")  # the latter is Multimodal's
    known = signs or optional_text(row, "repo") in REPOS
    return has(row, *COMMON, "FAIL_TO_PASS", "PASS_TO_PASS") and known and not any(name in row for name in OTHERS)


def _is_five(row: Row) -> bool:
    return has(row, "instance_id", "image", "eval_script", "log_parser", "FAIL_TO_PASS", "PASS_TO_PASS")


def base(row: Row, **more: Any) -> Draft:
    """The draft of a row with SWE-bench's columns. Raises `RowError`.

    `more` holds fields of the draft that the row's own format adds or replaces.
    """
    return Draft(
        **{
            "instance_id": instance_id(row),
            "f2p": lists.read(row.get("FAIL_TO_PASS"), "FAIL_TO_PASS"),
            "p2p": lists.read(row.get("PASS_TO_PASS"), "PASS_TO_PASS"),
            "oracle_patch": patch(row, "patch") or b"",
            "tests_patch": patch(row, "test_patch", required=False),
            "instruction": optional_text(row, "problem_statement") or "",
            "base_commit": optional_text(row, "base_commit"),
            **more,
        }
    )


def _classic(row: Row, wants: Wants) -> Draft:
    text(row, "test_patch")
    instance_id(row)
    image = image_of(row, wants, "image_name", "docker_image", "image", default=IMAGE)
    repo = text(row, "repo") if wants.test_cmd is None else optional_text(row, "repo") or ""
    runtime = commands.of_repo(repo, patch(row, "test_patch", required=False), wants)
    draft = base(row, image=image, notes=_assets(row), runtime={"workdir": commands.TESTBED, **runtime})
    ids = (*draft.f2p, *draft.p2p)
    if wants.test_cmd is not None or repo in REPOS or not ids or any(".py" in test for test in ids):
        return draft
    unknown = {"workdir": commands.TESTBED, "framework": commands.UNKNOWN, "test_cmd": "true"}
    return replace(draft, runtime=unknown, notes=(NO_COMMAND, *draft.notes))


def _assets(row: Row) -> tuple[str, ...]:
    value = row.get("image_assets")
    return () if value in (None, "", "{}", "null") or not value else ("image_assets are not put into the image",)


def _five(row: Row, wants: Wants) -> Draft:
    if row.get("eval_type") not in ("pass_and_fail", "fail_only", None):
        raise RowError("eval_type", 'expected "pass_and_fail" or "fail_only"')
    runtime, notes = commands.of_script(text(row, "eval_script", empty=False), "eval_script", wants)
    fail_only = (FAIL_ONLY,) if row.get("eval_type") == "fail_only" else ()
    keys = {"workdir": commands.TESTBED, **runtime}
    notes = (*notes, *_assets(row), *fail_only)
    return base(row, image=image_of(row, wants, "image"), runtime=keys, notes=notes)


def _write_classic(task: Carried) -> tuple[dict[str, Any], tuple[str, ...]]:
    row = {
        "repo": task.repo,
        "instance_id": task.instance_id,
        "base_commit": task.base_commit or "",
        "patch": task.oracle_patch,
        "test_patch": task.tests_patch,
        "problem_statement": task.instruction,
        "hints_text": "",
        "created_at": "",
        "version": "",
        "FAIL_TO_PASS": json.dumps(task.f2p),
        "PASS_TO_PASS": json.dumps(task.p2p),
        "environment_setup_commit": "",
        "image_name": task.image,  # not a column of SWE-bench's own: its harness makes the name from the id
    }
    return row, tuple(sorted({*task.others, "test_cmd"}))


def repo_of(ident: str) -> str:
    """The repo in an instance id: `org/name` for `org__name-12`. Another id comes back as it is."""
    org, separator, rest = ident.partition("__")
    return f"{org}/{rest.rpartition('-')[0] or rest}" if separator else ident


def reporting(task: Carried) -> str:
    """The task's command, where pytest gets -rA: the harnesses read a log, which has to name each test."""
    call = next((call for call in calls(task.test_cmd) if call.framework == "pytest"), None)
    if task.framework != "pytest" or call is None or any(re.match(r"-r\w*A", word) for word in call.arguments):
        return task.test_cmd
    return f"{task.test_cmd[: call.place]} -rA{task.test_cmd[call.place :]}"


def _eval_script(task: Carried) -> str:
    """The script that SWE-bench 5 runs on a patched repo: it applies the hidden tests and runs them between markers."""
    folder = shlex.quote(task.workdir)
    command = f"(\n{reporting(task)}\n)"  # a subshell: whatever ends it, the second marker is printed
    lines = ["#!/bin/bash", f"cd {folder}", f"git config --global --add safe.directory {folder}", *_hidden_tests(task)]
    return "\n".join([*lines, f"echo '{BEGIN}'", command, f"echo '{END}'", ""])


def _hidden_tests(task: Carried) -> list[str]:
    """The lines that apply the tests patch to the files of the base commit, whatever a model changed in them."""
    if not task.tests_patch.strip():
        return []
    old = [file.old for file in patches.files(task.tests_patch.encode()) if file.old is not None]
    commit = task.base_commit or ""
    is_known = bool(old) and re.fullmatch(r"[0-9a-f]{7,64}", commit)
    checkout = [f"git checkout {commit} -- {shlex.join(old)}"] if is_known else []
    word, taken = "EOF_TESTS", set(task.tests_patch.split("\n"))
    while word in taken:
        word += "_"
    return [*checkout, f"git apply -v - <<'{word}'", task.tests_patch.removesuffix("\n"), word]


def _write_five(task: Carried) -> tuple[dict[str, Any], tuple[str, ...]]:
    row, _ = _write_classic(task)
    del row["environment_setup_commit"], row["image_name"]
    row |= {
        "image": task.image,
        "eval_script": _eval_script(task),
        "log_parser": "pytest" if task.framework == "pytest" else task.framework,
        "eval_type": "pass_and_fail",
    }
    lost = set() if task.workdir == commands.TESTBED else {"workdir"}
    return row, tuple(sorted({*task.others, *lost}))


CLASSIC = RowFormat(
    name="swe-bench",
    title="SWE-bench classic, Lite, Verified, Multimodal",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_is_classic,
    draft=_classic,
    write=_write_classic,
)


def _own(row: Row, kept: tuple[str, ...]) -> Verifier:
    return commands.eval_verifier(text(row, "eval_script", empty=False), row.get("log_parser"), kept)


FIVE = RowFormat(
    name="swe-bench-5",
    title="SWE-bench 5 rows",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_is_five,
    draft=_five,
    write=_write_five,
    verifier=_own,
)
