"""The pre-commit hook: what it is asked about, and that it checks the panels of those files and no other."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from repair.records.diff.touched import Checkout, panels_of, read
from tests.conftest import MakeTask
from tests.support import records
from tests.support.paths import ROOT

[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
RECORD = "task-1/repair.json"


def hook(repo: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """The hook's entry as pre-commit starts it: in the repository's root, file names as arguments."""
    python, *arguments = shlex.split(HOOK["entry"])
    assert python == "python"  # that of the environment into which pre-commit installed us
    return subprocess.run([sys.executable, *arguments, *files], cwd=repo, capture_output=True, text=True, check=False)


@pytest.fixture
def sound(make_task: MakeTask, panel: Path) -> Path:
    """A panel of one task with a record."""
    records.write(make_task())
    return panel


def edit(panel: Path) -> None:
    """Change a record by hand."""
    file = panel / RECORD
    records.overwrite(file, file.read_bytes().replace(b'"kept": 12', b'"kept": 13'))


def moved(panel: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    return panel.rename(to)


@pytest.mark.parametrize(
    "place", ["panel", "deep/down/panel", "a name with blanks", "-rf", "$(touch x)", "päneł"], ids=str
)
def test_a_sound_panel_may_be_committed_and_an_edited_one_may_not(sound: Path, tmp_path: Path, place: str) -> None:
    repo = tmp_path / "repo"
    panel = moved(sound, repo / place)
    done = hook(repo, f"{place}/{RECORD}", f"{place}/task-1/outcomes.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"repair check {place}\ntask-1: sound\n1 of 1 records are sound\n"
    edit(panel)
    done = hook(repo, f"{place}/{RECORD}")
    assert done.returncode == 1
    assert "task-1: edited" in done.stdout
    assert [path.name for path in repo.iterdir()] == [place.partition("/")[0]]


def test_a_panel_at_the_repository_s_root_is_checked(sound: Path) -> None:
    edit(sound)
    done = hook(sound, RECORD)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "repair check .")


def test_of_several_panels_those_of_the_files_are_checked(sound: Path, tmp_path: Path, make_task: MakeTask) -> None:
    repo = tmp_path / "repo"
    moved(sound, repo / "first")
    for name in ("second", "third"):
        (tmp_path / "panel").mkdir()
        (tmp_path / "panel" / "panel.toml").write_text('[policy]\nmin_p2p = 0\nname = "x"\n')
        make_task()
        moved(tmp_path / "panel", repo / name)
    done = hook(repo, "third/task-1/task.json", f"first/{RECORD}", "first/panel.toml", "README.md")
    assert done.returncode != 0
    asked = [line for line in done.stdout.splitlines() if line.startswith("repair check")]
    assert asked == ["repair check first", "repair check third"]


def test_an_error_is_told_and_the_other_panels_are_checked(sound: Path, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    moved(sound, repo / "good")
    (repo / "broken").mkdir()
    (repo / "broken" / "panel.toml").write_text("name = \n")
    done = hook(repo, "broken/panel.toml", f"good/{RECORD}")
    assert done.returncode == 2
    assert "broken/panel.toml" in done.stderr
    assert "1 of 1 records are sound" in done.stdout


@pytest.mark.parametrize("files", [(), ("README.md", "docs/source/conf.py")], ids=["none", "in no panel"])
def test_without_a_panel_there_is_nothing_to_say(tmp_path: Path, files: tuple[str, ...]) -> None:
    done = hook(tmp_path, *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_of_the_repository_is_imported(sound: Path) -> None:
    for name in ("repair", "json", "typer"):
        (sound / f"{name}.py").write_text("raise SystemExit('imported from the repository')\n")
    assert hook(sound, RECORD).returncode == 0


# ---- which files


@pytest.mark.parametrize(
    ("file", "asked"),
    [
        ("panel.toml", True),
        ("panels/demo/panel.toml", True),
        ("panels/demo/a b/task.json", True),
        ("t/source.json", True),
        ("t/outcomes.json", True),
        ("t/repair.json", True),
        ("t/oracle.patch", True),
        ("t/tests.patch", True),
        ("t/entry.patch", True),
        ("t/environment/Dockerfile", True),
        ("t/source/tests/test.sh", True),
        ("t/instruction.md", False),
        ("README.md", False),
        ("my-panel.toml", False),
        ("task.json.orig", False),
        ("t/other.patch", False),
    ],
)
def test_the_hook_is_asked_about_what_records_are_made_from(file: str, asked: bool) -> None:
    assert bool(re.search(HOOK["files"], file)) is asked


def test_the_hook_s_definition_is_whole() -> None:
    known: dict[str, Any] = {"id": "repair-check", "language": "python", "pass_filenames": True, "require_serial": True}
    assert {key: HOOK[key] for key in known} == known
    assert (HOOK["types"], HOOK["types_or"]) == ([], ["file", "symlink"])  # pre-commit's own default leaves links out
    assert HOOK["name"]
    assert HOOK["description"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([], ()),
        (["a/x", "a/b/c/y"], ("a", "a/b/c")),
        (["a/b/z"], ("a",)),
        (["top"], ()),
        (["abc/x", "b/x"], ()),
    ],
    ids=["no file", "a panel in a panel", "below a panel", "beside", "other names"],
)
def test_a_file_touches_each_panel_above_it(files: list[str], found: tuple[str, ...]) -> None:
    assert panels_of(files, Checkout(("c", "a/b/c", "a"), {})) == found


def test_the_root_is_above_every_file() -> None:
    assert panels_of(["a/b", "c"], Checkout((".",), {})) == (".",)
    assert panels_of([], Checkout((".",), {})) == ()


def test_a_submodule_touches_the_panels_in_it() -> None:
    assert panels_of(["mod"], Checkout(("mod/a/b", "module"), {})) == ("mod/a/b",)


# Each link of a checkout with the panels "p" and "q", what changes, and the panels that it touches.
LINKS: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "a linked task": ({"p/task-2": "../store/task-2"}, "store/task-2/oracle.patch", ("p",)),
    "a linked file": ({"p/task-1/oracle.patch": "../../store/one.patch"}, "store/one.patch", ("p",)),
    "beside what is linked": ({"p/task-2": "../store/task-2"}, "store/task-20/oracle.patch", ()),
    "above what is linked": ({"p/task-2": "../store/task-2"}, "store/README.md", ()),
    "a link to a link that changes": ({"p/task-2": "../now/task-2", "now": "store"}, "now", ("p",)),
    "a link to a link's end": ({"p/task-2": "../now/task-2", "now": "store"}, "store/task-2/x/y", ("p",)),
    "a link in what is linked": (
        {"p/task-2": "../store/task-2", "store/task-2/oracle.patch": "../../pool/one"},
        *("pool/one", ("p",)),
    ),
    "into another panel": ({"p/task-2": "../q/task-2"}, "q/task-2/task.json", ("p", "q")),
    "into a submodule": ({"p/task-2": "../mod/task-2"}, "mod", ("p",)),
    "what is gone": ({"p/task-2": "../store/nothing"}, "store/nothing", ("p",)),
    "upwards": ({"p/task-2/all": "../.."}, "README.md", ("p",)),
    "an absolute one": ({"p/task-2": "{root}/store/task-2"}, "store/task-2/task.json", ("p",)),
    "out of the repository": ({"p/task-2": "../../elsewhere"}, "elsewhere", ()),
    "in circles": ({"p/a": "b", "p/b": "a", "p/c": "c"}, "q/x", ("q",)),
    "a name that is too long": ({"p/a": "x" * 400}, "q/x", ("q",)),
    "of no panel": ({"store/a": "../pool"}, "pool/one", ()),
    "panel.toml itself": ({"r/panel.toml": "../store/panel"}, "store/panel", ("r",)),
}


@pytest.mark.parametrize(("links", "changed", "touched"), LINKS.values(), ids=LINKS)
def test_a_link_touches_the_panel_that_it_is_in(
    tmp_path: Path, links: dict[str, str], changed: str, touched: tuple[str, ...]
) -> None:
    root = tmp_path / "a checkout"
    for folder in ("p/task-1", "q/task-2", "store/task-2", "pool", "mod/task-2"):
        (root / folder).mkdir(parents=True)
    for panel in ("p", "q", ".git/p"):
        (root / panel).mkdir(exist_ok=True, parents=True)
        (root / panel / "panel.toml").touch()
    for link, target in links.items():
        (root / link).parent.mkdir(exist_ok=True)
        (root / link).symlink_to(target.format(root=root))
    assert panels_of([changed], read(root)) == touched


def test_a_linked_task_s_file_is_checked_in_the_panel_that_links_to_it(sound: Path, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    panel = moved(sound, repo / "panels/p")
    moved(panel / "task-1", repo / "store/task-1")
    (panel / "task-1").symlink_to("../../store/task-1")
    edit(panel)
    done = hook(repo, "store/task-1/repair.json")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "repair check panels/p")


def test_a_folder_that_may_not_be_read_is_passed_over(sound: Path) -> None:
    (sound / "private").mkdir(mode=0)
    try:
        assert read(sound).panels == (".",)
    finally:
        (sound / "private").chmod(0o700)
