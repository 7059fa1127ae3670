"""Tests and conftests that forge: what is noticed, what stays honest all the same, and what no container can notice.

Only outcomes that both the plugin's record and pytest's report hold, with a status that fits, ever count; SECURITY.md
says what follows from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from repair.errors import InfrastructureError, NoEvidence, RepairError
from repair.model import Run
from repair.pipeline import Result, State
from tests.engine.conftest import BuildImage
from tests.engine.forgeries import (
    AGAINST,
    BY_HAND,
    FAKED,
    FORGED,
    HONEST,
    NOT_NOTICED,
    NOTICED,
    PASSES,
    TRUTH,
    WRITES,
    Attack,
    forging,
)
from tests.engine.lab import P2P, PLAIN, Lab, outcomes, python, record, side_by_side, write_panel, write_task

pytestmark = pytest.mark.engine


def observed(lab: Lab, attacks: Mapping[str, Attack]) -> dict[str, Run | RepairError]:
    calls: dict[str, Callable[[], Run]] = {
        name: partial(lab.observe, lab.task(list(TRUTH), attack.files, **attack.keys))
        for name, attack in attacks.items()
    }
    return side_by_side(calls)


@pytest.fixture(scope="module")
def found(lab: Lab) -> dict[str, Run | RepairError]:
    return observed(lab, {**NOTICED, **HONEST, **NOT_NOTICED})


@pytest.mark.parametrize("name", NOTICED)
def test_what_is_forged_is_noticed(found: dict[str, Run | RepairError], name: str) -> None:
    attack, run = NOTICED[name], found[name]
    assert type(run) is attack.error, run
    assert attack.words in str(run)


@pytest.mark.parametrize("name", HONEST)
def test_what_is_forged_changes_no_outcome(found: dict[str, Run | RepairError], name: str) -> None:
    run = found[name]
    assert isinstance(run, Run), run
    assert outcomes(run) == TRUTH
    assert run.exit == 1


@pytest.mark.parametrize("venv", ["p62", "p92"])
def test_every_pytest_notices(lab: Lab, venv: str) -> None:
    names = [
        "the report is rewritten at exit",
        "a pass is added to the record",
        "the record is replaced",
        "the plugin is blocked",
        "addopts: our plugin is not wanted",
        "the record's descriptor is another file's",
    ]
    both = {**NOTICED, **HONEST}
    attacks = {name: replace(both[name], keys={"test_cmd": python(venv)}) for name in names}
    for name, run in observed(lab, attacks).items():
        if name in HONEST:
            assert isinstance(run, Run), run
            assert outcomes(run) == TRUTH
        else:
            assert type(run) is NOTICED[name].error, run
            assert NOTICED[name].words in str(run)


@pytest.mark.parametrize("name", NOT_NOTICED)
def test_what_pytest_itself_is_made_to_say_is_believed(found: dict[str, Run | RepairError], name: str) -> None:
    run = found[name]
    assert isinstance(run, Run), run
    assert outcomes(run) == FORGED


def test_an_image_whose_python_is_no_python_is_believed(lab: Lab, build_image: BuildImage) -> None:
    run = lab.observe(lab.task(list(TRUTH), image=build_image(FAKED)))
    assert outcomes(run) == FORGED
    assert run.exit == 0


# ---- from a panel's point of view


@pytest.fixture(scope="module")
def results(lab: Lab) -> Mapping[str, Result]:
    panel = write_panel(lab.fresh())
    for name, code in AGAINST.items():
        write_task(panel, name, ["tests/test_forged.py::test_forged"], tests=forging(code))
    write_task(panel, "honest", ["tests/test_forged.py::test_forged"], tests=forging("pass"))
    return lab.run(panel)


@pytest.mark.parametrize("name", AGAINST)
def test_evidence_that_contradicts_itself_gives_no_verdict(results: Mapping[str, Result], name: str) -> None:
    result = results[name]
    assert result.state is State.FAILED
    assert isinstance(result.error, InfrastructureError)
    assert not (result.task.directory / "repair.json").exists()
    assert not (result.task.directory / "outcomes.json").exists()


def test_the_same_tests_without_forgery_refuse(results: Mapping[str, Result]) -> None:
    document = record(results["honest"].task.directory)
    assert document["verdict"] == "refused"
    assert "failed" in {reason["rule"] for reason in document["reasons"]}


# ---- outside pytest, where the reports are all that there is


@pytest.mark.parametrize("name", BY_HAND)
def test_outside_pytest_no_file_of_another_name_counts(lab: Lab, name: str) -> None:
    keys: dict[str, Any] = {"framework": "shell", "test_cmd": ["sh", "run.sh"], "junit": ("out/*.xml",)}
    text = f"{WRITES}{BY_HAND[name]}\nexit 1\n"
    with pytest.raises(NoEvidence, match=r"a test left|exit status 0 although tests failed"):
        lab.observe(lab.task(["s::good", "s::bad"], {"run.sh": text}, **keys))


def test_outside_pytest_what_we_look_for_is_fixed_before_the_tests(lab: Lab) -> None:
    keys: dict[str, Any] = {"framework": "shell", "test_cmd": ["sh", "run.sh"], "junit": ("out/*.xml",)}
    text = f'{WRITES}echo "{PASSES}" >forged.xml && echo "forged.xml" >$here/in/junit\nexit 1\n'
    run = lab.observe(lab.task(["s::good", "s::bad"], {"run.sh": text}, **keys))
    assert outcomes(run) == {"s::good": "passed", "s::bad": "failed"}


def test_a_command_may_have_the_name_of_anything_in_our_script(lab: Lab, build_image: BuildImage) -> None:
    names = ("fits", "matches", "delete", "free", "plain", "end_what_is_left", "run", "main")
    image = build_image(
        f"FROM {PLAIN}\nRUN for name in {' '.join(names)}; do"
        " printf '#!/bin/sh\\nexec python3 -m pytest \"$@\"\\n' >/usr/bin/$name && chmod +x /usr/bin/$name; done\n"
    )
    calls = {name: partial(lab.observe, lab.task(P2P[:2], image=image, test_cmd=[name])) for name in names}
    for run in side_by_side(calls).values():
        assert isinstance(run, Run), run
        assert outcomes(run) == dict.fromkeys(P2P[:2], "passed")
