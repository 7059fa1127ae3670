"""Named tests on the real engine, alone and in company, with and without a network: what each is, and what is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repair.cli import run_app
from repair.controls import session
from repair.controls.workspace import latest_log
from repair.errors import ImageError, NoEvidence
from repair.mint import probe as mint_probe
from repair.mint.probe import Probed, Subject
from repair.mint.steadiness import Conditions, Kind, Need, Network, Place
from repair.model import ControlKind, ListName, Outcome
from repair.panel import read
from tests.engine.lab import ADD, P2P, SIDE_BY_SIDE, Lab, added, write_panel, write_task

pytestmark = pytest.mark.engine

T = "tests/test_t.py"
LEANS, NETWORK, PHANTOM = f"{T}::test_leans", f"{T}::test_network", f"{T}::test_phantom"
ADDS, KEEPS = "tests/test_calc.py::test_add", P2P[0]
TESTS = """\
from pathlib import Path

SEEN = []


def test_first():
    SEEN.append(1)


def test_leans():
    assert SEEN


def test_network():
    assert {path.name for path in Path("/sys/class/net").iterdir()} > {"lo"}
"""
NETWORKS = ("none", "bridge")
NOT_RUN = dict.fromkeys(NETWORKS)
RECORD = b"not even JSON"
GOOD = "s::good"
WITH_REFERENCE = [f"s::chance{n}" for n in range(20)]
# Without the reference it ends without a report, with it each of twenty tests passes in about half of the runs.
BY_CHANCE = """\
test -e mended || exit 1
{
    echo '<testsuite><testcase classname="s" name="good"/>'
    for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        case $(head -c 8 /dev/urandom | md5sum) in [0-7]*) bad= ;; *) bad='<failure/>' ;; esac
        echo "<testcase classname='s' name='chance$n'>$bad</testcase>"
    done
    echo '</testsuite>'
} >out.xml
exit 1
"""


def probe(lab: Lab, task: Path, ids: list[str], repeats: int) -> Probed:
    loaded = read.load(task.parent, task.name.__eq__, lists=False)
    plan = mint_probe.Plan(tuple(ids), repeats)
    ended = mint_probe.run(loaded, lab.sandbox, session.Options(SIDE_BY_SIDE), plan)
    assert ended.value is not None, ended.error
    return ended.value


def cells(test: Subject, *outcomes: Outcome) -> None:
    """Both controls show the same in (alone, alone with a network, suite, suite with a network), in one run each."""
    for control in ControlKind:
        seen = [test.outcomes[Conditions(control, place, network)] for place in Place for network in Network]
        assert seen == [(outcome,) for outcome in outcomes], (test.id, control)


@pytest.fixture(scope="module")
def task(lab: Lab) -> Path:
    panel = write_panel(lab.fresh())
    task = write_task(panel, "acme-ledger-1", p2p=[*P2P, f"{T}::test_first", LEANS], tests=added({T: TESTS}))
    (task / "repair.json").write_bytes(RECORD)
    return task


@pytest.fixture(scope="module")
def found(lab: Lab, task: Path) -> dict[str, Subject]:
    probed = probe(lab, task, [LEANS, NETWORK, PHANTOM, ADDS, KEEPS], repeats=1)
    assert (probed.alone, probed.runs, probed.failures) == (True, 4 * 6, ())
    return {test.id: test for test in probed.tests}


PASSED, FAILED, MISSING = Outcome.PASSED, Outcome.FAILED, Outcome.MISSING


def test_what_passes_only_behind_its_neighbours(found: dict[str, Subject]) -> None:
    test = found[LEANS]
    cells(test, FAILED, FAILED, PASSED, PASSED)
    assert (test.judged.kind, test.judged.needs) == (Kind.ORDER, (Need.NEIGHBOURS,))
    assert set(test.causes.values()) == {"", f"AssertionError at {T}:11"}


def test_what_passes_only_with_a_network_listed_or_not(found: dict[str, Subject]) -> None:
    test = found[NETWORK]
    cells(test, FAILED, PASSED, FAILED, PASSED)
    assert (test.judged.kind, test.judged.needs, test.lists) == (Kind.NETWORK, (Need.NETWORK,), ())


def test_a_phantom_is_missing_with_its_cause(found: dict[str, Subject]) -> None:
    test = found[PHANTOM]
    cells(test, MISSING, MISSING, MISSING, MISSING)
    assert test.judged.kind is Kind.MISSING
    assert all(cause.startswith("not collected; nearest: ") for cause in test.causes.values())


def test_what_holds_still_is_what_its_list_says(found: dict[str, Subject]) -> None:
    cells(found[KEEPS], PASSED, PASSED, PASSED, PASSED)
    assert (found[KEEPS].judged.kind, found[KEEPS].lists) == (Kind.P2P, (ListName.P2P,))
    assert (found[ADDS].judged.kind, found[ADDS].lists) == (Kind.F2P, (ListName.F2P,))


def test_it_leaves_raw_files_and_nothing_that_a_run_takes_up(task: Path, found: dict[str, Subject]) -> None:
    assert found
    assert {path.name for path in task.iterdir()} == {"task.json", "oracle.patch", "tests.patch", "repair.json"}
    assert (task / "repair.json").read_bytes() == RECORD
    work = task.parent / ".repair"
    assert list((work / "journal").iterdir()) == []
    assert len(list((work / "attempts" / task.name).glob("*-probe-*/log"))) == 4 * 6
    loaded = read.load(task.parent)
    assert [latest_log(loaded, loaded.tasks[0], kind) for kind in ControlKind] == [None, None]


def by_chance(lab: Lab, oracle: bytes) -> Path:
    keys: dict[str, Any] = {"framework": "shell", "junit": ["out.xml"], "test_cmd": BY_CHANCE}
    panel = write_panel(lab.fresh())
    return write_task(panel, "acme-chance-1", [GOOD], WITH_REFERENCE, oracle, image="repair-test/odd-busybox:1", **keys)


def test_what_a_test_command_decides_by_itself_runs_in_the_suite_only(lab: Lab) -> None:
    task = by_chance(lab, added({"mended": "x\n"}))
    probed = probe(lab, task, [GOOD, *WITH_REFERENCE], repeats=2)
    assert (probed.alone, probed.runs, probed.failures) == (False, 4 * 2, ())
    good, *chance = probed.tests
    assert (good.judged.kind, good.judged.untold) == (Kind.F2P, ("order",))
    assert {where.place for where in good.outcomes} == {Place.SUITE}
    assert set(good.causes.values()) == {"", "the test command ended with status 1 and wrote no report"}
    for test in chance:
        mixed = [where for where, outcomes in test.outcomes.items() if len(set(outcomes)) > 1]
        assert list(test.judged.mixed) == mixed
        assert (test.judged.kind is Kind.FLAKY) == bool(mixed)
    assert any(test.judged.kind is Kind.FLAKY for test in chance), "some pass by turns: the odds are 1 to 4 ** 20"


def test_what_cannot_be_observed_leaves_the_rest_of_the_table(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    task = by_chance(lab, ADD)  # which has nothing to apply to
    (task / "tests.patch").write_bytes(added({"mended": "x\n"}))
    code = run_app(["probe", str(task), GOOD, GOOD, "-n", "2", "-j", str(SIDE_BY_SIDE), "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert code == document["exit"] == NoEvidence.code
    [test] = document["tests"]
    assert (test["id"], test["kind"], test["untold"]) == (GOOD, "unobserved", ["order", "network"])
    assert test["outcomes"] == {
        "empty": {"alone": NOT_RUN, "suite": {net: {"runs": ["passed"] * 2, "cause": ""} for net in NETWORKS}},
        "oracle": {"alone": NOT_RUN, "suite": {net: {"runs": [], "cause": ""} for net in NETWORKS}},
    }
    assert {(group["control"], group["place"], group["runs"]) for group in document["unobserved"]} == {
        ("oracle", "suite", 2)
    }
    assert "4 runs could not be observed [oracle: suite, suite+net]: a patch does not apply: " in err


def test_a_task_without_an_image_is_not_probed(lab: Lab) -> None:
    task = write_task(write_panel(lab.fresh()), "acme-nowhere-1", image="repair-test-own/nowhere:1")
    loaded = read.load(task.parent)
    ended = mint_probe.run(loaded, lab.sandbox, session.Options(build=False), mint_probe.Plan((KEEPS,)))
    assert ended.value is None
    assert isinstance(ended.error, ImageError)
