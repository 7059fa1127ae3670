"""`repair probe` without an engine: what makes no sense is said before anything runs, and what it shows afterwards."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from repair.cli import run_app
from repair.controls.session import Done
from repair.errors import EngineError, EngineLost, ImageError, MemoryKill, RepairError
from repair.mint.probe import Failure, Plan, Probed, Subject, trials
from repair.mint.steadiness import CONDITIONS, Conditions, Network, Place, judge
from repair.model import ControlKind, Image, ListName, Outcome, Select, Task
from repair.panel import read
from repair.report import probe
from tests.conftest import MakeTask

Capture = pytest.CaptureFixture[str]
PASSING = frozenset({Outcome.PASSED})
KEEP, ADD, OTHER = "tests/test_calc.py::test_keep[3]", "tests/test_calc.py::test_add", "tests/test_net.py::test_fetch"
EMPTY, ORACLE = ControlKind
LETTERS = {"P": Outcome.PASSED, "F": Outcome.FAILED, "M": Outcome.MISSING, "x": Outcome.XFAILED}
HOSTILE = "tests/a\x1b[2J\u202eb.py::test\r[x]"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")


def ask(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = run_app(["probe", *map(str, arguments)])
    return (code, *capsys.readouterr())


# ---- the command line


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["TASK"], id="no id"),
        pytest.param(["TASK", KEEP, "-n", "1"], id="one run cannot be flaky"),
        pytest.param(["TASK", KEEP, "-n", "many"], id="no number"),
        pytest.param(["TASK", KEEP, "-j", "0"], id="no container"),
    ],
)
def test_a_command_line_that_makes_no_sense(capsys: Capture, make_task: MakeTask, arguments: list[str]) -> None:
    task = make_task()
    code, out, err = ask(capsys, *(task if word == "TASK" else word for word in arguments))
    assert (code, out) == (2, "")
    assert "Usage: repair probe" in err


@pytest.mark.parametrize(
    "test",
    [
        pytest.param("", id="empty"),
        pytest.param("  ", id="blank"),
        pytest.param("a\nb", id="two lines"),
        pytest.param("x" * 4097, id="too long"),
        pytest.param("tests/\udcff.py::t", id="not UTF-8"),
    ],
)
def test_what_is_no_test_id(capsys: Capture, make_task: MakeTask, test: str) -> None:
    code, out, err = ask(capsys, make_task(), KEEP, test)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is no test id; give one line of UTF-8, of at most 4096 characters" in err


def test_a_path_that_is_no_task(capsys: Capture, make_task: MakeTask, panel: Path) -> None:
    task = make_task()
    for path in (panel, task / "task.json", task / "nowhere", task / ("x" * 300)):
        code, out, err = ask(capsys, path, KEEP)
        assert (code, out) == (2, "")
        assert str(path) in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("extra", [[], ["--json"]], ids=["text", "json"])
def test_an_engine_that_is_gone(make_task: MakeTask, extra: list[str]) -> None:
    # in a process of its own, where nobody minds the socket that the client leaves
    command = [sys.executable, "-m", "repair", "probe", str(make_task()), KEEP, *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, bool(done.stdout)) == (EngineLost.code, bool(extra))
    assert "could not reach the engine" in done.stderr


# ---- what would run


def load(directory: Path) -> Task:
    (task,) = read.load(directory.parent, directory.name.__eq__, lists=False).tasks
    return task


def test_every_condition_is_run_as_often_as_asked(make_task: MakeTask) -> None:
    task = load(make_task(network="bridge", select="files"))
    every = trials(task, Plan((KEEP, OTHER), repeats=3))
    suite = {*task.f2p, *task.p2p, OTHER}
    for where in CONDITIONS:
        found = [trial for trial in every if trial.where == where]
        ids = [{OTHER}, {KEEP}] if where.place is Place.ALONE else [suite]
        assert len(found) == 3 * len(ids)
        for wanted in ids:
            controls = [trial.control for trial in found if set(trial.control.ids) == wanted]
            assert sorted(control.repeat for control in controls) == [0, 1, 2]
            for control in controls:
                assert (control.kind, control.task.network) == (where.control, where.network)
                assert control.task.select is (Select.IDS if where.place is Place.ALONE else Select.FILES)
                assert control.patches == (task.patches if where.control is ORACLE else task.patches[:-1])
    assert len({(trial.where, trial.alone, trial.control.repeat) for trial in every}) == len(every) == 4 * 3 * 3


def test_the_suite_of_a_task_without_lists_is_the_files_of_what_is_named(make_task: MakeTask) -> None:
    task = load(make_task(f2p=[], p2p=[]))
    for trial in trials(task, Plan((KEEP,), repeats=1)):
        assert trial.control.ids == (KEEP,)
        assert trial.control.task.select is (Select.IDS if trial.where.place is Place.ALONE else Select.FILES)


@pytest.mark.parametrize("keys", [{"framework": "shell"}, {"id_template": ("{name}",), "select": Select.ALL}])
def test_where_the_test_command_decides_nothing_runs_alone(make_task: MakeTask, keys: dict[str, object]) -> None:
    task = replace(load(make_task()), **keys)  # type: ignore[arg-type]
    assert {trial.where.place for trial in trials(task, Plan((KEEP,), repeats=1))} == {Place.SUITE}


# ---- what it shows


def subject(test: str, empty: str, oracle: str, *lists: ListName, cause: str = "boom") -> Subject:
    """A test from letters a run; `-` is a cell that was not observed, `.` one that there cannot be."""
    cells = zip(CONDITIONS, [*empty.split(), *oracle.split()], strict=True)
    outcomes = {where: tuple(LETTERS[run] for run in runs.strip("-")) for where, runs in cells if runs != "."}
    causes = {where: cause if set(runs) - PASSING else "" for where, runs in outcomes.items()}
    return Subject(test, lists, outcomes, causes, judge(outcomes, PASSING))


STEADY = subject(KEEP, "PP PP PP PP", "PP PP PP PP", ListName.P2P)
FLAKY = subject(ADD, "FF FF FF FF", "PP PP PF PP", ListName.F2P)
NEEDS = subject(OTHER, "MM PP MM PP", "MM PP MM PP")


def ended(
    *tests: Subject, failures: tuple[Failure, ...] = (), alone: bool = True, network: str = "none"
) -> Done[Probed]:
    task = Task("acme-1", "acme/calc:1", (), (), b"", None, Path("acme-1"), network=network)
    return Done(task, Probed(Image("sha256:" + "1" * 64), PASSING, 2, 24, alone, tests, failures))


def test_one_table_with_a_row_a_test_and_control() -> None:
    text = probe.text(ended(STEADY, FLAKY, NEEDS), None)
    rows = [line.split("  ") for line in text.split("\n\n")[0].splitlines()]
    assert [[cell.strip() for cell in row if cell] for row in rows] == [
        ["test", "control", "alone", "alone+net", "suite", "suite+net", "kind"],
        [KEEP, "empty", "2/2", "2/2", "2/2", "2/2", "P2P"],
        [KEEP, "oracle", "2/2", "2/2", "2/2", "2/2", "P2P"],
        [ADD, "empty", "0/2 failed", "0/2 failed", "0/2 failed", "0/2 failed", "flaky"],
        [ADD, "oracle", "2/2", "2/2", "1/2 failed", "2/2", "flaky"],
        [OTHER, "empty", "0/2 missing", "2/2", "0/2 missing", "2/2", "network-needing"],
        [OTHER, "oracle", "0/2 missing", "2/2", "0/2 missing", "2/2", "network-needing"],
    ]


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_terminal_s_width_is_kept_and_the_end_of_an_id_is_shown(width: int) -> None:
    long = subject("tests/" + "deep/" * 40 + "test_x.py::test_it[last]", "PP PP PP PP", "PP PP PP PP")
    wide = subject("tests/test_漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字.py::test_x", "FF FF FF FF", "MM MM MM MM")
    table = probe.text(ended(long, wide), width).split("\n\n")[0].splitlines()
    assert all(cell_len(line) <= width for line in table)
    assert any(line.startswith("tests/deep/") and line.endswith("test_x.py::test_it[last]") for line in table)
    assert sum(" 0/2 missing  never" in line for line in table) == 1, "kinds are not cut"


@pytest.mark.parametrize("width", range(1, 14))
def test_a_text_is_cut_in_the_middle(width: int) -> None:
    cut = probe.cut_in_the_middle("ab漢字cd漢字ef", width)
    assert cell_len(cut) <= width
    assert ("…" in cut) == (width < cell_len("ab漢字cd漢字ef"))


SAID: dict[str, tuple[Subject, str, list[str]]] = {
    "steady in its list": (STEADY, "none", [f"{KEEP} (P2P)", "P2P: passes in every run", "stands where it belongs"]),
    "steady in the other list": (
        subject(KEEP, "PP PP PP PP", "PP PP PP PP", ListName.F2P),
        "none",
        [f"{KEEP} (F2P)", "→ it holds still, and belongs in P2P"],
    ),
    "steady in both lists": (
        subject(KEEP, "P P P P", "P P P P", *ListName),
        "none",
        ["→ it holds still, and belongs in P2P"],
    ),
    "steady and not listed": (
        subject(KEEP, "FF FF FF FF", "PP PP PP PP"),
        "none",
        [f"{KEEP} (not listed)", "cause: boom [empty: all]", "→ it holds still, and would be an id for F2P"],
    ),
    "flaky in the suite": (
        FLAKY,
        "none",
        ["flaky: the same", "seen in: oracle: suite\n", "quarantine it", "it held still alone"],
    ),
    "flaky with a network": (
        subject(KEEP, "PP PF PP PP", "PP PP PP FP"),
        "none",
        ["seen in: empty: alone+net; oracle: suite+net\n", "it held still without a network"],
    ),
    "flaky everywhere": (
        subject(KEEP, "PF PF PF PF", "PF PF PF PF"),
        "none",
        ["seen in: both: all\n", "cause: boom [both: all]", "quarantine it"],
    ),
    "needs a network": (NEEDS, "none", ['set network = "bridge"', "cause: boom [both: alone, suite]"]),
    "needs the network that it has": (NEEDS, "bridge", ['or keep network = "bridge"']),
    "needs to have no network": (subject(KEEP, "P F P F", "P F P F"), "bridge", ['→ set network = "none"']),
    "has no network as it needs": (subject(KEEP, "P F P F", "P F P F"), "none", ['→ keep network = "none"']),
    "needs neighbours": (subject(KEEP, "F F P P", "F F P P"), "none", ["→ it leans on tests that run before it"]),
    "needs solitude": (subject(KEEP, "P P F F", "P P F F"), "none", ["→ tests that run before it spoil it"]),
    "needs neighbours and a network": (
        subject(KEEP, "F F F P", "F F F P"),
        "none",
        ["order-and-network: ", "→ it leans on", "→ put what it fetches"],
    ),
    "lost": (subject(KEEP, "P P P P", "F F F F"), "none", ["→ the reference breaks it"]),
    "never": (subject(KEEP, "F F F F", "x x x x"), "none", ["→ mend the image by its cause"]),
    "missing": (subject(KEEP, "M M M M", "M M M M"), "none", ["→ mend the id by its cause"]),
    "unobserved": (
        subject(KEEP, "P - P -", "- - - -"),
        "none",
        ["not told: whether order matters", "not told: whether network matters", "→ mend what kept it"],
    ),
    "a hostile id": (subject(HOSTILE, "P P P P", "P P P P"), "none", ["tests/a\\x1b[2J\\u202eb.py::test\\r[x] (not"]),
}


@pytest.mark.parametrize(("test", "network", "wanted"), SAID.values(), ids=SAID)
def test_what_is_said_of_a_test(test: Subject, network: str, wanted: list[str]) -> None:
    text = probe.text(ended(test, network=network), None)
    assert [part for part in wanted if part not in text] == []
    assert not set(text) & {"\x1b", "\r", "\u202e"}


def test_flaky_in_all_places_is_not_blamed_on_one() -> None:
    text = probe.text(ended(subject(KEEP, "PF PP PP PP", "PP PP PP FP")), None)
    assert "held still" not in text


def row(text: str, control: str) -> list[str]:
    """The cells and the kind of the first row of a control."""
    return next(line.split()[2:] for line in text.splitlines() if f" {control} " in line)


def failed(error: EngineError | MemoryKill, network: Network) -> tuple[Failure, ...]:
    return tuple(Failure(where, error) for where in CONDITIONS if where.network is network)


def test_what_could_not_be_observed_is_said_beside_the_rest() -> None:
    test = subject(KEEP, "PP - PP -", "PP - PP -", ListName.P2P)
    result = ended(
        test, failures=failed(EngineError("could not start the container: no bridge", "see"), Network.BRIDGE)
    )
    text = probe.text(result, None)
    assert row(text, "empty") == ["2/2", "unobserved", "2/2", "unobserved", "P2P"]
    assert "it holds still as far as was observed" in text
    assert "not told: whether network matters" in text
    assert probe.exit_code(result) == EngineError.code
    assert probe.failures_text(result) == (
        "engine: 4 runs could not be observed [both: alone+net, suite+net]: "
        "could not start the container: no bridge; see\n"
    )


def test_what_cannot_run_alone_is_told_from_what_was_not_observed() -> None:
    text = probe.text(ended(subject(KEEP, ". . PP -", ". . PP PP"), alone=False), None)
    assert row(text, "empty") == ["-", "-", "2/2", "unobserved", "P2P"]
    assert "-: no test of this task can be run alone" in text
    assert "-: no test" not in probe.text(ended(STEADY), None)


def test_many_reasons_are_counted() -> None:
    failures = [Failure(where, MemoryKill(f"reason {n}")) for n, where in enumerate(CONDITIONS)]
    lines = probe.failures_text(ended(STEADY, failures=tuple(failures))).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "and 3 runs more, for other reasons"


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        pytest.param((), 0, id="all was observed"),
        pytest.param((MemoryKill("x"),), MemoryKill.code, id="one kind"),
        pytest.param((MemoryKill("x"), EngineError("y")), 5, id="two kinds"),
    ],
)
def test_the_exit_status(errors: tuple[MemoryKill | EngineError, ...], code: int) -> None:
    failures = tuple(Failure(CONDITIONS[0], error) for error in errors)
    assert probe.exit_code(ended(STEADY, failures=failures)) == code


def test_a_task_that_could_not_be_probed_at_all() -> None:
    error: RepairError = ImageError("no image acme/calc:1", "build it")
    result: Done[Probed] = Done(ended().task, error=error)
    assert probe.exit_code(result) == ImageError.code
    assert probe.text(result, 80) == ""
    assert probe.failures_text(result) == ("image: acme-1 could not be probed: no image acme/calc:1; build it\n")
    assert probe.document(result, 6) == {
        "exit": 6,
        "instance_id": "acme-1",
        "error": {"kind": "image", "message": "no image acme/calc:1", "next": "build it"},
    }


def test_the_document() -> None:
    test = subject(KEEP, ". . PF -", ". . PP PP", ListName.P2P)
    mixed = Conditions(EMPTY, Place.SUITE, Network.NONE)
    failure = Failure(Conditions(EMPTY, Place.SUITE, Network.BRIDGE), MemoryKill("too much", "raise `memory`"))
    assert probe.document(ended(test, failures=(failure, failure), alone=False), 10) == {
        "exit": 10,
        "instance_id": "acme-1",
        "image": "sha256:" + "1" * 64,
        "repeats": 2,
        "tests": [
            {
                "id": KEEP,
                "lists": ["P2P"],
                "kind": "flaky",
                "needs": [],
                "mixed": [{"control": mixed.control, "place": "suite", "network": "none"}],
                "untold": ["order", "network"],
                "outcomes": {
                    "empty": {
                        "alone": {"none": None, "bridge": None},
                        "suite": {
                            "none": {"runs": ["passed", "failed"], "cause": "boom"},
                            "bridge": {"runs": [], "cause": ""},
                        },
                    },
                    "oracle": {
                        "alone": {"none": None, "bridge": None},
                        "suite": {
                            "none": {"runs": ["passed", "passed"], "cause": ""},
                            "bridge": {"runs": ["passed", "passed"], "cause": ""},
                        },
                    },
                },
            }
        ],
        "unobserved": [
            {
                "control": "empty",
                "place": "suite",
                "network": "bridge",
                "runs": 2,
                "kind": "memory",
                "message": "too much",
                "next": "raise `memory`",
            }
        ],
    }
