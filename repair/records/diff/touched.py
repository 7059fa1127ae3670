"""Which panels of a checkout a change touches, from the names of the files that it changes.

A panel is a directory with a panel.toml. A file touches each panel that it lies in, and each that holds a link which
leads to it, over it or to a directory above it: tasks and their files may be links, and then lie elsewhere.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_LINKS = 40  # on the way to one file; Linux follows no more


@dataclass(frozen=True, slots=True)
class Checkout:
    """The panels of a directory, and its links, each with all that it leads over and to.

    All paths are relative to the directory and with slashes, as git prints them; "." is the directory itself. What lies
    outside is left out.
    """

    panels: tuple[str, ...]
    links: Mapping[str, frozenset[str]]


def panels_of(files: Iterable[str], checkout: Checkout) -> tuple[str, ...]:
    """The panels, sorted, that one of `files` touches.

    Where panels lie in panels each counts, so that nobody takes a file out of a review with a panel.toml of their own
    beside it or above. A changed submodule is one of `files` and touches what lies below it, too.
    """
    changed = set(files)
    holding = changed.union(*map(_above, changed))
    links = sorted(checkout.links)

    def is_touched(panel: str) -> bool:
        seen, waiting = {panel}, [panel]
        while waiting:
            path = waiting.pop()
            if path in holding or not changed.isdisjoint(_above(path)):
                return True
            led = {end for link in _below(links, path) for end in checkout.links[link]} - seen
            seen |= led
            waiting += led
        return False

    return tuple(sorted(filter(is_touched, checkout.panels)))


def _above(path: str) -> Iterator[str]:
    folders = path.split("/")[:-1]
    return ("/".join(folders[:depth]) or "." for depth in range(len(folders) + 1))


def _below(paths: Sequence[str], folder: str) -> Sequence[str]:
    """Those of sorted `paths` that lie in a folder; "0" is what comes after "/"."""
    return paths if folder == "." else paths[bisect_left(paths, f"{folder}/") : bisect_left(paths, f"{folder}0")]


def read(directory: Path) -> Checkout:
    """The panels and links that are in a directory now, whether or not git knows them; a submodule's are among them."""
    root = Path(os.path.realpath(directory))
    panels, links, waiting = [], {}, [root]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(folder):
            path = folder / entry.name
            if entry.is_symlink():
                links[_inside(root, path)] = frozenset(
                    _inside(root, at) for at in _way(path) if at.is_relative_to(root)
                )
            elif entry.is_dir() and entry.name != ".git":
                waiting.append(path)
            if entry.name == "panel.toml" and (entry.is_symlink() or not entry.is_dir()):
                panels.append(_inside(root, folder))
    return Checkout(tuple(panels), links)


def _entries(folder: Path) -> Sequence[os.DirEntry[str]]:
    """What a folder holds; nothing where it may not be read: no other command of ours may, either."""
    try:
        with os.scandir(folder) as entries:
            return tuple(entries)
    except PermissionError:
        return ()


def _way(link: Path) -> set[Path]:
    """Every link that is passed on the way from a link to its end, and the end, which need not be there."""
    at, ahead, passed = Path("/"), list(reversed(link.parts)), list[Path]()
    while ahead and len(passed) < MAX_LINKS:
        name = ahead.pop()
        here = at.parent if name == ".." else at / name  # a part "/" leads back to the root
        if name != ".." and os.path.islink(here):  # noqa: PTH114 - Path's raises where a name is too long
            passed.append(here)
            ahead += reversed(here.readlink().parts)
        else:
            at = here
    return {*passed, at}


def _inside(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
