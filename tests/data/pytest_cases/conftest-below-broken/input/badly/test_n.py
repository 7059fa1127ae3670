def test_n():
    assert 0
