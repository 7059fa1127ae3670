"""The one seam through which controls run: values go in, values come out.

A fixed number of threads runs them here, and each thread waits for one container. The engine may be on another machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from repair.controls import runner
from repair.controls.plan import Result, digest, title
from repair.controls.verifier import verify
from repair.controls.workspace import Workspace
from repair.errors import InfrastructureError
from repair.files import written
from repair.model import Control, Image, Run, Task
from repair.sandbox import Sandbox
from repair.sandbox.retry import Retry

Watch = Callable[[Control, str], None]  # takes a control, and in a few words what happens with it
Execute = Callable[[Control, Image, Watch], Run]

STARTED, NOT_OBSERVED = "started", "not observed"


class Pool:
    """Runs at most `jobs` controls at a time, in the order in which they arrive, each by `execute`."""

    def __init__(self, jobs: int, execute: Execute) -> None:
        self._execute = execute
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="control")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.shutdown(wait=error is None, cancel_futures=error is not None)

    def run(self, controls: Sequence[Control], image: Image, watch: Watch) -> list[Result]:
        """Run all `controls` on `image`; the results are in the same order. `watch` learns what happens with each.

        An infrastructure error is a result. Any other error is raised.
        """
        futures = [self._threads.submit(self._result, control, image, watch) for control in controls]
        return [future.result() for future in futures]

    def _result(self, control: Control, image: Image, watch: Watch) -> Result:
        try:
            return self._execute(control, image, watch)
        except InfrastructureError as err:
            watch(control, NOT_OBSERVED)
            return err


@dataclass(frozen=True, slots=True)
class Executor:
    """Runs one control at a time, from the journal or in a fresh container. Threads share it.

    `sandbox`: the engine.
    `workspace`: the journal and the place of raw files.
    `retry`: gives a task's retries; its second argument is the control's title.
    `fresh`: the journal gives no run. Runs still go into it.
    """

    sandbox: Sandbox
    workspace: Workspace
    retry: Callable[[Task, str], Retry]
    fresh: bool

    def __call__(self, control: Control, image: Image, watch: Watch) -> Run:
        """The run of a control. Raises an `InfrastructureError` where nothing can be observed."""
        key = digest(control, image)
        if control.journalled and not self.fresh:
            run = self.workspace.recall(key)
            if run is not None:
                watch(control, "observed before, taken from the journal")
                return run
        watch(control, STARTED)
        begin = time.monotonic()
        attempts: list[Path] = []

        def attempt() -> Path:
            attempts.append(self.workspace.attempt(control.task, control.label))
            return attempts[-1]

        with written(self.workspace.root):
            observe = runner.observe if control.verifier is None else verify
            run = observe(self.sandbox, control, image, attempt, self.retry(control.task, title(control)))
        if control.journalled and run.patch is None:  # a patch that does not apply is seen again without a test run
            self.workspace.note(control.task, key, run, attempts)
        watch(control, f"observed in {time.monotonic() - begin:.1f} s")
        return run
