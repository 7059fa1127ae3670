"""The digests of what a record is made from: a task's keys after defaults, its environment/, patches and source.

A record holds them. So `repair check` notices that a task has changed since.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import read_if_there
from repair.model import Inputs, ListName, Task
from repair.text import inline, sha256


def inputs(task: Task) -> Inputs:
    """The digests of a task as it is now; `source` stays None. Raises `UsageError` where a file cannot be read."""
    return Inputs(
        task=sha256(inline(effective(task)).encode("ascii")),
        environment=tree_digest(task.directory / "environment"),
        oracle_patch=sha256(task.oracle_patch),
        tests_patch=None if task.tests_patch is None else sha256(task.tests_patch),
        entry_patch=None if task.entry_patch is None else sha256(task.entry_patch),
    )


def source_digest(task: Task) -> str:
    """The sha256 over what an imported task came from: its source.json and `source/`, where they are there."""
    parts = [sha256(read_if_there(task.directory / "source.json") or b""), tree_digest(task.directory / "source")]
    return sha256(inline(parts).encode("ascii"))


def effective(task: Task) -> dict[str, Any]:
    """A task's keys after defaults as JSON values: keys sorted, each of the two lists sorted with every id once.

    `id_template` and `test_files` are among them only where they are not empty.
    """
    id_template = {"id_template": list(task.id_template)} if task.id_template else {}
    test_files = {"test_files": list(task.test_files)} if task.test_files else {}
    return {
        "FAIL_TO_PASS": list(task.listed(ListName.F2P)),
        "PASS_TO_PASS": list(task.listed(ListName.P2P)),
        "base_commit": task.base_commit,
        "cpus": task.cpus,
        "env": dict(sorted(task.env.items())),
        "framework": task.framework,
        **id_template,
        "image": task.image,
        "instance_id": task.instance_id,
        "junit": list(task.junit),
        "memory": task.memory,
        "network": task.network,
        "platform": task.platform,
        "select": task.select,
        **test_files,
        "test_cmd": task.test_cmd if isinstance(task.test_cmd, str) else list(task.test_cmd),
        "timeout": task.timeout,
        "user": task.user,
        "workdir": task.workdir,
    }


def tree_digest(directory: Path) -> str | None:
    """The sha256 over the names, kinds, execute bits and contents of a directory's files, links included.

    None where there is no such directory. Raises `UsageError` where a file cannot be read.
    """
    if not directory.is_dir():
        return None
    lines = []
    try:
        for folder, folders, files in os.walk(directory, onerror=_raise):
            for name in (*files, *(name for name in folders if Path(folder, name).is_symlink())):
                path = Path(folder, name)
                lines.append(inline([*_content(path), _utf8(path.relative_to(directory).as_posix())]))
    except OSError as err:
        raise UsageError(f"{err.filename} cannot be read: {err.strerror}", "check its permissions") from None
    return sha256("\n".join(sorted(lines)).encode("ascii"))


def _content(path: Path) -> tuple[str, str]:
    """The kind of a path and the sha256 of its content. A link's content is its target.

    The digest is empty for what is neither a link nor a file.
    """
    if path.is_symlink():
        return "link", sha256(os.fsencode(path.readlink()))
    if path.is_file():
        return "run" if path.stat().st_mode & 0o100 else "file", sha256(path.read_bytes())
    return "other", ""


def _raise(err: OSError) -> None:
    raise err


def _utf8(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
