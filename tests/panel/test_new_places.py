"""`repair new` where no task can be: a name that is none, a place that is taken, closed, or in another panel."""

from __future__ import annotations

from pathlib import Path

import pytest

from repair.errors import RepairError, StoreError, UsageError
from repair.panel.new import SCHEMAS_FOLDER, new_task
from tests.conftest import MakeTask
from tests.formats import rows
from tests.support.nobody import as_nobody


def refused(directory: Path) -> str:
    """What is said of a place that is none; nothing may have changed there."""
    before = rows.tree(directory.parent.parent) if directory.parent.parent.is_dir() else {}
    with pytest.raises(UsageError) as caught:
        new_task(directory)
    assert "\n" not in str(caught.value)
    if directory.parent.parent.is_dir():
        assert rows.tree(directory.parent.parent) == before
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".hidden", "cannot name a directory"),
        ("..", "cannot name a directory"),
        ("panel.toml", "cannot name a directory"),
        ("Source", "cannot name a directory"),
        (" t", "cannot name a directory"),
        ("a\\b", "holds a slash"),
        ("a\nb", "cannot be printed"),
        ("a\x1b[2J", "cannot be printed"),
        ("\udcff", "cannot be printed"),
        ("x" * 201, "is longer than 200 bytes"),
    ],
)
def test_a_name_that_is_no_tasks(tmp_path: Path, name: str, said: str) -> None:
    assert said in refused(tmp_path / "mine" / name)


@pytest.mark.parametrize("path", [Path(), Path("/")])
def test_a_place_without_a_name(path: Path) -> None:
    with pytest.raises(UsageError, match="has no name"):
        new_task(path)


@pytest.mark.parametrize("what", ["file", "directory", "link", "broken link"])
@pytest.mark.parametrize("in_panel", [True, False])
def test_nothing_that_is_there_is_replaced(panel: Path, what: str, in_panel: bool) -> None:
    if not in_panel:
        (panel / "panel.toml").unlink()
    target = panel / "t"
    match what:
        case "file":
            target.write_text("mine")
        case "directory":
            target.mkdir()
            (target / "mine").write_text("")
        case "link":
            (panel.parent / "elsewhere").mkdir()
            target.symlink_to(panel.parent / "elsewhere")
        case _:
            target.symlink_to("nowhere")
    assert refused(target).startswith(f"{target} is there already; ")


def test_a_panel_that_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "broken").symlink_to("nowhere")
    for above in ("file", "file/deeper", "broken"):
        assert "is no directory; name another place" in refused(tmp_path / above / "t")
    assert "File name too long" in refused(tmp_path / ("x" * 300) / "t")


def test_a_panel_whose_settings_are_wrong_gets_no_task(panel: Path) -> None:
    (panel / "panel.toml").write_text("nmae = 'x'")
    assert refused(panel / "t").startswith(f"{panel}/panel.toml: unknown key nmae")
    (panel / "panel.toml").unlink()
    (panel / "panel.toml").mkdir()
    assert "is no panel: it has no panel.toml" in refused(panel / "t")
    (panel / "panel.toml").rmdir()
    (panel / "panel.toml").symlink_to("nowhere")
    assert "is no panel: it has no panel.toml" in refused(panel / "t")


def test_a_panel_in_a_task_or_a_panel_is_none(panel: Path, make_task: MakeTask) -> None:
    task = make_task()
    assert refused(task / "t") == f"{task} is a task; name a directory beside it, in its panel"
    (panel / "docs").mkdir()
    for deeper in (panel / "docs", panel / "docs" / "more", task / "source"):
        assert f"{deeper} lies in the panel {panel}; " in refused(deeper / "t")


def test_a_directory_of_panels_is_none(panel: Path) -> None:
    above = panel.parent
    assert refused(above / "t").startswith(f"{above} holds panels, such as {panel}; name a task in one, or ")


@pytest.mark.parametrize("what", ["file", "link", "broken link"])
def test_schemas_stay_in_the_panel(panel: Path, what: str) -> None:
    (panel.parent / "elsewhere").mkdir()
    match what:
        case "file":
            (panel / SCHEMAS_FOLDER).write_text("")
        case "link":
            (panel / SCHEMAS_FOLDER).symlink_to(panel.parent / "elsewhere")
        case _:
            (panel / SCHEMAS_FOLDER).symlink_to("nowhere")
    assert refused(panel / "t").startswith(f"{panel / SCHEMAS_FOLDER} is no directory of the panel's own; ")


@pytest.mark.parametrize("closed", [".", "panel.toml", "task-1"])
def test_a_place_that_is_closed_to_us(open_panel: Path, closed: str) -> None:
    mode = 0o555 if closed == "." else 0
    (open_panel / closed).chmod(mode)
    target = open_panel / ("task-1" if closed == "task-1" else "t")
    done = as_nobody(["new", str(target)], warm=["new", "/"])
    assert done.stdout == ""
    assert "Permission denied" in done.stderr
    assert done.returncode == (StoreError.code if closed == "." else UsageError.code), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_every_refusal_is_one_of_ours(tmp_path: Path) -> None:
    for place in (tmp_path / "a" / ".", tmp_path / "..", Path("/proc/none/t"), Path("/dev/null/t")):
        with pytest.raises(RepairError):
            new_task(place / "..")
