"""Whoever's bytes they are: every reader takes them or refuses them in its own words, whatever was done to them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repair.panel import keys
from tests.fuzz import strategies
from tests.fuzz.seeds import EVENTS, SEEDS
from tests.fuzz.strategies import ODD_IDS, ODD_VALUES, as_json, damaged, junit_reports, replaced
from tests.fuzz.targets import FILES, SEPARATOR, TARGETS

SLOW = {"rows": 30, "harbor": 30, "task_repo": 30, "journal": 40, "ids": 60, "written": 80, "links": 60}  # examples
QUICK = 100


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    """The good inputs of every target."""
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in SEEDS.items()}


@pytest.fixture
def hunt(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Give a target what a strategy makes: `hunt("report", strategy)`. Each input finds what the last one left."""

    def look(name: str, strategy: st.SearchStrategy[bytes]) -> None:
        def one(data: bytes) -> None:
            TARGETS[name](data, tmp_path)

        one.__qualname__ = f"{request.node.name}_{name}"
        quick = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.large_base_example]
        limited = settings(max_examples=SLOW.get(name, QUICK), suppress_health_check=quick)
        limited(given(strategy)(one))()

    return look


def test_every_target_has_good_inputs(good: dict[str, list[bytes]]) -> None:
    assert good.keys() == TARGETS.keys()
    assert all(good.values())


@pytest.mark.parametrize("name", TARGETS)
def test_good_input_is_read(name: str, good: dict[str, list[bytes]], tmp_path: Path) -> None:
    for data in good[name]:
        TARGETS[name](data, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused(name: str, good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt(name, damaged(good[name]))


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str, hunt: Any) -> None:
    hunt(name, st.binary(max_size=60) | st.lists(st.sampled_from(strategies.TOKENS), max_size=20).map(b"".join))


# ---- reports, ids and records


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_trees_of_junit_elements(packed: bool, hunt: Any) -> None:
    hunt("report", junit_reports().map(gzip.compress) if packed else junit_reports())


def test_damaged_gzip(good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt("report", damaged([data for data in good["report"] if data.startswith(b"\x1f\x8b")]))


def test_odd_ids_in_odd_reports(hunt: Any) -> None:
    listed = st.lists(ODD_IDS, max_size=5).map(lambda ids: "\n".join(ids).encode("utf-8", "surrogatepass"))
    hunt("ids", st.tuples(listed | st.lists(ODD_IDS).map(as_json), junit_reports()).map(SEPARATOR.join))


def test_events_of_odd_values(hunt: Any) -> None:
    event = replaced([list(event) for event in EVENTS]).map(lambda found: as_json(found) + b"\n")
    process = st.lists(event | st.sampled_from([as_json(found) + b"\n" for found in EVENTS]), max_size=12).map(b"".join)
    hunt("events", st.lists(process, min_size=1, max_size=FILES).map(SEPARATOR.join))


# ---- tasks and panels


def test_task_keys_of_any_kind(good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt("task", replaced([json.loads(data) for data in good["task"]]).map(as_json))


@pytest.mark.parametrize("key", keys.TASK_JSON)
def test_a_task_key_of_any_kind(key: str, good: dict[str, list[bytes]], hunt: Any) -> None:
    plain = json.loads(good["task"][0])
    hunt("task", ODD_VALUES.map(lambda value: as_json({**plain, key: value})))


def test_panel_keys_of_any_kind(hunt: Any) -> None:
    names = [*keys.PANEL, *(key for section, _ in keys.SECTIONS.values() for key in section), "x"]
    hunt("panel", strategies.panels(names))


def test_diffs_of_lines_of_diffs(good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt("patch", strategies.diffs(good["patch"]))


def test_links_that_lead_anywhere(hunt: Any) -> None:
    name = st.sampled_from(["p", "p/panel.toml", "p/t", "..", ".", "/", "a/b/c", "l", "panel.toml", ""]) | ODD_IDS
    line = st.tuples(name, name).map(" -> ".join) | name
    hunt("links", st.lists(line, max_size=12).map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass")))


# ---- our own records, and foreign rows


@pytest.mark.parametrize("name", ["outcomes", "mint", "journal"])
def test_records_with_other_values(name: str, good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt(name, replaced([json.loads(data) for data in good[name]]).map(as_json))


def test_records_with_other_values_beside_their_task(good: dict[str, list[bytes]], hunt: Any) -> None:
    files = [[json.loads(part) for part in data.split(SEPARATOR)] for data in good["written"]]
    hunt("written", replaced(files).map(lambda found: SEPARATOR.join(map(as_json, found)) if found else b""))


@pytest.mark.parametrize("which", [0, 1], ids=["repair.json", "outcomes.json"])
def test_one_record_of_two_with_other_values(which: int, good: dict[str, list[bytes]], hunt: Any) -> None:
    def changed(parts: list[bytes]) -> st.SearchStrategy[bytes]:
        other = replaced([json.loads(parts[which])]).map(as_json)
        return other.map(lambda found: SEPARATOR.join([*parts[:which], found, *parts[which + 1 :]]))

    hunt("written", st.sampled_from([data.split(SEPARATOR) for data in good["written"]]).flatmap(changed))


def test_rows_with_other_values(good: dict[str, list[bytes]], hunt: Any) -> None:
    lines = [json.loads(data[1:]) for data in good["rows"] if data[:1] == b"\1"]
    hunt("rows", st.lists(replaced(lines).map(as_json), max_size=4).map(lambda found: b"\1" + b"\n".join(found)))


YAML = (
    '!!int ""',
    "!!float ''",
    "!!bool x",
    "!!timestamp x",
    "2024-99-99",
    "&a [*a]",
    "*a",
    "{[a]: b}",
    "!!python/name:x",
)


@pytest.mark.parametrize("key", ["instance_id", "image", "assets"])
def test_settings_of_a_task_repo_of_any_kind(key: str, good: dict[str, list[bytes]], hunt: Any) -> None:
    (plain,) = good["task_repo"]
    odd = st.sampled_from(YAML) | ODD_VALUES.map(json.dumps)
    hunt("task_repo", odd.map(lambda value: plain.replace(SEPARATOR, f"{key}: {value}\n".encode() + SEPARATOR, 1)))


def test_sources_with_other_values(good: dict[str, list[bytes]], hunt: Any) -> None:
    hunt("source", replaced([json.loads(data) for data in good["source"]]).map(as_json))


# ---- archives


def test_headers_that_lie(hunt: Any) -> None:
    hunt("tar", strategies.archives())
