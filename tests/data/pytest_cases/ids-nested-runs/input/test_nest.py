import os
import subprocess
import sys

import pytest

INNER = "def test_inner():\n    assert 0\n"


def test_in_process(tmpdir):
    tmpdir.join("test_inner.py").write(INNER)
    assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(tmpdir), str(tmpdir)]) != 0


def test_subprocess(tmpdir):
    tmpdir.join("test_inner.py").write(INNER)
    assert subprocess.call([sys.executable, "-m", "pytest", "-q", "test_inner.py"], cwd=str(tmpdir)) == 1


def test_forked():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_forked_failure_stays_there():
    pid = os.fork()
    if pid == 0:
        try:
            pytest.fail("only in the child")
        finally:
            os._exit(1)
    os.waitpid(pid, 0)


def test_after():
    pass
