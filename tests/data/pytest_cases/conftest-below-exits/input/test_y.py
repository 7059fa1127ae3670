def test_y():
    pass
