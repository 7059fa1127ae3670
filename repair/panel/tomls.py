"""TOML of strangers: as the standard library reads it, but for keys that it reads at any cost."""

from __future__ import annotations

import re
import tomllib
from typing import Any

MAX_DOTS = 6000  # outside of strings: tomllib takes memory by the square of a dotted key's parts

_ASIDE = re.compile(
    r"""#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""",
    re.DOTALL,
)


def loads(text: str) -> dict[str, Any]:
    """A document as tables. Raises `ValueError` for what is no TOML or has keys of thousands of parts."""
    if text.count(".") > MAX_DOTS and _ASIDE.sub("", text).count(".") > MAX_DOTS:
        raise ValueError(f"more than {MAX_DOTS} dots outside of strings")
    return tomllib.loads(text)
