def test_same():
    pass
