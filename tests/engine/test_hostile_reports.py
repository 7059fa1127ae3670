"""What hostile tests leave where their reports are fetched: no evidence, said of their task, and nothing else happens.

One panel of them, with one honest task, is run by the command as a user does; then its result, its peak memory and
everything that it left on this machine are looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import BuildImage
from tests.engine.lab import F2P, P2P, added, record, write_panel, write_task

pytestmark = pytest.mark.engine

# A device of the host's memory in the image: tests may move it, though they may not make one.
IMAGE = """\
FROM repair-test/odd-plain:1
RUN mkdir /nodes && mknod -m 666 /nodes/memory c 1 1
"""
LAST = """\
import atexit
import glob
import os
import socket


def replaced(name):
    path = os.path.join(out, name)
    if os.path.lexists(path):
        os.remove(path)
    return path


@atexit.register
def last():
    global out
    (out,) = glob.glob("/.repair-*/out")
    try:
        act()
    except BaseException as err:
        os.write(2, ("NOT DONE: %r" % err).encode())
        os.rename(out, out + "-not-done")


def act():
"""
BODY = "\n\ndef test_add():\n    pass\n"

NO_REPORT = "which is no report"
HARMLESS = "the controls were observed"


@dataclass(frozen=True)
class Case:
    """What a test does once pytest has written its report, or a script instead of pytest, and what is said of it."""

    does: str
    says: str
    kinds: tuple[str, ...] = ("no-evidence",)
    keys: tuple[tuple[str, Any], ...] = ()


# Each is done to `report.xml`, and to what our plugin and our script leave beside it.
OBJECTS = {
    "link": "os.symlink('/etc/passwd', replaced({name!r}))",
    "link-to-itself": "os.symlink({name!r}, replaced({name!r}))",
    "link-to-a-device": "os.symlink('/dev/zero', replaced({name!r}))",
    "device": "path = replaced({name!r})\nos.rename('/nodes/memory', path)",
    "fifo": "os.mkfifo(replaced({name!r}))",
    "folder": "os.mkdir(replaced({name!r}))",
    "1-TiB": "open(replaced({name!r}), 'w').close()\nos.truncate(os.path.join(out, {name!r}), 1 << 40)",
    "hard-link": "os.link(os.path.join(out, 'begun'), replaced({name!r}))",
}
SOME = ("link", "device", "1-TiB")
LEFT = {"report.xml": OBJECTS, "record-main.jsonl": OBJECTS, "record-more.jsonl": SOME, "begun": SOME}
PYTEST = {
    f"{name.partition('.')[0]}-{kind}": Case(
        OBJECTS[kind].format(name=name), NO_REPORT if kind != "1-TiB" else "holds more"
    )
    for name, kinds in LEFT.items()
    for kind in kinds
}
# These our script writes when the tests have ended, whatever they made of them.
NOT_FILES = ("link", "link-to-itself", "link-to-a-device", "device", "fifo", "folder")
WRITTEN = {"exit": NOT_FILES, "memory": ("link", "fifo"), "reports": ("link", "fifo"), "disk": ("link", "fifo")}
PYTEST |= {
    f"{name}-{kind}": Case(OBJECTS[kind].format(name=name), HARMLESS)
    for name, kinds in WRITTEN.items()
    for kind in kinds
}
PYTEST |= {
    "report-socket": Case(
        "server = socket.socket(socket.AF_UNIX)\nos.chdir(out)\nreplaced('report.xml')\nserver.bind('report.xml')", ""
    ),
    "many-files": Case("for n in range(25000):\n    open('%s/record-%d.jsonl' % (out, n), 'w').close()", "holds more"),
    "many-records": Case(
        "for n in range(5000):\n    open('%s/record-%d.jsonl' % (out, n), 'w').close()",
        "5001 records of one run",
    ),
    "many-folders": Case("for n in range(25000):\n    os.mkdir('%s/f%d' % (out, n))", NO_REPORT),
    "two-large-files": Case(
        "for name in 'ab':\n    path = '%s/record-%s.jsonl' % (out, name)\n    open(path, 'w').close()\n"
        "    os.truncate(path, 600 << 20)",
        "holds more",
    ),
    "a-name-of-two-lines": Case("open(out + '/a\\nrepair: all is well', 'w').close()", r"out/a\nrepair: all is well"),
    "a-name-with-an-escape": Case("open(out + '/a\\x1b[2Jb', 'w').close()", r"out/a\x1b[2Jb"),
    "a-name-with-a-bidi-control": Case("open(out + '/a\\u202eb', 'w').close()", r"out/a\u202eb"),
    "a-name-that-is-no-text": Case("open(os.fsencode(out) + b'/a\\xffb', 'w').close()", r"out/a"),
    "a-long-name": Case("open(out + '/' + 'n' * 255, 'w').close()", ""),
    "the-log": Case("open(out + '/log', 'w').write('all is well')", "out/log"),
    "a-report-of-ours": Case("open(out + '/report-x.xml', 'w').write('<testsuite/>')", "report-x.xml"),
    "no-folder": Case("os.rename(out, out + '-gone')", "is gone"),
    "the-folder-is-a-link": Case("os.rename(out, out + '-gone')\nos.symlink('/etc', out)", "holds out"),
    "the-folder-is-a-link-up": Case("os.rename(out, out + '-gone')\nos.symlink('../../../../..', out)", "holds out"),
    "the-folder-is-a-file": Case("os.rename(out, out + '-gone')\nopen(out, 'w').close()", "holds out"),
    "our-folder-is-a-link": Case(
        "here = os.path.dirname(out)\nos.rename(here, here + '-gone')\nos.symlink('/etc', here)",
        "",
        ("no-evidence", "killed"),
    ),
}

# Our script calls `cat` when the tests have ended, and gives it `out/memory` to write.
CAT = "printf '#!/bin/sh\\n{}\\n' >/usr/bin/cat; "
HONEST = "<testsuite><testcase classname='k' name='a'/></testsuite>"
REPORT = f'echo "{HONEST}" >report.xml'
SHELL = {
    "junit-link": Case("ln -s /etc/passwd report.xml", "report.xml is no plain file"),
    "junit-link-to-a-report": Case(f'echo "{HONEST}" >/tmp/r.xml; ln -s /tmp/r.xml report.xml', "is no plain file"),
    "junit-device": Case("mv /nodes/memory report.xml", "no report at report.xml"),
    "junit-fifo": Case("mkfifo report.xml", "no report at report.xml"),
    "junit-folder": Case("mkdir report.xml", "no report at report.xml"),
    "junit-1-TiB": Case("truncate -s 1T report.xml", "report.xml is no plain file of at most"),
    "junit-that-are-no-xml": Case("ln /etc/passwd report.xml; touch report.xml", "not XML"),
    "junit-with-a-bomb": Case(
        """printf '%s' '<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>' >report.xml"""
        """; echo "<testsuite><testcase classname='k' name='&b;'/></testsuite>" >>report.xml""",
        "document type",
    ),
    "junit-with-an-external-entity": Case(
        """printf '%s' '<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]>' >report.xml"""
        """; echo "<testsuite><testcase classname='k' name='&a;'/></testsuite>" >>report.xml""",
        "document type",
    ),
    "junit-with-a-million-levels": Case(
        "yes '<testsuite>' | head -n 1000000 >report.xml", "nests elements more than 200 deep"
    ),
    "junit-in-thousands": Case(
        f'mkdir all; for n in $(seq 20000); do echo "{HONEST}" >all/$n.xml; done', "", keys=(("junit", ["all/*.xml"]),)
    ),
    "junit-of-two-lines": Case(
        f"""mkdir all; echo "{HONEST}" >"$(printf 'all/a\\nb.xml')" """, "", keys=(("junit", ["all/*.xml"]),)
    ),
    "junit-with-an-escape": Case(
        """mkdir all; echo '<' >"$(printf 'all/a\\033[2J.xml')" """, "", keys=(("junit", ["all/*.xml"]),)
    ),
    "junit-not-utf-8": Case(
        """mkdir all; echo '<' >"$(printf 'all/a\\377.xml')" """, "is not UTF-8", keys=(("junit", ["all/*.xml"]),)
    ),
    "junit-list-of-100-MB": Case(
        CAT.format(r'head -c 100000000 /dev/zero | tr "\\0" "\\n" >>$(echo /.repair-*/out/reports)') + REPORT, ""
    ),
    "memory-of-100-MB": Case(
        CAT.format('yes "oom_kill 1" | head -c 100000000') + REPORT, "", ("no-evidence", "memory")
    ),
}


@dataclass(frozen=True)
class Done:
    """What a run printed, by task, how much memory it took at its peak, in MiB, and where it left what."""

    panel: Path
    tasks: dict[str, Any]
    out: str
    err: str
    status: int
    memory: int


def write_hostile(panel: Path, image: str) -> None:
    for name, case in PYTEST.items():
        lines = "".join(f"    {line}\n" for line in case.does.splitlines())
        files = {"conftest.py": LAST + lines, "tests/test_t.py": BODY.lstrip("\n")}
        write_task(panel, name, f2p=["tests/test_t.py::test_add"], tests=added(files), image=image, **dict(case.keys))
    for name, case in SHELL.items():
        keys = {"junit": ["report.xml"], "framework": "shell", "test_cmd": case.does, **dict(case.keys)}
        write_task(panel, name, f2p=["k::a"], image=image, **keys)
    write_task(panel, "honest", f2p=F2P, p2p=P2P)


@pytest.fixture(scope="module")
def done(build_image: BuildImage, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("hostile")
    panel = write_panel(folder / "panel", "[policy]\nmin_p2p = 0\n")
    write_hostile(panel, build_image(IMAGE))
    out, err = folder / "out", folder / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        command = [sys.executable, "-m", "repair", "run", str(panel), "-j", "3", "--json", "--no-build"]
        few_files = ["bash", "-c", 'ulimit -n 1024 && exec "$@"', "bash"]  # as on most machines
        process = subprocess.Popen([*few_files, *command], stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    document = json.loads(out.read_bytes())
    tasks = {task["instance_id"]: task for task in document["tasks"]}
    return Done(panel, tasks, out.read_text(), err.read_text(), process.returncode, usage.ru_maxrss >> 10)


@pytest.mark.parametrize("name", [*PYTEST, *SHELL])
def test_what_is_left_is_no_evidence_or_without_effect(done: Done, name: str) -> None:
    case, task = (PYTEST | SHELL)[name], done.tasks[name]
    if case.says == HARMLESS:
        assert (task["state"], task.get("verdict")) == ("recorded", "refused"), task
        return
    assert task["state"] == "failed", task
    assert task["error"]["kind"] in case.kinds, task["error"]
    assert case.says in task["error"]["message"]
    assert len(task["error"]["message"]) < 1000
    assert not (done.panel / name / "repair.json").exists()


def test_an_honest_task_beside_them_gets_its_record(done: Done) -> None:
    assert done.tasks["honest"]["verdict"] == "clean"
    assert record(done.panel / "honest")["verdict"] == "clean"


def test_memory_stays_bounded(done: Done) -> None:
    assert done.memory < 1024  # far more than the tests' own process takes, whose peak counts, too


def test_nothing_is_written_but_plain_files_below_the_panel_s_own_place(done: Done) -> None:
    assert sorted(path.name for path in done.panel.parent.iterdir()) == ["err", "out", "panel"]
    new = {path for path in done.panel.rglob("*") if ".repair" in path.relative_to(done.panel).parts}
    assert all(not path.is_symlink() and (path.is_dir() or path.is_file()) for path in new)
    beside = {path.name for path in done.panel.rglob("*") if path not in new} - set(done.tasks)
    assert beside == {"panel.toml", "task.json", "oracle.patch", "tests.patch", "repair.json", "outcomes.json"}


def test_no_terabyte_is_fetched(done: Done) -> None:
    sizes = [path.stat().st_blocks * 512 for path in done.panel.rglob("*") if path.is_file()]
    assert sum(sizes) < 4 << 30


def test_progress_and_messages_are_lines_of_our_own(done: Done) -> None:
    assert all(line.isprintable() for line in (done.out + done.err).split("\n"))
    assert not any(line.startswith("repair: all is well") for line in done.err.split("\n"))
