"""Panels whose files are not what they should be, or may not be read: one line that names the file, status 2."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.model import Outcome, Policy
from repair.panel import read
from tests.conftest import MakeTask
from tests.support.nobody import as_nobody
from tests.support.panels import load, refusal, write_json

# ---- files that are not what they should be

CONTENT: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("cut short", b'{"instance_id": "task-1"'),
    ("utf-16", '{"instance_id": "task-1"}'.encode("utf-16")),
    ("no utf-8", b'{"instance_id": "task-\xff"}'),
    ("nul", b'{"instance_id": "\0"}'),
    ("nan", b'{"timeout": NaN}'),
    ("infinity", b'{"timeout": -Infinity}'),
    ("comment", b"{} // none"),
    ("two documents", b"{} {}"),
    ("lone surrogate", b'{"image": "\\ud800"}'),
    ("a list", b"[]"),
    ("a text", b'"task"'),
    ("null", b"null"),
    ("endless list", b"[" * 100_000),
    ("deep value", b'{"image": ' + b"[" * 1000 + b"]" * 1000 + b"}"),
    ("a number of 5000 digits", b'{"timeout": ' + b"9" * 5000 + b"}"),
]


@pytest.mark.parametrize("content", [c for _, c in CONTENT], ids=[name for name, _ in CONTENT])
def test_task_json_that_is_none(panel: Path, make_task: MakeTask, content: bytes) -> None:
    task = make_task()
    (task / "task.json").write_bytes(content)
    assert refusal(panel).startswith(f"{task}/task.json: ")


def test_a_byte_order_mark_is_no_fault(panel: Path, make_task: MakeTask) -> None:
    for file in (make_task() / "task.json", panel / "panel.toml"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(panel).instance_id == "task-1"


def test_a_key_that_stands_twice_is_refused(panel: Path, make_task: MakeTask) -> None:
    """A reader sees the first list; it must not be the last one that counts."""
    task = make_task()
    text = (task / "task.json").read_text()
    (task / "task.json").write_text(text.replace("{", '{"PASS_TO_PASS": ["a", "b"], ', 1))
    assert "PASS_TO_PASS" in refusal(panel)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "no valid TOML"),
        ("a" + ".a" * 7000 + " = 1", "more than 6000 dots"),
        ("name = 'a'\nname = 'b'", "no valid TOML"),
        ("name = 5", "name: expected a text"),
        ("name = ''", "name: expected a text"),
        ("nmae = 'x'", "unknown key nmae"),
        ("policy = 1", "policy: expected a table"),
        ("[[gate]]", "gate: expected a table"),
        ("[policy]\nmin_p2p = -1", "policy.min_p2p: expected"),
        ("[policy]\nmin_p2p = true", "policy.min_p2p: expected"),
        ("[policy]\nmin_p2p = 10.0", "policy.min_p2p: expected"),
        ("[policy]\nmin_p2p = 1" + "0" * 30, "policy.min_p2p: expected"),
        ("[policy]\nmin_p2p = 0x" + "f" * 5000, "policy.min_p2p: expected"),
        ("[policy]\nmin_p2p = 1" + "0" * 5000, "panel.toml"),
        ("[policy]\nrepeats = 0", "policy.repeats: expected"),
        ("[policy]\nrepeats = 101", "policy.repeats: expected"),
        ("[policy]\nrepeats = true", "policy.repeats: expected"),
        ("[policy]\nrecheck = -1", "policy.recheck: expected"),
        ("[policy]\nrecheck = 101", "policy.recheck: expected"),
        ("[policy]\nrecheck = '1'", "policy.recheck: expected"),
        ("[policy]\npassing = []", "policy.passing: expected"),
        ("[policy]\npassing = ['xfailed']", "policy.passing: expected"),
        ("[policy]\npassing = ['passed', 'skipped']", "policy.passing: expected"),
        ("[policy]\npassing = ['passed', 'green']", "policy.passing: expected"),
        ("[policy]\npassing = 'passed'", "policy.passing: expected"),
        ("[policy]\npassing = ['passed', ['xfailed']]", "policy.passing: expected"),
        ("[policy]\nmax_p2p = 1", "unknown key policy.max_p2p"),
        ("[gate]\nmin_tasks = -1", "gate.min_tasks: expected"),
        ("[gate]\nmin_tasks = 1" + "0" * 30, "gate.min_tasks: expected"),
        ("[defaults]\nimage = 'x'", "unknown key defaults.image"),
        ("[defaults]\nPASS_TO_PASS = []", "unknown key defaults.PASS_TO_PASS"),
        ("[defaults]\ntimeout = nan", "defaults.timeout: expected"),
        ("[defaults]\ntimeout = inf", "defaults.timeout: expected"),
        ("[defaults]\ntimeout = 2020-01-01", "defaults.timeout: expected"),
        ("[defaults]\nmemory = 1" + "0" * 30, "defaults.memory: expected"),
        ("[defaults.env" + ".a" * 5000 + "]\nx = 1", "defaults.env: expected"),
        ("a = " + "[" * 5000, "panel.toml"),
    ],
    ids=lambda value: f"{value:.40}",
)
def test_panel_toml_that_is_wrong(panel: Path, make_task: MakeTask, text: str, said: str) -> None:
    make_task()
    (panel / "panel.toml").write_text(text)
    message = refusal(panel)
    assert str(panel / "panel.toml") in message
    assert said in message


def test_policy_as_written(panel: Path, make_task: MakeTask) -> None:
    make_task()
    (panel / "panel.toml").write_text(
        '[policy]\nmin_p2p = 0\nrepeats = 3\nrecheck = 2\npassing = ["xfailed", "passed", "xfailed"]\n'
    )
    assert read.load(panel).policy == Policy(0, frozenset({Outcome.PASSED, Outcome.XFAILED}), 3, 2)


def test_panels_that_are_none(tmp_path: Path, panel: Path) -> None:
    assert "holds no task" in refusal(panel)
    assert "is no directory" in refusal(tmp_path / "nowhere")
    assert "is no directory" in refusal(panel / "panel.toml")
    assert "File name too long" in refusal(tmp_path / ("x" * 300))
    (panel / "panel.toml").unlink()
    assert "panel.toml" in refusal(panel)
    (panel / "panel.toml").mkdir()
    assert "panel.toml" in refusal(panel)


@pytest.mark.parametrize("what", ["a directory", "a broken link", "nothing"])
@pytest.mark.parametrize("name", ["task.json", "oracle.patch"])
def test_needed_file_that_is_no_file(panel: Path, make_task: MakeTask, name: str, what: str) -> None:
    task = make_task()
    (task / name).unlink()
    if what == "a directory":
        (task / name).mkdir()
    elif what == "a broken link":
        (task / name).symlink_to("nowhere")
    message = refusal(panel)
    assert str(task) in message
    assert name in message


def test_tests_patch_may_be_absent_and_must_else_be_a_file(panel: Path, make_task: MakeTask) -> None:
    task = make_task(tests=b"")
    assert load(panel).tests_patch is None
    (task / "tests.patch").unlink()
    (task / "tests.patch").symlink_to("nowhere")
    assert f"{task}/tests.patch is missing" in refusal(panel)
    (task / "tests.patch").unlink()
    (task / "tests.patch").mkdir()
    message = refusal(panel)
    assert f"{task}/tests.patch" in message
    assert "missing" not in message


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_oracle_patch_that_changes_nothing(panel: Path, make_task: MakeTask, content: bytes) -> None:
    task = make_task(oracle=content)
    assert f"{task}/oracle.patch is empty" in refusal(panel)


@pytest.mark.parametrize(
    ("name", "most"),
    [("oracle.patch", read.MAX_BYTES), ("task.json", read.MAX_TASK), ("../panel.toml", read.MAX_PANEL)],
)
def test_a_file_too_large_is_not_read(panel: Path, make_task: MakeTask, name: str, most: int) -> None:
    file = (make_task() / name).resolve()
    os.truncate(file, most + 1)
    assert f"{file} is larger than {most >> 20} MiB" in refusal(panel)


def test_every_wrong_task_has_its_line(panel: Path, make_task: MakeTask) -> None:
    for number in range(25):
        write_json(make_task(f"t{number:02}"), image=0)
    with pytest.raises(UsageError) as caught:
        read.load(panel)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert [f"{panel}/t{number:02}/task.json" in line for number, line in enumerate(lines[:20])] == [True] * 20
    assert lines[-1] == "and 5 more"
    assert read.load(panel, {"t99"}.__contains__).tasks == ()


def test_directories_without_a_task_are_none_of_our_business(panel: Path, make_task: MakeTask) -> None:
    make_task()
    (panel / "docs").mkdir()
    (panel / ".hidden").mkdir()
    (panel / ".hidden" / "task.json").write_text("{}")
    assert read.task_names(panel) == ["task-1"]


# ---- choosing tasks


@pytest.mark.parametrize(
    ("include", "exclude", "given", "chosen"),
    [
        ([], [], [], {"a-1", "a-2", "b[1]"}),
        (["a-*"], [], [], {"a-1", "a-2"}),
        (["a-*", "b*"], ["*2"], [], {"a-1", "b[1]"}),
        ([], ["[ab]-?"], [], {"b[1]"}),
        ([], [], ["a-1", "a-1"], {"a-1"}),
        (["*"], ["a-1"], ["a-1", "b[1]"], {"b[1]"}),
    ],
)
def test_choose(
    panel: Path, make_task: MakeTask, include: list[str], exclude: list[str], given: list[str], chosen: set[str]
) -> None:
    for name in ("a-1", "a-2", "b[1]"):
        make_task(name)
    assert read.choose(panel, include, exclude, given) == chosen


@pytest.mark.parametrize("given", ["c", "A-1", "", ".", "..", "other/a-1", "a-1/task.json"])
def test_choose_refuses_what_is_no_task(
    tmp_path: Path, panel: Path, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    make_task("a-1")
    shutil.copytree(panel, tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"has no task|is not in"):
        read.choose(panel, [], [], [given])


@pytest.mark.parametrize("given", ["panel/a-1", "panel/a-1/", "./panel/../panel/a-1"])
def test_choose_takes_paths_into_the_panel(
    tmp_path: Path, panel: Path, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    make_task("a-1")
    monkeypatch.chdir(tmp_path)
    assert read.choose(panel, [], [], [given, str(panel / "a-1")]) == {"a-1"}


def test_choose_refuses_to_leave_nothing(panel: Path, make_task: MakeTask) -> None:
    with pytest.raises(UsageError, match="holds no task"):
        read.choose(panel, [], [], [])
    make_task("a-1")
    with pytest.raises(UsageError, match="no task of the panel is left"):
        read.choose(panel, ["A*"], [], [])


# ---- files that may not be read


@pytest.mark.parametrize(
    "closed",
    [
        ".",
        "panel.toml",
        "task-1",
        "task-1/task.json",
        "task-1/oracle.patch",
        "task-1/tests.patch",
        "task-1/repair.json",
        "task-1/environment/sub",
        "task-1/environment/sub/Dockerfile",
    ],
)
def test_a_file_that_may_not_be_read_is_named(open_panel: Path, closed: str) -> None:
    (open_panel / closed).chmod(0)
    command = ["check", str(open_panel)]
    done = as_nobody(command, warm=command)
    assert done.stdout == ""
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"repair: {open_panel / closed}")
    assert "Permission denied" in done.stderr
