"""What runs tests: programs, scripts and modules, behind whatever runs them."""

from __future__ import annotations

import pytest

from repair.outcomes.frameworks.commands import calls
from repair.outcomes.frameworks.plan import recognise

RECOGNISED: dict[str, str | None] = {
    # pytest
    "pytest": "pytest",
    "py.test -q tests": "pytest",
    "./venv/bin/pytest tests": "pytest",
    "python -m pytest -rA": "pytest",
    "python3.11 -X dev -W error -m pytest": "pytest",
    "/opt/conda/bin/python -Bum pytest x": "pytest",
    "python /usr/bin/pytest x": "pytest",
    "coverage run --source ledger -m pytest": "pytest",
    "cat <<< here\npytest": "pytest",
    "python -m coverage run -m pytest": "pytest",
    "poetry run pytest": "pytest",
    "uv run --with hypothesis python -m pytest": "pytest",
    "pipenv run pytest": "pytest",
    "hatch run pytest": "pytest",
    "conda run -n testbed --no-capture-output pytest": "pytest",
    "env -u HOME A=b pytest": "pytest",
    "sudo -u ann -E pytest": "pytest",
    "nice -n 5 timeout -k 5 60s pytest": "pytest",
    "xvfb-run -a pytest": "pytest",
    "time pytest": "pytest",
    "time -p pytest": "pytest",
    "exec pytest": "pytest",
    "source bin/activate && pytest tests | tee log": "pytest",
    "(cd sub; pytest)": "pytest",
    "{ pytest; }": "pytest",
    "if ! pytest; then exit 1; fi": "pytest",
    "for d in a b; do pytest $d; done": "pytest",
    "pytest &": "pytest",
    ">log pytest": "pytest",
    "pyte\\\nst -x": "pytest",
    "function run { pytest; }": "pytest",
    "echo ${x#(}; pytest": "pytest",
    "((x = 1 << 2))\npytest": "pytest",
    "ls | xargs -0 -n 1 env A=b pytest": "pytest",
    "find . -name t -type d -exec pytest {} +": "pytest",
    "parallel -j 2 pytest ::: a b": "pytest",
    "'py'\"test\"": "pytest",
    # other runners
    "python -m unittest discover -s tests": "unittest",
    "python -m xmlrunner -o out": "unittest",
    "coverage run -m unittest": "unittest",
    "python manage.py test app": "django",
    "./manage.py test": "django",
    "python -m django test": "django",
    "django-admin test --settings=app.settings": "django",
    "./tests/runtests.py admin_views": "django",
    "cd tests && ./runtests.py --settings=test_sqlite": "django",
    "npx jest --ci": "jest",
    "npx --yes -p jest@29 jest": "jest",
    "yarn jest": "jest",
    "yarn run jest": "jest",
    "pnpm jest": "jest",
    "pnpm --filter web exec jest": "jest",
    "bunx jest": "jest",
    "pnpm -r exec jest": "jest",
    "npx lerna exec --concurrency 1 -- jest": "jest",
    "nx exec -- jest": "jest",
    "node_modules/.bin/jest": "jest",
    "node --experimental-vm-modules node_modules/jest/bin/jest.js": "jest",
    "cross-env NODE_ENV=test jest": "jest",
    "FOO=\"a b\" timeout 60 npx jest -t 'a && b' | tee log": "jest",
    "npx vitest run": "vitest",
    "node node_modules/vitest/vitest.mjs run": "vitest",
    "npx nyc mocha": "mocha",
    "node_modules/mocha/bin/_mocha test": "mocha",
    "php -d memory_limit=-1 vendor/bin/phpunit": "phpunit",
    "./vendor/bin/phpunit tests": "phpunit",
    "php phpunit.phar": "phpunit",
    "bundle exec rspec": "rspec",
    "bin/rspec spec": "rspec",
    "cd build && ctest -V": "ctest",
    "go test ./...": "go",
    "gotestsum -- ./...": "go",
    "cargo nextest run": "nextest",
    "cargo +1.80 nextest run --workspace": "nextest",
    "cargo test --workspace": "cargo",
    "./mvnw -q test": "maven",
    "mvn clean verify": "maven",
    "./gradlew :core:test": "gradle",
    "gradle testDebugUnitTest": "gradle",
    "npm ci && npx jest": "jest",
    "mvn install -DskipTests && mvn test": "maven",
    # nobody can tell
    "": None,
    "make test": None,
    "npm test": None,
    "yarn test": None,
    "tox -e py311": None,
    "./run.sh": None,
    'bash -c "pytest"': None,
    "eval pytest": None,
    "npx -c 'jest --ci'": None,
    "npx lerna run test": None,
    "turbo run test": None,
    "find . -name pytest": None,
    "find . -exec": None,
    "ls | xargs": None,
    # no run of tests
    "echo pytest": None,
    "coverage report pytest": None,
    "coverage run -m ledger pytest": None,
    "django-admin.py migrate": None,
    "pip install pytest": None,
    "python -m pip install pytest": None,
    "python -c 'import pytest; pytest.main()'": None,
    "python setup.py pytest": None,
    "which jest": None,
    "yarn add jest": None,
    "cat <<EOF\npytest\nEOF\n": None,
    "cat <<-'E O F'\n\tpytest\n\tE O F\necho ok": None,
    "# pytest": None,
    "true # && pytest": None,
    "echo 'a && pytest'": None,
    'echo "a\npytest\n"': None,
    "echo \\; pytest": None,
    "echo $(pytest)": None,
    "echo `pytest`": None,
    "echo ${x:-; pytest}": None,
    "a=(x pytest y)": None,
    "echo <(pytest)": None,
    "case $x in\n  pytest) echo ;;\nesac": None,
    "case $x in\n  pytest | unit) echo ;;\nesac": None,
    "case $x in (pytest) echo ;; esac": None,
    "((pytest))": None,
    "[[ $x && (pytest) ]]": None,
    "pytest() { true; }": None,
    "echo > pytest": None,
    "pytest --version": None,
    "go build ./... && go vet": None,
    "go test -c": None,
    "cargo build": None,
    "mvn install -DskipTests": None,
    "mvn compile": None,
    "./gradlew build_docs": None,
    "gradle build -x build": None,
    "python manage.py migrate": None,
    "python runtests.py -v": None,
}


@pytest.mark.parametrize(("text", "framework"), RECOGNISED.items(), ids=[repr(text) for text in RECOGNISED])
def test_a_command_line_is_recognised_by_the_program_that_it_runs(text: str, framework: str | None) -> None:
    assert [call.framework for call in calls(text)] == ([framework] if framework else [])


TOLD: list[tuple[str, str, str, int]] = [
    ("npx jest a", "npx", "\0a", 10),
    ("A=b C= npx jest -t 'a b' D=e", "npx", "\0A=b\0C=\0-t\0a b\0D=e", 28),
    ("env A=b jest >log", "env", "\0A=b", 12),
    ("jest a -- b", "jest", "\0a\0--\0b", 6),
    ("jest '--' b", "jest", "\0--\0b", 11),
    ("cargo +1.80 nextest run -p a -- b", "cargo", "\0-p\0a\0--\0b", 28),
    ("poetry run -- pytest a", "poetry", "\0a", 22),
    ("coverage run --parallel tests/runtests.py a", "coverage", "\0a", 43),
]


@pytest.mark.parametrize(("text", "program", "said", "place"), TOLD)
def test_what_a_call_is_told(text: str, program: str, said: str, place: int) -> None:
    (call,) = calls(text)
    assert (call.program.value, call.said, call.place) == (program, said, place)


REPEATED: list[tuple[str, bool]] = [
    ("jest", False),
    ("npx -w a jest -w b", False),
    ("npx -p a -p b jest", False),
    ("npx jest --workspaces -ws", False),
    ("npx -w a --workspace b jest", True),
    ("npx --workspaces=true jest", True),
    ("pnpm -C a exec jest -r", False),
    ("pnpm -F a jest", True),
    ("pnpm exec --filter-prod=a jest", True),
    ("node -r x node_modules/.bin/jest", False),
    ("timeout 9 xargs jest", True),
    ("xargs timeout 9 jest", True),
    ("while x; do jest; done", True),
]


@pytest.mark.parametrize(("text", "repeats"), REPEATED)
def test_what_may_run_more_than_once(text: str, repeats: bool) -> None:
    assert [call.repeats for call in calls(text)] == [repeats]


@pytest.mark.parametrize(
    ("command", "framework"),
    [
        (("npx", "jest", "-t", "a && mocha"), "jest"),
        (("python3", "-m", "pytest"), "pytest"),
        ("npx jest a; npx jest b", "jest"),
        ("cd x && npx jest --ci; npx mocha", None),  # one framework would leave the other's tests unseen
        (("echo", "x; pytest"), None),
        (("bash", "-c", "pytest"), None),
    ],
)
def test_a_command_line_is_recognised(command: str | tuple[str, ...], framework: str | None) -> None:
    assert recognise(command) == framework
