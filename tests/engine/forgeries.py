"""Attacks of tests and conftests on what a run says of them: their files, and how each is noticed, if it is.

In each `test_a` and `test_c` pass, `test_b` fails and the attacker wants it to pass.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from repair.errors import ContainerKilled, InfrastructureError, NoEvidence
from tests.engine.lab import PLAIN, added, python

A, B, C = (f"tests/test_t.py::test_{name}" for name in "abc")
TRUTH = {A: "passed", B: "failed", C: "passed"}
FORGED = dict.fromkeys(TRUTH, "passed")

# What attackers share: where our folder is, and how to make passes of failures in what is there.
TOOLS = '''\
import atexit, glob, json, os, re, signal, subprocess, sys, time

HERE = glob.glob("/.repair-*")[0]
OUT = HERE + "/out/"
RECORD, REPORT = OUT + "record-main.jsonl", OUT + "report.xml"


def rewrite(path, change):
    with open(path) as stream:
        text = stream.read()
    with open(path, "w") as stream:
        stream.write(change(text))


def forge_report(path=REPORT):
    rewrite(path, lambda text: re.sub("<failure.*?</failure>|failures=.1.", "", text, flags=re.S))


def forge_record(path=RECORD):
    rewrite(path, lambda text: text.replace('"call", "failed"', '"call", "passed"'))


def say(path, *events):
    with open(path, "a") as stream:
        stream.write("".join(json.dumps(event) + "\\n" for event in events))


def passed(test):
    report = ["report", test, "call", "passed", False, ""]
    return [["item", test, None, []], ["run", test, None], report, ["done", test]]


def in_the_background(act):
    """Run it in a process that has left pytest's session and group and goes on after it."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        act()
    finally:
        os._exit(0)
'''
TESTS = "def test_a():\n    pass\n\n\ndef test_b():\n    {}\n    assert 0\n\n\ndef test_c():\n    {}\n"


def indented(code: str, by: int = 4) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in code.splitlines()).strip()


def in_test(code: str, after: str = "pass") -> dict[str, str]:
    """Code in the test that fails and, afterwards, in one that passes."""
    head = "from tools import *\n\n\n"
    return {"tools.py": TOOLS, "tests/test_t.py": head + TESTS.format(indented(code), indented(after))}


def in_conftest(code: str, **extra: str) -> dict[str, str]:
    return {**in_test("pass"), "conftest.py": f"from tools import *\nimport pytest\n\n\n{code}\n", **extra}


def hook(signature: str, code: str, mark: str = "") -> dict[str, str]:
    return in_conftest(f"{mark}\ndef {signature}:\n    {indented(code)}")


def ini(text: str) -> dict[str, str]:
    return {"pytest.ini": f"[pytest]\n{text}\n"}


LAST = "@pytest.hookimpl(trylast=True)"
AROUND = "@pytest.hookimpl(hookwrapper=True)"
FAKE_PLUGIN = "def pytest_configure(config):\n    pass\n"


@dataclass(frozen=True)
class Attack:
    """The files of an attack, further keys of its task, and how it is noticed: the error and words of its message."""

    files: Mapping[str, str]
    words: str = ""
    error: type[InfrastructureError] = NoEvidence
    keys: Mapping[str, Any] = field(default_factory=dict)


CONTRADICTION = "the plugin's record says failed of tests/test_t.py::test_b and the report passed"
DAMAGED = "the plugin's record is damaged"
NO_STATUS = "exit status 0 although tests failed"
NO_RECORD = "no report and no test to blame"
APPEND = f"say(RECORD, *passed({B!r}))"

NOTICED = {
    # ---- the report
    "the report is rewritten at exit": Attack(in_test("atexit.register(forge_report)"), CONTRADICTION),
    "the report is rewritten at the session's end": Attack(
        hook("pytest_sessionfinish()", "yield\nforge_report()", AROUND), CONTRADICTION
    ),
    "the report is rewritten when pytest unloads": Attack(
        hook("pytest_unconfigure()", "forge_report()"), CONTRADICTION
    ),
    "the report is rewritten at exit, and the status": Attack(
        in_test("atexit.register(lambda: (forge_report(), os._exit(0)))"), CONTRADICTION
    ),
    "the report is a link": Attack(
        in_test("atexit.register(lambda: (os.rename(REPORT, '/tmp/r.xml'), os.symlink('/tmp/r.xml', REPORT)))"),
        "report.xml",
    ),
    "failures are kept from the report": Attack(
        in_conftest("import _pytest.junitxml as j\n\nj._NodeReporter.append_failure = lambda *a: None"), CONTRADICTION
    ),
    "pytest's report is unregistered": Attack(
        hook(
            "pytest_sessionstart(session)",
            "p = session.config.pluginmanager\n"
            "logs = [plugin for _, plugin in p.list_name_plugin() if type(plugin).__name__ == 'LogXML']\n"
            "p.unregister(*logs)",
        ),
        "no report was written",
    ),
    "a plugin of the repo has the report's name": Attack(
        {
            **in_test("pass"),
            "fake/__init__.py": "",
            "fake/junitxml.py": FAKE_PLUGIN,
            **ini("addopts = -p fake.junitxml -p no:repair-junitxml -p no:junitxml"),
        },
        "no report was written",
    ),
    # ---- the record
    "a pass is added to the record": Attack(in_test(APPEND), DAMAGED),
    "a pass is added to the record by a test that passes": Attack(in_test("pass", APPEND), DAMAGED),
    "a pass is added to the workers' records": Attack(
        in_test(f"[say(path, *passed({B!r})) for path in glob.glob(OUT + 'record-gw*')]"),
        DAMAGED,
        keys={"test_cmd": python("p84x", "-n", "2")},
    ),
    "the record is truncated": Attack(in_test("os.truncate(RECORD, 0)"), DAMAGED),
    "the record is cut, and as long as before": Attack(
        in_test("pass", "forge_record()\nwith open(RECORD, 'a') as f: f.write('x' * 99)"), DAMAGED
    ),
    "the record is replaced": Attack(
        in_test(
            "pass",
            "os.rename(RECORD, RECORD + '~'); open(RECORD, 'w').write(open(RECORD + '~').read())"
            "; os.remove(RECORD + '~'); forge_record()",
        ),
        "another file has its name",
    ),
    "the record is replaced by an empty one": Attack(in_test("os.remove(RECORD)"), "another file has its name"),
    "the record is rewritten at exit": Attack(
        in_test("atexit.register(forge_record)"),
        "the plugin's record says passed of tests/test_t.py::test_b and the report failed",
    ),
    "a test that never ran is in the record": Attack(
        in_test(f"atexit.register(say, RECORD, *passed({C[:-1] + 'z'!r}))"),
        "record says passed of tests/test_t.py::test_z and the report missing",
    ),
    "a test that never ran is in another worker's record": Attack(
        in_test(f"say(OUT + 'record-zzz.jsonl', *passed({C[:-1] + 'z'!r}))"),
        "record says passed of tests/test_t.py::test_z and the report missing",
    ),
    "the plugin writes nothing": Attack(
        hook("pytest_collection_finish(session)", "sys.modules['repair_pytest'].Record.write = lambda *a: None"),
        "ended early",
    ),
    # ---- names
    "a failing test bears the id of one that passes": Attack(
        in_conftest(
            "@pytest.fixture(autouse=True)\ndef forge(request):\n    if request.node.name == 'test_b':\n"
            f"        request.node.user_properties[:] = [('repair_nodeid', json.dumps({A!r}))]"
        ),
        "record says passed of tests/test_t.py::test_a and the report failed",
    ),
    "a passing test bears the id of one that fails": Attack(
        in_conftest(
            "@pytest.fixture(autouse=True)\ndef forge(request):\n    if request.node.name == 'test_a':\n"
            f"        request.node.user_properties[:] = [('repair_nodeid', json.dumps({B!r}))]"
        ),
        "record says passed of tests/test_t.py::test_a and the report missing",
    ),
    # ---- our plugin
    "the plugin is unregistered before the session": Attack(
        hook("pytest_configure(config)", "config.pluginmanager.unregister(name='repair')"), NO_RECORD
    ),
    "the plugin is unregistered before the tests": Attack(
        hook("pytest_collection_finish(session)", "session.config.pluginmanager.unregister(name='repair')"),
        "ended early",
    ),
    "the plugin is blocked": Attack({**in_test("pass"), **ini("addopts = -p no:repair")}, NO_RECORD),
    "a module of the repo shadows the plugin": Attack({**in_test("pass"), "repair_pytest.py": FAKE_PLUGIN}, NO_RECORD),
    "a sitecustomize of the repo shadows the plugin": Attack(
        {
            **in_test("pass"),
            "sitecustomize.py": "import sys, types\nsys.modules['repair_pytest'] = types.ModuleType('x')\n",
        },
        NO_RECORD,
    ),
    "a module on the repo's own path shadows the plugin": Attack(
        {**in_test("pass"), "lib/repair_pytest.py": FAKE_PLUGIN, **ini("pythonpath = lib")}, NO_RECORD
    ),
    "a pytest of the repo": Attack({**in_test("pass"), "pytest.py": "print('3 passed')\n"}, NO_RECORD),
    # ---- the status
    "the status is made 0": Attack(hook("pytest_sessionfinish(session)", "session.exitstatus = 0"), NO_STATUS),
    "the process ends itself with 0": Attack(hook("pytest_unconfigure()", "os._exit(0)"), NO_STATUS),
    "the process ends itself before the report": Attack(hook("pytest_sessionfinish()", "os._exit(0)"), "ended early"),
    "pytest.exit when the session ends": Attack(
        hook("pytest_sessionfinish()", "pytest.exit('all is well', returncode=0)"), "ended early"
    ),
    "the command's text is made longer as it runs": Attack(
        in_test("open(HERE + '/in/test_cmd', 'a').write('exit 0\\n')"),
        NO_STATUS,
        keys={"test_cmd": 'python3 -m pytest "$@"'},
    ),
    # ---- our script
    "our script is killed": Attack(
        in_test("os.kill(int(os.popen('pgrep -of control.sh').read() or os.getppid()), 9)"), "killed", ContainerKilled
    ),
    "our script is killed, and the status is there": Attack(
        in_test(
            "pass",
            "open(OUT + 'exit', 'w').write('1'); open(REPORT, 'w').write('<testsuite/>'); os.kill(os.getppid(), 9)",
        ),
        "the container ended with status 137 before its script did",
        ContainerKilled,
    ),
    "a child that waits for pytest's end, and then rewrites record and report": Attack(
        in_test(
            "def act():\n"
            "    while not os.path.exists(HERE + '/kept'): time.sleep(0.001)\n"
            "    forge_report(HERE + '/kept/report.xml'), forge_record(HERE + '/kept/record-main.jsonl')\n"
            "in_the_background(act)"
        ),
        "changed the report or the record after pytest's end",
    ),
    "a child of another user than root that does": Attack(
        in_test(
            "pid = os.getpid()\n"
            "def act():\n"
            "    while os.path.exists('/proc/%d' % pid): time.sleep(0.01)\n"
            "    time.sleep(0.2)\n"
            "    forge_report(), forge_record()\n"
            "in_the_background(act)"
        ),
        "changed the report or the record after pytest's end",
        keys={"user": "1000:1000"},
    ),
    "the init process is told to end": Attack(in_test("os.kill(1, 15); time.sleep(60)"), "killed", ContainerKilled),
}

HONEST = {
    # ---- processes that go on
    "a child that waits for the status, and then rewrites all": Attack(
        in_test(
            "def act():\n"
            "    while open(OUT + 'exit').read().startswith('-'): time.sleep(0.001)\n"
            "    open(OUT + 'exit', 'w').write('0')\n"
            "    forge_report(), forge_record()\n"
            "in_the_background(act)"
        )
    ),
    "a child that goes on and does nothing": Attack(in_test("in_the_background(lambda: time.sleep(600))")),
    "a child that listens to no signal": Attack(
        in_test("in_the_background(lambda: [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)] and time.sleep(600))")
    ),
    # ---- what is ours in the container
    "the status is there already": Attack(in_test("open(OUT + 'exit', 'w').write('0')")),
    "the status is a pipe": Attack(in_test("os.remove(OUT + 'exit'); os.mkfifo(OUT + 'exit')")),
    "the status is a link": Attack(in_test("os.remove(OUT + 'exit'); os.symlink('/etc/passwd', OUT + 'exit')")),
    "the status is a folder": Attack(in_test("os.remove(OUT + 'exit'); os.mkdir(OUT + 'exit')")),
    "a memory kill is there already": Attack(in_test("open(OUT + 'memory', 'w').write('oom_kill 7\\n')")),
    "our script is written over": Attack(
        in_test("open(HERE + '/control.sh', 'w').write('echo 0 >$1/out/exit\\n' * 999)")
    ),
    "our script is emptied": Attack(in_test("os.truncate(HERE + '/control.sh', 0)")),
    "what we ask for is another": Attack(in_test("open(HERE + '/in/select.json', 'w').write('{}')")),
    "our folder's inputs are gone": Attack(in_test("subprocess.call(['rm', '-rf', HERE + '/in', HERE + '/plugin'])")),
    "the log holds an answer of pytest's": Attack(
        in_test("os.write(os.open('/proc/%d/fd/1' % os.getppid(), os.O_WRONLY), b'ERROR: no such option\\n')")
    ),
    # ---- the record
    "a pass is added to the record at exit": Attack(in_test(f"atexit.register(say, RECORD, *passed({B!r}))")),
    "a pass is in another worker's record": Attack(in_test(f"say(OUT + 'record-gw0.jsonl', *passed({B!r}))")),
    "os.write and json are others": Attack(
        in_conftest(
            "real = os.write\n"
            "os.write = lambda fd, data: real(fd, data.replace(b'failed', b'passed'))\n"
            "json.dumps = json.JSONEncoder.encode = lambda *a, **k: '[]'\n"
        )
    ),
    "the record's descriptor is another file's": Attack(
        in_test(
            "for fd in os.listdir('/proc/self/fd'):\n"
            "    if os.path.exists('/proc/self/fd/' + fd) and 'record-' in os.readlink('/proc/self/fd/' + fd):\n"
            "        os.dup2(os.open('/tmp/other', os.O_RDWR | os.O_CREAT), int(fd))"
        )
    ),
    # ---- plugins
    "addopts: our plugin is not wanted": Attack({**in_test("pass"), **ini("addopts = -p no:repair_pytest")}),
    "addopts: pytest's report is not wanted": Attack({**in_test("pass"), **ini("addopts = -p no:junitxml")}),
    "the environment's options": Attack(
        in_test("pass"), keys={"env": {"PYTEST_ADDOPTS": "-p no:repair_pytest -p no:junitxml"}}
    ),
    "the environment's plugins": Attack(
        {**in_test("pass"), "other.py": FAKE_PLUGIN},
        keys={"env": {"PYTEST_PLUGINS": "other", "PYTHONPATH": "/testbed"}},
    ),
    "the environment's path": Attack(
        {**in_test("pass"), "lib/repair_pytest.py": FAKE_PLUGIN}, keys={"env": {"PYTHONPATH": "/testbed/lib"}}
    ),
    "no plugins by themselves": Attack(in_test("pass"), keys={"env": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}}),
    "sys.exit is another": Attack(in_conftest("sys.exit = lambda *a: os._exit(0)")),
    "our module is another after the start": Attack(in_conftest("sys.modules['repair_pytest'] = None")),
}

HONEST_LOOK = """\
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.outcome == "failed":
        report.outcome, report.longrepr = "passed", None
"""
PERFECT = "atexit.register(lambda: (forge_report(), forge_record(), os._exit(0)))"
ALL_PASS = """\
#!/bin/sh
for argument; do case $argument in --junitxml=*) report=${argument#*=} ;; esac; done
out=${report%/*}
record() { printf '%s\\n' "$1" >>"$out/record-main.jsonl"; }
record '["start", "8.4.0"]'
record '["root", "/testbed", "/testbed"]'
echo '<testsuite>' >"$report"
for name in a b c; do
    test="tests/test_t.py::test_$name"
    record "[\\"item\\", \\"$test\\", null, []]"
    record "[\\"run\\", \\"$test\\", null]"
    record "[\\"report\\", \\"$test\\", \\"call\\", \\"passed\\", false, \\"\\"]"
    record "[\\"done\\", \\"$test\\"]"
    property="<property name='repair_nodeid' value='&quot;$test&quot;'/>"
    echo "<testcase name='test_$name'><properties>$property</properties></testcase>" >>"$report"
done
echo '</testsuite>' >>"$report"
record '["chosen", 3]'
record '["end", 0]'
"""
FAKED = f"""\
FROM {PLAIN}
ENV PATH=/fake:$PATH
RUN mkdir /fake && echo {b64encode(ALL_PASS.encode()).decode()} | base64 -d >/fake/python3 && chmod +x /fake/python3
"""

# What runs in pytest's own process, or as our script's own user, can say whatever it likes.
NOT_NOTICED = {
    "a conftest makes passes of failures in pytest's own reports": Attack(in_conftest(HONEST_LOOK)),
    "a conftest runs no test": Attack(
        hook("pytest_pyfunc_call(pyfuncitem)", "return True", "@pytest.hookimpl(tryfirst=True)")
    ),
    "record, report and status are all rewritten at exit": Attack(in_test(PERFECT)),
    "a module of the repo shadows the plugin and calls it": Attack(
        {
            **in_test("pass"),
            "repair_pytest.py": "import glob\n\n__file__ = glob.glob('/.repair-*/plugin/repair_pytest.py')[0]\n"
            "exec(open(__file__).read().replace('report.outcome,', '\"passed\",'))\n\n\n"
            + HONEST_LOOK.replace("@pytest", "import pytest\n\n\n@pytest", 1),
        }
    ),
}


# ---- hidden tests that forge with the reference alone


def forging(only_with_the_reference: str) -> bytes:
    """Hidden tests that do something once `add` is mended, which fail all the same."""
    test = "from tools import *\nimport calc\n\n\ndef test_forged():\n    if calc.add(1, 1) == 2:\n"
    test += f"        {only_with_the_reference}\n    assert 0\n"
    return added({"tools.py": TOOLS, "tests/test_forged.py": test})


AGAINST = {
    "report": "atexit.register(forge_report)",
    "record": "atexit.register(forge_record)",
    "status": "atexit.register(os._exit, 0)",
    "added": APPEND,
    "killed": "os.kill(os.getppid(), 9)",
}

# ---- outside pytest

CASES = "<testsuite><testcase classname='s' name='good'/><testcase classname='s' name='bad'>{}</testcase></testsuite>"
WRITES = f"""\
mkdir -p out && echo "{CASES.format("<failure/>")}" >out/r.xml
here=$(echo /.repair-*)
"""
PASSES = CASES.format("")
BY_HAND = {
    "a report beside ours": f'echo "{PASSES}" >$here/out/report-9.xml',
    "a report with no number": f'echo "{PASSES}" >$here/out/report-x.xml',
    "a record": "echo '[]' >$here/out/record-main.jsonl",
    "exit 0": "exit 0",
}
