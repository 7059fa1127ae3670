"""What the container tests share: diffs made on the fly, panels written down, controls and panels run on the engine."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from repair import pipeline
from repair.controls import plan, runner, session
from repair.errors import RepairError
from repair.model import Control, ControlKind, Outcome, Run, Task
from repair.panel import read
from repair.sandbox import Sandbox
from tests.conftest import ORACLE

PLAIN = "repair-test/odd-plain:1"
F2P = ("tests/test_calc.py::test_add",)
P2P = tuple(f"tests/test_calc.py::test_keep[{n}]" for n in range(12))
ADD = ORACLE
SIDE_BY_SIDE = 4  # containers at a time: most of a control is waiting for the engine


def python(venv: str, *arguments: str) -> list[str]:
    """pytest of one of the environments of repair-test/pytests."""
    return [f"/venv/{venv}/bin/python", "-m", "pytest", *arguments]


def added(files: Mapping[str, str]) -> bytes:
    """A diff that adds text files."""
    parts = []
    for path, text in files.items():
        head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n"
        lines = text.splitlines(keepends=True)
        if lines:
            head += f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
        body = "".join(f"+{line}" for line in lines)
        parts.append(head + body + ("" if body.endswith("\n") or not body else "\n\\ No newline at end of file\n"))
    return "".join(parts).encode()


@dataclass(frozen=True)
class Node:
    """A file or link of a tree that is compared with another."""

    content: bytes = b""
    runs: bool = False
    link: str | None = None


def compared(folder: Path, before: Mapping[str, Node], after: Mapping[str, Node]) -> bytes:
    """What git says is different between two trees, binaries whole and renames found."""
    _git(folder, "init", "--quiet")
    for number, tree in enumerate((before, after)):
        for old in before if number else ():
            (folder / old).unlink()
        for old in before if number else ():
            _remove_empty((folder / old).parent, folder)
        for path, node in tree.items():
            _write(folder / path, node)
        _git(folder, "add", "--all")
        if number == 0:
            _git(folder, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--allow-empty", "-m", "x")
    return _git(folder, "diff", "--cached", "--binary", "--find-renames", "HEAD")


def _git(folder: Path, *arguments: str) -> bytes:
    settings = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
    return subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True, check=True).stdout


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.exists() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _write(file: Path, node: Node) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if node.link is not None:
        file.symlink_to(node.link)
    else:
        file.write_bytes(node.content)
        file.chmod(0o755 if node.runs else 0o644)


@dataclass
class Lab:
    """An engine to run things on, and a folder for what they leave."""

    sandbox: Sandbox
    folder: Path
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def fresh(self) -> Path:
        """A new empty directory."""
        path = self.folder / str(next(self.numbers))
        path.mkdir(parents=True)
        return path

    def task(self, ids: Sequence[str], files: Mapping[str, str] | None = None, **keys: Any) -> Task:
        """A task in memory whose hidden tests are `files`."""
        values: dict[str, Any] = {"image": PLAIN, "timeout": 300.0, "oracle_patch": ADD, **keys}
        values.setdefault("tests_patch", added(files) if files else None)
        if isinstance(values.get("test_cmd"), list):
            values["test_cmd"] = tuple(values["test_cmd"])
        return Task("task", f2p=tuple(ids), p2p=(), directory=self.folder, **values)

    def observe(self, task: Task, kind: ControlKind = ControlKind.EMPTY) -> Run:
        """One control of a task, outside any pipeline."""
        control = next(c for c in plan.controls(task, (*task.f2p, *task.p2p), range(1)) if c.kind is kind)
        return self.observe_control(control)

    def observe_control(self, control: Control) -> Run:
        image = self.sandbox.images.get(control.task, False, lambda _: None)
        return runner.observe(self.sandbox, control, image, self.fresh)

    def run(self, panel: Path, **options: Any) -> dict[str, pipeline.Result]:
        """`repair run` of a panel, in this process; results by task."""
        results = pipeline.run(read.load(panel), self.sandbox, session.Options(jobs=SIDE_BY_SIDE, **options))
        return {result.task.instance_id: result for result in results}


def outcomes(run: Run) -> dict[str, Outcome]:
    return {test: seen.outcome for test, seen in run.observed.items()}


T = TypeVar("T")


def side_by_side(calls: Mapping[str, Callable[[], T]]) -> dict[str, T | RepairError]:
    """The result of every call, or the error of ours that it raised."""

    def caught(call: Callable[[], T]) -> T | RepairError:
        try:
            return call()
        except RepairError as err:
            return err

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return dict(zip(calls, pool.map(caught, calls.values()), strict=True))


def write_panel(directory: Path, settings: str = "[policy]\nmin_p2p = 10\n") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "panel.toml").write_text(f'name = "lab"\n{settings}')
    return directory


def write_task(
    panel: Path,
    name: str,
    f2p: Sequence[str] = F2P,
    p2p: Sequence[str] = P2P,
    oracle: bytes = ADD,
    tests: bytes | None = None,
    **keys: Any,
) -> Path:
    directory = panel / name
    directory.mkdir(parents=True)
    document = {
        "instance_id": name,
        "image": PLAIN,
        "timeout": 300,
        "FAIL_TO_PASS": list(f2p),
        "PASS_TO_PASS": list(p2p),
        **keys,
    }
    (directory / "task.json").write_text(json.dumps(document))
    (directory / "oracle.patch").write_bytes(oracle)
    if tests is not None:
        (directory / "tests.patch").write_bytes(tests)
    return directory


def record(task: Path) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads((task / "repair.json").read_bytes())
    return document


def docker(*arguments: str, stdin: bytes | None = None, **environment: str) -> str:
    """The docker command's output; what it printed in the message where it fails."""
    done = subprocess.run(
        ["docker", *arguments], input=stdin, capture_output=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()
