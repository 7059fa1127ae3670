"""The values that every module shares: panels, tasks, controls, runs, outcomes, decisions.

Frozen, slotted dataclasses with tuples inside, and closed enums. They hold data and do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType


class Outcome(StrEnum):
    """What became of a test in one run, from best to worst: of two outcomes of one id the worse counts.

    `MISSING`: no report names the test. It was never collected, was deselected, or does not exist.
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
    """The worst of `outcomes`; `MISSING` where there are none, since unknown is never a pass."""
    return max(outcomes, key=_SEVERITY.__getitem__, default=Outcome.MISSING)


class ListName(StrEnum):
    """The two hidden lists of a task: what the change should fix, and what it must not break."""

    F2P = "F2P"
    P2P = "P2P"


class ControlKind(StrEnum):
    """`EMPTY` applies nothing, `ORACLE` applies the reference diff. Both get the hidden tests."""

    EMPTY = "empty"
    ORACLE = "oracle"


class Verdict(StrEnum):
    CLEAN = "clean"
    REPAIRED = "repaired"
    REFUSED = "refused"


class Rule(StrEnum):
    """Why the rule drops an id, or refuses a task."""

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
    """What a control runs: only the listed tests, their whole files, or whatever the test command runs by itself."""

    IDS = "ids"
    FILES = "files"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters of the rule, from [policy] of panel.toml. Every record holds them.

    `min_p2p`: the fewest P2P ids that a task may keep.
    `passing`: the outcomes that count as a pass.
    `repeats`, `recheck`: runs of each control, and further ones where nothing but P2P regressions refuses the task.
    """

    min_p2p: int = 10
    passing: frozenset[Outcome] = frozenset({Outcome.PASSED})
    repeats: int = 1
    recheck: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a panel, with the defaults filled in.

    `image`, `platform`: image reference, and os/architecture; None means the image's own platform.
    `f2p`, `p2p`: the listed test ids as task.json has them, repeated ones too.
    `oracle_patch`, `tests_patch`: the reference diff, and the diff of the hidden tests; None where there is none.
    `directory`: where the task's files are. What the task means does not depend on it.
    `entry_patch`: the diff from the image's state to the task's entry state, for every control; None where they agree.
    `workdir`, `base_commit`: absolute path of the repo in the image, and its commit, for people.
    `test_cmd`: an argument list, or a text for the image's shell.
    `junit`: patterns of the JUnit files that the test command writes, absolute or relative to `workdir`.
    `id_template`: spellings of one id over {suite}, {file}, {classname}, {name}; empty means the framework's own.
    `env`, `user`: variables for the test command, and who runs it; None means the image's own user.
    `timeout`, `cpus`, `memory`, `network`: seconds, cores, bytes, and the container's network mode.
    `test_files`: paths or globs of files to mint the lists from; empty means those that tests.patch touches.
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
        """All patches of the task as (file name, diff), in the order in which the oracle control gets them."""
        entry = () if self.entry_patch is None else (("entry.patch", self.entry_patch),)
        tests = () if self.tests_patch is None else (("tests.patch", self.tests_patch),)
        return (*entry, *tests, ("oracle.patch", self.oracle_patch))

    def listed(self, name: ListName) -> tuple[str, ...]:
        """The ids of one list, sorted, each once."""
        return tuple(sorted(set(self.f2p if name is ListName.F2P else self.p2p)))


@dataclass(frozen=True, slots=True)
class Panel:
    """A directory of tasks with one policy, and a gate that is met by `min_tasks` admitted tasks or more."""

    name: str
    directory: Path
    policy: Policy
    min_tasks: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the engine holds it.

    `id`, `digest`: digest of its content, and its digest in the task's repository; None where that has none.
    `platform`: os/architecture[/variant]; None where nothing tells.
    `emulated`: its architecture is not the engine's. That is the host's affair, so no record holds it.
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
    `rewards`: paths of which one appears, in the order in which they count. An empty tuple means that the verifier
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
    `name`: what the control is for; empty where it decides a task.
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
    """One id in one run: its outcome, why it is not a pass, and the outcomes of a group's members."""

    outcome: Outcome
    cause: str = ""
    members: Mapping[str, Outcome] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Run:
    """One observed run of a control.

    `image`, `exit`: the image's id, and the test command's status; None where a patch did not apply, so nothing ran.
    `observed`: what the run shows of each listed id; empty for a run that is read back from outcomes.json.
    `patch`: why a patch did not apply; None where all did.
    `deadly`: the ids that ended the run twice and were set aside.
    `flags`: what a reader of the record should know.
    `template`: spellings of the ids; empty means pytest node ids.
    `found`: every test that a control of whole files saw.
    `broken`: the files and folders that gave no test, each with the cause.
    `reward`: a verifier's reward, from 0 to 1; None without a verifier.
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
    """One listed id over all runs of both controls.

    `lists`, `empty`, `oracle`: the lists that hold it, and its outcomes under each control, run by run.
    `cause_empty`, `cause_oracle`: why it is not a pass under that control; empty where nothing says so.
    `members`: the outcomes of each member of a group as (empty, oracle).
    """

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
    """The outcomes that a decision is made from. `patch_errors`: git's answers where diffs did not apply."""

    rows: tuple[Row, ...]
    patch_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A drop or a reason to refuse, with the ids that share it.

    `list`, `ids`: the list and its ids that share it. `list` is None for a reason that is not about a single list.
    `empty`, `oracle`: the outcomes under each control in words, as `rules.spell` gives them.
    `cause`, `cause_empty`: why, as one line, and why under empty where that differs.
    """

    rule: Rule
    list: ListName | None = None
    empty: str = ""
    oracle: str = ""
    cause: str = ""
    cause_empty: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The rule's answer on one table.

    `kept_f2p`, `kept_p2p`, `dropped`: the ids that each list keeps, and the ids that leave, by what they share.
    `reasons`: why the task is refused; empty for every other verdict.
    """

    verdict: Verdict
    kept_f2p: tuple[str, ...]
    kept_p2p: tuple[str, ...]
    dropped: tuple[Finding, ...]
    reasons: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a decision is made from: what outcomes.json holds. `tool` is the version that observed it.

    `empty`, `oracle`, `table`: the runs of each control, and their outcomes.
    `confirm_empty`, `confirm_oracle`, `confirm_table`: the same of the confirmation, for a first table that decides
    `repaired`; else empty and None.
    `verifier`: the rewards of the task's own verifier for (empty, oracle); None where it was not asked.
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
    """What a record was made from: sha256 in hexadecimal, None for what the task does not have.

    `task`, `environment`: of the task as canonical JSON after defaults, and of the folder environment/.
    `source`: of an imported task's source, where its own verifier was asked; else None.
    """

    task: str
    environment: str | None
    oracle_patch: str
    tests_patch: str | None
    entry_patch: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What repair.json says: the decision on one task, and what it was made from.

    `scores_empty`, `scores_oracle`: the scores of the confirmation's runs; empty without a confirmation.
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
    """How a container's process ended. `code`: exit status; None where its time ran out and it was killed."""

    code: int | None
    memory_kill: bool
