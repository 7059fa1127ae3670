"""Tasks and policies as hypothesis makes them, the same in every run: mostly of ids that a repair keeps or drops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from hypothesis import settings
from hypothesis import strategies as st

from repair import rules, table
from repair.model import Decision, Observed, Outcome, Policy, Run, Table, worst

repeatable = settings(derandomize=True, deadline=None, max_examples=200)


@dataclass(frozen=True)
class Case:
    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    empty: tuple[Run, ...]
    oracle: tuple[Run, ...]

    @property
    def table(self) -> Table:
        return table.build(self.f2p, self.p2p, self.empty, self.oracle)

    def without(self, ids: set[str]) -> Case:
        """The same runs, with these ids in neither list."""
        f2p, p2p = (tuple(test for test in listed if test not in ids) for listed in (self.f2p, self.p2p))
        return replace(self, f2p=f2p, p2p=p2p)

    def measuring(self) -> Case:
        """The same task with one F2P more, that is as it should be."""

        def seeing(runs: tuple[Run, ...], outcome: Outcome) -> tuple[Run, ...]:
            return tuple(replace(run, observed={**run.observed, "measures": Observed(outcome)}) for run in runs)

        empty, oracle = seeing(self.empty, Outcome.FAILED), seeing(self.oracle, Outcome.PASSED)
        return Case((*self.f2p, "measures"), self.p2p, empty, oracle)


ABSENT, FAILS = (Outcome.SKIPPED, Outcome.MISSING), (*Outcome, Outcome.FAILED, Outcome.FAILED)
FLAKY = (Outcome.PASSED, Outcome.FAILED)
KINDS: list[tuple[tuple[Outcome, ...], tuple[Outcome, ...]]] = [
    (FAILS, (Outcome.PASSED,)),
    (FAILS, (Outcome.PASSED,)),
    (ABSENT, ABSENT),
    (FLAKY, FLAKY),
    (FAILS, (Outcome.PASSED, Outcome.SKIPPED)),
    (FLAKY, ABSENT),
    (ABSENT, FLAKY),
    (tuple(Outcome), tuple(Outcome)),
]
MEMBERS = [*[()] * 6, ("m1", "m2"), ("m2", "m3"), ("m4",)]


@st.composite
def cases(draw: st.DrawFn, most_runs: int = 3) -> Case:
    """Up to six ids, some of them listed twice, in both lists, or groups. Few draws: they are what takes time."""
    number = draw(st.integers(1, most_runs))
    f2p, p2p = [], []
    controls: tuple[list[dict[str, Observed]], ...] = ([{} for _ in range(number)], [{} for _ in range(number)])
    for n in range(draw(st.sampled_from([0, 1, *range(2, 7), *range(4, 7)]))):
        home, kind = draw(st.sampled_from(["f", "ff", "p", "p", "pp", "p", "f", "fp"])), draw(st.sampled_from(KINDS))
        f2p += [f"t{n}"] * home.count("f")
        p2p += [f"t{n}"] * home.count("p")
        members = draw(st.sampled_from(MEMBERS))
        for runs, allowed in zip(controls, kind, strict=True):
            every_run = st.sampled_from(list(product(allowed, repeat=number)))
            found = [draw(every_run) for _ in members or ("itself",)]
            for run, outcomes in zip(runs, zip(*found, strict=True), strict=True):
                below = dict(zip(members, outcomes, strict=True)) if members else {}
                run[f"t{n}"] = Observed(worst(outcomes), outcomes[0][:1], below)
    empty, oracle = (tuple(Run("sha256:image", 0, run) for run in runs) for runs in controls)
    return Case(tuple(f2p), tuple(p2p), empty, oracle)


policies = st.builds(
    lambda floor, more: Policy(floor, frozenset({Outcome.PASSED, *more})),
    st.integers(0, 3),
    st.sets(st.sampled_from([Outcome.XFAILED, Outcome.XPASSED])),
)


def forgiven(case: Case, policy: Policy) -> tuple[Case, Policy, Decision]:
    """The case without what refuses it: without the ids, with a floor that it meets, with an F2P where it needs one."""
    bad = {test for finding in rules.decide(case.table, policy).reasons for test in finding.ids}
    case, policy = case.without(bad), replace(policy, min_p2p=0)
    if rules.decide(case.table, policy).reasons:
        case = case.measuring()
    return case, policy, rules.decide(case.table, policy)
