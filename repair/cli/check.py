"""`repair check` and `repair gate`: the commands that compare a panel with its records."""

from __future__ import annotations

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
    print_json,
    progress_to,
)
from repair.errors import UsageError

if TYPE_CHECKING:
    from repair.pipeline import Result


def check(
    panel: PanelArgument,
    rerun: Annotated[bool, typer.Option("--rerun", help="Run the controls again and compare, too.")] = False,
    jobs: Jobs = None,
    build: Build = True,
    retries: Retries = 1,
    include: Include = None,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Rebuild every record byte for byte; say which is edited, stale, inconsistent or absent.

    Exit status 1 if any record is not sound. Without --rerun only files are
    read.

    Example: repair check panels/demo --rerun
    """
    from repair import pipeline
    from repair.controls import session
    from repair.formats.trimming import verifier_of
    from repair.records.check import Soundness, examine_all
    from repair.report import run as report_run

    loaded = load(panel, None, include, exclude)
    records = examine_all(loaded)
    reruns: list[Result] = []
    if rerun:
        kept = "nothing was changed"
        with (
            session.connect() as sandbox,
            interruptible(sandbox, kept),
            progress_to(len(loaded.tasks), as_json) as say,
        ):
            options = session.Options(jobs, build, verifier=verifier_of, retries=retries)
            reruns = pipeline.rerun(loaded, sandbox, options, say)
    code = report_run.exit_code(reruns) or int(any(task.soundness is not Soundness.SOUND for task in records))
    if as_json:
        print_json(report_run.check_document(records, reruns, code))
    else:
        print(report_run.check_text(records, reruns), end="")
    raise typer.Exit(code)


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
    from repair.files import write_atomically
    from repair.records import gate as gates
    from repair.records.check import examine_all
    from repair.report import run as report_run

    loaded = load(panel)
    if min_tasks is not None and min_tasks < loaded.min_tasks:
        raise UsageError(
            f"--min-tasks {min_tasks} is below the panel's own {loaded.min_tasks}",
            f"it may only raise it; change [gate] in {panel / 'panel.toml'}, where a review sees it",
        )
    judged = gates.judge(examine_all(loaded), loaded.min_tasks if min_tasks is None else min_tasks)
    if manifest is not None and judged.passed:
        write_atomically(manifest, gates.manifest(loaded, judged))
    if as_json:
        print_json(report_run.gate_document(judged))
    else:
        print(report_run.gate_text(judged), end="")
    raise typer.Exit(0 if judged.passed else 1)
