"""SWE-rebench rows of both versions: which is which, and where their commands come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from repair.formats import registry
from repair.formats.base import RowError, Wants
from repair.formats.rows.swe_rebench import V1, V2
from tests.formats import rows

BUILDS = {
    "base_image_name": "c:latest",
    "docker_specs": None,
    "install": ["./configure", "make"],
    "log_parser": "parse_log_jq",
    "log_parsers": None,
    "test_cmd": ["make", "ctest --verbose"],
}
CONDA = "source /opt/miniconda3/bin/activate testbed && "


def test_a_row_of_v2_of_another_language() -> None:
    row = rows.rebench_v2(repo="acme/Ledger", language="c", install_config=BUILDS, FAIL_TO_PASS=["sums"])
    draft = V2.draft(row, Wants())
    assert (draft.f2p, draft.runtime["workdir"], draft.runtime["framework"]) == (("sums",), "/Ledger", "ctest")
    assert draft.runtime["test_cmd"].index("make") < draft.runtime["test_cmd"].index("ctest --verbose")
    assert "select" not in draft.runtime
    assert "./configure" not in draft.runtime["test_cmd"]


def test_a_runner_that_nobody_knows_is_imported_all_the_same() -> None:
    runtime = V2.draft(rows.rebench_v2(install_config=BUILDS | {"test_cmd": ["make check"]}), Wants()).runtime
    assert (runtime["framework"], runtime["test_cmd"]) == ("unknown", "make check")


CONFIGS = {
    "a text": {"test_cmd": "pytest -q"},
    "a list": {"test_cmd": ["pytest -q"]},
    "a list with blanks": {"test_cmd": ["", "pytest -q"]},
    "an object as JSON": json.dumps({"test_cmd": "pytest -q", "pre_install": None}),
    "an object as Python": str({"test_cmd": ["pytest -q"], "pre_install": None}),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_command_of_any_type(config: object) -> None:
    assert V1.draft(rows.rebench(install_config=config), Wants()).runtime["test_cmd"] == CONDA + 'pytest -q "$@"'
    assert V2.draft(rows.rebench_v2(install_config=config), Wants()).runtime["test_cmd"] == 'pytest -q "$@"'


def test_v1_takes_the_image_that_is_there() -> None:
    assert V1.draft(rows.rebench(docker_image=None, image_name="acme/one"), Wants()).image == "acme/one"
    assert V1.draft(rows.rebench(image_name="acme/one"), Wants()).image == "acme/rebench.ledger-7"


# ---- which version a row is of

BOTH: dict[str, dict[str, Any]] = {
    "a date of V2 and a list of V1": {"FAIL_TO_FAIL": [f"{rows.TESTS_FILE}::test_old"]},
    "nothing that tells": {"created_at": "", "interface": ..., "install_config": {"test_cmd": "pytest"}},
    "a config that cannot be read": {"created_at": "", "interface": ..., "install_config": "{"},
}


@pytest.mark.parametrize("changes", BOTH.values(), ids=BOTH)
def test_a_row_that_could_be_of_both_versions_asks_which(changes: dict[str, Any]) -> None:
    row = rows.rebench_v2(**changes)
    assert V1.fits(row)
    assert V2.fits(row)
    with pytest.raises(RowError, match="fits swe-rebench and swe-rebench-v2: say which with --format"):
        registry.of_row(row, registry.AUTO)
