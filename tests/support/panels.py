"""A panel on the disk: change its task.json, load it, and say how it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.model import Task
from repair.panel import read


def load(panel: Path) -> Task:
    return read.load(panel).tasks[0]


def refusal(panel: Path) -> str:
    """What loading the panel says; one line, and no traceback's words in it."""
    with pytest.raises(UsageError) as caught:
        read.load(panel)
    message = str(caught.value)
    assert "\n" not in message
    assert message.isprintable()
    return message


def told(load_it: Callable[[], object]) -> str:
    """What a `UsageError` says, or nothing where there is none."""
    try:
        load_it()
    except UsageError as err:
        return str(err)
    return ""


def write_json(task: Path, **changes: Any) -> None:
    """Change keys of a task.json; a value of `...` removes its key."""
    document = json.loads((task / "task.json").read_text()) | changes
    kept = {key: value for key, value in document.items() if value is not ...}
    (task / "task.json").write_text(json.dumps(kept))
