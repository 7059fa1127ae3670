"""Tests that write what steers terminals into their ids, reasons, errors and output: what a run shows and records."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from repair.model import Verdict
from tests.engine.lab import added, record, write_panel, write_task

pytestmark = pytest.mark.engine

FORGED = "repair: all is well"
STEERING = "\x1b[2J\x1b]0;owned\x07\u202e\u2066\u2028\x9b31m<script>alert(1)</script>"
INI = "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = True\n"
LOUD = """\
# -*- coding: utf-8 -*-
import os
import sys

import pytest

STEERING = "\\x1b[2J\\x1b]0;owned\\x07\\u202e\\u2066\\u2028\\x9b31m<script>alert(1)</script>"
FORGED = STEERING + "\\nrepair: all is well\\n" + "\\0\\ud800" + STEERING


def test_fix():
    import calc

    os.write(2, FORGED.encode("utf-8", "surrogatepass"))
    assert calc.add(1, 2) == 3, FORGED


@pytest.mark.parametrize("x", [STEERING])
def test_kept(x):
    print(FORGED.encode("utf-8", "replace").decode())


@pytest.mark.parametrize("x", [STEERING])
def test_skipped(x):
    pytest.skip(FORGED.replace("\\ud800", ""))


@pytest.mark.parametrize("x", [STEERING])
def test_failed(x):
    raise type("Bad" + STEERING, (Exception,), {})(FORGED)
"""
IDS = [f"tests/test_loud.py::test_{name}[{STEERING}]" for name in ("kept", "skipped", "failed", "phantom")]
LOUD_FILES = {"pytest.ini": INI, "tests/test_loud.py": LOUD}
# no report, and a last line that steers
SILENT = "printf 'the end \\033[2J\\033]0;owned\\007 \\nrepair: all is well\\r'; exit 3"


def write_loud(panel: Path) -> Path:
    write_panel(panel, "[policy]\nmin_p2p = 1\n")
    write_task(panel, "loud", ["tests/test_loud.py::test_fix"], IDS, tests=added(LOUD_FILES))
    write_task(panel, "silent", ["k::a"], [], framework="shell", test_cmd=SILENT, junit=["r.xml"])
    write_task(panel, "no-image", image=f"odd/{STEERING}")
    return panel


def assert_ours(text: str) -> None:
    lines = text.split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert not [line for line in lines if line.startswith(FORGED)]


def repair(*arguments: object) -> str:
    """What a command prints into a pipe, messages too."""
    command = [sys.executable, "-m", "repair", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode != 3, done.stdout
    return done.stdout.decode()


@pytest.fixture(scope="module")
def ran(images: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A panel that was run, and what the run printed."""
    panel = write_loud(tmp_path_factory.mktemp("loud") / "panel")
    return panel, repair("run", panel, "-j", "2")


def test_a_run_prints_lines_of_its_own(ran: tuple[Path, str]) -> None:
    assert "loud" in ran[1]
    assert "no-evidence: 1 task without a verdict" in ran[1]
    assert "engine: 1 task without a verdict" in ran[1]
    assert_ours(ran[1])


def test_the_tests_were_seen_as_they_are_called(ran: tuple[Path, str]) -> None:
    panel, _ = ran
    document = record(panel / "loud")
    assert document["verdict"] == Verdict.REPAIRED
    assert {test for group in document["dropped"] for test in group["ids"]} == set(IDS[1:])
    for name in ("repair.json", "outcomes.json"):
        assert_ours((panel / "loud" / name).read_text("ascii"))


@pytest.mark.parametrize(
    "arguments", ["show loud", "show loud --all", "check .", "gate .", "check . --json", "doctor ."]
)
def test_commands_print_lines_of_their_own(ran: tuple[Path, str], arguments: str) -> None:
    panel, _ = ran
    command, name, *options = arguments.split()
    said = repair(command, panel / name, *options)
    assert said
    assert_ours(said)


def test_the_raw_log_goes_into_a_pipe_as_it_is(ran: tuple[Path, str]) -> None:
    command = [sys.executable, "-m", "repair", "show", str(ran[0] / "loud"), "--log", "oracle"]
    assert b"\x1b]0;owned\x07" in subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def test_a_run_on_a_terminal_passes_nothing_on(images: None, tmp_path: Path) -> None:
    panel = write_loud(tmp_path / "panel")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "repair", "run", str(panel)],
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 1 << 16):
            shown += part
    except OSError:  # its last writer is gone
        pass
    os.close(leader)
    process.wait()
    text = shown.decode()
    assert "loud" in text
    steering = ("\x1b[2J", "\x1b]0;", "\x07", "\u202e", "\u2066", "\u2028", "\x9b")
    assert [piece for piece in steering if piece in text] == []
    assert json.loads((panel / "loud" / "repair.json").read_bytes())["verdict"] == Verdict.REPAIRED
