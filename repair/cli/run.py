"""`repair run`: the command that decides a panel."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from repair.cli.options import (
    Build,
    Exclude,
    Include,
    Jobs,
    Json,
    PanelArgument,
    Retries,
    interruptible,
    load,
    print_coloured,
    print_json,
    progress_to,
    width,
)
from repair.errors import UsageError
from repair.text import printable


def run(
    panel: PanelArgument,
    tasks: Annotated[list[str] | None, typer.Argument(help="Tasks by name or path; all without.")] = None,
    jobs: Jobs = None,
    build: Build = True,
    retries: Retries = 1,
    include: Include = None,
    exclude: Exclude = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Disregard journalled control runs (never an existing repair.json).")
    ] = False,
    verifier: Annotated[
        str | None,
        typer.Option("--verifier", metavar="own", help="Ask each task's own verifier, too, on its repaired copy."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and do nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Run both controls of every task in its image, decide, confirm, and write repair.json.

    Exit status 0 when every task has a record, refused ones included; 1 when a
    record is stale; 5 and up when a control could not be observed.

    Example: repair run panels/demo -j 4 -x 'ledger-*'
    """
    from repair import pipeline
    from repair.controls import session
    from repair.formats.trimming import verifier_of
    from repair.report import run as report_run

    if verifier not in (None, "own"):
        raise UsageError(f"--verifier {verifier}: expected own")
    loaded = load(panel, tasks, include, exclude)
    options = session.Options(jobs, build, fresh, verifier_of if verifier is not None else None, retries)
    if dry_run:
        plan = report_run.plan(loaded)
        text = "".join(f"{printable(name)}: {printable(what)}\n" for name, what in plan.items())
        return print_json({"plan": plan}) if as_json else print(text, end="")
    with session.connect() as sandbox, interruptible(sandbox), progress_to(len(loaded.tasks), as_json) as say:
        results = pipeline.run(loaded, sandbox, options, say)
    code = report_run.exit_code(results)
    if as_json:
        print_json(report_run.run_document(results, code))
    else:
        print_coloured(report_run.run_text(panel, results, width()))
    failed = ((result.task.instance_id, result.error) for result in results if result.state is pipeline.State.FAILED)
    print(report_run.failures_text(failed), end="", file=sys.stderr)
    raise typer.Exit(code)
