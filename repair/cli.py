"""The command line; the only place that prints or exits. A command is a composition of what the other modules do.

Heavy modules are imported where they are used, so that `repair --help` is quick.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repair import __version__
from repair.cause import printable
from repair.errors import DiskFull, RepairError, UsageError

if TYPE_CHECKING:
    from repair.model import Panel
    from repair.pipeline import Result, Say
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
Build = Annotated[bool, typer.Option("--build/--no-build", help="Build images that are neither here nor pullable.")]


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status. The one place where an error becomes a message."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # arrows in a locale that has none
    try:
        status = _status(arguments)
        sys.stdout.flush()
        return status
    except RepairError as err:
        _complain(err, as_json="--json" in arguments)
        return err.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: not worth a word
        return 0
    except OSError as err:
        if err.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _complain(DiskFull("the output cannot be written: no space left", "free some, then run again"), as_json=False)
        return DiskFull.code
    except Exception:  # noqa: BLE001 - the one boundary: whatever is left is a bug of ours
        traceback.print_exc()
        print("repair: this is a bug of repair's; please report it with the lines above", file=sys.stderr)
        return RepairError.code


def _status(arguments: Sequence[str]) -> int:
    try:
        app(args=arguments, prog_name="repair")
    except SystemExit as err:
        if isinstance(err.__context__, BrokenPipeError):  # typer makes a status of it
            raise err.__context__ from None
        return err.code if isinstance(err.code, int) else int(err.code is not None)
    return 0


def _complain(err: RepairError, *, as_json: bool) -> None:
    print("\n".join(map(printable, f"repair: {err}".split("\n"))), file=sys.stderr)
    if as_json:
        error = {"kind": err.kind, "message": err.message, "next": err.next}
        _print_json({"exit": err.code, "error": error})


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


# ---- run


@app.command()
def run(
    panel: PanelArgument,
    tasks: Annotated[list[str] | None, typer.Argument(help="Tasks by name or path; all without.")] = None,
    jobs: Jobs = None,
    build: Build = True,
    include: Include = None,
    exclude: Exclude = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Disregard journalled control runs (never an existing repair.json).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Run both controls of every task in its image, decide, confirm, and write repair.json.

    Exit status 0 when every task has a record, refused ones included; 1 when a
    record is stale; 5 and up when a control could not be observed.

    Example: repair run panels/demo -j 4 -x 'ledger-*'
    """
    from repair import pipeline, views

    loaded = _load(panel, tasks, include, exclude)
    if dry_run:
        plan = views.plan(loaded)
        text = "".join(f"{printable(name)}: {printable(what)}\n" for name, what in plan.items())
        return _print_json({"plan": plan}) if as_json else print(text, end="")
    with pipeline.connect() as sandbox, _interruptible(sandbox), _progress(len(loaded.tasks), as_json) as say:
        results = pipeline.run(loaded, sandbox, pipeline.Options(jobs, build, fresh), say)
    code = views.exit_code(results)
    if as_json:
        _print_json(views.run_document(results, code))
    else:
        _print_coloured(views.run_text(panel, results, _width()))
    print(views.failures_text(results), end="", file=sys.stderr)
    raise typer.Exit(code)


def _load(
    directory: Path,
    tasks: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
) -> Panel:
    from repair.formats import native

    native.load_settings(directory)  # whether it is a panel at all comes before which tasks it has
    chosen = native.choose(directory, include or (), exclude or (), tasks or ())
    return native.load(directory, chosen.__contains__)


@contextmanager
def _interruptible(sandbox: Sandbox) -> Iterator[None]:
    """Make SIGTERM end a run as Ctrl-C does: containers removed, finished records kept, then the status."""
    status = INTERRUPTED

    def terminate(*_: object) -> None:
        nonlocal status
        status = TERMINATED
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sandbox.stop_all()
        print("repair: stopped; finished records are kept, run again to go on from there", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # a thread may sit in a pull or a build, which nothing can interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(total: int, as_json: bool) -> Iterator[Say]:
    from repair import progress

    out = sys.stderr if as_json else sys.stdout
    with (progress.live if out.isatty() else progress.lines)(out, total) as say:
        yield say


# ---- check and gate


@app.command()
def check(
    panel: PanelArgument,
    rerun: Annotated[bool, typer.Option("--rerun", help="Run the controls again and compare, too.")] = False,
    jobs: Jobs = None,
    build: Build = True,
    include: Include = None,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Rebuild every record byte for byte; say which is edited, stale, inconsistent or absent.

    Exit status 1 if any record is not sound. Without --rerun only files are
    read.

    Example: repair check panels/demo --rerun
    """
    from repair import pipeline, views
    from repair.check import Soundness, examine_all

    loaded = _load(panel, None, include, exclude)
    found = examine_all(loaded)
    again: list[Result] = []
    if rerun:
        with pipeline.connect() as sandbox, _interruptible(sandbox), _progress(len(loaded.tasks), as_json) as say:
            again = pipeline.rerun(loaded, sandbox, pipeline.Options(jobs, build), say)
    code = views.exit_code(again) or int(any(task.soundness is not Soundness.SOUND for task in found))
    if as_json:
        _print_json(views.check_document(found, again, code))
    else:
        print(views.check_text(found, again), end="")
    raise typer.Exit(code)


@app.command()
def gate(
    panel: PanelArgument,
    min_tasks: Annotated[
        int | None, typer.Option("--min-tasks", min=0, help="Ask for more tasks than panel.toml does.")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", metavar="FILE", help="Write the admitted tasks for a training run.", readable=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count the admitted tasks (clean, or repaired and confirmed, with a sound record) against the panel's gate.

    Exit status 0 if there are enough, 1 if not; the manifest is written only if
    there are.

    Example: repair gate panels/demo --min-tasks 9 --manifest admitted.json
    """
    from repair import gate as gates
    from repair import views
    from repair.check import examine_all
    from repair.store import write_atomically

    loaded = _load(panel)
    if min_tasks is not None and min_tasks < loaded.min_tasks:
        raise UsageError(
            f"--min-tasks {min_tasks} is below the panel's own {loaded.min_tasks}",
            f"it may only raise it; change [gate] in {panel / 'panel.toml'}, where a review sees it",
        )
    judged = gates.judge(examine_all(loaded), loaded.min_tasks if min_tasks is None else min_tasks)
    if manifest is not None and judged.passed:
        write_atomically(manifest, gates.manifest(loaded, judged))
    if as_json:
        _print_json(views.gate_document(judged))
    else:
        print(views.gate_text(judged), end="")
    raise typer.Exit(0 if judged.passed else 1)


# ---- look at one thing


@app.command()
def show(
    task_dir: Annotated[
        Path, typer.Argument(help="A task's directory in its panel.", show_default=False, readable=False)
    ],
    log: Annotated[
        str | None, typer.Option("--log", metavar="empty|oracle", help="Print that control's raw log instead.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every id of every group.")] = False,
) -> None:
    """Show one task's decision: verdict, reasons, drops by cause, the confirmation; or a control's raw log.

    Example: repair show panels/demo/wordtools-1-acronyms --log oracle
    """
    from repair.check import Soundness, examine
    from repair.formats import native
    from repair.model import ControlKind
    from repair.report import terminal

    directory = Path(os.path.abspath(task_dir))  # noqa: PTH100 - a link in a panel stays in that panel
    if not native.is_there(directory / "task.json", Path.is_file):
        raise UsageError(f"{task_dir} is no task: it has no task.json", "name a task's directory in its panel")
    loaded = native.load(directory.parent, directory.name.__eq__)
    task = loaded.tasks[0]
    if log is not None:
        if log not in set(ControlKind):
            raise UsageError(f"--log {log}: expected empty or oracle")
        return _print_log(loaded, ControlKind(log))
    found = examine(loaded, task)
    if found.table is None or found.decision is None:
        raise UsageError(f"{task_dir}: {found.soundness}: {'; '.join(found.details)}")
    limit = sys.maxsize if every else 5
    _print_coloured(terminal.page(task.instance_id, found.table, found.decision, found.evidence, limit))
    if found.soundness is not Soundness.SOUND:
        print(printable(f"this record is {found.soundness}: {'; '.join(found.details)}"))
    return None


def _print_log(panel: Panel, kind: str) -> None:
    from repair.store import latest_log

    file = latest_log(panel, panel.tasks[0], kind)
    if file is None:
        raise UsageError(f"no log of {kind} is kept here", "logs stay on the machine that ran the controls")
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            sys.stdout.buffer.write(chunk)
    sys.stdout.flush()


@app.command()
def parse(
    reports: Annotated[
        list[Path], typer.Argument(help="JUnit files, plain or gzip.", show_default=False, readable=False)
    ],
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE", help="Print the outcome of each id in FILE, one a line.", readable=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what repair sees in report files: each id's outcome, or why a report is no evidence (exit 4).

    Ids outside pytest are `classname::name`.

    Example: repair parse junit.xml --ids f2p.txt --json
    """
    from repair import reports as files
    from repair.errors import ReportError

    seen = files.read_all(reports, None if ids is None else files.read_ids(ids))
    if as_json:
        _print_json({"outcomes": seen.outcomes, "flags": list(seen.flags)})
    else:
        for test, outcome in seen.outcomes.items():
            print(f"{outcome:8} {files.shown(test)}")
    for problem in seen.problems:
        print(f"repair: {problem}", file=sys.stderr)
    if seen.problems:
        raise typer.Exit(ReportError.code)


# ---- the engine


@app.command()
def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Also those of other hosts' runs, about which nothing is known here.")
    ] = False,
) -> None:
    """Remove the containers that killed runs left on the engine; those of a run that lives are spared.

    Example: repair clean
    """
    from repair.runs import is_dead, is_of_this_host, new_run_id
    from repair.sandbox import Sandbox

    sandbox = Sandbox(new_run_id())
    left, removed = sandbox.left_over(), 0
    for identity, run_id, task in left:
        if is_dead(run_id) or (everything and not is_of_this_host(run_id)):
            sandbox.remove(identity)
            removed += 1
            print(f"removed {identity[:12]} ({printable(task)})")
    spared = len(left) - removed
    print(
        f"{removed} containers removed"
        + (f", {spared} spared: their runs live, or belong to another host" * bool(spared))
    )


@app.command()
def doctor(
    panel: Annotated[
        Path | None, typer.Argument(help="Also look at this panel's images.", show_default=False, readable=False)
    ] = None,
) -> None:
    """Say what repair sees: engine, version, storage, free disk, git, and a panel's images; each with what to do.

    Exit status 0 if a run could start; the error's own otherwise.

    Example: repair doctor panels/demo
    """
    from repair import doctor as examination

    loaded = None if panel is None else _load(panel)
    ready = True
    for finding in examination.examine(loaded):
        ready = ready and finding.good
        print(
            f"{'ok  ' if finding.good else 'BAD '} {finding.what}" + (f"\n     {finding.next}" if finding.next else "")
        )
    raise typer.Exit(0 if ready else 1)


# ---- printing


def _width() -> int | None:
    """Columns of the terminal; None for a pipe, where nothing is cut."""
    return (os.get_terminal_size(sys.stdout.fileno()).columns or 80) if sys.stdout.isatty() else None


COLOURS = {"clean": "green", "repaired": "cyan", "refused": "yellow", "failed": "red", "stale": "red"}


def _print_coloured(text: str) -> None:
    """Print text, with the first verdict of each line in its colour on a terminal."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print(text, end="")
        return
    for line in text.splitlines():
        word = next((word for word in line.split() if word in COLOURS), None)
        print(line if word is None else line.replace(word, typer.style(word, fg=COLOURS[word]), 1))


def _print_json(document: Any) -> None:
    from repair.documents import pretty

    print(pretty(document))
