"""The keys of task.json and panel.toml: the values that each takes, its meaning, and its default.

Pure. A key's reader and its JSON Schema stand next to each other and take the same values. Where a schema takes more
than the reader, a comment says so. `read` loads panels by the tables at the end, and `schemas` publishes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import Any

from repair.model import Outcome, Policy, Select, Task
from repair.outcomes import spelling
from repair.outcomes.spelling import MAX_ID
from repair.text import printable

FILL_IN = "FILL IN: "  # `repair new` begins a text with this where the user has to write
PLACES = rf"\{{(?:{'|'.join(spelling.PLACES)})\}}"
TEMPLATE = rf"^[^{{]*(?:{PLACES}[^{{]*)+$"
SIZE = r"^([0-9]{1,15})([kKmMgG]?)[bB]?$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
MOST = 10**9


class WrongError(Exception):
    """A value that its key does not take. The message says what the key expects."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The values that a key takes.

    `read`: makes the model's value of a parsed value; raises `WrongError`.
    `schema`: the same values as JSON Schema.
    """

    read: Callable[[Any], Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a file.

    `kind`: the values that it takes.
    `about`: its meaning, a sentence for users.
    `default`: a JSON value; `...` means that the key is required.
    """

    kind: Kind
    about: str
    default: Any = ...

    def read(self, value: Any) -> Any:
        """A parsed value as the model holds it. Raises `WrongError`."""
        return self.kind.read(value)


Keys = Mapping[str, Key]


# ---- kinds


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise WrongError("a text that is not empty")
    return value


def _image(value: Any) -> str:
    if _text(value).startswith(FILL_IN):
        raise WrongError("an image's name")
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item and "\0" not in item for item in value):
        raise WrongError("a list of texts")
    return tuple(value)


def _ids(value: Any) -> tuple[str, ...]:
    ids = _texts(value)
    if not all(map(spelling.can_be_listed, ids)):
        raise WrongError(f"a list of test ids, each one line of at most {MAX_ID} characters")
    return ids


def _command(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value
    if isinstance(value, list) and value:
        return _texts(value)
    raise WrongError("a list of arguments, or a text for the image's shell")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MOST:
        raise WrongError("a number above 0")
    return float(value)


def _memory(value: Any) -> int:
    match = re.fullmatch(SIZE, value) if isinstance(value, str) else None
    size = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2].lower()] if match else value
    if isinstance(size, bool) or not isinstance(size, int) or not 6 << 20 <= size < 1 << 50:
        raise WrongError('a size of at least "6m", such as "512m" or "4g", or a number of bytes')
    return size


def _workdir(value: Any) -> str:
    if not _text(value).startswith("/"):
        raise WrongError("an absolute path in the image")
    return value.rstrip("/") or "/"


def _env(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(
        re.fullmatch(VARIABLE, key) and isinstance(item, str) and "\0" not in item for key, item in value.items()
    ):
        raise WrongError('a table of texts, such as {"LANG": "C"}')
    return MappingProxyType(dict(sorted(value.items())))


def _template(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else _texts(value)
    if not texts or not all(re.match(TEMPLATE, text) for text in texts):
        raise WrongError(
            'a text such as "{classname}::{name}", or a list of texts, over '
            + ", ".join(f"{{{place}}}" for place in spelling.PLACES)
        )
    return tuple(texts)


def _passing(value: Any) -> frozenset[Outcome]:
    texts = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not texts or Outcome.PASSED not in value or not PASSABLE.issuperset(value):
        raise WrongError('a list that holds "passed" and at most "xfailed" and "xpassed" besides')
    return frozenset(Outcome(name) for name in value)


PASSABLE = frozenset({Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED})


def _whole(least: int, most: int) -> Kind:
    """Whole numbers from `least` to `most`. JSON Schema takes 2.0 for a whole number; the reader does not."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise WrongError(f"a whole number from {least} to {most}")
        return value

    return Kind(read, {"type": "integer", "minimum": least, "maximum": most})


def _choice(*allowed: str) -> Kind:
    def read(value: Any) -> str:
        if value not in allowed:
            raise WrongError("one of " + ", ".join(f'"{name}"' for name in allowed))
        return str(value)

    return Kind(read, {"enum": [str(name) for name in allowed]})


def _optional(kind: Kind) -> Kind:
    """The values of `kind`, or null. `kind` takes texts only: a schema's bounds on texts do not concern null."""
    return Kind(
        lambda value: None if value is None else kind.read(value),
        {**kind.schema, "type": [kind.schema["type"], "null"]},
    )


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongError("a table")
    return value


_SOME_TEXT = {"type": "string", "minLength": 1, "pattern": r"^[^\x00]*$"}
_SPELLING = {"type": "string", "pattern": TEMPLATE}

TEXT = Kind(_text, {"type": "string", "pattern": r"^\s*[^\s\x00][^\x00]*$"})
IMAGE = Kind(_image, {**TEXT.schema, "not": {"pattern": f"^{FILL_IN}"}})
TEXTS = Kind(_texts, {"type": "array", "items": _SOME_TEXT})
IDS = Kind(_ids, {"type": "array", "items": {"type": "string", "maxLength": MAX_ID, "pattern": r"^[^\x00\n]+$"}})
COMMAND = Kind(_command, {"anyOf": [TEXT.schema, {**TEXTS.schema, "minItems": 1}]})
NUMBER = Kind(_number, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": MOST})
COUNT = _whole(0, MOST)
# The pattern of a size as text does not bound the size; the reader does.
MEMORY = Kind(
    _memory,
    {"anyOf": [{"type": "integer", "minimum": 6 << 20, "maximum": (1 << 50) - 1}, {"type": "string", "pattern": SIZE}]},
)
WORKDIR = Kind(_workdir, {"type": "string", "pattern": r"^/[^\x00]*$"})
ENV = Kind(
    _env,
    {
        "type": "object",
        "propertyNames": {"pattern": VARIABLE},
        "additionalProperties": {"type": "string", "pattern": r"^[^\x00]*$"},
    },
)
ID_TEMPLATE = Kind(
    _template,
    {
        "anyOf": [
            _SPELLING,
            {"type": "array", "minItems": 1, "items": {"allOf": [_SOME_TEXT, _SPELLING]}},
        ]
    },
)
SELECT = Kind(lambda value: Select(_choice(*Select).read(value)), _choice(*Select).schema)
PASSING = Kind(
    _passing,
    {
        "type": "array",
        "items": {"enum": sorted(PASSABLE)},
        "contains": {"const": str(Outcome.PASSED)},
    },
)
TABLE = Kind(_table, {"type": "object"})


# ---- the tables


def _json(value: Any) -> Any:
    """A default of the model as a JSON value, as task.json or panel.toml would hold it."""
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _keys(model: type[Task] | type[Policy], table: Mapping[str, tuple[Kind, str]]) -> Keys:
    """Keys that are fields of a model, with its defaults. `table` holds kind and meaning by field."""
    defaults = {
        item.name: item.default if item.default_factory is MISSING else item.default_factory() for item in fields(model)
    }
    return MappingProxyType({name: Key(kind, about, _json(defaults[name])) for name, (kind, about) in table.items()})


# The keys that [defaults] of panel.toml may set for every task.
RUNTIME = _keys(
    Task,
    {
        "workdir": (WORKDIR, "Where the patches' paths begin and the tests run, in the image."),
        "framework": (TEXT, "The test runner; another than pytest needs test_cmd."),
        "test_cmd": (COMMAND, "Runs the tests: a list of arguments, or a text for the image's shell."),
        "test_files": (
            TEXTS,
            "Globs below workdir of the test files that `repair mint` runs; empty: those that tests.patch touches.",
        ),
        "junit": (TEXTS, "Globs below workdir where reports appear; empty: where the framework writes them."),
        "id_template": (
            ID_TEMPLATE,
            "How ids are spelt from a report where they are no pytest node ids; empty: the framework's way.",
        ),
        "select": (
            SELECT,
            "What is run: the listed tests (ids), their whole files (files), what test_cmd runs by itself (all).",
        ),
        "env": (ENV, "Environment variables, added to the image's."),
        "timeout": (NUMBER, "Seconds for one run of a control."),
        "cpus": (NUMBER, "Most cores for a container."),
        "memory": (MEMORY, 'Most memory for a container: bytes, or a text such as "4g".'),
        "network": (_choice("none", "bridge"), "What network a control has; the tests of most tasks need none."),
        "user": (_optional(TEXT), 'Who runs the tests, such as "1000:1000"; null: the image\'s own user.'),
        "platform": (_optional(TEXT), "The image's platform, such as \"linux/arm64\"; null: the engine's own."),
    },
)
TASK: Keys = MappingProxyType(
    {
        "instance_id": Key(TEXT, "The task's name, which is its directory's name."),
        "image": Key(IMAGE, "The image in which the controls run, by name."),
        "base_commit": Key(_optional(TEXT), "The commit that the image holds; for people.", None),
        "FAIL_TO_PASS": Key(IDS, "Ids of the tests that the reference makes pass."),
        "PASS_TO_PASS": Key(IDS, "Ids of the tests that pass before and after."),
        **RUNTIME,
    }
)
SCHEMA_KEY = "$schema"  # an editor finds a file's schema by it; it is not a part of the task
TASK_JSON: Keys = MappingProxyType({SCHEMA_KEY: Key(TEXT, "Where this file's schema is, for editors.", None), **TASK})
LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
REQUIRED = tuple(name for name, key in TASK.items() if key.default is ...)
POLICY = _keys(
    Policy,
    {
        "min_p2p": (COUNT, "Fewest PASS_TO_PASS ids that a task may keep."),
        "passing": (PASSING, 'Outcomes that count as a pass: "passed", and at most "xfailed" and "xpassed" besides.'),
        "repeats": (_whole(1, 100), "How often each control runs."),
        "recheck": (_whole(0, 100), "How often each control runs again where nothing but regressions refuses a task."),
    },
)
GATE: Keys = MappingProxyType({"min_tasks": Key(COUNT, "Fewest admitted tasks with which `repair gate` passes.", 1)})
SECTIONS: Mapping[str, tuple[Keys, str]] = MappingProxyType(
    {
        "defaults": (RUNTIME, "What every task has unless its task.json says otherwise."),
        "policy": (POLICY, "The parameters of the rule; every record holds them."),
        "gate": (GATE, "What `repair gate` asks for."),
    }
)
PANEL: Keys = MappingProxyType(
    {
        "name": Key(TEXT, "The panel's name; its directory's where it is absent.", None),
        **{name: Key(TABLE, about, {}) for name, (_, about) in SECTIONS.items()},
    }
)


# ---- reading


def wrong_key(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first key of a new task.json that would not load, and what is wrong with it; None where all would load."""
    for name, value in document.items():
        try:
            TASK[name].read(value)
        except WrongError as err:
            return name, f"expected {err}, found {shown(value)}"
    return None


def shown(value: Any) -> str:
    """A wrong value as a message shows it, with controls spelt as escapes.

    Of a text of more than 60 characters it is the first 57, and the type of the value.
    """
    try:
        text = printable(repr(value))
    except (ValueError, RecursionError):  # a number of too many digits, or a value that nests too deeply
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}… ({type(value).__name__})"
