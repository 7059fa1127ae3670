"""The engine for a session: the images that tests/images/build makes, one connection, no container left by a module."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable, Iterator

import pytest

from repair.controls import session
from repair.sandbox import Sandbox
from tests.engine.lab import Lab, docker
from tests.support.paths import TESTS

BuildImage = Callable[[str], str]


@pytest.fixture(scope="session")
def images() -> None:
    """The images of tests/images, made where they are absent."""
    subprocess.run([TESTS / "images" / "build"], check=True)


@pytest.fixture(scope="session")
def sandbox(images: None) -> Iterator[Sandbox]:
    with session.connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def lab(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(sandbox, tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module", autouse=True)
def no_container_is_left(sandbox: Sandbox) -> Iterator[None]:
    yield
    left = docker("ps", "--all", "--quiet", "--filter", f"label=repair.run={sandbox.run_id}")
    assert left == "", "a module's containers are all removed when it has ended"


@pytest.fixture(scope="module")
def build_image(images: None) -> Iterator[BuildImage]:
    """Build an image of one module's own from a Dockerfile's text; removed when the module has ended."""
    made = []

    def build(dockerfile: str) -> str:
        tag = f"repair-test-own/{secrets.token_hex(6)}:1"
        docker("build", "--quiet", "--force-rm", "--network", "none", "--tag", tag, "-", stdin=dockerfile.encode())
        made.append(tag)
        return tag

    yield build
    if made:
        docker("image", "rm", "--force", *made)
