"""Foreign formats in real containers: imported, repaired, given back with other lists and nothing else, and clean then.

The rows are our own, written as their publishers write them; foreign.py says what is run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from repair.formats import exporting, importing
from repair.formats.base import Wants
from repair.formats.directories.harbor import IMAGES
from repair.formats.importing import Choice
from repair.formats.source import read
from repair.model import Verdict
from repair.panel import read as panel_read
from repair.pipeline import Result
from repair.records.check import Soundness, examine_all
from repair.text import sha256
from tests.engine.conftest import BuildImage
from tests.engine.foreign import FOREIGN, Built, Foreign, build
from tests.engine.lab import Lab, docker, record, write_panel
from tests.formats import rows
from tests.support.paths import TESTS

pytestmark = pytest.mark.engine

EACH = pytest.mark.parametrize("foreign", FOREIGN, ids=lambda foreign: foreign.name)
RECORD = re.compile(rb'^repair_record = "sha256:([0-9a-f]{64})"\n', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of one task for each of FOREIGN: its directory, the tasks' names, and what its run gave."""

    directory: Path
    names: Mapping[str, str]
    results: Mapping[str, Result]

    def result(self, foreign: Foreign) -> Result:
        return self.results[self.names[foreign.name]]


def imported(lab: Lab, built: Built, sources: Mapping[str, Path]) -> Panel:
    """Import each source and run them all in one panel."""
    panel, names = write_panel(lab.fresh(), "[policy]\nmin_p2p = 2\n"), {}
    for foreign in FOREIGN:
        image = built.images[foreign.template] if foreign.template else None
        made = lab.fresh() / "panel"
        found = importing.run(sources[foreign.name], made, Choice(), Wants(image_template=image))
        assert (found.tasks, found.reasons, found.no_junit) == (1, [], [])
        assert list(found.formats) == [foreign.format]
        (names[foreign.name],) = panel_read.task_names(made)
        shutil.move(made / names[foreign.name], panel)
    return Panel(panel, names, lab.run(panel))


@pytest.fixture(scope="module")
def built(build_image: BuildImage) -> Built:
    subprocess.run([TESTS / "images" / "build_runners"], check=True)
    return build(
        build_image,
        lambda image: docker("run", "--rm", "--network", "none", image, "git", "-C", "/app", "rev-parse", "hidden"),
    )


@pytest.fixture(scope="module")
def sources(lab: Lab, built: Built) -> dict[str, Path]:
    return {foreign.name: foreign.write(lab.fresh(), built, foreign.ids.p2p) for foreign in FOREIGN}


@pytest.fixture(scope="module")
def panel(lab: Lab, built: Built, sources: dict[str, Path]) -> Iterator[Panel]:
    made = imported(lab, built, sources)
    yield made
    for image in {result.task.image for result in made.results.values()}:
        if image.startswith(f"{IMAGES}/") and docker("images", "--quiet", image):
            docker("image", "rm", image)


@pytest.fixture(scope="module")
def exports(lab: Lab, panel: Panel) -> dict[str, Path]:
    """Each task of the panel alone, in the format that it came from."""
    made = {}
    for foreign in FOREIGN:
        name = panel.names[foreign.name]
        made[foreign.name] = lab.fresh() / ("tasks" if foreign.made is None else "rows.jsonl")
        exporting.run(panel_read.load(panel.directory, name.__eq__), made[foreign.name], "same", every=False)
    return made


@pytest.fixture(scope="module")
def again(lab: Lab, built: Built, exports: dict[str, Path]) -> Panel:
    return imported(lab, built, exports)


def content(path: Path) -> dict[str, bytes | str]:
    """A file, or all of a directory."""
    return rows.tree(path) if path.is_dir() else {path.name: path.read_bytes()}


@EACH
def test_what_no_control_can_pass_is_dropped_and_the_rest_confirmed(panel: Panel, foreign: Foreign) -> None:
    result = panel.result(foreign)
    assert result.error is None, result.error
    document = record(result.task.directory)
    dropped = {test: group for group in document["dropped"] for test in group["ids"]}
    assert {test: (group["empty"], group["oracle"]) for test, group in dropped.items()} == {
        test: (outcome, outcome) for test, outcome in foreign.ids.gone.items()
    }
    assert {(group["list"], group["rule"]) for group in dropped.values()} == {("P2P", "failed-both")}
    assert document["verdict"] == "repaired", document["reasons"]
    assert result.decision is not None
    assert (result.decision.kept_f2p, set(result.decision.kept_p2p)) == (foreign.ids.f2p, set(foreign.ids.good))


@EACH
def test_what_is_given_back_differs_in_its_lists_alone(
    tmp_path: Path, built: Built, panel: Panel, exports: dict[str, Path], foreign: Foreign
) -> None:
    found, wanted = content(exports[foreign.name]), content(foreign.write(tmp_path, built, foreign.ids.good))
    for name in [name for name in found if name.endswith("task.toml")]:
        text = found[name]
        assert isinstance(text, bytes)
        written = (panel.directory / panel.names[foreign.name] / "repair.json").read_bytes()
        assert RECORD.findall(text) == [sha256(written).removeprefix("sha256:").encode()]
        found[name] = RECORD.sub(b"", text)
    assert found == wanted


@EACH
def test_what_was_imported_lies_beside_the_task_unchanged(
    sources: dict[str, Path], panel: Panel, foreign: Foreign
) -> None:
    task = panel.directory / panel.names[foreign.name]
    if foreign.made is not None:
        kept = read(task)
        assert kept is not None
        assert kept.row() + b"\n" == sources[foreign.name].read_bytes()
    else:
        (marked,) = sources[foreign.name].rglob("task.*")  # task.toml or task.yaml
        assert rows.tree(task / "source") == rows.tree(marked.parent)


@EACH
def test_imported_again_it_is_clean(again: Panel, foreign: Foreign) -> None:
    result = again.result(foreign)
    assert result.error is None, result.error
    assert result.decision is not None
    assert (result.decision.verdict, result.decision.dropped) == (Verdict.CLEAN, ())
    assert (result.task.f2p, set(result.task.p2p)) == (foreign.ids.f2p, set(foreign.ids.good))


def test_all_records_are_sound(panel: Panel, again: Panel) -> None:
    found = [one.soundness for each in (panel, again) for one in examine_all(panel_read.load(each.directory))]
    assert found == [Soundness.SOUND] * 2 * len(FOREIGN)
