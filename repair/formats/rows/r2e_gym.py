r"""R2E-Gym rows: no lists, but the outcomes with the reference and the log of a run without it.

The image holds the tests in /r2e_tests. The row holds a commit taken apart: its files that are not tests, put together
again, are the oracle. Ids are pytest's without the file, with a dot for `::`, such as `TestLedger.test_total[EUR]`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from repair.formats import commands
from repair.formats.base import Draft, Row, RowError, RowFormat, Wants, image_of, optional_text, text
from repair.formats.rows.swebench import has

EXPECTED, LOGS, COMMIT = "expected_output_json", "execution_result_content", "parsed_commit_content"
TEMPLATE = "{test}"  # the node id without its file, with a dot for `::`
SUMMARY = "short test summary info"

# What the images' own run_tests.sh runs. The harness makes the link for the time of a run.
LINK = "{ test -e r2e_tests || ln -s /r2e_tests r2e_tests; }"
WARNINGS = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning'"
PYTEST = ".venv/bin/python -W ignore -m pytest -rA r2e_tests"
# The widgets of orange3 need a display.
DISPLAY = {"orange3": ("QT_QPA_PLATFORM=minimal", "xvfb-run --auto-servernum")}

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OUTCOME = re.compile(r"(PASSED|FAILED|ERROR) [^:]*?::(.+)")
_ISSUE = re.compile(r"\[ISSUE\](.*)\[/ISSUE\]", re.DOTALL)
_SIGNS = {"context": " ", "added": "+", "deleted": "-"}
_NULL = "/dev/null"
_NO_NEWLINE = "\\ No newline at end of file"
_TEST_FOLDERS = frozenset({"tests", "Tests", "test", "Test"})


def _fits(row: Row) -> bool:
    return has(row, EXPECTED, LOGS, COMMIT)


def _draft(row: Row, wants: Wants) -> Draft:
    commit = _object(row, COMMIT)
    ident = _ident(row, commit)
    f2p, p2p, failing = _lists(row)
    oracle, binaries = _oracle(commit)
    instruction = _instruction(row)
    runtime, notes = _runtime(row, wants)
    remarks = (
        (failing, f"{failing} of its tests fail with the reference too: in no list"),
        (binaries, f"{binaries} binary files of the commit are not in the oracle: the row does not hold them"),
        (not instruction, "the row has no problem statement"),
    )
    return Draft(
        instance_id=ident,
        image=image_of({**row, "instance_id": ident}, wants, "docker_image"),
        f2p=f2p,
        p2p=p2p,
        oracle_patch=oracle,
        instruction=instruction,
        base_commit=optional_text(commit, "old_commit_hash"),
        runtime={"workdir": commands.TESTBED, **runtime},
        notes=(*notes, *(remark for applies, remark in remarks if applies)),
    )


def _object(row: Row, column: str) -> Mapping[str, Any]:
    """The JSON object that a column holds, as text or as it is. Raises `RowError`."""
    value = row.get(column)
    if not isinstance(value, Mapping):
        try:
            value = json.loads(text(row, column, empty=False))
        except (ValueError, RecursionError):
            raise RowError(column, "is no JSON") from None
    if not isinstance(value, Mapping):
        raise RowError(column, f"expected an object, found {type(value).__name__}")
    return value


def _ident(row: Row, commit: Mapping[str, Any]) -> str:
    """The row's id, which only copies have; else the name of the repo and the start of the commit's hash."""
    ident = optional_text(row, "instance_id")
    if ident is not None:
        return ident
    digest = optional_text(row, "commit_hash") or optional_text(commit, "new_commit_hash")
    if digest is None:
        raise RowError("commit_hash", "is missing")
    return f"{text(row, 'repo_name', empty=False)}__{digest[:12]}"


def _lists(row: Row) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """F2P and P2P, in the order of the expected outcomes, and the number of tests that are not expected to pass."""
    expected = {_COLOUR.sub("", test): outcome for test, outcome in _object(row, EXPECTED).items()}
    expected.pop("", None)  # a file that does not import leaves this empty id
    if not all(isinstance(outcome, str) for outcome in expected.values()):
        raise RowError(EXPECTED, "expected an object of outcomes by test")
    after = [test for test, outcome in expected.items() if outcome == "PASSED"]
    before = _passed(optional_text(_object(row, LOGS), "old_commit_res_stdout") or "")
    f2p = tuple(test for test in after if test not in before)
    return f2p, tuple(test for test in after if test in before), len(expected) - len(after)


def _passed(log: str) -> frozenset[str]:
    """The tests whose only outcome is a pass, by the summary at the end of a log.

    Raises `RowError` where the log has no summary.
    """
    _, separator, summary = _COLOUR.sub("", log).rpartition(SUMMARY)
    if not separator:
        raise RowError(LOGS, "old_commit_res_stdout holds no summary of a pytest run: nobody knows what passed before")
    passed, others = set(), set()
    for line in summary.split("\n"):
        if outcome := _OUTCOME.match(line.rstrip("\r")):
            test = outcome[2].replace("::", ".")
            if outcome[1] == "PASSED":
                passed.add(test)
            else:
                others.add(test.partition(" - ")[0])
    return frozenset(passed - others)


def _runtime(row: Row, wants: Wants) -> tuple[dict[str, Any], tuple[str, ...]]:
    if wants.test_cmd is not None:
        keys = commands.runtime([wants.test_cmd], Wants(), LINK)
        notes: tuple[str, ...] = ()
    else:
        variable, wrapper = DISPLAY.get(str(row.get("repo_name")).lower(), ("", ""))
        command = " ".join(part for part in (variable, WARNINGS, wrapper, PYTEST) if part)
        keys = commands.runtime([command], Wants(), LINK)
        notes = _own_runner(row)
    return keys | ({"select": "all", "id_template": TEMPLATE} if keys["framework"] == "pytest" else {}), notes


def _own_runner(row: Row) -> tuple[str, ...]:
    """A note where a script next to the image's tests runs them; that script writes no JUnit."""
    names = _object(row, LOGS).get("test_file_names")
    runners = [name for name in names or () if isinstance(name, str) and name.endswith("_runner.py")]
    return tuple(f"its image runs the tests by {shlex.quote(name)}: pytest runs in its place" for name in runners[:1])


def _instruction(row: Row) -> str:
    """The issue, without the marks around it that some rows have."""
    statement = optional_text(row, "problem_statement") or ""
    marked = _ISSUE.search(statement)
    return (marked[1] if marked else statement).strip()


# ---- the oracle: a commit that was taken apart, put together again


def _oracle(commit: Mapping[str, Any]) -> tuple[bytes, int]:
    """The diff of a commit's files that are not tests, and the number of binary files that it leaves out.

    Raises `RowError`.
    """
    parts, binaries = [], 0
    try:
        for file in commit["file_diffs"]:
            path = file["header"]["file"]["path"]
            if is_test(path):
                continue
            if file.get("is_binary_file"):
                binaries += 1
            else:
                parts += _file_diff(path, file)
    except (KeyError, TypeError, AttributeError, IndexError):
        raise RowError(COMMIT, "file_diffs are not what R2E-Gym writes: header, hunks, lines") from None
    if not parts:
        raise RowError(COMMIT, "changes nothing but tests and binary files: there is no reference in it")
    try:
        return "".join(f"{line}\n" for line in parts).encode(), binaries
    except UnicodeEncodeError:
        raise RowError(COMMIT, "holds half a character (a lone surrogate)") from None


def is_test(path: str) -> bool:
    """Whether R2E-Gym takes a path for a test: by the file's name, or by a folder of tests anywhere in the path."""
    *folders, name = path.split("/")
    return name.startswith("test_") or name.endswith("_test.py") or not _TEST_FOLDERS.isdisjoint({*folders, name})


def _file_diff(path: str, file: Mapping[str, Any]) -> list[str]:
    """The lines of one file's diff; empty where only the mode of the file changes."""
    hunks = [line for hunk in file["hunks"] for line in _hunk(hunk)]
    mode = _mode(file)
    if not hunks and not mode:
        return []
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    before = _NULL if _is_null(file, "minus_file") else old
    after = _NULL if _is_null(file, "plus_file") else new
    sides = [f"--- {before}", f"+++ {after}"] if hunks else []
    return [f"diff --git {old} {new}", *mode, *_index(file.get("index_line")), *sides, *hunks]


def _mode(file: Mapping[str, Any]) -> list[str]:
    """The line that says that a file is new or deleted, which git needs; empty for another file."""
    line = file["header"].get("misc_line") or ""
    if line.startswith(("new file mode ", "deleted file mode ")):
        return [line]
    if _is_null(file, "minus_file"):
        return ["new file mode 100644"]
    return ["deleted file mode 100644"] if _is_null(file, "plus_file") else []


def _is_null(file: Mapping[str, Any], side: str) -> bool:
    return bool(file.get(side)) and file[side]["path"] == _NULL


def _quoted(name: str) -> str:
    """A name as git writes it. R2E-Gym keeps git's escapes and drops the quotes around them."""
    return f'"{name}"' if "\\" in name else name


def _index(index: Mapping[str, Any] | None) -> list[str]:
    if not index:
        return []
    mode = f" {index['mode']}" if index.get("mode") else ""
    return [f"index {index['old_commit_hash']}..{index['new_commit_hash']}{mode}"]


def _hunk(hunk: Mapping[str, Any]) -> list[str]:
    descriptor = hunk["descriptor"]
    section = f" {descriptor['section']}" if descriptor.get("section") else ""
    head = f"@@ -{_range(descriptor['old_range'])} +{_range(descriptor['new_range'])} @@{section}"
    return [head, *_lines(hunk["line_group"]["all_lines"])]


def _range(said: Mapping[str, Any]) -> str:
    length = said.get("length")
    return f"{said['start']}" if length is None else f"{said['start']},{length}"


def _lines(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines of a hunk with their signs. A note always says that the file ends without a newline."""
    return [_NO_NEWLINE if line["type"] == "note" else _SIGNS[line["type"]] + line["content"] for line in lines]


FORMAT = RowFormat(
    name="r2e-gym",
    title="R2E-Gym",
    f2p=(),
    p2p=(),
    fits=_fits,
    draft=_draft,
    also=(EXPECTED,),
    plain=lambda item: _COLOUR.sub("", item),
)
