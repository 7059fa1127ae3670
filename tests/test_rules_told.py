"""How drops and reasons are told: in which order, which ids together, with which cause; and how runs score."""

from __future__ import annotations

import pytest

from repair import rules
from repair.model import ListName, Policy, Rule
from tests.support.tables import F2P, P2P, decide, measuring, row, runs, table_of, told


def test_all_reasons_are_told_in_one_order() -> None:
    seen = table_of(
        "F2P bad FF PF; F2P gone PF ss; F2P half = half[1] FF PP, half[2] FF ss; both both FF PP;"
        "P2P worse PP PF; P2P dark mm FF; P2P noise FF FF"
    )
    decision = rules.decide(seen, Policy(min_p2p=10))
    assert told(decision.reasons) == [
        "failed F2P bad",
        "lost F2P gone",
        "mixed-group F2P half",
        "regression P2P worse",
        "unobserved-before P2P dark",
        "both-lists both",
        "few-p2p (1 P2P kept, the policy asks for 10)",
    ]
    assert told(decision.dropped) == ["failed-both P2P noise"]
    assert (decision.kept_f2p, decision.kept_p2p) == (("both", "measures"), ("both",))


def test_reasons_of_a_second_pair_come_before_its_drops() -> None:
    first, second = table_of("P2P t F F; P2P u P P"), table_of("P2P u m s; F2P v P P", measured=False)
    decision = rules.settle(*(rules.decide(seen, Policy(min_p2p=0)) for seen in (first, second)))
    assert told(decision.reasons) == [
        "not-confirmed (empty-passes: every kept F2P passes with nothing applied, in run 1)",
        "not-confirmed P2P u (failed-both)",
    ]


def test_findings_go_by_list_then_rule_then_size_then_cause() -> None:
    decision = decide(
        row("p3", P2P, "FP", "PF"),
        row("p5", P2P, "FF", "FF", ("", "b")),
        row("p4", P2P, "FF", "FF", ("", "b")),
        row("p1", P2P, "FF", "FF", ("", "c")),
        row("p2", P2P, "FF", "FF", ("", "a")),
        row("f1", F2P, "FF", "ss", ("", "z")),
        measuring(2),
    )
    assert [(finding.list, finding.rule, finding.cause, finding.ids) for finding in decision.dropped] == [
        (F2P, Rule.UNOBSERVED, "z", ("f1",)),
        (P2P, Rule.FAILED_BOTH, "b", ("p4", "p5")),
        (P2P, Rule.FAILED_BOTH, "a", ("p2",)),
        (P2P, Rule.FAILED_BOTH, "c", ("p1",)),
        (P2P, Rule.FLAKY_BOTH, "", ("p3",)),
    ]
    assert (decision.kept_f2p, decision.kept_p2p) == (("measures",), ())


def test_ids_that_differ_in_anything_shown_stand_apart() -> None:
    alike = [row("t1", P2P, "F", "F", ("why", "why")), row("t2", P2P, "F", "F", ("why", "why"))]
    other = [
        row("t3", P2P, "E", "F", ("why", "why")),
        row("t4", P2P, "F", "E", ("why", "why")),
        row("t5", P2P, "F", "F", ("why", "else")),
        row("t6", P2P, "F", "F", ("else", "why")),
    ]
    decision = decide(*alike, *other, measuring(1))
    assert sorted(finding.ids for finding in decision.dropped) == [("t1", "t2"), ("t3",), ("t4",), ("t5",), ("t6",)]


@pytest.mark.parametrize(
    ("name", "causes", "shown"),
    [
        pytest.param(P2P, ("before", "after"), ("after", "before"), id="P2P: both controls' causes"),
        pytest.param(P2P, ("same", "same"), ("same", ""), id="P2P: one cause in both is told once"),
        pytest.param(P2P, ("before", ""), ("before", ""), id="P2P: the empty control's where the oracle's has none"),
        pytest.param(P2P, ("", "after"), ("after", ""), id="P2P: the oracle's alone"),
        pytest.param(F2P, ("before", "after"), ("after", ""), id="F2P: failing without the reference needs no cause"),
        pytest.param(F2P, ("before", ""), ("", ""), id="F2P: nor where the oracle's has none"),
    ],
)
def test_the_cause_of_a_drop(name: ListName, causes: tuple[str, str], shown: tuple[str, str]) -> None:
    [finding] = decide(row("t", name, "m", "s", causes), measuring(1)).dropped
    assert (finding.cause, finding.cause_empty) == shown
    assert (finding.empty, finding.oracle) == ("missing", "skipped")


@pytest.mark.parametrize(
    ("letters", "word"),
    [
        ("P", "passed"),
        ("sss", "skipped"),
        ("PF", "failed 1/2, passed 1/2"),
        ("PPF", "passed 2/3, failed 1/3"),
        ("FPP", "passed 2/3, failed 1/3"),
        ("mEsE", "error 2/4, missing 1/4, skipped 1/4"),
        ("", ""),
    ],
)
def test_outcomes_are_spelt_as_one_word(letters: str, word: str) -> None:
    assert rules.spell(runs(letters)) == word


@pytest.mark.parametrize(
    ("pairs", "scores"),
    [
        pytest.param([("F", "P"), ("P", "P")], ((0.0,), (1.0,)), id="all must pass"),
        pytest.param([("PF", "PP"), ("PP", "FP")], ((1.0, 0.0), (0.0, 1.0)), id="a score a run"),
        pytest.param([("x", "X")], ((0.0,), (0.0,)), id="what the policy lets not pass scores nothing"),
        pytest.param([], ((), ()), id="no ids: no run is known"),
    ],
)
def test_scores(pairs: list[tuple[str, str]], scores: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    rows = [row(f"t{n}", P2P, *pair) for n, pair in enumerate(pairs)]
    assert rules.scores(rows, Policy().passing) == scores
