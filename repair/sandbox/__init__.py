"""The container engine: images, one container per control, files in and out. Only this package imports docker.

Everything crosses as tar archives through the Engine's API, so that a remote engine works like a local one. A failure
comes out as one of the errors of `repair.errors`, never as an error of docker or requests.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import docker.errors
import docker.types

from repair.errors import EngineError, ImageError
from repair.model import Ended, Image, Task
from repair.sandbox.connection import Connection, Engine, translated
from repair.sandbox.container import LOG_BYTES, Container
from repair.sandbox.images import Images

__all__ = ["DROPPED", "LOG_BYTES", "PIDS", "Container", "Ended", "Engine", "Sandbox"]

PIDS = 2048
# The capabilities that engines give root beyond what it needs for a container's own files and processes. Without them
# every engine gives the same. They are dropped by name: after a drop of all, Podman gives every user what is added.
DROPPED = ("AUDIT_WRITE", "MKNOD", "NET_RAW", "SETFCAP", "SETPCAP")
STOP = 4.0  # seconds that an interrupt waits for the engine to remove the containers
REMOVAL = 120  # seconds to wait for a removal that another process began
NAMES = "repair-"  # how the names of all our containers begin
RUN, TASK, CONTROL = "repair.run", "repair.task", "repair.control"


class Sandbox:
    """A connection to one engine that the threads of one run share. `run_id` labels every container that it makes."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._lock = threading.Lock()
        self._alive: set[str] = set()
        self._closed = threading.Event()
        self._unsure = False  # may the engine keep a container that no answer named, or no call removed?
        self._connection = Connection()
        self._api = self._connection.client.api
        self.images = Images(self._connection)

    def close(self) -> None:
        """Remove what an engine that was away has kept of this run's containers, and close the connection."""
        if self._unsure:
            with contextlib.suppress(EngineError):
                self._remove_all([identity for identity, run, _ in self.left_over() if run == self.run_id])
        self._connection.close()

    @property
    def engine(self) -> Engine:
        """Facts about the engine, as of the start of the connection."""
        return self._connection.engine

    @property
    def tells_memory_kills(self) -> bool:
        """Does the engine report that a container ran out of memory?

        Podman does not before its version 5, so no Podman counts as doing so.
        """
        return not self._connection.is_podman

    def ping(self) -> None:
        """Raise `EngineLost` unless the engine answers."""
        self._connection.ping()

    @contextlib.contextmanager
    def container(self, task: Task, image: Image, control: str, command: Sequence[str]) -> Iterator[Container]:
        """A new container of the image that will run `command`; it is not started yet, and is removed in any case.

        Raises `EngineError` at the end where `stop_all` was called meanwhile: what was read since may be incomplete.
        """
        if self.closed:
            raise EngineError("the run is being stopped")
        config = self._config(task, image, control, command)
        try:
            with translated("create a container"):
                made = self._api.create_container_from_config(config, self._name())  # type: ignore[no-untyped-call]
        except EngineError:
            self._unsure = True
            self.ping()  # an engine that died fails in many ways: a ping names it
            raise
        identity: str = made["Id"]
        with self._lock:
            self._alive.add(identity)
        try:
            if self.closed:
                raise EngineError("the run is being stopped")
            if self._connection.is_podman:
                self._refuse_late_volume(identity, task)
            yield Container(self._connection, identity)
            if self.closed:
                raise EngineError("the run is being stopped")
        finally:
            self._remove(identity)

    def _name(self) -> str:
        """A container's name. An image may bring labels like ours, but not a name."""
        return f"{NAMES}{self.run_id}-{secrets.token_hex(4)}"

    def _config(self, task: Task, image: Image, control: str, command: Sequence[str]) -> dict[str, Any]:
        api = self._api
        host = api.create_host_config(
            network_mode=task.network,
            mem_limit=task.memory,
            memswap_limit=task.memory,
            nano_cpus=int(min(task.cpus, self.engine.cpus) * 1e9),
            pids_limit=PIDS,
            cap_drop=list(DROPPED),
            security_opt=["no-new-privileges"],
            init=True,
            log_config=docker.types.LogConfig(type="json-file", config={"max-size": str(LOG_BYTES), "max-file": "1"}),
        )
        config: dict[str, Any] = api.create_container_config(
            image.id,
            list(command[1:]),
            entrypoint=[command[0]],
            user=task.user,
            working_dir="/",  # the engine would make the task's directory where the image lacks it
            environment=dict(task.env),
            labels={RUN: self.run_id, TASK: task.instance_id, CONTROL: control},
            host_config=host,
            healthcheck=docker.types.Healthcheck(test=["NONE"]),
        )
        return config

    def _refuse_late_volume(self, identity: str, task: Task) -> None:
        """Raise `ImageError` where Podman hides the task's files: it fills a volume only when the container starts."""
        with translated("look at a container's volumes"):
            mounts = self._api.inspect_container(identity).get("Mounts") or ()
        workdir = PurePosixPath(task.workdir)
        for place in (PurePosixPath(mount["Destination"]) for mount in mounts):
            if workdir.is_relative_to(place) or place.is_relative_to(workdir):
                raise ImageError(
                    f"{task.image} keeps {place} in a volume, which Podman fills too late to patch",
                    "run this task on Docker, or build the image without that VOLUME",
                )

    def _remove(self, identity: str) -> bool:
        """Remove a container and its volumes. True where that worked, or where the container did not exist any more.

        Where the engine is away, the end of the run removes what it kept, or the next run, or `repair clean`.
        """
        try:
            with translated("remove a container"):
                self._remove_now(identity)
        except EngineError:
            self._unsure = True
            return False
        with self._lock:
            self._alive.discard(identity)
        return True

    def _remove_now(self, identity: str) -> None:
        try:
            self._api.remove_container(identity, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except docker.errors.APIError as err:
            if err.status_code != 409:
                raise
            with contextlib.suppress(docker.errors.NotFound):  # another process is removing it
                self._api.wait(identity, timeout=REMOVAL, condition="removed")

    def _remove_all(self, identities: Sequence[str]) -> None:
        """Remove containers side by side, and wait `STOP` seconds at most for an engine that hangs."""
        threads = [threading.Thread(target=self._remove, args=(identity,), daemon=True) for identity in identities]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + STOP
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def stop_all(self) -> None:
        """Kill and remove every container of this run, and make no more. An interrupt calls it.

        An engine that hangs gets a few seconds. What it still keeps then, `repair clean` removes.
        """
        self._closed.set()
        with self._lock:
            alive = list(self._alive)
        self._remove_all(alive)

    def left_over(self) -> list[tuple[str, str, str]]:
        """(container id, run id, task) of every container on this engine that a run of `repair` made."""
        with translated("list containers"):
            containers = self._api.containers(all=True, filters={"label": RUN})
        ours = [
            c for c in containers if any(name.startswith(f"/{NAMES}{c['Labels'][RUN]}-") for name in c["Names"] or ())
        ]
        return [(c["Id"], c["Labels"][RUN], c["Labels"].get(TASK, "")) for c in ours]

    def remove(self, identity: str) -> bool:
        """Remove a container by id, running or not, with its volumes. True where it is removed."""
        return self._remove(identity)

    @property
    def closed(self) -> bool:
        """Has `stop_all` been called?"""
        return self._closed.is_set()

    def pause(self, seconds: float) -> bool:
        """Wait `seconds`, or until `stop_all` is called. True where it was called."""
        return self._closed.wait(seconds)
