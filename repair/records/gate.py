"""The gate of a panel: may it train or measure a model? It counts admitted tasks, and makes the training manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repair.model import Panel, Verdict
from repair.records import summary
from repair.records.check import Examined
from repair.records.documents import policy_digest, policy_document
from repair.text import pretty

MANIFEST_SCHEMA = 1  # 1: the first


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of a gate.

    `clean`, `repaired`: the numbers of admitted tasks with that verdict.
    `min_tasks`: the fewest admitted tasks that pass the gate.
    `admitted`: tasks with a sound record that is clean or confirmed, in the panel's order.
    `refused`: (name, why it is not admitted) of each other task.
    """

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
        """The count in words, such as `34 clean + 6 repaired = 40 ≥ 40`."""
        total = self.clean + self.repaired
        return f"{self.clean} clean + {self.repaired} repaired = {total} {'≥' if self.passed else '<'} {self.min_tasks}"


def judge(records: Sequence[Examined], min_tasks: int) -> Gate:
    """Count a panel's examined records against the fewest tasks that it needs."""
    admitted = tuple(record for record in records if record.admitted)
    others = (summary.of_record(record) for record in records if not record.admitted)
    verdicts = [record.decision.verdict for record in admitted if record.decision is not None]
    return Gate(
        verdicts.count(Verdict.CLEAN),
        verdicts.count(Verdict.REPAIRED),
        min_tasks,
        admitted,
        tuple((task.name, f"{task.word}: {task.why}") for task in others),
    )


def manifest(panel: Panel, gate: Gate) -> bytes:
    """The bytes of the manifest for a training run: admitted tasks, kept lists, images, and digests that pin them."""
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
