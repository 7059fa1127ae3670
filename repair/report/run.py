"""What `repair run`, `check` and `gate` show: text for people, or a document for `--json`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from repair.errors import EngineLost, InfrastructureError, RepairError
from repair.model import Panel
from repair.pipeline import Result, State
from repair.records import summary
from repair.records.check import Examined, Soundness, examine
from repair.records.gate import Gate
from repair.records.summary import Summary
from repair.report import terminal
from repair.text import capped, number, printable
from repair.words import NOT_RUN

SHOWN = 20  # differences of one task


def exit_code(results: Sequence[Result]) -> int:
    """The exit status of a run: that of its failures, else 1 where a record is unsound, else 0."""
    code = failure_code(result.error for result in results if result.state is State.FAILED)
    return code or int(any(result.state is State.UNSOUND for result in results))


def failure_code(errors: Iterable[RepairError | None]) -> int:
    """The exit status for errors that left tasks without a result; 0 for no error.

    It is the one code that all errors have, or the general code where they differ. A lost engine outranks all others.
    """
    codes = {error.code for error in errors if error is not None}
    if EngineLost.code in codes:
        return EngineLost.code
    return (codes.pop() if len(codes) == 1 else InfrastructureError.code) if codes else 0


# ---- run


def plan(panel: Panel) -> dict[str, str]:
    """What a run would do with each task, by the task's name."""
    return {task.instance_id: _planned(panel, examine(panel, task)) for task in panel.tasks}


def _planned(panel: Panel, found: Examined) -> str:
    if found.soundness is not Soundness.ABSENT:
        return f"leave alone: its record is {found.soundness}"
    runs = panel.policy.repeats
    return f"run empty and oracle {runs} time{'s' * (runs > 1)} each in {found.task.image}"


def run_text(panel: PurePath, results: Sequence[Result], width: int | None) -> str:
    """The closing table of a run, the unsound records, totals, and where to look next.

    `width`: columns; None, for a pipe, cuts nothing.
    """
    parts = [terminal.closing_table([_summary(result) for result in results], width)]
    for result in results:
        if result.state is State.UNSOUND:
            why = printable(
                f"{result.task.instance_id}: its record is {result.soundness} ({'; '.join(result.details)})"
            )
            parts.append(f"{why}; to decide it anew:\n    rm {quoted(result.task.directory / 'repair.json')}\n")
    parts.append(f"\n{number(len(results), 'task')}: {', '.join(_totals(results))}\n")
    parts.append(f"next: repair show {quoted(panel)}/TASK\n      repair gate {quoted(panel)}\n")
    return "".join(parts)


def _summary(result: Result) -> Summary:
    name = result.task.instance_id
    if result.table is None or result.decision is None:
        word = result.soundness or (NOT_RUN if result.state is State.NOT_RUN else str(result.state))
        return Summary(name, word, note=result.error.message if result.error else "")
    return summary.of_decision(name, result.table, result.decision)


def _totals(results: Sequence[Result]) -> list[str]:
    verdicts = [result.decision.verdict for result in results if result.decision is not None]
    totals = [f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts))]
    words = {
        State.UNSOUND: "with an unsound record",
        State.FAILED: "failed",
        State.NOT_RUN: NOT_RUN,
        State.KEPT: "left alone",
    }
    for state, word in words.items():
        count = sum(result.state is state for result in results)
        totals += [f"{count} {word}"] * bool(count)
    return totals


def failures_text(failed: Iterable[tuple[str, RepairError | None]]) -> str:
    """The failed tasks by kind of error: what happened, to which tasks, and what to do."""
    kinds: dict[str, list[tuple[str, RepairError]]] = {}
    for task, error in failed:
        if error is not None:
            kinds.setdefault(error.kind, []).append((task, error))
    parts = []
    for kind, failures in sorted(kinds.items()):
        parts.append(f"\n{kind}: {number(len(failures), 'task')} without a verdict\n")
        parts += [printable(f"  {task}: {error}") + "\n" for task, error in failures]
    return "".join(parts)


def run_document(results: Sequence[Result], code: int) -> dict[str, Any]:
    """A run as `{"exit": code, "tasks": [...]}`: state, verdict, counts, note, and the error of a failed task."""
    return {"exit": code, "tasks": [_document(result) for result in results]}


def _document(result: Result) -> dict[str, Any]:
    document: dict[str, Any] = {"instance_id": result.task.instance_id, "state": result.state}
    if result.table is not None and result.decision is not None:
        task = summary.of_decision(result.task.instance_id, result.table, result.decision)
        document |= {"verdict": task.word, "F2P": _pair(task.f2p), "P2P": _pair(task.p2p)}
        document |= {"dropped": task.dropped, "note": task.note}
    if result.details:
        document |= {"is": result.soundness, "details": list(result.details)}
    if result.error is not None:
        document["error"] = error_document(result.error)
    return document


def _pair(numbers: tuple[int, int] | None) -> dict[str, int]:
    return dict(zip(("listed", "kept"), numbers or (0, 0), strict=True))


def error_document(error: RepairError) -> dict[str, str]:
    return {"kind": error.kind, "message": error.message, "next": error.next}


# ---- check


def check_text(found: Sequence[Examined], again: Sequence[Result]) -> str:
    """What a check says of each record, and of each task whose controls ran again."""
    lines = []
    for task in found:
        details = f" ({'; '.join(task.details)})" if task.details else ""
        lines.append(f"{task.task.instance_id}: {task.soundness}{details}")
    for result in again:
        lines.append(f"{result.task.instance_id}: {_again(result)}")
        lines += capped([f"    {line}" for line in result.details], SHOWN, "    ")
    sound = sum(task.soundness is Soundness.SOUND for task in found)
    lines.append(f"{sound} of {len(found)} records are sound")
    return "".join(f"{printable(line)}\n" for line in lines)


def _again(result: Result) -> str:
    match result.state:
        case State.KEPT:
            return "ran again: same evidence"
        case State.UNSOUND:
            return "ran again: OTHER evidence"
        case State.FAILED:
            return f"ran again: {result.error}"
        case State.NOT_RUN | State.RECORDED:
            return "not run again"


def check_document(found: Sequence[Examined], again: Sequence[Result], code: int) -> dict[str, Any]:
    """A check as `{"exit": code, "tasks": [{"instance_id", "is", "details"}], "rerun": [...]}`."""
    tasks = [
        {"instance_id": task.task.instance_id, "is": task.soundness, "details": list(task.details)} for task in found
    ]
    return {"exit": code, "tasks": tasks, "rerun": [_document(result) for result in again]}


# ---- gate


def gate_text(gate: Gate) -> str:
    """The sum of the gate, and why each other task is not admitted."""
    lines = [gate.sum, *(f"not admitted: {name}: {why}" for name, why in gate.refused)]
    return "".join(f"{printable(line)}\n" for line in lines)


def gate_document(gate: Gate) -> dict[str, Any]:
    """The gate with its exit status, the admitted ids, and why each other task is not admitted."""
    refused: Mapping[str, str] = dict(gate.refused)
    return {
        "exit": 0 if gate.passed else 1,
        "passed": gate.passed,
        "clean": gate.clean,
        "repaired": gate.repaired,
        "min_tasks": gate.min_tasks,
        "admitted": [task.task.instance_id for task in gate.admitted],
        "not_admitted": refused,
    }


def quoted(path: PurePath) -> str:
    """A path for a shell. With characters that could steer a terminal it becomes `$'...'`, for bash, ksh and zsh."""
    text = str(path)
    return shlex.quote(text) if printable(text) == text else f"$'{''.join(map(_spelt, text))}'"


def _spelt(char: str) -> str:
    if printable(char) == char:
        return f"\\{char}" if char in "\\'" else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
