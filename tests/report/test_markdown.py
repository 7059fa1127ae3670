"""The Markdown of a diff, read back by a CommonMark parser: no text of a task's is ever more than code, and it fits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from repair.model import ControlKind, Policy, Rule
from repair.records.diff.compare import Change, Changed, Diff, Ids, Kind, Rates, Side, Status, What
from repair.report.diff.markdown import LIMIT, _fitting, code, markdown
from repair.report.diff.sections import Entry, Theirs
from repair.text import printable

PARSER = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
OURS = re.compile(r"</?details>|<details><summary>[\w ]+</summary>")
HOSTILE = {
    "a tag": "<script>alert(1)</script>",
    "the end of what is folded": "</summary></details><b>",
    "a comment": "<!-- hidden",
    "a link": "[click](https://acme.example)",
    "an image": "![x](https://acme.example/x.png)",
    "an autolink": "<https://acme.example>",
    "a bare address": "https://acme.example www.acme.example",
    "a mention": "@acme/ledger-team",
    "an issue": "#123 acme/ledger#5 GH-7",
    "a commit": "0123456789abcdef0123456789abcdef01234567",
    "one backtick": "a`b",
    "backticks around": "`a`",
    "many backticks": "```\n```` x ```",
    "only backticks": "``",
    "more backticks than a fence may have": "x" + "`" * 80 + " @acme/team <img src=x>",
    "a backslash before a backtick": "a\\`<i>\\",
    "a backslash at the end": "a\\",
    "bars": "a|b\\|c",
    "a table": "a | b\n--- | ---\n<i> | c",
    "line ends": "a\n\n# heading\r\n> quote\n- item\u2028x\u0085y",
    "a reference": "a\n\n[ref]: https://acme.example",
    "blanks": "  a  ",
    "only blanks": "   ",
    "emphasis": "**a** _b_ ~~c~~",
    "an entity": "&lt;i&gt; &#64;x",
    "bidi": "a\u202e<i>\u2066b\u200f",
    "controls": "a\x00\x1b[31m\x08b",
    "a lone surrogate": "a\ud800b",
    "an alert": "[!NOTE]",
    "a math": "$`x`$ $$y$$",
    "very long": "`<b>" * 2_000,
    "wide": "\U0001f4a5" * 4_000,
}


def diff_of(text: str, ids: int = 3) -> Diff:
    """A diff that says `text` at every place where a task, a file or a revision can say something."""
    names = (text, *(f"{text}{number}" for number in range(ids - 1)))
    before = Status("clean", admitted=True, f2p=(1, 1), p2p=(9, 9))
    after = Status("refused", why=text, f2p=(1, 0), p2p=(9, 9), note=text)
    groups = tuple(Ids(what, "P2P", names, Rule.FAILED_BOTH, text, "failed", "missing") for what in What)
    changed = (Changed("test_cmd", text, text), Changed("image", "", text))
    rates = (Rates(ControlKind.ORACLE, "passed", "failed 1/3, passed 2/3", names),)
    changes = (
        Change(text, Kind.CHANGED, before, after, groups, changed, (("oracle.patch", Kind.CHANGED),), rates, True),
        Change(f"{text}-", Kind.CHANGED, before, after, groups[:1]),
        Change(f"{text}+", Kind.CHANGED, before, Status("edited", why=text, edited=True)),
        Change(f"{text}2", Kind.ADDED, None, after),
        Change(f"{text}3", Kind.GONE, before, None),
    )
    sides = Side(text, text, Policy(), problem=text), Side(f"{text} ", text, Policy(min_p2p=1))
    return Diff(
        *sides, (Changed("policy.min_p2p", "10", "1", looser=True), Changed("defaults.user", "", text)), changes
    )


def flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or [])


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
@pytest.mark.parametrize("ids", [pytest.param(3, id="a few ids"), pytest.param(60, id="folded")])
def test_a_task_cannot_write_markup(text: str, ids: int) -> None:
    written = markdown(diff_of(text, ids))
    kinds = set()
    for token in flat(PARSER.parse(written)):
        kinds.add(token.type)
        if token.type in ("html_block", "html_inline"):
            assert all(OURS.fullmatch(line) for line in token.content.splitlines())
    assert kinds <= {
        *("heading_open", "heading_close", "blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "strong_open", "strong_close"),
        *("inline", "text", "code_inline", "softbreak", "html_block"),
    }


@pytest.mark.parametrize("ids", [3, 60])
def test_outside_of_code_stands_what_a_harmless_diff_says(ids: int) -> None:
    def outside(text: str) -> list[str]:
        return [token.content for token in flat(PARSER.parse(markdown(diff_of(text, ids)))) if token.type == "text"]

    harmless = outside("x")
    for name, text in HOSTILE.items():
        if name not in ("very long", "wide", "only blanks"):  # cut, or said in our words
            assert outside(text) == harmless, name


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items() if text.strip()])
def test_a_code_span_reads_back_as_what_it_shows(text: str) -> None:
    [inline] = [token for token in PARSER.parse(f"a {code(text)} b") if token.type == "inline"]
    shown = [token for token in inline.children or [] if token.type == "code_inline"]
    assert [token.type for token in inline.children or []] == ["text", "code_inline", "text"]
    assert len(shown[0].content) <= 300
    assert not re.search("[\n\r\x00-\x1f\u202a-\u202e\u2066-\u2069]", shown[0].content)
    if len(text) <= 300:
        assert shown[0].content == printable(text).replace("`" * 80, "`×80")


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 320), min_size=1, max_size=4), st.sampled_from(["", " ", "x", " @acme/team <img src=x> "])
)
def test_no_fence_is_longer_than_github_knows(runs: list[int], between: str) -> None:
    fence = re.match("`+", code("x" + between.join("`" * run for run in runs) + "x"))
    assert fence is not None
    assert len(fence[0]) <= 20


@pytest.mark.parametrize("run", [*range(1, 24), 79, 80, 81, 300, 5_000])
def test_many_backticks_are_counted(run: int) -> None:
    shown = code("a" + "`" * run + "b")
    assert shown == (f"``a`×{run}b``" if run > 16 else "`" * (run + 1) + "a" + "`" * run + "b" + "`" * (run + 1))


def test_a_long_text_keeps_its_end() -> None:
    begin = "tests/" + "deep/" * 80
    first, second = code(f"{begin}test_a.py::test_x"), code(f"{begin}test_a.py::test_y")
    assert first != second
    assert first.endswith("test_a.py::test_x`")
    assert first.startswith("`tests/deep/")
    assert len(first.strip("`")) == 300


def test_folds_are_closed_and_the_count_of_what_is_cut_is_said() -> None:
    written = markdown(diff_of("calc", 60))
    assert written.count("<details>") == written.count("</details>") > 0
    assert "- and 40 more" in written


def test_no_difference_is_one_sentence() -> None:
    side = Side("a`b", "x", Policy())
    assert (
        markdown(Diff(side, side, (), (), same=2)) == "### repair diff: ``a`b`` → ``a`b``\n\nNo difference (2 tasks).\n"
    )


def test_the_policy_comes_first() -> None:
    written = markdown(diff_of("calc"))
    order = [
        written.index(part) for part in ("The policy changed", "Records that do not hold", "**Gate**", "**Verdicts**")
    ]
    assert order == sorted(order)
    assert "> - `policy.min_p2p`: `10` → `1` (looser: it admits more)" in written


@pytest.mark.parametrize("name", ["a", "\U0001f4a5" * 100, "`" * 299, "<" * 250])
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("tasks", [1, 400, 3_000])
def test_a_large_diff_fits_and_says_how_much_it_leaves_out(name: str, kind: Kind, tasks: int) -> None:
    before, after = Status("clean", admitted=True), Status("refused", why=name)
    names = tuple(f"{name}{number}" for number in range(50))
    groups = (Ids(What.DROPPED, "P2P", names, Rule.FAILED_BOTH, name),)
    changes = tuple(
        Change(f"{number}{name}", kind, before, after, groups, under_record=True) for number in range(tasks)
    )
    written = markdown(Diff(Side(name, policy=Policy()), Side(name, policy=Policy()), (), changes))
    assert len(written) <= len(written.encode()) < LIMIT
    assert written.count("<details>") == written.count("</details>")
    if tasks == 3_000:
        assert re.search(r"and \d+ more", written)


LONG = "x" * 250
REFUSED, CLEAN = Status("refused", why=LONG), Status("clean", admitted=True)
FORGED = Change("zz-forged", Kind.CHANGED, REFUSED, CLEAN)
CROWDS: dict[str, tuple[Change, ...]] = {
    "an honest run anew": (
        *(Change(f"{n}{LONG}", Kind.CHANGED, CLEAN, Status("repaired", admitted=True)) for n in range(300)),
        *(Change(f"{n}{LONG}", Kind.CHANGED, Status("stale"), REFUSED) for n in range(300)),
        FORGED,
    ),
    "tasks that are refused since, each for its own reason": (
        *(Change(f"{n}{LONG}", Kind.CHANGED, CLEAN, Status("refused", why=f"{n}{LONG}")) for n in range(300)),
        FORGED,
    ),
    "tasks that go": (
        *(Change(f"{n}{LONG}", Kind.GONE, REFUSED, None) for n in range(300)),
        Change("zz-forged", Kind.GONE, CLEAN, None),
    ),
    "tasks that come": (
        *(Change(f"{n}{LONG}", Kind.ADDED, None, REFUSED) for n in range(300)),
        Change("zz-forged", Kind.ADDED, None, CLEAN),
    ),
    "tasks with many changes": (
        *(
            Change(f"{n}{LONG}", Kind.CHANGED, CLEAN, CLEAN, (Ids(What.LISTED, "P2P", (LONG,) * 30),))
            for n in range(300)
        ),
        Change("zz-forged", Kind.CHANGED, CLEAN, REFUSED, (Ids(What.LISTED, "P2P", ("a",)),)),
    ),
}


@pytest.mark.parametrize("changes", [pytest.param(case, id=name) for name, case in CROWDS.items()])
def test_no_crowd_hides_what_changes_what_is_admitted(changes: tuple[Change, ...]) -> None:
    side = Side("x", "x", Policy())
    written = markdown(Diff(side, side, (), changes))
    parts = [part for part in written.split("\n**") if "zz-forged" in part]
    assert len(parts) == (2 if changes[-1].ids else 1)
    assert re.search(r"and \d+ more", written)
    assert len(written.encode()) < LIMIT


def test_all_lines_come_before_what_is_below_any() -> None:
    below = tuple(Entry((Theirs(f"{n}{LONG}"),)) for n in range(60))
    lines = _fitting([Entry((f"line {n}",), below) for n in range(9)], None, 0, 4_000)
    assert [line for line in lines if line.startswith("- ")] == [f"- line {n}" for n in range(9)]
    assert len("\n".join(lines).encode()) <= 4_000
    small = Entry(("small",), below[:1])
    assert [*_fitting([Entry(("large",), below), small], None, 0, 2_000)][-2:] == ["- small", f"  - `0{LONG}`"]


texts = st.text(max_size=40) | st.sampled_from([text[:400] for text in sorted(HOSTILE.values())])
statuses = st.builds(Status, st.sampled_from(["clean", "stale", "refused"]), st.booleans(), texts, st.booleans())
groups = st.builds(
    Ids,
    st.sampled_from(What),
    st.sampled_from(["F2P", "P2P"]),
    st.lists(texts, max_size=8).map(tuple),
    st.sampled_from([None, *Rule]),
    texts,
)
rates = st.builds(
    Rates, st.sampled_from(ControlKind), st.just(""), st.just("passed"), st.lists(texts, max_size=8).map(tuple)
)
changed = st.lists(st.builds(Changed, texts, texts, texts), max_size=6).map(tuple)
changes = st.builds(
    Change,
    texts,
    st.sampled_from(Kind),
    statuses,
    statuses,
    st.lists(groups, max_size=4).map(tuple),
    changed,
    st.just(()),
    st.lists(rates, max_size=3).map(tuple),
    st.booleans(),
)
sides = st.builds(Side, texts, texts, st.just(Policy()), problem=texts, sum=st.just("1 clean = 1 < 2"))


@settings(max_examples=40)
@given(st.data(), st.integers(1, 60))
def test_any_diff_fits(data: st.DataObject, times: int) -> None:
    some = data.draw(st.lists(changes, max_size=4))
    written = markdown(Diff(data.draw(sides), data.draw(sides), data.draw(changed), tuple(some) * times))
    assert len(written.encode()) < LIMIT
