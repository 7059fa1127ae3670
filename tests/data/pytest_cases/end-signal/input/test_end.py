import os
import signal


def test_before():
    pass


def test_ends():
    os.kill(os.getpid(), signal.SIGSEGV)


def test_after():
    assert 0
