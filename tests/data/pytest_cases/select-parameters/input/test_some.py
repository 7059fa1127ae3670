import pytest


@pytest.mark.parametrize("text", ["a", "b c", "x::y"])
def test_p(text):
    assert text != "b c"


def test_px():
    pass


class TestK(object):
    def test_m(self):
        pass

    def test_mm(self):
        pass
