"""The pytest plugin's record: event lines to what happened in one run, whole or cut short.

Pure. `repair/controls/inside/repair_pytest.py` says what the events are. Records come out of a stranger's container: a
line that is no event of ours makes the record damaged, and a damaged record is no evidence.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from repair.model import Observed, Outcome, worst
from repair.text import clean, first_line, normalise

MAIN = "main"
MAX_LINE = 16 << 20  # bytes of one event
MAX_EVENTS = 4_000_000  # of all processes
MAX_BYTES = 256 << 20  # of their lines; of the ids of groups as many characters


@dataclass(frozen=True, slots=True)
class Item:
    """A collected test: the other form of its id (or None), and the ids of the groups that hold it."""

    other: str | None
    groups: tuple[str, ...]


@dataclass(slots=True)
class Record:
    """What one run's events say, over all its processes.

    `open` are tests that began and did not end, `end` the session's own exit status (None where it never finished),
    `broken` the collectors that failed or skipped, by id or path, each with what is observed of all below.
    """

    items: dict[str, Item] = field(default_factory=dict)
    outcomes: dict[str, Observed] = field(default_factory=dict)
    late_skips: set[str] = field(default_factory=set)
    broken: dict[str, Observed] = field(default_factory=dict)
    nofile: set[str] = field(default_factory=set)
    open: tuple[str, ...] = ()
    started: int = 0
    chosen: int = 0
    session: bool = False
    end: int | None = None
    internal: str = ""
    damaged: str = ""
    workers_differ: bool = False
    last: str = ""


Report = tuple[str, str, bool, str]  # when, outcome, xfail, cause


def read(records: Mapping[str, Iterable[bytes]]) -> Record:
    """Read the event lines of every process of one run, by worker name; `main` is pytest's own process.

    A last line without its end is what a killed process leaves, and is passed over.
    """
    reader = _Reader()
    for worker in sorted(records, key=lambda name: (name == MAIN, name)):  # main's crash reports need workers' names
        reader.process(worker, records[worker])
    return reader.finish()


class _Reader:
    """Collects the events of all processes; a method an event kind, whose arguments are the event's."""

    def __init__(self) -> None:
        self.record = Record()
        self.reports: dict[str, list[Report]] = {}
        self.names: dict[str, str] = {}  # node id as pytest reports it -> id
        self.running: set[str] = set()
        self.collected: dict[str, list[str]] = {}
        self.worker = ""
        self.events = self.size = self.grouped = 0

    def process(self, worker: str, lines: Iterable[bytes]) -> None:
        self.worker = worker
        self.collected[worker] = []
        for line in _bounded(lines):
            self.events += 1
            self.size += len(line)
            if len(line) > MAX_LINE or self.events > MAX_EVENTS or self.size > MAX_BYTES:
                self.record.damaged = self.record.damaged or f"{worker}: larger than what the plugin writes"
                break
            if not line.endswith(b"\n"):
                break
            try:
                kind, *rest = json.loads(line)
                method, types = _EVENTS[kind]
                if len(rest) != len(types) or not all(map(_is, rest, types)):
                    raise ValueError(kind)
                method(self, *(clean(value) if isinstance(value, str) else value for value in rest))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                shown = normalise(line[:200].decode("utf-8", "replace"))
                self.record.damaged = self.record.damaged or f"{worker}: {shown}"

    def finish(self) -> Record:
        record = self.record
        for test, reports in self.reports.items():
            record.outcomes[test] = found = _outcome(reports)
            if found.outcome is Outcome.PASSED and any(w == "teardown" and o == "skipped" for w, o, *_ in reports):
                record.late_skips.add(test)
        workers = [sorted(tests) for name, tests in self.collected.items() if name != MAIN]
        record.workers_differ = any(tests != workers[0] for tests in workers[1:])
        crashed = {test for test, reports in self.reports.items() if any(when == "???" for when, *_ in reports)}
        record.open = tuple(sorted(self.running - crashed))
        return record

    def start(self, version: str) -> None:
        pass

    def root(self, *_: str) -> None:
        self.record.session = True

    def nofile(self, path: str) -> None:
        self.record.nofile.add(path)

    def conftest(self, directory: str, path: str, text: str) -> None:
        self.record.broken[directory] = Observed(Outcome.MISSING, normalise(f"{path}: {text}"))

    def collect(self, where: str, outcome: str, text: str) -> None:
        if outcome == "skipped":
            self.record.broken[where] = Observed(Outcome.SKIPPED, normalise(text.removeprefix("Skipped: ")))
        elif outcome == "failed":
            self.record.broken[where] = Observed(Outcome.MISSING, of_collection(where, text))
        else:
            raise ValueError(outcome)

    def item(self, test: str, other: str | None, lengths: list[int]) -> None:
        if not all(_is(length, int) and 0 < length < len(test) for length in lengths):
            raise ValueError(test)
        self.grouped += len(lengths) * max(len(test), len(other or ""))
        if self.grouped > MAX_BYTES:
            raise ValueError(test)
        self.record.items[test] = _item(test, other, lengths)
        self.collected[self.worker].append(test)

    def chosen(self, count: int) -> None:
        self.record.chosen = max(self.record.chosen, count)

    def run(self, test: str, node_id: str | None) -> None:
        self.names[node_id or test] = test
        self.running.add(test)
        self.record.started += 1
        self.record.last = test

    def report(self, test: str, when: str, outcome: str, xfail: bool, cause: str) -> None:
        # a crash is told under pytest's own name of a test, which may be another test's id
        name = test if test in self.record.items and when != "???" else self.names.get(test, test)
        self.reports.setdefault(name, []).append((when, outcome, xfail, cause))

    def done(self, test: str) -> None:
        self.running.discard(test)

    def internal(self, text: str) -> None:
        self.record.internal = text

    def end(self, status: int) -> None:
        if self.worker == MAIN:
            self.record.end = status


_MAYBE = (str, type(None))

# Each event's method and the types of its arguments.
_EVENTS: dict[str, tuple[Callable[..., None], tuple[type | tuple[type, ...], ...]]] = {
    "start": (_Reader.start, (str,)),
    "root": (_Reader.root, (str, str)),
    "nofile": (_Reader.nofile, (str,)),
    "conftest": (_Reader.conftest, (str, str, str)),
    "collect": (_Reader.collect, (str, str, str)),
    "item": (_Reader.item, (str, _MAYBE, list)),
    "chosen": (_Reader.chosen, (int,)),
    "run": (_Reader.run, (str, _MAYBE)),
    "report": (_Reader.report, (str, str, str, bool, str)),
    "done": (_Reader.done, (str,)),
    "internal": (_Reader.internal, (str,)),
    "end": (_Reader.end, (int,)),
}


def _bounded(lines: Iterable[bytes]) -> Iterable[bytes]:
    """The lines of a stream, of one that is too long only as much as tells that it is."""
    return iter(partial(lines.readline, MAX_LINE + 1), b"") if isinstance(lines, io.BufferedIOBase) else lines


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    """Is a value of a type, a bool being no number?"""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _item(test: str, other: str | None, lengths: list[int]) -> Item:
    shift = len(other) - len(test) if other else 0
    groups = [test[:length] for length in lengths]
    if other:
        groups += [other[: length + shift] for length in lengths if length + shift > 0]
    return Item(other, tuple(groups))


def _outcome(reports: list[Report]) -> Observed:
    """The worst of one id's reports (when, outcome, xfail, cause), as pytest itself would count them.

    A failed call or subtest is `failed` though teardown also errs; a failed setup or teardown and a worker's crash
    are `error`. A rerun's earlier attempts do not count, and a skip in teardown leaves a pass a pass.
    """
    found: list[Observed] = []
    for when, outcome, xfail, cause in reports:
        match outcome:
            case "failed":
                found.append(Observed(Outcome.FAILED if when == "call" else Outcome.ERROR, normalise(cause)))
            case "skipped" if xfail:
                found.append(Observed(Outcome.XFAILED, normalise(cause)))
            case "skipped" if when != "teardown":
                found.append(Observed(Outcome.SKIPPED, normalise(cause.removeprefix("Skipped: "))))
            case "passed" if when == "call":
                found.append(Observed(Outcome.XPASSED if xfail else Outcome.PASSED))
            case _:
                pass
    outcome_ = worst(tuple(one.outcome for one in found))
    return Observed(outcome_, min((one.cause for one in found if one.outcome is outcome_), default=""))


def of_collection(where: str, text: str) -> str:
    """The cause of a collector that failed: `where: ExceptionType: message`, read from pytest's long text.

    pytest prefixes the lines of an exception with `E`; of a chain the last one is what was raised.
    """
    raised = [line[1:].strip() for line in text.splitlines() if re.match(r"E {1,3}[^ ]", line)]
    named = [line for line in raised if re.match(r"[A-Za-z_][\w.]*(?::|$)", line)]
    line = (named or raised or [text])[-1]
    return normalise(f"{where}: {first_line(line)}" if where else first_line(line))
