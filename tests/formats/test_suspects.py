"""Ids that cannot be what they should be, and ids that only look odd."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.formats import suspects
from repair.formats.suspects import Suspect

GOOD = {
    "a function": "tests/test_sums.py::test_total",
    "a method": "tests/test_sums.py::TestSums::test_total",
    "a file": "tests/test_sums.py",
    "parameters": "tests/test_sums.py::test_total[1-EUR]",
    "parameters with blanks": "tests/test_sums.py::test_total[a b - c d]",
    "blanks at the ends of the parameters": "tests/test_sums.py::test_total[ a ]",
    "no parameter": "tests/test_sums.py::test_total[]",
    "brackets in the parameters": "tests/test_sums.py::test_total[[1, 2]-x[0]]",
    "a bracket that nothing closes": "tests/test_sums.py::test_total[[]",
    "a bracket that nothing opens": "tests/test_sums.py::test_total[]]]",
    "colons in the parameters": "tests/test_sums.py::test_total[a::b]",
    "a bracket behind colons": "tests/test_sums.py::test_total[a::[b]]",
    "a slash in the parameters": "tests/test_sums.py::test_total[a/b]",
    "a path in the repo": "tests/test_sums.py::test_total[data/home/sums.csv]",
    "an address": "tests/test_sums.py::test_total[https://acme.example/home/x]",
    "per cent in the parameters": "tests/test_sums.py::test_total[50%]",
    "more per cent": "tests/test_sums.py::test_total[5%-100%]",
    "a percent sign alone": "tests/test_sums.py::test_total[%d]",
    "letters of other languages": "tests/test_größe.py::test_größe[€-日本]",
    "escapes": r"tests/test_sums.py::test_total[\u20ac\n]",
    "quotes": """tests/test_sums.py::test_total[it's "x"]""",
    "a doctest": "src/ledger/sums.py::ledger.sums.total",
    "a doctest in a text": "docs/index.rst::index.rst",
    "a bracket in the file's name": "tests/test_sums[1].py::test_total",
    "a folder called home": "home/tests/test_sums.py::test_total",
    "a folder of builds": "tests/builds/test_sums.py::test_total",
    "a blank in a folder": "tests/my sums/test_sums.py::test_total",
}


def found(*f2p: str, p2p: tuple[str, ...] = (), node_ids: bool = True) -> list[tuple[Suspect, str]]:
    return list(suspects.of(f2p, p2p, node_ids=node_ids))


@pytest.mark.parametrize("test", GOOD.values(), ids=GOOD)
def test_good(test: str) -> None:
    assert found(test) == found(p2p=(test,)) == found(test, node_ids=False) == []


def test_good_beside_bad() -> None:
    """All ids are looked through at once where none is bad: where one is, the good ones stay good."""
    assert found(*GOOD.values(), "[ 50%]", "/home/kim/t.py::test_a") == [
        (Suspect.HOST_PATH, "/home/kim/t.py::test_a"),
        (Suspect.PROGRESS, "[ 50%]"),
    ]


BAD = {
    "a progress mark": ("[100%]", Suspect.PROGRESS),
    "a progress mark with blanks": ("[  5%]", Suspect.PROGRESS),
    "a progress mark behind an id": ("tests/test_sums.py::test_total PASSED [ 50%]", Suspect.PROGRESS),
    "a progress mark behind a cut id": ("tests/test_sums.py::test_total [ 7%]", Suspect.PROGRESS),
    "a home": ("/home/kim/ledger/tests/test_sums.py::test_total", Suspect.HOST_PATH),
    "a home on a Mac": ("/Users/kim/ledger/tests/test_sums.py::test_total", Suspect.HOST_PATH),
    "a home on Windows": (r"C:\Users\kim\tests\test_sums.py::test_total", Suspect.HOST_PATH),
    "a workspace": ("/workspace/ledger/tests/test_sums.py::test_total", Suspect.HOST_PATH),
    "a temporary folder on a Mac": ("/private/var/folders/x/test_sums.py::test_total", Suspect.HOST_PATH),
    "a build machine's": ("/builds/acme/ledger/test_sums.py::test_total", Suspect.HOST_PATH),
    "a home in the parameters": ("tests/test_sums.py::test_total[/home/kim/sums.csv]", Suspect.HOST_PATH),
    "a home behind a blank": ("test_total /home/kim/ledger", Suspect.HOST_PATH),
    "a blank behind": ("tests/test_sums.py::test_total ", Suspect.CUT),
    "a blank before": (" tests/test_sums.py::test_total", Suspect.CUT),
    "a tab behind": ("tests/test_sums.py::test_total\t", Suspect.CUT),
    "cut in the parameters": ("tests/test_sums.py::test_total[log(photon", Suspect.CUT),
    "cut behind the bracket": ("tests/test_sums.py::test_total[", Suspect.CUT),
    "cut behind colons": ("tests/test_sums.py::test_total[a::b", Suspect.CUT),
    "cut behind a bracket of its own": ("tests/test_sums.py::test_total[a[0]-b", Suspect.CUT),
    "a name alone": ("test_total", Suspect.NO_NODE_ID),
    "unittest's name": ("test_total (tests.test_sums.Sums)", Suspect.NO_NODE_ID),
    "a class with dots": ("TestSums.test_total", Suspect.NO_NODE_ID),
    "a folder": ("tests/sums", Suspect.NO_NODE_ID),
    "a word of a log": ("PASSED", Suspect.NO_NODE_ID),
    "no character": ("", Suspect.NO_NODE_ID),
}


@pytest.mark.parametrize(("test", "kind"), BAD.values(), ids=BAD)
def test_bad(test: str, kind: Suspect) -> None:
    assert found(test) == found(p2p=(test,)) == [(kind, test)]


OF_OTHER_RUNNERS = {name: test for name, (test, kind) in BAD.items() if kind is Suspect.NO_NODE_ID} | {
    "a title": "sums > adds [a, b",
    "Go": "TestSums/adds_[x",
    "Java": "acme.SumsTest::total",
}


@pytest.mark.parametrize("test", OF_OTHER_RUNNERS.values(), ids=OF_OTHER_RUNNERS)
def test_other_runners_name_their_tests_as_they_like(test: str) -> None:
    assert found(test, node_ids=False) == []


@pytest.mark.parametrize(
    ("test", "kind"),
    [("[100%]", Suspect.PROGRESS), ("/home/kim/a.test.js > adds", Suspect.HOST_PATH), ("adds ", Suspect.CUT)],
)
def test_what_no_runner_says_is_suspect_of_any(test: str, kind: Suspect) -> None:
    assert found(test, node_ids=False) == [(kind, test)]


A, B, C = (f"t.py::test_{name}" for name in "abc")


def test_an_id_that_is_listed_twice() -> None:
    assert found(A, B, A) == [(Suspect.TWICE, A)]
    assert found(p2p=(A, B, B)) == [(Suspect.TWICE, B)]


def test_an_id_that_is_listed_many_times_is_one() -> None:
    assert found(A, A, A, p2p=(B, A, *[B] * 9)) == [
        (Suspect.TWICE, A),
        (Suspect.TWICE, B),
        (Suspect.BOTH, A),
    ]


def test_an_id_in_both_lists_is_not_listed_twice() -> None:
    assert found(A, B, p2p=(C, B)) == [(Suspect.BOTH, B)]


def test_all_that_is_wrong_with_an_id_is_said() -> None:
    assert found("test_a", "test_a", p2p=("test_a",)) == [
        (Suspect.TWICE, "test_a"),
        (Suspect.BOTH, "test_a"),
        (Suspect.NO_NODE_ID, "test_a"),
    ]


def test_an_id_has_one_kind_of_its_own() -> None:
    assert found("/home/kim/x [ 50%] ") == [(Suspect.PROGRESS, "/home/kim/x [ 50%] ")]


def test_two_ids_do_not_make_a_mark_together() -> None:
    assert found("t.py::test_a[", "50%]") == [(Suspect.NO_NODE_ID, "50%]"), (Suspect.CUT, "t.py::test_a[")]


def test_empty_lists() -> None:
    assert found() == []


def test_lists_may_be_read_once() -> None:
    assert list(suspects.of(iter([A, A]), iter([A]), node_ids=True)) == [(Suspect.TWICE, A), (Suspect.BOTH, A)]


IDS = st.lists(
    st.text(max_size=12) | st.sampled_from([*GOOD.values(), *(test for test, _ in BAD.values())]), max_size=8
)


@given(IDS, IDS, st.booleans())
def test_each_id_is_judged_by_itself_and_the_order_is_the_same(f2p: list[str], p2p: list[str], node_ids: bool) -> None:
    every = list(suspects.of(f2p, p2p, node_ids=node_ids))
    own = [(kind, test) for kind, test in every if kind not in (Suspect.TWICE, Suspect.BOTH)]
    assert own == [pair for test in sorted({*f2p, *p2p}) for pair in suspects.of([test], [], node_ids=node_ids)]
    assert every == list(suspects.of(f2p, p2p, node_ids=node_ids))
