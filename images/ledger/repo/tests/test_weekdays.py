from datetime import date

from ledger.due import next_weekday


def test_weekday_stays():
    assert next_weekday(date(2024, 3, 8)) == date(2024, 3, 8)


def test_saturday():
    assert next_weekday(date(2024, 3, 9)) == date(2024, 3, 11)


def test_sunday():
    assert next_weekday(date(2024, 3, 10)) == date(2024, 3, 11)
