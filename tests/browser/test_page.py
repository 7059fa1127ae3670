"""The report in a real browser: order, filter, a task, keyboard, history, print, both schemes, and no way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from repair.text import printable
from tests.browser.browser_report import HOSTILE, MANY, Browser, start, task_fragment, write_report

pytestmark = pytest.mark.browser

ALL = ["acme-1", "acme-10", "acme-2", "acme-3", "acme-4", "acme-5"]
ROWS = "#grid tbody tr[data-place]"


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    driver = start()
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Browser:
    browser = Browser(chromium)
    browser.size(1280)
    browser.media()
    return browser


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Browser]:
    """The report, opened; afterwards nothing may have been said, asked for, or kept from happening."""
    browser.open(report)
    browser.requests()
    yield browser
    assert browser.run("return window.violations") == []
    assert browser.run("return window.hit === undefined")
    assert browser.messages() == []
    assert [url for url in browser.requests() if not url.startswith((report.as_uri(), "about:blank"))] == []


def names(page: Browser) -> list[str]:
    return page.texts("#task-table tbody .c0")


def click(page: Browser, selector: str) -> None:
    page.one(selector).click()
    page.drawn()


def header(page: Browser, number: int) -> None:
    click(page, f"#task-table th.c{number} button")


def focused(page: Browser) -> str:
    """The text of the element that has the focus."""
    text: str = page.run("return document.activeElement.textContent")
    return text


# ---- the panel


def test_the_page_asks_for_nothing_but_itself(browser: Browser, report: Path) -> None:
    browser.driver.get("about:blank")
    browser.requests()
    browser.open(report)
    assert [url for url in browser.requests() if url != "about:blank"] == [report.as_uri()]


def test_the_gate_the_bar_and_the_causes(page: Browser) -> None:
    assert page.texts(".gate") == ["gate met\n1 clean + 3 repaired = 4 ≥ 3"]
    assert page.texts(".legend:not(.outcomes) li") == ["clean 1", "repaired 3", "refused 1", "not run 1"]
    first = page.texts(".causes > li")[0]
    assert first.startswith("30 tests in 1 task: ModuleNotFoundError: No module named 'lxml'")
    assert "acme-5 in registry.example/acme-5:1" in first


@pytest.mark.parametrize(
    ("column", "order", "sort"),
    [
        (0, ["acme-1", "acme-2", "acme-3", "acme-4", "acme-5", "acme-10"], "ascending"),
        (1, ["acme-1", "acme-2", "acme-4", "acme-5", "acme-10", "acme-3"], "ascending"),
        (3, ["acme-5", "acme-4", "acme-1", "acme-10", "acme-2", "acme-3"], "descending"),
        (4, ["acme-5", "acme-2", "acme-4", "acme-1", "acme-10", "acme-3"], "descending"),
    ],
    ids=["name, by its numbers", "verdict", "P2P", "dropped"],
)
def test_sort(page: Browser, column: int, order: list[str], sort: str) -> None:
    assert names(page) == ALL
    header(page, column)
    assert names(page) == order
    marked = [th.get_attribute("aria-sort") for th in page.all("#task-table th")]
    assert [(n, said) for n, said in enumerate(marked) if said] == [(column, sort)]
    header(page, column)
    assert names(page) != order


@pytest.mark.parametrize(
    ("text", "states", "shown"),
    [
        ("acme-1", [], ["acme-1", "acme-10"]),
        ("PRETEND", [], ["acme-2"]),
        ("", ["refused", "not run"], ["acme-10", "acme-3"]),
        ("acme-1", ["clean"], ["acme-1"]),
        ("nothing like it", [], []),
    ],
    ids=["by name", "by cause", "by verdict", "by both", "none"],
)
def test_filter(page: Browser, text: str, states: list[str], shown: list[str]) -> None:
    page.one("#task-text").send_keys(text)
    for state in states:
        page.one(f"[name=state][value='{state}']").click()
    assert names(page) == shown
    assert page.texts("#task-count") == [f"{len(shown)} of 6 tasks"]


def test_the_table_is_one_to_a_screen_reader(page: Browser) -> None:
    page.size(400)
    tree = page.tool("Accessibility.getFullAXTree")["nodes"]
    roles = [node.get("role", {}).get("value") for node in tree if not node.get("ignored")]
    assert roles.count("columnheader") == 7
    assert roles.count("row") == 7
    assert "image" in roles or "img" in roles


# ---- a task


def test_a_task_opens_and_the_back_button_leads_back(page: Browser) -> None:
    page.one("#task-table").find_element("link text", "acme-2").click()
    page.drawn()
    assert page.driver.current_url.endswith("#task=acme-2")
    assert page.texts("#task-name") == ["acme-2"]
    assert focused(page) == "acme-2"
    assert names(page) == []
    assert page.driver.title.startswith("acme-2")
    page.driver.back()
    page.drawn()
    assert names(page) == ALL
    assert page.texts("#task-name") == []
    assert focused(page) == "acme-2"
    page.driver.forward()
    page.drawn()
    assert page.texts("#task-name") == ["acme-2"]
    click(page, "#task nav a")
    assert names(page) == ALL


def test_a_link_to_a_task_opens_it(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-10"))
    assert page.texts("#task-name") == ["acme-10"]
    assert "AssertionError at calc.py:2" in page.one("#findings").text


@pytest.mark.parametrize("fragment", ["#task=nobody", "#task=%E0%A4%A", "#task=<b>x</b>", "#task="])
def test_a_link_to_no_task_says_so(page: Browser, report: Path, fragment: str) -> None:
    page.open(report, fragment)
    assert page.texts("#task-word") == ["No task of this report has that name."]
    click(page, "#task nav a")
    assert names(page) == ALL


def test_marked_tests_come_first_and_say_why(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-2"))
    rows = page.all(ROWS)
    assert [len(row.find_elements("css selector", ".c-flag .d")) for row in rows[:8]] == [1] * 6 + [0] * 2
    cells = [cell.text for cell in rows[0].find_elements("css selector", "td.run .cell")]
    assert cells == ["M", "M", "·", "·"]
    assert page.texts("#grid thead th") == ["test", "list", "empty", "oracle", "confirmation", "empty", "oracle"]
    assert "dropped P2P failed-both: never a stable pass" in page.one("#test").text
    assert "No module named 'pretend'" in page.one("#test").text
    assert page.texts("#test-count") == ["21 tests"]


def test_the_grid_is_filtered_by_text_mark_and_finding(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-2"))
    page.one("#only-marked").click()
    assert (len(page.all(ROWS)), page.texts("#test-count")) == (6, ["6 of 21 tests"])
    page.one("#only-marked").click()
    page.one("#test-text").send_keys("KEEP[7]")
    assert page.texts(f"{ROWS} .name") == ["test_keep"]
    page.one("#test-text").send_keys("no such")
    assert page.texts("#test") == ["No test fits the filter."]
    page.open(report, task_fragment("acme-10"))
    click(page, "#findings button")
    assert page.texts(f"{ROWS} .id") == ["f1"]


def test_the_log_of_a_task_without_a_record(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-3"))
    assert page.texts("#logs pre") == ["</script><img src=x onerror='window.hit = 1'>"]
    assert page.texts("#task-details") == ["empty ran and left no record: see the log, then `repair run`"]
    assert page.texts("#grid") == []


def test_hostile_ids_are_texts(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-4"))
    shown = [row.get_attribute("title") for row in page.all(f"{ROWS} .id")][: len(HOSTILE)]
    assert shown == sorted(printable(test) for test in HOSTILE)
    assert page.all("#task img, #task script, #overview img, #overview script, #task [onfocus]") == []
    for row in page.all(ROWS)[: len(HOSTILE)]:
        row.click()
    assert printable(HOSTILE[0]) in page.one("#test").text


# ---- keyboard


def test_the_grid_by_keyboard(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-5"))
    assert len(page.all(f"{ROWS}[tabindex='0']")) == 1
    page.one(f"{ROWS}[tabindex='0']").send_keys("")
    where = "return Number(document.activeElement.dataset.place)"
    steps = [(Keys.ARROW_DOWN, 1), (Keys.ARROW_DOWN, 2), (Keys.ARROW_UP, 1), (Keys.END, MANY - 1), (Keys.HOME, 0)]
    for key, place in steps:
        page.driver.switch_to.active_element.send_keys(key)
        page.drawn()
        assert page.run(where) == place
        assert page.run("return document.activeElement.getAttribute('aria-rowindex')") == str(place + 3)
        [title] = [e.get_attribute("title") for e in page.all(f"{ROWS}[tabindex='0'] .id")]
        assert page.one("#test .id").text == title
    page.driver.switch_to.active_element.send_keys(Keys.PAGE_DOWN)
    page.drawn()
    assert page.run(where) > 3


def test_all_of_the_panel_is_reached_by_keyboard(page: Browser) -> None:
    page.one("#task-text").send_keys(Keys.TAB)
    reached = []
    for _ in range(4 + 7 + 1):
        reached.append(page.run("const e = document.activeElement; return e.value || e.textContent"))
        page.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert reached[:4] == ["clean", "repaired", "refused", "not run"]
    assert reached[4:11] == ["task", "verdict", "F2P", "P2P", "dropped", "flaky", "first cause or reason"]
    assert reached[11] == "acme-1"


def test_a_header_sorts_by_keyboard(page: Browser) -> None:
    page.one("#task-table th.c4 button").send_keys(Keys.ENTER)
    assert names(page)[0] == "acme-5"


# ---- many tests


def test_twenty_thousand_tests_open_and_scroll(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-5"))
    assert page.texts("#test-count") == [f"{MANY:,} tests"]
    assert page.one("#grid").get_attribute("aria-rowcount") == str(MANY + 2)
    assert len(page.all(ROWS)) < 100
    for part, low, high in ((0.5, 9_000, 11_000), (1.0, MANY - 60, MANY)):
        page.run(f"const b = document.getElementById('grid-box'); b.scrollTop = b.scrollHeight * {part}")
        page.drawn()
        places = [int(row.get_attribute("data-place") or -1) for row in page.all(ROWS)]
        assert places == list(range(places[0], places[-1] + 1))
        assert low <= places[0] <= places[-1] < high
        assert len(places) < 100
    assert places[-1] == MANY - 1
    page.one("#test-text").send_keys("[00007]")
    page.drawn()
    assert page.texts(f"{ROWS} .name") == ["test_case"]


# ---- looks


@pytest.mark.parametrize("fragment", ["", *map(task_fragment, ("acme-2", "acme-10", "acme-3", "acme-4", "acme-5"))])
def test_nothing_is_wider_than_a_telephone(page: Browser, report: Path, fragment: str) -> None:
    page.size(400)
    page.open(report, fragment)
    assert page.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wide = """return Array.from(document.querySelectorAll("body *")).filter((e) => e.checkVisibility() &&
        !e.closest(".box, pre, .unseen, .skip") && e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert page.run(wide) == 0


def test_both_schemes_differ(page: Browser) -> None:
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    light = page.run(colours)
    page.media(scheme="dark")
    dark = page.run(colours)
    assert light[0] != dark[0]
    assert light[1] != dark[1]


CONTRAST = """
const c = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function light(colour, under) {
  c.fillStyle = under; c.fillRect(0, 0, 1, 1); c.fillStyle = colour; c.fillRect(0, 0, 1, 1);
  const part = [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}
const ground = getComputedStyle(document.body).backgroundColor;
const poor = [];
const told = ".state, .cell, .flag, .kind, .hint, a, .gate strong, dt, .image, .rate, .file";
for (const e of document.querySelectorAll(told)) {
  if (!e.checkVisibility()) continue;
  let own = e, back = "rgba(0, 0, 0, 0)";
  while (own && back === "rgba(0, 0, 0, 0)") { back = getComputedStyle(own).backgroundColor; own = own.parentElement; }
  const [a, b] = [light(back, ground), light(getComputedStyle(e).color, ground)].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${e.className}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
}
return [...new Set(poor)];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["", task_fragment("acme-2"), task_fragment("acme-10")])
def test_letters_stand_out_from_their_ground(page: Browser, report: Path, scheme: str, fragment: str) -> None:
    page.media(scheme=scheme)
    page.open(report, fragment)
    assert page.run(CONTRAST) == []


def test_print_holds_all_causes_and_tasks_and_no_controls(page: Browser) -> None:
    page.media("print", scheme="dark")
    page.drawn()
    assert names(page) == ALL
    assert page.texts("#task-filters") == []
    assert len(page.texts(".causes > li")) == len(page.all(".causes > li"))
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_an_opened_task_prints_its_marked_tests(page: Browser, report: Path) -> None:
    page.open(report, task_fragment("acme-2"))
    assert page.texts("#marked") == []
    page.media("print")
    page.drawn()
    lines = page.texts("#marked li")
    assert len(lines) == 6
    assert lines[0].startswith("tests/test_calc.py::test_keep[0] empty missing; oracle missing")
    assert page.texts("#grid") == []


# ---- the watch itself


def test_what_leaves_the_page_would_be_seen(browser: Browser, report: Path) -> None:
    """The page may not fetch even where a script of its own asks: so that the empty lists above mean something."""
    browser.open(report)
    browser.run("new Image().src = 'http://127.0.0.1:9/image'")
    browser.run("fetch('http://127.0.0.1:9/text').catch(() => 0)")
    browser.drawn()
    assert set(browser.run("return window.violations")) == {"img-src", "connect-src"}
    assert any("127.0.0.1:9" in message for message in browser.messages())
    tried = "try { document.body.innerHTML = '<b>x</b>'; return 'done'; } catch { return 'refused'; }"
    assert browser.run(tried) == "refused"
