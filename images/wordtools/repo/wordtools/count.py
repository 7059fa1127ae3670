"""Counting words."""

import re
from collections import Counter
from collections.abc import Iterator

_TOKEN = re.compile(r"\w+")


def tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]


def frequencies(text: str) -> Counter[str]:
    """How often each word occurs, whatever its case."""
    return Counter(tokens(text))


def top(text: str, n: int = 3) -> list[tuple[str, int]]:
    """The `n` most frequent words with their counts."""
    return frequencies(text).most_common(n)


def ngrams(text: str, n: int = 2) -> Iterator[tuple[str, ...]]:
    """Every run of `n` words."""
    if n < 1:
        raise ValueError("n must be at least 1")
    words = tokens(text)
    return zip(*(words[start:] for start in range(n)), strict=False)
