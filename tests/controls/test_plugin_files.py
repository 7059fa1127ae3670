"""Whole files in the pytest plugin: which of them run where somebody named them, by glob or folder, or nobody did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from repair.model import Observed, Outcome
from tests.support import hostpytest
from tests.support.hostpytest import installed

T = "def test_a():\n    pass\n\n\ndef test_b():\n    assert 0\n"
PASSES = "def test_p():\n    pass\n"
BREAKS = "import ledger_of_acme\n\n\ndef test_no():\n    pass\n"


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def found_in(
    folder: Path, python: str, files: Sequence[str], *options: str, found: bool = False, ids: Sequence[str] = ()
) -> tuple[dict[str, str], dict[str, str]]:
    """(outcomes of all tests that a control of these files finds, causes of the places that it could not read)."""
    order = ["-p", "no:randomly"] if "randomly" in installed(python)[1] else []
    run = hostpytest.run(folder, ids, *order, *options, python=python, files=files, found=found).judged()
    assert set(run.observed) == set(ids)
    return {test: str(seen.outcome) for test, seen in run.found.items()}, {
        place: seen.cause for place, seen in run.broken.items()
    }


# ---- whole files


def test_all_of_a_file_is_found_whatever_is_listed(work: Path, python: str) -> None:
    write(work, {"test_t.py": T, "test_u.py": PASSES})
    ids = ["test_t.py::test_a", "test_u.py::test_p", "test_t.py::test_gone"]
    run = hostpytest.run(work, ids, python=python, files=["test_t.py"]).judged()
    assert {test: str(seen.outcome) for test, seen in run.found.items()} == {
        "test_t.py::test_a": "passed",
        "test_t.py::test_b": "failed",
    }
    assert [str(run.observed[test].outcome) for test in ids] == ["passed", "missing", "missing"]
    assert run.broken == {}


def test_a_file_that_cannot_be_read_says_why_and_the_others_run(work: Path, python: str) -> None:
    skips = "import pytest\n\npytest.importorskip('ledger_of_acme')\n\n\ndef test_x():\n    pass\n"
    write(
        work,
        {"test_t.py": T, "test_no.py": BREAKS, "test_skips.py": skips, "in/conftest.py": "import ledger_of_acme\n"},
    )
    write(work, {"in/test_in.py": PASSES})
    files = ["test_t.py", "test_no.py", "test_skips.py", "in/test_in.py", "test_gone.py"]
    found, broken = found_in(work, python, files)
    assert set(found) == {"test_t.py::test_a", "test_t.py::test_b"}
    assert set(broken) == {"test_no.py", "test_skips.py", "in", "test_gone.py"}
    assert "No module named" in broken["test_no.py"]
    assert "ledger_of_acme" in broken["in"]
    assert broken["test_gone.py"] == "no such file in the image"


def test_no_file_at_all_means_whatever_the_command_runs(work: Path, python: str) -> None:
    write(work, {"test_t.py": T, "sub/test_u.py": PASSES, "helper.py": PASSES})
    assert set(found_in(work, python, [])[0]) == {"test_t.py::test_a", "test_t.py::test_b", "sub/test_u.py::test_p"}
    assert set(found_in(work, python, [], "sub", found=True)[0]) == {"sub/test_u.py::test_p"}


def test_a_run_without_any_test_finds_nothing(work: Path, python: str) -> None:
    write(work, {"helper.py": PASSES, "test_t.py": T})
    assert found_in(work, python, ["helper.py"], found=True) == ({}, {})


# ---- files that nobody named, but a diff


HELPERS = {
    "test_t.py": PASSES,
    "helper.py": PASSES,
    "conftest.py": "import pytest\n\n\ndef test_conftest():\n    assert 0\n",
    "check_c.py": PASSES,
}


@pytest.mark.parametrize(
    ("found", "expected"),
    [(True, {"test_t.py"}), (False, {"test_t.py", "helper.py", "check_c.py"})],
    ids=["of a diff, what pytest would look into", "named, whatever they are called"],
)
def test_which_files_count(work: Path, python: str, found: bool, expected: set[str]) -> None:
    write(work, HELPERS)
    files = sorted(set(HELPERS) - (set() if found else {"conftest.py"}))
    tests, broken = found_in(work, python, files, found=found)
    assert {test.partition("::")[0] for test in tests} == expected
    assert broken == {}


def test_the_repos_own_pattern_says_which_files_of_a_diff_count(work: Path, python: str) -> None:
    write(work, {**HELPERS, "pytest.ini": "[pytest]\npython_files = check_*.py help?r.py\n"})
    assert set(found_in(work, python, ["check_c.py", "helper.py", "test_t.py"], found=True)[0]) == {
        "check_c.py::test_p",
        "helper.py::test_p",
    }


def test_a_pattern_with_a_folder_counts_too(work: Path, python: str) -> None:
    write(work, {"unit/part.py": PASSES, "more/part.py": PASSES, "pytest.ini": "[pytest]\npython_files = unit/*.py\n"})
    write(work, {"unit/__init__.py": "", "more/__init__.py": ""})
    assert set(found_in(work, python, ["unit/part.py", "more/part.py"], found=True)[0]) == {"unit/part.py::test_p"}


def test_a_file_of_a_diff_that_is_gone_is_named(work: Path, python: str) -> None:
    write(work, {"test_t.py": PASSES})
    found, broken = found_in(work, python, ["test_t.py", "test_gone.py"], found=True)
    assert (set(found), broken) == ({"test_t.py::test_p"}, {"test_gone.py": "no such file in the image"})


@pytest.mark.parametrize("found", [True, False], ids=["of a diff", "named"])
def test_paths_of_a_diff_begin_at_the_repos_root(work: Path, python: str, found: bool) -> None:
    """The working directory is below it, and its own paths go on counting."""
    write(work, {"sub/test_t.py": PASSES, "sub/test_u.py": PASSES})
    write(work, {"sub/pytest.ini": "[pytest]\n"})
    tests, broken = found_in(work / "sub", python, ["sub/test_t.py", "test_u.py"], found=found)
    if found:
        assert (set(tests), broken) == ({"test_t.py::test_p", "test_u.py::test_p"}, {})
    else:
        assert (set(tests), set(broken)) == ({"test_u.py::test_p"}, {"sub/test_t.py"})


def test_a_file_of_a_diff_outside_the_working_directory_runs(work: Path, python: str) -> None:
    write(work, {"sub/test_t.py": PASSES, "other/test_o.py": PASSES, "sub/pytest.ini": "[pytest]\n"})
    tests, broken = found_in(work / "sub", python, ["sub/test_t.py", "other/test_o.py"], found=True)
    assert broken == {}
    assert set(tests) == {"test_t.py::test_p", f"{work}/other/test_o.py::test_p"}
    again = hostpytest.run(work / "sub", sorted(tests), python=python)
    assert set(again.outcomes.values()) == {"passed"}, "and its id finds it again"


# ---- ids where rootdir is another folder than the working directory

GOES = "def test_reg():\n    pass\n"
BROKE = "def test_reg():\n    assert 0\n"


@pytest.mark.parametrize("file", ["lib/tests/test_a.py", "lib/sub/deep/test_a.py"])
def test_where_rootdir_lies_below_an_id_begins_at_the_working_directory(work: Path, python: str, file: str) -> None:
    """So that the id names the same file when it runs by itself: nobody finds rootdir by its other form then."""
    write(work, {"lib/pytest.ini": "[pytest]\n", file: T, "test_t.py": PASSES})
    found, broken = found_in(work, python, [file], found=True)
    assert (found, broken) == ({f"{file}::test_a": "passed", f"{file}::test_b": "failed"}, {})
    listed = hostpytest.run(work, sorted(found), python=python)
    assert listed.outcomes == found


def test_both_forms_of_an_id_are_found_where_rootdir_lies_below(work: Path, python: str) -> None:
    write(work, {"lib/pytest.ini": "[pytest]\n", "lib/test_t.py": T})
    ids = ["lib/test_t.py::test_a", "test_t.py::test_b", "lib/test_t.py"]
    run = hostpytest.run(work, ids, "--rootdir=lib", python=python, files=["lib/test_t.py"])
    assert run.outcomes == {"lib/test_t.py::test_a": "passed", "test_t.py::test_b": "failed", "lib/test_t.py": "failed"}


def test_a_module_that_cannot_be_read_below_another_rootdir_has_the_form_of_its_tests(work: Path, python: str) -> None:
    write(work, {"lib/pytest.ini": "[pytest]\n", "lib/test_no.py": BREAKS, "lib/in/conftest.py": BREAKS})
    write(work, {"lib/in/test_in.py": PASSES, "lib/test_t.py": PASSES})
    files = ["lib/test_no.py", "lib/in/test_in.py", "lib/test_t.py"]
    found, broken = found_in(work, python, files, found=True, ids=["lib/test_no.py::test_no"])
    assert set(found) == {"lib/test_t.py::test_p"}
    assert set(broken) == {"lib/test_no.py", "lib/in"}
    assert "ledger_of_acme" in broken["lib/test_no.py"]


@pytest.mark.parametrize(
    ("below", "above"), [(BROKE, GOES), (GOES, BROKE)], ids=["the one below fails", "the one above fails"]
)
def test_two_files_never_share_an_id(work: Path, python: str, below: str, above: str) -> None:
    """`tests/test_a.py` is a file of the working directory, and what rootdir would call the one in `lib` as well."""
    tree = {"lib/pytest.ini": "[pytest]\n", "lib/tests/test_a.py": below, "tests/test_a.py": above}
    write(work, {**tree, **{f"{folder}/__init__.py": "" for folder in ("lib", "lib/tests", "tests")}})
    outcomes = {
        "lib/tests/test_a.py::test_reg": "passed" if below == GOES else "failed",
        "tests/test_a.py::test_reg": "passed" if above == GOES else "failed",
    }
    found, broken = found_in(work, python, ["lib/tests/test_a.py", "tests/test_a.py"], found=True)
    assert (found, broken) == (outcomes, {})
    listed = hostpytest.run(work, sorted(outcomes), python=python)
    assert listed.outcomes == outcomes
    events = [json.loads(line) for line in (listed.attempt.directory / "record-main.jsonl").read_text().splitlines()]
    assert [event[1] for event in events if event[0] == "root"] == [str(work / "lib")]
    assert sorted(event[1] for event in events if event[0] == "item") == sorted(outcomes)


def test_two_files_never_share_an_id_side_by_side(work: Path, python: str) -> None:
    if "xdist" in installed(python)[1]:
        tree = {"lib/pytest.ini": "[pytest]\n", "lib/tests/test_a.py": BROKE, "tests/test_a.py": GOES}
        write(work, {**tree, **{f"{folder}/__init__.py": "" for folder in ("lib", "lib/tests", "tests")}})
        files = ["lib/tests/test_a.py", "tests/test_a.py"]
        found, broken = found_in(work, python, files, "-n", "2", "-c", "lib/pytest.ini", "--rootdir=lib", found=True)
        assert found == {"lib/tests/test_a.py::test_reg": "failed", "tests/test_a.py::test_reg": "passed"}
        assert broken == {}


def test_where_rootdir_lies_above_ids_stay_those_of_pytest(work: Path, python: str) -> None:
    write(work, {"pytest.ini": "[pytest]\n", "sub/test_t.py": PASSES})
    found, broken = found_in(work / "sub", python, ["test_t.py"])
    assert (set(found), broken) == ({"sub/test_t.py::test_p"}, {})
    ids = ["sub/test_t.py::test_p", "test_t.py::test_p"]
    assert hostpytest.run(work / "sub", ids, python=python).outcomes == dict.fromkeys(ids, "passed")


# ---- globs and folders

TREE = {
    "test_t.py": PASSES,
    "test_long.py": PASSES,
    "a/test_t.py": PASSES,
    "a/b/test_t.py": PASSES,
    "a/b/helper.py": PASSES,
    "a/test_folder/helper.py": PASSES,
    **{f"{folder}/__init__.py": "" for folder in ("a", "a/b", "a/test_folder")},
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["test_*.py"], ["test_long.py", "test_t.py"], id="a star"),
        pytest.param(["test_?.py"], ["test_t.py"], id="a question mark"),
        pytest.param(["*/test_t.py"], ["a/test_t.py"], id="a star for one folder"),
        pytest.param(["a/*/test_t.py"], ["a/b/test_t.py"], id="a star for a folder below"),
        pytest.param(["**/test_t.py"], ["a/b/test_t.py", "a/test_t.py", "test_t.py"], id="two stars for any folders"),
        pytest.param(["a/**/test_t.py"], ["a/b/test_t.py", "a/test_t.py"], id="two stars below a folder"),
        pytest.param(
            ["**/test_*.py"], ["a/b/test_t.py", "a/test_t.py", "test_long.py", "test_t.py"], id="stars of both kinds"
        ),
        pytest.param(["a/**/b/test_*.py"], ["a/b/test_t.py"], id="two stars for no folder"),
        pytest.param(["*/**/test_t.py"], ["a/b/test_t.py", "a/test_t.py"], id="two stars behind one"),
        pytest.param(["a/b"], ["a/b/test_t.py"], id="a folder"),
        pytest.param(["a"], ["a/b/test_t.py", "a/test_t.py"], id="a folder with folders"),
        pytest.param(["./a/b"], ["a/b/test_t.py"], id="a folder from here"),
        pytest.param(["a", "a/b/test_t.py", "a/*.py"], ["a/b/test_t.py", "a/test_t.py"], id="all of it once"),
        pytest.param(["test_t.py", "test_?.py"], ["test_t.py"], id="a file and its glob"),
        pytest.param(["a/b", "test_t.py"], ["a/b/test_t.py", "test_t.py"], id="a folder and a file"),
    ],
)
def test_globs_and_folders(work: Path, python: str, files: list[str], expected: list[str]) -> None:
    write(work, TREE)
    assert found_in(work, python, files) == ({f"{file}::test_p": "passed" for file in expected}, {})


def test_a_glob_that_names_nothing_is_named(work: Path, python: str) -> None:
    write(work, TREE)
    found, broken = found_in(work, python, ["test_t.py", "test_z*.py", "**/test_z.py"])
    assert set(found) == {"test_t.py::test_p"}
    assert broken == dict.fromkeys(("test_z*.py", "**/test_z.py"), "no such file in the image")


def test_a_file_that_a_glob_finds_and_cannot_be_read(work: Path, python: str) -> None:
    write(work, {"test_no.py": BREAKS, "test_t.py": PASSES})
    found, broken = found_in(work, python, ["test_*.py"])
    assert (set(found), set(broken)) == ({"test_t.py::test_p"}, {"test_no.py"})


@pytest.mark.parametrize("files", [["test_[x].py", "a"], ["test_*.py", "a"]], ids=["named", "by a glob"])
def test_a_bracket_in_a_name_does_not_hide_a_folder(work: Path, python: str, files: list[str]) -> None:
    write(work, {"test_[x].py": PASSES, "a/test_a.py": PASSES, "b/test_b.py": PASSES})
    found, broken = found_in(work, python, files)
    assert ({test.partition("::test_p")[0] for test in found}, broken) == ({"test_[x].py", "a/test_a.py"}, {})


def test_the_record_says_which_glob_named_nothing(work: Path, python: str) -> None:
    write(work, {"test_t.py": PASSES})
    run = hostpytest.run(work, ["test_t.py::test_p"], python=python, files=["test_t.py", "no_*.py"])
    events = [json.loads(line) for line in (run.attempt.directory / "record-main.jsonl").read_text().splitlines()]
    assert [event for event in events if event[0] == "nofile"] == [["nofile", "no_*.py"]]
    assert run.observed == {"test_t.py::test_p": Observed(Outcome.PASSED)}


# ---- side by side


def test_workers_find_the_same_files(work: Path, python: str) -> None:
    if "xdist" in installed(python)[1]:
        write(work, {**TREE, "test_no.py": BREAKS})
        found, broken = found_in(work, python, ["a", "test_*.py", "gone.py"], "-n", "2")
        assert set(found) == {
            f"{file}::test_p" for file in ("a/b/test_t.py", "a/test_t.py", "test_long.py", "test_t.py")
        }
        assert set(broken) == {"test_no.py", "gone.py"}
