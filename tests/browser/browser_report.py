"""A headless Chromium that sees each request, message and violation of a page's policy, and the report it looks at."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from repair.model import Observed, Outcome
from repair.panel import read as panel_read
from repair.report.page import build, html
from tests.support import records

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
window.addEventListener("error", (event) => window.violations.push(String(event.message)));
"""
# Resolves once the page is drawn, and once more what the drawing itself asked for.
DRAWN = """
const done = arguments[arguments.length - 1];
requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))));
"""
HOSTILE = (
    "tests/a.py::</script><script>window.hit = 1</script>",
    "tests/a.py::<img src=x onerror='window.hit = 1'>",
    'tests/a.py::" autofocus onfocus="window.hit = 1',
    "tests/a.py::<!--<script>",
    "tests/a.py::\u202eevil\u2066\u2028\x1b[2J",
)
MANY = 20_000


@dataclass(frozen=True, slots=True)
class Browser:
    """The driver with the few words that the tests use."""

    driver: webdriver.Chrome

    def open(self, file: Path, fragment: str = "") -> None:
        self.driver.get("about:blank")
        self.messages()  # what was said before is no page's of ours
        self.driver.get(file.as_uri() + fragment)
        self.drawn()

    def drawn(self) -> None:
        self.driver.execute_async_script(DRAWN)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """What is in sight of the elements that fit."""
        return [text for text in (element.text for element in self.all(selector)) if text]

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def tool(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def size(self, width: int, height: int = 900) -> None:
        self.tool("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, kind: str = "", scheme: str = "light") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tool("Emulation.setEmulatedMedia", media=kind, features=features)

    def messages(self) -> list[str]:
        """What the page wrote to the console since it was asked last."""
        return [entry["message"] for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since this was asked last."""
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        read: Callable[[str], list[dict[str, Any]]] = self.driver.get_log
        return read(kind)


def start() -> webdriver.Chrome:
    """A headless Chromium of the system's, with its own driver: none is fetched."""
    options = webdriver.ChromeOptions()
    names = ("chromium", "google-chrome", "chromium-browser")
    options.binary_location = next(filter(None, map(shutil.which, names)), "/usr/bin/chromium")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver") or "/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


# ---- the panel that is looked at


def write_task(
    panel: Path, name: str, f2p: Sequence[str], p2p: Sequence[str], seen: tuple[records.Seen, records.Seen] | None
) -> None:
    """A task, with the record of what both controls saw unless that is None."""
    directory = panel / name
    directory.mkdir()
    document = {"instance_id": name, "image": f"registry.example/{name}:1", "FAIL_TO_PASS": f2p, "PASS_TO_PASS": p2p}
    (directory / "task.json").write_text(json.dumps(document))
    (directory / "instruction.md").write_text("Mend it.\n")
    (directory / "oracle.patch").write_text("--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-a\n+b\n")
    if seen is not None:
        records.write(directory, *seen)


def missing(ids: Sequence[str], cause: str) -> Mapping[str, Observed]:
    return dict.fromkeys(ids, Observed(Outcome.MISSING, cause))


def write_report(folder: Path) -> Path:
    """The page of a panel with tasks of every kind: few tests, hostile names, and 20,000 tests."""
    panel = folder / "panel"
    panel.mkdir()
    (panel / "panel.toml").write_text('name = "acme"\n[policy]\nmin_p2p = 0\n[gate]\nmin_tasks = 3\n')
    p2p = [f"tests/test_calc.py::test_keep[{n}]" for n in range(20)]
    lost = missing(p2p[:6], "tests/test_calc.py: ModuleNotFoundError: No module named 'pretend'")
    write_task(panel, "acme-1", ["f1"], p2p, ({}, {}))
    write_task(panel, "acme-2", ["f1"], p2p, (lost, lost))
    write_task(panel, "acme-10", ["f1", "f2"], p2p, ({}, {"f1": records.FAILED}))
    write_task(panel, "acme-3", ["f1"], p2p, None)
    log = panel / ".repair" / "attempts" / "acme-3" / "run-0001-empty-1" / "log"
    log.parent.mkdir(parents=True)
    log.write_text("</script><img src=x onerror='window.hit = 1'>\n")
    evil = missing(HOSTILE, HOSTILE[0])
    write_task(panel, "acme-4", ["f1"], [*p2p, *HOSTILE], (evil, evil))
    many = [f"tests/test_{n // 500:02}.py::test_case[{n:05}]" for n in range(MANY - 1)]
    gone = missing(many[-30:], "tests/test_39.py: ModuleNotFoundError: No module named 'lxml'")
    write_task(panel, "acme-5", ["f1"], many, (gone, gone))
    file = panel.parent / "a report.html"
    file.write_text(html.render(build.page(panel_read.load(panel))))
    return file


def task_fragment(name: str) -> str:
    return f"#task={quote(name, safe='')}"
