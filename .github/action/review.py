"""What the action says of a pull request: `repair check`, `gate` and `diff` of each panel that it touches.

Reads the event, the action's inputs (PANEL, BASE, MIN_TASKS) and the checkout in the working directory. Writes the step
summary, the step's outputs and the comment's text, $RUNNER_TEMP/repair-comment.md. Its exit status is 0 whatever the
panels are worth: the action fails after the comment. Of check and gate only statuses and numbers are shown; all other
text of a task comes from `repair diff`, which makes it safe in Markdown, or goes to the log, where no command is heard.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from repair.cause import printable
from repair.report.markdown import code
from repair.touched import panels_of

COMMENT_CHARS = 65_400  # GitHub takes 65,536 characters
SUMMARY_CHARS = 250_000  # GitHub takes 1 MiB, and a character has at most four bytes
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


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, errors="surrogateescape", check=False)


def commit(revision: str) -> str:
    """A revision's commit in hexadecimal, empty where it is not here."""
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").stdout.strip()


def base_commit(asked: str, event: dict[str, Any]) -> str:
    """The commit to compare with: the one asked for, else where the pull request left its base."""
    revision = asked or event.get("pull_request", {}).get("base", {}).get("sha", "")
    if not revision:
        raise CannotReviewError("There is nothing to compare with: run on `pull_request`, or set `base`.")
    found = commit(revision)
    if not found and git("fetch", "--no-tags", "--depth=1", "--end-of-options", "origin", revision).returncode == 0:
        found = commit("FETCH_HEAD")
    if not found:
        raise CannotReviewError(NO_BASE)
    left_at = "" if asked else git("merge-base", found, "HEAD").stdout.strip()  # of a shallow checkout nothing is known
    return left_at or found


def touched(base: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The panels that differ from the base in any file, and those whose panel.toml is gone."""
    changed = git("diff", "--name-only", "--no-renames", "-z", base, "HEAD", "--")
    if changed.returncode != 0:
        raise CannotReviewError("The changed files cannot be listed: see the step's log.")
    files = changed.stdout.split("\0")[:-1]
    gone = [file for file in files if file.rpartition("/")[2] == "panel.toml" and not Path(file).is_file()]
    panels = panels_of(files, lambda directory: Path(directory, "panel.toml").is_file())
    return panels, tuple(file.rpartition("/")[0] or "." for file in gone)


# ---- one panel


def repair(*arguments: str, cwd: str = ".") -> tuple[int, str]:
    """The exit status and output of a command of ours; what it complains of goes to the log."""
    command = [sys.executable, "-I", "-X", "utf8", "-m", "repair", *arguments]
    print("repair", *map(printable, arguments), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", check=False, cwd=cwd)
    return done.returncode, done.stdout


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
    words = [records.get(checked, unanswered("check", checked)), gate, failure]
    line = f"{'✅' if passed else '❌'} {code(panel)}: {'; '.join(filter(None, words))}"
    return Reviewed(passed, line, changes, admitted, differs)


def removed(panel: str, base: str) -> Reviewed:
    """A panel whose panel.toml is gone: there is nothing to check, and all the more to see."""
    changes, _, failure = compare(panel, base)
    words = ["is no panel any more", failure]
    line = f"{'❌' if failure else '⚠️'} {code(panel)}: {'; '.join(filter(None, words))}"
    return Reviewed(not failure, line, changes, differs=True)


def sum_of(gate: dict[str, Any]) -> tuple[int, str]:
    """How many tasks are admitted, and the gate's sum; nothing but numbers is taken over."""
    clean, repaired, least = (int(gate[key]) for key in ("clean", "repaired", "min_tasks"))
    met, sign = ("gate met", "≥") if gate["passed"] is True else ("**gate not met**", "<")
    return clean + repaired, f"{met}: {clean} clean + {repaired} repaired = {clean + repaired} {sign} {least}"


def unanswered(command: str, status: int) -> str:
    return f"**`repair {command}` could not answer** (exit status {status}; the step's log says why)"


# ---- all of them


def compose(found: Sequence[Reviewed], words: str, limit: int) -> str:
    """All panels in at most `limit` characters: as many lines as fit, then whole changes as long as they fit.

    Changes are never cut inside, where an open block would swallow what follows; what is left out is counted.
    """
    first = sorted(found, key=lambda panel: panel.passed)  # what failed is not left out
    room = limit - len(words) - 300
    lines, changes = [], []
    for panel in first:
        room -= len(panel.line) + 3
        if room < 0:
            break
        lines.append(f"- {panel.line}\n")
    for panel in first:
        if panel.changes and len(panel.changes) + 2 <= room:
            room -= len(panel.changes) + 2
            changes.append(f"\n{panel.changes.strip()}\n")
    total = sum(bool(panel.changes) for panel in found)
    left = [
        (len(found) - len(lines), f"of {len(found)} panels"),
        (total - len(changes), f"of {total} panels' changes (they are in the step summary, or ask `repair diff`)"),
    ]
    said = "; ".join(f"{count} {what}" for count, what in left if count)
    return "".join([words, *lines, *changes, f"\n**Left out here: {said}.**\n" if said else ""])


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
    found += [removed(panel, base) for panel in gone]
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
    comment = compose(found, marker() + words, COMMENT_CHARS)
    Path(os.environ["RUNNER_TEMP"], "repair-comment.md").write_text(comment, encoding="utf-8")


if __name__ == "__main__":
    main()
