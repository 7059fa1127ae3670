"""`repair mint` on the command line: what it refuses before it asks for an engine, and what is left as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repair.errors import EngineLost
from tests.conftest import MakeTask
from tests.support.cli import NOWHERE, Capture, ask, below, one_line, start

NO_LISTS = {"instance_id": "acme-17", "image": "repair-test/odd-plain:1"}


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def task(make_task: MakeTask) -> Path:
    return make_task("acme-17", tests=b"--- /dev/null\n+++ b/tests/test_t.py\n@@ -0,0 +1 @@\n+pass\n")


def test_there_is_nothing_to_do_without_output_or_comparison(capsys: Capture, panel: Path, task: Path) -> None:
    code, out, err = ask(capsys, "mint", panel)
    assert (code, out) == (2, "")
    assert one_line(err) == "repair: nothing to do; name the new panel with -o, or ask for --compare\n"


@pytest.mark.parametrize("more", [[], ["--compare"], ["--json"]], ids=["alone", "and compared", "as JSON"])
def test_what_is_there_is_never_written_over(
    capsys: Capture, panel: Path, task: Path, tmp_path: Path, more: list[str]
) -> None:
    there = tmp_path / "minted"
    there.mkdir()
    (there / "panel.toml").write_text("mine\n")
    before = below(there)
    for target in (there, there / "panel.toml"):
        code, out, err = ask(capsys, "mint", panel, "-o", target, *more)
        assert code == 2
        assert f"{target} is there already" in one_line(err)
        assert (json.loads(out)["exit"] == 2) if "--json" in more else (out == "")
    assert below(there) == before


def test_nor_the_panel_itself(capsys: Capture, panel: Path, task: Path) -> None:
    before = below(panel)
    code, _, err = ask(capsys, "mint", panel, "-o", panel)
    assert code == 2
    assert "is there already" in one_line(err)
    assert below(panel) == before


@pytest.mark.parametrize("where", ["new", "acme-17/new", "deep/er/new", ".repair/new"])
def test_a_new_panel_has_no_place_in_the_old_one(capsys: Capture, panel: Path, task: Path, where: str) -> None:
    before = below(panel)
    code, out, err = ask(capsys, "mint", panel, "-o", panel / where)
    assert (code, out) == (2, "")
    assert "is in the panel itself" in one_line(err)
    assert below(panel) == before


def test_nor_by_a_way_round(
    capsys: Capture, panel: Path, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(panel)
    assert ask(capsys, "mint", panel, "-o", tmp_path / "link" / "new")[0] == 2
    assert ask(capsys, "mint", tmp_path / "link", "-o", panel / "new")[0] == 2
    assert ask(capsys, "mint", panel, "-o", tmp_path / "other" / ".." / "panel" / "new")[0] == 2
    monkeypatch.chdir(panel)
    code, _, err = ask(capsys, "mint", ".", "-o", "new")
    assert code == 2
    assert "is in the panel itself" in one_line(err)


@pytest.mark.parametrize(
    ("target", "said"),
    [("link", "is there already"), ("file/minted", "is no directory")],
    ids=["a broken link", "below a file"],
)
def test_a_place_that_cannot_be(
    capsys: Capture, panel: Path, task: Path, tmp_path: Path, target: str, said: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    code, out, err = ask(capsys, "mint", panel, "-o", tmp_path / target)
    assert (code, out) == (2, "")
    assert said in one_line(err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--repeats", "0"],
        ["--repeats", "101"],
        ["--repeats", "many"],
        ["-j", "0"],
        ["--nonsense"],
        ["--include", "nothing-matches"],
        ["--compare", "--exclude", "*"],
    ],
    ids=" ".join,
)
def test_options_that_make_no_sense(
    capsys: Capture, panel: Path, task: Path, tmp_path: Path, arguments: list[str]
) -> None:
    code, out, err = ask(capsys, "mint", panel, "-o", tmp_path / "minted", *arguments)
    assert (code, out) == (2, "")
    assert "reach the engine" not in err
    assert not (tmp_path / "minted").exists()


def test_a_panel_that_is_none(capsys: Capture, tmp_path: Path) -> None:
    code, out, err = ask(capsys, "mint", tmp_path / "gone", "-o", tmp_path / "minted")
    assert (code, out) == (2, "")
    assert str(tmp_path / "gone") in one_line(err)


def test_a_task_without_lists_is_good_enough(capsys: Capture, panel: Path, task: Path, tmp_path: Path) -> None:
    """All else is asked of it; where that is there, the engine is what is missing."""
    (task / "task.json").write_text(json.dumps(NO_LISTS))
    done = start("mint", panel, "-o", tmp_path / "minted")
    assert (done.returncode, done.stdout) == (EngineLost.code, "")
    assert "could not reach the engine" in one_line(done.stderr)
    (task / "oracle.patch").unlink()
    code, _, err = ask(capsys, "mint", panel, "-o", tmp_path / "minted")
    assert code == 2
    assert "oracle.patch" in err


@pytest.mark.parametrize("more", [["-o", "minted"], ["--compare"], ["--compare", "--json"]], ids=" ".join)
def test_without_an_engine_nothing_is_left(
    panel: Path, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before, names = below(panel), sorted(path.name for path in tmp_path.iterdir())
    done = start("mint", panel, *more)
    assert done.returncode == EngineLost.code
    assert (json.loads(done.stdout)["error"]["kind"] == "engine-lost") if "--json" in more else (done.stdout == "")
    assert "Traceback" not in done.stderr
    assert "unix:///nowhere" in one_line(done.stderr)
    assert below(panel) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == names
