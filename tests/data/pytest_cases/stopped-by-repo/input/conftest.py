import pytest


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    if nodeid.endswith("test_first"):
        STATE["session"].shouldstop = "enough"


STATE = {}


def pytest_sessionstart(session):
    STATE["session"] = session
