import pytest

pytest.importorskip("wcwidth", reason="the extra wordtools[width] is not installed: no wcwidth")

from wordtools.width import columns, pad


def test_ascii():
    assert columns("abc") == 3


def test_east_asian():
    assert columns("日本") == 4


def test_combining():
    assert columns("e\u0301") == 1


def test_control_characters():
    assert columns("a\x07") == 2


def test_pad():
    assert pad("日", 4) == "日  "


def test_pad_leaves_what_is_wide_enough():
    assert pad("abc", 2) == "abc"
