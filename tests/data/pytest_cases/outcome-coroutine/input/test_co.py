async def test_waits():
    pass


def test_plain():
    pass
