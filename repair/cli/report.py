"""`repair report`: a panel as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from repair.cli.options import Exclude, Include, PanelArgument, load
from repair.errors import UsageError
from repair.text import printable

KILO = 1000


def report(
    panel: PanelArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file.", readable=False)],
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    include: Include = None,
    exclude: Exclude = None,
) -> None:
    """Write the panel as one self-contained HTML file: gate, verdicts, causes, every task's tests by outcome.

    Only files are read. A report that is there is replaced. With -i or -x the gate is not judged.

    Example: repair report panels/demo -o report.html --open
    """
    from repair.files import write_atomically
    from repair.report.page import build, html

    _check_place(output)
    loaded = load(panel, None, include, exclude)
    page = build.page(loaded, whole=not include and not exclude)
    content = html.render(page).encode()
    write_atomically(output, content)
    totals = ", ".join(f"{part.number} {part.word}" for part in html.segments(page) if part.number)
    print(printable(f"{output}: {_size(len(content))}, {html.headline(page.gate)}, {totals}"))
    if open_it:
        import webbrowser

        if not webbrowser.open(output.absolute().as_uri()):
            print("repair: no browser was found; open the file in one", file=sys.stderr)


def _check_place(output: Path) -> None:
    """Raise `UsageError` where the file could not be written, before anything is read."""
    try:
        if output.is_dir():
            raise UsageError(f"{output} is a directory", "name the HTML file")
        if output.is_file() and not _is_page(output):
            raise UsageError(f"{output} is there already, and no report", "name another file")
        if not output.absolute().parent.is_dir():
            raise UsageError(f"{output.parent} is no directory", "make it first, or name another place")
    except OSError as err:
        raise UsageError(f"{output} cannot be written: {err.strerror}", "check name and permissions") from None


def _is_page(file: Path) -> bool:
    """Is the file a page, or empty? Then a new page may replace it."""
    with file.open("rb") as stream:
        begin = stream.read(20)
    return not begin or begin.lower().startswith(b"<!doctype html")


def _size(number: int) -> str:
    """A number of bytes for people: `48 kB`, `6.1 MB`."""
    return f"{number / KILO / KILO:.1f} MB" if number >= KILO * KILO else f"{max(1, round(number / KILO))} kB"
