def test_s():
    assert 0
