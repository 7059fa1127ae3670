"""Is a record what it should be? Every byte of repair.json is rebuilt from outcomes.json and the task's files.

That finds a record that was edited, or that no longer fits its task. A forgery of both files is found by running the
controls again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import orjson

from repair import rules
from repair.errors import StoreError
from repair.files import read_if_there
from repair.model import (
    Decision,
    Evidence,
    Inputs,
    ListName,
    Panel,
    Policy,
    Repair,
    Run,
    Table,
    Task,
    Verdict,
)
from repair.panel.inputs import inputs, source_digest
from repair.panel.read import OUTCOMES, RECORD, has_record
from repair.records.documents import (
    inputs_document,
    outcomes_json,
    policy_document,
    read_outcomes,
    repair_json,
)
from repair.rules import final_decision, repair_of
from repair.text import sha256


class Soundness(StrEnum):
    """What `repair check` says of a task."""

    SOUND = "sound"
    STALE = "stale"  # the task, its patches or the policy changed since
    EDITED = "edited"  # repair.json or outcomes.json is not as it was written
    INCONSISTENT = "inconsistent"  # not readable, or not the evidence that task and policy call for
    ABSENT = "absent"  # no record


@dataclass(frozen=True, slots=True)
class Examined:
    """One task's record: its soundness, why, and what its evidence says where that can be read."""

    task: Task
    soundness: Soundness
    details: tuple[str, ...] = ()
    table: Table | None = None
    decision: Decision | None = None
    evidence: Evidence | None = None
    sha256: str = ""

    @property
    def admitted(self) -> bool:
        """Does a gate count the task? Its record is sound, and clean or confirmed."""
        return self.soundness is Soundness.SOUND and self.decision is not None and rules.admits(self.decision.verdict)


def examine(panel: Panel, task: Task) -> Examined:
    """Examine the record of one task. Reads files only."""
    if not has_record(task):
        return Examined(task, Soundness.ABSENT, (f"no {RECORD}: run `repair run`",))
    for name in (RECORD, OUTCOMES):
        if (task.directory / name).is_dir():
            return Examined(task, Soundness.INCONSISTENT, (f"{name} is a directory",))
    written = read_if_there(task.directory / RECORD)
    content = read_if_there(task.directory / OUTCOMES)
    if written is None:
        return Examined(task, Soundness.INCONSISTENT, (f"{RECORD} is a broken link",))
    try:
        document = orjson.loads(written)
        made_from = _inputs(task, with_source="source" in document["inputs"])
        changed = _changed(document, made_from, panel.policy)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        return Examined(task, Soundness.INCONSISTENT, (f"{RECORD} is no record ({type(err).__name__}: {err})",))
    if content is None:
        return Examined(task, Soundness.INCONSISTENT, (f"{OUTCOMES} is missing: restore it from git",))
    try:
        evidence = read_outcomes(content)
        wrong = () if changed else tuple(_not_called_for(evidence, task, panel.policy))
        made_from = _inputs(task, with_source=evidence.verifier is not None)
        repair = repair_of(evidence, made_from, panel.policy)
    except (StoreError, ValueError) as err:
        return Examined(task, Soundness.INCONSISTENT, (str(err),))
    if changed or wrong:
        soundness = Soundness.STALE if changed else Soundness.INCONSISTENT
        return Examined(task, soundness, changed or wrong, evidence.table, repair.decision, evidence, sha256(written))
    edited = _edited(repair, document, content, written)
    unlike = () if edited else _unlike_mint(task)
    soundness = Soundness.EDITED if edited else Soundness.STALE if unlike else Soundness.SOUND
    return Examined(task, soundness, edited or unlike, evidence.table, repair.decision, evidence, sha256(written))


def _unlike_mint(task: Task) -> tuple[str, ...]:
    """Lists that are not those that a mint.json beside them gave: then somebody changed them by hand."""
    content = read_if_there(task.directory / MINT)
    if content is None:
        return ()
    try:
        minted = lists_in(content)
    except StoreError as err:
        return (str(err),)
    return tuple(f"{name} is not as {MINT} classed its tests" for name in ListName if task.listed(name) != minted[name])


def _inputs(task: Task, *, with_source: bool) -> Inputs:
    return replace(inputs(task), source=source_digest(task)) if with_source else inputs(task)


def _edited(repair: Repair, document: dict[str, Any], content: bytes, written: bytes) -> tuple[str, ...]:
    """Where the two files are not what the evidence gives, byte for byte."""
    edited = []
    if outcomes_json(repair.evidence) != content or document.get("outcomes") != sha256(content):
        edited.append(f"{OUTCOMES} is not as it was written")
    rebuilt = repair_json(repair, sha256(content))
    if rebuilt != written:
        edited.append(f"{RECORD} differs from what {OUTCOMES} says{_first_difference(rebuilt, written)}")
    return tuple(edited)


def _changed(document: dict[str, Any], now: Inputs, policy: Policy) -> tuple[str, ...]:
    """What a record was made from and is different today, by name."""
    then = document["inputs"]
    today = inputs_document(now)
    names = {"task": "task.json (or panel.toml's [defaults])", "environment": "environment/"}
    changed = [names.get(key, key) for key in {**today, **then} if then.get(key) != today.get(key)]
    recorded, asked = document["policy"], policy_document(policy)
    changed += [f"policy {key}" for key in asked if recorded.get(key) != asked[key]]
    return tuple(f"{name} changed since" for name in changed)


def _not_called_for(evidence: Evidence, task: Task, policy: Policy) -> list[str]:
    """Where the evidence is not what this task and policy call for: runs, ids, confirmation."""
    wrong = [f"{OUTCOMES} is of another task"] if evidence.instance_id != task.instance_id else []
    for name in ListName:
        if tuple(row.id for row in evidence.table.rows if name in row.lists) != task.listed(name):
            wrong.append(f"{OUTCOMES} holds other {name} ids than task.json")
    due = rules.runs_due(evidence.table, policy)
    wrong += _wrong_runs(evidence.table, due, evidence.empty, evidence.oracle)
    if evidence.confirm_table is not None:
        wrong += _wrong_runs(evidence.confirm_table, due, evidence.confirm_empty, evidence.confirm_oracle)
    wrong = wrong or _wrong_confirmation(evidence, rules.decide(evidence.table, policy))
    if not wrong and evidence.verifier is not None:
        without = final_decision(replace(evidence, verifier=None), policy)
        wrong = [] if rules.admits(without.verdict) else [f"{OUTCOMES} holds an own verifier's word where none is due"]
    return wrong


def _wrong_runs(table: Table, due: int, *controls: tuple[Run, ...]) -> list[str]:
    wrong = [
        f"{OUTCOMES} holds {len(runs)} runs of a control, policy and evidence call for {due}"
        for runs in controls
        if len(runs) != due
    ]
    outcomes = 0 if table.patch_errors else due
    if any(len(row.empty) != outcomes or len(row.oracle) != outcomes for row in table.rows):
        wrong.append(f"{OUTCOMES} holds ids with more or fewer outcomes than runs")
    return wrong


def _wrong_confirmation(evidence: Evidence, first: Decision) -> list[str]:
    if (first.verdict is Verdict.REPAIRED) != (evidence.confirm_table is not None):
        return [f"{OUTCOMES} holds a confirmation where none is due, or none where one is"]
    if evidence.confirm_table is not None:
        rows = evidence.confirm_table.rows
        if {row.id for row in rows} != {*first.kept_f2p, *first.kept_p2p}:
            return [f"{OUTCOMES} confirms other ids than are kept"]
    return []


def _first_difference(rebuilt: bytes, written: bytes) -> str:
    pairs = enumerate(zip(rebuilt.splitlines(), written.splitlines(), strict=False), 1)
    line = next((number for number, (ours, theirs) in pairs if ours != theirs), None)
    return f" (first at line {line})" if line else ""


def examine_all(panel: Panel) -> list[Examined]:
    """Examine every task of a panel, in its order, without keeping each test's outcomes: a panel may be large."""
    return [_without_tests(examine(panel, task)) for task in panel.tasks]


def _without_tests(found: Examined) -> Examined:
    if found.evidence is None:
        return found
    evidence = replace(found.evidence, table=Table(()), confirm_table=None)
    return replace(found, table=None, evidence=evidence)


MINT = "mint.json"


def lists_in(content: bytes) -> dict[ListName, tuple[str, ...]]:
    """The lists that a mint.json gives its task, sorted. Raises `StoreError` where it is not one of ours."""
    lists: dict[ListName, list[str]] = {name: [] for name in ListName}
    try:
        for test, found in orjson.loads(content)["tests"].items():
            if found["class"] in lists:
                lists[ListName(found["class"])].append(test)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise StoreError(f"{MINT} is not one of ours ({type(err).__name__}: {err})", "restore it from git") from None
    return {name: tuple(sorted(tests)) for name, tests in lists.items()}
