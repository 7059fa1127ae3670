"""The test command and the framework of a task, made from the commands or the script of a foreign row."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from repair.formats.base import RowError, Wants
from repair.model import Verifier
from repair.outcomes.frameworks import plan, shell
from repair.outcomes.rewards import BEGIN, END
from repair.panel import patches

# SWE-bench's images and those of its successors hold the repo in /testbed, and a conda environment of that name.
TESTBED = "/testbed"
ACTIVATE = "source /opt/miniconda3/bin/activate testbed"
UNKNOWN = "unknown"  # the framework where nothing shows it: the import takes such a task and warns of it

# The lines before the tests that only set the shell up. What the other lines do is done in the image already.
_SETS_UP = re.compile(r"(?:source|conda\s+activate|export|unset|cd|pushd|ulimit|locale-gen|eval)\b|\.\s")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=")
_INSTALLS = re.compile(
    r"\b(?:pip3?|conda|mamba|npm|yarn|pnpm|apt-get|apt|make|cargo|go|mvn|bundle|composer)\b.*\b(?:install|build|update|ci)\b"
)
_COMPOUND = re.compile(r"(?:for|while|until|if|case|select|function)\b|[{(]|[\w-]+\s*\(\)")
_SOURCES = re.compile(r"(?:source|\.)\s+[^\s;&|]+")


def runtime(commands: Sequence[str], wants: Wants, *before: str) -> dict[str, Any]:
    """The keys of task.json that run shell commands; the commands `before` set the shell up for them.

    A command of the user's replaces all of them. pytest runs the whole files of the listed ids, as the harnesses of
    these formats do.
    """
    if wants.test_cmd is not None:
        commands, before = [wants.test_cmd], ()
    framework, text = _read(tuple(commands))
    keys: dict[str, Any] = {"framework": framework, "test_cmd": _joined([*before, text])}
    return keys | ({"select": "files"} if framework == "pytest" else {})


@lru_cache(maxsize=256)  # most rows of a panel have the same commands
def _read(commands: tuple[str, ...]) -> tuple[str, str]:
    """The framework of commands, and the commands as one text. A text for pytest has a place for our arguments."""
    framework = plan.recognise("\n".join(commands))
    text = plan.sequence(list(commands))
    return framework or UNKNOWN, plan.with_arguments(text) if framework == "pytest" else text


def _joined(parts: Sequence[str]) -> str:
    """Set-up and command as one shell text, which ends where a step of the set-up fails.

    A file that the shell sources gets the arguments of the whole text, and conda's `activate` would take ours for
    environments. So a set-up that sources a file is a function, which has no arguments.
    """
    *before, last = parts
    steps = [step(command) for command in before]
    if any(_SOURCES.fullmatch(command) for command in before):
        body = " &&\n".join(steps)
        call = "set_up || exit\n" if "\n" in last else "set_up && "
        return f"set_up() {{\n{body}\n}}\n{call}{last}"
    if "\n" in last:
        return "\n".join([*(f"{command} || exit" for command in steps), last])
    return " && ".join([*steps, last])


def step(command: str) -> str:
    """A command as a text that `&&` may follow, whatever the command ends in."""
    closed = command.startswith("{ ") and command.endswith("\n}")
    return command if closed or not re.search(r"[#\n]|[;&]$", command) else f"{{ {command}\n}}"


def conda_pytest(wants: Wants, *arguments: str) -> dict[str, Any]:
    """The keys of task.json that run pytest in the image's conda environment `testbed`."""
    return runtime([shlex.join(["python", "-m", "pytest", *arguments])], wants, ACTIVATE)


def of_script(script: str, column: str, wants: Wants) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of task.json that run the tests of an eval script, and notes on what is left out.

    The tests stand between two markers. Of the lines before them only those count that set the shell up: the patches or
    the image do the others' work. Raises `RowError`, with the field `column`, where the markers hold no command.
    """
    if wants.test_cmd is not None:
        return runtime([], wants), ()
    script = script.replace("\r\n", "\n")
    lines = statements(script)
    begin = next((number for number, line in enumerate(lines) if BEGIN in line.bare), None)
    end = next((number for number, line in enumerate(lines) if END in line.bare), None)
    tests = lines[begin + 1 : end] if begin is not None and end is not None and end > begin else []
    if not tests:
        raise RowError(column, f"holds no command between {BEGIN} and {END}")
    before, left_out = [], False
    for line in lines[:begin]:
        if _INSTALLS.search(line.bare):
            left_out = True
            folder = re.match(r"cd\s+[^\s;&|]+(?=\s*&&)", line.bare)
            before += [folder[0]] if folder else []
        elif _SETS_UP.match(line.bare) or _is_assignment(line.bare):
            before.append(line.bare)
    keys = runtime(_commands(script, tests), wants, *before)
    return keys, ("its eval script installs before the tests: left out, no network there",) if left_out else ()


def _is_assignment(line: str) -> bool:
    """Whether a line only sets variables. Those in front of a command hold for that command alone."""
    words = [word.text for command in shell.commands(line) for word in command.words]
    return bool(words) and all(map(_ASSIGNS.match, words))


def _commands(script: str, tests: Sequence[Statement]) -> list[str]:
    """Statements as a command each, or as one text where a loop, a branch or a here-document spans several lines."""
    together = any(line.has_body or _COMPOUND.match(line.bare) for line in tests)
    return [script[tests[0].start : tests[-1].end]] if together else [line.bare for line in tests]


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a script, with the lines that continue it.

    `bare`: its text without comments and here-documents.
    `start`, `end`: where it begins and ends in the script, in characters; its here-documents are included.
    `has_body`: it has a here-document.
    """

    bare: str
    start: int
    end: int
    has_body: bool


def statements(script: str) -> list[Statement]:
    """The lines of a script that are neither blank nor comments, in order."""
    lines: list[Statement] = []
    bare, start = "", 0
    for piece in (*shell.scan(script), shell.Piece(shell.Kind.OPERATOR, "\n", len(script))):
        if piece.kind is shell.Kind.BODY:
            if lines:  # a body follows its line
                lines[-1] = replace(lines[-1], end=piece.end, has_body=True)
            start = piece.end
        elif piece.kind is shell.Kind.OPERATOR and piece.text == "\n":
            text = bare.replace("\\\n", " ").strip()
            if text:
                lines.append(Statement(text, start, piece.start, has_body=False))
            bare, start = "", piece.end
        elif piece.kind is not shell.Kind.COMMENT:
            bare += piece.text
    return lines


EVAL_SCRIPT = "/repair-eval.sh"
# Markers and tests may print on different streams, and an engine keeps the order within a stream alone.
ONE_PIPE = 'exec /bin/bash "$0" 2>&1'


def eval_verifier(script: str, log_parser: object, kept: tuple[str, ...]) -> Verifier:
    """An eval script as its task's own verifier on the ids `kept`. Raises `RowError` where its log is not pytest's."""
    if not isinstance(log_parser, str) or "pytest" not in log_parser or "\n" in log_parser:
        raise RowError("log_parser", "only what pytest prints is read as an own verifier's answer")
    try:
        files = ((EVAL_SCRIPT, script.encode(), 0o755),)
    except UnicodeEncodeError:
        raise RowError("eval_script", "holds half a character (a lone surrogate)") from None
    command = ("/bin/bash", "-c", ONE_PIPE, EVAL_SCRIPT)
    return Verifier(files, command, rewards=(), directories=(), timeout=1800.0, ids=kept)


def touched(patch: bytes | None, *endings: str) -> list[str]:
    """The files of a diff that are there after it, sorted: those with one of the endings, or all without any ending."""
    names = [file.new for file in patches.files(patch or b"") if file.new is not None]
    return sorted({name for name in names if not endings or name.endswith(endings)})


# ---- repos of SWE-bench whose tests pytest does not run

DJANGO, SYMPY = "django/django", "sympy/sympy"


def of_repo(repo: str, tests_patch: bytes | None, wants: Wants) -> Mapping[str, Any]:
    """The keys of task.json that run a repo's tests as SWE-bench does, for a row without a command.

    pytest runs them, except Django's: these have ids of unittest. SymPy's own runner writes no JUnit and names tests
    without their file; pytest collects the same functions.
    """
    if wants.test_cmd is not None:
        return runtime([], wants)
    if repo == DJANGO:
        labels = [
            name.removeprefix("tests/").removesuffix(".py").replace("/", ".") for name in touched(tests_patch, ".py")
        ]
        command = ["./tests/runtests.py", "--verbosity", "2", "--settings=test_sqlite", "--parallel", "1", *labels]
        return {"framework": "django", "test_cmd": f"{ACTIVATE} && {shlex.join(command)}"}
    if repo == SYMPY:
        files = touched(tests_patch, ".py")
        return {**conda_pytest(wants, *files), "select": "all", "id_template": "{name}"}
    return conda_pytest(wants)
