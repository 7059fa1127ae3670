"""What a diff says of two states: a table of changes, each with all that it says of the task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from repair.model import ControlKind, Decision, Finding, ListName, Outcome, Policy, Row, Rule, Verdict
from repair.records.diff.compare import (
    UNREADABLE,
    Change,
    Changed,
    Diff,
    Ids,
    Kind,
    Rates,
    Side,
    State,
    Status,
    Unseen,
    What,
    settings,
    task,
)

CLEAN, REPAIRED, STALE = Status("clean", admitted=True), Status("repaired", admitted=True), Status("stale", why="x")
ABSENT = Status("absent", why="no repair.json")
FILES = {"oracle.patch": "1", "repair.json": "2", "outcomes.json": "3"}
BOTH = frozenset({ListName.P2P})
ASKED = {"own verifier": "empty 0, oracle 1"}
F, P = Outcome.FAILED, Outcome.PASSED


def finding(rule: Rule, *ids: str, cause: str = "", name: ListName = ListName.P2P) -> Finding:
    return Finding(rule, name, "missing", "missing", cause, ids=ids)


def decision(*dropped: Finding, reasons: tuple[Finding, ...] = ()) -> Decision:
    return Decision(Verdict.REPAIRED if dropped else Verdict.CLEAN, ("a",), (), dropped, reasons)


BASE = State("calc", CLEAN, {"image": '"i"'}, ("a",), ("b", "c"), FILES, decision())
DROPS = replace(BASE, decision=decision(finding(Rule.FAILED_BOTH, "b", "c", cause="no lxml")))


def drop(what: What, *ids: str, cause: str = "no lxml") -> Ids:
    return Ids(what, "P2P", ids, Rule.FAILED_BOTH, cause, "missing", "missing")


def row(test: str, empty: tuple[Outcome, ...], oracle: tuple[Outcome, ...]) -> Row:
    return Row(test, BOTH, empty, oracle)


CASES: dict[str, tuple[State, State, Change]] = {
    "an id leaves a list, the record stays": (
        BASE,
        replace(BASE, p2p=("b",), status=STALE),
        Change("calc", Kind.CHANGED, CLEAN, STALE, (Ids(What.UNLISTED, "P2P", ("c",)),), under_record=True),
    ),
    "an id enters a list, the record is new": (
        BASE,
        replace(BASE, p2p=("b", "c", "d"), files=FILES | {"repair.json": "9"}),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            (Ids(What.LISTED, "P2P", ("d",)),),
            files=(("repair.json", Kind.CHANGED),),
        ),
    ),
    "an id enters a list of a task without a record": (
        replace(BASE, files={}, decision=None, status=ABSENT),
        replace(BASE, files={}, decision=None, status=ABSENT, f2p=("a", "d")),
        Change("calc", Kind.CHANGED, ABSENT, ABSENT, (Ids(What.LISTED, "F2P", ("d",)),)),
    ),
    "an id moves to the other list": (
        BASE,
        replace(BASE, f2p=("a", "c"), p2p=("b",)),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, (Ids(What.MOVED, "P2P → F2P", ("c",)),), under_record=True),
    ),
    "ids are dropped since": (
        BASE,
        replace(DROPS, status=REPAIRED),
        Change("calc", Kind.CHANGED, CLEAN, REPAIRED, (drop(What.DROPPED, "b", "c"),)),
    ),
    "dropped ids are back": (
        DROPS,
        BASE,
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, (drop(What.BACK, "b", "c"),)),
    ),
    "a dropped id that is listed no more is not back": (
        DROPS,
        replace(BASE, p2p=("c",)),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            (Ids(What.UNLISTED, "P2P", ("b",)), drop(What.BACK, "c")),
            under_record=True,
        ),
    ),
    "a record that is gone brings nothing back": (
        DROPS,
        replace(BASE, decision=None, status=ABSENT),
        Change("calc", Kind.CHANGED, CLEAN, ABSENT),
    ),
    "an id is dropped for another cause": (
        DROPS,
        replace(
            BASE,
            decision=decision(
                finding(Rule.FAILED_BOTH, "b", cause="no lxml"), finding(Rule.FAILED_BOTH, "c", cause="no yaml")
            ),
        ),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, (drop(What.OTHER_CAUSE, "c", cause="no yaml"),)),
    ),
    "the task is refused for an id": (
        BASE,
        replace(BASE, decision=decision(reasons=(finding(Rule.REGRESSION, "b"),))),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            (Ids(What.REASON, "P2P", ("b",), Rule.REGRESSION, "", "missing", "missing"),),
        ),
    ),
    "the task is no longer refused for an id": (
        replace(BASE, decision=decision(reasons=(finding(Rule.REGRESSION, "b"),))),
        BASE,
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            (Ids(What.NO_REASON, "P2P", ("b",), Rule.REGRESSION, "", "missing", "missing"),),
        ),
    ),
    "the image changes under a record": (
        BASE,
        replace(BASE, keys={"image": '"j"', "timeout": "9"}),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            keys=(Changed("image", '"i"', '"j"'), Changed("timeout", "", "9")),
            under_record=True,
        ),
    ),
    "what a record says of its image is no input": (
        BASE,
        replace(BASE, keys={"image": '"i"', "image id": "sha256:1"}),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, keys=(Changed("image id", "", "sha256:1"),)),
    ),
    "patches come, go and change under a record": (
        replace(BASE, files=FILES | {"tests.patch": "1"}),
        replace(BASE, files=FILES | {"oracle.patch": "8", "environment/": "7"}),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            files=(("environment/", Kind.ADDED), ("oracle.patch", Kind.CHANGED), ("tests.patch", Kind.GONE)),
            under_record=True,
        ),
    ),
    "the source is no input of a record": (
        BASE,
        replace(BASE, files=FILES | {"source.json": "8", "source/": "9"}),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, files=(("source.json", Kind.ADDED), ("source/", Kind.ADDED))),
    ),
    "the source is an input where the own verifier was asked": (
        replace(BASE, keys=ASKED, files=FILES | {"source/": "8"}),
        replace(BASE, keys=ASKED, files=FILES | {"source/": "9"}),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, files=(("source/", Kind.CHANGED),), under_record=True),
    ),
    "the instruction is no input of a record": (
        BASE,
        replace(BASE, files=FILES | {"instruction.md": "8"}),
        Change("calc", Kind.CHANGED, CLEAN, CLEAN, files=(("instruction.md", Kind.ADDED),)),
    ),
    "a flaky rate changes": (
        replace(BASE, rows=(row("b", (P, P, P), (P, F, F)), row("c", (P, P, P), (P, P, P)))),
        replace(BASE, rows=(row("b", (P, P, P), (P, P, F)), row("c", (F, P, P), (P, P, P)))),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            rates=(
                Rates(ControlKind.EMPTY, "passed", "passed 2/3, failed 1/3", ("c",)),
                Rates(ControlKind.ORACLE, "failed 2/3, passed 1/3", "passed 2/3, failed 1/3", ("b",)),
            ),
        ),
    ),
    "a flaky id is stable now, another is new": (
        replace(BASE, rows=(row("b", (P,), (P, F)),)),
        replace(BASE, rows=(row("b", (P,), (P, P)), row("c", (P,), (F, P)))),
        Change(
            "calc",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            rates=(
                Rates(ControlKind.ORACLE, "failed 1/2, passed 1/2", "passed", ("b",)),
                Rates(ControlKind.ORACLE, "", "failed 1/2, passed 1/2", ("c",)),
            ),
        ),
    ),
    "a task does not load any more": (
        BASE,
        State("calc", Status(UNREADABLE, why="no JSON")),
        Change("calc", Kind.CHANGED, CLEAN, Status(UNREADABLE, why="no JSON")),
    ),
    "two names are two tasks' own": (
        BASE,
        replace(BASE, name="calc-2", keys={"image": '"j"'}, files=FILES | {"repair.json": "9"}),
        Change(
            "calc → calc-2",
            Kind.CHANGED,
            CLEAN,
            CLEAN,
            keys=(Changed("image", '"i"', '"j"'),),
            files=(("repair.json", Kind.CHANGED),),
        ),
    ),
}


@pytest.mark.parametrize(("before", "after", "said"), [pytest.param(*case, id=name) for name, case in CASES.items()])
def test_what_changed_of_a_task(before: State, after: State, said: Change) -> None:
    assert task(before, after) == said


SAME = {
    "all": (BASE, BASE),
    "stable outcomes of other kinds": (
        replace(BASE, rows=(row("b", (F, F), (P, P)),)),
        replace(BASE, rows=(row("b", (P, P), (P, P)),)),
    ),
    "a rate": (
        replace(BASE, rows=(row("b", (F, P), (P, F)),)),
        replace(BASE, rows=(row("b", (P, F), (F, P)),)),
    ),
    "what does not load": (State("calc", Status(UNREADABLE, why="x")), State("calc", Status(UNREADABLE, why="x"))),
}


@pytest.mark.parametrize(("before", "after"), [pytest.param(*case, id=name) for name, case in SAME.items()])
def test_no_change_is_none(before: State, after: State) -> None:
    assert task(before, after) is None


def test_a_task_that_does_not_load_and_changed_is_a_change() -> None:
    broken = State("calc", Status(UNREADABLE, why="x"), files={"task.json": "1"})
    found = task(broken, replace(broken, files={"task.json": "2"}))
    assert found is not None
    assert found.kind is Kind.CHANGED


def test_tasks_that_come_and_go() -> None:
    assert task(None, BASE) == Change("calc", Kind.ADDED, None, CLEAN)
    assert task(BASE, None) == Change("calc", Kind.GONE, CLEAN, None)


def test_what_the_panels_defaults_explain_is_not_said_again() -> None:
    after = replace(BASE, keys={"image": '"j"', "timeout": "9"})
    before = replace(BASE, keys={"image": '"i"', "timeout": "8"})
    found = task(before, after, [Changed("defaults.timeout", "8", "9")])
    assert found is not None
    assert found.keys == (Changed("image", '"i"', '"j"'),)


def test_what_the_panels_defaults_change_is_changed_under_the_record() -> None:
    found = task(BASE, replace(BASE, keys={"image": '"j"'}, status=STALE), [Changed("defaults.image", '"i"', '"j"')])
    assert found == Change("calc", Kind.CHANGED, CLEAN, STALE, under_record=True)


EDITED = Status("edited", why="x", edited=True)
REFUSED, UNKNOWN = Status("refused", why="x"), Status(UNREADABLE, why="x")
RECORD = (("repair.json", Kind.CHANGED),)
BREAKS: dict[str, tuple[Status | None, Status | None, tuple[tuple[str, Kind], ...], bool]] = {
    "it held and is stale": (CLEAN, STALE, (), True),
    "it held and is stale, and repair.json is another one": (CLEAN, STALE, RECORD, True),
    "it held, refused, and is stale": (REFUSED, STALE, (), True),
    "it held and is edited": (CLEAN, EDITED, RECORD, True),
    "there was none": (ABSENT, STALE, (("repair.json", Kind.ADDED),), True),
    "there was no task": (None, EDITED, (), True),
    "nobody could read the task": (UNKNOWN, STALE, (), True),
    "it did not hold, and another one does not": (STALE, EDITED, RECORD, True),
    "it did not hold, and its outcomes are others": (STALE, STALE, (("outcomes.json", Kind.CHANGED),), True),
    "it did not hold, and does not": (STALE, replace(STALE, why="y"), (("instruction.md", Kind.CHANGED),), False),
    "it holds again": (STALE, CLEAN, (), False),
    "another one holds": (CLEAN, REPAIRED, RECORD, False),
    "it is gone": (CLEAN, ABSENT, (("repair.json", Kind.GONE),), False),
    "the task is gone": (STALE, None, (), False),
}


@pytest.mark.parametrize(
    ("before", "after", "files", "breaks"), [pytest.param(*case, id=name) for name, case in BREAKS.items()]
)
def test_when_a_record_breaks(
    before: Status | None, after: Status | None, files: tuple[tuple[str, Kind], ...], breaks: bool
) -> None:
    assert Change("calc", Kind.CHANGED, before, after, files=files).breaks_record is breaks


def test_a_broken_record_breaks_again_where_its_task_changes_further() -> None:
    assert Change("calc", Kind.CHANGED, STALE, STALE, under_record=True).breaks_record


# ---- panel.toml


def side(policy: Policy | None = None, min_tasks: int = 1, name: str = "books", **defaults: str) -> Side:
    return Side("x", name, policy or Policy(), defaults, min_tasks)


STRICT = Policy(min_p2p=10, repeats=3)
WIDE = frozenset({Outcome.PASSED, Outcome.XFAILED})
SETTINGS = {
    "nothing": (side(), side(), []),
    "fewer P2P are looser": (side(STRICT), side(replace(STRICT, min_p2p=9)), [("policy.min_p2p", "10", "9", True)]),
    "more P2P are not": (side(STRICT), side(replace(STRICT, min_p2p=11)), [("policy.min_p2p", "10", "11", False)]),
    "fewer runs are looser": (side(STRICT), side(replace(STRICT, repeats=1)), [("policy.repeats", "3", "1", True)]),
    "more passes are looser": (
        side(),
        side(Policy(passing=WIDE)),
        [("policy.passing", "passed", "passed, xfailed", True)],
    ),
    "fewer passes are not": (
        side(Policy(passing=WIDE)),
        side(),
        [("policy.passing", "passed, xfailed", "passed", False)],
    ),
    "more rechecks are looser": (side(), side(Policy(recheck=2)), [("policy.recheck", "0", "2", True)]),
    "a lower gate is looser": (side(min_tasks=8), side(min_tasks=7), [("gate.min_tasks", "8", "7", True)]),
    "the policy stands first, looser ones before": (
        side(STRICT, 2, timeout="8"),
        side(replace(STRICT, min_p2p=11, repeats=2), 1, "other", timeout="9", user='"u"'),
        [
            ("policy.repeats", "3", "2", True),
            ("policy.min_p2p", "10", "11", False),
            ("gate.min_tasks", "2", "1", True),
            ("defaults.timeout", "8", "9", False),
            ("defaults.user", "", '"u"', False),
            ("name", "books", "other", False),
        ],
    ),
    "a side without a policy": (side(), Side("x", problem="no TOML"), []),
}


@pytest.mark.parametrize(("before", "after", "said"), [pytest.param(*case, id=name) for name, case in SETTINGS.items()])
def test_what_changed_in_panel_toml(before: Side, after: Side, said: list[tuple[str, str, str, bool]]) -> None:
    assert [(one.key, one.before, one.after, one.looser) for one in settings(before, after)] == said


def test_a_side_that_is_not_there_or_does_not_load_is_a_difference() -> None:
    here = side()
    assert not Diff(here, here, (), ()).differs
    assert Diff(here, Side("x", absent=True), (), ()).differs
    assert Diff(here, Side("x", problem="no TOML"), (), ()).differs


LINK, OTHER = Unseen("calc", "../elsewhere/calc"), Unseen("calc", "../elsewhere/calc-2")
MODULE, NEWER = Unseen("sub", "1" * 40, submodule=True), Unseen("sub", "2" * 40, submodule=True)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        pytest.param((), (), (), id="nothing"),
        pytest.param((LINK,), (LINK,), ((LINK, True, True),), id="a link that stays: what it leads to may change"),
        pytest.param((LINK,), (OTHER,), ((LINK, True, False), (OTHER, False, True)), id="a link that changes"),
        pytest.param((), (LINK,), ((LINK, False, True),), id="a link that is new"),
        pytest.param((MODULE,), (MODULE,), (), id="a submodule that stays: its files are the same"),
        pytest.param((MODULE,), (NEWER,), ((MODULE, True, False), (NEWER, False, True)), id="a submodule that changes"),
        pytest.param((MODULE,), (), ((MODULE, True, False),), id="a submodule on one side"),
    ],
)
def test_what_was_not_read_might_differ(
    before: tuple[Unseen, ...], after: tuple[Unseen, ...], said: tuple[tuple[Unseen, bool, bool], ...]
) -> None:
    found = Diff(replace(side(), unseen=before), replace(side(), unseen=after), (), ())
    assert found.unseen == said
    assert found.differs is bool(said)


def test_a_gate_is_met_only_where_all_was_read() -> None:
    met = replace(side(), clean=1)
    assert met.passed
    assert not replace(met, unreadable=1).passed
    assert not replace(met, unseen=(LINK,)).passed
    assert not replace(met, clean=0).passed
