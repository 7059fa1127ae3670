"""`repair diff`: what changed between two panels, or between two revisions of one panel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from repair.cli.options import print_coloured, print_json, stoppable, width
from repair.errors import UsageError

FORMATS = ("terminal", "markdown", "json")


def diff(
    before: Annotated[
        Path, typer.Argument(metavar="A", help="A panel, or a task in one.", show_default=False, readable=False)
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Another one, or git revisions of A: REV, REV..REV, REV...REV.", show_default=False
        ),
    ],
    form: Annotated[str, typer.Option("--format", metavar="NAME", help="terminal, markdown or json.")] = "terminal",
) -> None:
    """Show what changed between two panels, or two git revisions of one: policy, verdicts, ids, the gate.

    One REV is compared with the working tree. Exit status 0 where nothing
    differs, 1 where something does.

    Example: repair diff panels/demo main..HEAD --format markdown
    """
    from repair.records.diff import sides as records_diff_sides
    from repair.report.diff.document import document
    from repair.report.diff.markdown import markdown
    from repair.report.diff.sections import text

    if form not in FORMATS:
        raise UsageError(f"--format {form}: expected {', '.join(FORMATS)}")
    with _interruptible(), records_diff_sides.places(before, after) as sides:
        comparison = records_diff_sides.compare(*sides)
    if form == "json":
        print_json(document(comparison))
    elif form == "markdown":
        print(markdown(comparison), end="")
    else:
        print_coloured(text(comparison, width()))
    raise typer.Exit(int(comparison.differs))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM and Ctrl-C end a comparison with their own exit status, after its temporary files are removed."""
    with stoppable() as stop:
        try:
            yield
        except KeyboardInterrupt:
            print("repair: stopped", file=sys.stderr)
            raise typer.Exit(stop.status) from None
