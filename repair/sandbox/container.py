"""One created container: files in and out as tar archives, its start, its end and its log."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import re
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import docker.errors

from repair.errors import ContainerKilled, EngineError, EngineLost, NoEvidence
from repair.model import Ended
from repair.sandbox.archive import MAX_OUT, Entry, below, first, pack, unpack
from repair.sandbox.connection import Connection, GoneError, SlowError, translated
from repair.text import printable

LOG_BYTES = 32 << 20  # of a container's output that are kept


class Container:
    """One created container; `Sandbox.container` makes it.

    Its methods raise `ContainerKilled` where something outside removed the container, else an `EngineError`.
    """

    def __init__(self, connection: Connection, identity: str) -> None:
        self._connection = connection
        self._api = connection.client.api
        self.id = identity
        self._made: float | None = None  # when, in seconds since the epoch by the engine's clock
        self._started: str | None = None  # when, as the engine spells it

    def put(self, entries: Sequence[Entry]) -> None:
        """Write files, links and directories. The directories above them must exist or come first."""
        with self._watched("write into the container"):
            self._api.put_archive(self.id, "/", pack(entries, self._changed()))

    def _changed(self) -> float:
        """When the container was made, in seconds since the epoch by the engine's clock.

        That is later than all that its image holds, whatever the time is here.
        """
        if self._made is None:
            self._made = _seconds(self._api.inspect_container(self.id)["Created"])
        return self._made

    def get(self, path: str, limit: int = MAX_OUT) -> Entry | None:
        """The entry at `path`, a directory without its content; None where there is nothing. Links are not followed.

        Raises `NoEvidence` for a file of more than `limit` bytes.
        """
        with self._watched(f"read {printable(path)[:200]} in the container"):
            entry = self._entry(path, limit)
            self._state()
            return entry

    def _entry(self, path: str, limit: int) -> Entry | None:
        try:
            chunks, stat = self._archive(path)
        except docker.errors.NotFound as err:
            if not _MISSING.search(str(err)):
                raise
            return self._unfollowed(path) if _STAT in getattr(err.response, "headers", ()) else None
        entry = first(chunks, path, limit)
        if not stat.get("mode", 0) & _LINK or entry.link is not None:
            return entry
        # A link directly below / is a working directory. To read it by way of / would read the whole file system.
        at_top = str(PurePosixPath(path).parent) == "/"
        return replace(entry, link=stat.get("linkTarget"), directory=False) if at_top else self._unfollowed(path)

    def _state(self) -> dict[str, Any]:
        """The container's state as the engine gives it now.

        Raises `GoneError` where the container is gone or being removed, `ContainerKilled` where it was started again.
        An engine still answers from a container that it removes, though the files go one by one. So a read calls this
        at its end: a container whose removal has not begun by then had all its files.
        """
        state: dict[str, Any] = self._api.inspect_container(self.id)["State"]
        if state.get("Dead") or state.get("Status") in ("removing", "dead"):
            raise GoneError("the container is being removed")
        if self._started not in (None, state.get("StartedAt")):
            raise ContainerKilled(
                "the container was started again from outside", "find what restarts containers, run again"
            )
        return state

    def _archive(self, path: str) -> tuple[Iterator[bytes], dict[str, Any]]:
        """`path` as an archive in chunks, and the engine's description of it, with Go's names and mode bits."""
        if not self._connection.is_podman:
            return self._api.get_archive(self.id, path)
        # Podman takes the path for a pattern. Its answer is in an alphabet of base64 that docker-py does not read.
        if "*" in path:  # Podman finds nothing, however the star is escaped
            raise NoEvidence(
                f"Podman cannot read {printable(path)[:200]}", "run this task on Docker, or rename the file"
            )
        api: Any = self._api  # its methods for requests have no types
        pattern = re.sub(r"[\\?\[\]]", r"\\\g<0>", path)
        response = api._get(api._url("/containers/{0}/archive", self.id), params={"path": pattern}, stream=True)
        api._raise_for_status(response)
        stat = json.loads(base64.b64decode(response.headers[_STAT], altchars=b"-_"))
        return response.iter_content(1 << 16), stat

    def _unfollowed(self, path: str) -> Entry | None:
        """The link at `path`, by way of its directory.

        Podman follows the link itself, and finds nothing where the link dangles.
        """
        chunks, _ = self._archive(str(PurePosixPath(path).parent))
        return below(chunks, path)

    def fetch(self, path: str, into: Path) -> None:
        """Copy the plain files of a container's directory into `into`, under their own names.

        Raises `NoEvidence` for links, devices and sizes that no honest run leaves, and where the directory is gone.
        """
        with self._watched(f"read {path} in the container"):
            try:
                chunks, _ = self._archive(path)
            except docker.errors.NotFound as err:
                if not _MISSING.search(str(err)):
                    raise
                self._state()
                raise NoEvidence(f"{path} is gone from the container", "find what removes it there") from None
            unpack(chunks, path, into)
            self._state()

    def run(self, timeout: float) -> Ended:
        """Start the container and wait for its end, for `timeout` seconds at most; then kill it.

        Raises `ContainerKilled` where it was paused from outside when its time ran out.
        """
        with self._watched("start the container"):
            self._api.start(self.id)
            self._started = self._state().get("StartedAt")
        timed_out = not self._wait(timeout)
        with self._watched("stop the container"):
            state = self._state()
            timed_out = timed_out and bool(state.get("Running"))  # the news of its end may have been lost on the way
            paused = timed_out and bool(state.get("Paused"))
            if timed_out:
                with contextlib.suppress(docker.errors.APIError):  # it may have ended by itself meanwhile
                    self._api.kill(self.id)
                self._wait(60)
                state = self._state()
        if paused:
            raise ContainerKilled(
                "the container was paused from outside when its time ran out", "find what pauses containers, run again"
            )
        code = None if timed_out else int(state.get("ExitCode", -1))
        return Ended(code, bool(state.get("OOMKilled")))

    def _wait(self, timeout: float) -> bool:
        """Wait until the container has ended; False where `timeout` seconds passed first."""
        begin = time.monotonic()
        try:
            with self._watched("wait for the container"):
                self._api.wait(self.id, timeout=math.ceil(timeout))
        except SlowError:
            if time.monotonic() - begin < timeout - 1:
                raise  # the connection's own time ran out
            return False
        return True

    def log(self, into: Path) -> None:
        """Write what the container printed to `into`, as much of it as the engine kept."""
        with self._watched("read the log"), into.open("wb") as target:
            left = LOG_BYTES
            for chunk in self._printed():
                target.write(chunk[:left])
                left -= len(chunk)
                if left <= 0:  # not every engine keeps to its limit
                    return

    def _printed(self) -> Iterator[bytes]:
        """What the container printed, in pieces. docker-py's own method loses the connection's time limit."""
        api: Any = self._api  # its methods for requests have no types
        query = {"stdout": 1, "stderr": 1, "follow": 0, "tail": "all"}
        url = api._url("/containers/{0}/logs", self.id)
        with contextlib.closing(api._get(url, params=query, stream=True)) as response:
            api._raise_for_status(response)
            yield from unframed(response.iter_content(1 << 16))

    @contextlib.contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Turn errors as `translated` does, and name the cause where `what` fails.

        Raises `EngineLost` where the engine died, and `ContainerKilled` where something outside removed the container.
        """
        killed = ContainerKilled(
            f"could not {what}: the container was removed from outside", "find what removes containers, run again"
        )
        try:
            with translated(what):
                yield
        except GoneError:
            raise killed from None
        except EngineError as err:
            self._connection.ping()  # an engine that died fails in many ways: a ping names it
            try:
                with translated(what):
                    self._state()  # while an engine removes the container, it fails in many ways, too
            except GoneError:
                raise killed from None
            if isinstance(err, EngineLost):  # it answers again by now
                raise EngineLost(f"{err.message} (from the engine at {self._connection.address})", err.next) from None
            raise


_STAT = "X-Docker-Container-Path-Stat"  # the header with the engine's description of a path
_LINK = 1 << 27  # Go's mode bit of a symbolic link
# How Docker and Podman say that a path is missing. A proxy between us and an engine may have a 404 of its own.
_MISSING = re.compile(r"could not find the file|no such file|could not be found", re.IGNORECASE)


def unframed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of the engine's stream of frames. Each frame has a header of 8 bytes with the length of the rest.

    Raises `EngineError` for a stream that ends within a frame.
    """
    header, left = b"", 0
    for chunk in chunks:
        rest = chunk
        while rest:
            if left:
                part, rest = rest[:left], rest[left:]
                left -= len(part)
                yield part
            else:
                missing = FRAME.size - len(header)
                header, rest = header + rest[:missing], rest[missing:]
                if len(header) == FRAME.size:
                    _, left = FRAME.unpack(header)
                    header = b""
    if header or left:
        raise EngineError("could not read the log: it ends early", "see the engine's log, run again", transient=True)


FRAME = struct.Struct(">B3xL")  # the number of the stream, and how many bytes follow


def _seconds(text: str) -> float:
    """An engine's time (RFC 3339, with nanoseconds) as seconds since the epoch."""
    return datetime.fromisoformat(re.sub(r"\.\d+", "", text)).timestamp()
