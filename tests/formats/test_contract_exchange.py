"""What every format of the registry promises of import and export: all is kept, and of the lists alone some ids go.

Each source is imported once and exported once in each way, and all tests look at what came of that.
"""

from __future__ import annotations

import functools
import itertools
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair.errors import UsageError
from repair.formats import exporting, importing, registry
from repair.formats import source as formats_source
from repair.formats.base import Wants
from repair.formats.importing import Choice
from repair.model import Task
from repair.panel import read
from repair.text import sha256
from tests.formats import rows, sources
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import ROWS
from tests.formats.sources import Source
from tests.support import records
from tests.support.exchange import dropped_of, export, imported, only_task, record, take


@dataclass(frozen=True, slots=True)
class Taken:
    """A source that was imported: by which format, what was said, and its tasks in the order of the source."""

    name: str
    source: Source
    preflight: importing.Preflight
    tasks: Sequence[Task]


@dataclass(frozen=True, slots=True)
class Out:
    """An export: the panel that it is of, what was said of it, and where it lies."""

    panel: Path
    said: exporting.Exported
    path: Path


@pytest.fixture(scope="module", params=sources.EVERY, ids=lambda every: f"{every[0]}-{every[1]}")
def taken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    name, _, make = request.param
    source = make(name, tmp_path_factory.mktemp("source"))
    preflight, tasks = take(source.path)
    return Taken(name, source, preflight, [tasks[draft.instance_id] for draft in source.drafts])


def out(taken: Taken, how: str, dropped: Sequence[str] | None) -> Out:
    """An export of the panel, with records that drop some ids, or with None of all that has no record."""
    source = taken.source.path
    panel = shutil.copytree(source.with_name("taken"), source.with_name(f"panel-{how}"))
    if dropped is not None:
        record(panel, dropped)
    path = panel.with_name(f"out-{how}{source.suffix}")
    return Out(panel, export(panel, path, every=dropped is None), path)


@pytest.fixture(scope="module")
def whole(taken: Taken) -> Out:
    return out(taken, "whole", None)


@pytest.fixture(scope="module")
def clean(taken: Taken) -> Out:
    return out(taken, "clean", ())


@pytest.fixture(scope="module")
def short(taken: Taken) -> Out:
    return out(taken, "short", taken.source.dropped)


@pytest.fixture(scope="module")
def native(short: Out) -> Out:
    path = short.panel.with_name("out-native")
    return Out(short.panel, export(short.panel, path, registry.NATIVE), path)


# ---- in


def test_a_task_is_what_its_format_says_of_it(taken: Taken) -> None:
    preflight, count = taken.preflight, len(taken.source.drafts)
    assert (preflight.rows, preflight.left_out, preflight.reasons) == (count, 0, [])
    assert preflight.formats == {taken.name: count}
    for task, draft in zip(taken.tasks, taken.source.drafts, strict=True):
        assert (task.image, task.base_commit) == (draft.image, draft.base_commit)
        assert (task.f2p, task.p2p) == (draft.f2p, draft.p2p) == taken.source.lists
        patches = draft.oracle_patch, draft.tests_patch, draft.entry_patch
        assert (task.oracle_patch, task.tests_patch, task.entry_patch) == patches
        assert (task.directory / "instruction.md").read_bytes() == draft.instruction.encode()
        written = json.loads((task.directory / "task.json").read_bytes())
        assert {key: written[key] for key in draft.runtime} == dict(draft.runtime)


def test_a_task_remembers_where_it_came_from(taken: Taken) -> None:
    source = taken.source
    for number, task in enumerate(taken.tasks, 1):
        remembered = formats_source.read(task.directory)
        assert remembered is not None
        assert (remembered.format, remembered.container, remembered.number) == (taken.name, source.container, number)
        assert Path(remembered.file).name == (task.instance_id if source.path.is_dir() else source.path.name)
        assert source.part(task.directory) == source.parts[number - 1]


@pytest.mark.parametrize("name", registry.ROWS)
def test_a_format_of_rows_may_be_named(name: str, tmp_path: Path) -> None:
    source = rows.jsonl(tmp_path / "rows.jsonl", [ROWS[name].build()])
    assert take(source, Choice(format=name))[0].formats == {name: 1}


def test_rows_of_all_formats_may_be_mixed(tmp_path: Path) -> None:
    named = ((number, sample, sample.ident or "instance_id") for number, sample in enumerate(ROWS.values(), 1))
    mixed = [sample.build(number, **{column: f"task-{number}"}) for number, sample, column in named]
    preflight, _ = take(rows.jsonl(tmp_path / "rows.jsonl", mixed))
    assert preflight.formats == dict.fromkeys(registry.ROWS, 1)


# ---- and out again


def test_where_no_id_is_dropped_all_comes_back(taken: Taken, whole: Out, clean: Out) -> None:
    names = sorted(task.instance_id for task in taken.tasks)
    for exported in (whole, clean):
        assert taken.source.content(exported.path) == taken.source.wanted(())
        assert (exported.said.format, sorted(exported.said.tasks)) == (taken.name, names)
        assert (exported.said.dropped, exported.said.left_out) == (0, ())
        assert (exported.said.lost, exported.said.changed, exported.said.stale) == ({}, {}, {})
    assert whole.said.untrimmed == tuple((name, "its record is absent") for name in names)
    assert clean.said.untrimmed == ()


@pytest.mark.parametrize("name", [*registry.ROWS, *registry.DIRECTORIES])
def test_what_was_imported_with_wishes_is_exported_without(name: str, tmp_path: Path) -> None:
    if name in DIRECTORIES:
        DIRECTORIES[name].make(tmp_path / "source", files=DIRECTORIES[name].unasked)
        read_out: Callable[[Path], object] = rows.tree
    else:
        rows.jsonl(tmp_path / "source", [ROWS[name].build(**ROWS[name].unasked)])
        read_out = Path.read_bytes
    (task,) = take(tmp_path / "source", Choice(format=name), Wants("acme/{id}", "pytest"))[1].values()
    assert (task.image, "pytest" in task.test_cmd) == (f"acme/{task.instance_id.lower()}", True)
    export(tmp_path / "taken", tmp_path / "out", every=True)
    assert read_out(tmp_path / "out") == read_out(tmp_path / "source")


def test_of_the_lists_the_dropped_ids_alone_go(taken: Taken, short: Out) -> None:
    """What comes out is what the publisher would have written of the shorter lists, to the byte."""
    assert taken.source.content(short.path) == taken.source.wanted(taken.source.dropped)
    assert short.said.dropped == len(taken.tasks) * len(taken.source.dropped)
    assert (short.said.untrimmed, short.said.left_out) == ((), ())


def test_an_export_names_the_records_that_trimmed_it(taken: Taken, whole: Out, clean: Out, short: Out) -> None:
    assert list(taken.source.digests(whole.path)) == []
    for exported in (clean, short):
        records_of = (exported.panel / task.instance_id / "repair.json" for task in taken.tasks)
        digests = sorted(sha256(file.read_bytes()) for file in records_of)
        assert list(taken.source.digests(exported.path)) == (digests if taken.source.names_records else [])


def test_what_goes_out_can_be_imported_again(taken: Taken, short: Out) -> None:
    importing.run(short.path, short.path.with_name("again"), Choice(), Wants())
    again = {task.instance_id: task for task in read.load(short.path.with_name("again")).tasks}
    for task in taken.tasks:
        assert (again[task.instance_id].f2p, again[task.instance_id].p2p) == taken.source.kept


def test_a_native_copy_has_trimmed_lists_and_no_record(taken: Taken, native: Out) -> None:
    assert (native.said.format, native.said.lost) == ("native", {})
    assert native.said.dropped == len(taken.tasks) * len(taken.source.dropped)
    assert (native.path / "panel.toml").read_bytes() == (native.panel / "panel.toml").read_bytes()
    ours = ("source.json", "source/", "repair.json", "outcomes.json", "task.json")
    for before in taken.tasks:
        after = records.load(native.path / before.instance_id)[1]
        assert (after.f2p, after.p2p) == taken.source.kept
        assert without_lists(after) == without_lists(before)
        kept, copied = (
            {name: content for name, content in rows.tree(task.directory).items() if not f"{name}/".startswith(ours)}
            for task in (before, after)
        )
        assert copied == kept
        assert not {"source", "source.json", "repair.json"} & {path.name for path in after.directory.iterdir()}


def without_lists(task: Task) -> dict[str, object]:
    document = json.loads((task.directory / "task.json").read_bytes())
    return {key: value for key, value in document.items() if not key.endswith("_TO_PASS")}


# ---- and into another format

TARGETS = [name for name, known in registry.ROWS.items() if known.write is not None]
CONVERSIONS = [(name, target) for name, target in itertools.product(registry.ROWS, TARGETS) if name != target]


def obstacles(name: str, target: str) -> set[str]:
    """What makes a task another one in a format that cannot hold it."""
    task, other = ROWS[name].draft, ROWS[target].draft.runtime
    keys = {key for key in ("workdir", "id_template") if task.runtime.get(key) != other.get(key)}
    return keys | ({"entry.patch"} if task.entry_patch is not None else set())


@pytest.fixture(scope="module")
def panel_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A panel with one task of a format, whose record drops ids; made once."""

    @functools.cache
    def panel(name: str) -> Path:
        sample = ROWS[name]
        made = imported(rows.jsonl(tmp_path_factory.mktemp("panel") / "rows.jsonl", [sample.build()]))
        record(made, dropped_of(sample.draft.f2p, sample.draft.p2p))
        return made

    return panel


@pytest.mark.parametrize(("name", "target"), [each for each in CONVERSIONS if not obstacles(*each)])
def test_a_converted_row_is_the_same_task(
    panel_of: Callable[[str], Path], tmp_path: Path, name: str, target: str
) -> None:
    before, sample = only_task(panel_of(name)), ROWS[name]
    dropped = dropped_of(sample.draft.f2p, sample.draft.p2p)
    done = export(panel_of(name), tmp_path / "out.jsonl", target)
    assert (done.format, len(done.tasks), done.dropped) == (target, 1, len(dropped))
    preflight, tasks = take(tmp_path / "out.jsonl")
    assert (preflight.formats, preflight.reasons) == ({target: 1}, [])
    (after,) = tasks.values()
    assert after.instance_id == before.instance_id
    assert after.f2p == tuple(test for test in before.f2p if test not in dropped)
    assert after.p2p == tuple(test for test in before.p2p if test not in dropped)
    assert (after.oracle_patch, after.tests_patch) == (before.oracle_patch, before.tests_patch)
    assert (after.directory / "instruction.md").read_bytes() == (before.directory / "instruction.md").read_bytes()
    assert all(list(tasks) == [before.instance_id] for tasks in done.lost.values())
    assert after.image == before.image
    for key, value in (("image", before.image), ("workdir", before.workdir), ("base_commit", before.base_commit)):
        assert key in done.lost or getattr(after, key) == value, key
    if "test_cmd" not in done.lost:
        assert after.framework == before.framework
        inner = command(after).removeprefix(f"cd {before.workdir} || exit ( ").removesuffix(" )")
        assert inner.count("-rA") == 1
        assert inner.replace(" -rA", "") == command(before).replace(" -rA", "")


def command(task: Task) -> str:
    text = task.test_cmd if isinstance(task.test_cmd, str) else " ".join(task.test_cmd)
    return " ".join(text.replace('"$@"', "").split())


@pytest.mark.parametrize(("name", "target"), [each for each in CONVERSIONS if obstacles(*each)])
def test_a_row_that_would_be_another_task_is_refused(
    panel_of: Callable[[str], Path], tmp_path: Path, name: str, target: str
) -> None:
    with pytest.raises(UsageError) as caught:
        export(panel_of(name), tmp_path / "out.jsonl", target)
    head, task = str(caught.value).splitlines()
    assert head == f"in {target} 1 of 1 tasks would be other tasks, for what it cannot hold"
    ident, _, what = task.partition(";")[0].partition(": ")
    assert ident == ROWS[name].draft.instance_id
    assert obstacles(name, target) <= set(what.split(", "))
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("target", [name for name in (*registry.ROWS, *registry.DIRECTORIES) if name not in TARGETS])
def test_a_format_that_takes_no_other_s_tasks_says_so(
    panel_of: Callable[[str], Path], tmp_path: Path, target: str
) -> None:
    named = ": acme__ledger-7" if target in DIRECTORIES else "; "
    with pytest.raises(UsageError, match=f"^{target} cannot hold tasks of another format{named}"):
        export(panel_of("swe-bench"), tmp_path / "out", target)
    assert not (tmp_path / "out").exists()
