"""Listed ids that look wrong before anything runs, such as a path of the builder's machine. Pure.

An import warns of them and drops none of them: the controls decide. The warnings show how the lists were made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum


class Suspect(StrEnum):
    """What is wrong with an id."""

    TWICE = "listed twice"
    BOTH = "in both lists"
    PROGRESS = "a progress mark of a log"
    HOST_PATH = "a path of the builder's machine"
    CUT = "cut at a blank or bracket"
    NO_NODE_ID = "no pytest node id"


_PROGRESS = re.compile(r"(?:^|\s)\[\s*\d{1,3}%\]")
_HOSTS = ("home", "Users", "workspace", "workspaces", "private/var", "builds", "mnt")
_HOST_PATH = re.compile(rf"(?:^|[^\w.:/])/(?:{'|'.join(_HOSTS)})/\w|(?:^|[^\w])[A-Z]:\\")
_HOST_SIGNS = (*(f"/{name}/" for name in _HOSTS), ":\\")


def of(f2p: Iterable[str], p2p: Iterable[str], *, node_ids: bool) -> Iterator[tuple[Suspect, str]]:
    """Each suspect id with what is wrong with it. `node_ids`: the ids should be pytest's node ids."""
    lists = (list(f2p), list(p2p))
    sets = (set(lists[0]), set(lists[1]))
    for ids, distinct in zip(lists, sets, strict=True):
        if len(distinct) < len(ids):
            for test, times in Counter(ids).items():
                if times > 1:
                    yield Suspect.TWICE, test
    for test in sorted(sets[0] & sets[1]):
        yield Suspect.BOTH, test
    union = sets[0] | sets[1]
    text = "\n".join(union)  # most lists hold no such sign, so one search covers all ids
    logged = "%]" in text or any(sign in text for sign in _HOST_SIGNS)
    # without a sign only odd ids need a closer look; a call for each id of a large panel takes too long
    odd = union if logged else [t for t in union if "::" not in t or ("[" in t and t[-1] != "]") or t != t.strip()]
    for test in sorted(odd):
        kind = _kind(test, node_ids=node_ids)
        if kind is not None:
            yield kind, test


def _kind(test: str, *, node_ids: bool) -> Suspect | None:
    if _PROGRESS.search(test):
        return Suspect.PROGRESS
    if _HOST_PATH.search(test):
        return Suspect.HOST_PATH
    if test != test.strip() or (node_ids and "[" in test.partition("::")[2] and not test.endswith("]")):
        return Suspect.CUT
    if node_ids and "::" not in test and not test.endswith(".py"):
        return Suspect.NO_NODE_ID
    return None
