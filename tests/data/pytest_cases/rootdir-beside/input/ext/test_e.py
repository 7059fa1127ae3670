def test_e():
    pass


class TestE(object):
    def test_f(self):
        assert 0
