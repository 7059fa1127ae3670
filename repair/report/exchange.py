"""What `repair import` and `repair export` show: text for people, or a document for `--json`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from repair.formats.exporting import Exported
from repair.formats.importing import KEPT, Preflight, lengths
from repair.text import number, printable

SHOWN = 5  # items under one heading
WRITES_JUNIT = "  what to do: import with --test-cmd, or name junit in task.json or in panel.toml's [defaults]"


def import_text(panel: PurePath, found: Preflight) -> str:
    """The pre-flight of an import: counts that add up, then what to look at before a run, the worst first.

    The text cuts long lists. A file in the new panel holds them whole (see `importing.keep`).
    """
    block = partial(_block, where=str(panel / KEPT))
    lines = [_sum(found), f"formats: {', '.join(f'{name} {n}' for name, n in sorted(found.formats.items()))}"]
    lines += [f"{name}: {_spread(numbers)} ids a task" for name, numbers in (("F2P", found.f2p), ("P2P", found.p2p))]
    rows = "task directories" if found.directories else "rows"
    lines += block(f"{rows} that are no task", [str(reason) for reason in found.reasons])
    lines += block("beside the task directories, and not looked at (import them by themselves)", found.not_looked_at)
    lines += block("tasks whose runner gives no JUnit", [f"{name}: {why}" for name, why in found.no_junit])
    lines += [WRITES_JUNIT] if found.no_junit else []
    for kind, suspected in found.suspects.items():
        where = f"{number(suspected.count, 'id')} {kind}, in {number(len(suspected.tasks), 'task')}"
        lines += block(where, [f"{task}: {test}" for task, test in suspected.ids], suspected.count)
    lines += block("tasks without F2P, which are refused", found.no_f2p)
    lines += block("tasks with fewer than 10 P2P, which the default policy refuses", found.few_p2p)
    for note, names in found.notes.items():
        lines += block(note, names)
    lines += _images(found, block)
    quoted = shlex.quote(str(panel))
    lines += [f"next: repair run {quoted} --dry-run", f"      repair run {quoted}"]
    return "".join(f"{printable(line)}\n" for line in lines)


def _sum(found: Preflight) -> str:
    parts = [number(found.tasks, "task")]
    if found.reasons:
        parts.append(f"{len(found.reasons)} that {'is' if len(found.reasons) == 1 else 'are'} no task")
    if found.left_out:
        parts.append(f"{found.left_out} left out")
    what = ("task directory", "task directories") if found.directories else ("row", "rows")
    return f"{found.rows} {what[found.rows != 1]}: {', '.join(parts)}"


def _spread(numbers: Sequence[int]) -> str:
    spread = lengths(numbers)
    if spread["fewest"] == spread["most"]:
        return str(spread["most"])
    return f"{spread['fewest']} to {spread['most']}, median {spread['median']}"


def _block(title: str, items: Sequence[str], count: int | None = None, where: str = "") -> list[str]:
    """A heading with its number, the first few items, and where the other items are; no line for no items."""
    if not items:
        return []
    count = len(items) if count is None else count
    head = title if title[0].isdigit() else f"{title}: {count}"
    known = "all" if len(items) == count else f"the first {len(items)}"
    rest = f"  and {count - SHOWN} more ({known} {f'in {where}' if where else 'with --json'})"
    more = [rest] if count > SHOWN else []
    return [head, *(f"  {item}" for item in items[:SHOWN]), *more]


def _images(found: Preflight, block: Callable[[str, Sequence[str]], list[str]]) -> list[str]:
    if found.missing_images is None:
        return [f"images: {len(found.images)}; not looked for: {found.engine}"]
    present = len(found.images) - len(found.missing_images)
    return [
        f"images: {len(found.images)}, {present} of them here",
        *block("images that a run has to pull or build", found.missing_images),
    ]


def import_document(found: Preflight, code: int) -> dict[str, Any]:
    """An import as one JSON object; `rows` = `tasks` + the number of `not_tasks` + `left_out`."""
    return {
        "exit": code,
        "rows": found.rows,
        "tasks": found.tasks,
        "left_out": found.left_out,
        "not_tasks": [
            {"place": reason.place, "field": reason.field, "problem": reason.problem} for reason in found.reasons
        ],
        "not_looked_at": found.not_looked_at,
        "formats": dict(sorted(found.formats.items())),
        "F2P": dict(lengths(found.f2p)),
        "P2P": dict(lengths(found.p2p)),
        "suspects": {
            kind: {
                "count": suspected.count,
                "tasks": list(suspected.tasks),
                "ids": [{"task": task, "id": test} for task, test in suspected.ids],
            }
            for kind, suspected in found.suspects.items()
        },
        "no_f2p": found.no_f2p,
        "few_p2p": found.few_p2p,
        "no_junit": [{"task": name, "why": why} for name, why in found.no_junit],
        "notes": found.notes,
        "images": len(found.images),
        "missing_images": found.missing_images,
        "engine": found.engine,
    }


def export_text(target: PurePath, done: Exported) -> str:
    """What an export wrote, what it left out and why, and what a conversion could not carry."""
    format_name = done.format
    lines = [f"{number(len(done.tasks), 'task')} to {target} ({format_name}), {number(done.dropped, 'id')} dropped"]
    lines += _block("not exported", [f"{name}: {why}" for name, why in done.left_out])
    lines += _block("as they came, without an admitted record", [f"{name}: {why}" for name, why in done.untrimmed])
    lines += [f"{format_name} cannot carry {what}: {number(len(names), 'task')}" for what, names in done.lost.items()]
    lines += [
        f"what goes out does not say {what} as the task does: {number(len(names), 'task')}"
        for what, names in done.changed.items()
    ]
    lines += [
        f"left as it came, though it counts or names ids that are dropped: {column}, of {number(len(names), 'task')}"
        for column, names in done.stale.items()
    ]
    return "".join(f"{printable(line)}\n" for line in lines)


def export_document(done: Exported, code: int) -> dict[str, Any]:
    """An export as one JSON object."""
    return {
        "exit": code,
        "format": done.format,
        "tasks": list(done.tasks),
        "dropped": done.dropped,
        "not_exported": dict(done.left_out),
        "untrimmed": dict(done.untrimmed),
        "lost": {what: list(names) for what, names in done.lost.items()},
        "changed": {what: list(names) for what, names in done.changed.items()},
        "stale": {what: list(names) for what, names in done.stale.items()},
    }
