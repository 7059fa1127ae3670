"""SWE-smith rows: `patch` makes the bug, so the task begins with it applied, and the reference takes it back.

A row has no hidden tests besides the repo's own, and no command: pytest runs in the image's conda environment. The
image holds the repo without the bug.
"""

from __future__ import annotations

from repair.errors import UsageError
from repair.formats import commands
from repair.formats.base import Draft, Row, RowError, RowFormat, Wants, image_of, optional_text, patch
from repair.formats.rows.swebench import OTHERS, base, has
from repair.panel import patches

MIRRORS = "swesmith/"  # where the publisher keeps the repos, one for each commit


def _fits(row: Row) -> bool:
    known = has(row, "image_name") or str(row.get("repo")).startswith(MIRRORS)
    columns = has(row, "instance_id", "repo", "patch", "FAIL_TO_PASS", "PASS_TO_PASS")
    # a row with hidden tests or a set-up commit is of another format, in which the patch fixes the bug
    others = optional_text(row, "test_patch") is not None or has(row, "environment_setup_commit")
    return known and columns and not others and not any(name in row for name in OTHERS)


def _draft(row: Row, wants: Wants) -> Draft:
    bug = patch(row, "patch") or b""
    try:
        reference = patches.reverse(bug)
    except UsageError as err:
        raise RowError("patch", str(err)) from None
    draft = base(
        row,
        image=image_of(row, wants, "image_name"),
        entry_patch=bug,
        oracle_patch=reference,
        tests_patch=None,
        runtime={"workdir": commands.TESTBED, **commands.conda_pytest(wants)},
    )
    ids = (*draft.f2p, *draft.p2p)
    if wants.test_cmd is None and ids and not any(".py" in test for test in ids):
        raise RowError("FAIL_TO_PASS", "names no test of pytest's, and the row no command; give --test-cmd")
    return draft


FORMAT = RowFormat(
    name="swe-smith",
    title="SWE-smith",
    f2p=("FAIL_TO_PASS",),
    p2p=("PASS_TO_PASS",),
    fits=_fits,
    draft=_draft,
)
