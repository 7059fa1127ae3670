"""Columns that a text takes on a terminal. Measuring needs the extra `wordtools[width]`."""

import wcwidth


def columns(text: str) -> int:
    """Columns of one line; a line with control characters counts as its characters."""
    measured: int = wcwidth.wcswidth(text)
    return measured if measured >= 0 else len(text)


def pad(text: str, width: int) -> str:
    """`text` with spaces to the right, up to `width` columns."""
    return text + " " * max(0, width - columns(text))
