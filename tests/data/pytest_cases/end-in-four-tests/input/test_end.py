import os

import pytest


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_end(n):
    os._exit(n)
