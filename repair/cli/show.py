"""`repair show` and `repair parse`: a look at one task, and at report files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repair.cli.options import Json, load_task, print_coloured, print_json
from repair.errors import UsageError
from repair.text import printable, shown_line

if TYPE_CHECKING:
    from repair.model import Panel


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
    from repair import rules
    from repair.model import ControlKind
    from repair.records.check import Soundness, examine
    from repair.report import terminal

    loaded = load_task(task_dir)
    task = loaded.tasks[0]
    if log is not None:
        if log not in set(ControlKind):
            raise UsageError(f"--log {log}: expected empty or oracle")
        return _print_log(loaded, ControlKind(log))
    examined = examine(loaded, task)
    if examined.table is None or examined.decision is None:
        raise UsageError(f"{task_dir}: {examined.soundness}: {'; '.join(examined.details)}")
    limit = sys.maxsize if every else 5
    flaky = tuple(rules.flaky(examined.evidence)) if examined.evidence is not None else ()
    print_coloured(terminal.page(task.instance_id, examined.table, examined.decision, examined.evidence, limit, flaky))
    if examined.soundness is not Soundness.SOUND:
        print(printable(f"this record is {examined.soundness}: {'; '.join(examined.details)}"))
    return None


def _print_log(panel: Panel, kind: str) -> None:
    """Print a log: unchanged into a file or a pipe; on a terminal, in a form that cannot steer it."""
    from repair.controls.workspace import latest_log

    file = latest_log(panel, panel.tasks[0], kind)
    if file is None:
        raise UsageError(f"no log of {kind} is kept here", "logs stay on the machine that ran the controls")
    with file.open("rb") as stream:
        if sys.stdout.isatty():
            for line in stream:
                print(shown_line(line.decode("utf-8", "replace")))
            return
        while chunk := stream.read(1 << 20):
            sys.stdout.buffer.write(chunk)
    sys.stdout.flush()


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
    from repair.errors import ReportError
    from repair.outcomes import report_files as files

    results = files.read_all(reports, None if ids is None else files.read_ids(ids))
    if as_json:
        print_json({"outcomes": results.outcomes, "flags": list(results.flags)})
    else:
        for test, outcome in results.outcomes.items():
            print(f"{outcome:8} {files.shown(test)}")
    for problem in results.problems:
        print(printable(f"repair: {problem}"), file=sys.stderr)
    if results.problems:
        raise typer.Exit(ReportError.code)
