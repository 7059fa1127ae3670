"""Text for a terminal: tables, and the page of one task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from unicodedata import combining, east_asian_width

from repair.model import Decision, Evidence, Finding, Rule, Table
from repair.records import summary
from repair.records.summary import Summary
from repair.text import capped, printable
from repair.words import of

Flaky = Sequence[tuple[str, Sequence[tuple[str, str]]]]
MIN_NOTE = 24  # columns; where fewer are left, a row's note goes on a line of its own


def closing_table(tasks: Sequence[Summary], width: int | None) -> str:
    """The table at the end of a run. `width`: columns; None, for a pipe, cuts nothing."""
    head = ("task", "verdict", "F2P", "P2P", "dropped", "first cause or reason")
    return table(head, [_row(task) for task in tasks], width)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """A table of printable cells. The first two columns are aligned left, the others right; the last one is cut.

    `width`: columns; None, for a pipe, cuts nothing.
    """
    lines = [head, *rows]
    widths = [max(columns(row[column]) for row in lines) for column in range(len(head) - 1)]
    left = None if width is None else width - sum(widths) - 2 * len(widths)
    return "\n".join(text for row in lines for text in _lay_out(row, widths, left, width)) + "\n"


def _row(task: Summary) -> tuple[str, str, str, str, str, str]:
    dropped = "" if task.f2p is None else str(task.dropped)
    return printable(task.name), task.word, arrow(task.f2p), arrow(task.p2p), dropped, printable(task.note)


def arrow(pair: tuple[int, int] | None) -> str:
    """Two numbers as before and after; empty for None."""
    return "" if pair is None else f"{pair[0]} → {pair[1]}"


def _lay_out(row: Sequence[str], widths: Sequence[int], left: int | None, width: int | None) -> Iterable[str]:
    sized = list(zip(row, widths, strict=False))
    cells = [cell + " " * (size - columns(cell)) for cell, size in sized[:2]]
    cells += [" " * (size - columns(cell)) + cell for cell, size in sized[2:]]
    text, last = "  ".join(cells), row[-1]
    if left is None or width is None:
        yield f"{text}  {last}".rstrip()
    elif left >= MIN_NOTE:
        yield f"{text}  {cut(last, left)}".rstrip()
    else:
        yield cut(text.rstrip(), width)
        if last and row[0] != "task":
            yield cut(f"    {last}", width)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns."""
    if columns(text) <= width:
        return text
    left, kept = max(0, width - 1), []
    for char in text:
        left -= columns(char)
        if left < 0:
            break
        kept.append(char)
    return "".join(kept) + "…"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: a wide letter takes two, a combining letter none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def page(
    name: str,
    table: Table,
    decision: Decision,
    evidence: Evidence | None,
    limit: int = 5,
    flaky: Flaky = (),
) -> str:
    """The decision on one task, for people.

    `evidence`: what the decision was made from; None leaves the facts of the runs out.
    `limit`: how many ids of each group are shown.
    `flaky`: flaky ids, each with its rates by control.
    """
    task = summary.of_decision(name, table, decision)
    lines = [f"{printable(name)}: {decision.verdict}", f"  F2P {arrow(task.f2p)}, P2P {arrow(task.p2p)}"]
    for heading, findings in (("refused for", decision.reasons), ("dropped", decision.dropped)):
        lines += ["", heading] if findings else []
        for rule, alike in groupby(findings, lambda finding: finding.rule):
            lines += _group(rule, list(alike), limit)
    lines += _flaky(flaky, decision, limit)
    if evidence is not None:
        lines += ["", *_facts(evidence, decision)]
    return "\n".join(lines) + "\n"


def _group(rule: Rule, findings: Sequence[Finding], limit: int) -> list[str]:
    """All findings of one rule: a heading with the number of their ids, then cause by cause."""
    number = sum(len(finding.ids) for finding in findings)
    name = findings[0].list or ""
    lines = [f"  {number} {name}: {of(rule)}".replace("  : ", ": ") if number else f"  {of(rule)}"]
    for finding in findings:
        outcomes = f" [empty {finding.empty}, oracle {finding.oracle}]" if finding.empty or finding.oracle else ""
        count = f"{len(finding.ids)} × " if finding.ids else ""
        lines.append(f"    {count}{printable(finding.cause) or 'no cause given'}{outcomes}")
        if finding.cause_empty:
            lines.append(f"      under empty: {printable(finding.cause_empty)}")
        lines += capped([f"      {printable(test)}" for test in finding.ids], limit, "      ")
    return lines


def _flaky(flaky: Flaky, decision: Decision, limit: int) -> list[str]:
    """Kept ids whose runs of one control differ. Of ids that are not kept, the groups already tell it."""
    kept = {*decision.kept_f2p, *decision.kept_p2p}
    lines = [f"  {printable(test)} [{_rates(rates)}]" for test, rates in flaky if test in kept]
    return ["", "kept, and flaky", *capped(lines, limit, "  ")] if lines else []


def _rates(rates: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{control} {rate}" for control, rate in rates)


def _facts(evidence: Evidence, decision: Decision) -> list[str]:
    lines = []
    if evidence.confirm_table is not None:
        confirmed = "confirmed" if not decision.reasons else "not confirmed"
        lines.append(f"confirmation: {confirmed}, both controls ran again on the trimmed lists")
    if evidence.verifier is not None:
        lines.append(f"own verifier: empty {evidence.verifier[0]:g}, oracle {evidence.verifier[1]:g}")
    for name, runs in (("empty", evidence.empty), ("oracle", evidence.oracle)):
        for number, run in enumerate(runs, 1):
            extra = [*run.flags, *(f"set aside: {printable(test)}" for test in run.deadly)]
            status = "not run" if run.exit is None else f"exit {run.exit}"
            which = f" {number}/{len(runs)}" if len(runs) > 1 else ""
            lines.append(f"{name}{which}: {status}" + (f" ({'; '.join(extra)})" if extra else ""))
    digest = f" ({evidence.image.digest})" if evidence.image.digest else ""
    lines.append(f"image: {evidence.image.id}{digest} {evidence.image.platform or ''}".rstrip())
    return [printable(line) for line in lines]
