"""The rule as one policy: a table of tasks with the verdict on each, what is dropped, and what refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from repair import rules
from repair.model import Decision, Evidence, Image, ListName, Outcome, Policy, Row, Rule, Table, Verdict
from tests.support.tables import F2P, LETTERS, P2P, UNAPPLIED, runs, table_of, told

# ---- the policy, a row a task. Its columns: the policy in words | the task, as tests/support/tables.py reads it |
# settings | verdict | dropped | reasons to refuse. A finding is its rule, list and ids; CAUSES has the words of others.
# Settings are those of the policy, where `min_p2p` is 0 by itself, and:
# `alone`: without the F2P that is as it should be, which every other task has besides its own ids.
# `due N`: policy and evidence call for N runs of each control; by themselves for as many as the policy repeats.
# `own EMPTY ORACLE`: what the task's own verifier gives. `second TASK`: what the confirmation shows.

POLICY = """
# P2P over several runs: always, sometimes, never
P2P always with, though flaky without: keep | P2P t FP PP | | clean | |
P2P always with, missing without: keep | P2P t mm PP | | clean | |
P2P sometimes with, always without: regression | P2P t PP PF | | refused | | regression P2P t
P2P one skip of three with, always without: regression | P2P t PPP PPs | | refused | | regression P2P t
P2P skipped and missing with, always without: regression | P2P t PP sm | | refused | | regression P2P t
P2P never with, sometimes without: regression | P2P t PF FF | | refused | | regression P2P t
P2P missing with, once of three without: regression | P2P t FsP mmm | | refused | | regression P2P t
P2P errors with, sometimes without, else skipped: regression | P2P t Ps EE | | refused | | regression P2P t
P2P fails with, never ran without: unobserved-before | P2P t sm FF | | refused | | unobserved-before P2P t
P2P fails once with, skips without: unobserved-before | P2P t ss sF | | refused | | unobserved-before P2P t
P2P flaky with, missing without: unobserved-before | P2P t mm PE | | refused | | unobserved-before P2P t
P2P fails with, failed once without: drop | P2P t sF sF | | repaired | failed-both P2P t |
P2P fails with, ran once without: drop | P2P t sx FF | | repaired | failed-both P2P t |
P2P skips with, missing without: drop | P2P t mm ss | | repaired | failed-both P2P t |
P2P skips at times with, always without: drop | P2P t ss Ps | | repaired | failed-both P2P t |
P2P flaky with, never without: drop | P2P t FF PF | | repaired | failed-both P2P t |
P2P flaky with and without: drop | P2P t PF FP | | repaired | flaky-both P2P t |
P2P flaky in any way with and without: drop | P2P t sPP PmF | | repaired | flaky-both P2P t |

# F2P over several runs
F2P always with, though flaky without: keep | F2P t FP PP | | clean | |
F2P always with and without: keep | F2P t PP PP | | clean | |
F2P skips with, never without: drop | F2P t FF ss | | repaired | unobserved F2P t |
F2P skips or misses with, never without: drop | F2P t mFE sms | | repaired | unobserved F2P t |
F2P skips with, sometimes without: lost | F2P t FP ss | | refused | | lost F2P t
F2P skips or misses with, once of three without: lost | F2P t FFP mss | | refused | | lost F2P t
F2P missing with, always without: lost | F2P t PP mm | | refused | | lost F2P t
F2P flaky with: failed | F2P t FF PF | | refused | | failed F2P t
F2P skips at times with: failed | F2P t FF Ps | | refused | | failed F2P t
F2P misses at times with: failed | F2P t mm Pm | | refused | | failed F2P t
F2P fails once with, else skips: failed | F2P t ss sF | | refused | | failed F2P t
F2P an expected failure once with, else skips: failed | F2P t FF sx | | refused | | failed F2P t
F2P fails with, always without: failed | F2P t PP FF | | refused | | failed F2P t

# what passes is the policy's to say
P2P xfailed with, which passes: keep | P2P t F x | passing Px | clean | |
P2P passed and xfailed by turns with: keep | P2P t PP xP | passing Px | clean | |
P2P xfailed without, fails with: regression | P2P t x F | passing Px | refused | | regression P2P t
P2P xfailed without, xpassed with: regression | P2P t xP Xx | passing Px | refused | | regression P2P t
P2P fails without, xpassed with, which does not pass: drop | P2P t F X | passing Px | repaired | failed-both P2P t |
P2P xpassed with, which passes: keep | P2P t F X | passing PX | clean | |
P2P xpassed without, xfailed with: regression | P2P t X x | passing PX | refused | | regression P2P t
P2P any expected outcome: keep | P2P t PXx xPX | passing PXx | clean | |
F2P xfailed with, which passes: keep | F2P t F x | passing Px | clean | |
F2P xfailed without, skips with: lost | F2P t x s | passing Px | refused | | lost F2P t
F2P xfailed with, where xpassed passes: failed | F2P t X x | passing PX | refused | | failed F2P t
F2P xfailed without, which does not pass: not solved | F2P t x P | alone | clean | |
F2P xfailed without, which passes: solved | F2P t x P | alone, passing Px | refused | | empty-passes 1

# groups, which are as their worst member, and hide none that would refuse
F2P group, all members pass: keep | F2P g = a F P, b F P | | clean | |
F2P group, all that are left pass: keep | F2P g = a F P, b F - | | clean | |
F2P group, none runs: drop | F2P g = a F s, b F m | | repaired | unobserved F2P g |
F2P group, none passed without and all skip with: drop | F2P g = a F s, b s s | | repaired | unobserved F2P g |
F2P group, one passed without and skips with: lost | F2P g = a s s, b P s | | refused | | lost F2P g
F2P group, one passes and one skips: mixed | F2P g = a F P, b F s | | refused | | mixed-group F2P g
F2P group, one passes and one is missing: mixed | F2P g = a F P, b F m | | refused | | mixed-group F2P g
F2P group, one passes in another run: mixed | F2P g = a FF sP, b FF ss | | refused | | mixed-group F2P g
F2P group, one is xfailed, which passes: mixed | F2P g = a F x, b F s | passing Px | refused | | mixed-group F2P g
F2P group, one is xfailed, which does not pass: failed | F2P g = a F x, b F s | | refused | | failed F2P g
F2P group, one passes and one is xfailed: failed | F2P g = a F P, b F x | | refused | | failed F2P g
F2P group, one passes and one fails: failed | F2P g = a F P, b F F | | refused | | failed F2P g
F2P group, one skips and one errs: failed | F2P g = a F s, b F E | | refused | | failed F2P g
P2P group, one passed without and fails with: regression | P2P g = a F F, b P F | | refused | | regression P2P g
P2P group, one passed without and skips with: regression | P2P g = a F F, b P s | | refused | | regression P2P g
P2P group, one passed without and is gone with: regression | P2P g = a F F, b P - | | refused | | regression P2P g
P2P group, one skipped without and fails with | P2P g = a F F, b s F | | refused | | unobserved-before P2P g
P2P group, one was not there without and errs with | P2P g = a F s, b - E | | refused | | unobserved-before P2P g
P2P group, one fails and one skips in both: drop | P2P g = a F F, b s s | | repaired | failed-both P2P g |
P2P group, one fails in both and one is fixed: drop | P2P g = a F F, b F P | | repaired | failed-both P2P g |

# ids that stand in both lists, by themselves or through a group
both lists: an id | both t F P; P2P keeps P P | alone | refused | | both-lists t
both lists: each judges it | both t F s | | refused | unobserved F2P t; failed-both P2P t | both-lists t
both lists: an F2P group and its member | F2P g = a F P, b F P; P2P a P P | | refused | | both-lists a g
both lists: a P2P group and its member | F2P a P P; P2P g = a F P, b F P | | refused | | both-lists a g
both lists: groups of the same members | F2P g = a F P, b F P; P2P h = a F P, b F P | | refused | | both-lists g h
both lists: groups that share one member | F2P g = a F P, b F P; P2P h = b P P, x P P | | refused | | both-lists g h
both lists: groups that share one without alone | F2P g = a F P, b F P; P2P h = a P -, x - P | | refused | \
| both-lists g h
both lists: one group | both g = a F P, b F P | | refused | | both-lists g
one list each: groups apart | F2P g = a F P, b F P; P2P h = c P P | | clean | |
one list: a group and its member | F2P g = a F P, b F P; F2P a P P; P2P h P P | | clean | |

# the floor counts the P2P that are kept
9 kept of 10: few | 9 P2P t P P | min_p2p 10 | refused | | few-p2p 9 10
10 kept of 10: enough | 10 P2P t P P | min_p2p 10 | clean | |
11 kept of 10: enough | 11 P2P t P P | min_p2p 10 | clean | |
0 kept of 10: few | | min_p2p 10 | refused | | few-p2p 0 10
0 kept of 1: few | | min_p2p 1 | refused | | few-p2p 0 1
0 kept of 0: enough | | | clean | |
9 kept and 2 dropped: few | 9 P2P t P P; 2 P2P u F F | min_p2p 10 | refused | failed-both P2P u0 u1 | few-p2p 9 10
10 kept and 2 dropped: enough | 10 P2P t P P; 2 P2P u F F | min_p2p 10 | repaired | failed-both P2P u0 u1 |
0 kept and 2 dropped, of 0: enough | 2 P2P u F F | | repaired | failed-both P2P u0 u1 |
one id listed twice counts once | P2P t P P; P2P t P P | min_p2p 2 | refused | | few-p2p 1 2
one test under two names counts once | P2P t = a P P; P2P u = a P P | min_p2p 2 | refused | | few-p2p 1 2

# the task as a whole
empty lists measure nothing | | alone, min_p2p 10 | refused | | no-f2p; few-p2p 0 10
P2P alone measure nothing | P2P t P P | alone | refused | | no-f2p
the last F2P is dropped | F2P t m s; P2P u P P | alone | refused | unobserved F2P t | no-f2p
all F2P pass without, in the only run: solved | F2P t P P; F2P u P P | alone | refused | | empty-passes 1
one F2P fails without: not solved | F2P t P P; F2P u F P | alone | clean | |
all F2P pass without, in one of three: solved | F2P t FPF PPP; F2P u FPP PPP | alone | refused | | empty-passes 2
each passes without, never all at once: not solved | F2P t PFF PPP; F2P u FPP PPP | alone | clean | |
all F2P pass without, in two of three: solved | F2P t PPF PPP; F2P u PPP PPP | alone | refused | | empty-passes 1,2
only a dropped F2P fails: solved | F2P t PP PP; F2P u FF ss | alone | refused | unobserved F2P u | empty-passes 1,2
a patch does not apply: the only reason | both t P !; P2P u P F | alone, min_p2p 10 | refused | | patch
all is wrong | both t P F | alone, min_p2p 9 | refused | \
| failed F2P t; regression P2P t; both-lists t; no-f2p; few-p2p 0 9

# regressions alone: the controls run again, and see all runs together
clean: not again | 10 P2P t P P | min_p2p 10, recheck 3 | clean | |
repaired: not again | P2P t F F | recheck 3 | repaired | failed-both P2P t |
one regression: again | P2P r P F | recheck 3, due 4 | refused | | regression P2P r
two regressions: again | P2P r P F; P2P s P s | recheck 3, due 4 | refused | | regression P2P r; regression P2P s
a regression that is missing with: again | P2P r P m | recheck 3, due 4 | refused | | regression P2P r
a regression and a drop: again | P2P r P F; P2P t F F | recheck 3, due 4 | refused | failed-both P2P t \
| regression P2P r
few P2P with the regression, enough if it is kept: again | 9 P2P t P P; P2P r P F | min_p2p 10, recheck 3, due 4 \
| refused | | regression P2P r; few-p2p 9 10
few P2P even then: not again | 8 P2P t P P; P2P r P F | min_p2p 10, recheck 3 | refused | \
| regression P2P r; few-p2p 8 10
few P2P without a regression: not again | 2 P2P t F F | min_p2p 1, recheck 3 | refused | failed-both P2P t0 t1 \
| few-p2p 0 1
an F2P failed too: not again | P2P r P F; F2P t F F | recheck 3 | refused | | failed F2P t; regression P2P r
an F2P is lost too: not again | P2P r P F; F2P t P s | recheck 3 | refused | | lost F2P t; regression P2P r
an F2P is dropped too: again | P2P r P F; F2P t F s | recheck 3, due 4 | refused | unobserved F2P t | regression P2P r
a P2P is unobserved-before too: not again | P2P r P F; P2P t m F | recheck 3 | refused | \
| regression P2P r; unobserved-before P2P t
an id is in both lists too: not again | P2P r P F; both t F P | recheck 3 | refused | | regression P2P r; both-lists t
a regression in both lists: not again | both t P F | recheck 3 | refused | \
| failed F2P t; regression P2P t; both-lists t
an F2P that regresses is not a P2P: not again | F2P t P F | recheck 3 | refused | | failed F2P t
no F2P at all: not again | P2P r P F | alone, recheck 2 | refused | | regression P2P r; no-f2p
no F2P is kept: not again | P2P r P F; F2P t F s | alone, recheck 2 | refused | unobserved F2P t \
| regression P2P r; no-f2p
empty passes every F2P: not again | P2P r P F; F2P t P P | alone, recheck 2 | refused | \
| regression P2P r; empty-passes 1
it passes only one: again | P2P r P F; F2P t P P; F2P u F P | alone, recheck 2, due 3 | refused | | regression P2P r
no ids: not again | | alone, recheck 2 | refused | | no-f2p
a member regresses, and so its group: again | P2P g = a P F, b P P | recheck 2, due 3 | refused | | regression P2P g
a member regresses behind one that fails: again | P2P g = a P F, b F F | recheck 2, due 3 | refused | | regression P2P g
a member never passes: not again | P2P g = a F F, b P P | recheck 2 | repaired | failed-both P2P g |
a member is unobserved-before: not again | P2P g = a m F, b F F | recheck 2 | refused | | unobserved-before P2P g
a member is an F2P too: not again | P2P g = new P F, b P P; F2P new F P | recheck 2 | refused | \
| regression P2P g; both-lists g new
a patch does not apply: not again | P2P t P ! | repeats 2, recheck 3 | refused | | patch
xfailed with, which does not pass: again | P2P t P x | recheck 1, due 2 | refused | | regression P2P t
xfailed with, which passes: not again | P2P t P x | passing Px, recheck 1 | clean | |
xpassed with, which does not pass: again | P2P t P X | passing Px, recheck 1, due 2 | refused | | regression P2P t
of two, sometimes with, always without: again | P2P t PP PF | repeats 2, recheck 3, due 5 | refused | | regression P2P t
of two, never with, sometimes without: again | P2P t PF FF | repeats 2, recheck 3, due 5 | refused | | regression P2P t
of two, flaky in both: not again | P2P t PF FP | repeats 2, recheck 3 | repaired | flaky-both P2P t |
of two, always with: not again | P2P t FP PP | repeats 2, recheck 3 | clean | |
of two, flaky with, never without: not again | P2P t FF PF | repeats 2, recheck 3 | repaired | failed-both P2P t |
of two, flaky with, skipped without: not again | P2P t ss PF | repeats 2, recheck 3 | refused | \
| unobserved-before P2P t
regressed at first and flakes now: five | P2P t PPFFF FFPPP | repeats 2, recheck 3, due 5 | repaired \
| flaky-both P2P t |
regresses in all five: five | P2P t PPPPP FFFFF | repeats 2, recheck 3, due 5 | refused | | regression P2P t
regressed later alone, when nothing asked for more: two | P2P t PPPPP PPFFF | repeats 2, recheck 3 | refused | \
| regression P2P t
a member regressed later alone: two | P2P g = a FFPPP FFFFF, b FFFFF FFFFF | repeats 2, recheck 3 | refused | \
| regression P2P g
flaked at first: two | P2P t PFPPP FPFFF | repeats 2, recheck 3 | repaired | flaky-both P2P t |
one regression, then flakes under both: drop | P2P t PFPF FPFP | recheck 3, due 4 | repaired | flaky-both P2P t |
one regression, then passes once under each: drop | P2P t PFFF FPFF | recheck 3, due 4 | repaired | flaky-both P2P t |
one regression, then flakes with alone: refuse | P2P t PPPP FPFP | recheck 3, due 4 | refused | | regression P2P t
one regression, then always passes: refuse | P2P t PPPP FPPP | recheck 3, due 4 | refused | | regression P2P t
one regression, then always fails with: refuse | P2P t PPPP FFFF | recheck 3, due 4 | refused | | regression P2P t
one regression, then always fails in both: refuse | P2P t PFFF FFFF | recheck 3, due 4 | refused | | regression P2P t
an F2P fails in a further run: refuse | P2P t PFP FPF; F2P u FFF PPF | alone, recheck 2, due 3 | refused \
| flaky-both P2P t | failed F2P u; no-f2p

# the second pair of controls
a clean second pair confirms | P2P t F F; P2P u P P | second P2P u P P | repaired | failed-both P2P t |
a second pair with a refusal does not | P2P t F F; P2P u P P | second P2P u P F | refused | failed-both P2P t \
| not-confirmed P2P u (regression)
a second pair with a further drop does not | P2P t F F; P2P u P P | second P2P u F F | refused | failed-both P2P t \
| not-confirmed P2P u (failed-both)
a second pair with a patch that does not apply does not | P2P t F F; P2P u P P | second P2P u P ! | refused \
| failed-both P2P t | not-confirmed (patch: oracle.patch: no)

# the task's own verifier
own verifier, 0 and 1: clean | P2P t P P | own 0 1 | clean | |
own verifier, 0 and 1: repaired | P2P t F F | own 0 1 | repaired | failed-both P2P t |
own verifier, nothing for both: refuse | P2P t P P | own 0 0 | refused | | own-verifier 0 0
own verifier, all for both: refuse | P2P t P P | own 1 1 | refused | | own-verifier 1 1
own verifier, the wrong way round: refuse | P2P t P P | own 1 0 | refused | | own-verifier 1 0
own verifier, a little for empty: refuse | P2P t P P | own 0.25 1 | refused | | own-verifier 0.25 1
own verifier, nearly all for oracle: refuse | P2P t P P | own 0 0.999 | refused | | own-verifier 0 0.999
own verifier, the drops stay: refuse | P2P t F F | own 0.999 0.25 | refused | failed-both P2P t \
| own-verifier 0.999 0.25
own verifier of a refused task, 0 and 1 | P2P t P F | own 0 1 | refused | | regression P2P t
own verifier of a refused task, 1 and 0: its own reason | P2P t P F | own 1 0 | refused | | regression P2P t
own verifier, not confirmed: for that alone | P2P t F F; P2P u P P | second P2P u P F, own 1 1 | refused \
| failed-both P2P t | not-confirmed P2P u (regression)
"""

CAUSES = {
    "no-f2p": "no F2P is kept: nothing would measure the change",
    "few-p2p": "{} P2P kept, the policy asks for {}",
    "empty-passes": "every kept F2P passes with nothing applied, in run {}",
    "patch": UNAPPLIED,
    "own-verifier": "empty {}, oracle {}",
}

# ---- one run: every pair of outcomes. Lines are the oracle's outcome, columns the empty control's.

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
ANSWERS = {
    "k": ("clean", "", ""),
    "d": ("repaired", "failed-both", ""),
    "u": ("repaired", "unobserved", ""),
    "R": ("refused", "", "regression"),
    "B": ("refused", "", "unobserved-before"),
    "L": ("refused", "", "lost"),
    "F": ("refused", "", "failed"),
}


def pairs() -> Iterator[tuple[str, ...]]:
    """A row of the policy for each pair of outcomes."""
    for name, matrix in PAIRS.items():
        columns, *lines = (line.split() for line in matrix.strip().splitlines())
        for oracle, *answers in lines:
            for empty, answer in zip(columns, answers, strict=True):
                verdict, dropped, reason = ANSWERS[answer]
                words = f"{name} {LETTERS[empty]} without, {LETTERS[oracle]} with: {dropped or reason or 'keep'}"
                told = (f"{rule} {name} t" if rule else "" for rule in (dropped, reason))
                yield words, f"{name} t {empty} {oracle}", "", verdict, *told


def rows() -> list[tuple[str, ...]]:
    lines = [line for line in POLICY.splitlines() if line and not line.startswith("#")]
    return [*pairs(), *(tuple(cell.strip() for cell in line.split("|")) for line in lines)]


def policy_of(settings: dict[str, str]) -> Policy:
    numbers = {name: int(settings.get(name, default)) for name, default in DEFAULTS.items()}
    return Policy(passing=frozenset(runs(settings.get("passing", "P"))), **numbers)


DEFAULTS = {"min_p2p": 0, "repeats": 1, "recheck": 0}


def decided(seen: Table, policy: Policy, settings: dict[str, str]) -> Decision:
    """The rule's last word, after a confirmation and the own verifier where there are such."""
    second = table_of(settings["second"]) if "second" in settings else None
    evidence = Evidence("t", "0", Image("sha256:image"), (), (), seen, confirm_table=second)
    if "own" in settings:
        empty, oracle = map(float, settings["own"].split())
        evidence = replace(evidence, verifier=(empty, oracle))
    return rules.final_decision(evidence, policy)


def spelt_out(cell: str) -> list[str]:
    """The findings of a cell, those of the task as a whole with their words."""
    findings = []
    for finding in filter(None, map(str.strip, cell.split(";"))):
        rule, *rest = finding.split()
        cause = CAUSES.get(rule, "").format(*(number.replace(",", ", ") for number in rest))
        findings.append(f"{rule} ({cause})" if cause else finding)
    return findings


@pytest.mark.parametrize(
    ("task", "settings", "verdict", "dropped", "reasons"), [pytest.param(*cells, id=words) for words, *cells in rows()]
)
def test_the_policy(task: str, settings: str, verdict: str, dropped: str, reasons: str) -> None:
    given = {name: value for name, _, value in (setting.strip().partition(" ") for setting in settings.split(","))}
    policy, seen = policy_of(given), table_of(task, measured="alone" not in given)
    decision = decided(seen, policy, given)
    assert (told(decision.dropped), told(decision.reasons)) == (spelt_out(dropped), spelt_out(reasons))
    assert decision.verdict == verdict
    # an id is kept where nothing is said of it; what the second pair shows does not change what the first one kept
    first = [*decision.dropped, *(reason for reason in decision.reasons if reason.rule is not Rule.NOT_CONFIRMED)]
    for name, kept in ((F2P, decision.kept_f2p), (P2P, decision.kept_p2p)):
        gone = {test for finding in first if finding.list is name for test in finding.ids}
        assert kept == tuple(row.id for row in seen.rows if name in row.lists and row.id not in gone)
    assert rules.runs_due(seen, policy) == int(given.get("due", policy.repeats))
    assert rules.runs_due(seen, replace(policy, recheck=0)) == policy.repeats


def test_the_pairs_are_all_there_are() -> None:
    assert set(LETTERS.values()) == set(Outcome)
    assert len(list(pairs())) == len(ListName) * len(Outcome) ** 2


def test_the_floor_is_ten_by_default() -> None:
    assert rules.decide(table_of("10 P2P t P P"), Policy()).verdict is Verdict.CLEAN
    assert rules.decide(table_of("9 P2P t P P"), Policy()).verdict is Verdict.REFUSED


def test_an_id_without_an_outcome_is_never_judged() -> None:
    with pytest.raises(ValueError, match="lonely has no outcome"):
        rules.decide(Table((Row("lonely", frozenset({P2P}), (), (Outcome.PASSED,)),)), Policy())


@pytest.mark.parametrize("verdict", Verdict)
def test_a_gate_admits_all_but_refused_tasks(verdict: Verdict) -> None:
    assert rules.admits(verdict) is (verdict is not Verdict.REFUSED)
