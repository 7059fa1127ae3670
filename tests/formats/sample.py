"""What a row of test data says of a format: the contract tests, test_contract*.py, know no more of it.

`...` as a column's value and None as a file's content leave the column or the file out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from repair.formats.base import Draft
from tests.formats import rows
from tests.formats.rows import Files

Changes = Mapping[str, Any]  # of a row's columns
TESTBED = "/testbed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSample:
    """What the contract tests know of one format of rows."""

    build: rows.Builder  # a row with each column that its publisher writes
    draft: Draft  # what row 7 means
    enough: tuple[str, ...]  # the columns that a row needs to be a task; each of them is needed
    # the columns that hold ids, as the registry names them
    f2p: tuple[str, ...] = ("FAIL_TO_PASS",)
    p2p: tuple[str, ...] = ("PASS_TO_PASS",)
    also: tuple[str, ...] = ()
    spellings: tuple[Callable[[Any], Any], ...] = (lambda ids: ids, json.dumps, repr)  # of one list, all read alike
    empty: tuple[Any, ...] = ([], "[]")  # lists without ids
    unread: str = "is neither JSON nor a Python literal"  # what is said of a text that is not a list
    untyped: str = "expected a list of test ids"  # what is said of a number
    # other columns
    ident: str | None = "instance_id"  # None where the id follows from other columns
    oracle: str = "patch"
    tests: str | None = "test_patch"  # None where no column holds the hidden tests' diff
    # which rows are of the format
    telling: tuple[str, ...] = ("repo",)  # the columns whose values tell the format, not their presence alone
    forms: Mapping[str, Changes] = field(default_factory=dict)  # revisions and copies that are of the format
    foreign: Mapping[str, Changes] = field(default_factory=dict)  # changes that make a row another format's or nobody's
    errors: Mapping[str, tuple[Changes, str, str]] = field(default_factory=dict)  # changes, the field, the problem
    # what a user of `repair import` asks for
    places: Mapping[str, str] = field(default_factory=dict)  # what an image template's places stand for in row 7
    wished: str = 'pytest tests "$@"'  # the task's command where the user says `pytest tests`
    unasked: Changes = field(default_factory=dict)  # what the user's image and command make irrelevant
    # rows of native tasks; `written` is empty where a format takes none
    written: tuple[str, ...] = ()  # the columns in which a written row says what the published one says
    added: tuple[str, ...] = ()  # columns beyond the published ones
    lost: tuple[str, ...] = ()  # what no written row carries
    loses: tuple[str, ...] = ("framework", "workdir")  # what is lost where it is not as in row 7


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySample:
    """What the contract tests know of one format of directories."""

    make: Callable[..., Path]  # writes a task directory below a root, by number, some of its files replaced
    draft: Draft  # what directory 7 means
    lists: str  # the JSON file that holds the two lists, below these keys
    f2p: str = "FAIL_TO_PASS"
    p2p: str = "PASS_TO_PASS"
    reads: tuple[str, ...]  # the files that a draft reads, all of them UTF-8
    records: tuple[str, ...] = ()  # the files of an export that name the record
    errors: Mapping[str, tuple[Files, str, str]]  # files, the field that is at fault, the problem
    wished: str = 'pytest tests "$@"'  # the task's command where the user says `pytest tests`
    unasked: Files  # files that the user's image and command make irrelevant


def draft(image: str, command: str, workdir: str = TESTBED, **changes: Any) -> Draft:
    """The task that all rows say, in an image, run by pytest."""
    runtime = {"workdir": workdir, "framework": "pytest", "test_cmd": command, "select": "files"}
    common = Draft(
        instance_id="acme__ledger-7",
        image=image,
        f2p=rows.F2P,
        p2p=rows.P2P,
        oracle_patch=rows.PATCH.encode(),
        tests_patch=rows.TESTS.encode(),
        instruction=rows.ISSUE,
        base_commit=rows.COMMIT,
        runtime=runtime,
    )
    return replace(common, **changes)


def cases(table: str, samples: Mapping[str, Any]) -> list[Any]:
    """Each entry of a table that all samples have, with the format's name."""
    return [
        pytest.param(name, entry, id=f"{name}: {case}")
        for name, sample in samples.items()
        for case, entry in getattr(sample, table).items()
    ]
