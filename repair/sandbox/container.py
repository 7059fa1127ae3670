"""One created container: files in and out as tar archives, its start, its end, its log."""

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

LOG_BYTES = 32 << 20  # what is kept of a container's output


class Container:
    """One created container; see `Sandbox.container`."""

    def __init__(self, connection: Connection, identity: str) -> None:
        self._connection = connection
        self._api = connection.client.api
        self.id = identity
        self._made: float | None = None
        self._started: str | None = None  # when, by the engine's clock

    def put(self, entries: Sequence[Entry]) -> None:
        """Write files, links and directories; those above them must exist or come first."""
        with self._watched("write into the container"):
            self._api.put_archive(self.id, "/", pack(entries, self._changed()))

    def _changed(self) -> float:
        """When the container was made, by the engine's clock: newer than its image, whatever the time is here."""
        if self._made is None:
            self._made = _seconds(self._api.inspect_container(self.id)["Created"])
        return self._made

    def get(self, path: str, limit: int = MAX_OUT) -> Entry | None:
        """A file, a link, or a directory without what is in it; None where there is none. Links are not followed."""
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
        # A link at the top is a working directory: to read it as it is would take the whole file system.
        at_top = str(PurePosixPath(path).parent) == "/"
        return replace(entry, link=stat.get("linkTarget"), directory=False) if at_top else self._unfollowed(path)

    def _state(self) -> dict[str, Any]:
        """What the engine says of the container now; raises where it is gone or going, or was started once more.

        While a container is removed an engine goes on answering from it, though its files go one by one: to be asked
        after a read, since a container whose removal has not begun by then has had all its files.
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
        """A path as an archive, and what the engine says of it, in Go's words."""
        if not self._connection.is_podman:
            return self._api.get_archive(self.id, path)
        # It takes the path for a pattern, and spells its answer in the other alphabet of base64 than docker-py reads.
        if "*" in path:  # in whatever spelling, it finds nothing
            raise NoEvidence(
                f"Podman cannot read {printable(path)[:200]}", "run this task on Docker, or rename the file"
            )
        api: Any = self._api  # whose parts for requests have no types
        asked = re.sub(r"[\\?\[\]]", r"\\\g<0>", path)
        response = api._get(api._url("/containers/{0}/archive", self.id), params={"path": asked}, stream=True)
        api._raise_for_status(response)
        stat = json.loads(base64.b64decode(response.headers[_STAT], altchars=b"-_"))
        return response.iter_content(1 << 16), stat

    def _unfollowed(self, path: str) -> Entry | None:
        """A link by way of the directory that it is in: Podman follows it, or says that there is none if it dangles."""
        chunks, _ = self._archive(str(PurePosixPath(path).parent))
        return below(chunks, path)

    def fetch(self, path: str, into: Path) -> None:
        """Copy the plain files of a directory of the container into `into`, by their own names.

        Raises `NoEvidence` for links, devices and sizes that no honest run leaves.
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
        """Start the container and wait for its end, `timeout` seconds at most; then it is killed."""
        with self._watched("start the container"):
            self._api.start(self.id)
            self._started = self._state().get("StartedAt")
        timed_out = not self._wait(timeout)
        with self._watched("stop the container"):
            state = self._state()
            timed_out = timed_out and bool(state.get("Running"))  # a line may have been cut that told of its end
            paused = timed_out and bool(state.get("Paused"))
            if timed_out:
                with contextlib.suppress(docker.errors.APIError):  # it may have ended by itself just now
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
                raise  # it is the connection whose time ran out
            return False
        return True

    def log(self, into: Path) -> None:
        """Write what the container printed, as much of it as the engine kept."""
        with self._watched("read the log"), into.open("wb") as target:
            left = LOG_BYTES
            for chunk in self._printed():
                target.write(chunk[:left])
                left -= len(chunk)
                if left <= 0:  # not every engine keeps to the limit
                    return

    def _printed(self) -> Iterator[bytes]:
        """What the container printed, in pieces. docker-py's own way lets go of the time limit of the connection."""
        api: Any = self._api  # whose parts for requests have no types
        asked = {"stdout": 1, "stderr": 1, "follow": 0, "tail": "all"}
        url = api._url("/containers/{0}/logs", self.id)
        with contextlib.closing(api._get(url, params=asked, stream=True)) as response:
            api._raise_for_status(response)
            yield from unframed(response.iter_content(1 << 16))

    @contextlib.contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        killed = ContainerKilled(
            f"could not {what}: the container was removed from outside", "find what removes containers, run again"
        )
        try:
            with translated(what):
                yield
        except GoneError:
            raise killed from None
        except EngineError as err:
            self._connection.ping()  # an engine that died says so in many ways: name it
            try:
                with translated(what):
                    self._state()  # and so does one of a container that is being removed
            except GoneError:
                raise killed from None
            if isinstance(err, EngineLost):  # it answers again
                raise EngineLost(f"{err.message} (from the engine at {self._connection.address})", err.next) from None
            raise


_STAT = "X-Docker-Container-Path-Stat"  # what the engine says of a path, in Go's words
_LINK = 1 << 27
# How Docker and Podman say that a path is missing; others may stand between us and an engine, and have a 404 of theirs.
_MISSING = re.compile(r"could not find the file|no such file|could not be found", re.IGNORECASE)


def unframed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The payload of the engine's stream of frames, each of which has a header of 8 bytes with its length.

    Raises `EngineError` for a stream that ends within one.
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


FRAME = struct.Struct(">B3xL")  # of which stream, and how many bytes follow


def _seconds(text: str) -> float:
    """An engine's time (RFC 3339, with nanoseconds) as seconds since the epoch."""
    return datetime.fromisoformat(re.sub(r"\.\d+", "", text)).timestamp()
