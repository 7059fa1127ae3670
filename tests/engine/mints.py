"""A panel to mint: every kind of test of which it is known beforehand what class it gets, and why tasks get no lists.

All of it goes the same way every time, so that one run of each control suffices.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repair.controls import plan
from repair.controls.session import Done, Options
from repair.controls.workspace import Workspace
from repair.mint import run as mint_run
from repair.mint.classes import Derived
from repair.mint.run import Found, Plan
from repair.mint.write import write_panel as write_minted
from repair.model import Control, Observed, Outcome, Run
from repair.panel import read
from tests.engine.lab import ADD, Lab, Node, added, compared, write_panel, write_task
from tests.engine.runners import RUNNERS

REPEATS = 1
UNITTEST = RUNNERS["unittest"]  # whose ids repair spells as Python did before 3.11
MORE = added({"more.py": "more = 1\n"})
NEW = "from more import more\n\n\ndef test_more():\n    assert more == 1\n"
KINDS = """\
import datetime
import socket

import pytest

import calc

SEEN = []


def test_adds():
    assert calc.add(1, 2) == 3


def test_keeps():
    SEEN.append(1)
    assert calc.add(1, 0) == 1


def test_behind_another():
    assert SEEN


def test_alone():
    assert not SEEN


def test_certificate():
    assert datetime.date.today() < datetime.date(2020, 1, 1)


def test_network():
    assert [name for _, name in socket.if_nameindex() if name != "lo"]


def test_dependency():
    import ledger_of_acme


def test_skips():
    pytest.skip("needs a printer")


@pytest.mark.xfail
def test_expected():
    assert 0


class TestGroup:
    @pytest.mark.parametrize("n", [0, 1])
    def test_n(self, n):
        assert calc.add(1, n) == 1 + n
"""
DEADLY = "import os\n\n\ndef test_dies():\n    os._exit(3)\n\n\ndef test_survives():\n    pass\n"
LEANS = (
    "SEEN = []\n\n\ndef test_fails():\n    SEEN.append(1)\n    assert 0\n\n\ndef test_leans():\n    assert SEEN\n\n\n"
)
LEANS += "def test_stands():\n    pass\n"
# Behind the first the second passes under both controls; by itself the reference breaks it.
ALONE = "import calc\n\nSEEN = []\n\n\ndef test_fails():\n    SEEN.append(1)\n    assert 0\n\n\ndef test_alone():\n"
ALONE += "    assert SEEN or calc.add(1, 2) != 3\n"
LOST = "import calc\n\n\ndef test_subtracts():\n    assert calc.add(3, 1) == 2\n"
ADDS = "import calc\n\n\ndef test_adds():\n    assert calc.add(1, 2) == 3\n"
PASSES = "def test_p():\n    pass\n"
# Its own pytest.ini makes `lib` the rootdir, from which two of its files are called like others below the root.
BELOW = {
    "lib/pytest.ini": "[pytest]\n",
    "lib/__init__.py": "",
    "lib/tests/__init__.py": "",
    "lib/tests/test_adds.py": "def test_adds():\n    assert 0\n",
    "lib/tests/test_calc.py": PASSES,
    "tests/test_adds.py": ADDS,
}
K = "tests/test_kinds.py::"
SORTS = {
    f"{K}test_adds": Derived.F2P,
    f"{K}TestGroup::test_n[1]": Derived.F2P,
    "tests/test_new.py::test_more": Derived.F2P,
    f"{K}test_keeps": Derived.P2P,
    f"{K}test_behind_another": Derived.P2P,  # whole files are run, and both are in the list
    f"{K}TestGroup::test_n[0]": Derived.P2P,
    "tests/test_deadly.py::test_survives": Derived.P2P,
    "tests/test_deadly.py::test_dies": Derived.NEVER,
    f"{K}test_alone": Derived.NEVER,
    f"{K}test_certificate": Derived.NEVER,
    f"{K}test_network": Derived.NEVER,
    f"{K}test_dependency": Derived.NEVER,
    f"{K}test_skips": Derived.NEVER,
    f"{K}test_expected": Derived.NEVER,
}
CALC = {f"tests/test_calc.py::test_keep[{n}]": Derived.P2P for n in range(12)}
CALC["tests/test_calc.py::test_add"] = Derived.F2P
MINTED = {
    "all sorts": SORTS,
    "leans on what is not listed": {
        "tests/test_leans.py::test_fails": Derived.NEVER,
        "tests/test_leans.py::test_leans": Derived.UNSTABLE,
        "tests/test_leans.py::test_stands": Derived.P2P,
        "tests/test_adds.py::test_adds": Derived.F2P,
    },
    "files by glob and folder": {**CALC, "slow/test_slow.py::test_p": Derived.P2P},
    "helpers, moved and deleted": {
        "tests/test_data.py::test_data": Derived.F2P,
        "tests/test_moved.py::test_moved": Derived.P2P,
    },
    "below the repo's root": {"tests/test_new.py::test_more": Derived.F2P, "tests/test_p.py::test_p": Derived.P2P},
    "a rootdir below": {
        "lib/tests/test_adds.py::test_adds": Derived.NEVER,
        "lib/tests/test_calc.py::test_p": Derived.P2P,
        "tests/test_adds.py::test_adds": Derived.F2P,
    },
    "unittest": {
        **dict.fromkeys(UNITTEST.f2p, Derived.F2P),
        **dict.fromkeys(UNITTEST.good, Derived.P2P),
        UNITTEST.skipped: Derived.NEVER,
        UNITTEST.broken: Derived.NEVER,
    },
}
REFUSED = {
    "one is lost": ["lost"],
    "one is lost when it runs alone": ["lost"],
    "does not apply": ["patch"],
    "no test is collected": ["no-f2p"],
}


def write_unlisted(panel: Path, name: str, **keys: Any) -> Path:
    """A task whose task.json holds no lists, as of one that nobody has probed."""
    directory = write_task(panel, name, **keys)
    document = json.loads((directory / "task.json").read_text())
    del document["FAIL_TO_PASS"], document["PASS_TO_PASS"]
    (directory / "task.json").write_text(json.dumps(document))
    return directory


def with_helpers(panel: Path, folder: Path) -> None:
    """tests.patch changes a helper, a conftest and a data file, moves one test file, deletes another, adds one."""
    before = {
        "tests/helper.py": "VALUE = 1\n\n\ndef test_nothing():\n    assert 0\n",
        "tests/conftest.py": "import pytest\n",
        "tests/data.txt": "1 2\n",
        "tests/test_gone.py": "def test_gone():\n    pass\n",
        "tests/test_before.py": "".join(f"# line {n} of a file that moves\n" for n in range(9))
        + "def test_moved():\n    pass\n",
    }
    after = {
        "tests/helper.py": before["tests/helper.py"].replace("1", "3"),
        "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef values():\n    return 1, 2\n",
        "tests/data.txt": "1 2 3\n",
        "tests/test_moved.py": before["tests/test_before.py"],
        "tests/test_data.py": "import calc\nfrom helper import VALUE\n\n\ndef test_data(values):\n"
        "    text = open('tests/data.txt').read()\n    assert calc.add(*values) == VALUE == int(text.split()[2])\n",
    }
    trees = [{path: Node(text.encode()) for path, text in tree.items()} for tree in (before, after)]
    tests = compared(folder, *trees)
    assert b"rename to tests/test_moved.py" in tests
    directory = write_unlisted(panel, "helpers, moved and deleted", tests=tests)
    (directory / "entry.patch").write_bytes(added(before))


def write(panel: Path, folder: Path) -> Path:
    write_panel(panel, "[policy]\nmin_p2p = 1\n[gate]\nmin_tasks = 3\n")
    (panel / "README.md").write_text("A panel.\n")
    sorts = {"tests/test_new.py": NEW, "tests/test_kinds.py": KINDS, "tests/test_deadly.py": DEADLY}
    sorts |= {"tests/test_absent.py": "import ledger_of_acme\n\n\ndef test_absent():\n    pass\n"}
    task = write_task(panel, "all sorts", oracle=ADD + MORE, tests=added(sorts), env={"LEDGER": "acme"}, cpus=1)
    (task / "instruction.md").write_text("Mend add.\n")
    for name in ("repair.json", "outcomes.json", "mint.json", "source.json"):
        (task / name).write_text("{}\n")
    for name in ("source", "environment"):
        (task / name).mkdir()
        (task / name / "Dockerfile").write_text("FROM scratch\n")
    leans = added({"tests/test_leans.py": LEANS, "tests/test_adds.py": ADDS})
    listed = [f"tests/test_leans.py::test_{name}" for name in ("leans", "stands")]
    write_task(panel, "leans on what is not listed", ["tests/test_adds.py::test_adds"], listed, tests=leans)
    slow = {"slow/test_slow.py": PASSES, "tests/test_other.py": LOST}
    globs = ["tests/test_c*.py", "slow", "tests/test_z*.py"]
    write_unlisted(panel, "files by glob and folder", tests=added(slow), test_files=globs)
    with_helpers(panel, folder)
    sub = added({"sub/tests/test_new.py": NEW, "sub/tests/test_p.py": PASSES})
    below = added({"sub/more.py": "more = 1\n"})
    keys: dict[str, Any] = {"image": "repair-test/odd-subdir:1", "workdir": "/repo/sub"}
    write_unlisted(panel, "below the repo's root", oracle=below, tests=sub, **keys)
    assert not isinstance(UNITTEST.tests, bytes)
    keys = {"image": "repair-test/runners:1", "workdir": f"/work/{UNITTEST.project}", "framework": "unittest"}
    write_unlisted(
        panel, "unittest", oracle=UNITTEST.oracle, tests=added(UNITTEST.tests), test_cmd=UNITTEST.test_cmd, **keys
    )
    lost = {"tests/test_lost.py": LOST, "tests/test_adds.py": ADDS, "tests/test_p.py": PASSES}
    write_unlisted(panel, "one is lost", tests=added(lost))
    alone = {"tests/test_alone.py": ALONE, "tests/test_adds.py": ADDS, "tests/test_p.py": PASSES}
    write_unlisted(panel, "one is lost when it runs alone", tests=added(alone))
    write_unlisted(panel, "a rootdir below", tests=added(BELOW))
    write_unlisted(panel, "does not apply", oracle=ADD.replace(b"a - b", b"a * b"), tests=added({"tests/t.py": ADDS}))
    write_unlisted(panel, "no test is collected", tests=added({"tests/data.py": "DATA = 1\n"}))
    os.mkfifo(write_unlisted(panel, "holds a pipe", tests=added({"tests/test_adds.py": ADDS})) / "pipe")
    write_unlisted(panel, "no image", image="repair-test-own/nowhere:1", tests=added({"tests/test_adds.py": ADDS}))
    return panel


def note(lab: Lab, panel: Path, control: Control, seen: Mapping[str, Observed]) -> None:
    """Note a run in the panel's journal, as if this control had been observed so: its turn needs no container then.

    What chance would decide is decided by whoever notes it.
    """
    image = lab.sandbox.images.get(control.task, False, lambda _: None)
    listed = {test: seen.get(test, Observed(Outcome.MISSING, "not collected")) for test in control.ids}
    run = Run(image.id, 1, listed, found={} if control.files is None else seen)
    workspace = Workspace(read.load(panel, lists=False), "noted")
    workspace.note(control.task, plan.digest(control, image), run, [])


def mint(lab: Lab, panel: Path, plan: Plan | None = None, *, fresh: bool = False) -> dict[str, Done[Found]]:
    results = mint_run.run(
        read.load(panel, lists=False), lab.sandbox, Options(jobs=4, fresh=fresh), plan or Plan(REPEATS)
    )
    return {result.task.instance_id: result for result in results}


def write_new(panel: Path, target: Path, results: dict[str, Done[Found]]) -> Path:
    found = [result.value.minted for result in results.values() if result.value is not None]
    write_minted(read.load(panel, lists=False), target, found)
    return target


def mint_json(panel: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((panel / name / "mint.json").read_bytes())
    return document


def files_below(panel: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(panel)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(panel.rglob("*"))
        if path.is_file() and ".repair" not in path.parts
    }
