"""mint.json as bytes: the class of each test of a minted task, for people who review the new panel.

The same evidence gives the same bytes, as in the records: no time, host or path.
`repair check` compares the lists of task.json with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repair.mint.classes import LISTED, Derivation, Derived, Group, groups, shown
from repair.model import Image, Inputs, Policy, Row, Run, Task
from repair.records.documents import brief, finding_document, image_document, inputs_document, policy_document
from repair.text import inline, pretty

SCHEMA = 1  # 1: the first


@dataclass(frozen=True, slots=True)
class Minted:
    """One task's derivation and what it was made from.

    `task`: the task with its new lists.
    `tool`: the version of repair that minted it.
    `image`: the image that its controls ran in.
    `inputs`: digests of the task's files.
    `policy`: the policy of its panel.
    `origin`: what names `files`: tests.patch, test_files, or test_cmd, where the command chooses what runs.
    `files`: test files that ran; empty means all that the test command runs.
    `empty`, `oracle`: the runs of each control, without their tests.
    `derivation`: the class of each test, and why there are no lists.
    `trials`: how often the lists were tried.
    """

    task: Task
    tool: str
    image: Image
    inputs: Inputs
    policy: Policy
    origin: str
    files: tuple[str, ...]
    empty: tuple[Run, ...]
    oracle: tuple[Run, ...]
    derivation: Derivation
    trials: int = 0

    @property
    def refused(self) -> bool:
        return bool(self.derivation.reasons)


def mint_json(minted: Minted) -> bytes:
    """The bytes of mint.json: verdict, reasons, counts, unlisted tests by cause, then one test per line."""
    derivation = minted.derivation
    document = {
        "instance_id": minted.task.instance_id,
        "verdict": "refused" if minted.refused else "minted",
        "reasons": [finding_document(reason) for reason in derivation.reasons],
        "counts": {derived: len(derivation.ids(derived)) for derived in Derived},
        "unlisted": [_group(group) for group in groups(derivation) if group.derived not in LISTED],
        "broken": [_place(place, row) for place, row in sorted(derivation.broken.items())],
        "from": minted.origin,
        "files": list(minted.files),
        "select": minted.task.select,
        "image": image_document(minted.image),
        "controls": {
            "empty": [brief(run) for run in minted.empty],
            "oracle": [brief(run) for run in minted.oracle],
        },
        "trials": minted.trials,
        "inputs": inputs_document(minted.inputs),
        "policy": policy_document(minted.policy),
        "schema": SCHEMA,
        "tool": minted.tool,
    }
    head = pretty(document).removesuffix("\n}")
    tests = [f"  {inline(test)}: {inline(_test(derivation, test))}" for test in sorted(derivation.classes)]
    body = "{\n" + ",\n".join(tests) + "\n }" if tests else "{}"
    return f'{head},\n "tests": {body}\n}}\n'.encode("ascii")


def _group(group: Group) -> dict[str, Any]:
    document: dict[str, Any] = {"class": group.derived, "empty": group.empty, "oracle": group.oracle}
    causes = {"cause": group.cause, "cause_empty": group.cause_empty}
    document |= {key: cause for key, cause in causes.items() if cause}
    return {**document, "count": len(group.ids), "ids": list(group.ids)}


def _place(place: str, row: Row) -> dict[str, str]:
    empty, oracle, cause, other = shown(row, with_causes=True)
    return {"place": place, "empty": empty, "oracle": oracle, "cause": cause} | (
        {"cause_empty": other} if other else {}
    )


def _test(found: Derivation, test: str) -> Mapping[str, Any]:
    row = found.rows[test]
    document: dict[str, Any] = {"class": found.classes[test], "empty": list(row.empty), "oracle": list(row.oracle)}
    if test in found.tried:
        document["tried"] = {"empty": list(found.tried[test].empty), "oracle": list(found.tried[test].oracle)}
    return document
