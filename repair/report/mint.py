"""What `repair mint` shows: text for people, or a document for `--json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from repair.controls.session import Done
from repair.errors import RepairError
from repair.mint.against import Discrepancies, Wrong
from repair.mint.classes import LISTED, Derived, Group, groups
from repair.mint.run import Found
from repair.model import Outcome, Rule
from repair.records.causes import NO_CAUSE, Ranked, rank
from repair.records.documents import finding_document
from repair.report import terminal
from repair.report.run import error_document, failure_code, quoted
from repair.text import capped, number, printable
from repair.words import DERIVED, NOT_RUN, of

SHOWN = 5  # tasks of one cause


def failed(results: Sequence[Done[Found]]) -> list[tuple[str, RepairError | None]]:
    """The tasks that could not be minted, each with its error."""
    return [(result.task.instance_id, result.error) for result in results if result.error is not None]


def exit_code(results: Sequence[Done[Found]]) -> int:
    """The exit status of a mint: 0 where every task was minted or refused."""
    return failure_code(result.error for result in results)


# ---- the new lists


def minted_text(results: Sequence[Done[Found]], target: PurePath | None, width: int | None) -> str:
    """A row per task with its lists, and where to look next in the new panel.

    `target` is the new panel; None where no panel was written. `width`: columns; None, for a pipe, cuts nothing.
    """
    head = ("task", "verdict", "F2P", "P2P", "unlisted", "first cause or reason")
    text = terminal.table(head, [_line(result) for result in results], width)
    verdicts = Counter(_verdict(result) for result in results)
    totals = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    text += f"\n{number(len(results), 'task')}: {totals}\n"
    if target is None:
        return text
    new = quoted(target)
    return f"{text}next: repair run {new}\n      each test's class is in {new}/TASK/mint.json\n"


def _verdict(result: Done[Found]) -> str:
    if result.value is None:
        return NOT_RUN if result.error is None else "failed"
    return "refused" if result.value.minted.refused else "minted"


def _line(result: Done[Found]) -> tuple[str, ...]:
    name, verdict = printable(result.task.instance_id), _verdict(result)
    if result.value is None:
        return name, verdict, "", "", "", printable(result.error.message if result.error else "")
    found = result.value.minted.derivation
    unlisted = sum(derived not in LISTED for derived in found.classes.values())
    return name, verdict, str(len(found.f2p)), str(len(found.p2p)), str(unlisted), printable(_note(result.value))


def _note(found: Found) -> str:
    derivation = found.minted.derivation
    if derivation.reasons:
        first = derivation.reasons[0]
        reason = (
            f"{number(len(first.ids), 'id')} {DERIVED[Derived.LOST]}" if first.rule is Rule.LOST else of(first.rule)
        )
        return reason + (f" ({first.cause})" if first.cause else "")
    counts = Counter(derived for derived in derivation.classes.values() if derived not in LISTED)
    parts = [f"{counts[derived]} {DERIVED[derived]}" for derived in Derived if counts[derived]]
    weaker = sum(len(group.ids) for group in groups(derivation) if _is_weaker(group))
    parts += [f"{weaker} of these only with the reference"] if weaker else []
    broken = [row.cause_oracle or row.cause_empty for row in derivation.broken.values()]
    return "; ".join([*parts, *broken[:1]])


def _is_weaker(group: Group) -> bool:
    """Does a test pass in every run without the reference, and only in some runs with it?"""
    return group.derived is Derived.FLAKY and group.empty == Outcome.PASSED


# ---- the old lists


def compared_text(results: Sequence[Done[Found]], width: int | None) -> str:
    """What the old lists have wrong: a row per task, then the causes over the panel, the largest first.

    `width`: columns; None, for a pipe, cuts nothing.
    """
    head = ("task", "lists", "F2P hold", "P2P hold", "lacking", "first cause")
    rows = [_compared(result) for result in results]
    parts = [terminal.table(head, rows, width)]
    causes = rank(_wrong(results))
    if causes:
        parts.append("\nwhat the lists have wrong, by cause:\n")
        parts += [_cause(cause) for cause in causes if cause.tests > 1]
        parts += _single([cause for cause in causes if cause.tests == 1])
    outside = sum(len(result.value.against.outside) for result in results if result.value is not None)
    if outside:
        parts.append(
            f"\n{number(outside, 'id')} not looked at: tests.patch changes no such file (--all-tests runs all)\n"
        )
    return "".join(parts)


def _compared(result: Done[Found]) -> tuple[str, ...]:
    name = printable(result.task.instance_id)
    if result.value is None:
        return name, _verdict(result), "", "", "", printable(result.error.message if result.error else "")
    differences = result.value.against
    f2p, p2p = zip(differences.listed, differences.hold, strict=True)
    lacking = len(differences.lacking_f2p) + len(differences.lacking_p2p)
    derivation = result.value.minted.derivation
    # without runs, or without tests and lists, there is derivation to compare
    if differences.patch_error or (derivation.reasons and not derivation.rows and not sum(differences.listed)):
        return name, "refused", "", "", "", printable(derivation.reasons[0].cause)
    word = "hold" if differences.agree else "differ"
    return name, word, terminal.arrow(f2p), terminal.arrow(p2p), str(lacking), printable(_first(differences))


def _first(found: Discrepancies) -> str:
    return (found.wrong[0].cause or DERIVED[found.wrong[0].derived]) if found.wrong else ""


def _wrong(results: Sequence[Done[Found]]) -> Iterable[tuple[str, Wrong]]:
    """Each task's name with each group of its wrong ids. A group without a cause is in the wrong list."""
    for result in results:
        for wrong in result.value.against.wrong if result.value is not None else ():
            yield result.task.instance_id, wrong


def _cause(ranked: Ranked) -> str:
    cause = "listed otherwise than they run" if ranked.cause == NO_CAUSE else ranked.cause
    lines = [f"  {number(ranked.tests, 'id')} in {number(len(ranked.tasks), 'task')}: {cause}"]
    lines += capped([f"      {task}: {count}" for task, count in ranked.tasks], SHOWN, "      ")
    return "".join(f"{printable(line)}\n" for line in lines)


def _single(causes: Sequence[Ranked]) -> list[str]:
    """A line for each cause that only one id has, such as a skip that names its test."""
    if not causes:
        return []
    lines = [f"  {number(len(causes), 'id')}, each with a cause of its own:"]
    lines += [f"      {cause.tasks[0][0]}: {cause.cause}" for cause in causes]
    return ["".join(f"{printable(line)}\n" for line in lines)]


# ---- new and old lists, for programs


def document(
    results: Sequence[Done[Found]], code: int, problem: RepairError | None = None, *, compared: bool
) -> dict[str, Any]:
    """A mint as `{"exit": code, "tasks": [...]}`; with `compared`, also what each task's old lists have wrong.

    `problem` is the error that kept the new panel from being written; None where there was none.
    """
    content: dict[str, Any] = {"exit": code, "tasks": [_document(result, compared=compared) for result in results]}
    return content if problem is None else content | {"error": error_document(problem)}


def _document(result: Done[Found], *, compared: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"instance_id": result.task.instance_id, "verdict": _verdict(result)}
    if result.error is not None:
        content["error"] = error_document(result.error)
    if result.value is None:
        return content
    derivation = result.value.minted.derivation
    content["counts"] = {derived: len(derivation.ids(derived)) for derived in Derived}
    content["reasons"] = [finding_document(reason) for reason in derivation.reasons]
    if compared:
        content["lists"] = _against(result.value.against)
    return content


def _against(found: Discrepancies) -> dict[str, Any]:
    wrong = [
        {
            "list": group.list,
            "class": group.derived,
            "empty": group.empty,
            "oracle": group.oracle,
            "cause": group.cause,
            "count": len(group.ids),
            "ids": list(group.ids),
        }
        for group in found.wrong
    ]
    return {
        "F2P": {"listed": found.listed[0], "hold": found.hold[0], "lacking": list(found.lacking_f2p)},
        "P2P": {"listed": found.listed[1], "hold": found.hold[1], "lacking": list(found.lacking_p2p)},
        "wrong": wrong,
        "outside": list(found.outside),
    }
