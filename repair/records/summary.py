"""One decided task in short: its counts, and the one cause or reason that says most."""

from __future__ import annotations

from repair.model import Decision, ListName, Rule, Table
from repair.words import of


def counts(table: Table, decision: Decision) -> tuple[tuple[int, int], tuple[int, int]]:
    """(listed, kept) of F2P and of P2P."""

    def listed(name: ListName) -> int:
        return sum(name in row.lists for row in table.rows)

    return (listed(ListName.F2P), len(decision.kept_f2p)), (listed(ListName.P2P), len(decision.kept_p2p))


def note(decision: Decision) -> str:
    """The first reason of a refused task, else the cause of its largest drop."""
    if decision.reasons:
        first = decision.reasons[0]
        alike = sum(len(reason.ids) for reason in decision.reasons if reason.rule is first.rule)
        number = f"{alike} {first.list or 'ids'} " if alike else ""
        cause = (
            f" ({first.cause})" if first.cause and (first.ids or first.rule in (Rule.PATCH, Rule.OWN_VERIFIER)) else ""
        )
        return f"{number}{of(first.rule)}{cause}"
    if decision.dropped:
        largest = max(decision.dropped, key=lambda finding: len(finding.ids))
        return largest.cause or of(largest.rule)
    return ""
