import pytest


@pytest.fixture
def broken():
    raise ValueError("setup")


@pytest.fixture
def leaking():
    yield
    raise ValueError("teardown")


@pytest.fixture
def skipping_late():
    yield
    pytest.skip("too late")


def test_setup(broken):
    pass


def test_no_such_fixture(nowhere):
    pass


def test_teardown(leaking):
    pass


def test_call_and_teardown(leaking):
    assert 0


def test_skip_in_teardown(skipping_late):
    pass


def test_skip():
    pytest.skip("not here")


def test_fine():
    pass
