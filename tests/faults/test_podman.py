"""Podman behind Docker's API, by scripts/podman: the same records as Docker's, the same errors, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from repair import errors
from tests.conftest import ORACLE
from tests.faults.conftest import NAP, NAP_ID, PLAIN, Repair, Start, adds, records
from tests.faults.live_run import Docker
from tests.faults.survival import copy
from tests.support.paths import ROOT

pytestmark = [pytest.mark.faults, pytest.mark.engine]

MakeTask = Callable[..., Path]
SCRIPT = ROOT / "scripts" / "podman"
KEEP = "tests/test_calc.py::test_keep[{}]"
PHANTOM = "tests/test_calc.py::test_phantom"
SLEEP: dict[str, Any] = {"p2p": [NAP_ID], "tests": NAP, "env": {"NAP": "300"}}
CONFTEST = "tests/conftest.py"
# Links that a patch turns and deletes, and a volume over the repo, on top of the plain image.
LINKS = f"FROM {PLAIN}\nRUN ln -s calc.py link && ln -s nowhere dangling\n"
VOLUME = f"FROM {PLAIN}\nVOLUME /testbed\n"
TURNS = b"""\
diff --git a/link b/link
--- a/link
+++ b/link
@@ -1 +1 @@
-calc.py
\\ No newline at end of file
+tests
\\ No newline at end of file
diff --git a/dangling b/dangling
deleted file mode 120000
--- a/dangling
+++ /dev/null
@@ -1 +0,0 @@
-nowhere
\\ No newline at end of file
"""
LOOKS = """\
import os

def test_links():
    assert os.readlink("link") == "tests"
    assert not os.path.lexists("dangling")
"""
POWERS = """\
def test_a_user_has_no_powers():
    lines = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
    assert int(lines["CapEff"], 16) == 0
    assert lines["NoNewPrivs"] == "1"
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[Docker]:
    """A Podman of the module's own that holds the plain image."""
    command = [str(SCRIPT), "-i", PLAIN, "sh", "-c", 'echo "$DOCKER_HOST"; exec cat']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "scripts/podman did not start a service"
        yield Docker(address)
        process.stdin.close()
    assert process.returncode == 0
    assert not Path(address.removeprefix("unix://")).parent.exists()


@pytest.fixture
def build(podman: Docker) -> Callable[[str, str], str]:
    """Build an image there: `build(name, dockerfile)`; it goes with the service."""

    def make(name: str, dockerfile: str) -> str:
        command = ["docker", "build", "--quiet", "--network", "none", "--tag", f"repair-test-own/{name}:1", "-"]
        environment = {**os.environ, **podman.environment}
        subprocess.run(command, input=dockerfile.encode(), env=environment, check=True, capture_output=True)
        return f"repair-test-own/{name}:1"

    return make


def test_a_run_on_podman_writes_the_records_that_one_on_docker_writes(
    make_task: MakeTask, panel: Path, podman: Docker, repair: Repair
) -> None:
    make_task("a-repaired", p2p=[KEEP.format(0), PHANTOM])
    make_task("b-clean", p2p=[KEEP.format(1)])
    make_task("c-refused", f2p=[PHANTOM], p2p=[KEEP.format(2)])
    beside = copy(panel, panel.with_name("beside"))
    assert repair("run", beside).code == 0

    done = repair("run", panel, docker=podman)

    assert done.code == 0, done
    found = [json.loads(file.read_bytes())["verdict"] for file in sorted(panel.glob("*/repair.json"))]
    assert found == ["repaired", "clean", "refused"]
    assert records(panel) == records(beside), "an image that is copied keeps its id"
    assert podman.containers() == []


def test_doctor_looks_at_podman_as_at_docker(make_task: MakeTask, panel: Path, podman: Docker, repair: Repair) -> None:
    make_task()
    done = repair("doctor", panel, docker=podman)
    assert done.code == 0, done
    assert f" at {podman.address}: " in done.out
    assert f"image {PLAIN} is here" in done.out


@pytest.mark.parametrize(
    ("body", "keys", "error", "words"),
    [
        ("import time\ntime.sleep(300)", {"timeout": 4}, errors.TimeoutOutsideTest, "no end within 4 s"),
        ("held = bytearray(1 << 30)", {"memory": "128m"}, errors.MemoryKill, "memory"),
        (
            "import multiprocessing\nmultiprocessing.Pool(1).map(bytearray, [1 << 30])",
            {"memory": "128m", "timeout": 12},
            errors.MemoryKill,
            "memory",
        ),
    ],
    ids=["time-is-out", "memory-is-out", "memory-is-out-and-then-the-time"],
)
def test_a_limit_holds_on_podman(
    body: str,
    keys: dict[str, Any],
    error: type[errors.InfrastructureError],
    words: str,
    make_task: MakeTask,
    panel: Path,
    podman: Docker,
    repair: Repair,
) -> None:
    task = make_task(tests=adds(CONFTEST, body), **keys)
    done = repair("run", panel, docker=podman)
    assert done.code == error.code, done
    assert words in done.err
    assert task.name in done.err
    assert records(panel) == {}
    assert podman.containers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: str(number.name))
def test_a_signal_leaves_no_container_on_podman(
    number: signal.Signals, make_task: MakeTask, panel: Path, podman: Docker, start: Start
) -> None:
    task = make_task(**SLEEP)
    live = start("run", panel, docker=podman)
    podman.in_test(task.name, 2)
    live.send(number)
    assert live.end().code == 128 + number
    assert podman.containers() == []
    assert records(panel) == {}


def test_clean_removes_from_podman_what_a_killed_run_left(
    make_task: MakeTask, panel: Path, podman: Docker, start: Start, repair: Repair
) -> None:
    task = make_task(**SLEEP)
    live = start("run", panel, docker=podman)
    podman.in_test(task.name, 2)
    live.send(signal.SIGKILL)
    live.end()
    done = repair("clean", docker=podman)
    assert done.code == 0, done
    assert "2 containers removed" in done.out
    assert podman.containers() == []


def test_a_container_that_somebody_removes_from_podman_is_no_evidence(
    make_task: MakeTask, panel: Path, podman: Docker, start: Start
) -> None:
    task = make_task(**SLEEP)
    live = start("run", panel, docker=podman)
    podman("rm", "--force", *podman.in_test(task.name, 2))
    done = live.end()
    assert done.code == errors.ContainerKilled.code, done
    assert "from outside" in done.err
    assert records(panel) == {}


def test_a_patch_changes_links_on_podman(
    make_task: MakeTask, panel: Path, podman: Docker, build: Callable[[str, str], str], repair: Repair
) -> None:
    test = "tests/test_links.py::test_links"
    image = build("links", LINKS)
    task = make_task(f2p=[test], p2p=[], oracle=TURNS + ORACLE, tests=adds("tests/test_links.py", LOOKS), image=image)
    done = repair("run", panel, docker=podman)
    assert done.code == 0, done
    record = json.loads((task / "repair.json").read_bytes())
    assert (record["verdict"], record["reasons"]) == ("clean", [])
    assert record["image"]["digest"] is None, "no registry has ever held it"


def test_a_repo_in_a_volume_is_told_and_no_evidence(
    make_task: MakeTask, panel: Path, podman: Docker, build: Callable[[str, str], str], repair: Repair
) -> None:
    make_task(p2p=[], image=build("volume", VOLUME))
    done = repair("run", panel, docker=podman)
    assert done.code == errors.ImageError.code, done
    assert "keeps /testbed in a volume" in done.err
    assert records(panel) == {}
    assert podman.containers() == []


def test_a_user_has_no_more_powers_on_podman_than_on_docker(
    make_task: MakeTask, panel: Path, podman: Docker, repair: Repair
) -> None:
    test = "tests/test_powers.py::test_a_user_has_no_powers"
    task = make_task(p2p=[test], tests=adds("tests/test_powers.py", POWERS), user="1234:100")
    done = repair("run", panel, docker=podman)
    assert done.code == 0, done
    assert json.loads((task / "repair.json").read_bytes())["verdict"] == "clean"
