"""The README's table of foreign formats and its list of test runners, made of what there is and what the tests do.

A cell says yes where a test does it: import and round trip with a format's row of test data in formats/, the runs in
real containers with those of engine/foreign.py.
"""

from __future__ import annotations

from repair.errors import NoJUnit
from repair.formats import registry
from repair.formats.base import DirectoryFormat, RowFormat
from repair.outcomes.frameworks import known, plan
from tests.engine.foreign import FOREIGN
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import ROWS

HEAD = ("format", "name for `--format`", "import", "round trip", "conversion to it", "run here")
NO = "–"

# What a command of each runner looks like, where its name is not all of it.
COMMANDS = {
    "unittest": "python -m unittest",
    "django": "./tests/runtests.py",
    "ctest": "ctest --test-dir out",
    "go": "go test ./...",
    "nextest": "cargo nextest run",
    "cargo": "cargo test",
    "maven": "mvn test",
    "gradle": "gradle test",
}
TITLES = {
    "django": "Django",
    "phpunit": "PHPUnit",
    "rspec": "RSpec",
    "go": "go test (by gotestsum)",
    "nextest": "cargo nextest",
    "maven": "Maven",
    "gradle": "Gradle",
}


def table() -> str:
    """The formats as a Markdown table, a line each, in the registry's order."""
    known: list[RowFormat | DirectoryFormat] = [*registry.ROWS.values(), *registry.DIRECTORIES.values()]
    lines = [HEAD, ("---",) * len(HEAD), *(_line(one) for one in known)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _line(known: RowFormat | DirectoryFormat) -> tuple[str, ...]:
    tested = "yes" if known.name in ROWS or known.name in DIRECTORIES else NO
    converts = "yes" if isinstance(known, RowFormat) and known.write is not None else NO
    run = ", ".join(foreign.run for foreign in FOREIGN if foreign.format == known.name)
    return known.title, f"`{known.name}`", tested, tested, converts, run or NO


def runners() -> str:
    """The runners whose commands get an option that makes them write JUnit, as they stand in a sentence."""
    names = [TITLES.get(name, name) for name in known.FRAMEWORKS if is_made_to_write(name)]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def is_made_to_write(name: str) -> bool:
    """Is a plain command of a runner changed so that it writes JUnit? pytest gets its option where it runs."""
    if name == "pytest":
        return True
    command = COMMANDS.get(name, name)
    try:
        return plan.plan(name, command, ()).test_cmd != command
    except NoJUnit:
        return False
