"""SWE-Gym rows: known by their repos, since their columns are SWE-bench's."""

from __future__ import annotations

import pytest

from repair.formats.base import Wants
from repair.formats.rows import swebench
from repair.formats.rows.swe_gym import FORMAT, REPOS
from tests.formats import rows


def test_a_copy_with_scripts_is_the_same_task() -> None:
    scripts = dict.fromkeys(("regression_script", "setup_script", "test_script"), "#!/bin/bash\nfalse\n")
    assert FORMAT.draft(rows.gym(**scripts), Wants()) == FORMAT.draft(rows.gym(), Wants())


@pytest.mark.parametrize("column", ["image_name", "docker_image", "image"])
def test_a_copy_may_name_its_image(column: str) -> None:
    assert FORMAT.draft(rows.gym(**{column: "acme/dvc:12"}), Wants()).image == "acme/dvc:12"


@pytest.mark.parametrize("repo", sorted(REPOS))
def test_rows_of_its_repos_fit_and_are_not_swe_benchs(repo: str) -> None:
    assert FORMAT.fits(rows.gym(repo=repo))
    assert not swebench.CLASSIC.fits(rows.gym(repo=repo))
