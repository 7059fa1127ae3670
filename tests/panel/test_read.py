"""The native layout: what every key takes, and the one line that a wrong file gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repair.errors import UsageError
from repair.model import Policy, Task
from repair.panel import keys, read
from tests.conftest import MakeTask
from tests.support.keys import BAD, GOOD, GOOD_KEYS
from tests.support.panels import load, refusal, told, write_json
from tests.support.strategies import ANYTHING

# ---- what keys take


def test_every_optional_key_has_its_default(panel: Path, make_task: MakeTask) -> None:
    directory = make_task(f2p=["f"], p2p=["p"])
    task = load(panel)
    assert task == Task("task-1", "repair-test/odd-plain:1", ("f",), ("p",), task.oracle_patch, None, directory)
    assert task.test_cmd == ("python3", "-m", "pytest")
    assert (task.workdir, task.timeout, task.cpus, task.memory) == ("/testbed", 1800.0, 2.0, 4 << 30)
    assert (task.network, task.user, task.platform) == ("none", None, None)
    assert task.test_files == ()


def test_a_panel_has_defaults_too(tmp_path: Path, panel: Path, make_task: MakeTask) -> None:
    make_task()
    (panel / "panel.toml").write_text("")
    loaded = read.load(panel)
    assert (loaded.name, loaded.policy, loaded.min_tasks) == ("panel", Policy(), 1)


@pytest.mark.parametrize(("key", "value", "field", "meaning"), GOOD, ids=[f"{k}={v!r:.30}" for k, v, *_ in GOOD])
def test_right_value(panel: Path, make_task: MakeTask, key: str, value: Any, field: str, meaning: Any) -> None:
    write_json(make_task(), **{key: value})
    assert getattr(load(panel), field) == meaning


@pytest.mark.parametrize(("key", "value"), BAD, ids=[f"{key}={value!r:.30}" for key, value in BAD])
def test_wrong_value_names_file_and_field(panel: Path, make_task: MakeTask, key: str, value: Any) -> None:
    task = make_task()
    write_json(task, **{key: value})
    assert refusal(panel).startswith(f"{task}/task.json: {key}: expected ")


@pytest.mark.parametrize("key", keys.REQUIRED)
def test_missing_key(panel: Path, make_task: MakeTask, key: str) -> None:
    task = make_task()
    write_json(task, **{key: ...})
    assert refusal(panel).startswith(f"{task}/task.json: {key} is missing")


@pytest.mark.parametrize("key", ["fail_to_pass", "Image", "", "a\x1b[2Jb\nc", "min_p2p"])
def test_unknown_key(panel: Path, make_task: MakeTask, key: str) -> None:
    task = make_task()
    write_json(task, **{key: 1})
    assert f"{task}/task.json: unknown key" in refusal(panel)


def test_where_the_schema_is_is_no_part_of_a_task(panel: Path, make_task: MakeTask) -> None:
    task = make_task()
    before = load(panel)
    write_json(task, **{"$schema": "../.schemas/task.schema.json"})
    assert load(panel) == before
    for wrong in ("", None, 5):
        write_json(task, **{"$schema": wrong})
        assert refusal(panel).startswith(f"{task}/task.json: $schema: expected a text")


@pytest.mark.parametrize("absent", [("FAIL_TO_PASS",), ("PASS_TO_PASS",), ("FAIL_TO_PASS", "PASS_TO_PASS")])
def test_who_finds_the_lists_needs_none(panel: Path, make_task: MakeTask, absent: tuple[str, ...]) -> None:
    task = make_task(f2p=["f"], p2p=["p"])
    write_json(task, **dict.fromkeys(absent, ...))
    assert "is missing; list its tests' ids, or let `repair mint` find them" in refusal(panel)
    (found,) = read.load(panel, lists=False).tasks
    assert found.f2p == (() if "FAIL_TO_PASS" in absent else ("f",))
    assert found.p2p == (() if "PASS_TO_PASS" in absent else ("p",))
    write_json(task, image=...)
    with pytest.raises(UsageError, match="image is missing"):
        read.load(panel, lists=False)


@pytest.mark.parametrize("key", keys.TASK)
def test_no_key_of_a_task_is_taken_as_it_was_to_be_filled_in(panel: Path, make_task: MakeTask, key: str) -> None:
    task = make_task()
    write_json(task, **{key: f"{keys.FILL_IN}this"})
    assert refusal(panel) == f"{task} is to be filled in: task.json ({key}); each says what, after FILL IN:"


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("instruction.md", "FILL IN: this", True),
        ("instruction.md", "# FILL IN: this", True),
        ("instruction.md", "Mend it.\nFILL IN: no", False),
        ("instruction.md", "FILL IN the form", False),
        ("instruction.md", "", False),
        ("oracle.patch", "FILL IN: this", True),
        ("tests.patch", "FILL IN: this\n--- a\n+++ b\n", True),
        ("tests.patch", "--- a\n+++ b\n+FILL IN: no", False),
        ("entry.patch", "FILL IN: no", False),
    ],
)
def test_a_file_that_is_to_be_filled_in(panel: Path, make_task: MakeTask, name: str, text: str, is_one: bool) -> None:
    task = make_task()
    (task / name).write_text(text)
    said = told(lambda: read.load(panel))
    assert said == (f"{task} is to be filled in: {name}; each says what, after FILL IN:" if is_one else "")


def test_another_framework_needs_its_command_alone(panel: Path, make_task: MakeTask) -> None:
    """Where its reports appear may follow from the command."""
    task = make_task(framework="go")
    assert refusal(panel).startswith(f"{task}/task.json: test_cmd is missing; go needs the command")
    write_json(task, test_cmd=["gotestsum"])
    assert (load(panel).test_cmd, load(panel).junit) == (("gotestsum",), ())
    (panel / "panel.toml").write_text('[defaults]\njunit = ["out.xml"]\n')
    assert load(panel).junit == ("out.xml",)


def test_another_frameworks_command_may_be_the_panels(panel: Path, make_task: MakeTask) -> None:
    make_task(framework="go")
    (panel / "panel.toml").write_text('[defaults]\ntest_cmd = "go test ./..."\nid_template = "{classname}/{name}"\n')
    task = load(panel)
    assert (task.test_cmd, task.id_template) == ("go test ./...", ("{classname}/{name}",))


@pytest.mark.parametrize(("key", "value"), GOOD_KEYS, ids=[f"{key}={value!r:.30}" for key, value in GOOD_KEYS])
def test_a_key_that_loads_is_not_called_wrong(key: str, value: Any) -> None:
    assert keys.wrong_key({"instance_id": "t", key: value}) is None


@pytest.mark.parametrize(("key", "value"), BAD, ids=[f"{key}={value!r:.30}" for key, value in BAD])
def test_a_key_that_would_not_load_is_called_wrong(key: str, value: Any) -> None:
    found = keys.wrong_key({"image": "x", key: value})
    assert found is not None
    assert found[0] == key
    assert found[1].startswith("expected ")


def test_a_task_wins_over_the_panel_and_the_panel_over_us(panel: Path, make_task: MakeTask) -> None:
    (panel / "panel.toml").write_text('[defaults]\ntimeout = 60\nuser = "me"\nenv = {A = "1"}\n')
    make_task("both", timeout=5, user=None)
    make_task("panel-only")
    both, panel_only = read.load(panel).tasks
    assert (both.timeout, both.user, both.env) == (5, None, {"A": "1"})
    assert (panel_only.timeout, panel_only.user) == (60, "me")


@pytest.mark.parametrize("name", ["other", "../panel/task-1", "task-1/", "/..", "task-1\n"])
def test_instance_id_is_the_name_of_its_directory(panel: Path, make_task: MakeTask, name: str) -> None:
    task = make_task()
    write_json(task, instance_id=name)
    assert refusal(panel).startswith(f"{task}/task.json: instance_id is ")


# ---- whatever else may be in them


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300, deadline=None
)
@given(values=st.dictionaries(st.sampled_from([*keys.TASK, "other"]), ANYTHING, max_size=4))
def test_any_value_loads_or_is_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    task = tmp_path / "t"
    task.mkdir(exist_ok=True)
    (task / "oracle.patch").write_text("x")
    document = {"instance_id": "t", "image": "x", "FAIL_TO_PASS": [], "PASS_TO_PASS": [], **values}
    (task / "task.json").write_text(json.dumps(document))
    message = told(lambda: read.load_task(task, {}))
    assert not message or message.startswith(f"{task}/task.json: ")
    assert "\n" not in message


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300, deadline=None
)
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_load_or_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "panel.toml").write_bytes(content)
    message = told(lambda: read.load_settings(tmp_path))
    assert not message or message.startswith(f"{tmp_path}/panel.toml: ")
