"""What is really run: a command with its JUnit option, proven by shells that run it with programs of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair.errors import NoJUnit
from repair.outcomes.frameworks.known import FRAMEWORKS
from repair.outcomes.frameworks.plan import NO_XMLRUNNER, plan, recognise, sequence, with_arguments

REPORT = ("/tmp/repair-junit-1.xml",)
BOTH_REPORTS = (*REPORT, "/tmp/repair-junit-2.xml")
FOLDER = ("/tmp/repair-junit/*.xml",)
JEST = "JEST_JUNIT_OUTPUT_NAME=repair-junit-1.xml JEST_JUNIT_OUTPUT_FILE=/tmp/repair-junit-1.xml "
BOTH = "--reporters=default --reporters=jest-junit"
XUNIT = "--reporter xunit --reporter-options output=/tmp/repair-junit-1.xml"
VITEST = "--reporter=default --reporter=junit --outputFile.junit=/tmp/repair-junit-1.xml"
RSPEC = "--format RspecJunitFormatter --out /tmp/repair-junit-1.xml"
SUM = "gotestsum --junitfile /tmp/repair-junit-1.xml"

TEXTS: list[tuple[str, str, str, tuple[str, ...]]] = [
    # jest
    ("jest", "npx jest --ci", f"{JEST}npx jest --ci {BOTH}", REPORT),
    ("jest", "jest --ci -- src", f"{JEST}jest --ci {BOTH} -- src", REPORT),
    ("jest", "jest src >log 2>&1", f"{JEST}jest src {BOTH} >log 2>&1", REPORT),
    ("jest", "jest >log src", f"{JEST}jest >log src {BOTH}", REPORT),
    ("jest", "jest --reporters=dot", f"{JEST}jest --reporters=dot --reporters=jest-junit", REPORT),
    ("jest", "jest --reporters=jest-junit", f"{JEST}jest --reporters=jest-junit", REPORT),
    ("jest", "JEST_JUNIT_OUTPUT_FILE=out/j.xml jest", "JEST_JUNIT_OUTPUT_FILE=out/j.xml jest", ("out/j.xml",)),
    ("jest", "cd x && npx jest --ci; echo mocha", f"cd x && {JEST}npx jest --ci {BOTH}; echo mocha", REPORT),
    (
        "jest",
        "FOO=\"a b\" timeout 60 npx jest -t 'a && b' | tee log",
        f"{JEST}FOO=\"a b\" timeout 60 npx jest -t 'a && b' {BOTH} | tee log",
        REPORT,
    ),
    ("jest", "if ! jest; then exit 1; fi", f"if ! {JEST}jest {BOTH}; then exit 1; fi", REPORT),
    ("jest", "jest & wait", f"{JEST}jest {BOTH} & wait", REPORT),
    ("jest", "jest # && jest", f"{JEST}jest {BOTH} # && jest", REPORT),
    ("jest", "jest a && jest b", f"{JEST}jest a {BOTH} && {JEST.replace('-1', '-2')}jest b {BOTH}", BOTH_REPORTS),
    (
        "jest",
        "jest a; JEST_JUNIT_OUTPUT_FILE=j.xml jest b",
        f"{JEST}jest a {BOTH}; JEST_JUNIT_OUTPUT_FILE=j.xml jest b",
        (*REPORT, "j.xml"),
    ),
    ("jest", "{ jest; }", f"{{ {JEST}jest {BOTH}; }}", REPORT),
    ("jest", "set_up() { npm ci; }\nset_up && jest", f"set_up() {{ npm ci; }}\nset_up && {JEST}jest {BOTH}", REPORT),
    ("jest", "until curl x; do sleep 1; done; jest", f"until curl x; do sleep 1; done; {JEST}jest {BOTH}", REPORT),
    ("jest", "npx -w a jest", f"{JEST}npx -w a jest {BOTH}", REPORT),
    # vitest
    ("vitest", "npx vitest run src", f"npx vitest run src {VITEST}", REPORT),
    (
        "vitest",
        "vitest run --reporter verbose",
        "vitest run --reporter verbose --reporter=junit --outputFile.junit=/tmp/repair-junit-1.xml",
        REPORT,
    ),
    (
        "vitest",
        "vitest --reporter=junit",
        "vitest --reporter=junit --outputFile.junit=/tmp/repair-junit-1.xml",
        REPORT,
    ),
    ("vitest", "vitest --reporter=junit --outputFile=v.xml", "vitest --reporter=junit --outputFile=v.xml", ("v.xml",)),
    ("vitest", "vitest --reporter junit --outputFile v.xml", "vitest --reporter junit --outputFile v.xml", ("v.xml",)),
    # mocha
    ("mocha", "npx mocha test", f"npx mocha test {XUNIT}", REPORT),
    ("mocha", "mocha -R spec -- test", f"mocha -R spec {XUNIT} -- test", REPORT),
    (
        "mocha",
        "mocha -R mocha-junit-reporter -O a=b,mochaFile=m.xml",
        "mocha -R mocha-junit-reporter -O a=b,mochaFile=m.xml",
        ("m.xml",),
    ),
    ("mocha", "MOCHA_FILE=m.xml mocha", "MOCHA_FILE=m.xml mocha", ("m.xml",)),
    # phpunit, rspec, ctest
    ("phpunit", "vendor/bin/phpunit tests", "vendor/bin/phpunit tests --log-junit /tmp/repair-junit-1.xml", REPORT),
    ("phpunit", "phpunit --log-junit=p.xml", "phpunit --log-junit=p.xml", ("p.xml",)),
    ("phpunit", "phpunit --log-junit 'p q.xml'", "phpunit --log-junit 'p q.xml'", ("p q.xml",)),
    ("rspec", "bundle exec rspec", f"bundle exec rspec --format progress {RSPEC}", REPORT),
    ("rspec", "rspec -fd spec", f"rspec -fd spec {RSPEC}", REPORT),
    ("rspec", "rspec -f RspecJunitFormatter -o r.xml", "rspec -f RspecJunitFormatter -o r.xml", ("r.xml",)),
    ("ctest", "ctest -V", "ctest -V --output-junit /tmp/repair-junit-1.xml", REPORT),
    ("ctest", "cd b && ctest --output-junit ../c.xml", "cd b && ctest --output-junit ../c.xml", ("**/c.xml",)),
    ("ctest", "ctest --output-junit /c.xml", "ctest --output-junit /c.xml", ("/c.xml",)),
    # go
    ("go", "go test ./... -run 'A|B'", f"{SUM} -- ./... -run 'A|B'", REPORT),
    ("go", "GOFLAGS=-mod=mod go test -v ./a 2>&1", f"GOFLAGS=-mod=mod {SUM} -- -v ./a 2>&1", REPORT),
    ("go", "cd a && go test", f"cd a && {SUM} -- .", REPORT),
    ("go", "gotestsum --format dots -- ./...", f"{SUM} --format dots -- ./...", REPORT),
    ("go", "gotestsum --junitfile g.xml ./...", "gotestsum --junitfile g.xml ./...", ("g.xml",)),
    # unittest
    ("unittest", "python -m xmlrunner -o out", "python -m xmlrunner -o out", ("out/*.xml",)),
    ("unittest", "python -m xmlrunner --output-file o.xml", "python -m xmlrunner --output-file o.xml", ("o.xml",)),
    # a path that the command itself names, and files that are many anyway, may be written in a loop
    (
        "phpunit",
        "for d in *; do cd $d; phpunit --log-junit p.xml; cd -; done",
        "for d in *; do cd $d; phpunit --log-junit p.xml; cd -; done",
        ("**/p.xml",),
    ),
    # write their files anyway
    ("gradle", "for d in *; do gradle test; done", "for d in *; do gradle test; done", FRAMEWORKS["gradle"].files),
    ("maven", "make test", "make test", FRAMEWORKS["maven"].files),
    ("gradle", "./gradlew test", "./gradlew test", FRAMEWORKS["gradle"].files),
]


@pytest.mark.parametrize(
    ("framework", "text", "planned", "junit"), TEXTS, ids=[f"{row[0]}: {row[1]!r}" for row in TEXTS]
)
def test_a_command_gets_the_option_that_makes_it_write_junit(
    framework: str, text: str, planned: str, junit: tuple[str, ...]
) -> None:
    made = plan(framework, text, ())
    assert (made.test_cmd, made.junit) == (planned, junit)


@pytest.mark.parametrize(
    ("framework", "command", "planned"),
    [
        ("jest", ("npx", "jest", "-t", "a && b"), ("npx", "jest", "-t", "a && b", *BOTH.split())),
        ("phpunit", ("phpunit", "it's"), ("phpunit", "it's", "--log-junit", "/tmp/repair-junit-1.xml")),
        ("go", ("go", "test", "./..."), (*SUM.split(), "--", "./...")),
        ("mocha", ("mocha", "--", "a b"), ("mocha", *XUNIT.split(), "--", "a b")),
    ],
)
def test_a_list_of_arguments_stays_one(framework: str, command: tuple[str, ...], planned: tuple[str, ...]) -> None:
    assert plan(framework, command, ()).test_cmd == planned


def test_jest_is_told_the_rest_by_its_environment() -> None:
    text, words = plan("jest", "jest", ()), plan("jest", ("jest",), ())
    assert text.env["JEST_JUNIT_TITLE"] == "{classname} {title}"
    assert {**text.env, **words.env} == words.env
    assert words.env["JEST_JUNIT_OUTPUT_FILE"] == "/tmp/repair-junit-1.xml"
    assert not plan("jest", "JEST_JUNIT_OUTPUT_FILE=a.xml jest", ()).env


@pytest.mark.parametrize("framework", [*FRAMEWORKS, "trial"])
@pytest.mark.parametrize("command", ["make test", ("jest", "x")])
def test_what_the_task_says_of_its_reports_is_kept(framework: str, command: str | tuple[str, ...]) -> None:
    made = plan(framework, command, ("out/*.xml",))
    assert (made.test_cmd, made.junit, dict(made.env)) == (command, ("out/*.xml",), {})


@pytest.mark.parametrize(
    ("framework", "command", "what"),
    [
        ("jset", "npx jest", "there is no framework jset)"),
        ("a\x1bb", "x", r"there is no framework a\x1bb)"),
        ("unknown", "make check", "nobody can tell what `make check` runs)"),
        ("unknown", ("sh", "-c", "a\x1b\n b"), r"nobody can tell what `sh -c 'a\x1b b'` runs)"),
        ("unknown", sequence(["cd x", "make check"]), "nobody can tell what `cd x; make check` runs)"),
        ("unknown", "x" * 61, f"nobody can tell what `{'x' * 59}…` runs)"),
        ("cargo", "cargo test", "cargo test writes none"),
        ("jest", "npm test", "test_cmd runs no jest that can be seen"),
        ("jest", ("bash", "-c", "npx jest"), "test_cmd runs no jest that can be seen"),
        ("phpunit", 'phpunit --log-junit "$OUT/x.xml"', "the path of its report is $OUT/x.xml"),
        ("django", "tests/runtests.py --settings=$S", "the settings module is $S"),
    ],
)
def test_a_runner_without_junit_is_refused_before_it_runs(
    framework: str, command: str | tuple[str, ...], what: str
) -> None:
    with pytest.raises(NoJUnit, match=re.escape(f"no JUnit from this runner ({what}")) as raised:
        plan(framework, command, ())
    assert "junit in task.json" in raised.value.next


def test_every_template_spells_a_test_by_what_a_report_says_of_it() -> None:
    assert [name for name, known in FRAMEWORKS.items() if name != known.name or not known.templates] == ["pytest"]
    for template in (template for known in FRAMEWORKS.values() for template in known.templates):
        assert set(re.findall(r"\{.*?\}", template)) <= {"{suite}", "{file}", "{classname}", "{class}", "{name}"}
        assert "{name}" in template


# ---- shells

RUNNER = f"""#!{sys.executable}
import json, os, sys
if sys.argv[-3:] == ["-m", "xmlrunner", "--help"]:
    sys.exit(int(os.environ.get("NO_XMLRUNNER", "0")))
names = ("FOO", "PYTHONPATH", "JEST_JUNIT_OUTPUT_FILE")
said = {{name: os.environ[name] for name in names if name in os.environ}}
with open(os.environ["SAID"], "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], said]) + "\\n")
sys.exit(int(os.environ.get("STATUS", "0")))
"""
PROGRAMS = ("npx", "jest", "mocha", "python", "python3", "cargo", "gotestsum", "rspec", "runtests.py", "coverage")


def run(text: str, folder: Path, program: str = "bash", **env: str) -> tuple[int, list[list[object]], str]:
    """Run a text with programs that write down how they were called: (status, calls, standard error)."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in PROGRAMS:
        (folder / "bin" / name).write_text(RUNNER)
        (folder / "bin" / name).chmod(0o755)
    said = folder / "said"
    said.write_text("")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FOO")}
    ended = subprocess.run(
        [program, "-c", text],
        cwd=folder,
        env={**clean, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "SAID": str(said), **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return ended.returncode, [json.loads(line) for line in said.read_text().splitlines()], ended.stderr


def text_of(framework: str, command: str | tuple[str, ...], folder: Path) -> str:
    """The planned text, with its files below `folder` instead of /tmp."""
    made = plan(framework, command, ()).test_cmd
    assert isinstance(made, str)
    return made.replace("/tmp/", f"{folder}/")


def test_quotes_survive(tmp_path: Path) -> None:
    text = text_of("jest", 'FOO="a  \'b" timeout 60 npx jest -t \'a && "b\' "x $((1+1))" \\* | cat', tmp_path)
    status, calls, _ = run(text, tmp_path)
    env = {"FOO": "a  'b", "JEST_JUNIT_OUTPUT_FILE": f"{tmp_path}/repair-junit-1.xml"}
    assert (status, calls) == (0, [["npx", ["jest", "-t", 'a && "b', "x 2", "*", *BOTH.split()], env]])


@pytest.mark.parametrize("program", ["bash", "sh"])
@pytest.mark.parametrize(
    "text",
    [
        "python -m unittest -v 'a b' > out 2>&1 # all",
        "cd . && python -m unittest -v 'a b' && true",
        "( exec python -m unittest -v 'a b' )",
        "timeout 60 python -m unittest -v 'a b' <<E\npython -m unittest\nE",
        "coverage run -m unittest -v 'a b'",
    ],
)
def test_unittest_runs_through_xmlrunner_or_not_at_all(text: str, program: str, tmp_path: Path) -> None:
    planned = text_of("unittest", text, tmp_path)
    status, calls, _ = run(planned, tmp_path, program, STATUS="1")
    verb = ["run"] if "coverage" in text else []
    assert (status, len(calls)) == (1, 1)
    assert calls[0][1] == [*verb, "-m", "xmlrunner", "-o", f"{tmp_path}/repair-junit", "-v", "a b"]
    status, calls, errors = run(planned, tmp_path, program, NO_XMLRUNNER="1")
    assert (status, calls, errors.strip()) == (3, [], NO_XMLRUNNER)


def test_a_list_that_needs_a_shell_is_quoted(tmp_path: Path) -> None:
    _, calls, _ = run(text_of("unittest", ("python", "-m", "unittest", "-k", "a b; c"), tmp_path), tmp_path)
    assert calls == [["python", ["-m", "xmlrunner", "-o", f"{tmp_path}/repair-junit", "-k", "a b; c"], {}]]


@pytest.mark.parametrize("program", ["bash", "sh"])
def test_nextest_gets_a_configuration(program: str, tmp_path: Path) -> None:
    text = text_of("nextest", "cargo nextest run -p a && cargo nextest run -p 'b c' -- --skip x", tmp_path)
    _, calls, _ = run(text, tmp_path, program)
    option, file = "--tool-config-file", f"{tmp_path}/repair-nextest-"
    assert [call[1] for call in calls] == [
        ["nextest", "run", "-p", "a", option, f"repair:{file}1.toml"],
        ["nextest", "run", "-p", "b c", option, f"repair:{file}2.toml", "--", "--skip", "x"],
    ]
    written = (tmp_path / "repair-nextest-2.toml").read_text().splitlines()
    assert written[-2:] == ["[profile.default.junit]", f'path = "{tmp_path}/repair-junit-2.xml"']
    # the repo's own configuration may send the report elsewhere: no name is due
    reports = ("/tmp/repair-junit-*.xml", "target/nextest/*/*.xml")
    assert plan("nextest", "cargo nextest run", ()).junit == reports


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("./bin/runtests.py --settings=cfg.pg a", "cfg.pg"),
        ("DJANGO_SETTINGS_MODULE=cfg FOO=x bin/tests/runtests.py a", "cfg"),
        ("PYTHONPATH=src python tests/runtests.py a", "test_sqlite"),
    ],
)
def test_django_s_own_tests_get_settings_on_top_of_theirs(text: str, base: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tests").symlink_to(".")
    planned = text_of("django", text, tmp_path)
    status, calls, _ = run(planned, tmp_path, STATUS="2")
    ((_, arguments, env),) = calls
    assert isinstance(arguments, list)
    assert isinstance(env, dict)
    assert (status, arguments[-1]) == (2, "--settings=repair_settings_1")
    folder = tmp_path / "repair-django"
    assert env["PYTHONPATH"] == (f"{folder}:src" if "src" in text else str(folder))
    written = (folder / "repair_settings_1.py").read_text()
    assert written == f'from {base} import *\nTEST_RUNNER = "repair_django.XMLTestRunner"\n'
    assert f'TEST_OUTPUT_DIR = "{tmp_path}/repair-junit"' in (folder / "repair_django.py").read_text()
    status, calls, errors = run(planned, tmp_path, NO_XMLRUNNER="1")
    assert (status, calls, errors.strip()) == (3, [], NO_XMLRUNNER)


def test_manage_py_gets_a_runner(tmp_path: Path) -> None:
    _, calls, _ = run(text_of("django", "python manage.py test app --parallel 4", tmp_path), tmp_path)
    runner = ["--testrunner=repair_django.XMLTestRunner", f"--pythonpath={tmp_path}/repair-django"]
    assert [call[1] for call in calls] == [["manage.py", "test", "app", "--parallel", "4", "--parallel=1", *runner]]


@pytest.mark.parametrize(
    ("framework", "text"),
    [
        ("unittest", "python -m unittest t.T.test_a; python -m unittest t.T.test_b"),
        ("django", "python manage.py test t.T.test_a; python manage.py test t.T.test_b"),
    ],
)
def test_each_xmlrunner_has_its_folder(framework: str, text: str, tmp_path: Path) -> None:
    assert plan(framework, text, ()).junit == (*FOLDER, "/tmp/repair-junit/2/*.xml")
    _, calls, _ = run(text_of(framework, text, tmp_path), tmp_path)
    modules = [file.read_text() for file in sorted(tmp_path.glob("repair-django/*.py"))]
    said = modules or [json.dumps(call) for call in calls]
    assert [re.findall(r"repair-junit[/\d]*", one) for one in said] == [["repair-junit"], ["repair-junit/2"]]
    runners = [re.findall(r"--testrunner=(\w+)", json.dumps(call)) for call in calls]
    assert runners == ([["repair_django"], ["repair_django_2"]] if modules else [[], []])


FRAMES = ("%s", "%s | tee log", "(cd a && %s)", "if %s; then echo; fi", "%s &", "x=1; %s # c", "cat <<E && %s\nb\nE\n")
RUNS = {
    "jest": "npx jest %s",
    "go": "go test %s",
    "unittest": "python -m unittest %s",
    "django": "./manage.py test %s",
    "nextest": "cargo nextest run %s",
    "rspec": "rspec %s",
}


@settings(derandomize=True, deadline=None)
@given(
    st.sampled_from(FRAMES), st.sampled_from(sorted(RUNS)), st.sampled_from(("", "'a && b'", '"x;y" >o 2>&1', "$(z)"))
)
def test_a_planned_text_is_one_that_bash_can_read(frame: str, framework: str, arguments: str) -> None:
    text = plan(framework, frame % (RUNS[framework] % arguments), ()).test_cmd
    assert isinstance(text, str)
    ended = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# ---- several commands, and our arguments


SHELLY = st.text(st.sampled_from("ab1 \t\n'\"\\$`(){}<>|&;#=-*"), max_size=60) | st.text(max_size=30)


@settings(derandomize=True, deadline=None)
@given(SHELLY)
def test_what_is_added_is_all_that_changes(text: str) -> None:
    assert with_arguments(text).replace(' "$@"', "", 1) == text or '"$@"' in text


ARGUMENTS: list[tuple[str, str]] = [
    ("pytest", 'pytest "$@"'),
    ("pytest -x > log 2>&1", 'pytest -x "$@" > log 2>&1'),
    ("pytest | tee log", 'pytest "$@" | tee log'),
    ("pytest; exit $?", 'pytest "$@"; exit $?'),
    ("pytest -k 'a > b' # all", "pytest -k 'a > b' \"$@\" # all"),
    ("pip install pytest && pytest -q\necho done", 'pip install pytest && pytest -q "$@"\necho done'),
    ("pytest a \\\n  b\n", 'pytest a \\\n  b "$@"\n'),
    ("pytest a && pytest b", 'pytest a "$@" && pytest b'),
    ("(cd x && pytest)", '(cd x && pytest "$@")'),
    ("pytest a $@", 'pytest a $@ "$@"'),
    ('pytest a "$@" -x', 'pytest a "$@" -x'),
    ("make test", "make test"),
    ('bash -c "pytest"', 'bash -c "pytest"'),
    ("cat <<E\npytest\nE\npytest", 'cat <<E\npytest\nE\npytest "$@"'),
]


@pytest.mark.parametrize(("text", "planned"), ARGUMENTS)
def test_our_arguments_go_to_the_first_pytest(text: str, planned: str) -> None:
    assert with_arguments(text) == planned


def shell(text: str, folder: Path, *arguments: str, program: str = "bash") -> subprocess.CompletedProcess[str]:
    (folder / "text").write_text(text)
    return subprocess.run(
        [program, "text", *arguments], cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("program", ["bash", "sh"])
@pytest.mark.parametrize(
    ("commands", "status", "printed"),
    [
        (["echo a", "echo b"], 0, ["a", "b"]),
        (["echo a", "(exit 3)", "echo b", "(exit 4)"], 3, ["a", "b"]),
        (["false", "true"], 1, []),
        (["cd sub", 'basename "$PWD"'], 0, ["sub"]),
        (["export WORD=here", "X=there", 'echo "$WORD $X"'], 0, ["here there"]),
        (["set -e", "false", "echo on"], 1, ["on"]),
        (["echo a # b", "echo c"], 0, ["a", "c"]),
        (["# nothing", "echo a", "  "], 0, ["a"]),
        (["cat <<E\na\nE", "echo b"], 0, ["a", "b"]),
        (["echo a \\", "echo b"], 0, ["a", "b"]),
        (["echo a;", "echo b &", "wait"], 0, ["a", "b"]),
        (["(exit 2) || true", "false && echo never"], 1, []),
        (["(exit 7)"], 7, []),
        (["# nothing", "# at all"], 0, []),
        (["echo 'it'\"'\"'s' \"$1\"", "true"], 0, ["it's first"]),
    ],
)
def test_a_sequence_runs_all_and_ends_with_the_first_failure(
    commands: list[str], status: int, printed: list[str], program: str, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    ended = shell(sequence(commands), tmp_path, "first", program=program)
    assert (ended.returncode, ended.stdout.split("\n")[:-1]) == (status, printed)


def test_one_command_is_a_sequence_as_it_is() -> None:
    assert sequence(["pytest -q # all \\"]) == "pytest -q # all \\"
    assert sequence([]) == ""


def test_the_runners_in_a_sequence_are_still_seen() -> None:
    text = sequence(["cd x", "pytest a # fast", "pytest b"])
    assert recognise(text) == "pytest"
    assert 'pytest a "$@" # fast' in with_arguments(text)
