"""More runs before a verdict: what flakes under both controls is dropped, what the reference breaks still refuses.

Nothing here is left to chance: the first runs of what flakes are noted in the journal beforehand, as if somebody had
observed them, and all further ones are real and go another way.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from repair import pipeline
from repair.controls import plan
from repair.controls.plan import controls
from repair.controls.session import Event, Options
from repair.model import Observed, Outcome, Task
from repair.panel import read
from repair.pipeline import Result, State
from repair.records.check import Soundness, examine, examine_all
from tests.engine.lab import P2P, SIDE_BY_SIDE, Lab, added, record, write_panel, write_task
from tests.engine.mints import note

pytestmark = pytest.mark.engine

RECHECK = 2
T = "tests/test_turns.py"
TURNS = """\
import calc

REFERENCE = calc.add(1, 2) == 3


def test_flakes():
    assert REFERENCE


def test_flakes_with_the_reference_alone():
    pass


def test_breaks():
    assert not REFERENCE


def test_breaks_later():
    assert not REFERENCE


def test_stands():
    pass
"""
FIRST = {  # what the first run of each control shows, where it is not what the test does: under (empty, oracle)
    "test_flakes": (Outcome.PASSED, Outcome.FAILED),
    "test_flakes_with_the_reference_alone": (Outcome.PASSED, Outcome.FAILED),
    "test_breaks_later": (Outcome.PASSED, Outcome.PASSED),
}
# task: the P2P that it lists besides those that stand, how often its controls run, and what comes of it
TASKS = {
    "flakes under both": (("test_flakes",), 1 + RECHECK, "repaired"),
    "flakes with the reference alone": (("test_flakes_with_the_reference_alone",), 1 + RECHECK, "refused"),
    "breaks beside one that flakes": (("test_breaks", "test_flakes"), 1 + RECHECK, "refused"),
    "breaks": (("test_breaks",), 1 + RECHECK, "refused"),
    "stands": (("test_stands",), 1, "clean"),
    "breaks when nobody looks": (("test_breaks_later",), 1, "clean"),
}
FAILS_WITHOUT = (Outcome.FAILED, Outcome.PASSED)
BEFORE = {name for name, (tests, _, _) in TASKS.items() if not FIRST.keys().isdisjoint(tests)}


def policy(recheck: int) -> str:
    return f"[policy]\nmin_p2p = {len(P2P)}\nrecheck = {recheck}\n"


def run(lab: Lab, panel: Path) -> tuple[dict[str, Result], list[Event]]:
    """`repair run`: its results, and the controls that were no journalled ones."""
    told: list[Event] = []
    results = pipeline.run(read.load(panel), lab.sandbox, Options(jobs=SIDE_BY_SIDE), told.append)
    started = [event for event in told if event.what.endswith(": started")]
    return {result.task.instance_id: result for result in results}, started


def note_first(lab: Lab, panel: Path, task: Task, seen: Mapping[str, tuple[Outcome, Outcome]]) -> None:
    """Note the first run of both controls: what is not in `seen` does what its list says, or breaks."""
    kept = dict.fromkeys(task.p2p, (Outcome.PASSED, Outcome.PASSED))
    said = {**kept, **dict.fromkeys(task.f2p, FAILS_WITHOUT), f"{T}::test_breaks": FAILS_WITHOUT[::-1], **seen}
    shown = [{test: said[test][which] for test in (*task.f2p, *task.p2p)} for which in (0, 1)]
    for control, outcomes in zip(controls(plan.prepared(task), (*task.f2p, *task.p2p), range(1)), shown, strict=True):
        note(lab, panel, control, {test: Observed(outcome) for test, outcome in outcomes.items()})


@pytest.fixture(scope="module")
def panel(lab: Lab) -> Path:
    panel = write_panel(lab.fresh() / "panel", policy(RECHECK))
    for name, (tests, _, _) in TASKS.items():
        ids = [f"{T}::{test}" for test in tests]
        write_task(panel, name, p2p=[*P2P, *ids], tests=added({T: TURNS}))
    seen = {f"{T}::{test}": outcomes for test, outcomes in FIRST.items()}
    for task in read.load(panel, BEFORE.__contains__).tasks:
        note_first(lab, panel, task, seen)
    return panel


@pytest.fixture(scope="module")
def first(lab: Lab, panel: Path) -> tuple[dict[str, Result], list[Event]]:
    return run(lab, panel)


@pytest.mark.parametrize("name", TASKS)
def test_every_run_that_was_due_is_in_the_record(
    panel: Path, first: tuple[dict[str, Result], list[Event]], name: str
) -> None:
    _, runs, verdict = TASKS[name]
    results, started = first
    assert (results[name].state, results[name].error) == (State.RECORDED, None)
    document = record(panel / name)
    assert {kind: len(many) for kind, many in document["controls"].items()} == {"empty": runs, "oracle": runs}
    assert document["verdict"] == verdict
    noted = 1 if name in BEFORE else 0
    again = runs if verdict == "repaired" else 0
    assert sum(event.task == name for event in started) == (runs - noted + again) * 2


def found_of(document: dict[str, Any], key: str) -> list[tuple[str, str, str, list[str]]]:
    return [(group["rule"], group["empty"], group["oracle"], group["ids"]) for group in document[key]]


def test_what_flakes_under_both_is_dropped_and_confirmed_as_often(
    panel: Path, first: tuple[dict[str, Result], list[Event]]
) -> None:
    document = record(panel / "flakes under both")
    assert found_of(document, "dropped") == [
        ("flaky-both", "failed 2/3, passed 1/3", "passed 2/3, failed 1/3", [f"{T}::test_flakes"])
    ]
    assert document["counts"]["P2P"] == {"listed": 13, "dropped": 1, "kept": 12}
    assert document["confirmation"] == {"confirmed": True, "scores": {"empty": [0.0] * 3, "oracle": [1.0] * 3}}


def test_what_the_reference_breaks_refuses_after_all_runs(
    panel: Path, first: tuple[dict[str, Result], list[Event]]
) -> None:
    document = record(panel / "breaks beside one that flakes")
    assert found_of(document, "reasons") == [("regression", "passed", "failed", [f"{T}::test_breaks"])]
    assert [group[0] for group in found_of(document, "dropped")] == ["flaky-both"]
    assert document["confirmation"] is None
    assert found_of(record(panel / "breaks"), "reasons") == found_of(document, "reasons")
    alone = f"{T}::test_flakes_with_the_reference_alone"
    assert found_of(record(panel / "flakes with the reference alone"), "reasons") == [
        ("regression", "passed", "passed 2/3, failed 1/3", [alone])
    ]


def test_the_records_are_sound_and_call_for_these_runs(
    panel: Path, first: tuple[dict[str, Result], list[Event]], tmp_path: Path
) -> None:
    assert {found.soundness for found in examine_all(read.load(panel))} == {Soundness.SOUND}
    copy = tmp_path / "copy"
    shutil.copytree(panel, copy, ignore=shutil.ignore_patterns(".repair"))
    outcomes = copy / "breaks" / "outcomes.json"
    document = json.loads(outcomes.read_bytes())
    document["controls"]["oracle"].pop()
    outcomes.unlink()
    outcomes.write_text(json.dumps(document))
    loaded = read.load(copy, "breaks".__eq__)
    found = examine(loaded, loaded.tasks[0])
    assert found.soundness is Soundness.INCONSISTENT
    assert "holds 2 runs of a control, policy and evidence call for 3" in " ".join(found.details)


def test_records_made_again_have_the_same_bytes(
    lab: Lab, panel: Path, first: tuple[dict[str, Result], list[Event]], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(panel, copy)
    for file in copy.glob("*/repair.json"):
        file.unlink()
    results, started = run(lab, copy)
    assert {result.state for result in results.values()} == {State.RECORDED}
    for name in TASKS:
        for made in ("repair.json", "outcomes.json"):
            assert (copy / name / made).read_bytes() == (panel / name / made).read_bytes()
    assert {(event.task, "(confirmation)" in event.what) for event in started} == {("flakes under both", True)}


def test_a_policy_that_does_not_look_again_refuses_at_once(
    lab: Lab, panel: Path, first: tuple[dict[str, Result], list[Event]], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(panel, copy)
    (copy / "panel.toml").write_text(policy(0))
    for file in copy.glob("*/repair.json"):
        file.unlink()
    results, started = run(lab, copy)
    assert started == [], "the first runs are the same, and in the journal"
    verdicts = {name: str(result.decision.verdict) for name, result in results.items() if result.decision is not None}
    assert verdicts == {name: "refused" if runs > 1 else verdict for name, (_, runs, verdict) in TASKS.items()}
    assert {result.soundness for result in results.values()} == {""}
