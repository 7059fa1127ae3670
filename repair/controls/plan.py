"""What controls run and what they are known by: their tests, commands and titles, the keys of their journal entries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Any

import orjson

from repair.errors import InfrastructureError
from repair.model import Control, ControlKind, Image, Run, Select, Task, Verifier
from repair.outcomes.evidence import NoReport, without_report
from repair.outcomes.frameworks.plan import plan as with_report
from repair.sandbox import DROPPED, PIDS

PYTEST = "pytest"
Result = Run | InfrastructureError  # of a control: what was observed, or why nothing was


def inside(name: str) -> bytes:
    """The content of one of the files that are copied into containers."""
    return resources.files("repair.controls.inside").joinpath(name).read_bytes()


def prepared(task: Task) -> Task:
    """The task as it is run: its command with what makes it write JUnit. Raises `NoJUnit` where nothing makes it."""
    plan = with_report(task.framework, task.test_cmd, task.junit)
    env = MappingProxyType({**plan.env, **task.env})
    select = Select.ALL if task.framework == PYTEST and task.id_template else task.select
    return replace(task, test_cmd=plan.test_cmd, junit=plan.junit, env=env, select=select)


# The code that turns what a container left into a run of the journal.
JUDGES = ("model.py", "errors.py", "text.py", "files.py", "sandbox", "outcomes", "panel", "controls")


@cache
def _judges() -> str:
    """A digest of the code in `JUDGES`. The journal holds outcomes, so an entry is void once that code changes."""
    package = resources.files("repair")
    checksum = hashlib.sha256()
    for name in JUDGES:
        for path, content in _sources(package.joinpath(name), name):
            checksum.update(f"{path}\0{len(content)}\0".encode() + content)
    return checksum.hexdigest()


def _sources(place: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    """The Python files at a place of the package, each with its path, in the order of their names."""
    if place.is_file():
        if path.endswith(".py"):
            yield path, place.read_bytes()
    elif place.is_dir():
        for below in sorted(place.iterdir(), key=lambda one: one.name):
            yield from _sources(below, f"{path}/{below.name}")


def digest(control: Control, image: Image) -> str:
    """The key of a control's journal entry: a digest of all that is sent, of the image, and of the code that judges."""
    task = control.task
    sent = {
        "workdir": task.workdir,
        "user": task.user,
        "framework": task.framework,
        "select": choice(control),
        "test_cmd": task.test_cmd,
        "junit": task.junit,
        "template": task.id_template,
        "env": dict(task.env),
        "timeout": task.timeout,
        "limits": [task.cpus, task.memory, PIDS, *DROPPED],
        "network": task.network,
        "platform": task.platform,
        "patches": [[name, hashlib.sha256(content).hexdigest()] for name, content in control.patches],
        # All patches of the task decide where the paths of each begin.
        "chain": [hashlib.sha256(content).hexdigest() for _, content in task.patches],
        "judges": _judges(),
        "inside": [hashlib.sha256(inside(name)).hexdigest() for name in ("control.sh", "repair_pytest.py")],
        "image": image.id,
        **({"emulated": True} if image.emulated else {}),
        "repeat": control.repeat,
    }
    return hashlib.sha256(orjson.dumps(sent, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _select(control: Control) -> Select:
    """What a control runs: its own files, where it has some; with an empty tuple, all that the test command runs."""
    if control.files is None:
        return control.task.select
    return Select.FILES if control.files else Select.ALL


def choice(control: Control) -> dict[str, Any]:
    """Which tests to run, as the plugin reads it. The journal's key holds it for every framework.

    `found` says that no user listed the files, so that the plugin passes over what pytest itself would pass over.
    """
    is_found = control.files is not None and not control.task.test_files
    whole = {} if control.files is None else {"whole": True}
    return {"ids": control.ids, "files": files_of(control), "select": _select(control), "found": is_found, **whole}


def files_of(control: Control) -> list[str]:
    """The files that a control names to the test command, sorted; empty where the test command chooses them."""
    if _select(control) is Select.ALL:
        return []
    if control.files is not None:
        return sorted(control.files)
    return sorted({test.split("::", 1)[0] for test in control.ids} - {""})


def controls(
    task: Task,
    ids: Iterable[str],
    repeats: range,
    *,
    name: str = "",
    journalled: bool = True,
    files: tuple[str, ...] | None = None,
    verifier: Verifier | None = None,
) -> list[Control]:
    """The plan: both controls of a task for each number of `repeats`. The rest is as in `Control`."""
    scored = tuple(sorted(set(ids)))
    patches = {ControlKind.EMPTY: task.patches[:-1], ControlKind.ORACLE: task.patches}
    return [
        Control(task, kind, patches[kind], scored, repeat, repeats.stop, name, journalled, files, verifier)
        for kind in ControlKind
        for repeat in repeats
    ]


def title(control: Control) -> str:
    """How messages name a control, such as `empty` or `oracle (confirmation) 2/3`."""
    words = [str(control.kind)]
    words += [f"({control.name})"] * bool(control.name)
    words += [f"{control.repeat + 1}/{control.repeats}"] * (control.repeats > 1)
    return " ".join(words)


def settle(controls: Sequence[Control], results: Sequence[Result]) -> list[Result]:
    """The results, where an empty run without a report counts if every oracle run like it left a whole report.

    The new tests do not build without the reference: that is what the empty control is there to show.
    """
    pairs = list(zip(controls, results, strict=True))

    def is_whole(control: Control) -> bool:
        alike = (result for other, result in pairs if other.kind is ControlKind.ORACLE and _is_like(other, control))
        return all(isinstance(result, Run) for result in alike)

    return [
        without_report(control, result)
        if isinstance(result, NoReport) and control.kind is ControlKind.EMPTY and is_whole(control)
        else result
        for control, result in pairs
    ]


def _is_like(one: Control, other: Control) -> bool:
    """Do two controls differ in nothing but their kind, patches and repeats?"""
    return (one.task, one.ids, one.name, one.files) == (other.task, other.ids, other.name, other.files)
