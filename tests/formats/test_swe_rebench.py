"""SWE-rebench rows of both versions: which is which, and where their commands come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats.base import Carried, RowError, RowFormat, Wants
from repair.formats.rows.swe_rebench import V1, V2

PATCH = "diff --git a/src/ledger.py b/src/ledger.py\n--- a/src/ledger.py\n+++ b/src/ledger.py\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = PATCH.replace("src/ledger.py", "tests/test_ledger.py")
NO_WISHES = Wants()

INSTALLS = {
    "env_vars": None,
    "env_yml_path": None,
    "install": "pip install -e .[dev]",
    "log_parser": "parse_log_pytest",
    "no_use_env": None,
    "packages": "requirements.txt",
    "pip_packages": ["pytest"],
    "pre_install": None,
    "python": "3.9",
    "reqs_path": ["requirements.txt"],
    "test_cmd": "pytest --no-header -rA --tb=line --color=no",
}
BUILDS = {
    "base_image_name": "c:latest",
    "docker_specs": None,
    "install": ["./configure", "make"],
    "log_parser": "parse_log_jq",
    "log_parsers": None,
    "test_cmd": ["make", "ctest --verbose"],
}
CONDA = "source /opt/miniconda3/bin/activate testbed && "


def row_of_v1(**changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "acme__Ledger-12",
        "repo": "acme/Ledger",
        "base_commit": "1" * 40,
        "patch": PATCH,
        "test_patch": TESTS,
        "problem_statement": "Sums are off by one.",
        "hints_text": "",
        "created_at": "2025-01-02 03:04:05",
        "version": "1.2",
        "environment_setup_commit": "2" * 40,
        "FAIL_TO_PASS": ["tests/test_ledger.py::test_sum"],
        "PASS_TO_PASS": ["tests/test_ledger.py::test_add"],
        "FAIL_TO_FAIL": ["tests/test_ledger.py::test_old"],
        "PASS_TO_FAIL": [],
        "install_config": INSTALLS,
        "requirements": "pytest==8.0",
        "environment": "name: testbed",
        "license_name": "MIT",
        "meta": {"num_modified_files": 1},
        "docker_image": "swerebench/sweb.eval.x86_64.acme_1776_ledger-12",
        "image_name": None,
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def row_of_v2(**changes: Any) -> dict[str, Any]:
    row = {
        "base_commit": "1" * 40,
        "created_at": 1735787045000,
        "image_name": "docker.io/swerebenchv2/acme-ledger:12-1111111",
        "instance_id": "acme__ledger-12",
        "interface": "",
        "language": "c",
        "license": "MIT",
        "patch": PATCH,
        "pr_description": "Mends the sums.",
        "problem_statement": "Sums are off by one.",
        "repo": "acme/Ledger",
        "test_patch": TESTS,
        "FAIL_TO_PASS": ["sums"],
        "PASS_TO_PASS": ["adds", "subs"],
        "install_config": BUILDS,
        "meta": {"num_modified_files": 1},
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def test_a_row_of_v1_as_published() -> None:
    draft = V1.draft(row_of_v1(), NO_WISHES)
    assert draft.instance_id == "acme__Ledger-12"
    assert draft.image == "swerebench/sweb.eval.x86_64.acme_1776_ledger-12"
    assert (draft.f2p, draft.p2p) == (("tests/test_ledger.py::test_sum",), ("tests/test_ledger.py::test_add",))
    assert (draft.oracle_patch, draft.tests_patch, draft.entry_patch) == (PATCH.encode(), TESTS.encode(), None)
    assert (draft.instruction, draft.base_commit) == ("Sums are off by one.", "1" * 40)
    assert draft.runtime == {
        "workdir": "/testbed",
        "framework": "pytest",
        "test_cmd": CONDA + 'pytest --no-header -rA --tb=line --color=no "$@"',
        "select": "files",
    }


def test_a_row_of_v2_as_published() -> None:
    draft = V2.draft(row_of_v2(), NO_WISHES)
    assert draft.instance_id == "acme__ledger-12"
    assert draft.image == "docker.io/swerebenchv2/acme-ledger:12-1111111"
    assert (draft.f2p, draft.p2p) == (("sums",), ("adds", "subs"))
    assert (draft.oracle_patch, draft.tests_patch, draft.entry_patch) == (PATCH.encode(), TESTS.encode(), None)
    assert (draft.runtime["workdir"], draft.runtime["framework"]) == ("/Ledger", "ctest")
    assert draft.runtime["test_cmd"].index("make") < draft.runtime["test_cmd"].index("ctest --verbose")
    assert "select" not in draft.runtime
    assert "./configure" not in draft.runtime["test_cmd"]


def test_pytest_of_v2_gets_our_arguments_and_no_conda() -> None:
    runtime = V2.draft(row_of_v2(install_config=INSTALLS), NO_WISHES).runtime
    assert runtime["test_cmd"] == 'pytest --no-header -rA --tb=line --color=no "$@"'
    assert runtime["select"] == "files"


def test_a_runner_that_nobody_knows_is_imported_all_the_same() -> None:
    runtime = V2.draft(row_of_v2(install_config=BUILDS | {"test_cmd": ["make check"]}), NO_WISHES).runtime
    assert (runtime["framework"], runtime["test_cmd"]) == ("unknown", "make check")


CONFIGS = {
    "a text": {"test_cmd": "pytest -q"},
    "a list": {"test_cmd": ["pytest -q"]},
    "a list with blanks": {"test_cmd": ["", "pytest -q"]},
    "an object as JSON": json.dumps({"test_cmd": "pytest -q", "pre_install": None}),
    "an object as Python": str({"test_cmd": ["pytest -q"], "pre_install": None}),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_command_of_any_type(config: object) -> None:
    assert V1.draft(row_of_v1(install_config=config), NO_WISHES).runtime["test_cmd"] == CONDA + 'pytest -q "$@"'
    assert V2.draft(row_of_v2(install_config=config), NO_WISHES).runtime["test_cmd"] == 'pytest -q "$@"'


def test_v1_takes_the_image_that_is_there() -> None:
    assert V1.draft(row_of_v1(docker_image=None, image_name="acme/one"), NO_WISHES).image == "acme/one"
    assert V1.draft(row_of_v1(image_name="acme/one"), NO_WISHES).image.startswith("swerebench/")


def test_lists_may_be_texts() -> None:
    texts = {"FAIL_TO_PASS": '["a.py::t"]', "PASS_TO_PASS": "['b.py::t']"}
    for draft in (V1.draft(row_of_v1(**texts), NO_WISHES), V2.draft(row_of_v2(**texts), NO_WISHES)):
        assert (draft.f2p, draft.p2p) == (("a.py::t",), ("b.py::t",))


def test_wishes_go_before_the_row() -> None:
    wants = Wants(image_template="registry.example/{name}:{id}", test_cmd="pytest tests")
    one = V1.draft(row_of_v1(install_config=None, docker_image=None), wants)
    two = V2.draft(row_of_v2(install_config={}, image_name=None), wants)
    for draft in (one, two):
        assert draft.image == "registry.example/ledger:acme__ledger-12"
        assert draft.runtime["test_cmd"] == 'pytest tests "$@"'


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no config": ({"install_config": None}, "install_config", "is missing; give --test-cmd"),
    "a config that is a list": ({"install_config": ["pytest"]}, "install_config", "expected an object"),
    "a config that is a program": ({"install_config": "dict(test_cmd=1)"}, "install_config", "neither JSON nor"),
    "no command": ({"install_config": {}}, "install_config.test_cmd", "is missing; give --test-cmd"),
    "blank commands": ({"install_config": {"test_cmd": [" "]}}, "install_config.test_cmd", "holds no command"),
    "a number for a command": ({"install_config": {"test_cmd": 1}}, "install_config.test_cmd", "expected a text or"),
    "no image": ({"docker_image": None, "image_name": None}, "", "names no image; give --image-template"),
    "no list": ({"PASS_TO_PASS": None}, "PASS_TO_PASS", "is missing; an empty list would be []"),
    "no reference": ({"patch": None}, "patch", "is missing"),
}


@pytest.mark.parametrize(("form", "make"), [(V1, row_of_v1), (V2, row_of_v2)], ids=["V1", "V2"])
@pytest.mark.parametrize(("changes", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_row_that_is_no_task(form: RowFormat, make: Any, changes: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        form.draft(make(**changes), NO_WISHES)
    assert caught.value.field == (field or ("docker_image" if form is V1 else "image_name"))
    assert problem in caught.value.problem


@pytest.mark.parametrize("repo", ["acme/", "acme/..", "  ", None])
def test_v2_needs_the_repos_name_for_its_directory(repo: object) -> None:
    with pytest.raises(RowError) as caught:
        V2.draft(row_of_v2(repo=repo), NO_WISHES)
    assert caught.value.field == "repo"


# ---- which version a row is of

ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "V1 as published": (row_of_v1(), ["swe-rebench"]),
    "V1 without its further lists": (row_of_v1(FAIL_TO_FAIL=..., PASS_TO_FAIL=...), ["swe-rebench"]),
    "V1 before it had commands": (row_of_v1(install_config=..., docker_image=..., image_name=...), ["swe-rebench"]),
    "V2 as published": (row_of_v2(), ["swe-rebench-v2"]),
    "V2 with fewer columns": (row_of_v2(interface=..., language=..., meta=..., license=...), ["swe-rebench-v2"]),
    "V1 without any column of its own": (
        row_of_v1(FAIL_TO_FAIL=..., PASS_TO_FAIL=..., environment_setup_commit=...),
        ["swe-rebench"],
    ),
    "V2 with an empty column of V1's": (row_of_v2(FAIL_TO_FAIL=[], PASS_TO_FAIL="[]"), ["swe-rebench-v2"]),
    "V2 with columns of V1's that are null": (
        row_of_v2(FAIL_TO_FAIL=None, environment_setup_commit=None),
        ["swe-rebench-v2"],
    ),
    "V2, known by its interface": (
        row_of_v2(created_at="2025-01-02", install_config={"test_cmd": "make check"}),
        ["swe-rebench-v2"],
    ),
    "V2 with a list of V1's": (row_of_v2(FAIL_TO_FAIL=["a"]), ["swe-rebench", "swe-rebench-v2"]),
    "a config that cannot be read": (
        row_of_v2(created_at="", interface=..., install_config="{"),
        ["swe-rebench", "swe-rebench-v2"],
    ),
    "SWE-bench": (row_of_v1(FAIL_TO_FAIL=..., PASS_TO_FAIL=..., install_config=...), []),
    "SWE-bench 5": (row_of_v2(install_config=..., image="acme/five", eval_script="true", log_parser="pytest"), []),
    "SWE-bench-Live": (row_of_v2(install_config=..., test_cmds=["pytest"]), []),
    "SWE-bench Pro": (row_of_v2(install_config=..., before_repo_set_cmd="git checkout"), []),
    "SWE-smith": (row_of_v2(install_config=..., test_patch=...), []),
    "SWE-Gym": (row_of_v2(install_config=..., repo="getmoto/moto", image_name=...), []),
    "Multi-SWE-bench": ({"org": "acme", "repo": "ledger", "number": 12, "fix_patch": "", "test_patch": ""}, []),
    "no row at all": ({}, []),
}


@pytest.mark.parametrize(("row", "names"), ROWS.values(), ids=ROWS)
def test_which_versions_a_row_fits(row: dict[str, Any], names: list[str]) -> None:
    assert [form.name for form in (V1, V2) if form.fits(row)] == names


# ---- a native task as a row of V2


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
        "workdir": "/ledger",
        "framework": "pytest",
        "test_cmd": "python3 -m pytest",
        "others": frozenset[str](),
        "repo": "acme/ledger",
    }
    return Carried(**(values | changes))


def test_a_native_task_becomes_a_row_that_reads_back() -> None:
    assert V1.write is None
    assert V2.write is not None
    row, lost = V2.write(a_task())
    assert lost == ()
    assert V2.fits(row)
    assert set(row) == set(row_of_v2())
    draft = V2.draft(row, NO_WISHES)
    assert (draft.instance_id, draft.image) == ("acme__ledger-12", "acme/ledger:12")
    assert (draft.f2p, draft.p2p) == (a_task().f2p, a_task().p2p)
    assert (draft.oracle_patch, draft.tests_patch) == (PATCH.encode(), TESTS.encode())
    assert draft.runtime["workdir"] == "/ledger"
    assert draft.runtime["test_cmd"] == 'python3 -m pytest -rA "$@"'


LOST = {
    "another directory": ({"workdir": "/testbed"}, ("workdir",)),
    "a framework that their harness does not read": ({"framework": "go"}, ("framework",)),
    "what no column holds": ({"others": frozenset({"env", "entry.patch"})}, ("entry.patch", "env")),
}


@pytest.mark.parametrize(("changes", "lost"), LOST.values(), ids=LOST)
def test_what_a_row_cannot_carry_is_said(changes: dict[str, Any], lost: tuple[str, ...]) -> None:
    assert V2.write is not None
    assert V2.write(a_task(**changes))[1] == lost
