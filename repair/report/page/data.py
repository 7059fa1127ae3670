"""One task's page as JSON for a script element: compact, and unable to end the element that holds it.

Pure. Ids with a finding come first. Each id is the length of the prefix that it shares with the id before, and its
tail. An outcome is one letter per run, and all ids of a control share one text.
The page's script `repair/report/page/templates/grid.js` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from repair.model import Decision, Evidence, Finding, ListName, Outcome, Row, Run, Table, worst
from repair.text import printable
from repair.words import DROPPED, LETTERS, NO_OUTCOME, REFUSED, of

MEMBERS = 20  # most members of a group that the page shows
_LISTS = {frozenset({ListName.F2P}): "f", frozenset({ListName.P2P}): "p"}
_BOTH = "b"


@dataclass(frozen=True, slots=True)
class Log:
    """The end of one control's log, as text of several lines."""

    control: str
    tail: str


@dataclass(frozen=True, slots=True)
class Opened:
    """What the page of one task shows.

    `name`: its instance id.
    `word`: its verdict, or what is wrong with its record.
    `image`: the name of its image.
    `details`: what is wrong with its record; empty where nothing is.
    `evidence`, `decision`: what its record holds; None where that cannot be read.
    `logs`: the ends of its controls' logs.
    """

    name: str
    word: str
    image: str
    details: tuple[str, ...] = ()
    evidence: Evidence | None = None
    decision: Decision | None = None
    logs: tuple[Log, ...] = ()


def script_json(value: Any) -> str:
    """ASCII JSON without `<`, `>` and `&`: it can neither end a script element nor open a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\x7f", "\\u007f")


def task_json(task: Opened) -> str:
    """One task as JSON for a script element."""
    document: dict[str, Any] = {
        "name": printable(task.name),
        "word": task.word,
        "details": [printable(line) for line in task.details],
        "facts": [[label, printable(text)] for label, text in _facts(task)],
        "logs": [[log.control, log.tail] for log in task.logs],
        "findings": [],
        "tests": None,
    }
    if task.evidence is not None and task.decision is not None:
        kinds = [(REFUSED, finding) for finding in task.decision.reasons]
        kinds += [(DROPPED, finding) for finding in task.decision.dropped]
        kinds.sort(key=lambda pair: (pair[0] == DROPPED, -len(pair[1].ids)))  # refusals first, then by size
        document["findings"] = [_finding(kind, finding) for kind, finding in kinds]
        document["tests"] = _tests(task.evidence, [finding for _, finding in kinds])
    return script_json(document)


# ---- facts of the task


def _facts(task: Opened) -> list[tuple[str, str]]:
    evidence, decision = task.evidence, task.decision
    facts = [("image", task.image)]
    if evidence is None or decision is None:
        return facts
    image = evidence.image
    facts.append(("observed on", " ".join(filter(None, (image.id, image.digest, image.platform)))))
    for name, kept in ((ListName.F2P, decision.kept_f2p), (ListName.P2P, decision.kept_p2p)):
        facts.append((str(name), f"{sum(name in row.lists for row in evidence.table.rows)} → {len(kept)}"))
    facts += _runs("empty", evidence.empty) + _runs("oracle", evidence.oracle)
    if evidence.confirm_table is not None:
        word = "not confirmed" if decision.reasons else "confirmed"
        facts.append(("confirmation", f"{word}: both controls ran again on the trimmed lists"))
        facts += _runs("confirmation, empty", evidence.confirm_empty)
        facts += _runs("confirmation, oracle", evidence.confirm_oracle)
    if evidence.verifier is not None:
        facts.append(("own verifier", f"empty {evidence.verifier[0]:g}, oracle {evidence.verifier[1]:g}"))
    return facts


def _runs(name: str, runs: Sequence[Run]) -> list[tuple[str, str]]:
    facts = []
    for number, run in enumerate(runs, 1):
        extra = [*run.flags, *(f"set aside: {test}" for test in run.deadly), *filter(None, [run.patch])]
        status = "not run" if run.exit is None else f"exit {run.exit}"
        label = f"{name} {number}/{len(runs)}" if len(runs) > 1 else name
        facts.append((label, f"{status} ({'; '.join(extra)})" if extra else status))
    return facts


def _finding(kind: str, finding: Finding) -> dict[str, Any]:
    outcomes = f"empty {finding.empty}, oracle {finding.oracle}" if finding.empty or finding.oracle else ""
    return {
        "kind": kind,
        "list": finding.list or "",
        "rule": finding.rule,
        "words": of(finding.rule),
        "outcomes": outcomes,
        "cause": printable(finding.cause),
        "before": printable(finding.cause_empty),
        "count": len(finding.ids),
    }


# ---- its tests


def _tests(evidence: Evidence, findings: Sequence[Finding]) -> dict[str, Any]:
    marks: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        for test in finding.ids:
            marks.setdefault(test, []).append(number)
    rows = sorted(evidence.table.rows, key=lambda row: (marks.get(row.id, [len(findings)]), row.id))
    second = evidence.confirm_table or Table(())
    confirmed = {row.id: row for row in second.rows}
    shared, tails = _front_coded([printable(row.id) for row in rows])
    columns = [[row.empty for row in rows], [row.oracle for row in rows]]
    again = [confirmed.get(row.id) for row in rows]
    columns += [[row.empty if row else () for row in again], [row.oracle if row else () for row in again]]
    runs = [max(map(len, column), default=0) for column in columns]
    causes, cause_numbers = _causes(rows)
    return {
        "shared": shared,
        "tails": tails,
        "lists": "".join(_LISTS.get(row.lists, _BOTH) for row in rows),
        "runs": runs,
        "columns": [_column(column, number) for column, number in zip(columns, runs, strict=True)],
        "causes": causes,
        "seen": cause_numbers,
        "marks": [marks[row.id] for row in rows if row.id in marks],
        "groups": {number: _group(row) for number, row in enumerate(rows) if row.members},
    }


def _front_coded(ids: Sequence[str]) -> tuple[list[int], list[str]]:
    """For each id, how many UTF-16 units it shares with the id before, and its tail.

    The page's script cuts texts in such units.
    """
    shared, tails, before = [], [], ""
    for test in ids:
        limit = min(len(test), len(before))
        number = next((n for n in range(limit) if test[n] != before[n]), limit)
        shared.append(number + sum(char > "\uffff" for char in test[:number]) if not test.isascii() else number)
        tails.append(test[number:])
        before = test
    return shared, tails


def _column(cells: Sequence[Sequence[Outcome]], runs: int) -> str:
    return "".join(_letters(outcomes).ljust(runs, NO_OUTCOME) for outcomes in cells)


def _letters(outcomes: Sequence[Outcome]) -> str:
    return "".join(map(LETTERS.__getitem__, outcomes))


def _causes(rows: Sequence[Row]) -> tuple[list[str], list[int]]:
    """The causes, each once, and numbers of rows and causes.

    The numbers are triples in one list: row, cause under empty, cause under oracle. Only rows with a cause have one.
    """
    numbers = {"": 0}
    triples: list[int] = []
    for number, row in enumerate(rows):
        if row.cause_empty or row.cause_oracle:
            before, after = (numbers.setdefault(text, len(numbers)) for text in (row.cause_empty, row.cause_oracle))
            triples += (number, before, after)
    return [printable(text) for text in numbers], triples


def _group(row: Row) -> dict[str, Any]:
    """The number of a group's members, and at most `MEMBERS` of them, the worst under the oracle first."""

    def good(member: str) -> tuple[int, str]:
        _, oracle = row.members[member]
        return -worst(oracle).severity, member

    shown = sorted(row.members, key=good)[:MEMBERS]
    members = [(printable(member), [_letters(runs) for runs in row.members[member]]) for member in shown]
    return {"count": len(row.members), "members": members}
