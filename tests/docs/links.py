"""The links of a Markdown page: what each one promises, and the line where the named object stands today.

A link to a line names an object as its text, such as [`rules.decide`](../repair/rules.py#L27). The name begins with the
module's: below `repair` without that word, elsewhere with the folder's, such as `tests.support.rooms.ROOMS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

RENEW = "UPDATE_LINKS=1 python -m pytest tests/docs/test_architecture.py"
LINK = re.compile(r"\[(?P<text>[^\][]+)\]\((?P<target>[^)\s#]*)(?:#(?P<place>[^)\s]*))?\)")
LINE = re.compile(r"L(\d+)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def problems(page: Path, text: str) -> list[str]:
    """Each link of a page that does not lead where it says, with the reason."""
    matches = LINK.finditer(FENCED.sub("", text))
    return [f"{match[0]}: {problem}" for match in matches if (problem := _problem(page, text, match))]


def renewed(page: Path, text: str) -> str:
    """The text with each link to a line at the line where its object stands; what stands nowhere keeps its line."""

    def link(match: re.Match[str]) -> str:
        line = None if _line(match) is None else _right_line(page, match)
        return match[0] if line is None else f"[{match['text']}]({match['target']}#L{line})"

    return LINK.sub(link, text)


def definitions(source: str) -> dict[str, int]:
    """The classes, functions and constants of a module and of its classes, by dotted name, each with its line."""
    lines: dict[str, int] = {}
    for name, line in _defined(ast.parse(source).body, ""):
        lines.setdefault(name, line)
    return lines


def _defined(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, int]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{prefix}{node.name}.")
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node.lineno) for target in targets if isinstance(target, ast.Name))


def module_of(file: Path) -> str:
    """The name of a module as links say it."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "repair" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _problem(page: Path, text: str, match: re.Match[str]) -> str:
    if match["target"].startswith(("https://", "http://")):
        return ""
    file = _file(page, match)
    if not file.exists():
        return f"{match['target']} does not exist"
    if match["place"] is None:
        return ""
    line = _line(match)
    if line is None:
        known = _headings(text if file == page else file.read_text("utf-8"))
        return "" if match["place"] in known else f"there is no heading #{match['place']}"
    right = _right_line(page, match)
    if right is None:
        return f"{file.relative_to(ROOT)} does not define {_name(match)}, or its module is not {module_of(file)}"
    return "" if line == right else f"it stands at line {right}; renew with: {RENEW}"


def _file(page: Path, match: re.Match[str]) -> Path:
    return (page.parent / match["target"]).resolve() if match["target"] else page


def _name(match: re.Match[str]) -> str:
    return match["text"].strip("`")


def _line(match: re.Match[str]) -> int | None:
    """The line that a link names; None where it names none."""
    line = LINE.fullmatch(match["place"] or "")
    return int(line[1]) if line else None


def _right_line(page: Path, match: re.Match[str]) -> int | None:
    """The line where a link's object stands; None where its file does not define it."""
    file = _file(page, match)
    if not file.is_file() or file.suffix != ".py":
        return None
    module = f"{module_of(file)}."
    return _definitions_of(file).get(_name(match).removeprefix(module)) if _name(match).startswith(module) else None


@cache
def _definitions_of(file: Path) -> dict[str, int]:
    return definitions(file.read_text("utf-8"))


def _headings(text: str) -> set[str]:
    """The headings of a page as GitHub spells them in addresses."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
