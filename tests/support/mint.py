"""What `repair mint` makes of outcomes that are written as letters, without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from repair.mint.classes import derive, try_out
from repair.mint.document import Minted
from repair.model import Image, Inputs, Observed, Outcome, Policy, Run, Task
from tests.support.tables import LETTERS

POLICY = Policy(min_p2p=0)
INPUTS = Inputs("1" * 64, None, "2" * 64, None)
GOOD = {"new": ("FF", "PP"), "old": ("PP", "PP"), "old2": ("PP", "PP")}
BROKEN = Observed(Outcome.MISSING, "tests/test_z.py: ModuleNotFoundError: No module named 'ledger'")
HOSTILE = 'tests/a\x1b[2J\u202eb.py::test\r[\x7f\ud800\n"é</script>]'


def runs(tests: Mapping[str, tuple[str, str]], which: int) -> list[Run]:
    number = len(next(iter(tests.values()), ("P", "P"))[which])
    return [
        Run(
            "sha256:image",
            1,
            {},
            deadly=("never",) if "never" in tests else (),
            found={
                test: Observed(LETTERS[pair[which][at]], "" if pair[which][at] == "P" else f"why\x1b {test}")
                for test, pair in tests.items()
            },
            broken={"tests/test_z.py": BROKEN},
        )
        for at in range(number)
    ]


def minted(tests: Mapping[str, tuple[str, str]], policy: Policy = POLICY, *, tried: bool = False) -> Minted:
    empty, oracle = runs(tests, 0), runs(tests, 1)
    found = derive(empty, oracle, policy)
    if tried:
        pair = [[replace(run, observed=run.found) for run in many[:1]] for many in (empty, oracle)]
        found = try_out(found, pair[0], pair[1], policy)
    task = Task("acme-17", "acme/ledger:1", found.f2p, found.p2p, b"", None, Path("/nowhere/acme-17"))
    image = Image("sha256:" + "1" * 64, None, "linux/amd64")
    files = ("tests/test_a.py", "tests/test_z.py")
    return Minted(
        task, "0.1.0", image, INPUTS, policy, "tests.patch", files, tuple(empty), tuple(oracle), found, int(tried)
    )
