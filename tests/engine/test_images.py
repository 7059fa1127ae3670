"""Where a task's image comes from, what a record says of it, and where the engine is found."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from repair import pipeline
from repair.controls import session
from repair.errors import EngineLost, ImageError
from repair.panel import read
from repair.pipeline import Result, State
from tests.engine.lab import Lab, docker, record, write_panel, write_task

pytestmark = pytest.mark.engine

BUSYBOX = "repair-test/odd-busybox:1"
FORTY_TWO = b"--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-41\n+42\n"
LISTS = {"f2p": ["suite::value_is_42"], "p2p": ["suite::always"]}
OTHER = {"x86_64": "arm64", "aarch64": "amd64", "amd64": "arm64", "arm64": "amd64"}  # Podman says it as images do


def write(panel: Path, name: str, image: str, dockerfile: str | None = None, platform: str | None = None) -> Path:
    task = write_task(
        panel,
        name,
        LISTS["f2p"],
        LISTS["p2p"],
        FORTY_TWO,
        image=image,
        platform=platform,
        framework="shell",
        test_cmd=["sh", "check.sh"],
        junit=["out/*.xml"],
    )
    if dockerfile is not None:
        (task / "environment").mkdir()
        (task / "environment" / "Dockerfile").write_text(dockerfile)
    return task


@pytest.fixture
def panel(lab: Lab) -> Path:
    return write_panel(lab.fresh(), "[policy]\nmin_p2p = 1\n")


@pytest.fixture
def name() -> Iterator[str]:
    """An image name that nobody uses; what has it afterwards is removed."""
    made = f"repair-test-own/{secrets.token_hex(6)}"
    yield made
    subprocess.run(["docker", "image", "rm", "--force", f"{made}:1"], capture_output=True, check=False)


def only(results: dict[str, Result]) -> Result:
    (result,) = results.values()
    return result


def image_error(result: Result) -> str:
    assert result.state is State.FAILED
    assert type(result.error) is ImageError, result.error
    assert not (result.task.directory / "repair.json").exists()
    return result.error.message


def other_platform() -> str:
    return f"linux/{OTHER[docker('info', '--format', '{{.Architecture}}')]}"


# ---- present


def test_an_image_that_is_here_is_used_by_id(lab: Lab, panel: Path) -> None:
    write(panel, "by-name", BUSYBOX)
    identity = docker("image", "inspect", "--format", "{{.Id}}", BUSYBOX)
    write(panel, "by-id", identity)
    for result in lab.run(panel).values():
        assert result.error is None
        found = record(result.task.directory)
        assert (found["verdict"], found["image"]["id"]) == ("clean", identity)
        assert found["image"]["digest"] is None
        assert found["inputs"]["environment"] is None


def test_the_platform_that_the_image_has_may_be_asked_for(lab: Lab, panel: Path) -> None:
    own = OTHER[other_platform().removeprefix("linux/")]
    write(panel, "own", BUSYBOX, platform=f"linux/{own}")
    result = only(lab.run(panel))
    assert result.error is None
    assert record(result.task.directory)["image"]["platform"] == f"linux/{own}"


# ---- pulled


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`localhost:PORT` of a registry of our own."""
    assert shutil.which("docker-registry"), "Debian's docker-registry is what this pulls from: install it"
    folder = tmp_path_factory.mktemp("registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", int(os.environ.get("REPAIR_REGISTRY_PORT") or 0)))  # see scripts/podman
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    (folder / "config.yml").write_text(
        f"version: 0.1\nlog: {{accesslog: {{disabled: true}}}}\nhttp: {{addr: '{address}'}}\n"
        f"storage: {{filesystem: {{rootdirectory: '{folder / 'data'}'}}}}\n"
    )
    command = ["docker-registry", "serve", str(folder / "config.yml")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        said = next((line for line in lines if "listening on" in line), "")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        assert said, "the registry did not start"
        yield address.replace("127.0.0.1", "localhost")
        process.terminate()


@pytest.fixture(scope="module")
def pushed(registry: str, images: None) -> Iterator[dict[str, str]]:
    """An image that two repositories of the registry hold and the engine does not: its `id`, and names for it."""
    repositories = [f"{registry}/{name}" for name in ("zoo/aardvark", "own", "zoo/zebra")]
    dockerfile = f"FROM {BUSYBOX}\nRUN echo {secrets.token_hex(8)} >unique\n".encode()
    docker("build", "--quiet", "--network", "none", "--tag", f"{repositories[0]}:1", "-", stdin=dockerfile)
    for repository in repositories:
        for tag in ("1", "latest"):
            docker("tag", f"{repositories[0]}:1", f"{repository}:{tag}")
            docker("push", "--quiet", f"{repository}:{tag}")
    form = "{{.Id}} {{range .RepoDigests}}{{.}} {{end}}"
    identity, *digests = docker("image", "inspect", "--format", form, f"{repositories[1]}:1").split()
    (digest,) = (digest for digest in digests if digest.startswith(f"{repositories[1]}@"))
    yield {"id": identity, "digest": digest, "own": repositories[1], "other": repositories[2]}
    subprocess.run(["docker", "image", "rm", "--force", identity], capture_output=True, check=False)


@pytest.mark.parametrize("form", ["by tag", "without a tag", "by digest"])
def test_an_image_is_pulled(lab: Lab, panel: Path, pushed: dict[str, str], form: str) -> None:
    names = {"by tag": f"{pushed['own']}:1", "without a tag": pushed["own"], "by digest": pushed["digest"]}
    subprocess.run(["docker", "image", "rm", "--force", pushed["id"]], capture_output=True, check=False)
    write(panel, "task", names[form], "FROM nowhere/to-be-had:1\n")
    result = only(lab.run(panel))
    assert result.error is None
    found = record(result.task.directory)
    assert found["verdict"] == "clean"
    assert found["image"]["id"] == pushed["id"]
    assert found["image"]["digest"] == pushed["digest"]
    tags = docker("image", "inspect", "--format", "{{len .RepoTags}}", pushed["id"])
    assert tags == ("0" if form == "by digest" else "1"), "no other tag is pulled"


def test_the_digest_is_of_the_images_own_repository(lab: Lab, panel: Path, pushed: dict[str, str]) -> None:
    docker("pull", "--quiet", f"{pushed['other']}:1")
    docker("pull", "--quiet", f"{pushed['own']}:1")
    docker("tag", pushed["id"], f"{pushed['other']}-local:1")
    write(panel, "own", f"{pushed['own']}:1")
    write(panel, "local", f"{pushed['other']}-local:1")
    digests = {name: record(result.task.directory)["image"]["digest"] for name, result in lab.run(panel).items()}
    assert digests == {"own": pushed["digest"], "local": None}


def test_a_tag_that_the_registry_lacks_is_an_image_error(lab: Lab, panel: Path, pushed: dict[str, str]) -> None:
    write(panel, "task", f"{pushed['own']}:2")
    message = image_error(only(lab.run(panel)))
    assert "it is not here, it cannot be pulled (" in message
    assert "there is no " in message


def test_another_platform_than_the_registry_has_is_an_image_error(
    lab: Lab, panel: Path, pushed: dict[str, str]
) -> None:
    platform = other_platform()
    write(panel, "task", f"{pushed['own']}:1", platform=platform)
    message = image_error(only(lab.run(panel)))
    assert f"it is not here for {platform}" in message
    assert "pull" in message


# ---- built


def test_an_image_is_built_once_for_all_its_tasks(lab: Lab, panel: Path, name: str) -> None:
    dockerfile = f"FROM {BUSYBOX}\nRUN echo built >how\n"
    for task in ("one", "two"):
        write(panel, task, f"{name}:1", dockerfile)
    said: list[str] = []
    results = pipeline.run(
        read.load(panel), lab.sandbox, session.Options(jobs=2), lambda event: said.append(event.what)
    )
    identity = docker("image", "inspect", "--format", "{{.Id}}", f"{name}:1")
    for result in results:
        assert result.error is None
        found = record(result.task.directory)
        assert found["image"]["id"] == identity
        assert found["image"]["digest"] is None
        assert len(found["inputs"]["environment"]) == 64
    assert [what for what in said if what.startswith(("pulling", "building"))] == [
        f"pulling {name}:1",
        f"building {name}:1",
    ]


def test_no_build_forbids_it(lab: Lab, panel: Path, name: str) -> None:
    task = write(panel, "task", f"{name}:1", f"FROM {BUSYBOX}\n")
    message = image_error(only(lab.run(panel, build=False)))
    assert message.startswith(f"no image {name}:1: it is not here, it cannot be pulled (")
    assert message.endswith("--no-build forbids to build it")
    assert only(lab.run(panel)).error is None, "it is built when that is allowed"
    assert record(task)["verdict"] == "clean"


def test_a_dockerfile_that_fails_is_named_with_the_step(lab: Lab, panel: Path, name: str) -> None:
    task = write(panel, "task", f"{name}:1", f"FROM {BUSYBOX}\nRUN echo installing && exit 3\n")
    message = image_error(only(lab.run(panel)))
    assert f"it is not here, it cannot be pulled (could not pull {name}:1: " in message
    assert f"{task / 'environment' / 'Dockerfile'} does not build it (" in message
    assert re.search(r"(returned a non-zero code: 3|exit status 3) after: installing", message)


def test_a_build_of_another_platform_than_asked_is_an_image_error(lab: Lab, panel: Path, name: str) -> None:
    platform = other_platform()
    write(panel, "task", f"{name}:1", f"FROM {BUSYBOX}\n", platform)
    message = image_error(only(lab.run(panel)))
    assert f"it is not here for {platform}" in message
    assert "Dockerfile" in message


def test_an_image_failure_of_one_task_leaves_the_others(lab: Lab, panel: Path, name: str) -> None:
    write(panel, "bad", f"{name}:1")
    write(panel, "good", BUSYBOX)
    results = lab.run(panel)
    assert "there is no " in image_error(results["bad"])
    assert results["good"].state is State.RECORDED


# ---- where the engine is


def repair(*arguments: str | Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("DOCKER_")}
    return subprocess.run(
        [sys.executable, "-m", "repair", *map(str, arguments)],
        env=inherited | {key: value for key, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def address() -> str:
    """Where the engine that the tests use is."""
    return os.environ.get("DOCKER_HOST") or docker("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory, address: str) -> str:
    """A DOCKER_CONFIG whose current context leads nowhere; `good` is another of its contexts."""
    folder = str(tmp_path_factory.mktemp("docker-config"))
    docker("context", "create", "good", "--docker", f"host={address}", DOCKER_CONFIG=folder)
    docker("context", "create", "bad", "--docker", f"host=unix://{folder}/nothing.sock", DOCKER_CONFIG=folder)
    docker("context", "use", "bad", DOCKER_CONFIG=folder, DOCKER_HOST="")
    return folder


@pytest.mark.parametrize(
    "way", ["DOCKER_HOST", "DOCKER_HOST over a context", "DOCKER_CONTEXT", "current context", "nothing but contexts"]
)
def test_the_engine_is_found_as_docker_finds_it(
    panel: Path, contexts: str, address: str, tmp_path: Path, way: str
) -> None:
    task = write(panel, f"task-{secrets.token_hex(4)}", BUSYBOX)
    environment = {
        "DOCKER_HOST": {"DOCKER_HOST": address},
        "DOCKER_HOST over a context": {"DOCKER_HOST": address, "DOCKER_CONFIG": contexts},
        "DOCKER_CONTEXT": {"DOCKER_CONTEXT": "good", "DOCKER_CONFIG": contexts},
        "current context": {"DOCKER_CONFIG": contexts},
        "nothing but contexts": {"DOCKER_CONTEXT": "only", "DOCKER_CONFIG": str(tmp_path)},
    }[way]
    if way == "nothing but contexts":  # docker makes no config.json for these
        docker("context", "create", "only", "--docker", f"host={address}", DOCKER_CONFIG=str(tmp_path))
    if way == "current context":
        docker("context", "use", "good", DOCKER_CONFIG=contexts, DOCKER_HOST="")
    ended = repair("run", panel, "--json", **environment)
    assert (ended.returncode, json.loads(ended.stdout)["tasks"][0]["verdict"]) == (0, "clean"), ended.stderr
    assert docker("ps", "--all", "--quiet", "--filter", f"label=repair.task={task.name}") == ""


@pytest.mark.parametrize("way", ["a socket", "a port", "a context", "a context that is not there", "no address"])
def test_an_engine_that_is_not_there_ends_the_run_once(panel: Path, tmp_path: Path, way: str) -> None:
    for name in ("one", "two", "three"):
        write(panel, name, BUSYBOX)
    config = str(tmp_path / "config")
    if way == "a context":
        docker("context", "create", "bad", "--docker", f"host=unix://{tmp_path}/nothing", DOCKER_CONFIG=config)
    environment = {
        "a socket": {"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"},
        "a port": {"DOCKER_HOST": "tcp://127.0.0.1:1"},
        "a context": {"DOCKER_CONFIG": config, "DOCKER_CONTEXT": "bad"},
        "a context that is not there": {"DOCKER_CONTEXT": "nowhere"},
        "no address": {"DOCKER_HOST": "somewhere://else"},
    }[way]
    ended = repair("run", panel, **environment)
    assert ended.returncode == EngineLost.code == 8
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("repair: could not reach the engine")
    assert "start the engine or point DOCKER_HOST or the docker context at one" in line
    assert not list(panel.glob("*/repair.json"))
