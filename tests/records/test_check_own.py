"""Records of tasks with an entry patch, a template, or an own verifier: what makes them stale, and what was edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair import rules
from repair.model import Rule, Verdict
from repair.panel.inputs import inputs, source_digest
from repair.records.check import Examined, Soundness, examine
from repair.records.documents import outcomes_json, read_outcomes, repair_json
from repair.text import sha256
from tests.conftest import MakeTask
from tests.support import records

KEEP = "tests/test_calc.py::test_keep[3]"
ADD = "tests/test_calc.py::test_add"
LOST = {KEEP: records.SKIPPED}

Edit = Callable[[Path], object]


def look(directory: Path) -> Examined:
    return examine(*records.load(directory))


def write_own(directory: Path, own: tuple[float, float], seen: records.Seen | None = None) -> None:
    panel, task = records.load(directory)
    found = records.evidence(task, panel.policy, seen or {}, seen or {})
    records.write_evidence(panel, task, replace(found, verifier=own))


# ---- the entry patch


@pytest.fixture(params=[False, True], ids=["no entry patch", "an entry patch"])
def written(request: pytest.FixtureRequest, make_task: MakeTask) -> Path:
    """A task with a record, without an entry patch and with one."""
    directory = make_task(tests=b"--- tests\n")
    if request.param:
        (directory / "entry.patch").write_bytes(b"--- entry\n")
    records.write(directory, LOST, LOST)
    return directory


def test_an_entry_patch_is_among_the_inputs_only_where_there_is_one(written: Path) -> None:
    named = json.loads((written / "repair.json").read_bytes())["inputs"]
    there = (written / "entry.patch").exists()
    assert ("entry.patch" in named) == there
    assert look(written).soundness is Soundness.SOUND
    if there:
        assert named["entry.patch"] == sha256(b"--- entry\n")


@pytest.mark.parametrize("content", [b"--- another\n", b"--- entry\r\n", None], ids=["other", "line ends", "none"])
def test_an_entry_patch_that_is_added_changed_or_removed_makes_a_record_stale(
    written: Path, content: bytes | None
) -> None:
    file = written / "entry.patch"
    there = file.exists()
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)
    found = look(written)
    if content is None and not there:
        assert found.soundness is Soundness.SOUND
    else:
        assert (found.soundness, found.details) == (Soundness.STALE, ("entry.patch changed since",))


def test_a_record_that_lost_its_entry_patchs_digest_is_stale(written: Path) -> None:
    document = json.loads((written / "repair.json").read_bytes())
    document["inputs"]["entry.patch"] = "0" * 64
    records.overwrite(written / "repair.json", json.dumps(document).encode())
    assert look(written).details == ("entry.patch changed since",)


# ---- templates


@pytest.mark.parametrize("template", ["{name}", ["{name}", "{file}"]])
def test_a_template_that_is_added_makes_a_record_stale(make_task: MakeTask, template: object) -> None:
    directory = make_task()
    records.write(directory)
    document = json.loads((directory / "task.json").read_bytes())
    (directory / "task.json").write_text(json.dumps({**document, "id_template": template}))
    found = look(directory)
    assert (found.soundness, found.details) == (
        Soundness.STALE,
        ("task.json (or panel.toml's [defaults]) changed since",),
    )


def test_a_record_with_templates_is_sound_and_an_edit_of_one_is_found(make_task: MakeTask) -> None:
    directory = make_task(framework="go", test_cmd=["gotestsum"])
    panel, task = records.load(directory)
    found = records.evidence(task, panel.policy, {}, {})
    spelt = tuple(replace(run, template=("{name}",)) for run in found.oracle)
    records.write_evidence(panel, task, replace(found, oracle=spelt))
    assert look(directory).soundness is Soundness.SOUND
    content = (directory / "outcomes.json").read_bytes()
    assert content.count(b'"{name}"') == 1
    records.overwrite(directory / "outcomes.json", content.replace(b'"{name}"', b'"{file}"'))
    assert look(directory).soundness is Soundness.EDITED


# ---- the own verifier


@pytest.mark.parametrize(
    ("own", "seen", "verdict"),
    [
        ((0.0, 1.0), {}, Verdict.CLEAN),
        ((0.0, 1.0), LOST, Verdict.REPAIRED),
        ((0.0, 0.5), {}, Verdict.REFUSED),
        ((1.0, 1.0), LOST, Verdict.REFUSED),
        ((1.0, 0.0), {}, Verdict.REFUSED),
    ],
)
def test_a_record_with_rewards_is_rebuilt(
    make_task: MakeTask, own: tuple[float, float], seen: records.Seen, verdict: Verdict
) -> None:
    directory = make_task()
    write_own(directory, own, seen)
    found = look(directory)
    assert (found.soundness, found.details) == (Soundness.SOUND, ())
    assert found.decision is not None
    assert found.decision.verdict is verdict
    assert [reason.rule for reason in found.decision.reasons] == [Rule.OWN_VERIFIER] * (verdict is Verdict.REFUSED)


def test_a_task_that_the_controls_refuse_keeps_their_reasons(make_task: MakeTask) -> None:
    directory = make_task()
    panel, task = records.load(directory)
    found = replace(records.evidence(task, panel.policy, {}, {ADD: records.FAILED}), verifier=(0.0, 0.0))
    decision = rules.final_decision(found, panel.policy)
    assert decision == rules.final_decision(replace(found, verifier=None), panel.policy)
    assert Rule.OWN_VERIFIER not in {reason.rule for reason in decision.reasons}


def test_a_confirmation_that_fails_is_not_the_verifiers_reason(make_task: MakeTask) -> None:
    panel, task = records.load(make_task())
    found = records.evidence(task, panel.policy, LOST, LOST, {ADD: records.FAILED})
    decision = rules.final_decision(replace(found, verifier=(0.0, 1.0)), panel.policy)
    assert {reason.rule for reason in decision.reasons} == {Rule.NOT_CONFIRMED}


def test_a_repair_that_the_verifier_refuses_was_confirmed_by_the_controls_all_the_same(make_task: MakeTask) -> None:
    directory = make_task()
    write_own(directory, (0.0, 0.5), LOST)
    document = json.loads((directory / "repair.json").read_bytes())
    assert document["confirmation"]["scores"] == {"empty": [0.0], "oracle": [1.0]}
    assert [group["ids"] for group in document["dropped"]] == [[KEEP]]


EDITS: dict[str, tuple[str, bytes, bytes]] = {
    "a reward of the record": ("repair.json", b'"oracle": 0.5', b'"oracle": 1.0'),
    "a reward of the outcomes": ("outcomes.json", b'"oracle": 0.5', b'"oracle": 1.0'),
    "rewards taken out of the record": ("repair.json", b'"own_verifier": {"empty": 0.0, "oracle": 0.5},\n', b""),
    "rewards taken out of the outcomes": ("outcomes.json", b',\n "own_verifier": {"empty": 0.0, "oracle": 0.5}', b""),
    "a reward in other words": ("repair.json", b'"oracle": 0.5', b'"oracle": 0.50'),
    "the verdict": ("repair.json", b'"verdict": "refused"', b'"verdict": "clean"'),
}


@pytest.mark.parametrize(("name", "old", "new"), EDITS.values(), ids=EDITS)
def test_an_edit_of_rewards_is_found(make_task: MakeTask, name: str, old: bytes, new: bytes) -> None:
    directory = make_task()
    write_own(directory, (0.0, 0.5))
    content = (directory / name).read_bytes()
    assert content.count(old) == 1
    records.overwrite(directory / name, content.replace(old, new))
    assert look(directory).soundness is Soundness.EDITED


def test_rewards_that_are_added_to_a_record_are_found(make_task: MakeTask) -> None:
    """With the outcomes' new digest in the record too: the record still says nothing of a verifier."""
    directory = make_task()
    records.write(directory)
    before = (directory / "outcomes.json").read_bytes()
    forged = outcomes_json(replace(read_outcomes(before), verifier=(0.0, 1.0)))
    record = (directory / "repair.json").read_bytes().replace(sha256(before).encode(), sha256(forged).encode())
    records.overwrite(directory / "outcomes.json", forged)
    records.overwrite(directory / "repair.json", record)
    found = look(directory)
    assert found.soundness is Soundness.EDITED
    assert found.details[0].startswith("repair.json differs from what outcomes.json says (first at line ")


@pytest.mark.parametrize("reward", [b"1.5", b"-1.0", b"1", b"true", b'"1.0"', b"null"])
def test_a_reward_out_of_range_makes_a_record_inconsistent(make_task: MakeTask, reward: bytes) -> None:
    directory = make_task()
    write_own(directory, (0.0, 0.5))
    content = (directory / "outcomes.json").read_bytes()
    records.overwrite(directory / "outcomes.json", content.replace(b'"oracle": 0.5', b'"oracle": ' + reward))
    found = look(directory)
    assert found.soundness is Soundness.INCONSISTENT
    assert found.details[0].startswith("outcomes.json is not one of ours")


def test_a_record_reads_the_same_from_its_outcomes(make_task: MakeTask) -> None:
    directory = make_task()
    write_own(directory, (0.25, 1.0))
    panel, task = records.load(directory)
    content = (directory / "outcomes.json").read_bytes()
    made_from = replace(inputs(task), source=source_digest(task))
    again = rules.repair_of(read_outcomes(content), made_from, panel.policy)
    assert repair_json(again, sha256(content)) == (directory / "repair.json").read_bytes()


# ---- what an own verifier's word is bound to


def test_another_source_makes_an_own_verifiers_word_stale(make_task: MakeTask) -> None:
    """The rewards are those of a verifier that came with the task, and an export gives that out under the record."""
    directory = make_task(tests=b"--- tests\n")
    (directory / "source.json").write_text("{}\n")
    write_own(directory, (0.0, 1.0))
    assert look(directory).soundness is Soundness.SOUND
    (directory / "source.json").write_text("{ }\n")
    found = look(directory)
    assert (found.soundness, found.details) == (Soundness.STALE, ("source changed since",))


def test_without_an_own_verifier_the_source_is_no_input(make_task: MakeTask) -> None:
    directory = make_task(tests=b"--- tests\n")
    records.write(directory)
    (directory / "source.json").write_text("{}\n")
    assert look(directory).soundness is Soundness.SOUND
