"""An entry of the journal: an observed run as JSON, and back.

Whoever keeps a panel's `.repair/` may have changed it: what is not as we write it is no entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from repair.model import Observed, Outcome, Run


def entry(run: Run) -> bytes:
    """A run as the journal keeps it: one whose patches applied."""
    assert run.patch is None
    document = {
        "image": run.image,
        "exit": run.exit,
        "deadly": run.deadly,
        "flags": run.flags,
        "template": run.template,
        "observed": _document(run.observed),
        **({"found": _document(run.found)} if run.found else {}),
        **({"broken": _document(run.broken)} if run.broken else {}),
    }
    return orjson.dumps(document)


def read(content: bytes) -> Run | None:
    """The run of an entry; None for whatever is none."""
    try:
        document = orjson.loads(content)
        return Run(
            _text(document["image"]),
            None if document["exit"] is None else _status(document["exit"]),
            _observed(document["observed"]),
            deadly=_texts(document["deadly"]),
            flags=_texts(document["flags"]),
            template=_texts(document["template"]),
            found=_observed(document.get("found", {})),
            broken=_observed(document.get("broken", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _document(observed: Mapping[str, Observed]) -> dict[str, Any]:
    return {
        test: [seen.outcome, seen.cause, dict(seen.members)] if seen.members else [seen.outcome, seen.cause]
        for test, seen in observed.items()
    }


def _observed(document: Any) -> dict[str, Observed]:
    observed = {}
    for test, (outcome, cause, *members) in document.items():
        below = {member: Outcome(found) for member, found in members[0].items()} if members else {}
        observed[test] = Observed(Outcome(outcome), _text(cause), below)
    return observed


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _status(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value
