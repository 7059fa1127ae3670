"""What every format of directories in the registry promises: which directories are its own, and what they mean.

A format's row of test data, in directory_samples.py, is all that these tests know of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair.formats import registry
from repair.formats.base import DirectoryFormat, RowError, Wants
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.sample import DirectorySample, cases

NO_WISHES = Wants()


@pytest.fixture(scope="module", params=registry.DIRECTORIES)
def kind(request: pytest.FixtureRequest) -> DirectoryFormat:
    return registry.DIRECTORIES[request.param]


@pytest.fixture(scope="module")
def trees(kind: DirectoryFormat) -> DirectorySample:
    return DIRECTORIES[kind.name]


def refused(kind: DirectoryFormat, task: Path) -> RowError:
    """Why a directory is not a task."""
    with pytest.raises(RowError) as caught:
        kind.draft(task, NO_WISHES)
    return caught.value


def edited(task: Path, file: str, **changes: Any) -> Path:
    """A task directory with some keys of a JSON file changed."""
    document = {**json.loads((task / file).read_bytes()), **changes}
    (task / file).write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))
    return task


def test_a_directory_is_of_its_format_alone(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    tasks = [trees.make(tmp_path / "source", number) for number in (7, 8)]
    for name in (registry.AUTO, kind.name):
        assert registry.of_directory(tmp_path / "source", name) == (kind, tasks)
        assert registry.of_directory(tasks[0], name) == (kind, tasks[:1])
    (tmp_path / "rows.jsonl").write_text("{}\n")
    for place in (tmp_path / "rows.jsonl", tasks[0].parent / "nowhere"):
        assert list(kind.tasks(place)) == []


def test_a_directory_as_published(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    task = trees.make(tmp_path)
    assert kind.draft(task, NO_WISHES) == trees.draft
    wants = Wants("own/{id_1776}", "pytest tests")
    wished = kind.draft(task, wants)
    assert (wished.image, wished.runtime["test_cmd"]) == ("own/acme_1776_ledger-7", trees.wished)
    assert kind.draft(trees.make(tmp_path / "unasked", files=trees.unasked), wants).image == wished.image


def test_the_lists_of_a_directory(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    for key in (trees.f2p, trees.p2p):
        task = trees.make(tmp_path / key)
        for value in (None, "t.py::a t.py::b", 3, [1]):
            assert refused(kind, edited(task, trees.lists, **{key: value})).field == f"{trees.lists} {key}"
        lists = {"f2p" if key == trees.f2p else "p2p": ()}
        empty = kind.draft(edited(task, trees.lists, **{key: []}), NO_WISHES)
        assert (empty.f2p, empty.p2p) == (lists.get("f2p", trees.draft.f2p), lists.get("p2p", trees.draft.p2p))


def test_a_file_that_is_a_link_is_not_followed(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    for number, name in enumerate(trees.reads):
        task = trees.make(tmp_path / "source", number)
        (task / name).rename(tmp_path / f"outside-{number}")
        (task / name).symlink_to(tmp_path / f"outside-{number}")
        caught = refused(kind, task)
        assert (caught.field, "is a link" in caught.problem) == (name, True)


def test_a_file_that_is_not_utf8_names_its_line(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    for number, name in enumerate(trees.reads):
        task = trees.make(tmp_path / "source", number)
        (task / name).write_bytes(b"ok\n\xff\n")
        assert str(refused(kind, task)) == f"{name}: line 2 is not UTF-8"


@pytest.mark.parametrize(("name", "wrong"), cases("errors", DIRECTORIES))
def test_a_directory_that_is_not_a_task_names_its_file(
    name: str, wrong: tuple[Mapping[str, Any], str, str], tmp_path: Path
) -> None:
    files, field, problem = wrong
    caught = refused(registry.DIRECTORIES[name], DIRECTORIES[name].make(tmp_path, files=files))
    assert caught.field == field
    assert problem in caught.problem


def test_a_directory_loses_the_dropped_ids_alone(kind: DirectoryFormat, trees: DirectorySample, tmp_path: Path) -> None:
    task = trees.make(tmp_path)
    f2p, p2p = trees.draft.f2p, trees.draft.p2p
    assert kind.trimmed(task, frozenset(), frozenset(), None) == {}
    assert kind.trimmed(task, frozenset(), frozenset(), "ab" * 32).keys() == set(trees.records)
    for dropped in ((frozenset(f2p[:1]), frozenset(p2p[1:3])), (frozenset(f2p), frozenset[str]())):
        changed = kind.trimmed(task, *dropped, None)
        assert list(changed) == [trees.lists]
        copy = trees.make(tmp_path / f"without-{len(dropped[0])}")
        (copy / trees.lists).write_bytes(changed[trees.lists])
        kept = [tuple(test for test in ids if test not in dropped[at]) for at, ids in enumerate((f2p, p2p))]
        assert kind.draft(copy, NO_WISHES) == replace(trees.draft, f2p=kept[0], p2p=kept[1])
