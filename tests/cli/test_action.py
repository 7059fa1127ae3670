"""The action for pull requests, its steps run as a runner does, in real repositories and against a local API."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from repair.model import Observed, Outcome
from tests.conftest import MakeTask
from tests.support import records
from tests.support.actions import ACTION, BOT, Api, Ran, Runner, serving
from tests.support.paths import ROOT

KEEP = "tests/test_calc.py::test_keep[3]"
HOSTILE = '`a` | @someone <img src=x> </details> [x](http://y) ``` ::error::z $(touch x) <!-- repair-panel:0 --> \\"#1'
SAME = {"full_name": "acme/panels"}
NOWHERE = "f" * 40  # a base with which no panel is read: failing costs no time


def git(where: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=kim", "-c", "user.email=kim@acme.example", "-c", "init.defaultBranch=main")
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | own
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=where, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(repo: Path) -> str:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "a change")
    return git(repo, "rev-parse", "HEAD")


@dataclass
class Pull:
    """A pull request at work: its checkout, the commit that it starts from, and the runner of its job."""

    repo: Path
    base: str
    runner: Runner
    api: Api

    def use(self, **inputs: str) -> Ran:
        """Commit what was changed, and use the action."""
        if inputs.get("base") != NOWHERE:
            commit(self.repo)
        return self.runner.use(**inputs)

    @property
    def comment(self) -> str:
        [comment] = self.api.comments
        return str(comment["body"])


@pytest.fixture(scope="session")
def api_server() -> Iterator[Api]:
    with serving() as api:
        yield api


@pytest.fixture
def api(api_server: Api) -> Api:
    for held in (api_server.comments, api_server.calls, api_server.broken):
        held.clear()
    return api_server


def add_panel(repo: Path, panel: Path, make_task: MakeTask, name: str, **keys: Any) -> Path:
    """A panel of one task with a record, at `name` in the repository."""
    panel.mkdir(exist_ok=True)
    (panel / "panel.toml").write_text('name = "test"\n\n[policy]\nmin_p2p = 0\n')
    records.write(make_task(**keys))
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    return panel.rename(repo / name)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the repository that all tests begin with is kept, once the first has made it."""
    return tmp_path_factory.mktemp("made") / "repo"


@pytest.fixture
def pull(tmp_path: Path, made_once: Path, panel: Path, make_task: MakeTask, api: Api) -> Pull:
    """A pull request that so far changes nothing of a repository with the panels a, b and c in `panels`."""
    repo, temp = tmp_path / "repo", tmp_path / "temp"
    temp.mkdir()
    if not made_once.exists():
        make_repository(made_once, panel, make_task)
    shutil.copytree(made_once, repo, symlinks=True)
    base = (repo / ".git/refs/heads/main").read_text().strip()
    event = {"pull_request": {"number": 7, "base": {"sha": base, "repo": SAME}, "head": {"repo": SAME}}}
    return Pull(repo, base, Runner(repo, temp, event, api.url), api)


def make_repository(repo: Path, panel: Path, make_task: MakeTask) -> None:
    repo.mkdir()
    git(repo, "init", "-q", "--template=")
    (repo / "README.md").write_text("Panels.\n")
    for name in "abc":
        add_panel(repo, panel, make_task, f"panels/{name}")
    commit(repo)


def edit(panel: Path, before: bytes = b'"kept": 12', after: bytes = b'"kept": 13') -> None:
    file = panel / "task-1" / "repair.json"
    content = file.read_bytes()
    assert before in content
    records.overwrite(file, content.replace(before, after))


def new_record(panel: Path, *, honest: bool = True) -> None:
    """Replace a record by one that drops an id; an `honest` one is of a task that has another time limit."""
    task = panel / "task-1"
    for name in ("repair.json", "outcomes.json"):
        (task / name).unlink()
    if honest:
        document = json.loads((task / "task.json").read_text())
        (task / "task.json").write_text(json.dumps({**document, "timeout": 900}))
    records.write(task, {KEEP: records.SKIPPED}, {KEEP: records.SKIPPED})


def lines(ran: Ran) -> list[str]:
    return [line for line in ran.summary.splitlines() if re.match("- (✅|❌|⚠️)", line)]


# ---- what it says


def test_a_panel_whose_records_are_sound_passes(pull: Pull) -> None:
    new_record(pull.repo / "panels/a")
    ran = pull.use()
    assert ran.succeeded, ran.log
    assert ran.outputs == {"passed": "true", "admitted": "1", "differs": "true"}
    assert lines(ran) == ["- ✅ `panels/a`: every record is sound; gate met: 0 clean + 1 repaired = 1 ≥ 1"]
    assert ran.summary.startswith(f"## Panels: passed\n\nCompared with {pull.base}.\n")
    assert "needs lxml" in ran.summary
    marker, _, text = pull.comment.partition("\n")
    assert re.fullmatch("<!-- repair-panel:[0-9a-f]{16} -->", marker)
    assert text == ran.summary
    assert ran.commands == []


def test_a_record_that_was_replaced_for_no_reason_is_named(pull: Pull) -> None:
    new_record(pull.repo / "panels/a", honest=False)
    ran = pull.use()
    assert ran.succeeded, ran.log
    [line] = lines(ran)
    assert line.startswith("- ⚠️ `panels/a`: every record is sound; gate met: ")
    assert line.endswith("**look at: records that were replaced though nothing that they are made from changed**")


def test_an_edited_record_fails_the_job_after_the_comment(pull: Pull) -> None:
    edit(pull.repo / "panels/a")
    ran = pull.use()
    assert not ran.succeeded
    assert ran.outputs == {"passed": "false", "admitted": "0", "differs": "true"}
    words = "**not every record is sound**; **gate not met**: 0 clean + 0 repaired = 0 < 1"
    assert lines(ran) == [f"- ❌ `panels/a`: {words}; **look at: records that do not hold**"]
    assert "task-1: edited" in ran.log
    assert pull.comment.endswith(ran.summary)
    assert [command.partition("::A ")[0] for command in ran.commands] == ["::error"]


def test_a_list_that_was_changed_by_hand_fails(pull: Pull) -> None:
    file = pull.repo / "panels/b/task-1/task.json"
    task = json.loads(file.read_text())
    task["PASS_TO_PASS"].remove(KEEP)
    file.write_text(json.dumps(task))
    ran = pull.use()
    assert (ran.succeeded, ran.outputs["passed"]) == (False, "false")
    assert "`panels/b`: **not every record is sound**" in ran.summary
    assert KEEP in ran.summary
    assert "task-1: stale" in ran.log


def test_a_new_panel_is_checked_and_shown(pull: Pull, panel: Path, make_task: MakeTask) -> None:
    add_panel(pull.repo, panel, make_task, "more/new one", f2p=["tests/test_new.py::test_it"])
    ran = pull.use()
    assert ran.succeeded, ran.log
    assert lines(ran) == ["- ✅ `more/new one`: every record is sound; gate met: 1 clean + 0 repaired = 1 ≥ 1"]
    assert "## `more/new one`" in ran.summary


def test_a_panel_at_the_root_is_found(pull: Pull, panel: Path, make_task: MakeTask) -> None:
    add_panel(pull.repo, panel, make_task, "new")
    for file in (pull.repo / "new").iterdir():
        file.rename(pull.repo / file.name)
    assert "`.`: every record is sound" in pull.use().summary


@pytest.mark.parametrize("allowed", [False, True])
def test_a_panel_that_is_gone_fails_unless_it_may(pull: Pull, allowed: bool) -> None:
    git(pull.repo, "rm", "-rq", "panels/c")
    ran = pull.use(**({"allow_removed": "true"} if allowed else {}))
    assert ran.succeeded is allowed, ran.log
    assert lines(ran) == [f"- {'⚠️' if allowed else '❌'} `panels/c`: is no panel any more"]
    assert (ran.outputs["passed"], ran.outputs["differs"]) == (str(allowed).lower(), "true")
    assert "task-1" in ran.summary


def test_a_panel_does_not_get_another_gate_by_another_name(pull: Pull) -> None:
    git(pull.repo, "mv", "panels/c", "panels/d")
    with (pull.repo / "panels/d/panel.toml").open("a") as file:
        file.write("\n[gate]\nmin_tasks = 0\n")
    ran = pull.use()
    assert not ran.succeeded
    assert [line.split(":")[0] for line in lines(ran)] == ["- ❌ `panels/c`", "- ✅ `panels/d`"]


def test_without_panel_toml_files_of_a_panel_do_not_slip_through(pull: Pull) -> None:
    (pull.repo / "panels/c/panel.toml").unlink()
    edit(pull.repo / "panels/c")
    ran = pull.use()
    assert (ran.succeeded, lines(ran)) == (False, ["- ❌ `panels/c`: is no panel any more"])


def test_of_several_panels_those_that_are_touched_count_and_the_failed_come_first(pull: Pull) -> None:
    new_record(pull.repo / "panels/a")
    edit(pull.repo / "panels/b")
    ran = pull.use()
    assert not ran.succeeded
    assert [line.split(":")[0] for line in lines(ran)] == ["- ❌ `panels/b`", "- ✅ `panels/a`"]
    assert re.findall("^## `(.+)`$", ran.summary, re.MULTILINE) == ["panels/b", "panels/a"]
    assert ran.outputs == {"passed": "false", "admitted": "1", "differs": "true"}


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("panels/c\npanels/a\n", ["panels/c", "panels/a"]),
        ("\r\n  panels/a  \r\n\r\npanels/a", ["panels/a"]),
    ],
    ids=["two", "blanks and twice"],
)
def test_the_panels_may_be_named(pull: Pull, asked: str, named: list[str]) -> None:
    ran = pull.use(panel=asked)
    assert ran.succeeded, ran.log
    assert re.findall("- ✅ `(.+?)`", ran.summary) == named
    assert ran.outputs == {"passed": "true", "admitted": str(len(named)), "differs": "false"}


def test_a_named_panel_that_is_none_fails(pull: Pull) -> None:
    ran = pull.use(panel="panels/nowhere\npanels/a")
    assert not ran.succeeded
    assert "**`repair check` could not answer** (exit status 2; the step's log says why)" in lines(ran)[0]
    assert "- ✅ `panels/a`" in ran.summary


@pytest.mark.parametrize(
    ("asked", "passed", "said"),
    [
        ("2", "false", "1 < 2"),
        ("-1", "false", "status 2"),
    ],
)
def test_min_tasks_is_the_gate_s(pull: Pull, asked: str, passed: str, said: str) -> None:
    ran = pull.use(panel="panels/a", min_tasks=asked)
    assert (ran.outputs["passed"], ran.succeeded) == (passed, passed == "true")
    assert said in lines(ran)[0]


def test_a_change_of_what_a_panel_links_to_touches_it(pull: Pull) -> None:
    store = pull.repo / "store/task-1"
    store.parent.mkdir()
    (pull.repo / "panels/b/task-1").rename(store)
    (pull.repo / "panels/b/task-1").symlink_to("../../store/task-1")
    base = commit(pull.repo)
    patch = store / "oracle.patch"
    patch.write_bytes(patch.read_bytes() + b"# more\n")
    ran = pull.use(base=base)
    assert not ran.succeeded
    assert [line.split(";")[0] for line in lines(ran)] == ["- ❌ `panels/b`: **not every record is sound**"]


def test_a_submodule_that_git_is_told_to_ignore_is_seen(pull: Pull) -> None:
    """The submodule is in no checkout here: that another commit of it is asked for is enough."""
    modules = '[submodule "sub"]\n\tpath = panels/c/sub\n\turl = ../sub\n\tignore = all\n'
    (pull.repo / ".gitmodules").write_text(modules)
    bases = []
    for number in "12":
        git(pull.repo, "update-index", "--add", "--cacheinfo", f"160000,{number * 40},panels/c/sub")
        git(pull.repo, "add", ".gitmodules")
        git(pull.repo, "commit", "-q", "-m", "the submodule")
        bases.append(git(pull.repo, "rev-parse", "HEAD"))
    ran = pull.runner.use(base=bases[0])
    assert [line.split("`")[1] for line in lines(ran)] == ["panels/c"]


def test_a_panel_s_name_may_hold_any_byte(pull: Pull) -> None:
    names = [os.fsdecode(name) for name in (b"a\r", b"b\r\n", b"c\xff")]
    for name in names:
        (pull.repo / "panels" / name[0]).rename(pull.repo / "panels" / name)
    base = commit(pull.repo)
    for name in names:
        edit(pull.repo / "panels" / name)
    ran = pull.use(base=base)
    assert not ran.succeeded
    assert [line.split(";")[0].partition(": ")[2] for line in lines(ran)] == ["**not every record is sound**"] * 3


def test_a_looser_gate_is_said_in_the_panel_s_line(pull: Pull) -> None:
    with (pull.repo / "panels/a/panel.toml").open("a") as file:
        file.write("\n[gate]\nmin_tasks = 0\n")
    ran = pull.use()
    words = "every record is sound; gate met: 1 clean + 0 repaired = 1 ≥ 0; **look at: the policy changed**"
    assert lines(ran) == [f"- ⚠️ `panels/a`: {words}"]
    assert ran.succeeded


def test_a_command_that_is_killed_is_no_answer(pull: Pull, review: ModuleType) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("repair.cli.run_app", lambda _: os.kill(os.getpid(), 9))
        assert review.repair("check", "--", "panels/a") == (-9, "")
        patch.setattr("repair.cli.run_app", lambda _: 1 // 0)
        assert review.repair("check", "--", "panels/a") == (3, "")


def test_a_change_elsewhere_touches_no_panel_and_begins_no_comment(pull: Pull) -> None:
    (pull.repo / "README.md").write_text("Our panels.\n")
    ran = pull.use()
    assert ran.succeeded, ran.log
    assert ran.outputs == {"passed": "true", "admitted": "0", "differs": "false"}
    assert ran.summary == "## Panels: passed\n\nNo panel is touched.\n"
    assert pull.api.writes() == []


# ---- the base


def test_what_the_base_branch_got_since_is_not_the_pull_request_s(pull: Pull) -> None:
    git(pull.repo, "checkout", "-q", "-b", "topic")
    edit(pull.repo / "panels/a")
    commit(pull.repo)
    git(pull.repo, "checkout", "-q", "main")
    (pull.repo / "panels/b/panel.toml").write_text('name = "other"\n')
    pull.runner.event["pull_request"]["base"]["sha"] = commit(pull.repo)
    git(pull.repo, "checkout", "-q", "topic")
    assert [line.split(":")[0] for line in lines(pull.use())] == ["- ❌ `panels/a`"]


def test_a_base_may_be_named(pull: Pull) -> None:
    new_record(pull.repo / "panels/a")
    git(pull.repo, "tag", "after-a", commit(pull.repo))
    new_record(pull.repo / "panels/b")
    assert [line.split(":")[0] for line in lines(pull.use(base="after-a"))] == ["- ✅ `panels/b`"]


def test_a_base_that_a_shallow_checkout_lacks_is_fetched(pull: Pull, tmp_path: Path) -> None:
    new_record(pull.repo / "panels/a")
    commit(pull.repo)
    git(pull.repo, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{pull.repo}", "shallow")
    pull.runner.workspace = tmp_path / "shallow"
    ran = pull.runner.use()
    assert ran.succeeded, ran.log
    assert [line.split(":")[0] for line in lines(ran)] == ["- ✅ `panels/a`"]
    assert ran.summary.startswith(f"## Panels: passed\n\nCompared with {pull.base}.\n")


@pytest.mark.parametrize("base", ["f" * 40, "--upload-pack=touch x", "$(touch x)\n::error::c"])
def test_a_base_that_is_nowhere_fails_and_says_what_to_do(pull: Pull, base: str) -> None:
    ran = pull.use(base=base)
    assert not ran.succeeded
    assert "Set `fetch-depth: 0` at actions/checkout" in ran.summary
    assert ran.outputs == {"passed": "false", "admitted": "0", "differs": "false"}
    assert pull.comment.endswith(ran.summary)
    assert not (pull.repo / "x").exists()
    assert len(ran.commands) == 1


def test_a_directory_of_the_base_s_name_does_not_stand_in_for_it(pull: Pull) -> None:
    new_record(pull.repo / "panels/a")
    (pull.repo / pull.base).mkdir()
    (pull.repo / "panels/a").rename(pull.repo / pull.base / "a")
    (pull.repo / pull.base / "panel.toml").write_text('name = "decoy"\n')
    git(pull.repo, "checkout", "-q", "--", "panels/a")
    new_record(pull.repo / "panels/a")
    ran = pull.use(panel="panels/a")
    assert ran.outputs["differs"] == "true"
    assert "needs lxml" in ran.summary


@pytest.mark.parametrize(
    ("event_name", "event", "said"),
    [
        ("push", {}, "run on `pull_request`, or set `base`"),
        ("pull_request_target", {}, "Run on `pull_request`"),
    ],
)
def test_other_events_are_refused(pull: Pull, event_name: str, event: dict[str, Any], said: str) -> None:
    pull.runner.event_name, pull.runner.event = event_name, event
    ran = pull.use()
    assert not ran.succeeded
    assert said in ran.summary
    assert pull.api.calls == []


# ---- the comment


def test_one_comment_is_kept_up_to_date(pull: Pull) -> None:
    edit(pull.repo / "panels/a")
    assert not pull.use().succeeded
    assert pull.comment.count("❌") == 1
    edit(pull.repo / "panels/a", b'"kept": 13', b'"kept": 12')
    ran = pull.use()
    assert ran.succeeded
    assert pull.api.writes() == ["POST comments", "PATCH 1"]
    assert "No panel is touched" in pull.comment


def test_jobs_on_other_panels_have_their_own(pull: Pull) -> None:
    for panel in ("panels/a", "panels/b", "panels/a"):
        pull.use(panel=panel, base=NOWHERE)
    assert pull.api.writes() == ["POST comments", "POST comments", "PATCH 1"]


@pytest.fixture(scope="session")
def markers() -> list[str]:
    """What our comment begins with, once it is known: it is the same in every run of a job."""
    return []


@pytest.fixture
def marker(pull: Pull, markers: list[str]) -> str:
    if not markers:
        pull.use(base=NOWHERE)
        markers.append(pull.comment.partition("\n")[0])
        pull.api.comments.clear()
        pull.api.calls.clear()
    return markers[0]


def test_the_newest_of_ours_is_taken_from_every_page(pull: Pull, marker: str) -> None:
    text = f"{marker}\nold"
    pull.api.add(text, BOT)
    for number in range(230):
        pull.api.add(f"{number}", {"login": "kim", "type": "User"})
    pull.api.add(text, BOT)
    for number in range(90):
        pull.api.add(f"{number}", BOT)
    pull.use(base=NOWHERE)
    assert pull.api.writes() == ["PATCH 232"]
    assert len([path for method, path in pull.api.calls if method == "GET"]) == 4


FOREIGN: tuple[tuple[dict[str, str] | None, str], ...] = (
    ({"login": "mallory", "type": "User"}, ""),
    ({"login": "other[bot]", "type": "Bot"}, ""),
    ({"login": "github-actions[bot]", "type": "User"}, ""),
    (None, ""),  # of an account that is gone
    (BOT, "quoted: "),
)


def test_foreign_comments_with_the_marker_are_left_alone(pull: Pull, marker: str) -> None:
    texts = [f"{before}{marker}\nforged" for _, before in FOREIGN]
    for text, (user, _) in zip(texts, FOREIGN, strict=True):
        pull.api.add(text, user)
    pull.use(base=NOWHERE)
    assert pull.api.writes() == ["POST comments"]
    assert [comment["body"] for comment in pull.api.comments[:-1]] == texts


@pytest.mark.parametrize(
    ("head", "sound"),
    [({"full_name": "mallory/panels"}, True), (None, False)],
    ids=["a fork, passed", "a fork that is gone, failed"],
)
def test_a_fork_gets_the_summary_and_nothing_is_called(pull: Pull, head: dict[str, str] | None, sound: bool) -> None:
    pull.runner.event["pull_request"]["head"]["repo"] = head
    ran = pull.use(base="" if sound else NOWHERE)
    assert ran.succeeded is sound
    assert ran.summary.startswith(f"## Panels: {'passed' if sound else 'failed'}\n")
    assert pull.api.calls == []
    assert "::warning" not in ran.log


def test_without_comment_nothing_is_called(pull: Pull) -> None:
    new_record(pull.repo / "panels/a")
    ran = pull.use(comment="false")
    assert (ran.succeeded, pull.api.calls) == (True, [])
    assert "`panels/a`" in ran.summary


@pytest.mark.parametrize(
    ("broken", "advice", "calls", "base"),
    [
        pytest.param([403], "the job needs `permissions: pull-requests: write`", 1, "", id="not allowed, passed"),
        pytest.param([403], "the job needs `permissions: pull-requests: write`", 1, NOWHERE, id="not allowed, failed"),
        pytest.param([502, 503, 500], "run the job again", 3, NOWHERE, id="down"),
        pytest.param([], "run the job again", 0, "", id="not there"),
    ],
)
def test_a_comment_that_cannot_be_written_is_a_warning(
    pull: Pull, broken: list[int], advice: str, calls: int, base: str
) -> None:
    pull.api.broken += broken
    if not broken:
        pull.runner.api_url = "http://127.0.0.1:1"
    ran = pull.use(base=base)
    assert ran.succeeded is (base == "")
    warning, *others = ran.commands
    assert warning.startswith("::warning::The comment could not be written (")
    assert advice in warning
    assert len(others) == (base != "")
    assert len(pull.api.calls) == calls


def test_a_server_that_fails_once_is_asked_again(pull: Pull) -> None:
    pull.api.broken.append(502)
    assert len(pull.use(base=NOWHERE).commands) == 1
    assert pull.api.writes() == ["POST comments"]


# ---- hostile text


def rendered(text: str) -> Iterator[Token]:
    """All tokens of a Markdown text, with HTML in it taken for HTML and bars for tables."""
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text):
        yield from (token, *(token.children or ()))


def harmless(text: str) -> None:
    """What a task says, here wherever `someone` is named, is in code spans alone, and no HTML is but our folds."""
    allowed = {"<details>", "</details>", "<summary>", "</summary>"}
    for token in rendered(text):
        if token.type in {"text", "html_block", "html_inline", "fence", "code_block"}:
            assert "someone" not in token.content, token
        if token.type in {"html_block", "html_inline"} and not token.content.startswith("<!-- repair-panel:"):
            assert not re.sub("|".join(allowed), "", re.sub("<summary>[\\w ,]*</summary>", "", token.content)).strip()
        assert token.type not in {"link_open", "image", "table_open"}, token


NAMES = (
    *("`<b>@someone`", "``` @someone", "a|b $(touch x)@someone <!-- ", "a\nb\n## @someone\n::error::"),
    *("--help", "\u202eenoemos@someone -->", " - [x](javascript:someone) "),
)


def test_a_panel_s_hostile_name_is_a_code_span(pull: Pull, panel: Path, make_task: MakeTask) -> None:
    for name in NAMES:
        add_panel(pull.repo, panel, make_task, name)
    ran = pull.use()
    assert ran.succeeded, ran.log
    harmless(ran.summary)
    harmless(pull.comment)
    assert len(lines(ran)) == len(re.findall("^## ", ran.summary, re.MULTILINE)) - 1 == len(NAMES)
    assert ran.commands == []
    assert not (pull.repo / "x").exists()


def test_hostile_ids_and_causes_stay_text(pull: Pull, panel: Path, make_task: MakeTask) -> None:
    directory = panel
    directory.mkdir(exist_ok=True)
    (directory / "panel.toml").write_text(f"name = {json.dumps(HOSTILE)}\n\n[policy]\nmin_p2p = 0\n")
    task = make_task("task-1", p2p=[f"tests/test_a.py::test_a[{HOSTILE}]", KEEP], workdir=f"/{HOSTILE}")
    seen = {f"tests/test_a.py::test_a[{HOSTILE}]": Observed(Outcome.SKIPPED, HOSTILE)}
    records.write(task, seen, seen)
    directory.rename(pull.repo / "panels" / "new")
    ran = pull.use()
    assert ran.succeeded, ran.log
    harmless(ran.summary)
    harmless(pull.comment)
    assert ran.commands == []
    assert not (pull.repo / "x").exists()


def test_what_tools_print_is_no_command_to_the_runner(pull: Pull) -> None:
    (pull.repo / "panels/a/panel.toml").write_text('name = "a"\n"\\n::error::x\\n##[error]y" = 1\n')
    (pull.repo / "panels/b\n::error::z").mkdir()
    (pull.repo / "panels/b\n::error::z/panel.toml").write_text("::error::w")
    ran = pull.use()
    assert not ran.succeeded
    assert [command for command in ran.commands if "A record is not sound" not in command] == []


def test_the_reviewing_step_has_no_token_and_imports_nothing_of_the_checkout(pull: Pull) -> None:
    for name in ("repair", "json", "typer", "review"):
        (pull.repo / f"{name}.py").write_text("raise SystemExit('imported from the checkout')\n")
    new_record(pull.repo / "panels/a")
    ran = pull.use()
    assert ran.succeeded, ran.log
    with_token = [step["name"] for step in ACTION["runs"]["steps"] if "github.token" in str(step)]
    assert with_token == ["Comment"]


# ---- sizes


def test_a_large_change_fits_a_comment(pull: Pull, panel: Path, make_task: MakeTask) -> None:
    panel.mkdir(exist_ok=True)
    (panel / "panel.toml").write_text('name = "large"\n[policy]\nmin_p2p = 0\n')
    for number in range(12):
        ids = [f"tests/test_{number}.py::test_{'long_name_' * 10}[{each}]" for each in range(60)]
        task = make_task(f"task-{number}", p2p=ids)
        seen = {test: Observed(Outcome.SKIPPED, f"needs {test}") for test in ids}
        records.write(task, seen, seen)
    panel.rename(pull.repo / "large")
    ran = pull.use()
    assert ran.succeeded, ran.log
    assert len(pull.comment) < 65_536
    assert "## `large`" in pull.comment


@pytest.fixture(scope="session")
def review() -> ModuleType:
    """The action's own module."""
    spec = importlib.util.spec_from_file_location("review", ROOT / ".github/action/review.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["review"] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


ALARM = "\n> [!CAUTION]\n> **The policy changed**\n> \n"


def changes(name: int, size: int, alarm: int = 0) -> str:
    """Changes of a size, of which the alarm's list has some lines."""
    alarms = ALARM + "".join(f"> - `{name}` {number}: `{'y' * 30}`\n" for number in range(alarm)) if alarm else ""
    return f"## {name}\n{alarms}\n{'x' * size}\n\nall of {name}" if size else ""


def compose(review: ModuleType, sizes: Sequence[int], line: int = 50, **keys: Any) -> str:
    """What is said of failed panels whose changes have the given sizes."""
    found = [review.Reviewed(False, f"{n:{line}}", changes(n, size)) for n, size in enumerate(sizes)]
    text = review.compose(found, "## Panels\n\n", 65_400, **keys)
    assert len(text) <= 65_400
    return str(text)


def whole(text: str) -> list[int]:
    """The panels whose changes are all there."""
    return [int(number) for number in re.findall("^all of (\\d+)$", text, re.MULTILINE)]


@pytest.mark.parametrize(
    ("sizes", "shown", "left"),
    [
        ([], [], None),
        ([0, 0], [], None),
        ([30_000, 30_000], [0, 1], None),
        ([62_000], [0], None),
        ([30_000, 40_000, 30_000, 100], [0, 2, 3], "1 of 4 panels' changes"),
        ([70_000, 70_000], [], "2 of 2 panels' changes"),
        ([500] * 300, range(94), "206 of 300 panels' changes"),
        ([20_000] * 3 + [100] * 200, [0, *range(3, 203)], "2 of 203 panels' changes"),
    ],
    ids=["none", "no changes", "all fit", "one that is large", "what fits behind", "none fits", "many", "small ones"],
)
def test_changes_are_shown_whole_or_counted(
    review: ModuleType, sizes: list[int], shown: list[int], left: str | None
) -> None:
    text = compose(review, sizes)
    assert whole(text) == list(shown)
    assert len(re.findall("^- ", text, re.MULTILINE)) == len(sizes)
    assert ("Left out here: " in text) == (left is not None)
    assert left is None or left in text


def test_lines_that_do_not_fit_are_counted(review: ModuleType) -> None:
    text = compose(review, [500] * 300, line=300)
    lines = len(re.findall("^- ", text, re.MULTILINE))
    assert 200 < lines < 300
    assert f"**Left out here: {300 - lines} of 300 panels; 300 of 300 panels' changes" in text


@pytest.mark.parametrize("decoys", [1, 4, 300])
@pytest.mark.parametrize("limit", ["COMMENT_CHARS", "SUMMARY_CHARS"])
@pytest.mark.parametrize("alarm", [1, 400], ids=["a short alarm", "a long one"])
def test_no_other_panel_crowds_out_an_alarm(review: ModuleType, decoys: int, limit: str, alarm: int) -> None:
    room = getattr(review, limit)
    found = [review.Reviewed(True, f"a{n} {'z' * 300}", changes(n, 60_500)) for n in range(decoys)]
    found.append(review.Reviewed(True, "the real one", changes(999, 60_500, alarm)))
    text = review.compose(found, "## Panels\n\n", room)
    assert len(text) <= room
    assert "- the real one\n" in text
    _, alarmed, rest = text.partition(f"## 999\n{ALARM}> - `999` 0: ")
    assert alarmed
    shown = rest.count("> - `999` ") + 1
    assert shown == alarm or f"\n> \n> and {alarm - shown} more lines, which" in rest
    assert shown >= min(alarm, 300)


def test_of_many_alarms_each_has_its_share_and_is_cut_between_lines(review: ModuleType) -> None:
    found = [review.Reviewed(n % 2 == 0, f"a{n}", changes(n, 50_000, 1 if n == 7 else 900)) for n in range(10)]
    text = review.compose(found, "", 65_400)
    assert len(text) <= 65_400
    assert text.startswith("- a1\n- a3\n- a5\n- a7\n- a9\n- a0\n")
    counts = {n: len(re.findall(f"^> - `{n}` \\d+: `y+`$", text, re.MULTILINE)) for n in range(10)}
    assert counts.pop(7) == 1
    assert min(counts.values()) > 100
    assert max(counts.values()) - min(counts.values()) < 5
    assert "**Left out here: 10 of 10 panels' changes (`repair diff` shows all).**" in text


def test_a_small_panel_behind_large_ones_is_shown(review: ModuleType) -> None:
    text = compose(review, [60_500] * 5 + [3_000])
    assert 5 in whole(text)


def test_the_summary_does_not_point_to_itself(review: ModuleType) -> None:
    assert "summary" not in compose(review, [70_000])
    assert "summary" in compose(review, [70_000], more=review.IN_COMMENT)


# ---- the files


def test_action_yml_is_what_github_takes() -> None:
    assert {"name", "description", "inputs", "outputs", "runs"} == set(ACTION)
    assert len(ACTION["description"]) < 125  # of the marketplace
    for described in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert described["description"]
    for step in ACTION["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "run" not in step or step["shell"] == "bash"


def test_nothing_that_others_choose_is_pasted_into_a_shell() -> None:
    runs = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert len(runs) == 4
    assert not [run for run in runs if "${{" in run]


def test_every_expression_names_an_input_or_an_output() -> None:
    steps = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
    for name in re.findall(r"\$\{\{ ([\w.-]+)", (ROOT / "action.yml").read_text()):
        where, *rest = name.split(".")
        if where == "inputs":
            assert rest[0] in ACTION["inputs"]
        elif where == "steps":
            assert rest[0] in steps
        else:
            assert name == "github.token"
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_actions_are_those_of_the_repository_s_own_workflow() -> None:
    own = set(re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/test.yml").read_text()))
    assert set(re.findall(r"uses: (\S+)", (ROOT / "action.yml").read_text())) <= own


README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_yaml(name: str) -> Any:
    """The YAML that the README shows below a mark."""
    found = re.search(rf"<!-- {name} -->\n+```yaml\n(.*?)```", README, re.DOTALL)
    assert found, f"README.md shows no {name}"
    return yaml.safe_load(found[1])


def test_the_workflow_to_copy_may_comment_and_nothing_else() -> None:
    workflow = shown_yaml("workflow")
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert set(workflow[True]) == {"pull_request"}  # YAML takes `on` for a truth value
    [job] = workflow["jobs"].values()
    checkout, use = job["steps"]
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert set(use.get("with", {})) <= set(ACTION["inputs"])
    own = re.findall(r"uses: (\S+)", (ROOT / ".github/workflows/test.yml").read_text())
    assert checkout["uses"] in own
    assert "secrets" not in str(workflow)


def test_the_readme_names_every_input_and_output() -> None:
    section = README.partition("## In pull requests\n")[2].partition("\n## ")[0]
    assert [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in section] == []


def test_the_hook_to_copy_is_ours() -> None:
    [repo] = shown_yaml("hook")["repos"]
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert repo["hooks"] == [{"id": hook["id"]}]


def test_records_are_folded_in_a_review_and_keep_their_bytes() -> None:
    for name, folded in (("outcomes.json", "true"), ("mint.json", "true"), ("repair.json", "unspecified")):
        asked = ("check-attr", "text", "diff", "linguist-generated", "--", f"panels/demo/task/{name}")
        said = dict(line.split(": ")[1:] for line in git(ROOT, *asked).splitlines())
        assert said == {"text": "unset", "diff": "unspecified", "linguist-generated": folded}
