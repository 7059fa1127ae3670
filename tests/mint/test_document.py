"""mint.json: the same evidence gives the same bytes, which people can read and programs too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import StoreError
from repair.mint.classes import Derived, derive, try_out
from repair.mint.document import SCHEMA, Minted, mint_json
from repair.model import ListName
from repair.records.check import MINT, lists_in
from tests.support.mint import BROKEN, HOSTILE, POLICY, minted, runs

TESTS = {"new": ("FF", "PP"), "old": ("PP", "PP"), "flaky": ("PF", "FP"), "never": ("sF", "FF")}


def read(found: Minted) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(mint_json(found))
    return document


def test_what_it_says() -> None:
    document = read(minted(TESTS, tried=True))
    assert list(document) == [
        *("instance_id", "verdict", "reasons", "counts", "unlisted", "broken", "from", "files", "select", "image"),
        *("controls", "trials", "inputs", "policy", "schema", "tool", "tests"),
    ]
    assert (document["instance_id"], document["verdict"], document["reasons"]) == ("acme-17", "minted", [])
    assert document["counts"] == {**dict.fromkeys(map(str, Derived), 0), "F2P": 1, "P2P": 1, "flaky": 1, "never": 1}
    assert document["unlisted"] == [
        {
            "class": "flaky",
            "empty": "failed 1/2, passed 1/2",
            "oracle": "failed 1/2, passed 1/2",
            "cause": "why\x1b flaky",
            "count": 1,
            "ids": ["flaky"],
        },
        {
            "class": "never",
            "empty": "failed 1/2, skipped 1/2",
            "oracle": "failed",
            "cause": "why\x1b never",
            "count": 1,
            "ids": ["never"],
        },
    ]
    assert document["broken"] == [
        {"place": "tests/test_z.py", "empty": "missing", "oracle": "missing", "cause": BROKEN.cause}
    ]
    assert (document["from"], document["files"]) == ("tests.patch", ["tests/test_a.py", "tests/test_z.py"])
    assert document["controls"] == {kind: [{"exit": 1, "deadly": ["never"]}] * 2 for kind in ("empty", "oracle")}
    assert (document["trials"], document["schema"], document["tool"]) == (1, SCHEMA, "0.1.0")
    assert document["tests"] == {
        "flaky": {"class": "flaky", "empty": ["passed", "failed"], "oracle": ["failed", "passed"]},
        "never": {"class": "never", "empty": ["skipped", "failed"], "oracle": ["failed", "failed"]},
        "new": {
            "class": "F2P",
            "empty": ["failed", "failed"],
            "oracle": ["passed", "passed"],
            "tried": {"empty": ["failed"], "oracle": ["passed"]},
        },
        "old": {
            "class": "P2P",
            "empty": ["passed", "passed"],
            "oracle": ["passed", "passed"],
            "tried": {"empty": ["passed"], "oracle": ["passed"]},
        },
    }


def test_a_refused_task_says_why_first() -> None:
    document = read(minted({"gone": ("PP", "FF")}))
    assert list(document)[:3] == ["instance_id", "verdict", "reasons"]
    assert document["verdict"] == "refused"
    assert [(reason["rule"], reason.get("ids")) for reason in document["reasons"]] == [
        ("lost", ["gone"]),
        ("no-f2p", None),
    ]
    assert [group["class"] for group in document["unlisted"]] == ["lost"]


def test_a_task_in_which_nothing_was_found() -> None:
    document = read(minted({}))
    assert (document["tests"], document["counts"]) == ({}, dict.fromkeys(map(str, Derived), 0))


def test_a_place_that_only_one_control_could_read_shows_both() -> None:
    found = minted(TESTS)
    empty, oracle = list(found.empty), [replace(run, broken={}) for run in found.oracle]
    [place] = read(replace(found, derivation=derive(empty, oracle, POLICY)))["broken"]
    assert (place["empty"], place["oracle"]) == ("missing", "passed")
    assert place["cause"] == BROKEN.cause


@pytest.mark.parametrize("tried", [False, True], ids=["untried", "tried"])
def test_each_test_stands_on_a_line_of_its_own(tried: bool) -> None:
    lines = mint_json(minted(TESTS, tried=tried)).decode("ascii").splitlines()
    below = lines[lines.index(' "tests": {') + 1 : -2]
    assert [json.loads("{" + line.rstrip(",") + "}").keys() for line in below] == [{test} for test in sorted(TESTS)]
    assert lines[0] == "{"
    assert lines[-2:] == [" }", "}"]
    listed = [line.strip().rstrip(",") for line in lines[: lines.index(' "tests": {')]]
    assert {'"flaky"', '"never"'} <= set(listed), "ids that are in no list, a line each"


def test_the_order_in_which_things_were_found_is_in_no_byte() -> None:
    found = minted(TESTS)
    turned = [
        [replace(run, found=dict(list(run.found.items())[::-1]), broken=dict(run.broken)) for run in many]
        for many in (found.empty, found.oracle)
    ]
    other = replace(
        found, empty=tuple(turned[0]), oracle=tuple(turned[1]), derivation=derive(turned[0], turned[1], POLICY)
    )
    assert mint_json(other) == mint_json(found) == mint_json(minted(TESTS))


def test_no_path_of_this_machine_and_no_time_is_in_it() -> None:
    content = mint_json(minted(TESTS))
    assert b"/nowhere" not in content
    assert mint_json(replace(minted(TESTS), task=replace(minted(TESTS).task, directory=Path("/else")))) == content


def test_hostile_ids_and_causes_are_ascii_and_read_back() -> None:
    content = mint_json(minted({HOSTILE: ("FF", "PP"), "new": ("PF", "FF"), "": ("PP", "PP")}))
    assert content.isascii()
    assert not [byte for byte in content if byte < 32 and byte != 10]
    assert b"\x7f" not in content
    document = json.loads(content)
    assert set(document["tests"]) == {HOSTILE, "new", ""}
    assert document["tests"][HOSTILE]["class"] == "unlistable", "a line end is in it"
    assert document["tests"][""]["class"] == "unlistable"
    lines = content.decode("ascii").splitlines()
    assert sum(line.startswith("  ") for line in lines[lines.index(' "tests": {') :]) == 3


@given(
    st.dictionaries(
        st.text(), st.sampled_from([("F", "P"), ("P", "P"), ("P", "F"), ("F", "F"), ("s", "s")]), max_size=6
    ),
    st.booleans(),
)
def test_any_ids_make_a_document(tests: dict[str, tuple[str, str]], tried: bool) -> None:
    found = minted(tests, tried=tried)
    content = mint_json(found)
    document = json.loads(content.decode("ascii"))
    assert {test: said["class"] for test, said in document["tests"].items()} == dict(found.derivation.classes)
    assert sum(document["counts"].values()) == len(tests)
    assert sorted(test for group in document["unlisted"] for test in group["ids"]) == sorted(
        test for test, said in document["tests"].items() if said["class"] not in ("F2P", "P2P")
    )
    assert content.endswith(b"}\n")
    assert content.count(b"\n\n") == 0


def test_what_its_trial_showed_as_lost_is_told_as_the_trial_showed_it() -> None:
    found = minted(TESTS)
    trial = {**TESTS, "old": ("PP", "FF")}
    empty, oracle = ([replace(run, observed=run.found) for run in runs(trial, which)] for which in (0, 1))
    document = read(replace(found, derivation=try_out(found.derivation, empty, oracle, POLICY)))
    [reason] = document["reasons"]
    assert (reason["rule"], reason["empty"], reason["oracle"]) == ("lost", "passed", "failed")
    [group] = [group for group in document["unlisted"] if group["class"] == "lost"]
    assert (group["empty"], group["oracle"], group["ids"]) == ("passed", "failed", ["old"])
    assert document["verdict"] == "refused"


# ---- read back


@given(
    st.dictionaries(
        st.text(), st.sampled_from([("F", "P"), ("P", "P"), ("P", "F"), ("F", "F"), ("s", "s")]), max_size=6
    ),
    st.booleans(),
)
def test_the_lists_are_read_back_as_they_were_given(tests: dict[str, tuple[str, str]], tried: bool) -> None:
    found = minted(tests, tried=tried)
    lists = lists_in(mint_json(found))
    assert lists == {ListName.F2P: found.derivation.f2p, ListName.P2P: found.derivation.p2p}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"{}",
        b'{"tests": []}',
        b'{"tests": {"t": "P2P"}}',
        b'{"tests": {"t": {"empty": []}}}',
        b'{"tests": {"t": {"class": ["P2P"]}}}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_mint_json_says_so(content: bytes) -> None:
    with pytest.raises(StoreError, match=r"mint\.json is not one of ours"):
        lists_in(content)


def test_the_file_has_one_name() -> None:
    assert MINT == "mint.json"
