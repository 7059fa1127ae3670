"""Case styles: snake_case, kebab-case, camelCase, Title Case."""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]|\d+")
_SMALL = {"a", "an", "and", "of", "or", "the", "to"}


def split_words(text: str) -> list[str]:
    """The words of an identifier or a sentence, in their own case."""
    return _WORD.findall(text)


def snake(text: str) -> str:
    return "_".join(word.lower() for word in split_words(text))


def kebab(text: str) -> str:
    return "-".join(word.lower() for word in split_words(text))


def camel(text: str) -> str:
    first, *rest = split_words(text) or [""]
    return first.lower() + "".join(word.capitalize() for word in rest)


def title(text: str) -> str:
    """Title case: every word is capitalized, small words only where they come first."""
    words = [word.lower() for word in text.split()]
    return " ".join(
        word if place and word in _SMALL else word.capitalize() for place, word in enumerate(words)
    )
