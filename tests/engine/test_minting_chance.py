"""Tests that chance or their neighbours decide: what is listed all the same holds in `repair run`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from repair.controls import plan
from repair.controls.plan import controls
from repair.mint import run
from repair.mint.run import Plan
from repair.model import ControlKind, Observed, Outcome, Verdict
from repair.panel import read
from tests.engine.lab import Lab, added, python, write_panel
from tests.engine.mints import ADDS, mint, mint_json, note, write_new, write_unlisted

pytestmark = pytest.mark.engine

# The first two of three turns are noted beforehand: in these each passes once and fails once under either control,
# whatever chance makes of the third.
REPEATS = 3
CHANCE = """\
import os
import time

import pytest


def test_keeps():
    pass


def test_flaky():
    assert os.urandom(1)[0] % 2


def test_clock():
    assert int(time.time() * 1000) % 2


@pytest.mark.parametrize("n", [0], ids=[os.urandom(8).hex()])
def test_named(n):
    pass
"""
# Both want one server, and a process has it until it ends: where there are two, the second comes too late.
PORT = """\
import socket
import time

import calc

ADDRESS = ("127.0.0.1", 47123)
SERVERS = []


def serve():
    if not SERVERS:
        SERVERS.append(socket.create_server(ADDRESS))


def test_serves():
    serve()


def test_adds():
    assert calc.add(1, 2) == 3


def test_comes_second():
    while not SERVERS:
        with socket.socket() as client:
            if client.connect_ex(ADDRESS) == 0:
                break
        time.sleep(0.05)
    serve()


def test_keeps():
    pass
"""
C = "tests/test_chance.py::"
T = "tests/test_port.py::"
SIDE_BY_SIDE = python("p84x", "-p", "no:randomly", "-n", "2")


def note_turns(lab: Lab, panel: Path) -> None:
    """Note all turns but the last: by turns what flakes passes and fails, and each run has another name for a test."""
    [task] = read.load(panel, lists=False).tasks
    files, _ = run.test_files(task, Plan(REPEATS))
    passed, failed = Observed(Outcome.PASSED), Observed(Outcome.FAILED, "AssertionError")
    for number, control in enumerate(controls(plan.prepared(task), (), range(REPEATS - 1))):
        by_turns = failed if control.repeat % 2 else passed
        seen = {f"{C}test_{name}": by_turns for name in ("flaky", "clock")}
        seen |= {f"{C}test_keeps": passed, f"{C}test_named[{number}]": passed}
        seen |= {"tests/test_adds.py::test_adds": passed if control.kind is ControlKind.ORACLE else failed}
        note(lab, panel, replace(control, files=files), seen)


@pytest.fixture(scope="module")
def chance(lab: Lab) -> Path:
    panel = write_panel(lab.fresh() / "panel", "[policy]\nmin_p2p = 1\n")
    write_unlisted(panel, "chance", tests=added({"tests/test_chance.py": CHANCE, "tests/test_adds.py": ADDS}))
    note_turns(lab, panel)
    return write_new(panel, lab.fresh() / "minted", mint(lab, panel, Plan(REPEATS)))


def test_what_flakes_is_in_no_list_and_says_how_often_it_passed(chance: Path) -> None:
    document = mint_json(chance, "chance")
    steady = {test: said["class"] for test, said in document["tests"].items() if "test_named" not in test}
    assert steady == {
        "tests/test_adds.py::test_adds": "F2P",
        f"{C}test_keeps": "P2P",
        f"{C}test_flaky": "flaky",
        f"{C}test_clock": "flaky",
    }
    for test in ("flaky", "clock"):
        said = document["tests"][f"{C}test_{test}"]
        for control in ("empty", "oracle"):
            assert said[control][:2] == ["passed", "failed"]
            assert len(said[control]) == REPEATS
    flaky = [group for group in document["unlisted"] if group["class"] == "flaky"]
    assert flaky
    for group in flaky:
        assert f"/{REPEATS}" in group["empty"]
        assert f"/{REPEATS}" in group["oracle"]
    assert (document["verdict"], document["trials"]) == ("minted", 1)


def test_ids_that_change_from_run_to_run_are_in_no_list_and_refuse_nothing(chance: Path) -> None:
    document = mint_json(chance, "chance")
    named = {test: said["class"] for test, said in document["tests"].items() if "test_named" in test}
    assert set(named.values()) == {"changing"}
    assert len(named) == REPEATS * 2, "one in every run"


def test_a_list_without_them_has_nothing_to_drop(lab: Lab, chance: Path) -> None:
    [result] = lab.run(chance).values()
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.dropped) == (Verdict.CLEAN, ())


@pytest.fixture(scope="module")
def ports(lab: Lab) -> Path:
    """One task whose command runs two processes, and one that runs the same tests in one."""
    panel = write_panel(lab.fresh() / "panel", "[policy]\nmin_p2p = 1\n")
    write_unlisted(panel, "side by side", tests=added({"tests/test_port.py": PORT}), test_cmd=SIDE_BY_SIDE)
    write_unlisted(panel, "one after the other", tests=added({"tests/test_port.py": PORT}))
    return write_new(panel, lab.fresh() / "minted", mint(lab, panel, Plan(1)))


@pytest.mark.parametrize(
    ("name", "p2p"),
    [
        ("side by side", ["test_keeps", "test_serves"]),
        ("one after the other", ["test_comes_second", "test_keeps", "test_serves"]),
    ],
)
def test_tests_that_get_in_each_others_way_are_listed_as_the_command_runs_them(
    ports: Path, name: str, p2p: list[str]
) -> None:
    task = json.loads((ports / name / "task.json").read_bytes())
    assert (task["FAIL_TO_PASS"], task["PASS_TO_PASS"]) == ([f"{T}test_adds"], [f"{T}{test}" for test in p2p])
    classes = {test: said["class"] for test, said in mint_json(ports, name)["tests"].items()}
    assert classes[f"{T}test_comes_second"] == ("P2P" if "test_comes_second" in p2p else "never")


def test_what_was_minted_of_them_has_nothing_to_drop(lab: Lab, ports: Path) -> None:
    for result in lab.run(ports).values():
        assert result.decision is not None
        assert (result.decision.verdict, result.decision.dropped) == (Verdict.CLEAN, ())
