"""`repair new` and `repair schema` on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest

from repair.panel.new import SCHEMAS_FOLDER
from repair.panel.schemas import SCHEMAS
from tests.support.cli import Capture, ask, one_line, start


def test_new_says_what_is_next(capsys: Capture, tmp_path: Path) -> None:
    panel = tmp_path / "my panel"
    code, out, err = ask(capsys, "new", panel / "acme-17")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == [
        f"{panel}/acme-17 is ready to fill in",
        f"{panel} is a new panel: panel.toml, .gitattributes, {SCHEMAS_FOLDER}/",
        "",
    ]
    assert f"`repair mint {shlex.quote(str(panel))} -o NEW`" in out
    assert [line[:2] for line in lines if line[:1].isdigit()] == ["1.", "2.", "3."]
    for file in sorted(path.relative_to(panel / "acme-17") for path in (panel / "acme-17").rglob("*.*")):
        assert str(file) in out


def test_new_says_which_schemas_it_wrote(capsys: Capture, panel: Path) -> None:
    _, out, _ = ask(capsys, "new", panel / "a")
    assert out.splitlines()[1].startswith(
        f"{panel / SCHEMAS_FOLDER} is generated, and now this version's: task.schema.json, "
    )
    _, out, _ = ask(capsys, "new", panel / "b")
    assert SCHEMAS_FOLDER not in out
    (panel / SCHEMAS_FOLDER / "repair.schema.json").write_text("{}")
    _, out, _ = ask(capsys, "new", panel / "c")
    assert out.splitlines()[1] == f"{panel / SCHEMAS_FOLDER} is generated, and now this version's: repair.schema.json"


@pytest.mark.parametrize("command", ["run", "check", "gate"])
def test_a_task_that_is_not_filled_in_is_one_line(capsys: Capture, panel: Path, command: str) -> None:
    ask(capsys, "new", panel / "acme-17")
    code, out, err = ask(capsys, command, panel)
    assert (code, out) == (2, "")
    assert f"{panel}/acme-17 is to be filled in: task.json (image), instruction.md, " in one_line(err)


def test_new_refuses_in_one_line(capsys: Capture, panel: Path) -> None:
    ask(capsys, "new", panel / "a")
    code, out, err = ask(capsys, "new", panel / "a")
    assert (code, out) == (2, "")
    assert "is there already" in one_line(err)


def test_what_is_printed_of_a_name_fools_no_terminal(capsys: Capture, tmp_path: Path) -> None:
    code, out, _ = ask(capsys, "new", tmp_path / "\x1b[2J\u202e" / "a")
    assert code == 0
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_prints_what_editors_get(capsys: Capture, panel: Path, name: str) -> None:
    code, out, err = ask(capsys, "schema", name)
    assert (code, err) == (0, "")
    assert json.loads(out) == SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(json.loads(out))
    ask(capsys, "new", panel / "a")
    assert (panel / SCHEMAS_FOLDER / f"{name}.schema.json").read_text() == out


def test_schema_is_the_same_bytes_in_every_process() -> None:
    done = [start("schema", "repair", env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert done[0] == done[1] != ""


def test_there_is_no_other_schema(capsys: Capture) -> None:
    code, out, err = ask(capsys, "schema", "mint")
    assert (code, out) == (2, "")
    assert one_line(err) == "repair: there is no schema 'mint'; name one of task, panel, outcomes, repair\n"
