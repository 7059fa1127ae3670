"""`repair new`: what is written where, that it loads once it is filled in and not before, and what stays untouched."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.model import Policy, Task
from repair.panel import new as panel_new
from repair.panel import read
from repair.panel.keys import FILL_IN
from repair.panel.new import SCHEMAS_FOLDER, Made, new_task, schema_files
from repair.panel.read import ATTRIBUTES
from repair.panel.schemas import SCHEMAS
from tests.conftest import ORACLE, MakeTask
from tests.formats import rows
from tests.support import denied
from tests.support.keys import Draft

FILES = {"task.json", "instruction.md", "oracle.patch", "tests.patch", "environment", "environment/Dockerfile"}


def unfilled(panel: Path, lists: bool = True) -> str:
    with pytest.raises(UsageError) as caught:
        read.load(panel, lists=lists)
    return str(caught.value)


def fill(task: Path, **changes: Any) -> None:
    """Do what the placeholders ask for."""
    document = json.loads((task / "task.json").read_text())
    (task / "task.json").write_text(json.dumps({**document, "image": "acme/ledger:17", **changes}))
    (task / "instruction.md").write_text("Mend add.\n")
    (task / "oracle.patch").write_bytes(ORACLE)
    (task / "tests.patch").unlink()
    shutil.rmtree(task / "environment")


# ---- a new panel


def test_a_task_in_a_new_panel(tmp_path: Path) -> None:
    made = new_task(tmp_path / "deep" / "mine" / "acme-17")
    panel = tmp_path / "deep" / "mine"
    assert made == Made(panel / "acme-17", panel, True, tuple(schema_files()))
    assert set(rows.tree(panel / "acme-17")) == FILES
    assert {entry.name for entry in panel.iterdir()} == {"acme-17", "panel.toml", ".gitattributes", SCHEMAS_FOLDER}
    assert (panel / ".gitattributes").read_bytes() == ATTRIBUTES
    assert {
        name: (panel / SCHEMAS_FOLDER / name).read_bytes() for name in rows.tree(panel / SCHEMAS_FOLDER)
    } == schema_files()
    assert read.task_names(panel) == ["acme-17"]


@pytest.mark.parametrize("there", ["nothing", "an empty directory", "a directory with files"])
def test_a_new_panel_has_every_policy_at_its_default(tmp_path: Path, there: str) -> None:
    panel = tmp_path / "mine"
    if there != "nothing":
        panel.mkdir()
    if there == "a directory with files":
        (panel / "README.md").write_text("Ours.\n")
        (panel / ".gitattributes").write_text("* text\n")
    made = new_task(panel / "t")
    assert made.is_new
    settings = read.load_settings(panel)
    assert settings == {"name": "mine", "policy": Policy(), "min_tasks": 1, "defaults": {}}
    document = tomllib.loads((panel / "panel.toml").read_text())
    assert set(document["policy"]) == set(Policy.__dataclass_fields__)
    assert document["gate"] == {"min_tasks": 1}
    Draft(SCHEMAS["panel"]()).validate(document)
    if there == "a directory with files":
        assert (panel / "README.md").read_text() == "Ours.\n"
        assert (panel / ".gitattributes").read_text() == "* text\n"


def test_editors_are_told_where_the_schemas_are(tmp_path: Path) -> None:
    new_task(tmp_path / "mine" / "t")
    named = json.loads((tmp_path / "mine" / "t" / "task.json").read_text())["$schema"]
    first = (tmp_path / "mine" / "panel.toml").read_text().splitlines()[0]
    assert first.startswith("#:schema ./")
    for file, name in (
        (tmp_path / "mine" / "t" / named, "task"),
        (tmp_path / "mine" / first.removeprefix("#:schema "), "panel"),
    ):
        assert json.loads(file.read_text()) == SCHEMAS[name]()


@pytest.mark.parametrize("name", ['a"b\\c', "ü \u202e", "new\nline", "x\x7f", "\udcff"])
def test_a_panels_name_may_hold_anything(tmp_path: Path, name: str) -> None:
    new_task(tmp_path / name / "t")
    assert read.load_settings(tmp_path / name)["name"] == name.replace("\udcff", "\ufffd")


def test_a_panel_by_a_relative_path_has_its_directorys_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert new_task(Path("t")) == Made(Path("t"), Path(), True, tuple(schema_files()))
    assert read.load_settings(Path())["name"] == "here"


# ---- a panel that is there


def test_a_panel_that_is_there_gets_a_task_and_schemas(panel: Path, make_task: MakeTask) -> None:
    make_task()
    before = rows.tree(panel)
    assert new_task(panel / "acme-17") == Made(panel / "acme-17", panel, False, tuple(schema_files()))
    after = rows.tree(panel)
    assert before.items() <= after.items()
    new = {
        *(f"acme-17/{file}" for file in FILES),
        "acme-17",
        SCHEMAS_FOLDER,
        *(f"{SCHEMAS_FOLDER}/{name}" for name in schema_files()),
    }
    assert set(after) - set(before) == new
    assert new_task(panel / "acme-18").schemas == ()


@pytest.mark.parametrize("stale", [b"", b"{}", b"\xff"])
def test_schemas_of_another_version_are_refreshed(panel: Path, stale: bytes) -> None:
    new_task(panel / "a")
    (panel / SCHEMAS_FOLDER / "task.schema.json").write_bytes(stale)
    (panel / SCHEMAS_FOLDER / "panel.schema.json").unlink()
    (panel / SCHEMAS_FOLDER / "ours.json").write_text("{}")
    assert set(new_task(panel / "b").schemas) == {"task.schema.json", "panel.schema.json"}
    assert {name: (panel / SCHEMAS_FOLDER / name).read_bytes() for name in schema_files()} == schema_files()
    assert (panel / SCHEMAS_FOLDER / "ours.json").read_text() == "{}"


def test_an_empty_directory_may_become_a_task(panel: Path) -> None:
    (panel / "t").mkdir()
    new_task(panel / "t")
    assert set(rows.tree(panel / "t")) == FILES


def test_what_the_panel_says_for_all_tasks_is_not_said_again(panel: Path) -> None:
    (panel / "panel.toml").write_text('[defaults]\nworkdir = "/srv/app"\ntest_cmd = "make check"\n')
    new_task(panel / "t")
    assert list(json.loads((panel / "t" / "task.json").read_text())) == ["$schema", "instance_id", "image"]
    assert "WORKDIR /srv/app\n" in (panel / "t" / "environment" / "Dockerfile").read_text()


def test_another_framework_has_its_command_to_be_filled_in(panel: Path) -> None:
    (panel / "panel.toml").write_text('[defaults]\nframework = "go"\n')
    new_task(panel / "t")
    assert "task.json (image, test_cmd), " in unfilled(panel)
    fill(panel / "t", test_cmd=["gotestsum"], FAIL_TO_PASS=["f"], PASS_TO_PASS=[])
    assert read.load(panel).tasks[0].test_cmd == ("gotestsum",)


# ---- filled in, and not


def test_a_task_loads_once_it_is_filled_in(panel: Path) -> None:
    new_task(panel / "t")
    fill(panel / "t", FAIL_TO_PASS=["f"], PASS_TO_PASS=["p"])
    wanted = Task("t", "acme/ledger:17", ("f",), ("p",), ORACLE, None, panel / "t")
    assert read.load(panel).tasks == (wanted,)


def test_a_task_without_lists_loads_for_those_who_find_them(panel: Path) -> None:
    new_task(panel / "t")
    fill(panel / "t")
    (task,) = read.load(panel, lists=False).tasks
    assert (task.f2p, task.p2p) == ((), ())
    assert unfilled(panel) == (
        f"{panel}/t/task.json: FAIL_TO_PASS is missing; list its tests' ids, or let `repair mint` find them"
    )


@pytest.mark.parametrize("lists", [True, False])
def test_a_task_that_is_not_filled_in_says_where(panel: Path, lists: bool) -> None:
    new_task(panel / "t")
    assert unfilled(panel, lists=lists) == (
        f"{panel}/t is to be filled in: task.json (image), instruction.md, oracle.patch, tests.patch, "
        "environment/Dockerfile; each says what, after FILL IN:"
    )


def _image(task: Path) -> None:
    document = json.loads((task / "task.json").read_text())
    (task / "task.json").write_text(json.dumps(document | {"image": panel_new.IMAGE}))


def _dockerfile(task: Path) -> None:
    (task / "environment").mkdir()
    (task / "environment" / "Dockerfile").write_text(panel_new.DOCKERFILE % "/x")


LEFT: dict[str, tuple[Callable[[Path], object], str]] = {
    "image": (_image, "task.json (image)"),
    "instruction": (lambda task: (task / "instruction.md").write_text(panel_new.INSTRUCTION), "instruction.md"),
    "instruction below": (
        lambda task: (task / "instruction.md").write_text(panel_new.INSTRUCTION + "\nMend it.\n"),
        "instruction.md",
    ),
    "oracle": (lambda task: (task / "oracle.patch").write_text(panel_new.ORACLE), "oracle.patch"),
    "tests": (lambda task: (task / "tests.patch").write_text(panel_new.TESTS), "tests.patch"),
    "Dockerfile": (_dockerfile, "environment/Dockerfile"),
}


@pytest.mark.parametrize(("leave", "where"), LEFT.values(), ids=LEFT)
def test_each_placeholder_by_itself_keeps_a_task_from_loading(
    panel: Path, leave: Callable[[Path], object], where: str
) -> None:
    new_task(panel / "t")
    fill(panel / "t", FAIL_TO_PASS=["f"], PASS_TO_PASS=["p"])
    leave(panel / "t")
    assert unfilled(panel).startswith(f"{panel}/t is to be filled in: {where}; ")


def test_a_scaffold_has_no_placeholder_that_is_not_found(panel: Path) -> None:
    new_task(panel / "t")
    holding = {
        path
        for path, content in rows.tree(panel / "t").items()
        if isinstance(content, bytes) and FILL_IN.encode() in content
    }
    assert holding == {"task.json", *read.BY_HAND}


def test_the_image_placeholder_is_wrong_to_an_editor_too(panel: Path) -> None:
    new_task(panel / "t")
    document = json.loads((panel / "t" / "task.json").read_text())
    wrong = {error.json_path for error in Draft(SCHEMAS["task"]()).iter_errors(document)}
    assert wrong == {"$", "$.image"}  # of the whole: its lists are missing


# ---- whole or not at all


def interrupted(monkeypatch: pytest.MonkeyPatch, target: Path, call: str, at: int) -> bool:
    """Is a Ctrl-C at the n-th call of a function of the system's met at all?"""
    before, calls = getattr(os, call), 0

    def count(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return before(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, count)
        try:
            new_task(target)
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.parametrize("call", ["fsync", "link", "mkdir"])
@pytest.mark.parametrize("there", ["nothing", "a directory", "a panel"])
def test_after_ctrl_c_all_is_there_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, call: str
) -> None:
    met = 0
    for at in range(1, 40):
        panel = tmp_path / f"{at}"
        if there != "nothing":
            panel.mkdir()
        if there == "a panel":
            (panel / "panel.toml").write_text("")
        before = rows.tree(tmp_path)
        if not interrupted(monkeypatch, panel / "t", call, at):
            break
        met += 1
        after = rows.tree(tmp_path)
        if after != before:
            assert set(rows.tree(panel / "t")) == FILES
            assert read.load_settings(panel)
    assert met > 0


@pytest.mark.parametrize("there", ["nothing", "a directory", "a panel"])
def test_two_at_once_both_get_their_task(tmp_path: Path, there: str) -> None:
    """Of two that make one panel, one may be told that it is there; nothing is lost or half there."""
    panel = tmp_path / "mine"
    if there != "nothing":
        panel.mkdir()
    if there == "a panel":
        (panel / "panel.toml").write_text("")
    script = "import sys, pathlib, repair.panel.new as a; a.new_task(pathlib.Path(sys.argv[1]))"
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(panel / name)], stderr=subprocess.PIPE) for name in "abc"
    ]
    done = {name: process.communicate()[1] == b"" for name, process in zip("abc", running, strict=True)}
    assert any(done.values())
    assert read.task_names(panel) == [name for name in "abc" if done[name]]
    assert all(set(rows.tree(panel / name)) == FILES for name in "abc" if done[name])
    assert not list(tmp_path.rglob("*.tmp"))
    assert read.load_settings(panel)
    assert {name: (panel / SCHEMAS_FOLDER / name).read_bytes() for name in schema_files()} == schema_files()


if sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}:

    @pytest.mark.parametrize("call", ["link", "fsync", "rename"])
    @pytest.mark.parametrize("is_there", [True, False])
    def test_on_a_full_disk_nothing_half_written_stays(tmp_path: Path, call: str, is_there: bool) -> None:
        if is_there:
            (tmp_path / "mine").mkdir()
        before = rows.tree(tmp_path)
        said = denied.call(new_task, tmp_path / "mine" / "t", calls={call: errno.ENOSPC})
        assert said.startswith("DiskFull: no space left")
        assert rows.tree(tmp_path) == before

    def test_without_hard_links_a_panel_is_made_too(tmp_path: Path) -> None:
        assert denied.call(new_task, tmp_path / "mine" / "t", calls={"link": errno.EPERM}) == ""
        assert read.load_settings(tmp_path / "mine")["name"] == "mine"
