"""Tasks written as rows of another format, or as native tasks: what is carried, and what is said to be lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repair.errors import UsageError
from repair.formats import importing
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.outcomes.rewards import BEGIN, END, reward_of_log
from repair.panel import read
from tests.conftest import ORACLE, MakeTask
from tests.formats import rows
from tests.support.exchange import export, imported, only_task, record, trimmed

TARGETS = ["swe-bench", "swe-bench-5", "swe-bench-live", "swe-rebench-v2"]


# ---- rows


@pytest.mark.parametrize(
    ("keys", "target", "what"),
    [
        ({"framework": "jest", "test_cmd": "npx jest"}, "swe-bench", "framework"),
        ({"junit": ["out/*.xml"]}, "swe-bench-5", "junit"),
        ({"id_template": "{name}"}, "swe-bench-live", "id_template"),
        ({"workdir": "/testbed"}, "swe-rebench-v2", "workdir"),
    ],
    ids=["framework", "junit", "id_template", "workdir"],
)
def test_a_native_task_that_would_be_another_is_refused(
    panel: Path, make_task: MakeTask, tmp_path: Path, keys: dict[str, Any], target: str, what: str
) -> None:
    make_task("acme__ledger-1", **keys)
    with pytest.raises(UsageError, match=f"acme__ledger-1: {what}; "):
        export(panel, tmp_path / "out.jsonl", target, every=True)


@pytest.mark.parametrize(
    ("row", "repo"),
    [
        (rows.classic(repo="Acme/the-ledger"), "Acme/the-ledger"),
        (rows.live(instance_id="ledger-77", repo="acme/ledger"), "acme/ledger"),
    ],
    ids=["another spelling", "an id without an owner"],
)
def test_the_repo_is_the_one_that_the_row_says(tmp_path: Path, row: rows.Row, repo: str) -> None:
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", [row]))
    export(panel, tmp_path / "out.jsonl", "swe-bench-5", every=True)
    assert json.loads((tmp_path / "out.jsonl").read_text())["repo"] == repo


def test_parquet_rows_of_the_format_itself_keep_their_columns(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    rows.parquet(tmp_path / "rows" / "a.parquet", [rows.five(1, odd="kept")])
    rows.jsonl(tmp_path / "rows" / "b.jsonl", [rows.classic(2)])
    panel = imported(tmp_path / "rows")
    record(panel, [rows.P2P[2]])
    done = export(panel, tmp_path / "out.jsonl", "swe-bench-5")
    one, _ = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(one) == trimmed("swe-bench-5", rows.five(1, odd="kept"), [rows.P2P[2]])
    assert done.lost["the other columns of its row"] == ["acme__ledger-2"]


# ---- what SWE-bench 5 runs


def eval_script(panel: Path, tmp_path: Path, target: str = "swe-bench-5") -> str:
    export(panel, tmp_path / "out.jsonl", target, every=True)
    text: str = json.loads((tmp_path / "out.jsonl").read_text())["eval_script"]
    return text


def in_shell(script: str, folder: Path) -> str:
    """What a script prints in a folder of its own, HOME included."""
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    ran = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False)
    return ran.stdout


def test_the_eval_script_brings_the_tests_in_and_says_what_became_of_each(
    panel: Path, make_task: MakeTask, tmp_path: Path
) -> None:
    """Run for real, where a model has spoilt the tests' file, with a patch that holds the here-document's word."""
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "test_a.py").write_text("def test_old():\n    pass\n")
    new = ["def test_new():", "    pass", "EOF_TESTS = 1"]
    patch = "--- a/test_a.py\n+++ b/test_a.py\n@@ -1,2 +1,5 @@\n def test_old():\n     pass\n"
    patch += "".join(f"+{line}\n" for line in new)
    patch += "--- /dev/null\n+++ b/EOF.txt\n@@ -0,0 +1 @@\n+EOF_TESTS\n"
    git = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && git rev-parse HEAD"
    commit = in_shell(git, repo).strip()
    (repo / "test_a.py").write_text("spoilt\n")
    ids = ["test_a.py::test_old", "test_a.py::test_new"]
    keys = {"workdir": "/testbed", "base_commit": commit, "test_cmd": f"{sys.executable} -m pytest -p no:cacheprovider"}
    make_task("acme__ledger-1", f2p=ids[1:], p2p=ids[:1], tests=patch.encode(), **keys)
    script = eval_script(panel, tmp_path).replace("/testbed", str(repo))
    log = in_shell(script, repo).encode()
    assert reward_of_log(log, ids) == 1.0
    assert (repo / "EOF.txt").read_text() == "EOF_TESTS\n"


@pytest.mark.parametrize(
    "command",
    ["exit 3", "false\nexit 1", "cd / && true # end", "set_up() {\nfalse\n}\nset_up || exit\ntrue", "exec true"],
)
def test_whatever_ends_in_the_command_the_last_marker_is_printed(
    panel: Path, make_task: MakeTask, tmp_path: Path, command: str
) -> None:
    make_task("acme__ledger-1", framework="unknown", test_cmd=command)
    printed = in_shell(eval_script(panel, tmp_path).replace("/testbed", str(tmp_path)), tmp_path)
    assert printed.splitlines() == [BEGIN, END]


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("pytest", "pytest -rA"),
        ("pytest -rA tests", "pytest -rA tests"),
        ("pytest -rfEA", "pytest -rfEA"),
        ("pytest -rf", "pytest -rf -rA"),
        ('make && python -m pytest "$@" | tee log', "make && python -m pytest -rA | tee log"),
        ("pytest -q -- tests", "pytest -q -rA -- tests"),
    ],
)
def test_pytest_names_each_test(panel: Path, make_task: MakeTask, tmp_path: Path, command: str, written: str) -> None:
    make_task("acme__ledger-1", test_cmd=command, workdir="/testbed")
    assert f"\n(\n{written}\n)\n" in eval_script(panel, tmp_path)
    export(panel, tmp_path / "live.jsonl", "swe-bench-live", every=True)
    assert json.loads((tmp_path / "live.jsonl").read_text())["test_cmds"] == [written]


def test_what_a_format_cannot_carry_is_said_with_its_tasks(panel: Path, make_task: MakeTask, tmp_path: Path) -> None:
    one, two = "acme__ledger-1", "acme__ledger-2"
    (make_task(one, env={"LANG": "C"}) / "environment").mkdir()
    make_task(two, timeout=60)
    lost = {target: dict(export(panel, tmp_path / target, target, every=True).lost) for target in TARGETS[:3]}
    assert lost["swe-bench-5"] == {"environment": [one], "env": [one], "timeout": [two]}
    assert lost["swe-bench-live"] == lost["swe-bench-5"]
    assert lost["swe-bench"] == lost["swe-bench-5"] | {"test_cmd": [one, two]}


def test_another_language_s_framework_is_lost_where_logs_are_read(
    panel: Path, make_task: MakeTask, tmp_path: Path
) -> None:
    make_task("acme__ledger-1", framework="go", test_cmd="go test ./...", workdir="/ledger")
    done = export(panel, tmp_path / "out", "swe-rebench-v2", every=True)
    assert done.lost == {"framework": ["acme__ledger-1"]}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", ["oracle.patch", "tests.patch"])
def test_a_patch_that_no_json_can_hold_is_refused(
    panel: Path, make_task: MakeTask, tmp_path: Path, file: str, target: str
) -> None:
    directory = make_task("acme__ledger-1")
    (directory / file).write_bytes(ORACLE.replace(b"return a", b"return 'caf\xe9'"))
    with pytest.raises(UsageError) as found:
        export(panel, tmp_path / "out", target, every=True)
    assert "acme__ledger-1" in str(found.value)
    assert file in str(found.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ids", [["t.py::größe[“a”]", "t.py::b['\"']", "t.py::\u2028"], []], ids=["odd", "none"])
def test_ids_of_any_kind_are_carried(panel: Path, make_task: MakeTask, tmp_path: Path, ids: list[str]) -> None:
    for target in TARGETS:
        workdir = "/ledger" if target == "swe-rebench-v2" else "/testbed"
        shutil.rmtree(panel / "acme__ledger-1", ignore_errors=True)
        make_task("acme__ledger-1", f2p=["t.py::a"], p2p=ids, workdir=workdir)
        export(panel, tmp_path / target, target, every=True)
        found = importing.run(tmp_path / target, tmp_path / f"{target}-again", Choice(), Wants())
        assert found.formats == {target: 1}
        assert only_task(tmp_path / f"{target}-again").p2p == tuple(ids)


def test_among_others_a_row_of_the_format_stays_as_it_came(tmp_path: Path) -> None:
    mine = [rows.five(1, odd="kept"), rows.classic(2)]
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", mine))
    record(panel, [rows.P2P[2]])
    done = export(panel, tmp_path / "out.jsonl", "swe-bench-5")
    one, two = (tmp_path / "out.jsonl").read_text().splitlines()
    assert one == json.dumps(trimmed("swe-bench-5", mine[0], [rows.P2P[2]]), ensure_ascii=False)
    assert json.loads(two)["instance_id"] == "acme__ledger-2"
    assert set(map(tuple, done.lost.values())) == {("acme__ledger-2",)}


# ---- native


def test_a_native_panel_comes_back_as_it_is(panel: Path, make_task: MakeTask, tmp_path: Path) -> None:
    directory = make_task("task-1", tests=b"--- t\n")
    (directory / "task.json").write_text((directory / "task.json").read_text().replace(", ", " ,\n ") + "\n")
    folder = directory / "environment"
    (folder / "source").mkdir(parents=True)
    for name in ("Dockerfile", "task.json", "repair.json", "source/outcomes.json", "source.json"):
        (folder / name).write_text("FROM scratch\n")
    (folder / "link").symlink_to("Dockerfile")
    (directory / "notes.md").write_text("Mine.\n")
    before = rows.tree(panel)
    record(panel)
    done = export(panel, tmp_path / "out")
    assert (done.format, done.tasks) == ("native", ("task-1",))
    assert rows.tree(tmp_path / "out") == before


def test_an_imported_build_context_is_in_the_native_copy_whole(tmp_path: Path) -> None:
    tree = rows.harbor(tmp_path / "source")
    export(imported(tmp_path / "source"), tmp_path / "out", "native", every=True)
    assert rows.tree(tmp_path / "out" / "acme__ledger-7" / "environment") == rows.tree(tree / "environment")


def test_a_native_copy_of_everything_trims_what_is_admitted(tmp_path: Path) -> None:
    mine = [rows.classic(1), rows.classic(2)]
    panel = imported(rows.jsonl(tmp_path / "rows.jsonl", mine))
    record(panel, [rows.P2P[2]], "acme__ledger-2")
    done = export(panel, tmp_path / "out", "native", every=True)
    assert (done.untrimmed, done.dropped) == ((("acme__ledger-1", "its record is absent"),), 1)
    one, two = read.load(tmp_path / "out").tasks
    assert json.dumps(one.p2p) == mine[0]["PASS_TO_PASS"]
    assert json.dumps(two.p2p) == trimmed("swe-bench", mine[1], [rows.P2P[2]])["PASS_TO_PASS"]
