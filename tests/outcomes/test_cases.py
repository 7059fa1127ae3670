"""The shared folder of reference cases, where it is present: reports and matches, and pytest cases on this host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from repair.errors import InfrastructureError
from repair.outcomes import report_files
from tests.support import hostpytest

HERE = f"p{pytest.version_tuple[0]}{pytest.version_tuple[1]}"  # as the cases name a bare pytest of this version
LATER = frozenset({"70-unittest-ids-by-python"})  # ids that another runner's format module will translate
VALUED = ("-p", "-k", "-m", "--deselect", "--ignore", "-o", "-c", "-W")  # options whose value is an argument of its own
EXPLAINED = ("passed", "xpassed")  # everything else has a cause

Case = tuple[Path, dict[str, Any]]


def cases(shared: Path | None, *kinds: str) -> list[Case]:
    if shared is None:
        return []  # inputs of our own stand for each kind: tests/data, test_junit.py, test_plugin.py
    found = [(file.parent, json.loads(file.read_text())) for file in sorted((shared / "cases").glob("*/expected.json"))]
    assert found
    return [(folder, case) for folder, case in found if case["kind"] in kinds and folder.name not in LATER]


def inputs(folder: Path) -> list[Path]:
    return sorted(file for file in (folder / "input").iterdir() if file.is_file())


# ---- reports


def report_answer(folder: Path, case: dict[str, Any]) -> str:
    """What is wrong with what the library says of a report case; nothing if all is right."""
    seen = report_files.read_all(inputs(folder), None)
    problems = "\n".join(seen.problems)
    if "refused" in case:
        return "" if not seen.outcomes and case["refused"] in problems else f"{seen}"
    wrong = [] if dict(seen.outcomes) == case["outcomes"] else [f"outcomes {dict(seen.outcomes)}"]
    if "flags" in case and sorted(seen.flags) != sorted(case["flags"]):
        wrong.append(f"flags {seen.flags}")
    wrong += [f"{test} is invented" for test in case.get("missing", ()) if test in seen.outcomes]
    for name, word in case.get("per_file", {}).items():
        wrong += [f"{name}: {problems}"] * (not any(name in p and word in p for p in seen.problems))
    if "infrastructure" in case.get("repair", {}) and case["repair"]["infrastructure"] not in problems:
        wrong.append(f"is evidence: {problems}")
    absent = case.get("missing", [])
    listed = report_files.read_all(inputs(folder), [*case["outcomes"], *absent]).outcomes
    if dict(listed) != {**case["outcomes"], **dict.fromkeys(absent, "missing")}:
        wrong.append(f"listed {dict(listed)}")
    return "; ".join(wrong)


def command_answer(folder: Path, case: dict[str, Any], scratch: Path) -> str:
    """What is wrong with what `repair parse` says of a report or match case."""
    arguments = ["--json", *map(str, inputs(folder))]
    expected = case.get("outcomes", {})
    if case["kind"] == "match":
        expected = case["repair"] if "repair" in case else case["expected_ids"]
        ids = scratch / f"{folder.name}.ids"
        ids.write_text(json.dumps(list(expected)))
        arguments += ["--ids", str(ids)]
    done = subprocess.run([sys.executable, "-m", "repair", "parse", *arguments], capture_output=True, check=False)
    printed = json.loads(done.stdout)
    no_evidence = "refused" in case or "per_file" in case or "infrastructure" in case.get("repair", {})
    wrong = [] if done.returncode == (4 if no_evidence else 0) else [f"exit {done.returncode}"]
    wrong += [] if printed["outcomes"] == expected else [f"outcomes {printed['outcomes']}"]
    wrong += [] if printed["flags"] == sorted(case.get("flags", printed["flags"])) else [f"flags {printed['flags']}"]
    wrong += [] if bool(done.stderr) == no_evidence else [done.stderr.decode()]
    return "; ".join(wrong)


def test_reports_come_out_as_stated(shared: Path | None) -> None:
    answers = {folder.name: report_answer(folder, case) for folder, case in cases(shared, "junit")}
    assert {name: wrong for name, wrong in answers.items() if wrong} == {}


def test_ids_are_matched_as_stated(shared: Path | None) -> None:
    wrong = {}
    for folder, case in cases(shared, "match"):
        expected = case["repair"] if "repair" in case else case["expected_ids"]
        found = dict(report_files.read_all(inputs(folder), list(expected)).outcomes)
        if found != expected:
            wrong[folder.name] = found
    assert wrong == {}


def test_the_command_says_the_same(shared: Path | None, tmp_path: Path) -> None:
    found = cases(shared, "junit", "match")
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda case: command_answer(case[0], case[1], tmp_path), found))
    assert {folder.name: wrong for (folder, _), wrong in zip(found, answers, strict=True) if wrong} == {}


# ---- pytest on this host


def options(arguments: list[str]) -> list[str]:
    """The options of a command line, without the files and ids that our plugin selects instead."""
    return [word for n, word in enumerate(arguments) if word[0] == "-" or (n and arguments[n - 1] in VALUED)]


def expected_of(case: dict[str, Any]) -> dict[str, str]:
    override = case.get("overrides", {}).get(HERE, {})
    shown = override.get("outcomes", case["outcomes"]) | case.get("extra_expected", {})
    answer: dict[str, str] = case.get("repair", case.get("canonical", shown))
    return answer


def pytest_answer(folder: Path, case: dict[str, Any], scratch: Path) -> str:
    expected = dict(expected_of(case))
    infrastructure = expected.pop("infrastructure", None)
    work = scratch / folder.name
    shutil.copytree(folder / "input", work)
    ids = list(expected or case.get("extra_expected", {}))
    try:
        run = hostpytest.observe(work, ids, *options(case["run"]["args"]))
    except InfrastructureError as err:
        return "" if infrastructure is not None and infrastructure in str(err) else f"{err}"
    found = {test: str(seen.outcome) for test, seen in run.observed.items()}
    unexplained = [test for test, seen in run.observed.items() if seen.outcome not in EXPLAINED and not seen.cause]
    if infrastructure is not None:
        return f"is evidence: {found}"
    if "inflight" in case and sorted(case["inflight"]) != sorted(run.deadly):
        return f"deadly {run.deadly}"
    return "" if found == expected and not unexplained else f"{found}, without cause {unexplained}"


def test_pytest_cases_that_need_no_other_plugin(shared: Path | None, tmp_path: Path) -> None:
    found = [(folder, case) for folder, case in cases(shared, "pytest") if HERE in case["venvs"]]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda case: pytest_answer(case[0], case[1], tmp_path), found))
    assert {folder.name: wrong for (folder, _), wrong in zip(found, answers, strict=True) if wrong} == {}


def test_twenty_thousand_ids_do_not_pass_through_the_command_line(shared: Path | None, tmp_path: Path) -> None:
    for folder, case in cases(shared, "argv"):
        work = tmp_path / folder.name
        shutil.copytree(folder / "input", work)
        nothing = hostpytest.run(work, [f"{file.name}::none" for file in work.glob("test_*.py")])
        assert nothing.record.started == 0
        tests = sorted(nothing.record.items)
        assert len(tests) == case["n"]
        run = hostpytest.run(work, tests[::2])
        assert set(run.outcomes.values()) == {"passed"}
        assert run.record.started == len(tests[::2])
