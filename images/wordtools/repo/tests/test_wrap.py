import pytest

from wordtools import indent, truncate, wrap


def test_wrap():
    assert wrap("one two three", 7) == ["one two", "three"]


def test_wrap_exact():
    assert wrap("one two", 7) == ["one two"]


def test_wrap_long_word():
    assert wrap("a incomprehensibilities b", 5) == ["a", "incomprehensibilities", "b"]


def test_wrap_of_nothing():
    assert wrap("  ") == []


def test_wrap_needs_a_width():
    with pytest.raises(ValueError, match="at least 1"):
        wrap("one", 0)


def test_indent():
    assert indent("a\nb", 2) == "  a\n  b"


def test_indent_leaves_blank_lines():
    assert indent("a\n\nb", 1) == " a\n\n b"


def test_truncate():
    assert truncate("incomprehensible", 6) == "incom…"


def test_truncate_short():
    assert truncate("short", 6) == "short"


def test_truncate_needs_room():
    with pytest.raises(ValueError, match="no room"):
        truncate("incomprehensible", 2, mark="...")
