"""Good inputs of each target, from what the other tests keep and make: where mutation begins."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from repair.controls import workspace as controls_workspace
from repair.formats.base import Wants
from repair.formats.importing import Choice, run
from repair.model import Observed, Outcome
from repair.panel import read
from repair.sandbox.archive import Entry, pack
from tests.formats import rows
from tests.formats.row_samples import ROWS
from tests.fuzz.targets import ADD, KEEP, ORACLE, PLAIN_PANEL, PLAIN_TASK, SEPARATOR, TASK
from tests.support import records
from tests.support.paths import TESTS

EVENTS = (
    ["start", "9.0.0"],
    ["root", "/testbed", "/testbed"],
    ["nofile", "tests/test_gone.py"],
    ["conftest", "tests/sub", "tests/sub/conftest.py", "ImportError: no"],
    ["collect", "tests/test_broken.py", "failed", "E   ModuleNotFoundError: No module named 'x'"],
    ["collect", "tests/test_skipped.py", "skipped", "Skipped: needs lxml"],
    ["item", f"{ADD}[a::b]", f"tests/test_calc.py::C::()::{ADD[-8:]}[a::b]", [18, 28]],
    ["chosen", 1],
    ["run", f"{ADD}[a::b]", None],
    ["report", f"{ADD}[a::b]", "setup", "passed", False, ""],
    ["report", f"{ADD}[a::b]", "call", "failed", False, "AssertionError at 0x7f00aa"],
    ["report", f"{ADD}[a::b]", "teardown", "skipped", True, "Skipped: no"],
    ["done", f"{ADD}[a::b]"],
    ["internal", "INTERNALERROR> boom"],
    ["end", 1],
)


def of_reports(_: Path) -> list[bytes]:
    plain = [file.read_bytes() for file in sorted((TESTS / "data" / "reports").glob("*.xml"))]
    return [*plain, *map(gzip.compress, plain)]


def of_ids(_: Path) -> list[bytes]:
    listed = json.loads((TESTS / "data" / "reports" / "outcomes.json").read_bytes())
    lines = json.dumps(sorted(listed)).encode()
    plain = [file.read_bytes() for file in sorted((TESTS / "data" / "reports").glob("*.xml"))]
    node = f"{ADD}[a::b]\ntests/test_calc.py\n".encode()
    case = b'<testcase classname="tests.test_calc" name="test_add[a::b]"/>'
    return [*(lines + SEPARATOR + each for each in plain), node + SEPARATOR + b"<testsuite>" + case + b"</testsuite>"]


def of_events(_: Path) -> list[bytes]:
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in EVENTS)
    return [lines, lines + SEPARATOR + lines]


def of_tasks(_: Path) -> list[bytes]:
    keys = {
        "framework": "go",
        "test_cmd": "go test ./...",
        "id_template": ["{classname}/{name}"],
        "env": {"LANG": "C"},
        "timeout": 60,
        "memory": "512m",
        "network": "bridge",
        "select": "files",
        "user": "1000:1000",
        "platform": None,
    }
    return [PLAIN_TASK, json.dumps({**json.loads(PLAIN_TASK), **keys}).encode()]


def of_panels(_: Path) -> list[bytes]:
    defaults = b'\n[defaults]\ntimeout = 60.5\nmemory = "4g"\nenv = {LANG = "C"}\njunit = ["a/*.xml"]\n'
    more = b"\n[gate]\nmin_tasks = 2\n" + defaults
    return [PLAIN_PANEL, PLAIN_PANEL + b'passing = ["passed", "xfailed"]\nrepeats = 2\nrecheck = 1\n' + more]


def of_patches(_: Path) -> list[bytes]:
    git = b"diff --git a/x.py b/y z.py\nsimilarity index 90%\nrename from x.py\nrename to y z.py\n"
    hunk = b'--- "a/gr\\303\\266\\303\\237e"\n+++ "b/gr\\303\\266\\303\\237e"\n@@ -1,2 +1,2 @@ def x\n a\n-b\n'
    hunk += b"\\ No newline at end of file\n+c\n"
    binary = b"diff --git a/b.bin b/b.bin\nnew file mode 100644\nindex 0000000..0b7b6ac\nGIT binary patch\n"
    binary += b"literal 4\nLcmZQzWMT#Y01f~L\n\nliteral 0\nHcmV?d00001\n\n"
    dated = b"--- a/x\t1970-01-01 00:00:00.000000000 +0000\n+++ b/x\t2024-05-06 07:08:09 +0200\n@@ -0,0 +1 @@\n+a\n"
    mode = b"diff --git a/s b/s\nold mode 100644\nnew mode 100755\n"
    return [ORACLE, rows.PATCH.encode(), git, hunk, binary, dated, mode, git + hunk + binary + mode]


def of_links(_: Path) -> list[bytes]:
    return [b"p/panel.toml\np/t -> ../tasks/t\ntasks/t/task.json\nloop -> loop\nx -> /etc/passwd\nq -> p\n"]


def of_written(directory: Path) -> list[bytes]:
    where = directory / "sound" / TASK
    where.mkdir(parents=True)
    (where.parent / "panel.toml").write_bytes(PLAIN_PANEL)
    (where / "task.json").write_bytes(PLAIN_TASK)
    (where / "oracle.patch").write_bytes(ORACLE)
    lost = {KEEP[3]: records.SKIPPED}
    grouped = {KEEP[4]: Observed(Outcome.PASSED, "", {f"{KEEP[4]}[x]": Outcome.PASSED})}
    found = []
    for empty, oracle in (({}, {}), (lost, lost), (grouped, grouped), ({}, {ADD: records.FAILED})):
        for name in (read.RECORD, read.OUTCOMES):
            (where / name).unlink(missing_ok=True)
        records.write(where, empty, oracle)
        found.append(SEPARATOR.join((where / name).read_bytes() for name in (read.RECORD, read.OUTCOMES)))
        found.append(found[-1] + SEPARATOR + of_mints(directory)[0])
    return found


def of_outcomes(directory: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted((TESTS / "golden").glob("*.outcomes.json"))]


def of_mints(_: Path) -> list[bytes]:
    tests = {ADD: {"class": "FAIL_TO_PASS"}, **{test: {"class": "PASS_TO_PASS"} for test in KEEP}}
    return [json.dumps({"instance_id": TASK, "tests": tests}).encode()]


def of_tars(_: Path) -> list[bytes]:
    folder = Entry("out", b"", 0o755, directory=True)
    plain = pack([folder, Entry("out/report.xml", b"<testsuite/>", 0o644, 7, 8)])
    long = pack([Entry("out/" + "x" * 200, b"x" * 2000, 0o644), Entry("out/größe", b"", 0o600)])
    link = pack([Entry("out", b"", 0o777, link="/etc/" + "y" * 150)])
    return [bytes([12]) + each for each in (plain, long, link)]


def of_rows(_: Path) -> list[bytes]:
    built = [json.dumps(sample.build(), ensure_ascii=False).encode() for sample in ROWS.values()]
    return [*(b"\1" + each + b"\n" for each in built), b"\0[" + b",\n".join(built) + b"]", b"\0" + built[0]]


def of_harbor(_: Path) -> list[bytes]:
    config = json.dumps(rows.classic(), indent=2).encode()
    return [SEPARATOR.join([rows.HARBOR.encode(), config, rows.TEST_SH.encode()])]


def of_task_repos(_: Path) -> list[bytes]:
    tests = json.dumps({"FAIL_TO_PASS": rows.F2P, "PASS_TO_PASS": rows.P2P}, indent=2).encode()
    settings = rows.SETTINGS.format(name="acme__ledger-7").encode()
    return [SEPARATOR.join([settings, tests, rows.SCRIPT.encode()])]


def of_sources(directory: Path) -> list[bytes]:
    found = []
    for name, sample in ROWS.items():
        file = rows.jsonl(directory / f"{name}.jsonl", [sample.build()])
        run(file, directory / f"panel-{name}", Choice(), Wants())
        found += [each.read_bytes() for each in (directory / f"panel-{name}").glob(f"*/{read.SOURCE}")]
    return found


def of_journals(directory: Path) -> list[bytes]:
    where = directory / "kept" / TASK
    where.mkdir(parents=True)
    (where.parent / "panel.toml").write_bytes(PLAIN_PANEL)
    (where / "task.json").write_bytes(PLAIN_TASK)
    (where / "oracle.patch").write_bytes(ORACLE)
    loaded = read.load(where.parent)
    workspace = controls_workspace.Workspace(loaded, "seeds")
    members = {KEEP[0]: Observed(Outcome.FAILED, "x", {f"{KEEP[0]}[a]": Outcome.FAILED})}
    kept = records.run((ADD,), tuple(KEEP), oracle=True, other=members)
    workspace.note(loaded.tasks[0], "key", kept, ())
    return [(workspace.root / "journal" / "key.json").read_bytes()]


SEEDS: Mapping[str, Callable[[Path], list[bytes]]] = {
    "report": of_reports,
    "ids": of_ids,
    "events": of_events,
    "task": of_tasks,
    "panel": of_panels,
    "patch": of_patches,
    "links": of_links,
    "written": of_written,
    "outcomes": of_outcomes,
    "mint": of_mints,
    "tar": of_tars,
    "rows": of_rows,
    "harbor": of_harbor,
    "task_repo": of_task_repos,
    "source": of_sources,
    "journal": of_journals,
}
