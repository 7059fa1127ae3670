def test_r():
    pass


def test_s():
    assert 0
