"""A task for each test runner, in the projects of repair-test/runners: a parcel's price is wrong at ten kilos.

In each one test fails without the reference. Of the tests that were there before, three pass under both controls, one
is skipped, one fails; and one that is listed has never been there. Ids are spelt as the runner itself prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.engine.lab import added, write_panel, write_task

IMAGE = "repair-test/runners:1"


@dataclass(frozen=True, slots=True)
class Runner:
    """One task: how its tests are run, its two patches, its ids, and the first template that spells them.

    `tests` are files that tests.patch adds, or is tests.patch itself. `outcomes` are of the ids that are to be dropped.
    """

    project: str
    framework: str
    test_cmd: str
    oracle: bytes
    tests: Mapping[str, str] | bytes
    f2p: tuple[str, ...]
    good: tuple[str, ...]
    skipped: str
    broken: str
    phantom: str
    template: str | None = None
    fails_as: str = "failed"

    @property
    def p2p(self) -> tuple[str, ...]:
        return (*self.good, self.skipped, self.broken, self.phantom)

    @property
    def outcomes(self) -> dict[str, str]:
        return {self.skipped: "skipped", self.broken: self.fails_as, self.phantom: "missing"}


def mended(path: str, line: int, text: str) -> bytes:
    """A diff of `text`, lines with their signs, that begins at a line of `path`."""
    lines = text.splitlines()
    old, new = (sum(not one.startswith(sign) for one in lines) for sign in "+-")
    return f"--- a/{path}\n+++ b/{path}\n@@ -{line},{old} +{line},{new} @@\n{text}".encode()


PYTHON = mended(
    "parcel.py",
    3,
    """\
         return 5
-    if kilos < 10:
+    if kilos <= 10:
         return 9
     return 20
""",
)
RUBY = mended(
    "lib/parcel.rb",
    2,
    """\
   def self.price(kilos)
     return 5 if kilos <= 1
-    return 9 if kilos < 10
+    return 9 if kilos <= 10
     20
""",
)
PHP = mended(
    "src/Parcel.php",
    12,
    """\
         }
-        if ($kilos < 10) {
+        if ($kilos <= 10) {
             return 9;
         }
""",
)
GO = mended(
    "parcel.go",
    9,
    "-\tcase kilos < 10:\n+\tcase kilos <= 10:\n \t\treturn 9\n",
)


def braces(path: str, line: int) -> bytes:
    """The same in JavaScript and in C."""
    return mended(
        path,
        line,
        """\
   if (kilos <= 1) return 5;
-  if (kilos < 10) return 9;
+  if (kilos <= 10) return 9;
   return 20;
 }
""",
    )


UNITTEST = """\
import unittest

from parcel import price


class Ten(unittest.TestCase):
    def test_ten(self):
        self.assertEqual(price(10), 9)
"""
PARTS = """

class Parts(unittest.TestCase):
    def test_parts(self):
        for kilos in (9, 10):
            with self.subTest(kilos=kilos):
                self.assertEqual(price(kilos), 9)

    def test_never(self):
        for due in (9, 8):
            with self.subTest(due=due):
                self.assertEqual(price(10), due)


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no scales")

    def test_no(self):
        pass


class Skipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("no scales")

    def test_no(self):
        pass
"""
JAVASCRIPT = """\
describe('at ten kilos', () => {
  it('is still low', () => expect(price(10)).toBe(9));
});
"""
PYTEST = """\
from parcel import price


def test_ten():
    assert price(10) == 9
"""
PHPUNIT = """\
<?php

namespace Post\\Tests;

use PHPUnit\\Framework\\TestCase;
use Post\\Parcel;

final class TenTest extends TestCase
{
    public function testTen(): void
    {
        $this->assertSame(9, Parcel::price(10));
    }
}
"""
GO_TEST = """\
package parcel

import "testing"

func TestTen(t *testing.T) {
	if got := Price(10); got != 9 {
		t.Errorf("%d, not 9", got)
	}
}
"""
RSPEC = """\
require 'parcel'

RSpec.describe Parcel, 'at ten kilos' do
  it('is still low') { expect(Parcel.price(10)).to eq 9 }
end
"""
CTEST = mended(
    "tests.cmake",
    5,
    """\
 set_tests_properties(scales PROPERTIES SKIP_RETURN_CODE 77)
 add_test(NAME tariff COMMAND check tariff)
+add_test(NAME "price at ten kilos" COMMAND check 10 9)
""",
)

RUNNERS = {
    "pytest of a conda environment": Runner(
        "conda",
        "pytest",
        "source /opt/miniconda3/bin/activate testbed && python -m pytest",
        PYTHON,
        {"tests/test_ten.py": PYTEST},
        f2p=("tests/test_ten.py::test_ten",),
        good=tuple(f"tests/test_parcel.py::test_price[{case}]" for case in ("1-5", "2-9", "11-20")),
        skipped="tests/test_parcel.py::test_scales",
        broken="tests/test_parcel.py::test_tariff",
        phantom="tests/test_parcel.py::test_zero",
    ),
    "unittest": Runner(
        "unittest",
        "unittest",
        ". /venv/xml/bin/activate && python -m unittest -v tests.test_parcel tests.test_ten",
        PYTHON,
        {"tests/test_ten.py": UNITTEST},
        f2p=("test_ten (tests.test_ten.Ten)",),
        good=tuple(f"test_{case} (tests.test_parcel.Price)" for case in ("light", "medium", "heavy")),
        skipped="test_scales (tests.test_parcel.Outside)",
        broken="test_tariff (tests.test_parcel.Outside)",
        phantom="test_zero (tests.test_parcel.Price)",
        template="{name} ({classname})",
        fails_as="error",
    ),
    "unittest since Python 3.11": Runner(
        "unittest",
        "unittest",
        "/venv/xml/bin/python -m unittest discover -v",
        PYTHON,
        {"tests/test_ten.py": UNITTEST},
        f2p=("test_ten (tests.test_ten.Ten.test_ten)",),
        good=tuple(f"test_{case} (tests.test_parcel.Price.test_{case})" for case in ("light", "medium", "heavy")),
        skipped="test_scales (tests.test_parcel.Outside.test_scales)",
        broken="test_tariff (tests.test_parcel.Outside.test_tariff)",
        phantom="test_zero (tests.test_parcel.Price.test_zero)",
        template="{name} ({classname})",
        fails_as="error",
    ),
    "Django's runtests": Runner(
        "django",
        "django",
        ". /venv/django/bin/activate && "
        "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 parcel_tests",
        PYTHON,
        {"tests/parcel_tests/test_ten.py": UNITTEST},
        f2p=("test_ten (parcel_tests.test_ten.Ten)",),
        good=tuple(f"test_{case} (parcel_tests.tests.Price)" for case in ("light", "medium", "heavy")),
        skipped="test_scales (parcel_tests.tests.Outside)",
        broken="test_tariff (parcel_tests.tests.Outside)",
        phantom="test_zero (parcel_tests.tests.Price)",
        template="{name} ({classname})",
        fails_as="error",
    ),
    "jest": Runner(
        "jest",
        "jest",
        "npx jest --ci",
        braces("parcel.js", 2),
        {"test/ten.test.js": f"const {{ price }} = require('../parcel');\n\n{JAVASCRIPT}"},
        f2p=("at ten kilos is still low",),
        good=("price of a light parcel is low", "price of a medium parcel", "price when heavy is high"),
        skipped="outside asks the scales",
        broken="outside agrees with the tariff",
        phantom="price of a letter",
        template="{name}",
    ),
    "vitest": Runner(
        "vitest",
        "vitest",
        "npx vitest run",
        braces("parcel.js", 2),
        {
            "test/ten.test.js": "import { describe, expect, it } from 'vitest';\n"
            f"import {{ price }} from '../parcel.js';\n\n{JAVASCRIPT}"
        },
        f2p=("test/ten.test.js > at ten kilos > is still low",),
        good=(
            "test/parcel.test.js > price > of a light parcel is low",
            "test/parcel.test.js > price > of a medium parcel",
            "test/parcel.test.js > price > when heavy > is high",
        ),
        skipped="test/parcel.test.js > outside > asks the scales",
        broken="test/parcel.test.js > outside > agrees with the tariff",
        phantom="test/parcel.test.js > price > of a letter",
        template="{classname} > {name}",
    ),
    "mocha": Runner(
        "mocha",
        "mocha",
        "npx mocha",
        braces("parcel.js", 2),
        {
            "test/ten.js": "const assert = require('node:assert');\nconst { price } = require('../parcel');\n\n"
            + JAVASCRIPT.replace("expect(price(10)).toBe(9)", "assert.strictEqual(price(10), 9)")
        },
        f2p=("at ten kilos is still low",),
        good=("price of a light parcel is low", "price of a medium parcel", "price when heavy is high"),
        skipped="outside asks the scales",
        broken="outside agrees with the tariff",
        phantom="price of a letter",
        template="{classname} {name}",
    ),
    "phpunit": Runner(
        "phpunit",
        "phpunit",
        "phpunit",
        PHP,
        {"tests/TenTest.php": PHPUNIT},
        f2p=(r"Post\Tests\TenTest::testTen",),
        good=(
            r"Post\Tests\ParcelTest::testHeavy",
            r'Post\Tests\ParcelTest::testPrice with data set "light"',
            r'Post\Tests\ParcelTest::testPrice with data set "medium"',
        ),
        skipped=r"Post\Tests\ParcelTest::testScales",
        broken=r"Post\Tests\ParcelTest::testTariff",
        phantom=r"Post\Tests\ParcelTest::testZero",
        template="{class}::{name}",
    ),
    "rspec": Runner(
        "rspec",
        "rspec",
        "rspec",
        RUBY,
        {"spec/ten_spec.rb": RSPEC},
        f2p=("Parcel at ten kilos is still low",),
        good=("Parcel.price of a light one is low", "Parcel.price of a medium one", "Parcel.price when heavy is high"),
        skipped="Parcel asks the scales",
        broken="Parcel agrees with the tariff",
        phantom="Parcel.price of a letter",
        template="{name}",
    ),
    "ctest": Runner(
        "ctest",
        "ctest",
        "cmake -S . -B out && cmake --build out && ctest --test-dir out",
        braces("parcel.c", 4),
        CTEST,
        f2p=("price at ten kilos",),
        good=("price.light", "price.medium", "price of a heavy one"),
        skipped="scales",
        broken="tariff",
        phantom="price.zero",
        template="{name}",
    ),
    "go test": Runner(
        "go",
        "go",
        "go test -v ./...",
        GO,
        {"ten_test.go": GO_TEST},
        f2p=("TestTen",),
        good=("TestPrice", "TestPrice/light", "TestPrice/rather_heavy"),
        skipped="TestScales",
        broken="TestTariff",
        phantom="TestZero",
        template="{name}",
    ),
}
# Debian's own Python, which has no xmlrunner.
WITHOUT_XMLRUNNER = replace(RUNNERS["unittest"], test_cmd="/usr/bin/python3 -m unittest -v")


# What these runners report in ways of their own. Each with (empty, oracle) of the ids that it is about.
TRAPS = {
    "parts of one test, and classes that cannot be set up": (
        replace(
            RUNNERS["unittest"],
            tests={"tests/test_ten.py": UNITTEST + PARTS},
            f2p=("test_parts (tests.test_ten.Parts)",),
            good=(
                "test_never (tests.test_ten.Parts)",
                "test_no (tests.test_ten.Broken)",
                "test_no (tests.test_ten.Skipped)",
            ),
        ),
        {
            "test_parts (tests.test_ten.Parts)": ("failed", "passed"),
            "test_never (tests.test_ten.Parts)": ("failed", "failed"),
            "test_no (tests.test_ten.Broken)": ("error", "error"),
            "test_no (tests.test_ten.Skipped)": ("skipped", "skipped"),
        },
    ),
    "an executable that nothing builds": (
        replace(RUNNERS["ctest"], tests=CTEST.replace(b"check 10 9", b"ghost"), good=("price.light",)),
        {"price at ten kilos": ("error", "error"), "price.light": ("passed", "passed")},
    ),
}


def write(panel: Path, runners: Mapping[str, Runner]) -> Path:
    """A native panel with one task for each runner, named after it."""
    write_panel(panel, "[policy]\nmin_p2p = 2\n")
    for name, runner in runners.items():
        write_task(
            panel,
            name,
            runner.f2p,
            runner.p2p,
            runner.oracle,
            runner.tests if isinstance(runner.tests, bytes) else added(runner.tests),
            image=IMAGE,
            workdir=f"/work/{runner.project}",
            framework=runner.framework,
            test_cmd=runner.test_cmd,
        )
    return panel
