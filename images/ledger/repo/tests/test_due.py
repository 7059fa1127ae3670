from datetime import date

import pytest
from freezegun import freeze_time

from ledger import due


@freeze_time("2024-03-10")
def test_days_left():
    assert due.days_left(date(2024, 3, 12)) == 2


@freeze_time("2024-03-10")
def test_days_left_is_negative_when_late():
    assert due.days_left(date(2024, 3, 1)) == -9


@freeze_time("2024-03-10")
@pytest.mark.parametrize(
    ("day", "status"),
    [(9, "overdue"), (10, "soon"), (16, "soon"), (20, "open")],
    ids=["late", "today", "this-week", "later"],
)
def test_status(day, status):
    assert due.status(date(2024, 3, day)) == status
