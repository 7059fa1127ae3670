"""Small tools for words."""

from wordtools.case import camel, kebab, snake, split_words, title
from wordtools.count import frequencies, ngrams, top
from wordtools.slug import slugify
from wordtools.wrap import indent, truncate, wrap

__all__ = [
    "camel",
    "frequencies",
    "indent",
    "kebab",
    "ngrams",
    "slugify",
    "snake",
    "split_words",
    "title",
    "top",
    "truncate",
    "wrap",
]
