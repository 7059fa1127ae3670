def test_o():
    pass
