"""Which commands of a shell text run tests, and by which runner.

Pure. A runner is known by the program, the script or the module that is run, behind whatever runs that: an
interpreter, a package manager, `timeout`. What nobody can recognise is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from repair.outcomes.frameworks.known import FRAMEWORKS, NEVER
from repair.outcomes.frameworks.shell import Command, Piece, commands

_ASSIGNMENT = re.compile(r"\w+\+?=")


@dataclass(frozen=True, slots=True)
class Call:
    """A simple command that runs tests. `at`: its word that names the runner, `first`: the one after that and its verb,
    `launch`: the first of the words (a script, or -m and a module) that an interpreter runs, None without one.
    """

    framework: str
    command: Command
    at: int
    first: int
    launch: int | None
    repeats: bool = False  # it may run more than once

    @property
    def program(self) -> Piece:
        """The word that the shell itself runs."""
        return next(word for word in self.command.words if not _ASSIGNMENT.match(word.value))

    @property
    def arguments(self) -> list[str]:
        return [word.value for word in self.command.words[self.first :]]

    @property
    def said(self) -> str:
        """Assignments and arguments, a NUL before each."""
        before = [word.value for word in self.command.words[: self.first] if _ASSIGNMENT.match(word.value)]
        return "".join(f"\0{value}" for value in (*before, *self.arguments))

    @property
    def place(self) -> int:
        """Where further options go: the end of the command's words, or before a bare `--`."""
        words = self.command.words
        bare = (number for number, word in enumerate(words) if number >= self.first and word.text == "--")
        return words[next(bare, len(words)) - 1].end


def calls(text: str) -> tuple[Call, ...]:
    """The commands of a shell text that run tests, in order."""
    return tuple(call for command in commands(text) if (call := _call(command)) is not None)


# ---- what runs a runner


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A program that runs another one. `valued`: its options that take a value, `verb`: what must stand before the
    other one, `verbs`: what may, `words`: how many more words do, `stop`: the option that ends its options, before a
    module where it `interprets`, else before what cannot be seen. `after`: the word that the other one follows.
    `repeats`: it may run the other one more than once, `each`: the options by which it may.
    """

    valued: str = ""
    verb: str = ""
    verbs: tuple[str, ...] = ()
    words: int = 0
    stop: str = NEVER
    interprets: bool = False
    after: str = ""
    repeats: bool = False
    each: str = NEVER


_PYTHON = _Wrapper("-X -W", stop=r"-[bBdEiIOPqsSuvx]*m", interprets=True)
_PYTHONS = re.compile(r"(?:python|pypy)[\d.]*")
_WRAPPERS: Mapping[str, _Wrapper] = {
    **dict.fromkeys(("exec", "command", "nohup", "setsid", "unbuffer", "nyc", "c8", "cross-env"), _Wrapper("-a")),
    "env": _Wrapper("-u --unset -C --chdir"),
    "timeout": _Wrapper("-s --signal -k --kill-after", words=1),
    "nice": _Wrapper("-n --adjustment"),
    "stdbuf": _Wrapper("-i -o -e"),
    "sudo": _Wrapper("-u --user -g --group -h -p -C -D"),
    "xvfb-run": _Wrapper("-n --server-num -s --server-args -e -f -p -w"),
    "npx": _Wrapper("-p --package -w --workspace", stop="-c|--call", each="-ws|--workspaces(?:=true)?"),
    "pnpm": _Wrapper(
        "-C --dir -F --filter", verbs=("exec", "dlx", "run"), each="-r|--recursive|-F|--filter(?:-prod)?(?:=.*)?"
    ),
    "yarn": _Wrapper("--cwd", verbs=("run", "exec", "dlx")),
    "bunx": _Wrapper("-p --package"),
    "bundle": _Wrapper(verb="exec"),
    **dict.fromkeys(
        ("pipenv", "hatch", "rye", "pdm", "poetry"), _Wrapper("-C -P --directory --project -e --env", verb="run")
    ),
    "uv": _Wrapper(
        "--with --extra --group -p --python --project --directory --env-file --index-url",
        verb="run",
    ),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _Wrapper("-n --name -p --prefix --cwd", verb="run")),
    "coverage": _Wrapper(
        "--source --omit --include --rcfile --data-file --concurrency --context",
        verb="run",
        stop="-m",
        interprets=True,
    ),
    "xargs": _Wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars", repeats=True
    ),
    "find": _Wrapper(after="-(?:exec|ok)(?:dir)?", repeats=True),
    "parallel": _Wrapper("-a --arg-file -C --colsep -d -I -j --jobs --joblog -n -N --timeout", repeats=True),
    **dict.fromkeys(
        ("lerna", "nx", "turbo"),
        _Wrapper("--concurrency --filter --ignore -p --projects --scope", verb="exec", repeats=True),
    ),
    "node": _Wrapper("-r --require --loader --import --experimental-loader", interprets=True),
    "php": _Wrapper("-d -c", interprets=True),
    "ruby": _Wrapper("-I -r", interprets=True),
}


def _call(command: Command) -> Call | None:
    values = [word.value for word in command.words]
    at, launch, module, repeats = 0, None, False, command.repeats
    while at < len(values):
        name = values[at].rpartition("/")[2]
        if _ASSIGNMENT.match(values[at]):
            at += 1
            continue
        wrapper = _PYTHON if _PYTHONS.fullmatch(name) and not module else _WRAPPERS.get(name)
        if wrapper is None:
            call = _known(command, values, at, launch, module=module)
            return call and replace(call, repeats=repeats)
        begin, at = at + 1, _past(wrapper, values, at + 1)
        repeats = repeats or wrapper.repeats or _runs_each(wrapper, values[begin:at])
        module = False
        if wrapper.interprets:
            launch = at
            module = at < len(values) and re.fullmatch(wrapper.stop, values[at]) is not None
        if module:
            at += 1
            if values[at : at + 1] and values[at] not in (*_BY_MODULE, "coverage"):
                return None
    return None


def _runs_each(wrapper: _Wrapper, values: Sequence[str]) -> bool:
    """Whether a wrapper's own words name several packages, or may."""
    named = [value for value in values if re.fullmatch("(?:-w|--workspace)(?:=.*)?", value)]
    return any(re.fullmatch(wrapper.each, value) for value in values) or len(named) > 1


def _past(wrapper: _Wrapper, values: Sequence[str], at: int) -> int:
    """The word that a wrapper runs, whose own words go on at `at`; `len(values)` where it runs none."""
    if wrapper.after:
        return next((n for n in range(at, len(values)) if re.fullmatch(wrapper.after, values[n])), len(values) - 1) + 1
    at = _past_options(wrapper, values, at)
    verb = values[at] if at < len(values) else ""
    if wrapper.verb and verb != wrapper.verb:
        return len(values)
    if wrapper.verb or verb in wrapper.verbs:
        at = _past_options(wrapper, values, at + 1)
    return min(at + wrapper.words, len(values))


def _past_options(wrapper: _Wrapper, values: Sequence[str], at: int) -> int:
    valued = wrapper.valued.split()
    while at < len(values) and re.match("-.", values[at]) and not re.fullmatch(wrapper.stop, values[at]):
        if values[at] == "--":
            return at + 1
        at += 2 if values[at] in valued else 1
    return at


# ---- the runners


_BY_MODULE = {module: framework for framework in FRAMEWORKS.values() for module in framework.modules}
_BY_PROGRAM = {
    program: framework for framework in FRAMEWORKS.values() for program in (*framework.programs, *framework.verbs)
}


def _known(command: Command, values: Sequence[str], at: int, launch: int | None, *, module: bool) -> Call | None:
    name = re.sub(r"\.(?:js|mjs|cjs|phar)$", "", values[at].rpartition("/")[2])
    framework = (_BY_MODULE if module else _BY_PROGRAM).get(name)
    if framework is None:
        return None
    if framework.name == "cargo" and any(value.startswith("+") for value in values[at + 1 : at + 2]):
        at += 1  # the toolchain
    after = values[at + 1 :]
    if "--version" in after or "--help" in after:
        return None
    if framework.name == "cargo" and after[:2] == ["nextest", "run"]:
        return Call("nextest", command, at, at + 3, launch)
    verb = name in framework.verbs or (module and name == "django")
    if (verb and after[:1] != ["test"]) or not framework.runs_tests([values[at], *after]):
        return None
    return Call(framework.name, command, at, at + 1 + verb, launch)
