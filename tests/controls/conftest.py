"""What the tests of the pytest plugin share: each pytest that it runs in here, and a folder to run it in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.hostpytest import PYTHONS


@pytest.fixture(params=PYTHONS, ids=lambda python: python if python != sys.executable else "here")
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder
