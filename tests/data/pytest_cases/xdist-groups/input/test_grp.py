import pytest


@pytest.mark.xdist_group("g@1")
def test_a():
    pass


@pytest.mark.xdist_group("g@1")
@pytest.mark.parametrize("text", ["p@q"])
def test_b(text):
    assert 0
