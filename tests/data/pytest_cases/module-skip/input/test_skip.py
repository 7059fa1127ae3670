import pytest

pytest.importorskip("no_such_module_here")


def test_a():
    pass


class TestB(object):
    def test_b(self):
        pass
