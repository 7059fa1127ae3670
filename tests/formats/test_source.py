"""What an imported task remembers of where it came from, and which names and ids a task may have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.formats import source as formats_source
from repair.formats.base import Draft, RowError
from repair.formats.raw.row_files import Container, Item
from repair.panel import read
from repair.panel.inputs import tree_digest
from repair.text import sha256
from tests.formats import rows

RAW = b'{"instance_id":  "acme__ledger-7", "extra": 1.50}'
DRAFT = Draft(
    instance_id="acme__ledger-7",
    image="acme/ledger:7",
    f2p=rows.F2P,
    p2p=rows.P2P,
    oracle_patch=rows.PATCH.encode(),
    tests_patch=rows.TESTS.encode(),
    instruction=rows.ISSUE,
    base_commit=rows.COMMIT,
    runtime={"workdir": "/ledger", "test_cmd": "pytest", "timeout": 60.5, "env": {"LANG": "C"}},
)


def item(container: Container = Container.LINES, raw: bytes = RAW) -> Item:
    return Item(container, "rows.jsonl", 3, raw, {})


def written(panel: Path, draft: Draft = DRAFT, container: Container = Container.LINES) -> Path:
    formats_source.write(panel, draft, "swe-bench", item(container), None)
    return panel / draft.instance_id


# ---- writing


def test_a_task_and_its_row_are_written_and_nothing_else(panel: Path) -> None:
    found = rows.tree(written(panel))
    assert sorted(found) == [
        "instruction.md",
        "oracle.patch",
        "source.json",
        "task.json",
        "tests.patch",
    ]
    assert found["instruction.md"] == rows.ISSUE.encode()
    assert (found["oracle.patch"], found["tests.patch"]) == (rows.PATCH.encode(), rows.TESTS.encode())
    assert json.loads(found["task.json"]) == {
        "instance_id": "acme__ledger-7",
        "image": "acme/ledger:7",
        "base_commit": rows.COMMIT,
        **DRAFT.runtime,
        "FAIL_TO_PASS": list(rows.F2P),
        "PASS_TO_PASS": list(rows.P2P),
    }
    assert json.loads(found["source.json"]) == {
        "schema": 1,
        "format": "swe-bench",
        "container": "jsonl",
        "file": "rows.jsonl",
        "number": 3,
        "sha256": sha256(RAW),
        "row": json.loads(RAW),
    }
    assert RAW in found["source.json"]


@pytest.mark.parametrize("container", list(Container)[:4])
def test_what_is_written_is_read_again(panel: Path, container: Container) -> None:
    directory = written(panel, container=container)
    source = formats_source.read(directory)
    assert source == formats_source.Source("swe-bench", container, "rows.jsonl", 3, sha256(RAW), directory / "source")
    assert source.row() == RAW


@pytest.mark.parametrize(
    ("change", "file", "content"),
    [
        ({"tests_patch": None}, "tests.patch", None),
        ({"entry_patch": b"--- bug\n"}, "entry.patch", b"--- bug\n"),
        ({"oracle_patch": b"caf\xe9\r\n"}, "oracle.patch", b"caf\xe9\r\n"),
        ({"instruction": ""}, "instruction.md", b""),
        ({"instruction": "half \ud800, all 😀"}, "instruction.md", "half \\ud800, all 😀".encode()),
        ({"instruction": "a\r\nb"}, "instruction.md", b"a\r\nb"),
    ],
    ids=["no hidden tests", "entry patch", "bytes of any encoding", "no text", "half a character", "Windows' lines"],
)
def test_a_draft_s_files(panel: Path, change: dict[str, Any], file: str, content: bytes | None) -> None:
    path = written(panel, replace(DRAFT, **change)) / file
    assert (path.read_bytes() if path.exists() else None) == content


def test_a_file_s_name_that_is_no_text_is_spelt(panel: Path) -> None:
    formats_source.write(panel, DRAFT, "swe-bench", replace(item(), file="caf\udce9.jsonl"), None)
    assert json.loads((panel / DRAFT.instance_id / "source.json").read_bytes())["file"] == "caf\\udce9.jsonl"
    assert formats_source.read(panel / DRAFT.instance_id) is not None


def test_a_directory_is_kept_whole(panel: Path, tmp_path: Path) -> None:
    tree = rows.harbor(tmp_path / "harbor", files={"solution/run": "#!/bin/sh\n", ".hidden/a": b"\xff"})
    (tree / "solution" / "run").chmod(0o755)
    formats_source.write(panel, DRAFT, "harbor", Item(Container.DIRECTORY, tree.name, 1, b"", None), tree)
    directory = panel / DRAFT.instance_id
    assert rows.tree(directory / "source") == rows.tree(tree)
    assert rows.tree(directory / "environment") == rows.tree(tree / "environment")
    assert (directory / "source" / "solution" / "run").stat().st_mode & 0o111
    source = formats_source.read(directory)
    assert source is not None
    assert source.sha256 == tree_digest(tree)


def test_environment_is_taken_over_only_where_it_builds(panel: Path, tmp_path: Path) -> None:
    tree = rows.harbor(tmp_path / "harbor", files={"environment/Dockerfile": None})
    formats_source.write(panel, DRAFT, "harbor", Item(Container.DIRECTORY, tree.name, 1, b"", None), tree)
    assert not (panel / DRAFT.instance_id / "environment").exists()


@pytest.mark.parametrize("raw", [b" \t" + RAW, RAW + b" \r\n", b"\n" + RAW + b"\n "], ids=["before", "behind", "both"])
@pytest.mark.parametrize("container", [Container.LINES, Container.ARRAY, Container.OBJECT], ids=str)
def test_blanks_around_a_row_are_none_of_it(panel: Path, container: Container, raw: bytes) -> None:
    formats_source.write(panel, DRAFT, "swe-bench", item(container, raw), None)
    source = formats_source.read(panel / DRAFT.instance_id)
    assert source is not None
    assert (source.row(), source.sha256) == (RAW, sha256(RAW))


def test_blanks_around_a_parquet_file_are_its_bytes(panel: Path) -> None:
    formats_source.write(panel, DRAFT, "swe-bench", item(Container.PARQUET, b"\n \t"), None)
    source = formats_source.read(panel / DRAFT.instance_id)
    assert source is not None
    assert source.row() == b"\n \t"


GIT = {
    "nothing": ({}, ()),
    "what it is to ignore": ({"environment/.gitignore": "*.bin\n"}, (".gitignore",)),
    "line ends": ({"tests/deep/.gitattributes": "* text=auto\n"}, (".gitattributes",)),
    "both": ({".gitattributes": "", "a/.gitignore": "", "b/.gitignore": ""}, (".gitignore", ".gitattributes")),
    "names like these": ({"gitignore": "", "a/.gitignored": "", ".gitmodules": "", ".github/a.yml": ""}, ()),
}


@pytest.mark.parametrize(("files", "held"), GIT.values(), ids=GIT)
def test_what_git_reads_in_a_task_is_noted(
    panel: Path, tmp_path: Path, files: dict[str, str], held: tuple[str, ...]
) -> None:
    tree = rows.harbor(tmp_path / "harbor", files=dict(files))
    notes = formats_source.write(panel, DRAFT, "harbor", Item(Container.DIRECTORY, tree.name, 1, b"", None), tree)
    assert [note.partition(":")[0] for note in notes] == [f"holds {name}" for name in held]


@pytest.mark.parametrize("file", [".git", ".git/HEAD", "environment/repo/.git/config", "environment/.GIT"])
def test_a_task_that_git_cannot_keep_is_refused(panel: Path, tmp_path: Path, file: str) -> None:
    tree = rows.harbor(tmp_path / "harbor", files={file: "x"})
    before = rows.tree(panel)
    with pytest.raises(RowError) as found:
        formats_source.write(panel, DRAFT, "harbor", Item(Container.DIRECTORY, tree.name, 1, b"", None), tree)
    assert found.value.field.casefold() == file[: file.casefold().index(".git") + 4].casefold()
    assert "cannot be kept in git" in found.value.problem
    assert rows.tree(panel) == before


# ---- names


@pytest.mark.parametrize("name", ["acme__ledger-7", "a", "-rf", "größe", "a b", "task.json", "x" * 200, "😀"])
def test_a_name_that_can_be_a_directory(panel: Path, name: str) -> None:
    directory = written(panel, replace(DRAFT, instance_id=name))
    assert directory.parent == panel
    (task,) = read.load(panel).tasks
    assert (task.instance_id, task.f2p, task.p2p) == (name, rows.F2P, rows.P2P)


BAD_NAMES = {
    "a folder's": ("a/b", "holds a slash"),
    "the parent's": ("../b", "holds a slash"),
    "absolute": ("/etc", "holds a slash"),
    "a backslash": ("a\\b", "holds a slash"),
    "this folder": (".", "cannot name a directory"),
    "the folder above": ("..", "cannot name a directory"),
    "hidden": (".git", "cannot name a directory"),
    "our own file": ("panel.toml", "cannot name a directory"),
    "our own file in capitals": ("Panel.TOML", "cannot name a directory"),
    "our own folder": ("source", "cannot name a directory"),
    "blank before": (" a", "cannot name a directory"),
    "line end behind": ("a\n", "cannot name a directory"),
    "a line end": ("a\nb", "holds a character that cannot be printed"),
    "a zero": ("a\0b", "holds a character that cannot be printed"),
    "a colour": ("a\x1b[31mb", "holds a character that cannot be printed"),
    "right to left": ("a\u202eb", "holds a character that cannot be printed"),
    "half a character": ("a\ud800", "holds a character that cannot be printed"),
    "too long": ("x" * 201, "is longer than 200 bytes"),
    "too long in bytes": ("ß" * 101, "is longer than 200 bytes"),
}


@pytest.mark.parametrize(("name", "said"), BAD_NAMES.values(), ids=BAD_NAMES)
def test_a_name_that_can_be_none(panel: Path, name: str, said: str) -> None:
    before = rows.tree(panel.parent)
    with pytest.raises(RowError) as found:
        formats_source.write(panel, replace(DRAFT, instance_id=name), "swe-bench", item(), None)
    assert found.value.field == "instance_id"
    assert said in found.value.problem
    assert found.value.problem.isprintable()
    assert len(found.value.problem) < 400
    assert rows.tree(panel.parent) == before


# ---- task.json


BAD_KEYS: dict[str, tuple[dict[str, Any], str, str]] = {
    "an empty id": ({"f2p": ("",)}, "FAIL_TO_PASS", "id 1 is no test id"),
    "an id over two lines": ({"p2p": ("t::a", "t::b\nt::c")}, "PASS_TO_PASS", "id 2 is no test id"),
    "an id with a zero": ({"p2p": ("t\0",)}, "PASS_TO_PASS", "id 1 is no test id"),
    "half a character": ({"f2p": ("t[\ud800]",)}, "FAIL_TO_PASS", "id 1 is no test id"),
    "an absurdly long id": ({"f2p": ("t" * 4097,)}, "FAIL_TO_PASS", "of at most 4096 characters"),
    "no image": ({"image": " "}, "image", "expected a text that is not empty"),
    "a workdir that is none": ({"runtime": {"workdir": "ledger"}}, "workdir", "expected an absolute path"),
    "no memory at all": ({"runtime": {"memory": 1}}, "memory", "expected a size"),
    "endless": ({"runtime": {"timeout": float("inf")}}, "timeout", "expected a number above 0"),
    "a variable's name": ({"runtime": {"env": {"A B": "c"}}}, "env", "expected a table of texts"),
}


@pytest.mark.parametrize(("change", "field", "said"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_a_task_that_would_not_load_is_not_written(panel: Path, change: dict[str, Any], field: str, said: str) -> None:
    before = rows.tree(panel)
    with pytest.raises(RowError) as found:
        formats_source.write(panel, replace(DRAFT, **change), "swe-bench", item(), None)
    assert (found.value.field, said in found.value.problem) == (field, True), found.value
    assert len(found.value.problem) < 300
    assert rows.tree(panel) == before


@pytest.mark.parametrize("change", [{"image": "acme/\ud800"}, {"base_commit": "\ud800"}], ids=["image", "commit"])
def test_a_text_with_half_a_character_is_not_written(panel: Path, change: dict[str, Any]) -> None:
    """JSON can spell it, and no reader of task.json takes it."""
    before = rows.tree(panel)
    with pytest.raises(RowError) as found:
        formats_source.write(panel, replace(DRAFT, **change), "swe-bench", item(), None)
    assert str(found.value).isprintable()
    assert rows.tree(panel) == before


def test_the_longest_id_is_kept(panel: Path) -> None:
    longest = "t" * 4096
    written(panel, replace(DRAFT, f2p=(longest,)))
    assert read.load(panel).tasks[0].f2p == (longest,)


@pytest.mark.parametrize("lists", [((), rows.P2P), (rows.F2P, ()), ((), ())], ids=["no F2P", "no P2P", "neither"])
def test_an_empty_list_is_data(panel: Path, lists: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    written(panel, replace(DRAFT, f2p=lists[0], p2p=lists[1]))
    (task,) = read.load(panel).tasks
    assert (task.f2p, task.p2p) == lists


# ---- reading


def test_a_native_task_has_no_source(panel: Path) -> None:
    assert formats_source.read(panel) is None


SOURCES: dict[str, tuple[Any, str]] = {
    "of a later version": ({"schema": 2}, "has schema 2; this version reads 1"),
    "without a format": ({"format": ...}, "is not what an import wrote (KeyError"),
    "in an unknown container": ({"container": "csv"}, "is not what an import wrote (ValueError"),
    "in no row": ({"number": "three"}, "is not what an import wrote (ValueError"),
    "in a row beyond all numbers": ({"number": float("inf")}, "is not what an import wrote (OverflowError"),
    "without its row": ({"row": ...}, "is not what an import wrote (KeyError"),
    "with another digest": ({"sha256": "0" * 64}, "is not what was imported; restore it, or import again"),
}


@pytest.mark.parametrize(("change", "said"), SOURCES.values(), ids=SOURCES)
def test_a_source_that_is_not_ours_is_refused(panel: Path, change: dict[str, Any], said: str) -> None:
    directory = written(panel)
    file = directory / "source.json"
    document = {**json.loads(file.read_bytes()), **change}
    file.write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))
    with pytest.raises(UsageError) as found:
        formats_source.read(directory)
    assert said in str(found.value)
    assert str(directory) in str(found.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff"],
    ids=["empty", "cut", "list", "null", "deep", "bytes"],
)
def test_a_source_that_is_no_object_is_refused(panel: Path, content: bytes) -> None:
    directory = written(panel)
    (directory / "source.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"source\.json is not what an import wrote"):
        formats_source.read(directory)


@pytest.mark.parametrize("container", [Container.LINES, Container.PARQUET], ids=str)
@pytest.mark.parametrize("how", ["edited", "gone"])
def test_a_row_that_is_another_is_refused(panel: Path, how: str, container: Container) -> None:
    directory = written(panel, container=container)
    row = directory / ("source.json" if container is Container.LINES else "source/row.parquet")
    rest = b"" if how == "gone" else RAW[:-1] + b" }"
    row.write_bytes(row.read_bytes().replace(RAW, rest))
    said = "is not what" if how == "edited" or container is Container.PARQUET else "is not what an import wrote"
    with pytest.raises(UsageError, match=said):
        formats_source.read(directory)


@pytest.mark.parametrize("change", ["edited", "added", "removed", "made executable", "gone"])
def test_a_directory_that_is_another_is_refused(panel: Path, tmp_path: Path, change: str) -> None:
    tree = rows.harbor(tmp_path / "harbor")
    formats_source.write(panel, DRAFT, "harbor", Item(Container.DIRECTORY, tree.name, 1, b"", None), tree)
    source = panel / DRAFT.instance_id / "source"
    match change:
        case "edited":
            (source / "instruction.md").write_text("Mend it all.\n")
        case "added":
            (source / "solution" / "more").write_text("")
        case "removed":
            (source / "solution" / "solve.sh").unlink()
        case "made executable":
            (source / "solution" / "solve.sh").chmod(0o755)
        case _:
            source.rename(panel / "elsewhere")
    with pytest.raises(UsageError, match="is not what was imported"):
        formats_source.read(panel / DRAFT.instance_id)
