"""One row of test data per format of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.formats import rows
from tests.formats.rows import COMMIT, F2P, P2P, PATCH, TESTS, TESTS_FILE
from tests.formats.sample import TESTBED, Changes, RowSample, draft

CONDA = "source /opt/miniconda3/bin/activate testbed"
CONDA_PYTEST = f'{CONDA} && python -m pytest "$@"'
R2E_PATCH = PATCH.replace("---", "index 7898192..6178079 100644\n---").replace("-1 +1", "-1,1 +1,1")
R2E_LINK = "{ test -e r2e_tests || ln -s /r2e_tests r2e_tests; }"
R2E_RUN = (
    "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' .venv/bin/python -W ignore -m pytest -rA r2e_tests"
)


COMMON = ("repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement")
LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
PATCHES_AND_LISTS = ("instance_id", "repo", "patch", "test_patch", *LISTS)
WRITTEN = (*COMMON, *LISTS)
NO_IMAGE = "names no image; give --image-template"
# Each of these columns is another format's than SWE-bench's, SWE-Gym's and SWE-smith's.
OF_OTHERS: Mapping[str, Changes] = {
    f"a column {name}": {name: ""}
    for name in ("eval_script", "test_cmds", "install_config", "before_repo_set_cmd", "FAIL_TO_FAIL")
}
NO_FURTHER_LISTS = {"FAIL_TO_FAIL": ..., "PASS_TO_FAIL": ...}
NO_SIGN_OF_V1 = {"FAIL_TO_FAIL": [], "PASS_TO_FAIL": [], "environment_setup_commit": ...}
REBENCH_ERRORS: Mapping[str, tuple[Changes, str, str]] = {
    "no config": ({"install_config": None}, "install_config", "is missing; give --test-cmd"),
    "a config that is a list": ({"install_config": ["pytest"]}, "install_config", "expected an object"),
    "a config that is a program": ({"install_config": "dict(test_cmd=1)"}, "install_config", "neither JSON nor"),
    "no command": ({"install_config": {}}, "install_config.test_cmd", "is missing; give --test-cmd"),
    "blank commands": ({"install_config": {"test_cmd": [" "]}}, "install_config.test_cmd", "holds no command"),
    "a number for a command": ({"install_config": {"test_cmd": 1}}, "install_config.test_cmd", "expected a text or"),
}
REBENCH_FOREIGN: Mapping[str, Changes] = {
    f"a column {name}": {name: ""} for name in ("eval_script", "test_cmds", "before_repo_set_cmd")
}
BINARY = "diff --git a/a.png b/a.png\nindex 1111111..2222222 100644\nBinary files a/a.png and b/a.png differ\n"

ROWS: Mapping[str, RowSample] = {
    "swe-bench": RowSample(
        build=rows.classic,
        draft=draft("swebench/sweb.eval.x86_64.acme_1776_ledger-7:latest", CONDA_PYTEST),
        enough=(*COMMON, *LISTS, "environment_setup_commit"),
        forms={
            "known by its repo": {"repo": "psf/requests", "environment_setup_commit": ...},
            "Multimodal": {"image_assets": "{}"},
            "Multimodal without a set-up commit": {
                "environment_setup_commit": ...,
                "image_assets": {"problem_statement": []},
            },
            "real lists and an image": {**rows.LISTS, "image_name": "acme/ledger:7"},
            "an image and no hidden tests": {"image_name": "acme/ledger:7", "test_patch": ""},
        },
        foreign={**OF_OTHERS, "of a repo that nobody knows": {"environment_setup_commit": ...}},
        places={"org": "acme", "name": "ledger", "version": "1.2"},
        written=WRITTEN,
        added=("image_name",),
        lost=("test_cmd",),
        loses=(),
    ),
    "swe-bench-5": RowSample(
        build=rows.five,
        draft=draft(
            "acme/eval.ledger-7:latest",
            "set_up() {\nsource /opt/miniconda3/bin/activate &&\nconda activate testbed &&\ncd /testbed\n}\n"
            'set_up && pytest -rA tests/test_sums.py "$@"',
        ),
        enough=("instance_id", "patch", "image", "eval_script", "log_parser", *LISTS),
        forms={
            "an asset": {"image_assets": {"a": "b"}},
            "of a repo of the classic ones": {"repo": "psf/requests"},
            "with a set-up commit": {"environment_setup_commit": "2"},
        },
        errors={
            "an eval type that nobody knows": ({"eval_type": "mood"}, "eval_type", 'expected "pass_and_fail"'),
            "a script without markers": ({"eval_script": "pytest"}, "eval_script", "no command between"),
            "no image": ({"image": None}, "image", NO_IMAGE),
        },
        places={"org": "acme", "name": "ledger", "version": "1.2"},
        unasked={"image": None},
        written=(*WRITTEN, "image", "eval_type"),
        loses=("workdir",),
    ),
    "swe-bench-pro": RowSample(
        build=rows.pro,
        draft=draft(
            "jefzda/sweap-images:acme.ledger-7",
            f'git checkout {COMMIT} -- {TESTS_FILE} && python -m pytest {TESTS_FILE} "$@"',
            "/app",
            instance_id="instance_acme__ledger-7",
            tests_patch=None,  # the tests enter by the checkout
            instruction=f"{rows.ISSUE}\n\nRequirements:\n- `sign` returns -1, 0 or 1.\n\nNew interfaces:\nNone.",
            notes=("its run_script.sh is kept apart from the row: python -m pytest runs in its place",),
        ),
        enough=("instance_id", "patch", "fail_to_pass", "pass_to_pass", "dockerhub_tag"),
        f2p=("fail_to_pass",),
        p2p=("pass_to_pass",),
        # a column's text may be JSON-encoded
        spellings=(
            *(lambda ids: ids, json.dumps, repr),
            *(lambda ids: json.dumps(repr(ids)), lambda ids: json.dumps(json.dumps(ids))),
        ),
        tests=None,
        forms={
            "without a tag": {"dockerhub_tag": ...},
            "known by its files alone": {"dockerhub_tag": ..., "before_repo_set_cmd": ...},
            "known by its checkout alone": {"dockerhub_tag": ..., "selected_test_files_to_run": ...},
        },
        errors={
            "no image": ({"dockerhub_tag": ""}, "dockerhub_tag", "the row does not say it"),
            "files that are no list": (
                {"selected_test_files_to_run": "x y"},
                "selected_test_files_to_run",
                "neither JSON nor",
            ),
        },
        places={"dockerhub_tag": "acme.ledger-7", "org": "acme", "name": "ledger"},
        wished=f'git checkout {COMMIT} -- {TESTS_FILE} && pytest tests "$@"',
        unasked={"dockerhub_tag": None, "selected_test_files_to_run": None},
    ),
    "swe-bench-live": RowSample(
        build=rows.live,
        draft=draft("acme/live.ledger-7", 'pytest -rA "$@"'),
        enough=("instance_id", "patch", "test_patch", "test_cmds", *LISTS),
        forms={
            "of a repo of SWE-Gym": {"repo": "iterative/dvc"},
            "the first revision": {
                **dict.fromkeys(("docker_image", "rebuild_cmds", "print_cmds"), ...),
                "log_parser": "pytest",
                "pull_number": 7,
            },
        },
        errors={
            "no test command": ({"test_cmds": []}, "test_cmds", "holds no command; give --test-cmd"),
            "null for test commands": ({"test_cmds": None}, "test_cmds", "is missing"),
            "a number for test commands": ({"test_cmds": 3}, "test_cmds", "expected a list of shell commands"),
            "half a list of commands": ({"test_cmds": '["make'}, "test_cmds", "is neither JSON nor a Python literal"),
            "numbers for rebuild commands": (
                {"rebuild_cmds": [1]},
                "rebuild_cmds",
                "expected a list of shell commands",
            ),
            "no id, and no image but by it": ({"instance_id": None, "docker_image": None}, "instance_id", "is missing"),
        },
        places={"org": "acme", "name": "ledger", "pull_number": "7"},
        unasked={"docker_image": None, "rebuild_cmds": ["make"], "test_cmds": []},
        written=(*WRITTEN, "pull_number", "docker_image", "test_cmds"),
    ),
    "swe-smith": RowSample(
        build=rows.smith,
        draft=draft(
            "acme/swesmith.ledger.1a2b3c4d",
            CONDA_PYTEST,
            instance_id="acme__ledger.1a2b3c4d.func_basic__7",
            entry_patch=PATCH.encode(),  # the bug, and the reference takes it back
            oracle_patch=(PATCH.partition("@@")[0] + "@@ -1 +1 @@\n-a + b\n+a - b\n").encode(),
            tests_patch=None,
            base_commit=None,
        ),
        enough=("instance_id", "repo", "patch", "image_name", *LISTS),
        tests=None,
        telling=("repo", "test_patch"),
        forms={
            "an older revision": {"base_commit": "1", "created_at": "", "problem_statement": ""},
            "known by its repo": {"image_name": ...},
            "known by its image": {"repo": "acme/ledger"},
            "a blank for hidden tests": {"test_patch": ""},
        },
        foreign={
            **OF_OTHERS,
            "hidden tests": {"test_patch": TESTS},
            "a set-up commit": {"environment_setup_commit": "3"},
            "neither repo nor image": {"repo": "acme/ledger", "image_name": ...},
        },
        errors={
            "a bug that cannot be taken back": ({"patch": BINARY}, "patch", "cannot be reversed"),
            "text that is no diff": ({"patch": "see the issue"}, "patch", "cannot be reversed"),
            "no image": ({"image_name": None}, "image_name", NO_IMAGE),
            "another runner's ids": (
                {"FAIL_TO_PASS": ["TestTotal"], "PASS_TO_PASS": ["TestNone"]},
                "FAIL_TO_PASS",
                "names no test of pytest's, and the row no command",
            ),
        },
        places={"org": "swesmith", "name": "acme__ledger.1a2b3c4d"},
        unasked={"image_name": None},
    ),
    "swe-rebench": RowSample(
        build=rows.rebench,
        draft=draft("acme/rebench.ledger-7", f'{CONDA} && pytest -rA "$@"'),
        enough=(*PATCHES_AND_LISTS, "install_config", "docker_image"),
        telling=("repo", "install_config"),
        forms={
            "without its further lists": NO_FURTHER_LISTS,
            "the first revision": dict.fromkeys(("install_config", "docker_image", "image_name"), ...),
            "the first revision without a further id": {"install_config": ..., **NO_SIGN_OF_V1},
            "without any column of its own": {**NO_FURTHER_LISTS, "environment_setup_commit": ...},
            "a text for its config": {**NO_FURTHER_LISTS, "install_config": json.dumps({"python": "3.9"})},
            "a config of both versions' keys": {"install_config": {"python": "3.9", "base_image_name": None}},
            "a config of a command alone": {"install_config": {"test_cmd": "pytest"}, **NO_SIGN_OF_V1},
        },
        foreign={**REBENCH_FOREIGN, "SWE-bench's": {**NO_FURTHER_LISTS, "install_config": ...}},
        errors={
            **REBENCH_ERRORS,
            "no image": ({"docker_image": None, "image_name": None}, "docker_image", NO_IMAGE),
        },
        places={"org": "acme", "name": "ledger", "version": "1.2"},
        unasked={"install_config": None, "docker_image": None},
    ),
    "swe-rebench-v2": RowSample(
        build=rows.rebench_v2,
        draft=draft("acme/v2.ledger:7", 'pytest -rA "$@"', "/ledger"),
        enough=(*PATCHES_AND_LISTS, "install_config", "image_name"),
        telling=("repo", "install_config"),
        forms={
            "an empty list of V1": {"FAIL_TO_FAIL": [], "PASS_TO_FAIL": "[]"},
            "columns of V1 that are null": {"FAIL_TO_FAIL": None, "environment_setup_commit": None},
            "fewer columns": dict.fromkeys(("interface", "language", "meta", "license", "created_at"), ...),
            "known by its interface": {"created_at": "2025-01-02", "install_config": {"test_cmd": "make check"}},
            "known by its date": {"interface": ..., "install_config": {"test_cmd": "pytest"}},
            "known by its base image": {
                "created_at": "",
                "interface": ...,
                "install_config": {"test_cmd": "make", "base_image_name": "c:latest"},
            },
        },
        foreign={**REBENCH_FOREIGN, "no config": {"install_config": ...}},
        errors={
            **REBENCH_ERRORS,
            "no image": ({"image_name": None, "docker_image": None}, "image_name", NO_IMAGE),
            **{f"{repo!r} for a repo": ({"repo": repo}, "repo", "") for repo in ("acme/", "acme/..", "  ", None)},
        },
        places={"org": "acme", "name": "ledger", "language": "python"},
        unasked={"install_config": {}, "image_name": None},
        written=(*WRITTEN, "image_name", "language"),
    ),
    "swe-gym": RowSample(
        build=rows.gym,
        draft=draft(
            "xingyaoww/sweb.eval.x86_64.iterative_s_dvc-7:latest", CONDA_PYTEST, instance_id="iterative__dvc-7"
        ),
        enough=(*COMMON, *LISTS),
        forms={
            "capital letters": {"repo": "Project-MONAI/MONAI"},
            "scripts of a copy": dict.fromkeys(("regression_script", "setup_script", "test_script"), "false\n"),
            "an image of a copy": {"image_name": "acme/dvc:12"},
        },
        foreign={
            **OF_OTHERS,
            "a set-up commit without a value": {"environment_setup_commit": None},
            "of a repo of the classic ones": {"repo": "pallets/flask"},
            "of a repo that nobody knows": {"repo": "acme/ledger"},
        },
        errors={"null for hidden tests": ({"test_patch": None}, "test_patch", "is missing")},
        places={"org": "iterative", "name": "dvc", "version": "1.2"},
    ),
    "multi-swe-bench": RowSample(
        build=rows.multi,
        draft=draft(
            "mswebench/acme_m_ledger:pr-7",
            "",
            instruction="Totals\n\nTotals are differences.\nMend “them”.",
            runtime={"workdir": "/home/ledger", "framework": "unknown", "test_cmd": "bash /home/run.sh"},
            notes=("its /home/run.sh writes no JUnit that anybody knows of: give --test-cmd",),
        ),
        enough=("org", "repo", "number", "fix_patch", "f2p_tests", "s2p_tests", "n2p_tests", "p2p_tests"),
        f2p=("f2p_tests", "s2p_tests", "n2p_tests"),
        p2p=("p2p_tests",),
        also=("fixed_tests",),
        empty=({}, "{}", []),
        ident=None,
        oracle="fix_patch",
        errors={
            "a blank for tests": ({"p2p_tests": ""}, "p2p_tests", "neither JSON nor"),
            "columns for tests": (
                {"f2p_tests": {"name": ["acme.MoneyTest"], "fix": ["PASS"]}},
                "f2p_tests",
                "holds columns",
            ),
            "no org": ({"org": None}, "org", "is missing"),
            "no repo": ({"repo": ""}, "repo", "is empty"),
            "no number": ({"number": None}, "number", "is missing"),
            "a number that is none": ({"number": "pr-42"}, "number", "expected a pull request's number"),
            "a truth for a number": ({"number": True}, "number", "expected a pull request's number"),
        },
        places={"org": "acme", "name": "ledger", "number": "7"},
    ),
    "r2e-gym": RowSample(
        build=rows.r2e,
        draft=draft(
            "acme/ledger_final:7",
            "",
            instance_id="ledger__000000000007",
            f2p=tuple(map(rows.short, F2P)),
            p2p=tuple(map(rows.short, P2P)),
            oracle_patch=R2E_PATCH.encode(),
            tests_patch=None,  # the tests are in the image
            instruction=rows.ISSUE.strip(),
            runtime={
                "workdir": TESTBED,
                "framework": "pytest",
                "select": "all",
                "id_template": "{test}",
                "test_cmd": f'{R2E_LINK} && {R2E_RUN} "$@"',
            },
        ),
        enough=(
            *("repo_name", "docker_image"),
            *("parsed_commit_content", "execution_result_content", "expected_output_json"),
        ),
        f2p=(),
        p2p=(),
        also=("expected_output_json",),
        spellings=(lambda outcomes: outcomes, json.dumps),
        empty=({}, "{}"),
        unread="is no JSON",
        untyped="expected a text",
        ident=None,
        oracle="parsed_commit_content",
        tests=None,
        errors={
            "Python's outcomes": ({"expected_output_json": "{'a': 'PASSED'}"}, "expected_output_json", "is no JSON"),
            "outcomes in a list": ({"expected_output_json": '["a"]'}, "expected_output_json", "expected an object"),
            "outcomes that are no texts": (
                {"expected_output_json": {"a": 1}},
                "expected_output_json",
                "expected an object of outcomes",
            ),
            "no logs": ({"execution_result_content": None}, "execution_result_content", "is missing"),
            "no log of the old commit": (
                {"execution_result_content": {"old_commit_res_stdout": None}},
                "execution_result_content",
                "no summary",
            ),
            "a log without summary": (
                {"execution_result_content": {"old_commit_res_stdout": "Killed"}},
                "execution_result_content",
                "no summary",
            ),
            "a commit without files": ({"parsed_commit_content": "{}"}, "parsed_commit_content", "not what R2E-Gym"),
            "no repo": ({"repo_name": None}, "repo_name", "is missing"),
            "no image": ({"docker_image": None}, "docker_image", NO_IMAGE),
        },
        places={"repo_name": "ledger", "commit_hash": f"{7:012x}{COMMIT[12:]}"},
        wished=f'{R2E_LINK} && pytest tests "$@"',
        unasked={"docker_image": None},
    ),
}
# A Parquet file gives each row the columns of all, and so do tables that were put together.
NULLS: rows.Row = {
    column: None
    for sample in ROWS.values()
    for changes in ({}, *sample.forms.values())
    for column in sample.build(**changes)
}
