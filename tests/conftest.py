"""What every test may use: a panel of our own making, and the engine where a test asks for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.git import Git
from tests.support.paths import ROOT

# A shell that starts us in the background may have Ctrl-C ignored, and so would every command that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# And what others may read of what a test makes is said by the test, not by that shell's umask.
os.umask(0o022)

# How quickly examples are made is the machine's affair, and no test's.
settings.register_profile("repair", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repair")

ORACLE = b"""\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""

MakeTask = Callable[..., Path]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for a socket's, whatever TMPDIR is."""
    with tempfile.TemporaryDirectory(prefix="repair-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    """An empty panel whose policy asks for no P2P."""
    directory = tmp_path / "panel"
    directory.mkdir()
    (directory / "panel.toml").write_text('name = "test"\n\n[policy]\nmin_p2p = 0\n')
    return directory


@pytest.fixture
def make_task(panel: Path) -> MakeTask:
    """Write a task into `panel`: `make_task("name", f2p=[...], p2p=[...], oracle=b"...", tests=b"...", **keys)`."""

    def make(
        name: str = "task-1",
        f2p: list[str] | None = None,
        p2p: list[str] | None = None,
        oracle: bytes = ORACLE,
        tests: bytes | None = None,
        **keys: Any,
    ) -> Path:
        directory = panel / name
        directory.mkdir()
        document = {
            "instance_id": name,
            "image": "repair-test/odd-plain:1",
            "FAIL_TO_PASS": ["tests/test_calc.py::test_add"] if f2p is None else f2p,
            "PASS_TO_PASS": [f"tests/test_calc.py::test_keep[{n}]" for n in range(12)] if p2p is None else p2p,
            **keys,
        }
        (directory / "task.json").write_text(json.dumps(document))
        (directory / "instruction.md").write_text("Mend add.\n")
        (directory / "oracle.patch").write_bytes(oracle)
        if tests is not None:
            (directory / "tests.patch").write_bytes(tests)
        return directory

    return make


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Run git in a directory, with nobody's settings."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(where: Path, *arguments: str | Path) -> str:
        settings = ["-c", "user.name=a", "-c", "user.email=a@acme.example", "-c", "protocol.file.allow=always"]
        done = subprocess.run(["git", *settings, *arguments], cwd=where, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def shared() -> Path | None:
    """The folder of reference cases and panels beside the checkout, where there is one."""
    folder = Path(os.environ.get("REPAIR_SHARED", ROOT.parent / "shared"))
    return folder if folder.is_dir() else None
