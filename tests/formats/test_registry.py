"""Which format a row or a directory is of: exactly one, or a message that says what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.formats import registry
from repair.formats.base import DirectoryFormat, Row, RowError, RowFormat, Wants

PATCH = "--- a/ledger/sums.py\n+++ b/ledger/sums.py\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = PATCH.replace("ledger/sums.py", "tests/test_sums.py")
F2P, P2P = ["tests/test_sums.py::test_total"], ["tests/test_sums.py::test_zero"]
COMMON: dict[str, Any] = {
    "repo": "acme/ledger",
    "instance_id": "acme__ledger-7",
    "base_commit": "1" * 40,
    "patch": PATCH,
    "test_patch": TESTS,
    "problem_statement": "Totals are differences.",
}
LISTS: dict[str, Any] = {"FAIL_TO_PASS": F2P, "PASS_TO_PASS": P2P}
TEXTS = {name: json.dumps(ids) for name, ids in LISTS.items()}
OLDER = {"hints_text": "", "created_at": "2025-01-02", "version": "1.2"}
SCRIPT = "cd /testbed\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n"
R2E = {
    "repo_name": "ledger",
    "docker_image": "acme/ledger_final:1",
    "commit_hash": "1" * 40,
    "parsed_commit_content": "{}",
    "execution_result_content": "{}",
    "expected_output_json": "{}",
}
TESTED = {"acme.SumsTest": {"run": "NONE", "test": "FAIL", "fix": "PASS"}}

MINIMAL: dict[str, Row] = {
    "swe-bench": {**COMMON, **TEXTS, "environment_setup_commit": "2" * 40},
    "swe-bench-5": {**COMMON, **TEXTS, "image": "acme/ledger:7", "eval_script": SCRIPT, "log_parser": "pytest"},
    "swe-bench-pro": {
        **{column: COMMON[column] for column in ("repo", "instance_id", "base_commit", "patch")},
        "fail_to_pass": str(F2P),
        "pass_to_pass": str(P2P),
        "before_repo_set_cmd": "git checkout 1 -- tests",
        "selected_test_files_to_run": "['tests/test_sums.py']",
    },
    "swe-bench-live": {**COMMON, **LISTS, "test_cmds": ["pytest -rA"], "log_parser": "pytest"},
    "swe-smith": {
        **{column: COMMON[column] for column in ("repo", "instance_id", "patch")},
        **LISTS,
        "image_name": "acme/swesmith.x86_64.ledger",
    },
    "swe-rebench": {
        **COMMON,
        **LISTS,
        "FAIL_TO_FAIL": [],
        "PASS_TO_FAIL": [],
        "install_config": {"test_cmd": "pytest"},
    },
    "swe-rebench-v2": {**COMMON, **LISTS, "image_name": "acme/ledger:7", "install_config": {"test_cmd": ["pytest"]}},
    "swe-gym": {**COMMON, **LISTS, "repo": "iterative/dvc"},
    "multi-swe-bench": {
        "org": "acme",
        "repo": "ledger",
        "number": 7,
        "fix_patch": PATCH,
        "test_patch": TESTS,
        "f2p_tests": TESTED,
        "s2p_tests": {},
        "n2p_tests": {},
        "p2p_tests": {},
    },
    "r2e-gym": R2E,
}
# Columns that only some revisions, or copies, have.
MORE: dict[str, tuple[str, Row]] = {
    "classic, known by its repo": ("swe-bench", {**COMMON, **TEXTS, "repo": "psf/requests"}),
    "classic, all columns": ("swe-bench", {**MINIMAL["swe-bench"], **OLDER}),
    "classic, real lists and an image": ("swe-bench", {**MINIMAL["swe-bench"], **LISTS, "image_name": "acme/ledger:7"}),
    "classic, Multimodal": ("swe-bench", {**MINIMAL["swe-bench"], "image_assets": "{}"}),
    "classic, columns without a value": ("swe-bench", dict.fromkeys(MINIMAL["swe-bench"])),
    "five, all columns": (
        "swe-bench-5",
        {**MINIMAL["swe-bench-5"], **OLDER, "eval_type": "pass_and_fail", "image_assets": {}},
    ),
    "five, of a repo of the classic ones": ("swe-bench-5", {**MINIMAL["swe-bench-5"], "repo": "psf/requests"}),
    "five, with a set-up commit": ("swe-bench-5", {**MINIMAL["swe-bench-5"], "environment_setup_commit": "2"}),
    "pro, all columns": (
        "swe-bench-pro",
        {
            **MINIMAL["swe-bench-pro"],
            **dict.fromkeys(("requirements", "interface", "repo_language", "issue_categories"), ""),
            "test_patch": TESTS,
            "problem_statement": "",
            "dockerhub_tag": "acme.ledger-7",
        },
    ),
    "live, all columns": (
        "swe-bench-live",
        {
            **MINIMAL["swe-bench-live"],
            "pull_number": "7",
            "docker_image": "acme/ledger:7",
            "rebuild_cmds": [],
            "print_cmds": [],
            "created_at": "",
            "commit_urls": [],
            "issue_numbers": [],
        },
    ),
    "live, of a repo of SWE-Gym": ("swe-bench-live", {**MINIMAL["swe-bench-live"], "repo": "iterative/dvc"}),
    "smith, an older revision": (
        "swe-smith",
        {**MINIMAL["swe-smith"], "base_commit": "1", "created_at": "", "problem_statement": ""},
    ),
    "smith, known by its repo": (
        "swe-smith",
        {**{k: v for k, v in MINIMAL["swe-smith"].items() if k != "image_name"}, "repo": "swesmith/acme__ledger.1"},
    ),
    "rebench, all columns": (
        "swe-rebench",
        {
            **MINIMAL["swe-rebench"],
            **OLDER,
            "environment_setup_commit": "2",
            "docker_image": "acme/ledger:7",
            **dict.fromkeys(("requirements", "environment", "license_name", "meta", "image_name"), ""),
        },
    ),
    "rebench, the first revision": (
        "swe-rebench",
        {**COMMON, **LISTS, **OLDER, "FAIL_TO_FAIL": [], "PASS_TO_FAIL": []},
    ),
    "rebench, a text for its config": (
        "swe-rebench",
        {**MINIMAL["swe-rebench-v2"], "install_config": json.dumps({"python": "3.9", "test_cmd": "pytest"})},
    ),
    "rebench, a config of both versions' keys": (
        "swe-rebench",
        {**MINIMAL["swe-rebench"], "install_config": {"python": "3.9", "base_image_name": None, "test_cmd": "pytest"}},
    ),
    "rebench V2, with a list of V1": ("swe-rebench-v2", {**MINIMAL["swe-rebench-v2"], "FAIL_TO_FAIL": []}),
    "rebench V2, one command": (
        "swe-rebench-v2",
        {**MINIMAL["swe-rebench-v2"], "created_at": 1735787045000, "install_config": {"test_cmd": "pytest"}},
    ),
    "classic, Multimodal without a set-up commit": (
        "swe-bench",
        {**COMMON, **TEXTS, "image_assets": {"problem_statement": []}},
    ),
    "smith, a blank for hidden tests": ("swe-smith", {**MINIMAL["swe-smith"], "test_patch": ""}),
    "classic, an image and no hidden tests": (
        "swe-bench",
        {**MINIMAL["swe-bench"], "image_name": "acme/ledger:7", "test_patch": ""},
    ),
    "rebench V2, all columns": (
        "swe-rebench-v2",
        {
            **MINIMAL["swe-rebench-v2"],
            **dict.fromkeys(("interface", "license", "pr_description", "meta"), ""),
            "language": "c",
            "created_at": 1735787045000,
        },
    ),
    "gym, all columns": ("swe-gym", {**MINIMAL["swe-gym"], **OLDER}),
    "gym, capital letters": ("swe-gym", {**MINIMAL["swe-gym"], "repo": "Project-MONAI/MONAI"}),
    "multi, all columns": (
        "multi-swe-bench",
        {
            **MINIMAL["multi-swe-bench"],
            **{column: {} for column in ("fixed_tests", "run_result", "test_patch_result", "fix_patch_result", "base")},
            "state": "closed",
            "title": "",
            "body": "",
            "resolved_issues": [],
            "instance_id": "acme__ledger-7",
        },
    ),
    "r2e, all columns": (
        "r2e-gym",
        {
            **R2E,
            **dict.fromkeys(("modified_files", "relevant_files", "modified_entity_summaries"), "[]"),
            "prompt": "",
            "problem_statement": "",
            "num_non_test_files": 1,
        },
    ),
}


def test_every_format_has_its_name_and_a_row_here() -> None:
    assert set(MINIMAL) == set(registry.ROWS)
    every: list[tuple[str, RowFormat | DirectoryFormat]] = [*registry.ROWS.items(), *registry.DIRECTORIES.items()]
    assert [known.name for _, known in every] == [name for name, _ in every]
    assert all(known.title for _, known in every)
    assert not {registry.AUTO, registry.NATIVE} & {name for name, _ in every}
    assert len({name for name, _ in every}) == len(every)


@pytest.mark.parametrize("name", MINIMAL)
def test_a_row_fits_its_own_format_alone(name: str) -> None:
    assert [known.name for known in registry.ROWS.values() if known.fits(MINIMAL[name])] == [name]
    assert registry.of_row(MINIMAL[name], registry.AUTO) is registry.ROWS[name]


@pytest.mark.parametrize(("name", "row"), MORE.values(), ids=MORE)
def test_a_row_of_another_revision_fits_its_own_format_alone(name: str, row: Row) -> None:
    assert [known.name for known in registry.ROWS.values() if known.fits(row)] == [name]


@pytest.mark.parametrize("name", sorted(set(MINIMAL) - {"swe-rebench", "swe-rebench-v2"}))
def test_what_a_column_says_does_not_matter_but_for_the_repo(name: str) -> None:
    """What a column is worth is the draft's affair, which says the field."""
    row = {column: value if column == "repo" else "" for column, value in MINIMAL[name].items()}
    assert registry.of_row(row, registry.AUTO).name == name


NULLS: Row = {column: None for row in [*MINIMAL.values(), *(row for _, row in MORE.values())] for column in row}


@pytest.mark.parametrize("name", MINIMAL)
def test_a_column_without_a_value_is_absent(name: str) -> None:
    """A Parquet file gives each row the columns of all, and so do tables that were put together."""
    assert registry.of_row({**NULLS, **MINIMAL[name]}, registry.AUTO).name == name


@pytest.mark.parametrize(("name", "row"), MORE.values(), ids=MORE)
def test_so_it_is_in_another_revision(name: str, row: Row) -> None:
    if any(value is not None for value in row.values()):
        assert registry.of_row({**NULLS, **row}, registry.AUTO).name == name


def test_a_set_up_commit_without_a_value_is_a_sign_where_there_is_no_other() -> None:
    row = {**COMMON, **TEXTS, "environment_setup_commit": None}
    assert registry.of_row(row, registry.AUTO).name == "swe-bench"
    other = {**MINIMAL["swe-gym"], "environment_setup_commit": None}
    assert registry.of_row(other, registry.AUTO).name == "swe-gym"


@pytest.mark.parametrize("column", ["patch", "FAIL_TO_PASS", "problem_statement"])
@pytest.mark.parametrize("name", ["swe-bench", "swe-bench-live", "swe-rebench-v2", "swe-smith"])
def test_a_null_that_every_format_needs_is_the_drafts_to_name(name: str, column: str) -> None:
    row = {**NULLS, **MINIMAL[name], column: None}
    assert registry.of_row(row, registry.AUTO).name == name


@pytest.mark.parametrize("name", registry.ROWS)
def test_columns_of_the_lists_are_those_that_a_draft_asks_for(name: str) -> None:
    known = registry.ROWS[name]
    columns = {*known.f2p, *known.p2p, *known.also}
    assert columns
    assert columns & MINIMAL[name].keys()


@pytest.mark.parametrize("name", sorted(set(registry.ROWS) - {"r2e-gym"}))
def test_a_minimal_row_is_a_task(name: str) -> None:
    draft = registry.ROWS[name].draft(MINIMAL[name], Wants(image_template="acme/ledger:{instance_id}"))
    assert (len(draft.f2p), draft.oracle_patch != b"", draft.runtime["test_cmd"] != "") == (1, True, True)


def test_a_row_that_fits_two_formats_asks_which() -> None:
    both = {**MINIMAL["swe-bench-5"], **MINIMAL["swe-bench-live"]}
    with pytest.raises(RowError) as caught:
        registry.of_row(both, registry.AUTO)
    assert caught.value.field == ""
    assert caught.value.problem == "fits swe-bench-5 and swe-bench-live: say which with --format"
    for name in ("swe-bench-5", "swe-bench-live"):
        assert registry.of_row(both, name).name == name


TWO_VERSIONS = {
    "a date of V2 and a list of V1": {
        **MINIMAL["swe-rebench-v2"],
        "created_at": 1735787045000,
        "FAIL_TO_FAIL": ["tests/test_sums.py::test_old"],
    },
    "nothing that tells": {**MINIMAL["swe-rebench-v2"], "install_config": {"test_cmd": "pytest"}},
}


@pytest.mark.parametrize("row", TWO_VERSIONS.values(), ids=TWO_VERSIONS)
def test_a_row_that_could_be_of_both_versions_asks_which(row: Row) -> None:
    with pytest.raises(RowError, match="fits swe-rebench and swe-rebench-v2: say which with --format"):
        registry.of_row(row, registry.AUTO)


FEW = {
    "a column": ({**COMMON, **LISTS}, "swe-bench, but for environment_setup_commit; --format swe-bench"),
    "a null": (
        {**COMMON, **LISTS, "image_assets": None, "test_cmds": None},
        "swe-bench, but for environment_setup_commit; --format swe-bench",
    ),
    "two columns": (
        {column: value for column, value in {**COMMON, **LISTS}.items() if column != "base_commit"},
        "swe-bench, but for base_commit and environment_setup_commit; --format swe-bench",
    ),
    "another format's": (
        {column: value for column, value in MINIMAL["swe-bench-5"].items() if column != "log_parser"},
        "swe-bench-5, but for log_parser; --format swe-bench-5",
    ),
}


@pytest.mark.parametrize(("row", "nearest"), FEW.values(), ids=FEW)
def test_a_row_that_lacks_a_few_columns_hears_which(row: Row, nearest: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row(row, registry.AUTO)
    assert caught.value.problem.endswith(f"; nearest: {nearest} takes it as that")
    registry.of_row(row, nearest.partition(",")[0]).draft(row, Wants())


@pytest.mark.parametrize("column", ["patch", "FAIL_TO_PASS", "repo"])
def test_a_row_that_lacks_more_is_near_to_none(column: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row({**COMMON, **LISTS, column: None}, registry.AUTO)
    assert "nearest" not in caught.value.problem


UNKNOWN: dict[str, tuple[Row, str]] = {
    "no column": ({}, "fits no format that is known by its columns ()"),
    "other columns": ({"question": 1, "answer": 2}, "fits no format that is known by its columns (answer, question)"),
    "a native task": (
        {"instance_id": "a", "image": "b", **LISTS},
        "its columns (FAIL_TO_PASS, PASS_TO_PASS, image, instance_id)",
    ),
    "SWE-bench's columns, of a repo that nobody knows": ({**COMMON, **LISTS}, "fits no format that is known"),
    "many columns": (
        {f"c{n:02}": n for n in range(40)},
        "(c00, c01, c02, c03, c04, c05, c06, c07, c08, c09, c10, c11, …)",
    ),
    "a repo that is none": ({**COMMON, **LISTS, "repo": ["acme"]}, "fits no format that is known"),
    "a repo that is null": ({**COMMON, **LISTS, "repo": None}, "fits no format that is known"),
}


@pytest.mark.parametrize(("row", "problem"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_row_that_fits_none_shows_its_columns(row: Row, problem: str) -> None:
    with pytest.raises(RowError) as caught:
        registry.of_row(row, registry.AUTO)
    assert problem in caught.value.problem
    assert caught.value.field == ""


@pytest.mark.parametrize("name", registry.ROWS)
def test_the_format_that_is_asked_for_is_taken(name: str) -> None:
    known = registry.of_row({}, name)
    assert known is registry.ROWS[name]
    with pytest.raises(RowError):
        known.draft({}, Wants())


@pytest.mark.parametrize("name", registry.DIRECTORIES)
def test_a_row_is_of_no_format_of_directories(name: str) -> None:
    with pytest.raises((RowError, UsageError), match="director"):
        registry.of_row(MINIMAL["swe-bench"], name)


@pytest.mark.parametrize("name", [registry.AUTO, *registry.ROWS, *registry.DIRECTORIES])
def test_names_of_formats(name: str) -> None:
    registry.check_name(name)


@pytest.mark.parametrize("name", ["", "SWE-bench", "swebench", "jsonl", "swe-bench "])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(UsageError, match="there is no format") as caught:
        registry.check_name(name)
    assert all(known in caught.value.next for known in ("auto", "swe-bench", "harbor", "r2e-gym"))


# ---- directories


def harbor(path: Path) -> Path:
    (path / "tests").mkdir(parents=True)
    (path / "task.toml").write_text('version = "1.0"\n')
    (path / "instruction.md").write_text("Mend it.\n")
    (path / "tests/config.json").write_text(json.dumps(MINIMAL["swe-bench"]))
    return path


def five(path: Path) -> Path:
    task = path / "tasks" / "acme__ledger-7"
    task.mkdir(parents=True)
    (path / "sweb.yaml").write_text("name: ledger\n")
    (task / "task.yaml").write_text("instance_id: acme__ledger-7\n")
    (task / "tests.json").write_text("{}")
    return task


@pytest.mark.parametrize("name", [registry.AUTO, "harbor"])
def test_a_directory_of_harbor_tasks(tmp_path: Path, name: str) -> None:
    tasks = [harbor(tmp_path / "one"), harbor(tmp_path / "two")]
    assert registry.of_directory(tmp_path, name) == (registry.DIRECTORIES["harbor"], tasks)
    assert registry.of_directory(tasks[0], name) == (registry.DIRECTORIES["harbor"], tasks[:1])


@pytest.mark.parametrize("name", [registry.AUTO, "swe-bench-5-repo"])
def test_a_task_repo(tmp_path: Path, name: str) -> None:
    task = five(tmp_path)
    assert registry.of_directory(tmp_path, name) == (registry.DIRECTORIES["swe-bench-5-repo"], [task])


def test_a_directory_that_holds_both_asks_which(tmp_path: Path) -> None:
    five(tmp_path)
    harbor(tmp_path / "one")
    with pytest.raises(UsageError, match="holds tasks of swe-bench-5-repo and harbor; say which with --format"):
        registry.of_directory(tmp_path, registry.AUTO)
    found = registry.of_directory(tmp_path, "harbor")
    assert found is not None
    assert found[0] is registry.DIRECTORIES["harbor"]


@pytest.mark.parametrize("name", [registry.AUTO, *registry.DIRECTORIES, "swe-bench"])
def test_a_directory_of_files_holds_no_task(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    assert registry.of_directory(tmp_path, name) is None
