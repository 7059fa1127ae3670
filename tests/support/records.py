"""Records made without an engine: what both controls saw, said in a few words, written by the library itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from repair import rules, table
from repair.controls.workspace import Workspace
from repair.model import Evidence, Image, Observed, Outcome, Panel, Policy, Run, Task, Verdict
from repair.panel import read
from repair.panel.inputs import inputs, source_digest
from repair.records.documents import outcomes_json, repair_json
from repair.text import sha256

IMAGE = Image("sha256:" + "1" * 64, "registry.example/calc@sha256:" + "2" * 64, "linux/amd64")
Seen = Mapping[str, Observed]

MISSING = Observed(Outcome.MISSING, "not collected")
SKIPPED = Observed(Outcome.SKIPPED, "needs lxml")
FAILED = Observed(Outcome.FAILED, "AssertionError at calc.py:2")


def run(f2p: tuple[str, ...], p2p: tuple[str, ...], *, oracle: bool, other: Seen) -> Run:
    """A run in which all goes as a task's author wants it, but for `other`."""
    passed = Observed(Outcome.PASSED)
    wanted = dict.fromkeys(p2p, passed) | dict.fromkeys(f2p, passed if oracle else FAILED)
    seen = {test: other.get(test, found) for test, found in wanted.items()}
    return Run(IMAGE.id, int(any(found.outcome is not Outcome.PASSED for found in seen.values())), seen)


def evidence(task: Task, policy: Policy, empty: Seen, oracle: Seen, confirm_oracle: Seen | None = None) -> Evidence:
    """What both controls of a task show, confirmed where the rule wants to drop something."""

    def pair(f2p: tuple[str, ...], p2p: tuple[str, ...], after: Seen) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        before = (run(f2p, p2p, oracle=False, other=empty),) * policy.repeats
        return before, (run(f2p, p2p, oracle=True, other=after),) * policy.repeats

    first = pair(task.f2p, task.p2p, oracle)
    seen = table.build(task.f2p, task.p2p, *first)
    decision = rules.decide(seen, policy)
    if decision.verdict is not Verdict.REPAIRED:
        return Evidence(task.instance_id, "0.1.0", IMAGE, *first, seen)
    kept = decision.kept_f2p, decision.kept_p2p
    second = pair(*kept, oracle if confirm_oracle is None else confirm_oracle)
    return Evidence(task.instance_id, "0.1.0", IMAGE, *first, seen, *second, table.build(*kept, *second))


def write(
    directory: Path, empty: Seen | None = None, oracle: Seen | None = None, confirm_oracle: Seen | None = None
) -> None:
    """Write the record of the task in `directory` as `repair run` does."""
    panel, task = load(directory)
    found = evidence(task, panel.policy, empty or {}, oracle or {}, confirm_oracle)
    write_evidence(panel, task, found)


def write_evidence(panel: Panel, task: Task, found: Evidence) -> None:
    workspace = Workspace(panel, "test")
    outcomes = outcomes_json(found)
    made_from = inputs(task) if found.verifier is None else replace(inputs(task), source=source_digest(task))
    record = repair_json(rules.repair_of(found, made_from, panel.policy), sha256(outcomes))
    with workspace.task_lock(task, lambda: True):
        workspace.save(task, outcomes, record)


def load(directory: Path) -> tuple[Panel, Task]:
    """The panel of a task's directory, and the task."""
    panel = read.load(directory.parent, directory.name.__eq__)
    return panel, panel.tasks[0]


def overwrite(file: Path, content: bytes) -> None:
    """Change a file that may be there read-only."""
    file.unlink(missing_ok=True)
    file.write_bytes(content)
