import unittest


def test_plain():
    pass


class TestOuter(object):
    def test_method(self):
        pass

    class TestInner(object):
        def test_deep(self):
            assert 1 == 2


class Legacy(unittest.TestCase):
    def test_case(self):
        pass
