import pytest


def test_loud():
    print("\x00\x1b[31m\x0c\ufffe]]>")
    raise ValueError("\x00\x1b[31m ]]> <failure/>")


def test_quiet():
    pass
