"""JSON Schemas (draft 2020-12) of a panel's four files, for editors and for other tools that read records.

Pure. The schemas of task.json and panel.toml come from the tables that validate these files. The schemas of the records
come from the closed sets of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from repair.model import SCHEMA, ListName, Outcome, Rule, Verdict
from repair.panel.keys import PANEL, POLICY, SECTIONS, TASK_JSON, Key, Keys, WrongError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


# ---- what people write


def task_schema() -> Schema:
    """The schema of task.json. It knows this file alone.

    It cannot say that a list may be absent until `repair mint` writes it.
    """
    return _document("task.json", "One task of a panel.", **_of_keys(TASK_JSON))


def panel_schema() -> Schema:
    """The schema of panel.toml, with TOML's values read as JSON's."""
    schema = _of_keys(PANEL)
    for name, (keys, _) in SECTIONS.items():
        schema["properties"][name] |= _of_keys(keys)
    return _document(
        "panel.toml", "A panel: what its tasks have in common, and by what rule they are judged.", **schema
    )


def _of_keys(keys: Keys) -> Schema:
    properties = {
        name: {**key.kind.schema, "description": key.about, **({"default": key.default} if _can_be_said(key) else {})}
        for name, key in keys.items()
    }
    required = [name for name, key in keys.items() if key.default is ...]
    return _closed(properties) | {"required": required}


def _can_be_said(key: Key) -> bool:
    """Whether the user may write a key's default. Some defaults, such as null, only say what an absent key means."""
    try:
        key.read(key.default)
    except WrongError:
        return False
    return True


# ---- what repair writes


def outcomes_schema() -> Schema:
    """The schema of outcomes.json."""
    pair = {"empty": _many(_ref("run")), "oracle": _many(_ref("run")), "patch_errors": _many(_TEXT)}
    cells = {"empty": _many(_ref("outcome")), "oracle": _many(_ref("outcome"))}
    causes = {"anyOf": [_TEXT, _closed({"empty": _TEXT, "oracle": _TEXT})]}
    more = {"cause": causes, "members": _by_id(_closed(cells))}
    lists = {"lists": {**_many(_among(ListName)), "minItems": 1, "uniqueItems": True}}
    own = {"own_verifier": _ref("rewards")}
    run = {"exit": _INTEGER_OR_NULL, "patch": _TEXT_OR_NULL, "image": _TEXT, "deadly": _many(_TEXT)}
    return _document(
        "outcomes.json",
        "All that a decision was made from: each listed test's outcomes under both controls.",
        **_closed(
            {
                "schema": {"const": SCHEMA},
                "tool": _TEXT,
                "instance_id": _TEXT,
                "image": _ref("image"),
                "controls": _closed(pair, {"confirm": _closed(pair), **own}),
                "tests": _by_id(_closed(lists | cells, {**more, "confirm": _closed(cells, more)})),
            }
        ),
        **_definitions(
            run=_closed(run | {"flags": _many(_TEXT)}, {"template": _some(_TEXT)}),
            outcome=_among(Outcome),
        ),
    )


def repair_schema() -> Schema:
    """The schema of repair.json."""
    digest = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    or_null = {**digest, "type": ["string", "null"]}
    digests = {"task": digest, "environment": or_null, "oracle.patch": digest, "tests.patch": or_null}
    counts = _closed(dict.fromkeys(("listed", "dropped", "kept"), _COUNT))
    scores = _many({"enum": [0.0, 1.0]})
    confirmation = {"confirmed": {"type": "boolean"}, "scores": _closed({"empty": scores, "oracle": scores})}
    briefs = _some(_ref("run"))
    return _document(
        "repair.json",
        "The decision on one task, and what it was made from.",
        **_closed(
            {
                "instance_id": _TEXT,
                "verdict": _among(Verdict),
                "reasons": _many(_ref("finding")),
                "counts": _closed(dict.fromkeys(map(str, ListName), counts)),
                "dropped": _many(_ref("finding")),
                "confirmation": {"anyOf": [{"type": "null"}, _closed(confirmation)]},
                "image": _ref("image"),
                "controls": _closed({"empty": briefs, "oracle": briefs}),
                "inputs": _closed(digests, dict.fromkeys(("entry.patch", "source"), digest)),
                "policy": _closed({name: key.kind.schema for name, key in POLICY.items()}),
                "outcomes": digest,
                "schema": {"const": SCHEMA},
                "tool": _TEXT,
            },
            {"own_verifier": _ref("rewards")},
        ),
        **_only_a_refusal_has_reasons(),
        **_definitions(finding=_finding(), run=_brief()),
    )


def _finding() -> Schema:
    """A drop, or a reason to refuse. The outcomes that its ids share are texts that `rules.spell` writes."""
    outcome = f"(?:{'|'.join(Outcome)})"
    part = f"{outcome} [0-9]+/[0-9]+"
    spelt = {"type": "string", "pattern": f"^(?:{outcome}|{part}(?:, {part})+)$"}
    more = {"list": _among(ListName), "empty": spelt, "oracle": spelt, "cause": _TEXT, "cause_empty": _TEXT}
    ids = {"count": {**_COUNT, "minimum": 1}, "ids": _some(_TEXT)}
    return _closed({"rule": _among(Rule)}, more | ids) | {"dependentRequired": {"ids": ["count"], "count": ["ids"]}}


def _brief() -> Schema:
    lists = dict.fromkeys(("deadly", "flags", "template"), _some(_TEXT))
    return _closed({"exit": _INTEGER_OR_NULL}, {"patch": _TEXT, **lists})


def _only_a_refusal_has_reasons() -> Schema:
    def reasons(**bound: int) -> Schema:
        return {"properties": {"reasons": bound}}

    return {
        "if": {"properties": {"verdict": {"const": str(Verdict.REFUSED)}}},
        "then": reasons(minItems=1),
        "else": reasons(maxItems=0),
    }


# ---- parts of schemas


_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def _document(title: str, about: str, **schema: Any) -> Schema:
    return {"$schema": DIALECT, "title": title, "description": about, **schema}


def _closed(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _by_id(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _some(schema: Schema) -> Schema:
    return {**_many(schema), "minItems": 1}


def _among(words: Iterable[str]) -> Schema:
    return {"enum": list(map(str, words))}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _definitions(**own: Schema) -> Schema:
    image = {"id": _TEXT, "digest": _TEXT_OR_NULL, "platform": _TEXT_OR_NULL}
    reward = {"type": "number", "minimum": 0, "maximum": 1}
    rewards = {"empty": reward, "oracle": reward}
    return {"$defs": {"image": _closed(image), "rewards": _closed(rewards), **own}}


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "task": task_schema,
    "panel": panel_schema,
    "outcomes": outcomes_schema,
    "repair": repair_schema,
}
