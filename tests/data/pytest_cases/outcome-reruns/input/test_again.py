import pytest

TRIES = {}


def count(name):
    TRIES[name] = TRIES.get(name, 0) + 1
    return TRIES[name]


@pytest.fixture
def unsteady():
    assert count("setup") > 1


def test_second_time():
    assert count("call") > 1


def test_never():
    assert 0


def test_setup_second_time(unsteady):
    pass
