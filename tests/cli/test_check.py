"""`repair run` where every task has a record: left alone, said so, and a stale one named with the line that frees it.

Nothing is executed, so the engine is a socket that answers the three questions which are asked before.
"""

from __future__ import annotations

import json
import shlex
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import Capture, ask, below

KEEP, ADD = "tests/test_calc.py::test_keep[3]", "tests/test_calc.py::test_add"
LOST = {KEEP: records.MISSING}
ANSWERS = {
    "/version": {"ApiVersion": "1.41", "Version": "20.10.0"},
    "/info": {"NCPU": 2, "MemTotal": 4 << 30, "Architecture": "x86_64", "ServerVersion": "20.10.0"},
    "/containers/json": [],
}


class Engine(BaseHTTPRequestHandler):
    """An engine on which nothing runs."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        found = next((answer for end, answer in ANSWERS.items() if path.endswith(end)), None)
        body = json.dumps({"message": "not asked for here"} if found is None else found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture(autouse=True)
def engine(short: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with socketserver.ThreadingUnixStreamServer(str(short / "engine.sock"), Engine) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{short}/engine.sock")
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def mixed(make_task: MakeTask) -> Path:
    """Three tasks with their records: clean, repaired, refused."""
    records.write(make_task("calc-1"))
    records.write(make_task("calc-2"), LOST, LOST)
    records.write(make_task("calc-3"), {}, {ADD: records.FAILED})
    return make_task("gone").parent


@pytest.fixture
def decided(mixed: Path) -> Path:
    for file in (mixed / "gone").iterdir():
        file.unlink()
    (mixed / "gone").rmdir()
    return mixed


def records_of(panel: Path) -> list[tuple[Path, int]]:
    return [found for found in below(panel) if found[0].name in {"repair.json", "outcomes.json"}]


def test_tasks_with_a_record_are_left_alone(capsys: Capture, decided: Path) -> None:
    before = records_of(decided)
    code, out, err = ask(capsys, "run", decided)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert sorted(line.partition("] ")[2] for line in lines[:3]) == [
        f"calc-{n}: has a record, left alone" for n in (1, 2, 3)
    ]
    assert lines[3:7] == [
        "task    verdict     F2P      P2P  dropped  first cause or reason",
        "calc-1  clean     1 → 1  12 → 12        0",
        "calc-2  repaired  1 → 1  12 → 11        1  not collected",
        "calc-3  refused   1 → 0  12 → 12        0  1 F2P do not pass with the reference (AssertionError at calc.py:2)",
    ]
    assert "3 tasks: 1 clean, 1 refused, 1 repaired, 3 left alone" in lines
    assert f"repair gate {decided}" in out
    assert records_of(decided) == before


def test_a_stale_record_is_named_with_the_line_that_frees_it(capsys: Capture, decided: Path) -> None:
    panel = decided.rename(decided.parent / "a panel's")
    (panel / "calc-2" / "oracle.patch").write_text("--- other\n")
    before = records_of(panel)
    code, out, _ = ask(capsys, "run", panel)
    assert code == 1
    lines = out.splitlines()
    at = lines.index("calc-2: its record is stale (oracle.patch changed since); to decide it anew:")
    assert lines[at + 1].startswith("    rm ")
    assert shlex.split(lines[at + 1]) == ["rm", str(panel / "calc-2" / "repair.json")]
    assert records_of(panel) == before


def test_json_is_all_that_stdout_holds(capsys: Capture, decided: Path) -> None:
    (decided / "calc-1" / "tests.patch").write_text("--- other\n")
    code, out, err = ask(capsys, "run", decided, "--json")
    document = json.loads(out)
    assert (code, document["exit"]) == (1, 1)
    assert [task["instance_id"] for task in document["tasks"]] == ["calc-1", "calc-2", "calc-3"]
    stale, *kept = document["tasks"]
    assert (stale["is"], stale["details"]) == ("stale", ["tests.patch changed since"])
    assert "verdict" not in stale
    assert [(task["state"], task["verdict"]) for task in kept] == [("kept", "repaired"), ("kept", "refused")]
    assert document["tasks"][1]["P2P"] == {"listed": 12, "kept": 11}
    assert "left alone" in err


def test_fresh_leaves_records_alone_too(capsys: Capture, decided: Path) -> None:
    before = records_of(decided)
    assert ask(capsys, "run", decided, "--fresh", "calc-1")[0] == 0
    assert records_of(decided) == before


def test_a_record_that_is_not_sound_is_left_alone_and_named(capsys: Capture, decided: Path) -> None:
    """Whoever reads `0 failed` must not believe that this task has a decision."""
    records.overwrite(decided / "calc-1" / "repair.json", b"{}")
    code, out, _ = ask(capsys, "run", decided)
    assert (decided / "calc-1" / "repair.json").read_bytes() == b"{}"
    assert code == 1
    assert "inconsistent" in out


def test_a_failed_task_leaves_nothing_that_git_would_see(capsys: Capture, mixed: Path) -> None:
    """Its image cannot be looked up on this engine."""
    before = {path for path, _ in below(mixed)}
    code, out, err = ask(capsys, "run", mixed, "--no-build", "gone")
    assert code in range(5, 15)
    assert "gone" in err
    assert "1 failed" in out
    assert all(".repair" in path.parts for path in {path for path, _ in below(mixed)} - before)
    assert (mixed / ".repair" / ".gitignore").read_text() == "*\n"
