"""`repair import` and `repair export`: what they print, as text and as JSON, and their exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repair.panel import read
from tests.formats import rows
from tests.support.cli import Capture, ask
from tests.support.exchange import record, trimmed

GONE = rows.P2P[2]
NOWHERE = "tcp://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens at this port; of a socket's path that is not there docker leaves its end open."""
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two good rows, one without a reference, one of no format, one twice, and one that is no JSON."""
    mine = [
        rows.classic(1),
        rows.live(2, PASS_TO_PASS=["t.py::a[x"]),
        rows.classic(3, patch=""),
        {"x": 1},
        rows.classic(1),
    ]
    file = rows.jsonl(tmp_path / "rows.jsonl", mine)
    file.write_text(file.read_text() + '{"cut": \n')
    return file


def as_json(capsys: Capture, *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = ask(capsys, *arguments, "--json")
    document = json.loads(out)
    assert isinstance(document, dict)
    assert document["exit"] == code
    assert out.isascii()
    assert (err == "") == ("error" not in document)
    return code, document


# ---- import


def test_the_pre_flight(source: Path, tmp_path: Path, capsys: Capture) -> None:
    panel = tmp_path / "panel"
    code, out, err = ask(capsys, "import", source, "-o", panel)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:9] == [
        "6 rows: 2 tasks, 4 that are no task",
        "formats: swe-bench 1, swe-bench-live 1",
        "F2P: 3 ids a task",
        "P2P: 1 to 16, median 8.5 ids a task",
        "rows that are no task: 4",
        "  rows.jsonl row 3: patch: is empty",
        "  rows.jsonl row 4: fits no format that is known by its columns (x)",
        "  rows.jsonl row 5: instance_id: acme__ledger-1 is that of rows.jsonl row 1, too",
        lines[8],
    ]
    assert lines[8].startswith("  rows.jsonl row 6: no valid JSON: ")
    assert lines[9:13] == [
        "1 id cut at a blank or bracket, in 1 task",
        "  acme__ledger-2: t.py::a[x",
        "tasks with fewer than 10 P2P, which the default policy refuses: 1",
        "  acme__ledger-2",
    ]
    assert lines[13].startswith("images: 2; not looked for: ")
    assert lines[14:] == [f"next: repair run {panel} --dry-run", f"      repair run {panel}"]
    assert [task.instance_id for task in read.load(panel).tasks] == ["acme__ledger-1", "acme__ledger-2"]


def test_the_pre_flight_as_json(source: Path, tmp_path: Path, capsys: Capture) -> None:
    code, document = as_json(capsys, "import", source, "-o", tmp_path / "panel")
    assert code == 1
    engine, last = document.pop("engine"), document["not_tasks"].pop()
    assert "127.0.0.1" in engine
    assert (last["place"], last["field"]) == ("rows.jsonl row 6", "")
    assert document == {
        "exit": 1,
        "rows": 6,
        "tasks": 2,
        "left_out": 0,
        "not_tasks": [
            {"place": "rows.jsonl row 3", "field": "patch", "problem": "is empty"},
            {"place": "rows.jsonl row 4", "field": "", "problem": "fits no format that is known by its columns (x)"},
            {
                "place": "rows.jsonl row 5",
                "field": "instance_id",
                "problem": "acme__ledger-1 is that of rows.jsonl row 1, too",
            },
        ],
        "formats": {"swe-bench": 1, "swe-bench-live": 1},
        "F2P": {"fewest": 3, "median": 3, "most": 3},
        "P2P": {"fewest": 1, "median": 8.5, "most": 16},
        "suspects": {
            "cut at a blank or bracket": {
                "count": 1,
                "tasks": ["acme__ledger-2"],
                "ids": [{"task": "acme__ledger-2", "id": "t.py::a[x"}],
            }
        },
        "no_f2p": [],
        "few_p2p": ["acme__ledger-2"],
        "not_looked_at": [],
        "no_junit": [],
        "notes": {},
        "images": 2,
        "missing_images": None,
    }


def test_what_the_text_cuts_is_whole_in_json(tmp_path: Path, capsys: Capture) -> None:
    odd = [f"title {number} " for number in range(8)]  # cut at a blank
    mine = [rows.live(n, PASS_TO_PASS=odd, test_cmds=["cargo test"], rebuild_cmds=["pip install x"]) for n in range(8)]
    source = rows.jsonl(tmp_path / "rows.jsonl", [*mine, *[{"x": 1}] * 8])
    _, out, _ = ask(capsys, "import", source, "-o", tmp_path / "a")
    kept = tmp_path / "a" / ".repair" / "import.json"
    assert out.count(f"  and 3 more (all in {kept})") == 4  # rows, runners, few P2P, notes
    assert f"  and 59 more (all in {kept})" in out
    assert out.count("--test-cmd") == 1
    _, document = as_json(capsys, "import", source, "-o", tmp_path / "b")
    names = [f"acme__ledger-{number}" for number in range(8)]
    assert len(document["not_tasks"]) == 8
    assert document["few_p2p"] == [task["task"] for task in document["no_junit"]] == names
    assert list(document["notes"].values()) == [names]
    assert [len(kind["ids"]) for kind in document["suspects"].values()] == [64]
    assert json.loads(kept.read_bytes()) == document
    assert json.loads((tmp_path / "b" / ".repair" / "import.json").read_bytes()) == document
    assert (tmp_path / "b" / ".repair" / ".gitignore").read_text() == "*\n"


def test_a_runner_without_junit_is_advised_once(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(n, test_cmds=["make check"]) for n in (1, 2)])
    _, out, _ = ask(capsys, "import", source, "-o", tmp_path / "panel")
    lines = out.splitlines()
    at = lines.index("tasks whose runner gives no JUnit: 2")
    advice = "  what to do: import with --test-cmd, or name junit in task.json or in panel.toml's [defaults]"
    assert lines[at + 3] == advice
    assert lines.count(advice) == 1
    assert ask(capsys, "import", rows.single(tmp_path / "a.json", [rows.classic()]), "-o", tmp_path / "good")[0] == 0


def test_more_suspects_than_are_kept_are_not_said_to_be_all_there(tmp_path: Path, capsys: Capture) -> None:
    odd = [f"title {number}" for number in range(1200)]
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(PASS_TO_PASS=odd)])
    _, out, _ = ask(capsys, "import", source, "-o", tmp_path / "p")
    assert f"  and 1195 more (the first 1000 in {tmp_path / 'p' / '.repair' / 'import.json'})" in out


def test_a_task_directory_that_is_no_task(tmp_path: Path, capsys: Capture) -> None:
    rows.harbor(tmp_path / "source", 1)
    rows.harbor(tmp_path / "source", 2, {"environment/.git": "gitdir: elsewhere\n"})
    code, out, _ = ask(capsys, "import", tmp_path / "source", "-o", tmp_path / "p")
    assert (code, out.splitlines()[0]) == (1, "2 task directories: 1 task, 1 that is no task")
    assert "\ntask directories that are no task: 1\n  acme__ledger-2: environment/.git: cannot be kept in git: " in out


def test_tasks_without_f2p_are_named(tmp_path: Path, capsys: Capture) -> None:
    mine = [rows.live(n, FAIL_TO_PASS=[] if n < 3 else [rows.F2P[0]]) for n in (1, 2, 3)]
    source = rows.jsonl(tmp_path / "rows.jsonl", mine)
    _, out, _ = ask(capsys, "import", source, "-o", tmp_path / "a")
    head = "tasks without F2P, which are refused: 2"
    assert f"{head}\n  acme__ledger-1\n  acme__ledger-2\n" in out
    _, document = as_json(capsys, "import", source, "-o", tmp_path / "b")
    assert document["no_f2p"] == ["acme__ledger-1", "acme__ledger-2"]


def test_task_directories_and_what_lies_beside_them(tmp_path: Path, capsys: Capture) -> None:
    rows.harbor(tmp_path / "source", 1)
    code, out, _ = ask(capsys, "import", tmp_path / "source", "-o", tmp_path / "a")
    assert (code, out.splitlines()[0]) == (0, "1 task directory: 1 task")
    assert "beside the task directories" not in out
    rows.harbor(tmp_path / "source", 2)
    rows.jsonl(tmp_path / "source" / "rows.jsonl", [rows.classic()])
    code, out, _ = ask(capsys, "import", tmp_path / "source", "-o", tmp_path / "b", "--limit", "1")
    assert (code, out.splitlines()[0]) == (0, "2 task directories: 1 task, 1 left out")
    assert "beside the task directories, and not looked at (import them by themselves): 1\n  rows.jsonl\n" in out
    _, document = as_json(capsys, "import", tmp_path / "source", "-o", tmp_path / "c")
    assert document["not_looked_at"] == ["rows.jsonl"]


@pytest.mark.parametrize("ends", [" ", "\r", " \t\r"], ids=["blank", "Windows", "both"])
def test_rows_with_blanks_around_them_go_out_again(tmp_path: Path, capsys: Capture, ends: str) -> None:
    wanted = rows.jsonl(tmp_path / "wanted.jsonl", [rows.classic(1), rows.classic(2)])
    (tmp_path / "rows.jsonl").write_bytes(
        b"".join(b" \t" + line + f"{ends}\n".encode() for line in wanted.read_bytes().splitlines())
    )
    assert ask(capsys, "import", tmp_path / "rows.jsonl", "-o", tmp_path / "panel")[0] == 0
    code, _, err = ask(capsys, "export", tmp_path / "panel", "-o", tmp_path / "out.jsonl", "--all")
    assert (code, err) == (0, "")
    assert (tmp_path / "out.jsonl").read_bytes() == wanted.read_bytes()


def test_a_panel_is_told_to_run(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()])
    assert ask(capsys, "import", source, "-o", tmp_path / "p")[0] == 0
    code, out, err = ask(capsys, "import", tmp_path / "p", "-o", tmp_path / "q")
    assert (code, out) == (2, "")
    assert err == f"repair: {tmp_path / 'p'} is a panel already; repair run {tmp_path / 'p'}\n"


def test_a_source_without_a_fault_is_status_0(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()])
    code, out, _ = ask(capsys, "import", source, "-o", tmp_path / "panel")
    assert (code, out.splitlines()[0]) == (0, "1 row: 1 task")
    assert as_json(capsys, "import", source, "-o", tmp_path / "b")[0] == 0


@pytest.mark.parametrize(
    ("options", "taken", "first"),
    [
        (["-i", "*-2"], [2], "5 rows: 1 task, 4 left out"),
        (["-i", "*-2", "-i", "*-3", "-x", "*-3"], [2], "5 rows: 1 task, 4 left out"),
        (["-x", "*-[12]"], [3, 4, 5], "5 rows: 3 tasks, 2 left out"),
        (["--limit", "2"], [1, 2], "5 rows: 2 tasks, 3 left out"),
        (["--format", "swe-bench"], [1, 2, 3, 4, 5], "5 rows: 5 tasks"),
    ],
    ids=["-i", "-i and -x", "-x", "--limit", "--format"],
)
def test_rows_are_chosen(tmp_path: Path, capsys: Capture, options: list[str], taken: list[int], first: str) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(number) for number in range(1, 6)])
    code, out, _ = ask(capsys, "import", source, "-o", tmp_path / "panel", *options)
    assert (code, out.splitlines()[0]) == (0, first)
    names = [task.instance_id for task in read.load(tmp_path / "panel").tasks]
    assert names == [f"acme__ledger-{number}" for number in taken]


def test_image_and_command_may_be_said(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()])
    wishes = "--image-template", "registry.example/{id_s}:{version}", "--test-cmd", "go test ./..."
    assert ask(capsys, "import", source, "-o", tmp_path / "panel", *wishes)[0] == 0
    (task,) = read.load(tmp_path / "panel").tasks
    assert (task.image, task.test_cmd) == ("registry.example/acme_s_ledger-7:1.2", "go test ./...")
    assert task.framework == "go"


def test_a_template_over_what_the_row_does_not_say(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.classic()])
    code, _, err = ask(capsys, "import", source, "-o", tmp_path / "panel", "--image-template", "x/{tag}")
    assert code == 2
    assert "rows.jsonl row 1: tag: the image template asks for it, and the row does not say it: x/{tag}" in err


WRONG: dict[str, tuple[list[str], str]] = {
    "a format that is none": (["--format", "swe-bunch"], "there is no format swe-bunch; one of auto, swe-bench, "),
    "a source that is none": (["gone.jsonl"], "gone.jsonl is not there; name a file of rows or a directory"),
    "a place that is taken": (["-o", "."], "is there already; name a directory that isn't; nothing is replaced"),
    "nothing to import": (["-i", "other"], "5 rows were left out by -i, -x or --limit; nothing was written"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_where_nothing_is_imported_the_status_is_2(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    rows.jsonl(tmp_path / "rows.jsonl", [rows.classic(number) for number in range(5)])
    monkeypatch.chdir(tmp_path)
    arguments = ["import", *([] if options[0].endswith("jsonl") else ["rows.jsonl"]), "-o", "panel", *options]
    code, out, err = ask(capsys, *arguments)
    assert (code, out, said in err) == (2, "", True), err
    assert err.startswith("repair: ")
    code, document = as_json_error(capsys, *arguments)
    assert (code, document["error"]["kind"]) == (2, "usage")
    assert list(tmp_path.iterdir()) == [tmp_path / "rows.jsonl"]


def as_json_error(capsys: Capture, *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = ask(capsys, *arguments, "--json")
    assert err.startswith("repair: ")
    document = json.loads(out)
    assert document["exit"] == code
    return code, document


@pytest.mark.parametrize("options", [["--limit", "0"], ["--limit", "many"], ["--formt", "x"], []], ids=str)
def test_what_the_command_line_does_not_take(tmp_path: Path, capsys: Capture, options: list[str]) -> None:
    place = ["-o", str(tmp_path / "panel")] if options else []
    code, out, err = ask(capsys, "import", tmp_path / "rows.jsonl", *place, *options)
    assert (code, out) == (2, "")
    assert err


def test_a_name_that_fools_a_terminal_is_spelt(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [rows.live(PASS_TO_PASS=["t\x1b[2J::\u202ea"]), {"a\nb\x1b[2J": 1}])
    code, out, _ = ask(capsys, "import", source, "-o", tmp_path / "panel")
    assert code == 1
    assert all(line.isprintable() for line in out.splitlines())
    assert len([line for line in out.splitlines() if "row 2" in line]) == 1


# ---- export


@pytest.fixture
def panel(tmp_path: Path, capsys: Capture) -> Path:
    """Imported: one repaired, one clean, one without a record."""
    source = rows.jsonl(tmp_path / "source.jsonl", [rows.classic(number) for number in (3, 2, 1)])
    assert ask(capsys, "import", source, "-o", tmp_path / "imported")[0] == 0
    record(tmp_path / "imported", [GONE], "acme__ledger-3")
    record(tmp_path / "imported", [], "acme__ledger-2")
    return tmp_path / "imported"


def test_what_is_admitted_goes_out(panel: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "out.jsonl"
    code, out, err = ask(capsys, "export", panel, "-o", target)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"2 tasks to {target} (swe-bench), 1 id dropped",
        "not exported: 1",
        "  acme__ledger-1: its record is absent",
    ]
    wanted = [trimmed("swe-bench", rows.classic(3), [GONE]), rows.classic(2)]
    assert target.read_bytes() == rows.jsonl(tmp_path / "wanted", wanted).read_bytes()


def test_all_may_go_out(panel: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "out.jsonl"
    _, out, _ = ask(capsys, "export", panel, "-o", target, "--all")
    assert out.splitlines() == [
        f"3 tasks to {target} (swe-bench), 1 id dropped",
        "as they came, without an admitted record: 1",
        "  acme__ledger-1: its record is absent",
    ]
    assert len(target.read_text().splitlines()) == 3


def test_an_export_as_json(panel: Path, tmp_path: Path, capsys: Capture) -> None:
    options = "--format", "swe-bench-5"
    assert as_json(capsys, "export", panel, "-o", tmp_path / "out.jsonl", *options) == (
        0,
        {
            "exit": 0,
            "format": "swe-bench-5",
            "tasks": ["acme__ledger-3", "acme__ledger-2"],
            "dropped": 1,
            "not_exported": {"acme__ledger-1": "its record is absent"},
            "untrimmed": {},
            "lost": {
                "select": ["acme__ledger-3", "acme__ledger-2"],
                "the other columns of its row": ["acme__ledger-3", "acme__ledger-2"],
            },
            "changed": {},
            "stale": {},
        },
    )


def test_what_a_conversion_loses_is_said(panel: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "out.jsonl"
    _, out, _ = ask(capsys, "export", panel, "-o", target, "--format", "swe-bench-5", "--all")
    assert out.splitlines()[-2:] == [
        "swe-bench-5 cannot carry select: 3 tasks",
        "swe-bench-5 cannot carry the other columns of its row: 3 tasks",
    ]


def test_what_the_row_does_not_say_is_said(tmp_path: Path, capsys: Capture) -> None:
    source = rows.jsonl(tmp_path / "source.jsonl", [rows.classic(1, n_pass_to_pass=len(rows.P2P)), rows.classic(2)])
    panel = tmp_path / "imported"
    assert ask(capsys, "import", source, "-o", panel, "--image-template", "acme/{id}")[0] == 0
    record(panel, [GONE])
    _, out, _ = ask(capsys, "export", panel, "-o", tmp_path / "out.jsonl")
    assert out.splitlines()[1:] == [
        "what goes out does not say image as the task does: 2 tasks",
        "left as it came, though it counts or names ids that are dropped: n_pass_to_pass, of 1 task",
    ]
    _, document = as_json(capsys, "export", panel, "-o", tmp_path / "again.jsonl")
    assert document["changed"] == {"image": ["acme__ledger-1", "acme__ledger-2"]}
    assert document["stale"] == {"n_pass_to_pass": ["acme__ledger-1"]}


@pytest.mark.parametrize(
    ("options", "tasks"),
    [(["-i", "*-3"], [3]), (["-x", "*-3"], [2]), (["-i", "*-[12]", "--all"], [2, 1]), (["--admitted"], [3, 2])],
    ids=["-i", "-x", "-i and --all", "--admitted"],
)
def test_tasks_are_chosen(panel: Path, tmp_path: Path, capsys: Capture, options: list[str], tasks: list[int]) -> None:
    _, document = as_json(capsys, "export", panel, "-o", tmp_path / "out.jsonl", *options)
    assert document["tasks"] == [f"acme__ledger-{number}" for number in tasks]


def test_a_native_copy_is_a_panel(panel: Path, tmp_path: Path, capsys: Capture) -> None:
    _, out, _ = ask(capsys, "export", panel, "-o", tmp_path / "copy", "--format", "native")
    assert out.splitlines()[0] == f"2 tasks to {tmp_path / 'copy'} (native), 1 id dropped"
    assert [task.instance_id for task in read.load(tmp_path / "copy").tasks] == ["acme__ledger-2", "acme__ledger-3"]


EXPORT_WRONG: dict[str, tuple[list[str], str]] = {
    "a format that is none": (["--format", "swe-bunch"], "there is no format swe-bunch; one of auto, swe-bench, "),
    "a place that is taken": (["-o", "source.jsonl"], "source.jsonl is there already; name a file that isn't; "),
    "no task is admitted": (["-i", "*-1"], "no task of imported is admitted\n"),
    "no task of that name": (["-i", "other"], ""),
}


@pytest.mark.parametrize(("options", "said"), EXPORT_WRONG.values(), ids=EXPORT_WRONG)
def test_where_nothing_is_exported_the_status_is_2(
    panel: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(panel.parent)
    before = rows.tree(panel.parent)
    code, out, err = ask(capsys, "export", "imported", "-o", "out.jsonl", *options)
    assert (code, out, said in err) == (2, "", True), err
    assert len(err.splitlines()) == 1 + said.count("\n")
    assert as_json_error(capsys, "export", "imported", "-o", "out.jsonl", *options)[0] == 2
    assert rows.tree(panel.parent) == before


def test_a_panel_that_is_none(tmp_path: Path, capsys: Capture) -> None:
    code, out, err = ask(capsys, "export", tmp_path, "-o", tmp_path / "out.jsonl")
    assert (code, out) == (2, "")
    assert f"{tmp_path} is no panel" in err
