"""May a panel train or measure a model? Counts the admitted tasks, and writes what a training run takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from repair import rules
from repair.model import Panel, Rule, Verdict
from repair.records.check import Examined, Soundness
from repair.records.documents import policy_digest, policy_document
from repair.text import pretty
from repair.words import of

MANIFEST_SCHEMA = 1  # 1: the first


@dataclass(frozen=True, slots=True)
class Gate:
    """`admitted` are clean or confirmed repaired and sound, in the panel's order; `refused` says why of the others."""

    clean: int
    repaired: int
    min_tasks: int
    admitted: tuple[Examined, ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def passed(self) -> bool:
        return self.clean + self.repaired >= self.min_tasks

    @property
    def sum(self) -> str:
        """Such as `34 clean + 6 repaired = 40 ≥ 40`."""
        total = self.clean + self.repaired
        return f"{self.clean} clean + {self.repaired} repaired = {total} {'≥' if self.passed else '<'} {self.min_tasks}"


def judge(found: Sequence[Examined], min_tasks: int) -> Gate:
    """Count a panel's examined records against the fewest tasks that it needs."""
    admitted, refused = [], []
    for task in found:
        if task.soundness is Soundness.SOUND and task.decision is not None and rules.admits(task.decision.verdict):
            admitted.append(task)
        else:
            refused.append((task.task.instance_id, why_not(task)))
    verdicts = [task.decision.verdict for task in admitted if task.decision is not None]
    clean, repaired = verdicts.count(Verdict.CLEAN), verdicts.count(Verdict.REPAIRED)
    return Gate(clean, repaired, min_tasks, tuple(admitted), tuple(refused))


def why_not(task: Examined) -> str:
    """Why a task is not admitted: what is wrong with its record, or its reasons."""
    if task.soundness is not Soundness.SOUND or task.decision is None:
        return f"{task.soundness}: {'; '.join(task.details)}"
    if any(finding.rule is Rule.NOT_CONFIRMED for finding in task.decision.reasons):
        shown = dict.fromkeys(finding.cause for finding in task.decision.reasons)
        return f"{task.decision.verdict}: {of(Rule.NOT_CONFIRMED)} ({'; '.join(shown)})"
    alike = groupby(task.decision.reasons, lambda finding: (finding.rule, finding.list))
    counts = [(rule, name, sum(len(finding.ids) for finding in findings)) for (rule, name), findings in alike]
    said = [f"{number} {name or 'ids'} {of(rule)}" if number else of(rule) for rule, name, number in counts]
    return f"{task.decision.verdict}: " + "; ".join(said)


def manifest(panel: Panel, gate: Gate) -> bytes:
    """What a training run takes: the admitted tasks with their kept lists, images, and the digests that pin them."""
    tasks = [
        {
            "instance_id": task.task.instance_id,
            "verdict": task.decision.verdict,
            "image": {"id": task.evidence.image.id, "digest": task.evidence.image.digest},
            "FAIL_TO_PASS": list(task.decision.kept_f2p),
            "PASS_TO_PASS": list(task.decision.kept_p2p),
            "record": task.sha256,
        }
        for task in gate.admitted
        if task.decision is not None and task.evidence is not None
    ]
    document = {
        "schema": MANIFEST_SCHEMA,
        "panel": panel.name,
        "gate": {"passed": gate.passed, "admitted": len(tasks), "min_tasks": gate.min_tasks},
        "policy": policy_document(panel.policy),
        "policy_sha256": policy_digest(panel.policy),
        "tasks": tasks,
    }
    return (pretty(document) + "\n").encode("ascii")
