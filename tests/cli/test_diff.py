"""`repair diff`: what it compares, its exit statuses, its three formats, and what it says of what it cannot compare."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from repair import table
from tests.conftest import MakeTask
from tests.support import records
from tests.support.books import KEEP, books, document, panel, unlist
from tests.support.cli import Capture, ask
from tests.support.git import Git, commit

__all__ = ["books", "panel"]  # fixtures


# ---- the sides


def test_nothing_differs(capsys: Capture, books: Path) -> None:
    assert ask(capsys, "diff", books, "HEAD") == (0, "HEAD → working tree\nno difference (3 tasks)\n", "")
    assert ask(capsys, "diff", books, books)[0] == 0
    code, out, _ = ask(capsys, "diff", books, "HEAD..HEAD", "--format", "markdown")
    assert (code, out) == (0, "### repair diff: `HEAD` → `HEAD`\n\nNo difference (3 tasks).\n")


def test_what_changes_nothing_is_no_difference(capsys: Capture, books: Path) -> None:
    task = books / "calc-1" / "task.json"
    task.write_text(json.dumps(json.loads(task.read_text()), indent=4, sort_keys=True))
    (books / "panel.toml").write_text("# for readers\n" + (books / "panel.toml").read_text())
    (books / "README.md").write_text("more\n")
    assert ask(capsys, "diff", books, "HEAD")[0] == 0


def test_a_list_that_changed_under_its_record(capsys: Capture, books: Path) -> None:
    unlist(books / "calc-2")
    code, out, err = ask(capsys, "diff", books, "HEAD")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "HEAD → working tree",
        "",
        "!! RECORDS THAT DO NOT HOLD",
        "  calc-2: stale; repair.json stayed as it was, but 1 id removed from P2P in task.json",
        "",
        "gate",
        "  admitted 2 → 1: THE GATE IS NO LONGER MET",
        "  gate before: 1 clean + 1 repaired = 2 ≥ 2",
        "  gate after: 1 clean + 0 repaired = 1 < 2",
        "  tasks: 0 added, 0 gone, 1 changed, 2 the same",
        "",
        "verdicts",
        "  calc-2: repaired → stale (task.json (or panel.toml's [defaults]) changed since)",
        "",
        "changes by task",
        "  calc-2: stale",
        "    1 id removed from P2P in task.json",
        f"      {KEEP}",
    ]


@pytest.mark.parametrize("way", ["two panels", "a revision", "two revisions", "from the merge base", "from below"])
def test_all_ways_to_name_two_sides_say_the_same(
    capsys: Capture, books: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    git(books, "tag", "base")
    shutil.copytree(books, tmp_path / "before")
    records.overwrite(books / "calc-1" / "repair.json", b"{}")
    shutil.rmtree(books / "calc-3")
    if way in ("two revisions", "from the merge base"):
        commit(books, git)
    if way == "from below":
        monkeypatch.chdir(books / "calc-2")
    named: dict[str, tuple[str | Path, ...]] = {
        "two panels": (tmp_path / "before", books),
        "a revision": (Path("panels/books"), "base"),
        "two revisions": (books, "base..main"),
        "from the merge base": (books, "base...main"),
        "from below": (Path(".."), "base"),
    }
    found = document(capsys, *named[way])
    assert (found["before"]["admitted"], found["after"]["admitted"], found["same"]) == (2, 1, 1)
    assert [(task["instance_id"], task["change"]) for task in found["tasks"]] == [
        ("calc-1", "changed"),
        ("calc-3", "gone"),
    ]
    assert found["tasks"][0]["after"]["is"] == "inconsistent"


def test_what_is_a_directory_and_a_revision_is_neither(capsys: Capture, books: Path, git: Git, tmp_path: Path) -> None:
    git(books, "tag", "other")
    unlist(books / "calc-1")
    shutil.copytree(books, "other")
    code, out, err = ask(capsys, "diff", books, "other")
    assert (code, out) == (2, "")
    assert "say ./other or other^{commit}" in err
    assert ask(capsys, "diff", books, "./other")[0] == 0
    assert ask(capsys, "diff", books, "other^{commit}")[0] == 1


def test_a_new_panel_is_added_whole(capsys: Capture, books: Path, git: Git) -> None:
    git(books, "checkout", "-q", "--orphan", "empty")
    git(books, "rm", "-rq", "--cached", ".")
    git(books, "commit", "-q", "--allow-empty", "-m", "x")
    found = document(capsys, books, "HEAD")
    assert found["before"]["absent"]
    assert [(task["instance_id"], task["change"]) for task in found["tasks"]] == [
        (f"calc-{number}", "added") for number in (1, 2, 3)
    ]
    code, out, _ = ask(capsys, "diff", books, "HEAD")
    assert code == 1
    assert "  HEAD: there is no panel\n" in out
    assert "  calc-2: repaired, F2P 1 → 1, P2P 12 → 11, 1 dropped (not collected)\n" in out
    assert "admitted 0 → 2: the gate is met now" in out
    shutil.rmtree(books)
    found = document(capsys, books, "main")
    assert (found["after"]["absent"], {task["change"] for task in found["tasks"]}) == (True, {"gone"})


def test_two_tasks_in_their_panels(capsys: Capture, books: Path, tmp_path: Path) -> None:
    shutil.copytree(books, tmp_path / "other")
    unlist(tmp_path / "other" / "calc-1")
    (tmp_path / "other" / "calc-2" / "oracle.patch").write_text("x")
    code, out, _ = ask(capsys, "diff", books / "calc-1", tmp_path / "other" / "calc-1")
    assert code == 1
    assert "calc-1: clean → stale" in out
    assert "calc-2" not in out
    assert "GATE" not in out
    assert ask(capsys, "diff", books / "calc-3", tmp_path / "other" / "calc-3")[0] == 0
    assert ask(capsys, "diff", books / "calc-1", "HEAD")[0] == 0
    code, out, _ = ask(capsys, "diff", books / "calc-1", books / "calc-2")
    assert code == 1
    assert "calc-1 → calc-2: repaired" in out


# ---- what does not load


def test_a_task_that_does_not_load_is_a_difference_of_its_own(capsys: Capture, books: Path) -> None:
    (books / "calc-1" / "task.json").write_text("{")
    (books / "calc-2" / "task.json").unlink()
    found = document(capsys, books, "HEAD")
    assert [(task["before"]["is"], task["after"]["is"]) for task in found["tasks"]] == [
        ("clean", "unreadable"),
        ("repaired", "unreadable"),
    ]
    assert found["tasks"][0]["after"]["why_not"].startswith("calc-1/task.json: no valid JSON")
    assert found["tasks"][1]["after"]["why_not"] == "calc-2/task.json is missing"
    back = document(capsys, books, books)
    assert (back["exit"], back["same"], back["after"]["admitted"]) == (0, 3, 0)


def test_what_did_not_load_at_a_revision_names_no_directory_of_ours(capsys: Capture, books: Path, git: Git) -> None:
    good = (books / "calc-1" / "task.json").read_bytes()
    (books / "calc-1" / "task.json").write_text("{")
    commit(books, git)
    (books / "calc-1" / "task.json").write_bytes(good)
    code, out, _ = ask(capsys, "diff", books, "HEAD", "--format", "json")
    assert code == 1
    assert '"why_not": "calc-1/task.json: no valid JSON' in out
    assert "repair-diff-" not in out


def test_a_panel_toml_that_does_not_load_is_said_once_and_loudly(capsys: Capture, books: Path) -> None:
    (books / "panel.toml").write_text("name = \n")
    shutil.rmtree(books / "calc-3")
    code, out, _ = ask(capsys, "diff", books, "HEAD")
    assert code == 1
    assert out.startswith(
        "HEAD → working tree\n\n!! THE PANEL\n  working tree: panel.toml cannot be read: panel.toml: no valid TOML"
    )
    assert "admitted 2 → 0: THE GATE IS NO LONGER MET" in out
    assert "calc-3: refused" in out
    assert "calc-1" not in out


def test_a_policy_that_changed_comes_first(capsys: Capture, books: Path) -> None:
    settings = (books / "panel.toml").read_text()
    (books / "panel.toml").write_text(settings.replace("min_p2p = 5", "min_p2p = 4") + "[defaults]\ntimeout = 9\n")
    _, out, _ = ask(capsys, "diff", books, "HEAD")
    lines = out.splitlines()
    assert lines[2:4] == ["!! THE POLICY CHANGED", "  policy.min_p2p: 5 → 4 (looser: it admits more)"]
    assert "  defaults.timeout: not set → 9.0" in lines
    assert not [line for line in lines if line.strip().startswith("timeout")]
    task = books / "calc-1" / "task.json"
    task.write_text(json.dumps(json.loads(task.read_text()) | {"timeout": 7}))
    _, out, _ = ask(capsys, "diff", books, "HEAD")
    assert [line.strip() for line in out.splitlines() if "timeout: 1800" in line] == ["timeout: 1800.0 → 7.0"]


def test_flaky_ids_and_their_rates(capsys: Capture, panel: Path, make_task: MakeTask, git: Git) -> None:
    (panel / "panel.toml").write_text('name = "books"\n[policy]\nmin_p2p = 5\nrepeats = 3\n')
    task = make_task("calc-1")
    loaded, made = records.load(task)
    for failing in (1, 2):
        runs = tuple(
            records.run(made.f2p, made.p2p, oracle=True, other={KEEP: records.FAILED} if number < failing else {})
            for number in range(3)
        )
        first = records.evidence(made, loaded.policy, {}, {})
        seen = table.build(made.f2p, made.p2p, first.empty, runs)
        for name in ("repair.json", "outcomes.json"):
            (task / name).unlink(missing_ok=True)
        records.write_evidence(loaded, made, replace(first, oracle=runs, table=seen))
        if failing == 1:
            commit(panel, git)
    code, out, _ = ask(capsys, "diff", panel, "HEAD")
    assert code == 1
    assert f"    1 id flaky under oracle: passed 2/3, failed 1/3 → failed 2/3, passed 1/3\n      {KEEP}\n" in out
    assert "    record: outcomes.json changed, repair.json changed\n" in out


def test_what_is_alike_of_many_tasks_is_said_once(capsys: Capture, books: Path) -> None:
    for task in sorted(books.glob("calc-*/oracle.patch")):
        task.write_text("other\n")
    lines = ask(capsys, "diff", books, "HEAD")[1].splitlines()
    at = lines.index("!! RECORDS THAT DO NOT HOLD")
    assert lines[at + 1 : at + 5] == [
        "  3 tasks: stale; repair.json stayed as it was, but oracle.patch changed",
        "    calc-1",
        "    calc-2",
        "    calc-3",
    ]
    assert "  calc-2: repaired → stale (oracle.patch changed since)" in lines


# ---- formats


def test_a_terminal_of_80_columns_cuts_lines_and_a_pipe_cuts_none(books: Path) -> None:
    shutil.rmtree(books / "calc-3")
    (books / "calc-1").rename(books / ("calc-1" * 20))
    command = [sys.executable, "-m", "repair", "diff", str(books), "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONUTF8": "1"})
    assert done.returncode == 1
    assert "calc-1" * 20 in done.stdout
    master, slave = pty.openpty()
    settings = os.environ | {"PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": "80"}
    subprocess.run(["stty", "cols", "80"], stdin=slave, check=True)
    process = subprocess.Popen(command, stdout=slave, env=settings)
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    os.close(master)
    assert process.wait() == 1
    lines = shown.decode().replace("\r", "").splitlines()
    assert max(map(len, lines)) == 80
    assert [line[-1] for line in lines if len(line) == 80] == ["…"] * len([line for line in lines if len(line) == 80])


def test_markdown_of_a_hostile_task(capsys: Capture, books: Path, make_task: MakeTask) -> None:
    make_task("<b>@acme` #1|", p2p=["x`</details>@acme"])
    code, out, _ = ask(capsys, "diff", books, "HEAD", "--format", "markdown")
    assert code == 1
    assert "- ``<b>@acme` #1|``: absent (`` no repair.json: run `repair run` ``)\n" in out


def test_json_is_documented_and_whole(capsys: Capture, books: Path) -> None:
    unlist(books / "calc-1")
    (books / "calc-1" / "oracle.patch").write_text("other\n")
    found = document(capsys, books, "HEAD")
    assert list(found) == ["schema", "exit", "before", "after", "settings", "same", "not_compared", "tasks"]
    assert found["schema"] == 1
    [task] = found["tasks"]
    assert task["changed_under_record"]
    assert task["files"] == {"oracle.patch": "changed"}
    assert [(group["what"], group["list"], group["ids"]) for group in task["ids"]] == [("unlisted", "P2P", [KEEP])]


# ---- refused


def test_what_cannot_be_compared_is_a_usage_error(capsys: Capture, books: Path, git: Git, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        ((books, "nowhere"), "nowhere is no directory, and as a revision: nowhere is no revision of the repository"),
        ((tmp_path / "empty", "main"), "is no directory, and as a revision"),
        ((books, "--", "-x"), "begins with -"),
        ((books, ""), "B is empty"),
        ((books, tmp_path / "empty"), "no panel: it has no panel.toml"),
        ((tmp_path / "none", books), "none is no directory"),
        ((books.parent, "HEAD"), "holds no panel"),
        ((books / "calc-1", books), "are not alike"),
        ((books, "HEAD", "--format", "html"), "--format html: expected terminal, markdown, json"),
        ((books, "x" * 5000), "is no directory, and as a revision"),
    ]
    for arguments, said in cases:
        code, out, err = ask(capsys, "diff", *arguments)
        assert (code, out) == (2, ""), arguments
        assert said in err
        assert "Traceback" not in err


def test_two_panels_that_do_not_load_cannot_be_compared(capsys: Capture, books: Path, git: Git) -> None:
    (books / "panel.toml").write_text("name = \n")
    commit(books, git)
    code, _, err = ask(capsys, "diff", books, "HEAD")
    assert (code, "no valid TOML" in err) == (2, True)


# Tells that it was asked for blobs, by a name that only opens when the test does, and then never answers.
SLOW_GIT = """\
#!/bin/sh
[ "$1 $2" = "cat-file --batch" ] || exec {git} "$@"
: >{asked}
exec sleep 600
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_comparison_that_is_stopped_says_so_and_leaves_nothing(
    number: signal.Signals, status: int, books: Path, tmp_path: Path
) -> None:
    tools, temporary, asked = tmp_path / "tools", tmp_path / "temporary", tmp_path / "asked"
    tools.mkdir()
    temporary.mkdir()
    os.mkfifo(asked)
    (tools / "git").write_text(SLOW_GIT.format(git=shutil.which("git"), asked=asked))
    (tools / "git").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "repair", "diff", str(books), "HEAD"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            asked.read_bytes()
            assert list(temporary.iterdir()) != []
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (status, b"", b"repair: stopped\n")
    assert list(temporary.iterdir()) == []
