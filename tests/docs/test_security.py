"""SECURITY.md: whatever it says is held names the tests that prove it, and they are there."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import MakeTask
from tests.support import records
from tests.support.paths import ROOT

TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
SPAN = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[(\w+)\])?`")
HELD = "Held"


def sections() -> dict[str, str]:
    """The text below each heading of the second rank."""
    parts = re.split(r"^## (.+)\n", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def claims() -> list[str]:
    """What the bullets of the held sections say, each on one line."""
    held = [text for heading, text in sections().items() if heading.startswith(HELD)]
    bullets = [bullet for text in held for bullet in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]
    return [" ".join(bullet.split("\n\n")[0].split()) for bullet in bullets]


def functions(file: Path) -> set[str]:
    """The test functions of a module, and of the test modules that stand in it as texts."""
    tree = ast.parse(file.read_text("utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return names | {name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)}


def test_there_are_claims_of_every_kind() -> None:
    held = [heading for heading in sections() if heading.startswith(HELD)]
    assert len(held) >= 5
    assert len(claims()) > 25


@pytest.mark.parametrize("claim", claims())
def test_a_claim_ends_with_the_tests_that_prove_it(claim: str) -> None:
    assert re.fullmatch(rf".+?\.(?: {SPAN.pattern})+", claim)


@pytest.mark.parametrize(("file", "test", "inner"), sorted(set(SPAN.findall(TEXT))))
def test_a_test_that_is_named_is_there(file: str, test: str, inner: str) -> None:
    assert {test, *filter(None, [inner])} <= functions(ROOT / file)


def test_nothing_that_looks_like_a_test_is_left_out() -> None:
    assert len(SPAN.findall(TEXT)) == len(re.findall(r"::", TEXT))


# ---- what it says of the source

MODULES = {
    str(file.relative_to(ROOT / "repair").with_suffix("")).replace("/", "."): ast.parse(file.read_text("utf-8"))
    for file in sorted((ROOT / "repair").rglob("*.py"))
    if file.parent.name != "inside"
}
# Of these a module can reach a network, or start another program.
REACHING = {
    *("socket", "ssl", "http", "urllib", "requests", "urllib3", "docker", "paramiko", "asyncio", "socketserver"),
    *("ftplib", "smtplib", "xmlrpc", "subprocess", "webbrowser", "multiprocessing", "pty"),
}
MAY = {
    "cli.engine": {"subprocess"},  # git --version
    "cli.report": {"webbrowser"},  # --open
    "controls.git": {"subprocess"},  # git apply
    "formats.scribe": {"multiprocessing"},  # itself, to write files meanwhile
    "records.diff.revisions": {"subprocess"},  # git
    "sandbox": {"docker", "requests", "urllib", "urllib3"},  # the engine
    "sandbox.run_locks": {"socket"},  # this host's name
    "sandbox.ssh": {"socket", "subprocess", "urllib"},  # ssh to the engine
}


def imported(tree: ast.Module) -> set[str]:
    """The top-level names of the modules that a module imports, wherever it does."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_the_network_and_other_programs_are_the_affair_of_few_modules() -> None:
    reach: dict[str, set[str]] = {}
    for name, tree in MODULES.items():
        place = "sandbox" if name.startswith("sandbox.") and name not in MAY else name
        reach[place] = reach.get(place, set()) | (imported(tree) & REACHING)
    assert {name: names for name, names in reach.items() if names} == MAY
    calls = {"system", "popen", "execv", "execve", "execvp", "fork", "posix_spawn", "eval", "exec", "compile"}
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
                assert not (of_os and node.func.attr in calls), name
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in calls, name


# ---- what it says of commands


def asked(engine: socket.socket) -> bool:
    """Has anybody called since this was asked last?"""
    called = False
    while True:
        try:
            engine.accept()[0].close()
        except BlockingIOError:
            return called
        called = True


FILES_ONLY: dict[str, list[str]] = {
    "run --dry-run": ["run", "PANEL", "--dry-run"],
    "check": ["check", "PANEL"],
    "gate": ["gate", "PANEL"],
    "show": ["show", "PANEL/calc-1"],
    "report": ["report", "PANEL", "-o", "page.html"],
    "diff": ["diff", "PANEL", "PANEL"],
    "export": ["export", "PANEL", "-o", "exported", "--format", "native"],
    "new": ["new", "PANEL/calc-2"],
}


def test_commands_that_read_files_ask_no_engine(panel: Path, make_task: MakeTask, tmp_path: Path, short: Path) -> None:
    records.write(make_task("calc-1"))
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(short / "engine"))
        engine.listen()
        engine.setblocking(False)
        environment = {**os.environ, "DOCKER_HOST": f"unix://{short}/engine"}

        def repair(arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
            words = [word.replace("PANEL", str(panel)) for word in arguments]
            command = [sys.executable, "-m", "repair", *words]
            return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)

        for name, arguments in FILES_ONLY.items():
            done = repair(arguments)
            assert done.returncode == 0, (name, done.stderr)
            assert not asked(engine), name
        doctor = threading.Thread(target=repair, args=(["doctor"],))
        doctor.start()
        engine.settimeout(60)
        engine.accept()[0].close()  # where it is asked, it is here
        engine.close()
        doctor.join()
