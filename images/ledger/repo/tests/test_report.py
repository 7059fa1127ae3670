from decimal import Decimal

from ledger import report
from ledger.entries import parse

ENTRIES = parse("""
2024-02-01 rent -700
2024-02-03 salary 2000
2024-03-01 rent -700
2024-03-05 groceries -42.10
""")


def test_balance():
    assert report.balance(ENTRIES) == Decimal("557.90")


def test_balance_of_nothing():
    assert report.balance([]) == 0


def test_by_category():
    assert report.by_category(ENTRIES)["rent"] == Decimal("-1400.00")


def test_by_category_is_sorted():
    assert list(report.by_category(ENTRIES)) == ["groceries", "rent", "salary"]


def test_by_month_values():
    assert list(report.by_month(ENTRIES).values()) == [Decimal("1300.00"), Decimal("-742.10")]


def test_largest():
    assert report.largest(ENTRIES)[0].category == "salary"


def test_largest_of_few():
    assert len(report.largest(ENTRIES, 9)) == 4
