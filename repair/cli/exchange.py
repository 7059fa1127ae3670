"""`repair import` and `repair export`: panels from and to the formats that people have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repair.cli.options import Exclude, Include, Json, PanelArgument, load, print_json


def import_panel(
    source: Annotated[
        Path,
        typer.Argument(
            help="A JSON, JSONL or Parquet file, or a directory of such files or of task directories.",
            show_default=False,
            readable=False,
        ),
    ],
    panel: Annotated[
        Path, typer.Option("-o", "--output", metavar="PANEL", help="The new panel.", show_default=False, readable=False)
    ],
    format_name: Annotated[
        str, typer.Option("--format", metavar="NAME", help="The rows' format; auto tells it by their columns.")
    ] = "auto",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many tasks.")] = None,
    include: Include = None,
    exclude: Exclude = None,
    image_template: Annotated[
        str | None,
        typer.Option(
            "--image-template",
            metavar="TEXT",
            help="Name of the images over {a column}, {id}, {id_1776}, {id_s}, {org}, {name}.",
        ),
    ] = None,
    test_cmd: Annotated[
        str | None, typer.Option("--test-cmd", metavar="TEXT", help="The command that runs the tests, instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a panel of tasks in a foreign format, and say what to look at before a run.

    Nothing is lost: each task keeps its row, and a row that is no task is named
    with its reason. Exit status 1 if there is one.

    Example: repair import rows.jsonl -o panel/ -x 'django__*'
    """
    from repair.controls import session
    from repair.errors import EngineError
    from repair.formats import importing
    from repair.formats.base import Wants
    from repair.report.exchange import import_document, import_text

    choice = importing.Choice(format_name, limit, tuple(include or ()), tuple(exclude or ()))
    preflight = importing.run(source, panel, choice, Wants(image_template, test_cmd))
    try:
        with session.connect() as sandbox:
            importing.look_for_images(preflight, sandbox.images.references())
    except EngineError as err:
        importing.look_for_images(preflight, err)
    code = int(bool(preflight.reasons))
    document = import_document(preflight, code)
    importing.keep(panel, document)
    if as_json:
        print_json(document)
    else:
        print(import_text(panel, preflight), end="")
    raise typer.Exit(code)


def export_panel(
    panel: PanelArgument,
    target: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="DEST", help="The new file or directory.", show_default=False, readable=False
        ),
    ],
    format_name: Annotated[
        str, typer.Option("--format", metavar="NAME", help="same, native, or another format that can hold the tasks.")
    ] = "same",
    every: Annotated[
        bool, typer.Option("--all/--admitted", help="All tasks, those without an admitted record as they came.")
    ] = False,
    include: Include = None,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Write a panel in the format that it came from, its lists trimmed by its records, all else as it came.

    Example: repair export panel/ -o repaired.jsonl
    """
    from repair.formats import exporting
    from repair.report.exchange import export_document, export_text

    exported = exporting.run(load(panel, None, include, exclude), target, format_name, every=every)
    if as_json:
        print_json(export_document(exported, 0))
    else:
        print(export_text(target, exported), end="")
