"""Images as they come: each odd one gives the verdict of an ordinary one, and so does each shape of a diff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from repair.errors import NoEvidence
from repair.model import Verdict
from repair.pipeline import Result, State
from tests.engine.conftest import BuildImage
from tests.engine.lab import ADD, P2P, Lab, Node, added, compared, record, write_panel, write_task

pytestmark = pytest.mark.engine

FORTY_TWO = b"--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-41\n+42\n"
IN_REPO = ADD.replace(b"a/calc.py", b"a/sub/calc.py").replace(b"b/calc.py", b"b/sub/calc.py")
LINKED = "FROM repair-test/odd-plain:1\nRUN mv /testbed /real && ln -s /real /testbed\nWORKDIR /\n"

ORDINARY = {
    "an entry point of its own": "entrypoint",
    "a healthcheck that never holds": "healthcheck",
    "a user who cannot write": "user",
    "a repo of somebody else": "owner",
    "folders that take no new file": "readonly-dirs",
    "no git": "nogit",
    "no bash": "nobash",
    "no repo": "norepo",
    "a volume as working directory": "volume",
}


@pytest.fixture(scope="module")
def verdicts(lab: Lab, build_image: BuildImage) -> dict[str, Result]:
    panel = write_panel(lab.fresh())
    for name, image in ORDINARY.items():
        write_task(panel, name, image=f"repair-test/odd-{image}:1")
    sub: dict[str, Any] = {"image": "repair-test/odd-subdir:1", "workdir": "/repo/sub"}
    write_task(panel, "paths from the working directory", **sub)
    write_task(panel, "paths from the repo's root", oracle=IN_REPO, **sub)
    hidden = {"sub/tests/test_new.py": "def test_new():\n    from more import more\n"}
    reference = added({"sub/more.py": "more = 1\n"})
    new = ["tests/test_new.py::test_new"]
    write_task(panel, "new files only, from the repo's root", f2p=new, oracle=reference, tests=added(hidden), **sub)
    write_task(panel, "a link as working directory", image=build_image(LINKED), workdir="/testbed")
    write_task(
        panel,
        "busybox",
        f2p=["suite::value_is_42"],
        p2p=["suite::always"],
        oracle=FORTY_TWO,
        image="repair-test/odd-busybox:1",
        framework="shell",
        test_cmd=["sh", "check.sh"],
        junit=["out/*.xml"],
    )
    (panel / "panel.toml").write_text("[policy]\nmin_p2p = 1\n")
    return lab.run(panel)


@pytest.mark.parametrize(
    "name",
    [
        *ORDINARY,
        "paths from the working directory",
        "paths from the repo's root",
        "new files only, from the repo's root",
        "a link as working directory",
        "busybox",
    ],
)
def test_an_odd_image_is_clean(verdicts: dict[str, Result], name: str) -> None:
    result = verdicts[name]
    assert result.error is None
    assert record(result.task.directory)["reasons"] == []
    assert record(result.task.directory)["verdict"] == Verdict.CLEAN


# ---- shapes of a diff, on files that the image holds

TREE = """\
FROM repair-test/odd-plain:1
RUN mkdir -p data lonely/deep && echo old >data/old.txt && echo keep >data/keep.txt && echo only >lonely/deep/only.txt \
 && seq 1 40 >data/moved.txt && printf 'echo hi\\n' >tool.sh && ln -s data/old.txt link \
 && printf '\\000\\001' >blob.bin \
 && echo plain >thing && mkdir pack && echo x >pack/x.txt && chown -R --no-dereference 1000:1000 /testbed
"""
MOVED = "".join(f"{n}\n" for n in range(1, 41)).encode()
BEFORE = {
    "calc.py": Node(b"def add(a, b):\n    return a - b\n"),
    "data/old.txt": Node(b"old\n"),
    "data/moved.txt": Node(MOVED),
    "lonely/deep/only.txt": Node(b"only\n"),
    "tool.sh": Node(b"echo hi\n"),
    "link": Node(link="data/old.txt"),
    "blob.bin": Node(b"\0\1"),
    "thing": Node(b"plain\n"),
    "pack/x.txt": Node(b"x\n"),
}
AFTER = {
    "calc/__init__.py": Node(b"def add(a, b):\n    return a + b\n"),
    "elsewhere/moved on.txt": Node(MOVED.replace(b"7\n", b"seven\n")),
    "tool.sh": Node(b"echo hi\n", runs=True),
    "link": Node(link="data/keep.txt"),
    "blob.bin": Node(b"\0\1\2\xff"),
    "new/folder/file.txt": Node(b"new"),
    "new/empty": Node(b""),
    "gr\u00fc\u00df.txt": Node("gr\u00fc\u00df\n".encode()),
    "thing/inside.txt": Node(b"now a folder\n"),
    "pack": Node(b"now a file\n"),
}
SHAPES = """\
import os
from pathlib import Path
from typing import Any


def test_deleted():
    assert not os.path.lexists("data/old.txt") and Path("data/keep.txt").read_text() == "keep\\n"


def test_emptied_folder_is_gone():
    assert not os.path.lexists("lonely")


def test_renamed():
    assert not os.path.lexists("data/moved.txt")
    assert Path("elsewhere/moved on.txt").read_text().startswith("1\\n2\\n3\\n4\\n5\\n6\\nseven\\n")


def test_executable():
    assert os.access("tool.sh", os.X_OK) and os.stat("tool.sh").st_mode & 0o777 == 0o755


def test_link():
    assert os.readlink("link") == "data/keep.txt"


def test_binary():
    assert Path("blob.bin").read_bytes() == b"\\0\\1\\2\\xff"


def test_new_folder():
    assert Path("new/folder/file.txt").read_bytes() == b"new" and Path("new/empty").read_bytes() == b""


def test_name_beyond_ascii():
    assert Path("gr\\u00fc\\u00df.txt").read_text("utf-8") == "gr\\u00fc\\u00df\\n"


def test_module_becomes_package():
    import calc

    assert calc.add(1, 1) == 2 and not os.path.lexists("calc.py")


def test_file_becomes_folder():
    assert Path("thing/inside.txt").is_file()


def test_folder_becomes_file():
    assert Path("pack").read_text() == "now a file\\n"


def test_owner():
    for path in ("new/folder/file.txt", "new", "tool.sh", "link", "calc/__init__.py"):
        assert os.lstat(path).st_uid == 1000
"""
SHAPE_IDS = [f"tests/test_shape.py::{line[4:-3]}" for line in SHAPES.splitlines() if line.startswith("def ")]


@pytest.fixture(scope="module")
def shaped(lab: Lab, build_image: BuildImage) -> dict[str, Result]:
    panel, image = write_panel(lab.fresh()), build_image(TREE)
    reference = compared(lab.fresh(), BEFORE, AFTER)
    hidden = added({"tests/test_shape.py": SHAPES})
    for name, user in (("root", None), ("owner", "1000:1000")):
        write_task(panel, name, SHAPE_IDS, P2P, reference, hidden, image=image, user=user)
    only = compared(lab.fresh(), {"data/old.txt": Node(b"old\n")}, {"calc2.py": Node(b"")})
    write_task(panel, "stranger deletes", SHAPE_IDS[:1], P2P, only, hidden, image=image, user="2000:2000")
    write_task(panel, "stranger changes", image=image, user="2000:2000")
    return lab.run(panel)


@pytest.mark.parametrize("user", ["root", "owner"])
def test_every_shape_of_a_diff_applies(shaped: dict[str, Result], user: str) -> None:
    result = shaped[user]
    assert result.error is None
    assert record(result.task.directory)["reasons"] == []
    assert record(result.task.directory)["counts"]["F2P"] == {"listed": 12, "dropped": 0, "kept": 12}


def test_a_change_needs_no_right_of_the_user(shaped: dict[str, Result]) -> None:
    assert record(shaped["stranger changes"].task.directory)["verdict"] == "clean"


def test_a_deletion_by_a_user_who_may_not_is_infrastructure(shaped: dict[str, Result]) -> None:
    result = shaped["stranger deletes"]
    assert result.state is State.FAILED
    assert isinstance(result.error, NoEvidence)
    assert "cannot delete /testbed/data/old.txt" in str(result.error)
    assert "`user`" in result.error.next
    assert not Path(result.task.directory / "repair.json").exists()
