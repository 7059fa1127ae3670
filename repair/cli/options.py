"""The frame of the command line: the app, shared options, and how commands print and stop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repair import __version__
from repair.errors import UsageError

if TYPE_CHECKING:
    from repair.controls.session import Say
    from repair.model import Panel
    from repair.sandbox import Sandbox

INTERRUPTED, TERMINATED = 130, 143

app = typer.Typer(
    name="repair",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Repair the hidden test lists of coding panels by two controls in real Docker, or refuse the task.",
)

PanelArgument = Annotated[Path, typer.Argument(help="Directory with panel.toml.", show_default=False, readable=False)]
Include = Annotated[
    list[str] | None, typer.Option("-i", "--include", metavar="GLOB", help="Only tasks whose name matches.")
]
Exclude = Annotated[
    list[str] | None, typer.Option("-x", "--exclude", metavar="GLOB", help="No task whose name matches.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout, and nothing else there.")]
Jobs = Annotated[
    int | None, typer.Option("-j", "--jobs", min=1, help="Containers at a time.", show_default="the engine's cores")
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries", min=0, max=20, metavar="N", help="Try again, after a pause, what the engine fails to do."
    ),
]
Build = Annotated[bool, typer.Option("--build/--no-build", help="Build images that are neither here nor pullable.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"repair {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Repair the hidden test lists of coding panels by two controls in real Docker, or refuse the task."""
    del version


def load(
    directory: Path,
    tasks: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    *,
    lists: bool = True,
) -> Panel:
    """The chosen tasks of a panel. Without `lists`, a task.json may lack its two lists.

    `tasks` are names or paths, `include` and `exclude` are globs; None chooses all tasks.
    Raises `UsageError` where `directory` is not a panel or no task is left.
    """
    from repair.panel import read

    read.load_settings(directory)  # an error about the panel comes before errors about tasks
    chosen = read.choose(directory, include or (), exclude or (), tasks or ())
    return read.load(directory, chosen.__contains__, lists=lists)


def load_task(task_dir: Path, *, lists: bool = True) -> Panel:
    """The panel of a task's directory, with that task alone. Raises `UsageError` where it has no task.json."""
    from repair.panel import read

    directory = Path(os.path.abspath(task_dir))  # noqa: PTH100 - a link to a task is in the panel that holds the link
    if not read.is_there(directory / "task.json", Path.is_file):
        raise UsageError(f"{task_dir} is no task: it has no task.json", "name a task's directory in its panel")
    return read.load(directory.parent, directory.name.__eq__, lists=lists)


@dataclass
class Stop:
    """The exit status of a stopped command."""

    status: int = INTERRUPTED


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Make SIGTERM a KeyboardInterrupt, as Ctrl-C is. The `Stop` that it yields tells them apart."""
    stop = Stop()

    def terminate(*_: object) -> None:
        stop.status = TERMINATED
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interruptible(
    sandbox: Sandbox, kept: str = "finished records are kept, run again to go on from there"
) -> Iterator[None]:
    """Make SIGTERM end a run as Ctrl-C does: remove the containers, print what is `kept`, exit with the status."""
    with stoppable() as stop:
        try:
            yield
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            sandbox.stop_all()
            print(f"repair: stopped; {kept}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(stop.status)  # a thread may wait for a pull or a build, which nothing can interrupt


@contextmanager
def progress_to(total: int, as_json: bool) -> Iterator[Say]:
    """Yield the function that shows progress: on stdout, or on stderr where stdout takes JSON."""
    from repair.report import progress

    out = sys.stderr if as_json else sys.stdout
    with (progress.live if out.isatty() else progress.lines)(out, total) as say:
        yield say


# ---- printing


def width() -> int | None:
    """The number of columns of the terminal; None where stdout is not a terminal, and nothing is cut."""
    return (os.get_terminal_size(sys.stdout.fileno()).columns or 80) if sys.stdout.isatty() else None


COLOURS = {
    "clean": "green",
    "minted": "green",
    "repaired": "cyan",
    "refused": "yellow",
    "failed": "red",
    "stale": "red",
}


def print_coloured(text: str) -> None:
    """Print text. On a terminal, the first verdict of each line gets its colour."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print(text, end="")
        return
    for line in text.splitlines():
        word = next((word for word in line.split() if word in COLOURS), None)
        print(line if word is None else line.replace(word, typer.style(word, fg=COLOURS[word]), 1))


def print_json(document: Any) -> None:
    from repair.text import pretty

    print(pretty(document))
