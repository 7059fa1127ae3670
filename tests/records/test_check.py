"""Records that are sound, stale, edited, inconsistent or absent, and how each is told from the others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repair import rules, table
from repair.model import Evidence, ListName, Observed, Outcome, Verdict
from repair.panel.inputs import inputs
from repair.records import check
from repair.records.check import Examined, Soundness, examine
from repair.records.documents import outcomes_json, read_outcomes, repair_json
from repair.text import sha256
from tests.conftest import MakeTask
from tests.support import records

KEEP = "tests/test_calc.py::test_keep[3]"
ADD = "tests/test_calc.py::test_add"
LOST = {KEEP: records.SKIPPED}


def look(directory: Path) -> Examined:
    return examine(*records.load(directory))


@pytest.fixture
def repaired(make_task: MakeTask) -> Path:
    """A task whose record drops one P2P."""
    directory = make_task(tests=b"--- tests\n")
    (directory / "environment").mkdir()
    (directory / "environment" / "Dockerfile").write_text("FROM scratch\n")
    records.write(directory, LOST, LOST)
    return directory


def change(file: Path, edit: Callable[[Any], Any]) -> None:
    """Edit a JSON file of ours with another tool, which lays it out otherwise."""
    document = json.loads(file.read_bytes())
    edit(document)
    records.overwrite(file, json.dumps(document).encode())


def change_text(file: Path, old: bytes, new: bytes) -> None:
    content = file.read_bytes()
    assert content.count(old) >= 1
    records.overwrite(file, content.replace(old, new, 1))


# ---- sound


@pytest.mark.parametrize(
    ("empty", "oracle", "confirm", "verdict"),
    [
        ({}, {}, None, Verdict.CLEAN),
        (LOST, LOST, None, Verdict.REPAIRED),
        ({}, {ADD: records.FAILED}, None, Verdict.REFUSED),
        (LOST, LOST, {ADD: records.FAILED}, Verdict.REFUSED),
    ],
    ids=["clean", "repaired", "refused", "not-confirmed"],
)
def test_what_was_written_is_sound(
    make_task: MakeTask, empty: records.Seen, oracle: records.Seen, confirm: records.Seen | None, verdict: Verdict
) -> None:
    directory = make_task()
    records.write(directory, empty, oracle, confirm)
    found = look(directory)
    assert (found.soundness, found.details) == (Soundness.SOUND, ())
    assert found.decision is not None
    assert found.decision.verdict is verdict
    assert found.sha256 == sha256((directory / "repair.json").read_bytes())


def test_a_patch_that_did_not_apply_is_sound(make_task: MakeTask) -> None:
    directory = make_task()
    panel, task = records.load(directory)
    refused = replace(records.run(task.f2p, task.p2p, oracle=True, other={}), exit=None, observed={}, patch="no file")
    seen = replace(
        records.evidence(task, panel.policy, {}, {}),
        oracle=(refused,),
        table=table.build(task.f2p, task.p2p, (), (refused,)),
    )
    records.write_evidence(panel, task, seen)
    assert look(directory).soundness is Soundness.SOUND


def test_several_repeats_and_the_mode_of_files_are_sound(panel: Path, make_task: MakeTask) -> None:
    (panel / "panel.toml").write_text("[policy]\nmin_p2p = 0\nrepeats = 3\n")
    directory = make_task()
    records.write(directory, LOST, LOST)
    for name in ("repair.json", "outcomes.json", "oracle.patch"):
        (directory / name).chmod(0o600)  # git keeps no more of a mode than its execute bit
    assert look(directory).soundness is Soundness.SOUND


def test_a_forgery_of_both_files_is_sound(repaired: Path) -> None:
    """Files that agree cannot give themselves away; only `check --rerun`, which runs the controls, finds this one."""
    panel, task = records.load(repaired)
    forged = records.evidence(task, panel.policy, {}, {})
    for name, content in (
        ("outcomes.json", outcomes_json(forged)),
        (
            "repair.json",
            repair_json(rules.repair_of(forged, inputs(task), panel.policy), sha256(outcomes_json(forged))),
        ),
    ):
        records.overwrite(repaired / name, content)
    assert look(repaired).soundness is Soundness.SOUND


# ---- stale


Edit = Callable[[Path], object]


def _toml(text: str) -> Edit:
    return lambda directory: (directory.parent / "panel.toml").write_text(text)


def _append(name: str) -> Edit:
    return lambda directory: (directory / name).write_bytes(b"more\n")


def _task(key: str, value: Any) -> Edit:
    return lambda directory: change(directory / "task.json", lambda document: document.update({key: value}))


TASK_CHANGED = "task.json (or panel.toml's [defaults]) changed since"


@pytest.mark.parametrize(
    ("edit", "details"),
    [
        (_task("PASS_TO_PASS", [KEEP]), (TASK_CHANGED,)),
        (_task("FAIL_TO_PASS", [ADD, "tests/test_calc.py::test_new"]), (TASK_CHANGED,)),
        (_task("image", "repair-test/other:1"), (TASK_CHANGED,)),
        (_task("base_commit", "abc"), (TASK_CHANGED,)),
        (_toml("[policy]\nmin_p2p = 0\n[defaults]\ntimeout = 5\n"), (TASK_CHANGED,)),
        (_toml("[policy]\nmin_p2p = 1\n"), ("policy min_p2p changed since",)),
        (
            _toml('[policy]\nrepeats = 2\npassing = ["passed", "xfailed"]\n'),
            ("policy min_p2p changed since", "policy passing changed since", "policy repeats changed since"),
        ),
        (_append("oracle.patch"), ("oracle.patch changed since",)),
        (_append("tests.patch"), ("tests.patch changed since",)),
        (lambda directory: (directory / "tests.patch").unlink(), ("tests.patch changed since",)),
        (_append("environment/Dockerfile"), ("environment/ changed since",)),
        (_append("environment/requirements.txt"), ("environment/ changed since",)),
        (
            lambda directory: (_append("oracle.patch")(directory), _append("environment/a")(directory)),
            ("environment/ changed since", "oracle.patch changed since"),
        ),
    ],
)
def test_a_record_whose_task_changed_is_stale(repaired: Path, edit: Edit, details: tuple[str, ...]) -> None:
    edit(repaired)
    found = look(repaired)
    assert (found.soundness, found.details) == (Soundness.STALE, details)
    assert found.decision is not None  # what it said is still worth showing


def test_what_does_not_change_the_task_keeps_its_record_sound(repaired: Path) -> None:
    change(repaired / "task.json", lambda task: task.update(PASS_TO_PASS=task["PASS_TO_PASS"][::-1] * 2, timeout=1800))
    (repaired.parent / "panel.toml").write_text(
        'name = "renamed"\n[policy]\nmin_p2p = 0\nrepeats = 1\n[gate]\nmin_tasks = 3\n'
    )
    (repaired / "instruction.md").write_text("Mend it better.\n")
    assert look(repaired).soundness is Soundness.SOUND


# ---- edited

FIELDS: list[tuple[str, Any, Soundness]] = [
    ("instance_id", "other", Soundness.EDITED),
    ("verdict", "clean", Soundness.EDITED),
    ("reasons", [{"rule": "no-f2p"}], Soundness.EDITED),
    ("counts", {}, Soundness.EDITED),
    ("dropped", [], Soundness.EDITED),
    ("confirmation", None, Soundness.EDITED),
    ("image", {"id": "sha256:0"}, Soundness.EDITED),
    ("controls", {}, Soundness.EDITED),
    ("outcomes", "0" * 64, Soundness.EDITED),
    ("schema", 2, Soundness.EDITED),
    ("tool", "9.9.9", Soundness.EDITED),
    # what a record says of its inputs is what tells a stale one: an edit there looks like a changed task
    ("inputs", {}, Soundness.STALE),
    ("policy", {}, Soundness.STALE),
]


def test_every_field_of_a_record_is_tried_below(repaired: Path) -> None:
    assert {field for field, *_ in FIELDS} == set(json.loads((repaired / "repair.json").read_bytes()))


@pytest.mark.parametrize(("field", "value", "soundness"), FIELDS, ids=[field for field, *_ in FIELDS])
def test_a_changed_field_is_found(repaired: Path, field: str, value: Any, soundness: Soundness) -> None:
    change(repaired / "repair.json", lambda document: document.update({field: value}))
    assert look(repaired).soundness is soundness


@pytest.mark.parametrize("field", [field for field, _, soundness in FIELDS if soundness is Soundness.EDITED])
def test_a_removed_field_is_found(repaired: Path, field: str) -> None:
    change(repaired / "repair.json", lambda document: document.pop(field))
    assert look(repaired).soundness is Soundness.EDITED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"verdict": "repaired"', b'"verdict":  "repaired"'),
        (b"{\n", b"{\r\n"),
        (b'"verdict": "repaired"', b'"verdict": "repaired", "verdict": "clean"'),
        (b'"kept": 11', b'"kept": 12'),
        (b"needs lxml", b"needs l\\u0078ml"),
        (b'"min_p2p": 0', b'"min_p2p": 0, "note": 1'),
        (b'"platform": "linux/amd64"', b'"platform": null'),
    ],
)
def test_an_edit_that_keeps_a_record_readable_is_found(repaired: Path, old: bytes, new: bytes) -> None:
    change_text(repaired / "repair.json", old, new)
    found = look(repaired)
    assert found.soundness is Soundness.EDITED
    assert found.details[0].startswith("repair.json differs from what outcomes.json says")


def test_an_end_of_file_that_an_editor_changed_is_found(repaired: Path) -> None:
    for file in (repaired / "repair.json", repaired / "outcomes.json"):
        whole = file.read_bytes()
        for content in (whole.rstrip(b"\n"), whole + b"\n", b"\xef\xbb\xbf" + whole):
            records.overwrite(file, content)
            assert look(repaired).soundness in {Soundness.EDITED, Soundness.INCONSISTENT}
        records.overwrite(file, whole)
    assert look(repaired).soundness is Soundness.SOUND


def test_an_id_that_is_taken_out_of_a_drop_is_found_with_its_line(repaired: Path) -> None:
    lines = (repaired / "repair.json").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if KEEP in line)
    records.overwrite(repaired / "repair.json", "".join(lines[:at] + lines[at + 1 :]).encode())
    assert look(repaired).details == (f"repair.json differs from what outcomes.json says (first at line {at + 1})",)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200, deadline=None
)
@given(data=st.data())
def test_any_changed_byte_is_found(repaired: Path, data: st.DataObject) -> None:
    file = repaired / data.draw(st.sampled_from(["repair.json", "outcomes.json"]))
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = data.draw(st.integers(1, 255))
    records.overwrite(file, whole[:at] + bytes([whole[at] ^ flipped]) + whole[at + 1 :])
    try:
        assert look(repaired).soundness not in {Soundness.SOUND, Soundness.ABSENT}
    finally:
        records.overwrite(file, whole)


# ---- inconsistent


def test_outcomes_that_are_missing(repaired: Path) -> None:
    (repaired / "outcomes.json").unlink()
    found = look(repaired)
    assert (found.soundness, found.details) == (
        Soundness.INCONSISTENT,
        ("outcomes.json is missing: restore it from git",),
    )


@pytest.mark.parametrize("name", ["repair.json", "outcomes.json"])
@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b"{", b"\xff", b'"ids"', b'{"inputs": 1, "policy": 2}']
)
def test_a_file_that_is_no_record(repaired: Path, name: str, content: bytes) -> None:
    records.overwrite(repaired / name, content)
    found = look(repaired)
    assert found.soundness is Soundness.INCONSISTENT
    assert name in found.details[0]


@pytest.mark.parametrize("name", ["repair.json", "outcomes.json"])
def test_a_directory_where_a_file_belongs_concerns_its_task_alone(repaired: Path, name: str) -> None:
    (repaired / name).unlink()
    (repaired / name).mkdir()
    assert look(repaired).soundness is Soundness.INCONSISTENT


def test_a_broken_link_is_no_absent_record(repaired: Path) -> None:
    """`repair run` leaves such a task alone, so nobody may be told to run it."""
    (repaired / "repair.json").unlink()
    (repaired / "repair.json").symlink_to("nowhere")
    assert look(repaired).soundness is Soundness.INCONSISTENT


def test_a_newer_schema_is_named(repaired: Path) -> None:
    change_text(repaired / "outcomes.json", b'"schema": 1', b'"schema": 2')
    found = look(repaired)
    assert found.soundness is Soundness.INCONSISTENT
    assert "schema 2" in found.details[0]


def _other_task(found: Evidence) -> Evidence:
    return replace(found, instance_id="task-2")


def _fewer_runs(found: Evidence) -> Evidence:
    return replace(found, oracle=())


def _fewer_outcomes(found: Evidence) -> Evidence:
    rows = tuple(replace(row, oracle=()) for row in found.table.rows)
    return replace(found, table=replace(found.table, rows=rows))


def _more_outcomes(found: Evidence) -> Evidence:
    rows = tuple(replace(row, empty=row.empty * 2) for row in found.table.rows)
    return replace(found, table=replace(found.table, rows=rows))


def _fewer_ids(found: Evidence) -> Evidence:
    return replace(found, table=replace(found.table, rows=found.table.rows[:-1]))


def _other_list(found: Evidence) -> Evidence:
    rows = tuple(replace(row, lists=frozenset({ListName.F2P})) for row in found.table.rows)
    return replace(found, table=replace(found.table, rows=rows))


def _no_confirmation(found: Evidence) -> Evidence:
    return replace(found, confirm_table=None, confirm_empty=(), confirm_oracle=())


def _fewer_confirmed(found: Evidence) -> Evidence:
    assert found.confirm_table is not None
    return replace(found, confirm_table=replace(found.confirm_table, rows=found.confirm_table.rows[1:]))


def _fewer_confirming_runs(found: Evidence) -> Evidence:
    return replace(found, confirm_empty=())


def _nothing_left_to_confirm(found: Evidence) -> Evidence:
    rows = tuple(replace(row, empty=(Outcome.PASSED,), oracle=(Outcome.PASSED,)) for row in found.table.rows)
    return replace(found, table=replace(found.table, rows=rows))


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (_other_task, "is of another task"),
        (_fewer_runs, "holds 0 runs of a control, policy and evidence call for 1"),
        (_fewer_outcomes, "has no outcome for a control"),
        (_more_outcomes, "more or fewer outcomes than runs"),
        (_fewer_ids, "holds other P2P ids than task.json"),
        (_other_list, "holds other F2P ids than task.json"),
        (_no_confirmation, "a confirmation where none is due, or none where one is"),
        (_fewer_confirmed, "confirms other ids than are kept"),
        (_fewer_confirming_runs, "holds 0 runs of a control"),
        (_nothing_left_to_confirm, "a confirmation where none is due, or none where one is"),
    ],
)
def test_evidence_that_task_and_policy_do_not_call_for(
    repaired: Path, forge: Callable[[Evidence], Evidence], said: str
) -> None:
    forged = forge(read_outcomes((repaired / "outcomes.json").read_bytes()))
    records.overwrite(repaired / "outcomes.json", outcomes_json(forged))
    found = look(repaired)
    assert found.soundness is Soundness.INCONSISTENT
    assert said in " ".join(found.details)


# ---- absent


def test_no_record_is_absent_whatever_else_lies_there(repaired: Path) -> None:
    (repaired / "repair.json").unlink()
    found = look(repaired)
    assert (found.soundness, found.details) == (Soundness.ABSENT, ("no repair.json: run `repair run`",))


def test_examining_leaves_no_trace(repaired: Path) -> None:
    before = sorted((path, path.lstat().st_mtime_ns) for path in repaired.parent.rglob("*"))
    check.examine_all(records.load(repaired)[0])
    assert sorted((path, path.lstat().st_mtime_ns) for path in repaired.parent.rglob("*")) == before
    assert not os.access(repaired / "repair.json", os.X_OK)


def test_a_group_that_fails_is_dropped_whole(make_task: MakeTask) -> None:
    """Members are rebuilt from outcomes.json too."""
    directory = make_task()
    group = Observed(Outcome.SKIPPED, "needs lxml", {"m[1]": Outcome.PASSED, "m[2]": Outcome.SKIPPED})
    records.write(directory, {KEEP: group}, {KEEP: group})
    found = look(directory)
    assert found.soundness is Soundness.SOUND
    assert found.decision is not None
    assert [finding.ids for finding in found.decision.dropped] == [(KEEP,)]
