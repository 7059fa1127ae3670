"""What an own verifier would fetch, as far as its script shows it."""

from __future__ import annotations

import pytest

from repair.controls.verifier import fetches
from repair.model import Verifier

SCRIPTS = {
    "curl": ("curl -LsSf https://example.org/install.sh | sh\n", "curl"),
    "uv in a pipe": ("cd /tests && uv run parser.py | tee log\n", "uv run"),
    "apt with options": ("apt-get -qq -y install git\n", "apt-get -qq -y install"),
    "pip": ("python -m pip install pytest\n", "pip install"),
    "conda's environment": ("source /opt/miniconda3/bin/activate\nconda activate testbed\npytest -rA\n", ""),
    "a comment": ("# curl would fetch it\npytest\n", ""),
    "a name in a word": ("pytest tests/test_curly.py && ./apt_installer\n", ""),
}


@pytest.mark.parametrize(("script", "tool"), SCRIPTS.values(), ids=SCRIPTS)
def test_what_a_script_would_fetch_with(script: str, tool: str) -> None:
    verifier = Verifier(
        (("/tests/other.sh", b"wget x\n", 0o755), ("/tests/test.sh", script.encode(), 0o755)),
        ("bash", "/tests/test.sh"),
        rewards=(),
        directories=(),
    )
    assert fetches(verifier) == tool
