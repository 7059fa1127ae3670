"""A pull request that edits one list by hand: check says which task, diff shows what, the gate falls by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import Capture, ask
from tests.support.git import Git, commit

KEEP = "tests/test_calc.py::test_keep[3]"
LOST = {KEEP: records.MISSING}


@pytest.fixture
def reviewed(panel: Path, make_task: MakeTask, git: Git) -> Path:
    """A panel on `main` whose three records were committed, and a branch for a pull request."""
    (panel / "panel.toml").write_text('name = "books"\n\n[policy]\nmin_p2p = 5\n\n[gate]\nmin_tasks = 3\n')
    git(panel.parent, "init", "-q", "-b", "main", ".")
    for name in ("ledger-1", "ledger-2", "ledger-3"):
        seen = LOST if name == "ledger-2" else {}
        records.write(make_task(name), seen, seen)
    commit(panel, git)
    git(panel, "checkout", "-q", "-b", "trim-by-hand")
    return panel


def test_a_list_edited_by_hand_is_found_shown_and_mended(capsys: Capture, reviewed: Path, git: Git) -> None:
    assert ask(capsys, "check", reviewed)[0] == 0
    assert ask(capsys, "gate", reviewed)[:2] == (0, "2 clean + 1 repaired = 3 ≥ 3\n")

    task = reviewed / "ledger-1" / "task.json"
    before = task.read_bytes()
    document = json.loads(before)
    document["PASS_TO_PASS"].remove(KEEP)
    task.write_text(json.dumps(document))
    uncommitted = ask(capsys, "diff", reviewed, "HEAD")[1]
    commit(reviewed, git)

    code, out, _ = ask(capsys, "check", reviewed)
    assert code == 1
    assert [line for line in out.splitlines() if "stale" in line] == [
        "ledger-1: stale (task.json (or panel.toml's [defaults]) changed since)"
    ]
    code, out, _ = ask(capsys, "gate", reviewed)
    assert code == 1
    assert out.startswith("1 clean + 1 repaired = 2 < 3\n")

    code, out, _ = ask(capsys, "diff", reviewed, "main...trim-by-hand")
    assert code == 1
    assert out.splitlines()[1:] == uncommitted.splitlines()[1:]
    assert "  ledger-1: stale; repair.json stayed as it was, but 1 id removed from P2P in task.json\n" in out
    assert "  admitted 3 → 2: THE GATE IS NO LONGER MET\n" in out
    assert f"      {KEEP}\n" in out
    assert "ledger-2" not in out

    code, out, _ = ask(capsys, "diff", reviewed, git(reviewed, "rev-parse", "main"), "--format", "markdown")
    assert code == 1
    assert "> - `ledger-1`: stale; repair.json stayed as it was, but 1 id removed from P2P in task.json\n" in out

    task.write_bytes(before)
    assert ask(capsys, "check", reviewed)[0] == 0
    assert ask(capsys, "gate", reviewed)[0] == 0
    assert ask(capsys, "diff", reviewed, "main")[0] == 0
    assert ask(capsys, "diff", reviewed, "HEAD")[0] == 1


def test_a_record_that_is_decided_anew_shows_what_came_back(capsys: Capture, reviewed: Path, git: Git) -> None:
    task = reviewed / "ledger-2"
    for name in ("repair.json", "outcomes.json"):
        (task / name).unlink()
    records.write(task)
    code, out, _ = ask(capsys, "diff", reviewed, "main")
    assert code == 1
    assert "  admitted 3 → 3: the gate is met\n" in out
    assert "  ledger-2: repaired → clean\n" in out
    assert (
        f"    1 id of P2P back, no longer dropped (not collected) [empty missing, oracle missing]\n      {KEEP}\n"
        in out
    )


def test_a_record_edited_to_admit_its_task_is_named(capsys: Capture, reviewed: Path) -> None:
    record = reviewed / "ledger-2" / "repair.json"
    records.overwrite(record, record.read_bytes().replace(b'"verdict": "repaired"', b'"verdict": "clean"'))
    code, out, _ = ask(capsys, "diff", reviewed, "main")
    assert code == 1
    assert "!! RECORDS THAT DO NOT HOLD\n  ledger-2: its record is edited (repair.json differs" in out
    assert "  admitted 3 → 2: THE GATE IS NO LONGER MET\n" in out
