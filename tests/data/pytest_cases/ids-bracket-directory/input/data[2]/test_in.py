def test_here():
    pass


class TestIn(object):
    def test_there(self):
        assert 0
