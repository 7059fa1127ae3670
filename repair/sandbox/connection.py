"""The connection to one container engine, which is found where the docker command finds it.

It reads DOCKER_HOST and the docker contexts, and tunnels through ssh to an engine behind it. It turns the errors of
docker, requests and the system into those of `repair.errors`.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import docker.constants
import docker.errors
import docker.tls
import requests.exceptions
import requests.utils
import urllib3.exceptions

from repair.errors import DiskFull, EngineError, EngineLost
from repair.sandbox.references import architecture
from repair.sandbox.ssh import SCHEME, Tunnel
from repair.text import printable

TIMEOUT = 120  # seconds for a call of the engine that does not wait for a container's end
FREE_SPACE = "free some (`docker system df` shows what images and containers take), then run again"
START_ENGINE = "start the engine or point DOCKER_HOST or the docker context at one (`repair doctor` says what it sees)"


@dataclass(frozen=True, slots=True)
class Engine:
    """What the engine says of itself.

    `version`, `api`: the versions of the engine and of the API that it is asked by.
    `storage`: the name of its storage driver.
    `cpus`, `memory`: cores, and bytes.
    `architecture`: as images name it, such as `amd64`.
    `root`: the directory where it keeps its data.
    `address`: where it was found, for messages.
    `warnings`: what it warns of.
    """

    version: str
    api: str
    storage: str
    cpus: int
    memory: int
    architecture: str
    root: str
    address: str
    warnings: tuple[str, ...] = field(default_factory=tuple)


class Connection:
    """One engine that answers. `client` is docker's, to be used only within `translated`.

    Raises `EngineLost` where no engine answers.
    """

    def __init__(self) -> None:
        self.address = address()
        self._tunnel = _tunnel()
        try:
            with self._reaching():
                self.client = _connect(self._tunnel)
                self._info: dict[str, Any] = self.client.info()
        except BaseException:
            if self._tunnel is not None:
                self._tunnel.close()
            raise

    def close(self) -> None:
        """Close the client and the tunnel."""
        self.client.close()
        if self._tunnel is not None:
            self._tunnel.close()

    @property
    def engine(self) -> Engine:
        """Facts about the engine, as of the start of the connection."""
        info = self._info
        return Engine(
            version=info.get("ServerVersion", "?"),
            api=self.client.api.api_version,
            storage=info.get("Driver", "?"),
            cpus=int(info.get("NCPU") or os.cpu_count() or 1),
            memory=int(info.get("MemTotal") or 0),
            architecture=architecture(info.get("Architecture", "")),
            root=info.get("DockerRootDir", ""),
            address=self.address,
            warnings=tuple(info.get("Warnings") or ()),
        )

    @property
    def is_podman(self) -> bool:
        """Does Podman answer through Docker's API?"""
        return "BuildahVersion" in self._info

    def ping(self) -> None:
        """Raise `EngineLost` unless the engine answers."""
        with self._reaching():
            self.client.ping()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Name the address of an engine that does not answer, with ssh's own words where it is behind ssh."""
        try:
            with translated(f"reach the engine at {self.address}"):
                yield
        except ValueError as err:  # the address is not valid
            message = printable(str(err))
            raise EngineLost(f"could not reach the engine: {message}", START_ENGINE, transient=False) from None
        except EngineLost as err:
            message = self._tunnel.complaint() if self._tunnel is not None else ""
            if not message:
                raise
            raise EngineLost(f"could not reach the engine at {self.address}: {message}", err.next) from None


# ---- errors


class SlowError(EngineError):
    """A call of the engine took longer than its limit."""


class GoneError(EngineError):
    """The engine does not know what the call is about."""


_BUSY = (408, 409, 429)  # HTTP statuses of calls that may succeed later
# How engines say that a registry does not know an image, or does not give it to us. Their HTTP statuses differ.
_FINAL = re.compile(
    r"not found|manifest unknown|no matching manifest|denied|unauthorized|authentication required", re.I
)


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn the errors of docker, requests and the system into ours. `what`: what was being done, for the message.

    Raises `EngineLost` where the engine cannot be reached, else `SlowError`, `GoneError`, `DiskFull` or `EngineError`.
    """
    try:
        yield
    except docker.errors.APIError as err:
        raise _of_api(what, err) from None
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ConnectionError) as err:
        if "timed out" in str(err).lower():
            raise SlowError(
                f"could not {what}: the engine takes too long", "see what it is busy with", transient=True
            ) from None
        raise EngineLost(f"could not {what}: {_reason(err)}", START_ENGINE) from None
    except docker.errors.DockerException as err:
        raise EngineLost(f"could not {what}: {_reason(err)}", START_ENGINE) from None
    except tarfile.TarError as err:
        raise EngineError(f"could not {what}: broken archive ({err})", "run again") from None


def _of_api(what: str, err: docker.errors.APIError) -> EngineError | DiskFull:
    message, status = printable(str(err.explanation or err)).strip(), err.status_code
    if "no space left on device" in message.lower():
        return DiskFull(f"could not {what}: no space left on the engine's disk", FREE_SPACE)
    is_gone = isinstance(err, docker.errors.NotFound) or "marked for removal" in message.lower()
    error = GoneError if is_gone else EngineError
    transient = not is_gone and not _FINAL.search(message) and (status is None or status >= 500 or status in _BUSY)
    return error(f"could not {what}: {message[:300]}", "see the engine's log, then run again", transient=transient)


def _reason(err: BaseException) -> str:
    """The system's own words at the bottom of an error that was wrapped several times, else the error's own."""
    errors: list[BaseException] = []
    pending: list[object] = [err]
    while pending and len(errors) < 50:
        error = pending.pop()
        if isinstance(error, BaseException) and not any(error is other for other in errors):
            errors.append(error)
            pending += [*error.args, getattr(error, "reason", None), error.__context__, error.__cause__]
    words = next((e.strerror for e in reversed(errors) if isinstance(e, OSError) and e.strerror), "")
    return words or printable(str(err))[:300]


# ---- the client


def _connect(tunnel: Tunnel | None) -> docker.DockerClient:
    """A client for the engine that the docker command would use, in the version of the API that the engine speaks."""
    with contextlib.closing(_client(tunnel, docker.constants.MINIMUM_DOCKER_API_VERSION)) as asker:
        try:
            answer = asker.version(api_version=False)
        except requests.exceptions.RequestException as err:
            raise docker.errors.DockerException(str(err)) from err
    if not isinstance(answer, dict) or "ApiVersion" not in answer:
        raise docker.errors.DockerException("what answers there is no engine")
    return _client(tunnel, answer["ApiVersion"])


def _client(tunnel: Tunnel | None, version: str) -> docker.DockerClient:
    settings: dict[str, Any] = {"timeout": TIMEOUT, "max_pool_size": 64, "version": version}
    name = current()
    if tunnel is not None:
        client = docker.DockerClient(base_url=tunnel.address, **settings)
    elif name is None:
        client = docker.from_env(use_context=False, **settings)
    else:
        host = host_of(name)
        if host is None:
            message = f"could not reach the engine: there is no docker context {printable(name)}"
            raise EngineLost(message, START_ENGINE, transient=False)
        client = docker.DockerClient(base_url=host, tls=_certificates(name), **settings)
    # Else REQUESTS_CA_BUNDLE would replace the engine's own authority, and a proxy would be asked for this machine.
    client.api.trust_env = False
    if not _is_here(client.api.base_url):
        client.api.proxies.update(requests.utils.get_environ_proxies(client.api.base_url))
    return client


def _tunnel() -> Tunnel | None:
    """The tunnel to an engine behind ssh; None for other engines. Raises `EngineLost` for a URL that is not valid."""
    host = engine_host() or ""
    if not host.lower().startswith(SCHEME):
        return None
    try:
        return Tunnel(host)
    except ValueError as err:
        raise EngineLost(f"could not reach the engine: {printable(str(err))}", START_ENGINE, transient=False) from None


def _certificates(name: str) -> docker.tls.TLSConfig | bool:
    certificates = certificates_of(name)
    if certificates is None:
        return False
    return docker.tls.TLSConfig(
        client_cert=certificates.own, ca_cert=certificates.authority, verify=certificates.verify
    )


def _is_here(url: str) -> bool:
    """Does the URL lead to this machine?"""
    host = urlsplit(url).hostname or "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# ---- where the engine is


def address() -> str:
    """Where the engine is looked for, for messages."""
    return printable(engine_host() or "the default socket")


def engine_host() -> str | None:
    """The URL of the engine; None for the default socket, or where the context that counts has no URL."""
    name = current()
    return host_of(name) if name else os.environ.get("DOCKER_HOST") or None


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files for TLS.

    `authority`: whom to trust; None means the usual authorities.
    `own`: certificate and key of this client; None where it shows none.
    `verify`: the engine's certificate is checked.
    """

    authority: str | None
    own: tuple[str, str] | None
    verify: bool


def current() -> str | None:
    """The name of the docker context that counts; None where DOCKER_HOST or the default context does."""
    if os.environ.get("DOCKER_HOST"):
        return None
    name = os.environ.get("DOCKER_CONTEXT")
    if not name:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            name = json.loads((_docker_config() / "config.json").read_bytes()).get("currentContext")
    return None if not name or name == "default" else name


def host_of(name: str) -> str | None:
    """The URL of a context's engine; None where the context's own file has none.

    docker-py finds no context where there is no config.json, so its file is read here.
    """
    host = _endpoint(name).get("Host")
    return str(host) if host else None


def certificates_of(name: str) -> Certificates | None:
    """The certificates to reach a context's engine with over TLS; None where it is reached without TLS."""
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
