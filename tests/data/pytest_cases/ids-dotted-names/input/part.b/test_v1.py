def test_same():
    assert 0
