"""Test commands that aren't pytest: where their JUnit files are found, and when those are no evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from repair.errors import ImageError, InfrastructureError, NoEvidence, RepairError
from repair.model import Run
from repair.pipeline import Result, State
from repair.sandbox import Container
from tests.engine.conftest import BuildImage
from tests.engine.lab import Lab, added, outcomes, record, side_by_side, write_panel, write_task

pytestmark = pytest.mark.engine

BUSYBOX = "repair-test/odd-busybox:1"
IDS = ["s::good", "s::bad", "s::other"]

# The image holds a report that says all is well, in a folder that its user cannot write, and one that it can.
STALE = """\
FROM repair-test/odd-busybox:1
RUN mkdir kept gone && echo '<testsuite><testcase classname="s" name="good"/></testsuite>' >kept/old.xml \
 && cp kept/old.xml gone/old.xml && chmod 777 /testbed gone
USER 1000:1000
"""

SHELL = """\
report() { # FILE NAME [failure]
    mkdir -p "$(dirname "$1")"
    echo "<testsuite><testcase classname='s' name='$2'>${3:+<failure/>}</testcase></testsuite>" >"$1"
}
"""
FOUND = {"s::good": "passed", "s::bad": "failed", "s::other": "missing"}

# name: (patterns, what the command does, outcomes)
PLACES: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "one file": (["out.xml"], "report out.xml good; report no.xml other", {"s::good": "passed"}),
    "several files": (["a.xml", "b/*.xml"], "report a.xml good; report b/1.xml bad x; report b/c/2.xml other", FOUND),
    "a name of its own kind": (["a/[0-9]?.xml"], "report a/12.xml good; report a/x2.xml other", {"s::good": "passed"}),
    "a class of what it is not": (["[!n]*.xml"], "report yes.xml good; report no.xml other", {"s::good": "passed"}),
    "folders at any depth": (
        ["**/T-*.xml"],
        "report T-1.xml good; report a/b/T-2.xml bad x; report a/x.xml other",
        FOUND,
    ),
    "any depth below a folder": (
        ["a/**/*.xml"],
        "report a/1.xml good; report a/b/c/2.xml bad x; report 3.xml other",
        FOUND,
    ),
    "any depth below any folder": (["*/t/**/*.xml"], "report a/t/1.xml good; report b/t/x/2.xml bad x", FOUND),
    "any depth between folders": (
        ["**/t/*.xml"],
        "report a/b/t/1.xml good; report t/2.xml bad x; report a/3.xml other",
        FOUND,
    ),
    "all below a folder": (["a/**"], "report a/1.xml good; report a/b/2.xml bad x", FOUND),
    "a folder of that name, too": (["**/*.xml"], "report a.xml/1.xml good; report b.xml/2.xml bad x", FOUND),
    "with a dot in front": (["./out/*.xml"], "report out/1.xml good; report out/2.xml bad x", FOUND),
    "an absolute path": (["/tmp/r/*.xml"], "report /tmp/r/1.xml good; report /tmp/r/2.xml bad x", FOUND),
    "an absolute path at any depth": (
        ["/tmp/r/**/*.xml"],
        "report /tmp/r/1.xml good; report /tmp/r/a/2.xml bad x",
        FOUND,
    ),
    "blanks and signs": (["my out/*.xml"], "report 'my out/a $x.xml' good; report 'my out/-b;c.xml' bad x", FOUND),
    "packed": (["*.xml.gz"], "report a.xml good; report b.xml bad x; gzip a.xml b.xml", FOUND),
    "the worst of two files": (["*.xml"], "report a.xml good x; report b.xml good", {"s::good": "failed"}),
    "beyond a link to a folder": (["out/*.xml"], "report real/1.xml good; ln -s real out", {"s::good": "passed"}),
}


def task(lab: Lab, junit: list[str], does: str, **keys: Any) -> Callable[[], Run]:
    keys = {"image": BUSYBOX, "framework": "shell", "junit": tuple(junit), "test_cmd": SHELL + does, **keys}
    return partial(lab.observe, lab.task(IDS, **keys))


@pytest.fixture(scope="module")
def found(lab: Lab, build_image: BuildImage) -> dict[str, Run | RepairError]:
    stale = build_image(STALE)
    calls = {name: task(lab, junit, f"{does}; exit 1") for name, (junit, does, _) in PLACES.items()}
    for name, (junit, does, _) in REFUSED.items():
        calls[name] = task(lab, junit, does, **({"image": stale} if "old" in name else {}))
    calls["an old report that goes"] = task(
        lab, ["gone/*.xml"], "test ! -e gone/old.xml && report gone/new.xml good", image=stale
    )
    return side_by_side(calls)


@pytest.mark.parametrize("name", PLACES)
def test_reports_are_found_where_junit_says(found: dict[str, Run | RepairError], name: str) -> None:
    run, stated = found[name], PLACES[name][2]
    assert isinstance(run, Run), run
    assert outcomes(run) == dict.fromkeys(IDS, "missing") | stated


REFUSED: dict[str, tuple[list[str], str, str]] = {
    "no report and status 0": (["*.xml"], "true", "no report at *.xml (status 0)"),
    "no report and a status": (["*.xml"], "echo broken >&2; exit 3", "no report at *.xml (status 3): broken"),
    "a failure and status 0": (["*.xml"], "report a.xml bad x", "exit status 0 although tests failed: s::bad"),
    "cut short": (["*.xml"], 'printf \'<testsuite><testcase classname="s" name="good"/>\' >a.xml', "truncated"),
    "older than the run, one of many": (
        ["**/T-*.xml"],
        "report a/T-1.xml good; touch -d '2020-01-01 00:00' a/T-1.xml; report b/T-2.xml other",
        "a/T-1.xml is older than the run",
    ),
    "empty": (["*.xml"], "report a.xml good; : >b.xml", "is empty"),
    "no JUnit": (["*.xml"], "report a.xml good; echo '<html/>' >b.xml", "no evidence"),
    "a link": (["*.xml"], "report /tmp/a good; ln -s /tmp/a a.xml", "a.xml is no plain file"),
    "a link that leads nowhere": (["*.xml"], "ln -s /nowhere a.xml", "a.xml is no plain file"),
    "a report of yesterday, put there": (
        ["*.xml"],
        "report a.xml good; touch -d '2020-01-01 00:00' a.xml",
        "older than",
    ),
    "an old report that stays": (["kept/*.xml"], "true", "kept/old.xml is older than the run"),
    "an old report beside a new": (["kept/*.xml", "n.xml"], "report n.xml good", "kept/old.xml is older than the run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_reports_that_are_no_evidence(found: dict[str, Run | RepairError], name: str) -> None:
    assert isinstance(found[name], NoEvidence), found[name]
    assert REFUSED[name][2] in str(found[name])


def test_an_old_report_is_removed_first(found: dict[str, Run | RepairError]) -> None:
    run = found["an old report that goes"]
    assert isinstance(run, Run), run
    assert outcomes(run)["s::good"] == "passed"


def test_a_fixture_that_looks_like_a_report_is_left_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a shell that compares whole seconds, in a container that starts within the second in which it was made."""
    monkeypatch.setattr(Container, "_changed", lambda _: time.time())
    fixture = added({"fixtures/T-sample.xml": "<testsuite><testcase classname='s' name='other'/></testsuite>\n"})
    does = "test -f fixtures/T-sample.xml && report out/T-1.xml good"
    for _ in range(3):
        run = task(lab, ["**/T-*.xml"], does, tests_patch=fixture)()
        assert outcomes(run) == {"s::good": "passed", "s::bad": "missing", "s::other": "missing"}
        time.sleep(0.3)  # another part of a second


# ---- a run without a report, under one control

FORTY_TWO = b"--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-41\n+42\n"
WITHOUT = {
    "does not build": "exit 2",
    "is not there": "exec no-such-command",
    "ends by a signal": "kill -9 $$",
    "ends well": "exit 0",
}


@pytest.fixture(scope="module")
def panels(lab: Lab) -> dict[str, Result]:
    panel = write_panel(lab.fresh(), "[policy]\nmin_p2p = 0\n")
    keys: dict[str, Any] = {"image": BUSYBOX, "framework": "shell", "junit": ["out/*.xml"]}
    for name, does in WITHOUT.items():
        cmd = f'if [ "$(cat value.txt)" = {{}} ]; then {does}; fi; exec sh check.sh'
        for control, value in (("empty", 41), ("oracle", 42)):
            text = cmd.format(value)
            write_task(panel, f"{control} {name}", ["suite::value_is_42"], [], FORTY_TWO, test_cmd=text, **keys)
    return lab.run(panel)


@pytest.mark.parametrize("name", ["does not build", "is not there"])
def test_a_plain_failure_under_empty_makes_all_missing_there(panels: dict[str, Result], name: str) -> None:
    result = panels[f"empty {name}"]
    assert result.error is None
    document = record(result.task.directory)
    assert document["verdict"] == "clean"
    assert document["controls"]["empty"] == [{"exit": 127 if "there" in name else 2, "flags": ["no report"]}]


@pytest.mark.parametrize("name", [f"oracle {name}" for name in WITHOUT] + ["empty ends well", "empty ends by a signal"])
def test_any_other_run_without_a_report_is_infrastructure(panels: dict[str, Result], name: str) -> None:
    result = panels[name]
    assert result.state is State.FAILED
    assert isinstance(result.error, InfrastructureError)
    assert not isinstance(result.error, ImageError)
    assert "no report at out/*.xml" in str(result.error)
    assert not (result.task.directory / "repair.json").exists()


def test_a_pytest_task_loses_no_file_to_junit_patterns(lab: Lab, build_image: BuildImage) -> None:
    image = build_image("FROM repair-test/odd-plain:1\nRUN echo data >data.xml\n")
    files = {"tests/test_t.py": "def test_a():\n    assert open('data.xml').read() == 'data\\n'\n"}
    run = lab.observe(lab.task(["tests/test_t.py::test_a"], files, image=image, junit=("*.xml",)))
    assert outcomes(run) == {"tests/test_t.py::test_a": "passed"}


# As eval scripts do: bash does not wait for what reads the other end of such a pipe.
CONVERTED = """\
exec > >(tee /tmp/log) 2> /dev/null
seq 2000
echo the last line
echo "<testsuite><testcase classname='s' name='good'/></testsuite>" > >(sleep 0.3; cat > out.xml)
"""


def test_what_reads_a_pipe_to_its_end_is_not_cut_short(lab: Lab) -> None:
    task = lab.task(IDS[:1], framework="shell", test_cmd=CONVERTED, junit=("out.xml",))
    found = side_by_side({str(number): partial(lab.observe, task) for number in range(12)})
    assert [outcomes(run) if isinstance(run, Run) else run for run in found.values()] == [{"s::good": "passed"}] * 12
    logs = [file.read_text() for file in lab.folder.glob("*/log") if "the last line" in file.read_text()]
    assert len(logs) >= 12
