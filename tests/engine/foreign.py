"""What is run of each foreign format: one small project, in the places and environments that the formats' images have.

A parcel's price is wrong at ten kilos, and the hidden tests say so. Of the tests that were there before, three pass
under both controls, one is skipped, one fails; and one id was cut at a blank. All else in the rows is as their
publishers write it, and comes from formats/rows.py.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.engine.runners import CTEST, PYTHON, RUNNERS, braces, mended
from tests.formats import rows
from tests.formats.rows import Row

TESTS_FILE = "tests/test_parcel.py"
TESTS_BEFORE = """\
from pathlib import Path

import pytest
from parcel import price


@pytest.mark.parametrize(("kilos", "due"), [(1, 5), (2, 9), (11, 20)])
def test_price(kilos, due):
    assert price(kilos) == due


@pytest.mark.skipif(not Path("/dev/scales").exists(), reason="no scales")
def test_scales():
    assert price(float(Path("/dev/scales").read_text())) > 0


def test_tariff():
    assert Path("/etc/tariff").read_text() == "5 9 20\\n"


@pytest.mark.parametrize("kilos", [0.2, 0.5], ids=["tiny", "very light"])
def test_letter(kilos):
    assert price(kilos) == 5
"""
TEN = """

def test_ten():
    assert price(10) == 9
"""
ORACLE = PYTHON.decode()
SCRIPT, TEST_SH = (text.replace(rows.TESTS_FILE, TESTS_FILE) for text in (rows.SCRIPT, rows.TEST_SH))
SOURCE = "source /opt/miniconda3/bin/activate\n"
TEST_SH = TEST_SH.replace(SOURCE, f"{SOURCE}conda activate testbed\n")
TESTS = mended(
    TESTS_FILE,
    len(TESTS_BEFORE.splitlines()),
    "".join([" ", TESTS_BEFORE.splitlines(keepends=True)[-1], *(f"+{line}" for line in TEN.splitlines(keepends=True))]),
).decode()
BUG = mended(
    "parcel.py",
    1,
    """\
 def price(kilos):
-    if kilos <= 1:
+    if kilos < 1:
         return 5
     if kilos < 10:
         return 9
""",
).decode()
DJANGO_TESTS = mended(
    "tests/parcel_tests/tests.py",
    8,
    """\
 class Price(SimpleTestCase):
+    def test_ten(self):
+        self.assertEqual(price(10), 9)
+
     def test_light(self):
""",
).decode()


@dataclass(frozen=True, slots=True)
class Ids:
    """What a task lists. P2P are `good`, which stay, and `gone`, each with what becomes of it in both controls."""

    f2p: tuple[str, ...]
    good: tuple[str, ...]
    gone: Mapping[str, str]

    @property
    def p2p(self) -> tuple[str, ...]:
        return (*self.good, *self.gone)

    def bare(self) -> Ids:
        """Node ids without their file, as SymPy's runner and R2E-Gym name tests."""

        def short(ids: Iterable[str]) -> tuple[str, ...]:
            return tuple(test.partition("::")[2] for test in ids)

        return Ids(short(self.f2p), short(self.good), dict(zip(short(self.gone), self.gone.values(), strict=True)))


def _of_file(case: str) -> str:
    return f"{TESTS_FILE}::test_{case}"


PYTEST = Ids(
    (_of_file("ten"),),
    (_of_file("price[2-9]"), _of_file("price[11-20]"), _of_file("letter[tiny]")),
    {_of_file("scales"): "skipped", _of_file("tariff"): "failed", _of_file("letter[very"): "missing"},
)
BUGGED = replace(PYTEST, f2p=(_of_file("price[1-5]"),))  # what BUG breaks
BARE = PYTEST.bare()
_DJANGO, _CTEST = RUNNERS["Django's runtests"], RUNNERS["ctest"]
OF_DJANGO = Ids(
    ("test_ten (parcel_tests.tests.Price)",),
    _DJANGO.good,
    {_DJANGO.skipped: "skipped", _DJANGO.broken: "error", "test_heavy": "missing"},
)
OF_CTEST = Ids(_CTEST.f2p, _CTEST.good[:2], {_CTEST.skipped: "skipped", _CTEST.broken: "failed", "price": "missing"})

# ---- images

BRANCH = "acme__parcel.1a2b3c4d.func_basic__12"  # where SWE-smith's mirrors keep the bug of that id
COMMIT = (
    "git add . && GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z "
    "git -c user.name=Builder -c user.email=builder@example.org commit -q -m"
)

# Stands for conda's own, which ends like this: it activates what its caller's arguments name, where it has none.
ACTIVATE = """\
conda() {
    [ "$1" = activate ] && [ $# -le 2 ] && [ -d "/opt/miniconda3/envs/${2:-testbed}" ] || {
        echo "cannot conda $*" >&2
        return 1
    }
    PATH=/opt/miniconda3${2:+/envs/$2}/bin:$PATH
}
conda activate "$@"
"""


def _print(text: str) -> str:
    return f"echo {base64.b64encode(text.encode()).decode()} | base64 -d"


TESTBED = f"""\
FROM repair-test/runners:1
RUN {_print(ACTIVATE)} >/opt/miniconda3/bin/activate
RUN cp -r /work/conda /testbed && cd /testbed && {_print(TESTS_BEFORE)} >{TESTS_FILE} && {COMMIT} snapshot && \\
    git checkout -q -b {BRANCH} && {_print(BUG)} | git apply && {COMMIT} bug && git checkout -q main
WORKDIR /testbed
"""
# In /app the hidden tests are in a commit of their own. Those of R2E-Gym lie beside the repo.
PLACES = f"""\
FROM {{testbed}}
RUN cp -r /testbed /app && cp -r /testbed /parcel && cp -r /work/ctest /parcels && cd /app && \\
    git checkout -q -b hidden && {_print(TESTS)} | git apply && {COMMIT} hidden && git checkout -q main && \\
    mkdir /r2e_tests && git show hidden:{TESTS_FILE} >/r2e_tests/test_1.py && \\
    ln -s /opt/miniconda3/envs/testbed /testbed/.venv
"""
ON_PATH = """\
FROM {places}
ENV PATH=/opt/miniconda3/envs/testbed/bin:/usr/local/bin:/usr/bin:/bin
"""
# Django itself stays where it is: it is large.
DJANGO = """\
FROM repair-test/runners:1
RUN mkdir /testbed && cp -r /work/django/parcel.py /work/django/tests /testbed && \\
    printf '%s\\n' /testbed /work/django >/venv/django/lib/python3.11/site-packages/django.pth && \\
    rm -r /opt/miniconda3/envs/testbed && ln -s /venv/django /opt/miniconda3/envs/testbed
"""


@dataclass(frozen=True, slots=True)
class Built:
    """The images by their names here, and the commit of /app that holds the hidden tests."""

    images: Mapping[str, str]
    hidden: str


def build(make: Callable[[str], str], commit_of: Callable[[str], str]) -> Built:
    """Build the images with `make`; `commit_of` says which commit is `hidden` in /app of one."""
    images: dict[str, str] = {}
    for name, text in {"testbed": TESTBED, "places": PLACES, "on PATH": ON_PATH, "django": DJANGO}.items():
        images[name] = make(text.format(**images))
    return Built(images, commit_of(images["places"]))


# ---- rows


def _common(number: int) -> Row:
    return {
        "repo": "acme/parcel",
        "instance_id": f"acme__parcel-{number}",
        "patch": ORACLE,
        "test_patch": TESTS,
        "problem_statement": "Ten kilos are dear.\n",
    }


def _texts(f2p: Sequence[str], p2p: Sequence[str]) -> Row:
    return {"FAIL_TO_PASS": json.dumps(f2p), "PASS_TO_PASS": json.dumps(p2p)}


def _lists(f2p: Sequence[str], p2p: Sequence[str]) -> Row:
    return {"FAIL_TO_PASS": list(f2p), "PASS_TO_PASS": list(p2p)}


def classic(_: Built, p2p: Sequence[str]) -> Row:
    return rows.classic(**_common(1), **_texts(PYTEST.f2p, p2p))


def sympy(_: Built, p2p: Sequence[str]) -> Row:
    named = {"repo": "sympy/sympy", "instance_id": "sympy__sympy-2"}
    return rows.classic(**_common(2) | named, **_texts(BARE.f2p, p2p))


def django(_: Built, p2p: Sequence[str]) -> Row:
    named = {"repo": "django/django", "instance_id": "django__django-3", "test_patch": DJANGO_TESTS}
    return rows.classic(**_common(3) | named, **_texts(OF_DJANGO.f2p, p2p))


def five(built: Built, p2p: Sequence[str]) -> Row:
    return rows.five(**_common(4), **_texts(PYTEST.f2p, p2p), image=built.images["testbed"], eval_script=SCRIPT)


def pro(built: Built, p2p: Sequence[str]) -> Row:
    checkout = f"git reset --hard main\ngit clean -fd\ngit checkout {built.hidden} -- {TESTS_FILE}"
    return rows.pro(
        **_common(5) | {"instance_id": "instance_acme__parcel-5"},
        fail_to_pass=str(list(PYTEST.f2p)),
        pass_to_pass=str(list(p2p)),
        before_repo_set_cmd=checkout,
        selected_test_files_to_run=json.dumps([TESTS_FILE]),
    )


def live(built: Built, p2p: Sequence[str]) -> Row:
    return rows.live(**_common(6), **_lists(PYTEST.f2p, p2p), docker_image=built.images["on PATH"])


def smith(built: Built, p2p: Sequence[str], ident: str = "acme__parcel.1a2b3c4d.func_basic__7") -> Row:
    named: Row = {"instance_id": ident, "repo": "swesmith/acme__parcel.1a2b3c4d", "image_name": built.images["testbed"]}
    return rows.smith(**named, patch=BUG, **_lists(BUGGED.f2p, p2p))


def rebench(built: Built, p2p: Sequence[str]) -> Row:
    return rows.rebench(**_common(8), **_lists(PYTEST.f2p, p2p), docker_image=built.images["testbed"])


def rebench_v2(built: Built, p2p: Sequence[str]) -> Row:
    return rows.rebench_v2(**_common(9), **_lists(PYTEST.f2p, p2p), image_name=built.images["on PATH"])


def rebench_v2_ctest(built: Built, p2p: Sequence[str]) -> Row:
    named = {"repo": "acme/parcels", "instance_id": "acme__parcels-10"}
    return rows.rebench_v2(
        **_common(10) | named | {"patch": braces("parcel.c", 4).decode(), "test_patch": CTEST.decode()},
        **_lists(OF_CTEST.f2p, p2p),
        image_name=built.images["places"],
        language="c",
        install_config={"install": [], "test_cmd": ["cmake -S . -B out", "cmake --build out", "ctest --test-dir out"]},
    )


def gym(_: Built, p2p: Sequence[str]) -> Row:
    named = {"repo": "iterative/dvc", "instance_id": "iterative__dvc-11"}
    return rows.gym(**_common(11) | named, **_lists(PYTEST.f2p, p2p))


def r2e(built: Built, p2p: Sequence[str]) -> Row:
    _, _, head, *lines = ORACLE.splitlines()
    old, new = ((int(number) for number in part[1:].split(",")) for part in head.split()[1:3])
    ends = (dict(zip(("start", "length"), side, strict=True)) for side in (old, new))
    types = {" ": "context", "-": "deleted", "+": "added"}
    hunk = {
        "descriptor": {**dict(zip(("old_range", "new_range"), ends, strict=True)), "section": ""},
        "line_group": {"all_lines": [{"content": line[1:], "type": types[line[0]]} for line in lines]},
    }
    file = {
        "header": {"file": {"path": "parcel.py"}, "misc_line": None},
        "is_binary_file": False,
        "minus_file": {"path": "a/parcel.py"},
        "plus_file": {"path": "b/parcel.py"},
        "index_line": None,
        "hunks": [hunk],
    }
    log = [f"PASSED r2e_tests/test_1.py::{test}" for test in BARE.p2p]
    log += [f"FAILED r2e_tests/test_1.py::{test} - assert 20 == 9" for test in BARE.f2p]
    stdout = "\n".join(["=== short test summary info ===", *log])
    return rows.r2e(
        13,
        repo_name="parcel",
        docker_image=built.images["places"],
        parsed_commit_content=json.dumps({"file_diffs": [file], "old_commit_hash": rows.COMMIT}),
        execution_result_content=json.dumps({"old_commit_res_stdout": stdout, "test_file_names": ["test_1.py"]}),
        expected_output_json=json.dumps(dict.fromkeys((*BARE.f2p, *p2p), "PASSED")),
    )


# ---- directories


def task_repo(root: Path, built: Built, p2p: Sequence[str]) -> None:
    settings = rows.SETTINGS.format(name="acme__ledger-14").replace("acme/eval.ledger:latest", built.images["testbed"])
    rows.task_repo(
        root,
        14,
        {
            "task.yaml": settings,
            "tests.json": json.dumps(_lists(PYTEST.f2p, p2p), indent=2) + "\n",
            "gold.patch": ORACLE,
            "test.patch": TESTS,
            "eval.sh": SCRIPT,
        },
    )


def harbor(root: Path, built: Built, p2p: Sequence[str]) -> None:
    """As the adapter of SWE-bench writes it: the row and the image of the publisher."""
    row = rows.classic(15, **_common(15), **_texts(PYTEST.f2p, p2p))
    _harbor(root, 15, row, {"task.toml": rows.HARBOR.replace("acme/ledger:7", built.images["testbed"])})


def harbor_smith(root: Path, built: Built, p2p: Sequence[str]) -> None:
    """As the adapter of SWE-smith writes it: an image of its own, in which the branch of the bug is checked out."""
    named = 'docker_image = "acme/ledger:7"\n'
    made = {
        "task.toml": rows.HARBOR.replace(named, ""),
        "environment/Dockerfile": f"FROM {built.images['testbed']}\nWORKDIR /testbed\nRUN git checkout -q {BRANCH}\n",
    }
    _harbor(root, 12, smith(built, p2p, BRANCH), made)


def _harbor(root: Path, number: int, row: Row, more: Mapping[str, str]) -> None:
    rows.harbor(root, number, {"tests/config.json": json.dumps(row, indent=2), "tests/test.sh": TEST_SH, **more})


# ---- what is run


Rows = Callable[[Built, Sequence[str]], Row]
Tree = Callable[[Path, Built, Sequence[str]], None]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A task of a format: its ids, and how its source is written with some P2P list.

    `run` is what the README's table says of it. `template` names the image where the row does not.
    """

    name: str
    format: str
    run: str
    made: Rows | None = None
    tree: Tree | None = None
    ids: Ids = PYTEST
    template: str | None = None

    def write(self, folder: Path, built: Built, p2p: Sequence[str]) -> Path:
        """Write the source: a file of rows, or a directory."""
        if self.made is not None:
            return rows.jsonl(folder / "rows.jsonl", [self.made(built, p2p)])
        assert self.tree is not None
        self.tree(folder / "tasks", built, p2p)
        return folder / "tasks"


FOREIGN: tuple[Foreign, ...] = (
    Foreign("swe-bench", "swe-bench", "pytest", classic, template="testbed"),
    Foreign("swe-bench, SymPy", "swe-bench", "SymPy's ids", sympy, ids=BARE, template="testbed"),
    Foreign("swe-bench, Django", "swe-bench", "Django's runtests.py", django, ids=OF_DJANGO, template="django"),
    Foreign("swe-bench-5", "swe-bench-5", "pytest", five),
    Foreign("swe-bench-pro", "swe-bench-pro", "pytest", pro, template="on PATH"),
    Foreign("swe-bench-live", "swe-bench-live", "pytest", live),
    Foreign("swe-smith", "swe-smith", "pytest", smith, ids=BUGGED),
    Foreign("swe-rebench", "swe-rebench", "pytest", rebench),
    Foreign("swe-rebench-v2", "swe-rebench-v2", "pytest", rebench_v2),
    Foreign("swe-rebench-v2, ctest", "swe-rebench-v2", "ctest", rebench_v2_ctest, ids=OF_CTEST),
    Foreign("swe-gym", "swe-gym", "pytest", gym, template="testbed"),
    Foreign("r2e-gym", "r2e-gym", "pytest", r2e, ids=BARE),
    Foreign("swe-bench-5-repo", "swe-bench-5-repo", "pytest", tree=task_repo),
    Foreign("harbor, SWE-bench's adapter", "harbor", "SWE-bench's adapter", tree=harbor),
    Foreign("harbor, SWE-smith's adapter", "harbor", "SWE-smith's adapter", tree=harbor_smith, ids=BUGGED),
)
