"""Entries: one a line, `2024-03-01 category amount note`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ledger import money


@dataclass(frozen=True)
class Entry:
    day: date
    category: str
    amount: Decimal
    note: str = ""


def parse_line(line: str) -> Entry:
    """One entry; ValueError says what is wrong with it."""
    fields = line.split(maxsplit=3)
    if len(fields) < 3:
        raise ValueError(f"an entry has a day, a category and an amount: {line!r}")
    day, category, amount, *note = fields
    return Entry(date.fromisoformat(day), category, money.parse(amount), *note)


def parse(text: str) -> list[Entry]:
    """The entries of a file; blank lines are left out."""
    return [parse_line(line) for line in text.splitlines() if line.strip()]


def dump(entries: Iterable[Entry]) -> str:
    """Entries as text again, by day."""
    return "".join(
        f"{e.day} {e.category} {money.plain(e.amount)} {e.note}".rstrip() + "\n"
        for e in sorted(entries, key=lambda e: e.day)
    )
