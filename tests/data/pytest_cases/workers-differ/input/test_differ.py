import os

import pytest


@pytest.mark.parametrize("pid", [os.getpid()])
def test_pid(pid):
    pass


def test_k():
    pass
