"""The rule as one policy: every row of its table, every pair of outcomes, and what refuses a task as a whole.

Outcomes are written as letters, one a run: `PF` passed in the first run and failed in the second.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from repair import rules
from repair.model import Finding, ListName, Outcome, Policy, Row, Rule, Table, Verdict
from tests.support.tables import F2P, LETTERS, NO_FLOOR, P2P, decide, measuring, reasons, row, runs


def said_of_one(name: ListName, empty: str, oracle: str, policy: Policy = NO_FLOOR) -> str:
    """What a task that measures something has done to one more id: `keep`, or the rule that drops or refuses it."""
    decision = decide(row("t", name, empty, oracle), measuring(len(empty)), policy=policy)
    findings = [*decision.dropped, *decision.reasons]
    kept = {F2P: decision.kept_f2p, P2P: decision.kept_p2p}[name]
    if "t" in kept:
        assert not findings
        return "keep"
    [finding] = findings
    assert (finding.list, finding.ids) == (name, ("t",))
    expected = Verdict.REPAIRED if decision.dropped else Verdict.REFUSED
    assert decision.verdict is expected
    return f"{'drop' if decision.dropped else 'refuse'} {finding.rule}"


# ---- one run: every pair of outcomes. Rows are the oracle's outcome, columns the empty control's.

WORDS = {
    "k": "keep",
    "d": "drop failed-both",
    "u": "drop unobserved",
    "R": "refuse regression",
    "B": "refuse unobserved-before",
    "L": "refuse lost",
    "F": "refuse failed",
}
PAIRS = {
    P2P: """
          P X x s m E F
        P k k k k k k k
        X R d d d d d d
        x R d d d d d d
        s R d d d d d d
        m R d d d d d d
        E R d d B B d d
        F R d d B B d d
    """,
    F2P: """
          P X x s m E F
        P k k k k k k k
        X F F F F F F F
        x F F F F F F F
        s L u u u u u u
        m L u u u u u u
        E F F F F F F F
        F F F F F F F F
    """,
}


def cells() -> Iterator[object]:
    for name, matrix in PAIRS.items():
        columns, *lines = (line.split() for line in matrix.strip().splitlines())
        for oracle, *answers in lines:
            for empty, answer in zip(columns, answers, strict=True):
                policy = f"{name} {LETTERS[empty]} without, {LETTERS[oracle]} with the reference: {WORDS[answer]}"
                yield pytest.param(name, empty, oracle, WORDS[answer], id=policy)


@pytest.mark.parametrize(("name", "empty", "oracle", "said"), list(cells()))
def test_every_pair_of_outcomes(name: ListName, empty: str, oracle: str, said: str) -> None:
    assert said_of_one(name, empty, oracle) == said


def test_the_pairs_are_all_there_are() -> None:
    assert set(LETTERS.values()) == set(Outcome)
    assert len(list(cells())) == len(ListName) * len(Outcome) ** 2


# ---- several runs: always, sometimes, never


@pytest.mark.parametrize(
    ("empty", "oracle", "said"),
    [
        pytest.param("FP", "PP", "keep", id="always with: keep, though flaky without"),
        pytest.param("mm", "PP", "keep", id="always with, missing without: keep"),
        pytest.param("PP", "PF", "refuse regression", id="sometimes with, always without: regression"),
        pytest.param("PPP", "PPs", "refuse regression", id="one skip of three with, always without: regression"),
        pytest.param("PP", "sm", "refuse regression", id="skipped and missing with, always without: regression"),
        pytest.param("PF", "FF", "refuse regression", id="never with, sometimes without: regression"),
        pytest.param("FsP", "mmm", "refuse regression", id="missing with, once of three without: regression"),
        pytest.param("Ps", "EE", "refuse regression", id="errors with, sometimes without, else skipped: regression"),
        pytest.param("sm", "FF", "refuse unobserved-before", id="fails with, never ran without: unobserved-before"),
        pytest.param("ss", "sF", "refuse unobserved-before", id="fails once with, skips without: unobserved-before"),
        pytest.param("mm", "PE", "refuse unobserved-before", id="flaky with, missing without: unobserved-before"),
        pytest.param("sF", "sF", "drop failed-both", id="fails with, failed once without: drop"),
        pytest.param("sx", "FF", "drop failed-both", id="fails with, ran once without: drop"),
        pytest.param("mm", "ss", "drop failed-both", id="skips with, missing without: drop"),
        pytest.param("ss", "Ps", "drop failed-both", id="skips at times with, always without: drop"),
        pytest.param("FF", "PF", "drop failed-both", id="flaky with, never without: drop"),
        pytest.param("PF", "FP", "drop flaky-both", id="flaky with and without: drop"),
        pytest.param("sPP", "PmF", "drop flaky-both", id="flaky in any way with and without: drop"),
    ],
)
def test_p2p_over_several_runs(empty: str, oracle: str, said: str) -> None:
    assert said_of_one(P2P, empty, oracle) == said


@pytest.mark.parametrize(
    ("empty", "oracle", "said"),
    [
        pytest.param("FP", "PP", "keep", id="always with: keep, though flaky without"),
        pytest.param("PP", "PP", "keep", id="always with and without: keep"),
        pytest.param("FF", "ss", "drop unobserved", id="skips with, never without: drop"),
        pytest.param("mFE", "sms", "drop unobserved", id="skips or misses with, never without: drop"),
        pytest.param("FP", "ss", "refuse lost", id="skips with, sometimes without: lost"),
        pytest.param("FFP", "mss", "refuse lost", id="skips or misses with, once of three without: lost"),
        pytest.param("PP", "mm", "refuse lost", id="missing with, always without: lost"),
        pytest.param("FF", "PF", "refuse failed", id="flaky with: failed"),
        pytest.param("FF", "Ps", "refuse failed", id="skips at times with: failed"),
        pytest.param("mm", "Pm", "refuse failed", id="misses at times with: failed"),
        pytest.param("ss", "sF", "refuse failed", id="fails once with, else skips: failed"),
        pytest.param("FF", "sx", "refuse failed", id="an expected failure once with, else skips: failed"),
        pytest.param("PP", "FF", "refuse failed", id="fails with, always without: failed"),
    ],
)
def test_f2p_over_several_runs(empty: str, oracle: str, said: str) -> None:
    assert said_of_one(F2P, empty, oracle) == said


@pytest.mark.parametrize(
    ("passing", "name", "empty", "oracle", "said"),
    [
        pytest.param("Px", P2P, "F", "x", "keep", id="P2P xfailed with: keep"),
        pytest.param("Px", P2P, "PP", "xP", "keep", id="P2P passed and xfailed by turns with: keep"),
        pytest.param("Px", P2P, "x", "F", "refuse regression", id="P2P xfailed without, fails with: regression"),
        pytest.param("Px", P2P, "xP", "Xx", "refuse regression", id="P2P xfailed without, xpassed with: regression"),
        pytest.param("Px", P2P, "F", "X", "drop failed-both", id="P2P fails without, xpassed with: drop"),
        pytest.param("Px", F2P, "F", "x", "keep", id="F2P xfailed with: keep"),
        pytest.param("Px", F2P, "x", "s", "refuse lost", id="F2P xfailed without, skips with: lost"),
        pytest.param("PX", P2P, "F", "X", "keep", id="P2P xpassed with, where that passes: keep"),
        pytest.param("PX", P2P, "X", "x", "refuse regression", id="P2P xpassed without, xfailed with: regression"),
        pytest.param("PX", F2P, "X", "x", "refuse failed", id="F2P xfailed with, where xpassed passes: failed"),
        pytest.param("PXx", P2P, "PXx", "xPX", "keep", id="P2P any expected outcome: keep"),
    ],
)
def test_what_passes_is_the_policys_to_say(passing: str, name: ListName, empty: str, oracle: str, said: str) -> None:
    assert said_of_one(name, empty, oracle, Policy(0, frozenset(runs(passing)))) == said


def test_an_id_without_an_outcome_is_never_judged() -> None:
    with pytest.raises(ValueError, match="lonely has no outcome"):
        decide(row("lonely", P2P, "", "P"), measuring(1))


# ---- the task as a whole


@pytest.mark.parametrize("dropped", [0, 3], ids=["nothing dropped", "three dropped"])
@pytest.mark.parametrize(
    ("floor", "kept", "refused"),
    [
        pytest.param(10, 9, True, id="9 kept of 10"),
        pytest.param(10, 10, False, id="10 kept of 10"),
        pytest.param(10, 11, False, id="11 kept of 10"),
        pytest.param(10, 0, True, id="0 kept of 10"),
        pytest.param(1, 0, True, id="0 kept of 1"),
        pytest.param(0, 0, False, id="0 kept of 0"),
    ],
)
def test_the_floor_counts_kept_p2p(floor: int, kept: int, refused: bool, dropped: int) -> None:
    noise = [row(f"noise{n}", P2P, "F", "F") for n in range(dropped)]
    good = [row(f"good{n}", P2P, "P", "P") for n in range(kept)]
    decision = decide(*noise, *good, measuring(1), policy=Policy(min_p2p=floor))
    assert reasons(decision) == ([(Rule.FEW_P2P, None, ())] if refused else [])
    assert all(f"{kept} P2P kept" in finding.cause and str(floor) in finding.cause for finding in decision.reasons)
    accepted = Verdict.REPAIRED if dropped else Verdict.CLEAN
    assert decision.verdict is (Verdict.REFUSED if refused else accepted)


def test_the_floor_is_ten_unless_the_policy_says_otherwise() -> None:
    good = [row(f"good{n}", P2P, "P", "P") for n in range(10)]
    assert decide(*good, measuring(1), policy=Policy()).verdict is Verdict.CLEAN
    assert decide(*good[1:], measuring(1), policy=Policy()).verdict is Verdict.REFUSED


def test_empty_lists_measure_nothing() -> None:
    assert reasons(decide(policy=Policy())) == [(Rule.NO_F2P, None, ()), (Rule.FEW_P2P, None, ())]
    assert reasons(decide(row("t", P2P, "P", "P"))) == [(Rule.NO_F2P, None, ())]


def test_dropping_the_last_f2p_refuses() -> None:
    decision = decide(row("t", F2P, "m", "s"), row("keeps", P2P, "P", "P"))
    assert reasons(decision) == [(Rule.NO_F2P, None, ())]
    assert [finding.ids for finding in decision.dropped] == [("t",)]


@pytest.mark.parametrize(
    ("empties", "oracles", "named"),
    [
        pytest.param("P P", "P P", "run 1", id="all pass in the only run: refuse"),
        pytest.param("P F", "P P", "", id="one fails: fine"),
        pytest.param("FPF FPP", "PPP PPP", "run 2", id="all pass in one of three: refuse"),
        pytest.param("PFF FPP", "PPP PPP", "", id="each passes, never all at once: fine"),
        pytest.param("PPF PPP", "PPP PPP", "run 1, 2", id="all pass in two of three: refuse"),
        pytest.param("PP FF", "PP ss", "run 1, 2", id="only a dropped one fails: refuse"),
    ],
)
def test_empty_must_not_solve_the_task_in_any_run(empties: str, oracles: str, named: str) -> None:
    pairs = zip(empties.split(), oracles.split(), strict=True)
    decision = decide(*(row(f"t{n}", F2P, *pair) for n, pair in enumerate(pairs)))
    assert [finding.rule for finding in decision.reasons] == ([Rule.EMPTY_PASSES] if named else [])
    assert all(finding.cause.endswith(f"in {named}") for finding in decision.reasons)


def test_an_expected_failure_solves_the_task_where_it_passes() -> None:
    solved = row("t", F2P, "x", "P")
    assert decide(solved).verdict is Verdict.CLEAN
    passing = frozenset({Outcome.PASSED, Outcome.XFAILED})
    assert reasons(decide(solved, policy=Policy(0, passing))) == [(Rule.EMPTY_PASSES, None, ())]


def test_an_id_in_both_lists_refuses() -> None:
    decision = decide(row("both", ListName, "F", "P"), row("keeps", P2P, "P", "P"))
    assert reasons(decision) == [(Rule.BOTH_LISTS, None, ("both",))]


def test_an_id_in_both_lists_is_judged_by_each() -> None:
    decision = decide(row("both", ListName, "F", "s"), measuring(1))
    assert [(finding.rule, finding.list) for finding in decision.dropped] == [
        (Rule.UNOBSERVED, F2P),
        (Rule.FAILED_BOTH, P2P),
    ]
    assert reasons(decision) == [(Rule.BOTH_LISTS, None, ("both",))]


def test_all_reasons_are_told() -> None:
    decision = decide(
        measuring(2),
        row("bad", F2P, "FF", "PF"),
        row("gone", F2P, "PF", "ss"),
        row("half", F2P, "FF", "ss", members={"half[1]": ("FF", "PP"), "half[2]": ("FF", "ss")}),
        row("both", ListName, "FF", "PP"),
        row("worse", P2P, "PP", "PF"),
        row("dark", P2P, "mm", "FF"),
        row("noise", P2P, "FF", "FF"),
        policy=Policy(min_p2p=10),
    )
    assert decision.verdict is Verdict.REFUSED
    assert reasons(decision) == [
        (Rule.FAILED, F2P, ("bad",)),
        (Rule.LOST, F2P, ("gone",)),
        (Rule.MIXED_GROUP, F2P, ("half",)),
        (Rule.REGRESSION, P2P, ("worse",)),
        (Rule.UNOBSERVED_BEFORE, P2P, ("dark",)),
        (Rule.BOTH_LISTS, None, ("both",)),
        (Rule.FEW_P2P, None, ()),
    ]
    assert [finding.ids for finding in decision.dropped] == [("noise",)]
    assert (decision.kept_f2p, decision.kept_p2p) == (("both", "measures"), ("both",))


def test_a_task_may_lack_everything_at_once() -> None:
    decision = decide(row("both", ListName, "P", "F"), policy=Policy())
    assert reasons(decision) == [
        (Rule.FAILED, F2P, ("both",)),
        (Rule.REGRESSION, P2P, ("both",)),
        (Rule.BOTH_LISTS, None, ("both",)),
        (Rule.NO_F2P, None, ()),
        (Rule.FEW_P2P, None, ()),
    ]


def test_a_patch_that_does_not_apply_is_the_only_reason() -> None:
    table = Table((row("both", ListName, "", ""), row("t", P2P, "", "")), ("oracle.patch: b", "oracle.patch: a") * 2)
    decision = rules.decide(table, Policy())
    assert decision.reasons == (
        Finding(Rule.PATCH, cause="oracle.patch: a"),
        Finding(Rule.PATCH, cause="oracle.patch: b"),
    )
    assert decision.verdict is Verdict.REFUSED
    assert decision.dropped == ()
    assert (decision.kept_f2p, decision.kept_p2p) == (("both",), ("both", "t"))


@pytest.mark.parametrize("verdict", Verdict)
def test_a_gate_admits_all_but_refused_tasks(verdict: Verdict) -> None:
    assert rules.admits(verdict) is (verdict is not Verdict.REFUSED)


# ---- how drops and reasons are told


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


# ---- the second pair of controls

REPAIRED = decide(row("noise", P2P, "F", "F"), row("keeps", P2P, "P", "P"), measuring(1))


def test_a_clean_second_pair_confirms() -> None:
    assert rules.settle(REPAIRED, decide(row("keeps", P2P, "P", "P"), measuring(1))) == REPAIRED


@pytest.mark.parametrize(
    ("second", "told"),
    [
        pytest.param(
            [row("keeps", P2P, "P", "F", ("", "why")), measuring(1)],
            [("regression: why", P2P, ("keeps",))],
            id="a refusal",
        ),
        pytest.param(
            [row("keeps", P2P, "F", "F"), measuring(1)], [("failed-both", P2P, ("keeps",))], id="a further drop"
        ),
        pytest.param(
            [row("keeps", P2P, "m", "s", ("a", "b")), row("measures", F2P, "P", "P")],
            [
                ("empty-passes: every kept F2P passes with nothing applied, in run 1", None, ()),
                ("failed-both: b", P2P, ("keeps",)),
            ],
            id="both, reasons first",
        ),
    ],
)
def test_any_other_second_pair_refuses(second: list[Row], told: list[tuple[str, ListName | None, tuple[str]]]) -> None:
    settled = rules.settle(REPAIRED, decide(*second))
    assert [(finding.cause, finding.list, finding.ids) for finding in settled.reasons] == told
    assert {finding.rule for finding in settled.reasons} == {Rule.NOT_CONFIRMED}
    assert settled.verdict is Verdict.REFUSED
    # what the first pair decided stays to be read
    assert settled.dropped == REPAIRED.dropped
    assert (settled.kept_f2p, settled.kept_p2p) == (REPAIRED.kept_f2p, REPAIRED.kept_p2p)


def test_a_patch_that_does_not_apply_again_refuses() -> None:
    settled = rules.settle(REPAIRED, rules.decide(Table((), ("oracle.patch: no",)), NO_FLOOR))
    assert settled.reasons == (Finding(Rule.NOT_CONFIRMED, cause="patch: oracle.patch: no"),)
