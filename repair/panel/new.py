"""A new task that the user fills in, with its panel where there is none, and the schemas that editors read.

Each text that the user has to replace says so, and a task loads only after all of them are replaced. Of the files that
are there already, only the schemas are replaced, since they are generated. Each file is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import new_directory, publish, write_atomically, written
from repair.panel import read
from repair.panel.keys import FILL_IN, RUNTIME, SCHEMA_KEY, SECTIONS
from repair.panel.read import ATTRIBUTES
from repair.panel.schemas import SCHEMAS

SCHEMAS_FOLDER = ".schemas"  # in a panel; a directory whose name begins with a dot is not a task

INSTRUCTION = f"""\
{FILL_IN}what the solver is told: what is wrong or wanted, and how it shows. Hidden tests are not shown: name every
function, option and message that they ask for.
"""
ORACLE = f"{FILL_IN}the reference as a diff whose paths begin at workdir, such as `git diff` writes it\n"
TESTS = f"{FILL_IN}the hidden tests as a diff like oracle.patch; remove this file where the image holds them already\n"
DOCKERFILE = f"""\
# {FILL_IN}what builds the image, then remove this line; remove environment/ where the image comes from a registry
# Controls have no network: whatever the tests need is installed here.
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
WORKDIR %s
# One commit without what came after it, so that no solver finds the reference in the history.
RUN git init -q && git fetch -q --depth 1 https://example.org/owner/repo.git COMMIT && git checkout -q FETCH_HEAD
RUN pip install --no-cache-dir pytest -e .
"""
IMAGE = f"{FILL_IN}the image's name, such as acme-ledger:17"
COMMAND = f"{FILL_IN}the command that runs the tests"


@dataclass(frozen=True, slots=True)
class Made:
    """What `new_task` wrote.

    `task`: the directory of the task.
    `panel`: the directory of its panel.
    `is_new`: the panel is new, too.
    `schemas`: names of the schema files that are new or were replaced.
    """

    task: Path
    panel: Path
    is_new: bool
    schemas: tuple[str, ...]


def schema_files() -> dict[str, bytes]:
    """The content of each schema, by the file name that it has in `.schemas/`."""
    return {f"{name}.schema.json": schema_text(name).encode("ascii") for name in SCHEMAS}


def schema_text(name: str) -> str:
    """One schema as JSON text, as it is published. Raises `UsageError` where no schema has that name."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}", f"name one of {', '.join(SCHEMAS)}")
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


def new_task(directory: Path) -> Made:
    """Write the task `directory`, and the panel above it where there is none.

    Raises `UsageError` where no task may be in that place, or something is there already. Raises `StoreError` where
    the system does not let it write.
    """
    _check_name(directory)
    panel = directory.parent
    try:
        defaults = _settings(panel)
        if defaults is None and not os.path.lexists(panel):
            with new_directory(panel) as root:
                (root / directory.name).mkdir()
                _fill_task(root / directory.name, directory.name, {})
                schemas = _refresh(root, _put_new)
                is_new = _fill_panel(root, panel, _put_new)
            return Made(directory, panel, is_new, schemas)
        with _undone_without(directory) as put, new_directory(directory) as task:
            _fill_task(task, directory.name, defaults or {})
            schemas = _refresh(panel, put)
            is_new = defaults is None and _fill_panel(panel, panel, put)
    except OSError as err:
        raise UsageError(f"{err.filename or directory} cannot be read: {err.strerror}", read.PERMISSIONS) from None
    return Made(directory, panel, is_new, schemas)


# ---- the place


def _check_name(directory: Path) -> None:
    """Raise `UsageError` where the name of a directory cannot be a task's name on every file system."""
    if not directory.name:
        raise UsageError(f"{directory} has no name", "name the new task's directory in its panel")
    if problem := read.name_problem(directory.name):
        raise UsageError(f"the task's name {problem}", "name another directory")


def _settings(panel: Path) -> Mapping[str, Any] | None:
    """The [defaults] of a panel; None where there is no panel, and the directory may become a panel.

    Raises `UsageError` where it may not become a panel.
    """
    if os.path.lexists(panel / "panel.toml"):
        defaults: Mapping[str, Any] = read.load_settings(panel)["defaults"]
        return defaults
    if os.path.lexists(panel) and not read.is_there(panel, Path.is_dir):
        raise UsageError(f"{panel} is no directory", "name another place")
    if read.is_there(panel / "task.json", Path.is_file):
        raise UsageError(f"{panel} is a task", "name a directory beside it, in its panel")
    for above in Path(os.path.abspath(panel)).parents:  # noqa: PTH100
        if read.is_there(above / "panel.toml", Path.is_file):
            raise UsageError(f"{panel} lies in the panel {above}", "a task is a directory of its panel, not deeper")
    below = sorted(panel.iterdir()) if panel.exists() else []
    inner = next((entry for entry in below if os.path.lexists(entry / "panel.toml")), None)
    if inner is not None:
        raise UsageError(
            f"{panel} holds panels, such as {inner}", f"name a task in one, or in a new one: {panel}/NAME/TASK"
        )
    return None


# ---- writing

Put = Callable[[Path, bytes], bool]


def _put_new(file: Path, content: bytes) -> bool:
    """Write a file whole, unless its name is taken; True where the file was written."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    with written(file):
        try:
            with temporary.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            publish(temporary, file)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def _undone_without(task: Path) -> Iterator[Put]:
    """Give a function that writes new files. Remove these files where the body fails and leaves no task."""
    made: list[Path] = []

    def put(file: Path, content: bytes) -> bool:
        is_new = _put_new(file, content)
        made.extend([file] * is_new)
        return is_new

    try:
        yield put
    except BaseException:
        for file in made if not (task / "task.json").exists() else ():
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder is absent, or holds other files
            (task.parent / SCHEMAS_FOLDER).rmdir()
        raise


def _fill_panel(root: Path, panel: Path, put: Put) -> bool:
    """Make the directory `root` the panel `panel`; False where another process has just done so."""
    put(root / ".gitattributes", ATTRIBUTES)
    name = Path(os.path.abspath(panel)).name  # noqa: PTH100 - not the name of a link's target
    return put(root / "panel.toml", _panel_toml(name).encode())


def _refresh(panel: Path, put: Put) -> tuple[str, ...]:
    """Write the schemas of this version into a panel; the names of the files that are new or were replaced.

    Raises `UsageError` where `.schemas` is not a plain directory.
    """
    folder = panel / SCHEMAS_FOLDER
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        raise UsageError(f"{folder} is no directory of the panel's own", "remove it: the schemas are generated")
    with written(folder):
        folder.mkdir(exist_ok=True)
    changed = []
    for name, content in schema_files().items():
        file = folder / name
        if not os.path.lexists(file):
            put(file, content)
        elif file.is_file() and file.read_bytes() == content:
            continue
        else:
            write_atomically(file, content)
        changed.append(name)
    return tuple(changed)


def _fill_task(directory: Path, name: str, defaults: Mapping[str, Any]) -> None:
    files = {
        "task.json": _task_json(name, defaults),
        "instruction.md": INSTRUCTION,
        "oracle.patch": ORACLE,
        "tests.patch": TESTS,
        "environment/Dockerfile": DOCKERFILE % defaults.get("workdir", RUNTIME["workdir"].default),
    }
    for path, text in files.items():
        file = directory / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())


# ---- texts


def _task_json(name: str, defaults: Mapping[str, Any]) -> str:
    """A new task.json: its name and image, and those of workdir and test_cmd that [defaults] does not set."""
    document = {SCHEMA_KEY: f"../{SCHEMAS_FOLDER}/task.schema.json", "instance_id": name, "image": IMAGE}
    usual = {"workdir": RUNTIME["workdir"].default, "test_cmd": RUNTIME["test_cmd"].default}
    if defaults.get("framework", RUNTIME["framework"].default) != RUNTIME["framework"].default:
        usual["test_cmd"] = COMMAND
    document |= {key: value for key, value in usual.items() if key not in defaults}
    lines = (f"  {_plain(key)}: {_plain(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _panel_toml(name: str) -> str:
    lines = [f"#:schema ./{SCHEMAS_FOLDER}/panel.schema.json"] + [f"name = {_plain(name)}"] * bool(name)
    for section, (keys, about) in SECTIONS.items():
        lines += ["", f"# {about}", f"[{section}]"]
        if keys is RUNTIME:
            lines += ["# Any key of task.json but names and lists, such as:", "# timeout = 600"]
            continue
        for key, meaning in keys.items():
            lines += [f"# {meaning.about}", f"{key} = {_plain(meaning.default)}"]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    """A text, number or list, spelt as both JSON and TOML read it."""
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
