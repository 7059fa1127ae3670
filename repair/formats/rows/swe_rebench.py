"""SWE-rebench rows: SWE-bench's columns with an image and an `install_config` that holds the test command.

V1 has Python repos in /testbed, with the conda environment of that name. V2 has repos of many languages, each in a
directory of its own name, and runs its commands one after the other. The images hold what `install_config` installs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repair.formats import commands
from repair.formats.base import Carried, Draft, Row, RowError, RowFormat, Wants, image_of, text
from repair.formats.raw import lists
from repair.formats.rows import swebench
from repair.formats.rows.swebench import base, has

CONFIG, COMMAND = "install_config", "install_config.test_cmd"
# V2 lacks these columns, but a copy of it may have them all. A row with FAIL_TO_FAIL and without `install_config` is of
# V1: its first revisions have no commands.
FURTHER = ("FAIL_TO_FAIL", "PASS_TO_FAIL")
OF_V1 = (*FURTHER, "environment_setup_commit")
CONFIG_OF_V1 = ("python", "packages", "pip_packages", "env_vars", "env_yml_path", "reqs_path", "no_use_env")
CONFIG_OF_V2 = ("base_image_name", "docker_specs")
OF_OTHERS = ("eval_script", "test_cmds", "before_repo_set_cmd")


def _fits(row: Row) -> bool:
    common = has(row, "instance_id", "repo", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS")
    return common and (CONFIG in row or "FAIL_TO_FAIL" in row) and not any(name in row for name in OF_OTHERS)


def _is_one(row: Row) -> bool:
    return _fits(row) and V1 in _versions(row)


def _is_two(row: Row) -> bool:
    return _fits(row) and V2 in _versions(row)


def _versions(row: Row) -> tuple[RowFormat, ...]:
    """The versions that a row may be of, by its values: both where these contradict each other or show nothing."""
    config = _config(row)
    created = row.get("created_at")
    is_v1 = any(_is_filled(row.get(name)) for name in FURTHER) or any(
        config.get(name) is not None for name in CONFIG_OF_V1
    )
    is_v2 = (
        (isinstance(created, int | float) and not isinstance(created, bool))
        or isinstance(config.get("test_cmd"), list | tuple)
        or any(config.get(name) is not None for name in CONFIG_OF_V2)
        or row.get("interface") is not None
    )
    if is_v1 != is_v2:
        return (V1,) if is_v1 else (V2,)
    if not is_v1 and (CONFIG not in row or any(row.get(name) is not None for name in OF_V1)):
        return (V1,)
    return V1, V2


def _is_filled(value: Any) -> bool:
    """Whether a list column, of any type, holds an id."""
    return bool(value.strip(" []") if isinstance(value, str) else value)


def _config(row: Row) -> Mapping[str, Any]:
    """The object in `install_config`, which only shows a version here; empty where it cannot be read."""
    value = row.get(CONFIG)
    try:
        value = lists.parsed(value, CONFIG) if isinstance(value, str) else value
    except RowError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _test_cmd(row: Row) -> list[str]:
    """The commands in `install_config`, which is an object or the text of one. Raises `RowError`."""
    config = row.get(CONFIG)
    if isinstance(config, str):
        config = lists.parsed(config, CONFIG)
    if not isinstance(config, Mapping):
        raise RowError(CONFIG, "is missing; give --test-cmd" if config is None else "expected an object")
    tests = config.get("test_cmd")
    tests = [tests] if isinstance(tests, str) else tests
    if not isinstance(tests, list | tuple) or not all(isinstance(command, str) for command in tests):
        raise RowError(
            COMMAND, "is missing; give --test-cmd" if tests is None else "expected a text or a list of texts"
        )
    kept = [command for command in tests if command.strip()]
    if not kept:
        raise RowError(COMMAND, "holds no command; give --test-cmd")
    return kept


def _one(row: Row, wants: Wants) -> Draft:
    tests = _test_cmd(row) if wants.test_cmd is None else []
    keys = {"workdir": commands.TESTBED, **commands.runtime(tests, wants, commands.ACTIVATE)}
    return base(row, image=image_of(row, wants, "docker_image", "image_name"), runtime=keys)


def _two(row: Row, wants: Wants) -> Draft:
    repo = text(row, "repo", empty=False)
    name = repo.strip().rpartition("/")[2]
    if not name or name in (".", ".."):
        raise RowError("repo", f'expected "owner/name", found {repo!r}')
    tests = _test_cmd(row) if wants.test_cmd is None else []
    keys = {"workdir": f"/{name}", **commands.runtime(tests, wants)}
    return base(row, image=image_of(row, wants, "image_name", "docker_image"), runtime=keys)


def _write_two(task: Carried) -> tuple[dict[str, Any], tuple[str, ...]]:
    is_pytest = task.framework == "pytest"
    row = {
        "base_commit": task.base_commit or "",
        "created_at": None,
        "image_name": task.image,
        "instance_id": task.instance_id,
        "interface": "",
        "language": "python" if is_pytest else "",
        "license": "",
        "patch": task.oracle_patch,
        "pr_description": "",
        "problem_statement": task.instruction,
        "repo": task.repo,
        "test_patch": task.tests_patch,
        "FAIL_TO_PASS": list(task.f2p),
        "PASS_TO_PASS": list(task.p2p),
        "install_config": {
            "base_image_name": "",
            "docker_specs": None,
            "install": [],
            "log_parser": "parse_log_pytest" if is_pytest else "",
            "log_parsers": None,
            "test_cmd": [swebench.reporting(task)],
        },
        "meta": {},
    }
    lost = {"workdir"} if task.workdir != f"/{task.repo.rpartition('/')[2]}" else set()
    if not is_pytest:
        lost.add("framework")  # its harness reads logs, and a task does not say by which parser
    return row, tuple(sorted({*task.others, *lost}))


V1 = RowFormat(
    name="swe-rebench",
    title="SWE-rebench",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_is_one,
    draft=_one,
)
V2 = RowFormat(
    name="swe-rebench-v2",
    title="SWE-rebench V2",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_is_two,
    draft=_two,
    write=_write_two,
)
