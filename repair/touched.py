"""Which panels a change touches, from the names of the files that it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def panels_of(files: Iterable[str], is_panel: Callable[[str], bool]) -> tuple[str, ...]:
    """The directories, sorted, that hold one of `files` at any depth and are panels; "." is the one that all start in.

    `files` are relative and with slashes, as git prints them. Where panels lie in panels each counts, so that nobody
    takes a file out of a review with a panel.toml of their own beside it or above.
    """
    above = set()
    for file in files:
        folders = file.split("/")[:-1]
        above |= {"/".join(folders[:depth]) or "." for depth in range(len(folders) + 1)}
    return tuple(sorted(filter(is_panel, above)))
