def test_first():
    assert 0


def test_second():
    pass
