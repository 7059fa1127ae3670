import os


def test_before():
    pass


def test_ends():
    os._exit(0)


def test_after():
    assert 0
