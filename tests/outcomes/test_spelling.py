"""How ids outside pytest are spelt: every place of a template, which one is taken, and what is said of it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.model import Outcome
from repair.outcomes import lookup
from repair.outcomes import spelling as outcomes_spelling
from repair.outcomes.frameworks.known import FRAMEWORKS
from repair.outcomes.junit import Case
from repair.outcomes.spelling import CANDIDATES, Choice, Template, choose, spell, spellings

P, F, M = Outcome.PASSED, Outcome.FAILED, Outcome.MISSING
UNITTEST: Template = ("{name} ({classname})", "{name} ({classname}.{name})")
JAVA = FRAMEWORKS["maven"].templates
DEFAULT = CANDIDATES[0]


def case(classname: str = "", name: str = "", suite: str = "", file: str = "", class_: str = "") -> Case:
    return Case(classname, name, P, "", None, class_, suite, file)


# ---- every place

FULL = Case(
    "ledger.Money", "adds", P, "", '"t/test_money.py::TestMoney::test_adds[a::b]"', "Money", "money", "t/money.x"
)

PLACES: dict[str, tuple[str, str]] = {
    "suite": ("{suite}", "money"),
    "file": ("{file}", "t/money.x"),
    "classname": ("{classname}", "ledger.Money"),
    "class": ("{class}", "Money"),
    "name": ("{name}", "adds"),
    "test": ("{test}", "TestMoney.test_adds[a.b]"),
}


def test_every_place_is_tried() -> None:
    assert set(PLACES) == set(outcomes_spelling.PLACES)


@pytest.mark.parametrize(("template", "spelt"), PLACES.values(), ids=PLACES)
def test_a_place(template: str, spelt: str) -> None:
    assert spell(template, FULL) == spelt
    assert spell(f"<{template}|{template}>", FULL) == f"<{spelt}|{spelt}>"


@pytest.mark.parametrize("template", [template for template, _ in PLACES.values()])
def test_what_a_case_does_not_say_spells_nothing(template: str) -> None:
    assert spell(template, case()) is None
    assert spell(f"{template}::{{name}}", case(name="adds" if template != "{name}" else "")) is None


def test_all_places_at_once() -> None:
    assert spell("{suite}/{file}/{classname}/{class}/{name}", FULL) == "money/t/money.x/ledger.Money/Money/adds"


@pytest.mark.parametrize(
    ("template", "spelt"),
    [
        ("{other} {name}", "{other} adds"),
        ("{{name}}", "{adds}"),
        ("{Name} {name}", "{Name} adds"),
        ("\\1 {name}", "\\1 adds"),
    ],
)
def test_what_is_no_place_stands_as_it_is(template: str, spelt: str) -> None:
    assert spell(template, FULL) == spelt


def test_values_are_no_templates() -> None:
    assert spell("{classname}::{name}", case("{name}", r"\1{suite}")) == r"{name}::\1{suite}"


@pytest.mark.parametrize(
    ("node_id", "spelt"),
    [
        ('"t.py::test_a"', "test_a"),
        ('"t.py::TestK::test_a[x]"', "TestK.test_a[x]"),
        ('"t.py"', None),
        ('""', None),
        ("7", None),
        ("{", None),
        (None, None),
    ],
)
def test_a_pytest_test_without_its_file(node_id: str | None, spelt: str | None) -> None:
    assert spell("{test}", replace(FULL, node_id=node_id)) == spelt


def test_a_node_id_has_no_lone_surrogate() -> None:
    assert replace(FULL, node_id='"t.py::a[\\ud800]"').pytest_id == "t.py::a[\\ud800]"


# ---- blanks outside


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("adds", ["adds"]),
        (" adds", [" adds", "adds"]),
        ("adds ", ["adds ", "adds"]),
        ("\tadds up\n", ["\tadds up\n", "adds up"]),
        (" ", [" "]),
        ("", []),
    ],
)
def test_an_id_is_spelt_as_it_stands_and_without_outer_blanks(name: str, spelt: list[str]) -> None:
    assert spellings(("{name}",), case("k", name)) == spelt


def test_each_spelling_stands_once_the_main_one_first() -> None:
    assert spellings(("{name}", "{classname}", "{name}", "{suite}"), case(" k", "a")) == ["a", " k", "k"]


BLANKS: dict[str, tuple[Case, Template, str]] = {
    "jest-junit's leading blank, of a test outside any suite": (case("src/money.js", " adds"), ("{name}",), "adds"),
    "a class of blanks": (case(" ", "adds"), ("{classname} {name}",), "adds"),
    "a blank that is listed as it stands": (case("money", "adds "), DEFAULT, "money::adds "),
    "a blank that was cut from a list": (case("money", "adds "), DEFAULT, "money::adds"),
    "blanks inside stay": (case("ledger  money", "adds  up"), ("{classname} {name}",), "ledger  money adds  up"),
}


@pytest.mark.parametrize("listed", ["money::adds  ", " money::adds", "money:: adds"])
def test_a_listed_blank_that_no_report_holds_is_missing(listed: str) -> None:
    seen = lookup.of_cases([case("money", "adds"), case("money", "adds ")])
    assert lookup.resolve([listed], seen)[listed].outcome is M


@pytest.mark.parametrize(("seen", "template", "listed"), BLANKS.values(), ids=BLANKS)
def test_blanks(seen: Case, template: Template, listed: str) -> None:
    assert choose([listed], [seen], template) == Choice(template)
    assert lookup.resolve([listed], lookup.of_cases([seen], template))[listed].outcome is P


# ---- which template is taken


def numbered(number: int, **places: str) -> list[Case]:
    """Cases with a number behind each of their places."""
    return [case(**{place: f"{text}{n}" for place, text in places.items()}) for n in range(number)]


PLAIN = numbered(3, classname="ledger.Money", name="adds", suite="money", file="t/money.x")


@pytest.mark.parametrize("template", CANDIDATES, ids=[template[0] for template in CANDIDATES])
def test_every_candidate_is_found_by_its_ids(template: Template) -> None:
    listed = [spelt for seen in PLAIN for spelling in template if (spelt := spell(spelling, seen))]
    assert choose(listed, PLAIN, DEFAULT) == Choice(template)
    assert choose(listed[:1], PLAIN, DEFAULT) == Choice(template)
    found = lookup.resolve(listed, lookup.of_cases(PLAIN, template))
    assert {seen.outcome for seen in found.values()} == {P}


@pytest.mark.parametrize("framework", [name for name, known in FRAMEWORKS.items() if known.templates])
def test_a_frameworks_own_template_wins_where_it_spells_all(framework: str) -> None:
    """Whatever else would spell them too, and mean other tests."""
    template = FRAMEWORKS[framework].templates
    seen = [*PLAIN, *numbered(3, classname="other", name=spell(template[0], PLAIN[0]) or "")]
    listed = [spelt for one in PLAIN if (spelt := spell(template[0], one))]
    assert choose(listed, seen, template) == Choice(template)


CHOICES: dict[str, tuple[list[str], Template, Template, tuple[str, ...]]] = {
    "no ids at all": ([], DEFAULT, DEFAULT, ()),
    "nothing fits": (["elsewhere"], DEFAULT, DEFAULT, ()),
    "nothing fits another framework's": (["elsewhere"], UNITTEST, UNITTEST, ()),
    "the default spells all": (["ledger.Money0::adds0", "ledger.Money1::adds1"], DEFAULT, DEFAULT, ()),
    "the default spells most": (["ledger.Money0::adds0", "gone"], DEFAULT, DEFAULT, ()),
    "another spells all": (["adds0", "adds1"], DEFAULT, ("{name}",), ()),
    "another spells most": (["adds0", "adds1", "gone"], DEFAULT, ("{name}",), ()),
    "both of unittest's spellings": (
        ["adds0 (ledger.Money0)", "adds1 (ledger.Money1.adds1)"],
        DEFAULT,
        UNITTEST,
        (),
    ),
    "mixed, the default in front": (
        ["ledger.Money0::adds0", "ledger.Money1::adds1", "adds2"],
        DEFAULT,
        DEFAULT,
        ("2 of 3 ids fit {classname}::{name}, and 1 others only {name}",),
    ),
    "mixed, the default behind": (
        ["ledger.Money0::adds0", "adds1", "adds2", "gone"],
        DEFAULT,
        ("{name}",),
        ("2 of 4 ids fit {name}, and 1 others only {classname}::{name}",),
    ),
    "mixed, all spellings of the default behind": (
        ["adds0", "adds1", "adds2", "ledger.Money0.adds0", "ledger.Money1#adds1"],
        JAVA,
        ("{name}",),
        ("3 of 5 ids fit {name}, and 2 others only {classname}::{name}",),
    ),
    "mixed, none in front": (
        ["ledger.Money0::adds0", "adds1"],
        DEFAULT,
        DEFAULT,
        (
            "ids fit {classname}::{name} and {name} alike: set id_template",
            "1 of 2 ids fit {classname}::{name}, and 1 others only {name}",
        ),
    ),
}


@pytest.mark.parametrize(("listed", "default", "template", "flags"), CHOICES.values(), ids=CHOICES)
def test_choice(listed: list[str], default: Template, template: Template, flags: tuple[str, ...]) -> None:
    mixed = any("others only" in flag for flag in flags)
    assert choose(listed, PLAIN, default) == Choice(template, flags, mixed)


def test_an_id_that_was_cut_at_a_blank_is_of_no_other_spelling() -> None:
    """It fits `{name}` by chance, and is missing: nothing is ambiguous about it."""
    seen = [case("ledger.Money", "test_adds"), case("ledger.Money", "test_ends")]
    found = choose(["test_adds (ledger.Money)", "test_ends"], seen, UNITTEST)
    assert (found.template, found.mixed) == (UNITTEST, False)
    assert choose(["test_adds (ledger.Money)", "ledger.Money::test_ends"], seen, UNITTEST).mixed


def test_a_tie_of_the_same_tests_is_none() -> None:
    """Where classname and suite say the same, two templates mean the same tests by an id."""
    same = [replace(seen, suite=seen.classname) for seen in PLAIN]
    template = ("{classname}/{name}",)
    assert choose(["ledger.Money0/adds0"], same, DEFAULT) == Choice(template)


def test_a_tie_of_other_tests_is_reported() -> None:
    cross = [case("a", "x", suite="b"), case("b", "x", suite="a")]
    assert choose(["a/x", "b/x"], cross, DEFAULT) == Choice(
        ("{classname}/{name}",),
        ("ids fit {classname}/{name} and {suite}/{name} alike: set id_template",),
    )


def test_a_default_wins_a_tie_of_other_tests_without_a_word() -> None:
    cross = [case("a", "x", suite="b"), case("b", "x", suite="a")]
    assert choose(["a/x", "b/x"], cross, ("{suite}/{name}",)) == Choice(("{suite}/{name}",))


def test_no_cases_fit_nothing() -> None:
    assert choose(["a"], [], UNITTEST) == Choice(UNITTEST)


WORDS = st.sampled_from(["", "a", "b", " a", "a b", "a::b", "b (a)", "a.b"])
CASES = st.lists(st.builds(case, WORDS, WORDS, WORDS, WORDS), max_size=8)
LISTED = st.lists(st.sampled_from(["a", "b", "a::b", "a b", "b (a)", "a.b", "a/b", "b (a.b)", "gone"]), max_size=6)


def spells(template: Template, listed: Iterable[str], seen: Iterable[Case]) -> int:
    return len({spelt for one in seen for spelt in spellings(template, one)} & set(listed))


@given(LISTED, CASES, st.sampled_from([DEFAULT, UNITTEST, ("{name}",)]), st.integers(0, 99))
def test_no_order_changes_a_choice_or_an_outcome(
    listed: list[str], seen: list[Case], default: Template, n: int
) -> None:
    shuffled = random.Random(n)
    again = shuffled.sample(seen, len(seen))
    choice = choose(listed, seen, default)
    assert choose(shuffled.sample(listed, len(listed)) * 2, again, default) == choice
    for framework in ("", "unittest", "mocha"):
        first = lookup.of_cases(seen, choice.template, framework)
        second = lookup.of_cases(again, choice.template, framework)
        assert lookup.resolve(listed, first) == lookup.resolve(listed, second)


@given(LISTED, CASES, st.sampled_from([DEFAULT, UNITTEST, ("{name}",)]))
def test_no_template_spells_more_than_the_chosen_one(listed: list[str], seen: list[Case], default: Template) -> None:
    chosen = choose(listed, seen, default)
    number = spells(chosen.template, listed, seen)
    assert number >= max(spells(template, listed, seen) for template in (default, *CANDIDATES))
    if spells(default, listed, seen) == number:
        assert chosen.template == default
