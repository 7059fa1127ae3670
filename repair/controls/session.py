"""Controls of many tasks, side by side: one connection, one pool and one journal, and per task a lock and a guard.

A function of a `Work` and a task does the work on that task. A task that could not be observed stops no other task. An
engine that is gone ends the run once.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from repair import files
from repair.controls.plan import Result, settle, title
from repair.controls.pool import NOT_OBSERVED, Executor, Pool, Watch
from repair.controls.workspace import Workspace
from repair.errors import EngineLost, InfrastructureError, RepairError
from repair.model import Control, ControlKind, Image, Panel, Run, Task, Verifier
from repair.sandbox import Sandbox
from repair.sandbox.retry import Retry
from repair.sandbox.run_locks import alive, is_dead, known_runs, new_run_id
from repair.table import refuse_contradictions

GRACE = 4.0  # seconds that threads get to end after an interrupt
T = TypeVar("T")
# Gives the own verifier of the task in a directory, on a copy without the dropped (F2P, P2P), for the kept ids.
VerifierOf = Callable[[Path, tuple[frozenset[str], frozenset[str]], tuple[str, ...]], Verifier]


@dataclass(frozen=True, slots=True)
class Options:
    """How to run.

    `jobs`: how many containers at a time; None means as many as the engine has cores.
    `build`: an image may be built from environment/Dockerfile.
    `fresh`: the journal gives no run.
    `verifier`: gives a task's own verifier, which is asked too where the controls would admit the task; None asks none.
    `retries`: how often the engine is asked again for what it fails to do for the moment.
    """

    jobs: int | None = None
    build: bool = True
    fresh: bool = False
    verifier: VerifierOf | None = None
    retries: int = 1


@dataclass(frozen=True, slots=True)
class Event:
    """What a watcher of a run may want to show: `what` happened in `task`. `done`: the task has ended."""

    task: str
    what: str
    done: bool = False


Say = Callable[[Event], None]


def silent(_: Event) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What came of one task: a value or an error. Without both, its turn never came.

    `value`: what was to be found out; None where it was not.
    `error`: what kept the task from a value; None where nothing did.
    `seconds`: wall time.
    """

    task: Task
    value: T | None = None
    error: RepairError | None = None
    seconds: float = 0.0


@contextmanager
def connect() -> Iterator[Sandbox]:
    """The engine, for one run. While this lasts, no other process takes the run's containers for left over."""
    run_id = new_run_id()
    with alive(run_id):
        sandbox = Sandbox(run_id)
        try:
            yield sandbox
        finally:
            sandbox.close()


def each(
    panel: Panel,
    sandbox: Sandbox,
    options: Options,
    say: Say,
    what: Callable[[Work, Task], T],
    spell: Callable[[Done[T]], str],
    records: bool = True,
) -> list[Done[T]]:
    """Do `what` with every task of a panel; the results are in the panel's order. `spell` puts each in a few words.

    With `records` it checks first that records can be written. A `KeyboardInterrupt` removes the containers and is
    raised again.
    """
    workspace = Workspace(panel, sandbox.run_id)
    if records:
        workspace.check_can_publish(panel.tasks)
    sweep(sandbox)
    session = Session(sandbox, options, say, _Once())
    jobs = options.jobs or sandbox.engine.cpus
    with Pool(jobs, Executor(sandbox, workspace, session.retry, options.fresh)) as pool:
        work = Work(session, panel, workspace, pool)

        def one(task: Task) -> Done[T]:
            result = work.guarded(task, what)
            say(Event(task.instance_id, spell(result), done=True))
            return result

        return _side_by_side(sandbox, jobs, panel.tasks, one)


def _side_by_side(sandbox: Sandbox, jobs: int, tasks: Sequence[Task], one: Callable[[Task], Done[T]]) -> list[Done[T]]:
    """What `one` returns for each task, in their order. An interrupt stops the containers and is raised again."""
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="task")
    futures = [executor.submit(one, task) for task in tasks]
    try:
        for future in _as_they_end(futures):
            future.result()
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        sandbox.stop_all()
        wait(futures, timeout=GRACE)
        raise
    executor.shutdown()
    return [future.result() for future in futures]


def _as_they_end(futures: Iterable[Future[T]]) -> Iterable[Future[T]]:
    """Futures in the order in which they end.

    It waits in short turns, so that a signal reaches the main thread on every platform.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=1.0, return_when="FIRST_COMPLETED")
        yield from done


def sweep(sandbox: Sandbox) -> list[str]:
    """Remove containers and temporary folders of runs whose process has ended; the tasks of these containers."""
    files.sweep()
    removed = []
    for run_id in known_runs():
        is_dead(run_id)  # forgets the lock of a dead run
    for identity, run_id, task in sandbox.left_over():
        if run_id != sandbox.run_id and is_dead(run_id):
            sandbox.remove(identity)
            removed.append(task)
    return removed


class _Once:
    """Something that counts once, however many threads report it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._happened = False

    def set_first(self) -> bool:
        """Report it. True for the first report, False for every other."""
        with self._lock:
            first, self._happened = not self._happened, True
        return first

    def is_set(self) -> bool:
        return self._happened


@dataclass(frozen=True, slots=True)
class Session:
    """What all threads of one `repair` command share.

    `sandbox`, `options`: the engine, and how to use it.
    `say`: tells a watcher.
    `lost`: set once the engine is lost.
    """

    sandbox: Sandbox
    options: Options
    say: Say
    lost: _Once

    def tell(self, task: Task, what: str) -> None:
        """Tell the watcher what happens in a task."""
        self.say(Event(task.instance_id, what))

    def stopped(self) -> bool:
        """Must no further work begin, because the engine is lost or the command was interrupted?"""
        return self.lost.is_set() or self.sandbox.closed

    def retry(self, task: Task, name: str = "") -> Retry:
        """The retries of what the engine fails to do for a task. `name` is what messages call the work."""
        prefix = f"{name}: " if name else ""
        return Retry(self.options.retries, self._pause, lambda what: self.tell(task, prefix + what))

    def _pause(self, seconds: float) -> bool:
        return self.lost.is_set() or self.sandbox.pause(seconds) or self.lost.is_set()


@dataclass(frozen=True, slots=True)
class Work:
    """What a task is worked on with.

    `session`: what the whole command shares.
    `panel`, `workspace`: the panel, and its place on the disk.
    `pool`: where controls run.
    """

    session: Session
    panel: Panel
    workspace: Workspace
    pool: Pool

    def guarded(self, task: Task, what: Callable[[Work, Task], T]) -> Done[T]:
        """Do `what` with a task under its lock. Our errors become its end; a lost engine stops the tasks behind it."""
        begin = time.monotonic()
        try:
            if self.session.stopped():
                return Done(task)
            with self.workspace.task_lock(task, self.session.stopped):
                ended = Done(task, what(self, task))
        except EngineLost as err:
            first = self.session.lost.set_first() and not self.session.sandbox.closed
            ended = Done(task, error=err if first else None)
        except RepairError as err:
            # While the run is being stopped, a task fails because its container is removed.
            ended = Done(task, error=None if self.session.sandbox.closed else err)
        except Exception:  # noqa: BLE001 - a bug over one task must not lose the night's run over the others
            ended = Done(task, error=self._bug(task))
        return replace(ended, seconds=time.monotonic() - begin)

    def _bug(self, task: Task) -> RepairError:
        file = self.workspace.attempt(task, "bug") / "traceback"
        file.write_text(traceback.format_exc())
        return RepairError("a bug of repair's kept this task from a verdict", f"please report it with {file}")

    def tell(self, task: Task, what: str) -> None:
        """Tell the watcher what happens in a task."""
        self.session.tell(task, what)

    def image(self, task: Task) -> Image:
        """The task's image: found, pulled or built. Raises `ImageError` where it is none of these."""
        build, retry = self.session.options.build, self.session.retry(task)
        image = self.session.sandbox.images.get(task, build, partial(self.tell, task), retry)
        if image.emulated:
            self.tell(task, f"{image.platform} is emulated on this engine: slow, and times may run out")
        return image

    def run(self, controls: Sequence[Control], image: Image, watch: Watch | None = None) -> list[Result]:
        """Run controls side by side; the results are in the same order.

        `watch` learns what happens with each; None tells the watcher of the run.
        """
        return self.pool.run(controls, image, watch or self._tell_control)

    def pair(self, controls: Sequence[Control], image: Image) -> tuple[list[Run], list[Run]]:
        """Run both controls of a task side by side; the runs of (empty, oracle).

        Raises the first infrastructure error, a lost engine before others, and `NoEvidence` where the runs contradict.
        """
        results = settle(controls, self.run(controls, image))
        errors = [result for result in results if isinstance(result, InfrastructureError)]
        if errors:
            raise min(errors, key=lambda err: not isinstance(err, EngineLost))
        runs: dict[ControlKind, list[Run]] = {kind: [] for kind in ControlKind}
        for control, result in zip(controls, results, strict=True):
            if isinstance(result, Run):
                runs[control.kind].append(result)
        refuse_contradictions(runs[ControlKind.EMPTY], runs[ControlKind.ORACLE])
        return runs[ControlKind.EMPTY], runs[ControlKind.ORACLE]

    def _tell_control(self, control: Control, what: str) -> None:
        if what != NOT_OBSERVED:
            self.tell(control.task, f"{title(control)}: {what}")
