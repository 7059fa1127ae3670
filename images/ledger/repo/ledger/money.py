"""Amounts of money as decimals: parsing, splitting, formatting."""

import locale
from decimal import Decimal, InvalidOperation

CENT = Decimal("0.01")


def parse(text: str) -> Decimal:
    """An amount such as `-12.50`, to the cent."""
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"not an amount: {text!r}") from None
    return amount.quantize(CENT)


def split(amount: Decimal, parts: int) -> list[Decimal]:
    """`amount` in shares that differ by a cent at most and add up to it."""
    if parts < 1:
        raise ValueError("parts must be at least 1")
    cents = int(amount / CENT)
    share, rest = divmod(cents, parts)
    return [(share + (1 if n < rest else 0)) * CENT for n in range(parts)]


def plain(amount: Decimal) -> str:
    return f"{amount:.2f}"


def localized(amount: Decimal, name: str) -> str:
    """`amount` as people in the locale `name` write it."""
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, name)
    try:
        return locale.format_string("%.2f", amount, grouping=True)
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
