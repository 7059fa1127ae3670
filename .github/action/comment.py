"""Keeps one comment on the pull request up to date: the newest of our own that begins with the text's marker.

Standard library only. The text is $RUNNER_TEMP/repair-comment.md, the token GITHUB_TOKEN; with PANELS "0" no comment
is begun. Nothing is called for a pull request from a fork, whose token may not write. A comment that cannot be written
is a warning: whether the panels passed is another step's word.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

OURS = "github-actions[bot]"  # whoever has the job's token; no person can have a name in brackets
TRIES, PAUSE = 3, 0.5
MAX_PAGES = 100  # of 100 comments


def call(method: str, path: str, document: dict[str, str] | None = None) -> tuple[Any, str]:
    """One request to the API: its JSON, and its Link header."""
    request = urllib.request.Request(  # noqa: S310 - the runner says where the API is
        os.environ["GITHUB_API_URL"] + path,
        None if document is None else json.dumps(document).encode(),
        {
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "repair",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        method=method,
    )
    # Not sent on to where a redirect leads.
    request.add_unredirected_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer), answer.headers.get("Link", "")


def ours(repository: str, number: int, marker: str) -> int | None:
    """The newest comment that the bot began with this marker."""
    newest = None
    for page in range(1, MAX_PAGES + 1):
        comments, link = call("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100&page={page}")
        for comment in comments:
            user = comment["user"] or {}  # an account may be gone
            if user.get("login") == OURS and user.get("type") == "Bot" and (comment["body"] or "").startswith(marker):
                newest = max(newest or 0, int(comment["id"]))
        if 'rel="next"' not in link:
            break
    return newest


def put(repository: str, number: int, text: str, *, new: bool) -> None:
    """Update our comment, or write the first."""
    known = ours(repository, number, text.partition("\n")[0])
    if known is not None:
        call("PATCH", f"/repos/{repository}/issues/comments/{known}", {"body": text})
    elif new:
        call("POST", f"/repos/{repository}/issues/{number}/comments", {"body": text})


def put_patiently(repository: str, number: int, text: str, *, new: bool) -> None:
    """The whole of it again where the server fails: a comment that was written all the same is then found."""
    for left in reversed(range(TRIES)):
        try:
            put(repository, number, text, new=new)
            break
        except OSError as err:
            if not left or (isinstance(err, urllib.error.HTTPError) and err.code < 500):
                raise
        time.sleep(PAUSE)


def warning(text: str) -> str:
    """A text as the runner reads it in a command, on one line."""
    return "::warning::" + text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def comment(event: dict[str, Any], text: str, *, new: bool) -> str:
    """Comment where it can be done; what to say in the log."""
    pull = event.get("pull_request")
    if pull is None:
        return "No pull request: no comment."
    head, base = pull["head"]["repo"], pull["base"]["repo"]
    if head is None or head["full_name"] != base["full_name"]:  # None: the fork is gone
        return "The pull request comes from a fork, whose token may not write: the step summary holds everything."
    put_patiently(base["full_name"], int(pull["number"]), text, new=new)
    return "The comment is up to date."


def main() -> None:
    """Comment; whatever goes wrong is a warning."""
    try:
        event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
        text = Path(os.environ["RUNNER_TEMP"], "repair-comment.md").read_text("utf-8")
        print(comment(event, text, new=os.environ["PANELS"] != "0"))
    except Exception as err:  # noqa: BLE001 - nothing here may hide what became of the panels
        advice = "the job needs `permissions: pull-requests: write`" if "403" in str(err) else "run the job again"
        print(warning(f"The comment could not be written ({type(err).__name__}: {err}): {advice}"))


if __name__ == "__main__":
    main()
