"""Where a task's image comes from: the engine holds it, pulls it or builds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import docker.errors
import requests.exceptions

from repair.errors import DiskFull, EngineError, EngineLost, ImageError
from repair.model import Image, Task
from repair.sandbox.connection import FREE_SPACE, Connection, translated
from repair.sandbox.references import architecture, fits, is_tagged, repository_of, spelt_out
from repair.sandbox.retry import NEVER, Retry
from repair.text import printable, says_no_space

Say = Callable[[str], None]


class Images:
    """The images of one engine. An image is not looked up again once it is found."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.client
        self._found: dict[tuple[str, str | None], Image] = {}
        self._locks: dict[tuple[str, str | None], threading.Lock] = {}
        self._lock = threading.Lock()

    def references(self) -> frozenset[str]:
        """Every tag and repo digest of the images that the engine holds, in full."""
        with translated("list the images"):
            images = self._client.api.images()
        names = (name for image in images for key in ("RepoTags", "RepoDigests") for name in image.get(key) or ())
        return frozenset(spelt_out(name) for name in names)

    def find(self, task: Task) -> Image | None:
        """The task's image for the platform that the task asks for; None where the engine does not hold it."""
        with translated(f"look up image {task.image}"):
            try:
                held = self._client.images.get(task.image)
            except docker.errors.ImageNotFound:
                return None
        image = self._describe(held.attrs, task)
        return image if task.platform is None or fits(task.platform, image.platform or "") else None

    def get(self, task: Task, build: bool, say: Say, retry: Retry = NEVER) -> Image:
        """The task's image: as the engine holds it, else pulled, else built from environment/Dockerfile.

        `build` allows the last. `say` learns of pulls and builds. `retry` repeats look-ups and pulls. Tasks that share
        an image wait for one look-up. Raises `ImageError` that names all three ways where none works.
        """
        key = (task.image, task.platform)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._found:
                self._found[key] = retry(lambda: self.find(task)) or self._fetch(task, build, say, retry)
            return self._found[key]

    def _fetch(self, task: Task, build: bool, say: Say, retry: Retry) -> Image:
        tried = ["it is not here" + (f" for {task.platform}" if task.platform else "")]
        image = self._pulled(task, say, tried, retry) or self._built(task, build, say, tried)
        if image is None:
            raise ImageError(
                f"no image {task.image}: " + ", ".join(tried),
                "build or pull it, log in to its registry, or mend its name",
            )
        return image

    def _pulled(self, task: Task, say: Say, tried: list[str], retry: Retry) -> Image | None:
        say(f"pulling {task.image}")
        try:
            retry(lambda: self._pull(task))
        except EngineLost:
            raise
        except EngineError as err:
            tried.append(f"it cannot be pulled ({printable(err.message)})")
            return None
        return self._of_platform(task, "what is pulled", tried)

    def _pull(self, task: Task) -> None:
        with translated(f"pull {task.image}"):
            tag = None if is_tagged(task.image) else "latest"
            for line in self._client.api.pull(task.image, tag=tag, platform=task.platform, stream=True, decode=True):
                if isinstance(line, dict) and line.get("error"):  # a failure under way is a part of the answer
                    raise docker.errors.APIError(str(line["error"]), explanation=str(line["error"]))

    def _built(self, task: Task, build: bool, say: Say, tried: list[str]) -> Image | None:
        dockerfile = task.directory / "environment" / "Dockerfile"
        if "@" in task.image:
            tried.append("a digest names what exists, so it is not built")
            return None
        if not dockerfile.is_file() or not build:
            tried.append("--no-build forbids to build it" if dockerfile.is_file() else f"there is no {dockerfile}")
            return None
        say(f"building {task.image}")
        try:
            self._build(task)
        except EngineLost:
            raise
        except EngineError as err:
            tried.append(f"{dockerfile} does not build it ({printable(err.message)})")
            return None
        return self._of_platform(task, f"what {dockerfile} builds", tried)

    def _of_platform(self, task: Task, what: str, tried: list[str]) -> Image | None:
        """The image that the engine holds now for the task's platform; else None, and `tried` says why."""
        image = self.find(task)
        if image is None:
            other = self.find(replace(task, platform=None))
            tried.append(f"{what} is for {other.platform}" if other else f"{what} is gone again")
        return image

    def _build(self, task: Task) -> None:
        with translated(f"build {task.image}"):
            try:
                self._client.images.build(
                    path=str(task.directory / "environment"),
                    tag=task.image,
                    rm=True,
                    forcerm=True,
                    platform=task.platform,
                    timeout=3600,
                )
            except (OSError, ValueError) as err:  # the client reads the environment's files
                if isinstance(err, (requests.exceptions.RequestException, ConnectionError)):
                    raise
                message = printable(str(err))[:200]
                raise EngineError(f"{task.directory}/environment cannot be read: {message}") from None
            except docker.errors.BuildError as err:
                lines = [str(part.get("stream", "")).strip() for part in err.build_log if isinstance(part, dict)]
                output = [line for line in lines if line and not line.startswith(("Removing intermediate", "--->"))]
                last = output[-1] if output else ""
                if says_no_space(f"{err.msg} {last}"):
                    raise DiskFull("no space left on the engine's disk for a build", FREE_SPACE) from None
                raise EngineError(f"{err.msg}".strip() + (f" after: {last[:200]}" if last else "")) from None

    def _describe(self, attrs: Mapping[str, Any], task: Task) -> Image:
        variant = f"/{attrs['Variant']}" if attrs.get("Variant") else ""
        built_for = architecture(attrs.get("Architecture", ""))
        repository = repository_of(task.image)
        digests = sorted(d for d in attrs.get("RepoDigests") or () if repository_of(d) == repository)
        if self._connection.is_podman:  # it also gives a digest to what no registry ever held
            digests = [digest for digest in digests if digest == spelt_out(task.image)]
        return Image(
            id=attrs["Id"],
            digest=digests[0] if digests else None,
            platform=f"{attrs.get('Os') or 'linux'}/{built_for}{variant}",
            emulated=bool(built_for) and built_for != self._connection.engine.architecture,
        )
