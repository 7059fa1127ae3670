def test_w(:
    pass
