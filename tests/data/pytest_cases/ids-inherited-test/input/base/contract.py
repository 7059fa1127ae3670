class Contract(object):
    size = 3

    def test_size(self):
        assert self.size == 3
