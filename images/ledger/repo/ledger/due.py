"""Due dates, seen from today."""

from datetime import date, timedelta


def days_left(due: date) -> int:
    """Days until `due`; negative when it has passed."""
    return (due - date.today()).days


def status(due: date, soon: int = 7) -> str:
    left = days_left(due)
    if left < 0:
        return "overdue"
    return "soon" if left < soon else "open"


def next_weekday(day: date) -> date:
    """`day`, or the Monday after it where it falls on a weekend."""
    return day + timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)
