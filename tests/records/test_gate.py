"""The gate: what is counted, what is said of the rest, and what a training run takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repair.cli import run_app
from repair.panel import read
from repair.records import gate
from repair.records.check import examine_all
from repair.text import sha256
from tests.conftest import MakeTask
from tests.support import records

ADD, KEEP = "tests/test_calc.py::test_add", "tests/test_calc.py::test_keep[3]"
LOST = {KEEP: records.MISSING}


@pytest.fixture
def mixed(panel: Path, make_task: MakeTask) -> Path:
    """A panel of every kind: two clean, one repaired, and one each that is not admitted."""
    (panel / "panel.toml").write_text('name = "mixed"\n[policy]\nmin_p2p = 0\n[gate]\nmin_tasks = 3\n')
    for name in ("clean-1", "clean-2", "edited", "stale"):
        records.write(make_task(name))
    records.write(make_task("repaired"), LOST, LOST)
    records.write(make_task("not-confirmed"), LOST, LOST, {ADD: records.FAILED})
    both = {ADD: records.FAILED, KEEP: records.FAILED}
    records.write(make_task("refused"), {}, both)
    records.write(make_task("inconsistent"))
    make_task("absent")
    records.overwrite(
        panel / "edited" / "repair.json",
        (panel / "edited" / "repair.json").read_bytes().replace(b'"kept": 12', b'"kept": 13'),
    )
    (panel / "stale" / "tests.patch").write_text("--- new\n")
    (panel / "inconsistent" / "outcomes.json").unlink()
    return panel


def judged(panel: Path, min_tasks: int = 3) -> gate.Gate:
    return gate.judge(examine_all(read.load(panel)), min_tasks)


@pytest.mark.parametrize(
    ("min_tasks", "passed", "said"),
    [
        (0, True, "2 clean + 1 repaired = 3 ≥ 0"),
        (3, True, "2 clean + 1 repaired = 3 ≥ 3"),
        (4, False, "2 clean + 1 repaired = 3 < 4"),
    ],
)
def test_the_sum_is_shown_with_its_parts(mixed: Path, min_tasks: int, passed: bool, said: str) -> None:
    found = judged(mixed, min_tasks)
    assert (found.passed, found.sum) == (passed, said)
    assert [task.task.instance_id for task in found.admitted] == ["clean-1", "clean-2", "repaired"]


def test_what_is_not_admitted_says_why(mixed: Path) -> None:
    assert dict(judged(mixed).refused) == {
        "absent": "absent: no repair.json: run `repair run`",
        "edited": "edited: repair.json differs from what outcomes.json says (first at line 5)",
        "inconsistent": "inconsistent: outcomes.json is missing: restore it from git",
        "not-confirmed": "refused: the second pair of controls did not confirm the repair (failed: "
        "AssertionError at calc.py:2; no-f2p: no F2P is kept: nothing would measure the change)",
        "refused": "refused: 1 F2P do not pass with the reference; "
        "1 P2P pass without the reference and not with it; no F2P is left",
        "stale": "stale: tests.patch changed since",
    }


def test_a_panel_without_any_record_has_no_admitted_task(panel: Path, make_task: MakeTask) -> None:
    make_task()
    found = judged(panel, 0)
    assert (found.sum, found.passed, found.admitted) == ("0 clean + 0 repaired = 0 ≥ 0", True, ())


# ---- the command


def ask(capsys: pytest.CaptureFixture[str], panel: Path, *options: str) -> tuple[int, str, str]:
    code = run_app(["gate", str(panel), *options])
    return (code, *capsys.readouterr())


def test_the_command_prints_the_sum_and_then_the_rest(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, mixed)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0] == "2 clean + 1 repaired = 3 ≥ 3"
    assert [line.split(": ")[:2] for line in lines[1:]] == [
        ["not admitted", name] for name in ("absent", "edited", "inconsistent", "not-confirmed", "refused", "stale")
    ]


@pytest.mark.parametrize(("asked", "code"), [(3, 0), (4, 1), (1000, 1)])
def test_min_tasks_may_raise_the_panel_s_own(
    mixed: Path, capsys: pytest.CaptureFixture[str], asked: int, code: int
) -> None:
    assert ask(capsys, mixed, "--min-tasks", str(asked))[0] == code


@pytest.mark.parametrize("asked", [0, 2])
def test_min_tasks_may_not_lower_it(mixed: Path, capsys: pytest.CaptureFixture[str], asked: int) -> None:
    code, out, err = ask(capsys, mixed, "--min-tasks", str(asked))
    assert (code, out) == (2, "")
    assert f"--min-tasks {asked} is below the panel's own 3" in err
    assert "panel.toml" in err


@pytest.mark.parametrize("asked", ["-1", "three", ""])
def test_min_tasks_is_a_number(mixed: Path, capsys: pytest.CaptureFixture[str], asked: str) -> None:
    assert ask(capsys, mixed, "--min-tasks", asked)[:2] == (2, "")


@pytest.mark.parametrize("asked", [3, 4])
def test_json_says_the_same(mixed: Path, capsys: pytest.CaptureFixture[str], asked: int) -> None:
    code, out, _ = ask(capsys, mixed, "--json", "--min-tasks", str(asked))
    document = json.loads(out)
    assert document.pop("not_admitted") == dict(judged(mixed).refused)
    assert document == {
        "exit": code,
        "passed": asked == 3,
        "clean": 2,
        "repaired": 1,
        "min_tasks": asked,
        "admitted": ["clean-1", "clean-2", "repaired"],
    }


# ---- the manifest


def manifest(mixed: Path, file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert ask(capsys, mixed, "--manifest", str(file), *options)[0] == 0
    content = file.read_bytes()
    assert content.isascii()
    document = json.loads(content)
    assert isinstance(document, dict)
    return document


def test_the_manifest_holds_what_a_training_run_takes(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = manifest(mixed, tmp_path / "admitted.json", capsys)
    assert document["panel"] == "mixed"
    assert document["gate"] == {"passed": True, "admitted": 3, "min_tasks": 3}
    assert document["policy"] == {"min_p2p": 0, "passing": ["passed"], "recheck": 0, "repeats": 1}
    assert len(document["policy_sha256"]) == 64
    first, _, repaired = document["tasks"]
    assert (first["instance_id"], first["verdict"]) == ("clean-1", "clean")
    assert repaired == {
        "instance_id": "repaired",
        "verdict": "repaired",
        "image": {"id": records.IMAGE.id, "digest": records.IMAGE.digest},
        "FAIL_TO_PASS": [ADD],
        "PASS_TO_PASS": sorted(f"tests/test_calc.py::test_keep[{n}]" for n in range(12) if n != 3),
        "record": sha256((mixed / "repaired" / "repair.json").read_bytes()),
    }


def test_the_same_panel_gives_the_same_manifest(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file in files:
        manifest(mixed, file, capsys)
    assert files[0].read_bytes() == files[1].read_bytes()
    (mixed / "panel.toml").write_text('name = "mixed"\n[policy]\nmin_p2p = 0\nrepeats = 1\n[gate]\nmin_tasks = 3\n')
    assert manifest(mixed, files[1], capsys) == json.loads(files[0].read_bytes())


def test_no_manifest_is_written_where_the_gate_is_closed(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "admitted.json"
    assert ask(capsys, mixed, "--manifest", str(file), "--min-tasks", "4")[0] == 1
    assert not file.exists()
    file.write_text("of an older run")
    assert ask(capsys, mixed, "--manifest", str(file), "--min-tasks", "4")[0] == 1
    assert file.read_text() == "of an older run"


def test_an_older_manifest_is_replaced_by_a_new_file(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who reads the old one meanwhile reads it whole."""
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / "admitted.json"
    file.write_text("of an older run")
    with file.open() as reader:
        manifest(mixed, file, capsys)
        assert reader.read() == "of an older run"
    assert list(folder.iterdir()) == [file]


@pytest.mark.parametrize("where", ["gone/admitted.json", "."])
def test_a_manifest_that_cannot_be_written_is_an_error(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    before = sorted(tmp_path.iterdir())
    code, out, err = ask(capsys, mixed, "--manifest", str(tmp_path / where))
    assert (code, out) == (13, "")
    assert str(tmp_path) in err
    assert len(err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before
