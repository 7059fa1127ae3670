"""The README's words on foreign formats and test runners are what formats_table.py makes of the registry and the tests.

`UPDATE_README=1 python -m pytest tests/test_readme_formats.py` writes them anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from repair.formats import registry
from repair.outcomes.frameworks import known
from tests.engine.foreign import FOREIGN
from tests.formats import sources
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import ROWS
from tests.support import formats_table
from tests.support.paths import ROOT, TESTS

README = ROOT / "README.md"
# Each part: what stands before it, what it is, and what stands behind it.
PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "formats": (r"(<!-- formats -->\n\n)((?:\|.*\n)*)(\n)", formats_table.table),
    "runners": (r"(<!-- runners -->)(.*?)(<!-- /runners -->)", formats_table.runners),
}


def text() -> str:
    return README.read_text(encoding="utf-8")


def unwrapped(name: str, part: str) -> str:
    """Prose on one line, however it is wrapped."""
    return " ".join(part.split()) if name == "runners" else part


@pytest.mark.parametrize("name", PARTS)
def test_the_readme_says_what_is_there(name: str) -> None:
    pattern, made = PARTS[name]
    part = re.compile(pattern, re.DOTALL if name == "runners" else 0)

    def shown() -> list[str]:
        return [unwrapped(name, match[2]) for match in part.finditer(text())]

    if os.environ.get("UPDATE_README") and shown() != [made()]:
        README.write_text(part.sub(lambda m: m[1] + made() + m[3], text()), encoding="utf-8")
    assert shown() == [made()]


def test_every_format_has_its_line() -> None:
    lines = formats_table.table().splitlines()[2:]
    names = [*registry.ROWS, *registry.DIRECTORIES]
    assert [re.findall(r"`([\w-]+)`", line) for line in lines] == [[name] for name in names]


def test_what_is_run_is_of_a_format_that_there_is() -> None:
    assert {foreign.format for foreign in FOREIGN} <= {*registry.ROWS, *registry.DIRECTORIES}


def test_a_cell_says_no_where_no_test_does_it() -> None:
    (line,) = (line for line in formats_table.table().splitlines() if "`multi-swe-bench`" in line)
    assert line.endswith("| yes | yes | – | – |")


def test_the_rows_of_test_data_are_those_of_the_contract_tests() -> None:
    assert {*ROWS, *DIRECTORIES} == {*registry.ROWS, *registry.DIRECTORIES}
    assert {name for name, _, _ in sources.EVERY} == {*ROWS, *DIRECTORIES}
    content = (TESTS / "formats" / "test_contract_exchange.py").read_text(encoding="utf-8")
    assert "params=sources.EVERY" in content


@pytest.mark.parametrize("name", known.FRAMEWORKS)
def test_a_runner_is_listed_where_its_command_is_changed(name: str) -> None:
    """Maven and Gradle write reports unasked, and cargo test writes none."""
    assert formats_table.is_made_to_write(name) == (name not in ("maven", "gradle", "cargo"))
