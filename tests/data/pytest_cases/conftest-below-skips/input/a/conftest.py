import pytest

pytest.importorskip("no_such_module_here")
