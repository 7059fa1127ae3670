"""A container that is removed while it is read: the engine goes on answering from it while its files go one by one."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from repair.controls import session
from repair.errors import ContainerKilled, EngineError
from repair.sandbox import Container
from tests.engine.conftest import BuildImage
from tests.engine.lab import F2P, PLAIN, Lab, docker

pytestmark = pytest.mark.engine

# So many files take the engine a while to remove.
FILL = "mkdir /full /left && cd /full && i=0 && while [ $i -lt 4000 ]; do : >$i; i=$((i+1)); done; echo 1 >/left/1"
CODE = "/testbed/calc.py"


def read(box: Container, begun: threading.Event, gone: threading.Event) -> list[str]:
    """What is wrong with what was read until the container was gone."""
    wrong = []
    while True:
        last = gone.is_set()
        with tempfile.TemporaryDirectory() as folder:
            try:
                if box.get(CODE) is None:
                    wrong.append("a file of the image is missing")
                box.fetch("/left", Path(folder))
                if [file.name for file in Path(folder).iterdir()] != ["1"]:
                    wrong.append("a file that the run left is missing")
            except ContainerKilled:
                if last:
                    return wrong
        begun.set()


def test_a_container_that_goes_is_never_taken_for_one_that_lacks_files(lab: Lab) -> None:
    task = lab.task(F2P)
    image = lab.sandbox.images.get(task, False, lambda _: None)
    for _ in range(4):
        begun, gone = threading.Event(), threading.Event()
        with (
            lab.sandbox.container(task, image, "removal", ["/bin/sh", "-c", FILL]) as box,
            ThreadPoolExecutor(4) as pool,
        ):
            assert box.run(60).code == 0
            assert box.get(CODE) is not None
            readers = [pool.submit(read, box, begun, gone) for _ in range(4)]
            try:
                assert begun.wait(60)
                docker("rm", "--force", box.id)
            finally:
                gone.set()
            assert [reader.result() for reader in readers] == [[]] * 4


def test_what_is_read_while_a_run_is_stopped_is_no_evidence(lab: Lab) -> None:
    task = lab.task(F2P)
    with session.connect() as sandbox:
        image = sandbox.images.get(task, False, lambda _: None)

        def read_while_it_is_stopped() -> None:
            with sandbox.container(task, image, "removal", ["/bin/sh", "-c", "exit 4"]) as box:
                assert box.run(60).code == 4
                sandbox.stop_all()

        with pytest.raises(EngineError, match="the run is being stopped"):
            read_while_it_is_stopped()


def test_a_container_whose_image_has_our_label_is_not_ours(lab: Lab, build_image: BuildImage) -> None:
    image = build_image(f"FROM {PLAIN}\nLABEL repair.run={lab.sandbox.run_id}\n")
    theirs = docker("create", image, "true")
    try:
        assert theirs not in {identity for identity, _, _ in lab.sandbox.left_over()}
    finally:
        docker("rm", theirs)
