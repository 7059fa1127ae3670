"""Values that a task's keys take and refuse, and the validator that reads a schema as editors do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from repair.model import Select

GOOD: list[tuple[str, Any, str, Any]] = [
    ("base_commit", "abc", "base_commit", "abc"),
    ("base_commit", None, "base_commit", None),
    ("test_files", ["tests/test_*.py", "b.py"], "test_files", ("tests/test_*.py", "b.py")),
    ("test_files", [], "test_files", ()),
    ("workdir", "/srv/repo/", "workdir", "/srv/repo"),
    ("workdir", "/", "workdir", "/"),
    ("test_cmd", "make check", "test_cmd", "make check"),
    ("test_cmd", ["py.test", "-x"], "test_cmd", ("py.test", "-x")),
    ("junit", ["out/*.xml", "b.xml"], "junit", ("out/*.xml", "b.xml")),
    ("id_template", "{classname}::{name}", "id_template", ("{classname}::{name}",)),
    ("id_template", ["{name}", "{name} ({class})"], "id_template", ("{name}", "{name} ({class})")),
    ("id_template", "{suite}{file}{test}", "id_template", ("{suite}{file}{test}",)),
    ("select", "files", "select", Select.FILES),
    ("select", "all", "select", Select.ALL),
    ("env", {"B": "", "A": "ü"}, "env", {"A": "ü", "B": ""}),
    ("timeout", 0.5, "timeout", 0.5),
    ("cpus", 1, "cpus", 1.0),
    ("memory", "512m", "memory", 512 << 20),
    ("memory", "2GB", "memory", 2 << 30),
    ("memory", 6 << 20, "memory", 6 << 20),
    ("network", "bridge", "network", "bridge"),
    ("user", "1000:1000", "user", "1000:1000"),
    ("user", None, "user", None),
    ("platform", "linux/arm64", "platform", "linux/arm64"),
    ("FAIL_TO_PASS", [], "f2p", ()),
    ("PASS_TO_PASS", ["b", "a", "b"], "p2p", ("b", "a", "b")),
    ("PASS_TO_PASS", ["t.py::test[ü\u202e\r-x::y]"], "p2p", ("t.py::test[ü\u202e\r-x::y]",)),
]
GOOD_KEYS = [(key, value) for key, value, *_ in GOOD]
BAD: list[tuple[str, Any]] = [
    ("instance_id", 1),
    ("image", ""),
    ("image", "  "),
    ("image", None),
    ("image", "a\0b"),
    ("image", [["x"]]),
    ("base_commit", 7),
    ("workdir", "testbed"),
    ("framework", ["pytest"]),
    ("test_cmd", []),
    ("test_cmd", ["pytest", 1]),
    ("test_cmd", {"run": "pytest"}),
    ("test_cmd", ["a\0"]),
    ("junit", "out.xml"),
    ("test_files", "tests/test_a.py"),
    ("test_files", [""]),
    ("id_template", ""),
    ("id_template", []),
    ("id_template", "classname::name"),
    ("id_template", ["{name}", "name"]),
    ("id_template", ["{name}", 1]),
    ("id_template", "{name} {Class}"),
    ("id_template", "{name} {"),
    ("id_template", "{{name}}"),
    ("id_template", {"name": "{name}"}),
    ("id_template", None),
    ("select", "every"),
    ("select", ["ids"]),
    ("env", ["A=1"]),
    ("env", {"A": 1}),
    ("env", {"A=B": "1"}),
    ("env", {"": "1"}),
    ("timeout", 0),
    ("timeout", -1),
    ("timeout", "30"),
    ("timeout", True),
    ("cpus", 1e300),
    ("memory", "4 gigabytes"),
    ("memory", "1k"),
    ("memory", 4.5),
    ("memory", True),
    ("memory", "999999999999999g"),
    ("network", "host"),
    ("network", {}),
    ("user", 1000),
    ("platform", ""),
    ("FAIL_TO_PASS", "test_a"),
    ("FAIL_TO_PASS", [None]),
    ("FAIL_TO_PASS", [""]),
    ("PASS_TO_PASS", ["a\nb"]),
    ("PASS_TO_PASS", ["a" * 5000]),
    ("PASS_TO_PASS", {"a": 1}),
]


def _pattern(_: Validator, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """As editors read it, and Python does not: `$` is the end, and no place before a last line break."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern}")


Draft: type[Validator] = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"pattern": _pattern}
)
