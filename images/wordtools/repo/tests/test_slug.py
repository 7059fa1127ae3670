from wordtools import slugify


def test_words():
    assert slugify("Hello, World!") == "hello-world"


def test_accents():
    assert slugify("Crème Brûlée") == "creme-brulee"


def test_separator():
    assert slugify("one two", separator="_") == "one_two"


def test_digits():
    assert slugify("Top 10") == "top-10"


def test_nothing_left():
    assert slugify("???") == ""


def test_edges():
    assert slugify("  -- a -- ") == "a"
