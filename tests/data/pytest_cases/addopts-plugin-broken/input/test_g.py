def test_g():
    pass
