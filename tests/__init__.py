"""The tests. A failing assertion of tests/support/ is explained as one of a test is."""

import pytest

pytest.register_assert_rewrite("tests.support")
