"""Rows of our own in every format, one builder per format, and task directories: what the exchange tests import.

All say the same task of an invented repo, with ids that are hard to write: quotes, blanks, backslashes, umlauts.
A builder takes a number and changes of columns; `...` leaves a column out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Builder = Callable[..., Row]

FILE, TESTS_FILE = "ledger/sums.py", "tests/test_sums.py"
PATCH = f"diff --git a/{FILE} b/{FILE}\n--- a/{FILE}\n+++ b/{FILE}\n@@ -1 +1 @@\n-a - b\n+a + b\n"
TESTS = PATCH.replace(FILE, TESTS_FILE)
NAMES = ("zero", "t[a b]", "t[it's]", 't["x", "y"]', "t[\\n]", "t[größe]", "t[a, b]", "t[[]", *"abcdefgh")
F2P = tuple(f"{TESTS_FILE}::test_{name}" for name in ("total", "sign[-1]", "new"))
P2P = tuple(f"{TESTS_FILE}::test_{name}" for name in NAMES)
COMMIT = "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"
ISSUE = "Totals are differences.\nMend “them”.\n"
SCRIPT = """\
#!/bin/bash
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
: '>>>>> Start Test Output'
pytest -rA tests/test_sums.py
: '>>>>> End Test Output'
"""


def builder(columns: Callable[[int], Row]) -> Builder:
    """A builder of rows: `build(7, patch="", version=...)` is row 7 with an empty patch and without a version."""

    @wraps(columns)
    def build(number: int = 7, **changes: Any) -> Row:
        return {column: value for column, value in {**columns(number), **changes}.items() if value is not ...}

    return build


def _common(number: int) -> Row:
    return {
        "repo": "acme/ledger",
        "instance_id": f"acme__ledger-{number}",
        "base_commit": COMMIT,
        "patch": PATCH,
        "test_patch": TESTS,
        "problem_statement": ISSUE,
    }


OLDER = {"hints_text": "", "created_at": "2024-05-06T07:08:09Z", "version": "1.2"}
LISTS = {"FAIL_TO_PASS": list(F2P), "PASS_TO_PASS": list(P2P)}
TEXTS = {name: json.dumps(ids) for name, ids in LISTS.items()}


@builder
def classic(number: int) -> Row:
    return {**_common(number), **OLDER, **TEXTS, "environment_setup_commit": "1a2b3c4d"}


@builder
def five(number: int) -> Row:
    return {
        **_common(number),
        **OLDER,
        **TEXTS,
        "image": f"acme/eval.ledger-{number}:latest",
        "eval_script": SCRIPT,
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
    }


@builder
def pro(number: int) -> Row:
    return {
        **_common(number),
        "instance_id": f"instance_acme__ledger-{number}",
        "requirements": "- `sign` returns -1, 0 or 1.",
        "interface": "None.",
        "repo_language": "python",
        "fail_to_pass": str(list(F2P)),
        "pass_to_pass": str(list(P2P)),
        "issue_specificity": '["major_bug"]',
        "issue_categories": '["back_end_knowledge"]',
        "before_repo_set_cmd": f"git reset --hard {COMMIT}\ngit checkout {COMMIT} -- {TESTS_FILE}",
        "selected_test_files_to_run": json.dumps([TESTS_FILE]),
        "dockerhub_tag": f"acme.ledger-{number}",
    }


@builder
def live(number: int) -> Row:
    return {
        **_common(number),
        **LISTS,
        "pull_number": str(number),
        "issue_numbers": ["11"],
        "hints_text": "",
        "all_hints_text": "",
        "commit_urls": ["https://example.invalid/acme/ledger/commit/2"],
        "created_at": "2025-01-02T03:04:05Z",
        "commit_url": "https://example.invalid/acme/ledger/tree/1",
        "rebuild_cmds": [],
        "test_cmds": ["pytest -rA"],
        "print_cmds": ["cat results.log"],
        "log_parser": "def parser(log: str) -> dict[str, str]:\n    raise SystemExit('never run')\n",
        "docker_image": f"acme/live.ledger-{number}",
    }


@builder
def smith(number: int) -> Row:
    return {
        "instance_id": f"acme__ledger.1a2b3c4d.func_basic__{number}",
        "repo": "swesmith/acme__ledger.1a2b3c4d",
        "patch": PATCH,
        **LISTS,
        "image_name": "acme/swesmith.ledger.1a2b3c4d",
        "problem_statement": ISSUE,
    }


@builder
def rebench(number: int) -> Row:
    return {
        **_common(number),
        **OLDER,
        **LISTS,
        "environment_setup_commit": "1a2b3c4d",
        "FAIL_TO_FAIL": [f"{TESTS_FILE}::test_old"],
        "PASS_TO_FAIL": [],
        "install_config": {"python": "3.9", "install": "pip install -e .", "test_cmd": "pytest -rA"},
        "requirements": "pytest==8.0",
        "environment": "name: testbed",
        "license_name": "MIT",
        "meta": {"num_modified_files": 1},
        "docker_image": f"acme/rebench.ledger-{number}",
        "image_name": None,
    }


@builder
def rebench_v2(number: int) -> Row:
    return {
        **_common(number),
        **LISTS,
        "created_at": 1735787045000,
        "interface": "",
        "language": "python",
        "license": "MIT",
        "pr_description": "Fixes the sums.",
        "install_config": {"install": ["pip install -e ."], "test_cmd": ["pytest -rA"]},
        "image_name": f"acme/v2.ledger:{number}",
        "meta": {"num_modified_files": 1},
    }


@builder
def gym(number: int) -> Row:
    return {
        **_common(number),
        **OLDER,
        **LISTS,
        "repo": "iterative/dvc",
        "instance_id": f"iterative__dvc-{number}",
    }


@builder
def multi(number: int) -> Row:
    def outcomes(*tests: str) -> dict[str, dict[str, str]]:
        return {test: {"run": "PASS", "test": "FAIL", "fix": "PASS"} for test in tests}

    return {
        "org": "acme",
        "repo": "ledger",
        "number": number,
        "state": "closed",
        "title": "Mend totals",
        "body": "Fixes #3.",
        "resolved_issues": [{"number": 3, "title": "Totals", "body": ISSUE}],
        "base": {"label": "acme:main", "ref": "main", "sha": COMMIT},
        "fix_patch": PATCH,
        "test_patch": TESTS,
        "fixed_tests": outcomes(*F2P),
        "p2p_tests": outcomes(*P2P),
        "f2p_tests": outcomes(F2P[0]),
        "s2p_tests": outcomes(F2P[1]),
        "n2p_tests": outcomes(F2P[2]),
        **{f"{name}_result": {"passed_count": 16} for name in ("run", "test_patch", "fix_patch")},
        "instance_id": f"acme__ledger-{number}",
    }


def short(test: str) -> str:
    """An id as R2E-Gym writes it: without its file."""
    return test.partition("::")[2].replace("::", ".")


@builder
def r2e(number: int) -> Row:
    digest = f"{number:012x}" + COMMIT[12:]
    lines = [{"content": "a - b", "type": "deleted"}, {"content": "a + b", "type": "added"}]
    ends = {"old_range": {"start": 1, "length": 1}, "new_range": {"start": 1, "length": 1}, "section": ""}
    diff = {
        "header": {"file": {"path": FILE}, "misc_line": None},
        "is_binary_file": False,
        "minus_file": {"path": f"a/{FILE}"},
        "plus_file": {"path": f"b/{FILE}"},
        "index_line": {"old_commit_hash": "7898192", "new_commit_hash": "6178079", "mode": "100644"},
        "hunks": [{"descriptor": ends, "line_group": {"all_lines": lines}}],
    }
    lines_of_log = [f"PASSED r2e_tests/t.py::{short(test)}" for test in P2P]
    lines_of_log += [f"FAILED r2e_tests/t.py::{short(test)} - no" for test in F2P]
    log = "\n".join(["=== short test summary info ===", *lines_of_log])
    return {
        "repo_name": "ledger",
        "docker_image": f"acme/ledger_final:{number}",
        "commit_hash": digest,
        "parsed_commit_content": json.dumps(
            {"file_diffs": [diff], "old_commit_hash": COMMIT, "new_commit_hash": digest}
        ),
        "execution_result_content": json.dumps({"old_commit_res_stdout": log, "test_file_names": ["test_1.py"]}),
        "modified_files": [FILE],
        "modified_entity_summaries": [],
        "relevant_files": [FILE],
        "num_non_test_files": 1,
        "prompt": "Write an issue.",
        "problem_statement": f"[ISSUE]{ISSUE}[/ISSUE]",
        "expected_output_json": json.dumps(dict.fromkeys(map(short, (*F2P, *P2P)), "PASSED")),
    }


# ---- files


def jsonl(file: Path, rows: Sequence[Row]) -> Path:
    file.write_bytes("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
    return file


def array(file: Path, rows: Sequence[Row]) -> Path:
    file.write_bytes(json.dumps(rows, indent=2).encode())
    return file


def single(file: Path, rows: Sequence[Row]) -> Path:
    (row,) = rows
    file.write_bytes(json.dumps(row, indent=1).encode())
    return file


def parquet(file: Path, rows: Sequence[Row]) -> Path:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    return file


CONTAINERS: Mapping[str, tuple[str, Callable[[Path, Sequence[Row]], Path]]] = {
    "jsonl": ("rows.jsonl", jsonl),
    "array": ("rows.json", array),
    "object": ("row.json", single),
    "parquet": ("rows.parquet", parquet),
}


# ---- directories

HARBOR = """\
schema_version = "1.4"

[metadata]
author_name = "Acme"  # kept

[verifier]
timeout_sec = 3000.0

[environment]
docker_image = "acme/ledger:7"
memory_mb = 4096
"""
TEST_SH = """\
#!/bin/bash
cd /testbed
source /opt/miniconda3/bin/activate
exec 3>&1 4>&2
exec > >(tee "$LOG_FILE") 2>&1
pytest -rA tests/test_sums.py || true
exec 1>&3 2>&4
python parser.py
"""
SETTINGS = """\
base_commit: 0f1e2d3c
eval_type: pass_and_fail
image: acme/eval.ledger:latest
instance_id: {name}
log_parser: parse_log_pytest
repo: acme/ledger
"""

Files = Mapping[str, str | bytes | None]


def _written(directory: Path, files: Mapping[str, str | bytes | None]) -> Path:
    for name, content in files.items():
        if content is not None:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def harbor(root: Path, number: int = 7, files: Files | None = None) -> Path:
    """A Harbor task directory below `root`; `files` replaces files by their path, None leaves one out."""
    name = f"acme__ledger-{number}"
    standard: Files = {
        "task.toml": HARBOR,
        "instruction.md": ISSUE,
        "environment/Dockerfile": "FROM acme/base\nCOPY source/ /x\n",
        "environment/source/data.bin": b"\x00\xff",
        "tests/config.json": json.dumps(classic(number), indent=2),
        "tests/test.sh": TEST_SH,
        "solution/solve.sh": "true\n",
    }
    return _written(root / name, {**standard, **(files or {})})


def task_repo(root: Path, number: int = 7, files: Files | None = None) -> Path:
    """A task of a SWE-bench 5 task repo at `root`."""
    name = f"acme__ledger-{number}"
    _written(root, {"sweb.yaml": "datasets:\n- acme/tasks\n"})
    standard: Files = {
        "task.yaml": SETTINGS.format(name=name),
        "tests.json": json.dumps({"FAIL_TO_PASS": F2P, "PASS_TO_PASS": P2P}, indent=2) + "\n",
        "gold.patch": PATCH,
        "test.patch": TESTS,
        "eval.sh": SCRIPT,
        "problem_statement.md": ISSUE,
        "hints.md": "Look at sums.py.\n",
        "Dockerfile": "FROM scratch\n",
    }
    return _written(root / "tasks" / name, {**standard, **(files or {})})


def tree(directory: Path) -> dict[str, bytes | str]:
    """Everything below a directory by path: contents of files, targets of links, empty texts for folders."""
    found: dict[str, bytes | str] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else ""
    return found
