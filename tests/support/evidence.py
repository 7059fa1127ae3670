"""Evidence made without an engine: the golden cases of both documents, and the documents that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from repair import rules, table
from repair.model import Evidence, Image, Inputs, Observed, Outcome, Policy, Run
from repair.records.documents import outcomes_json, repair_json
from repair.text import sha256

INPUTS = Inputs("a" * 64, None, "b" * 64, "c" * 64)
IMAGE = Image("sha256:" + "1" * 64, None, "linux/amd64")
PASSED = Observed(Outcome.PASSED)
FAILED = Observed(Outcome.FAILED, "AssertionError at calc.py:2")
SKIPPED = Observed(Outcome.SKIPPED, "could not import 'lxml': No module named 'lxml'")
GONE = Observed(Outcome.MISSING, "tests/test_meta.py: ModuleNotFoundError: No module named 'pretend'")


def run(observed: Mapping[str, Observed], exit: int | None = 0, **more: Any) -> Run:  # noqa: A002 - the field's name
    return Run(IMAGE.id, exit, observed, **more)


def evidence(
    f2p: list[str],
    p2p: list[str],
    empty: list[Run],
    oracle: list[Run],
    confirm: tuple[list[str], list[str], list[Run], list[Run]] | None = None,
    image: Image = IMAGE,
) -> Evidence:
    found = Evidence("calc-1", "0.1.0", image, tuple(empty), tuple(oracle), table.build(f2p, p2p, empty, oracle))
    if confirm is None:
        return found
    kept_f2p, kept_p2p, again_empty, again_oracle = confirm
    return replace(
        found,
        confirm_empty=tuple(again_empty),
        confirm_oracle=tuple(again_oracle),
        confirm_table=table.build(kept_f2p, kept_p2p, again_empty, again_oracle),
    )


def _clean() -> Evidence:
    return evidence(["f"], ["p", "q"], [run({"f": FAILED, "p": PASSED, "q": PASSED}, 1)], [run(_all("f", "p", "q"))])


def _all(*ids: str) -> dict[str, Observed]:
    return dict.fromkeys(ids, PASSED)


def _repaired() -> Evidence:
    """Two repeats, a group, drops of every rule, several causes, ids of every alphabet."""
    group = Observed(Outcome.SKIPPED, SKIPPED.cause, {"t.py::g[1]": Outcome.PASSED, "t.py::g[2]": Outcome.SKIPPED})
    both = {
        "t.py::g": group,
        "t.py::naïve[\u202e\U0001f40d\x7f]": SKIPPED,
        "meta.py::a": GONE,
        "meta.py::b": GONE,
        "t.py::f2[lxml]": SKIPPED,
        "t.py::p": PASSED,
    }
    first = run({**both, "t.py::f": FAILED, "t.py::flaky": PASSED}, 1, flags=("exit status 1 although no test failed",))
    second = run({**both, "t.py::f": FAILED, "t.py::flaky": FAILED}, 1)
    after = {**both, "t.py::f": PASSED}
    return evidence(
        ["t.py::f", "t.py::f2[lxml]"],
        ["t.py::p", "t.py::g", "t.py::naïve[\u202e\U0001f40d\x7f]", "meta.py::b", "meta.py::a", "t.py::flaky"],
        [first, second],
        [run({**after, "t.py::flaky": FAILED}, 1), run({**after, "t.py::flaky": PASSED}, deadly=("t.py::slow",))],
        (
            ["t.py::f"],
            ["t.py::p"],
            [run({"t.py::f": FAILED, "t.py::p": PASSED}, 1)] * 2,
            [run(_all("t.py::f", "t.py::p"))] * 2,
        ),
        replace(IMAGE, digest="registry.example/calc@sha256:" + "2" * 64, platform="linux/arm64"),
    )


def _refused() -> Evidence:
    """A regression, a failing F2P, and a drop that is recorded all the same."""
    return evidence(
        ["f", "g"],
        ["p", "q"],
        [run({"f": FAILED, "g": FAILED, "p": PASSED, "q": GONE}, 1)],
        [run({"f": FAILED, "g": PASSED, "p": SKIPPED, "q": GONE}, 1)],
    )


def _patch_refused() -> Evidence:
    said = "oracle.patch: calc.py: patch does not apply"
    return evidence(["f"], ["p"], [run({"f": FAILED, "p": PASSED}, 1)], [run({}, None, patch=said)])


def _not_confirmed() -> Evidence:
    before = run({"f": FAILED, "p": PASSED, "q": GONE}, 1)
    again = run({"f": FAILED, "p": PASSED}, 1)
    return evidence(
        ["f"],
        ["p", "q"],
        [before],
        [run({"f": PASSED, "p": PASSED, "q": GONE})],
        (["f"], ["p"], [again], [run({"f": PASSED, "p": FAILED}, 1)]),
    )


CASES: dict[str, Callable[[], Evidence]] = {
    "clean": _clean,
    "repaired": _repaired,
    "refused": _refused,
    "patch-refused": _patch_refused,
    "not-confirmed": _not_confirmed,
}


def policy(case: str) -> Policy:
    return Policy(min_p2p=0, repeats=2 if case == "repaired" else 1)


def documents(case: str) -> dict[str, bytes]:
    found = CASES[case]()
    outcomes = outcomes_json(found)
    record = repair_json(rules.repair_of(found, INPUTS, policy(case)), sha256(outcomes))
    return {f"{case}.repair.json": record, f"{case}.outcomes.json": outcomes}


def without_observed(found: Evidence) -> Evidence:
    """Evidence as outcomes.json holds it: what a run observed is in the table."""

    def bare(runs: tuple[Run, ...]) -> tuple[Run, ...]:
        return tuple(replace(run, observed={}) for run in runs)

    return replace(
        found,
        empty=bare(found.empty),
        oracle=bare(found.oracle),
        confirm_empty=bare(found.confirm_empty),
        confirm_oracle=bare(found.confirm_oracle),
    )


def clean(own: tuple[float, float] | None = None, template: tuple[str, ...] = ()) -> Evidence:
    """A clean task's evidence."""
    passed, failed = Observed(Outcome.PASSED), Observed(Outcome.FAILED, "KeyError")
    empty = run({"f": failed, "p": passed}, 1, template=template)
    oracle = run({"f": passed, "p": passed}, template=template)
    seen = table.build(["f"], ["p"], [empty], [oracle])
    return Evidence("calc-1", "0.1.0", Image("sha256:1"), (empty,), (oracle,), seen, verifier=own)
