"""What is known of each test runner: how its tests are named, and how it is made to write JUnit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

UNKNOWN = "unknown"  # a framework that nobody can tell


_NEVER = r"(?!)"


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Framework:
    """A test runner. `templates`: spellings of one and the same id over {suite} {file} {classname} {class} {name},
    empty for exact node ids.

    `add`: groups of arguments with {path}, each with a pattern of arguments beside which it is not added. `assign`:
    variables with {path} before the command, `env`: variables for all of it. `said`: finds the report's path in the
    command's assignments and arguments, NUL between them. `files`: where a runner that needs no option writes anyway.
    """

    name: str
    templates: tuple[str, ...]
    add: tuple[tuple[str, str], ...] = ()
    said: str = _NEVER
    assign: Mapping[str, str] = field(default_factory=_nothing)
    env: Mapping[str, str] = field(default_factory=_nothing)
    files: tuple[str, ...] = ()


_UNITTEST = ("{name} ({classname})", "{name} ({classname}.{name})")  # as it prints them: until Python 3.10, and since


_FULL_TITLE = ("{classname} {name}",)


_JAVA = ("{classname}::{name}", "{classname}.{name}", "{classname}#{name}")


FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        framework.name: framework
        for framework in (
            Framework("pytest", ()),
            Framework("unittest", _UNITTEST, said=r"\0--output-file[=\0]([^\0]+)"),
            Framework("django", _UNITTEST),
            Framework(
                "jest",
                ("{name}",),  # the full name, as jest's own JSON and its -t know it; the file is in classname
                add=(
                    ("--reporters=default", r"--reporters|--testResultsProcessor"),
                    ("--reporters=jest-junit", ".*jest-junit"),
                ),
                said=r"\0JEST_JUNIT_OUTPUT_FILE=([^\0]+)",
                # versions that don't know one of these know the others
                assign={"JEST_JUNIT_OUTPUT_NAME": "{name}", "JEST_JUNIT_OUTPUT_FILE": "{path}"},
                env={
                    "JEST_JUNIT_OUTPUT_DIR": "/tmp",  # noqa: S108
                    "JEST_JUNIT_CLASSNAME": "{filepath}",
                    "JEST_JUNIT_TITLE": "{classname} {title}",
                    "JEST_JUNIT_ADD_FILE_ATTRIBUTE": "true",
                    "JEST_JUNIT_REPORT_TEST_SUITE_ERRORS": "true",  # else a file that does not load is in no report
                },
            ),
            Framework(
                "vitest",
                ("{classname} > {name}", "{classname}::{name}"),  # file > suite > test, as vitest prints a failure
                add=(
                    ("--reporter=default", "--reporter"),
                    ("--reporter=junit", r"(?:--reporter=)?junit$"),
                    ("--outputFile.junit={path}", _NEVER),
                ),
                said=r"(?s)^(?=.*junit).*\0--outputFile(?:\.junit)?[=\0]([^\0]+)",
            ),
            Framework(
                "mocha",
                _FULL_TITLE,
                # mocha's own: nothing to install, pending tests are in it; of two reporters the last counts
                add=(("--reporter xunit --reporter-options output={path}", _NEVER),),
                said=r"\0(?:MOCHA_FILE=|(?:(?:--reporter-options?|-O)[=\0])?(?:[^\0]+,)?(?:mochaFile|output)=)([^\0,]+)",
            ),
            Framework(
                "phpunit",
                ("{class}::{name}",),  # as PHPUnit prints it
                add=(("--log-junit {path}", _NEVER),),
                said=r"\0--log-junit[=\0]([^\0]+)",
            ),
            Framework(
                "rspec",
                ("{name}",),  # the full description, as rspec prints it
                add=(
                    ("--format progress", r"(?:--format|-f)"),
                    ("--format RspecJunitFormatter --out {path}", _NEVER),
                ),
                said=r"RspecJunitFormatter\0(?:--out[=\0]|-o\0?)([^\0]+)",
            ),
            Framework(
                "ctest",
                ("{name}",),  # classname says the same
                add=(("--output-junit {path}", _NEVER),),
                said=r"\0--output-junit[=\0]([^\0]+)",
            ),
            Framework(
                "go",
                ("{name}",),  # `go test -v` names no package where it names a test
                add=(("--junitfile {path}", _NEVER),),
                said=r"\0(?:GOTESTSUM_JUNITFILE=|--junitfile[=\0])([^\0]+)",
            ),
            Framework("nextest", ("{classname} {name}", "{classname}::{name}")),  # binary, then path: as it prints them
            Framework("cargo", ("{name}",)),
            Framework(
                "maven",
                _JAVA,
                files=("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml"),
            ),
            Framework("gradle", _JAVA, files=("**/build/test-results/**/TEST-*.xml",)),
        )
    }
)
