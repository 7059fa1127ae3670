"""One row of test data per format of directories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.formats import rows
from tests.formats.rows import Files
from tests.formats.sample import TESTBED, DirectorySample, draft

SETTINGS = rows.SETTINGS.format(name="acme__ledger-7")
NO_TOML, NO_YAML = ("task.toml", "no valid TOML"), ("task.yaml", "no valid YAML")
LISTS_ALONE = {"FAIL_TO_PASS": [], "PASS_TO_PASS": [], "patch": rows.PATCH}


def config(**changes: Any) -> Files:
    """Harbor's file with the adapter's row, changed."""
    return {"tests/config.json": json.dumps(rows.classic(**changes), indent=2)}


def toml(table: str, line: str) -> Files:
    """Harbor's task.toml of one line."""
    return {"task.toml": f"[{table}]\n{line}"}


def yaml(before: str, after: str) -> Files:
    """A task repo's task.yaml with one text in place of another."""
    assert before in SETTINGS
    return {"task.yaml": SETTINGS.replace(before, after)}


DIRECTORIES: Mapping[str, DirectorySample] = {
    "swe-bench-5-repo": DirectorySample(
        make=rows.task_repo,
        draft=draft(
            "acme/eval.ledger:latest",
            "set_up() {\nsource /opt/miniconda3/bin/activate &&\nconda activate testbed &&\ncd /testbed\n}\n"
            'set_up && pytest -rA tests/test_sums.py "$@"',
            base_commit="0f1e2d3c",
        ),
        lists="tests.json",
        reads=("task.yaml", "tests.json", "gold.patch", "test.patch", "eval.sh", "problem_statement.md"),
        errors={
            "no lists": ({"tests.json": None}, "tests.json", "is missing"),
            "lists that are no JSON": ({"tests.json": '{"FAIL_TO_PASS": ['}, "tests.json", "no valid JSON"),
            "lists that are no object": ({"tests.json": "[]"}, "tests.json", "expected an object"),
            "lists nested without end": ({"tests.json": "[" * 200_000}, "tests.json", "nested too deeply"),
            "one list": ({"tests.json": '{"FAIL_TO_PASS": []}'}, "tests.json PASS_TO_PASS", "is missing"),
            "no settings": ({"task.yaml": None}, "task.yaml", "is missing"),
            "settings that are no YAML": ({"task.yaml": "a: [1"}, *NO_YAML),
            "settings with a Python object": ({"task.yaml": "a: !!python/object:os.x {}"}, *NO_YAML),
            "settings with a number of no digits": ({"task.yaml": "a: !!int ''"}, *NO_YAML),
            "settings with a truth that is none": ({"task.yaml": "a: !!bool perhaps"}, *NO_YAML),
            "settings with a time that is none": ({"task.yaml": "a: !!timestamp then"}, *NO_YAML),
            "settings with a day that is none": ({"task.yaml": "a: 2024-13-45"}, *NO_YAML),
            "settings that are a list": ({"task.yaml": "- a"}, "task.yaml", "expected keys"),
            "no image": (yaml("image: acme/eval.ledger:latest\n", ""), "task.yaml image", "no image"),
            "an eval type that nobody knows": (yaml("pass_and_fail", "mood"), "task.yaml eval_type", ""),
            "no reference": ({"gold.patch": None}, "gold.patch", "is missing"),
            "an empty reference": ({"gold.patch": "\n"}, "gold.patch", "is empty"),
            "no script": ({"eval.sh": None}, "eval.sh", "is missing"),
            "a script without markers": ({"eval.sh": "pytest\n"}, "eval.sh", "no command between"),
        },
        unasked={"task.yaml": "instance_id: acme__ledger-7\nlog_parser: parse_log_pytest\n"},
    ),
    "harbor": DirectorySample(
        make=rows.harbor,
        draft=draft(
            "acme/ledger:7",
            "",
            runtime={
                "workdir": TESTBED,
                "framework": "pytest",
                "select": "files",
                "test_cmd": "set_up() {\ncd /testbed &&\nsource /opt/miniconda3/bin/activate\n}\n"
                'set_up && pytest -rA tests/test_sums.py "$@"',
                "memory": 4096 << 20,
                "timeout": 3000.0,
            },
        ),
        lists="tests/config.json",
        reads=("task.toml", "instruction.md", "tests/config.json", "tests/test.sh"),
        records=("task.toml",),
        errors={
            "no row": ({"tests/config.json": None}, "tests/config.json", "is missing; an adapter's row is there"),
            "a row that is no JSON": ({"tests/config.json": "{"}, "tests/config.json", "no valid JSON"),
            "a row that is a list": ({"tests/config.json": "[]"}, "tests/config.json", "expected an object"),
            "a row nested without end": ({"tests/config.json": "[" * 200_000}, "tests/config.json", "too deeply"),
            "a row of no format": ({"tests/config.json": '{"a": 1}'}, "tests/config.json", "fits no format"),
            "a row of several formats": (
                {"tests/config.json": json.dumps(LISTS_ALONE)},
                "tests/config.json",
                "fits swe-bench and swe-bench-5 and swe-smith",
            ),
            "what would tell": (
                {"tests/config.json": json.dumps(LISTS_ALONE)},
                "tests/config.json",
                "keep more of the row, such as test_patch",
            ),
            "no reference": (config(patch=""), "solution", "holds a script and no diff"),
            "no solution at all": (
                {**config(patch=""), "solution/solve.sh": None},
                "solution",
                "holds a script and no diff",
            ),
            "no instruction": ({"instruction.md": None}, "instruction.md", "is missing"),
            "settings with a key of many parts": (
                {"task.toml": "a" + ".a" * 7000 + " = 1"},
                "task.toml",
                "more than 6000 dots",
            ),
            "settings that are no TOML": ({"task.toml": "a = "}, *NO_TOML),
            "a value for a table": ({"task.toml": "environment = 1"}, "task.toml environment", "expected a table"),
            "a text for cores": (toml("environment", 'cpus = "2"'), "task.toml environment.cpus", "a number above 0"),
            "no time": (toml("verifier", "timeout_sec = 0"), "task.toml verifier.timeout_sec", "a number above 0"),
            "memory that is no size": (toml("environment", 'memory = "much"'), "task.toml environment.memory", "4G"),
            "memory in half megabytes": (
                toml("environment", "memory_mb = 1.5"),
                "task.toml environment.memory_mb",
                "whole number",
            ),
            "variables that are no texts": (toml("verifier.env", "A = 1"), "task.toml verifier.env", "table of texts"),
            "a folder that is none": (
                toml("environment", 'workdir = "app"'),
                "task.toml environment.workdir",
                "an absolute path",
            ),
            "a user that is none": (toml("verifier", "user = true"), "task.toml verifier.user", "name or number"),
            "a Windows image": (toml("environment", 'os = "Windows"'), "task.toml environment.os", "only Linux"),
            "no image": ({"task.toml": "", "environment/Dockerfile": None}, "environment", "has no Dockerfile"),
        },
        unasked={
            "task.toml": rows.HARBOR.replace('docker_image = "acme/ledger:7"\n', ""),
            "environment/Dockerfile": None,
            "tests/test.sh": None,
        },
    ),
}
