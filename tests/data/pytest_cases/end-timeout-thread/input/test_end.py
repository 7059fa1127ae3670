import time


def test_before():
    pass


def test_ends():
    time.sleep(60)


def test_after():
    assert 0
