"""The values that everything else is about: panels, tasks, controls, runs, outcomes, decisions.

Frozen, slotted dataclasses with tuples inside, and closed enums. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType


class Outcome(StrEnum):
    """What became of a test in one run, best first: of two outcomes of one id the later one counts.

    `MISSING` means in no report: never collected, deselected, a phantom.
    """

    PASSED = "passed"
    XPASSED = "xpassed"
    XFAILED = "xfailed"
    SKIPPED = "skipped"
    MISSING = "missing"
    ERROR = "error"
    FAILED = "failed"

    @property
    def severity(self) -> int:
        return _SEVERITY[self]


_SEVERITY = {outcome: rank for rank, outcome in enumerate(Outcome)}


def worst(outcomes: tuple[Outcome, ...]) -> Outcome:
    """The worst of `outcomes`; `MISSING` for none, since unknown is never a pass."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.MISSING)


class ListName(StrEnum):
    """The two hidden lists of a task."""

    F2P = "F2P"
    P2P = "P2P"


class ControlKind(StrEnum):
    """`EMPTY` applies nothing, `ORACLE` the reference diff; both get the hidden tests."""

    EMPTY = "empty"
    ORACLE = "oracle"


class Verdict(StrEnum):
    CLEAN = "clean"
    REPAIRED = "repaired"
    REFUSED = "refused"


class Rule(StrEnum):
    """Why an id is dropped, or why a task is refused."""

    # an id is dropped
    FAILED_BOTH = "failed-both"
    FLAKY_BOTH = "flaky-both"
    UNOBSERVED = "unobserved"
    # a task is refused: for some ids
    REGRESSION = "regression"
    UNOBSERVED_BEFORE = "unobserved-before"
    LOST = "lost"
    FAILED = "failed"
    MIXED_GROUP = "mixed-group"
    BOTH_LISTS = "both-lists"
    # a task is refused: as a whole
    NO_F2P = "no-f2p"
    FEW_P2P = "few-p2p"
    EMPTY_PASSES = "empty-passes"
    PATCH = "patch"
    NOT_CONFIRMED = "not-confirmed"
    OWN_VERIFIER = "own-verifier"


class Select(StrEnum):
    """What a control runs: the listed tests only, their whole files, or whatever the test command runs by itself."""

    IDS = "ids"
    FILES = "files"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters of the rule, from panel.toml's [policy]; every record holds them.

    `min_p2p`: fewest P2P ids a task may keep. `passing`: outcomes that count as a pass.
    `repeats`: runs of each control. `recheck`: further runs of each where only P2P regressions refuse.
    """

    min_p2p: int = 10
    passing: frozenset[Outcome] = frozenset({Outcome.PASSED})
    repeats: int = 1
    recheck: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a panel, defaults filled in. `test_cmd` is an argument list, or a text for the image's shell.

    `entry_patch` makes the task's entry state of the image, where that is not the image's own; every control gets it.
    `id_template` holds spellings of one id over {suite}, {file}, {classname}, {name}; empty means the framework's own.
    `timeout` in seconds, `memory` in bytes, `cpus` in cores; `user` and `platform` None mean the image's own.
    `test_files` are paths or globs of the files that lists are minted from, instead of those that tests.patch touches.
    `directory` is where its files are; it is no part of what the task means.
    """

    instance_id: str
    image: str
    f2p: tuple[str, ...]
    p2p: tuple[str, ...]
    oracle_patch: bytes
    tests_patch: bytes | None
    directory: Path
    entry_patch: bytes | None = None
    workdir: str = "/testbed"
    base_commit: str | None = None
    framework: str = "pytest"
    test_cmd: str | tuple[str, ...] = ("python3", "-m", "pytest")
    junit: tuple[str, ...] = ()
    id_template: tuple[str, ...] = ()
    select: Select = Select.IDS
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timeout: float = 1800.0
    cpus: float = 2.0
    memory: int = 4 << 30
    network: str = "none"
    user: str | None = None
    platform: str | None = None
    test_files: tuple[str, ...] = ()

    @property
    def patches(self) -> tuple[tuple[str, bytes], ...]:
        """All of the task's patches by file name, in the order in which the oracle gets them."""
        entry = () if self.entry_patch is None else (("entry.patch", self.entry_patch),)
        tests = () if self.tests_patch is None else (("tests.patch", self.tests_patch),)
        return (*entry, *tests, ("oracle.patch", self.oracle_patch))

    def listed(self, name: ListName) -> tuple[str, ...]:
        """The ids of one list, sorted, each once."""
        return tuple(sorted(set(self.f2p if name is ListName.F2P else self.p2p)))


@dataclass(frozen=True, slots=True)
class Panel:
    """A directory of tasks with one policy and one gate."""

    name: str
    directory: Path
    policy: Policy
    min_tasks: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the engine holds it: `id` is its content's digest, `digest` the repo digest or None.

    `emulated`: it is of another architecture than the engine. That is the host's affair and in no record.
    """

    id: str
    digest: str | None = None
    platform: str | None = None
    emulated: bool = False


@dataclass(frozen=True, slots=True)
class Verifier:
    """A task's own verifier: a program that leaves a reward, such as Harbor's.

    `files`: absolute path in the container, content, permission bits.
    `command`: the argument list that runs once `files` and `directories` are there.
    `rewards`: paths of which one appears, in the order in which they count. None at all means that the verifier
    prints what became of `ids`.
    `directories`: absolute paths of directories that exist before the command runs.
    `env`: variables for the command; those of the task win.
    `timeout`: seconds.
    `ids`: the test ids that the reward is about.
    """

    files: tuple[tuple[str, bytes, int], ...]
    command: tuple[str, ...]
    rewards: tuple[str, ...]
    directories: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timeout: float = 600.0
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    """One run to make: patches on an image, and what to run there. Everything that is ever executed is a control.

    `patches`: name and content of each diff, in the order in which they are applied.
    `ids`: the test ids to score.
    `repeat`, `repeats`: which run this is of how many; `repeat` counts from 0.
    `name`: what the control is for; empty for one that decides a task.
    `journalled`: the run may come from the journal, and goes into it.
    `files`: every test of these files runs and is reported, listed or not. An empty tuple means whatever the test
    command runs by itself, None means the listed ids.
    `verifier`: what runs instead of the task's test command; the run then has a reward.
    """

    task: Task
    kind: ControlKind
    patches: tuple[tuple[str, bytes], ...]
    ids: tuple[str, ...]
    repeat: int = 0
    repeats: int = 1
    name: str = ""
    journalled: bool = True
    files: tuple[str, ...] | None = None
    verifier: Verifier | None = None

    @property
    def label(self) -> str:
        """How raw files and containers name this control, such as `empty-1` or `oracle-confirmation-2`."""
        return "-".join(filter(None, (self.kind, self.name, str(self.repeat + 1))))


@dataclass(frozen=True, slots=True)
class Observed:
    """One listed id in one run: its outcome, why it is no pass, and a group's members."""

    outcome: Outcome
    cause: str = ""
    members: Mapping[str, Outcome] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Run:
    """One observed run of a control. A run that is read back from outcomes.json has its facts and no `observed`.

    `exit` is the test command's status (None where a patch did not apply, with `patch` saying why),
    `deadly` the ids that ended it twice and were set aside, `flags` what a reader should know, `template` how ids were
    spelt where they are no pytest node ids. `found` are all tests that a control of whole files saw, `broken` the
    files and folders that gave none, each with why. `reward` is a verifier's, from 0 to 1; None without one.
    """

    image: str
    exit: int | None
    observed: Mapping[str, Observed]
    patch: str | None = None
    deadly: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    found: Mapping[str, Observed] = field(default_factory=lambda: MappingProxyType({}))
    broken: Mapping[str, Observed] = field(default_factory=lambda: MappingProxyType({}))
    reward: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One listed id over all runs of both controls; `members` holds (empty, oracle) for each of a group's."""

    id: str
    lists: frozenset[ListName]
    empty: tuple[Outcome, ...]
    oracle: tuple[Outcome, ...]
    cause_empty: str = ""
    cause_oracle: str = ""
    members: Mapping[str, tuple[tuple[Outcome, ...], tuple[Outcome, ...]]] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class Table:
    """The per-test outcome table that a decision is made from; `patch_errors` are diffs that did not apply."""

    rows: tuple[Row, ...]
    patch_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A drop or a reason to refuse, with the ids that share it. Whole-task reasons have no ids."""

    rule: Rule
    list: ListName | None = None
    empty: str = ""
    oracle: str = ""
    cause: str = ""
    cause_empty: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says of one table. `reasons` is empty unless the verdict is refused."""

    verdict: Verdict
    kept_f2p: tuple[str, ...]
    kept_p2p: tuple[str, ...]
    dropped: tuple[Finding, ...]
    reasons: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a decision is made from: what outcomes.json holds. `tool` is the version that observed it.

    The `confirm` fields are None or empty unless the first table decided `repaired`; `verifier` holds the
    rewards of the task's own verifier under (empty, oracle); None where nobody asked it.
    """

    instance_id: str
    tool: str
    image: Image
    empty: tuple[Run, ...]
    oracle: tuple[Run, ...]
    table: Table
    confirm_empty: tuple[Run, ...] = ()
    confirm_oracle: tuple[Run, ...] = ()
    confirm_table: Table | None = None
    verifier: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """sha256 of what a record was made from, in hexadecimal; None for what the task doesn't have.

    `source` is that of an imported task's source, where its own verifier was asked.
    """

    task: str
    environment: str | None
    oracle_patch: str
    tests_patch: str | None
    entry_patch: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What repair.json says: the decision on one task, confirmed where it dropped anything.

    `scores` are those of the confirmation's runs by control, empty where there was none.
    """

    decision: Decision
    evidence: Evidence
    inputs: Inputs
    policy: Policy
    scores_empty: tuple[float, ...] = ()
    scores_oracle: tuple[float, ...] = ()


SCHEMA = 1  # 1: the first


@dataclass(frozen=True, slots=True)
class Ended:
    """How a container's process ended. `code` is None where its time ran out and it was killed."""

    code: int | None
    memory_kill: bool
