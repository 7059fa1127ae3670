"""What the action says of a pull request: `repair check`, `gate` and `diff` of each panel that it touches.

Reads the event, the action's inputs (PANEL, BASE, MIN_TASKS, ALLOW_REMOVED) and the checkout in the working directory.
Writes the step summary, the step's outputs and the comment's text, $RUNNER_TEMP/repair-comment.md. Its exit status is 0
whatever the panels are worth: the action fails after the comment. Of check and gate only statuses and numbers are
shown; all other text of a task comes from `repair diff`, which makes it safe in Markdown, or goes to the log, where no
command is heard. Each command runs in a process of its own, forked so that modules are read once: what breaks one
breaks no other.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from repair.records.diff.touched import panels_of, read
from repair.report.diff.markdown import code
from repair.text import printable

COMMENT_CHARS = 65_400  # GitHub takes 65,536 characters
SUMMARY_CHARS = 250_000  # GitHub takes 1 MiB, and a character has at most four bytes
# What `repair diff` says in an alert: lines of ours up to the title, below it lists, nothing folded. That the base has
# no such panel is an alert of its own, and no alarm: every new panel has it.
ALARM = re.compile(r"^> \[!CAUTION\]\n> \*\*(?!The panel\*\*)(.+)\*\*\n(?:>.*\n)*", re.MULTILINE)
# What the commands import; the last is read where options are.
MODULES = (
    *("repair.cli", "repair.pipeline", "repair.report.run", "repair.records.gate", "repair.records.diff.sides"),
    "pydantic.type_adapter",
)
IN_COMMENT = "the step summary holds more, and `repair diff` shows all"
NO_BASE = (
    "The base commit is not in the checkout and cannot be fetched. Set `fetch-depth: 0` at actions/checkout, "
    "or the action's `base` to a commit that is there."
)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One panel: its line, and what `repair diff` says; both are Markdown."""

    passed: bool
    line: str
    changes: str = ""
    admitted: int = 0
    differs: bool = False


class CannotReviewError(Exception):
    """Nothing can be said of any panel; the message is Markdown of our own words."""


# ---- what to review


def git(*arguments: str) -> tuple[int, str]:
    """The exit status and output of git; a name that is no UTF-8 comes out as Python names files."""
    done = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, check=False)
    return done.returncode, os.fsdecode(done.stdout)


def commit(revision: str) -> str:
    """A revision's commit in hexadecimal, empty where it is not here."""
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")[1].strip()


def base_commit(asked: str, event: dict[str, Any]) -> str:
    """The commit to compare with: the one asked for, else where the pull request left its base."""
    revision = asked or event.get("pull_request", {}).get("base", {}).get("sha", "")
    if not revision:
        raise CannotReviewError("There is nothing to compare with: run on `pull_request`, or set `base`.")
    found = commit(revision)
    if not found and git("fetch", "--no-tags", "--depth=1", "--end-of-options", "origin", revision)[0] == 0:
        found = commit("FETCH_HEAD")
    if not found:
        raise CannotReviewError(NO_BASE)
    left_at = "" if asked else git("merge-base", found, "HEAD")[1].strip()  # of a shallow checkout nothing is known
    return left_at or found


def touched(base: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The panels that files touch which differ from the base, and those whose panel.toml is gone.

    By git's plumbing, which no setting of the checkout makes blind to a submodule.
    """
    asked = ("-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
    status, listed = git("diff-tree", *asked, base, "HEAD", "--")
    if status != 0:
        raise CannotReviewError("The changed files cannot be listed: see the step's log.")
    files, checkout = listed.split("\0")[:-1], read(Path())
    folders = [file.rpartition("/")[0] or "." for file in files if file.rpartition("/")[2] == "panel.toml"]
    return panels_of(files, checkout), tuple(folder for folder in folders if folder not in checkout.panels)


# ---- one panel


def repair(*arguments: str, cwd: str = ".") -> tuple[int, str]:
    """The exit status and output of a command of ours; what it complains of goes to the log."""
    for module in MODULES:
        with suppress(ImportError):  # the command that needs it says so
            importlib.import_module(module)
    print("repair", *map(printable, arguments), flush=True)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            answer(arguments, cwd, said.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, said.read().decode("utf-8", "replace")


def answer(arguments: Sequence[str], cwd: str, output: int) -> NoReturn:
    """Run a command of ours and end this process, whatever happens."""
    from repair.cli import run_app

    status = 3
    try:
        os.chdir(cwd)
        os.dup2(output, 1)
        status = run_app(arguments)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - nothing may return to what the parent goes on with
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def compare(panel: str, base: str) -> tuple[str, bool, str]:
    """`repair diff` of a panel: its Markdown, whether anything differs, and what to say where it failed.

    It starts where a pull request cannot put a directory that has the base's name.
    """
    where = str(Path(panel).absolute())
    status, said = repair("diff", "--format=markdown", "--", where, base, cwd=os.environ["RUNNER_TEMP"])
    if status not in {0, 1} or not said.strip():
        return "", False, unanswered("diff", status)
    return f"## {code(panel)}\n\n{said}", status == 1, ""


def review(panel: str, base: str, min_tasks: str) -> Reviewed:
    """Check, gate and diff one panel."""
    checked, said = repair("check", "--", panel)
    print(said, end="", flush=True)
    gated, counts = repair("gate", "--json", *([f"--min-tasks={min_tasks}"] if min_tasks else []), "--", panel)
    admitted, gate = sum_of(json.loads(counts)) if gated in {0, 1} and counts else (0, unanswered("gate", gated))
    changes, differs, failure = compare(panel, base)
    passed = checked == 0 and gated == 0 and not failure
    records = {0: "every record is sound", 1: "**not every record is sound**"}
    alarms = [title[0].lower() + title[1:] for title in ALARM.findall(changes)]
    look = f"**look at: {', '.join(alarms)}**" if alarms else ""
    words = [records.get(checked, unanswered("check", checked)), gate, failure, look]
    sign = "❌" if not passed else "⚠️" if alarms else "✅"
    line = f"{sign} {code(panel)}: {'; '.join(filter(None, words))}"
    return Reviewed(passed, line, changes, admitted, differs)


def removed(panel: str, base: str, allowed: bool) -> Reviewed:
    """A panel whose panel.toml is gone: there is nothing to check, and all the more to see.

    It fails unless the workflow allows it: under another name the panel's gate and records have nothing to differ from.
    """
    changes, _, failure = compare(panel, base)
    passed = allowed and not failure
    line = f"{'⚠️' if passed else '❌'} {code(panel)}: {'; '.join(filter(None, ['is no panel any more', failure]))}"
    return Reviewed(passed, line, changes, differs=True)


def sum_of(gate: dict[str, Any]) -> tuple[int, str]:
    """How many tasks are admitted, and the gate's sum; nothing but numbers is taken over."""
    clean, repaired, least = (int(gate[key]) for key in ("clean", "repaired", "min_tasks"))
    met, sign = ("gate met", "≥") if gate["passed"] is True else ("**gate not met**", "<")
    return clean + repaired, f"{met}: {clean} clean + {repaired} repaired = {clean + repaired} {sign} {least}"


def unanswered(command: str, status: int) -> str:
    return f"**`repair {command}` could not answer** (exit status {status}; the step's log says why)"


# ---- all of them


def compose(found: Sequence[Reviewed], words: str, limit: int, more: str = "`repair diff` shows all") -> str:
    """All panels in at most `limit` characters: their lines, what is alarming, and all changes of as many as fit.

    What failed comes first, then what is alarming. No panel's size is at another's cost: each has its share of the
    room. All changes of a panel are never cut, since an open block would swallow what follows; an alarm is, between
    lines. What is left out is counted, and `more` says where it is.
    """
    parts = sorted(map(Part.of, found), key=lambda part: (part.panel.passed, not part.alarm))
    room = limit - len(words) - 300
    for_alarms = min(sum(len(part.alarm) for part in parts), room // 2)
    lines = []
    for part in parts:
        line = f"- {part.panel.line}\n"
        if room - len(line) < for_alarms:
            break
        lines.append(line)
        room -= len(line)
    for part, share in zip(parts, shares([len(part.alarm) for part in parts], room), strict=True):
        part.shown = cut(part.alarm, share)
        room -= len(part.shown)
    wanted = shares([len(part.whole) - len(part.shown) for part in parts], room)
    for use_of_what_others_leave in (False, True):
        for part, share in zip(parts, wanted, strict=True):
            needed = len(part.whole) - len(part.shown)
            if 0 < needed <= (room if use_of_what_others_leave else share):
                part.shown = part.whole
                room -= needed
    total = sum(bool(part.whole) for part in parts)
    left = [
        (len(found) - len(lines), f"of {len(found)} panels"),
        (sum(part.shown != part.whole for part in parts), f"of {total} panels' changes ({more})"),
    ]
    said = "; ".join(f"{count} {what}" for count, what in left if count)
    shown = [part.shown for part in parts]
    return "".join([words, *lines, *shown, f"\n**Left out here: {said}.**\n" if said else ""])


@dataclass(slots=True)
class Part:
    """A panel's changes in a text: all of them, what of them is alarming, and what is shown."""

    panel: Reviewed
    whole: str
    alarm: str
    shown: str = ""

    @classmethod
    def of(cls, panel: Reviewed) -> Part:
        head, alarms = panel.changes.partition("\n")[0], [found[0] for found in ALARM.finditer(panel.changes)]
        whole = f"\n{panel.changes.strip()}\n" if panel.changes else ""
        return cls(panel, whole, "\n".join(["", f"{head}\n", *alarms]) if alarms else "")


def shares(needs: Sequence[int], room: int) -> list[int]:
    """What each gets of the room: no more than it needs, and what it leaves is shared by those that need more."""
    given = [0] * len(needs)
    for position, index in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        given[index] = min(needs[index], room // (len(needs) - position))
        room -= given[index]
    return given


def cut(alarm: str, room: int) -> str:
    """As many of an alarm's lines as fit; none where not even the first entry does."""
    if len(alarm) <= room:
        return alarm
    lines, kept, size = re.findall(r".*\n", alarm), 0, 80
    while size + len(lines[kept]) <= room:
        size += len(lines[kept])
        kept += 1
    more = f"> \n> and {len(lines) - kept} more lines, which `repair diff` shows\n"
    return "".join([*lines[:kept], more]) if kept > 6 else ""


def review_all(event: dict[str, Any]) -> tuple[list[Reviewed], str]:
    """Every panel in question, and what the text begins with."""
    try:
        if os.environ["GITHUB_EVENT_NAME"] == "pull_request_target":
            raise CannotReviewError("Run on `pull_request`: on `pull_request_target` a fork's files meet a token.")
        base = base_commit(os.environ["BASE"].strip(), event)
        asked = tuple(filter(None, map(str.strip, os.environ["PANEL"].splitlines())))
        panels, gone = (asked, ()) if asked else touched(base)
    except CannotReviewError as err:
        return [Reviewed(False, f"❌ {err}")], ""
    found = [review(panel, base, os.environ["MIN_TASKS"].strip()) for panel in dict.fromkeys(panels)]
    found += [removed(panel, base, os.environ["ALLOW_REMOVED"] == "true") for panel in gone]
    return found, f"Compared with {base}.\n\n" if found else "No panel is touched.\n"


def marker() -> str:
    """What our comment begins with: the same in every run of one job on the same panels, and in no other's."""
    name = "\0".join(os.environ[key] for key in ("GITHUB_WORKFLOW", "GITHUB_JOB", "PANEL"))
    return f"<!-- repair-panel:{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:16]} -->\n"


def main() -> None:
    """Review, and write what the other steps need."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)  # of what follows, nothing is a command to the runner
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    found, words = review_all(event)
    print(f"::{token}::", flush=True)
    passed = all(panel.passed for panel in found)
    words = f"## Panels: {'passed' if passed else 'failed'}\n\n{words}"
    outputs = {
        "panels": str(len(found)),
        "passed": str(passed).lower(),
        "admitted": str(sum(panel.admitted for panel in found)),
        "differs": str(any(panel.differs for panel in found)).lower(),
    }
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{key}={value}\n" for key, value in outputs.items())
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.write(compose(found, words, SUMMARY_CHARS))
    comment = compose(found, marker() + words, COMMENT_CHARS, IN_COMMENT)
    Path(os.environ["RUNNER_TEMP"], "repair-comment.md").write_text(comment, encoding="utf-8")


if __name__ == "__main__":
    main()
