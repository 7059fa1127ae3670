import pytest


def test_before():
    pass


def test_ends():
    raise KeyboardInterrupt


def test_after():
    assert 0
