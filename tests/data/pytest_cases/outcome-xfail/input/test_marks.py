import pytest

xfail = pytest.mark.xfail


@pytest.fixture
def broken():
    raise ValueError


@xfail
def test_fails():
    assert 0


@xfail
def test_passes():
    pass


@xfail(strict=True, reason="known")
def test_passes_strictly():
    pass


@xfail(run=False)
def test_never_run():
    assert 0


@xfail(raises=ValueError)
def test_other_exception():
    raise KeyError("k")


@xfail
def test_broken_setup(broken):
    pass


@xfail
def test_skips():
    pytest.skip("no")


def test_by_call():
    pytest.xfail("later")
