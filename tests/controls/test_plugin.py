"""The pytest plugin by itself, in this interpreter's pytest and in the older ones that REPAIR_OLD_PYTESTS names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair.controls import plan, runner
from repair.errors import NoEvidence
from repair.model import Outcome, Select
from repair.outcomes import evidence
from tests.support import hostpytest
from tests.support.hostpytest import PYTHONS, installed, numbers
from tests.support.paths import TESTS

DATA = TESTS / "data" / "pytest_cases"

TWO = "def test_a():\n    pass\n\n\ndef test_b():\n    assert 0\n"
A, B = "test_t.py::test_a", "test_t.py::test_b"


def own_cases() -> list[Any]:
    """Our own cases for each interpreter in which they say something."""
    found = []
    for python in PYTHONS:
        version, has = installed(python)
        name = "here" if python == sys.executable else ".".join(map(str, version))
        for file in sorted(DATA.glob("*/case.json")):
            case = json.loads(file.read_text())
            versions = case.get("versions", {})
            needs = {*case.get("needs", ()), "python" + versions.get("python", "")} - {"python"}
            if needs <= has and version >= numbers(versions.get("at_least", "0")):
                found.append(pytest.param(python, file.parent, case, id=f"{file.parent.name}-{name}"))
    return found


@pytest.mark.parametrize(("python", "folder", "case"), own_cases())
def test_case(python: str, folder: Path, case: dict[str, Any], tmp_path: Path) -> None:
    version, plugins = installed(python)
    expected = dict(case["ids"])
    for below, outcomes in case.get("older", {}).items():
        expected |= outcomes if version < numbers(below) else {}
    work = tmp_path / "work"
    shutil.copytree(folder / "input", work)
    order = ["-p", "no:randomly"] if "randomly" in plugins - set(case.get("needs", ())) else []
    arguments = (*order, *case["args"])
    if "infrastructure" in case:
        with pytest.raises(NoEvidence) as caught:
            hostpytest.observe(work, list(expected), *arguments, python=python)
        assert case["infrastructure"] in caught.value.message
        return
    run = hostpytest.observe(work, list(expected), *arguments, python=python)
    assert {test: str(seen.outcome) for test, seen in run.observed.items()} == expected
    assert sorted(run.deadly) == sorted(case.get("deadly", ()))
    for test, seen in run.observed.items():
        assert bool(seen.cause) == (seen.outcome not in (Outcome.PASSED, Outcome.XPASSED)), test


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


# ---- what it records


def test_the_plugin_runs_on_every_python_it_may_meet() -> None:
    source = Path(runner.__file__).parent / "inside" / "repair_pytest.py"
    assert source.read_bytes() == plan.inside("repair_pytest.py")
    vermin = Path(sys.executable).with_name("vermin")
    command = [str(vermin), "--no-tips", "--violations", "-t=2.7", "-t=3.4-", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Minimum required versions: 2.7, 3." in done.stdout


def test_the_record_is_ascii_json_lines_and_the_report_names_every_id(work: Path, python: str) -> None:
    write(
        work,
        test_t="# -*- coding: utf-8 -*-\nimport pytest\n\n\ndef test_a():\n    pytest.skip(u'n\u00f3n \u202e')\n\n\n"
        + TWO[24:],
    )
    run = hostpytest.run(work, [A, B], python=python)
    raw = (run.attempt.directory / "record-main.jsonl").read_bytes()
    assert raw.isascii()
    kinds = [json.loads(line)[0] for line in raw.splitlines()]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert kinds.index("chosen") > max(n for n, kind in enumerate(kinds) if kind == "item")
    assert {test: str(seen) for test, seen in run.reported.items()} == {A: "skipped", B: "failed"}
    assert run.observed[A].cause == "nón \\u202e"
    assert run.observed[B].cause.startswith("AssertionError at test_t.py:")


def test_causes_name_the_type_and_the_repos_line_and_no_message(work: Path, python: str) -> None:
    write(
        work,
        lib="import json\n\n\nclass Odd(Exception):\n    pass\n\n\ndef fail():\n    raise Odd('secret 0x7f00aa')\n",
        test_t="import json\nimport lib\n\n\ndef test_a():\n    json.loads('{')\n\n\ndef test_b():\n    lib.fail()\n",
    )
    run = hostpytest.run(work, [A, B], python=python)
    assert run.observed[A].cause.endswith(" at test_t.py:6")
    assert run.observed[B].cause == "lib.Odd at lib.py:9"


def test_only_listed_tests_run_or_their_whole_files(work: Path, python: str) -> None:
    write(work, test_t=TWO, test_u=TWO)
    assert set(hostpytest.run(work, [A], python=python).record.outcomes) == {A}
    whole = hostpytest.run(work, [A], python=python, select=Select.FILES)
    assert set(whole.record.outcomes) == {A, B}
    assert whole.outcomes == {A: "passed"}


def test_all_runs_whatever_the_command_runs_by_itself(work: Path, python: str) -> None:
    """The ids are no node ids there, so that none of them says which files to name."""
    write(work, test_t=TWO, test_u=TWO, other=TWO)
    ids = ["test_a", "t.test_b", "nowhere.py::test_a"]
    run = hostpytest.run(work, ids, python=python, select=Select.ALL)
    assert set(run.record.outcomes) == {A, B, "test_u.py::test_a", "test_u.py::test_b"}
    assert run.status == 1
    assert set(run.outcomes.values()) == {"missing"}
    assert not run.record.nofile
    chosen = hostpytest.run(work, ids, "-k", "test_a", "test_t.py", python=python, select=Select.ALL)
    assert set(chosen.record.outcomes) == {A}


def test_all_finds_ids_by_a_template(work: Path, python: str) -> None:
    """A bare name that two files have is the worst of both."""
    passing = "import pytest\n\n\n@pytest.mark.parametrize('x', [1, 2])\ndef test_p(x):\n    pass\n\n\n"
    passing += "class TestK(object):\n    def test_b(self):\n        pass\n"
    write(work, test_t=TWO, test_u=passing)
    ids = ["test_a", "test_b", "test_p[2]", "test_p", "test_gone"]
    ran = hostpytest.run(work, ids, python=python, select=Select.ALL)
    named = replace(ran.control, task=replace(ran.control.task, id_template=("{name}",)))
    run = replace(ran, control=named).judged()
    assert {test: str(seen.outcome) for test, seen in run.observed.items()} == dict(
        zip(ids, ["passed", "failed", "passed", "missing", "missing"], strict=True)
    )
    assert {test: str(seen) for test, seen in run.observed["test_b"].members.items()} == {
        B: "failed",
        "test_u.py::TestK::test_b": "passed",
    }
    assert run.template == ("{name}",)
    tests = replace(named, task=replace(named.task, id_template=("{test}",)), ids=("TestK.test_b", "test_b"))
    assert replace(ran, control=tests).outcomes == {"TestK.test_b": "passed", "test_b": "failed"}


def test_a_test_that_is_set_aside_does_not_run_in_its_group(work: Path, python: str) -> None:
    write(work, test_t=TWO)
    run = hostpytest.run(work, ["test_t.py"], python=python, skip=[B])
    assert set(run.record.outcomes) == {A}
    assert run.judged((B,)).observed["test_t.py"].outcome is Outcome.ERROR


# ---- runs that end inside a test

ENDINGS = {
    "an early exit": "os._exit(0)",
    "a signal": "os.kill(os.getpid(), 9)",
    "Ctrl-C": "raise KeyboardInterrupt",
    "pytest.exit": "pytest.exit('done')",
}


@pytest.mark.parametrize("body", ENDINGS.values(), ids=ENDINGS)
def test_a_run_that_ends_inside_a_test_leaves_it_in_flight(work: Path, python: str, body: str) -> None:
    write(work, test_t=f"import os\n\nimport pytest\n\n\ndef test_a():\n    pass\n\n\ndef test_b():\n    {body}\n")
    run = hostpytest.run(work, [A, B], python=python)
    assert run.record.open == (B,)
    assert run.record.last == B
    assert not run.record.damaged
    assert run.by_record == {A: "passed", B: "missing"}


def test_sys_exit_in_a_test_is_a_failure_of_that_test(work: Path, python: str) -> None:
    write(work, test_t="import sys\n\n\ndef test_a():\n    sys.exit(0)\n\n\ndef test_b():\n    pass\n")
    assert hostpytest.run(work, [A, B], python=python).outcomes == {A: "failed", B: "passed"}


def test_a_child_that_goes_on_writes_into_neither_record_nor_verdict(work: Path, python: str) -> None:
    write(work, test_t=f"import os\n\n\ndef test_a():\n    os.fork()\n\n\n{TWO[24:]}")
    run = hostpytest.run(work, [A, B], python=python)
    assert run.outcomes == {A: "passed", B: "failed"}
    assert run.record.started == 2


# ---- what somebody else does to its record

RECORD = "'../work.repair/out/record-main.jsonl'"
TAMPERS = {
    "adds a line": f"open({RECORD}, 'a').write('[\"done\", \"x\"]\\n')",
    "cuts it": f"open({RECORD}, 'w').close()",
    "removes it": f"os.remove({RECORD})",
    "replaces it": f"shutil.copy({RECORD}, 'copy'); os.rename('copy', {RECORD})",
}


@pytest.mark.parametrize("body", TAMPERS.values(), ids=TAMPERS)
def test_a_record_that_somebody_else_changes_is_damaged(work: Path, python: str, body: str) -> None:
    write(work, test_t=f"import os\nimport shutil\n\n\ndef test_a():\n    {body}\n\n\n{TWO[24:]}")
    run = hostpytest.run(work, [A, B], python=python)
    assert "changed by somebody else" in run.record.damaged
    with pytest.raises(NoEvidence, match="the plugin's record is damaged"):
        run.judged()


def test_a_record_whose_descriptor_is_lost_goes_on(work: Path, python: str) -> None:
    body = "\n    ".join(
        (
            "for fd in range(3, 64):",
            "    try:",
            "        if 'record-' in os.readlink('/proc/self/fd/%d' % fd): os.close(fd)",
            "    except OSError: pass",
        )
    )
    write(work, test_t=f"import os\n\n\ndef test_a():\n    {body}\n\n\n{TWO[24:]}")
    run = hostpytest.run(work, [A, B], python=python)
    assert run.outcomes == {A: "passed", B: "failed"}


# ---- whatever surrounds it

SURROUNDINGS: dict[str, dict[str, str]] = {
    "options in the environment": {"PYTEST_ADDOPTS": "-x --maxfail=1 -p no:junitxml"},
    "no plugins by entry point": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    "the C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "output that takes ASCII alone": {"PYTHONIOENCODING": "ascii:strict"},
    "no assertions, no docstrings": {"PYTHONOPTIMIZE": "2"},
    "a worker's variable from outside": {"PYTEST_XDIST_WORKER": "gw7"},
    "another hash seed": {"PYTHONHASHSEED": "77"},
    "warnings as errors": {"PYTEST_ADDOPTS": "-W error"},
}


@pytest.mark.parametrize("env", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_surroundings_change_nothing(work: Path, python: str, env: dict[str, str]) -> None:
    write(work, test_t=TWO.replace("assert 0", "raise ValueError('\\u00e9')"))
    run = hostpytest.run(work, [B, A, "test_t.py::test_gone"], python=python, env=env)
    assert run.outcomes == {A: "passed", B: "failed", "test_t.py::test_gone": "missing"}


def test_warnings_as_errors_from_the_first_line_on(work: Path) -> None:
    (work / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\naddopts = --strict-markers --strict-config\n")
    write(work, test_t=TWO)
    assert hostpytest.run(work, [A, B], interpreter_options=["-W", "error"]).outcomes == {A: "passed", B: "failed"}


def test_an_interpreter_that_cannot_see_the_plugin_is_no_evidence(work: Path) -> None:
    write(work, test_t=TWO)
    with pytest.raises(NoEvidence, match="repair's own arguments"):
        hostpytest.run(work, [A], interpreter_options=["-I"]).judged()


def test_a_report_that_was_edited_contradicts_the_record(work: Path, python: str) -> None:
    write(work, test_t=TWO)
    run = hostpytest.run(work, [A, B], python=python)
    report = run.attempt.directory / "report.xml"
    report.write_bytes(report.read_bytes().replace(b"<failure", b"<system-out").replace(b"</failure", b"</system-out"))
    with pytest.raises(NoEvidence, match=r"record says failed of test_t\.py::test_b and the report passed"):
        run.judged()


def test_a_record_that_was_edited_contradicts_the_report(work: Path, python: str) -> None:
    write(work, test_t=TWO)
    run = hostpytest.run(work, [A, B], python=python)
    record = run.attempt.directory / "record-main.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"call", "failed"', b'"call", "passed"'))
    with pytest.raises(NoEvidence, match=r"record says passed of test_t\.py::test_b and the report failed"):
        hostpytest.HostRun(run.status, "", evidence.read_record(run.attempt), run.control, run.attempt).judged()


def test_names_that_are_not_ascii(work: Path) -> None:
    (work / "tést_ü.py").write_text("def test_é():\n    pass\n\n\ndef test_a():\n    assert 0\n", "utf-8")
    ids = ["tést_ü.py::test_é", "tést_ü.py::test_a", "tést_ü.py::test_ö"]
    for env in ({}, {"LC_ALL": "C.UTF-8"}):
        assert list(hostpytest.run(work, ids, env=env).outcomes.values()) == ["passed", "failed", "missing"]


def test_thousands_of_ids_are_selected_exactly(work: Path, python: str) -> None:
    write(
        work, test_t="import pytest\n\n\n@pytest.mark.parametrize('n', range(3000))\ndef test_a(n):\n    assert n % 3\n"
    )
    ids = [f"{A}[{n}]" for n in range(0, 3000, 2)]
    run = hostpytest.run(work, ids, "-q", python=python)
    assert run.outcomes == {
        test: "passed" if n % 3 else "failed" for test, n in zip(ids, range(0, 3000, 2), strict=True)
    }
    assert run.record.started == len(ids)
