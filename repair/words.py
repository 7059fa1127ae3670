"""The words for verdicts, records, outcomes, rules and reasons: the same in every table, report and message."""

from __future__ import annotations

from types import MappingProxyType

from repair.model import Outcome, Rule, Verdict

# What is true of dropped ids: why both controls agree that they are noise.
DROPS = {
    Rule.FAILED_BOTH: "never a stable pass, with or without the reference",
    Rule.FLAKY_BOTH: "pass and fail by turns, with and without the reference",
    Rule.UNOBSERVED: "skipped or missing with the reference, and never passing without",
}

# What is true of a refused task or of some of its ids.
REASONS = {
    Rule.REGRESSION: "pass without the reference and not with it",
    Rule.UNOBSERVED_BEFORE: "fail with the reference and did not run without it",
    Rule.LOST: "pass without the reference and are skipped or missing with it",
    Rule.FAILED: "do not pass with the reference",
    Rule.MIXED_GROUP: "name a group of which only some members run: list the members",
    Rule.BOTH_LISTS: "stand in both lists",
    Rule.NO_F2P: "no F2P is left",
    Rule.FEW_P2P: "too few P2P are left",
    Rule.EMPTY_PASSES: "all F2P pass with nothing applied",
    Rule.PATCH: "a patch does not apply to the image",
    Rule.NOT_CONFIRMED: "the second pair of controls did not confirm the repair",
    Rule.OWN_VERIFIER: "its own verifier does not give empty 0 and oracle 1",
}

# The word for a task without a record, such as a task whose turn in `repair run` did not come.
NOT_RUN = "not run"

# The word for a task: its verdict where its record is sound, else what is wrong with the record.
STATES = MappingProxyType(
    {
        str(Verdict.CLEAN): "both controls agree with the lists as they are",
        str(Verdict.REPAIRED): "ids were dropped, and a second pair of controls confirmed what is left",
        str(Verdict.REFUSED): "the evidence is against the task, or ambiguous",
        "stale": "the task, its patches or the policy changed since its record was written",
        "edited": "its record is not as it was written",
        "inconsistent": "its record cannot be read, or is not the evidence that task and policy call for",
        NOT_RUN: "it has no record",
    }
)

# One letter per outcome, for grids: the letters of pytest's short summary, as capitals where case has no meaning.
LETTERS = MappingProxyType(
    {
        Outcome.PASSED: "P",
        Outcome.XPASSED: "X",
        Outcome.XFAILED: "x",
        Outcome.SKIPPED: "S",
        Outcome.MISSING: "M",
        Outcome.ERROR: "E",
        Outcome.FAILED: "F",
    }
)
NO_OUTCOME = "-"

# What each outcome means.
OUTCOMES = MappingProxyType(
    {
        Outcome.PASSED: "passed",
        Outcome.XPASSED: "passed, though marked as an expected failure",
        Outcome.XFAILED: "failed, as it is marked to",
        Outcome.SKIPPED: "skipped",
        Outcome.MISSING: "in no report",
        Outcome.ERROR: "broke outside its own body, or ended the run",
        Outcome.FAILED: "failed",
    }
)

GATE_MET, GATE_NOT_MET = "gate met", "gate not met"
DROPPED, REFUSED, FLAKY = "dropped", "refused for", "flaky"

# The classes into which `repair mint` sorts tests, and what is true of the tests in each.
DERIVED = {
    "F2P": "pass with the reference and never without",
    "P2P": "pass with and without the reference",
    "flaky": "pass and fail by turns",
    "unstable": "came out otherwise when the lists ran by themselves",
    "lost": "pass without the reference and never with it",
    "never": "pass in no run",
    "changing": "have ids that change from run to run",
    "unlistable": "have ids that no list can hold",
}


def of(rule: Rule) -> str:
    """The words for a rule."""
    return DROPS.get(rule) or REASONS[rule]
