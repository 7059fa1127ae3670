"""Ids, causes, names and messages of strangers, through every command: nothing steers a terminal or forges a line."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TextIO

import pytest

from repair.cli import run_app
from repair.controls.session import Event, Say
from repair.errors import NoEvidence
from repair.model import Observed, Outcome
from repair.pipeline import Result, State
from repair.report import progress, run
from repair.text import MAX_CHARS, normalise, pretty, printable, shown_line
from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import shown_on

FORGED = "repair: all is well"
STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\u200b\u2028\u2029\x85\r\t\x7f\U000e0041"
MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>-->`|*_[x](javascript:y)@someone #1 &lt;"
ID = f"tests/test_t.py::test_a[{STEERING}{MARKUP}]"
LONG = f"tests/test_t.py::test_long[{'x' * 3000}\u202e]"
CAUSE = f"{STEERING}{MARKUP}\n{FORGED}\n\0{'y' * 1000}"
NAME = f"t\x1b[2J\u202e\n{FORGED}\n<img src=x onerror=alert(1)>`"
SPELT = r"\x1b[2J"  # as people see it


def assert_ours(text: str) -> None:
    """Every line is printable, and none of them was written by a stranger."""
    lines = text.split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.startswith(FORGED)] == []


@pytest.fixture
def hostile(panel: Path, make_task: MakeTask) -> Path:
    """A panel of one repaired and one refused task, whose every text is hostile; `other` beside it is another state."""
    skipped = {ID: Observed(Outcome.SKIPPED, CAUSE), LONG: Observed(Outcome.SKIPPED, CAUSE)}
    for name, f2p in (("a", "tests/test_t.py::test_f"), (NAME, "tests/test_t.py::test_f")):
        task = make_task(name, f2p=[f2p], p2p=[ID, LONG, "tests/test_t.py::test_kept"], image=f"odd/{STEERING}")
        seen = {**skipped, f2p: Observed(Outcome.FAILED, CAUSE)} if name == "a" else skipped
        loaded, one = records.load(task)
        found = records.evidence(one, loaded.policy, skipped, seen)
        odd = replace(found.empty[0], flags=(CAUSE,), deadly=(ID,))
        records.write_evidence(loaded, one, replace(found, empty=(odd,)))
        log = panel / ".repair" / "attempts" / name / "host-1-abc-0001-oracle-1" / "log"
        log.parent.mkdir(parents=True)
        log.write_bytes(CAUSE.encode())
    return panel


def other(hostile: Path) -> Path:
    """The panel as it was before an id came and a record went."""
    place = hostile.parent / "other"
    (place / NAME).mkdir(parents=True)
    (place / "panel.toml").write_bytes((hostile / "panel.toml").read_bytes())
    for name in ("oracle.patch", "instruction.md"):
        (place / NAME / name).write_bytes((hostile / NAME / name).read_bytes())
    document = json.loads((hostile / NAME / "task.json").read_bytes())
    (place / NAME / "task.json").write_text(json.dumps(document | {"PASS_TO_PASS": [LONG]}))
    return place


def broken(hostile: Path) -> Path:
    (hostile / NAME / "task.json").write_text(json.dumps({f"{CAUSE}{ID}": 1}))
    return hostile


def stale(hostile: Path) -> Path:
    (hostile / NAME / "oracle.patch").write_bytes(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    return hostile


def edited(hostile: Path) -> Path:
    document = json.loads((hostile / NAME / "outcomes.json").read_bytes())
    records.overwrite(hostile / NAME / "outcomes.json", json.dumps(document | {"schema": CAUSE}).encode())
    return hostile


def foreign(hostile: Path) -> Path:
    """Rows of another format, of which one is no task."""
    row = {
        "instance_id": "acme__calc-1",
        "repo": f"acme/calc{STEERING}",
        "base_commit": "0" * 40,
        "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "test_patch": "--- a/t\n+++ b/t\n@@ -1 +1 @@\n-a\n+b\n",
        "problem_statement": CAUSE,
        "hints_text": "",
        "created_at": "",
        "version": CAUSE,
        "FAIL_TO_PASS": json.dumps([ID]),
        "PASS_TO_PASS": json.dumps([ID, LONG]),
        "environment_setup_commit": "",
    }
    file = hostile.parent / "rows.jsonl"
    rows = [row, row | {"instance_id": NAME}, {CAUSE: ID}, row | {"instance_id": "acme__calc-2", "FAIL_TO_PASS": CAUSE}]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return file


def report(hostile: Path) -> Path:
    file = hostile.parent / f"report-{STEERING}.xml"
    name = MARKUP.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    file.write_text(f"<testsuite><testcase classname='k' name='&#x202e;&#10;{FORGED}&#10;{name}'/></testsuite>")
    return file


def cut_report(hostile: Path) -> Path:
    file = hostile.parent / f"cut-{STEERING}\n{FORGED}\n.xml"
    file.write_text("<testsuite><testcase")
    return file


Arguments = Callable[[Path], Sequence[object]]
Show = Callable[[TextIO, int], AbstractContextManager[Say]]
COMMANDS: dict[str, Arguments] = {
    "run --dry-run": lambda panel: ["run", panel, "--dry-run"],
    "run --dry-run --json": lambda panel: ["run", panel, "--dry-run", "--json"],
    "run of a broken task": lambda panel: ["run", broken(panel), "--dry-run"],
    "run without an engine": lambda panel: ["run", panel],
    "check": lambda panel: ["check", panel],
    "check --json": lambda panel: ["check", panel, "--json"],
    "check of a stale record": lambda panel: ["check", stale(panel)],
    "check of an edited record": lambda panel: ["check", edited(panel)],
    "check of a broken task": lambda panel: ["check", broken(panel)],
    "check of a broken task --json": lambda panel: ["check", broken(panel), "--json"],
    "gate": lambda panel: ["gate", panel],
    "gate --json": lambda panel: ["gate", panel, "--json"],
    "gate of an edited record": lambda panel: ["gate", edited(panel)],
    "show of a refused task": lambda panel: ["show", panel / "a"],
    "show": lambda panel: ["show", panel / NAME],
    "show --all": lambda panel: ["show", panel / NAME, "--all"],
    "show of an edited record": lambda panel: ["show", edited(panel) / NAME],
    "show of no task": lambda panel: ["show", panel / f"{NAME}-gone"],
    "show --log of no log": lambda panel: ["show", panel / NAME, "--log", "empty"],
    "diff": lambda panel: ["diff", other(panel), panel],
    "diff, the other way": lambda panel: ["diff", panel, other(panel)],
    "diff of an edited record": lambda panel: ["diff", other(panel), edited(panel)],
    "diff of a broken task": lambda panel: ["diff", other(panel), broken(panel)],
    "diff of a revision": lambda panel: ["diff", panel, f"{STEERING}.."],
    "diff --format json": lambda panel: ["diff", other(panel), panel, "--format", "json"],
    "diff --format markdown": lambda panel: ["diff", other(panel), panel, "--format", "markdown"],
    "report": lambda panel: ["report", panel, "-o", panel.parent / f"{STEERING}.html"],
    "export": lambda panel: ["export", panel, "-o", panel.parent / STEERING, "--format", "native", "--all"],
    "export to another format": lambda panel: [
        "export",
        panel,
        "-o",
        panel.parent / "x.jsonl",
        "--format",
        "swe-bench",
    ],
    "import": lambda panel: ["import", foreign(panel), "-o", panel.parent / STEERING],
    "import --json": lambda panel: ["import", foreign(panel), "-o", panel.parent / STEERING, "--json"],
    "parse": lambda panel: ["parse", report(panel)],
    "parse --json": lambda panel: ["parse", report(panel), "--json"],
    "parse of a cut report": lambda panel: ["parse", cut_report(panel)],
    "parse of no report": lambda panel: ["parse", panel / f"{STEERING}\n{FORGED}"],
    "new": lambda panel: ["new", panel / f"new{STEERING}\n{FORGED}"],
    "doctor without an engine": lambda panel: ["doctor", panel],
    "mint without an engine": lambda panel: ["mint", panel, "--compare"],
    "probe of what is no id": lambda panel: ["probe", panel / NAME, f"{STEERING}\n{FORGED}"],
    "probe without an engine": lambda panel: ["probe", panel / NAME, ID],
    "clean without an engine": lambda panel: ["clean"],
}
NO_ENGINE = {**os.environ, "NO_COLOR": "1", "DOCKER_HOST": f"unix:///nonexistent/{STEERING}.sock"}


def in_a_process(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "repair", *arguments]
    done = subprocess.run(command, capture_output=True, env=NO_ENGINE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_passes_on_what_steers(capsys: pytest.CaptureFixture[str], hostile: Path, command: str) -> None:
    arguments = [str(argument) for argument in COMMANDS[command](hostile)]
    if "engine" in command or arguments[0] == "import":  # they leave it to their end to close what they opened
        status, out, err = in_a_process(*arguments)
    else:
        status, (out, err) = run_app(arguments), capsys.readouterr()
    assert status != 3, "a bug of ours"
    assert out + err
    assert_ours(out)
    assert_ours(err)
    if "--json" in arguments:
        json.loads(out)


def on_a_terminal(*arguments: object) -> str:
    """All that a command shows on a terminal that takes no colours."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "repair", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=NO_ENGINE)
    os.close(follower)
    shown = shown_on(leader)
    process.wait()
    return shown.decode("utf-8").replace("\r\n", "\n")


TERMINAL = ("check", "show --all", "diff", "gate of an edited record", "run without an engine", "parse of a cut report")


@pytest.mark.parametrize("command", TERMINAL)
def test_no_command_steers_a_terminal(hostile: Path, command: str) -> None:
    shown = on_a_terminal(*COMMANDS[command](hostile))
    assert shown
    assert_ours(shown)


def test_a_log_on_a_terminal_is_spelt_out(hostile: Path) -> None:
    shown = on_a_terminal("show", hostile / NAME, "--log", "oracle")
    assert [line for line in shown.split("\n") if not line.isprintable()] == []
    assert r"\x1b]0;owned\x07" in shown
    assert FORGED in shown.split("\n"), "a log's lines are its own"


def test_a_log_in_a_pipe_is_as_it_is(hostile: Path) -> None:
    command = [sys.executable, "-m", "repair", "show", str(hostile / NAME), "--log", "oracle"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == CAUSE.encode()


class Tags(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name) for name, _ in attrs] or [(tag, "")]


def test_a_page_holds_no_element_of_a_stranger_s(hostile: Path, tmp_path: Path) -> None:
    assert run_app(["report", str(hostile), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    tags = Tags()
    tags.feed(page)
    assert ("img", "src") not in tags.found
    assert not [name for _, name in tags.found if name.startswith("on")]
    assert all(line.replace("\t", "").isprintable() for line in page.split("\n"))


RECORDS = ("repair.json", "outcomes.json")


def test_records_are_ascii_and_say_what_was_seen(hostile: Path) -> None:
    for task in ("a", NAME):
        for name in RECORDS:
            text = (hostile / task / name).read_text("ascii")
            assert all(line.isprintable() for line in text.split("\n"))
        assert ID in json.loads((hostile / task / "outcomes.json").read_bytes())["tests"]


def test_a_manifest_is_ascii(hostile: Path, tmp_path: Path) -> None:
    assert run_app(["gate", str(hostile), "--manifest", str(tmp_path / "m.json")]) == 0
    text = (tmp_path / "m.json").read_text("ascii")
    assert all(line.isprintable() for line in text.split("\n"))


# ---- a run, whose engine no fast test has


def test_the_end_of_a_run_is_lines_of_ours(hostile: Path) -> None:
    loaded, task = records.load(hostile / NAME)
    error = NoEvidence(CAUSE, CAUSE)
    results = [
        Result(task, State.UNSOUND, soundness="stale", details=(CAUSE,)),
        Result(task, State.FAILED, error=error),
        Result(task, State.KEPT, soundness="sound"),
    ]
    for width in (None, 40, 80, 200):
        assert_ours(run.run_text(loaded.directory, results, width))
    assert_ours(run.failures_text([(NAME, error)]))
    assert_ours(run.check_text([], results))
    assert pretty(run.run_document(results, 5)).isascii()


def shown_of(show: Show) -> str:
    """What a watcher sees of hostile events."""
    out = io.StringIO()
    with show(out, 2) as say:
        say(Event(NAME, CAUSE))
        say(Event(NAME, CAUSE.replace(" ", "_"), done=True))
    return out.getvalue()


def test_progress_is_a_line_an_event() -> None:
    shown = shown_of(progress.lines)
    assert shown.count("\n") == 2
    assert_ours(shown)


def test_the_live_display_passes_on_nothing_that_steers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    shown = shown_of(progress.live)
    assert SPELT in shown
    steering = set(STEERING) - {"\x1b", "\r", *"[2J]0;owned31m"}
    assert not steering & set(shown)
    assert not {"\x1b[2J", "\x1b]"} & {shown[at : at + length] for at in range(len(shown)) for length in (2, 4)}


# ---- what all of them are made of


@pytest.mark.parametrize("text", [STEERING, CAUSE, ID, NAME, "\ud800\udcff", "\0" * 10_000, "\u202e" * 10_000])
def test_a_cause_is_one_printable_line_of_limited_length(text: str) -> None:
    assert normalise(text).isprintable()
    assert len(normalise(text)) <= MAX_CHARS
    assert printable(text).isprintable()


@pytest.mark.parametrize("line", ["\x1b]0;x\x07\n", "\x9b\x90\n", "\u202e\x85\n", "a\rb\r\n"])
def test_a_line_of_a_log_is_one_line(line: str) -> None:
    assert shown_line(line).isprintable()


@pytest.mark.parametrize("name", ["a b", "it's", "\x1b[2J\u202e", "a\nb", "\udcff", "\\x41'\x07A", "é"])
def test_a_quoted_path_is_printable_and_names_the_file_to_bash(tmp_path: Path, name: str) -> None:
    quoted = run.quoted(tmp_path / name)
    assert quoted.isprintable()
    done = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert done.stdout == os.fsencode(tmp_path / name)
