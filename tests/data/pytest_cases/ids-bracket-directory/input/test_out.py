def test_out():
    pass
