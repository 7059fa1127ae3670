"""The command line: help, exit statuses, one line for what is wrong, and stdout that others can read."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from repair import __version__
from repair.cli import app, run_app
from repair.model import Observed, Outcome
from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import NOWHERE, Capture, ask, below, environment, one_line, shown_on, start

COMMANDS = [
    *("new", "import", "mint", "probe", "run", "check", "gate", "show", "report", "diff", "export", "parse", "clean"),
    *("doctor", "schema"),
]
KEEP = "tests/test_calc.py::test_keep[3]"
REPORT = """<testsuite><testcase classname="a" name="t1"/>
<testcase classname="a" name="t2"><failure message="no"/></testcase></testsuite>"""


@pytest.fixture
def decided(make_task: MakeTask) -> Path:
    """A repaired task with its record."""
    directory = make_task("calc-1")
    records.write(directory, {KEEP: records.MISSING}, {KEEP: records.MISSING})
    return directory


# ---- help


def test_the_commands_are_these(capsys: Capture) -> None:
    assert [
        command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
    ] == COMMANDS
    code, out, err = ask(capsys, "--help")
    assert (code, err) == (0, "")
    assert all(f" {command} " in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help_with_an_example(capsys: Capture, command: str, option: str) -> None:
    code, out, err = ask(capsys, command, option)
    assert (code, err) == (0, "")
    assert f"Example: repair {command}" in out


def test_without_arguments_there_is_help(capsys: Capture) -> None:
    code, out, err = ask(capsys)
    assert code in {0, 2}
    assert "Usage: repair" in out + err


def test_version(capsys: Capture) -> None:
    assert ask(capsys, "--version") == (0, f"repair {__version__}\n", "")
    done = start("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"repair {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run"],
        ["run", "--nonsense", "p"],
        ["run", "p", "-j", "0"],
        ["run", "p", "-j", "many"],
        ["gate"],
        ["parse"],
        ["show"],
        ["show", "a", "b"],
    ],
)
def test_a_command_line_that_makes_no_sense(capsys: Capture, arguments: list[str]) -> None:
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "Usage: repair" in err


# ---- what is wrong is said in one line


@pytest.mark.parametrize("command", ["run", "check", "gate"])
@pytest.mark.parametrize("where", ["nowhere", "panel/panel.toml", "panel/calc-1", ".", "x" * 300])
def test_a_path_that_is_no_panel(capsys: Capture, decided: Path, command: str, where: str) -> None:
    path = decided.parent.parent / where
    code, out, err = ask(capsys, command, path)
    assert (code, out) == (2, "")
    assert str(path) in one_line(err)


def test_a_path_that_is_no_task(capsys: Capture, decided: Path) -> None:
    for path in (decided.parent, decided / "task.json", decided / "nowhere", decided / ("x" * 300)):
        code, out, err = ask(capsys, "show", path)
        assert (code, out) == (2, "")
        assert str(path) in one_line(err)


def test_an_empty_panel(capsys: Capture, panel: Path) -> None:
    for command in ("run", "check", "gate"):
        assert ask(capsys, command, panel) == (
            2,
            "",
            f"repair: {panel} holds no task; a task is a directory with a task.json in it\n",
        )


def test_wrong_files_end_the_process_with_status_2(panel: Path, make_task: MakeTask) -> None:
    (make_task() / "task.json").write_text('{"instance_id": 5}')
    done = start("check", panel)
    assert (done.returncode, done.stdout) == (2, "")
    assert "task.json: instance_id: expected" in one_line(done.stderr)


@pytest.mark.parametrize("arguments", [["nowhere"], ["calc-1", "nowhere"], ["-i", "nowhere"], ["-x", "*"], [""]])
def test_tasks_that_are_not_there(capsys: Capture, decided: Path, arguments: list[str]) -> None:
    code, out, err = ask(capsys, "run", decided.parent, *arguments, "--dry-run")
    assert (code, out) == (2, "")
    one_line(err)


# ---- dry runs and choices


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ([], ["a-1", "a-2", "b-1"]),
        (["a-2"], ["a-2"]),
        (["b-1", "a-1"], ["a-1", "b-1"]),
        (["-i", "a-*"], ["a-1", "a-2"]),
        (["-i", "a-1", "-i", "b-*", "-x", "*-1"], []),
        (["-x", "a-*"], ["b-1"]),
        (["a-1", "b-1", "-x", "a-*"], ["b-1"]),
    ],
)
def test_a_dry_run_prints_the_plan_and_writes_nothing(
    capsys: Capture, panel: Path, make_task: MakeTask, arguments: list[str], chosen: list[str]
) -> None:
    for name in ("a-1", "a-2", "b-1"):
        make_task(name)
    before = below(panel)
    code, out, _ = ask(capsys, "run", panel, *arguments, "--dry-run")
    assert [line.partition(":")[0] for line in out.splitlines()] == chosen
    assert code == (0 if chosen else 2)
    assert below(panel) == before


def test_a_plan_says_what_is_left_alone(capsys: Capture, decided: Path, make_task: MakeTask) -> None:
    (decided.parent / "panel.toml").write_text("[policy]\nrepeats = 3\n")
    make_task("ids")  # a name that means something in our own JSON
    code, out, _ = ask(capsys, "run", decided.parent, "--dry-run", "--json")
    assert code == 0
    assert json.loads(out) == {
        "plan": {
            "calc-1": "leave alone: its record is stale",
            "ids": "run empty and oracle 3 times each in repair-test/odd-plain:1",
        }
    }


# ---- an engine that is not there


def test_a_lost_engine_is_said_once_and_leaves_no_trace(panel: Path, make_task: MakeTask) -> None:
    for number in range(3):
        make_task(f"t{number}")
    before = below(panel)
    done = start("run", panel, env=NOWHERE)
    assert (done.returncode, done.stdout) == (8, "")
    assert "unix:///nowhere" in one_line(done.stderr)
    assert below(panel) == before


@pytest.mark.parametrize("command", [["clean"], ["doctor"], ["check", "--rerun"]])
def test_commands_that_need_an_engine(decided: Path, command: list[str]) -> None:
    done = start(*command, *([decided.parent] if "check" in command else []), env=NOWHERE)
    assert done.returncode == (1 if command == ["doctor"] else 8)
    assert "/nowhere" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [(["run", "PANEL"], 8), (["run", "nowhere"], 2), (["check", "x"], 2), (["gate", "x"], 2)]
)
def test_json_holds_the_error_too(decided: Path, arguments: Sequence[str], code: int) -> None:
    done = start(*(decided.parent if word == "PANEL" else word for word in arguments), "--json", env=NOWHERE)
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit"]) == (code, code)
    assert document["error"]["kind"] == ("engine-lost" if code == 8 else "usage")
    assert document["error"]["message"] in one_line(done.stderr)


# ---- check and show


def test_check(capsys: Capture, decided: Path, make_task: MakeTask) -> None:
    panel = decided.parent
    assert ask(capsys, "check", panel) == (0, "calc-1: sound\n1 of 1 records are sound\n", "")
    make_task("calc-2")
    code, out, _ = ask(capsys, "check", panel)
    assert (code, out.splitlines()[1:]) == (
        1,
        ["calc-2: absent (no repair.json: run `repair run`)", "1 of 2 records are sound"],
    )
    assert ask(capsys, "check", panel, "-x", "calc-2")[0] == 0
    code, out, _ = ask(capsys, "check", panel, "--json")
    assert json.loads(out) == {
        "exit": 1,
        "tasks": [
            {"instance_id": "calc-1", "is": "sound", "details": []},
            {"instance_id": "calc-2", "is": "absent", "details": ["no repair.json: run `repair run`"]},
        ],
        "rerun": [],
    }
    assert code == 1


def test_what_a_panel_holds_cannot_steer_the_terminal(capsys: Capture, panel: Path, make_task: MakeTask) -> None:
    task = make_task("t\x1b[2J\u202e")
    records.write(task, {KEEP: Observed(Outcome.SKIPPED, "\x1b[2J")}, {KEEP: Observed(Outcome.SKIPPED, "\x1b[2J")})
    outputs = [ask(capsys, "show", task), ask(capsys, "check", panel), ask(capsys, "run", panel, "--dry-run")]
    document = json.loads((task / "outcomes.json").read_bytes())
    records.overwrite(task / "outcomes.json", json.dumps(document | {"schema": "\x1b[2J"}).encode())
    outputs += [ask(capsys, command, panel) for command in ("check", "gate")]
    (task / "task.json").write_text("{}")
    outputs += [ask(capsys, command, panel) for command in ("check", "gate")]
    for _, out, err in outputs:
        assert out + err
        assert all(line.isprintable() for line in (out + err).splitlines())


def test_show(capsys: Capture, decided: Path) -> None:
    code, out, err = ask(capsys, "show", decided)
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["calc-1: repaired", "  F2P 1 → 1, P2P 12 → 11"]
    assert f"      {KEEP}\n" in out
    assert "confirmation: confirmed" in out


def test_show_takes_the_task_from_inside_it(capsys: Capture, decided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(decided)
    assert ask(capsys, "show", ".")[0] == 0
    monkeypatch.chdir(decided.parent)
    assert ask(capsys, "show", "calc-1/")[0] == 0


def test_show_takes_a_task_that_the_panel_links_to(capsys: Capture, decided: Path, tmp_path: Path) -> None:
    decided.rename(tmp_path / "elsewhere")
    decided.symlink_to(tmp_path / "elsewhere")
    assert ask(capsys, "check", decided.parent)[0] == 0
    assert ask(capsys, "show", decided)[0] == 0


def test_show_says_what_is_wrong_with_the_record(capsys: Capture, decided: Path) -> None:
    (decided / "tests.patch").write_text("--- new\n")
    code, out, _ = ask(capsys, "show", decided)
    assert code == 0
    assert out.startswith("calc-1: repaired\n")
    assert out.endswith("this record is stale: tests.patch changed since\n")
    (decided / "repair.json").unlink()
    code, out, err = ask(capsys, "show", decided)
    assert (code, out) == (2, "")
    assert "absent" in one_line(err)


def test_show_limits_ids_unless_told(capsys: Capture, make_task: MakeTask) -> None:
    ids = [f"p{n:02}" for n in range(20)]
    task = make_task(p2p=[*ids, "kept"])
    records.write(task, dict.fromkeys(ids, records.MISSING), dict.fromkeys(ids, records.MISSING))
    short, long = ask(capsys, "show", task)[1], ask(capsys, "show", task, "--all")[1]
    assert "and 15 more" in short
    assert "p07" not in short
    assert all(f"      {test}\n" in long for test in ids)


def test_show_log(capfdbinary: pytest.CaptureFixture[bytes], decided: Path) -> None:
    code, out, err = ask_bytes(capfdbinary, "show", decided, "--log", "empty")
    assert (code, out) == (2, b"")
    assert b"no log of empty is kept here" in err
    folder = decided.parent / ".repair" / "attempts" / "calc-1" / "host-1-abc-0001-empty-1"
    folder.mkdir(parents=True)
    (folder / "log").write_bytes(b"raw \xff\x1b[1m bytes\n")
    assert ask_bytes(capfdbinary, "show", decided, "--log", "empty") == (0, b"raw \xff\x1b[1m bytes\n", b"")
    assert ask_bytes(capfdbinary, "show", decided, "--log", "oracle")[0] == 2
    assert ask_bytes(capfdbinary, "show", decided, "--log", "both")[0] == 2


# ---- parse


def test_parse(capsys: Capture, tmp_path: Path) -> None:
    report, ids = tmp_path / "report.xml", tmp_path / "ids.txt"
    report.write_text(REPORT)
    assert ask(capsys, "parse", report) == (0, "passed   a::t1\nfailed   a::t2\n", "")
    ids.write_text("a::t2\nids\n\n")
    assert ask(capsys, "parse", report, "--ids", ids) == (0, "failed   a::t2\nmissing  ids\n", "")
    code, out, _ = ask(capsys, "parse", report, "--ids", ids, "--json")
    assert (code, json.loads(out)) == (0, {"outcomes": {"a::t2": "failed", "ids": "missing"}, "flags": []})


def test_parse_of_what_is_no_evidence(capsys: Capture, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_text(REPORT)
    bad.write_text(REPORT[:60])
    code, out, err = ask(capsys, "parse", good, bad)
    assert code == 4
    assert "passed   a::t1" in out
    assert str(bad) in one_line(err)
    assert ask(capsys, "parse", tmp_path / "gone.xml")[0] == 2
    assert ask(capsys, "parse", tmp_path)[0] == 2
    assert ask(capsys, "parse", good, "--ids", tmp_path / "gone.txt")[0] == 2


# ---- stdout that nobody reads, that is full, or that takes no colour


def test_a_reader_that_has_gone_is_no_error(decided: Path) -> None:
    for arguments in (["check", decided.parent], ["--help"], ["run", decided.parent, "--dry-run", "--json"]):
        read, write = os.pipe()
        os.close(read)
        done = start(*arguments, stdout=write)
        os.close(write)
        assert (done.returncode, done.stderr) == (0, "")


def test_piped_into_head(decided: Path, make_task: MakeTask) -> None:
    ids = [f"p{n:05}" for n in range(20_000)]
    task = make_task("large", p2p=[*ids, "kept"])
    records.write(task, dict.fromkeys(ids, records.MISSING), dict.fromkeys(ids, records.MISSING))
    command = f"{shlex.quote(sys.executable)} -m repair show --all {shlex.quote(str(task))} | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "large: repaired\n", "")


def test_a_full_disk_behind_stdout_is_said(decided: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = start("check", decided.parent, stdout=full.fileno())
    assert done.returncode == 14
    assert "no space left" in one_line(done.stderr)


def test_a_narrow_encoding_is_no_error(decided: Path) -> None:
    done = start("show", decided, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "F2P 1" in done.stdout


def on_a_terminal(*arguments: object, env: Mapping[str, str] | None = None) -> bytes:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "repair", *map(str, arguments)]
    process = subprocess.Popen(command, env=environment(env), stdout=follower, stderr=subprocess.PIPE)
    os.close(follower)
    shown = shown_on(leader)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    return shown


def test_verdicts_are_coloured_on_a_terminal_only(decided: Path) -> None:
    assert b"\x1b[36mrepaired\x1b[0m" in on_a_terminal("show", decided)
    assert b"\x1b" not in on_a_terminal("show", decided, env={"NO_COLOR": "1"})
    assert "\x1b" not in start("show", decided).stdout


def ask_bytes(capture: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[int, bytes, bytes]:
    code = run_app([str(argument) for argument in arguments])
    return (code, *capture.readouterr())
