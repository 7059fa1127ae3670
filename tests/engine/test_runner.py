"""pytest in a real container: what ends a run or blanks it, and what the container gives and keeps from the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from repair.errors import ContainerKilled, InfrastructureError, MemoryKill, NoEvidence, RepairError, TimeoutOutsideTest
from repair.model import Run, Select
from tests.engine.lab import Lab, outcomes, python, side_by_side

pytestmark = pytest.mark.engine

FOUR = (
    "def test_a():\n    pass\n\n\ndef test_b():\n    {}\n\n\ndef test_c():\n    assert 0\n\n\ndef test_d():\n    pass\n"
)
WORST = {"a": "passed", "b": "failed", "c": "failed", "d": "passed"}
SET_ASIDE = {"a": "passed", "b": "error", "c": "failed", "d": "passed"}


def ids(*names: str, file: str = "tests/test_t.py") -> list[str]:
    return [f"{file}::test_{name}" for name in names]


def ini(addopts: str) -> dict[str, str]:
    return {"pytest.ini": f"[pytest]\naddopts = {addopts}\n"}


def four(body: str = "assert 0", **extra: str) -> dict[str, str]:
    return {"tests/test_t.py": FOUR.format(body), **extra}


def at_exit(code: str) -> dict[str, str]:
    """A conftest that does something to the report when pytest has written it."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return {"conftest.py": f"import atexit, glob, os, sys\n\n\n@atexit.register\ndef last():\n{lines}"}


# name: (files, keys of the task, outcomes of test_a to test_d or the words of the infrastructure failure)
Stated = dict[str, str] | tuple[type[InfrastructureError], str]
RUNS: dict[str, tuple[dict[str, str], dict[str, Any], Stated]] = {
    "addopts: -x and --maxfail": ({**four(), **ini("-x --maxfail=1")}, {}, WORST),
    "addopts: warnings are errors": ({**four(), **ini("-W error --strict-markers")}, {}, WORST),
    "addopts: xdist, coverage, no report": (
        {**four(), **ini("-x -n auto --cov -p no:junitxml")},
        {"test_cmd": python("p84x")},
        WORST,
    ),
    "addopts: the random order that is installed": (four(), {"test_cmd": python("p92x")}, WORST),
    "addopts: stepwise and its skip": ({**four(), **ini("--sw --sw-skip")}, {}, WORST),
    "options in the environment": (four(), {"env": {"PYTEST_ADDOPTS": "-x -k test_a --co"}}, {"a": "passed"}),
    "a test ends the process": (four("import os; os._exit(0)"), {}, SET_ASIDE),
    "a test kills its process": (four("import os; os.kill(os.getpid(), 9)"), {}, SET_ASIDE),
    "a test kills its process group": (four("import os; os.killpg(0, 9)"), {}, SET_ASIDE),
    "a test kills all it can": (four("import os; os.kill(-1, 9)"), {}, (ContainerKilled, "killed from outside")),
    "a test breaks the interpreter": (four("import ctypes; ctypes.string_at(0)"), {}, SET_ASIDE),
    "a test exits pytest": (four("import pytest; pytest.exit('enough')"), {}, SET_ASIDE),
    "a test is interrupted": (four("raise KeyboardInterrupt"), {}, SET_ASIDE),
    "a test hangs": (four("import time; time.sleep(600)"), {"timeout": 30.0}, SET_ASIDE),
    "a test hangs and listens to no signal": (
        four("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"),
        {"timeout": 30.0},
        SET_ASIDE,
    ),
    "four tests end the process": (
        {
            "tests/test_t.py": "import os, pytest\n\n\n"
            "@pytest.mark.parametrize('n', range(4))\ndef test_a(n):\n    os._exit(n)\n"
        },
        {},
        (NoEvidence, "more than 3 tests end the run: tests/test_t.py::test_a[0]"),
    ),
    "a hang while a module is imported": (
        {"tests/test_t.py": "import time\n\ntime.sleep(600)\n"},
        {"timeout": 8.0},
        (TimeoutOutsideTest, "outside of any test, before any test"),
    ),
    "a hang when the session ends": (
        four(**{"conftest.py": "import time\n\n\ndef pytest_sessionfinish():\n    time.sleep(600)\n"}),
        {"timeout": 30.0},
        (TimeoutOutsideTest, "outside of any test, after tests/test_t.py::test_d"),
    ),
    "a thread that outlives the session": (
        {**four(), **at_exit("import time; time.sleep(600)")},
        {"timeout": 8.0},
        (TimeoutOutsideTest, "outside of any test"),
    ),
    "the report is gone": (
        {**four(), **at_exit("os.remove(glob.glob('/.repair-*/out/report.xml')[0])")},
        {},
        (NoEvidence, "no report was written"),
    ),
    "half a report": (
        {**four(), **at_exit("file = glob.glob('/.repair-*/out/report.xml')[0]\nos.truncate(file, 400)")},
        {},
        (NoEvidence, "truncated"),
    ),
    "the report is another's": (
        {**four(), **at_exit("open(glob.glob('/.repair-*/out/report.xml')[0], 'w').write('<testsuite/>')")},
        {},
        (NoEvidence, "record says passed of tests/test_t.py::test_a and the report missing"),
    ),
    "the report says that all passed": (
        {
            **four(),
            **at_exit(
                "import re\nfile = glob.glob('/.repair-*/out/report.xml')[0]\ntext = open(file).read()\n"
                "open(file, 'w').write(re.sub('<failure.*?</failure>', '', text, flags=re.S))"
            ),
        },
        {},
        (NoEvidence, "record says failed of tests/test_t.py::test_b and the report passed"),
    ),
    "the record is cut": (
        four("import glob, os; os.truncate(glob.glob('/.repair-*/out/record-main.jsonl')[0], 0); assert 0"),
        {},
        (NoEvidence, ""),
    ),
    "the record is made up": (
        four("import glob; open(glob.glob('/.repair-*/out/record-main.jsonl')[0], 'a').write('passed\\n'); assert 0"),
        {},
        (NoEvidence, "record is damaged"),
    ),
    "a folder among the reports": (
        four("import glob, os; os.mkdir(glob.glob('/.repair-*/out')[0] + '/more')"),
        {},
        (NoEvidence, "holds out/more, which is no report"),
    ),
    "a link among the reports": (
        four("import glob, os; os.symlink('/etc/passwd', glob.glob('/.repair-*/out')[0] + '/log')"),
        {},
        (NoEvidence, "holds out/log, which is no report"),
    ),
    "a text that hides the status": (
        four(),
        {"test_cmd": 'python3 -m pytest "$@" || true'},
        (NoEvidence, "exit status 0 although tests failed"),
    ),
    "a text in which our arguments go before its end": (
        four(),
        {"test_cmd": "python3 -m pytest || true"},
        (NoEvidence, "exit status 0 although tests failed"),
    ),
    "a text with a pipe": (four(), {"test_cmd": 'python3 -m pytest "$@" | cat'}, (NoEvidence, "exit status 0")),
    "a text with a pipe that keeps the status": (
        four(),
        {"test_cmd": 'set -o pipefail\nexport N=(1 2)\n[[ ${N[1]} == 2 ]] && python3 -m pytest "$@" | cat'},
        WORST,
    ),
    "a text without a place for our arguments": (four(), {"test_cmd": "cd /testbed && python3 -m pytest -q\n"}, WORST),
    "a text for a shell that is no bash": (
        four(),
        {"test_cmd": "python3 -m pytest", "image": "repair-test/odd-nobash:1"},
        WORST,
    ),
    "an interpreter that sees no plugin of ours": (
        four(),
        {"test_cmd": ["python3", "-I", "-m", "pytest"]},
        (NoEvidence, "repair's own arguments"),
    ),
    "no pytest": (four(), {"test_cmd": ["/usr/bin/python3", "-m", "pytest"]}, (NoEvidence, "No module named pytest")),
    "no such command": (four(), {"test_cmd": ["py-test"]}, (NoEvidence, "(status 127)")),
    "another program ends with the status of pytest's usage errors": (
        four(),
        {"test_cmd": "echo fetching; sh -c 'exit 4' || exit $?; python3 -m pytest"},
        (NoEvidence, "no report and no test to blame (status 4): fetching"),
    ),
    "pytest breaks": (
        four(**{"conftest.py": "def pytest_collection_modifyitems():\n    raise ValueError('broken hook')\n"}),
        {},
        (NoEvidence, "INTERNALERROR: ValueError: broken hook"),
    ),
    "memory runs out": (four("x = bytearray(1 << 30)"), {"memory": 200 << 20}, (MemoryKill, "limit of 200 MiB")),
    "memory runs out in a child": (
        four("import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(1 << 30)'])"),
        {"memory": 200 << 20},
        (MemoryKill, "limit of 200 MiB"),
    ),
    "pytest has an id twice": ({**four(), **ini("--keep-duplicates")}, {}, WORST),
    "output that is no text, and much of it": (
        four("import os; os.write(2, bytes(range(256)) * (1 << 16)); assert 0"),
        {"test_cmd": python("p84", "-s")},
        WORST,
    ),
}


@pytest.fixture(scope="module")
def found(lab: Lab) -> dict[str, Run | RepairError]:
    calls: dict[str, Callable[[], Run]] = {}
    for name, (files, keys, _) in RUNS.items():
        calls[name] = partial(lab.observe, lab.task(ids("a", "b", "c", "d"), files, **keys))
    return side_by_side(calls)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_what_it_is(found: dict[str, Run | RepairError], name: str) -> None:
    stated, run = RUNS[name][2], found[name]
    if isinstance(stated, tuple):
        assert type(run) is stated[0], run
        assert stated[1] in str(run)
        return
    assert isinstance(run, Run), run
    missing = dict.fromkeys(["a", "b", "c", "d"], "missing")
    assert outcomes(run) == {f"tests/test_t.py::test_{key}": value for key, value in (missing | stated).items()}
    aside = stated is SET_ASIDE
    assert run.deadly == (("tests/test_t.py::test_b",) if aside else ())
    assert not aside or run.observed["tests/test_t.py::test_b"].cause == "the run ended twice inside this test"


# name: (files, keys of the task, cause)
STARTS: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "a root conftest that does not import": (
        four(**{"conftest.py": "import nowhere\n"}),
        {},
        "conftest.py: ModuleNotFoundError: No module named 'nowhere'",
    ),
    "an option that no plugin knows": (
        {**four(), **ini("--cov --numprocesses=2")},
        {},
        "unrecognized arguments: --cov --numprocesses=2",
    ),
    "a plugin that does not import": (
        {**four(), **ini("-p nowhere")},
        {},
        "Error importing plugin \"nowhere\": No module named 'nowhere'",
    ),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_pytest_that_cannot_start_makes_all_missing(lab: Lab, name: str) -> None:
    files, keys, cause = STARTS[name]
    run = lab.observe(lab.task(ids("a", "b"), files, **keys))
    assert set(outcomes(run).values()) == {"missing"}
    (said,) = {seen.cause for seen in run.observed.values()}
    assert cause in said
    assert run.flags == (f"pytest did not start: {said}",)


def test_a_coverage_floor_is_flagged(lab: Lab) -> None:
    files = {"tests/test_t.py": "import calc\n\n\ndef test_a():\n    pass\n", **ini("--cov --cov-fail-under=100")}
    run = lab.observe(lab.task(ids("a"), files, test_cmd=python("p84x")))
    assert outcomes(run) == {"tests/test_t.py::test_a": "passed"}
    assert run.flags == ("exit status 1 although no test failed",)


INSIDE = """\
import os
import socket
from pathlib import Path

import pytest

STATUS = dict(line.split(":\\t", 1) for line in Path("/proc/self/status").read_text().splitlines())


def test_no_network():
    assert os.listdir("/sys/class/net") == ["lo"]
    with pytest.raises(OSError):
        socket.create_connection(("192.0.2.1", 80), timeout=2)


def test_no_new_privileges():
    assert STATUS["NoNewPrivs"] == "1"
    assert int(STATUS["CapEff"], 16) == 0


def test_user():
    assert (os.getuid(), os.getgid()) == (1234, 100)


def test_workdir():
    assert os.getcwd() == "/tmp"


def test_env():
    assert os.environ["GREETING"] == 'say "$HOME" `id`\\nand more'
    assert os.environ["PYTHONPATH"].split(":")[1:] == ["/a b", "/c"]


def test_an_init_process():
    assert Path("/proc/1/comm").read_text().strip() != "python"


def test_limits():
    found = [Path(f"/sys/fs/cgroup/{name}") for name in ("memory.max", "memory/memory.limit_in_bytes")]
    assert [int(file.read_text()) for file in found if file.exists()] == [300 << 20]
"""


def test_the_container_gives_what_the_task_says_and_no_more(lab: Lab) -> None:
    names = [line[9:-3] for line in INSIDE.splitlines() if line.startswith("def ")]
    env = {"GREETING": 'say "$HOME" `id`\nand more', "PYTHONPATH": "/a b:/c"}
    files = {"test_inside.py": INSIDE}
    keys: dict[str, Any] = {"workdir": "/tmp", "user": "1234:100", "env": env, "memory": 300 << 20}
    run = lab.observe(lab.task(ids(*names, file="test_inside.py"), files, **keys))
    causes = {test: seen.cause for test, seen in run.observed.items() if seen.outcome != "passed"}
    assert causes == {}
    assert len(run.observed) == 7


@pytest.mark.parametrize(("select", "outcome"), [(Select.IDS, "failed"), (Select.FILES, "passed")])
def test_select_runs_the_ids_or_their_whole_files(lab: Lab, select: Select, outcome: str) -> None:
    text = "SEEN = []\n\n\ndef test_first():\n    SEEN.append(1)\n\n\ndef test_second():\n    assert SEEN\n"
    run = lab.observe(lab.task(ids("second"), {"tests/test_t.py": text}, select=select))
    assert outcomes(run) == {"tests/test_t.py::test_second": outcome}


def test_twenty_thousand_ids_pass_through(lab: Lab) -> None:
    name = "x" * 100
    text = (
        f"import pytest\n\n\n@pytest.mark.parametrize('n', ['{name}%d' % n for n in range(20010)])\n"
        "def test_n(n):\n    assert not n.endswith('x7')\n"
    )
    listed = [f"tests/test_t.py::test_n[{name}{n}]" for n in range(20000)] + ids("nothing")
    run = lab.observe(
        lab.task([*listed, f"tests/test_t.py::test_n[{name}7]"], {"tests/test_t.py": text}, timeout=300.0)
    )
    found = list(outcomes(run).values())
    assert {value: found.count(value) for value in set(found)} == {"passed": 19999, "failed": 1, "missing": 1}
