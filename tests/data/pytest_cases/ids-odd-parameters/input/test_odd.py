import pytest


@pytest.mark.parametrize("text", [
    "x::y",
    "a/b",
    "c]d",
    "[",
    "two words",
    "line\nbreak",
    "t\tb",
    "n\u0000l",
    "\u001b[31m",
    "'\"",
    "b\\s",
    "",
    " edge ",
    "m.py::test_n",
    "<&>",
    "-k",
    "@",
    "../up",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "caf\u00e9",
])
def test_odd(text):
    assert text != "c]d"
