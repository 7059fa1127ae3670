"""What `repair probe` shows: a table and the kind of each test, as text for people or as a document for `--json`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import Any

from repair.controls.session import Done
from repair.mint.probe import Failure, Probed, Subject
from repair.mint.steadiness import CONDITIONS, Conditions, Judged, Kind, Need, Network, Place
from repair.model import ControlKind, ListName, Outcome, worst
from repair.report import terminal
from repair.report.run import error_document, failure_code
from repair.text import capped, number, printable

SHOWN = 5  # causes of one test, and kinds of failure
HEAD = ("test", "control", "alone", "alone+net", "suite", "suite+net", "kind")
EACH = len(Place) * len(Network)  # cells of one control
NOT_RUN, UNSEEN = "-", "unobserved"

WORDS = MappingProxyType(
    {
        Kind.P2P: "passes in every run, with and without the reference",
        Kind.F2P: "passes in every run with the reference and in none without",
        Kind.LOST: "passes in every run without the reference and in none with it",
        Kind.NEVER: "passes in no run",
        Kind.MISSING: "is in no run's report",
        Kind.FLAKY: "the same conditions give different outcomes",
        Kind.ORDER: "comes out otherwise alone than in the suite, each time",
        Kind.NETWORK: "comes out otherwise with a network than without, each time",
        Kind.ORDER_AND_NETWORK: "comes out otherwise alone than in the suite, and with a network than without",
        Kind.UNOBSERVED: "too little could be observed",
    }
)
NEEDS = MappingProxyType(
    {
        Need.NEIGHBOURS: 'it leans on tests that run before it: list these too (or set select = "files"), or mend it',
        Need.SOLITUDE: "tests that run before it spoil it: find and mend these, or take it off the lists",
        Need.NETWORK: 'put what it fetches into the image, or set network = "bridge"',
        Need.NO_NETWORK: 'set network = "none", or take it off the lists',
    }
)
ADVICE = MappingProxyType(
    {
        Kind.LOST: "the reference breaks it: mend the reference; a task that lists it is refused",
        Kind.NEVER: "mend the image by its cause; `repair run` drops it from PASS_TO_PASS only",
        Kind.MISSING: "mend the id by its cause, or take it off the lists",
        Kind.FLAKY: "quarantine it: take it off the lists, or make it deterministic in the image",
        Kind.UNOBSERVED: "mend what kept it from being observed, then probe again",
    }
)
BELONGS = MappingProxyType({Kind.F2P: ListName.F2P, Kind.P2P: ListName.P2P})


def exit_code(result: Done[Probed]) -> int:
    """The exit status of a probe: 0 where every run was observed."""
    failures = () if result.value is None else result.value.failures
    return failure_code([result.error, *(failure.error for failure in failures)])


# ---- for people


def text(result: Done[Probed], width: int | None) -> str:
    """The table, then what it says of each test; empty where nothing was observed.

    `width`: columns; None, for a pipe, cuts nothing.
    """
    probed = result.value
    if probed is None:
        return ""
    paragraphs = [f"\n{_said(test, result.task.network)}" for test in probed.tests]
    return f"{_table(probed, width)}\n{_legend(probed)}{''.join(paragraphs)}"


def _table(found: Probed, width: int | None) -> str:
    """A row per test and control. Where the terminal is too narrow, each test has a line above its rows."""
    rows = [_row(test, control, found.passing) for test in found.tests for control in ControlKind]
    wide = terminal.table(HEAD, rows, None)
    if width is None or all(terminal.columns(line) <= width for line in wide.splitlines()):
        return wide
    head, *cells = terminal.table(HEAD[1:], [row[1:] for row in rows], None).splitlines()
    lines = [f"  {head}"]
    for row, line in zip(rows, cells, strict=True):
        above = [row[0]] * (row[1] == next(iter(ControlKind)))
        lines += [*above, f"  {line}"]
    return "".join(f"{cut_in_the_middle(line, width)}\n" for line in lines)


def cut_in_the_middle(text: str, width: int) -> str:
    """`text` in at most `width` columns, with its beginning and its end: the end of an id tells it from similar ids."""
    if terminal.columns(text) <= width:
        return text
    end = len(text)
    while terminal.columns(text[end - 1 :]) <= width // 2:
        end -= 1
    return terminal.cut(text, width - terminal.columns(text[end:])) + text[end:]


def _row(test: Subject, control: ControlKind, passing: frozenset[Outcome]) -> tuple[str, ...]:
    cells = [_cell(test, where, passing) for where in CONDITIONS if where.control is control]
    return (printable(test.id), control, *cells, test.judged.kind)


def _cell(test: Subject, where: Conditions, passing: frozenset[Outcome]) -> str:
    if where not in test.outcomes:
        return NOT_RUN
    outcomes = test.outcomes[where]
    bad = tuple(outcome for outcome in outcomes if outcome not in passing)
    rate = f"{len(outcomes) - len(bad)}/{len(outcomes)}"
    return (f"{rate} {worst(bad)}" if bad else rate) if outcomes else UNSEEN


def _legend(found: Probed) -> str:
    lines = [
        f"each cell: in how many of {found.repeats} runs it passed, and the worst outcome of the others",
        '+net: with network = "bridge"',
    ]
    if not found.alone:
        lines.append("-: no test of this task can be run alone, since its test command decides what runs")
    return "".join(f"{line}\n" for line in lines)


def _said(test: Subject, network: str) -> str:
    """One test: its kind in words, why it does not pass, and what to do."""
    judged = test.judged
    listed = f" ({', '.join(test.lists)})" if test.lists else " (not listed)"
    lines = [f"{test.id}{listed}", f"  {judged.kind}: {WORDS[judged.kind]}"]
    if judged.mixed:
        lines.append(f"  seen in: {_columns(judged.mixed)}")
    lines += [f"  cause: {cause}" for cause in _causes(test)]
    lines += [f"  not told: whether {question} matters" for question in judged.untold]
    lines += [f"  → {line}" for line in _advice(test, network)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _columns(where: Collection[Conditions]) -> str:
    """Cells by the names of their rows and columns, such as `both: suite, suite+net` or `empty: all`."""
    names: dict[str, list[str]] = {}
    for control in ControlKind:
        cells = [cell.column for cell in where if cell.control is control]
        columns = "all" if len(cells) == EACH else ", ".join(cells)
        names.setdefault(columns, []).append(control)
    return "; ".join(f"{'both' if len(rows) > 1 else rows[0]}: {columns}" for columns, rows in names.items() if columns)


def _causes(test: Subject) -> list[str]:
    """Why a test does not pass: each cause once, with the cells that gave it."""
    places: dict[str, list[Conditions]] = {}
    for where in CONDITIONS:
        if test.causes.get(where):
            places.setdefault(test.causes[where], []).append(where)
    lines = [f"{cause} [{_columns(given)}]" for cause, given in places.items()]
    return capped(lines, SHOWN)


def _advice(test: Subject, network: str) -> list[str]:
    judged = test.judged
    if judged.needs:
        return [_need(need, network) for need in judged.needs]
    if judged.kind is Kind.FLAKY:
        return [ADVICE[Kind.FLAKY], *_look_first(judged)]
    belongs = BELONGS.get(judged.kind)
    if belongs is None:
        return [ADVICE[judged.kind]]
    still = "it holds still" + " as far as was observed" * bool(judged.untold)
    if not test.lists:
        return [f"{still}, and would be an id for {belongs}"]
    return [f"{still}, and {'stands where it belongs' if test.lists == (belongs,) else f'belongs in {belongs}'}"]


def _need(need: Need, network: str) -> str:
    wanted = {Need.NETWORK: Network.BRIDGE, Need.NO_NETWORK: Network.NONE}.get(need)
    return NEEDS[need] if wanted != network else NEEDS[need].replace("set network", "keep network")


def _look_first(judged: Judged) -> list[str]:
    """Where to look for the cause of a flaky test, where it is flaky under some conditions only."""
    hints = []
    if all(where.place is Place.SUITE for where in judged.mixed) and "order" not in judged.untold:
        hints.append("it held still alone: look for tests beside it, or for an order that changes")
    if all(where.network is Network.BRIDGE for where in judged.mixed) and "network" not in judged.untold:
        hints.append('it held still without a network: keep network = "none", or put what it fetches into the image')
    return hints


def failures_text(result: Done[Probed]) -> str:
    """What could not be observed, and why: the task as a whole, or some of its runs."""
    if result.error is not None:
        return printable(f"{result.error.kind}: {result.task.instance_id} could not be probed: {result.error}") + "\n"
    alike = _alike(() if result.value is None else result.value.failures)
    lines = [
        f"{failures[0].error.kind}: {number(len(failures), 'run')} could not be observed "
        f"[{_columns([where for where in CONDITIONS if where in {failure.where for failure in failures}])}]: "
        f"{failures[0].error}"
        for failures in alike[:SHOWN]
    ]
    if len(alike) > SHOWN:
        lines.append(f"and {number(sum(map(len, alike[SHOWN:])), 'run')} more, for other reasons")
    return "".join(f"{printable(line)}\n" for line in lines)


def _alike(failures: Iterable[Failure]) -> list[list[Failure]]:
    """Failures by kind and message, the largest group first."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.error.kind, str(failure.error)), []).append(failure)
    return sorted(groups.values(), key=len, reverse=True)


# ---- for programs


def document(result: Done[Probed], code: int) -> dict[str, Any]:
    """A probe as one JSON object: outcomes by control, place and network; null where these cannot be arranged."""
    content: dict[str, Any] = {"exit": code, "instance_id": result.task.instance_id}
    if result.error is not None:
        content["error"] = error_document(result.error)
    probed = result.value
    if probed is None:
        return content
    return content | {
        "image": probed.image.id,
        "repeats": probed.repeats,
        "tests": [_document(test) for test in probed.tests],
        "unobserved": [
            {**_spot(group[0].where), "runs": len(group), **error_document(group[0].error)}
            for where in CONDITIONS
            for group in _alike(failure for failure in probed.failures if failure.where == where)
        ],
    }


def _spot(where: Conditions) -> dict[str, str]:
    return {"control": where.control, "place": where.place, "network": where.network}


def _document(test: Subject) -> dict[str, Any]:
    judged = test.judged
    return {
        "id": test.id,
        "lists": list(test.lists),
        "kind": judged.kind,
        "needs": list(judged.needs),
        "mixed": [_spot(where) for where in judged.mixed],
        "untold": list(judged.untold),
        "outcomes": {
            control: {
                place: {network: _seen(test, Conditions(control, place, network)) for network in Network}
                for place in Place
            }
            for control in ControlKind
        },
    }


def _seen(test: Subject, where: Conditions) -> dict[str, Any] | None:
    if where not in test.outcomes:
        return None
    return {"runs": list(test.outcomes[where]), "cause": test.causes[where]}
