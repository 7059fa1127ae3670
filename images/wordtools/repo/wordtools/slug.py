"""Slugs for addresses and file names."""

import re
import unicodedata


def _plain(text: str) -> str:
    """Letters without their accents; what has no plain letter is left out."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def slugify(text: str, separator: str = "-") -> str:
    """Lower-case words of ASCII letters and digits."""
    words = re.findall(r"[a-z0-9]+", _plain(text).lower())
    return separator.join(words)
