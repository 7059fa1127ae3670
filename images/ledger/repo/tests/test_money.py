from decimal import Decimal

import pytest

from ledger import money


@pytest.mark.parametrize(
    ("text", "amount"),
    [("12.50", "12.50"), ("-3", "-3.00"), (" 0.1 ", "0.10")],
    ids=["cents", "negative", "spaces"],
)
def test_parse(text, amount):
    assert money.parse(text) == Decimal(amount)


def test_parse_what_is_no_amount():
    with pytest.raises(ValueError, match="not an amount: 'twelve'"):
        money.parse("twelve")


def test_split_even():
    assert money.split(Decimal("9.00"), 3) == [Decimal("3.00")] * 3


def test_split_rest():
    assert money.split(Decimal("1.00"), 3) == [Decimal("0.34"), Decimal("0.33"), Decimal("0.33")]


def test_split_adds_up():
    assert sum(money.split(Decimal("10.01"), 7)) == Decimal("10.01")


def test_split_needs_parts():
    with pytest.raises(ValueError, match="at least 1"):
        money.split(Decimal("1.00"), 0)


def test_plain():
    assert money.plain(Decimal("1234.5")) == "1234.50"
