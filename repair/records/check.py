"""The check of a record: it rebuilds every byte of repair.json from outcomes.json and the task's files.

It finds a record that was edited, or that no longer fits its task. It does not find a forgery of both files: for that,
`repair check --rerun` runs the controls again.
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
    """What `repair check` says of a task's record."""

    SOUND = "sound"
    STALE = "stale"  # the task, its patches or the policy changed since, or the lists are not as mint.json gives them
    EDITED = "edited"  # repair.json or outcomes.json is not as repair wrote it
    INCONSISTENT = "inconsistent"  # unreadable, or not the evidence that task and policy call for
    ABSENT = "absent"  # there is no record


@dataclass(frozen=True, slots=True)
class Examined:
    """One task's record after its examination.

    `task`: the task.
    `soundness`: the answer.
    `details`: why the record is not sound; empty where it is.
    `table`: the outcomes of its tests; None where they cannot be read or were not kept.
    `decision`: what the rule makes of its evidence; None where that cannot be read.
    `evidence`: what outcomes.json holds; None where that cannot be read.
    `sha256`: the digest of repair.json, in hexadecimal; empty where the evidence cannot be read.
    """

    task: Task
    soundness: Soundness
    details: tuple[str, ...] = ()
    table: Table | None = None
    decision: Decision | None = None
    evidence: Evidence | None = None
    sha256: str = ""

    @property
    def admitted(self) -> bool:
        """Does a gate count the task? It does where the record is sound, and clean or confirmed."""
        return self.soundness is Soundness.SOUND and self.decision is not None and rules.admits(self.decision.verdict)


def examine(panel: Panel, task: Task) -> Examined:
    """Examine the record of one task. It reads files only.

    Raises `StoreError` or `UsageError` where a file is there and cannot be read.
    """
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
        faults = () if changed else tuple(_not_called_for(evidence, task, panel.policy))
        made_from = _inputs(task, with_source=evidence.verifier is not None)
        repair = repair_of(evidence, made_from, panel.policy)
    except (StoreError, ValueError) as err:
        return Examined(task, Soundness.INCONSISTENT, (str(err),))
    if changed or faults:
        soundness = Soundness.STALE if changed else Soundness.INCONSISTENT
        return Examined(task, soundness, changed or faults, evidence.table, repair.decision, evidence, sha256(written))
    edited = _edited(repair, document, content, written)
    differences = () if edited else _unlike_mint(task)
    soundness = Soundness.EDITED if edited else Soundness.STALE if differences else Soundness.SOUND
    return Examined(task, soundness, edited or differences, evidence.table, repair.decision, evidence, sha256(written))


def _unlike_mint(task: Task) -> tuple[str, ...]:
    """Where task.json lists other ids than the mint.json next to it gave: then a person changed the lists by hand."""
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
    """What a record was made from and what differs today, by name."""
    recorded_inputs = document["inputs"]
    current_inputs = inputs_document(now)
    names = {"task": "task.json (or panel.toml's [defaults])", "environment": "environment/"}
    changed = [
        names.get(key, key)
        for key in {**current_inputs, **recorded_inputs}
        if recorded_inputs.get(key) != current_inputs.get(key)
    ]
    recorded_policy, current_policy = document["policy"], policy_document(policy)
    changed += [f"policy {key}" for key in current_policy if recorded_policy.get(key) != current_policy[key]]
    return tuple(f"{name} changed since" for name in changed)


def _not_called_for(evidence: Evidence, task: Task, policy: Policy) -> list[str]:
    """Where the evidence is not what task and policy call for: id, lists, runs, confirmation, own verifier."""
    faults = [f"{OUTCOMES} is of another task"] if evidence.instance_id != task.instance_id else []
    for name in ListName:
        if tuple(row.id for row in evidence.table.rows if name in row.lists) != task.listed(name):
            faults.append(f"{OUTCOMES} holds other {name} ids than task.json")
    due = rules.runs_due(evidence.table, policy)
    faults += _wrong_runs(evidence.table, due, evidence.empty, evidence.oracle)
    if evidence.confirm_table is not None:
        faults += _wrong_runs(evidence.confirm_table, due, evidence.confirm_empty, evidence.confirm_oracle)
    faults = faults or _wrong_confirmation(evidence, rules.decide(evidence.table, policy))
    if not faults and evidence.verifier is not None:
        without = final_decision(replace(evidence, verifier=None), policy)
        faults = [] if rules.admits(without.verdict) else [f"{OUTCOMES} holds an own verifier's word where none is due"]
    return faults


def _wrong_runs(table: Table, due: int, *controls: tuple[Run, ...]) -> list[str]:
    faults = [
        f"{OUTCOMES} holds {len(runs)} runs of a control, policy and evidence call for {due}"
        for runs in controls
        if len(runs) != due
    ]
    outcomes = 0 if table.patch_errors else due
    if any(len(row.empty) != outcomes or len(row.oracle) != outcomes for row in table.rows):
        faults.append(f"{OUTCOMES} holds ids with more or fewer outcomes than runs")
    return faults


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
    line = next((number for number, (expected, actual) in pairs if expected != actual), None)
    return f" (first at line {line})" if line else ""


def examine_all(panel: Panel) -> list[Examined]:
    """Examine every task of a panel, in its order.

    The outcomes of each test are not kept, since a panel may be large.
    """
    return [_without_tests(examine(panel, task)) for task in panel.tasks]


def _without_tests(found: Examined) -> Examined:
    if found.evidence is None:
        return found
    evidence = replace(found.evidence, table=Table(()), confirm_table=None)
    return replace(found, table=None, evidence=evidence)


MINT = "mint.json"


def lists_in(content: bytes) -> dict[ListName, tuple[str, ...]]:
    """The lists that a mint.json gives its task, sorted. Raises `StoreError` where repair did not write it."""
    lists: dict[ListName, list[str]] = {name: [] for name in ListName}
    try:
        for test, entry in orjson.loads(content)["tests"].items():
            if entry["class"] in lists:
                lists[ListName(entry["class"])].append(test)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise StoreError(f"{MINT} is not one of ours ({type(err).__name__}: {err})", "restore it from git") from None
    return {name: tuple(sorted(tests)) for name, tests in lists.items()}
