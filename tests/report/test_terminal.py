"""What a person reads: the closing table in any width, and one task's page, whatever the panel holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from repair import rules, words
from repair.model import Decision, Evidence, Finding, Image, ListName, Observed, Outcome, Rule, Run, Table, Verdict
from repair.panel.inputs import inputs
from repair.records import summary
from repair.records.summary import Summary
from repair.report import terminal
from tests.conftest import MakeTask
from tests.support import records

HOSTILE = "a\x1b[2J\x1b]0;x\x07b\u202ec\nd\te\r\x9bf\u2066"

LINES = [
    Summary("wordtools-1-acronyms", "clean", f2p=(2, 2), p2p=(31, 31)),
    Summary(
        "wordtools-2-indent",
        "repaired",
        f2p=(1, 1),
        p2p=(1900, 1887),
        dropped=13,
        note="tests/test_meta.py: ModuleNotFoundError: pretend",
    ),
    Summary(
        "ledger-3",
        "refused",
        f2p=(2, 0),
        p2p=(12, 9),
        dropped=3,
        note="2 F2P do not pass with the reference (ModuleNotFoundError: lxml)",
    ),
    Summary("ledger-4", "failed", note="the image has no directory /testbed"),
    Summary("ledger-5", "not-run"),
]


def test_piped_table_cuts_nothing() -> None:
    assert terminal.closing_table(LINES, None) == (
        "task                  verdict     F2P          P2P  dropped  first cause or reason\n"
        "wordtools-1-acronyms  clean     2 → 2      31 → 31        0\n"
        "wordtools-2-indent    repaired  1 → 1  1900 → 1887       13  "
        "tests/test_meta.py: ModuleNotFoundError: pretend\n"
        "ledger-3              refused   2 → 0       12 → 9        3  "
        "2 F2P do not pass with the reference (ModuleNotFoundError: lxml)\n"
        "ledger-4              failed                                 the image has no directory /testbed\n"
        "ledger-5              not-run\n"
    )


@pytest.mark.parametrize("width", [1, 10, 40, 60, 79, 80, 81, 120])
def test_table_fits_its_terminal(width: int) -> None:
    long = replace(LINES[1], name="x" * 100)
    for lines in (LINES, [*LINES, long], []):
        table = terminal.closing_table(lines, width)
        assert table.endswith("\n")
        assert max(len(line) for line in table.splitlines()) <= width


def test_notes_go_below_where_they_have_no_room() -> None:
    wide, narrow = (terminal.closing_table(LINES, width).splitlines() for width in (90, 60))
    assert wide[2].endswith("tests/test_meta.py: ModuleNo…")
    assert len(wide) == 6
    assert narrow[2].startswith("wordtools-2-indent    repaired")
    assert narrow[3] == "    tests/test_meta.py: ModuleNotFoundError: pretend"
    assert len(narrow) == 9


@pytest.mark.parametrize("width", [40, 80])
def test_table_fits_where_letters_are_two_columns_wide(width: int) -> None:
    lines = [replace(LINES[1], name="任務-1", note="模組" * 60), replace(LINES[2], note="e\u0301" * 60)]
    table = terminal.closing_table(lines, width)
    assert max(cell_len(line) for line in table.splitlines()) <= width


@pytest.mark.parametrize("width", [None, 40, 80, 200])
def test_names_and_notes_cannot_steer_the_terminal(width: int | None) -> None:
    table = terminal.closing_table([replace(LINES[1], name=HOSTILE, note=HOSTILE)], width)
    assert len(table.splitlines()) == (2 if width != 40 and width != 80 else 3)
    assert all(line.isprintable() for line in table.splitlines())


@pytest.mark.parametrize(
    ("text", "width", "cut"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abc", 1, "…"), ("", 0, "")]
)
def test_cut(text: str, width: int, cut: str) -> None:
    assert terminal.cut(text, width) == cut


# ---- notes


def finding(rule: Rule, number: int = 0, cause: str = "", of: ListName | None = None) -> Finding:
    return Finding(rule, of, cause=cause, ids=tuple(f"t{n}" for n in range(number)))


P2P, F2P = ListName.P2P, ListName.F2P


@pytest.mark.parametrize(
    ("dropped", "reasons", "note"),
    [
        ([], [], ""),
        ([finding(Rule.FAILED_BOTH, 2, "no lxml", P2P)], [], "no lxml"),
        ([finding(Rule.FAILED_BOTH, 1, "a", P2P), finding(Rule.FAILED_BOTH, 5, "b", P2P)], [], "b"),
        ([finding(Rule.FLAKY_BOTH, 1, "", P2P)], [], words.DROPS[Rule.FLAKY_BOTH]),
        (
            [finding(Rule.FAILED_BOTH, 9, "a", P2P)],
            [finding(Rule.REGRESSION, 1, "no lxml", P2P), finding(Rule.REGRESSION, 2, "b", P2P)],
            "3 P2P pass without the reference and not with it (no lxml)",
        ),
        ([], [finding(Rule.BOTH_LISTS, 2)], "2 ids stand in both lists"),
        ([], [finding(Rule.NO_F2P, cause="nothing would measure the change")], "no F2P is left"),
        ([], [finding(Rule.PATCH, cause="calc.py: no such file")], f"{words.of(Rule.PATCH)} (calc.py: no such file)"),
        (
            [finding(Rule.FAILED_BOTH, 2, "no lxml", P2P)],
            [finding(Rule.OWN_VERIFIER, cause="empty 1, oracle 1")],
            "its own verifier does not give empty 0 and oracle 1 (empty 1, oracle 1)",
        ),
    ],
)
def test_note(dropped: list[Finding], reasons: list[Finding], note: str) -> None:
    verdict = Verdict.REFUSED if reasons else Verdict.REPAIRED
    assert summary.note(Decision(verdict, (), (), tuple(dropped), tuple(reasons))) == note


def test_every_rule_has_its_words() -> None:
    assert {*words.DROPS, *words.REASONS} == set(Rule)
    assert len({words.of(rule) for rule in Rule}) == len(Rule)


# ---- one task's page


def decided(directory: Path, empty: records.Seen, oracle: records.Seen) -> tuple[Table, Decision, Evidence]:
    panel, task = records.load(directory)
    found = records.evidence(task, panel.policy, empty, oracle)
    return found.table, rules.repair_of(found, inputs(task), panel.policy).decision, found


def test_page_of_a_repaired_task(make_task: MakeTask) -> None:
    gone = Observed(Outcome.MISSING, "meta.py: ImportError: pretend")
    lost = {f"p{n}": gone if n < 7 else records.SKIPPED for n in range(9)}
    task = make_task(f2p=["f"], p2p=[f"p{n}" for n in range(10)])
    assert terminal.page("calc-1", *decided(task, lost, lost), limit=2) == (
        "calc-1: repaired\n"
        "  F2P 1 → 1, P2P 10 → 1\n"
        "\n"
        "dropped\n"
        "  9 P2P: never a stable pass, with or without the reference\n"
        "    7 × meta.py: ImportError: pretend [empty missing, oracle missing]\n"
        "      p0\n"
        "      p1\n"
        "      and 5 more\n"
        "    2 × needs lxml [empty skipped, oracle skipped]\n"
        "      p7\n"
        "      p8\n"
        "\n"
        "confirmation: confirmed, both controls ran again on the trimmed lists\n"
        "empty: exit 1\n"
        "oracle: exit 1\n"
        f"image: {records.IMAGE.id} ({records.IMAGE.digest}) linux/amd64\n"
    )


def test_page_of_a_refused_task(make_task: MakeTask) -> None:
    task = make_task(f2p=["f"], p2p=["p"])
    page = terminal.page("calc-1", *decided(task, {"p": records.SKIPPED}, {"f": records.FAILED, "p": records.FAILED}))
    assert page.splitlines()[:12] == [
        "calc-1: refused",
        "  F2P 1 → 0, P2P 1 → 0",
        "",
        "refused for",
        "  1 F2P: do not pass with the reference",
        "    1 × AssertionError at calc.py:2 [empty failed, oracle failed]",
        "      f",
        "  1 P2P: fail with the reference and did not run without it",
        "    1 × AssertionError at calc.py:2 [empty skipped, oracle failed]",
        "      under empty: needs lxml",
        "      p",
        "  no F2P is left",
    ]
    assert "dropped" not in page
    assert "confirmation" not in page


def test_page_without_its_limit_names_every_id(make_task: MakeTask) -> None:
    ids = [f"p{n}" for n in range(30)]
    lost = dict.fromkeys(ids, records.MISSING)
    page = terminal.page("calc-1", *decided(make_task(p2p=[*ids, "kept"]), lost, lost), limit=1000)
    assert {line.strip() for line in page.splitlines()} >= set(ids)
    assert "more" not in page


def test_page_of_a_patch_that_does_not_apply(make_task: MakeTask) -> None:
    found = decided(make_task(), {}, {})[2]
    refused = replace(found, oracle=(Run(records.IMAGE.id, None, {}, patch="no"),), table=Table((), ("no such file",)))
    decision = Decision(Verdict.REFUSED, (), (), (), (Finding(Rule.PATCH, cause="no such file"),))
    page = terminal.page("calc-1", refused.table, decision, refused)
    assert "  a patch does not apply to the image\n    no such file\n" in page
    assert "oracle: not run\n" in page
    assert terminal.page("calc-1", refused.table, decision, None).splitlines()[-1] == "    no such file"


@pytest.mark.parametrize(
    ("rewards", "verdict", "fact"),
    [
        ((0.0, 1.0), "clean", "own verifier: empty 0, oracle 1"),
        ((0.0, 0.25), "refused", "own verifier: empty 0, oracle 0.25"),
        ((1.0, 1.0), "refused", "own verifier: empty 1, oracle 1"),
    ],
)
def test_page_of_a_task_whose_own_verifier_was_asked(
    make_task: MakeTask, rewards: tuple[float, float], verdict: str, fact: str
) -> None:
    directory = make_task()
    panel, task = records.load(directory)
    found = replace(records.evidence(task, panel.policy, {}, {}), verifier=rewards)
    decision = rules.repair_of(found, inputs(task), panel.policy).decision
    page = terminal.page("calc-1", found.table, decision, found).splitlines()
    assert page[0] == f"calc-1: {verdict}"
    assert page.count(fact) == 1
    reason = ["refused for", f"  {words.of(Rule.OWN_VERIFIER)}", f"    {fact.removeprefix('own verifier: ')}"]
    assert page[3:6] == reason if verdict == "refused" else "refused for" not in page


def test_page_of_a_task_whose_own_verifier_was_not_asked(make_task: MakeTask) -> None:
    assert "own verifier" not in terminal.page("calc-1", *decided(make_task(), {}, {}))


def test_nothing_on_a_page_can_steer_the_terminal(make_task: MakeTask) -> None:
    hostile = Observed(Outcome.SKIPPED, HOSTILE)
    odd_id = HOSTILE.replace("\n", "")
    table, decision, found = decided(make_task(p2p=[odd_id, "p"]), {odd_id: hostile}, {odd_id: hostile})
    shown = replace(decision, dropped=tuple(replace(group, cause_empty=HOSTILE) for group in decision.dropped))
    runs = (replace(found.empty[0], flags=(HOSTILE,), deadly=(HOSTILE,)),)
    found = replace(found, empty=runs, image=Image(HOSTILE, HOSTILE, HOSTILE))
    page = terminal.page(HOSTILE, table, shown, found)
    assert all(line.isprintable() for line in page.splitlines())
    assert page.count("\n") == len(page.splitlines())
