"""A diff's sections and its text for a terminal: what is loud, and that what differs can be seen to differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.model import Policy
from repair.records.diff.compare import LINK, Change, Changed, Diff, Ids, Kind, Side, State, Status, Unseen, What, task
from repair.records.diff.compare import settings as panel_toml
from repair.report.diff.markdown import markdown
from repair.report.diff.sections import LONG, sections, text
from repair.report.terminal import columns

SIDE = Side("main", "books", Policy(), {}, 1, 2, 0, "2 clean + 0 repaired = 2 ≥ 1")
AFTER = replace(SIDE, label="HEAD")
CLEAN, STALE = Status("clean", admitted=True), Status("stale", why="task.json changed since")
REPAIRED, REFUSED = Status("repaired", admitted=True), Status("refused", why="x")
SHORT = 'export PATH=/opt/venv/bin:$PATH; "'


def diff(*changes: Change, settings: tuple[Changed, ...] = (), after: Side = AFTER) -> Diff:
    return Diff(SIDE, after, settings, changes)


def loud(found: Diff) -> dict[str, str]:
    """Loud sections by title, each as the terminal shows it."""
    shown = text(found, None)
    return {
        section.title: shown.partition(f"!! {section.title.upper()}\n")[2].partition("\n\n")[0]
        for section in sections(found)
        if section.loud
    }


# ---- what is loud

UNLISTED = (Ids(What.UNLISTED, "P2P", ("a",)),)
PATCH, RECORD = ("oracle.patch", Kind.CHANGED), ("repair.json", Kind.CHANGED)
BROKEN = {
    "the record stayed": (
        Change("calc", Kind.CHANGED, CLEAN, STALE, UNLISTED, files=(PATCH,), under_record=True),
        "calc: stale; repair.json stayed as it was, but 1 id removed from P2P in task.json; oracle.patch changed",
    ),
    "the record was touched": (
        Change("calc", Kind.CHANGED, CLEAN, STALE, UNLISTED, files=(RECORD,)),
        "calc: its record is stale (task.json changed since); 1 id removed from P2P in task.json",
    ),
    "the defaults changed": (
        Change("calc", Kind.CHANGED, CLEAN, STALE, under_record=True),
        "calc: stale; repair.json stayed as it was, but panel.toml's [defaults] changed",
    ),
    "the policy changed": (
        Change("calc", Kind.CHANGED, CLEAN, Status("stale", why="policy min_p2p changed since")),
        "calc: its record is stale (policy min_p2p changed since)",
    ),
    "a new task comes with such a record": (
        Change("calc", Kind.ADDED, None, Status("edited", why="x", edited=True)),
        "calc: its record is edited (x)",
    ),
}


@pytest.mark.parametrize(("change", "said"), [pytest.param(*case, id=name) for name, case in BROKEN.items()])
def test_a_record_that_breaks_is_loud(change: Change, said: str) -> None:
    assert loud(diff(change))["records that do not hold"] == f"  {said}"


def test_a_task_that_is_mended_is_not() -> None:
    assert loud(diff(Change("calc", Kind.CHANGED, STALE, CLEAN, UNLISTED, under_record=True))) == {}


def test_defaults_are_loud() -> None:
    found = diff(settings=(Changed("defaults.network", "", '"bridge"'), Changed("name", "books", "other")))
    assert loud(found) == {"the defaults of all tasks changed": '  defaults.network: not set → "bridge"'}
    assert "panel.toml, other settings\n  name: books → other\n" in text(found, None)
    assert "> **The defaults of all tasks changed**" in markdown(found)


def test_what_was_not_read_is_loud() -> None:
    link, module = Unseen("calc", "../else/calc"), Unseen("sub", "1" * 40, submodule=True)
    found = Diff(replace(SIDE, unseen=(link,)), replace(AFTER, unseen=(link, module)), (), ())
    assert loud(found)["not compared"].splitlines() == [
        "  calc: a link out of the panel's files, to ../else/calc; what is there was not read at main and HEAD",
        f"  sub: a submodule, at {'1' * 40}; what is there was not read at HEAD",
    ]
    assert "no difference" not in text(found, None)
    assert "the gate cannot be judged: not all was read" in text(found, None)


def test_a_gate_with_unreadable_tasks_is_not_judged() -> None:
    change = Change("calc", Kind.CHANGED, CLEAN, Status("unreadable", why="x"))
    shown = text(diff(change, after=replace(AFTER, clean=1, unreadable=1)), None)
    assert "  admitted 2 → 1: the gate cannot be judged: 1 task cannot be read\n" in shown
    assert "  gate after: cannot be judged (1 clean + 0 repaired could be read)\n" in shown
    assert "is met" not in shown
    before = Diff(replace(SIDE, unreadable=1), AFTER, (), (change,))
    assert "  admitted 2 → 2: the gate is met\n" in text(before, None)


# ---- records that were replaced

STATE = State("calc", REFUSED, {"image": '"i"'}, ("a",), ("b",), {"repair.json": "1", "outcomes.json": "2"})
FORGED = replace(STATE, status=CLEAN, files={"repair.json": "8", "outcomes.json": "9"})
REPLACED: dict[str, tuple[State, State, bool]] = {
    "both files": (STATE, FORGED, True),
    "both files, and what a record says of its image": (
        STATE,
        replace(FORGED, keys={**STATE.keys, "image id": "sha256:1", f"{LINK}oracle.patch": "../oracle.patch"}),
        True,
    ),
    "and the instruction changed": (STATE, replace(FORGED, files={**FORGED.files, "instruction.md": "1"}), True),
    "and the oracle changed": (STATE, replace(FORGED, files={**FORGED.files, "oracle.patch": "1"}), False),
    "and a list changed": (STATE, replace(FORGED, p2p=()), False),
    "and the image changed": (STATE, replace(FORGED, keys={"image": '"j"'}), False),
    "there was none": (replace(STATE, files={}), FORGED, False),
    "there is none": (STATE, replace(FORGED, files={}), False),
    "the instruction alone changed": (STATE, replace(STATE, files={**STATE.files, "instruction.md": "1"}), False),
}


@pytest.mark.parametrize(
    ("before", "after", "is_so"), [pytest.param(*case, id=name) for name, case in REPLACED.items()]
)
def test_when_a_record_is_replaced(before: State, after: State, is_so: bool) -> None:
    change = task(before, after)
    assert change is not None
    assert change.replaced is is_so


def test_replaced_records_are_loud_those_that_admit_first() -> None:
    again = [Change(f"again-{n:02}", Kind.CHANGED, CLEAN, CLEAN, files=(RECORD,), replaced=True) for n in range(30)]
    forged = Change("forged", Kind.CHANGED, REFUSED, CLEAN, files=(RECORD,), replaced=True)
    broken = Change("broken", Kind.CHANGED, CLEAN, STALE, files=(RECORD,), replaced=True)
    title = "records that were replaced though nothing that they are made from changed"
    lines = loud(diff(*again, broken, forged))[title].splitlines()
    assert lines[:3] == ["  forged: refused → clean", "  30 tasks: clean → clean", "    again-00"]
    assert lines[-1] == "    and 10 more"
    assert "broken" in loud(diff(broken))["records that do not hold"]
    assert title not in loud(diff(broken))
    settings = (Changed("policy.repeats", "1", "3"),)
    assert loud(diff(forged, settings=settings))[f"{title}, but the policy"] == "  forged: refused → clean"


# ---- what comes first


def shown(found: Diff, title: str) -> list[str]:
    return text(found, None).partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()


def test_verdicts_that_change_what_is_admitted_come_first() -> None:
    other = [Change(f"a-{n:02}", Kind.CHANGED, CLEAN, REPAIRED) for n in range(25)]
    gained, lost = Change("z-new", Kind.CHANGED, REFUSED, CLEAN), Change("z-old", Kind.CHANGED, CLEAN, REFUSED)
    lines = shown(diff(*other, gained, lost), "verdicts")
    assert lines[:3] == ["  z-old: clean → refused (x)", "  z-new: refused → clean", "  25 tasks: clean → repaired"]
    assert lines[3:] == [f"    a-{n:02}" for n in range(20)] + ["    and 5 more"]


def test_a_verdict_with_several_reasons_is_one_line() -> None:
    lost = [Change(name, Kind.CHANGED, CLEAN, replace(REFUSED, why=f"for {name}")) for name in ("a", "b")]
    assert shown(diff(*lost), "verdicts") == ["  2 tasks: clean → refused", "    a (for a)", "    b (for b)"]


def test_tasks_that_change_what_is_admitted_come_first() -> None:
    parts = (Ids(What.LISTED, "P2P", ("a",)),)
    junk = [Change(f"a-{kind}", kind, REFUSED, REFUSED, parts) for kind in Kind]
    for kind in (Kind.ADDED, Kind.GONE):
        before, after = (None, CLEAN) if kind is Kind.ADDED else (CLEAN, None)
        lines = shown(diff(*junk, Change("z", kind, before, after)), f"tasks {kind}")
        assert [line.split(":")[0].strip() for line in lines] == ["z", f"a-{kind}"]
    changed = [Change("y", Kind.CHANGED, REFUSED, CLEAN, parts), Change("z", Kind.CHANGED, CLEAN, REFUSED, parts)]
    lines = shown(diff(*junk, *changed), "changes by task")
    assert [line.split(":")[0].strip() for line in lines[::3]] == ["z", "y", "a-changed"]


def test_what_was_not_compared_is_counted_apart() -> None:
    found = replace(diff(after=Side("HEAD", problem="no TOML")), same=1, not_compared=2)
    assert "  tasks: 0 added, 0 gone, 0 changed, 1 the same, 2 not compared\n" in text(found, None)


def test_fewer_rechecks_are_not_looser() -> None:
    [one] = panel_toml(replace(SIDE, policy=Policy(recheck=2)), SIDE)
    assert (one.key, one.looser) == ("policy.recheck", False)


def test_a_panel_toml_that_becomes_a_link_is_seen() -> None:
    found = diff(settings=panel_toml(SIDE, replace(SIDE, link="a/settings.toml")))
    assert shown(found, "panel.toml, other settings") == ["  link at panel.toml: not set → a/settings.toml"]


# ---- what differs is seen to

FILLER = "export PATH=/opt/venv/bin:$PATH; " * 12
VALUES = {
    "at the end": (f'"{FILLER}pytest"', f'"{FILLER}true || pytest"'),
    "in front": (f'"pytest {FILLER}"', f'"true || pytest {FILLER}"'),
    "in the middle": (f'"{FILLER}pytest {FILLER}"', f'"{FILLER}true || pytest {FILLER}"'),
    "one more at the end": (FILLER, f"{FILLER}x"),
    "one less of the same": ("x" * 400, "x" * 399),
    "all of it": ("x" * 400, "y" * 400),
}


@pytest.mark.parametrize("width", [None, 80, 40])
@pytest.mark.parametrize(("before", "after"), [pytest.param(*case, id=name) for name, case in VALUES.items()])
def test_long_values_are_shown_where_they_differ(before: str, after: str, width: int | None) -> None:
    found = diff(settings=(Changed("defaults.test_cmd", before, after),))
    shown = text(found, width).partition("defaults.test_cmd: ")[2].partition("\n\n")[0]
    was, _, now = shown.partition(" → ")
    assert was.strip() != now.strip()
    if "true" in after:
        assert "true ||" in now
        assert "true" not in was
    item = markdown(found).partition("- `defaults.test_cmd`: ")[2].partition("\n")[0]
    was, _, now = item.partition(" → ")
    assert was != now
    assert ("true ||" in now) == ("true" in after)


@given(st.text("ab", max_size=3 * LONG), st.text("ab", max_size=3 * LONG))
def test_values_that_differ_never_look_the_same(before: str, after: str) -> None:
    if before and after and before != after:
        shown = text(diff(settings=(Changed("name", before, after),)), None)
        was, _, now = shown.partition("name: ")[2].partition("\n")[0].partition(" → ")
        assert was != now


def test_short_values_stay_whole() -> None:
    found = diff(settings=(Changed("defaults.test_cmd", f"{SHORT}pytest", f"{SHORT}true"),))
    assert f"  defaults.test_cmd: {SHORT}pytest → {SHORT}true\n" in text(found, None)


@pytest.mark.parametrize("width", [1, 4, 10, 40, 80])
@pytest.mark.parametrize("letter", ["x", "\U0001f4a5"])
def test_no_line_is_wider_than_the_terminal(width: int, letter: str) -> None:
    names = tuple(f"{letter * 200}{number}" for number in range(3))
    change = Change("calc", Kind.CHANGED, CLEAN, CLEAN, (Ids(What.LISTED, "P2P", names),))
    shown = text(diff(change, settings=(Changed("defaults.user", names[0], names[1]),)), width)
    assert max(map(columns, shown.splitlines())) <= width


def test_ids_that_differ_at_their_end_do_so_in_a_terminal() -> None:
    names = (f"tests/{'deep/' * 40}test_a.py::test_x", f"tests/{'deep/' * 40}test_a.py::test_y")
    shown = text(diff(Change("calc", Kind.CHANGED, CLEAN, CLEAN, (Ids(What.LISTED, "P2P", names),))), 80)
    first, second = (line for line in shown.splitlines() if "tests/deep" in line)
    assert (first[-6:], second[-6:]) == ("test_x", "test_y")
    assert len(first) == 80
