from datetime import date
from decimal import Decimal

import pytest

from ledger.entries import Entry, dump, parse, parse_line

LINE = "2024-03-01 groceries -12.50 market hall"


def test_day():
    assert parse_line(LINE).day == date(2024, 3, 1)


def test_category():
    assert parse_line(LINE).category == "groceries"


def test_amount():
    assert parse_line(LINE).amount == Decimal("-12.50")


def test_note():
    assert parse_line(LINE).note == "market hall"


def test_no_note():
    assert parse_line("2024-03-01 rent -700").note == ""


def test_too_few_fields():
    with pytest.raises(ValueError, match="a day, a category and an amount"):
        parse_line("2024-03-01 rent")


def test_blank_lines():
    assert len(parse(f"{LINE}\n\n{LINE}\n")) == 2


def test_dump_by_day():
    late = Entry(date(2024, 3, 2), "b", Decimal("1.00"))
    early = Entry(date(2024, 3, 1), "a", Decimal("2.00"))
    assert dump([late, early]) == "2024-03-01 a 2.00\n2024-03-02 b 1.00\n"


def test_round_trip():
    assert parse(dump(parse(LINE))) == parse(LINE)
