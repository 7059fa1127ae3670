"""`repair` in a process of its own: started, watched line by line, signalled, ended."""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

PATIENCE = 600  # seconds after which a test that waits for something gives up
REPAIR = (sys.executable, "-m", "repair")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended:
    """What a finished command left: exit status (negative: its signal), what it printed, its memory's peak in bytes."""

    code: int
    out: str
    err: str
    peak: int


@dataclass(frozen=True, slots=True)
class Docker:
    """The docker command against one engine; `address` None is the user's own, `extra` is set for `repair` alone."""

    address: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **({} if self.address is None else {"DOCKER_HOST": self.address})}

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            ["docker", *arguments], env=self.environment, check=True, text=True, stdout=subprocess.PIPE
        )
        return done.stdout

    def containers(self, *tasks: str) -> list[str]:
        """The ids of all containers of these tasks, but those on their way out; of any task where none is named."""
        labels = [f"label=repair.task={task}" for task in tasks] or ["label=repair.run"]
        listed = [self("ps", "-a", "--filter", label, "--format", "{{.ID}} {{.Status}}") for label in labels]
        found = [line.partition(" ") for text in listed for line in text.splitlines()]
        return [identity for identity, _, status in found if not status.startswith("Remov")]

    def in_test(self, task: str, number: int = 1) -> list[str]:
        """Wait until `number` containers of a task are inside the test that makes /tmp/begun; their ids."""

        def inside() -> list[str]:
            found = [box for box in self.containers(task) if self._has(box, "/tmp/begun")]
            return found if len(found) >= number else []

        return eventually(inside)

    def _has(self, box: str, file: str) -> bool:
        command = ["docker", "exec", box, "test", "-e", file]
        return subprocess.run(command, env=self.environment, capture_output=True, check=False).returncode == 0


class LiveRun:
    """A running `repair` command. `lines` holds what it printed so far."""

    def __init__(self, arguments: Sequence[str | Path], docker: Docker, scratch: Path) -> None:
        self.lines: list[str] = []
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors = (scratch / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [*REPAIR, *map(str, arguments)],
            env={**docker.environment, **docker.extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._ends = os.pidfd_open(self.process.pid)
        self._peak = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self._queue.put(line.decode().rstrip("\n"))
        self._queue.put(None)

    def until(self, *words: str, times: int = 1) -> str | None:
        """Read on until `times` further lines hold all of `words`; the last of them, None where the output ended."""
        deadline = time.monotonic() + PATIENCE
        while (line := self._queue.get(timeout=max(0.0, deadline - time.monotonic()))) is not None:
            self.lines.append(line)
            times -= all(word in line for word in words)
            if not times:
                return line
        return None

    def lasts(self, seconds: float) -> bool:
        """Does the process live on for `seconds`?"""
        return not select.select([self._ends], [], [], seconds)[0]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, seconds: float = PATIENCE) -> Ended:
        """Wait for the end; what was printed."""
        assert not self.lasts(seconds), f"no end within {seconds} s"
        self._reap()
        self._reader.join()
        while (line := self._queue.get()) is not None:
            self.lines.append(line)
        self._errors.seek(0)
        return Ended(self.process.returncode, "\n".join(self.lines), self._errors.read().decode(), self._peak)

    def _reap(self) -> None:
        if self.process.returncode is None:
            _, status, usage = os.wait4(self.process.pid, 0)
            self.process.returncode, self._peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.returncode is None:
            self.process.kill()
            self._reap()
        os.close(self._ends)
        self._reader.join()
        self._errors.close()


def eventually(look: Callable[[], T], seconds: float = PATIENCE) -> T:
    """What `look` finds as soon as it finds anything; fails where it finds nothing for `seconds`."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        pause.wait(0.05)
    return found
