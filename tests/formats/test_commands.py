"""What a row's commands become: run in a real bash, with programs that write down how they were called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from repair.formats import commands
from repair.formats.base import RowError, Wants
from repair.formats.commands import ACTIVATE
from repair.outcomes.rewards import BEGIN, END

NO_WISHES = Wants()
PROGRAMS = ("pytest", "python", "pip", "conda", "make", "tox")
# Each writes its folder, the variable that env.sh sets, its name and arguments; one argument may ask for a status.
# env.sh minds its arguments, as conda's activate does: where it is given none, it must not see those of the tests.
PROGRAM = """\
#!/bin/bash
printf '%s|%s|%s' "${PWD##*/}" "$SET" "${0##*/}" >> "$CALLS"
printf ' <%s>' "$@" >> "$CALLS"
echo >> "$CALLS"
for word; do case $word in status=*) exit "${word#status=}";; esac; done
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder `testbed` with env.sh and `sub`, beside programs that write down their calls."""
    (tmp_path / "testbed" / "sub").mkdir(parents=True)
    (tmp_path / "testbed" / "env.sh").write_text("export SET=${1:-yes}\n")
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).write_text(PROGRAM)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def run(place: Path, text: str, *arguments: str) -> tuple[list[str], int]:
    """The calls that a command makes, as "folder|variable|program <argument>…", and its status."""
    file, calls = place / "test_cmd", place / "calls"
    file.write_text(text)
    calls.write_text("")
    env = {"PATH": f"{place / 'bin'}:{os.defpath}", "CALLS": str(calls)}
    done = subprocess.run(
        ["bash", str(file), *arguments], cwd=place / "testbed", env=env, capture_output=True, text=True, check=False
    )
    assert "syntax error" not in done.stderr, f"{done.stderr}\n{text}"
    assert "not found" not in done.stderr, f"{done.stderr}\n{text}"
    return calls.read_text().splitlines(), done.returncode


def assert_is_bash(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), text


def script(tests: str, before: str = "", after: str = "git checkout abc -- tests") -> str:
    return f"#!/bin/bash\nset -uxo pipefail\n{before}\n: '{BEGIN}'\n{tests}\n: '{END}'\n{after}\n"


def of_script(text: str, wants: Wants = NO_WISHES) -> tuple[dict[str, Any], tuple[str, ...]]:
    keys, notes = commands.of_script(text, "eval_script", wants)
    assert_is_bash(keys["test_cmd"])
    return keys, notes


# ---- eval scripts: what runs before the tests, and the tests

PLAIN = "pytest -rA tests/a.py"
CALL = "testbed||pytest <-rA> <tests/a.py> <ID>"
IN_SUB = CALL.replace("testbed|", "sub|")
IS_SET = CALL.replace("||", "|yes|")
LOOKS_ALIKE = f"diff --git a/t b/t\n+cd sub\n+source ./env.sh\n+: '{BEGIN}'\n+tox <x\n+: '{END}'"

BEFORE: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", [CALL]),
    "source": ("source ./env.sh", [IS_SET]),
    "source, with an argument": ("source ./env.sh 'a b'", [CALL.replace("||", "|a b|")]),
    "a dot": (". ./env.sh", [IS_SET]),
    "cd": ("cd sub", [IN_SUB]),
    "cd, twice the same": ("cd .\ncd sub\ncd .", [IN_SUB]),
    "cd, there and back": ("cd sub\ncd ..\ncd sub", [IN_SUB]),
    "export": ("export SET=yes", [IS_SET]),
    "unset": ("export SET=no\nunset SET", [CALL]),
    "conda activate": ("conda activate testbed", ["testbed||conda <activate> <testbed>", CALL]),
    "several": ("source ./env.sh\ncd sub", [IN_SUB.replace("||", "|yes|")]),
    "indented": ("  source ./env.sh\n\tcd sub", [IN_SUB.replace("||", "|yes|")]),
    "a comment behind": ("source ./env.sh # enter\ncd sub", [IN_SUB.replace("||", "|yes|")]),
    "a comment alone": ("# source ./env.sh\n  # cd sub", [CALL]),
    "a hash that is none": ("export SET=a#b", [CALL.replace("||", "|a#b|")]),
    "a semicolon behind": ("export SET=yes;\ncd sub;", [IN_SUB.replace("||", "|yes|")]),
    "over lines": ("export SET=yes \\\n  OTHER=x", [IS_SET]),
    "git is left out": ("git config --global --add safe.directory /testbed\ngit status\ngit show", [CALL]),
    "set is left out": ("set -e", [CALL]),
    "a program that looks like a dot": (".venv/bin/tox run\n./env.sh", [CALL]),
    "a here-document": (f"git apply -v - <<'EOF_1'\n{LOOKS_ALIKE}\nEOF_1\nsource ./env.sh", [IS_SET]),
    "a here-document, plain": (f"git apply -v - <<EOF\n{LOOKS_ALIKE}\nEOF\nsource ./env.sh", [IS_SET]),
    "a here-document, double quotes": (f'git apply - << "EOF"\n{LOOKS_ALIKE}\nEOF\nsource ./env.sh', [IS_SET]),
    "a here-document, a backslash": (f"git apply - <<\\EOF\n{LOOKS_ALIKE}\nEOF\nsource ./env.sh", [IS_SET]),
    "a here-document, a dash in its word": (f"cat - <<'E-1'\n{LOOKS_ALIKE}\nE-1\nsource ./env.sh", [IS_SET]),
    "a here-document, tabs": ("cat <<-EOF\n\tcd sub\n\tEOF\nsource ./env.sh", [IS_SET]),
    "a here-document, its word inside": ("cat <<EOF\n EOF\ncd sub\nEOF \nEOF\nsource ./env.sh", [IS_SET]),
    "two here-documents": ("cat <<A <<B\ncd sub\nA\ncd sub\nB\nsource ./env.sh", [IS_SET]),
    "a here-string": ("cat <<< word\nsource ./env.sh", [IS_SET]),
    "a shift": ("echo $((1<<2))\nsource ./env.sh", [IS_SET]),
    "the markers in a comment": (f"# {BEGIN}\n# {END}\nsource ./env.sh", [IS_SET]),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("before", "calls"), BEFORE.values(), ids=BEFORE)
def test_before_the_tests(place: Path, before: str, calls: list[str], end: str) -> None:
    keys, notes = of_script(script(PLAIN, before).replace("\n", end))
    assert (keys["framework"], keys["select"], notes) == ("pytest", "files", ())
    assert run(place, keys["test_cmd"], "ID") == (calls, 0)


def test_set_up_that_fails_ends_it(place: Path) -> None:
    for tests in (PLAIN, f"{PLAIN}\n{PLAIN}"):
        calls, status = run(place, of_script(script(tests, "source ./env.sh\ncd nowhere"))[0]["test_cmd"])
        assert calls == []
        assert status != 0


INSTALLS = {
    "pip": "pip install -e .",
    "python -m pip": "python -m pip install -e '.[test]'",
    "pip in a virtual environment": ".venv/bin/pip install x",
    "conda install": "conda install -y x",
    "conda env update": "conda env update -f environment.yml",
    "make": "make build",
    "behind cd": "cd . && pip install -e .",
    "apt": "apt-get update && apt-get install -y gcc",
}


@pytest.mark.parametrize("line", INSTALLS.values(), ids=INSTALLS)
def test_what_installs_is_left_out_and_noted(place: Path, line: str) -> None:
    keys, notes = of_script(script(PLAIN, f"source ./env.sh\n{line}"))
    assert notes == ("its eval script installs before the tests: left out, no network there",)
    assert run(place, keys["test_cmd"], "ID") == ([IS_SET], 0)


def test_several_installs_are_one_note() -> None:
    assert len(of_script(script(PLAIN, "pip install a\npip install b"))[1]) == 1


A, B = "testbed||pytest <-rA> <a.py>", "testbed||pytest <-rA> <b.py>"
TESTS: dict[str, tuple[str, list[str], int]] = {
    "one command": ("pytest -rA a.py", [f"{A} <ID>"], 0),
    "python -m": ("python -m pytest -rA a.py", ["testbed||python <-m> <pytest> <-rA> <a.py> <ID>"], 0),
    "blank lines and comments around": ("\n# the tests\n\npytest -rA a.py\n # done\n", [f"{A} <ID>"], 0),
    "a comment behind": ("pytest -rA a.py # all", [f"{A} <ID>"], 0),
    "indented": ("    pytest -rA a.py", [f"{A} <ID>"], 0),
    "over lines": ("pytest -rA \\\n    a.py", [f"{A} <ID>"], 0),
    "two commands": ("pytest -rA a.py\nmake more", [f"{A} <ID>", "testbed||make <more>"], 0),
    "two commands, the first fails": (
        "pytest status=1\nmake",
        ["testbed||pytest <status=1> <ID>", "testbed||make <>"],
        1,
    ),
    "two commands, the second fails": ("pytest -rA a.py\nmake status=2", [f"{A} <ID>", "testbed||make <status=2>"], 2),
    "cd, then a command": ("cd sub\npytest -rA a.py", [f"{A} <ID>".replace("testbed", "sub")], 0),
    "a variable, then a command": ("export SET=yes\npytest -rA a.py", [f"{A} <ID>".replace("||", "|yes|")], 0),
    "joined": ("cd sub && pytest -rA a.py; make", [f"{A} <ID>".replace("testbed", "sub"), "sub||make <>"], 0),
    "a pipe": ("pytest -rA a.py | cat", [f"{A} <ID>"], 0),
    "a loop": ("for name in a b; do\n  pytest -rA $name.py\ndone", [f"{A} <ID>", f"{B} <ID>"], 0),
    "a condition": ("if [ -d sub ]; then\n  pytest -rA a.py\nelse\n  make\nfi", [f"{A} <ID>"], 0),
    "a group": ("(\n  cd sub\n  pytest -rA a.py\n)", [f"{A} <ID>".replace("testbed", "sub")], 0),
    "a function": ("tests() {\n  pytest -rA a.py\n}\ntests", ["testbed||pytest <-rA> <a.py>"], 0),
    "a here-document": (
        "cat > cfg <<EOF\n# one\n\nline\nEOF\npytest -rA $(wc -l < cfg)",
        ["testbed||pytest <-rA> <3> <ID>"],
        0,
    ),
    "quotes over lines": ('pytest -k "a\nb"', ["testbed||pytest <-k> <a", "b> <ID>"], 0),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("tests", "calls", "status"), TESTS.values(), ids=TESTS)
def test_between_the_markers(place: Path, tests: str, calls: list[str], status: int, end: str) -> None:
    keys, notes = of_script(script(tests).replace("\n", end))
    assert (keys["framework"], keys["select"], notes) == ("pytest", "files", ())
    found, code = run(place, keys["test_cmd"], "ID")
    wanted = [call.replace(" <>", "") for call in calls]
    if "tests()" in tests:  # where the arguments go inside is a matter of taste
        found = [call.removesuffix(" <ID>") for call in found]
    assert ([call.replace(" <>", "") for call in found], code) == (wanted, status)


@pytest.mark.parametrize(("tests", "calls", "status"), TESTS.values(), ids=TESTS)
def test_between_the_markers_behind_a_set_up(place: Path, tests: str, calls: list[str], status: int) -> None:
    keys, _ = of_script(script(tests, "source ./env.sh # enter\ncd sub\ncd ..;"))
    found, code = run(place, keys["test_cmd"], "ID")
    assert (len(found), code) == (len(calls), status)
    assert {call.split("|")[1] for call in found if "|" in call} == {"yes"}


MARKERS = {
    "bare": f"{BEGIN}\npytest\n{END}",
    "printed": f"echo '{BEGIN}'\npytest\necho \"{END}\"",
    "with a trace behind": f": '{BEGIN}' # x\npytest\n: '{END}'",
    "End stands in an earlier comment": f"# until {END}\n: '{BEGIN}'\npytest\n: '{END}'",
}


@pytest.mark.parametrize("text", MARKERS.values(), ids=MARKERS)
def test_markers(text: str) -> None:
    assert of_script(text)[0]["test_cmd"] == 'pytest "$@"'


NO_COMMAND = {
    "an empty script": "",
    "no marker": "cd /testbed\npytest -rA\n",
    "no end": f": '{BEGIN}'\npytest\n",
    "no begin": f"pytest\n: '{END}'\n",
    "the wrong way round": f": '{END}'\npytest\n: '{BEGIN}'\n",
    "nothing between": script(""),
    "a comment between": script("# pytest"),
    "markers in a here-document": f"cat <<EOF\n: '{BEGIN}'\npytest\n: '{END}'\nEOF\n",
}


@pytest.mark.parametrize("text", NO_COMMAND.values(), ids=NO_COMMAND)
def test_a_script_without_command_names_the_column(text: str) -> None:
    with pytest.raises(RowError) as caught:
        commands.of_script(text, "eval_script", NO_WISHES)
    assert (caught.value.field, caught.value.problem[:24]) == ("eval_script", "holds no command between")


@pytest.mark.parametrize(
    "text", [script(PLAIN, "source ./env.sh"), *NO_COMMAND.values()], ids=["a whole script", *NO_COMMAND]
)
def test_a_wish_goes_before_any_script(text: str) -> None:
    keys, _ = of_script(text, Wants(test_cmd="pytest -x tests # mine"))
    assert keys == {"framework": "pytest", "test_cmd": 'pytest -x tests "$@" # mine', "select": "files"}


def test_another_runner_gets_no_arguments_and_no_files() -> None:
    keys, _ = of_script(script("npx jest --ci", "cd /testbed"))
    assert keys == {"framework": "jest", "test_cmd": "cd /testbed && npx jest --ci"}


@pytest.mark.parametrize("tests", ["./check.sh", "tox -e py311", "pytest a\nnpx jest"])
def test_a_runner_that_nobody_can_tell_is_said_to_be_unknown(tests: str) -> None:
    keys, _ = of_script(script(tests))
    assert (keys["framework"], "select" in keys) == (commands.UNKNOWN, False)


# ---- commands of a row

RUNTIMES: dict[str, tuple[list[str], tuple[str, ...], Wants, dict[str, Any]]] = {
    "pytest": (["pytest -q"], (), NO_WISHES, {"framework": "pytest", "test_cmd": 'pytest -q "$@"', "select": "files"}),
    "pytest behind a set-up": (
        ["pytest -q"],
        (ACTIVATE, "cd sub"),
        NO_WISHES,
        {"framework": "pytest", "test_cmd": f'{ACTIVATE} && cd sub && pytest -q "$@"', "select": "files"},
    ),
    "another runner": (["go test ./..."], (), NO_WISHES, {"framework": "go", "test_cmd": "go test ./..."}),
    "nobody knows": (["./check"], ("cd sub",), NO_WISHES, {"framework": "unknown", "test_cmd": "cd sub && ./check"}),
    "a wish": (
        ["pytest -q"],
        (ACTIVATE,),
        Wants(test_cmd="cargo nextest run"),
        {"framework": "nextest", "test_cmd": "cargo nextest run"},
    ),
    "a wish alone": ([], (), Wants(test_cmd="true"), {"framework": "unknown", "test_cmd": "true"}),
    "a place for arguments is left": (
        ['pytest "$@" -q'],
        (),
        NO_WISHES,
        {"framework": "pytest", "test_cmd": 'pytest "$@" -q', "select": "files"},
    ),
}


@pytest.mark.parametrize(("texts", "before", "wants", "keys"), RUNTIMES.values(), ids=RUNTIMES)
def test_runtime(texts: list[str], before: tuple[str, ...], wants: Wants, keys: dict[str, Any]) -> None:
    assert commands.runtime(texts, wants, *before) == keys
    assert_is_bash(keys["test_cmd"])


def test_several_commands_run_in_one_shell_and_the_first_status_counts(place: Path) -> None:
    texts = ["cd sub", "make status=3", "pytest -rA a.py # all", "export SET=yes;", "make \\"]
    keys = commands.runtime(texts, NO_WISHES, "source ./env.sh no")
    assert_is_bash(keys["test_cmd"])
    calls, status = run(place, keys["test_cmd"], "ID", "a b")
    assert [call.replace(" <>", "") for call in calls] == [
        "sub|no|make <status=3>",
        "sub|no|pytest <-rA> <a.py> <ID> <a b>",
        "sub|yes|make",
    ]
    assert status == 3


@pytest.mark.parametrize("argument", ["tests/a b.py", "it's", '"$HOME"', "-k", "", "a;b"])
def test_arguments_of_conda_pytest_are_quoted(place: Path, argument: str) -> None:
    text = commands.conda_pytest(NO_WISHES, argument)["test_cmd"]
    assert text.startswith(f"{ACTIVATE} && ")
    assert_is_bash(text)
    calls, status = run(place, text.removeprefix(f"{ACTIVATE} && "), "ID")
    assert (calls, status) == ([f"testbed||python <-m> <pytest> <{argument}> <ID>"], 0)


# ---- repos of SWE-bench


def diff_of(*names: str) -> bytes:
    return "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n" for name in names
    ).encode()


GONE = b"diff --git a/tests/gone.py b/tests/gone.py\n--- a/tests/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
FILES = diff_of("tests/b/test_b.py", "tests/a/tests.py", "tests/a/data.json", "tests/it's.py") + GONE


def test_django_runs_the_modules_that_its_tests_touch() -> None:
    keys = commands.of_repo("django/django", FILES, NO_WISHES)
    assert keys["framework"] == "django"
    assert "select" not in keys
    assert keys["test_cmd"] == (
        f"{ACTIVATE} && ./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 "
        "a.tests b.test_b 'it'\"'\"'s'"
    )
    assert_is_bash(keys["test_cmd"])


def test_sympy_runs_the_files_that_its_tests_touch_and_knows_them_by_name() -> None:
    keys = commands.of_repo("sympy/sympy", diff_of("sympy/core/tests/test_b.py", "sympy/a.txt"), NO_WISHES)
    assert keys == {
        "framework": "pytest",
        "test_cmd": f'{ACTIVATE} && python -m pytest sympy/core/tests/test_b.py "$@"',
        "select": "all",
        "id_template": "{name}",
    }


@pytest.mark.parametrize("repo", ["acme/ledger", "psf/requests", "Django/django", ""])
def test_every_other_repo_runs_pytest(repo: str) -> None:
    assert commands.of_repo(repo, FILES, NO_WISHES) == commands.conda_pytest(NO_WISHES)


@pytest.mark.parametrize("repo", ["django/django", "sympy/sympy", "acme/ledger"])
def test_repos_without_tests_patch_and_with_a_wish(repo: str) -> None:
    assert_is_bash(commands.of_repo(repo, None, NO_WISHES)["test_cmd"])
    wish = Wants(test_cmd="pytest -x")
    assert commands.of_repo(repo, FILES, wish) == commands.runtime([], wish)


def test_touched_files() -> None:
    assert commands.touched(FILES) == ["tests/a/data.json", "tests/a/tests.py", "tests/b/test_b.py", "tests/it's.py"]
    assert commands.touched(FILES, ".json", ".md") == ["tests/a/data.json"]
    assert commands.touched(None) == commands.touched(b"") == []


# ---- an eval script as the row's own verifier


def test_an_eval_script_is_its_own_verifier() -> None:
    found = commands.eval_verifier("echo é\r\n", "parse_log_pytest_v2", ("a", "b"))
    ((path, content, mode),) = found.files
    assert (content, mode) == ("echo é\r\n".encode(), 0o755)
    assert found.command == ("/bin/bash", "-c", commands.ONE_PIPE, path)
    assert (found.rewards, found.ids) == ((), ("a", "b"))


@pytest.mark.parametrize("parser", [None, 3, "", "django", "parse_log_jest", "def pytest(log):\n    return {}"])
def test_only_a_log_of_pytest_is_read(parser: object) -> None:
    with pytest.raises(RowError) as caught:
        commands.eval_verifier("pytest", parser, ("a",))
    assert caught.value.field == "log_parser"


def test_a_script_with_half_a_character_is_refused() -> None:
    with pytest.raises(RowError, match="half a character"):
        commands.eval_verifier("echo \ud800", "pytest", ("a",))
