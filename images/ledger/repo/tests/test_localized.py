import locale
from decimal import Decimal

from ledger import money

AMOUNT = Decimal("1234567.80")


def test_german():
    assert money.localized(AMOUNT, "de_DE.UTF-8") == "1.234.567,80"


def test_english():
    assert money.localized(AMOUNT, "en_US.UTF-8") == "1,234,567.80"


def test_negative_german():
    assert money.localized(-AMOUNT, "de_DE.UTF-8") == "-1.234.567,80"


def test_locale_is_put_back():
    before = locale.setlocale(locale.LC_NUMERIC)
    money.localized(AMOUNT, "de_DE.UTF-8")
    assert locale.setlocale(locale.LC_NUMERIC) == before


def test_no_locale():
    assert money.localized(AMOUNT, "C") == "1234567.80"
