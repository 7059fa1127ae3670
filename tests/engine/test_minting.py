"""New lists from the image: which class each kind of test gets, and what is written where.

What chance decides is in test_minting_chance.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repair.controls.session import Done, Options
from repair.errors import ImageError, StoreError, UsageError
from repair.mint import run
from repair.mint.classes import Derived
from repair.mint.run import Found, Plan
from repair.model import Verdict
from repair.panel import read
from repair.pipeline import Result, State
from repair.records.check import Soundness, examine_all
from repair.report import mint as report_mint
from tests.engine.lab import Lab, added, record, write_panel, write_task
from tests.engine.mints import (
    ADDS,
    BELOW,
    CALC,
    KINDS,
    LOST,
    MINTED,
    REFUSED,
    REPEATS,
    K,
    files_below,
    mint,
    mint_json,
    write,
    write_new,
    write_unlisted,
)
from tests.support.paths import TESTS

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def panel(lab: Lab) -> Path:
    subprocess.run([TESTS / "images" / "build_runners"], check=True)
    return write(lab.fresh() / "panel", lab.fresh())


@pytest.fixture(scope="module")
def before(panel: Path) -> dict[str, tuple[bytes, int]]:
    return files_below(panel)


@pytest.fixture(scope="module")
def results(lab: Lab, panel: Path, before: dict[str, tuple[bytes, int]]) -> dict[str, Done[Found]]:
    return mint(lab, panel)


@pytest.fixture(scope="module")
def minted(lab: Lab, panel: Path, results: dict[str, Done[Found]]) -> Path:
    return write_new(panel, lab.fresh() / "minted", results)


@pytest.fixture(scope="module")
def decided(lab: Lab, minted: Path) -> dict[str, Result]:
    return lab.run(minted)


# ---- classes


@pytest.mark.parametrize("name", MINTED)
def test_every_test_of_the_files_has_its_class(minted: Path, results: dict[str, Done[Found]], name: str) -> None:
    assert results[name].error is None, results[name].error
    document = mint_json(minted, name)
    assert {test: said["class"] for test, said in document["tests"].items()} == MINTED[name]
    assert document["verdict"] == "minted"
    task = json.loads((minted / name / "task.json").read_bytes())
    listed = {Derived.F2P: task["FAIL_TO_PASS"], Derived.P2P: task["PASS_TO_PASS"]}
    for derived, ids in listed.items():
        assert ids == sorted(test for test, found in MINTED[name].items() if found is derived)


def test_what_is_in_no_list_says_why(minted: Path) -> None:
    document = mint_json(minted, "all sorts")
    causes = {test: group["cause"] for group in document["unlisted"] for test in group["ids"]}
    assert causes["tests/test_deadly.py::test_dies"] == "the run ended twice inside this test"
    assert causes[f"{K}test_skips"] == "needs a printer"
    assert causes[f"{K}test_certificate"].startswith("AssertionError at tests/test_kinds.py:")
    assert causes[f"{K}test_dependency"].startswith("ModuleNotFoundError at tests/test_kinds.py:")
    places = {place["place"]: place for place in document["broken"]}
    assert set(places) == {"tests/test_new.py", "tests/test_absent.py"}
    assert "ledger_of_acme" in places["tests/test_absent.py"]["cause"]
    assert (places["tests/test_new.py"]["empty"], places["tests/test_new.py"]["oracle"]) == ("missing", "passed")
    assert "No module named 'more'" in places["tests/test_new.py"]["cause"]
    assert document["controls"]["empty"] == [{"exit": 1, "deadly": ["tests/test_deadly.py::test_dies"]}] * REPEATS


def test_which_files_ran_and_why(minted: Path) -> None:
    chosen = {name: (mint_json(minted, name)["from"], mint_json(minted, name)["files"]) for name in MINTED}
    assert chosen == {
        "all sorts": ("tests.patch", [f"tests/test_{name}.py" for name in ("absent", "deadly", "kinds", "new")]),
        "leans on what is not listed": ("tests.patch", ["tests/test_adds.py", "tests/test_leans.py"]),
        "files by glob and folder": ("test_files", ["slow", "tests/test_c*.py", "tests/test_z*.py"]),
        "helpers, moved and deleted": (
            "tests.patch",
            ["tests/conftest.py", "tests/helper.py", "tests/test_data.py", "tests/test_moved.py"],
        ),
        "below the repo's root": ("tests.patch", ["sub/tests/test_new.py", "sub/tests/test_p.py"]),
        "a rootdir below": ("tests.patch", sorted(file for file in BELOW if file.endswith(".py"))),
        "unittest": ("test_cmd", []),
    }
    [absent] = mint_json(minted, "files by glob and folder")["broken"]
    assert (absent["place"], absent["cause"]) == ("tests/test_z*.py", "no such file in the image")


def test_what_passes_behind_an_unlisted_test_alone_is_found_by_the_trial(minted: Path) -> None:
    document = mint_json(minted, "leans on what is not listed")
    assert document["trials"] == 2
    leans = document["tests"]["tests/test_leans.py::test_leans"]
    assert (leans["oracle"], leans["tried"]["oracle"]) == (["passed"], ["failed"])
    others = {name: mint_json(minted, name)["trials"] for name in MINTED if name != "leans on what is not listed"}
    assert set(others.values()) == {1}


def test_a_list_that_holds_such_a_test_does_not_hold(results: dict[str, Done[Found]]) -> None:
    value = results["leans on what is not listed"].value
    assert value is not None
    [wrong] = value.against.wrong
    assert (wrong.derived, wrong.ids) == (Derived.UNSTABLE, ("tests/test_leans.py::test_leans",))
    assert (wrong.empty, wrong.oracle) == ("failed", "failed"), "as its trial was"
    assert (value.against.hold, value.against.lacking_p2p) == ((1, 1), ())


@pytest.mark.parametrize(("name", "rules"), REFUSED.items())
def test_a_refused_task_gets_no_lists_and_says_why(minted: Path, name: str, rules: list[str]) -> None:
    assert {path.name for path in (minted / name).iterdir()} == {"mint.json"}
    document = mint_json(minted, name)
    assert document["verdict"] == "refused"
    assert [reason["rule"] for reason in document["reasons"]] == rules
    assert document["trials"] == (1 if "alone" in name else 0)


def test_what_passes_without_the_reference_and_never_with_it_is_named(minted: Path) -> None:
    [reason] = mint_json(minted, "one is lost")["reasons"]
    assert reason["ids"] == ["tests/test_lost.py::test_subtracts"]
    assert (reason["empty"], reason["oracle"]) == ("passed", "failed")


def test_what_the_reference_breaks_once_its_list_runs_alone_is_named(minted: Path) -> None:
    """As `repair run` would find it; it was tried in as many turns as what is lost in whole files."""
    document = mint_json(minted, "one is lost when it runs alone")
    [reason] = document["reasons"]
    assert reason["ids"] == ["tests/test_alone.py::test_alone"]
    assert (reason["empty"], reason["oracle"]) == ("passed", "failed")
    assert reason["cause"].startswith("AssertionError at tests/test_alone.py:")
    alone = document["tests"]["tests/test_alone.py::test_alone"]
    assert (alone["empty"], alone["oracle"]) == (["passed"], ["passed"])
    assert alone["tried"] == {"empty": ["passed"] * run.MAX_TURNS, "oracle": ["failed"] * run.MAX_TURNS}


def test_what_is_lost_was_looked_at_in_every_turn(minted: Path) -> None:
    controls = mint_json(minted, "one is lost")["controls"]
    assert [len(runs) for runs in controls.values()] == [REPEATS * run.MAX_TURNS] * 2
    others = {len(runs) for name in MINTED for runs in mint_json(minted, name)["controls"].values()}
    assert others == {REPEATS}


def test_a_task_that_cannot_be_minted_stops_no_other(
    panel: Path, minted: Path, results: dict[str, Done[Found]]
) -> None:
    errors = {name: result.error for name, result in results.items() if result.error is not None}
    assert {name: type(error) for name, error in errors.items()} == {"no image": ImageError, "holds a pipe": UsageError}
    assert report_mint.exit_code([results["no image"], results["all sorts"]]) == ImageError.code
    assert str(errors["holds a pipe"]).startswith(f"{panel / 'holds a pipe' / 'pipe'} is no plain file")
    assert not (panel / ".repair" / "attempts" / "holds a pipe").exists(), "what cannot be copied is not run"
    assert not {"no image", "holds a pipe"}.intersection(path.name for path in minted.iterdir())
    assert {path.name for path in minted.iterdir() if path.is_dir()} == {*MINTED, *REFUSED}
    assert not [path for path in minted.parent.iterdir() if path != minted], "nothing half-written is left beside it"


# ---- the new panel


def test_the_old_panel_is_as_it_was(panel: Path, minted: Path, before: dict[str, tuple[bytes, int]]) -> None:
    assert files_below(panel) == before


def test_a_task_keeps_all_but_its_lists_and_what_was_made_of_them(panel: Path, minted: Path) -> None:
    old, new = panel / "all sorts", minted / "all sorts"
    assert {path.name for path in new.iterdir()} == {
        *("task.json", "oracle.patch", "tests.patch", "instruction.md", "environment", "mint.json")
    }
    for name in ("oracle.patch", "tests.patch", "instruction.md", "environment/Dockerfile"):
        assert (new / name).read_bytes() == (old / name).read_bytes()
    for name in MINTED:
        then, now = (json.loads((folder / name / "task.json").read_bytes()) for folder in (panel, minted))
        for key in ("FAIL_TO_PASS", "PASS_TO_PASS"):
            assert now.pop(key)
            then.pop(key, None)
        assert list(now.items()) == list(then.items()), "all other keys, in their order"


def test_the_panels_own_files_come_along(panel: Path, minted: Path) -> None:
    assert {path.name for path in minted.iterdir() if path.is_file()} == {"panel.toml", "README.md", ".gitattributes"}
    assert (minted / "panel.toml").read_bytes() == (panel / "panel.toml").read_bytes()


def test_a_minted_panel_passes_with_nothing_to_drop(minted: Path, decided: dict[str, Result]) -> None:
    """What is listed did the same in all runs of whole files and once more by itself, just as `repair run` runs it: the
    certificate, the network and the missing module fail every time, so none of them is listed; what needs another test
    has it in its list, or was found out when the lists were tried; and what the rule then drops is what does not pass
    in every oracle run, of which a list holds none.
    """
    assert set(decided) == set(MINTED)
    shown = {name: (result.state, result.error) for name, result in decided.items()}
    assert shown == dict.fromkeys(MINTED, (State.RECORDED, None))
    for name, result in decided.items():
        assert result.decision is not None
        assert (result.decision.verdict, result.decision.dropped) == (Verdict.CLEAN, ()), name
        counts = [sum(derived is kind for derived in MINTED[name].values()) for kind in (Derived.F2P, Derived.P2P)]
        assert [len(result.decision.kept_f2p), len(result.decision.kept_p2p)] == counts
    assert {found.soundness for found in examine_all(read.load(minted))} == {Soundness.SOUND}


def test_a_record_is_of_the_inputs_that_mint_json_names(minted: Path, decided: dict[str, Result]) -> None:
    for name in MINTED:
        assert record(minted / name)["inputs"] == mint_json(minted, name)["inputs"]
        assert record(minted / name)["image"] == mint_json(minted, name)["image"]


@pytest.mark.parametrize(
    ("names", "fresh"),
    [
        pytest.param(["files by glob and folder", "one is lost"], False, id="from the journal"),
        pytest.param(["files by glob and folder", "leans on what is not listed"], True, id="fresh"),
    ],
)
def test_minting_again_gives_the_same_bytes(
    lab: Lab, panel: Path, minted: Path, decided: dict[str, Result], names: list[str], fresh: bool
) -> None:
    copy = lab.fresh() / "panel"
    copy.mkdir()
    for name in ("panel.toml", "README.md"):
        shutil.copy2(panel / name, copy / name)
    for name in (*names, ".repair"):
        shutil.copytree(panel / name, copy / name, ignore=shutil.ignore_patterns("attempts"))
    told: list[str] = []
    options = Options(jobs=4, fresh=fresh)
    ended = run.run(
        read.load(copy, lists=False), lab.sandbox, options, Plan(REPEATS), lambda event: told.append(event.what)
    )
    again = write_new(copy, lab.fresh() / "minted", {result.task.instance_id: result for result in ended})
    made = ("repair.json", "outcomes.json")
    wanted = {
        path: content
        for path, content in files_below(minted).items()
        if Path(path).name not in made and (Path(path).parts[0] in names or len(Path(path).parts) == 1)
    }
    assert files_below(again) == wanted
    started = [what for what in told if what.endswith(": started") and "(trial)" not in what]
    shown = [many for name in names for many in mint_json(again, name)["controls"].values()]
    assert len(started) == (sum(map(len, shown)) if fresh else 0)


# ---- other ways to mint


def test_all_tests_are_what_the_command_runs_by_itself(lab: Lab) -> None:
    panel = write_panel(lab.fresh() / "panel")
    outside = {
        "tests/test_adds.py": ADDS,
        "other/test_far.py": "def test_far():\n    pass\n",
        "tests/check_no.py": LOST,
    }
    write_unlisted(panel, "task", tests=added(outside))
    minted = write_new(panel, lab.fresh() / "minted", mint(lab, panel, Plan(1, all_tests=True)))
    document = mint_json(minted, "task")
    assert (document["from"], document["files"]) == ("test_cmd", [])
    assert {test: said["class"] for test, said in document["tests"].items()} == {
        **CALC,
        "tests/test_adds.py::test_adds": Derived.F2P,
        "other/test_far.py::test_far": Derived.P2P,
    }


def test_files_that_somebody_names_are_run_though_nobody_found_tests_in_them_before(lab: Lab) -> None:
    """What the journal holds of a mint that passed over a file is no answer for one that is told to run it."""
    panel = write_panel(lab.fresh() / "panel", "[policy]\nmin_p2p = 0\n")
    task = write_unlisted(panel, "task", tests=added({"tests/checks.py": ADDS}))
    value = mint(lab, panel, Plan(1))["task"].value
    assert value is not None
    [reason] = value.minted.derivation.reasons
    assert reason.cause.startswith("no test was collected from tests/checks.py: ")
    assert "test_files" in reason.cause
    document = json.loads((task / "task.json").read_text()) | {"test_files": ["tests/checks.py"]}
    (task / "task.json").write_text(json.dumps(document))
    value = mint(lab, panel, Plan(1))["task"].value
    assert value is not None
    assert value.minted.derivation.f2p == ("tests/checks.py::test_adds",)


def test_a_killed_mint_goes_on_from_its_journal(lab: Lab) -> None:
    panel = write_panel(lab.fresh() / "panel", "[policy]\nmin_p2p = 0\n")
    write_unlisted(panel, "task", tests=added({"tests/test_adds.py": ADDS}))
    target = lab.fresh() / "minted"
    command = [sys.executable, "-m", "repair", "mint", str(panel), "-o", str(target), "--repeats", "2", "-j", "1"]
    command.append("--json")  # what happens is told on stderr then
    seen = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            seen += ": observed in " in line
            if seen == 2:
                process.kill()
                break
        process.stderr.read()
    assert process.returncode == -9
    assert not target.exists()
    assert not list(target.parent.iterdir())
    told: list[str] = []
    plan, options = Plan(2), Options(jobs=4)
    ended = run.run(read.load(panel, lists=False), lab.sandbox, options, plan, lambda event: told.append(event.what))
    assert sum("observed before" in what for what in told) in {2, 3}, "the next one may have ended before the kill"
    minted = write_new(panel, target, {result.task.instance_id: result for result in ended})
    assert mint_json(minted, "task")["counts"]["F2P"] == 1


def test_the_command_mints_and_compares_and_says_so(lab: Lab, tmp_path: Path) -> None:
    panel = write_panel(lab.fresh() / "panel", "[policy]\nmin_p2p = 1\n")
    sorts = added({"tests/test_kinds.py": KINDS})
    p2p = [f"{K}{name}" for name in ("test_keeps", "test_network", "test_adds", "test_gone")]
    write_task(panel, "probed on a host", [f"{K}TestGroup::test_n[1]"], p2p, tests=sorts)
    target = tmp_path / "minted"
    command = [sys.executable, "-m", "repair", "mint", str(panel), "-o", str(target), "--compare", "--repeats", "1"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [task] = json.loads(done.stdout)["tasks"]
    assert task["counts"] == {**dict.fromkeys(map(str, Derived), 0), "F2P": 2, "P2P": 3, "never": 6}
    lists = task["lists"]
    assert {test: (group["list"], group["class"]) for group in lists["wrong"] for test in group["ids"]} == {
        f"{K}test_network": ("P2P", "never"),
        f"{K}test_adds": ("P2P", "F2P"),
        f"{K}test_gone": ("P2P", "never"),
    }
    assert (lists["F2P"]["hold"], lists["P2P"]["hold"], lists["outside"]) == (1, 1, [])
    assert lists["P2P"]["lacking"] == [f"{K}TestGroup::test_n[0]", f"{K}test_behind_another"]
    assert len(mint_json(target, "probed on a host")["tests"]) == 11
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert "is there already" in again.stderr
    nowhere = [*command[:6], "/proc/minted", *command[8:], "--json"]  # where nobody can make a directory
    done = subprocess.run(nowhere, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    assert done.returncode == document["exit"] == StoreError.code
    assert document["tasks"] == [{key: said for key, said in task.items() if key != "lists"}], "a night is not lost"
    assert "cannot be written" in document["error"]["message"]
    assert done.stderr.count("cannot be written") == 1
