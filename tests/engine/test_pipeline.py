"""A panel from tasks to records on the real engine: what is written once, reused, named, confirmed and left alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from repair.controls.session import Options
from repair.errors import ImageError, NoEvidence
from repair.panel import read
from repair.pipeline import Result, State, rerun
from repair.records.check import Soundness, examine
from repair.text import sha256
from tests.engine.lab import ADD, P2P, Lab, added, record, write_panel, write_task

pytestmark = pytest.mark.engine

T = "tests/test_t.py"
# Passes only behind a test that is listed, fails in both controls, and is dropped for it.
LEANS = """\
SEEN = []


def test_fails():
    SEEN.append(1)
    assert 0


def test_leans():
    assert SEEN
"""
# Each passes in about half of its runs, so some of them pass and fail under both controls.
FLAKY = """\
import os

import pytest


@pytest.mark.parametrize("n", range(60))
def test_flaky(n):
    assert os.urandom(1)[0] % 2
"""
ALWAYS_NEW = """\
import os, tempfile, time, uuid

import pytest


def test_new():
    assert 0, uuid.uuid4()


def test_skips():
    took = f"{time.perf_counter():.5f}s"
    pytest.skip(f"{tempfile.mkdtemp()} at {object()}, pid {os.getpid()}, {uuid.uuid4()} took {took}")
"""
DEADLY = "import os\n\n\ndef test_dies():\n    os._exit(3)\n"
GROUPS = """\
import pytest


@pytest.mark.parametrize("n", range(3))
def test_all(n):
    pass


@pytest.mark.parametrize("n", range(3))
def test_some(n):
    assert n != 1
"""
MENDS_A_CRASH = b"""\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return int.__add__(a, b)
"""
CRASHES = "import os\n\nimport calc\n\n\ndef test_crash():\n    if calc.add(1, 1) != 2:\n        os._exit(1)\n"


def files_of(panel: Path) -> dict[str, bytes]:
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in sorted(panel.glob("*/*"))
        if path.name in ("repair.json", "outcomes.json") and path.parent.name != ".repair"
    }


def attempts(panel: Path) -> set[str]:
    return {str(path) for path in (panel / ".repair" / "attempts").glob("*/*")}


@pytest.fixture(scope="module")
def panel(lab: Lab) -> Path:
    panel = write_panel(lab.fresh())
    write_task(panel, "clean")
    phantom = [f"{T}::test_phantom", "tests/test_calc.py::test_kept[1]"]
    write_task(panel, "phantoms", p2p=[*P2P, *phantom])
    leans = added({T: LEANS})
    write_task(panel, "leans on what is dropped", p2p=[*P2P, f"{T}::test_fails", f"{T}::test_leans"], tests=leans)
    write_task(panel, "no-image", image="repair-test-own/nowhere:1")
    write_task(
        panel, "new text each time", p2p=[*P2P, f"{T}::test_new", f"{T}::test_skips"], tests=added({T: ALWAYS_NEW})
    )
    write_task(panel, "ends the run", p2p=[*P2P, f"{T}::test_dies"], tests=added({T: DEADLY}))
    write_task(panel, "mends a crash", [f"{T}::test_crash"], P2P, MENDS_A_CRASH, added({T: CRASHES}))
    groups = [f"{T}::test_all", f"{T}::test_some", "tests/test_calc.py"]
    write_task(panel, "groups", p2p=[*P2P, *groups[:2]], tests=added({T: GROUPS}))
    write_task(panel, "groups in both lists", p2p=[*P2P, groups[2]], tests=added({T: GROUPS}))
    return panel


@pytest.fixture(scope="module")
def first(lab: Lab, panel: Path) -> dict[str, Result]:
    return lab.run(panel)


def test_every_task_that_was_observed_has_a_sound_record(panel: Path, first: dict[str, Result]) -> None:
    loaded = read.load(panel)
    found = {task.instance_id: examine(loaded, task).soundness for task in loaded.tasks}
    assert found == {name: Soundness.ABSENT if name == "no-image" else Soundness.SOUND for name in first}
    for name in set(first) - {"no-image"}:
        outcomes = (panel / name / "outcomes.json").read_bytes()
        assert record(panel / name)["outcomes"] == sha256(outcomes)
        assert (panel / name / "repair.json").stat().st_mode & 0o777 == 0o444


def test_one_task_without_a_verdict_stops_no_other(panel: Path, first: dict[str, Result]) -> None:
    failed = {name for name, result in first.items() if result.state is not State.RECORDED}
    assert failed == {"no-image"}
    assert isinstance(first["no-image"].error, ImageError)
    assert {path.name for path in (panel / "no-image").iterdir()} == {"task.json", "oracle.patch"}


def test_phantoms_are_dropped_with_what_comes_nearest(panel: Path, first: dict[str, Result]) -> None:
    document = record(panel / "phantoms")
    assert document["verdict"] == "repaired"
    assert document["counts"]["P2P"] == {"listed": 14, "dropped": 2, "kept": 12}
    causes = {test: group["cause"] for group in document["dropped"] for test in group["ids"]}
    assert causes[f"{T}::test_phantom"] == f"{T}: no such file in the image"
    assert causes["tests/test_calc.py::test_kept[1]"].startswith(
        "not collected; nearest: tests/test_calc.py::test_keep"
    )
    assert {(g["rule"], g["empty"], g["oracle"]) for g in document["dropped"]} == {
        ("failed-both", "missing", "missing")
    }
    assert document["confirmation"] == {"confirmed": True, "scores": {"empty": [0.0], "oracle": [1.0]}}


def test_what_passes_only_behind_a_dropped_test_is_not_confirmed(panel: Path, first: dict[str, Result]) -> None:
    document = record(panel / "leans on what is dropped")
    assert document["verdict"] == "refused"
    assert document["confirmation"] == {"confirmed": False, "scores": {"empty": [0.0], "oracle": [0.0]}}
    assert [group["ids"] for group in document["dropped"]] == [[f"{T}::test_fails"]]
    not_confirmed = [reason for reason in document["reasons"] if reason.get("ids") == [f"{T}::test_leans"]]
    assert [reason["rule"] for reason in not_confirmed] == ["not-confirmed"]
    assert {reason["rule"] for reason in document["reasons"]} == {"not-confirmed"}


def test_a_test_that_ends_the_run_is_dropped_and_named(panel: Path, first: dict[str, Result]) -> None:
    document = record(panel / "ends the run")
    assert document["verdict"] == "repaired"
    (dropped,) = document["dropped"]
    assert (dropped["empty"], dropped["oracle"], dropped["ids"]) == ("error", "error", [f"{T}::test_dies"])
    assert dropped["cause"] == "the run ended twice inside this test"
    assert document["controls"]["empty"] == [{"exit": 1, "deadly": [f"{T}::test_dies"]}]


def test_a_task_that_mends_a_crash_gets_a_verdict(panel: Path, first: dict[str, Result]) -> None:
    document = record(panel / "mends a crash")
    assert document["verdict"] == "clean"
    assert document["controls"] == {
        "empty": [{"exit": 0, "deadly": [f"{T}::test_crash"]}],
        "oracle": [{"exit": 0}],
    }


def test_a_group_is_its_worst_member(panel: Path, first: dict[str, Result]) -> None:
    document = record(panel / "groups")
    assert [(group["ids"], group["empty"], group["oracle"]) for group in document["dropped"]] == [
        ([f"{T}::test_some"], "failed", "failed")
    ]


def test_a_group_over_both_lists_is_refused(panel: Path, first: dict[str, Result]) -> None:
    assert "both-lists" in {reason["rule"] for reason in record(panel / "groups in both lists")["reasons"]}


def test_a_second_run_changes_no_byte_and_starts_nothing(lab: Lab, panel: Path, first: dict[str, Result]) -> None:
    before, tried = files_of(panel), attempts(panel)
    stats = {path: path.stat().st_mtime_ns for path in panel.glob("*/*.json")}
    again = lab.run(panel)
    assert {name for name, result in again.items() if result.state is not State.KEPT} == {"no-image"}
    assert {name: result.decision for name, result in again.items()} == {
        name: result.decision for name, result in first.items()
    }
    assert (files_of(panel), attempts(panel)) == (before, tried)
    assert {path: path.stat().st_mtime_ns for path in panel.glob("*/*.json")} == stats


@pytest.mark.parametrize("fresh", [False, True], ids=["from the journal", "fresh"])
def test_records_made_again_have_the_same_bytes(
    lab: Lab, panel: Path, first: dict[str, Result], tmp_path: Path, fresh: bool
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(panel, copy)
    before, tried = files_of(copy), attempts(copy)
    for file in copy.glob("*/repair.json"):
        file.unlink()
    again = lab.run(copy, fresh=fresh)
    assert {name for name, result in again.items() if result.error is not None} == {"no-image"}
    assert files_of(copy) == before
    controls = {path.rpartition("-")[0].rpartition("-")[2] for path in attempts(copy) - tried}
    assert controls == ({"empty", "oracle", "confirmation"} if fresh else {"confirmation"}), (
        "confirmations are never reused"
    )


def test_the_journal_is_not_taken_for_another_control(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(tmp_path / "panel")
    task = write_task(panel, "task")
    lab.run(panel)
    changes: list[dict[str, Any]] = [{"timeout": 61}, {"env": {"A": "b"}}, {"cpus": 1}]
    for change in changes:
        tried = attempts(panel)
        (task / "repair.json").unlink()
        document = json.loads((task / "task.json").read_text()) | change
        (task / "task.json").write_text(json.dumps(document))
        assert lab.run(panel)["task"].error is None
        assert len(attempts(panel) - tried) == 2, change


def test_a_stale_record_is_named_and_left(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(tmp_path / "panel")
    task = write_task(panel, "task")
    other = write_task(panel, "other")
    lab.run(panel)
    before, tried = files_of(panel), attempts(panel)
    (task / "oracle.patch").write_bytes(ADD.replace(b"a + b", b"b + a"))
    again = lab.run(panel)
    assert (again["task"].state, again["other"].state) == (State.UNSOUND, State.KEPT)
    assert (again["task"].soundness, again["task"].details) == ("stale", ("oracle.patch changed since",))
    assert (files_of(panel), attempts(panel)) == (before, tried)
    (task / "repair.json").unlink()
    assert lab.run(panel)["task"].state is State.RECORDED
    assert record(task)["inputs"]["oracle.patch"] != record(other)["inputs"]["oracle.patch"]


def test_every_repeat_is_a_run_of_its_own(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(tmp_path / "panel", "[policy]\nrepeats = 3\n")
    task = write_task(panel, "task", p2p=[*P2P, *(f"{T}::test_flaky[{n}]" for n in range(60))], tests=added({T: FLAKY}))
    assert lab.run(panel)["task"].error is None
    document = record(task)
    flaky = [group for group in document["dropped"] if group["rule"] == "flaky-both"]
    spelt = {"failed 2/3, passed 1/3", "passed 2/3, failed 1/3"}
    assert flaky
    assert {text for group in flaky for text in (group["empty"], group["oracle"])} <= spelt
    assert {name: len(runs) for name, runs in document["controls"].items()} == {"empty": 3, "oracle": 3}
    assert len(attempts(panel)) in (6, 12), "twelve where the table is confirmed"
    loaded = read.load(panel)
    assert examine(loaded, loaded.tasks[0]).soundness is Soundness.SOUND


def test_a_rerun_finds_the_same_evidence_and_a_forgery_of_both_files(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(tmp_path / "panel")
    for name in ("honest", "forged"):
        write_task(panel, name, p2p=[*P2P, f"{T}::test_phantom"])
    lab.run(panel)
    before = files_of(panel)
    task = panel / "forged"
    outcomes = (task / "outcomes.json").read_bytes()
    forged = outcomes.replace(b": no such file in the image", b": ModuleNotFoundError: No module named 'x'")
    text = (task / "repair.json").read_bytes().replace(sha256(outcomes).encode(), sha256(forged).encode())
    text = text.replace(b": no such file in the image", b": ModuleNotFoundError: No module named 'x'")
    for name, content in (("outcomes.json", forged), ("repair.json", text)):
        (task / name).unlink()
        (task / name).write_bytes(content)
    loaded = read.load(panel)
    assert [examine(loaded, found).soundness for found in loaded.tasks] == [Soundness.SOUND, Soundness.SOUND]
    states = {result.task.instance_id: result.state for result in rerun(loaded, lab.sandbox, Options(jobs=4))}
    assert states == {"honest": State.KEPT, "forged": State.UNSOUND}
    assert files_of(panel)["honest/repair.json"] == before["honest/repair.json"]
    assert files_of(panel)["forged/repair.json"] == text


def test_a_patch_that_is_refused_is_tried_again_by_the_next_run(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(tmp_path / "panel")
    task = write_task(panel, "task", oracle=ADD.replace(b"a - b", b"a * b"))
    lab.run(panel)
    assert record(task)["reasons"][0]["rule"] == "patch"
    (task / "repair.json").unlink()
    tried = attempts(panel)
    lab.run(panel)
    (again,) = attempts(panel) - tried
    assert again.endswith("-oracle-1"), "the other is in the journal"


ONCE = """\
#!/bin/sh
case "$*" in
  *numstat*) mkdir {once} 2>/dev/null && {{ echo 'error: tests/t.py: No such file or directory' >&2; exit 1; }} ;;
esac
exec {git} "$@"
"""


def test_a_patch_that_one_control_takes_and_the_other_does_not_refuses_nothing(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = write_panel(tmp_path / "panel")
    task = write_task(panel, "task", tests=added({T: FLAKY}))
    (tmp_path / "git").write_text(ONCE.format(once=tmp_path / "once", git=shutil.which("git")))
    (tmp_path / "git").chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        error = lab.run(panel)["task"].error
    assert isinstance(error, NoEvidence)
    assert "a patch applied in one run and not in another: tests.patch: tests/t.py" in str(error)
    assert not (task / "repair.json").exists()
    assert lab.run(panel)["task"].error is None
    assert record(task)["verdict"] == "clean"
