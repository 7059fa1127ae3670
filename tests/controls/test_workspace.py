"""The disk: what changes a digest, and records that nothing replaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair.controls import workspace as controls_workspace
from repair.controls.workspace import Workspace
from repair.errors import StoreError
from repair.model import Observed, Outcome, Policy, Run
from repair.panel import inputs
from repair.records import documents
from repair.sandbox.run_locks import new_run_id
from repair.text import sha256
from tests.conftest import MakeTask
from tests.support import records
from tests.support.paths import ROOT
from tests.support.workspaces import check_can_publish, left_over, save


def digests(directory: Path) -> tuple[str | None, ...]:
    found = inputs.inputs(records.load(directory)[1])
    return found.task, found.environment, found.oracle_patch, found.tests_patch, found.entry_patch


def edit(directory: Path, **keys: Any) -> None:
    document = json.loads((directory / "task.json").read_text()) | keys
    (directory / "task.json").write_text(json.dumps(document))


# ---- digests

SAME: dict[str, Callable[[Path], object]] = {
    "order and number of ids": lambda d: edit(d, PASS_TO_PASS=["b", "a", "b"]),
    "order of keys": lambda d: (d / "task.json").write_text(
        json.dumps(dict(reversed(json.loads((d / "task.json").read_text()).items())), indent=4)
    ),
    "defaults spelt out": lambda d: edit(
        d, timeout=1800, cpus=2, memory="4g", test_cmd=["python3", "-m", "pytest"], user=None, junit=[], env={}
    ),
    "memory in other words": lambda d: edit(d, memory="4096M"),
    "a slash behind the workdir": lambda d: edit(d, workdir="/testbed/"),
    "the panel's default of the same value": lambda d: (d.parent / "panel.toml").write_text("[defaults]\ncpus = 2.0\n"),
    "permissions that git drops": lambda d: (d / "environment" / "Dockerfile").chmod(0o600),
    "an empty folder, which git drops": lambda d: (d / "environment" / "empty").mkdir(),
    "an entry patch without content": lambda d: (d / "entry.patch").write_bytes(b""),
    "the instruction": lambda d: (d / "instruction.md").write_text("other"),
    "a file of another name": lambda d: (d / "notes.txt").write_text("x"),
}
OTHER: dict[str, tuple[Callable[[Path], object], int]] = {
    "an id": (lambda d: edit(d, PASS_TO_PASS=["a", "b", "c"]), 0),
    "an id in the other list": (lambda d: edit(d, FAIL_TO_PASS=["f", "a"]), 0),
    "a text instead of arguments": (lambda d: edit(d, test_cmd="python3 -m pytest"), 0),
    "the order of report files": (lambda d: edit(d, junit=["b", "a"]), 0),
    "env": (lambda d: edit(d, env={"A": ""}), 0),
    "the panel's default": (lambda d: (d.parent / "panel.toml").write_text("[defaults]\ncpus = 2.5\n"), 0),
    "a file's content": (lambda d: (d / "environment" / "Dockerfile").write_text("FROM b\n"), 1),
    "a new file": (lambda d: (d / "environment" / "x").write_bytes(b""), 1),
    "a hidden file": (lambda d: (d / "environment" / ".dockerignore").write_text("*\n"), 1),
    "a file's name": (lambda d: (d / "environment" / "Dockerfile").rename(d / "environment" / "dockerfile"), 1),
    "the execute bit": (lambda d: (d / "environment" / "Dockerfile").chmod(0o755), 1),
    "a link's target": (lambda d: (d / "environment" / "link").symlink_to("nowhere"), 1),
    "no environment": (lambda d: shutil.rmtree(d / "environment"), 1),
    "the oracle patch": (lambda d: (d / "oracle.patch").write_bytes(b"--- b\n"), 2),
    "line ends of the oracle patch": (lambda d: (d / "oracle.patch").write_bytes(b"--- a\r\n"), 2),
    "the tests patch": (lambda d: (d / "tests.patch").write_bytes(b"--- t\n"), 3),
    "the entry patch": (lambda d: (d / "entry.patch").write_bytes(b"--- e\n"), 4),
    "how ids are spelt": (lambda d: edit(d, id_template="{classname}::{name}"), 0),
}


@pytest.fixture
def task(make_task: MakeTask) -> Path:
    directory = make_task(f2p=["f"], p2p=["a", "b"], oracle=b"--- a\n")
    (directory / "environment" / "sub").mkdir(parents=True)
    (directory / "environment" / "Dockerfile").write_text("FROM a\n")
    (directory / "environment" / "sub" / "a.txt").write_text("x")
    return directory


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_changes_no_digest(task: Path, change: Callable[[Path], object]) -> None:
    before = digests(task)
    change(task)
    assert digests(task) == before


@pytest.mark.parametrize(("change", "which"), OTHER.values(), ids=OTHER)
def test_what_changes_one_digest(task: Path, change: Callable[[Path], object], which: int) -> None:
    before = digests(task)
    change(task)
    changed = [number for number, pair in enumerate(zip(before, digests(task), strict=True)) if pair[0] != pair[1]]
    assert changed == [which]


def test_each_way_to_spell_ids_has_its_digest(task: Path) -> None:
    found = [digests(task)[0]]
    for template in ("{name}", ["{name}", "{file}"], ["{file}", "{name}"], "{file}"):
        edit(task, id_template=template)
        found.append(digests(task)[0])
    assert len(set(found)) == 5
    edit(task, id_template=["{file}"])
    assert digests(task)[0] == found[-1]


def test_a_task_that_does_not_say_how_ids_are_spelt_has_the_digest_that_it_had(task: Path) -> None:
    """Its records are older than the key."""
    found = inputs.effective(records.load(task)[1])
    assert sorted(found) == list(found)
    assert "id_template" not in found
    assert digests(task)[0] == "b02d4e56b9715b9db70a47a1e86d0859d14c3bae083195bb676e2329086fe58e"


def test_a_link_is_not_followed_out_of_the_environment(task: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (task / "environment" / "link").symlink_to(outside)
    before = digests(task)
    (outside / "file").write_text("x")
    assert digests(task) == before


def test_a_name_with_a_line_break_cannot_stand_for_two_files(task: Path) -> None:
    environment = task / "environment"
    shutil.rmtree(environment)
    environment.mkdir()
    (environment / "a").write_text("1")
    (environment / "b").write_text("2")
    both = digests(task)
    for file in environment.iterdir():
        file.unlink()
    (environment / f"a\nfile {sha256(b'2')} b").write_text("1")
    assert digests(task) != both


def test_a_policy_has_one_digest() -> None:
    assert documents.policy_digest(Policy()) == documents.policy_digest(Policy(10, frozenset({Outcome.PASSED}), 1, 0))
    others = [Policy(9), Policy(passing=frozenset({Outcome.PASSED, Outcome.XFAILED})), Policy(repeats=2)]
    assert len({documents.policy_digest(policy) for policy in (Policy(), *others)}) == 4


# ---- saving


def test_both_files_are_written_and_nothing_else_is_left(panel: Path, task: Path) -> None:
    save(task)
    assert (task / "outcomes.json").read_bytes() == b"outcomes\n"
    assert (task / "repair.json").read_bytes() == b"record\n"
    assert (task / "repair.json").stat().st_mode & 0o777 == 0o444
    assert (task / "repair.json").stat().st_nlink == 1
    assert left_over(panel) == []
    assert (panel / ".repair" / ".gitignore").read_text() == "*\n"


def _file(record: Path) -> None:
    record.write_bytes(b"first\n")


def _empty_file(record: Path) -> None:
    record.touch()


def _link(record: Path) -> None:
    (record.parent / "elsewhere").write_bytes(b"first\n")
    record.symlink_to("elsewhere")


def _broken_link(record: Path) -> None:
    record.symlink_to("nowhere")


def _directory(record: Path) -> None:
    record.mkdir()


def below(directory: Path) -> list[tuple[str, int, int, int]]:
    """What is in a directory, and whether anybody wrote it; looking at it is no change."""
    found = [(path.name, path.lstat()) for path in sorted(directory.iterdir())]
    return [(name, stat.st_ino, stat.st_mode, stat.st_mtime_ns) for name, stat in found]


@pytest.mark.parametrize("first", [_file, _empty_file, _link, _broken_link, _directory])
def test_a_record_that_is_there_is_never_replaced(task: Path, first: Callable[[Path], None]) -> None:
    first(task / "repair.json")
    (task / "outcomes.json").write_bytes(b"its outcomes\n")
    before = below(task)
    with pytest.raises(StoreError, match=r"repair\.json is there already"):
        save(task)
    assert below(task) == before
    assert (task / "outcomes.json").read_bytes() == b"its outcomes\n"


def test_a_record_that_comes_after_the_look_is_never_replaced(
    panel: Path, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes it need not hold the lock: a git checkout, or a copy."""
    (task / "repair.json").write_bytes(b"first\n")
    monkeypatch.setattr(controls_workspace, "has_record", lambda _: False)
    with pytest.raises(StoreError, match=r"repair\.json is there already"):
        save(task)
    assert (task / "repair.json").read_bytes() == b"first\n"
    assert left_over(panel) == []


def test_outcomes_without_a_record_are_a_left_over(task: Path) -> None:
    (task / "outcomes.json").write_bytes(b"of a run that was killed\n")
    save(task)
    assert (task / "outcomes.json").read_bytes() == b"outcomes\n"


def _save_or_say(directory: Path, number: int, ready: threading.Barrier | None, said: list[str]) -> None:
    if ready is not None:
        ready.wait()
    try:
        save(directory, b"outcomes %d\n" % number, b"record %d\n" % number)
    except StoreError as err:
        said.append(err.message)


def test_threads_that_save_at_once_leave_one_whole_record(panel: Path, task: Path) -> None:
    ready, said = threading.Barrier(8), list[str]()
    threads = [threading.Thread(target=_save_or_say, args=(task, n, ready, said)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _assert_one_whole_record(panel, task)
    assert len(said) == 7


SAVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.controls import test_workspace as test_store
sys.stdin.read()
test_store._save_or_say(Path(sys.argv[2]), int(sys.argv[3]), None, [])
"""


def test_processes_that_save_at_once_leave_one_whole_record(panel: Path, task: Path) -> None:
    arguments = [sys.executable, "-c", SAVE, str(ROOT), str(task)]
    running = [subprocess.Popen([*arguments, str(n)], stdin=subprocess.PIPE) for n in range(4)]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait() for process in running] == [0] * 4
    _assert_one_whole_record(panel, task)


def _assert_one_whole_record(panel: Path, task: Path) -> None:
    record = (task / "repair.json").read_text()
    assert record.startswith("record ")
    assert (task / "outcomes.json").read_text() == record.replace("record", "outcomes")
    assert left_over(panel) == []


def test_left_over_temporary_files_of_the_task_are_removed_and_no_others(panel: Path, make_task: MakeTask) -> None:
    """`x-1` and `x-1.1` may be saved at the same time."""
    loaded = [records.load(make_task(name, f2p=["f"], p2p=[])) for name in ("x-1", "x-1.1", "x[1]")]
    workspace = Workspace(loaded[0][0], "run")
    left = {task.instance_id: workspace._temporary(task, b"half") for _, task in loaded}
    for _, task in loaded:
        with workspace.task_lock(task, lambda: True):
            gone = [name for name, path in left.items() if not path.exists()]
            assert gone == list(left)[: len(gone)]
            assert gone[-1:] == [task.instance_id]


def test_the_longest_name_that_a_directory_can_have(panel: Path, make_task: MakeTask) -> None:
    directory = make_task("x" * 255, f2p=["f"], p2p=[])
    check_can_publish(directory)
    save(directory)
    assert (directory / "repair.json").exists()
    assert left_over(panel) == []


def test_a_task_that_is_held_is_waited_for_until_the_run_stops(task: Path) -> None:
    panel, loaded = records.load(task)
    workspace = Workspace(panel, "run")
    with (
        workspace.task_lock(loaded, lambda: False),
        pytest.raises(StoreError, match="task-1 is held by another run"),
        Workspace(panel, "other").task_lock(loaded, lambda: True),
    ):
        pass
    with Workspace(panel, "other").task_lock(loaded, lambda: True):
        pass


# ---- the journal

RUN = Run(
    "sha256:1",
    1,
    {
        "a": Observed(Outcome.PASSED),
        "g": Observed(Outcome.FAILED, "ü\n", {"g[1]": Outcome.FAILED, "g[2]": Outcome.PASSED}),
    },
    None,
    ("a",),
    ("flag",),
)


@pytest.mark.parametrize(
    "run",
    [
        RUN,
        Run("sha256:1", 2, {}),
        replace(RUN, exit=-9),
        replace(RUN, template=("{name} ({classname})", "{name} ü")),
    ],
)
def test_the_journal_gives_back_what_was_noted(task: Path, run: Run) -> None:
    panel, loaded = records.load(task)
    workspace = Workspace(panel, "run")
    attempt = workspace.attempt(loaded, "empty-1")
    (attempt / "log").write_text("x")
    assert workspace.recall("key") is None
    workspace.note(loaded, "key", run, [attempt])
    assert Workspace(panel, "later").recall("key") == run
    assert workspace.attempt(loaded, "empty-1") != attempt


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"\0" * len(content),
        lambda content: b"[]",
        lambda content: b"null",
        lambda content: b"{}",
        lambda content: content.replace(b"passed", b"green"),
        lambda content: content.replace(b'"observed"', b'"seen"'),
        lambda content: content.replace(b'["passed",""]', b'["passed"]'),
        lambda content: content.replace(b'["passed",""]', b"7"),
    ],
)
def test_a_journal_entry_that_is_not_whole_counts_as_absent(task: Path, spoil: Callable[[bytes], bytes]) -> None:
    panel, loaded = records.load(task)
    workspace = Workspace(panel, "run")
    workspace.note(loaded, "key", RUN, [])
    (entry,) = (panel.directory / ".repair" / "journal").iterdir()
    assert spoil(entry.read_bytes()) != entry.read_bytes()
    entry.write_bytes(spoil(entry.read_bytes()))
    assert workspace.recall("key") is None


def test_the_latest_log_is_no_confirmation_s(task: Path) -> None:
    panel, loaded = records.load(task)
    assert controls_workspace.latest_log(panel, loaded, "empty") is None
    workspace = Workspace(panel, new_run_id())
    for number, label in enumerate(["empty-1", "oracle-1", "empty-1", "empty-confirm-1"]):
        log = workspace.attempt(loaded, label) / "log"
        log.write_text(str(number))
        os.utime(log, ns=(number, number))
    assert [
        (controls_workspace.latest_log(panel, loaded, kind) or task).read_text() for kind in ("empty", "oracle")
    ] == ["2", "1"]


def _log_by_link(log: Path, there: Path) -> None:
    log.parent.mkdir(parents=True)
    log.symlink_to(there)


def _log_in_a_link(log: Path, there: Path) -> None:
    log.parent.parent.mkdir(parents=True)
    log.parent.symlink_to(there.parent)


def _log_below_a_link(log: Path, there: Path) -> None:
    """The log is a plain file, and so is its folder one: a folder above them is the link."""
    attempts = log.parent.parent.parent
    attempts.parent.mkdir(parents=True)
    real = there.parent / "attempts" / log.parent.parent.name / log.parent.name
    real.mkdir(parents=True)
    (real / "log").write_text(there.read_text())
    attempts.symlink_to(there.parent / "attempts")


def _log_that_is_a_pipe(log: Path, there: Path) -> None:
    log.parent.mkdir(parents=True)
    os.mkfifo(log)


def _log_that_is_a_folder(log: Path, there: Path) -> None:
    log.mkdir(parents=True)


@pytest.mark.parametrize(
    "make", [_log_by_link, _log_in_a_link, _log_below_a_link, _log_that_is_a_pipe, _log_that_is_a_folder]
)
def test_a_log_is_a_plain_file_of_the_panel_s_own(
    task: Path, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    """Whoever wrote the panel may have put anything there, to be read out by whoever looks."""
    panel, loaded = records.load(task)
    there = tmp_path / "outside" / "log"
    there.parent.mkdir()
    there.write_text("a token of whoever looks")
    attempts = panel.directory / ".repair" / "attempts"
    make(attempts / loaded.instance_id / "run-1-oracle-1" / "log", there)
    assert controls_workspace.latest_log(panel, loaded, "oracle") is None
    if not attempts.is_symlink():
        ours = Workspace(panel, new_run_id()).attempt(loaded, "oracle-1") / "log"
        ours.write_text("")
        assert controls_workspace.latest_log(panel, loaded, "oracle") == ours


def test_a_panel_that_is_reached_by_a_link_has_its_logs(task: Path, tmp_path: Path) -> None:
    panel, loaded = records.load(task)
    log = Workspace(panel, new_run_id()).attempt(loaded, "oracle-1") / "log"
    log.write_text("")
    (tmp_path / "link").symlink_to(panel.directory)
    found = controls_workspace.latest_log(replace(panel, directory=tmp_path / "link"), loaded, "oracle")
    assert found is not None
    assert found.samefile(log)
