"""Test runners other than pytest: what they are called, how one is made to write JUnit, where its reports appear, and
how its tests are usually named.

Pure. A command line is only ever added to.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from repair.errors import NoJUnit
from repair.outcomes.frameworks.commands import Call, calls
from repair.outcomes.frameworks.known import FRAMEWORKS, UNKNOWN, _nothing
from repair.outcomes.frameworks.shell import commands
from repair.text import cut, printable

REPORT = "/tmp/repair-junit-{number}.xml"  # noqa: S108 - in a fresh container, removed before each run
FOLDER = "/tmp/repair-junit"  # noqa: S108
NO_XMLRUNNER = "no JUnit from this runner: unittest-xml-reporting is not in the image"
_MODULES = "/tmp/repair-django"  # noqa: S108
_SHOWN = 60  # characters of a command in a message


@dataclass(frozen=True, slots=True)
class Plan:
    """What is really run: the command with its JUnit option, where reports appear (globs relative to the working
    directory, or absolute), and what is added to the environment.
    """

    test_cmd: str | tuple[str, ...]
    junit: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=_nothing)


def recognise(test_cmd: str | tuple[str, ...]) -> str | None:
    """The framework that a command line runs; None where nobody can tell, or where it runs several."""
    found = {call.framework for call in calls(_text(test_cmd))}
    return found.pop() if len(found) == 1 else None


def _text(test_cmd: str | tuple[str, ...]) -> str:
    return test_cmd if isinstance(test_cmd, str) else shlex.join(test_cmd)


# ---- the same command, with a report


@dataclass(frozen=True, slots=True)
class _Change:
    """What makes one command write JUnit: text put at places of the text (start, end, new), lines to run before all,
    variables for the command, and where its report appears.
    """

    edits: tuple[tuple[int, int, str], ...]
    junit: tuple[str, ...]
    before: tuple[str, ...] = ()
    assign: Mapping[str, str] = field(default_factory=_nothing)


def plan(framework: str, test_cmd: str | tuple[str, ...], junit: tuple[str, ...]) -> Plan:
    """A task's command as it is really run. What the task says of its reports is left as it is, and so is pytest.

    `junit` holds a name without wildcards where a report is due. Raises `NoJUnit` where the framework is unknown or
    writes none, where its command cannot be seen in `test_cmd`, and where one run would write over another's report.
    """
    text = _text(test_cmd)
    every = calls(text)
    runs = [call for call in every if call.framework == framework]
    if not junit and runs and len(runs) < len(every):
        others = ", ".join(dict.fromkeys(call.framework for call in every if call.framework != framework))
        raise _no_junit(f"test_cmd runs {others} beside {framework}, and one of them would not be observed")
    if framework == "pytest":
        _check_one_run(runs)
    if framework == "pytest" or junit:
        return Plan(test_cmd, junit)
    known = FRAMEWORKS.get(framework)
    if known is None:
        raise _no_junit(_unknown(framework, text))
    if known.files:
        return Plan(test_cmd, known.files)
    if framework == "cargo":
        raise _no_junit("cargo test writes none; cargo nextest does")
    if not runs:
        raise _no_junit(f"test_cmd runs no {framework} that can be seen")
    change = _CHANGES.get(framework, _with_options)
    changes = [change(text, call, number) for number, call in enumerate(runs, 1)]
    places = tuple(dict.fromkeys(place for made in changes for place in made.junit))
    env = known.env if any(made.edits or made.assign for made in changes) else _nothing()
    if isinstance(test_cmd, str) or framework in _CHANGES:
        lines = dict.fromkeys(line for made in changes for line in made.before)
        edits = [edit for call, made in zip(runs, changes, strict=True) for edit in _all_edits(call, made)]
        return Plan("".join(f"{line}\n" for line in lines) + _edited(text, edits), places, env)
    words = tuple(shlex.split(_edited(text, changes[0].edits)))
    return Plan(words, places, MappingProxyType({**env, **changes[0].assign}))


def _all_edits(call: Call, change: _Change) -> Iterator[tuple[int, int, str]]:
    at = call.command.words[0].start
    for name, value in change.assign.items():
        yield at, at, f"{name}={shlex.quote(value)} "
    yield from change.edits


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


_NAME_BOTH = "name test_cmd and junit in task.json, or `repair import --test-cmd`"
_NAME_REPORTS = "give the reports names of your own, and say them in `junit`"


def _no_junit(what: str, then: str = _NAME_BOTH) -> NoJUnit:
    return NoJUnit(f"no JUnit from this runner ({what})", then)


def _unknown(framework: str, text: str) -> str:
    if framework != UNKNOWN:
        return f"there is no framework {_shown(framework)}"
    own = "; ".join(_IN_SEQUENCE.findall(text)) or text
    return f"nobody can tell what `{_shown(own)}` runs"


def _shown(text: str) -> str:
    return cut(printable(" ".join(text.split())), _SHOWN)


def _check_one_run(runs: Sequence[Call]) -> None:
    """Our arguments go to one pytest, and its report has one name."""
    often = f"pytest {len(runs)} times" if len(runs) > 1 else "pytest, which may run more than once there"
    if len(runs) > 1 or any(call.repeats for call in runs):
        raise NoJUnit(
            f"test_cmd runs {often}, and one run can be observed",
            "put them into one, or let test_cmd be one of them",
        )


def _check_once(call: Call) -> None:
    """A path that is added to a command is the same each time that it runs."""
    if call.repeats:
        what = f"{call.framework} may run more than once there, and the last report would be the only one"
        raise _no_junit(what, _NAME_REPORTS)


def _report(number: int) -> str:
    return REPORT.format(number=number)


def _folder(number: int) -> str:
    """xmlrunner names a file by a class and the second in which it began."""
    return FOLDER if number == 1 else f"{FOLDER}/{number}"


def _with_options(text: str, call: Call, number: int) -> _Change:
    known = FRAMEWORKS[call.framework]
    if (named := re.search(known.said, call.said)) is not None:
        return _Change((), (_named(text, named[1]),))
    _check_once(call)
    path = _report(number)
    values = {"path": path, "name": path.rpartition("/")[2]}
    groups = [group for group, beside in known.add if not any(re.match(beside, value) for value in call.arguments)]
    if call.framework == "go":
        return _with_gotestsum(call, groups[0].format(**values), path)
    added = "".join(f" {group}" for group in groups).format(**values)
    assign = {variable: value.format(**values) for variable, value in known.assign.items()}
    return _Change(((call.place, call.place, added),) if added else (), (path,), assign=assign)


def _with_gotestsum(call: Call, option: str, path: str) -> _Change:
    runner, last = call.command.words[call.at], call.command.words[call.first - 1]
    if runner.value.endswith("gotestsum"):
        return _Change(((runner.end, runner.end, f" {option}"),), (path,))
    # without a package go tests this one, and gotestsum without arguments all below
    own = "" if call.arguments else " ."
    return _Change(((runner.start, last.end, f"gotestsum {option} --{own}"),), (path,))


def _named(text: str, path: str) -> str:
    """Where a report appears of which the command says the path: below some folder where it changes there."""
    if "$" in path or "`" in path:
        raise _no_junit(f"the path of its report is {printable(path)}, which only a shell knows")
    moves = any(word.value in ("cd", "pushd", "--test-dir") for command in commands(text) for word in command.words)
    return path if path.startswith("/") or not moves else "**/" + re.sub(r"^(?:\.{1,2}/)+", "", path)


def _with_nextest(_text: str, call: Call, number: int) -> _Change:
    """nextest takes the path from a configuration only; one that the repo has is stronger than a tool's, so that no
    name is due.
    """
    _check_once(call)
    file = f"/tmp/repair-nextest-{number}.toml"  # noqa: S108
    lines = ["[profile.default]", "fail-fast = false", "[profile.default.junit]", f'path = "{_report(number)}"']
    option = f" --tool-config-file repair:{file}"
    reports = REPORT.format(number="*")
    return _Change(((call.place, call.place, option),), (reports, "target/nextest/*/*.xml"), (_written(file, lines),))


def _written(file: str, lines: Sequence[str]) -> str:
    return f"printf '%s\\n' {shlex.join(lines)} > {file} || exit 3"


def _with_xmlrunner(text: str, call: Call, number: int) -> _Change:
    word = call.command.words[call.at]
    if (file := re.search(FRAMEWORKS["unittest"].said, call.said)) is not None:
        return _Change((), (_named(text, file[1]),))
    if word.value == "xmlrunner" and (named := re.search(r"\0(?:--output[=\0]|-o\0?)([^\0]+)", call.said)) is not None:
        return _Change((), (_named(text, named[1].rstrip("/") + "/*.xml"),))
    _check_once(call)
    begin, end = _checked(text, call)
    folder = _folder(number)
    return _Change((begin, (word.start, word.end, f"xmlrunner -o {folder}"), *end), (f"{folder}/*.xml",))


def _checked(text: str, call: Call) -> tuple[tuple[int, int, str], tuple[tuple[int, int, str], ...]]:
    """The edits that put a command behind a check for xmlrunner by the interpreter that it is run by.

    The group's end takes no arguments, so that "$@" goes into it.
    """
    words = call.command.words
    start, launch = words[0].start, words[call.at if call.launch is None else call.launch].start
    check = f"{text[start:launch]}-m xmlrunner --help"
    if call.launch is None:  # a script names its interpreter itself
        check = " || ".join(f"{text[start:launch]}{python} -m xmlrunner --help" for python in ("python", "python3"))
    begin = f"{{ ( {check} ) > /dev/null 2>&1 || {{ echo {shlex.quote(NO_XMLRUNNER)} >&2; exit 3; }}; "
    arguments = [] if '"$@"' in text else [(words[-1].end, words[-1].end, ' "$@"')]
    return (start, start, begin), (*arguments, (call.command.end, call.command.end, "; }"))


def _with_django(text: str, call: Call, number: int) -> _Change:
    """Through a runner of our own, since where xmlrunner writes is a setting; runtests.py takes that from settings."""
    _check_once(call)
    words, folder = call.command.words, _folder(number)
    module = "repair_django" if number == 1 else f"repair_django_{number}"
    runner = ["from django.conf import settings", "from xmlrunner.extra.djangotestrunner import XMLTestRunner"]
    runner += [f'settings.TEST_OUTPUT_DIR = "{folder}"', "settings.TEST_OUTPUT_FILE_NAME = None"]
    before = [f"mkdir -p {_MODULES} || exit 3", _written(f"{_MODULES}/{module}.py", runner)]
    added = " --parallel=1" if any(value.startswith("--parallel") for value in call.arguments) else ""
    begin, end = _checked(text, call)
    edits = [begin]
    if words[call.at].value.endswith("runtests.py"):
        settings = [f"from {_settings(call)} import *", f'TEST_RUNNER = "{module}.XMLTestRunner"']
        before.append(_written(f"{_MODULES}/repair_settings_{number}.py", settings))
        path = f"PYTHONPATH={_MODULES}${{PYTHONPATH:+:$PYTHONPATH}} DJANGO_TEST_PROCESSES=1 "
        edits.append((call.program.start, call.program.start, path))
        added += f" --settings=repair_settings_{number}"
    else:
        added += f" --testrunner={module}.XMLTestRunner --pythonpath={_MODULES}"
    return _Change((*edits, (call.place, call.place, added), *end), (f"{folder}/*.xml",), tuple(before))


def _settings(call: Call) -> str:
    named = re.findall(r"\0(?:--settings[=\0]|DJANGO_SETTINGS_MODULE=)([^\0]+)", call.said)
    if named and not re.fullmatch(r"[\w.]+", named[-1]):
        raise _no_junit(f"the settings module is {printable(named[-1])}, which only a shell knows")
    return named[-1] if named else "test_sqlite"


_CHANGES: Mapping[str, Callable[[str, Call, int], _Change]] = {
    "nextest": _with_nextest,
    "unittest": _with_xmlrunner,
    "django": _with_django,
}


# ---- several commands, and our arguments


_IN_SEQUENCE = re.compile(r"^\{ (.*?)\n\} \|\| repair_status=", re.DOTALL | re.MULTILINE)


def sequence(texts: Sequence[str]) -> str:
    """Several shell commands as one text that runs all of them in one shell, in order, and ends with the first status
    that is not 0. One command is returned as it is; those without a word are left out where there are several.
    """
    if len(texts) < 2:
        return "".join(texts)
    groups = [f"{{ {_closed(text)}\n}} || repair_status=${{repair_status:-$?}}" for text in texts]
    kept = [group for group, text in zip(groups, texts, strict=True) if any(commands(text))]
    return "\n".join(["repair_status=", *kept, 'exit "${repair_status:-0}"'])


def _closed(text: str) -> str:
    """A command that a new line ends: a last backslash would go on into it."""
    slashes = len(text) - len(text.rstrip("\\"))
    return text[:-1] if slashes % 2 else text


def with_arguments(test_cmd: str) -> str:
    """A shell text that runs pytest, with `"$@"` after the last word of its first command that is pytest.

    A text that holds `"$@"` already, and one in which no pytest can be seen, is returned as it is.
    """
    call = next((call for call in calls(test_cmd) if call.framework == "pytest"), None)
    if call is None or '"$@"' in test_cmd:
        return test_cmd
    end = call.command.words[-1].end
    return f'{test_cmd[:end]} "$@"{test_cmd[end:]}'
