"""`repair show`, `parse`, `clean` and `doctor`: a look at one thing, and the engine's upkeep."""

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
    found = examine(loaded, task)
    if found.table is None or found.decision is None:
        raise UsageError(f"{task_dir}: {found.soundness}: {'; '.join(found.details)}")
    limit = sys.maxsize if every else 5
    flaky = tuple(rules.flaky(found.evidence)) if found.evidence is not None else ()
    print_coloured(terminal.page(task.instance_id, found.table, found.decision, found.evidence, limit, flaky))
    if found.soundness is not Soundness.SOUND:
        print(printable(f"this record is {found.soundness}: {'; '.join(found.details)}"))
    return None


def _print_log(panel: Panel, kind: str) -> None:
    """Print a log: as it is into a file or a pipe, and so that it cannot steer a terminal on one."""
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

    seen = files.read_all(reports, None if ids is None else files.read_ids(ids))
    if as_json:
        print_json({"outcomes": seen.outcomes, "flags": list(seen.flags)})
    else:
        for test, outcome in seen.outcomes.items():
            print(f"{outcome:8} {files.shown(test)}")
    for problem in seen.problems:
        print(printable(f"repair: {problem}"), file=sys.stderr)
    if seen.problems:
        raise typer.Exit(ReportError.code)


# ---- the engine
