"""What lies in a directory besides its tasks is named, and a panel or a mix of formats is none to import."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.formats.importing import Choice
from tests.formats import rows
from tests.formats.directory_samples import DIRECTORIES
from tests.support.exchange import take


def test_a_panel_is_none_to_import(tmp_path: Path) -> None:
    rows.harbor(tmp_path / "source")
    take(tmp_path / "source", name="my panel")
    before = rows.tree(tmp_path)
    with pytest.raises(UsageError) as found:
        take(tmp_path / "my panel", name="again")
    panel = tmp_path / "my panel"
    assert str(found.value) == f"{panel} is a panel already; repair run '{panel}'"
    assert rows.tree(tmp_path) == before


@pytest.mark.parametrize("name", DIRECTORIES)
def test_what_lies_beside_task_directories_is_named(tmp_path: Path, name: str) -> None:
    source = tmp_path / "source"
    DIRECTORIES[name].make(source, 1, {"data.json.gz": b"\x1f\x8b", "deep/rows.jsonl": "{}\n"})
    (source / "more" / "deep").mkdir(parents=True)
    (source / ".hidden").mkdir()
    for file in ("rows.jsonl", "more/deep/B.PARQUET", "more/a.json.gz", "more/a.txt", ".hidden/a.json", ".a.json"):
        (source / file).write_bytes(b"")
    found, tasks = take(source)
    assert found.not_looked_at == ["rows.jsonl", "more/a.json.gz", "more/deep/B.PARQUET"]
    assert (list(tasks), found.rows) == (["acme__ledger-1"], 1)


def test_beside_one_task_directory_is_nothing(tmp_path: Path) -> None:
    tree = rows.harbor(tmp_path / "source", 1, {"rows.jsonl": "{}\n"})
    assert take(tree, name="../a")[0].not_looked_at == []


def test_tasks_of_two_formats_below_one_directory(tmp_path: Path) -> None:
    source = tmp_path / "source"
    rows.harbor(source / "a", 1)
    rows.task_repo(source / "b", 2)
    before = rows.tree(tmp_path)
    with pytest.raises(UsageError) as said:
        take(source)
    assert str(said.value) == (
        f"{source} holds tasks of harbor, and b in it of swe-bench-5-repo; "
        "import b by itself, and the others with --format harbor"
    )
    assert rows.tree(tmp_path) == before
    found, tasks = take(source, Choice(format="harbor"))
    assert (list(tasks), found.not_looked_at) == (["acme__ledger-1"], ["b/tasks"])
    assert list(take(source / "b", name="../other")[1]) == ["acme__ledger-2"]


@pytest.mark.parametrize(("name", "other"), [("harbor", "tasks"), ("swe-bench-5-repo", "a/acme__ledger-1")])
def test_tasks_of_the_format_that_was_not_asked_for_are_named(tmp_path: Path, name: str, other: str) -> None:
    rows.harbor(tmp_path / "source" / "a", 1)
    rows.task_repo(tmp_path / "source", 2)
    (tmp_path / "source" / "rows.json").write_text("{}")
    found, tasks = take(tmp_path / "source", Choice(format=name))
    assert len(tasks) == 1
    assert sorted(found.not_looked_at) == sorted([other, "rows.json"])
