"""Test runners other than pytest, in real images: each writes JUnit for us, and its ids are read as it prints them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from repair.errors import InfrastructureError
from repair.model import ControlKind
from repair.panel import read
from repair.pipeline import Result, State
from repair.records.check import Soundness, examine_all
from tests.engine.lab import Lab, record
from tests.engine.runners import RUNNERS, TRAPS, WITHOUT_XMLRUNNER, write
from tests.support.paths import TESTS

pytestmark = pytest.mark.engine

ABSENT = "unittest without xmlrunner"


@pytest.fixture(scope="module")
def panel(lab: Lab) -> Path:
    subprocess.run([TESTS / "images" / "build_runners"], check=True)
    return write(
        lab.fresh(), {**RUNNERS, **{name: runner for name, (runner, _) in TRAPS.items()}, ABSENT: WITHOUT_XMLRUNNER}
    )


@pytest.fixture(scope="module")
def results(lab: Lab, panel: Path) -> dict[str, Result]:
    return lab.run(panel)


@pytest.mark.parametrize("name", RUNNERS)
def test_what_no_control_can_pass_is_dropped_and_the_rest_confirmed(results: dict[str, Result], name: str) -> None:
    runner, result = RUNNERS[name], results[name]
    assert result.error is None, result.error
    document = record(result.task.directory)
    dropped = {test: group for group in document["dropped"] for test in group["ids"]}
    assert {test: (group["empty"], group["oracle"]) for test, group in dropped.items()} == {
        test: (outcome, outcome) for test, outcome in runner.outcomes.items()
    }
    assert {(group["list"], group["rule"]) for group in dropped.values()} == {("P2P", "failed-both")}
    assert document["verdict"] == "repaired"
    assert (document["counts"]["F2P"]["kept"], document["counts"]["P2P"]["kept"]) == (1, len(runner.good))


@pytest.mark.parametrize("name", RUNNERS)
def test_the_evidence_says_how_ids_are_spelt(results: dict[str, Result], name: str) -> None:
    assert results[name].error is None, results[name].error
    controls = json.loads((results[name].task.directory / "outcomes.json").read_bytes())["controls"]
    runs = [run for which in (controls, controls["confirm"]) for kind in ControlKind for run in which[kind]]
    assert len(runs) == 4
    assert {run["template"][0] if "template" in run else None for run in runs} == {RUNNERS[name].template}
    assert {tuple(run["flags"]) for run in runs} == {()}


@pytest.mark.parametrize("name", TRAPS)
def test_reports_of_a_kind_of_their_own(results: dict[str, Result], name: str) -> None:
    expected = TRAPS[name][1]
    assert results[name].error is None, results[name].error
    tests = json.loads((results[name].task.directory / "outcomes.json").read_bytes())["tests"]
    assert {test: (*tests[test]["empty"], *tests[test]["oracle"]) for test in expected} == expected


def test_the_records_are_sound(panel: Path, results: dict[str, Result]) -> None:
    found = {one.task.instance_id: one.soundness for one in examine_all(read.load(panel))}
    assert found == {**dict.fromkeys((*RUNNERS, *TRAPS), Soundness.SOUND), ABSENT: Soundness.ABSENT}


def test_without_xmlrunner_no_test_is_run(panel: Path, results: dict[str, Result]) -> None:
    result = results[ABSENT]
    assert result.state is State.FAILED
    assert isinstance(result.error, InfrastructureError)
    assert "no JUnit from this runner" in str(result.error)
    logs = [file.read_text() for file in (panel / ".repair").rglob("log") if ABSENT in str(file)]
    assert logs
    assert not any("test_light" in log for log in logs)


def test_a_command_that_says_nothing_of_its_runner_is_refused_before_any_container(lab: Lab) -> None:
    runner = replace(RUNNERS["go test"], test_cmd="make check")
    (result,) = lab.run(write(lab.fresh(), {"make": runner})).values()
    assert result.state is State.FAILED
    assert "no JUnit from this runner" in str(result.error)
