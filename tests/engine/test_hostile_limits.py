"""What a container keeps from hostile tests: they look at themselves and at what they may do, as root and as a user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from repair.controls import plan, runner
from repair.errors import InfrastructureError
from repair.model import Outcome, Run, Task
from repair.sandbox import LOG_BYTES, PIDS
from tests.engine.conftest import BuildImage
from tests.engine.lab import Lab, outcomes

pytestmark = pytest.mark.engine

# A program that an image lends root's rights to, and nodes of the host's first disk, memory and kernel log.
HOSTILE = """\
FROM repair-test/odd-plain:1
RUN cp "$(readlink -f /usr/bin/id)" /usr/local/bin/root-id && chmod 4755 /usr/local/bin/root-id \
 && mkdir /nodes && mknod -m 666 /nodes/disk b 8 0 && mknod -m 666 /nodes/memory c 1 1 \
 && mknod -m 666 /nodes/log c 1 11
"""

INSIDE = f"""\
import ctypes
import errno
import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest

STATUS = dict(line.split(":\\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT: see capabilities(7)
HELD = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10, 18))
ROOT = os.getuid() == 0
MOUNTS = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
DENIED = (errno.EPERM, errno.EACCES, errno.EROFS)


def cgroup(*names):
    found = [Path("/sys/fs/cgroup", name) for name in names]
    return [file.read_text().split() for file in found if file.exists()]


def denied(path, mode):
    with pytest.raises(OSError) as caught:
        open(path, mode).close()
    return caught.value.errno in DENIED


def test_no_interface_but_its_own():
    assert os.listdir("/sys/class/net") == ["lo"]
    assert len(Path("/proc/net/route").read_text().splitlines()) == 1


@pytest.mark.parametrize("address", ["172.17.0.1", "192.0.2.1", "169.254.169.254"])
def test_no_way_out(address):
    with pytest.raises(OSError) as caught:
        socket.create_connection((address, 80), timeout=2)
    assert caught.value.errno == errno.ENETUNREACH


def test_no_name_is_found():
    with pytest.raises(OSError):
        socket.getaddrinfo("example.org", 80)


def test_capabilities():
    sets = {{name: int(STATUS[name], 16) for name in ("CapBnd", "CapEff", "CapPrm", "CapInh", "CapAmb")}}
    own = HELD if ROOT else 0
    assert sets == {{"CapBnd": HELD, "CapEff": own, "CapPrm": own, "CapInh": 0, "CapAmb": 0}}


def test_no_new_privileges():
    assert STATUS["NoNewPrivs"] == "1"
    assert STATUS["Seccomp"] == "2"


def test_a_set_uid_program_gains_nothing():
    assert os.stat("/usr/local/bin/root-id").st_mode & stat.S_ISUID
    done = subprocess.run(["root-id", "-u"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(os.getuid())


def test_pids():
    assert cgroup("pids.max", "pids/pids.max") == [["{PIDS}"]]


def test_threads_end_at_the_limit():
    threading.stack_size(64 << 10)
    end, started = threading.Event(), []
    with pytest.raises(RuntimeError, match="can't start new thread"):
        while len(started) <= {PIDS}:
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    end.set()
    for thread in started:
        thread.join()
    assert {PIDS} // 2 < len(started) < {PIDS}


def test_memory():
    assert cgroup("memory.max", "memory/memory.limit_in_bytes") == [[str(300 << 20)]]


def test_no_swap():
    assert cgroup("memory.swap.max", "memory/memory.memsw.limit_in_bytes") in ([["0"]], [[str(300 << 20)]], [])


def test_cpu():
    two = cgroup("cpu.max") or [sum(cgroup("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"), [])]
    quota, period = map(int, two[0])
    assert quota / period == 0.5


@pytest.mark.parametrize(
    "path",
    [
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/pids/pids.max",
    ],
)
def test_the_kernel_s_settings_are_read_only(path):
    assert not os.path.exists(path) or denied(path, "r+")


def test_what_the_kernel_tells_is_masked():
    masked = [path for path in map(Path, ("/proc/kcore", "/proc/keys", "/proc/timer_list")) if path.exists()]
    assert all(path.read_bytes() == b"" for path in masked)
    assert not os.path.exists("/sys/firmware") or os.listdir("/sys/firmware") == []


def test_no_file_of_the_host_but_the_engine_s_own():
    kernel = {{"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "devtmpfs"}}
    others = {{fields[4]: fields[5].split(",") for fields in MOUNTS if fields[fields.index("-") + 1] not in kernel}}
    init = [path for path in others if path.endswith("init")]
    assert others.keys() - init <= {{"/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"}}
    assert ["ro" in others[path] for path in init] in ([], [True])


def test_no_socket_of_an_engine():
    places = ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"]
    assert not any(map(os.path.lexists, places))


def test_no_file_and_no_variable_of_who_runs_it():
    assert not os.path.lexists(os.environ["OUTSIDE"])
    assert "REPAIR_TEST_TOKEN" not in os.environ


def test_no_process_of_the_host():
    assert Path("/proc/1/comm").read_text().strip() in ("docker-init", "catatonit", "tini", "podman-init")
    assert all(Path("/proc", name, "root").exists() for name in os.listdir("/proc") if name.isdigit() and ROOT)
    if ROOT:
        assert os.path.samefile("/proc/1/root", "/")


def test_devices():
    plain = "console core fd full init mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero".split()
    assert set(os.listdir("/dev")) <= set(plain)


@pytest.mark.parametrize("name", ["disk", "memory", "log"])
def test_a_device_that_the_image_brings_stays_closed(name):
    assert os.stat(f"/nodes/{{name}}").st_rdev
    assert denied(f"/nodes/{{name}}", "rb")


def test_no_device_can_be_made(tmp_path):
    with pytest.raises(PermissionError):
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))


def test_nothing_can_be_mounted():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == -1
    assert ctypes.get_errno() == errno.EPERM


def test_no_namespace_of_its_own():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x10000000) == -1
    assert ctypes.get_errno() == errno.EPERM


def test_no_raw_socket():
    with pytest.raises(PermissionError):
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with pytest.raises(PermissionError):
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


def test_the_clock_cannot_be_set():
    import time

    with pytest.raises(PermissionError):
        time.clock_settime(time.CLOCK_REALTIME, 1.0)
"""
PARAMETERS = {
    "test_no_way_out": ("172.17.0.1", "192.0.2.1", "169.254.169.254"),
    "test_the_kernel_s_settings_are_read_only": (
        *("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname"),
        *("/proc/sys/vm/drop_caches", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs"),
        "/sys/fs/cgroup/pids/pids.max",
    ),
    "test_a_device_that_the_image_brings_stays_closed": ("disk", "memory", "log"),
}
NAMES = [line[4:].partition("(")[0] for line in INSIDE.splitlines() if line.startswith("def test_")]
IDS = [f"{name}[{value}]" for name in NAMES for value in PARAMETERS.get(name, ())]
IDS += [name for name in NAMES if name not in PARAMETERS]
USERS = {"root": None, "a user": "1234:100"}


@pytest.fixture(scope="module")
def seen(lab: Lab, build_image: BuildImage) -> Mapping[str, Run]:
    """What tests see that run as root, and as a user; whoever runs them has a file and a secret of his own."""
    image = build_image(HOSTILE)
    outside = lab.fresh() / "secret"
    outside.write_text("of the host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPAIR_TEST_TOKEN", "secret")
        keys: dict[str, Any] = {"image": image, "memory": 300 << 20, "cpus": 0.5, "env": {"OUTSIDE": str(outside)}}
        ids = [f"tests/test_inside.py::{test}" for test in IDS]
        return {
            name: lab.observe(lab.task(ids, {"tests/test_inside.py": INSIDE}, user=user, timeout=120.0, **keys))
            for name, user in USERS.items()
        }


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("test", IDS)
def test_inside(seen: Mapping[str, Run], test: str, user: str) -> None:
    found = seen[user].observed[f"tests/test_inside.py::{test}"]
    assert (found.outcome, found.cause) == (Outcome.PASSED, "")


# ---- what a run may print, fill and use up

ONE = {"tests/test_t.py": "def test_a():\n    pass\n"}
A = "tests/test_t.py::test_a"


def observed_in(lab: Lab, directory: Path, task: Task) -> Run:
    """One control of a task, whose raw files are left in `directory`."""
    control = plan.controls(task, task.f2p, range(1))[0]
    image = lab.sandbox.images.get(task, False, lambda _: None)
    return runner.observe(lab.sandbox, control, image, lambda: directory)


def test_a_log_is_cut_at_its_limit_and_the_run_counts(lab: Lab) -> None:
    directory = lab.fresh()
    flood = f"tr '\\0' x </dev/zero | fold -w 1000 | head -c {3 * LOG_BYTES}"
    command = f'python3 -m pytest "$@"; status=$?; {flood}; echo; echo the end; exit $status'
    run = observed_in(lab, directory, lab.task([A], ONE, test_cmd=command, timeout=300.0))
    assert outcomes(run) == {A: "passed"}
    assert 0 < (directory / "log").stat().st_size <= LOG_BYTES
    assert (directory / "log").read_bytes().endswith(b"\nthe end\n")


def test_a_fork_bomb_ends_at_the_limit_and_the_run_is_no_evidence(lab: Lab) -> None:
    bomb = "import os\n\n\ndef test_a():\n    while True:\n        try:\n            os.fork()\n"
    bomb += "        except OSError:\n            pass\n"
    with pytest.raises(InfrastructureError):
        lab.observe(lab.task([A], {"tests/test_t.py": bomb}, memory=300 << 20, timeout=20.0))
