"""Enough of GitHub to run the action's own steps: the runner's environment and log, and the API for comments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import yaml

from tests.support.paths import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TOKEN = "a-token-of-the-job"
BOT = {"login": "github-actions[bot]", "type": "Bot"}


# ---- the API


@dataclass
class Api:
    """The comments of pull request 7 of acme/panels, all calls as (method, path), and answers that go wrong first."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)

    def add(self, body: str, user: Mapping[str, str] | None) -> int:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": user})
        return len(self.comments)

    def writes(self) -> list[str]:
        return [f"{method} {path.rpartition('/')[2]}" for method, path in self.calls if method != "GET"]

    def answer(self, method: str, path: str, sent: Any) -> tuple[int, Any, str]:
        """Status, document and Link header."""
        self.calls.append((method, path))
        if self.broken:
            return self.broken.pop(0), {"message": "no\n::error::said the server"}, ""
        here = "/repos/acme/panels/issues/"
        if method == "GET" and path.startswith(f"{here}7/comments?per_page=100&page="):
            page = int(path.rpartition("=")[2])
            rest = self.comments[page * 100 :]
            link = f'<{self.url}{here}7/comments?page={page + 1}>; rel="next"' if rest else ""
            return 200, self.comments[(page - 1) * 100 : page * 100], link
        if method == "POST" and path == f"{here}7/comments":
            return 201, {"id": self.add(sent["body"], BOT)}, ""
        if method == "PATCH" and path.startswith(f"{here}comments/"):
            comment = self.comments[int(path.rpartition("/")[2]) - 1]
            comment["body"] = sent["body"]
            return 200, comment, ""
        return 404, {"message": "Not Found"}, ""


@contextmanager
def serving() -> Iterator[Api]:
    """The API on a port of this machine."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
            known = self.headers["Authorization"] == f"Bearer {TOKEN}"
            status, document, link = api.answer(self.command, self.path, sent) if known else (401, {}, "")
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Link", link)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the library's

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()


# ---- the runner


@dataclass(frozen=True)
class Ran:
    """What a use of the action leaves: whether it succeeded, its outputs, the step summary and the log."""

    succeeded: bool
    outputs: dict[str, str]
    summary: str
    log: str

    @property
    def commands(self) -> list[str]:
        """The commands that a runner would take out of the log."""
        found, stopped = [], ""
        for line in self.log.splitlines():
            command = line.strip()
            if stopped:
                stopped = "" if command == f"::{stopped}::" else stopped
            elif command.startswith("::stop-commands::"):
                stopped = command.removeprefix("::stop-commands::")
            elif command.startswith("::") or "##[" in command:
                found.append(command)
        return found


@dataclass
class Runner:
    """A runner with a checkout. Its Python is the tests' own, with `repair` as it is here: nothing is installed."""

    workspace: Path
    temp: Path
    event: dict[str, Any]
    api_url: str
    event_name: str = "pull_request"

    def use(self, **inputs: str) -> Ran:
        """Run the action's `run:` steps as the runner does: one bash each, until one fails."""
        given = {key: str(value.get("default", "")) for key, value in ACTION["inputs"].items()}
        given |= {key.replace("_", "-"): value for key, value in inputs.items()}
        (self.temp / "repair").unlink(missing_ok=True)
        (self.temp / "repair").symlink_to(sys.prefix)  # in place of the step that installs
        known = {f"inputs.{key}": value for key, value in given.items()} | {"github.token": TOKEN}
        files = {name: self.temp / name for name in ("output", "summary", "event", "step")}
        files["event"].write_text(json.dumps(self.event))
        summary, log, succeeded = "", "", True
        for step in ACTION["runs"]["steps"]:
            if "uses" in step or step["name"] == "Install repair" or not _wanted(step.get("if", ""), known):
                continue
            for name in ("output", "summary"):
                files[name].write_text("")
            done = self._bash(step, files, known)
            log += done.stdout
            summary += files["summary"].read_text("utf-8")
            for line in files["output"].read_text("utf-8").splitlines():
                key, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{key}"] = value
            succeeded = done.returncode == 0
            if not succeeded:
                break
        outputs = {name: _filled(output["value"], known) for name, output in ACTION["outputs"].items()}
        return Ran(succeeded, outputs, summary, log)

    def _bash(
        self, step: Mapping[str, Any], files: Mapping[str, Path], known: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        files["step"].write_text(step["run"])
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.temp),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api_url,
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_EVENT_PATH": str(files["event"]),
            "GITHUB_JOB": "review",
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "GITHUB_WORKFLOW": "panel",
            "RUNNER_TEMP": str(self.temp),
            **{key: _filled(value, known) for key, value in step.get("env", {}).items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(files["step"])]
        return subprocess.run(
            command,
            cwd=self.workspace,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A text with its expressions evaluated; an output that was never written is empty."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: known.get(found[1], ""), text)


def _wanted(condition: str, known: Mapping[str, str]) -> bool:
    """A step's condition; all that the action has are like `${{ inputs.comment == 'true' }}`."""
    if not condition:
        return True
    found = re.fullmatch(r"\$\{\{ (\S+) == '(\w+)' \}\}", condition)
    assert found, condition
    return known[found[1]] == found[2]
