"""Sources of every format, in every kind of file: what is imported, and what should come back of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from repair.formats import registry
from repair.formats.base import Draft, Wants
from repair.formats.raw import parquet
from tests.formats import rows
from tests.formats.directory_samples import DIRECTORIES
from tests.formats.row_samples import ROWS
from tests.support.exchange import dropped_of, ids_of, kept_row, less, trimmed

Ids = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Something to import. `parts` are its tasks as they came, in its order.

    `part` reads from a task's directory what the task remembers. `content` reads an export, and `digests` reads which
    records it names. `wanted` is the content of an export that lacks some ids.
    """

    path: Path
    container: str
    lists: tuple[Ids, Ids]
    drafts: Sequence[Draft]
    parts: Sequence[object]
    part: Callable[[Path], object]
    content: Callable[[Path], object]
    wanted: Callable[[Collection[str]], object]
    digests: Callable[[Path], Sequence[str]] = lambda _: ()
    names_records: bool = False

    @property
    def dropped(self) -> Ids:
        """The ids that tests drop."""
        return dropped_of(*self.lists)

    @property
    def kept(self) -> tuple[Ids, ...]:
        """The two lists without these."""
        return tuple(tuple(test for test in ids if test not in self.dropped) for ids in self.lists)


# ---- JSON


def spelt(row: rows.Row) -> str:
    """A row as JSON with blanks, escapes and numbers that no writer of ours would choose."""
    text = json.dumps(row, ensure_ascii=False)
    for before, after in {'"big": 1': '"big":\t 1', ": 1.5,": ": 1.50e0,", "/😀": "\\/\\ud83d\\ude00"}.items():
        assert before in text
        text = text.replace(before, after)
    return text


def indented(row: rows.Row) -> str:
    return json.dumps(row, indent="\t").replace("1.5", "1.50")


def compact(row: rows.Row) -> str:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


def lines(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file of JSON rows: the rows' numbers and spelling, and the text of the file before and after."""

    file: str
    container: str
    numbers: tuple[int, ...]
    spell: Callable[[rows.Row], str]
    before: Callable[[Sequence[str]], str]
    after: Callable[[Sequence[str]], str]


KINDS: Mapping[str, Kind] = {
    "lines": Kind("rows.jsonl", "jsonl", (3, 1, 2), spelt, lines, lines),
    "lines of Windows": Kind(
        *("rows.jsonl", "jsonl", (3, 1), compact),
        before=lambda texts: "\ufeff" + lines(texts).replace("\n", "\r\n"),
        after=lines,
    ),
    "an array": Kind(
        *("rows.json", "json", (3, 1), indented),
        before=lambda texts: f" [\n {texts[0]} ,\n\n{texts[1]}]",
        after=lambda texts: f"[\n{texts[0]},\n{texts[1]}\n]\n",
    ),
    "an object": Kind(
        *("row.json", "object", (7,), indented),
        before=lambda texts: f"\n{texts[0]}\n",
        after=lambda texts: f"{texts[0]}\n",
    ),
}


def of_json(kind: Kind, name: str, folder: Path) -> Source:
    odd = {"odd": "é\u2028/😀", "amount": 1.50, "big": 10**30, "empty": {}}  # columns that no format knows
    made = [ROWS[name].build(number, **odd) for number in kind.numbers]
    texts = [kind.spell(row) for row in made]
    file = folder / kind.file
    file.write_bytes(kind.before(texts).encode())
    return Source(
        path=file,
        container=kind.container,
        lists=(ROWS[name].draft.f2p, ROWS[name].draft.p2p),
        drafts=[registry.ROWS[name].draft(row, Wants()) for row in made],
        parts=[text.encode() for text in texts],
        part=kept_row,
        content=Path.read_bytes,
        wanted=lambda dropped: kind.after([kind.spell(trimmed(name, row, dropped)) for row in made]).encode(),
    )


# ---- Parquet


def of_parquet(name: str, folder: Path) -> Source:
    """Rows with types that JSON has not, and with metadata."""
    import pyarrow
    import pyarrow.parquet

    made = [ROWS[name].build(number, amount=1.5, nothing=None, numbers=[1, 2]) for number in (3, 1, 2)]
    table = pyarrow.Table.from_pylist(made)
    table = table.append_column("kind", pyarrow.array(["a", "b", "a"]).dictionary_encode())
    table = table.append_column("small", pyarrow.array([1, 2, None], pyarrow.int8()))
    table = table.append_column("at", pyarrow.array([1, 2, 3], pyarrow.timestamp("ms", "UTC")))
    table = table.replace_schema_metadata({b"made by": b"acme"})
    file = folder / "rows.parquet"
    pyarrow.parquet.write_table(table, file)
    schema = pyarrow.parquet.read_schema(file)
    objects = {column for column in ids_of(name) if isinstance(made[0][column], dict)}

    def content(path: Path) -> object:
        table = pyarrow.parquet.read_table(path)
        return table.schema.equals(schema, check_metadata=True), [without_null(row) for row in table.to_pylist()]

    def without_null(row: rows.Row) -> rows.Row:
        """Of an object by test each row has all keys, and null for those that are not its own."""
        return {
            column: {test: item for test, item in value.items() if item is not None} if column in objects else value
            for column, value in row.items()
        }

    return Source(
        path=file,
        container="parquet",
        lists=(ROWS[name].draft.f2p, ROWS[name].draft.p2p),
        drafts=[registry.ROWS[name].draft(row, Wants()) for row in made],
        parts=table.to_pylist(),
        part=lambda task: parquet.values(kept_row(task)),
        content=content,
        wanted=lambda dropped: (True, [trimmed(name, row, dropped) for row in table.to_pylist()]),
    )


# ---- directories

RECORD = re.compile(rb"^.*sha256:([0-9a-f]{64}).*\n", re.MULTILINE)


def of_directories(name: str, folder: Path) -> Source:
    sample, root = DIRECTORIES[name], folder / "source"
    made = [sample.make(root, number, {"more/run.sh": "true\n", "a.bin": b"\xff\0"}) for number in (7, 8)]
    for tree in made:
        (tree / "more" / "run.sh").chmod(0o755)

    def content(path: Path) -> dict[str, object]:
        """Files by path without the lines that name a record, and whether they are programs."""
        return {
            file: (RECORD.sub(b"", text) if isinstance(text, bytes) else text, (path / file).stat().st_mode & 0o111)
            for file, text in rows.tree(path).items()
        }

    def digests(path: Path) -> Sequence[str]:
        texts = (text for text in rows.tree(path).values() if isinstance(text, bytes))
        return sorted(digest.decode() for text in texts for digest in RECORD.findall(text))

    def wanted(dropped: Collection[str]) -> object:
        changed = {}
        for tree in made:
            file = tree / sample.lists
            document = json.loads(file.read_bytes())
            keys = (sample.f2p, sample.p2p)
            after = {key: less(value, dropped) if key in keys else value for key, value in document.items()}
            end = file.read_text().removeprefix(json.dumps(document, indent=2))
            changed[file.relative_to(root).as_posix()] = ((json.dumps(after, indent=2) + end).encode(), 0)
        return {**content(root), **changed}

    return Source(
        path=root,
        container="directory",
        lists=(sample.draft.f2p, sample.draft.p2p),
        drafts=[registry.DIRECTORIES[name].draft(tree, Wants()) for tree in made],
        parts=[rows.tree(tree) for tree in made],
        part=lambda task: rows.tree(task / "source"),
        content=content,
        wanted=wanted,
        digests=digests,
        names_records=bool(sample.records),
    )


Maker = Callable[[str, Path], Source]
MAKERS: Mapping[str, Maker] = {
    **{name: partial(of_json, kind) for name, kind in KINDS.items()},
    "Parquet": of_parquet,
}
EVERY: Sequence[tuple[str, str, Maker]] = [
    *((name, kind, make) for name in registry.ROWS for kind, make in MAKERS.items()),
    *((name, "directories", of_directories) for name in registry.DIRECTORIES),
]
