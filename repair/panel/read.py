"""The native layout: a directory with panel.toml and one directory per task.

This module reads the files of a panel. A wrong key, type or value is one line of an error that names file and field;
`keys` alone says which keys there are. The module also owns the names in a panel, its git attributes, and the choice
of tasks by names and globs. Its TOML reader bounds the memory that a stranger's file can take.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from repair.errors import StoreError, UsageError
from repair.model import Panel, Policy, Task
from repair.panel.keys import (
    FILL_IN,
    GATE,
    LISTS,
    PANEL,
    REQUIRED,
    SCHEMA_KEY,
    SECTIONS,
    TASK,
    TASK_JSON,
    Keys,
    WrongError,
    shown,
)
from repair.text import capped, printable

PERMISSIONS = "check its permissions"


# ---- names in a panel

RECORD = "repair.json"
OUTCOMES = "outcomes.json"
WORK = ".repair"  # raw reports, logs and the journal; git ignores it
SOURCE, SOURCE_FOLDER = "source.json", "source"
# The content of a panel's .gitattributes: git changes no byte, and hosts fold what is generated.
ATTRIBUTES = b"""\
* -text
outcomes.json linguist-generated=true
mint.json linguist-generated=true
.schemas/* linguist-generated=true
"""
MAX_NAME = 200  # bytes of a directory's name; longer names are made from it
RESERVED = frozenset({"panel.toml", SOURCE_FOLDER, SOURCE})  # in lower case: some file systems do not tell cases apart


def name_problem(name: str) -> str | None:
    """Why an instance id cannot name a directory of a panel on every file system; None where it can."""
    if "/" in name or "\\" in name:
        problem = "holds a slash, and names a directory"
    elif name.startswith(".") or name.casefold() in RESERVED or name != name.strip():
        problem = "cannot name a directory of a panel"
    elif any(not char.isprintable() for char in name):
        problem = "holds a character that cannot be printed"
    elif len(name.encode("utf-8", "surrogatepass")) > MAX_NAME:
        problem = f"is longer than {MAX_NAME} bytes"
    else:
        return None
    return f"{problem}: {name[:60]!r}"


def task_names(directory: Path) -> list[str]:
    """The names of the task directories of a panel, sorted.

    Raises `UsageError` where the panel cannot be read, or a directory has an oracle.patch and no task.json.
    """
    try:
        entries = sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))
        names = [entry.name for entry in entries if (entry / "task.json").is_file()]
        lost = [entry for entry in entries if entry.name not in names and (entry / "oracle.patch").exists()]
    except OSError as err:
        raise UsageError(f"{err.filename or directory} cannot be read: {err.strerror}", PERMISSIONS) from None
    if lost:
        raise UsageError(f"{lost[0]} has an oracle.patch and no task.json", "write its task.json or move it away")
    return names


def has_record(task: Task) -> bool:
    """Whether a task has a repair.json, of whatever content. Raises `StoreError` where the disk does not say."""
    try:
        os.lstat(task.directory / RECORD)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as err:  # a disk or a share that does not answer may hold the file
        raise StoreError(f"{task.directory / RECORD} cannot be looked at: {err.strerror}", "see the disk") from None
    return True


# ---- a panel and its settings

MAX_PANEL = 1 << 20  # bytes of a panel.toml


def load(directory: Path, wants: Callable[[str], bool] = lambda _: True, lists: bool = True) -> Panel:
    """Read a panel and those of its tasks whose name `wants` takes, sorted by name.

    Without `lists` a task may lack its two lists, which are then empty. Raises `UsageError`, with a line for every task
    that does not load.
    """
    settings = load_settings(directory)
    names = task_names(directory)
    if not names:
        raise UsageError(f"{directory} holds no task", "a task is a directory with a task.json in it")
    tasks, errors = [], []
    for name in names:
        if wants(name):
            try:
                tasks.append(load_task(directory / name, settings["defaults"], lists))
            except UsageError as err:
                errors.append(str(err))
    if errors:
        raise UsageError("\n".join(capped(errors, 20)))
    return Panel(settings["name"], directory, settings["policy"], settings["min_tasks"], tuple(tasks))


def load_settings(directory: Path) -> dict[str, Any]:
    """Read panel.toml as `{"name", "policy", "min_tasks", "defaults"}`. Raises `UsageError`.

    `defaults` holds the values of [defaults] as the model holds them.
    """
    file = directory / "panel.toml"
    if not is_there(directory, Path.is_dir):
        raise UsageError(f"{directory} is no directory", "name the directory that holds panel.toml")
    if not is_there(file, Path.is_file):
        raise UsageError(f"{directory} is no panel: it has no panel.toml", "name the directory that holds panel.toml")
    text = decode(read_bytes(file, MAX_PANEL), file)
    try:
        raw = parse_toml(text)
    except ValueError as err:
        raise UsageError(f"{file}: no valid TOML: {err}", "mend that line") from None
    except RecursionError:
        raise UsageError(f"{file}: nested too deeply", "a panel.toml is flat") from None
    top = _read_keys(raw, PANEL, file)
    values = {name: _read_keys(top.get(name, {}), keys, file, name) for name, (keys, _) in SECTIONS.items()}
    return {
        "name": top.get("name", directory.resolve().name),
        "policy": Policy(**values["policy"]),
        "min_tasks": values["gate"].get("min_tasks", GATE["min_tasks"].default),
        "defaults": values["defaults"],
    }


def _read_keys(raw: Mapping[str, Any], keys: Keys, file: Path, section: str = "") -> dict[str, Any]:
    values = {}
    for key, value in raw.items():
        field = f"{section}.{printable(key)}" if section else printable(key)
        if key not in keys:
            near = ", ".join(sorted(keys))
            raise UsageError(f"{file}: unknown key {field}", f"known keys{' of ' + section if section else ''}: {near}")
        try:
            values[key] = keys[key].read(value)
        except WrongError as err:
            raise UsageError(f"{file}: {field}: expected {err}, found {shown(value)}", "mend that value") from None
    return values


# ---- the choice of tasks


def choose(panel: Path, include: Iterable[str], exclude: Iterable[str], given: Iterable[str]) -> set[str]:
    """The names of those tasks in `given` that match an `include` glob and no `exclude` glob.

    `given` holds names of tasks, or paths to their directories; empty means all tasks of the panel. An empty `include`
    matches all. Raises `UsageError` for a name that is not a task of the panel, and where no task is left.
    """
    from fnmatch import fnmatchcase

    known = set(task_names(panel))
    if not known:
        raise UsageError(f"{panel} holds no task", "a task is a directory with a task.json in it")
    wanted = {_name_in(panel, name) for name in given}
    unknown = sorted(wanted - known)
    if unknown:
        raise UsageError(f"the panel has no task {printable(', '.join(unknown))}", "name a task's directory")
    include, exclude = list(include), list(exclude)
    chosen = {
        name
        for name in (wanted or known)
        if (not include or any(fnmatchcase(name, glob) for glob in include))
        and not any(fnmatchcase(name, glob) for glob in exclude)
    }
    if not chosen:
        raise UsageError("no task of the panel is left", "check the names and the globs of -i and -x")
    return chosen


def _name_in(panel: Path, given: str) -> str:
    """The name of a task that the user gave as its name, or as a path to its directory.

    Raises `UsageError` for a path to a directory outside the panel.
    """
    path = Path(given)
    if len(path.parts) > 1 and path.resolve().parent != panel.resolve():
        raise UsageError(f"{printable(given)} is not in {panel}", "name tasks of one panel")
    return path.name


# ---- a task

MAX_TASK = 32 << 20  # bytes of a task.json; parsed, it may take fifty times its size in memory
FIELDS = {"FAIL_TO_PASS": "f2p", "PASS_TO_PASS": "p2p"}
BY_HAND = ("instruction.md", "oracle.patch", "tests.patch", "environment/Dockerfile")  # `repair new` begins these


def load_task(directory: Path, defaults: Mapping[str, Any], lists: bool = True) -> Task:
    """Read one task directory. Raises `UsageError`.

    `defaults` are the values of [defaults] as `load_settings` gives them. Without `lists` an absent list is an empty
    one.
    """
    file = directory / "task.json"
    raw = _parse(file)
    _refuse_unfilled(directory, raw)
    values = {**({} if lists else dict.fromkeys(LISTS, ())), **defaults, **_read_keys(raw, TASK_JSON, file)}
    values.pop(SCHEMA_KEY, None)
    for key in REQUIRED:
        if key not in values:
            hint = "list its tests' ids, or let `repair mint` find them" if key in LISTS else ""
            raise UsageError(f"{file}: {key} is missing", hint or "every task needs " + ", ".join(REQUIRED))
    if values["instance_id"] != directory.name:
        ident = printable(values["instance_id"])
        raise UsageError(
            f'{file}: instance_id is "{ident}" and the directory\'s name "{directory.name}"', "make them the same"
        )
    if values.get("framework", "pytest") != "pytest" and not values.get("test_cmd"):
        framework = printable(values["framework"])
        raise UsageError(f"{file}: test_cmd is missing", f"{framework} needs the command that runs its tests")
    return Task(
        oracle_patch=_patch(directory / "oracle.patch", required=True) or b"",
        tests_patch=_patch(directory / "tests.patch", required=False),
        entry_patch=_patch(directory / "entry.patch", required=False),
        directory=directory,
        **{FIELDS.get(key, key): value for key, value in values.items()},
    )


def _refuse_unfilled(directory: Path, raw: Mapping[str, Any]) -> None:
    """Raise `UsageError` where texts of `repair new` are still in a task, naming all places to fill in."""
    keys = [key for key in TASK if isinstance(raw.get(key), str) and raw[key].startswith(FILL_IN)]
    places = [f"task.json ({', '.join(keys)})"] * bool(keys) + [
        name for name in BY_HAND if _is_unfilled(directory / name)
    ]
    if places:
        raise UsageError(
            f"{directory} is to be filled in: {', '.join(places)}", f"each says what, after {FILL_IN.strip()}"
        )


def _is_unfilled(file: Path) -> bool:
    """Whether a file still begins as `repair new` wrote it.

    False for a file that cannot be read: the function that needs its content says so.
    """
    try:
        with file.open("rb") as stream:
            begin = stream.read(400).removeprefix(b"\xef\xbb\xbf").lstrip()
            return begin.removeprefix(b"# ").startswith(FILL_IN.encode())
    except OSError:
        return False


def _parse(file: Path) -> dict[str, Any]:
    text = decode(read_bytes(file, MAX_TASK), file)
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as err:
        raise UsageError(f"{file}: no valid JSON: {err}", "mend that place") from None
    if not isinstance(raw, dict):
        raise UsageError(f"{file}: expected an object, found {shown(raw)}", "see the README's panel layout")
    try:
        json.loads(text, object_pairs_hook=partial(_refuse_twice, file))
    except RecursionError:
        raise UsageError(f"{file}: nested too deeply", "a task.json is flat") from None
    return raw


def _refuse_twice(file: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raise `UsageError` for a key that stands twice: a reviewer reads the first, and the last would count."""
    keys = dict(pairs)
    if len(keys) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise UsageError(f"{file}: {printable(twice)} stands twice", "remove one of them")
    return keys


def _patch(file: Path, *, required: bool) -> bytes | None:
    if not required and not file.exists() and not file.is_symlink():
        return None
    content = read_bytes(file)
    if required and not content.strip():
        raise UsageError(f"{file} is empty", "an oracle patch that changes nothing is no reference")
    return content or None


# ---- TOML of strangers

MAX_DOTS = 6000  # outside of strings; tomllib's memory grows with the square of the parts of a dotted key
_ASIDE = re.compile(  # comments and strings
    r"""#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""",
    re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """A TOML document as tables. Raises `RecursionError` where it is nested too deeply.

    Raises `ValueError` where it is not TOML, and where a key may have thousands of parts.
    """
    if text.count(".") > MAX_DOTS and _ASIDE.sub("", text).count(".") > MAX_DOTS:
        raise ValueError(f"more than {MAX_DOTS} dots outside of strings")
    return tomllib.loads(text)


# ---- files

MAX_BYTES = 256 << 20  # bytes of one file of a task


def read_bytes(file: Path, most: int = MAX_BYTES) -> bytes:
    """The content of a plain file. Raises `UsageError` where it cannot be read, or has more than `most` bytes."""
    try:
        if not file.is_file():
            problem = "is no plain file" if file.exists() else "is missing"
            raise UsageError(f"{file} {problem}", "every task needs task.json and oracle.patch")
        if file.stat().st_size > most:
            raise UsageError(f"{file} is larger than {most >> 20} MiB", "no task needs that")
        return file.read_bytes()
    except OSError as err:
        raise UsageError(f"{file} cannot be read: {err.strerror}", "check its permissions") from None


def is_there(path: Path, kind: Callable[[Path], bool]) -> bool:
    """Whether a path is of a kind, by a method such as `Path.is_file`.

    Raises `UsageError` where the system does not say: the name is too long, or a directory may not be read.
    """
    try:
        return kind(path)
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "check name and permissions") from None


def decode(content: bytes, file: Path) -> str:
    """The text of UTF-8 bytes, without a byte-order mark. Raises `UsageError` that names the file's line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise UsageError(f"{file}: line {line} is not UTF-8", "save the file as UTF-8") from None
