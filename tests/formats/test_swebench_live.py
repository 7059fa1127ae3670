"""SWE-bench-Live rows: what their commands become, what is left out, and what a native task makes of one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from repair.formats.base import Carried, RowError, Wants
from repair.formats.rows.swebench_live import FORMAT

PATCH = "diff --git a/src/ledger.c b/src/ledger.c\n--- a/src/ledger.c\n+++ b/src/ledger.c\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = PATCH.replace("src/ledger.c", "tests/test_ledger.py")
NO_WISHES = Wants()


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "repo": "acme/Ledger",
        "pull_number": "12",
        "instance_id": "acme__Ledger-12",
        "issue_numbers": ["11"],
        "base_commit": "1" * 40,
        "patch": PATCH,
        "test_patch": TESTS,
        "problem_statement": "Sums are off by one.",
        "hints_text": "",
        "all_hints_text": "",
        "commit_urls": ["https://example.invalid/acme/Ledger/commit/2"],
        "created_at": "2025-01-02T03:04:05Z",
        "commit_url": "https://example.invalid/acme/Ledger/tree/1",
        "rebuild_cmds": [],
        "test_cmds": ["pytest -rA"],
        "print_cmds": ["cat results.log"],
        "log_parser": "def parser(log: str) -> dict[str, str]:\n    raise SystemExit('never run')\n",
        "FAIL_TO_PASS": ["tests/test_ledger.py::test_sum"],
        "PASS_TO_PASS": ["tests/test_ledger.py::test_add", "tests/test_ledger.py::test_sub"],
        "docker_image": "starryzhang/sweb.eval.x86_64.acme_1776_ledger-12:v2",
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def test_a_row_as_published() -> None:
    draft = FORMAT.draft(a_row(), NO_WISHES)
    assert draft.instance_id == "acme__Ledger-12"
    assert draft.image == "starryzhang/sweb.eval.x86_64.acme_1776_ledger-12:v2"
    assert draft.f2p == ("tests/test_ledger.py::test_sum",)
    assert draft.p2p == ("tests/test_ledger.py::test_add", "tests/test_ledger.py::test_sub")
    assert (draft.oracle_patch, draft.tests_patch, draft.entry_patch) == (PATCH.encode(), TESTS.encode(), None)
    assert (draft.instruction, draft.base_commit) == ("Sums are off by one.", "1" * 40)
    assert draft.runtime == {
        "workdir": "/testbed",
        "framework": "pytest",
        "test_cmd": 'pytest -rA "$@"',
        "select": "files",
    }
    assert draft.notes == ()


def test_a_row_of_the_first_revisions_has_no_image_and_no_rebuild() -> None:
    old = a_row(docker_image=..., rebuild_cmds=..., print_cmds=..., log_parser="pytest", pull_number=12)
    draft = FORMAT.draft(old, NO_WISHES)
    assert FORMAT.fits(old)
    assert draft.image == "starryzhang/sweb.eval.x86_64.acme_1776_ledger-12"
    assert draft.runtime["test_cmd"] == 'pytest -rA "$@"'


COMMANDS = {
    "a list in its text": ('["pytest -q"]', 'pytest -q "$@"'),
    "a list in its Python text": ("['pytest -q']", 'pytest -q "$@"'),
    "one command": ("pytest -q", 'pytest -q "$@"'),
    "blanks are no commands": (["", " pytest -q ", "  "], 'pytest -q "$@"'),
}


@pytest.mark.parametrize(("given", "command"), COMMANDS.values(), ids=COMMANDS)
def test_test_commands_of_any_type(given: object, command: str) -> None:
    assert FORMAT.draft(a_row(test_cmds=given), NO_WISHES).runtime["test_cmd"] == command


def test_several_test_commands_all_run_in_one_shell() -> None:
    runtime = FORMAT.draft(a_row(test_cmds=["cd build", "ctest --verbose"]), NO_WISHES).runtime
    assert runtime["framework"] == "ctest"
    assert "select" not in runtime
    assert runtime["test_cmd"].index("cd build") < runtime["test_cmd"].index("ctest --verbose")


REBUILT = {
    "a build comes before the tests": (["make -j2"], 'make -j2 && pytest -rA "$@"', False),
    "in order": (["cd build", "make"], 'cd build && make && pytest -rA "$@"', False),
    "a list in its text": ('["make"]', 'make && pytest -rA "$@"', False),
    "a comment swallows nothing": (["make # all of it"], '{ make # all of it\n} && pytest -rA "$@"', False),
    "nor does a last semicolon": (["make;"], '{ make;\n} && pytest -rA "$@"', False),
    "what fetches packages is left out": (["npm ci", "npm run build"], 'npm run build && pytest -rA "$@"', True),
    "pip, too": (["python3 -m pip -q install -e .[dev]"], 'pytest -rA "$@"', True),
    "bare yarn, too": (["yarn"], 'pytest -rA "$@"', True),
    "not where it needs no network": (
        ["pip install --no-build-isolation -e ."],
        'pip install --no-build-isolation -e . && pytest -rA "$@"',
        False,
    ),
    "not what builds as well": (["npm ci && npm run build"], 'npm ci && npm run build && pytest -rA "$@"', False),
    "maven's install is a build": (["mvn install -DskipTests"], 'mvn install -DskipTests && pytest -rA "$@"', False),
    "none": (None, 'pytest -rA "$@"', False),
}


@pytest.mark.parametrize(("given", "command", "noted"), REBUILT.values(), ids=REBUILT)
def test_rebuild_commands(given: object, command: str, noted: bool) -> None:
    draft = FORMAT.draft(a_row(rebuild_cmds=given), NO_WISHES)
    assert draft.runtime["test_cmd"] == command
    note = "its rebuild commands install packages: left out, no network there"
    assert draft.notes == ((note,) if noted else ())


RUN = {
    "the tests run after the build": (["echo built"], ["echo ran"], "built\nran\n", 0),
    "a build that fails ends the run": (["echo built; false", "echo more"], ["echo ran"], "built\n", 1),
    "before several tests, too": (["false"], ["echo one", "echo two"], "", 1),
    "one shell for all": (["cd /", "X=built # for the tests"], ["echo $X", "pwd"], "built\n/\n", 0),
    "a failed test does not end the others": (["true;"], ["false", "echo ran"], "ran\n", 1),
    "a build of several lines": (["cat <<'END'\nbuilt\nEND"], ["echo ran"], "built\nran\n", 0),
}


@pytest.mark.parametrize(("rebuild", "tests", "said", "status"), RUN.values(), ids=RUN)
def test_what_a_shell_makes_of_it(rebuild: list[str], tests: list[str], said: str, status: int) -> None:
    text = FORMAT.draft(a_row(rebuild_cmds=rebuild, test_cmds=tests), NO_WISHES).runtime["test_cmd"]
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode, done.stderr) == (said, status, "")


def test_the_rebuild_does_not_decide_the_framework() -> None:
    row = a_row(rebuild_cmds=["mvn install -DskipTests"], test_cmds=["./check.sh"])
    assert FORMAT.draft(row, NO_WISHES).runtime["framework"] == "unknown"


def test_a_windows_image_is_noted() -> None:
    draft = FORMAT.draft(a_row(docker_image="starryzhang/sweb.eval.win.acme_1776_ledger-12"), NO_WISHES)
    assert draft.notes == ("its image is for Windows, which no engine for Linux containers runs",)


def test_wishes_go_before_the_row() -> None:
    wants = Wants(image_template="registry.example/{id}:{pull_number}", test_cmd="pytest tests")
    draft = FORMAT.draft(a_row(rebuild_cmds=["make"], test_cmds=[]), wants)
    assert draft.image == "registry.example/acme__ledger-12:12"
    assert draft.runtime["test_cmd"] == 'pytest tests "$@"'


WRONG = {
    "no test command": ({"test_cmds": []}, "test_cmds", "holds no command; give --test-cmd"),
    "null for test commands": ({"test_cmds": None}, "test_cmds", "is missing"),
    "a number for test commands": ({"test_cmds": 3}, "test_cmds", "expected a list of shell commands"),
    "numbers for rebuild commands": ({"rebuild_cmds": [1]}, "rebuild_cmds", "expected a list of shell commands"),
    "half a list of commands": ({"test_cmds": '["make'}, "test_cmds", "is neither JSON nor a Python literal"),
    "null for a list of ids": ({"PASS_TO_PASS": None}, "PASS_TO_PASS", "is missing; an empty list would be []"),
    "no reference": ({"patch": " "}, "patch", "is empty"),
    "no id, and no image but by it": ({"instance_id": None, "docker_image": None}, "instance_id", "is missing"),
}


@pytest.mark.parametrize(("changes", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_row_that_is_no_task(changes: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        FORMAT.draft(a_row(**changes), NO_WISHES)
    assert caught.value.field == field
    assert problem in caught.value.problem


def test_an_empty_list_is_data() -> None:
    assert FORMAT.draft(a_row(FAIL_TO_PASS=[]), NO_WISHES).f2p == ()


FETCHED = "its test commands install packages: left out, no network there"
TEST_COMMANDS = {
    "packages first": (["npm ci", "npx jest"], "npx jest", (FETCHED,)),
    "nothing else": (["npm ci"], "npm ci", ()),
    "none": (["npx jest"], "npx jest", ()),
}


@pytest.mark.parametrize(("every", "kept", "notes"), TEST_COMMANDS.values(), ids=TEST_COMMANDS)
def test_test_commands_that_fetch_packages_are_left_out(every: list[str], kept: str, notes: tuple[str, ...]) -> None:
    draft = FORMAT.draft(a_row(test_cmds=every), NO_WISHES)
    assert (draft.runtime["test_cmd"], draft.notes) == (kept, notes)


FOREIGN = {
    "SWE-bench": a_row(test_cmds=..., environment_setup_commit="3"),
    "SWE-bench 5": a_row(test_cmds=..., image="acme/ledger", eval_script="true", eval_type="pass_and_fail"),
    "SWE-bench Pro": {"instance_id": "i", "patch": "", "test_patch": "", "fail_to_pass": "[]", "pass_to_pass": "[]"},
    "SWE-smith": a_row(test_cmds=..., test_patch=..., image_name="acme/smith"),
    "SWE-rebench V2": a_row(test_cmds=..., image_name="acme/two", install_config={"test_cmd": "make check"}),
    "SWE-Gym": a_row(test_cmds=..., repo="getmoto/moto"),
    "Multi-SWE-bench": {"org": "acme", "repo": "ledger", "number": 12, "fix_patch": "", "test_patch": ""},
    "no row at all": {},
}


@pytest.mark.parametrize("row", FOREIGN.values(), ids=FOREIGN)
def test_rows_of_other_formats_do_not_fit(row: dict[str, Any]) -> None:
    assert not FORMAT.fits(row)


def test_its_own_row_fits() -> None:
    assert FORMAT.fits(a_row())


def a_task(**changes: Any) -> Carried:
    values: dict[str, Any] = {
        "instance_id": "acme__ledger-12",
        "image": "acme/ledger:12",
        "f2p": ("tests/test_ledger.py::test_sum",),
        "p2p": ("tests/test_ledger.py::test_add",),
        "oracle_patch": PATCH,
        "tests_patch": TESTS,
        "instruction": "Sums are off by one.",
        "base_commit": "1" * 40,
        "workdir": "/testbed",
        "framework": "pytest",
        "test_cmd": "python3 -m pytest",
        "others": frozenset[str](),
        "repo": "acme/ledger",
    }
    return Carried(**(values | changes))


def test_a_native_task_becomes_a_row_that_reads_back() -> None:
    assert FORMAT.write is not None
    row, lost = FORMAT.write(a_task())
    assert lost == ()
    assert FORMAT.fits(row)
    assert (row["repo"], row["pull_number"], row["docker_image"]) == ("acme/ledger", "12", "acme/ledger:12")
    assert set(row) == set(a_row())
    draft = FORMAT.draft(row, NO_WISHES)
    assert (draft.instance_id, draft.image) == ("acme__ledger-12", "acme/ledger:12")
    assert (draft.f2p, draft.p2p) == (a_task().f2p, a_task().p2p)
    assert (draft.oracle_patch, draft.tests_patch) == (PATCH.encode(), TESTS.encode())
    assert draft.runtime["test_cmd"] == 'python3 -m pytest -rA "$@"'


LOST = {
    "another directory": ({"workdir": "/app"}, ("workdir",)),
    "a framework that their harness does not read": ({"framework": "go"}, ("framework",)),
    "what no column holds": ({"others": frozenset({"env", "entry.patch"})}, ("entry.patch", "env")),
}


@pytest.mark.parametrize(("changes", "lost"), LOST.values(), ids=LOST)
def test_what_a_row_cannot_carry_is_said(changes: dict[str, Any], lost: tuple[str, ...]) -> None:
    assert FORMAT.write is not None
    assert FORMAT.write(a_task(**changes))[1] == lost
