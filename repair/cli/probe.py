"""`repair probe`: why the outcome of a test changes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from repair.cli.options import Build, Jobs, Json, Retries, interruptible, load_task, print_json, progress_to, width
from repair.errors import UsageError
from repair.text import is_encodable, printable


def probe(
    task_dir: Annotated[
        Path, typer.Argument(help="A task's directory in its panel.", show_default=False, readable=False)
    ],
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Test ids of its image, listed or not.", show_default=False)
    ],
    repeats: Annotated[int, typer.Option("-n", "--repeats", min=2, max=100, help="Runs under each condition.")] = 5,
    jobs: Jobs = None,
    build: Build = True,
    retries: Retries = 1,
    as_json: Json = False,
) -> None:
    """Run tests under both controls, each alone and in the suite, without and with a network, to tell why they change.

    Flaky, order-dependent or network-needing: one table. That is 4 × n runs of
    the suite and 4 × n of each id; nothing is recorded and no record is read.
    Exit status 0 where all was observed; 5 and up where some run was not.

    Example: repair probe panel/acme-1 "tests/test_ledger.py::test_total" -n 10
    """
    from repair.controls import session
    from repair.mint import probe as mint_probe
    from repair.report import probe as report_probe

    loaded = load_task(task_dir, lists=False)
    plan = mint_probe.Plan(_checked(ids), repeats)
    options = session.Options(jobs, build, fresh=True, retries=retries)
    with (
        session.connect() as sandbox,
        interruptible(sandbox, "a probe keeps nothing"),
        progress_to(1, as_json) as say,
    ):
        result = mint_probe.run(loaded, sandbox, options, plan, say)
    code = report_probe.exit_code(result)
    if as_json:
        print_json(report_probe.document(result, code))
    else:
        print(report_probe.text(result, width()), end="")
    print(report_probe.failures_text(result), end="", file=sys.stderr)
    raise typer.Exit(code)


def _checked(ids: Sequence[str]) -> tuple[str, ...]:
    """The ids, each once. Raises `UsageError` for a text that could not be an id in task.json."""
    from repair.outcomes.spelling import MAX_ID, can_be_listed

    for test in ids:
        if not test.strip() or not can_be_listed(test) or not is_encodable(test):
            raise UsageError(
                f"{printable(test)[:80]!r} is no test id", f"give one line of UTF-8, of at most {MAX_ID} characters"
            )
    return tuple(dict.fromkeys(ids))
