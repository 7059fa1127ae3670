"""The new panel on the disk, made of derivations by hand: what comes along, what is looked at before any run.

What the image has to say is in tests/engine/test_minting.py.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair.errors import RepairError, UsageError
from repair.mint.document import Minted
from repair.mint.write import check_can_be_copied, write_panel
from repair.model import ListName, Panel
from repair.panel import read
from repair.panel.inputs import inputs
from repair.records.check import lists_in
from tests.conftest import ORACLE, MakeTask
from tests.support.mint import GOOD, minted

NEW = b"--- /dev/null\n+++ b/tests/test_t.py\n@@ -0,0 +1 @@\n+pass\n"


def below(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def found_of(panel: Panel) -> list[Minted]:
    """What minting each task of a panel might have found: one F2P and two P2P; nothing of a task called refused."""
    made = []
    for task in panel.tasks:
        found = minted({"gone": ("P", "F")} if task.instance_id == "refused" else GOOD)
        new = replace(task, f2p=found.derivation.f2p, p2p=found.derivation.p2p)
        made.append(replace(found, task=new, inputs=inputs(new)))
    return made


def mint(panel: Path, target: Path) -> Path:
    loaded = read.load(panel, lists=False)
    for task in loaded.tasks:
        check_can_be_copied(task.directory)
    write_panel(loaded, target, found_of(loaded))
    return target


@pytest.fixture
def task(make_task: MakeTask) -> Path:
    return make_task("acme-17", f2p=["old spelling"], p2p=[], tests=NEW)


# ---- what comes along


def test_the_new_panel_loads_and_holds_the_new_lists(panel: Path, task: Path, make_task: MakeTask) -> None:
    make_task("refused", tests=NEW)
    new = mint(panel, panel.parent / "new")
    [loaded] = read.load(new).tasks
    assert (loaded.f2p, loaded.p2p) == (("new",), ("old", "old2"))
    assert {path.name for path in (new / "refused").iterdir()} == {"mint.json"}
    document = json.loads((new / "acme-17" / "mint.json").read_bytes())
    assert document["inputs"]["task"] == inputs(loaded).task
    assert lists_in((new / "acme-17" / "mint.json").read_bytes()) == {name: loaded.listed(name) for name in ListName}


@pytest.mark.parametrize("file", ["tests.patch", "oracle.patch", "task.json", "environment/Dockerfile"])
def test_lists_are_not_said_to_be_made_from_files_that_changed_since(panel: Path, task: Path, file: str) -> None:
    (task / "environment").mkdir()
    (task / "environment" / "Dockerfile").write_text("FROM a\n")
    loaded = read.load(panel, lists=False)
    found = found_of(loaded)
    text = (task / file).read_text()
    (task / file).write_text(text.replace("{", '{"timeout": 61, ', 1) if file == "task.json" else f"{text}\n")
    assert (task / file).read_text() != text
    with pytest.raises(UsageError, match="acme-17 was changed since it was run to be minted; mint again"):
        write_panel(loaded, panel.parent / "new", found)
    assert not (panel.parent / "new").exists()


def test_of_the_panel_s_own_files_only_those_that_belong_to_it_come_along(panel: Path, task: Path) -> None:
    for name in ("README.md", "README", ".gitattributes", "admitted.json", ".env", "report.html", "notes.md"):
        (panel / name).write_text(name)
    for folder in (".schemas", ".repair", "shared"):
        (panel / folder).mkdir()
        (panel / folder / "file.json").write_text("{}")
    (panel / "dangling").symlink_to("nowhere")
    new = mint(panel, panel.parent / "new")
    own = {"panel.toml", "README.md", "README", ".gitattributes", ".schemas"}
    assert {path.name for path in new.iterdir()} == {*own, "acme-17"}
    for name in own - {".schemas"}:
        assert (new / name).read_bytes() == (panel / name).read_bytes()
    assert (new / ".schemas" / "file.json").read_text() == "{}"


# ---- links


def test_a_task_json_that_is_a_link_is_read_where_it_stands(panel: Path, task: Path) -> None:
    (panel / "shared").mkdir()
    (task / "task.json").rename(panel / "shared" / "link.json")
    (task / "task.json").symlink_to("../shared/link.json")
    before = below(panel)
    new = mint(panel, panel.parent / "new")
    assert not (new / "acme-17" / "task.json").is_symlink()
    assert read.load(new).tasks[0].f2p == ("new",)
    assert below(panel) == before


def test_what_a_link_leads_to_outside_its_task_comes_along_as_what_it_is(panel: Path, task: Path) -> None:
    (panel / "shared" / "data").mkdir(parents=True)
    (panel / "shared" / "Dockerfile").write_text("FROM scratch\n")
    (panel / "shared" / "data" / "a.txt").write_text("a\n")
    (panel / "patches").mkdir()
    (task / "oracle.patch").rename(panel / "patches" / "17.patch")
    (task / "oracle.patch").symlink_to("../patches/17.patch")
    (task / "environment").symlink_to("../shared")
    new = mint(panel, panel.parent / "new")
    shutil.rmtree(panel)  # as on another machine
    copy = new / "acme-17"
    assert not [path for path in new.rglob("*") if path.is_symlink()]
    assert (copy / "oracle.patch").read_bytes() == ORACLE
    assert below(copy / "environment") == {"Dockerfile": b"FROM scratch\n", "data/a.txt": b"a\n"}
    [loaded] = read.load(new).tasks
    document = json.loads((copy / "mint.json").read_bytes())
    assert document["inputs"]["environment"] == inputs(loaded).environment
    assert loaded.oracle_patch == ORACLE


def test_a_link_within_its_task_stays_one(panel: Path, task: Path) -> None:
    (task / "environment").mkdir()
    (task / "environment" / "a.txt").write_text("a\n")
    (task / "environment" / "b.txt").symlink_to("a.txt")
    (task / "deep").symlink_to("environment")
    (task / "me").symlink_to(".")
    (task / "gone").symlink_to("nowhere")
    new = mint(panel, panel.parent / "new") / "acme-17"
    assert (new / "environment" / "b.txt").readlink() == Path("a.txt")
    assert [(new / name).readlink() for name in ("deep", "me", "gone")] == [
        Path(name) for name in ("environment", ".", "nowhere")
    ]


def test_a_task_that_is_a_link_itself_is_copied(panel: Path, task: Path) -> None:
    (task / "environment").mkdir()
    (task / "environment" / "a.txt").symlink_to("../instruction.md")
    real = panel.parent / "elsewhere" / "acme-17"
    real.parent.mkdir()
    task.rename(real)
    task.symlink_to(real)
    new = mint(panel, panel.parent / "new") / "acme-17"
    assert not new.is_symlink()
    assert (new / "environment" / "a.txt").readlink() == Path("../instruction.md")
    assert (new / "oracle.patch").read_bytes() == ORACLE


# ---- what no new panel could hold


def _pipe(task: Path) -> Path:
    os.mkfifo(task / "pipe")
    return task / "pipe"


def _pipe_below(task: Path) -> Path:
    (task / "environment" / "deep").mkdir(parents=True)
    return _pipe(task / "environment" / "deep")


def _socket(task: Path) -> Path:
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(task)  # a socket's path has at most a hundred bytes
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    return task / "socket"


@pytest.mark.parametrize("make", [_pipe, _pipe_below, _socket])
def test_what_is_no_plain_file_is_named_before_anything_runs(
    panel: Path, task: Path, make: Callable[[Path], Path]
) -> None:
    odd = make(task)
    with pytest.raises(UsageError) as raised:
        check_can_be_copied(task)
    assert str(raised.value).startswith(f"{odd} is no plain file, and cannot be copied")
    odd.unlink()
    check_can_be_copied(task)


def test_a_file_that_cannot_be_read_is_named_before_anything_runs(panel: Path, task: Path) -> None:
    closed = task / "secret.txt"
    closed.write_text("")
    closed.chmod(0)
    if os.getuid():
        with pytest.raises(UsageError, match=r"secret\.txt cannot be read; check its permissions"):
            check_can_be_copied(task)
        return
    for folder in task.parents:  # root may read anything, so somebody else looks
        if folder.stat().st_mode & 0o055 != 0o055 and folder != Path("/"):
            folder.chmod(0o755)
    code = "import os, sys\nfrom pathlib import Path\nfrom repair.mint.run import check_can_be_copied\n"
    code += "os.setgid(65534)\nos.setuid(65534)\ncheck_can_be_copied(Path(sys.argv[1]))\n"
    done = subprocess.run([sys.executable, "-c", code, task], capture_output=True, text=True, check=False)
    assert f"{closed} cannot be read; check its permissions" in done.stderr


def _to_a_file(task: Path, beside: Path) -> None:
    (beside / "token").write_text("of whoever mints")
    (task / "notes.txt").symlink_to(beside / "token")


def _to_a_file_from_here(task: Path, beside: Path) -> None:
    (beside / "token").write_text("of whoever mints")
    (task / "notes.txt").symlink_to("../../beside/token")


def _to_a_folder(task: Path, beside: Path) -> None:
    (task / "environment").symlink_to(beside)


def _by_way_of_the_panel(task: Path, beside: Path) -> None:
    (task.parent / "shared").mkdir()
    (task.parent / "shared" / "out").symlink_to(beside)
    (task / "environment").symlink_to("../shared")


def _by_a_link_of_the_panel(task: Path, beside: Path) -> None:
    (task.parent / "shared").symlink_to(beside)
    (task / "environment").symlink_to("../shared")


def _to_the_panel(task: Path, beside: Path) -> None:
    (task / "panel").symlink_to("..")


def _to_the_root(task: Path, beside: Path) -> None:
    (task / "environment").symlink_to("/")


def _to_a_pipe(task: Path, beside: Path) -> None:
    os.mkfifo(task.parent / "pipe")
    (task / "notes.txt").symlink_to("../pipe")


def _to_a_folder_with_a_pipe(task: Path, beside: Path) -> None:
    (task.parent / "shared").mkdir()
    os.mkfifo(task.parent / "shared" / "pipe")
    (task / "environment").symlink_to("../shared")


def _to_a_folder_with_a_broken_link(task: Path, beside: Path) -> None:
    (task.parent / "shared").mkdir()
    (task.parent / "shared" / "gone").symlink_to("nowhere")
    (task / "environment").symlink_to("../shared")


def _to_a_folder_that_holds_itself(task: Path, beside: Path) -> None:
    (task.parent / "shared").mkdir()
    (task.parent / "shared" / "again").symlink_to(".")
    (task / "environment").symlink_to("../shared")


@pytest.mark.parametrize(
    "make",
    [
        _to_a_file,
        _to_a_file_from_here,
        _to_a_folder,
        _by_way_of_the_panel,
        _by_a_link_of_the_panel,
        _to_the_panel,
        _to_the_root,
        _to_a_pipe,
        _to_a_folder_with_a_pipe,
        _to_a_folder_with_a_broken_link,
        _to_a_folder_that_holds_itself,
    ],
)
def test_a_link_to_what_is_none_of_the_panel_s_plain_files_is_refused_before_anything_runs(
    panel: Path, task: Path, make: Callable[[Path, Path], None]
) -> None:
    """It would publish a file of whoever mints a stranger's panel, or keep all other tasks from being written."""
    beside = panel.parent / "beside"
    beside.mkdir()
    make(task, beside)
    with pytest.raises(UsageError):
        check_can_be_copied(task)


# ---- what would not load


@pytest.mark.parametrize("test", ["x" * 5000, "a\nb", ""], ids=["too long", "two lines", "empty"])
def test_a_panel_that_would_not_load_is_not_there_at_all(panel: Path, task: Path, test: str) -> None:
    """No derivation lists such an id; were there one, the panel would refuse to load for all of its tasks."""
    loaded = read.load(panel, lists=False)
    [found] = found_of(loaded)
    new = replace(found.task, p2p=(test,))
    found = replace(found, task=new, inputs=inputs(new))
    with pytest.raises(RepairError, match="PASS_TO_PASS"):
        write_panel(loaded, panel.parent / "new", [found])
    assert {path.name for path in panel.parent.iterdir()} == {"panel"}
