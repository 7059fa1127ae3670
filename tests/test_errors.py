"""Exit codes are an interface: each error class its own, listed in the README."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import repair
from repair import errors
from repair.errors import RepairError
from tests.support.paths import ROOT

README = ROOT / "README.md"
OTHER_STATUSES = {0, 1, 130, 143}  # fine, a verdict against, Ctrl-C, SIGTERM


def subclasses(base: type[RepairError]) -> Iterator[type[RepairError]]:
    for found in base.__subclasses__():
        yield found
        yield from subclasses(found)


def all_errors() -> list[type[RepairError]]:
    """Every error class of the package, wherever it is defined."""
    for module in pkgutil.walk_packages(repair.__path__, "repair."):
        if module.name != "repair.__main__" and not module.name.startswith("repair.controls.inside"):
            importlib.import_module(module.name)
    found: set[type[RepairError]] = {RepairError, *subclasses(RepairError)}
    return sorted((err for err in found if err.__module__.startswith("repair.")), key=lambda err: err.__qualname__)


PUBLIC = [err for err in all_errors() if err.__module__ == errors.__name__]
ELSEWHERE = [err for err in all_errors() if err not in PUBLIC]


def test_each_class_has_its_own_code_and_kind() -> None:
    assert len({err.code for err in PUBLIC}) == len(PUBLIC)
    assert len({err.kind for err in PUBLIC}) == len(PUBLIC)
    # inherited ones would be the parent's
    assert all("code" in vars(err) and "kind" in vars(err) for err in PUBLIC)


def test_the_codes_that_style_names() -> None:
    assert (errors.UsageError.code, RepairError.code) == (2, 3)
    own = {err.code for err in PUBLIC if err not in (errors.UsageError, RepairError)}
    assert own == set(range(4, 4 + len(own)))


@pytest.mark.parametrize("err", all_errors(), ids=lambda err: err.__qualname__)
def test_a_code_means_neither_a_verdict_nor_a_signal(err: type[RepairError]) -> None:
    assert 2 <= err.code < 126
    assert err.code not in OTHER_STATUSES


@pytest.mark.parametrize("err", ELSEWHERE, ids=lambda err: err.__qualname__)
def test_a_class_defined_elsewhere_is_a_shade_of_a_public_one(err: type[RepairError]) -> None:
    """It exists to be told apart within the program; a user sees the public class that it narrows."""
    assert not {"code", "kind"} & vars(err).keys()
    assert any(base in PUBLIC and base is not RepairError for base in err.__mro__)


def test_what_is_no_evidence_is_infrastructure() -> None:
    verdictless = {err.__name__ for err in PUBLIC if issubclass(err, errors.InfrastructureError)}
    assert {err.__name__ for err in PUBLIC} - verdictless == {"RepairError", "UsageError", "ReportError", "StoreError"}


def test_a_message_says_what_happened_and_what_to_do_next() -> None:
    assert str(errors.ImageError("task-1: no image", "pull it")) == "task-1: no image; pull it"
    assert str(errors.ImageError("task-1: no image")) == "task-1: no image"


def readme_codes() -> dict[int, str]:
    """The rows of the README's table of exit codes: each code with the rest of its row."""
    rows = re.findall(r"^\| *(\d+(?:, *\d+)*) *\|(.*)$", README.read_text(), re.MULTILINE)
    codes = [(int(code), rest) for cell, rest in rows for code in cell.split(",")]
    assert len(codes) == len(dict(codes)), "a code stands in two rows"
    return dict(codes)


@pytest.mark.parametrize("err", PUBLIC, ids=lambda err: err.__qualname__)
def test_the_readme_lists_each_code_by_name(err: type[RepairError]) -> None:
    row = readme_codes().get(err.code, "")
    assert f"`{err.__name__}`" in row, f"README.md: no row | {err.code} | `{err.__name__}` | …"


def test_the_readme_lists_no_other_code() -> None:
    assert set(readme_codes()) == {err.code for err in PUBLIC} | OTHER_STATUSES
