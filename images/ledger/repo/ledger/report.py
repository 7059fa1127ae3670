"""Sums over entries."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from ledger.entries import Entry


def balance(entries: Iterable[Entry]) -> Decimal:
    return sum((entry.amount for entry in entries), Decimal("0.00"))


def by_category(entries: Iterable[Entry]) -> dict[str, Decimal]:
    """The sum of each category, by name."""
    sums: dict[str, Decimal] = defaultdict(lambda: Decimal("0.00"))
    for entry in entries:
        sums[entry.category] += entry.amount
    return dict(sorted(sums.items()))


def by_month(entries: Iterable[Entry]) -> dict[str, Decimal]:
    """The sum of each month, `2024-03`."""
    sums: dict[str, Decimal] = defaultdict(lambda: Decimal("0.00"))
    for entry in entries:
        sums[f"{entry.day:%m}"] += entry.amount
    return dict(sorted(sums.items()))


def largest(entries: Iterable[Entry], n: int = 1) -> list[Entry]:
    """The entries that moved most money, in or out."""
    return sorted(entries, key=lambda entry: abs(entry.amount), reverse=True)[:n]
