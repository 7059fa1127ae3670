"""A Docker engine of the tests' own, to be stopped and killed at will, shut off from the user's.

It lives in its own network, mount and process namespaces: it never sees the host's docker0, its mounts end with it,
and whatever it started ends when the namespace's first process does, which is when we close its input, or die.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

START = 300  # seconds that the engine may take to answer, or to end
HOLD = "import signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
NAMESPACES = ("--net", "--mount", "--pid")


class PrivateEngine:
    """containerd and dockerd, what they keep held in memory below `root`; `address` is what DOCKER_HOST takes.

    With `disk` dockerd keeps images and containers on an ext4 file system of so many bytes instead.
    """

    def __init__(self, root: Path, disk: int | None = None) -> None:
        self.root = root
        self.address = f"unix://{root}/docker.sock"
        self.options: Sequence[str] = ()  # more of dockerd's, from its next start on
        self._cgroup = f"repair-faults-{secrets.token_hex(4)}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        (root / "daemon.json").write_text("{}")
        (root / "containerd.toml").write_text(
            f'version = 2\nroot = "{root}/memory/containerd"\nstate = "{root}/memory/state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{root}/containerd.sock"\n'
        )
        command = ["unshare", *NAMESPACES, "--fork", "--mount-proc", sys.executable, "-c", HOLD]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._holder.stdout is not None
        self._holder.stdout.readline()
        self._inner = _child(self._holder.pid)
        (root / "memory").mkdir()
        for setting in (
            "ip link set lo up",
            f"mount -t tmpfs none {root}/memory",  # images are gone at once with the namespace
            "mount -t tmpfs none /run",  # where containerd keeps sockets
        ):
            self.inside(*setting.split())
        if disk is not None:
            data = root / "memory" / "data"
            self.inside("mkdir", str(data))
            self.inside("mount", "-o", "loop", str(ext4(root / "disk", disk)), str(data))

    def inside(self, *command: str) -> str:
        """Run a command where the engine lives, and sees its disk; what it prints."""
        done = subprocess.run([*self._inside(), *command], check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    @property
    def network(self) -> Path:
        """The network namespace in which dockerd's ports are."""
        return Path(f"/proc/{self._inner}/ns/net")

    @property
    def data(self) -> Path:
        """Where dockerd keeps images and containers, as `inside` sees it."""
        return self.root / "memory" / "data"

    def _inside(self) -> list[str]:
        return ["nsenter", "--target", str(self._inner), *NAMESPACES, "--"]

    def _spawn(self, name: str, command: Sequence[str]) -> None:
        with (self.root / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [*self._inside(), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the tests
            )

    def start(self) -> None:
        """Start the engine, and containerd where it does not run; returns when it answers."""
        if "containerd" not in self._processes:
            self._spawn("containerd", ["containerd", "--config", f"{self.root}/containerd.toml"])
        for stale in ("docker.pid", "docker.sock"):
            (self.root / stale).unlink(missing_ok=True)
        command = ["dockerd", "--config-file", f"{self.root}/daemon.json", "--host", self.address]
        command += ["--data-root", f"{self.root}/memory/data", "--exec-root", f"{self.root}/memory/exec"]
        command += ["--pidfile", f"{self.root}/docker.pid", "--containerd", f"{self.root}/containerd.sock"]
        command += ["--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"]
        command += ["--storage-driver", "overlay2", "--exec-opt", "native.cgroupdriver=cgroupfs"]
        command += ["--cgroup-parent", self._cgroup, "--shutdown-timeout", "5"]
        self._spawn("dockerd", [*command, *self.options])
        self._until_it_answers()

    def _until_it_answers(self) -> None:
        ticks, process = threading.Event(), self._processes["dockerd"]
        for _ in range(START * 5):
            if self.docker("version", check=False).returncode == 0:
                return
            if process.poll() is not None:
                break
            ticks.wait(0.2)
        raise RuntimeError(f"no private engine: {(self.root / 'dockerd.log').read_text()[-2000:]}")

    def docker(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the docker command against this engine."""
        command = ["docker", "--host", self.address, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def load(self, image: str) -> None:
        """Copy an image of the user's engine into this one."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
            command = ["docker", "--host", self.address, "load", "--quiet"]
            subprocess.run(command, stdin=save.stdout, stdout=subprocess.DEVNULL, check=True)
        assert save.returncode == 0

    def _signal(self, number: signal.Signals) -> subprocess.Popen[bytes]:
        """Send dockerd, and nothing else, a signal; the process through which we started it."""
        starter = self._processes["dockerd"]
        os.kill(_child(starter.pid), number)
        return starter

    def stop(self) -> None:
        """End the engine as an administrator does: it stops its containers first."""
        self._signal(signal.SIGTERM).wait(START)
        del self._processes["dockerd"]

    def kill(self) -> None:
        """End dockerd as a crash does: containerd and the containers go on without it."""
        self._signal(signal.SIGKILL).wait(START)
        del self._processes["dockerd"]

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the engine answer nothing for a while."""
        starter = self._signal(signal.SIGSTOP)
        os.waitpid(starter.pid, os.WUNTRACED)  # nsenter stops when its child does, and wakes it when it is woken
        try:
            yield
        finally:
            starter.send_signal(signal.SIGCONT)

    @property
    def runs(self) -> bool:
        return "dockerd" in self._processes

    def close(self) -> None:
        """End everything that lives in the namespaces, and remove what it left in the system's control groups."""
        if self.runs:
            self.stop()
        self._holder.communicate(timeout=START)
        for process in self._processes.values():
            process.wait(START)
        for top, folders, _ in os.walk("/sys/fs/cgroup"):  # unlike a glob it forgives what others remove meanwhile
            if self._cgroup in folders:
                folders.remove(self._cgroup)
                for folder, _, _ in os.walk(Path(top) / self._cgroup, topdown=False):
                    with contextlib.suppress(FileNotFoundError):
                        Path(folder).rmdir()


def ext4(file: Path, size: int, *options: str) -> Path:
    """A file of so many bytes that holds an ext4 file system, none of it kept for root."""
    with file.open("xb") as stream:
        stream.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", *options, str(file)], check=True)
    return file


def _child(pid: int) -> int:
    """The only child of a process of ours."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@contextlib.contextmanager
def private_engine(root: Path, disk: int | None = None) -> Iterator[PrivateEngine]:
    """A running engine below `root`, an empty directory with a short path; all that it started ends with it."""
    engine = PrivateEngine(root, disk)
    try:
        engine.start()
        yield engine
    finally:
        engine.close()
