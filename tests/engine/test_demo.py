"""The demo panel, on a copy: each shape's verdict, drops and cause, the gate, the same bytes again; a real panel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair.panel import read
from repair.pipeline import Result, State
from repair.records.check import Soundness, examine_all
from tests.engine.lab import Lab, record
from tests.support.paths import ROOT

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Expected:
    """What the demo's README promises of a task: kept F2P and P2P, dropped ids by rule, words of the first cause."""

    verdict: str
    kept: tuple[int, int]
    dropped: tuple[str, ...] = ()
    outcomes: str = ""
    cause: str = ""
    reasons: tuple[str, ...] = ()


DUE = tuple(f"tests/test_due.py::test_{name}" for name in ("days_left", "days_left_is_negative_when_late")) + tuple(
    f"tests/test_due.py::test_status[{name}]" for name in ("late", "later", "this-week", "today")
)
DEMO = {
    "ledger-1-thousands": Expected("clean", (3, 21)),
    "ledger-2-months-of-years": Expected("clean", (2, 16)),
    "wordtools-1-acronyms": Expected("clean", (4, 22)),
    "ledger-3-localized-places": Expected(
        "repaired",
        (3, 19),
        tuple(
            f"tests/test_localized.py::test_{n}" for n in ("english", "german", "locale_is_put_back", "negative_german")
        ),
        "failed/failed",
        "locale.Error at ledger/money.py:",
    ),
    "ledger-4-holidays": Expected(
        "repaired",
        (3, 12),
        DUE,
        "missing/missing",
        "tests/test_due.py: ModuleNotFoundError: No module named 'freezegun'",
    ),
    "wordtools-2-hanging-indent": Expected(
        "repaired", (3, 10), ("tests/test_width.py",) * 6, "skipped/skipped", "no wcwidth"
    ),
    "wordtools-3-title-last-word": Expected(
        "repaired",
        (2, 18),
        ("tests/test_case.py::test_title_small_words",),
        "missing/missing",
        "not collected; nearest: tests/test_case.py::test_title_small_words_",
    ),
    "wordtools-4-slug-letters": Expected(
        "repaired", (2, 19), ("tests/test_slug.py::test_spell_anyascii",), "skipped/skipped", "no anyascii"
    ),
    "ledger-5-config-comments": Expected("refused", (0, 19), reasons=("failed", "no-f2p", "regression")),
    "wordtools-5-top-ties": Expected(
        "refused",
        (2, 0),
        ("tests/test_count.py::test_top_is_ordered",),
        "missing/missing",
        "not collected; nearest: tests/test_count.py::test_top_",
        ("few-p2p",),
    ),
}


@pytest.fixture(scope="module")
def tree() -> str:
    """What git says is changed in the checkout before the demo runs."""
    return changed()


def changed() -> str:
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", "panels", "images"], cwd=ROOT, capture_output=True, check=False
    )
    return done.stdout.decode()


@pytest.fixture(scope="module")
def demo(lab: Lab, tree: str) -> Path:
    subprocess.run([ROOT / "images" / "build"], check=True)
    return shutil.copytree(ROOT / "panels" / "demo", lab.fresh() / "demo")


@pytest.fixture(scope="module")
def first(lab: Lab, demo: Path) -> dict[str, Result]:
    return lab.run(demo)


def records(panel: Path) -> dict[str, bytes]:
    return {str(file.relative_to(panel)): file.read_bytes() for file in panel.glob("[!.]*/*") if file.is_file()}


def test_three_are_clean_five_repaired_two_refused(first: dict[str, Result]) -> None:
    assert set(first) == set(DEMO)
    assert Counter(record(result.task.directory)["verdict"] for result in first.values()) == {
        "clean": 3,
        "repaired": 5,
        "refused": 2,
    }


@pytest.mark.parametrize("name", DEMO)
def test_each_shape_is_decided_as_the_readme_says(first: dict[str, Result], name: str) -> None:
    expected, document = DEMO[name], record(first[name].task.directory)
    counts = document["counts"]
    assert (document["verdict"], (counts["F2P"]["kept"], counts["P2P"]["kept"])) == (expected.verdict, expected.kept)
    dropped = [test for group in document["dropped"] for test in group["ids"]]
    assert len(dropped) == len(expected.dropped)
    for test, wanted in zip(sorted(dropped), expected.dropped, strict=True):
        assert test == wanted if "::" in wanted else test.startswith(f"{wanted}::")
    for group in document["dropped"]:
        assert f"{group['empty']}/{group['oracle']}" == expected.outcomes
        assert expected.cause in group["cause"]
    assert tuple(sorted({reason["rule"] for reason in document["reasons"]})) == expected.reasons


def test_the_missing_parser_library_is_named_as_a_regression(first: dict[str, Result]) -> None:
    reasons = record(first["ledger-5-config-comments"].task.directory)["reasons"]
    regressions = [reason for reason in reasons if reason["rule"] == "regression"]
    assert sum(reason["count"] for reason in regressions) == 3
    assert {(reason["empty"], reason["oracle"]) for reason in regressions} == {("passed", "failed")}
    assert all(reason["cause"].startswith("ModuleNotFoundError at ledger/config.py:") for reason in regressions)


@pytest.mark.parametrize(("least", "status"), [(8, 0), (9, 1)])
def test_the_gate_opens_at_eight_and_not_at_nine(
    demo: Path, first: dict[str, Result], tmp_path: Path, least: int, status: int
) -> None:
    manifest = tmp_path / "admitted.json"
    command = [
        sys.executable,
        "-m",
        "repair",
        "gate",
        str(demo),
        "--min-tasks",
        str(least),
        "--manifest",
        str(manifest),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    assert f"3 clean + 5 repaired = 8 {'≥' if status == 0 else '<'} {least}" in ended.stdout
    assert manifest.exists() == (status == 0)
    if status == 0:
        tasks = {task["instance_id"]: task for task in json.loads(manifest.read_bytes())["tasks"]}
        assert {name: (len(t["FAIL_TO_PASS"]), len(t["PASS_TO_PASS"])) for name, t in tasks.items()} == {
            name: expected.kept for name, expected in DEMO.items() if expected.verdict != "refused"
        }


def test_a_second_run_changes_no_byte(lab: Lab, demo: Path, first: dict[str, Result]) -> None:
    before = records(demo)
    assert {result.state for result in lab.run(demo).values()} == {State.KEPT}
    assert records(demo) == before


def test_the_same_bytes_come_again_fresh(lab: Lab, demo: Path, first: dict[str, Result], tmp_path: Path) -> None:
    copy = shutil.copytree(ROOT / "panels" / "demo", tmp_path / "again")
    assert {result.error for result in lab.run(copy, fresh=True).values()} == {None}
    assert records(copy) == records(demo)
    assert {found.soundness for found in examine_all(read.load(copy))} == {Soundness.SOUND}


def test_the_checkout_stays_as_it_was(first: dict[str, Result], tree: str) -> None:
    assert changed() == tree


def test_a_real_panel_agrees_with_its_reference(lab: Lab, shared: Path | None) -> None:
    """Where REPAIR_REALPANEL names a panel that the shared folder's mint made: what is decided, kept and dropped."""
    minted = os.environ.get("REPAIR_REALPANEL")
    expected = {}
    found = {}
    if minted and shared:
        expected = json.loads((shared / "realpanel" / "expected.json").read_text())
        panel = shutil.copytree(minted, lab.fresh() / "real", ignore=shutil.ignore_patterns(".repair", "repair.json"))
        for name, result in lab.run(panel).items():
            assert result.error is None, f"{name}: {result.error}"
            document = record(result.task.directory)
            counts = document["counts"]
            dropped: Counter[str] = Counter()
            for group in document["dropped"]:
                after = f"{group['empty']}/{group['oracle']}"
                key = f"p2p {after}" if group["list"] == "P2P" else f"f2p {group['oracle']} under oracle"
                dropped[key] += group["count"]
            kept = {"f2p": counts["F2P"]["kept"], "p2p": counts["P2P"]["kept"]}
            found[name] = {"verdict": document["verdict"], "kept": kept, "dropped": dict(dropped)}
    assert found == expected
