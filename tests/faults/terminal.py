"""`repair run` on a terminal of its own, with a keyboard."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

from tests.faults.live_run import PATIENCE, REPAIR


class Terminal:
    """`repair run` as the foreground process of a terminal of its own."""

    def __init__(self, panel: Path) -> None:
        self._keyboard, screen = os.openpty()
        command = ["setsid", "--ctty", *REPAIR, "run", str(panel)]
        # one that shows progress in place, whatever this test's own can do
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TTY_")}
        environment["TERM"] = "xterm"
        self.process = subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, env=environment)
        os.close(screen)
        self.shown = b""

    def press(self, key: bytes) -> None:
        os.write(self._keyboard, key)

    def until(self, words: bytes) -> None:
        while words not in self.shown:
            assert select.select([self._keyboard], [], [], PATIENCE)[0], self.shown
            self.shown += os.read(self._keyboard, 4096)

    def end(self) -> int:
        """Read what is still shown; the exit status."""
        try:
            while part := os.read(self._keyboard, 4096):
                self.shown += part
        except OSError:
            pass  # how a terminal says that nobody writes to it any more
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._keyboard)
