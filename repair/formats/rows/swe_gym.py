"""SWE-Gym rows: SWE-bench's columns for eleven other repos, without command, image or set-up commit.

Rows of several formats have these columns, so the repo decides. pytest runs in the image's conda environment. Copies of
the rows have scripts that install the repo again before the tests; a task does not need them.
"""

from __future__ import annotations

from repair.formats import commands
from repair.formats.base import Draft, Row, RowFormat, Wants, image_of, instance_id, text
from repair.formats.rows.swebench import COMMON, OTHERS, base, has

IMAGE = "xingyaoww/sweb.eval.x86_64.{id_s}:latest"
REPOS = frozenset(
    {
        *("getmoto/moto", "pandas-dev/pandas", "python/mypy", "dask/dask", "project-monai/monai", "pydantic/pydantic"),
        *("conan-io/conan", "iterative/dvc", "facebookresearch/hydra", "bokeh/bokeh", "modin-project/modin"),
    }
)


def _fits(row: Row) -> bool:
    known = str(row.get("repo")).lower() in REPOS and not has(row, "environment_setup_commit")
    return known and has(row, *COMMON, "FAIL_TO_PASS", "PASS_TO_PASS") and not any(name in row for name in OTHERS)


def _draft(row: Row, wants: Wants) -> Draft:
    text(row, "test_patch")
    instance_id(row)  # the image's name is made from it
    image = image_of(row, wants, "image_name", "docker_image", "image", default=IMAGE)
    return base(row, image=image, runtime={"workdir": commands.TESTBED, **commands.conda_pytest(wants)})


FORMAT = RowFormat(
    name="swe-gym",
    title="SWE-Gym",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_fits,
    draft=_draft,
)
