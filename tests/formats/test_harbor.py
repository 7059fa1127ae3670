"""Harbor task directories: an adapter's row, and what Harbor itself says over it."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repair.formats.base import RowError, Wants
from repair.formats.directories.harbor import FORMAT, verifier
from repair.panel import patches, read
from tests.formats import rows

FIX = "diff --git a/sums.py b/sums.py\n--- a/sums.py\n+++ b/sums.py\n@@ -1 +1 @@\n-a - b\n+a + b\n"
TESTS = "diff --git a/tests/t.py b/tests/t.py\n--- a/tests/t.py\n+++ b/tests/t.py\n@@ -1 +1 @@\n-1\n+it's 'TestAll'\n"
TOTAL, ONE, TWO, THREE = (f"tests/t.py::test_{name}" for name in ("total", "one", "two[a b]", "three"))
COLUMNS = {
    "patch": FIX,
    "test_patch": TESTS,
    "base_commit": "0f1e2d3c",
    "FAIL_TO_PASS": json.dumps([TOTAL]),
    "PASS_TO_PASS": json.dumps([ONE, TWO, THREE]),
}
SETTINGS = """\
schema_version = "1.4"

[metadata]
author_name = "Acme"  # kept

[verifier]
timeout_sec = 3000.0

[agent]
timeout_sec = 3000.0

[environment]
docker_image = "acme/ledger:7"
cpus = 1
memory_mb = 4096
"""
LEGACY = 'version = "1.0"\n\n[environment]\nbuild_timeout_sec = 600.0\ncpus = 2\nmemory = "4G"\n'
# What an adapter of SWE-bench writes, in short: the shell, the hidden tests, the recorded command, the grader.
SCRIPT = f"""\
#!/bin/bash
set -uo pipefail -x
cd /testbed
source /opt/miniconda3/bin/activate
conda activate testbed
# the install of the repo
python -m pip install -e .
git checkout 0f1e2d3c tests/t.py
echo {shlex.quote(TESTS)} > /tmp/test_patch.diff
git apply /tmp/test_patch.diff
LOG_FILE=$(mktemp)
export LOG_FILE
exec 3>&1 4>&2
exec > >(tee "$LOG_FILE") 2>&1
set +x
pytest -rA -p no:cacheprovider tests/t.py || true
exec 1>&3 2>&4
git checkout 0f1e2d3c tests/t.py
cat > parser.py <<EOF
pytest = "tests/other.py"
EOF
uv run parser.py | tee -a "$LOG_FILE"
"""
PYTEST = 'pytest -rA -p no:cacheprovider tests/t.py "$@"'
NO_WISHES = Wants()

NAMES = {
    "settings": "task.toml",
    "instruction": "instruction.md",
    "dockerfile": "environment/Dockerfile",
    "config": "tests/config.json",
    "script": "tests/test.sh",
    "solve": "solution/solve.sh",
}


def a_task(root: Path, name: str = "acme__ledger-7", **files: str | bytes | None) -> Path:
    """A task directory; keyword arguments are its files, None leaves one out."""
    standard: dict[str, str | bytes | None] = {
        "settings": SETTINGS,
        "instruction": "Mend the totals.\n",
        "dockerfile": "FROM acme/base\n",
        "config": a_config(),
        "script": SCRIPT,
        "solve": f"cat <<EOF | git apply\n{FIX}EOF\n",
    }
    for key, content in (standard | files).items():
        if content is not None:
            path = root / name / NAMES[key]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root / name


def a_row(**changes: Any) -> rows.Row:
    return rows.classic(**{**COLUMNS, **changes})


def a_config(**changes: Any) -> str:
    """The adapter's row, changed; `...` leaves a column out."""
    return json.dumps(a_row(**changes), indent=2)


# ---- drafts


def test_a_task_as_an_adapter_writes_it(tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path), NO_WISHES)
    assert (draft.instance_id, draft.image, draft.base_commit) == ("acme__ledger-7", "acme/ledger:7", "0f1e2d3c")
    assert (draft.f2p, draft.p2p) == ((TOTAL,), (ONE, TWO, THREE))
    assert (draft.oracle_patch, draft.tests_patch, draft.entry_patch) == (FIX.encode(), TESTS.encode(), None)
    assert draft.instruction == "Mend the totals.\n"
    assert draft.runtime == {
        "workdir": "/testbed",
        "framework": "pytest",
        "select": "files",
        "test_cmd": "set_up() {\ncd /testbed &&\nsource /opt/miniconda3/bin/activate &&\nconda activate testbed\n}\n"
        f"set_up && {PYTEST}",
        "cpus": 1,
        "memory": 4096 << 20,
        "timeout": 3000.0,
    }
    assert draft.notes == ("its eval script installs before the tests: left out, no network there",)


def test_the_directory_names_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = a_task(tmp_path, "ledger-seven")
    assert FORMAT.draft(task, NO_WISHES).instance_id == "ledger-seven"
    monkeypatch.chdir(task)
    assert FORMAT.draft(Path(), NO_WISHES).instance_id == "ledger-seven"


CHECKOUT = "git checkout 1a2b3c4d -- tests/t.py"
SMITH = rows.smith(patch=FIX, FAIL_TO_PASS=[TOTAL], PASS_TO_PASS=[ONE])
PRO = rows.pro(
    test_patch=TESTS,
    fail_to_pass=repr([TOTAL]),
    pass_to_pass=repr([ONE, TWO]),
    before_repo_set_cmd=f"git checkout 0f1e2d3c\n{CHECKOUT}",
)
MULTI = rows.multi(lang="java")
FEW = ("repo", "instance_id", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS")
ADAPTERS: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "SWE-bench, lists as lists": (a_row(FAIL_TO_PASS=[TOTAL], PASS_TO_PASS=[]), (TOTAL,), ()),
    "SWE-smith": (SMITH, (TOTAL,), (ONE,)),
    "SWE-bench Pro": (PRO, (TOTAL,), (ONE, TWO)),
    "Multi-SWE-bench": (MULTI, rows.F2P, rows.P2P),
    "SWE-bench without the columns that tell": ({key: a_row()[key] for key in FEW}, (TOTAL,), (ONE, TWO, THREE)),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_row_of_each_adapter(name: str, tmp_path: Path) -> None:
    row, f2p, p2p = ADAPTERS[name]
    draft = FORMAT.draft(a_task(tmp_path, config=json.dumps(row), script="bash /tests/run_script.sh\n"), NO_WISHES)
    assert (draft.f2p, draft.p2p) == (f2p, p2p)
    assert draft.image == "acme/ledger:7"


@pytest.mark.parametrize(
    ("script", "then"),
    [
        pytest.param("cd /app\npython -m pytest tests/t.py | tee log\n", "&& cd /app && python -m pytest", id="a line"),
        pytest.param("cd /app\n. ./env.sh\npytest tests/t.py\n", "|| exit\nset_up() {", id="lines"),
    ],
)
def test_the_hidden_tests_of_pro_enter_before_the_script(script: str, then: str, tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, config=json.dumps(PRO), script=script), NO_WISHES)
    assert draft.runtime["test_cmd"].startswith(f"{CHECKOUT} {then}")
    assert draft.tests_patch is None


def test_of_pro_without_a_checkout_the_tests_patch_enters(tmp_path: Path) -> None:
    config = json.dumps(PRO | {"before_repo_set_cmd": None})
    draft = FORMAT.draft(a_task(tmp_path, config=config, script="cd /app\npytest tests/t.py\n"), NO_WISHES)
    assert draft.tests_patch == TESTS.encode()
    assert "git checkout" not in draft.runtime["test_cmd"]


SAYS_NOTHING: dict[str, dict[str, Any]] = {
    "Multi-SWE-bench": MULTI | {"lang": "c"},
    "SWE-bench Pro": PRO | {"repo_language": "go"},
    "SWE-bench": a_row(FAIL_TO_PASS=["Unit | total"], PASS_TO_PASS=["Unit | zero"]),
    "SWE-smith": SMITH | {"FAIL_TO_PASS": ["TestTotal"], "PASS_TO_PASS": []},
}


@pytest.mark.parametrize("row", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_that_a_row_has_no_command_is_of_no_matter_beside_a_script(row: dict[str, Any], tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, config=json.dumps(row), script="cd /app\nnpx jest\n"), NO_WISHES)
    assert (draft.runtime["framework"], draft.notes) == ("jest", ())


def test_a_row_needs_no_repo_beside_a_script(tmp_path: Path) -> None:
    assert FORMAT.draft(a_task(tmp_path, config=a_config(repo=...)), NO_WISHES).f2p == (TOTAL,)


@pytest.mark.parametrize("column", ["FAIL_TO_FAIL", "test_cmds", "eval_script"])
def test_a_column_of_the_row_without_a_value_is_absent(column: str, tmp_path: Path) -> None:
    assert FORMAT.draft(a_task(tmp_path, config=a_config(**{column: None})), NO_WISHES).f2p == (TOTAL,)


CALLS = {
    "two calls": ("npx jest a.js || true\nnpx jest b.js || true\n", ("jest a.js", "jest b.js")),
    "what stands between": ("npx jest a.js\nrm -rf out\nnpx jest b.js\n", ("jest a.js", "rm -rf out", "jest b.js")),
    "branches": ("if [ -f a ]; then\n  npx jest a.js\nelse\n  npx jest b.js\nfi\n", ("jest a.js",)),
}


SET_UPS = {
    "a variable": (
        "ROOT=/testbed\ncd $ROOT\nexport P=$ROOT/src\n",
        "ROOT=/testbed && cd $ROOT && export P=$ROOT/src && ",
    ),
    "blanks in quotes": ('T="a.py b.py"\n', 'T="a.py b.py" && '),
    "of a command": ("T=$(ls | sort)\n", "T=$(ls | sort) && "),
    "several": ("A=1 B=2; C=3\n", "A=1 B=2; C=3 && "),
    "for one command alone": ('A="1" ./prepare.sh\n', ""),
}


@pytest.mark.parametrize(("script", "before"), SET_UPS.values(), ids=SET_UPS)
def test_variables_on_their_own_line_are_set(script: str, before: str, tmp_path: Path) -> None:
    runtime = FORMAT.draft(a_task(tmp_path, script=f"{script}pytest -rA t.py\n"), NO_WISHES).runtime
    assert runtime["test_cmd"] == f'{before}pytest -rA t.py "$@"'


@pytest.mark.parametrize(("calls", "said"), CALLS.values(), ids=CALLS)
def test_every_call_of_a_runner_is_kept(calls: str, said: tuple[str, ...], tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, script=f"cd /testbed\n{calls}"), NO_WISHES)
    command = draft.runtime["test_cmd"]
    note = "its tests/test.sh runs tests in branches: the first command is taken, the others are left out"
    assert draft.notes == ((note,) if "else" in calls else ())
    assert all(part in command for part in said)
    assert ("b.js" in command) is ("jest b.js" in said)
    assert "else" not in command


def test_a_bug_patch_is_the_entry_and_its_reverse_the_reference(tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, config=json.dumps(SMITH)), NO_WISHES)
    assert draft.entry_patch == FIX.encode()
    assert draft.oracle_patch == patches.reverse(FIX.encode())


BRANCH = "FROM acme/base\nRUN git fetch && git checkout acme__ledger.1a2b3c4d.func_basic__7\n"


@pytest.mark.parametrize(
    ("settings", "dockerfile", "has_entry"),
    [
        pytest.param(LEGACY, BRANCH, False, id="built with the bug's branch: no entry patch"),
        pytest.param(LEGACY, "FROM acme/base\n", True, id="built without it: the entry patch makes the bug"),
        pytest.param(SETTINGS, BRANCH, True, id="another image: the entry patch makes the bug"),
    ],
)
def test_the_bug_is_made_once(settings: str, dockerfile: str, has_entry: bool, tmp_path: Path) -> None:
    task = a_task(tmp_path, settings=settings, dockerfile=dockerfile, config=json.dumps(SMITH))
    draft = FORMAT.draft(task, NO_WISHES)
    assert (draft.entry_patch is not None) is has_entry
    assert ("its Dockerfile checks out the bug: no entry patch" in draft.notes) is not has_entry


# ---- the image


def test_an_image_that_is_built_is_called_by_the_tree(tmp_path: Path) -> None:
    task = a_task(tmp_path, "Acme__Ledger--7.x", settings=LEGACY)
    image = FORMAT.draft(task, NO_WISHES).image
    assert image.startswith("localhost/repair-import/acme__ledger-7-x:")
    assert len(image.rpartition(":")[2]) == 12
    assert FORMAT.draft(task, NO_WISHES).image == image
    (task / "environment" / "Dockerfile").chmod(0o755)
    executable = FORMAT.draft(task, NO_WISHES).image
    (task / "environment" / "extra").write_text("x")
    assert len({image, executable, FORMAT.draft(task, NO_WISHES).image}) == 3


# ---- task.toml

LIMITS: dict[str, tuple[str, str, Any]] = {
    "memory in gigabytes": ('[environment]\nmemory = "4G"', "memory", 4 << 30),
    "memory, a fraction": ('[environment]\nmemory = "0.5g"', "memory", 512 << 20),
    "memory in megabytes": ('[environment]\nmemory = "512M"', "memory", 512 << 20),
    "the newer key before the older": ('[environment]\nmemory = "4G"\nmemory_mb = 64', "memory", 64 << 20),
    "cores": ("[environment]\ncpus = 4", "cpus", 4),
    "time": ("[verifier]\ntimeout_sec = 12.5", "timeout", 12.5),
    "working directory": ('[environment]\nworkdir = "/app"', "workdir", "/app"),
    "user by number": ("[verifier]\nuser = 1000", "user", "1000"),
    "variables, the verifier's last": (
        '[environment.env]\nA = "1"\nB = "1"\n[verifier.env]\nB = "2"',
        "env",
        {"A": "1", "B": "2"},
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str, tmp_path: Path) -> None:
    settings, key, value = LIMITS[name]
    assert FORMAT.draft(a_task(tmp_path, settings=settings), NO_WISHES).runtime[key] == value


def test_what_the_host_would_say_is_left_out(tmp_path: Path) -> None:
    settings = '[environment.env]\nA = "1"\nKEY = "${KEY}"\n[verifier.env]\nMODEL = "x-${M:-y}"\n'
    draft = FORMAT.draft(a_task(tmp_path, settings=settings), NO_WISHES)
    assert draft.runtime["env"] == {"A": "1"}
    assert "task.toml takes KEY, MODEL from the host: left out" in draft.notes


def test_what_is_not_said_is_not_invented(tmp_path: Path) -> None:
    runtime = FORMAT.draft(a_task(tmp_path, settings=""), NO_WISHES).runtime
    assert runtime.keys() == {"workdir", "framework", "select", "test_cmd"}


# ---- the test command

AFTER_CD = "cd /testbed && "
RECORDED = "cd /testbed\nexec > >(tee x) 2>&1\n{}\nexec 1>&3 2>&4\n"
CHECKOUTS = "git checkout b; git checkout HEAD~1; pytest a.py"
COMMANDS: dict[str, tuple[str, str]] = {
    "between SWE-bench's markers": (
        "cd /testbed\n: '>>>>> Start Test Output'\npytest -q a.py\n: '>>>>> End Test Output'\npytest parser.py\n",
        f'{AFTER_CD}pytest -q a.py "$@"',
    ),
    "a runner that is called, without markers": (
        "#!/bin/bash\ncd /testbed\npytest -q a.py > /tmp/log 2>&1 || true\npytest parser.py -rA\n",
        f'{AFTER_CD}pytest -q a.py "$@"',
    ),
    "its output to a pipe": ("cd /testbed\npytest a.py 2>&1 | tee /tmp/log\n", f'{AFTER_CD}pytest a.py "$@"'),
    "its status in a variable": ("cd /testbed\npytest a.py; STATUS=$?\n", f'{AFTER_CD}pytest a.py "$@"'),
    "what it checks out first stays": (RECORDED.format(CHECKOUTS), f'{AFTER_CD}{CHECKOUTS} "$@"'),
    "line ends of another system": ("cd /testbed\r\npytest a.py\r\n", f'{AFTER_CD}pytest a.py "$@"'),
}
OWN = 'source /opt/miniconda3/bin/activate testbed && python -m pytest "$@"'


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_that_the_script_runs(name: str, tmp_path: Path) -> None:
    script, command = COMMANDS[name]
    assert FORMAT.draft(a_task(tmp_path, script=script), NO_WISHES).runtime["test_cmd"] == command


def test_a_command_over_two_lines_is_one(tmp_path: Path) -> None:
    runtime = FORMAT.draft(a_task(tmp_path, script="pytest -q \\\n  a.py\n"), NO_WISHES).runtime
    assert shlex.split(runtime["test_cmd"]) == ["pytest", "-q", "a.py", "$@"]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(None, id="no script"),
        pytest.param("bash /tests/run_script.sh\n", id="a script that calls another"),
        pytest.param("cat > notes <<EOF\npytest a.py\nEOF\n", id="a here-document"),
        pytest.param("echo 'x\npytest a.py\n' > notes\n", id="a text over several lines"),
        pytest.param("# pytest a.py\n", id="a comment"),
        pytest.param(RECORDED.format("./bin/test sums"), id="a runner that nobody knows"),
    ],
)
def test_else_the_row_says_what_runs(script: str | None, tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, script=script), NO_WISHES)
    assert draft.runtime["test_cmd"] == OWN
    note = "no runner is seen in its tests/test.sh: what its row says runs in its place"
    assert draft.notes == (() if script is None else (note,))


def test_a_command_of_the_users_needs_no_runner_in_the_script(tmp_path: Path) -> None:
    draft = FORMAT.draft(a_task(tmp_path, script="bash /tests/run.sh\n"), Wants(test_cmd="pytest"))
    assert draft.notes == ()


def test_another_runner_takes_nothing_of_the_rows_pytest(tmp_path: Path) -> None:
    runtime = FORMAT.draft(a_task(tmp_path, script="cd /app\nnpx jest --ci a.test.js\n"), NO_WISHES).runtime
    assert (runtime["framework"], runtime["test_cmd"]) == ("jest", "cd /app && npx jest --ci a.test.js")
    assert "select" not in runtime


# ---- tasks that are none


def test_a_diff_of_the_solution_is_the_reference(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=a_config(patch=""))
    (task / "solution" / "fix.diff").write_text(FIX)
    assert FORMAT.draft(task, NO_WISHES).oracle_patch == FIX.encode()
    (task / "solution" / "more.patch").write_text(FIX)
    with pytest.raises(RowError, match=r"solution: holds several diffs: solution/fix\.diff, solution/more\.patch"):
        FORMAT.draft(task, NO_WISHES)


def test_a_row_without_the_column_takes_the_solutions_diff_too(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=a_config(patch=...))
    (task / "solution" / "fix.diff").write_text(FIX)
    assert FORMAT.draft(task, NO_WISHES).oracle_patch == FIX.encode()


def test_a_diff_of_the_solution_is_no_bug(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=json.dumps(SMITH | {"patch": ""}))
    (task / "solution" / "fix.patch").write_text(FIX)
    with pytest.raises(RowError, match="no bug patch"):
        FORMAT.draft(task, NO_WISHES)


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    task = a_task(tmp_path / "tasks")
    (task / "tests").rename(tmp_path / "outside")
    (task / "tests").symlink_to(tmp_path / "outside")
    with pytest.raises(RowError, match="is a link"):
        FORMAT.draft(task, NO_WISHES)


def test_a_link_in_the_environment_is_not_followed(tmp_path: Path) -> None:
    task = a_task(tmp_path, settings=LEGACY)
    (task / "environment" / "data").symlink_to("/etc")
    with pytest.raises(RowError, match="environment/data: is a link"):
        FORMAT.draft(task, NO_WISHES)


# ---- where tasks are


def test_tasks_at_any_depth(tmp_path: Path) -> None:
    made = [a_task(tmp_path, name) for name in ("b", "a", "x/y/z", "x/y/d")]
    a_task(tmp_path, "x/y/z/inner")  # below a task
    a_task(tmp_path, "p/q/r/s")  # too deep
    a_task(tmp_path, ".hidden")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert list(FORMAT.tasks(tmp_path)) == sorted(made)
    assert list(FORMAT.tasks(made[0])) == [made[0]]


def test_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    assert list(FORMAT.tasks(tmp_path)) == []
    assert list(FORMAT.tasks(tmp_path / "rows.jsonl")) == []
    assert list(FORMAT.tasks(tmp_path / "nowhere")) == []


# ---- the trimmed task

RECORD = "ab" * 32


def trimmed(task: Path, *dropped: str, record: str | None = None) -> dict[str, bytes]:
    f2p = frozenset(dropped) & {TOTAL, *rows.F2P}
    return dict(FORMAT.trimmed(task, f2p, frozenset(dropped) - f2p, record))


def test_trimmed_keeps_escapes_blanks_and_a_byte_order_mark(tmp_path: Path) -> None:
    config = "\ufeff" + a_config().replace('"patch"', '"n" : 1e400,\r\n\t"patch"').replace(
        "acme/ledger", r"acme\/ledger"
    )
    changed = trimmed(a_task(tmp_path, config=config), ONE)["tests/config.json"].decode()
    assert changed == config.replace(rf"\"{ONE}\", ", "")
    assert changed != config


@pytest.mark.parametrize("name", ["SWE-smith", "SWE-bench Pro"])
def test_trimmed_rows_of_other_adapters(name: str, tmp_path: Path) -> None:
    row, f2p, p2p = ADAPTERS[name]
    task = a_task(tmp_path, config=json.dumps(row))
    (task / "tests" / "config.json").write_bytes(trimmed(task, ONE)["tests/config.json"])
    draft = FORMAT.draft(task, NO_WISHES)
    assert (draft.f2p, draft.p2p) == (f2p, tuple(test for test in p2p if test != ONE))


def test_trimmed_objects_lose_an_id_wherever_it_is_repeated(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=json.dumps(MULTI))
    found = json.loads(trimmed(task, rows.F2P[0])["tests/config.json"])
    assert (found["f2p_tests"], list(found["fixed_tests"])) == ({}, list(rows.F2P[1:]))
    assert all(found[column] == MULTI[column] for column in ("s2p_tests", "n2p_tests", "p2p_tests"))


LINE = f'repair_record = "sha256:{RECORD}"'
SETTINGS_WITH_RECORD: dict[str, tuple[str, str]] = {
    "under [metadata]": (SETTINGS, SETTINGS.replace("[metadata]\n", f"[metadata]\n{LINE}\n")),
    "in a new table": ('version = "1.0"\n', f'version = "1.0"\n\n[metadata]\n{LINE}\n'),
    "in an empty file": ("", f"[metadata]\n{LINE}\n"),
    "after a line that does not end": ("a = 1", f"a = 1\n\n[metadata]\n{LINE}\n"),
    "line ends of another system": ("[metadata] # x\r\na = 1\r\n", f"[metadata] # x\r\n{LINE}\r\na = 1\r\n"),
    "for an older record": ('[metadata]\na = 1\nrepair_record = "sha256:old"\n', f"[metadata]\na = 1\n{LINE}\n"),
    "a table that ends the file": ("[metadata]", f"[metadata]\n{LINE}\n"),
    "a table of which a part is there": ("[metadata.b]\na = 1\n", f"[metadata.b]\na = 1\n\n[metadata]\n{LINE}\n"),
}


@pytest.mark.parametrize("name", SETTINGS_WITH_RECORD)
def test_the_record_stands_in_task_toml(name: str, tmp_path: Path) -> None:
    before, after = SETTINGS_WITH_RECORD[name]
    assert trimmed(a_task(tmp_path, settings=before), record=RECORD) == {"task.toml": after.encode()}
    assert tomllib.loads(after)["metadata"]["repair_record"] == f"sha256:{RECORD}"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param("metadata = {a = 1}\n", id="an inline table"),
        pytest.param("metadata.a = 1\n", id="a dotted key"),
        pytest.param('a = """\n[metadata]\n"""\n', id="a header in a text"),
        pytest.param('[metadata]\n[other]\nrepair_record = "x"\n', id="the key in another table"),
    ],
)
def test_a_task_toml_that_cannot_take_the_record_stays(settings: str, tmp_path: Path) -> None:
    assert trimmed(a_task(tmp_path, settings=settings), record=RECORD) == {}


# ---- lists in the verifier's own files

BOTH = [TOTAL, ONE, TWO, THREE]
COPIES: dict[str, tuple[str, str]] = {
    "JSON in a here-document": (f"cat <<'EOF'\n{json.dumps([ONE, TWO, THREE])}\nEOF\n", json.dumps([ONE, THREE])),
    "a Python list": (f"P2P = {[ONE, TWO, THREE]!r}\n", repr([ONE, THREE])),
    "in another order": (f"P2P = {[THREE, TWO, ONE]!r}\n", repr([THREE, ONE])),
    "both lists in one": (f"ALL = {BOTH!r}\n", repr([TOTAL, ONE, THREE])),
    "over several lines": (f'P = [\n  "{ONE}",\n  "{TWO}",\n  "{THREE}",\n]\n', f'\n  "{ONE}",\n  "{THREE}",\n]'),
    "the whole row": (f"cat <<'EOF'\n{a_config()}\nEOF\n", json.dumps(json.dumps([ONE, THREE]))),
}


@pytest.mark.parametrize("file", ["tests/test.sh", "tests/grade.py"])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_the_lists_is_trimmed_too(name: str, file: str, tmp_path: Path) -> None:
    text, left = COPIES[name]
    task = a_task(tmp_path)
    (task / file).write_text(f"{SCRIPT}{text}exit 0\n")
    changed = trimmed(task, TWO)[file].decode()
    assert changed.startswith(SCRIPT)
    assert changed.endswith("exit 0\n")
    assert left in changed
    assert TWO not in changed


FORMS = {
    "a shell array": f'P2P=("{ONE}" "{TWO}")\n',
    "a line each": f"cat > p2p <<EOF\n{ONE}\n{TWO}\nEOF\n",
    "some of the list": f"P2P = {[ONE, TWO]!r}\n",
    "a line each, with commas": f"cat > p2p <<EOF\r\n  {ONE},\r\n\t{TWO} ,\r\nEOF\r\n",
    "behind a quote that never ends": f"# it's\nP2P=('{ONE}' '{TWO}')\n",
    "a JSON text in a shell text": f'P2P="{json.dumps(json.dumps([ONE, TWO, THREE]))[1:-1]}"\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_a_copy_that_cannot_be_trimmed_is_refused(name: str, tmp_path: Path) -> None:
    task = a_task(tmp_path, script=SCRIPT + FORMS[name])
    with pytest.raises(RowError) as caught:
        trimmed(task, TWO)
    assert (caught.value.field, TWO in caught.value.problem) == ("tests/test.sh", True)


@pytest.mark.parametrize(
    "test", ['test["x", "y"]', "test[it's]", "test['a' \"b\"]", "test[\\n]", "test[größe]", "test[\\", "[a b]"]
)
@pytest.mark.parametrize("write", [str, repr, json.dumps, lambda test: json.dumps(json.dumps(test)), shlex.quote])
def test_an_id_that_is_hard_to_write_is_found(write: Callable[[str], str], test: str, tmp_path: Path) -> None:
    task = a_task(
        tmp_path, config=a_config(PASS_TO_PASS=[ONE, test]), script=f"{SCRIPT}cat <<EOF\n{write(test)}\nEOF\n"
    )
    if write is shlex.quote and test.count("'") > 0:
        assert trimmed(task, test).keys() == {"tests/config.json"}  # quotes in quotes: nobody reads that as a list
        return
    with pytest.raises(RowError, match="which is dropped"):
        trimmed(task, test)


ARGUMENTS = {
    "among others": (f"pytest -rA {TOTAL} {ONE} {THREE}", f"pytest -rA {TOTAL} {THREE}"),
    "the first": (f"pytest -rA {ONE} {THREE}", f"pytest -rA {THREE}"),
    "the last": (f"pytest {THREE} {ONE} || true", f"pytest {THREE} || true"),
    "behind a variable": (f"A=1 timeout 9 pytest {ONE} {THREE}", f"A=1 timeout 9 pytest {THREE}"),
    "a line each": (f"pytest \\\n  {ONE} \\\n  {THREE}", f"pytest \\\n  {THREE}"),
    "the last line": (f"pytest \\\n  {THREE} \\\n  {ONE}", f"pytest \\\n  {THREE}"),
    "in quotes": (f"pytest '{ONE}' \"{THREE}\"", f'pytest "{THREE}"'),
    "of a loop": (f"for t in {ONE} {THREE}; do pytest $t; done", f"for t in {THREE}; do pytest $t; done"),
    "left out by pytest itself": (f"pytest a.py --deselect {ONE}", f"pytest a.py --deselect {ONE}"),
    "left out, in one word": (f"pytest --deselect={ONE} {THREE}", f"pytest --deselect={ONE} {THREE}"),
    "a comment": (f"pytest a.py  # not {ONE} alone", f"pytest a.py  # not {ONE} alone"),
    "a longer id": (f"pytest {ONE}_more", f"pytest {ONE}_more"),
}


@pytest.mark.parametrize("file", ["tests/test.sh", "tests/run.sh"])
@pytest.mark.parametrize(("command", "left"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_dropped_id_is_taken_out_of_a_command(command: str, left: str, file: str, tmp_path: Path) -> None:
    task = a_task(tmp_path)
    (task / file).write_text(f"{SCRIPT}{command}\nexit 0\n")
    assert trimmed(task, ONE).get(file, (task / file).read_bytes()).decode() == f"{SCRIPT}{left}\nexit 0\n"


COMMANDS_LEFT = {
    "it alone: all tests would run": f"pytest -rA {ONE}",
    "kept ids in another command alone": f"pytest -rA {ONE}; pytest {THREE}",
    "a value of an option": f"runner --only {ONE} {THREE}",
    "a kept id that is left out": f"pytest {ONE} --deselect {THREE}",
    "a variable": f"T={ONE}\npytest $T",
    "an array": f"T=({ONE} {THREE})",
    "a command in a text": f"bash -c 'pytest {ONE} {THREE}'",
    "a command in a here-document": f"cat > run <<EOF\npytest {ONE} {THREE}\nEOF",
    "in brackets": f"(pytest {ONE})",
}


@pytest.mark.parametrize("command", COMMANDS_LEFT.values(), ids=COMMANDS_LEFT)
def test_a_dropped_id_that_cannot_be_taken_out_of_a_command_is_refused(command: str, tmp_path: Path) -> None:
    task = a_task(tmp_path, script=f"{SCRIPT}{command}\n")
    with pytest.raises(RowError, match=r"still lists 'tests/t\.py::test_one', which is dropped"):
        trimmed(task, ONE)


def test_an_escaped_id_in_a_command_is_refused(tmp_path: Path) -> None:
    task = a_task(tmp_path, script=f"{SCRIPT}pytest tests/t.py::test_two\\[a\\ b\\]\n")
    with pytest.raises(RowError, match="which is dropped"):
        trimmed(task, TWO)


def test_a_word_that_is_an_id_may_be_anything_in_a_command(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=a_config(PASS_TO_PASS=["test", "total"]), script=f"{SCRIPT}mvn test\n")
    assert trimmed(task, "test").keys() == {"tests/config.json"}


def test_a_copy_that_lists_kept_ids_alone_is_left(tmp_path: Path) -> None:
    task = a_task(tmp_path, script=f'{SCRIPT}P2P=("{ONE}" "{TWO}")\n')
    assert trimmed(task, THREE).keys() == {"tests/config.json"}


def test_the_tests_patch_in_the_script_is_no_list(tmp_path: Path) -> None:
    task = a_task(tmp_path, config=a_config(PASS_TO_PASS=["TestAll", "TestOne"]))
    assert trimmed(task, "TestAll").keys() == {"tests/config.json"}


def test_files_that_are_no_text_are_left_alone(tmp_path: Path) -> None:
    task = a_task(tmp_path)
    (task / "tests" / "data.bin").write_bytes(b"\xff" + json.dumps([ONE, TWO, THREE]).encode())
    assert trimmed(task, TWO).keys() == {"tests/config.json"}


# ---- the verifier


def test_the_verifier_is_what_harbor_runs(tmp_path: Path) -> None:
    task = a_task(tmp_path, settings='[environment.env]\nA = "1"\nK = "${K}"\n[verifier]\ntimeout_sec = 60\n')
    (task / "tests" / "test.sh").chmod(0o755)
    (task / "tests" / "data").mkdir()
    (task / "tests" / "data" / "in.bin").write_bytes(b"\xff")
    (task / "tests" / "data" / "in.bin").chmod(0o600)
    (task / "tests" / "config.json").chmod(0o644)
    found = verifier(task)
    assert found is not None
    assert found.files == (
        ("/tests/config.json", a_config().encode(), 0o644),
        ("/tests/data/in.bin", b"\xff", 0o600),
        ("/tests/test.sh", SCRIPT.encode(), 0o755),
    )
    assert found.command == ("bash", "/tests/test.sh")
    assert found.rewards == ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
    assert set(found.directories) == {"/logs/verifier", "/tests"}
    assert (dict(found.env), found.timeout) == ({"A": "1"}, 60.0)


def test_harbor_gives_a_verifier_ten_minutes(tmp_path: Path) -> None:
    found = verifier(a_task(tmp_path, settings=""))
    assert found is not None
    assert found.timeout == 600.0


def test_no_script_is_no_verifier(tmp_path: Path) -> None:
    assert verifier(a_task(tmp_path, script=None)) is None


@pytest.mark.parametrize("timeout", ["0", "-1", "true", "nan", '"60"'])
def test_a_timeout_is_a_number_above_zero(timeout: str, tmp_path: Path) -> None:
    task = a_task(tmp_path, settings=f"[verifier]\ntimeout_sec = {timeout}\n")
    with pytest.raises(RowError, match=r"verifier\.timeout_sec: expected a number above 0"):
        verifier(task)


MANY_PARTS = {
    "key": "a" + ".a" * 10_000 + " = 1",
    "table": "[" + "a." * 10_000 + "a]",
    "between comments": "# '''\na" + ".a" * 10_000 + " = 1\n# '''",
    "behind an escaped quote": 'a = "\\""\nb' + ".b" * 10_000 + ' = "x"',
}
MANY_DOTS = {
    "ids": "ids = [" + '"tests/a.py::b",' * 10_000 + "]",
    "literal prose": "a = '''\n" + "A sentence. " * 10_000 + "'''",
    "prose": 'a = """\n' + "A \\n sentence. " * 10_000 + '"""',
    "a comment": "# " + "." * 10_000 + "\na = 1",
}


@pytest.mark.parametrize("name", MANY_PARTS)
def test_a_key_of_thousands_of_parts_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="dots outside of strings"):
        read.parse_toml(MANY_PARTS[name])


@pytest.mark.parametrize("name", MANY_DOTS)
def test_dots_in_strings_and_comments_are_any_number(name: str) -> None:
    assert set(read.parse_toml(MANY_DOTS[name])) <= {"a", "ids"}
