"""A `Diff` as a JSON document: all of it, as it is, for whoever reads it by program."""

from __future__ import annotations

from typing import Any

from repair.records.diff.compare import Change, Changed, Diff, Side, Status

SCHEMA = 1  # 1: the first


def document(diff: Diff) -> dict[str, Any]:
    """A diff as a document: the sides, `settings` of panel.toml, and each changed task with all of its ids.

    `{"schema", "exit", "before", "after", "settings": [{"key", "before", "after", "looser"}], "same", "not_compared",
    "tasks": [...]}`; a task is `{"instance_id", "change", "before", "after", "changed_under_record",
    "breaks_record", "record_replaced", "ids", "keys", "files", "rates"}`.
    """
    return {
        "schema": SCHEMA,
        "exit": int(diff.differs),
        "before": _side(diff.before),
        "after": _side(diff.after),
        "settings": [_changed(one) | {"looser": one.looser} for one in diff.settings],
        "same": diff.same,
        "not_compared": diff.not_compared,
        "tasks": [_document(change) for change in diff.changes],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "name": side.name or None,
        "problem": side.problem or None,
        "absent": side.absent,
        "admitted": side.admitted,
        "clean": side.clean,
        "repaired": side.repaired,
        "min_tasks": side.min_tasks,
        "passed": side.passed,
        "unreadable": side.unreadable,
        "unseen": [
            {"path": one.path, "is": "submodule" if one.submodule else "link", "target": one.target}
            for one in side.unseen
        ],
    }


def _changed(one: Changed) -> dict[str, Any]:
    return {"key": one.key, "before": one.before or None, "after": one.after or None}


def _document(change: Change) -> dict[str, Any]:
    return {
        "instance_id": change.name,
        "change": change.kind,
        "before": change.before and _status(change.before),
        "after": change.after and _status(change.after),
        "changed_under_record": change.under_record,
        "breaks_record": change.breaks_record,
        "record_replaced": change.replaced,
        "ids": [
            {
                "what": group.what,
                "list": group.list or None,
                "rule": group.rule,
                "empty": group.empty or None,
                "oracle": group.oracle or None,
                "cause": group.cause or None,
                "ids": list(group.ids),
            }
            for group in change.ids
        ],
        "keys": [_changed(one) for one in change.keys],
        "files": {name: str(kind) for name, kind in change.files},
        "rates": [
            {
                "control": rates.control,
                "before": rates.before or None,
                "after": rates.after or None,
                "ids": list(rates.ids),
            }
            for rates in change.rates
        ],
    }


def _status(status: Status) -> dict[str, Any]:
    def counts(pair: tuple[int, int] | None) -> dict[str, int] | None:
        return None if pair is None else {"listed": pair[0], "kept": pair[1]}

    return {
        "is": status.word,
        "admitted": status.admitted,
        "why_not": status.why or None,
        "F2P": counts(status.f2p),
        "P2P": counts(status.p2p),
        "dropped": status.dropped,
        "note": status.note or None,
    }
