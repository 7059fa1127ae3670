"""Runs the pytest plugin on this host as a container would, and reads what it left with the project's own readers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

from repair.controls import plan, runner
from repair.errors import NoEvidence
from repair.model import Control, ControlKind, Ended, Image, Observed, Outcome, Run, Select, Task
from repair.outcomes import evidence, junit, lookup, plugin_log

IMAGE = Image("sha256:none")
QUICK = ("-p", "no:hypothesispytest")  # which our own environment has, and which triples the start-up time
PYTHONS = [sys.executable, *filter(None, os.environ.get("REPAIR_OLD_PYTESTS", "").split(os.pathsep))]
PLUGINS = {"xdist": "xdist", "rerunfailures": "pytest_rerunfailures", "timeout": "pytest_timeout"}
PLUGINS |= {"randomly": "pytest_randomly", "subtests": "pytest_subtests"}


@cache
def installed(python: str) -> tuple[tuple[int, ...], frozenset[str]]:
    """The version of an interpreter's pytest, and what a case may need there: plugins, and `python3`."""
    if python == sys.executable:
        version, found = pytest.__version__, {name for name, module in PLUGINS.items() if find_spec(module)}
        major = "python3"
    else:
        ask = "import json, pkgutil, sys, pytest; found = [module[1] for module in pkgutil.iter_modules()];"
        ask += "print(json.dumps([pytest.__version__, found, 'python%d' % sys.version_info[0]]))"
        answer = subprocess.run([python, "-c", ask], capture_output=True, check=True).stdout
        version, modules, major = json.loads(answer)
        found = {name for name, module in PLUGINS.items() if module in modules}
    parsed = numbers(".".join(version.split(".")[:2]))
    return parsed, frozenset(found | {major} | ({"subtests"} if parsed >= (9, 0) else set()))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True, slots=True)
class HostRun:
    """One pytest process: its status, what it printed, its record and report, and how they are judged."""

    status: int
    printed: str
    record: plugin_log.Record
    control: Control
    attempt: evidence.Attempt

    def judged(self, deadly: tuple[str, ...] = ()) -> Run:
        return evidence.judge_pytest(self.control, IMAGE, self.attempt, self.record, deadly)

    @property
    def observed(self) -> Mapping[str, Observed]:
        return self.judged().observed

    @property
    def outcomes(self) -> dict[str, str]:
        return {test: str(seen.outcome) for test, seen in self.observed.items()}

    @property
    def by_record(self) -> dict[str, str]:
        """What the plugin's record alone says of each listed id: for runs that are no evidence yet."""
        seen = lookup.resolve(self.control.ids, lookup.of_record(self.record, self.record.outcomes))
        return {test: str(found.outcome) for test, found in seen.items()}

    @property
    def reported(self) -> dict[str, Outcome]:
        with (self.attempt.directory / "report.xml").open("rb") as stream:
            return lookup.by_node_id(junit.read(stream, "report.xml").cases)


def control(ids: Sequence[str], folder: Path, select: Select = Select.IDS) -> Control:
    task = Task("host", "none", tuple(ids), (), b"", None, folder, workdir=str(folder), select=select)
    return Control(task, ControlKind.EMPTY, (), tuple(ids))


def run(
    folder: Path,
    ids: Sequence[str],
    *options: str,
    python: str = sys.executable,
    select: Select = Select.IDS,
    skip: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    interpreter_options: Sequence[str] = (),
    files: Sequence[str] | None = None,
    found: bool = False,
) -> HostRun:
    """Run the plugin once on the tests in `folder`. `options` are what a task's test_cmd has besides.

    With `files` it is whole files that run, none of them for all; `found` says that nobody has listed them.
    """
    asked = replace(control(ids, folder, select), files=None if files is None else tuple(files))
    if files is not None and not found:
        asked = replace(asked, task=replace(asked.task, test_files=tuple(files)))
    here = folder.with_name(folder.name + ".repair")
    shutil.rmtree(here, ignore_errors=True)
    for name in ("in", "out", "plugin"):
        (here / name).mkdir(parents=True)
    (here / "plugin" / "repair_pytest.py").write_bytes(plan.inside("repair_pytest.py"))
    wanted = {"skip": list(skip), **plan.choice(asked)}
    (here / "in" / "select.json").write_bytes(orjson.dumps(wanted))
    ours = runner._pytest_arguments(asked, str(here))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    clean |= {"PYTHONPATH": str(here / "plugin"), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    ended = subprocess.run(
        [python, *interpreter_options, "-m", "pytest", *QUICK, *options, *ours],
        cwd=folder,
        env=clean,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    (here / "out" / "log").write_bytes(ended.stdout)
    status = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode  # as a shell says it
    attempt = evidence.Attempt(Ended(0, False), status, here / "out")
    return HostRun(status, ended.stdout.decode("utf-8", "replace"), evidence.read_record(attempt), asked, attempt)


def observe(folder: Path, ids: Sequence[str], *options: str, python: str = sys.executable) -> Run:
    """Run until it is observed. A test that ends the run is set aside at once: the second try goes the same way."""
    deadly: list[str] = []
    for _ in range(runner.MAX_DEADLY + 1):
        ran = run(folder, ids, *options, python=python, skip=deadly)
        if not ran.record.open:
            return ran.judged(tuple(deadly))
        deadly += ran.record.open
    raise NoEvidence(f"more than {runner.MAX_DEADLY} tests end the run: {deadly}")
