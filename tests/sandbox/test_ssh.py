"""What ssh is told for the address of an engine; that it gets there is proved in tests/faults/test_remote.py."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from repair.errors import EngineLost
from repair.sandbox.connection import Connection
from repair.sandbox.ssh import Tunnel

SHOW = """
import socket, sys
from repair.sandbox.ssh import Tunnel
tunnel = Tunnel(sys.argv[1])
with socket.socket(socket.AF_UNIX) as near:
    near.connect(tunnel.address.removeprefix("unix://"))
    with near.makefile() as stream:
        print(stream.read(), end="")
tunnel.close()
"""


def told(url: str, folder: Path) -> list[str]:
    """The arguments of ssh; an ssh of our own prints them to whoever called."""
    (folder / "ssh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (folder / "ssh").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW, url], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("url", "login", "command"),
    [
        ("ssh://host", ["-T", "--", "host"], "docker system dial-stdio"),
        ("ssh://me@Box:2222", ["-l", "me", "-p", "2222", "-T", "--", "Box"], "docker system dial-stdio"),
        ("ssh://me@[::1]:2222", ["-l", "me", "-p", "2222", "-T", "--", "::1"], "docker system dial-stdio"),
        ("ssh://host/run/a;b.sock", ["-T", "--", "host"], "docker --host 'unix:///run/a;b.sock' system dial-stdio"),
        ("ssh://-oProxyCommand=x", ["-T", "--", "-oProxyCommand=x"], "docker system dial-stdio"),
    ],
)
def test_ssh_goes_where_the_address_says(url: str, login: list[str], command: str, tmp_path: Path) -> None:
    said = told(url, tmp_path)
    assert said[-len(login) - 1 :] == [*login, command]
    assert "BatchMode=yes" in said


def test_a_long_name_of_the_folder_for_temporary_files_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    assert told("ssh://host", tmp_path)[-1] == "docker system dial-stdio"


@pytest.mark.parametrize("url", ["ssh://", "ssh://me:secret@host", "ssh://host?x=1", "ssh://host:many", "tcp://host:1"])
def test_what_is_no_address_over_ssh_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        told(url, tmp_path)
    assert "ValueError" in caught.value.stderr


def test_a_temporary_folder_of_a_long_name_in_bytes_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(f"/tmp/{'é' * 40}")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    tunnel = Tunnel("ssh://far")
    try:
        assert tunnel.address.startswith("unix:///tmp/repair-scratch-ssh-")
    finally:
        tunnel.close()


@pytest.mark.parametrize(
    "host", ["tcp://far:99999", "tcp://127.0.0.1:0x", "tcp://[::1", "http://a:b:c", "SSH://", "ssh://far:x"]
)
def test_an_address_that_is_none_is_said(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineLost, match="could not reach the engine") as caught:
        Connection()
    assert not caught.value.transient
