"""The native layout: a directory with panel.toml and one directory a task.

Everything is checked on reading: a wrong key, type or value is one line that names file and field. The keys, their
types and defaults are those of `keys` and nothing else.
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
WORK = ".repair"
SOURCE, SOURCE_FOLDER = "source.json", "source"
ATTRIBUTES = b"""\
* -text
outcomes.json linguist-generated=true
mint.json linguist-generated=true
.schemas/* linguist-generated=true
"""
MAX_NAME = 200  # bytes of a directory's name, with room for what is made of it
RESERVED = frozenset({"panel.toml", SOURCE_FOLDER, SOURCE})  # in lower case: not every file system tells cases apart


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
    """The names of the task directories of a panel, sorted."""
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
    """Is there a repair.json, of whatever content?"""
    try:
        os.lstat(task.directory / RECORD)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as err:  # a disk or a share that does not answer has not said no
        raise StoreError(f"{task.directory / RECORD} cannot be looked at: {err.strerror}", "see the disk") from None
    return True


# ---- a panel and its settings

MAX_PANEL = 1 << 20  # of a panel.toml


def load(directory: Path, wants: Callable[[str], bool] = lambda _: True, lists: bool = True) -> Panel:
    """Read a panel and those of its tasks whose directory's name `wants` takes, sorted by name.

    Without `lists` a task may lack its two lists, which are then empty. Raises `UsageError` with a line for every file
    that is not what it should be.
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
    """panel.toml as `{"name", "policy", "min_tasks", "defaults"}`; `defaults` holds values already read."""
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
    """Of a panel's task names those that were named (as name or path), match an `include` glob and no `exclude` one.

    Raises `UsageError` for a name that is no task of the panel, and where nothing is left.
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
    """The name that a task was given by: itself, or a path to a directory of this panel."""
    path = Path(given)
    if len(path.parts) > 1 and path.resolve().parent != panel.resolve():
        raise UsageError(f"{printable(given)} is not in {panel}", "name tasks of one panel")
    return path.name


# ---- a task

MAX_TASK = 32 << 20  # of a task.json, which may take fifty times its size in memory
FIELDS = {"FAIL_TO_PASS": "f2p", "PASS_TO_PASS": "p2p"}
BY_HAND = ("instruction.md", "oracle.patch", "tests.patch", "environment/Dockerfile")  # what `repair new` begins


def load_task(directory: Path, defaults: Mapping[str, Any], lists: bool = True) -> Task:
    """Read one task directory; `defaults` are values of panel.toml's [defaults] that were read already.

    Without `lists` an absent list is an empty one.
    """
    file = directory / "task.json"
    raw = _parse(file)
    _refuse_unfilled(directory, raw)
    values = {**({} if lists else dict.fromkeys(LISTS, ())), **defaults, **_read_keys(raw, TASK_JSON, file)}
    values.pop(SCHEMA_KEY, None)
    for key in REQUIRED:
        if key not in values:
            mend = "list its tests' ids, or let `repair mint` find them" if key in LISTS else ""
            raise UsageError(f"{file}: {key} is missing", mend or "every task needs " + ", ".join(REQUIRED))
    if values["instance_id"] != directory.name:
        shown = printable(values["instance_id"])
        raise UsageError(
            f'{file}: instance_id is "{shown}" and the directory\'s name "{directory.name}"', "make them the same"
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
    """Refuse a task that is as `repair new` wrote it, naming all places that are still to be filled in."""
    keys = [key for key in TASK if isinstance(raw.get(key), str) and raw[key].startswith(FILL_IN)]
    places = [f"task.json ({', '.join(keys)})"] * bool(keys) + [
        name for name in BY_HAND if _is_unfilled(directory / name)
    ]
    if places:
        raise UsageError(
            f"{directory} is to be filled in: {', '.join(places)}", f"each says what, after {FILL_IN.strip()}"
        )


def _is_unfilled(file: Path) -> bool:
    """Does a file begin as `repair new` began it? Whether it may be read at all is others' to say."""
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
    """Refuse a key that stands twice: a reviewer reads the first, and the last would count."""
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

MAX_DOTS = 6000  # outside of strings: tomllib takes memory by the square of a dotted key's parts
_ASIDE = re.compile(
    r"""#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""",
    re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """A document as tables. Raises `ValueError` for what is no TOML or has keys of thousands of parts."""
    if text.count(".") > MAX_DOTS and _ASIDE.sub("", text).count(".") > MAX_DOTS:
        raise ValueError(f"more than {MAX_DOTS} dots outside of strings")
    return tomllib.loads(text)


# ---- files

MAX_BYTES = 256 << 20  # of one file of a task


def read_bytes(file: Path, most: int = MAX_BYTES) -> bytes:
    """A file's content, or a `UsageError` that says why it cannot be had."""
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
    """Is a path of a kind? Raises `UsageError` where nobody can say: a name too long, a directory closed to us."""
    try:
        return kind(path)
    except OSError as err:
        raise UsageError(f"{path} cannot be read: {err.strerror}", "check name and permissions") from None


def decode(content: bytes, file: Path) -> str:
    """UTF-8 text, with or without a byte-order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content[: err.start].count(b"\n") + 1
        raise UsageError(f"{file}: line {line} is not UTF-8", "save the file as UTF-8") from None
