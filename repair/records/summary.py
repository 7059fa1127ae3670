"""One task in short, the same wherever it is shown or counted: its word, whether a gate admits it, counts, a note."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from repair import rules
from repair.model import Decision, ListName, Rule, Table
from repair.records.check import Examined, Soundness
from repair.words import of

STALE = str(Soundness.STALE)


@dataclass(frozen=True, slots=True)
class Summary:
    """One task in short.

    `name`: its instance id.
    `word`: its verdict where its record is sound, else what is wrong.
    `admitted`: a gate counts the task.
    `why`: why no gate counts it; empty where a gate does.
    `edited`: the record is not what repair wrote, or cannot be read.
    `f2p`, `p2p`: numbers of ids (listed, kept); None where nothing is decided.
    `dropped`: number of ids.
    `note`: the first reason of a refused task, else the cause of its largest drop, else what is wrong.
    """

    name: str
    word: str
    admitted: bool = False
    why: str = ""
    edited: bool = False
    f2p: tuple[int, int] | None = None
    p2p: tuple[int, int] | None = None
    dropped: int = 0
    note: str = ""

    @property
    def unsound(self) -> bool:
        """There is a record, and it does not hold."""
        return self.edited or self.word == STALE


def of_decision(name: str, table: Table, decision: Decision) -> Summary:
    """A task that was just decided, or whose record is sound."""
    admitted = rules.admits(decision.verdict)
    return _counted(Summary(name, decision.verdict, admitted, "" if admitted else _reasons(decision)), table, decision)


def of_record(record: Examined) -> Summary:
    """A task whose record was examined. It has counts where the outcomes of its tests were kept."""
    name, decision = record.task.instance_id, record.decision
    if record.soundness is Soundness.SOUND and decision is not None:
        summary = Summary(name, decision.verdict, record.admitted, "" if record.admitted else _reasons(decision))
    else:
        edited = record.soundness in (Soundness.EDITED, Soundness.INCONSISTENT)
        summary = Summary(name, record.soundness, why="; ".join(record.details), edited=edited)
    return summary if decision is None or record.table is None else _counted(summary, record.table, decision)


def _counted(summary: Summary, table: Table, decision: Decision) -> Summary:
    listed = {name: sum(name in row.lists for row in table.rows) for name in ListName}
    return replace(
        summary,
        f2p=(listed[ListName.F2P], len(decision.kept_f2p)),
        p2p=(listed[ListName.P2P], len(decision.kept_p2p)),
        dropped=sum(len(finding.ids) for finding in decision.dropped),
        note=note(decision),
    )


def _reasons(decision: Decision) -> str:
    """All reasons of a refused task, each rule once per list."""
    if any(finding.rule is Rule.NOT_CONFIRMED for finding in decision.reasons):
        causes = dict.fromkeys(finding.cause for finding in decision.reasons)
        return f"{of(Rule.NOT_CONFIRMED)} ({'; '.join(causes)})"
    alike = groupby(decision.reasons, lambda finding: (finding.rule, finding.list))
    counts = [(rule, name, sum(len(finding.ids) for finding in findings)) for (rule, name), findings in alike]
    return "; ".join(f"{number} {name or 'ids'} {of(rule)}" if number else of(rule) for rule, name, number in counts)


def note(decision: Decision) -> str:
    """The first reason of a refused task, else the cause of its largest drop; empty for a clean task."""
    if decision.reasons:
        first = decision.reasons[0]
        alike = sum(len(reason.ids) for reason in decision.reasons if reason.rule is first.rule)
        number = f"{alike} {first.list or 'ids'} " if alike else ""
        tells = first.cause and (first.ids or first.rule in (Rule.PATCH, Rule.OWN_VERIFIER))
        return f"{number}{of(first.rule)}{f' ({first.cause})' if tells else ''}"
    if decision.dropped:
        largest = max(decision.dropped, key=lambda finding: len(finding.ids))
        return largest.cause or of(largest.rule)
    return ""
