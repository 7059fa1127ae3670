"""Causes: one line that is the same in every run, from messages, collection errors and pytest's refusals to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.outcomes.evidence import startup_error
from repair.outcomes.plugin_log import of_collection
from repair.text import MAX_CHARS, first_line, normalise, printable

SAME: dict[str, tuple[str, str, str]] = {  # two runs' texts, and what both become
    "addresses": ("<Foo object at 0x7f3a2c001d30>", "<Foo object at 0x55d0aa>", "<Foo object at 0x…>"),
    "upper-case addresses": ("at 0x00007FFDE0", "at 0x00007FFDE8", "at 0x…"),
    "temporary folders": (
        "/tmp/tmpa1b2/x.db is locked",
        "/tmp/tmpzzzz/y.db is locked",
        "/tmp/… is locked",
    ),
    "temporary folders in quotes": (
        "No such file: '/tmp/pytest-of-root/pytest-0/t0/a'",
        "No such file: '/tmp/pytest-of-me/pytest-41/t0/a'",
        "No such file: '/tmp/…'",
    ),
    "pytest's folders elsewhere": (
        "/scratch/pytest-of-root/pytest-3/t0",
        "/scratch/pytest-of-u-2/pytest-12/t0",
        "/scratch/pytest/t0",
    ),
    "our own folder": ("/.repair-0a1b2c3d/in/x", "/.repair-ffffffff/in/x", "/.repair/in/x"),
    "durations": ("took 1.532 s, then 3ms", "took 12 s, then 10ms", "took <duration>, then <duration>"),
    "durations in words": ("in 3 seconds", "in 1.25 seconds", "in <duration>"),
    "times of day": ("at 12:03:59.123", "at 07:00:00.001", "at <time>"),
    "dates and times": (
        "since 2024-01-31T10:00:00+00:00",
        "since 2025-12-01 09:59:59.5Z",
        "since <time>",
    ),
    "uuids": (
        "job 123e4567-e89b-12d3-a456-426614174000",
        "job 00000000-0000-4000-8000-00000000000F",
        "job <uuid>",
    ),
    "process ids and ports": (
        "pid 123 on port 8001, Thread-7",
        "pid 99 on port 9, Thread-12",
        "pid <n> on port <n>, Thread-<n>",
    ),
    "long numbers": ("row 1700000000 of 12345", "row 1800000000 of 99999", "row <n> of <n>"),
    "set order": ("{'b', 'a', 'c'} != {1, 2}", "{'c', 'b', 'a'} != {2, 1}", "{'a', 'b', 'c'} != {1, 2}"),
    "set order in a frozenset": ("frozenset({'y', 'x'})", "frozenset({'x', 'y'})", "frozenset({'x', 'y'})"),
    "set order across lines": ("{'b',\n 'a'}", "{'a',\n 'b'}", "{'a', 'b'}"),
    "terminal colours": ("\x1b[31mred\x1b[0m", "\x1b[1;38;5;9mred\x1b[m", "red"),
    "white space": ("a  b\n\tc ", " a b\r\nc", "a b c"),
}


@pytest.mark.parametrize(("one", "other", "both"), SAME.values(), ids=SAME)
def test_what_differs_from_run_to_run_is_replaced(one: str, other: str, both: str) -> None:
    assert normalise(one) == normalise(other) == both


KEPT = {
    "a missing module": "ModuleNotFoundError: No module named 'pretend'",
    "versions": "needs python>=3.12, numpy 1.26.4",
    "a line of a file": "KeyError at src/pkg/mod.py:1234",
    "a small number": "expected 404, got 500",
    "a dict": "{'b': 1, 'a': 2}",
    "an empty set": "set() != {}",
    "a path that is not temporary": "/usr/lib/python3/x.py: denied",
    "a word that begins as a unit": "3 sections, 5 minima",
    "a short hexadecimal": "exit 0x1",
    "letters of other scripts": "naïve 中文 ещё",
    "a hash": "commit 1234567890abcdef is gone",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_means_something_is_kept(text: str) -> None:
    assert normalise(text) == text


def test_long_text_is_cut_with_a_sign() -> None:
    assert normalise("x" * MAX_CHARS) == "x" * MAX_CHARS
    assert normalise("x" * (MAX_CHARS + 1)) == "x" * (MAX_CHARS - 1) + "…"
    assert len(normalise("\u202e" * MAX_CHARS)) == MAX_CHARS


@pytest.mark.parametrize(
    "text",
    ["{" + "," * 3_000_000, "{a," * 1_000_000, "x" * (8 << 20), "\x1b[" * 1_000_000, "1e" * 1_000_000],
    ids=["commas", "braces", "letters", "half escapes", "half numbers"],
)
def test_megabytes_from_a_stranger_end(text: str) -> None:
    """Where the work grows with the square of the length, this runs into the command's own limit of a minute."""
    program = "import sys; from repair.text import normalise; print(len(normalise(sys.stdin.read())))"
    done = subprocess.run(
        [sys.executable, "-c", program], input=text.encode(), capture_output=True, check=True, timeout=60
    )
    assert int(done.stdout) <= MAX_CHARS


SPELT = {
    "an escape": ("a\x1b[31mb", "a\\x1b[31mb"),
    "a bidirectional override": ("a\u202eb", "a\\u202eb"),
    "a zero-width space": ("a\u200bb", "a\\u200bb"),
    "a line separator": ("a\u2028b", "a\\u2028b"),
    "a line break": ("a\nb\rc", "a\\nb\\rc"),
    "a NUL": ("a\x00b", "a\\x00b"),
    "a lone surrogate": ("a\ud83db", "a\\ud83db"),
    "a private character": ("a\ue000b", "a\\ue000b"),
    "a C1 control": ("a\x9bb", "a\\x9bb"),
    "nothing to spell": ("naïve – 中", "naïve – 中"),
}


@pytest.mark.parametrize(("text", "spelt"), SPELT.values(), ids=SPELT)
def test_printable(text: str, spelt: str) -> None:
    assert printable(text) == spelt


@given(st.text())
def test_normalise_gives_one_short_safe_line_and_is_stable(text: str) -> None:
    line = normalise(text)
    assert len(line) <= MAX_CHARS
    assert len(line.splitlines()) <= 1
    assert printable(line) == line
    assert normalise(line) == line or "\\" in line or line.endswith("…")
    line.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [("\n \n  first \nsecond", "first"), ("", ""), (" \n\t", ""), ("one", "one"), ("\r\nafter", "after")],
)
def test_first_line(text: str, line: str) -> None:
    assert first_line(text) == line


# ---- collection errors

COLLECTION: dict[str, tuple[str, str]] = {
    "an import error with its hint": (
        (
            "ImportError while importing test module '/repo/test_m.py'.\n"
            "Hint: make sure your test modules/packages have valid Python names.\n"
            "Traceback:\ntest_m.py:1: in <module>\n    import nowhere\n"
            "E   ModuleNotFoundError: No module named 'nowhere'\n"
        ),
        "test_m.py: ModuleNotFoundError: No module named 'nowhere'",
    ),
    "of a chain, the last": (
        (
            "a.py:1: in <module>\n    import b\nE   KeyError: 'b'\n\n"
            "During handling of the above exception, another exception occurred:\n"
            "test_m.py:2: in <module>\n    raise RuntimeError('x') from None\nE   RuntimeError: needs b\n"
        ),
        "test_m.py: RuntimeError: needs b",
    ),
    "a syntax error, whose code lines stand below E too": (
        (
            '/py/python.py:493: in importtestmodule\nE     File "/repo/test_m.py", line 1\n'
            "E       def f(:\nE             ^\nE   SyntaxError: invalid syntax\n"
        ),
        "test_m.py: SyntaxError: invalid syntax",
    ),
    "a message of several lines": (
        "test_m.py:1: in <module>\nE   ValueError: first: of two\nE   second of two\n",
        "test_m.py: ValueError: first: of two",
    ),
    "a type without a message": ("E   NotImplementedError\n", "test_m.py: NotImplementedError"),
    "a type of a package": ("E   pkg.errors.Broken: no\n", "test_m.py: pkg.errors.Broken: no"),
    "a fixture's own words": (
        "In test_f: function uses no argument 'x'\n",
        "test_m.py: In test_f: function uses no argument 'x'",
    ),
    "nothing at all": ("", "test_m.py:"),
}


@pytest.mark.parametrize(("text", "cause"), COLLECTION.values(), ids=COLLECTION)
def test_of_collection(text: str, cause: str) -> None:
    assert of_collection("test_m.py", text) == cause


def test_of_collection_without_a_place() -> None:
    assert of_collection("", "E   OSError: no\n") == "OSError: no"


# ---- pytest's refusals to start, from pytest itself


def refuse(folder: Path, *arguments: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text)
    (folder / "test_a.py").write_text("def test_a():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "test_a.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def test_a_root_conftest_that_does_not_import(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, conftest_dot_py="import nowhere\n")
    assert status == 4
    cause = startup_error(log, str(tmp_path), by_usage=True)
    assert cause == "conftest.py: ModuleNotFoundError: No module named 'nowhere'"


def test_a_root_conftest_with_a_syntax_error(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, conftest_dot_py="def f(:\n")
    assert status == 4
    assert (startup_error(log, str(tmp_path), by_usage=True) or "").startswith("conftest.py: SyntaxError: ")


def test_an_option_that_no_plugin_knows(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, pytest_dot_ini="[pytest]\naddopts = --no-such-option=pkg --nor-this\n")
    assert status == 4
    cause = startup_error(log, str(tmp_path), by_usage=True)
    assert cause is not None
    assert cause.endswith("error: unrecognized arguments: --no-such-option=pkg --nor-this")


def test_a_plugin_that_does_not_import(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, "-p", "broken_plugin", broken_plugin_dot_py="import nowhere\n")
    assert status not in (0, 4)
    cause = startup_error(log, str(tmp_path), by_usage=False)
    assert cause is not None
    assert "broken_plugin" in cause


def test_a_plugin_that_is_absent(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, pytest_dot_ini="[pytest]\naddopts = -p absent_plugin\n")
    cause = startup_error(log, str(tmp_path), by_usage=status == 4)
    assert cause is not None
    assert "absent_plugin" in cause


def test_a_plugin_that_the_repo_requires(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, pytest_dot_ini="[pytest]\nrequired_plugins = pytest-absent\n")
    assert status == 4
    assert "pytest-absent" in (startup_error(log, str(tmp_path), by_usage=True) or "")


def test_an_unknown_ini_key_under_strict_config(tmp_path: Path) -> None:
    status, log = refuse(tmp_path, "--strict-config", pytest_dot_ini="[pytest]\nno_such_key = 1\n")
    assert status == 4
    assert "no_such_key" in (startup_error(log, str(tmp_path), by_usage=True) or "")


USAGE_LOGS: dict[str, tuple[str, str]] = {
    "pytest 8": (
        (
            "ERROR: usage: __main__.py [options] [file_or_dir] [file_or_dir] [...]\n"
            "__main__.py: error: unrecognized arguments: -n4\n  inifile: /testbed/pytest.ini\n  rootdir: /testbed\n"
        ),
        "__main__.py: error: unrecognized arguments: -n4",
    ),
    "pytest 9": (
        (
            "ERROR: usage: python -m pytest [options] [file_or_dir] [file_or_dir] [...]\n"
            "python -m pytest: error: unrecognized arguments: -n4\n  inifile: /testbed/tox.ini\n  rootdir: /testbed\n"
        ),
        "python -m pytest: error: unrecognized arguments: -n4",
    ),
    "pytest 3": (
        (
            "usage: pytest.py [options] [file_or_dir] [file_or_dir] [...]\n"
            "pytest.py: error: unrecognized arguments: -n4\n  inifile: /testbed/setup.cfg\n  rootdir: /testbed\n"
        ),
        "pytest.py: error: unrecognized arguments: -n4",
    ),
    "after the repo's own output": (
        "loading fixtures\nERROR: file or directory not found: nowhere.py\n\n",
        "ERROR: file or directory not found: nowhere.py",
    ),
    "a conftest in the working directory": (
        (
            "ImportError while loading conftest '/testbed/tests/conftest.py'.\ntests/conftest.py:1: in <module>\n"
            "    import pretend\nE   ModuleNotFoundError: No module named 'pretend'\n"
        ),
        "tests/conftest.py: ModuleNotFoundError: No module named 'pretend'",
    ),
}


@pytest.mark.parametrize(("log", "cause"), USAGE_LOGS.values(), ids=USAGE_LOGS)
def test_startup_error_by_usage(log: str, cause: str) -> None:
    assert startup_error(log, "/testbed", by_usage=True) == cause


@pytest.mark.parametrize("log", ["\n", "fetching\n", "wget: unable to resolve host address\n"])
def test_the_status_of_a_usage_error_alone_is_no_answer_of_pytest(log: str) -> None:
    assert startup_error(log, "/testbed", by_usage=True) is None


NO_ANSWER = {
    "nothing printed": "",
    "no pytest in the image": "/usr/bin/python3: No module named pytest\n",
    "no python in the image": "/bin/sh: 1: python3: not found\n",
    "a traceback of the program": 'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n',
    "a kill": "Killed\n",
    "a test that quotes pytest": "ERROR: usage: pytest [options]\n",
}


@pytest.mark.parametrize("log", NO_ANSWER.values(), ids=NO_ANSWER)
def test_what_is_no_answer_of_pytest_is_no_evidence(log: str) -> None:
    assert startup_error(log, "/testbed", by_usage=False) is None
