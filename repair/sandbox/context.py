"""Which engine the docker command would use: DOCKER_HOST, else the current docker context, else the default socket."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repair.text import printable


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in PEM: whom to believe, and certificate and key of our own; whether to look at the engine's at all."""

    authority: str | None
    own: tuple[str, str] | None
    verify: bool


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
    host = _endpoint(name).get("Host")
    return str(host) if host else None


def certificates_of(name: str) -> Certificates | None:
    """With what a context's engine is spoken to over TLS; None where it is spoken to without."""
    folder = _docker_config() / "contexts" / "tls" / _folder(name) / "docker"
    ca, cert, key = (
        str(file) if (file := folder / f"{part}.pem").is_file() else None for part in ("ca", "cert", "key")
    )
    verify = not _endpoint(name).get("SkipTLSVerify")
    return Certificates(ca, (cert, key) if cert and key else None, verify) if ca or cert or not verify else None


def _endpoint(name: str) -> dict[str, Any]:
    file = _docker_config() / "contexts" / "meta" / _folder(name) / "meta.json"
    try:
        return dict(json.loads(file.read_bytes())["Endpoints"]["docker"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _folder(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _docker_config() -> Path:
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")


def host() -> str | None:
    """The URL of the engine; None where it is the default socket, or where the context that counts has none."""
    name = current()
    return host_of(name) if name else os.environ.get("DOCKER_HOST") or None


def address() -> str:
    """Where the engine is looked for, for messages."""
    return printable(host() or "the default socket")
