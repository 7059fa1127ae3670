"""Small repos on which a pytest run misleads, each as a task in a real image, on pytest 6.2, 7.4, 8.4 and 9.

Our own are `tests/data/pytest_cases`; those of the shared folder are run too where it is present.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from repair.errors import InfrastructureError, RepairError
from repair.model import Run
from tests.engine.lab import Lab, docker, outcomes, python, side_by_side
from tests.support.paths import TESTS

pytestmark = pytest.mark.engine

OWN = TESTS / "data" / "pytest_cases"
VENVS = {"p62": (6, 2), "p74": (7, 4), "p84": (8, 4), "p92": (9, 2)}
BUILT_IN = {"subtests": (9, 0)}  # a plugin's name, and the pytest that holds it
TAKES_A_VALUE = ("-k", "-m", "-p", "-o", "-c", "-W", "--deselect", "--ignore")


@dataclass(frozen=True)
class Case:
    """One repo under one pytest: what is listed, and what is to come of it."""

    name: str
    venv: str
    folder: Path
    options: tuple[str, ...]
    ids: dict[str, str]
    infrastructure: str | None = None
    deadly: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.name}-{self.venv}"


def own_cases() -> Iterator[Case]:
    for file in sorted(OWN.glob("*/case.json")):
        case, name = json.loads(file.read_text()), file.parent.name
        versions, needs = case.get("versions", {}), set(case.get("needs", ()))
        for venv, version in VENVS.items():
            if version < _version(versions.get("at_least", "0")):
                continue
            plugins = {plugin for plugin in needs if version < BUILT_IN.get(plugin, (99,))}
            options = [*case["args"], *(["-p", "no:randomly"] if plugins and "randomly" not in plugins else [])]
            ids = dict(case["ids"])
            for below, older in case.get("older", {}).items():
                if version < _version(below):
                    ids |= older
            yield Case(
                name,
                venv + "x" * bool(plugins),
                file.parent / "input",
                tuple(options),
                ids,
                case.get("infrastructure"),
                tuple(case.get("deadly", ())),
            )


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def shared_cases(folder: Path) -> Iterator[Case]:
    for file in sorted(folder.glob("*/expected.json")):
        expected = json.loads(file.read_text())
        if expected["kind"] != "pytest":
            continue
        for venv in expected["venvs"]:
            if venv.removesuffix("x") not in VENVS:
                continue
            stated = expected | expected.get("overrides", {}).get(venv, {})
            ids = {**stated["outcomes"], **stated.get("extra_expected", {})}
            repair = expected.get("repair", ids)
            options = (*positionals_dropped(expected["run"]["args"]), *(["-p", "no:randomly"] * venv.endswith("x")))
            infrastructure = repair.get("infrastructure")
            yield Case(
                file.parent.name,
                venv,
                file.parent / "input",
                options,
                ids if infrastructure else repair,
                infrastructure,
            )


def positionals_dropped(arguments: list[str]) -> Iterator[str]:
    given = iter(arguments)
    for argument in given:
        if argument.startswith("-"):
            yield argument
        if argument in TAKES_A_VALUE:
            yield next(given)


@pytest.fixture(scope="module")
def image(images: None, tmp_path_factory: pytest.TempPathFactory, shared: Path | None) -> Iterator[str]:
    """One image with every case's files below /cases."""
    context = tmp_path_factory.mktemp("cases")
    for source in (OWN, *([shared / "cases"] if shared else [])):
        for folder in sorted(source.glob("*/input")):
            shutil.copytree(folder, context / folder.parent.name, ignore=shutil.ignore_patterns("__pycache__"))
    (context / "Dockerfile").write_text("FROM repair-test/pytests:1\nCOPY . /cases\n")
    tag = f"repair-test-own/cases-{secrets.token_hex(6)}:1"
    docker("build", "--quiet", "--force-rm", "--network", "none", "--tag", tag, str(context))
    yield tag
    docker("image", "rm", "--force", tag)


Observed = dict[str, Run | RepairError]


def observe_all(lab: Lab, image: str, cases: Iterator[Case]) -> Observed:
    calls: dict[str, Callable[[], Run]] = {}
    for case in cases:
        task = lab.task(
            list(case.ids), image=image, workdir=f"/cases/{case.name}", test_cmd=python(case.venv, *case.options)
        )
        calls[case.key] = partial(lab.observe, task)
    return side_by_side(calls)


@pytest.fixture(scope="module")
def own(lab: Lab, image: str) -> Observed:
    return observe_all(lab, image, own_cases())


@pytest.mark.parametrize("case", list(own_cases()), ids=lambda case: case.key)
def test_a_case_of_our_own(own: Observed, case: Case) -> None:
    found = own[case.key]
    if case.infrastructure is not None:
        assert isinstance(found, InfrastructureError)
        assert case.infrastructure in str(found)
    else:
        assert isinstance(found, Run), found
        assert outcomes(found) == case.ids
        assert found.deadly == case.deadly


def test_every_shared_case(lab: Lab, image: str, shared: Path | None) -> None:
    cases = {case.key: case for case in shared_cases(shared / "cases")} if shared else {}
    found = observe_all(lab, image, iter(cases.values()))
    wrong = {}
    for key, case in cases.items():
        result = found[key]
        if case.infrastructure is not None:
            if not isinstance(result, InfrastructureError) or case.infrastructure not in str(result):
                wrong[key] = f"expected infrastructure ({case.infrastructure}), found {result}"
        elif not isinstance(result, Run):
            wrong[key] = f"no evidence: {result}"
        elif outcomes(result) != case.ids:
            wrong[key] = f"expected {case.ids}, found {outcomes(result)}"
    assert wrong == {}
