"""Runners that may run more than once at one place of a command: their last report would be the only one."""

from __future__ import annotations

import re

import pytest

from repair.errors import NoJUnit
from repair.outcomes.frameworks.plan import plan, sequence

AGAIN: list[tuple[str, str]] = [
    ("jest", "for d in a b; do (cd $d && npx jest); done"),
    ("jest", "cat dirs | while read d\ndo\n  npx jest $d\ndone"),
    ("jest", "until npx jest; do sleep 1; done"),
    ("jest", "jest a; for d in b; do jest $d; done"),
    ("jest", "for d in *; do jest --reporters=jest-junit; done"),
    ("mocha", 'run() { npx mocha "$1"; }; run a; run b'),
    ("mocha", "function run { npx mocha; }; run; run"),
    ("mocha", "run() (cd $1 && npx mocha); run a; run b"),
    ("go", "for d in a b; do cd $d; go test ./...; cd ..; done"),
    ("go", "ls | xargs -n 1 go test"),
    ("phpunit", "find . -name phpunit.xml -execdir vendor/bin/phpunit \\;"),
    ("rspec", "ls spec | parallel -j 2 bundle exec rspec"),
    ("jest", "pnpm -r exec jest"),
    ("jest", "pnpm exec --recursive jest"),
    ("jest", "pnpm --filter web exec jest"),
    ("jest", "pnpm --filter=./packages/* exec jest"),
    ("vitest", "npx --workspaces vitest run"),
    ("vitest", "npx -ws vitest run"),
    ("vitest", "npx -w a --workspace=b vitest run"),
    ("jest", "npx lerna exec --scope a -- jest"),
    ("jest", "npx nx exec -- jest"),
    ("jest", "turbo exec jest"),
    ("unittest", "for d in a b; do (cd $d && python -m unittest); done"),  # one class in one second is one file
    ("django", "for d in a b; do python manage.py test $d; done"),
    ("nextest", "for d in a b; do cargo nextest run -p $d; done"),
]


@pytest.mark.parametrize(("framework", "text"), AGAIN, ids=[repr(text) for _, text in AGAIN])
def test_a_report_that_a_later_run_would_write_over_is_refused(framework: str, text: str) -> None:
    what = f"({framework} may run more than once there, and the last report would be the only one)"
    with pytest.raises(NoJUnit, match=re.escape(what)) as raised:
        plan(framework, text, ())
    assert "names of your own" in raised.value.next
    assert plan(framework, text, ("out/*.xml",)).test_cmd == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("pytest -m 'not slow'; pytest -m slow", "pytest 2 times"),
        (sequence(["pytest a", "python -m pytest b", "coverage run -m pytest c"]), "pytest 3 times"),
        ('pytest a "$@" || pytest b', "pytest 2 times"),
        ("for d in a b; do pytest $d; done", "pytest, which may run more than once there"),
        ('run() { pytest "$@"; }; run a; run b', "pytest, which may run more than once there"),
        ("ls | xargs pytest", "pytest, which may run more than once there"),
    ],
)
@pytest.mark.parametrize("junit", [(), ("out.xml",)], ids=["", "junit"])
def test_one_pytest_can_be_observed(text: str, what: str, junit: tuple[str, ...]) -> None:
    with pytest.raises(NoJUnit, match=f"^test_cmd runs {what}, and one run can be observed") as raised:
        plan("pytest", text, junit)
    assert raised.value.next == "put them into one, or let test_cmd be one of them"


@pytest.mark.parametrize(
    "text",
    [
        "pytest -x",
        "pip install pytest; pytest",
        "set_up() { make; }\nset_up\n{ pytest; }",
        "for d in a; do x; done; pytest",
    ],
)
def test_a_single_pytest_is_left_as_it_is(text: str) -> None:
    assert plan("pytest", text, ()).test_cmd == text


COMMANDS = {"jest": "npx jest", "mocha": "npx mocha", "go": "go test ./...", "ctest": "ctest"}


@pytest.mark.parametrize(("framework", "other"), [("jest", "mocha"), ("mocha", "jest"), ("go", "ctest")])
def test_a_second_runner_beside_would_not_be_observed(framework: str, other: str) -> None:
    with pytest.raises(NoJUnit, match=f"test_cmd runs {other} beside {framework}"):
        plan(framework, f"{COMMANDS[framework]}; {COMMANDS[other]}", ())
    assert plan(framework, f"{COMMANDS[framework]}; {COMMANDS[other]}", ("*.xml",)).junit == ("*.xml",)
