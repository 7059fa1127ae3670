"""What the engine or a registry fails to do for a moment is tried again in the same run; what was observed never is."""

from __future__ import annotations

import http.server
import signal
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from repair import errors
from tests.faults.conftest import NAP, NAP_ID, PLAIN, Repair, Seen, Start, adds, records
from tests.faults.live_run import Docker
from tests.faults.private_engine import PrivateEngine
from tests.faults.survival import assert_survived, undisturbed

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
AGAIN = "trying again in"
LIMIT = 5  # seconds from an interrupt to the end


def attempts(panel: Path, task: str) -> list[Path]:
    return sorted((panel / ".repair" / "attempts" / task).iterdir())


def test_an_engine_that_is_killed_and_comes_back_costs_one_more_attempt(
    make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start, repair: Repair, seen: Seen
) -> None:
    docker = Docker(private.address)
    task = make_task(p2p=[NAP_ID], tests=NAP, env={"ORACLE_NAP": "20"})
    expected = undisturbed(panel, repair, docker)
    live = start("run", panel, docker=docker)
    docker.in_test(task.name)
    private.kill()
    private.start()

    done = live.end()

    assert done.code == 0, done
    assert "oracle: could not " in done.out
    assert AGAIN in done.out
    assert_survived(panel, expected, docker, task.name)
    oracle = [path for path in attempts(panel, task.name) if "-oracle-" in path.name]
    assert [(path / "error").exists() for path in oracle] == [True, False], "both attempts are kept, the first says why"
    seen("engine killed and started", "in a test", "a second attempt, same record, exit 0")


def test_a_run_that_waits_for_its_engine_ends_on_an_interrupt(
    make_task: MakeTask, panel: Path, private: PrivateEngine, start: Start, seen: Seen
) -> None:
    docker = Docker(private.address)
    task = make_task(p2p=[NAP_ID], tests=NAP, env={"NAP": "300"})
    live = start("run", panel, "--retries", "20", docker=docker)
    docker.in_test(task.name, 2)
    private.kill()
    assert live.until(AGAIN)
    begin = time.monotonic()
    live.send(signal.SIGINT)
    assert live.end().code == 130
    assert time.monotonic() - begin < LIMIT
    assert records(panel) == {}
    seen("engine killed", "in a test, then Ctrl-C in the pause", "exit 130 at once, no record")


class Registry(http.server.BaseHTTPRequestHandler):
    """A registry that answers every question with one status."""

    status = 500

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        body = (
            b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
            if "/manifests/" in self.path
            else b"{}"
        )
        self.send_response(200 if self.path == "/v2/" else self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the standard library's name
    asked: list[str] = []  # noqa: RUF012 - of the class that each test makes

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Callable[[int], tuple[str, list[str]]]]:
    """`registry(status)`: the address of a registry that answers so, and the list of what it was asked."""
    servers: list[socketserver.TCPServer] = []

    def serve(status: int) -> tuple[str, list[str]]:
        asked: list[str] = []
        handler = type("Answers", (Registry,), {"status": status, "asked": asked})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_address[1]}", asked

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "retries", "tries"), [(503, 2, 3), (503, 0, 1), (404, 2, 1)], ids=["busy", "no-retries", "unknown"]
)
def test_a_pull_is_tried_again_while_the_registry_is_busy_and_not_where_it_knows_no_such_image(
    status: int,
    retries: int,
    tries: int,
    registry: Callable[[int], tuple[str, list[str]]],
    make_task: MakeTask,
    panel: Path,
    tag: str,
    repair: Repair,
    seen: Seen,
) -> None:
    address, asked = registry(status)
    task = make_task(f"sick-{tag}", p2p=[], image=f"{address}/none:1")
    make_task(f"well-{tag}", p2p=[])

    done = repair("run", panel, "--retries", str(retries))

    assert done.code == errors.ImageError.code, done
    assert task.name in done.err
    assert "build or pull it" in done.err
    assert done.out.count(AGAIN) == tries - 1
    assert sum(path.endswith("/manifests/1") for path in asked) >= tries
    assert {file.partition("/")[0] for file in records(panel)} == {f"well-{tag}"}
    again = f"{tries} tries" if tries > 1 else "one try"
    seen(f"registry answers {status}", f"in a pull, --retries {retries}", f"{again}, exit 6, the other task recorded")


def test_a_container_that_cannot_start_is_tried_once_more_and_the_other_task_is_decided(
    make_task: MakeTask, panel: Path, tag: str, docker: Docker, repair: Repair, tmp_path: Path, seen: Seen
) -> None:
    sick = make_task(f"sick-{tag}", p2p=[], user="nobody-of-this-name")
    make_task(f"well-{tag}", p2p=[])

    done = repair("run", panel, "--retries", "1")

    assert done.code == errors.EngineError.code, done
    assert sick.name in done.err
    assert "nobody-of-this-name" in done.err
    assert {file.partition("/")[0] for file in records(panel)} == {f"well-{tag}"}
    assert docker.containers(sick.name) == []
    assert all((path / "error").exists() for path in attempts(panel, sick.name))
    seen("container cannot start", "at its start", "exit 7, the other task recorded")


NEVER_AGAIN: dict[str, tuple[dict[str, Any], bytes, type[errors.RepairError]]] = {
    "timeout": ({"timeout": 4}, adds("tests/conftest.py", "import time\ntime.sleep(300)"), errors.TimeoutOutsideTest),
    "memory kill": (
        {"memory": "64m"},
        adds("tests/conftest.py", "bytearray(1 << 30)"),
        errors.MemoryKill,
    ),
    "no report": ({"test_cmd": "exit 0 #"}, NAP, errors.NoEvidence),
}


@pytest.mark.parametrize("fault", NEVER_AGAIN)
def test_what_was_observed_is_never_tried_again(
    fault: str, make_task: MakeTask, panel: Path, tag: str, repair: Repair, seen: Seen
) -> None:
    keys, tests, error = NEVER_AGAIN[fault]
    task = make_task(f"sick-{tag}", p2p=[], tests=tests, **keys)
    done = repair("run", panel, "--retries", "5")
    assert done.code == error.code, done
    assert AGAIN not in done.out
    assert len(attempts(panel, task.name)) == 2, "one of each control"
    seen(fault, "with --retries 5", f"one attempt of each control, exit {error.code}")


def test_a_failing_test_is_never_tried_again(make_task: MakeTask, panel: Path, tag: str, repair: Repair) -> None:
    task = make_task(f"fails-{tag}", f2p=["tests/test_calc.py::test_phantom"], p2p=[])
    done = repair("run", panel, "--retries", "5")
    assert done.code == 0, done
    assert len(attempts(panel, task.name)) == 2
    assert PLAIN in (task / "task.json").read_text()
