"""The README tells the truth: help texts, examples, exit codes, keys, rules.

`UPDATE_README=1 python -m pytest tests/test_readme.py` writes the help texts anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repair import errors
from repair.cli import app
from repair.model import Outcome, Rule, Task, Verdict
from repair.panel import keys
from tests.support.paths import ROOT

README = ROOT / "README.md"
COMMANDS = [
    "repair",
    *(command.name or "" for command in app.registered_commands),
]
BLOCK = r"(<!-- {} -->\n+```\w*\n)(.*?)(```\n)"


def text() -> str:
    return README.read_text(encoding="utf-8")


def section(heading: str) -> str:
    """What stands below a heading, up to the next one of its rank or above."""
    rank = heading.partition(" ")[0]
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)", text(), re.DOTALL | re.MULTILINE)
    assert found, f"README.md has no heading {heading}"
    return found[1]


def shown_help(command: str) -> str:
    """The help of a command as a terminal of 80 columns without colours shows it."""
    done = subprocess.run(
        [sys.executable, "-m", "repair", *([] if command == "repair" else [command]), "--help"],
        env={**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


# ---- help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_what_the_command_says(command: str) -> None:
    block = re.compile(BLOCK.format(f"help: {command}"), re.DOTALL)
    said = shown_help(command)
    if os.environ.get("UPDATE_README"):
        README.write_text(block.sub(lambda m: m[1] + said + m[3], text()), encoding="utf-8")
    shown = [match[2] for match in block.finditer(text())]
    assert shown == [said]


def test_there_is_no_help_of_a_command_that_is_none() -> None:
    assert sorted(re.findall(r"<!-- help: (.*?) -->", text())) == sorted(COMMANDS)


def test_every_command_that_is_named_exists() -> None:
    code = "\n".join(_code())
    named = set(re.findall(r"^repair ([a-z]+)\b", code, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def _code() -> list[str]:
    """What stands in the README as something to type: console blocks' commands and inline code."""
    blocks = re.findall(r"```console\n(.*?)```", text(), re.DOTALL)
    typed = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    prose = re.sub(r"```.*?```", "", text(), flags=re.DOTALL)
    return typed + re.findall(r"`([^`\n]+)`", prose)


def test_every_file_that_is_named_exists() -> None:
    named = {word for typed in _code() for word in re.findall(r"(?<![\w/])(?:scripts|panels|images)/[\w./-]+", typed)}
    assert "scripts/quickstart" in named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


# ---- examples


def test_examples_run_and_print_what_they_say(tmp_path: Path) -> None:
    examples = [match[2] for match in re.finditer(BLOCK.format("run"), text(), re.DOTALL)]
    assert examples
    shutil.copytree(ROOT / "panels", tmp_path / "panels", ignore=shutil.ignore_patterns(".repair"))
    for number, example in enumerate(examples):
        script = tmp_path / f"example_{number}.py"
        script.write_text(example, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", example, re.MULTILINE)


# ---- tables


def test_exit_statuses_are_those_of_the_errors() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \| (.*?) ?\|", section("### Exit status"), re.MULTILINE)
    named = {name.strip("` "): int(code) for code, name in rows if "`" in name}
    classes = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RepairError)
    ]
    assert named == {kind.__name__: kind.code for kind in classes}
    unnamed = {int(code) for codes, name in rows if "`" not in name for code in codes.split(",")}
    assert unnamed == {0, 1, 130, 143}


def test_every_key_of_a_task_is_explained() -> None:
    panel = section("## A panel")
    rows = re.findall(r"^\| (`.*?) \|", panel, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(keys.TASK)
    for key in keys.POLICY:
        assert f"`{key}`" in panel


@pytest.mark.parametrize("key", ["workdir", "framework", "select", "timeout", "cpus", "network"])
def test_defaults_are_those_of_a_task(key: str) -> None:
    row = next(line for line in section("## A panel").splitlines() if re.match(rf"\| .*`{key}`.* \|", line))
    default = {field: Task.__dataclass_fields__[field].default for field in keys.RUNTIME}[key]
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    assert re.search(rf'`"?{re.escape(shown)}"?`', row.split(" | ")[1])


def test_every_rule_verdict_and_outcome_is_explained() -> None:
    rule = section("## The rule")
    for word in (*Rule, *Verdict, *Outcome):
        assert f"`{word}`" in rule
