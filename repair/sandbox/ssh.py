"""A tunnel to an engine behind ssh: a local socket, whose every connection is `ssh HOST docker system dial-stdio`.

The docker command takes the same way. docker-py's own way over ssh ignores time limits, so that a test that hangs
would never end. Its ssh may also ask the terminal for a password or a host key in the middle of a run.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from repair.files import Scratch
from repair.text import printable

SCHEME = "ssh://"
LONG = 60  # bytes of a folder's path: the path of a socket in it may have about a hundred
PATIENCE = 2.0  # seconds to wait for the last words of an ssh that has ended
PAUSE = 0.1  # seconds between two logins: sshd drops some of many that come at once (its MaxStartups)
# ssh asks nothing and prints no greetings.
SETTINGS = ("BatchMode=yes", "ConnectTimeout=30", "ServerAliveInterval=30", "LogLevel=ERROR")


class Tunnel:
    """A socket that leads to the engine at `url`, ssh://[USER@]HOST[:PORT][/SOCKET]. docker connects to `address`.

    No ssh starts before something connects. Raises `ValueError` for any other URL.
    """

    def __init__(self, url: str) -> None:
        self._command = _command(url)
        self._said = ""
        self._closed = threading.Event()
        self._listener: threading.Thread | None = None
        self._scratch = Scratch("ssh", _short())
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._scratch.path / "engine"))
        self._server.listen(socket.SOMAXCONN)
        self.address = f"unix://{self._scratch.path}/engine"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections. Each open connection ends when its two ends do."""
        self._closed.set()
        with contextlib.suppress(OSError):  # wakes the thread that accepts on Linux; other systems refuse it
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._scratch.close()

    def complaint(self) -> str:
        """What the ssh that was started last printed last; empty where it printed nothing."""
        if self._listener is not None:
            self._listener.join(PATIENCE)
        return self._said

    def _serve(self) -> None:
        while not self._closed.wait(PAUSE):
            with contextlib.suppress(OSError):  # it is closed, or no descriptor is free for the moment
                connection, _ = self._server.accept()
                with connection:
                    self._dial(connection)

    def _dial(self, connection: socket.socket) -> None:
        self._said = ""
        try:
            process = subprocess.Popen(
                self._command,
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                stderr=subprocess.PIPE,
                start_new_session=True,  # ssh gets no terminal to ask and no Ctrl-C
            )
        except OSError as err:
            self._said = f"ssh: {err.strerror}"
            return
        listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
        listener.start()
        self._listener = listener

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        with process.stderr as stream:
            for line in stream:
                if line.strip():
                    self._said = printable(line.decode("utf-8", "replace").strip())[:300]
        process.wait()


def _command(url: str) -> list[str]:
    """The ssh command for a URL. Raises `ValueError` where it is not an ssh URL of an engine."""
    parts = urlsplit(url)
    if f"{parts.scheme}://" != SCHEME or not parts.hostname or parts.password or parts.query or parts.fragment:
        raise ValueError(f"{url} is not ssh://[USER@]HOST[:PORT]")
    options = [word for setting in SETTINGS for word in ("-o", setting)]
    options += ["-l", parts.username] if parts.username else []
    options += ["-p", str(parts.port)] if parts.port else []
    engine = ["--host", f"unix://{parts.path}"] if parts.path.strip("/") else []
    name = parts.netloc.rpartition("@")[2]  # `hostname` is in lower case, and names in ~/.ssh/config need not be
    host = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return ["ssh", *options, "-T", "--", host, shlex.join(["docker", *engine, "system", "dial-stdio"])]


def _short() -> Path | None:
    """The folder to make a socket's folder in; None means the system's folder for temporary files.

    It is /tmp where the path of that is too long for a socket.
    """
    return None if len(os.fsencode(tempfile.gettempdir())) <= LONG else Path("/tmp")  # noqa: S108 - the folder in it is made for us alone
