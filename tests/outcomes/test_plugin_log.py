"""Event lines of the pytest plugin to one run's record, whole, cut or hostile."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.model import Observed, Outcome
from repair.outcomes import plugin_log

ID = "test_a.py::test_x"


def lines(*events: list[Any]) -> list[bytes]:
    return [(json.dumps(event) + "\n").encode() for event in events]


def read(*events: list[Any]) -> plugin_log.Record:
    return plugin_log.read({"main": lines(*events)})


def report(when: str, outcome: str, xfail: bool = False, cause: str = "", test: str = ID) -> list[Any]:
    return ["report", test, when, outcome, xfail, cause]


def ran(*reports: list[Any], test: str = ID) -> list[list[Any]]:
    """The events of one test that ran to its end."""
    return [["item", test, None, [9]], ["run", test, None], *reports, ["done", test]]


SETUP, CALL, TEARDOWN = report("setup", "passed"), report("call", "passed"), report("teardown", "passed")

OUTCOMES: dict[str, tuple[list[list[Any]], str]] = {
    "passed in every phase": ([SETUP, CALL, TEARDOWN], "passed"),
    "setup alone is no pass": ([SETUP], "missing"),
    "setup and teardown without a call are no pass": ([SETUP, TEARDOWN], "missing"),
    "the call failed": ([SETUP, report("call", "failed"), TEARDOWN], "failed"),
    "the setup failed": ([report("setup", "failed"), TEARDOWN], "error"),
    "the teardown failed after a pass": ([SETUP, CALL, report("teardown", "failed")], "error"),
    "the teardown failed after a failure": ([SETUP, report("call", "failed"), report("teardown", "failed")], "failed"),
    "skipped in setup": ([report("setup", "skipped"), TEARDOWN], "skipped"),
    "skipped in the call": ([SETUP, report("call", "skipped"), TEARDOWN], "skipped"),
    "skipped, then the teardown failed": ([SETUP, report("call", "skipped"), report("teardown", "failed")], "error"),
    "a skip in teardown leaves a pass": ([SETUP, CALL, report("teardown", "skipped")], "passed"),
    "a skip in teardown alone is nothing": ([SETUP, report("teardown", "skipped")], "missing"),
    "failed as expected": ([SETUP, report("call", "skipped", True), TEARDOWN], "xfailed"),
    "failed in setup as expected": ([report("setup", "skipped", True), TEARDOWN], "xfailed"),
    "passed unexpectedly": ([SETUP, report("call", "passed", True), TEARDOWN], "xpassed"),
    "passed unexpectedly and strictly": ([SETUP, report("call", "failed", False), TEARDOWN], "failed"),
    "failed as expected, then the teardown failed": (
        [SETUP, report("call", "skipped", True), report("teardown", "failed")],
        "error",
    ),
    "failed though marked as expected": ([SETUP, report("call", "failed", True), TEARDOWN], "failed"),
    "one of three subtests failed": ([SETUP, CALL, report("call", "failed"), CALL, TEARDOWN], "failed"),
    "a subtest was skipped": ([SETUP, report("call", "skipped"), CALL, TEARDOWN], "skipped"),
    "a rerun's earlier attempt does not count": (
        [SETUP, report("call", "rerun"), TEARDOWN, SETUP, CALL, TEARDOWN],
        "passed",
    ),
    "a rerun that never passed": ([SETUP, report("call", "rerun"), SETUP, report("call", "failed")], "failed"),
    "a rerun without a final attempt is no pass": ([SETUP, report("call", "rerun"), TEARDOWN], "missing"),
    "a setup that was run again": ([report("setup", "rerun"), SETUP, CALL, TEARDOWN], "passed"),
    "an outcome that nobody knows is no pass": ([SETUP, report("call", "victory"), TEARDOWN], "missing"),
    "a phase that nobody knows is no pass": ([SETUP, report("encore", "passed"), TEARDOWN], "missing"),
    "a worker's crash": ([report("???", "failed")], "error"),
}


@pytest.mark.parametrize(("reports", "outcome"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcome(reports: list[list[Any]], outcome: str) -> None:
    assert read(*ran(*reports)).outcomes[ID].outcome == outcome


def test_the_cause_is_that_of_the_worst_report() -> None:
    found = read(*ran(report("call", "failed", cause="KeyError at a.py:1"), report("teardown", "failed", cause="A")))
    assert found.outcomes[ID] == Observed(Outcome.FAILED, "KeyError at a.py:1")


def test_of_several_causes_the_smallest_counts() -> None:
    both = [report("call", "failed", cause="b"), report("call", "failed", cause="a")]
    assert read(*ran(*both)).outcomes == read(*ran(*reversed(both))).outcomes
    assert read(*ran(*both)).outcomes[ID].cause == "a"


def test_a_skip_in_teardown_is_remembered() -> None:
    assert read(*ran(SETUP, CALL, report("teardown", "skipped"))).late_skips == {ID}
    assert read(*ran(SETUP, report("call", "failed"), report("teardown", "skipped"))).late_skips == set()


def test_a_skip_reason_loses_its_prefix_and_what_changes() -> None:
    found = read(*ran(report("setup", "skipped", cause="Skipped: took 3.2 s at 0x7f00aa11")))
    assert found.outcomes[ID] == Observed(Outcome.SKIPPED, "took <duration> at 0x…")


def test_a_whole_session() -> None:
    found = read(
        ["start", "9.0"],
        ["root", "/r", "/r"],
        ["chosen", 2],
        *ran(SETUP, CALL, TEARDOWN),
        *ran(report("call", "failed", test="test_a.py::test_y"), test="test_a.py::test_y"),
        ["end", 1],
    )
    assert (found.session, found.chosen, found.started, found.end, found.open) == (True, 2, 2, 1, ())
    assert found.last == "test_a.py::test_y"
    assert not found.damaged


def test_a_test_that_began_and_did_not_end_is_open_until_it_is_done() -> None:
    events = ran(SETUP, CALL, TEARDOWN)
    assert read(*events[:-1]).open == (ID,)
    assert read(*events).open == ()
    assert read(*events, ["run", "test_a.py::test_y", None]).open == ("test_a.py::test_y",)


def test_a_session_that_pytest_ended_inside_a_test_is_open_too() -> None:
    found = read(["root", "/r", "/r"], ["run", ID, None], SETUP, ["end", 2])
    assert (found.open, found.end) == ((ID,), 2)


def test_a_node_id_that_changed_later_reports_under_the_first() -> None:
    found = read(
        ["item", ID, None, [9]], ["run", ID, f"{ID}@g"], report("call", "failed", test=f"{ID}@g"), ["done", ID]
    )
    assert found.outcomes == {ID: Observed(Outcome.FAILED, "")}


# ---- several processes


def test_a_crashed_worker_leaves_an_error_and_no_open_test() -> None:
    worker = lines(["root", "/r", "/r"], ["item", ID, None, [9]], ["run", ID, f"{ID}@g"], report("setup", "passed"))
    main = lines(["root", "/r", "/r"], report("???", "failed", cause="worker crashed", test=f"{ID}@g"), ["end", 1])
    for order in (("gw0", "main"), ("main", "gw0")):
        given_ = {"gw0": worker, "main": main}
        found = plugin_log.read({name: given_[name] for name in order})
        assert found.outcomes == {ID: Observed(Outcome.ERROR, "worker crashed")}
        assert found.open == ()


def test_the_session_ends_where_the_main_process_says_so() -> None:
    found = plugin_log.read({"gw0": lines(["root", "/r", "/r"], ["end", 0])})
    assert found.end is None
    assert plugin_log.read({"gw0": lines(["end", 0]), "main": lines(["end", 1])}).end == 1


def test_several_open_tests_are_sorted() -> None:
    found = plugin_log.read({"gw1": lines(["run", "a", None]), "gw0": lines(["run", "b", None])})
    assert found.open == ("a", "b")


@pytest.mark.parametrize(
    ("second", "differ"),
    [
        ([["item", "t.py::a", None, [4]], ["item", "t.py::b", None, [4]]], False),
        ([["item", "t.py::b", None, [4]], ["item", "t.py::a", None, [4]]], False),
        ([["item", "t.py::a", None, [4]]], True),
        ([["item", "t.py::a", None, [4]], ["item", "t.py::a", None, [4]]], True),
        ([], True),
    ],
    ids=["same", "other order", "one fewer", "one twice", "none"],
)
def test_workers_that_collect_different_tests(second: list[list[Any]], differ: bool) -> None:
    first = lines(["item", "t.py::a", None, [4]], ["item", "t.py::b", None, [4]])
    assert plugin_log.read({"gw0": first, "gw1": lines(*second), "main": []}).workers_differ is differ


# ---- collectors


def test_collectors_that_failed_or_skipped() -> None:
    found = read(
        ["collect", "test_m.py", "failed", "x\nE   ImportError: no\n"],
        ["collect", "test_s.py", "skipped", "Skipped: no network"],
        ["conftest", "sub", "sub/conftest.py", "KeyError: 1"],
        ["nofile", "gone.py"],
    )
    assert found.broken == {
        "test_m.py": Observed(Outcome.MISSING, "test_m.py: ImportError: no"),
        "test_s.py": Observed(Outcome.SKIPPED, "no network"),
        "sub": Observed(Outcome.MISSING, "sub/conftest.py: KeyError: 1"),
    }
    assert found.nofile == {"gone.py"}


def test_an_items_groups_are_prefixes_of_both_its_forms() -> None:
    test = "sub/t.py::TestA::test_x[1]"
    found = read(["item", test, "t.py::TestA::test_x[1]", [8, 15, 23]]).items[test]
    assert found.other == "t.py::TestA::test_x[1]"
    assert set(found.groups) == {
        "sub/t.py",
        "sub/t.py::TestA",
        "sub/t.py::TestA::test_x",
        "t.py",
        "t.py::TestA",
        "t.py::TestA::test_x",
    }


# ---- cut and hostile records


def test_half_a_last_line_is_what_a_killed_process_leaves() -> None:
    whole = lines(*ran(SETUP, CALL, TEARDOWN))
    for at in range(len(whole[-1])):
        found = plugin_log.read({"main": [*whole[:-1], whole[-1][:at]]})
        assert not found.damaged
        assert found.open == (ID,)


HOSTILE: dict[str, bytes] = {
    "no JSON": b"hello\n",
    "a blank line": b"\n",
    "not UTF-8": b"\xff\xfe\n",
    "NUL bytes": b"\x00\x00\n",
    "an object": b'{"report": 1}\n',
    "a number": b"1\n",
    "nothing in the list": b"[]\n",
    "an event that nobody knows": b'["open_door"]\n',
    "a private method": b'["finish"]\n',
    "an attribute": b'["__init__"]\n',
    "an event that is a list": b'[["report"], 1]\n',
    "too few values": b'["report", "t.py::a"]\n',
    "too many values": b'["done", "t.py::a", 1]\n',
    "a number for a cause": b'["report", "t.py::a", "call", "failed", false, 7]\n',
    "a number for an id in a report": b'["report", 7, "call", "passed", false, ""]\n',
    "a number for an id in an item": b'["item", 7, null, []]\n',
    "null for an id": b'["item", null, null, []]\n',
    "a list for an id": b'["run", ["t.py::a"], null]\n',
    "a number for the id that ran": b'["run", 7, null]\n',
    "a number for a node id": b'["run", "t.py::a", 7]\n',
    "a number for the id that is done": b'["done", 7]\n',
    "a number for a phase": b'["report", "t.py::a", 1, "passed", false, ""]\n',
    "a text for the lengths": b'["item", "t.py::a", null, "4"]\n',
    "a length beyond the id": b'["item", "t.py::a", null, [99]]\n',
    "a length below the id": b'["item", "t.py::a", null, [-1]]\n',
    "a fraction for a length": b'["item", "t.py::a", null, [1.5]]\n',
    "a number for the other form": b'["item", "t.py::a", 4, [4]]\n',
    "a text for a count": b'["chosen", "2"]\n',
    "a fraction for a count": b'["chosen", 0.5]\n',
    "null for a count": b'["chosen", null]\n',
    "a text for a status": b'["end", "0"]\n',
    "null for a status": b'["end", null]\n',
    "a number for an internal error": b'["internal", 3]\n',
    "a number for a path": b'["nofile", 3]\n',
    "a list for a path": b'["nofile", []]\n',
    "a number for a collector": b'["collect", 3, "failed", "x"]\n',
    "an outcome that nobody knows for a collector": b'["collect", "t.py", "victory", "x"]\n',
    "a number for a conftest": b'["conftest", 3, "c", "x"]\n',
    "deep nesting": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "a number of 5,000 digits": b'["chosen", ' + b"9" * 5000 + b"]\n",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_a_line_that_is_no_event_of_ours_damages_the_record(line: bytes) -> None:
    found = plugin_log.read({"main": [*lines(*ran(SETUP, CALL, TEARDOWN)), line]})
    assert found.damaged.startswith("main: ")
    assert len(found.damaged) < 400
    assert found.damaged.isprintable()


def test_lone_surrogates_are_spelt_so_that_every_encoder_takes_them() -> None:
    test = "t.py::a[\ud83d]"
    found = read(["item", test, None, [4]], ["run", test, None], report("call", "failed", False, "\udc80", test))
    assert list(found.items) == ["t.py::a[\\ud83d]"]
    assert found.open == ("t.py::a[\\ud83d]",)
    assert found.outcomes["t.py::a[\\ud83d]"] == Observed(Outcome.FAILED, "\\udc80")


def test_a_line_of_many_megabytes_is_read() -> None:
    found = read(*ran(SETUP, report("call", "failed", False, "x" * (8 << 20)), TEARDOWN))
    assert len(found.outcomes[ID].cause) == 300


def test_a_line_that_no_plugin_writes_damages_the_record() -> None:
    stream = io.BytesIO(b'["internal", "' + b"x" * plugin_log.MAX_LINE + b'"]\n')
    found = plugin_log.read({"main": stream})
    assert found.damaged == "main: larger than what the plugin writes"
    assert stream.tell() <= plugin_log.MAX_LINE + 1  # the rest was not read


def test_more_events_than_a_run_has_damage_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_log, "MAX_EVENTS", 6)
    assert not read(*ran(SETUP, CALL, TEARDOWN)).damaged
    assert read(*ran(SETUP, CALL, TEARDOWN, TEARDOWN)).damaged == "main: larger than what the plugin writes"


@pytest.mark.parametrize(
    "event",
    [["item", "t" * 100_000, None, list(range(1, 100_000))], ["item", "ab", "t" * 100_000, [1] * 100_000]],
    ids=["of its id", "of the other form"],
)
def test_groups_of_one_item_do_not_fill_the_memory(event: list[Any]) -> None:
    found = read(event)
    assert found.damaged.startswith("main: ")
    assert not found.items


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KINDS = ["start", "root", "nofile", "conftest", "collect", "item", "chosen", "run", "report", "done", "internal", "end"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.lists(JSON, max_size=6)), max_size=8), st.binary(max_size=40))
def test_any_lines_give_a_record_that_holds_what_it_promises(events: list[tuple[str, list[Any]]], tail: bytes) -> None:
    main = [*lines(*([kind, *values] for kind, values in events)), tail + b"\n", tail]
    found = plugin_log.read({"main": main, "gw0": main})
    assert all(isinstance(test, str) for test in (*found.items, *found.outcomes, *found.broken, *found.nofile))
    assert all(isinstance(test, str) for test in (*found.open, found.last, found.internal, found.damaged))
    assert isinstance(found.chosen, int)
    assert found.end is None or isinstance(found.end, int)
    for item in found.items.values():
        assert item.other is None or isinstance(item.other, str)
    json.dumps([list(found.items), list(found.outcomes.values())], allow_nan=False).encode()
