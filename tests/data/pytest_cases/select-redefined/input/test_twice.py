def test_one():
    assert 0


def test_one():
    pass


class TestC(object):
    def test_y(self):
        pass


class TestC(object):
    def test_z(self):
        pass
