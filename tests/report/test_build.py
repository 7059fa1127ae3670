"""From a panel's records to its page: every state of a record, causes, flaky ids, logs; and `repair report`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from repair import table, words
from repair.model import Evidence, Observed, Outcome, Run
from repair.panel import read
from repair.records.check import Soundness
from repair.report.page import build
from repair.report.page.html import FlakyView, GateView, Page, Share, TaskView
from tests.conftest import MakeTask
from tests.support import records
from tests.support.cli import Capture, ask, one_line, start

KEEP, ADD = "tests/test_calc.py::test_keep[3]", "tests/test_calc.py::test_add"
LOST = {KEEP: records.MISSING}


def page_of(panel: Path) -> Page:
    return build.page(read.load(panel))


def opened(task: TaskView) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(task.data)
    return document


def missing(module: str, *ids: str) -> dict[str, Observed]:
    cause = f"tests/test_calc.py: ModuleNotFoundError: No module named '{module}'"
    return dict.fromkeys(ids, Observed(Outcome.MISSING, cause))


@pytest.fixture
def mixed(make_task: MakeTask) -> Path:
    """A task of each kind: clean, repaired, refused, without a record."""
    records.write(make_task("calc-1"))
    records.write(make_task("calc-2"), LOST, LOST)
    records.write(make_task("calc-3"), {}, {ADD: records.FAILED})
    return make_task("calc-4").parent


# ---- tasks


def test_each_task_has_the_row_that_the_run_table_has(mixed: Path) -> None:
    rows = [(t.name, t.word, t.f2p, t.p2p, t.dropped, t.note) for t in (view.task for view in page_of(mixed).tasks)]
    assert rows == [
        ("calc-1", "clean", (1, 1), (12, 12), 0, ""),
        ("calc-2", "repaired", (1, 1), (12, 11), 1, "not collected"),
        (
            "calc-3",
            "refused",
            (1, 0),
            (12, 12),
            0,
            "1 F2P do not pass with the reference (AssertionError at calc.py:2)",
        ),
        ("calc-4", "not run", None, None, 0, "no repair.json: run `repair run`"),
    ]


def test_the_gate_is_the_gate(mixed: Path) -> None:
    assert page_of(mixed).gate == GateView(True, "1 clean + 1 repaired = 2 ≥ 1")
    (mixed / "panel.toml").write_text('name = "test"\n[policy]\nmin_p2p = 0\n[gate]\nmin_tasks = 3\n')
    assert page_of(mixed).gate == GateView(False, "1 clean + 1 repaired = 2 < 3")


def test_a_part_of_a_panel_has_no_gate(mixed: Path) -> None:
    page = build.page(read.load(mixed, "calc-1".__eq__), whole=False)
    assert page.gate.passed is None
    assert [view.task.name for view in page.tasks] == ["calc-1"]


def test_a_panel_without_any_record(make_task: MakeTask) -> None:
    page = page_of(make_task().parent)
    assert [view.task.word for view in page.tasks] == ["not run"]
    assert (page.causes, page.flaky, page.gate.passed) == ((), (), False)


@pytest.mark.parametrize(
    ("file", "content", "word", "detail", "tests"),
    [
        pytest.param("oracle.patch", b"--- other\n", "stale", "oracle.patch changed since", True, id="stale"),
        pytest.param("repair.json", None, "edited", "repair.json differs", True, id="edited"),
        pytest.param("repair.json", b"{}", "inconsistent", "repair.json is no record", False, id="inconsistent"),
    ],
)
def test_a_record_that_is_not_sound_counts_for_nothing(
    mixed: Path, file: str, content: bytes | None, word: str, detail: str, tests: bool
) -> None:
    place = mixed / "calc-2" / file
    records.overwrite(place, place.read_bytes().replace(b"repaired", b"clean") if content is None else content)
    page = page_of(mixed)
    view = page.tasks[1]
    assert (view.task.word, view.task.f2p, view.task.p2p) == (word, None, None)
    assert detail in view.task.note
    assert detail in opened(view)["details"][0]
    assert (opened(view)["tests"] is not None) == tests
    assert "not collected" not in [cause.cause for cause in page.causes]
    assert page.gate.sum == "1 clean + 0 repaired = 1 ≥ 1"


def test_every_state_of_a_record_has_its_words() -> None:
    assert {str(state) for state in Soundness} - {"sound", "absent"} < set(words.STATES)


def test_an_opened_task_holds_its_tests(mixed: Path) -> None:
    document = opened(page_of(mixed).tasks[1])
    assert [finding["count"] for finding in document["findings"]] == [1]
    assert document["tests"]["runs"] == [1, 1, 1, 1]
    assert document["tests"]["tails"][0] == KEEP
    assert ["image", "repair-test/odd-plain:1"] in document["facts"]


# ---- causes


def test_causes_are_ranked_over_the_panel_with_the_images_to_mend(make_task: MakeTask) -> None:
    p2p = [f"p{n}" for n in range(6)]
    for name, number, image in (("a", 1, "registry.example/a:1"), ("b", 4, "registry.example/b:1")):
        lost = missing("pretend", *p2p[:number]) | missing("lxml", *p2p[5:])
        records.write(make_task(name, f2p=["f"], p2p=p2p, image=image), lost, lost)
    one, two = page_of(make_task("c").parent).causes
    assert (one.cause, one.tests) == ("ModuleNotFoundError: No module named 'pretend'", 5)
    assert one.shares == (Share("b", 4, "registry.example/b:1"), Share("a", 1, "registry.example/a:1"))
    assert (two.cause, two.tests) == ("ModuleNotFoundError: No module named 'lxml'", 2)


# ---- flaky ids


def write_runs(directory: Path, empty: str, oracle: str) -> None:
    """A record of several runs in which KEEP has these outcomes, a letter a run, and all else goes as it should."""
    letters = {letter: outcome for outcome, letter in words.LETTERS.items()}
    panel, task = records.load(directory)

    def runs(text: str, *, oracle: bool) -> tuple[Run, ...]:
        other = [{KEEP: Observed(letters[letter])} for letter in text]
        return tuple(records.run(task.f2p, task.p2p, oracle=oracle, other=seen) for seen in other)

    before, after = runs(empty, oracle=False), runs(oracle, oracle=True)
    seen = table.build(task.f2p, task.p2p, before, after)
    records.write_evidence(panel, task, Evidence(task.instance_id, "0.1.0", records.IMAGE, before, after, seen))


@pytest.mark.parametrize(
    ("empty", "oracle", "word", "rates"),
    [
        pytest.param("PPP", "PPP", "clean", (), id="steady"),
        pytest.param("FPF", "PPP", "clean", (("empty", "failed 2/3, passed 1/3"),), id="under empty"),
        pytest.param(
            "PPP", "SPF", "refused", (("oracle", "failed 1/3, passed 1/3, skipped 1/3"),), id="with the oracle"
        ),
    ],
)
def test_flaky_ids_have_their_rates(
    panel: Path, make_task: MakeTask, empty: str, oracle: str, word: str, rates: tuple[tuple[str, str], ...]
) -> None:
    (panel / "panel.toml").write_text('name = "test"\n[policy]\nmin_p2p = 0\nrepeats = 3\n')
    write_runs(make_task("calc-1"), empty, oracle)
    page = page_of(panel)
    assert page.tasks[0].task.word == word
    assert page.flaky == ((FlakyView("calc-1", KEEP, rates),) if rates else ())
    assert (page.flaky_ids, page.tasks[0].flaky) == (len(rates), len(rates))


def test_the_confirmations_runs_count_as_runs(make_task: MakeTask) -> None:
    other = "tests/test_calc.py::test_keep[7]"
    records.write(make_task("calc-1"), LOST, LOST, confirm_oracle={other: records.FAILED})
    [flaky] = page_of(make_task("calc-2").parent).flaky
    assert flaky == FlakyView("calc-1", other, (("oracle", "failed 1/2, passed 1/2"),))


# ---- logs


def write_log(panel: Path, task: str, label: str, content: bytes) -> Path:
    file = panel / ".repair" / "attempts" / task / f"run-0001-{label}" / "log"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("task", "label", "shown"),
    [
        pytest.param("calc-4", "empty-1", ["empty"], id="without a record, empty"),
        pytest.param("calc-4", "oracle-1", ["oracle"], id="without a record, oracle"),
        pytest.param("calc-3", "oracle-1", ["oracle"], id="refused, oracle"),
        pytest.param("calc-3", "empty-1", [], id="refused, empty"),
        pytest.param("calc-2", "oracle-1", [], id="repaired"),
        pytest.param("calc-4", "oracle-confirm-1", [], id="a confirmation's"),
    ],
)
def test_the_logs_of_failed_controls_are_shown(mixed: Path, task: str, label: str, shown: list[str]) -> None:
    write_log(mixed, task, label, b"Killed\n")
    found = {view.task.name: opened(view) for view in page_of(mixed).tasks}
    assert [control for control, _ in found[task]["logs"]] == shown
    assert all(text == "Killed" for _, text in found[task]["logs"])


@pytest.mark.parametrize("what", ["the log", "its folder", "a file that every process has"])
def test_a_log_that_leads_out_of_the_panel_is_not_shown(mixed: Path, tmp_path: Path, what: str) -> None:
    """Whoever made the panel could have any file of whoever looks put on the page."""
    outside = tmp_path / "outside" / "log"
    outside.parent.mkdir()
    outside.write_text("a token of whoever looks")
    log = write_log(mixed, "calc-4", "oracle-1", b"Killed\n")
    assert "Killed" in opened(page_of(mixed).tasks[3])["logs"][0]
    log.unlink()
    if what == "its folder":
        log.parent.rmdir()
        log.parent.symlink_to(outside.parent)
    else:
        log.symlink_to(outside if what == "the log" else "/proc/self/environ")
    assert opened(page_of(mixed).tasks[3])["logs"] == []


def test_a_task_that_could_not_be_observed_says_where_to_look(mixed: Path) -> None:
    write_log(mixed, "calc-4", "empty-1", b"Killed\n")
    note = page_of(mixed).tasks[3].task.note
    assert note == "empty ran and left no record: see the log, then `repair run`"


@pytest.mark.parametrize(
    ("content", "tail"),
    [
        pytest.param(b"one\ntwo\n", "one\ntwo", id="whole"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"\x1b[31mred\x1b[0m\ta\x07\xff\n", "red     a\\x07\ufffd", id="colours, controls, no text"),
        pytest.param(
            b"\n".join(b"%d" % n for n in range(100)), "…\n" + "\n".join(map(str, range(60, 100))), id="many lines"
        ),
        pytest.param(b"first\n" + b"x" * 4200 + b"\nlast\n", "…\nlast", id="a line that is cut is left out"),
        pytest.param(b"y" * 9000, "…\n" + "y" * 4000, id="one long line"),
    ],
)
def test_the_tail_of_a_log(mixed: Path, content: bytes, tail: str | None) -> None:
    write_log(mixed, "calc-4", "oracle-1", content)
    logs = opened(page_of(mixed).tasks[3])["logs"]
    assert logs == ([] if tail is None else [["oracle", tail]])


def test_a_log_that_cannot_be_read_is_left_out(mixed: Path) -> None:
    file = write_log(mixed, "calc-4", "oracle-1", b"Killed\n")
    file.unlink()
    file.mkdir()
    assert opened(page_of(mixed).tasks[3])["logs"] == []


# ---- repair report


def test_report_writes_one_file_and_says_what_is_in_it(capsys: Capture, mixed: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    code, out, err = ask(capsys, "report", mixed, "-o", file)
    assert (code, err) == (0, "")
    size = round(file.stat().st_size / 1000)
    assert out == f"{file}: {size} kB, gate met, 1 clean, 1 repaired, 1 refused, 1 not run\n"
    assert sorted(tmp_path.iterdir()) == [mixed, file]
    assert "calc-3" in file.read_text()


def test_a_report_is_replaced_and_the_same_panel_gives_the_same_bytes(
    capsys: Capture, mixed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    ask(capsys, "report", mixed, "-o", file)
    before = file.read_bytes()
    file.write_text("<!doctype html>\nolder")
    assert ask(capsys, "report", mixed, "-o", file)[0] == 0
    assert file.read_bytes() == before


def test_a_part_of_the_panel_is_said_to_be_one(capsys: Capture, mixed: Path, tmp_path: Path) -> None:
    code, out, _ = ask(capsys, "report", mixed, "-o", tmp_path / "report.html", "-x", "calc-[34]")
    assert code == 0
    assert out.endswith("part of a panel, 1 clean, 1 repaired\n")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        pytest.param("none/report.html", "none is no directory; make it first", id="no folder"),
        pytest.param("file/report.html", "file is no directory", id="a file for a folder"),
        pytest.param("folder", "folder is a directory", id="a folder"),
        pytest.param("x" * 300, "cannot be written", id="too long a name"),
    ],
)
def test_a_place_that_cannot_be_written_is_a_usage_error(
    capsys: Capture, mixed: Path, tmp_path: Path, place: str, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    code, out, err = ask(capsys, "report", mixed, "-o", tmp_path / place)
    assert (code, out) == (2, "")
    assert said in one_line(err)


def test_open_asks_the_browser_for_the_file(mixed: Path, tmp_path: Path) -> None:
    browser, asked = tmp_path / "browser", tmp_path / "asked"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(asked)!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o755)
    file = tmp_path / "a report.html"
    done = start("report", mixed, "-o", file, "--open", env={"BROWSER": f"{browser} %s", "PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (0, "")
    assert asked.read_text() == file.as_uri()


def test_what_is_no_report_is_not_replaced(capsys: Capture, mixed: Path, tmp_path: Path) -> None:
    file = tmp_path / "repair.json"
    file.write_text("{}")
    code, _, err = ask(capsys, "report", mixed, "-o", file)
    assert (code, file.read_text()) == (2, "{}")
    assert f"{file} is there already, and no report" in err
