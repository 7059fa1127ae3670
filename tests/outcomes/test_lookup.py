"""Listed ids to outcomes: exact ids in either form, groups, broken collectors, and what is never guessed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.model import Observed, Outcome
from repair.outcomes import junit, lookup, plugin_log
from repair.outcomes.lookup import Seen

P, F, E, S, M = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED, Outcome.MISSING


def item(test: str, other: str | None = None) -> plugin_log.Item:
    """The item that the plugin's event makes of an id whose groups end before `::` and before `[`."""
    path, separator, rest = test.partition("::")
    names, bracket, _ = rest.partition("[")
    lengths = [len(path)]
    for at, char in enumerate(names):
        if char == ":" and names[at : at + 2] == "::":
            lengths.append(len(path + separator) + at)
    if bracket:
        lengths.append(len(path + separator + names))
    return plugin_log._item(test, other, lengths)


def seen(
    outcomes: dict[str, Outcome],
    others: dict[str, str] | None = None,
    broken: dict[str, Observed] | None = None,
    nofile: tuple[str, ...] = (),
    deselected: tuple[str, ...] = (),
) -> Seen:
    items = {test: item(test, (others or {}).get(test)) for test in (*outcomes, *deselected)}
    causes = {test: Observed(found, "" if found is P else f"why {test}") for test, found in outcomes.items()}
    return Seen(causes, items, broken or {}, frozenset(nofile))


def one(listed: str, run: Seen) -> Observed:
    return lookup.resolve([listed], run)[listed]


RUN = seen(
    {
        "tests/test_a.py::test_p[1]": P,
        "tests/test_a.py::test_p[2]": F,
        "tests/test_a.py::test_q[x::y]": P,
        "tests/test_a.py::test_q[b c[0]]": P,
        "tests/test_a.py::test_qq": E,
        "tests/test_a.py::TestK::test_m": P,
        "tests/test_a.py::TestK::TestIn::test_n[1]": S,
        "tests/test_b.py::test_only": P,
        "v[1]/test_c.py::test_c[2]": P,
        "v[1]/test_c.py::test_d": F,
    }
)

LISTED: dict[str, tuple[str, Outcome]] = {
    "an exact id": ("tests/test_a.py::test_p[1]", P),
    "an exact id with `::` in its parameters": ("tests/test_a.py::test_q[x::y]", P),
    "an exact id with blanks and brackets": ("tests/test_a.py::test_q[b c[0]]", P),
    "an exact id with pytest 3's empty segments": ("tests/test_a.py::TestK::()::test_m", P),
    "a function, all of whose parameters pass": ("tests/test_a.py::test_q", P),
    "a function, one of whose parameters fails": ("tests/test_a.py::test_p", F),
    "a class": ("tests/test_a.py::TestK", S),
    "a class in a class": ("tests/test_a.py::TestK::TestIn", S),
    "a method without its parameters": ("tests/test_a.py::TestK::TestIn::test_n", S),
    "a file": ("tests/test_b.py", P),
    "a file, one of whose tests fails": ("tests/test_a.py", F),
    "a file in a directory with brackets": ("v[1]/test_c.py", F),
    "a function in a directory with brackets": ("v[1]/test_c.py::test_c", P),
    "an exact id in a directory with brackets": ("v[1]/test_c.py::test_c[2]", P),
    "an id that was cut at a blank": ("tests/test_a.py::test_q[b", M),
    "an id that was cut before its parameters end": ("tests/test_a.py::test_p[", M),
    "an id that was cut in its name": ("tests/test_a.py::test_", M),
    "the start of another name": ("tests/test_a.py::test_q[", M),
    "other parameters": ("tests/test_a.py::test_p[3]", M),
    "a method without its class": ("tests/test_a.py::test_m", M),
    "an outer class's method in the inner": ("tests/test_a.py::TestK::TestIn::test_m", M),
    "a file with parameters": ("tests/test_b.py[x]", M),
    "a file without its folder": ("test_b.py::test_only", M),
    "a file without its ending": ("tests/test_b::test_only", M),
    "a folder": ("tests", M),
    "other case": ("tests/test_b.py::TEST_only", M),
    "a blank behind": ("tests/test_b.py::test_only ", M),
    "nothing": ("", M),
    "junk": ("[100%]", M),
}


@pytest.mark.parametrize(("listed", "outcome"), LISTED.values(), ids=LISTED)
def test_a_listed_id(listed: str, outcome: Outcome) -> None:
    found = one(listed, RUN)
    assert found.outcome is outcome
    assert bool(found.cause) == (outcome is not P)


def test_a_group_has_its_members_and_the_worst_ones_cause() -> None:
    found = one("tests/test_a.py::test_p", RUN)
    assert found.members == {"tests/test_a.py::test_p[1]": P, "tests/test_a.py::test_p[2]": F}
    assert found.cause == "why tests/test_a.py::test_p[2]"
    assert one("tests/test_a.py::test_p[1]", RUN).members == {}


def test_a_group_member_that_did_not_run_is_missing() -> None:
    run = seen({"t.py::test_p[1]": P}, deselected=("t.py::test_p[2]",))
    found = one("t.py::test_p", run)
    assert (found.outcome, found.cause) == (M, lookup.NOT_RUN.cause)
    assert found.members == {"t.py::test_p[1]": P, "t.py::test_p[2]": M}


def test_an_id_that_was_collected_and_did_not_run_says_so() -> None:
    assert one("t.py::test_a", seen({}, deselected=("t.py::test_a",))) == lookup.NOT_RUN


def test_either_form_of_an_id_is_found_and_its_groups_too() -> None:
    run = seen(
        {"tests/t.py::TestK::test_a[1]": F}, {"tests/t.py::TestK::test_a[1]": "sub/tests/t.py::TestK::test_a[1]"}
    )
    for prefix in ("", "sub/"):
        for rest in ("", "::TestK", "::TestK::test_a", "::TestK::test_a[1]"):
            assert one(f"{prefix}tests/t.py{rest}", run).outcome is F, (prefix, rest)
    assert one("ub/tests/t.py", run).outcome is M


def test_an_exact_id_wins_over_another_ones_other_form() -> None:
    run = seen({"t.py::test_a": P, "sub/t.py::test_a": F}, {"t.py::test_a": "sub/t.py::test_a"})
    assert one("sub/t.py::test_a", run).outcome is F
    assert one("t.py::test_a", run).outcome is P


# ---- collectors that failed or skipped

BROKEN = seen(
    {"ok/test_o.py::test_o": P, "part/test_p.py::TestGood::test_g": P},
    broken={
        "bad/test_b.py": Observed(M, "bad/test_b.py: ImportError: x"),
        "skip/test_s.py": Observed(S, "no network"),
        "sub": Observed(M, "sub/conftest.py: KeyError: 1"),
        "sub/deeper/test_d.py": Observed(S, "too deep"),
        "part/test_p.py::TestBroken": Observed(M, "part/test_p.py::TestBroken: TypeError"),
        "v[1]/test_v.py": Observed(M, "v"),
    },
    nofile=("gone.py",),
)

BELOW: dict[str, tuple[str, Outcome, str]] = {
    "a test of a module that does not import": ("bad/test_b.py::test_x", M, "bad/test_b.py: ImportError: x"),
    "with parameters": ("bad/test_b.py::TestK::test_x[a::b]", M, "bad/test_b.py: ImportError: x"),
    "the module itself": ("bad/test_b.py", M, "bad/test_b.py: ImportError: x"),
    "a test of a module that skips itself": ("skip/test_s.py::TestK::test_x", S, "no network"),
    "the module that skips itself": ("skip/test_s.py", S, "no network"),
    "a test below a broken conftest": ("sub/test_y.py::test_z", M, "sub/conftest.py: KeyError: 1"),
    "the nearest collector counts": ("sub/deeper/test_d.py::test_z", S, "too deep"),
    "a test in a directory with brackets": ("v[1]/test_v.py::test_x", M, "v"),
    "a class that does not collect": ("part/test_p.py::TestBroken::test_x", M, "part/test_p.py::TestBroken: TypeError"),
    "the class itself": ("part/test_p.py::TestBroken", M, "part/test_p.py::TestBroken: TypeError"),
    "a file with a broken class and a test that passes": (
        "part/test_p.py",
        M,
        "part/test_p.py::TestBroken: TypeError",
    ),
    "a test beside a broken class": ("part/test_p.py::TestGood::test_g", P, ""),
    "a file that is not there": ("gone.py::test_x", M, "gone.py: no such file in the image"),
    "a name that begins as a broken folder's": ("subway/test_y.py::test_z", M, "not collected"),
    "a name that begins as a broken module's": ("bad/test_b.pyx::test_x", M, "not collected"),
}


@pytest.mark.parametrize(("listed", "outcome", "cause"), BELOW.values(), ids=BELOW)
def test_below_a_collector(listed: str, outcome: Outcome, cause: str) -> None:
    found = one(listed, BROKEN)
    assert (found.outcome, found.cause) == (outcome, cause)


def test_a_broken_collector_is_a_member_of_the_group_above_it() -> None:
    assert one("part/test_p.py", BROKEN).members == {
        "part/test_p.py::TestBroken": M,
        "part/test_p.py::TestGood::test_g": P,
    }


# ---- what comes nearest

NEAREST: dict[str, tuple[str, list[str]]] = {
    "an id cut short": ("tests/test_a.py::test_q[b", ["tests/test_a.py::test_q[b c[0]]"]),
    "other parameters": ("tests/test_a.py::test_p[3]", ["tests/test_a.py::test_p[1]", "tests/test_a.py::test_p[2]"]),
    "a misspelt name": ("tests/test_b.py::test_onyl", ["tests/test_b.py::test_only"]),
    "nothing near": ("tests/test_b.py::zzzzzzzz", []),
    "a file that nobody collected": ("elsewhere.py::test_only", []),
}


@pytest.mark.parametrize(("listed", "near"), NEAREST.values(), ids=NEAREST)
def test_the_cause_names_what_comes_nearest(listed: str, near: list[str]) -> None:
    cause = one(listed, RUN).cause
    assert cause == ("not collected; nearest: " + ", ".join(near) if near else "not collected")


def test_a_cause_is_short_and_safe_whatever_the_ids() -> None:
    run = seen({f"t.py::test_p[{'x' * 5000}{n}\u202e\n]": P for n in range(9)})
    cause = one("t.py::test_p[x", run).cause
    assert len(cause) < 400
    assert cause.isprintable()


@given(st.data())
def test_an_answer_does_not_depend_on_the_order_of_what_was_seen(data: st.DataObject) -> None:
    names = st.sampled_from(["a", "b", "ab", "a[1]", "a[1", "b[x::y]", "K::a", "K::b[1]", "K", "a b"])
    paths = st.sampled_from(["t.py", "d/t.py", "v[1]/t.py"])
    ids = st.builds("{}::{}".format, paths, names)
    outcomes = data.draw(st.dictionaries(ids, st.sampled_from([P, F, S]), max_size=8))
    others = {test: f"sub/{test}" for test in outcomes if data.draw(st.booleans())}
    broken = data.draw(st.dictionaries(ids | paths, st.sampled_from([Observed(M, "m"), Observed(S, "s")]), max_size=3))
    listed = data.draw(st.lists(ids | paths | names, max_size=8))
    shuffled = random.Random(data.draw(st.integers(0, 99)))

    def again(mapping: dict[str, object]) -> dict[str, object]:
        return dict(shuffled.sample(sorted(mapping.items(), key=lambda pair: pair[0]), len(mapping)))

    first = lookup.resolve(listed, seen(outcomes, others, broken))
    second = lookup.resolve(listed, seen(again(dict(outcomes)), others, again(dict(broken))))  # type: ignore[arg-type]
    assert first == second
    for test, found in first.items():
        if found.outcome is P:
            assert test in outcomes or test in others.values() or set(found.members.values()) == {P}


# ---- reports that our plugin had no part in


def case(classname: str, name: str, outcome: Outcome = P, cause: str = "", node_id: str | None = None) -> junit.Case:
    return junit.Case(classname, name, outcome, cause, node_id)


CASES = [
    case("pkg.sub.test_c.TestD.TestE", "test_f[u::v/w.py]"),
    case("pkg.sub.test_c", "test_f[1]", F, "assert 0"),
    case("pkg.sub.test_c", "test_f[2]"),
    case("", "data[1]/test_g.py::TestK::test_h"),
    case("data[2].test_g", "test_i"),
    case("test_j.TestO.TestI.()", "test_k", S),
    case("guide.rst", "guide.rst"),
    case("", "test_skip", S, "collection skipped"),
    case("", "pkg.test_bad", E, "collection failure"),
    case("test_one.two", "test_dotted"),
    case("suite of another runner", "does it"),
]

FORWARD: dict[str, tuple[str, Outcome]] = {
    "classes, and parameters with every separator": ("pkg/sub/test_c.py::TestD::TestE::test_f[u::v/w.py]", P),
    "the same name in another class": ("pkg/sub/test_c.py::TestD::test_f[u::v/w.py]", M),
    "a function's one parameter": ("pkg/sub/test_c.py::test_f[2]", P),
    "a function without its parameters": ("pkg/sub/test_c.py::test_f", F),
    "a class": ("pkg/sub/test_c.py::TestD", P),
    "a file": ("pkg/sub/test_c.py", F),
    "a bracket in the path, up to pytest 9.1": ("data[1]/test_g.py::TestK::test_h", P),
    "a bracket in the path, from pytest 9.2": ("data[2]/test_g.py::test_i", P),
    "pytest 3's empty segments in the report": ("test_j.py::TestO::TestI::test_k", S),
    "a doctest file": ("guide.rst::guide.rst", P),
    "a module that skipped": ("test_skip.py::test_any", S),
    "a module that did not import": ("pkg/test_bad.py::TestX::test_any", M),
    "a file with a dot in its name": ("test_one.two.py::test_dotted", P),
    "classname::name as it stands": ("suite of another runner::does it", P),
    "a name that was cut": ("pkg/sub/test_c.py::test_f[", M),
    "a name that begins as another": ("pkg/sub/test_c.py::test_", M),
    "a path that begins as another": ("pkg/sub/test_.py::test_f[2]", M),
    "a folder": ("pkg/sub", M),
    "a file without its ending": ("pkg/sub/test_c::test_f[2]", M),
    "a class that begins as another": ("pkg/sub/test_c.py::TestD::Test", M),
}


@pytest.mark.parametrize(("listed", "outcome"), FORWARD.values(), ids=FORWARD)
@pytest.mark.parametrize("seed", range(3))
def test_forward(listed: str, outcome: Outcome, seed: int) -> None:
    cases = random.Random(seed).sample(CASES, len(CASES))
    assert lookup.forward([listed], cases)[listed].outcome is outcome


def test_forward_prefers_our_plugins_exact_ids() -> None:
    cases = [case("t", "a", P, node_id='"t.py::a"'), case("t", "b", F, node_id='"sub/t.py::b"'), case("t", "b", P)]
    found = lookup.forward(["t.py::a", "sub/t.py::b"], cases)
    assert [found[test].outcome for test in found] == [P, F]


def test_two_cases_of_one_key_take_the_worst() -> None:
    cases = [case("t", "a"), case("t", "a", F, "z"), case("t", "a", F, "y")]
    assert lookup.forward(["t.py::a"], cases)["t.py::a"] == Observed(F, "y")
    assert lookup.forward(["t::a"], cases)["t::a"].outcome is F


def test_a_case_that_our_plugin_named_is_nobody_elses() -> None:
    """A test can write another's classname and name into its row; our property says whose it is."""
    cases = [case("t", "b", P, node_id='"t.py::a"'), case("t", "b", F, node_id='"t.py::b"')]
    found = lookup.forward(["t.py::a", "t.py::b", "t.py::c"], cases)
    assert [found[test].outcome for test in found] == [P, F, M]


@pytest.mark.parametrize("text", ["", "{", "7", "null", "[]", '["t.py::a"]'])
def test_a_property_that_is_no_json_text_names_nothing(text: str) -> None:
    assert lookup.by_node_id([case("t", "a", node_id=text)]) == {}


def test_by_node_id_takes_the_worst() -> None:
    cases = [case("t", "a", F, node_id='"i"'), case("t", "a", P, node_id='"i"')]
    assert lookup.by_node_id(cases) == {"i": F}


@pytest.mark.parametrize(
    ("test", "parts"),
    [
        ("a/t.py::K::test_x[1::2]", ["a/t.py", "K", "test_x[1::2]"]),
        ("v[1]/t.py::test_x", ["v[1]/t.py", "test_x"]),
        ("t.py::K::()::test_x", ["t.py", "K", "test_x"]),
        ("t.py", ["t.py"]),
        ("t.py::test_x[[]", ["t.py", "test_x[[]"]),
        ("t.py::test_x[]", ["t.py", "test_x[]"]),
    ],
)
def test_split_id(test: str, parts: list[str]) -> None:
    assert lookup.split_id(test) == parts
