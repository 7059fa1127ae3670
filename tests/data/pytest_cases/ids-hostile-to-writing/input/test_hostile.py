import json
import os


def test_closes_all():
    for fd in range(3, 64):
        if fd not in OPEN:
            try:
                os.close(fd)
            except OSError:
                pass


OPEN = set()


def setup_module():
    for fd in range(3, 64):  # pytest's own, which hold its captured output
        try:
            if not os.readlink("/proc/self/fd/%d" % fd).endswith(".jsonl"):
                OPEN.add(fd)
        except OSError:
            pass


def test_reuses_the_number():
    for _ in range(8):
        os.open(os.devnull, os.O_WRONLY)


def test_moves():
    os.chdir("/")


def test_replaces_functions(monkeypatch):
    monkeypatch.setattr(os, "write", None)
    monkeypatch.setattr(os, "getpid", None)
    monkeypatch.setattr(json, "dumps", None)


def test_last():
    assert 0
