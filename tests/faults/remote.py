"""Ways to an engine from afar, all on loopback: an sshd of the tests' own, lines that can be cut, certificates."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

NEW_NETWORK = 0x40000000


class Line:
    """A port on loopback that leads where `dial` does, until it is cut."""

    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        self._dial = dial
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port = 0
        self.mend()

    def mend(self) -> None:
        """Take calls, at the same port as before."""
        self._server = socket.create_server(("127.0.0.1", self.port))
        self.port = self._server.getsockname()[1]
        self._run(self._accept, self._server)

    def drop(self) -> None:
        """Break off the calls that there are; the next one gets through."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Break off all calls and take no more."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.drop()

    def close(self) -> None:
        if self._server.fileno() >= 0:
            self.cut()
        while self._threads:
            self._threads.pop().join()
        for end in self._ends:
            end.close()

    def _run(self, call: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=call, args=arguments))
        self._threads[-1].start()

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):  # cut
            while True:
                near, _ = server.accept()
                self._ends.append(near)
                try:
                    far = self._dial()
                except OSError:
                    near.shutdown(socket.SHUT_RDWR)
                    continue
                self._ends.append(far)
                self._run(_pump, near, far)
                self._run(_pump, far, near)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def dialer(port: int, network: Path | None = None) -> Callable[[], socket.socket]:
    """What calls a port on loopback, of another network namespace where one is named."""

    def dial() -> socket.socket:
        if network is not None:  # of this thread alone, which does nothing else
            with network.open("rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), NEW_NETWORK):
                    raise OSError(ctypes.get_errno(), "setns")
        return socket.create_connection(("127.0.0.1", port))

    return dial


@dataclass(frozen=True)
class Door:
    """An sshd on loopback, and what an ssh needs to get in: `key` is let in, `stranger` is not."""

    folder: Path
    port: int
    user: str

    def ssh(self, name: str, key: str = "key", known: str = "host") -> str:
        """A PATH whose ssh reads no settings but its own: with which key, and which key it takes for the host's."""
        folder = self.folder / name
        folder.mkdir()
        line = (self.folder / f"{known}.pub").read_text() if known else ""
        (folder / "known_hosts").write_text(f"door {line}" if line else "")
        (folder / "config").write_text(
            "Host *\nHostKeyAlias door\nGlobalKnownHostsFile none\nIdentitiesOnly yes\nIdentityAgent none\n"
            f"UserKnownHostsFile {folder}/known_hosts\nIdentityFile {self.folder}/{key}\n"
        )
        (folder / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        (folder / "ssh").chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"


@contextlib.contextmanager
def sshd(folder: Path, **environment: str) -> Iterator[Door]:
    """An sshd whose sessions have this environment, too; it knows its own keys alone."""
    for name in ("host", "key", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    values = {"PATH": os.environ["PATH"], **environment}
    settings = " ".join(f'"{name}={value}"' for name, value in values.items())
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/key.pub\nPidFile none\n"
        f"StrictModes no\nUsePAM yes\nPermitRootLogin yes\nPasswordAuthentication yes\nSetEnv {settings}\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # Debian's unit makes it; nothing is kept there
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    command = [program, "-D", "-e", "-f", str(folder / "sshd_config")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next((line for line in iter(process.stderr.readline, "") if "listening" in line), "")
        drain = threading.Thread(target=process.stderr.read)
        drain.start()
        try:
            assert said, "sshd did not start"
            yield Door(folder, port, pwd.getpwuid(os.getuid()).pw_name)  # USER may name somebody else
        finally:
            process.terminate()
            drain.join()


def certificates(folder: Path) -> Path:
    """An authority, and a server and a client that it vouches for, as docker wants them: ca, cert and key .pem."""
    folder.mkdir()
    new: list[str | Path] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    ca: list[str | Path] = ["-x509", "-days", "2", "-subj", "/CN=authority", "-addext", "keyUsage=critical,keyCertSign"]
    _openssl("req", *new, *ca, "-keyout", folder / "ca-key.pem", "-out", folder / "ca.pem")
    extensions = folder / "extensions"
    extensions.write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\nkeyUsage=digitalSignature\n")
    for name in ("server-", ""):
        key, asked, made = (folder / f"{name}{what}.pem" for what in ("key", "asked", "cert"))
        _openssl("req", *new, "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", asked)
        by: list[str | Path] = ["-CA", folder / "ca.pem", "-CAkey", folder / "ca-key.pem", "-CAcreateserial"]
        _openssl("x509", "-req", "-days", "2", *by, "-extfile", extensions, "-in", asked, "-out", made)
    return folder


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
