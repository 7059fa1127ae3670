"""Which engine the docker command would use: DOCKER_HOST, else the current docker context, else the default socket."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from repair.cause import printable


def current() -> str | None:
    """The name of the docker context that counts, or None where DOCKER_HOST or the default one does."""
    if os.environ.get("DOCKER_HOST"):
        return None
    name = os.environ.get("DOCKER_CONTEXT")
    if not name:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            name = json.loads((_docker_config() / "config.json").read_bytes()).get("currentContext")
    return None if not name or name == "default" else name


def host_of(name: str) -> str | None:
    """A context's engine by its own file: docker-py finds none where there is no config.json."""
    file = _docker_config() / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    try:
        return str(json.loads(file.read_bytes())["Endpoints"]["docker"]["Host"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _docker_config() -> Path:
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def address() -> str:
    """Where the engine is looked for, for messages."""
    name = current()
    host = os.environ.get("DOCKER_HOST") or (name and host_of(name))
    return printable(host or "the default socket")
