"""docs/architecture.md and CONTRIBUTING.md tell the truth: links, rooms, layers, what is pure.

`UPDATE_LINKS=1 python -m pytest tests/docs/test_architecture.py` puts every link at the line where its object stands.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from repair.model import ControlKind, Task
from tests.docs import links
from tests.support.paths import ROOT
from tests.support.rooms import BASE, NOT_PURE, PURE, ROOMS

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (ARCHITECTURE, CONTRIBUTING)
LINKED = (*PAGES, ROOT / "README.md")
PLACES = "docs|images|panels|repair|scripts|tests"


def text(page: Path = ARCHITECTURE) -> str:
    return page.read_text("utf-8")


def name(page: Path) -> str:
    return page.name


# ---- links


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_each_link_leads_to_what_it_names(page: Path) -> None:
    if os.environ.get("UPDATE_LINKS") and (new := links.renewed(page, text(page))) != text(page):
        page.write_text(new, "utf-8")
    problems = links.problems(page, text(page))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_links_to_lines(page: Path) -> None:
    assert len(re.findall(r"\.py#L\d+\)", text(page))) > 20


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_path_that_is_named_exists(page: Path) -> None:
    paths = [word for code in codes(page) for word in code.split() if re.fullmatch(rf"(?:{PLACES})/[\w./-]+", word)]
    assert paths
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def codes(page: Path) -> list[str]:
    """What stands on a page as code: its blocks, and the spans of its prose."""
    blocks = links.FENCED.findall(text(page))
    return [*blocks, *re.findall(r"`([^`\n]+)`", links.FENCED.sub("", text(page)))]


def test_the_example_plans_both_controls() -> None:
    (block,) = re.findall(r"^ *```python\n(.*?)^ *```$", text(CONTRIBUTING), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(block), names)
    task = Task("task-1", "image", ("a",), ("b",), b"", None, Path())
    planned = names["planned"](task, ["b", "a"])
    assert [control.kind for control in planned] == [ControlKind.EMPTY] * 3 + [ControlKind.ORACLE] * 3
    assert {(control.name, control.task.workdir, control.ids) for control in planned} == {
        ("elsewhere", "/srv/app", ("a", "b"))
    }


MODULE = """\
LIMIT: int = 3
A = B = 4


class Pool:
    size = 1

    @property
    def run(self) -> int:
        return self.size


def run() -> None:
    size = 2
"""


def test_what_a_module_defines_has_its_line() -> None:
    names = {"LIMIT": 1, "A": 2, "B": 2, "Pool": 5, "Pool.size": 6, "Pool.run": 9, "run": 13}
    assert links.definitions(MODULE) == names


HERE = links.definitions(Path(__file__).read_text("utf-8"))["HERE"]
NOT_DEFINED = "tests/docs/test_architecture.py does not define"
BROKEN = {
    "[a](absent.py)": "docs/absent.py does not exist",
    "[a](../tests/docs/absent.py#L1)": "does not exist",
    "[`a`](../tests/docs/test_architecture.py#L1)": f"{NOT_DEFINED} a,",
    "[`tests.docs.test_architecture.there`](../tests/docs/test_architecture.py#L1)": NOT_DEFINED,
    "[`docs.test_architecture.HERE`](../tests/docs/test_architecture.py#L1)": NOT_DEFINED,
    "[`tests.docs.test_architecture.HERE`](../README.md#L1)": "README.md does not define",
    "[`tests.docs.test_architecture.HERE`](../tests/docs/test_architecture.py#L1)": f"it stands at line {HERE}; renew",
    "[a](#below)": "there is no heading #below",
    "[a](../README.md#how-it-is)": "there is no heading #how-it-is",
}


@pytest.mark.parametrize("link", BROKEN)
def test_a_broken_link_is_found(link: str) -> None:
    (problem,) = links.problems(ARCHITECTURE, f"# Above\n\nSee {link}.\n")
    assert problem.startswith(f"{link}: ")
    assert BROKEN[link].removeprefix("docs/") in problem


@pytest.mark.parametrize(
    "link",
    [
        f"[`tests.docs.test_architecture.HERE`](../tests/docs/test_architecture.py#L{HERE})",
        "[a page](../README.md)",
        "[a heading](../README.md#how-it-works)",
        "[here](#a-b-c)",
        "[elsewhere](https://example.org/#L1)",
    ],
)
def test_a_good_link_is_left_alone(link: str) -> None:
    page = f"# A, `b`: c\n\nSee {link}.\n"
    assert links.problems(ARCHITECTURE, page) == []
    assert links.renewed(ARCHITECTURE, page) == page


def test_a_link_is_renewed() -> None:
    link = "[`tests.docs.test_architecture.HERE`](../tests/docs/test_architecture.py#L{})"
    absent = "[`tests.docs.test_architecture.there`](../tests/docs/test_architecture.py#L7)"
    assert links.renewed(ARCHITECTURE, f"{link.format(9999)} {absent}") == f"{link.format(HERE)} {absent}"


# ---- rooms


def spelt(allowed: tuple[str, ...]) -> str:
    """What a room may import, as the page says it."""
    if allowed == ("*",):
        return "everything"
    has_base = allowed[: len(BASE)] == BASE
    return ", ".join([*(["base"] * has_base), *(allowed[len(BASE) :] if has_base else allowed)]) or "nothing"


def test_the_table_of_rooms_is_that_of_the_layers() -> None:
    rows = re.findall(r"^\| \[`(\w+)(?:\.py|/)`\]\(\S+\) \| .+ \| ([^|]+) \|$", text(), re.MULTILINE)
    assert dict(rows) == {room: spelt(allowed) for room, allowed in ROOMS.items()}
    assert len(rows) == len(ROOMS)


def test_the_page_says_what_base_is() -> None:
    assert f"*Base* is {', '.join(f'`{room}`' for room in BASE)}." in text()


def layers() -> list[set[str]]:
    """The rooms of the picture, a set for each line, from the top."""
    (picture,) = re.findall(r"^```text\n(__main__ .*?)^```$", text(), re.DOTALL | re.MULTILINE)
    return [set(line.partition("|")[0].split()) for line in picture.splitlines()]


def test_the_picture_has_each_room_once() -> None:
    assert sorted(room for layer in layers() for room in layer) == sorted(ROOMS)


def test_each_import_of_the_picture_points_downward() -> None:
    below: set[str] = set()
    for layer in reversed(layers()):
        for room in layer:
            allowed = {place.partition(".")[0] for place in ROOMS[room]}
            assert allowed <= below | {"*"}, room
        below |= layer


@pytest.mark.parametrize(("begin", "names"), [("Pure:", PURE), ("Not pure, although", NOT_PURE)])
def test_the_page_says_what_is_pure(begin: str, names: tuple[str, ...]) -> None:
    (bullet,) = re.findall(rf"^- {begin}(.*?)\n\n?(?=- |\n|\Z)", text(), re.DOTALL | re.MULTILINE)
    assert sorted(re.findall(r"`([\w.]+)`", bullet.partition(".\n")[0])) == sorted(names)


def test_the_page_counts_the_rooms() -> None:
    packages = [room for room in ROOMS if (ROOT / "repair" / room).is_dir()]
    files = [room for room in ROOMS if room not in packages and room != "__main__"]
    numbers = {8: "eight", 9: "nine", 10: "ten"}
    assert f"{numbers[len(files)]} top files and {numbers[len(packages)]} packages" in text()
