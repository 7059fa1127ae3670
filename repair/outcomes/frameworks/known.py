"""What is known of each test runner, a row for each: its name, its programs, its templates, its options, its reports.

Pure. `commands` recognises a runner by its row, `plan` makes it write JUnit, `lookup` reads its reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from repair.model import Observed, Outcome
from repair.outcomes.junit import Case

UNKNOWN = "unknown"  # a framework that nobody can tell
NEVER = r"(?!)"

Words = Sequence[str]  # of a command: the program, then its arguments


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


def _always(_: Words) -> bool:
    return True


def _no_holder(_: Case) -> tuple[str, Observed] | None:
    return None


@dataclass(frozen=True, slots=True)
class Framework:
    """A test runner.

    `name`: as task.json says it.
    `templates`: spellings of one and the same id over {suite} {file} {classname} {class} {name}; empty for exact pytest
    node ids.
    `programs`: names of programs that run tests; an ending such as `.js` does not count.
    `verbs`: names of programs that run tests if `test` follows.
    `modules`: names of modules that run tests behind `python -m`.
    `runs_tests`: says of a command's words whether they run tests and do not only build, say.
    `add`: groups of arguments with {path}, each with a pattern of arguments next to which it is not added.
    `said`: finds the report's path in the command's assignments and arguments, NUL between them.
    `assign`: variables with {path} before the command.
    `env`: variables for the whole test command.
    `files`: globs of reports that a runner writes without an option.
    `has_subtests`: its report tells each failed subtest as a case, and a test with one as nothing else.
    `holder`: of a case that stands for tests that did not run, how their ids begin or what they hold, with their
    outcome; None for any other case.
    """

    name: str
    templates: tuple[str, ...]
    programs: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    runs_tests: Callable[[Words], bool] = _always
    add: tuple[tuple[str, str], ...] = ()
    said: str = NEVER
    assign: Mapping[str, str] = field(default_factory=_nothing)
    env: Mapping[str, str] = field(default_factory=_nothing)
    files: tuple[str, ...] = ()
    has_subtests: bool = False
    holder: Callable[[Case], tuple[str, Observed] | None] = _no_holder


# ---- which commands run tests

_GOAL = re.compile(r"test|verify|package|install|deploy|integration-test|(?:surefire|failsafe):\S+")
_TASK = re.compile(r"(?:.*:)?(?:test|check|build|test\w*UnitTest|\w+Test)")
_NO_TESTS = re.compile(r"-D(?:skipTests|maven\.test\.skip)(?:=true)?$")


def _maven_tests(words: Words) -> bool:
    return any(map(_GOAL.fullmatch, words[1:])) and not any(map(_NO_TESTS.match, words))


def _gradle_tests(words: Words) -> bool:
    left_out = {after for option, after in pairwise(words) if option in ("-x", "--exclude-task")}
    return any(_TASK.fullmatch(word) and word not in left_out for word in words[1:])


def _django_tests(words: Words) -> bool:
    """Other projects have a script runtests.py, too: Django's lies in tests/, or is told its settings."""
    is_script = words[0].endswith("runtests.py")
    return (
        not is_script or words[0].endswith("tests/runtests.py") or any(word.startswith("--settings") for word in words)
    )


def _go_tests(words: Words) -> bool:
    return words[0].endswith("gotestsum") or "-c" not in words  # -c builds and runs nothing


# ---- what stands in a report for tests that did not run

_FIXTURE = re.compile(r"setUp(?:Class|Module) \((.+)\)")
_HOOK = re.compile(r'"before (?:all|each)" hook\b.*', re.DOTALL)


def _unittest_holder(case: Case) -> tuple[str, Observed] | None:
    """The class or module whose tests did not run for what this case tells, with their outcome."""
    fixture = _FIXTURE.fullmatch(case.name) if not case.classname else None
    if fixture is not None:
        return f"({fixture[1]}", Observed(case.outcome, case.cause)
    if case.classname.startswith("unittest.loader._FailedTest"):
        package = case.classname.removeprefix("unittest.loader._FailedTest").strip(".")
        return f"({package}.{case.name}".replace("(.", "("), Observed(Outcome.MISSING, case.cause)
    return None


def _mocha_holder(case: Case) -> tuple[str, Observed] | None:
    """The suite whose tests did not run since a hook before them failed."""
    return (f"{case.classname} ", Observed(case.outcome, case.cause)) if _HOOK.fullmatch(case.name) else None


# ---- the table

_UNITTEST = ("{name} ({classname})", "{name} ({classname}.{name})")  # as it prints them: until Python 3.10, and since
_FULL_TITLE = ("{classname} {name}",)
_JAVA = ("{classname}::{name}", "{classname}.{name}", "{classname}#{name}")
_DJANGO_ADMIN = ("manage.py", "django-admin", "django-admin.py")

FRAMEWORKS: Mapping[str, Framework] = MappingProxyType(
    {
        framework.name: framework
        for framework in (
            Framework("pytest", (), programs=("pytest", "py.test"), modules=("pytest", "py.test")),
            Framework(
                "unittest",
                _UNITTEST,
                modules=("unittest", "xmlrunner"),
                said=r"\0--output-file[=\0]([^\0]+)",
                has_subtests=True,
                holder=_unittest_holder,
            ),
            Framework(
                "django",
                _UNITTEST,
                programs=("runtests.py",),
                verbs=_DJANGO_ADMIN,
                modules=("django",),
                runs_tests=_django_tests,
                has_subtests=True,  # unittest-xml-reporting writes its report, too
                holder=_unittest_holder,
            ),
            Framework(
                "jest",
                ("{name}",),  # the full name, as jest's own JSON and its -t know it; the file is in classname
                programs=("jest",),
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
                programs=("vitest",),
                add=(
                    ("--reporter=default", "--reporter"),
                    ("--reporter=junit", r"(?:--reporter=)?junit$"),
                    ("--outputFile.junit={path}", NEVER),
                ),
                said=r"(?s)^(?=.*junit).*\0--outputFile(?:\.junit)?[=\0]([^\0]+)",
            ),
            Framework(
                "mocha",
                _FULL_TITLE,
                programs=("mocha", "_mocha"),
                holder=_mocha_holder,
                # mocha's own: nothing to install, pending tests are in it; of two reporters the last counts
                add=(("--reporter xunit --reporter-options output={path}", NEVER),),
                said=r"\0(?:MOCHA_FILE=|(?:(?:--reporter-options?|-O)[=\0])?(?:[^\0]+,)?(?:mochaFile|output)=)([^\0,]+)",
            ),
            Framework(
                "phpunit",
                ("{class}::{name}",),  # as PHPUnit prints it
                programs=("phpunit",),
                add=(("--log-junit {path}", NEVER),),
                said=r"\0--log-junit[=\0]([^\0]+)",
            ),
            Framework(
                "rspec",
                ("{name}",),  # the full description, as rspec prints it
                programs=("rspec",),
                add=(
                    ("--format progress", r"(?:--format|-f)"),
                    ("--format RspecJunitFormatter --out {path}", NEVER),
                ),
                said=r"RspecJunitFormatter\0(?:--out[=\0]|-o\0?)([^\0]+)",
            ),
            Framework(
                "ctest",
                ("{name}",),  # classname says the same
                programs=("ctest",),
                add=(("--output-junit {path}", NEVER),),
                said=r"\0--output-junit[=\0]([^\0]+)",
            ),
            Framework(
                "go",
                ("{name}",),  # `go test -v` names no package where it names a test
                programs=("gotestsum",),
                verbs=("go",),
                runs_tests=_go_tests,
                add=(("--junitfile {path}", NEVER),),
                said=r"\0(?:GOTESTSUM_JUNITFILE=|--junitfile[=\0])([^\0]+)",
            ),
            Framework("nextest", ("{classname} {name}", "{classname}::{name}")),  # binary, then path: as it prints them
            Framework("cargo", ("{name}",), verbs=("cargo",)),
            Framework(
                "maven",
                _JAVA,
                programs=("mvn", "mvnw"),
                runs_tests=_maven_tests,
                files=("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml"),
            ),
            Framework(
                "gradle",
                _JAVA,
                programs=("gradle", "gradlew"),
                runs_tests=_gradle_tests,
                files=("**/build/test-results/**/TEST-*.xml",),
            ),
        )
    }
)
