"""Patterns of report files: what fits them, and how long it takes to tell."""

from __future__ import annotations

import time
import warnings

import pytest

from repair.controls.fetch import glob

FITS = {
    "out.xml": (["out.xml", "./out.xml"], ["a/out.xml", "out-xml", "out.xml.gz"]),
    "./out/*.xml": (["out/a.xml", "out/.xml", "./out/b.xml"], ["out/a/b.xml", "a.xml"]),
    "**/T-*.xml": (["T-1.xml", "a/T-1.xml", "a/b/T-.xml"], ["T.xml", "a/xT-1.xml", "T-1.xml/b"]),
    "a/**/t/*.xml": (["a/t/1.xml", "a/b/c/t/1.xml", "a/t/t/1.xml"], ["t/1.xml", "a/b/1.xml", "b/a/t/1.xml"]),
    "a/**": (["a/1.xml", "a/b/c.xml"], ["b/a/1.xml", "ab/1.xml"]),
    "**/**/x": (["x", "a/x", "a/b/c/x"], ["x/a"]),
    "/tmp/r/*.xml": (["/tmp/r/1.xml"], ["tmp/r/1.xml", "/a/tmp/r/1.xml"]),
    "[!n]?[0-9].xml": (["yx1.xml"], ["nx1.xml", "yxx.xml", "y/1.xml"]),
    "a**b.xml": (["ab.xml", "axxb.xml"], ["a/b.xml"]),
    "$x ^(.+)|\\d.xml": (["$x ^(.+)|\\d.xml"], ["$x ^(..)|1.xml"]),
    "two\nlines.*": (["two\nlines.x\ny"], ["two"]),
}


@pytest.mark.parametrize("pattern", FITS)
def test_a_pattern_fits_what_a_shell_would_find(pattern: str) -> None:
    yes, no = FITS[pattern]
    matches = glob(pattern)
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


@pytest.mark.parametrize("pattern", ["[z-a].xml", "[!].xml", "[a-\\].xml", "[[:alpha:]].xml", "[a&&b].xml", "[", "[]x"])
def test_a_set_that_makes_no_sense_is_no_error(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not glob(pattern)("out/report.xml")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 12 + "*b.xml", "a" * 240 + ".xml"),
        ("*" * 200 + "b.xml", "a" * 240 + ".xml"),
        ("**/" * 12 + "b.xml", "a/" * 1000 + "c.xml"),
        ("**/*a*/" * 12 + "b.xml", "aaaa/" * 400 + "c.xml"),
    ],
    ids=["stars in a name", "stars in a row", "folders of any depth", "both"],
)
def test_no_pattern_takes_longer_than_its_length_says(pattern: str, path: str) -> None:
    begin = time.process_time()
    assert not glob(pattern)(path)
    assert time.process_time() - begin < 10, "with backtracking it takes hours"
