"""What one attempt of a control left behind: its files to a run, or to the error that says why it is no evidence.

pytest is judged by its record and its report together, other runners by their JUnit files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from repair.errors import ContainerKilled, MemoryKill, NoEvidence, ReportError, TimeoutOutsideTest
from repair.model import Control, Ended, Image, Observed, Outcome, Run
from repair.outcomes import junit, lookup, plugin_log
from repair.outcomes.frameworks.known import FRAMEWORKS
from repair.outcomes.junit import Case
from repair.outcomes.logs import last_line, log_tail, refuse_full_disk, refuse_full_disk_by_log
from repair.outcomes.plugin_log import of_collection
from repair.outcomes.spelling import CANDIDATES, Choice, choose
from repair.text import normalise, printable

EVERYWHERE = "."  # where nothing at all was collected
OURS = ("repair_pytest", "junitxml", "junitprefix", "junit-prefix", "continue-on-collection-errors", "maxfail")


class NoReport(NoEvidence):
    """A test command outside pytest ended by itself, with a status that isn't 0, and left no report at all."""

    def __init__(self, message: str, next: str, status: int, image: str) -> None:  # noqa: A002
        super().__init__(message, next)
        self.status, self.image = status, image


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt left: the container's end, the command's status, and the files in `directory`."""

    ended: Ended
    status: int | None
    directory: Path
    patch_error: str | None = None


MAX_RECORDS = 500  # xdist has one a worker
OUT = re.compile(r"begun|changed|disk|error|exit|log|memory|reports")
OUT_OF_PYTEST = re.compile(r"report\.xml|record-[\w.-]+\.jsonl")


def refuse_strangers(directory: Path, framework: str) -> None:
    """Raise where a container left files that neither our script nor our plugin nor pytest writes.

    For a directory that holds the log, what was fetched from the container's folder for it, and nothing else yet.
    """
    for name in sorted(file.name for file in directory.iterdir()):
        if not (OUT.fullmatch(name) or (framework == "pytest" and OUT_OF_PYTEST.fullmatch(name))):
            raise NoEvidence(
                f"a test left {printable(name)} among the run's own files", f"find what writes there; see {directory}"
            )


def read_record(result: Attempt) -> plugin_log.Record:
    files: dict[str, BinaryIO] = {}
    try:
        there = sorted(result.directory.glob("record-*.jsonl"))
        if len(there) > MAX_RECORDS:
            raise NoEvidence(f"there are {len(there)} records of one run", f"see what writes them; {result.directory}")
        for file in there:
            files[file.stem.removeprefix("record-")] = file.open("rb")
        return plugin_log.read(files)
    finally:
        for stream in files.values():
            stream.close()


def refuse_outside_kill(result: Attempt) -> None:
    """Raise unless our own script came to its end, which is 0 whatever the tests' is.

    It outlives whatever a test does to itself: where it did not, somebody killed the container, or a test our script.
    """
    code = result.ended.code
    if code is None:
        return
    if result.status is None:
        raise ContainerKilled(
            f"the container was killed from outside (status {code})", "find what kills containers, run again"
        )
    if code != 0:
        raise ContainerKilled(
            f"the container ended with status {code} before its script did, which had told the tests' status"
            f" {result.status} or had it told for it",
            f"find what kills containers or their first processes; see {result.directory}/log",
        )


def _refuse_lack_of_space(result: Attempt, reports: Sequence[junit.Report]) -> None:
    if any(case.no_space for report in reports for case in report.cases):
        refuse_full_disk(result.directory)


def judge_pytest(
    control: Control, image: Image, result: Attempt, seen: plugin_log.Record, deadly: tuple[str, ...]
) -> Run:
    _refuse_unobserved(result, seen, control)
    status = result.status
    assert status is not None
    if not seen.session:
        cause = _startup_error(result, control)
        refuse_full_disk_by_log(result.directory)
        none = Observed(Outcome.MISSING, cause)
        broken = {EVERYWHERE: none} if control.files is not None else {}
        said = (f"pytest did not start: {cause}",)
        return Run(image.id, status, dict.fromkeys(control.ids, none), flags=said, broken=broken)
    _refuse_unfinished(result, seen)
    report = _read_report(result.directory / "report.xml", result)
    _refuse_lack_of_space(result, [report])
    outcomes = _agree(seen, report, status, result)
    for test in deadly:
        outcomes[test] = Observed(Outcome.ERROR, "the run ended twice inside this test")
    template = control.task.id_template
    flags = _flags(status, outcomes, bool(seen.broken), report)
    shown = lookup.of_record(seen, outcomes, template)
    run = Run(image.id, status, {}, deadly=tuple(sorted(deadly)), flags=flags, template=template)
    return _looked_up(run, control, shown)


def _looked_up(run: Run, control: Control, shown: lookup.Seen) -> Run:
    """A run with what it showed of the listed ids, and of everything where the control asks for that."""
    run = replace(run, observed=lookup.resolve(control.ids, shown))
    if control.files is None:
        return run
    return replace(run, found=lookup.everything(shown), broken=lookup.unreadable(shown))


def _refuse_unobserved(result: Attempt, seen: plugin_log.Record, control: Control) -> None:
    """Raise unless the test command ended by itself and left a record that makes sense."""
    if result.ended.memory_kill:
        where = f" (last test: {printable(seen.last)})" if seen.last else ""
        raise MemoryKill(
            f"the container reached its memory limit of {control.task.memory >> 20} MiB{where}", "raise `memory`"
        )
    if result.ended.code is None:
        after = f"after {printable(seen.last)}" if seen.last else "before any test"
        raise TimeoutOutsideTest(
            f"no end within {control.task.timeout:g} s, outside of any test, {after}",
            f"raise `timeout`, or see {result.directory}/log",
        )
    refuse_outside_kill(result)
    if (result.directory / "changed").exists():
        raise NoEvidence(
            "a process that the tests left running changed the report or the record after pytest's end",
            f"find what it writes; see {result.directory}",
        )
    if seen.damaged:
        raise NoEvidence(f"the plugin's record is damaged ({seen.damaged})", f"see {result.directory}")


def _refuse_unfinished(result: Attempt, seen: plugin_log.Record) -> None:
    """Raise where pytest started and did not run all that it had chosen."""
    log = f"see {result.directory}/log"
    if seen.internal:
        raise NoEvidence(f"pytest's INTERNALERROR: {printable(_raised(seen.internal))}", log)
    if seen.workers_differ:
        raise NoEvidence(
            "nothing ran under xdist: its workers collected different tests",
            "make the parametrized ids the same in every process, or run without -n",
        )
    after = f"after {printable(seen.last)}" if seen.last else "before any test"
    if result.status == 4 and not seen.started:
        raise NoEvidence(f"pytest gave up on what it collects: {last_line(result.directory)}", f"mend test_cmd; {log}")
    if seen.end is None:
        raise NoEvidence(f"pytest ended early, outside of any test, {after} (status {result.status})", log)
    if seen.started < seen.chosen:
        raise NoEvidence(f"{seen.chosen - seen.started} of {seen.chosen} tests never ran: pytest stopped {after}", log)


def _startup_error(result: Attempt, control: Control) -> str:
    """pytest's own word why it cannot start here: evidence, unless it is about what we gave it."""
    printed = log_tail(result.directory / "log")
    cause = startup_error(printed, control.task.workdir, by_usage=result.status == 4)
    log = f"see {result.directory}/log"
    if cause is None:
        last = last_line(result.directory) or "it printed nothing"
        raise NoEvidence(f"no report and no test to blame (status {result.status}): {last}", f"mend test_cmd; {log}")
    if any(name in cause for name in OURS):
        raise NoEvidence(f"pytest refuses repair's own arguments: {cause}", log)
    return cause


def _read_report(file: Path, result: Attempt) -> junit.Report:
    if not file.exists():
        raise NoEvidence(f"no report was written (status {result.status})", f"see {result.directory}/log")
    try:
        with file.open("rb") as stream:
            report = junit.read(stream, file.name)
    except ReportError as err:
        raise NoEvidence(f"the report is no evidence: {err.message}", f"see {result.directory}") from None
    if report.truncated:
        raise NoEvidence(f"the report {file.name} is truncated", f"see {result.directory}")
    return report


def _agree(seen: plugin_log.Record, report: junit.Report, status: int, result: Attempt) -> dict[str, Observed]:
    """Each test's outcome by the record and the report, the worse of the two; raises where they contradict.

    A report cannot tell an unexpected pass from a pass, and shows a skip in teardown as a skip: no contradiction.
    """
    reported = lookup.by_node_id(report.cases)
    outcomes: dict[str, Observed] = {}
    for test in sorted(seen.outcomes.keys() | reported.keys()):
        own = seen.outcomes.get(test, Observed(Outcome.MISSING))
        ours = own.outcome
        theirs = reported.get(test, Outcome.MISSING)
        if test in seen.late_skips and theirs is Outcome.SKIPPED:
            theirs = Outcome.PASSED
        if (ours in (Outcome.PASSED, Outcome.XPASSED)) != (theirs is Outcome.PASSED):
            raise NoEvidence(
                f"the plugin's record says {ours} of {printable(test)} and the report {theirs}",
                f"find what changes reports (a conftest, a plugin); see {result.directory}",
            )
        worse = theirs not in (Outcome.PASSED, Outcome.MISSING) and theirs.severity > ours.severity
        outcomes[test] = replace(own, outcome=theirs) if worse else own
    _refuse_contradiction(status, outcomes)
    return outcomes


def _refuse_contradiction(status: int, outcomes: Mapping[str, Observed]) -> None:
    bad = [test for test, seen in outcomes.items() if seen.outcome in (Outcome.FAILED, Outcome.ERROR)]
    if status == 0 and bad:
        raise NoEvidence(
            f"exit status 0 although tests failed: {some(bad)}",
            "let test_cmd end with the runner's own status (no pipe, no `|| true`)",
        )


def _flags(status: int, outcomes: Mapping[str, Observed], broken: bool, *reports: junit.Report) -> tuple[str, ...]:
    bad = broken or any(seen.outcome in (Outcome.FAILED, Outcome.ERROR) for seen in outcomes.values())
    flags = {flag for report in reports for flag in report.flags}
    if any(case.no_space for report in reports for case in report.cases):
        flags.add("a test that does not pass says that no space was left")
    if status == 5 and not outcomes:
        flags.add("no test ran")
    elif status != 0 and not bad:
        flags.add(f"exit status {status} although no test failed")
    return tuple(sorted(flags))


def judge_reports(control: Control, image: Image, result: Attempt) -> Run:
    """A run outside pytest: what its JUnit files say of ids that are spelt by the task's template, or the best one."""
    _refuse_unobserved(result, plugin_log.Record(), control)
    status = result.status
    assert status is not None
    files = sorted(result.directory.glob("report-*.xml"), key=lambda file: int(file.stem.rpartition("-")[2]))
    absent = _absent(control.task.junit, result.directory)
    if not files or absent:
        wanted = ", ".join(map(printable, absent or control.task.junit))
        message = f"no report at {wanted} (status {status}): {last_line(result.directory) or 'it printed nothing'}"
        advice = f"point `junit` at what test_cmd writes; see {result.directory}/log"
        if status in (0, 124) or status > 128:  # `timeout` and signals are no plain answers
            raise NoEvidence(message, advice)
        raise NoReport(message, advice, status, image.id)
    reports = [_read_report(file, result) for file in files]
    _refuse_lack_of_space(result, reports)
    cases = [case for report in reports for case in report.cases]
    choice = _choose(control, cases)
    seen = lookup.of_cases(cases, choice.template, control.task.framework)
    outcomes = {test: Observed(outcome) for test, outcome in junit.outcomes(cases).items()}
    _refuse_cut_short(status, cases, result)
    _refuse_contradiction(status, outcomes)
    flags = tuple(sorted({*_flags(status, outcomes, False, *reports), *choice.flags}))
    return _looked_up(Run(image.id, status, {}, flags=flags, template=choice.template), control, seen)


def _absent(patterns: Sequence[str], directory: Path) -> list[str]:
    """The report files that were named, without a wildcard, and are not there."""
    file = directory / "reports"
    names = file.read_text("utf-8", "surrogateescape").split("\n") if file.exists() else []
    there = {name.removeprefix("./") for name in names}
    return [name for name in patterns if not set("*?[") & set(name) and name.removeprefix("./") not in there]


def _refuse_cut_short(status: int, cases: Sequence[Case], result: Attempt) -> None:
    """Raise where a signal or `timeout` ended the command: reports that it had written by then are not all.

    mocha's status is the number of its failures, whatever that is.
    """
    bad = sum(case.outcome in (Outcome.FAILED, Outcome.ERROR) for case in cases)
    if (status > 128 or status == 124) and status != bad:
        raise NoEvidence(
            f"the test command was cut short (status {status}), and its reports may not be all",
            f"see {result.directory}/log",
        )


def _choose(control: Control, cases: Sequence[Case]) -> Choice:
    """The task's own template, or the one of its framework or of all that spells most of its ids."""
    if control.task.id_template:
        return Choice(control.task.id_template)
    known = FRAMEWORKS.get(control.task.framework)
    choice = choose(control.ids, cases, known.templates if known and known.templates else CANDIDATES[0])
    if choice.mixed:
        raise NoEvidence(
            f"ids are spelt in several ways: {'; '.join(choice.flags)}",
            "set id_template in task.json: a list of spellings, or the right one",
        )
    return choice


def without_report(control: Control, missing: NoReport) -> Run:
    """The run of a command that left no report: every id is missing. Whether it is evidence is the caller's to say."""
    cause = f"the test command ended with status {missing.status} and wrote no report"
    none = Observed(Outcome.MISSING, cause)
    broken = {EVERYWHERE: none} if control.files is not None else {}
    return Run(missing.image, missing.status, dict.fromkeys(control.ids, none), flags=("no report",), broken=broken)


def _raised(text: str) -> str:
    lines = [line.removeprefix("INTERNALERROR>").strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def some(tests: list[str]) -> str:
    shown = ", ".join(printable(test) for test in tests[:3])
    return f"{shown} and {len(tests) - 3} more" if len(tests) > 3 else shown


def startup_error(log: str, workdir: str, *, by_usage: bool) -> str | None:
    """pytest's message why it could not start, from the end of its output; None where it says no such thing.

    `by_usage`: it ended with the status for usage errors, with which other programs end as well. Otherwise only a
    plugin that does not import counts.
    """
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    raised = [line[1:].strip() for line in lines if re.match(r"E {1,3}[^ ]", line)]
    conftest = [m[1] for m in (re.match(r"ImportError while loading conftest '(.+)'", line) for line in lines) if m]
    if by_usage and conftest:
        where = conftest[-1].removeprefix(workdir.rstrip("/") + "/")
        return of_collection(where, "\n".join(f"E   {line}" for line in raised) or lines[-1])
    said = [line for line in lines if re.match(r"(.*: )?error: |ERROR: (?!usage: )", line)]
    if by_usage and said:
        return normalise(said[-1])
    plugin = [line for line in lines if re.search('Error (importing|while loading) plugin "', line)]
    if plugin:
        return normalise(": ".join([plugin[-1].rstrip("."), *raised[-1:]]))
    if any("in load_setuptools_entrypoints" in line or "in import_plugin" in line for line in lines):
        return normalise(f"a plugin of the image does not import: {lines[-1]}")
    return None
