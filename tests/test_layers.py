"""Imports point downward: each package may import what its row names, wherever in a file it does so.

`docs/architecture.md` shows the same house as a picture.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from repair.controls.plan import JUDGES
from tests.support.paths import ROOT, TESTS
from tests.support.rooms import IMPURE, NOT_PURE, ONLY, PURE, ROOMS

PACKAGE = ROOT / "repair"

INSIDE = "repair.controls.inside"  # runs in containers, and imports nothing of ours


def is_below(name: str, place: str) -> bool:
    """Is a dotted name `place`, or below it?"""
    return f"{name}.".startswith(f"{place}.")


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}
MODULES = {name: file for name, file in FILES.items() if not is_below(name, INSIDE)}
SOURCES = {name: file.read_text() for name, file in MODULES.items()}


def imports(name: str, source: str) -> Iterator[str]:
    """The modules that a source imports, at its top or anywhere below: `from a import b` is `a.b`."""
    package = name if FILES.get(name, Path()).name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def module_of(imported: str) -> str:
    """The module of ours that an import names; a name in a module is that module's."""
    return max((module for module in (*FILES, INSIDE) if is_below(imported, module)), key=len)


def room_of(module: str) -> str:
    """The package or top file that a module is in or is; `repair` for the version."""
    return module.split(".")[1] if "." in module else module


def violations(name: str, source: str) -> list[str]:
    """What a module of this name may not import and does, each with why."""
    if name != "repair" and room_of(name) not in ROOMS:
        return [f"{name} is in no room"]
    found = []
    for imported in imports(name, source):
        top = imported.partition(".")[0]
        why = _of_ours(name, module_of(imported)) if top == "repair" else _of_others(name, imported, top)
        if why:
            found.append(f"{name} imports {imported}: {why}")
    return found


def _of_ours(name: str, imported: str) -> str:
    if is_below(imported, INSIDE):
        return "it runs in containers only"
    here, there = room_of(name), room_of(imported)
    allowed = ROOMS.get(here, ())
    fits = any(is_below(imported, f"repair.{place}") for place in allowed)
    return "" if there in (here, "repair") or allowed == ("*",) or fits else f"{here} may not import {there}"


def _of_others(name: str, imported: str, top: str) -> str:
    if top in ONLY and not is_below(name, ONLY[top]):
        return f"only {ONLY[top]} does"
    if is_pure(name) and (top in IMPURE or imported in IMPURE):
        return "pure modules take values and give values"
    if is_pure(name) and imported in ("pathlib", "pathlib.Path") and name != "repair.model":
        return "pure modules read and write no file"
    if name in ("repair.model", "repair.errors") and top not in sys.stdlib_module_names:
        return "the model takes the standard library alone"
    return ""


def is_pure(name: str) -> bool:
    return any(is_below(name, f"repair.{place}") for place in PURE) and name.removeprefix("repair.") not in NOT_PURE


def edges() -> dict[str, set[str]]:
    """Each module with the modules of ours that it imports."""
    return {
        name: {module_of(imported) for imported in imports(name, source) if imported.startswith("repair")} - {name}
        for name, source in SOURCES.items()
    }


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_its_room_may(name: str) -> None:
    assert violations(name, SOURCES[name]) == []


def test_each_room_has_a_row() -> None:
    assert {room_of(name) for name in MODULES} - {"repair"} == ROOMS.keys()


def test_the_house_stays_small_enough_to_be_learnt() -> None:
    packages = [folder for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()]
    files = [file for file in PACKAGE.glob("*.py") if not file.stem.startswith("__")]
    assert len(packages) <= 10
    assert len(files) <= 10


def test_no_function_is_long() -> None:
    """Commands are: each option of theirs takes lines of its own."""
    long = [
        f"{name}.{node.name}"
        for name, source in SOURCES.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 40
        if not name.startswith("repair.cli.")
    ]
    assert long == []


def test_there_is_no_circle_of_modules() -> None:
    list(graphlib.TopologicalSorter(edges()).static_order())


def test_there_is_no_circle_of_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for name, imported in edges().items():
        here = room_of(name)
        rooms.setdefault(here, set()).update({room_of(module) for module in imported} - {here, "repair"})
    list(graphlib.TopologicalSorter(rooms).static_order())


def test_what_runs_in_a_container_needs_pytest_and_the_standard_library_only() -> None:
    inside = {name: file for name, file in FILES.items() if name not in MODULES}
    assert inside
    for name, file in inside.items():
        tops = {imported.partition(".")[0] for imported in imports(name, file.read_text())}
        assert tops <= {"pytest", "_pytest", *sys.stdlib_module_names}, name


def test_no_test_module_imports_another() -> None:
    """What tests share is in tests/support/ or in a conftest.py."""
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in sorted(TESTS.rglob("*.py"))}
    tests = {name for name in modules if name.rpartition(".")[2].startswith("test_")}
    for name, file in modules.items():
        # what the tests of the plugin run, and a comparison over the texts of all tests of its folder
        if is_below(name, "tests.data") or name.endswith("_differential"):
            continue
        imported = set(imports(name, file.read_text()))
        assert {module for module in tests for text in imported if is_below(text, module)} == set(), name


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        pytest.param("repair.rules", "import docker", "only repair.sandbox", id="the rule, docker"),
        pytest.param("repair.rules", "from docker.errors import APIError", "only repair.sandbox", id="part of docker"),
        pytest.param("repair.rules", "import json, random", "imports random", id="second on a line"),
        pytest.param("repair.rules", "import os.path as way", "imports os.path", id="under another name"),
        pytest.param("repair.rules", "from time import monotonic", "imports time.monotonic", id="a name of it"),
        pytest.param("repair.rules", "def now():\n    import time", "imports time", id="in a function"),
        pytest.param("repair.rules", "if TYPE_CHECKING:\n    import os", "imports os", id="for types only"),
        pytest.param("repair.rules", "try:\n    import uuid\nexcept ImportError:\n    pass", "uuid", id="in a try"),
        pytest.param("repair.rules", "import importlib", "imports importlib", id="a way to import by text"),
        pytest.param("repair.rules", "from repair import table", "rules may not import table", id="the rule, a table"),
        pytest.param("repair.rules", "from . import words", "rules may not import words", id="relative"),
        pytest.param("repair.rules", "from .controls import runner", "may not import controls", id="the rule, a run"),
        pytest.param("repair.model", "import orjson", "pure modules", id="the model, a library"),
        pytest.param("repair.model", "import rich", "standard library alone", id="the model, any library"),
        pytest.param("repair.model", "import repair.errors", "model may not import errors", id="the model, the errors"),
        pytest.param("repair.records.gate", "from repair.controls import pool", "import controls", id="records, a run"),
        pytest.param("repair.controls.runner", "from repair.mint import classes", "import mint", id="controls, mint"),
        pytest.param("repair.controls.runner", "from repair import rules", "import rules", id="controls, the rule"),
        pytest.param("repair.controls.session", "from repair.report import run", "import report", id="controls, words"),
        pytest.param("repair.pipeline", "from repair.mint import run", "import mint", id="the pipeline, mint"),
        pytest.param("repair.panel.read", "from repair.outcomes import junit", "import outcomes", id="not that module"),
        pytest.param("repair.report.terminal", "from pathlib import Path", "no file", id="a report, files"),
        pytest.param("repair.outcomes.junit", "from io import open", "pure modules", id="a parser, files"),
        pytest.param("repair.controls.runner", "import docker", "only repair.sandbox", id="docker elsewhere"),
        pytest.param("repair.outcomes.evidence", "import junitparser", "only repair.outcomes.junit", id="junitparser"),
        pytest.param("repair.report.progress", "import repair.cli", "import cli", id="the command line"),
        pytest.param("repair.pipeline", "from repair.controls.inside import repair_pytest", "only", id="the plugin"),
        pytest.param("repair.pipeline", "import repair.controls.inside.repair_pytest", "only", id="by its path"),
        pytest.param("repair.utils", "", "in no room", id="a new room"),
    ],
)
def test_a_violation_is_found(name: str, line: str, found: str) -> None:
    source = SOURCES.get(name, "")
    [said] = set(violations(name, f"{source}\n{line}\n")) - set(violations(name, source) if source else ())
    assert said.startswith(name)
    assert found in said


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('NOTE = "import docker"', id="a text that reads like an import"),
        pytest.param("# import docker", id="a comment"),
        pytest.param("from repair.model import Image", id="further down"),
        pytest.param("from repair import __version__, model", id="the version"),
        pytest.param("import json", id="what touches nothing"),
    ],
)
def test_what_is_no_violation(line: str) -> None:
    assert violations("repair.rules", f"{SOURCES['repair.rules']}\n{line}\n") == []


def test_only_the_command_line_prints_or_exits() -> None:
    speaks = {"print", "input", "exit", "quit", "sys.exit", "os._exit", "typer.echo", "typer.Exit", "SystemExit"}
    for name, file in MODULES.items():
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)}
        assert name.startswith(("repair.cli", "repair.__main__")) or not calls & speaks, name


def test_help_loads_nothing_heavy() -> None:
    look = "import sys, repair.cli; repair.cli.run_app(['--help']); print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("loaded: ")[2].split())
    assert "repair.cli" in loaded
    assert "Usage" in done.stdout
    assert not loaded & {"docker", "requests", "urllib3", "junitparser", "orjson", "rich.live", "repair.pipeline"}


def test_the_journal_s_key_digests_all_that_makes_a_run_of_a_container() -> None:
    needed: set[str] = set()
    left = ["repair.controls.runner"]
    imported = edges()
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += imported[name]
    rooms = {room_of(name) for name in needed} - {"repair"}
    assert rooms <= {place.removesuffix(".py") for place in JUDGES}
