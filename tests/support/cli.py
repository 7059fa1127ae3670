"""The command line in this process, in one of its own, and on a terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from repair.cli import run_app

NOWHERE = {"DOCKER_HOST": "unix:///nowhere"}
Capture = pytest.CaptureFixture[str]


def ask(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = run_app([str(argument) for argument in arguments])
    return (code, *capsys.readouterr())


def environment(more: Mapping[str, str] | None) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key not in {"PYTHONUNBUFFERED", "NO_COLOR"}}
    return {**inherited, **(more or {})}


def start(
    *arguments: object, env: Mapping[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """`python -m repair` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "repair", *map(str, arguments)],
        env=environment(env),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def one_line(err: str) -> str:
    assert len(err.splitlines()) == 1
    assert err.startswith("repair: ")
    return err


def below(panel: Path) -> list[tuple[Path, int]]:
    return sorted((path, path.lstat().st_mtime_ns) for path in panel.rglob("*"))


def shown_on(leader: int) -> bytes:
    """All that comes on a terminal until its last writer has closed it; closes its other end."""
    parts = []
    with contextlib.suppress(OSError):  # how the end is said
        while part := os.read(leader, 1 << 16):
            parts.append(part)
    os.close(leader)
    return b"".join(parts)
