"""R2E-Gym rows: lists from outcomes and a log, an oracle from a commit that was taken apart."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair.formats.base import Draft, RowError, Wants
from repair.formats.rows.r2e_gym import FORMAT, is_test
from tests.formats import rows
from tests.formats.row_samples import R2E_LINK, R2E_RUN


def hunk(*lines: str, old: tuple[int, int | None] = (1, 1), new: tuple[int, int | None] = (1, 1)) -> dict[str, Any]:
    """A hunk as R2E-Gym writes it, of lines with their signs."""
    kinds = {" ": "context", "+": "added", "-": "deleted", "\\": "note"}
    return {
        "descriptor": {
            "old_range": {"start": old[0], "length": old[1]},
            "new_range": {"start": new[0], "length": new[1]},
            "section": "",
        },
        "line_group": {
            "all_lines": [
                {"content": line[1:].removeprefix(" ") if line[0] == "\\" else line[1:], "type": kinds[line[0]]}
                for line in lines
            ]
        },
        "modified_entities": [],
        "added_entities": [],
        "deleted_entities": [],
    }


def file(path: str, *hunks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "old_file_content": "",
        "new_file_content": "",
        "header": {"file": {"path": path}, "misc_line": more.pop("misc_line", None)},
        "index_line": {"old_commit_hash": "7898192", "new_commit_hash": "6178079", "mode": "100644"},
        "is_binary_file": False,
        "binary_line": None,
        "minus_file": {"path": f"a/{path}"},
        "plus_file": {"path": f"b/{path}"},
        "hunks": list(hunks),
        **more,
    }


def commit(*files: dict[str, Any]) -> str:
    return json.dumps({"file_diffs": files, "old_commit_hash": "0f1e2d3c^", "new_commit_hash": "0f1e2d3c"})


def log(*lines: str, colour: bool = False) -> str:
    head = (
        "=== test session starts ===\nPASSED r2e_tests/test_1.py::printed_by_a_test\n=== short test summary info ===\n"
    )
    told = [line.replace("PASSED", "\x1b[32mPASSED\x1b[0m") if colour else line for line in lines]
    return head + "\n".join([*told, "=== 1 failed, 2 passed in 0.57s ==="])


MONEY = file("ledger/money.py", hunk("-a", "+b"))


def draft(**change: Any) -> Draft:
    return FORMAT.draft(rows.r2e(**change), Wants())


def with_log(**change: Any) -> str:
    return json.dumps({**json.loads(rows.r2e()["execution_result_content"]), **change})


def oracle(*files: dict[str, Any]) -> bytes:
    return draft(parsed_commit_content=commit(*files)).oracle_patch


def test_a_test_that_fails_with_the_reference_is_in_no_list() -> None:
    expected = {**json.loads(rows.r2e()["expected_output_json"]), "TestSign.test_old": "FAILED"}
    found = draft(expected_output_json=expected)
    assert found == replace(draft(), notes=("1 of its tests fail with the reference too: in no list",))


def test_objects_that_are_no_texts_are_the_same() -> None:
    columns = ("parsed_commit_content", "execution_result_content")
    assert draft(**{column: json.loads(rows.r2e()[column]) for column in columns}) == draft()


def test_the_commits_own_hash_makes_the_id_where_the_column_is_absent() -> None:
    assert draft(commit_hash=None).instance_id == "ledger__000000000007"


@pytest.mark.parametrize(("said", "told"), [("Sign is lost\n", "Sign is lost"), ("", ""), (None, "")])
def test_what_the_solver_is_told(said: str | None, told: str) -> None:
    found = draft(problem_statement=said)
    assert found.instruction == told
    assert ("the row has no problem statement" in found.notes) is not bool(told)


# ---- lists

SPLIT: dict[str, tuple[dict[str, str], str, tuple[str, ...], tuple[str, ...]]] = {
    "passed before": ({"a": "PASSED"}, log("PASSED r2e_tests/test_1.py::a"), (), ("a",)),
    "failed before": ({"a": "PASSED"}, log("FAILED r2e_tests/test_1.py::a - x"), ("a",), ()),
    "an error before": ({"a": "PASSED"}, log("ERROR r2e_tests/test_1.py::a"), ("a",), ()),
    "in no line before": ({"a": "PASSED"}, log("ERROR r2e_tests/test_1.py - ImportError"), ("a",), ()),
    "before the summary is no evidence": ({"printed_by_a_test": "PASSED"}, log(), ("printed_by_a_test",), ()),
    "failed with the reference": ({"a": "FAILED", "b": "ERROR"}, log("PASSED r2e_tests/test_1.py::a"), (), ()),
    "a message that says PASSED": ({"a": "PASSED"}, log("FAILED r2e_tests/test_1.py::a - PASSED x::a"), ("a",), ()),
    "one name in two files takes the worst": (
        {"a": "PASSED"},
        log("PASSED r2e_tests/test_1.py::a", "FAILED r2e_tests/test_2.py::a - x"),
        ("a",),
        (),
    ),
    "classes and colons become dots": (
        {"A.B.test[x.y]": "PASSED"},
        log("PASSED r2e_tests/test_1.py::A::B::test[x::y]"),
        (),
        ("A.B.test[x.y]",),
    ),
    "a dash in parameters": ({"a[1 - 2]": "PASSED"}, log("PASSED r2e_tests/test_1.py::a[1 - 2]"), (), ("a[1 - 2]",)),
    "colours in the log": ({"a": "PASSED"}, log("PASSED r2e_tests/test_1.py::a", colour=True), (), ("a",)),
    "colours in the id": (
        {"\x1b[1ma\x1b[0m": "PASSED"},
        log("PASSED r2e_tests/test_1.py::\x1b[1ma\x1b[0m"),
        (),
        ("a",),
    ),
    "carriage returns": ({"a": "PASSED"}, log("PASSED r2e_tests/test_1.py::a\r"), (), ("a",)),
    "the file that does not import has no name": ({"": "ERROR", "a": "PASSED"}, log(), ("a",), ()),
    "no test at all": ({}, log(), (), ()),
}


@pytest.mark.parametrize(("expected", "before", "f2p", "p2p"), SPLIT.values(), ids=SPLIT)
def test_lists(expected: dict[str, str], before: str, f2p: tuple[str, ...], p2p: tuple[str, ...]) -> None:
    found = draft(expected_output_json=expected, execution_result_content=with_log(old_commit_res_stdout=before))
    assert (found.f2p, found.p2p) == (f2p, p2p)


# ---- the oracle


def applied(diff: bytes, folder: Path, **files: str) -> dict[str, str]:
    """What git makes of files by a diff: path, with `__` for a slash, to content."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, check=True, capture_output=True)
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


NOWHERE = {"path": "/dev/null"}


def test_git_takes_the_diff_of_new_changed_and_deleted_files(tmp_path: Path) -> None:
    diff = oracle(
        file(
            "ledger/money.py", hunk(" a", "-b", "+B", " c", old=(1, 3), new=(1, 3)), hunk("+z", old=(9, 0), new=(10, 1))
        ),
        file(
            "ledger/due.py",
            hunk("+d", "+e", old=(0, 0), new=(1, 2)),
            misc_line="new file mode 100644",
            minus_file=NOWHERE,
        ),
        file(
            "ledger/old.py",
            hunk("-o", old=(1, None), new=(0, 0)),
            misc_line="deleted file mode 100644",
            plus_file=NOWHERE,
        ),
        file(
            "ledger/__init__.py",
            misc_line="new file mode 100644",
            minus_file=None,
            plus_file=None,
            index_line={"old_commit_hash": "0000000", "new_commit_hash": "e69de29", "mode": ""},
        ),
    )
    found = applied(diff, tmp_path, ledger__money_py="a\nb\nc\n4\n5\n6\n7\n8\n9\n", ledger__old_py="o\n")
    assert found == {
        "ledger/__init__.py": "",
        "ledger/due.py": "d\ne\n",
        "ledger/money.py": "a\nB\nc\n4\n5\n6\n7\n8\n9\nz\n",
    }


def test_a_file_that_ends_without_a_newline(tmp_path: Path) -> None:
    diff = oracle(file("ledger/money.py", hunk("-a", "\\ No newline at end of file", "+b")))
    assert applied(diff, tmp_path, ledger__money_py="a") == {"ledger/money.py": "b\n"}


def test_new_and_deleted_files_whose_mode_the_row_lost(tmp_path: Path) -> None:
    diff = oracle(
        file("ledger/due.py", hunk("+d", old=(0, 0), new=(1, 1)), minus_file=NOWHERE, index_line=None),
        file("ledger/old.py", hunk("-o", old=(1, 1), new=(0, 0)), plus_file=NOWHERE, index_line=None),
    )
    assert applied(diff, tmp_path, ledger__old_py="o\n") == {"ledger/due.py": "d\n"}


def test_a_name_that_git_escaped(tmp_path: Path) -> None:
    diff = oracle(file("ledger/\\303\\251.txt", hunk("-a", "+b")))
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "é.txt").write_text("a\n")
    assert applied(diff, tmp_path) == {"ledger/é.txt": "b\n"}


def test_a_name_with_a_blank(tmp_path: Path) -> None:
    diff = oracle(file("ledger/a b.txt", hunk("-a", "+b")))
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "a b.txt").write_text("a\n")
    assert applied(diff, tmp_path) == {"ledger/a b.txt": "b\n"}


def test_modes_alone_and_binary_files_are_left_out() -> None:
    found = draft(
        parsed_commit_content=commit(
            MONEY,
            file("run.py", misc_line="old mode 100644", minus_file=None, plus_file=None),
            file("logo.png", is_binary_file=True, binary_line="Binary files a/logo.png and b/logo.png differ"),
        )
    )
    assert found.oracle_patch == oracle(MONEY)
    assert "1 binary files of the commit are not in the oracle: the row does not hold them" in found.notes


PATHS = {
    "ledger/money.py": False,
    "ledger/testing/rounding.py": False,
    "ledger/contest.py": False,
    "docs/test.md": False,
    "test_money.py": True,
    "ledger/test_money.py": True,
    "ledger/money_test.py": True,
    "tests/data/sums.json": True,
    "ledger/Tests/helper.py": True,
    "ledger/test/helper.py": True,
}


@pytest.mark.parametrize(("path", "said"), PATHS.items(), ids=PATHS)
def test_what_is_a_test_is_not_in_the_oracle(path: str, said: bool) -> None:
    assert is_test(path) is said
    assert (path.encode() in oracle(file("setup.py", hunk("-a", "+b")), file(path, hunk("-a", "+b")))) is not said


# ---- commands


def test_orange3_gets_a_display() -> None:
    command = draft(repo_name="orange3").runtime["test_cmd"]
    run = R2E_RUN.replace(".venv", "xvfb-run --auto-servernum .venv")
    assert command == f'{R2E_LINK} && QT_QPA_PLATFORM=minimal {run} "$@"'


def test_a_runner_of_the_images_own_is_noted() -> None:
    names = ["test_1.py", "tornado_unittest_runner.py"]
    found = draft(execution_result_content=with_log(test_file_names=names))
    assert found.runtime == draft().runtime
    assert found.notes[0] == "its image runs the tests by tornado_unittest_runner.py: pytest runs in its place"


# ---- what is no task

COMMITS: dict[str, tuple[Any, str]] = {
    "a file without hunks": ({"file_diffs": [{**MONEY, "hunks": None}]}, "not what R2E-Gym"),
    "a line of a kind that nobody knows": (
        {"file_diffs": [file("a.py", {**hunk("+a"), "line_group": {"all_lines": [{"type": "moved", "content": ""}]}})]},
        "not what R2E-Gym writes",
    ),
    "a commit of tests": (commit(file("tests/a.py", hunk("-a", "+b"))), "nothing but tests"),
}


@pytest.mark.parametrize(("content", "problem"), COMMITS.values(), ids=COMMITS)
def test_a_commit_that_is_no_reference_names_its_column(content: Any, problem: str) -> None:
    with pytest.raises(RowError, match=problem) as caught:
        draft(parsed_commit_content=content)
    assert caught.value.field == "parsed_commit_content"


def test_a_row_without_any_hash_is_no_task() -> None:
    content = {**json.loads(rows.r2e()["parsed_commit_content"]), "new_commit_hash": None}
    with pytest.raises(RowError, match="is missing") as caught:
        draft(commit_hash=None, parsed_commit_content=content)
    assert caught.value.field == "commit_hash"
