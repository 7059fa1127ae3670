"""The published schemas: what loads fits them, what is written fits them, and little else does."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repair import rules, table
from repair.errors import StoreError, UsageError
from repair.model import Evidence, Observed, Outcome, Policy
from repair.panel import read
from repair.panel.schemas import SCHEMAS
from repair.records.documents import outcomes_json, read_outcomes, repair_json
from repair.text import sha256
from tests.conftest import MakeTask
from tests.support import evidence, records
from tests.support.evidence import CASES, INPUTS, clean, documents
from tests.support.keys import Draft
from tests.support.panels import write_json
from tests.support.paths import ROOT
from tests.support.strategies import JSON, evidences

DEMO = ROOT / "panels" / "demo"
VALIDATORS = {name: Draft(make()) for name, make in SCHEMAS.items()}


def fits(name: str, document: Any) -> bool:
    return bool(VALIDATORS[name].is_valid(document))


def fit(name: str, content: bytes) -> Any:
    """Hold bytes to a schema; what they say."""
    document = json.loads(content)
    VALIDATORS[name].validate(document)
    return document


# ---- of themselves


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_schema_that_refers_to_nothing_outside(name: str) -> None:
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"].split(".")[0] == name
    text = json.dumps(schema)
    assert text.count("$ref") == text.count('"$ref": "#/$defs/')
    assert text.isascii()


@pytest.mark.parametrize("name", SCHEMAS)
def test_nobody_changes_a_schema_for_the_next(name: str) -> None:
    before = copy.deepcopy(SCHEMAS[name]())
    SCHEMAS[name]()["properties"].clear()
    assert SCHEMAS[name]() == before


@pytest.mark.parametrize("name", ["task", "panel"])
def test_a_default_that_is_said_may_be_written(name: str) -> None:
    def below(schema: dict[str, Any]) -> list[dict[str, Any]]:
        inner = list(schema.get("properties", {}).values())
        return inner + [deeper for each in inner for deeper in below(each)]

    said = [schema for schema in below(SCHEMAS[name]()) if "default" in schema]
    assert len(said) > 10
    assert [schema for schema in said if not Draft(schema).is_valid(schema["default"])] == []
    assert all("description" in schema for schema in below(SCHEMAS[name]()))


# ---- task.json and panel.toml


def test_what_the_demo_panel_holds_fits() -> None:
    assert fits("panel", tomllib.loads((DEMO / "panel.toml").read_text()))
    names = read.task_names(DEMO)
    assert names
    for name in names:
        fit("task", (DEMO / name / "task.json").read_bytes())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="as it is"),
        pytest.param({"$schema": "../.schemas/task.schema.json"}, id="with its schema"),
        pytest.param({"test_files": ["tests/test_*.py"]}, id="files to mint from"),
        pytest.param({"FAIL_TO_PASS": ...}, id="a list absent"),
        pytest.param({"image": ...}, id="no image"),
        pytest.param({"image": ""}, id="an empty image"),
        pytest.param({"$schema": 1}, id="a schema that is none"),
        pytest.param({"$Schema": "x"}, id="an unknown key"),
        pytest.param({"timeout": "30"}, id="a number as text"),
        pytest.param({"user": None, "platform": None, "base_commit": None}, id="nulls"),
        pytest.param({"workdir": None}, id="a null too many"),
    ],
)
def test_what_loads_fits_and_nothing_else(panel: Path, make_task: MakeTask, changes: dict[str, Any]) -> None:
    task = make_task()
    write_json(task, **changes)
    assert fits("task", json.loads((task / "task.json").read_text())) is _loads(panel)


def _loads(panel: Path) -> bool:
    try:
        read.load(panel)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "",
        'name = "x"\n[policy]\nmin_p2p = 1\npassing = ["passed", "xfailed"]\nrepeats = 3\nrecheck = 2\n',
        '[gate]\nmin_tasks = 3\n[defaults]\ntimeout = 60\nmemory = "4g"\nenv = {A = "1"}\ntest_files = ["a.py"]\n',
        'name = ""',
        "nmae = 'x'",
        "[policy]\nmax_p2p = 1",
        "[policy]\nrecheck = 101",
        "[policy]\npassing = ['xfailed']",
        "[gate]\nmin_tasks = -1",
        "[defaults]\nimage = 'x'",
        "[defaults]\nPASS_TO_PASS = []",
        "[defaults]\nmemory = 4.5",
        "policy = 1",
        "[[gate]]",
    ],
    ids=lambda text: text[:40].replace("\n", " "),
)
def test_what_loads_of_a_panel_fits_and_nothing_else(panel: Path, make_task: MakeTask, text: str) -> None:
    make_task()
    (panel / "panel.toml").write_text(text)
    assert fits("panel", tomllib.loads(text)) is _loads(panel)


# ---- records


@pytest.mark.parametrize("case", CASES)
def test_every_golden_record_fits(case: str) -> None:
    for name, content in documents(case).items():
        fit(name.split(".")[1], content)


LOST = {"tests/test_calc.py::test_keep[3]": records.SKIPPED}
FAILS = {"tests/test_calc.py::test_add": records.FAILED}


@pytest.mark.parametrize(
    ("empty", "oracle", "confirm", "verdict"),
    [
        ({}, {}, None, "clean"),
        (LOST, LOST, None, "repaired"),
        ({}, LOST, None, "refused"),
        ({}, FAILS, None, "refused"),
        (LOST, LOST, FAILS, "refused"),
    ],
    ids=["clean", "repaired", "a regression", "a failed F2P", "not confirmed"],
)
@pytest.mark.parametrize("repeats", [1, 3])
def test_every_record_that_is_written_fits(
    panel: Path,
    make_task: MakeTask,
    empty: records.Seen,
    oracle: records.Seen,
    confirm: records.Seen | None,
    verdict: str,
    repeats: int,
) -> None:
    (panel / "panel.toml").write_text(f"[policy]\nmin_p2p = 0\nrepeats = {repeats}\n")
    task = make_task(tests=b"--- tests\n")
    (task / "entry.patch").write_bytes(b"--- entry\n")
    (task / "environment").mkdir()
    records.write(task, empty, oracle, confirm)
    assert fit("repair", (task / "repair.json").read_bytes())["verdict"] == verdict
    fit("outcomes", (task / "outcomes.json").read_bytes())


def _few_p2p() -> Evidence:
    return clean()


def _shared_group() -> Evidence:
    """An id in both lists, through a group, and a group of which the members differ."""
    group = Observed(Outcome.FAILED, "KeyError", {"f[1]": Outcome.FAILED, "f[2]": Outcome.PASSED})
    mixed = Observed(Outcome.SKIPPED, "no lxml", {"f[1]": Outcome.PASSED, "f[2]": Outcome.SKIPPED})
    empty, oracle = evidence.run({"f": group, "f[2]": group}, 1), evidence.run({"f": mixed, "f[2]": mixed})
    return evidence.evidence(["f"], ["f[2]"], [empty], [oracle])


def _flaky() -> Evidence:
    seen = [Observed(outcome, "once") for outcome in (Outcome.FAILED, Outcome.PASSED, Outcome.ERROR)]
    runs = [evidence.run({"f": one, "p": one}, 1, deadly=("p",), flags=("odd",)) for one in seen]
    return evidence.evidence(["f"], ["p"], runs, runs)


def _nothing_listed() -> Evidence:
    return evidence.evidence([], [], [evidence.run({})], [evidence.run({})])


def _again_unapplied() -> Evidence:
    """A confirmation in which a patch did not apply."""
    first = CASES["not-confirmed"]()
    broken = evidence.run({}, None, patch="oracle.patch: no file")
    return replace(
        first, confirm_oracle=(broken,), confirm_table=table.build(["f"], ["p"], first.confirm_empty, (broken,))
    )


EVIDENCE: dict[str, tuple[Callable[[], Evidence], Policy]] = {
    "few P2P": (_few_p2p, Policy()),
    "templates": (lambda: clean(template=("{name}", "{classname} {name}")), Policy(0)),
    "the own verifier agrees": (lambda: clean(own=(0.0, 1.0)), Policy(0)),
    "the own verifier does not": (lambda: clean(own=(0.25, 1.0)), Policy(0)),
    "groups across the lists": (_shared_group, Policy(0)),
    "flaky, deadly, flags": (_flaky, Policy(0, repeats=3)),
    "further runs": (_flaky, Policy(0, repeats=1, recheck=2)),
    "nothing listed": (_nothing_listed, Policy(0, frozenset({Outcome.PASSED, Outcome.XFAILED}))),
    "a patch at the second time": (_again_unapplied, Policy(0)),
}


@pytest.mark.parametrize("case", EVIDENCE)
def test_every_kind_of_evidence_fits(case: str) -> None:
    make, policy = EVIDENCE[case]
    evidence = make()
    content = outcomes_json(evidence)
    fit("outcomes", content)
    made_from = replace(INPUTS, source="d" * 64) if evidence.verifier else INPUTS
    fit("repair", repair_json(rules.repair_of(evidence, made_from, policy), sha256(content)))


@settings(deadline=None)
@given(evidence=evidences())
def test_any_outcomes_that_are_written_fit(evidence: Evidence) -> None:
    fit("outcomes", outcomes_json(evidence))


# ---- what is no record


def record(case: str, name: str) -> Any:
    return json.loads(documents(case)[f"{case}.{name}.json"])


def places(document: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every object in a document."""
    below = (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else ())
    )
    here = [way] if isinstance(document, dict) else []
    return here + [place for key, value in below for place in places(value, (*way, key))]


def at(document: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        document = document[key]
    return document


OPEN = {("tests",)}  # ids are keys there
OPTIONAL = {"own_verifier", "confirm", "cause", "cause_empty", "members", "template", "list", "empty", "oracle"} | {
    *("deadly", "flags", "patch", "entry.patch", "source")
}
WRONG: list[Any] = [-1.5, [[]], {"a": {}}]
DOCUMENTS = [(case, name) for case in CASES for name in ("outcomes", "repair")]


@pytest.mark.parametrize(("case", "name"), DOCUMENTS, ids=[f"{case} {name}" for case, name in DOCUMENTS])
def test_an_unknown_key_anywhere_is_refused(case: str, name: str) -> None:
    document = record(case, name)
    for way in places(document):
        if way not in OPEN and (not way or way[-1] != "members"):
            at(document, way)["more"] = 1
            assert not fits(name, document), way
            del at(document, way)["more"]
    assert fits(name, document)


@pytest.mark.parametrize(("case", "name"), DOCUMENTS, ids=[f"{case} {name}" for case, name in DOCUMENTS])
def test_a_missing_key_or_another_type_anywhere_is_refused(case: str, name: str) -> None:
    document = record(case, name)
    for way in places(document):
        if way in OPEN or (way and way[-1] == "members"):
            continue
        for key, value in list(at(document, way).items()):
            for wrong in WRONG:
                at(document, way)[key] = wrong
                assert not fits(name, document), (way, key, wrong)
            at(document, way)[key] = value
            if key not in OPTIONAL or (way[:1] == ("controls",) and key in {"empty", "oracle"}):
                del at(document, way)[key]
                assert not fits(name, document), (way, key)
                at(document, way)[key] = value
    assert fits(name, document)


@pytest.mark.parametrize(
    ("name", "way", "value"),
    [
        ("outcomes", ("schema",), 99),
        ("outcomes", ("schema",), "1"),
        ("outcomes", ("tests", "t.py::p", "empty"), ["green"]),
        ("outcomes", ("tests", "t.py::p", "empty"), ["Passed"]),
        ("outcomes", ("tests", "t.py::p", "empty"), "passed"),
        ("outcomes", ("tests", "t.py::p", "lists"), []),
        ("outcomes", ("tests", "t.py::p", "lists"), ["P2P", "P2P"]),
        ("outcomes", ("tests", "t.py::p", "lists"), ["S2P"]),
        ("outcomes", ("tests", "t.py::p", "cause"), {"empty": "x"}),
        ("outcomes", ("tests", "t.py::p", "confirm", "oracle"), ["missed"]),
        ("outcomes", ("controls", "empty", 0, "exit"), True),
        ("outcomes", ("controls", "empty", 0, "template"), []),
        ("outcomes", ("controls", "own_verifier"), {"empty": 0.0}),
        ("outcomes", ("controls", "own_verifier"), {"empty": 0.0, "oracle": 1.5}),
        ("repair", ("verdict",), "fine"),
        ("repair", ("verdict",), "refused"),
        ("repair", ("reasons",), [{"rule": "no-f2p"}]),
        ("repair", ("dropped", 0, "rule"), "unlucky"),
        ("repair", ("dropped", 0, "empty"), "green"),
        ("repair", ("dropped", 0, "empty"), "passed 1/2"),
        ("repair", ("dropped", 0, "ids"), []),
        ("repair", ("dropped", 0, "count"), 0),
        ("repair", ("counts", "F2P", "kept"), -1),
        ("repair", ("confirmation", "confirmed"), "yes"),
        ("repair", ("confirmation", "scores", "oracle"), [0.5]),
        ("repair", ("controls", "empty"), []),
        ("repair", ("controls", "empty", 0, "deadly"), []),
        ("repair", ("inputs", "task"), "a" * 63),
        ("repair", ("inputs", "oracle.patch"), None),
        ("repair", ("outcomes",), "A" * 64),
        ("repair", ("policy", "repeats"), 0),
        ("repair", ("policy", "passing"), []),
    ],
)
def test_a_wrong_value_is_refused(name: str, way: tuple[Any, ...], value: Any) -> None:
    document = record("repaired", name)
    at(document, way[:-1])[way[-1]] = value
    assert not fits(name, document)


def test_a_refusal_says_why() -> None:
    document = record("refused", "repair")
    assert fits("repair", document)
    document["reasons"] = []
    assert not fits("repair", document)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_outcomes_that_fit_can_be_read(data: st.DataObject) -> None:
    """The schema is no wider than the reader: whatever stands somewhere in a document, what fits it reads back."""
    document = record("repaired", "outcomes")
    way = data.draw(st.sampled_from(places(document)))
    keys = st.sampled_from([*at(document, way), "more"])
    at(document, way)[data.draw(keys)] = data.draw(JSON)
    try:
        read_outcomes(json.dumps(document).encode())
    except StoreError:
        assert not fits("outcomes", document)
