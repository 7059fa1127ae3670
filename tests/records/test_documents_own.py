"""What is in a record only where there is something to say: a template, an entry patch, the own verifier's rewards."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repair import rules
from repair.errors import StoreError
from repair.model import Evidence, Inputs, Policy, Run, Verdict
from repair.records.documents import inputs_document, outcomes_json, read_outcomes, repair_json
from repair.text import sha256
from tests.support.evidence import INPUTS, clean, without_observed
from tests.support.strategies import evidences

POLICY = Policy(min_p2p=0)
TEMPLATES = [("{name}",), ("{name} ({classname})", "{name} ({classname}.{name})"), ('ü"\\\n{name}',)]


def record(evidence: Evidence, inputs: Inputs = INPUTS) -> bytes:
    return repair_json(rules.repair_of(evidence, inputs, POLICY), sha256(outcomes_json(evidence)))


# ---- templates


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_runs_template_reads_back_byte_for_byte(template: tuple[str, ...]) -> None:
    content = outcomes_json(clean(template=template))
    again = read_outcomes(content)
    assert {run.template for run in (*again.empty, *again.oracle)} == {template}
    assert again == without_observed(clean(template=template))
    assert outcomes_json(again) == content


def test_the_template_of_a_confirmation_reads_back() -> None:
    evidence = clean(template=TEMPLATES[0])
    evidence = replace(
        evidence, confirm_empty=evidence.empty, confirm_oracle=evidence.oracle, confirm_table=evidence.table
    )
    again = read_outcomes(outcomes_json(evidence))
    assert [run.template for run in (*again.confirm_empty, *again.confirm_oracle)] == [TEMPLATES[0]] * 2


def test_a_template_is_all_that_it_adds() -> None:
    plain, spelt = (json.loads(outcomes_json(clean(template=template))) for template in ((), TEMPLATES[0]))
    for kind in ("empty", "oracle"):
        assert spelt["controls"][kind][0].pop("template") == ["{name}"]
    assert spelt == plain
    assert record(clean(template=TEMPLATES[0])) != record(clean())  # by the digest of outcomes.json


@pytest.mark.parametrize("template", [7, None, [7], [None], [["{name}"]]])
def test_a_template_that_is_none_is_refused(template: Any) -> None:
    document = json.loads(outcomes_json(clean(template=TEMPLATES[0])))
    document["controls"]["empty"][0]["template"] = template
    with pytest.raises(StoreError, match=r"outcomes\.json is not one of ours"):
        read_outcomes(json.dumps(document).encode())


# ---- the entry patch


def test_an_entry_patch_is_named_where_there_is_one() -> None:
    with_entry = replace(INPUTS, entry_patch="e" * 64)
    assert json.loads(record(clean(), with_entry))["inputs"] == inputs_document(with_entry)
    assert inputs_document(with_entry) == {**inputs_document(INPUTS), "entry.patch": "e" * 64}
    assert list(inputs_document(INPUTS)) == ["task", "environment", "oracle.patch", "tests.patch"]
    assert b"entry" not in record(clean())


# ---- the own verifier

REWARDS = [(0.0, 1.0), (0.0, 0.25), (1.0, 1.0), (0.1, 0.30000000000000004)]


@pytest.mark.parametrize("own", REWARDS, ids=str)
def test_rewards_are_in_both_files_and_read_back_byte_for_byte(own: tuple[float, float]) -> None:
    content = outcomes_json(clean(own))
    rewards = {"empty": own[0], "oracle": own[1]}
    assert json.loads(content)["controls"]["own_verifier"] == rewards
    assert json.loads(record(clean(own)))["own_verifier"] == rewards
    assert read_outcomes(content) == without_observed(clean(own))
    assert outcomes_json(read_outcomes(content)) == content


def test_without_a_verifier_neither_file_names_it() -> None:
    assert b"own" not in outcomes_json(clean())
    assert b"own" not in record(clean())
    assert read_outcomes(outcomes_json(clean())).verifier is None


def test_rewards_as_they_should_be_are_all_that_they_add() -> None:
    plain, asked = (json.loads(record(clean(own))) for own in (None, (0.0, 1.0)))
    assert asked.pop("own_verifier") == {"empty": 0.0, "oracle": 1.0}
    assert {**asked, "outcomes": plain["outcomes"]} == plain
    text = outcomes_json(clean((0.0, 1.0))).decode()
    assert '"own_verifier": {"empty": 0.0, "oracle": 1.0}' in text


@pytest.mark.parametrize("own", REWARDS[1:], ids=str)
def test_other_rewards_refuse(own: tuple[float, float]) -> None:
    document = json.loads(record(clean(own)))
    assert document["verdict"] == Verdict.REFUSED
    assert [reason["rule"] for reason in document["reasons"]] == ["own-verifier"]
    assert document["confirmation"] is None


HIGH: list[Any] = [1.5, -0.5, 1, True, None, "1.0", [1.0], 1e300]
LOW: list[Any] = [1.0000001, -1e-9, 0, False, None, "0.0", {}]
BAD_REWARDS: list[Any] = [
    [],
    [0.0, 1.0],
    "0 1",
    1.0,
    True,
    {},
    {"empty": 0.0},
    {"oracle": 1.0},
    *({"empty": 0.0, "oracle": reward} for reward in HIGH),
    *({"empty": reward, "oracle": 1.0} for reward in LOW),
]


@pytest.mark.parametrize("rewards", BAD_REWARDS, ids=str)
def test_rewards_that_are_none_are_refused(rewards: Any) -> None:
    document = json.loads(outcomes_json(clean((0.0, 1.0))))
    document["controls"]["own_verifier"] = rewards
    with pytest.raises(StoreError) as caught:
        read_outcomes(json.dumps(document).encode())
    assert str(caught.value).startswith("outcomes.json is not one of ours")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_reward_that_is_no_number_is_refused(number: str) -> None:
    content = outcomes_json(clean((0.0, 1.0)))
    assert content.count(b'"oracle": 1.0') == 1
    with pytest.raises(StoreError):
        read_outcomes(content.replace(b'"oracle": 1.0', f'"oracle": {number}'.encode()))


@settings(deadline=None)
@given(
    evidence=evidences(),
    own=st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)),
    template=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=3).map(tuple),
)
def test_any_evidence_with_them_reads_back(
    evidence: Evidence, own: tuple[float, float] | None, template: tuple[str, ...]
) -> None:
    def spelt(runs: tuple[Run, ...]) -> tuple[Run, ...]:
        return tuple(replace(run, template=template) for run in runs)

    whole = replace(evidence, verifier=own, empty=spelt(evidence.empty), confirm_oracle=spelt(evidence.confirm_oracle))
    content = outcomes_json(whole)
    assert read_outcomes(content) == whole
    assert outcomes_json(read_outcomes(content)) == content
