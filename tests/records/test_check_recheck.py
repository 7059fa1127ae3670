"""A record under a policy that looks again: exactly the runs that policy and evidence call for are sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from repair import rules, table
from repair.model import Evidence, Observed, Outcome, Rule, Run, Task, Verdict
from repair.records.check import Examined, Soundness, examine
from tests.conftest import MakeTask
from tests.support import records

KEEP = "tests/test_calc.py::test_keep[3]"
OTHER = "tests/test_calc.py::test_keep[4]"
ADD = "tests/test_calc.py::test_add"
REPEATS, RECHECK = 2, 3
LETTERS = {"P": Observed(Outcome.PASSED), "F": records.FAILED, "s": records.SKIPPED}


@dataclass(frozen=True)
class Shown:
    """One test's outcomes as letters, one a run, under (empty, oracle); all others do what their lists say."""

    test: str
    empty: str
    oracle: str


STEADY = Shown(KEEP, "PP", "PP")
REGRESSES = Shown(KEEP, "PPPPP", "FFFFF")  # in every run, so that it refuses after all
FLAKES = Shown(KEEP, "PPFPF", "PFPFF")  # regresses in the first two and is dropped for the other three
DROPPED = Shown(KEEP, "ss", "ss")


def pair(task: Task, shown: Shown) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    def control(letters: str, *, oracle: bool) -> tuple[Run, ...]:
        seen = [{shown.test: LETTERS[letter]} for letter in letters]
        return tuple(records.run(task.f2p, task.p2p, oracle=oracle, other=other) for other in seen)

    return control(shown.empty, oracle=False), control(shown.oracle, oracle=True)


def evidence(task: Task, shown: Shown, confirmed: int = 0) -> Evidence:
    """The evidence of these runs, with so many runs of a confirmation of what they would keep."""
    first = pair(task, shown)
    seen = table.build(task.f2p, task.p2p, *first)
    found = Evidence(task.instance_id, "0.1.0", records.IMAGE, *first, seen)
    if not confirmed:
        return found
    kept = replace(task, p2p=tuple(test for test in task.p2p if test != shown.test))
    second = pair(kept, Shown(OTHER, "P" * confirmed, "P" * confirmed))
    return replace(
        found,
        confirm_empty=second[0],
        confirm_oracle=second[1],
        confirm_table=table.build(kept.f2p, kept.p2p, *second),
    )


Look = Callable[..., Examined]


@pytest.fixture
def look(panel: Path, make_task: MakeTask) -> Look:
    """Write a record of some evidence, whatever the policy calls for, and examine it."""

    def examined(
        shown: Shown,
        confirmed: int = 0,
        recheck: int = RECHECK,
        change: Callable[[Evidence], Evidence] = lambda found: found,
        name: str = "task-1",
    ) -> Examined:
        policy = f"[policy]\nmin_p2p = 0\nrepeats = {REPEATS}\nrecheck = {recheck}\n"
        (panel / "panel.toml").write_text(policy)
        loaded, task = records.load(make_task(name))
        records.write_evidence(loaded, task, change(evidence(task, shown, confirmed)))
        return examine(loaded, task)

    return examined


# ---- as the policy wants it


@pytest.mark.parametrize(
    ("shown", "confirmed", "recheck", "verdict"),
    [
        pytest.param(STEADY, 0, RECHECK, Verdict.CLEAN, id="clean: two runs"),
        pytest.param(DROPPED, 2, RECHECK, Verdict.REPAIRED, id="repaired without a recheck: two, confirmed by two"),
        pytest.param(REGRESSES, 0, RECHECK, Verdict.REFUSED, id="regresses still: five"),
        pytest.param(FLAKES, 5, RECHECK, Verdict.REPAIRED, id="flakes under both: five, confirmed by five"),
        pytest.param(Shown(KEEP, "PP", "FF"), 0, 0, Verdict.REFUSED, id="regresses and nobody looks again: two"),
        pytest.param(
            Shown(KEEP, "PPF", "FFP"), 3, 1, Verdict.REPAIRED, id="flakes in the one that is asked for: three"
        ),
        pytest.param(Shown(ADD, "FF", "PF"), 0, RECHECK, Verdict.REFUSED, id="an F2P fails: two"),
        pytest.param(
            Shown(KEEP, "PPPPP", "FPPPP"), 0, RECHECK, Verdict.REFUSED, id="fails once with it, at first: five"
        ),
    ],
)
def test_exactly_the_runs_that_are_due_are_sound(
    look: Look, shown: Shown, confirmed: int, recheck: int, verdict: Verdict
) -> None:
    found = look(shown, confirmed, recheck)
    assert (found.soundness, found.details) == (Soundness.SOUND, ())
    assert found.decision is not None
    assert found.decision.verdict is verdict


def test_the_record_shows_every_run(look: Look) -> None:
    found = look(REGRESSES)
    text = (found.task.directory / "repair.json").read_text()
    assert found.decision is not None
    assert [(reason.rule, reason.empty, reason.oracle) for reason in found.decision.reasons] == [
        (Rule.REGRESSION, "passed", "failed")
    ]
    assert text.count('{"exit": 1}') == REPEATS * 2 + RECHECK * 2
    assert '"recheck": 3' in text


def test_a_patch_that_does_not_apply_is_not_asked_again(look: Look) -> None:
    def refuse(found: Evidence) -> Evidence:
        gone = tuple(replace(run, exit=None, observed={}, patch="oracle.patch: no such file") for run in found.oracle)
        rows = table.build(
            [row.id for row in found.table.rows if "F2P" in row.lists],
            [row.id for row in found.table.rows if "P2P" in row.lists],
            found.empty,
            gone,
        )
        return replace(found, oracle=gone, table=rows)

    assert look(STEADY, change=refuse).soundness is Soundness.SOUND
    found = look(REGRESSES, change=refuse, name="task-2")
    assert found.soundness is Soundness.INCONSISTENT
    assert "policy and evidence call for 2" in found.details[0]


# ---- as it does not


def wrong(held: int, due: int) -> str:
    return f"holds {held} runs of a control, policy and evidence call for {due}"


@pytest.mark.parametrize(
    ("shown", "confirmed", "recheck", "said"),
    [
        pytest.param(Shown(KEEP, "PP", "FF"), 0, RECHECK, wrong(2, 5), id="none"),
        pytest.param(Shown(KEEP, "PPPP", "FFFF"), 0, RECHECK, wrong(4, 5), id="one fewer"),
        pytest.param(Shown(KEEP, "PPPPPP", "FFFFFF"), 0, RECHECK, wrong(6, 5), id="one more"),
        pytest.param(Shown(KEEP, "PPPPP", "FFFF"), 0, RECHECK, wrong(4, 5), id="one fewer of the oracle"),
        pytest.param(Shown(KEEP, "PPPP", "FFFFF"), 0, RECHECK, wrong(4, 5), id="one fewer of empty"),
        pytest.param(REGRESSES, 0, 0, wrong(5, 2), id="five where none is asked for"),
        pytest.param(REGRESSES, 0, 2, wrong(5, 4), id="another number than is asked for"),
        pytest.param(Shown(KEEP, "P" * 5, "P" * 5), 0, RECHECK, wrong(5, 2), id="of a clean task"),
        pytest.param(Shown(KEEP, "PPPPP", "PPFFF"), 0, RECHECK, wrong(5, 2), id="for a regression that came later"),
        pytest.param(Shown(ADD, "F" * 5, "F" * 5), 0, RECHECK, wrong(5, 2), id="of a task whose F2P fails"),
        pytest.param(Shown(KEEP, "s" * 5, "s" * 5), 5, RECHECK, wrong(5, 2), id="of a task that is repaired without"),
        pytest.param(FLAKES, 2, RECHECK, wrong(2, 5), id="a confirmation as long as the first runs"),
        pytest.param(FLAKES, 4, RECHECK, wrong(4, 5), id="a confirmation that is one short"),
        pytest.param(FLAKES, 6, RECHECK, wrong(6, 5), id="a confirmation that is one long"),
        pytest.param(
            FLAKES, 0, RECHECK, "a confirmation where none is due, or none where one is", id="no confirmation"
        ),
        pytest.param(REGRESSES, 5, RECHECK, "a confirmation where none is due", id="a confirmation of a refused task"),
    ],
)
def test_other_runs_are_no_evidence(look: Look, shown: Shown, confirmed: int, recheck: int, said: str) -> None:
    found = look(shown, confirmed, recheck)
    assert found.soundness is Soundness.INCONSISTENT
    assert said in " ".join(found.details)


def test_runs_whose_outcomes_are_left_out_are_no_evidence(look: Look) -> None:
    """The runs are there by number, and the ids keep only the outcomes that suit."""

    def shorten(found: Evidence) -> Evidence:
        rows = tuple(replace(row, empty=row.empty[:2], oracle=row.oracle[:2]) for row in found.table.rows)
        return replace(found, table=replace(found.table, rows=rows))

    found = look(REGRESSES, change=shorten)
    assert found.soundness is Soundness.INCONSISTENT
    assert "more or fewer outcomes than runs" in " ".join(found.details)


def test_runs_in_another_order_would_call_for_other_runs(look: Look) -> None:
    """What first regressed and then flaked must not be told the other way round: nobody would have looked again."""
    found = look(Shown(KEEP, "FPPPF", "PFPFF"), 5)
    assert found.soundness is Soundness.INCONSISTENT
    assert "policy and evidence call for 2" in " ".join(found.details)


def test_a_policy_that_looks_again_since_makes_a_record_stale(look: Look, panel: Path) -> None:
    directory = look(Shown(KEEP, "PP", "FF"), recheck=0).task.directory
    (panel / "panel.toml").write_text("[policy]\nmin_p2p = 0\nrepeats = 2\nrecheck = 3\n")
    found = examine(*records.load(directory))
    assert (found.soundness, found.details) == (Soundness.STALE, ("policy recheck changed since",))


@pytest.mark.parametrize(
    "shown", [STEADY, REGRESSES, FLAKES, DROPPED], ids=["steady", "regresses", "flakes", "dropped"]
)
def test_what_is_called_sound_here_is_what_the_rule_calls_for(look: Look, shown: Shown) -> None:
    found = look(shown, 0)
    assert found.table is not None
    panel = records.load(found.task.directory)[0]
    assert rules.runs_due(found.table, panel.policy) == len(shown.empty)
