"""`repair new` and `repair schema`: the start for a person who writes a task by hand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repair.text import printable

if TYPE_CHECKING:
    from repair.panel.new import Made


def new(
    task_dir: Annotated[
        Path, typer.Argument(help="The new task's directory, in its panel.", show_default=False, readable=False)
    ],
) -> None:
    """Write a task that is ready to fill in, and its panel where there is none.

    The panel's `.schemas/` tells editors what each key takes. Nothing else
    that is there is changed.

    Example: repair new panels/mine/acme-17
    """
    from repair.panel import new as panel_new

    print(printable_lines(text(panel_new.new_task(task_dir))), end="")


def schema(
    name: Annotated[str, typer.Argument(help="task, panel, outcomes or repair.", show_default=False)],
) -> None:
    """Print the JSON Schema of task.json, panel.toml, outcomes.json or repair.json.

    Example: repair schema task
    """
    from repair.panel import new as panel_new

    print(panel_new.schema_text(name), end="")


def text(made: Made) -> str:
    """What was written, and what to do next."""
    from repair.panel.keys import FILL_IN
    from repair.panel.new import SCHEMAS_FOLDER

    panel = shlex.quote(str(made.panel))
    lines = [f"{made.task} is ready to fill in"]
    if made.is_new:
        lines.append(f"{made.panel} is a new panel: panel.toml, .gitattributes, {SCHEMAS_FOLDER}/")
    elif made.schemas:
        lines.append(f"{made.panel / SCHEMAS_FOLDER} is generated, and now this version's: {', '.join(made.schemas)}")
    return (
        "\n".join(lines)
        + f"""

1. Fill in what says {FILL_IN.strip(": ")} in task.json, instruction.md, oracle.patch, tests.patch and
   environment/Dockerfile, and remove those lines.
2. Get the lists: `repair mint {panel} -o NEW` finds them in the image and writes
   a new panel with them; or write FAIL_TO_PASS and PASS_TO_PASS into task.json.
3. Then `repair run` that panel.
"""
    )


def printable_lines(shown: str) -> str:
    return "\n".join(map(printable, shown.split("\n")))
