"""Which runs are alive: locks that a process takes to the grave."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from repair.sandbox import run_locks


def _live(pipe: Connection, folder: str | None) -> None:
    if folder is not None:
        os.environ["TMPDIR"] = folder
    run_id = run_locks.new_run_id()
    with run_locks.alive(run_id):
        pipe.send(run_id)
        pipe.recv()


def start(folder: Path | None = None) -> tuple[multiprocessing.process.BaseProcess, Connection, str]:
    """Another process that holds a run: it, the pipe that ends it, and the run's id."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_live, args=(there, folder and str(folder)), daemon=True)
    process.start()
    return process, here, here.recv()


def test_a_run_is_dead_when_its_process_is_and_not_before() -> None:
    process, _, run_id = start()
    assert run_locks.is_of_this_host(run_id)
    assert not run_locks.is_dead(run_id)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert run_locks.is_dead(run_id)
    assert run_locks.is_dead(run_id)


def test_a_run_that_ended_is_dead() -> None:
    process, pipe, run_id = start()
    pipe.send("end")
    process.join()
    assert run_locks.is_dead(run_id)


def test_a_run_with_temporary_files_elsewhere_lives_too(tmp_path: Path) -> None:
    process, pipe, run_id = start(tmp_path)
    try:
        assert not run_locks.is_dead(run_id)
    finally:
        process.kill()
        process.join()
        pipe.close()
    assert run_locks.is_dead(run_id)


def test_of_another_host_s_run_nothing_is_known() -> None:
    host, pid, number = run_locks.new_run_id().rsplit("-", 2)
    assert not run_locks.is_dead(f"{host}x-{pid}-{number}")
    assert not run_locks.is_of_this_host(f"other-{host}-{pid}-{number}")
    assert not run_locks.is_dead("")
    assert len({run_locks.new_run_id() for _ in range(100)}) == 100


def test_other_users_see_a_lock_whatever_the_umask() -> None:
    run_id = run_locks.new_run_id()
    before = os.umask(0o077)
    try:
        with run_locks.alive(run_id):
            (lock,) = Path("/tmp/repair-locks").glob(f"{run_id}.lock")
            assert lock.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)
