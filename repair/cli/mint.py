"""`repair mint`: lists as the image of each task gives them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from repair.errors import RepairError, UsageError
from repair.text import printable

if TYPE_CHECKING:
    from repair.mint.document import Minted
    from repair.model import Panel


def mint(
    panel: PanelArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PANEL", help="The new panel.", readable=False)
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show what the lists as they are have wrong, by cause.")
    ] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=100, help="Runs of each control.")] = 3,
    all_tests: Annotated[
        bool, typer.Option("--all-tests", help="Run what test_cmd runs by itself, not only the changed test files.")
    ] = False,
    jobs: Jobs = None,
    build: Build = True,
    retries: Retries = 1,
    include: Include = None,
    exclude: Exclude = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Disregard journalled control runs.")] = False,
    as_json: Json = False,
) -> None:
    """Derive F2P and P2P inside each task's image, and write a new panel with them.

    A refused task gets a mint.json that says why, and no lists. Exit status 0
    where every task was minted or refused; 5 and up where a control could not
    be observed: what was is kept, so minting again goes on from there.

    Example: repair mint panel/ -o minted/ --repeats 3
    """
    from repair.controls import session
    from repair.files import check_new
    from repair.mint import run
    from repair.report import mint as report_mint
    from repair.report.run import failures_text

    if output is None and not compare:
        raise UsageError("nothing to do", "name the new panel with -o, or ask for --compare")
    if output is not None:
        check_new(output)  # the user learns of it before a night of runs
        if panel.resolve() in output.resolve().parents:
            raise UsageError(f"{output} is in the panel itself", "name a directory beside it")
    loaded = load(panel, None, include, exclude, lists=False)
    options = session.Options(jobs, build, fresh, retries=retries)
    plan = run.Plan(repeats, all_tests)
    kept = "observed runs are kept, mint again to go on from there"
    with session.connect() as sandbox, interruptible(sandbox, kept):
        with progress_to(len(loaded.tasks), as_json) as say:
            results = run.run(loaded, sandbox, options, plan, say)
        code = report_mint.exit_code(results)
        minted = [result.value.minted for result in results if result.value is not None]
        problem = None if output is None or not minted else _written(loaded, output, minted)
        target = output if minted and problem is None else None
        code = code if problem is None else problem.code
        if as_json:
            print_json(report_mint.document(results, code, problem, compared=compare))
        else:
            texts = [report_mint.compared_text(results, width())] if compare else []
            texts += [report_mint.minted_text(results, target, width())] if minted and output is not None else []
            print_coloured("\n".join(texts))
        print(failures_text(report_mint.failed(results)), end="", file=sys.stderr)
        if problem is not None:
            print(printable(f"repair: {problem}"), file=sys.stderr)
    raise typer.Exit(code)


def _written(panel: Panel, target: Path, found: Sequence[Minted]) -> RepairError | None:
    """Write the new panel, and give the error that kept it from being written; None where it was written.

    It does not raise: the user sees the results of a night of runs in any case.
    """
    from repair.mint import write

    try:
        write.write_panel(panel, target, found)
    except RepairError as err:
        return err
    return None
