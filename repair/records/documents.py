"""outcomes.json and repair.json as bytes: the same values give the same bytes, in ASCII, without time, host or path.

People read repair.json in a pull request: decision and counts come first, then what is dropped, one id per line.
outcomes.json holds all that the decision used, one id per line, and `read_outcomes` reads it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from repair.errors import StoreError
from repair.model import (
    SCHEMA,
    Decision,
    Evidence,
    Finding,
    Image,
    Inputs,
    ListName,
    Outcome,
    Policy,
    Repair,
    Row,
    Run,
    Table,
)
from repair.text import inline, pretty, sha256

# ---- repair.json


def repair_json(repair: Repair, outcomes_sha256: str) -> bytes:
    """The bytes of repair.json; `outcomes_sha256` is the digest of the outcomes.json next to it, in hexadecimal."""
    evidence, decision = repair.evidence, repair.decision
    lists = {
        ListName.F2P: decision.kept_f2p,
        ListName.P2P: decision.kept_p2p,
    }
    confirmation = None
    if evidence.confirm_table is not None:
        confirmation = {
            "confirmed": not decision.reasons,
            "scores": {"empty": list(repair.scores_empty), "oracle": list(repair.scores_oracle)},
        }
    document = {
        "instance_id": evidence.instance_id,
        "verdict": decision.verdict,
        "reasons": [finding_document(finding) for finding in decision.reasons],
        "counts": {name: _counts(evidence.table, name, kept, decision) for name, kept in lists.items()},
        "dropped": [finding_document(finding) for finding in decision.dropped],
        "confirmation": confirmation,
        **({} if evidence.verifier is None else {"own_verifier": _rewards(evidence.verifier)}),
        "image": image_document(evidence.image),
        "controls": {
            "empty": [brief(run) for run in evidence.empty],
            "oracle": [brief(run) for run in evidence.oracle],
        },
        "inputs": inputs_document(repair.inputs),
        "policy": policy_document(repair.policy),
        "outcomes": outcomes_sha256,
        "schema": SCHEMA,
        "tool": evidence.tool,
    }
    return (pretty(document) + "\n").encode("ascii")


def inputs_document(inputs: Inputs) -> dict[str, str | None]:
    """The digests by the names of what they are of. entry.patch and the source appear only where they count."""
    document = {
        "task": inputs.task,
        "environment": inputs.environment,
        "oracle.patch": inputs.oracle_patch,
        "tests.patch": inputs.tests_patch,
    }
    more = {"entry.patch": inputs.entry_patch, "source": inputs.source}
    return document | {name: digest for name, digest in more.items() if digest is not None}


def policy_document(policy: Policy) -> dict[str, Any]:
    """The policy key by key."""
    return {
        "min_p2p": policy.min_p2p,
        "passing": sorted(policy.passing),
        "recheck": policy.recheck,
        "repeats": policy.repeats,
    }


def _rewards(rewards: tuple[float, float]) -> dict[str, float]:
    return dict(zip(("empty", "oracle"), rewards, strict=True))


def _counts(table: Table, name: ListName, kept: Sequence[str], decision: Decision) -> dict[str, int]:
    listed = sum(name in row.lists for row in table.rows)
    dropped = sum(len(finding.ids) for finding in decision.dropped if finding.list is name)
    return {"listed": listed, "dropped": dropped, "kept": len(kept)}


def finding_document(finding: Finding) -> dict[str, Any]:
    """A drop or a reason to refuse, with the number of its ids; fields without a value are left out."""
    document: dict[str, Any] = {}
    if finding.list is not None:
        document["list"] = finding.list
    document["rule"] = finding.rule
    for key in ("empty", "oracle", "cause", "cause_empty"):
        if getattr(finding, key):
            document[key] = getattr(finding, key)
    if finding.ids:
        document["count"] = len(finding.ids)
        document["ids"] = list(finding.ids)
    return document


def image_document(image: Image) -> dict[str, Any]:
    """What a record says of an image."""
    return {"id": image.id, "digest": image.digest, "platform": image.platform}


def brief(run: Run) -> dict[str, Any]:
    """A run's facts without its image; facts without a value are left out, but for the exit status."""
    document: dict[str, Any] = {"exit": run.exit}
    if run.patch is not None:
        document["patch"] = run.patch
    if run.deadly:
        document["deadly"] = list(run.deadly)
    if run.flags:
        document["flags"] = list(run.flags)
    if run.template:
        document["template"] = list(run.template)
    return document


# ---- outcomes.json


def outcomes_json(evidence: Evidence) -> bytes:
    """The bytes of outcomes.json: all that the decision used, one id per line."""
    confirmed = {row.id: row for row in evidence.confirm_table.rows} if evidence.confirm_table else {}
    confirm = {}
    if evidence.confirm_table is not None:
        confirm = {
            "confirm": {
                "empty": [_run(run) for run in evidence.confirm_empty],
                "oracle": [_run(run) for run in evidence.confirm_oracle],
                "patch_errors": list(evidence.confirm_table.patch_errors),
            }
        }
    controls = {
        "empty": [_run(run) for run in evidence.empty],
        "oracle": [_run(run) for run in evidence.oracle],
        "patch_errors": list(evidence.table.patch_errors),
        **confirm,
        **({} if evidence.verifier is None else {"own_verifier": _rewards(evidence.verifier)}),
    }
    head = {
        "schema": SCHEMA,
        "tool": evidence.tool,
        "instance_id": evidence.instance_id,
        "image": image_document(evidence.image),
    }
    lines = [f"{inline(key)}: {inline(value)}" for key, value in head.items()]
    lines.append(f'"controls": {pretty(controls)}')
    tests = [f"{inline(row.id)}: {inline(_row(row, confirmed.get(row.id)))}" for row in evidence.table.rows]
    lines.append('"tests": {' + ("\n" + ",\n".join(tests) + "\n" if tests else "") + "}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _run(run: Run) -> dict[str, Any]:
    return {
        "exit": run.exit,
        "patch": run.patch,
        "image": run.image,
        "deadly": list(run.deadly),
        "flags": list(run.flags),
        **({"template": list(run.template)} if run.template else {}),
    }


def _row(row: Row, confirmed: Row | None) -> dict[str, Any]:
    document: dict[str, Any] = {"lists": sorted(row.lists), **_cells(row)}
    if confirmed is not None:
        document["confirm"] = _cells(confirmed)
    return document


def _cells(row: Row) -> dict[str, Any]:
    document: dict[str, Any] = {"empty": list(row.empty), "oracle": list(row.oracle)}
    if row.cause_empty or row.cause_oracle:
        causes = {"empty": row.cause_empty, "oracle": row.cause_oracle}
        document["cause"] = row.cause_empty if row.cause_empty == row.cause_oracle else causes
    if row.members:
        document["members"] = {
            member: {"empty": list(empty), "oracle": list(oracle)} for member, (empty, oracle) in row.members.items()
        }
    return document


def read_outcomes(content: bytes) -> Evidence:
    """The evidence that an outcomes.json holds.

    Raises `StoreError` where repair did not write the content, or wrote it by another schema.
    """
    try:
        document = orjson.loads(content)
        if document["schema"] != SCHEMA:
            schema = repr(document["schema"])[:40]
            raise StoreError(f"outcomes.json has schema {schema}, this version of repair reads {SCHEMA}")
        controls, tests = document["controls"], document["tests"]
        confirm = controls.get("confirm")
        table = Table(
            tuple(_read_row(test, cells["lists"], cells) for test, cells in tests.items()),
            tuple(map(_string, controls["patch_errors"])),
        )
        confirm_table = None
        if confirm is not None:
            rows = [(t, c["lists"], c["confirm"]) for t, c in tests.items() if "confirm" in c]
            errors = tuple(map(_string, confirm["patch_errors"]))
            confirm_table = Table(tuple(_read_row(*row) for row in rows), errors)
        return Evidence(
            _string(document["instance_id"]),
            _string(document["tool"]),
            _read_image(document["image"]),
            tuple(map(_read_run, controls["empty"])),
            tuple(map(_read_run, controls["oracle"])),
            table,
            tuple(map(_read_run, confirm["empty"])) if confirm is not None else (),
            tuple(map(_read_run, confirm["oracle"])) if confirm is not None else (),
            confirm_table,
            _read_rewards(controls.get("own_verifier")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise StoreError(f"outcomes.json is not one of ours ({type(err).__name__}: {err})") from None


def _read_rewards(document: Any) -> tuple[float, float] | None:
    if document is None:
        return None
    rewards = document["empty"], document["oracle"]
    if not all(isinstance(reward, float) and 0 <= reward <= 1 for reward in rewards):
        raise TypeError("expected rewards from 0.0 to 1.0")
    return rewards


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {type(value).__name__}")
    return value


def _read_image(document: Any) -> Image:
    return Image(
        _string(document["id"]),
        None if document["digest"] is None else _string(document["digest"]),
        None if document["platform"] is None else _string(document["platform"]),
    )


def _read_run(document: Any) -> Run:
    status = document["exit"]
    if status is not None and (isinstance(status, bool) or not isinstance(status, int)):
        raise TypeError("expected a number as exit status")
    return Run(
        _string(document["image"]),
        status,
        {},
        None if document["patch"] is None else _string(document["patch"]),
        tuple(map(_string, document["deadly"])),
        tuple(map(_string, document["flags"])),
        tuple(map(_string, document.get("template", ()))),
    )


def _read_row(test: str, lists: Any, cells: Any) -> Row:
    cause = cells.get("cause", "")
    causes = (cause["empty"], cause["oracle"]) if isinstance(cause, dict) else (cause, cause)
    members = {
        member: (_read_outcomes(runs["empty"]), _read_outcomes(runs["oracle"]))
        for member, runs in cells.get("members", {}).items()
    }
    return Row(
        test,
        frozenset(map(ListName, lists)),
        _read_outcomes(cells["empty"]),
        _read_outcomes(cells["oracle"]),
        _string(causes[0]),
        _string(causes[1]),
        members,
    )


_OUTCOMES = {str(outcome): outcome for outcome in Outcome}


def _read_outcomes(values: Any) -> tuple[Outcome, ...]:
    return tuple(map(_OUTCOMES.__getitem__, values))


def policy_digest(policy: Policy) -> str:
    """sha256 of the policy, in hexadecimal."""
    return sha256(inline(policy_document(policy)).encode("ascii"))
