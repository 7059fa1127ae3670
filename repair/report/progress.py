"""What the user sees while tasks run: a live display on a terminal, one line per event elsewhere."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from repair.controls.session import Event, Say
from repair.text import printable

SHOWN = 12  # running tasks in the live display


@contextmanager
def lines(out: TextIO, total: int) -> Iterator[Say]:
    """Write one line per event: `[done/total] task: what`."""
    lock, done = threading.Lock(), Counter[str]()

    def say(event: Event) -> None:
        with lock:
            done["tasks"] += event.done
            out.write(f"[{done['tasks']}/{total}] {printable(event.task)}: {printable(event.what)}\n")
            out.flush()

    yield say


@contextmanager
def live(out: TextIO, total: int) -> Iterator[Say]:
    """Show the running tasks, each with its state and its seconds, and counts of ended tasks. Erased at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    running: dict[str, tuple[float, str]] = {}
    done: Counter[str] = Counter()
    begin = time.monotonic()
    lock = threading.Lock()

    def render() -> Text:
        with lock:
            now = time.monotonic()
            tasks = list(running.items())[:SHOWN]
            rows = [f"{now - since:6.0f} s  {printable(name)}: {printable(what)}" for name, (since, what) in tasks]
            counts = ", ".join(f"{number} {printable(what)}" for what, number in sorted(done.items()))
            more = [f"         and {len(running) - SHOWN} more"] if len(running) > SHOWN else []
            head = f"{sum(done.values())}/{total} tasks in {now - begin:.0f} s" + (f": {counts}" if counts else "")
        return Text("\n".join([*rows, *more, head]), no_wrap=True, overflow="ellipsis")

    def say(event: Event) -> None:
        with lock:
            if event.done:
                running.pop(event.task, None)
                done[event.what.split(" ", 1)[0].rstrip(":,")] += 1
            else:
                since = running.get(event.task, (time.monotonic(), ""))[0]
                running[event.task] = (since, event.what)

    class Display:
        def __rich__(self) -> Text:
            return render()

    with Live(Display(), console=Console(file=out), refresh_per_second=4, transient=True):
        yield say
