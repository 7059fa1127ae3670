import pytest

from wordtools import camel, kebab, snake, split_words, title


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("two words", ["two", "words"]),
        ("camelCase", ["camel", "Case"]),
        ("snake_case", ["snake", "case"]),
        ("page2", ["page", "2"]),
    ],
    ids=["sentence", "camel", "snake", "digits"],
)
def test_split_words(text, words):
    assert split_words(text) == words


def test_split_words_of_nothing():
    assert split_words("") == []


def test_snake():
    assert snake("someName") == "some_name"


def test_snake_is_stable():
    assert snake("some_name") == "some_name"


def test_snake_digits():
    assert snake("page2") == "page_2"


def test_kebab():
    assert kebab("someName") == "some-name"


def test_camel():
    assert camel("some_name") == "someName"


def test_camel_of_nothing():
    assert camel("") == ""


def test_title():
    assert title("hello world") == "Hello World"


def test_title_small_words():
    assert title("the lord of the rings") == "The Lord of the Rings"
