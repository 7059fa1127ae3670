"""What `repair mint` shows: a line a task, causes over the panel, text that no task can turn against its reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from repair.controls.session import Done
from repair.errors import DiskFull, EngineLost, ImageError, InfrastructureError, NoEvidence
from repair.mint.against import Discrepancies, Wrong, compare
from repair.mint.classes import Derived, derive
from repair.mint.run import Found, _or_nothing
from repair.model import ListName, Observed, Outcome, Policy, Run, Task
from repair.report.mint import compared_text, document, exit_code, failed, minted_text
from repair.report.terminal import columns
from repair.text import printable
from tests.support.mint import BROKEN, GOOD, HOSTILE, POLICY, minted

AGREE = Discrepancies((1, 1), (1, 1), (), (), (), ())
NO_IMAGE = ImageError("no image acme/ledger:1", "build it")
Results = list[Done[Found]]


def ended(
    name: str,
    tests: Mapping[str, tuple[str, str]],
    against: Discrepancies = AGREE,
    policy: Policy | None = None,
) -> Done[Found]:
    made = minted(tests, policy or Policy(min_p2p=0))
    return Done(_task(name), Found(made, against))


def of_nothing(name: str, oracle: Sequence[Run], files: tuple[str, ...] = (), p2p: tuple[str, ...] = ()) -> Done[Found]:
    """A task in which no test was found."""
    empty = [Run("i", 5, {}) if run.patch is not None else run for run in oracle]
    found = _or_nothing(derive(empty, oracle, POLICY), files)
    made = replace(minted({}), derivation=found, files=files, empty=tuple(empty), oracle=tuple(oracle))
    return Done(_task(name), Found(made, compare((), p2p, found, (empty, oracle), files, POLICY)))


def _task(name: str) -> Task:
    return replace(minted({}).task, instance_id=name, directory=Path(name))


SORTS = {**GOOD, "flaky": ("PF", "FP"), "never": ("FF", "FF"), "never2": ("ss", "ss")}


@pytest.fixture
def results() -> Results:
    return [
        ended("acme-1", GOOD),
        ended("acme-2", SORTS),
        ended("acme-3", {**GOOD, "gone": ("PP", "FF")}),
        ended("acme-4", {"old": ("PP", "PP")}, policy=Policy(min_p2p=10)),
        Done(_task("acme-5"), error=NO_IMAGE),
        Done(_task("acme-6")),
    ]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def row(text: str, task: str) -> str:
    [line] = [line for line in lines(text) if line.startswith(task)]
    return " ".join(line.split())


# ---- the new lists


def test_each_task_has_a_line_with_its_lists_and_what_is_in_none(results: Results) -> None:
    text = minted_text(results, Path("minted"), None)
    assert row(text, "acme-1").startswith("acme-1 minted 1 2 0")
    assert row(text, "acme-2").startswith(
        "acme-2 minted 1 2 3 1 pass and fail by turns; 2 pass in no run; tests/test_z.py"
    )
    assert "ModuleNotFoundError" in row(text, "acme-2")
    assert row(text, "acme-3").startswith("acme-3 refused 1 2 1 1 ")
    assert row(text, "acme-4").startswith("acme-4 refused 0 1 0 no F2P is left")
    assert row(text, "acme-5") == "acme-5 failed no image acme/ledger:1"
    assert row(text, "acme-6") == "acme-6 not run"


def test_totals_and_what_is_next(results: Results) -> None:
    text = minted_text(results, Path("my minted"), None)
    assert "6 tasks: 1 failed, 2 minted, 1 not run, 2 refused\n" in text
    assert "next: repair run 'my minted'\n" in text
    assert "'my minted'/TASK/mint.json" in text


def test_a_lost_test_is_not_said_to_be_skipped_where_it_fails(results: Results) -> None:
    assert "never with it" in row(minted_text(results, Path("m"), None), "acme-3")


@pytest.mark.parametrize("width", [80, 60, None])
@pytest.mark.parametrize("show", ["minted", "compared"])
def test_every_line_of_a_table_fits(results: Results, width: int | None, show: str) -> None:
    made = [*results, ended("acme-7" * 2, {f"never{n}": ("FF", "FF") for n in range(30)})]
    text = minted_text(made, Path("m"), width) if show == "minted" else compared_text(made, width)
    table = text.split("\n\n")[0]
    if width is None:
        assert "\u2026" not in table
    else:
        assert max(map(columns, table.splitlines())) <= width


def test_the_status_is_that_of_what_failed(results: Results) -> None:
    lost: Done[Found] = Done(_task("a"), error=EngineLost("gone"))
    none: Done[Found] = Done(_task("b"), error=NoEvidence("no"))
    assert exit_code(results[:4]) == 0
    assert exit_code([*results[:4], results[5]]) == 0
    assert exit_code(results) == ImageError.code
    assert exit_code([*results, none]) == InfrastructureError.code
    assert exit_code([*results, none, lost]) == EngineLost.code
    assert failed(results) == [("acme-5", NO_IMAGE)]


# ---- the old lists


def wrong(
    ids: Sequence[str], cause: str = "OSError: no", name: ListName = ListName.P2P, derived: Derived = Derived.NEVER
) -> Wrong:
    return Wrong(name, derived, "failed", "failed", cause, tuple(ids))


def differing(
    *groups: Wrong, listed: int = 9, lacking: Sequence[str] = (), outside: Sequence[str] = ()
) -> Discrepancies:
    gone = sum(len(group.ids) for group in groups)
    return Discrepancies((1, listed), (1, listed - gone), groups, (), tuple(lacking), tuple(outside))


def test_lists_that_hold_and_lists_that_differ() -> None:
    made = [
        ended("acme-1", GOOD),
        ended("acme-2", GOOD, differing(wrong(["a", "b"]), lacking=["c"])),
        ended("acme-3", GOOD, differing(wrong(["a"], "", derived=Derived.F2P))),
        of_nothing("acme-4", [Run("i", None, {}, patch="oracle.patch: no such file")]),
        Done(_task("acme-5"), error=NO_IMAGE),
        Done(_task("acme-6")),
    ]
    text = compared_text(made, None)
    assert row(text, "acme-1") == "acme-1 hold 1 \u2192 1 1 \u2192 1 0"
    assert row(text, "acme-2") == "acme-2 differ 1 \u2192 1 9 \u2192 7 1 OSError: no"
    assert row(text, "acme-3") == "acme-3 differ 1 \u2192 1 9 \u2192 8 0 pass with the reference and never without"
    assert row(text, "acme-4") == "acme-4 refused oracle.patch: no such file"
    assert row(text, "acme-5") == "acme-5 failed no image acme/ledger:1"
    assert row(text, "acme-6") == "acme-6 not run"


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        pytest.param(
            ("tests/checks.py", "tests/conftest.py"),
            "no test was collected from tests/checks.py, tests/conftest.py: set test_files in task.json, or use"
            " --all-tests",
            id="of files",
        ),
        pytest.param((), "no test was collected from what test_cmd runs: mend test_cmd", id="of all"),
    ],
)
def test_lists_of_a_task_of_which_nothing_was_seen_do_not_hold(files: tuple[str, ...], cause: str) -> None:
    """Lists that are empty as well would agree with it."""
    seen = of_nothing("acme-1", [Run("i", 5, {})], files)
    assert seen.value is not None
    assert seen.value.against.agree
    assert row(compared_text([seen], None), "acme-1") == f"acme-1 refused {cause}"
    assert row(minted_text([seen], Path("m"), None), "acme-1") == f"acme-1 refused 0 0 0 no F2P is left ({cause})"


def test_a_place_that_could_not_be_read_is_why_nothing_was_collected() -> None:
    seen = of_nothing("acme-1", [Run("i", 2, {}, broken={"tests/test_z.py": BROKEN})], ("tests/test_z.py",))
    assert f"no test was collected from tests/test_z.py: {BROKEN.cause}" in compared_text([seen], None)


def test_lists_of_which_nothing_was_collected_differ() -> None:
    runs = [Run("i", 5, {"tests/test_z.py::t": Observed(Outcome.MISSING, "not collected")})]
    seen = of_nothing("acme-1", runs, ("tests/test_z.py",), p2p=("tests/test_z.py::t",))
    assert row(compared_text([seen], None), "acme-1") == "acme-1 differ 0 \u2192 0 1 \u2192 0 0 not collected"


def test_where_some_test_was_collected_its_reasons_stay() -> None:
    found = minted({"old": ("PP", "PP")}).derivation
    assert _or_nothing(found, ("tests/test_a.py",)) == found


def test_a_new_panel_that_is_not_written_is_not_named(results: Results) -> None:
    text = minted_text(results, None, None)
    assert row(text, "acme-1").startswith("acme-1 minted 1 2 0")
    assert "6 tasks: 1 failed, 2 minted, 1 not run, 2 refused\n" in text
    assert "next:" not in text
    assert "mint.json" not in text


def test_what_kept_it_from_being_written_stands_beside_the_tasks(results: Results) -> None:
    said = document(results, DiskFull.code, DiskFull("no space left under minted"), compared=False)
    assert (said["exit"], said["error"]["kind"]) == (DiskFull.code, "disk")
    assert [task["instance_id"] for task in said["tasks"]] == [f"acme-{n}" for n in range(1, 7)]
    assert "error" not in document(results, 0, compared=False)


def test_causes_are_told_over_the_panel_largest_first() -> None:
    made = [
        ended("acme-1", GOOD, differing(wrong(["a", "b"]), wrong(["c"], "needs a printer"))),
        ended("acme-2", GOOD, differing(wrong(["a", "b", "c"]), wrong(["d"], "", derived=Derived.F2P))),
        ended("acme-3", GOOD, differing(wrong(["e"], "", derived=Derived.F2P))),
        *(ended(f"more-{n}", GOOD, differing(wrong(["a"]))) for n in range(5)),
    ]
    text = compared_text(made, None)
    told = lines(text[text.index("what the lists have wrong") :])
    assert told[:8] == [
        "what the lists have wrong, by cause:",
        "  10 ids in 7 tasks: OSError: no",
        "      acme-2: 3",
        "      acme-1: 2",
        "      more-0: 1",
        "      more-1: 1",
        "      more-2: 1",
        "      and 2 more",
    ]
    assert told[8] == "  2 ids in 2 tasks: listed otherwise than they run"
    assert told[11:] == ["  1 id, each with a cause of its own:", "      acme-1: needs a printer"]


def test_what_nobody_looked_at_is_counted() -> None:
    made = [ended(f"acme-{n}", GOOD, differing(outside=["x"] * n)) for n in (1, 2)]
    assert "3 ids not looked at" in compared_text(made, None)
    assert "not looked at" not in compared_text([ended("acme-1", GOOD)], None)


# ---- both


def test_hostile_text_is_spelt_out(results: Results) -> None:
    name = "acme\x1b[31m\u202e\r\n-1"
    made = [
        ended(name, {HOSTILE: ("PP", "FF")}, differing(wrong([HOSTILE, "b"], f"{HOSTILE}: no"), wrong(["c"], HOSTILE))),
        Done(_task(name), error=ImageError(f"no image {HOSTILE}")),
        of_nothing(name, [Run("i", None, {}, patch=HOSTILE)]),
        *results,
    ]
    for width in (80, None):
        for text in (minted_text(made, Path("m"), width), compared_text(made, width)):
            assert all(printable(line) == line for line in text.split("\n"))
            assert "acme\\x1b[31m\\u202e\\r\\n-1" in text
    text = json.dumps(document(made, 0, compared=True))
    assert json.loads(text)["tasks"][0]["lists"]["wrong"][0]["ids"] == [HOSTILE, "b"]


@pytest.mark.parametrize("compared", [False, True])
def test_a_document_for_programs(results: Results, compared: bool) -> None:
    made = [*results, ended("acme-7", GOOD, differing(wrong(["a", "b"]), lacking=["c"], outside=["d"]))]
    said = json.loads(json.dumps(document(made, 6, compared=compared)))
    assert said["exit"] == 6
    tasks = {task["instance_id"]: task for task in said["tasks"]}
    assert {name: task["verdict"] for name, task in tasks.items()} == {
        "acme-1": "minted",
        "acme-2": "minted",
        "acme-3": "refused",
        "acme-4": "refused",
        "acme-5": "failed",
        "acme-6": "not run",
        "acme-7": "minted",
    }
    none = dict.fromkeys(map(str, Derived), 0)
    assert tasks["acme-2"]["counts"] == {**none, "F2P": 1, "P2P": 2, "flaky": 1, "never": 2}
    assert [reason["rule"] for reason in tasks["acme-3"]["reasons"]] == ["lost"]
    assert tasks["acme-5"]["error"]["kind"] == "image"
    assert set(tasks["acme-6"]) == {"instance_id", "verdict"}
    assert ("lists" in tasks["acme-7"]) is compared
    if compared:
        assert tasks["acme-7"]["lists"] == {
            "F2P": {"listed": 1, "hold": 1, "lacking": []},
            "P2P": {"listed": 9, "hold": 7, "lacking": ["c"]},
            "wrong": [
                {
                    "list": "P2P",
                    "class": "never",
                    "empty": "failed",
                    "oracle": "failed",
                    "cause": "OSError: no",
                    "count": 2,
                    "ids": ["a", "b"],
                }
            ],
            "outside": ["d"],
        }
