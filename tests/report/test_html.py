"""The page as text: what it holds, that nothing in it can run or fetch, and a task's tests in their compact form."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

import pytest

from repair import rules, words
from repair.model import Evidence, Image, ListName, Outcome, Policy, Row, Rule, Run, Table, Verdict
from repair.records.summary import Summary
from repair.report.page import data as report_page_data
from repair.report.page import html
from repair.report.page.html import CauseView, FlakyView, GateView, Page, Share, TaskView
from repair.text import printable

HOSTILE = [
    pytest.param("</script><script>alert(1)</script>", id="ends its script"),
    pytest.param("<!--<script>", id="opens a comment in a script"),
    pytest.param("<img src=x onerror=alert(1)>", id="an image"),
    pytest.param("\" onmouseover='alert(1)' x=\"", id="quotes"),
    pytest.param("{{ 7 * 7 }}{% raw %}&lt;", id="a template, an entity"),
    pytest.param("javascript:alert(1)", id="an address"),
    pytest.param("a\x00b\x1b[2Jc\r\nd\te", id="controls"),
    pytest.param("a\u202eb\u2066c\u200b", id="bidi marks"),
    pytest.param("a\u2028b\u2029c", id="line separators"),
    pytest.param("\U0001f600[\U0001f601]", id="beyond sixteen bits"),
    pytest.param("a\ud800b", id="half a letter"),
    pytest.param("t" * 20_000, id="very long"),
    pytest.param("", id="empty"),
]
BOTH = frozenset(ListName)
P2P, F2P = frozenset({ListName.P2P}), frozenset({ListName.F2P})
PASSED, FAILED, MISSING = (Outcome.PASSED,), (Outcome.FAILED,), (Outcome.MISSING,)


class Seen(HTMLParser):
    """The elements of a page, and its texts; those of scripts and styles by themselves."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.sources: list[tuple[str, dict[str, str | None], str]] = []
        self.text = ""
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += " " * (tag == "td")
        if tag in {"script", "style"}:
            self._open = (tag, dict(attrs))
            self.sources.append((*self._open, ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.text += data
        else:
            self.sources[-1] = (*self._open, self.sources[-1][2] + data)

    def blocks(self) -> dict[str, Any]:
        """The JSON that the page carries, by the element's id."""
        return {str(a["id"]): json.loads(text) for _, a, text in self.sources if a.get("type") == "application/json"}


def task(name: str = "ledger-1", word: str = "clean", note: str = "") -> TaskView:
    data = report_page_data.task_json(report_page_data.Opened(name, word, "registry.example/ledger:1"))
    return TaskView(Summary(name, word, f2p=(3, 2), p2p=(1200, 1188), dropped=13, note=note), data)


def page(*tasks: TaskView, **more: Any) -> Page:
    return Page("ledger", "1.0", GateView(True, "1 clean + 0 repaired = 1 ≥ 1"), (("repeats", "1"),), tasks, **more)


def hostile_page(text: str) -> Page:
    rate = (("empty", "failed 1/2, passed 1/2"),)
    return Page(
        text,
        text,
        GateView(False, text),
        ((text, text),),
        (task(text, note=text),),
        (CauseView(text, 2, (Share(text, 2, text),)),),
        (FlakyView(text, text, rate),),
        1,
    )


# ---- the page


def test_one_page_says_gate_bar_causes_and_tasks() -> None:
    shares = (Share("ledger-2", 30, "registry.example/a:1"), Share("ledger-1", 1, "registry.example/b:1"))
    cause = CauseView("No module named 'pretend'", 31, shares)
    seen = Seen(html.render(page(task(), task("ledger-2", "not run", "no record"), causes=(cause,))))
    text = " ".join(seen.text.split())
    assert "gate met 1 clean + 0 repaired = 1 ≥ 1" in text
    assert "31 tests in 2 tasks: No module named 'pretend' 30 ledger-2 in registry.example/a:1" in text
    assert "ledger-1 clean 3 → 2 1,200 → 1,188 13" in text
    assert [a["aria-label"] for tag, a in seen.elements if tag == "svg"] == [
        "2 tasks: 1 clean, 0 repaired, 0 refused, 1 not run"
    ]


def test_the_same_page_gives_the_same_text() -> None:
    assert html.render(page(task())) == html.render(page(task()))


def test_a_page_without_tasks_or_causes() -> None:
    seen = Seen(html.render(page()))
    assert "No id is dropped" in seen.text
    assert list(seen.blocks()) == ["words"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_the_page_runs_or_fetches_but_its_own_script(text: str) -> None:
    plain, seen = Seen(html.render(page(task()))), Seen(html.render(hostile_page(text)))
    for tag, attributes in seen.elements:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "action"}], tag
        assert (attributes.get("href") or "#").startswith("#")
    assert {tag for tag, _ in seen.elements} - {tag for tag, _ in plain.elements} <= {"ol", "code"}
    running = [source for tag, a, source in seen.sources if tag == "script" and "type" not in a]
    assert running == [source for tag, a, source in plain.sources if tag == "script" and "type" not in a]
    assert len(running) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_shown_as_texts(text: str) -> None:
    seen = Seen(html.render(hostile_page(text)))
    shown = printable(text)
    [row] = [a for tag, a in seen.elements if tag == "tr" and "data-name" in a]
    assert row["data-name"] == shown
    assert seen.text.count(shown) >= (7 if text else 0)
    assert seen.blocks()["task-0"]["name"] == shown
    links = {a["href"] for tag, a in seen.elements if tag == "a" and (a["href"] or "").startswith("#task=")}
    assert [unquote(str(link)) for link in links] == [f"#task={shown}"]


def test_the_security_policy_names_script_and_style_by_their_digests() -> None:
    seen = Seen(html.render(page(task())))
    [policy] = [a["content"] for tag, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy"]
    asked = dict(part.split(" ", 1) for part in str(policy).split("; "))

    def digest(source: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"

    [script] = [source for tag, a, source in seen.sources if tag == "script" and "type" not in a]
    [style] = [source for tag, _, source in seen.sources if tag == "style"]
    assert asked == {
        "default-src": "'none'",
        "script-src": digest(script),
        "style-src": digest(style),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }


def test_its_script_makes_no_markup_of_texts() -> None:
    [script] = [s for tag, a, s in Seen(html.render(page())).sources if tag == "script" and "type" not in a]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("):
        assert way not in script


def test_causes_beyond_those_that_are_shown_are_counted() -> None:
    causes = tuple(CauseView(f"cause {n}", 2, (Share("ledger-1", 2, "a:1"),)) for n in range(html.CAUSES + 7))
    text = " ".join(Seen(html.render(page(task(), causes=causes))).text.split())
    assert "And 7 causes more, each of at most 2 tests." in text
    assert f"cause {html.CAUSES - 1} " in text
    assert f"cause {html.CAUSES} " not in text


@pytest.mark.parametrize(
    ("passed", "said"), [(True, "gate met"), (False, "gate not met"), (None, "part of a panel")], ids=str
)
def test_headline(passed: bool | None, said: str) -> None:
    assert html.headline(GateView(passed, "")) == said


def test_the_bar_is_filled_in_the_order_of_the_words() -> None:
    words_of = ["refused", "clean", "stale", "clean"]
    parts = html.segments(page(*(task(f"t{n}", word) for n, word in enumerate(words_of))))
    assert [(part.word, part.number, part.begin, part.width) for part in parts] == [
        ("clean", 2, 0.0, 500.0),
        ("repaired", 0, 500.0, 0.0),
        ("refused", 1, 500.0, 250.0),
        ("stale", 1, 750.0, 250.0),
        ("not run", 0, 1000.0, 0.0),
    ]
    assert all(part.width == 0 for part in html.segments(page()))


# ---- words


def test_every_outcome_has_one_letter_and_its_words() -> None:
    assert set(words.LETTERS) == set(words.OUTCOMES) == set(Outcome)
    assert len({*words.LETTERS.values(), words.NO_OUTCOME}) == len(Outcome) + 1
    assert all(len(letter) == 1 for letter in words.LETTERS.values())


def test_every_verdict_has_its_words() -> None:
    assert {*Verdict, words.NOT_RUN} < set(words.STATES)


# ---- a task's tests


def evidence(*rows: Row, again: tuple[Row, ...] | None = None) -> Evidence:
    runs = (Run("sha256:1", 1, {}),)
    found = Evidence("t", "1", Image("sha256:1"), runs, runs, Table(rows))
    return (
        found if again is None else replace(found, confirm_empty=runs, confirm_oracle=runs, confirm_table=Table(again))
    )


def opened(found: Evidence) -> dict[str, Any]:
    decision = rules.decide(found.table, Policy(min_p2p=0))
    text = report_page_data.task_json(
        report_page_data.Opened("t", "repaired", "a:1", evidence=found, decision=decision)
    )
    assert text.isascii()
    assert not {"<", ">", "&"} & set(text)
    document: dict[str, Any] = json.loads(text)
    return document


def ids_of(tests: dict[str, Any]) -> list[str]:
    """The ids as a browser reads them, which counts in units of sixteen bits."""
    ids, before = [], b""
    for number, tail in zip(tests["shared"], tests["tails"], strict=True):
        before = before[: 2 * number] + tail.encode("utf-16-le")
        ids.append(before.decode("utf-16-le"))
    return ids


def test_ids_read_back_marked_ones_first() -> None:
    names = [f"tests/test_a.py::test[{n}]" for n in ("x", "xy", "", "\U0001f600a", "\U0001f600b", "\U0001f601", "zz")]
    rows = [Row(name, P2P, PASSED, PASSED) for name in sorted(names)]
    rows += [Row("z::gone", P2P, MISSING, MISSING, "no lxml", "no lxml"), Row("a::f", F2P, FAILED, PASSED, "boom")]
    tests = opened(evidence(*rows))["tests"]
    assert ids_of(tests) == ["z::gone", "a::f", *sorted(names)]
    assert tests["marks"] == [[0]]
    assert tests["lists"] == "pf" + "p" * len(names)
    assert [tests["columns"][number][:3] for number in (0, 1)] == ["MFP", "MPP"]
    assert [tests["causes"][place] for place in tests["seen"][1:3]] == ["no lxml", "no lxml"]
    assert tests["seen"][3] == 1
    assert [tests["causes"][place] for place in tests["seen"][4:6]] == ["boom", ""]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_ids_and_causes_read_back_as_shown(text: str) -> None:
    rows = (Row(text, P2P, MISSING, MISSING, text, text), Row(f"{text}b", P2P, PASSED, PASSED))
    document = opened(evidence(*rows, Row("f", F2P, FAILED, PASSED)))
    assert ids_of(document["tests"])[0] == printable(text)
    assert printable(f"{text}b") in ids_of(document["tests"])
    assert document["findings"][0]["cause"] == printable(text)


def test_refusals_come_before_drops_and_the_largest_first() -> None:
    gone = [Row(f"gone{n}", P2P, MISSING, MISSING, "no lxml", "no lxml") for n in range(3)]
    lost = [Row("lost", P2P, PASSED, FAILED, "", "boom"), Row("f", F2P, FAILED, PASSED)]
    document = opened(evidence(*gone, *lost))
    assert [(f["kind"], f["rule"], f["count"]) for f in document["findings"]] == [
        (words.REFUSED, Rule.REGRESSION, 1),
        (words.DROPPED, Rule.FAILED_BOTH, 3),
    ]
    assert document["findings"][1]["words"] == words.of(Rule.FAILED_BOTH)
    assert ids_of(document["tests"]) == ["lost", "gone0", "gone1", "gone2", "f"]
    assert document["tests"]["marks"] == [[0], [1], [1], [1]]


def test_the_confirmation_has_columns_of_its_own_with_gaps_for_what_is_dropped() -> None:
    twice = (Outcome.PASSED, Outcome.FAILED)
    rows = (
        Row("gone", P2P, MISSING * 2, MISSING * 2),
        Row("f", F2P, FAILED * 2, PASSED * 2),
        Row("p", P2P, twice, PASSED * 2),
    )
    again = (Row("f", F2P, FAILED * 2, PASSED * 2), Row("p", P2P, PASSED * 2, PASSED * 2))
    tests = opened(evidence(*rows, again=again))["tests"]
    assert tests["runs"] == [2, 2, 2, 2]
    assert tests["columns"] == ["MMFFPF", "MMPPPP", "--FFPP", "--PPPP"]
    assert opened(evidence(*rows))["tests"]["runs"] == [2, 2, 0, 0]


def test_an_id_in_both_lists_says_so() -> None:
    tests = opened(evidence(Row("f", BOTH, FAILED, PASSED)))["tests"]
    assert tests["lists"] == "b"


def test_a_group_shows_its_worst_members_and_their_number() -> None:
    members = {f"m{n:02}": (PASSED, PASSED) for n in range(report_page_data.MEMBERS + 5)} | {"z": (PASSED, FAILED)}
    rows = (Row("group", P2P, PASSED, FAILED, members=members), Row("f", F2P, FAILED, PASSED))
    group = opened(evidence(*rows))["tests"]["groups"]["0"]
    assert group["count"] == report_page_data.MEMBERS + 6
    assert len(group["members"]) == report_page_data.MEMBERS
    assert group["members"][0] == ["z", ["P", "F"]]


def test_a_patch_that_does_not_apply_leaves_no_outcomes() -> None:
    found = replace(evidence(), table=Table((Row("f", F2P, (), ()),), ("calc.py: no such file",)))
    document = opened(found)
    assert document["tests"]["runs"] == [0, 0, 0, 0]
    assert document["findings"][0]["cause"] == "calc.py: no such file"


def test_facts_say_what_ran() -> None:
    found = evidence(Row("f", F2P, FAILED, PASSED), again=(Row("f", F2P, FAILED, PASSED),))
    odd = Run("sha256:1", None, {}, "no\x1b such file", ("a::b",), ("a coverage floor",))
    document = opened(replace(found, empty=(odd, odd), verifier=(0.0, 1.0)))
    facts = dict(document["facts"])
    assert facts["empty 2/2"] == "not run (a coverage floor; set aside: a::b; no\\x1b such file)"
    assert facts["oracle"] == "exit 1"
    assert facts["confirmation"].startswith("confirmed")
    assert facts["own verifier"] == "empty 0, oracle 1"
    assert facts["F2P"] == "1 → 1"


def test_tasks_whose_names_look_alike_are_told_apart() -> None:
    names = ["x\u200b", "x\\u200b", "x\\u200b (2)", "y"]
    assert list(html.labels(names).values()) == ["x\\u200b", "x\\u200b (2)", "x\\u200b (2) (2)", "y"]
