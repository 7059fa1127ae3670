"""Tasks that bring their own verifier, in real containers: asked on the repaired copy, and what it leaves is read.

The verifiers are ours, in the shape that Harbor's adapters and SWE-bench's eval scripts have: they bring their tests,
run pytest, and grade by the lists that lie beside them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair import pipeline
from repair.controls.session import Options
from repair.errors import MemoryKill, NoEvidence, RepairError, TimeoutOutsideTest, UsageError
from repair.formats import exporting, importing
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.formats.trimming import verifier_of
from repair.model import Rule, Verdict
from repair.panel import read
from repair.pipeline import Result, State
from repair.records.check import Soundness, examine
from repair.text import sha256
from tests.engine.conftest import BuildImage
from tests.engine.foreign import ORACLE, PYTEST, TESTBED, TESTS, TESTS_FILE
from tests.engine.lab import Lab, docker, record, write_panel, write_task
from tests.formats import rows
from tests.support.paths import ROOT

pytestmark = pytest.mark.engine

REWARD = "/logs/verifier/reward.txt"
TEST_SH = f"""\
#!/bin/bash
cd /testbed
source /opt/miniconda3/bin/activate
conda activate testbed
LOG_FILE=$(mktemp)
git apply -v - <<'EOF_TESTS'
{TESTS}EOF_TESTS
pytest -rA {TESTS_FILE} 2>&1 | tee "$LOG_FILE"
GRADE
"""
GRADE = "python /tests/grade.py < $LOG_FILE > /logs/verifier/reward.txt"
GRADE_PY = """\
import json
import sys

row = json.load(open("/tests/config.json"))
passed = {line.strip().partition(" ")[2] for line in sys.stdin if line.startswith("PASSED ")}
print(int(passed.issuperset(json.loads(row["FAIL_TO_PASS"]) + json.loads(row["PASS_TO_PASS"]))))
"""
SOLVE_SH = f"#!/bin/bash\ncd /testbed\ngit apply - <<'EOF_ORACLE'\n{ORACLE}EOF_ORACLE\n"
EVAL_SH = f"""\
#!/bin/bash
set -uxo pipefail
source /opt/miniconda3/bin/activate
conda activate testbed
cd /testbed
git apply -v - <<'EOF_TESTS'
{TESTS}EOF_TESTS
: '>>>>> Start Test Output'
pytest -rA {TESTS_FILE}
: '>>>>> End Test Output'
"""

BURST = f"""\
pytest -rA {TESTS_FILE} >/tmp/found
status=$?
{{ set +x; }} 2>/dev/null
found=$(cat /tmp/found)
printf 'PASSED filler.py::test_%s\\n' {{1..6000}}
echo "$found"
set -x
[ $status = 0 ]
"""


@pytest.fixture(scope="module")
def image(build_image: BuildImage) -> str:
    subprocess.run([ROOT / "tests" / "images" / "build_runners"], check=True)
    return build_image(TESTBED)


@pytest.fixture(scope="module")
def stale(build_image: BuildImage, image: str) -> str:
    """The same with a reward that nobody gave."""
    return build_image(
        f"FROM {image}\nRUN mkdir -p /logs/verifier && echo 1 >{REWARD} && touch -d 2024-01-01 {REWARD}\n"
    )


def harbor(root: Path, number: int, image: str, p2p: tuple[str, ...], grade: str = GRADE, settings: str = "") -> Path:
    """A Harbor task directory whose verifier ends with the line `grade`; `settings` go to the section [verifier]."""
    lists = {"FAIL_TO_PASS": json.dumps(PYTEST.f2p), "PASS_TO_PASS": json.dumps(p2p)}
    row = rows.classic(number, repo="acme/parcel", patch=ORACLE, test_patch=TESTS, **lists)
    toml = rows.HARBOR.replace("acme/ledger:7", image).replace(
        "timeout_sec = 3000.0", settings or "timeout_sec = 300.0"
    )
    files = {
        "task.toml": toml.replace("memory_mb = 4096", "memory_mb = 256"),
        "tests/config.json": json.dumps(row, indent=2),
        "tests/test.sh": TEST_SH.replace("GRADE", grade),
        "tests/grade.py": GRADE_PY,
        "solution/solve.sh": SOLVE_SH,
    }
    directory = rows.harbor(root, number, files)
    (directory / "tests" / "test.sh").chmod(0o755)
    (directory / "solution" / "solve.sh").chmod(0o755)
    return directory


def imported(lab: Lab, source: Path) -> Path:
    panel = lab.fresh() / "panel"
    found = importing.run(source, panel, Choice(), Wants())
    assert (found.reasons, found.no_junit) == ([], [])
    return write_panel(panel, "[policy]\nmin_p2p = 2\n")


def controls(panel: Path) -> set[str]:
    """What was run of a panel's tasks, by the names of the attempts' folders."""
    return {path.name for path in (panel / ".repair" / "attempts").glob("*/*")}


# ---- the whole way


@dataclass(frozen=True, slots=True)
class Way:
    """A Harbor task from its directory to the one that is given back."""

    image: str
    source: Path
    panel: Path
    result: Result
    target: Path


@pytest.fixture(scope="module")
def way(lab: Lab, image: str) -> Way:
    source = harbor(lab.fresh(), 1, image, PYTEST.p2p)
    panel = imported(lab, source.parent)
    (result,) = lab.run(panel, verifier=verifier_of).values()
    target = lab.fresh() / "tasks"
    if result.decision is not None:
        exporting.run(read.load(panel), target, "same", every=False)
    return Way(image, source, panel, result, target / source.name)


def reward_by_docker(image: str, directory: Path, *, oracle: bool) -> float:
    """What a task directory's verifier gives where nothing but docker runs it, its solution before or not."""
    solve = "bash /solution/solve.sh && " if oracle else ""
    script = f"mkdir -p /logs/verifier && {solve}bash /tests/test.sh >&2; cat {REWARD}"
    container = docker("create", "--network", "none", image, "bash", "-c", script)
    try:
        for folder in ("tests", "solution"):
            docker("cp", str(directory / folder), f"{container}:/")
        return float(docker("start", "--attach", container))
    finally:
        docker("rm", "--force", container)


def modes(directory: Path) -> dict[str, int]:
    return {path.relative_to(directory).as_posix(): path.stat().st_mode for path in directory.rglob("*")}


def test_before_the_repair_the_verifier_fails_the_reference(way: Way) -> None:
    assert reward_by_docker(way.image, way.source, oracle=True) == 0.0


def test_the_verifier_agrees_with_what_is_left(way: Way) -> None:
    assert way.result.error is None, way.result.error
    document = record(way.result.task.directory)
    assert document["verdict"] == "repaired", document["reasons"]
    assert {test for group in document["dropped"] for test in group["ids"]} == set(PYTEST.gone)
    outcomes = json.loads((way.result.task.directory / "outcomes.json").read_bytes())
    wanted = {"empty": 0.0, "oracle": 1.0}
    assert (document["own_verifier"], outcomes["controls"]["own_verifier"]) == (wanted, wanted)


def test_its_record_is_sound(way: Way) -> None:
    found = examine(read.load(way.panel), way.result.task)
    assert (found.soundness, found.details) == (Soundness.SOUND, ())


def test_the_verifier_is_asked_again_by_a_rerun(lab: Lab, way: Way) -> None:
    before = len(list((way.panel / ".repair" / "attempts").glob("*/*-verifier-*")))
    (result,) = pipeline.rerun(read.load(way.panel), lab.sandbox, Options(jobs=2, verifier=verifier_of))
    assert (result.state, result.error, result.details) == (State.KEPT, None, ())
    assert (before, len(list((way.panel / ".repair" / "attempts").glob("*/*-verifier-*")))) == (2, 4)


def test_what_is_given_back_differs_in_its_lists_and_names_its_record(way: Way) -> None:
    before, after = rows.tree(way.source), rows.tree(way.target)
    assert modes(way.target) == modes(way.source)
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {
        "task.toml",
        "tests/config.json",
    }
    row = json.loads(before["tests/config.json"])
    row["PASS_TO_PASS"] = json.dumps(PYTEST.good)
    assert after["tests/config.json"] == json.dumps(row, indent=2).encode()
    toml = (way.target / "task.toml").read_text()
    digest = sha256((way.result.task.directory / "repair.json").read_bytes()).removeprefix("sha256:")
    line = f'repair_record = "sha256:{digest}"\n'
    assert toml.count(line) == 1
    assert toml.replace(line, "") == (way.source / "task.toml").read_text()


@pytest.mark.parametrize(("oracle", "reward"), [(True, 1.0), (False, 0.0)], ids=["reference", "nothing"])
def test_given_back_its_verifier_tells_the_reference_from_nothing(way: Way, oracle: bool, reward: float) -> None:
    assert reward_by_docker(way.image, way.target, oracle=oracle) == reward


# ---- what verifiers leave


@dataclass(frozen=True, slots=True)
class Verifier:
    """How a verifier ends, and the error that its task gets, or what it rewards (empty, oracle)."""

    grade: str
    error: type[RepairError] | None = None
    said: str = ""
    rewards: tuple[float, float] = (0.0, 1.0)
    settings: str = ""
    stale: bool = False


VERIFIERS = {
    "reward.json": Verifier(f'{GRADE}; mv {REWARD} /tmp/r; echo "{{\\"reward\\": $(cat /tmp/r)}}" >{REWARD[:-3]}json'),
    "a reward over a stale one": Verifier(GRADE, stale=True),
    "always 0": Verifier(f"echo 0 >{REWARD}", rewards=(0.0, 0.0)),
    "always 1": Verifier(f"echo 1 >{REWARD}", rewards=(1.0, 1.0)),
    "no reward": Verifier("true", NoEvidence, "the verifier left no reward (status 0)"),
    "an empty one": Verifier(f": >{REWARD}", NoEvidence, f"{REWARD} is empty (status 0)"),
    "not a number": Verifier(f"echo nan >{REWARD}", NoEvidence, f"{REWARD} holds nan, which is no reward"),
    "it dies": Verifier("kill -KILL $$", NoEvidence, "the verifier left no reward (status 137)"),
    "it hangs": Verifier(
        f"echo 1 >{REWARD}; exec sleep 600",
        TimeoutOutsideTest,
        "the verifier did not end within 1 s",
        settings="timeout_sec = 1.0",
    ),
    "too much memory": Verifier(
        f"echo 1 >{REWARD}; python -c 'print(len(bytes(1) * (1 << 30)))'",
        MemoryKill,
        "the verifier reached the memory limit of 256 MiB; raise `memory`",
    ),
    "a link": Verifier(f"echo 1 >/tmp/one; ln -s /tmp/one {REWARD}", NoEvidence, "the verifier left no reward"),
    "a directory": Verifier(f"mkdir {REWARD}", NoEvidence, "the verifier left no reward"),
    "a stale one": Verifier(
        "true", NoEvidence, f"{REWARD} is older than the run; remove it from the image", stale=True
    ),
}
NUMBERS = {name: number for number, name in enumerate(VERIFIERS, 1)}
BROKEN = [name for name, verifier in VERIFIERS.items() if verifier.error is not None]


@pytest.fixture(scope="module")
def broken(lab: Lab, image: str, stale: str) -> Path:
    source = lab.fresh()
    for name, verifier in VERIFIERS.items():
        on = stale if verifier.stale else image
        harbor(source, NUMBERS[name], on, PYTEST.good, verifier.grade, verifier.settings)
    panel = imported(lab, source)
    file = task_of(panel, "it hangs") / "task.json"
    file.write_text(file.read_text().replace('"timeout": 1.0', '"timeout": 300'))  # the controls have time
    return panel


@pytest.fixture(scope="module")
def found(lab: Lab, broken: Path) -> dict[str, Result]:
    """The first of each image alone: their controls are all the same, and the others find them in the journal."""
    firsts = {task_of(broken, name).name for name in ("reward.json", "a reward over a stale one")}
    first = pipeline.run(read.load(broken, firsts.__contains__), lab.sandbox, Options(jobs=4, verifier=verifier_of))
    assert [result.state for result in first] == [State.RECORDED] * 2
    return lab.run(broken, verifier=verifier_of)


def task_of(panel: Path, name: str) -> Path:
    return panel / f"acme__ledger-{NUMBERS[name]}"


@pytest.mark.parametrize("name", [name for name in VERIFIERS if name not in BROKEN])
def test_a_verifier_s_rewards_are_recorded_and_decide(broken: Path, found: dict[str, Result], name: str) -> None:
    verifier, result = VERIFIERS[name], found[task_of(broken, name).name]
    assert result.error is None, result.error
    assert result.decision is not None
    document = record(task_of(broken, name))
    assert document["own_verifier"] == dict(zip(("empty", "oracle"), verifier.rewards, strict=True))
    agrees = verifier.rewards == (0.0, 1.0)
    assert document["verdict"] == ("clean" if agrees else "refused")
    assert [reason.rule for reason in result.decision.reasons] == ([] if agrees else [Rule.OWN_VERIFIER])


@pytest.mark.parametrize("name", BROKEN)
def test_without_a_reward_there_is_no_record(broken: Path, found: dict[str, Result], name: str) -> None:
    verifier, result = VERIFIERS[name], found[task_of(broken, name).name]
    assert result.state is State.FAILED
    assert type(result.error) is verifier.error, result.error
    assert verifier.said in str(result.error)
    assert result.error is not None
    assert result.error.next
    assert not (task_of(broken, name) / "repair.json").exists()
    assert not (task_of(broken, name) / "outcomes.json").exists()


def command(panel: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`repair run --verifier own` as a user types it."""
    return subprocess.run(
        [sys.executable, "-m", "repair", "run", str(panel), "--verifier", "own", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_the_command_names_the_log_and_exits_with_the_failure_s_status(broken: Path, found: dict[str, Result]) -> None:
    directory = task_of(broken, "no reward")
    done = command(broken, "-i", directory.name)
    assert done.returncode == NoEvidence.code
    named = re.search(
        r"the verifier left no reward \(status 0\); see the verifier's log, and run again; see (\S+)", done.stderr
    )
    assert named, done.stderr
    assert "collected 8 items" in Path(named[1]).read_text()
    assert not (directory / "repair.json").exists()
    assert docker("ps", "--all", "--quiet", "--filter", f"label=repair.task={directory.name}") == ""


# ---- eval scripts


@pytest.fixture(scope="module")
def scripts(lab: Lab, image: str) -> tuple[Path, dict[str, Result]]:
    def five(number: int, p2p: tuple[str, ...], script: str = EVAL_SH, parser: str = "parse_log_pytest") -> rows.Row:
        lists = {"FAIL_TO_PASS": json.dumps(PYTEST.f2p), "PASS_TO_PASS": json.dumps(p2p)}
        row = rows.five(number, image=image, patch=ORACLE, test_patch=TESTS, eval_script=script, log_parser=parser)
        return {**row, **lists}

    other = EVAL_SH.replace("pytest -rA", "pytest -q")
    # all at once by the shell itself, and at once the marker on the other stream
    burst = EVAL_SH.replace(f"pytest -rA {TESTS_FILE}\n", BURST)
    assert burst != EVAL_SH
    made = [
        five(1, PYTEST.p2p),
        five(2, PYTEST.good, other),
        five(3, PYTEST.good, parser="parse_log_django"),
        five(5, PYTEST.good, burst),
    ]
    panel = imported(lab, rows.jsonl(lab.fresh() / "rows.jsonl", made))
    repo = lab.fresh()
    lists = {"FAIL_TO_PASS": PYTEST.f2p, "PASS_TO_PASS": PYTEST.good}
    settings = rows.SETTINGS.format(name="acme__ledger-4").replace("acme/eval.ledger:latest", image)
    files = {"task.yaml": settings, "tests.json": json.dumps(lists), "gold.patch": ORACLE, "test.patch": TESTS}
    rows.task_repo(repo, 4, {**files, "eval.sh": EVAL_SH})
    shutil.move(imported(lab, repo) / "acme__ledger-4", panel)
    return panel, lab.run(panel, verifier=verifier_of)


@pytest.mark.parametrize(
    ("number", "verdict"),
    [(1, "repaired"), (4, "clean"), (5, "clean")],
    ids=["of a row", "of a task repo", "in a burst"],
)
def test_an_eval_script_is_a_verifier(scripts: tuple[Path, dict[str, Result]], number: int, verdict: str) -> None:
    panel, results = scripts
    name = f"acme__ledger-{number}"
    assert results[name].error is None, results[name].error
    document = record(panel / name)
    assert document["verdict"] == verdict
    assert document["own_verifier"] == {"empty": 0.0, "oracle": 1.0}


def test_an_eval_script_that_names_no_passed_test_disagrees(scripts: tuple[Path, dict[str, Result]]) -> None:
    panel, results = scripts
    result = results["acme__ledger-2"]
    assert result.decision is not None, result.error
    assert result.decision.verdict is Verdict.REFUSED
    assert record(panel / "acme__ledger-2")["own_verifier"] == {"empty": 0.0, "oracle": 0.0}


def test_another_log_than_pytest_s_is_an_error_before_anything_runs(scripts: tuple[Path, dict[str, Result]]) -> None:
    panel, results = scripts
    result = results["acme__ledger-3"]
    assert isinstance(result.error, UsageError)
    assert "log_parser: only what pytest prints is read" in str(result.error)
    assert "run without --verifier own" in str(result.error)
    assert not list((panel / ".repair" / "attempts").glob("acme__ledger-3*/*"))


# ---- no verifier


def test_a_task_without_a_verifier_is_a_usage_error_before_anything_runs(lab: Lab) -> None:
    panel = write_panel(lab.fresh())
    write_task(panel, "plain", image="repair-test-own/nowhere:1")
    done = command(panel)
    assert done.returncode == UsageError.code
    assert "plain has no verifier of its own; run without --verifier own" in done.stderr
    assert controls(panel) == set()
