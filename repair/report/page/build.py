"""The page of a panel, built from its records. It reads files only, and holds one task's outcomes at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from repair import __version__, rules, words
from repair.controls.workspace import latest_log
from repair.model import ControlKind, Decision, Finding, Panel, Task, Verdict
from repair.records import summary
from repair.records.causes import rank
from repair.records.check import Examined, Soundness, examine
from repair.records.documents import policy_document
from repair.records.gate import judge
from repair.records.summary import Summary
from repair.report.page.data import Log, Opened, task_json
from repair.report.page.html import CauseView, FlakyView, GateView, Page, Share, TaskView
from repair.text import shown_line

FLAKY = 500  # most flaky ids that the page lists, over the panel
TAIL_LINES = 40  # most lines of one log that the page shows
TAIL_BYTES = 4000  # most bytes of these lines


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of one task while the page is built.

    `view`: its row in the task table.
    `found`: its examined record as the gate needs it, without the outcomes of tests.
    `findings`: drops and reasons, from which causes are ranked; empty where the record is not sound.
    `flaky`: its first flaky ids, at most `FLAKY`.
    """

    view: TaskView
    found: Examined
    findings: tuple[Finding, ...]
    flaky: tuple[FlakyView, ...]


def page(panel: Panel, *, whole: bool = True) -> Page:
    """The page of a panel's tasks. `whole`: these are all tasks of the panel; its gate is judged only then."""
    entries = [_seen(panel, task) for task in panel.tasks]
    gate = judge([task.found for task in entries], panel.min_tasks)
    causes = rank((task.view.task.name, finding) for task in entries for finding in task.findings)
    images = {task.instance_id: task.image for task in panel.tasks}
    flaky = [view for task in entries for view in task.flaky]
    number = len(panel.tasks)
    return Page(
        panel=panel.name,
        tool=__version__,
        gate=GateView(gate.passed, gate.sum) if whole else GateView(None, f"{number} of its tasks: no gate is judged"),
        policy=tuple((key, _spelt(value)) for key, value in policy_document(panel.policy).items()),
        tasks=tuple(task.view for task in entries),
        causes=tuple(
            CauseView(cause.cause, cause.tests, tuple(Share(name, tests, images[name]) for name, tests in cause.tasks))
            for cause in causes
        ),
        flaky=tuple(flaky[:FLAKY]),
        flaky_ids=sum(task.view.flaky for task in entries),
    )


def _spelt(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _seen(panel: Panel, task: Task) -> _Seen:
    record = examine(panel, task)
    evidence, decision = record.evidence, record.decision
    word = _word(record)
    logs = tuple(_logs(panel, task, word))
    opened = Opened(task.instance_id, word, task.image, _details(record, logs), evidence, decision, logs)
    brief = replace(record, table=None, evidence=None, decision=decision and _brief(decision))
    if record.soundness is not Soundness.SOUND or evidence is None or decision is None:
        short = Summary(task.instance_id, word, note="; ".join(opened.details))
        return _Seen(TaskView(short, task_json(opened)), brief, (), ())
    short = summary.of_decision(task.instance_id, evidence.table, decision)
    flaky = tuple(FlakyView(task.instance_id, test, rates) for test, rates in rules.flaky(evidence))
    view = TaskView(short, task_json(opened), len(flaky))
    return _Seen(view, brief, (*decision.reasons, *decision.dropped), flaky[:FLAKY])


def _brief(decision: Decision) -> Decision:
    return replace(decision, kept_f2p=(), kept_p2p=())


def _word(found: Examined) -> str:
    match found.soundness:
        case Soundness.ABSENT:
            return words.NOT_RUN
        case Soundness.SOUND if found.decision is not None:
            return str(found.decision.verdict)
        case _:
            return str(found.soundness)


def _details(found: Examined, logs: tuple[Log, ...]) -> tuple[str, ...]:
    if found.soundness is Soundness.ABSENT and logs:
        controls = " and ".join(log.control for log in logs)
        return (f"{controls} ran and left no record: see the log, then `repair run`",)
    return found.details


# ---- logs


def _logs(panel: Panel, task: Task, word: str) -> Iterator[Log]:
    """The ends of the logs that tell why a task is not admitted.

    These are the logs of both controls where there is no record, and the oracle's where the record refuses the task.
    """
    if word == words.NOT_RUN:
        kinds = tuple(ControlKind)
    elif word == Verdict.REFUSED:
        kinds = (ControlKind.ORACLE,)
    else:
        return
    for kind in kinds:
        file = latest_log(panel, task, kind)
        tail = None if file is None else _tail(file)
        if tail:
            yield Log(str(kind), tail)


def _tail(file: Path) -> str:
    """The last lines of a log, at most `TAIL_LINES` and `TAIL_BYTES`; empty where it cannot be read."""
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - TAIL_BYTES))
            text = stream.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [shown_line(line) for line in text.splitlines()]
    whole = lines if size <= TAIL_BYTES or len(lines) == 1 else lines[1:]
    cut = ["…"] if size > TAIL_BYTES or len(whole) > TAIL_LINES else []
    return "\n".join([*cut, *whole[-TAIL_LINES:]]).strip("\n")
