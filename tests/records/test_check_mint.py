"""A minted panel's lists against its mint.json: whoever trims them by hand before anything is in git is found out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.formats import exporting
from repair.mint.classes import derive
from repair.mint.document import Minted, mint_json
from repair.model import ListName, Run
from repair.panel import read
from repair.panel.inputs import inputs
from repair.records import gate
from repair.records.check import Examined, Soundness, examine, examine_all
from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import Capture, ask

ADD = "tests/test_calc.py::test_add"
KEEP = "tests/test_calc.py::test_keep[3]"
LOST = {KEEP: records.SKIPPED}
MakeMinted = Callable[[str], Path]


def look(directory: Path) -> Examined:
    return examine(*records.load(directory))


def relist(directory: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit task.json by hand, then run the controls: the record is made of the lists as they are now."""
    file = directory / "task.json"
    document = json.loads(file.read_bytes())
    edit(document)
    file.write_text(json.dumps(document))
    for name in ("repair.json", "outcomes.json"):
        (directory / name).unlink(missing_ok=True)
    records.write(directory)


@pytest.fixture
def make_minted(make_task: MakeTask) -> MakeMinted:
    """A task as `repair mint` writes it: its lists are those of the mint.json beside them. It is not run yet."""

    def make(name: str) -> Path:
        directory = make_task(name)
        panel, task = records.load(directory)
        runs = [records.run(task.f2p, task.p2p, oracle=oracle, other={}) for oracle in (False, True)]
        empty, oracle = ([Run(run.image, run.exit, {}, found=run.observed)] for run in runs)
        found = derive(empty, oracle, panel.policy)
        assert (found.f2p, found.p2p) == (task.listed(ListName.F2P), task.listed(ListName.P2P))
        made_from = inputs(task)
        minted = Minted(task, "0.1.0", records.IMAGE, made_from, panel.policy, "tests.patch", (), (), (), found, 1)
        (directory / "mint.json").write_bytes(mint_json(minted))
        return directory

    return make


@pytest.fixture
def minted(make_minted: MakeMinted) -> Path:
    return make_minted("task-1")


def test_lists_as_they_were_minted_are_sound(minted: Path) -> None:
    records.write(minted)
    found = look(minted)
    assert (found.soundness, found.details) == (Soundness.SOUND, ())


def test_lists_that_repair_trims_are_sound(minted: Path) -> None:
    records.write(minted, LOST, LOST)
    assert look(minted).soundness is Soundness.SOUND


def _trim(document: dict[str, Any]) -> None:
    document["PASS_TO_PASS"].remove(KEEP)


def _trim_f2p(document: dict[str, Any]) -> None:
    document["FAIL_TO_PASS"].remove(ADD)
    document["FAIL_TO_PASS"].append(document["PASS_TO_PASS"][0])


def _add(document: dict[str, Any]) -> None:
    document["PASS_TO_PASS"].append("tests/test_calc.py::test_other")


def _rename(document: dict[str, Any]) -> None:
    document["PASS_TO_PASS"] = [test.replace("[3]", "[three]") for test in document["PASS_TO_PASS"]]


def _move(document: dict[str, Any]) -> None:
    document["PASS_TO_PASS"].remove(KEEP)
    document["FAIL_TO_PASS"].append(KEEP)


F2P, P2P = (f"{name} is not as mint.json classed its tests" for name in ListName)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(_trim, (P2P,), id="a P2P less"),
        pytest.param(_trim_f2p, (F2P,), id="another F2P"),
        pytest.param(_add, (P2P,), id="a P2P more"),
        pytest.param(_rename, (P2P,), id="a P2P of another name"),
        pytest.param(_move, (F2P, P2P), id="a P2P among the F2P"),
    ],
)
def test_lists_that_were_changed_by_hand_are_stale_whatever_their_record_says(
    minted: Path, edit: Callable[[dict[str, Any]], None], said: tuple[str, ...]
) -> None:
    relist(minted, edit)
    found = look(minted)
    assert (found.soundness, found.details) == (Soundness.STALE, said)
    (minted / "mint.json").unlink()
    assert look(minted).soundness is Soundness.SOUND, "of lists that nobody minted there is nothing to say"


def _turn(document: dict[str, Any]) -> None:
    document["PASS_TO_PASS"] = document["PASS_TO_PASS"][::-1] + document["PASS_TO_PASS"][:2]


def _describe(document: dict[str, Any]) -> None:
    document["timeout"] = 77


@pytest.mark.parametrize("edit", [_turn, _describe], ids=["their order", "another key"])
def test_what_is_no_change_of_the_lists_is_sound_once_it_was_run(
    minted: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    relist(minted, edit)
    assert look(minted).soundness is Soundness.SOUND


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b'{"tests": []}', b'{"tests": {"t": 7}}', b"\xff"],
    ids=["empty", "no tests", "a list", "no class", "no text"],
)
def test_a_mint_json_that_cannot_be_read_is_no_leave_to_change_the_lists(minted: Path, content: bytes) -> None:
    records.write(minted)
    (minted / "mint.json").write_bytes(content)
    found = look(minted)
    assert found.soundness is Soundness.STALE
    assert "mint.json is not one of ours" in found.details[0]


def test_a_refused_mint_has_classes_of_no_list(minted: Path) -> None:
    """Its task got no lists; whoever writes some beside it is told."""
    document = json.loads((minted / "mint.json").read_bytes())
    for test in document["tests"].values():
        test["class"] = "lost"
    (minted / "mint.json").write_text(json.dumps(document))
    records.write(minted)
    assert look(minted).details == (F2P, P2P)


def test_what_is_worse_is_said_first(minted: Path) -> None:
    relist(minted, _trim)
    record = minted / "repair.json"
    records.overwrite(record, record.read_bytes().replace(b'"kept": 11', b'"kept": 13'))
    found = look(minted)
    assert found.soundness is Soundness.EDITED
    assert P2P not in found.details


# ---- who asks


def test_the_gate_takes_no_task_whose_lists_are_not_as_they_were_minted(panel: Path, make_minted: MakeMinted) -> None:
    for name in ("kept", "trimmed"):
        records.write(make_minted(name))
    relist(panel / "trimmed", _trim)
    found = gate.judge(examine_all(read.load(panel)), 2)
    assert [task.task.instance_id for task in found.admitted] == ["kept"]
    assert not found.passed
    [(name, why)] = found.refused
    assert name == "trimmed"
    assert "stale" in why


def test_the_command_says_which_list(capsys: Capture, panel: Path, make_minted: MakeMinted) -> None:
    records.write(make_minted("kept"))
    assert ask(capsys, "check", panel)[0] == 0
    relist(panel / "kept", _trim)
    code, out, _ = ask(capsys, "check", panel, "--json")
    assert code == 1
    assert P2P in out


def test_an_export_is_not_held_to_the_lists_that_it_trims(panel: Path, minted: Path, tmp_path: Path) -> None:
    records.write(minted, LOST, LOST)
    out = tmp_path / "exported"
    exporting.run(read.load(panel), out, "native", every=False)
    assert not (out / "task-1" / "mint.json").exists()
    [task] = read.load(out).tasks
    assert KEEP not in task.p2p
    records.write(out / "task-1")
    assert look(out / "task-1").soundness is Soundness.SOUND
    (out / "task-1" / "mint.json").write_bytes((minted / "mint.json").read_bytes())
    assert look(out / "task-1").details == (P2P,), "as it would be, had mint.json come along"
