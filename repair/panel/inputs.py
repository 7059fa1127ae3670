"""What a record is made from: digests of a task as it is now, and of its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from repair.errors import UsageError
from repair.files import read_if_there
from repair.model import Inputs, ListName, Task
from repair.text import inline, sha256


def inputs(task: Task) -> Inputs:
    """Digests of the task as it is now: its effective keys, its environment/ and its patches."""
    return Inputs(
        task=sha256(inline(effective(task)).encode("ascii")),
        environment=tree_digest(task.directory / "environment"),
        oracle_patch=sha256(task.oracle_patch),
        tests_patch=None if task.tests_patch is None else sha256(task.tests_patch),
        entry_patch=None if task.entry_patch is None else sha256(task.entry_patch),
    )


def source_digest(task: Task) -> str:
    """sha256 over what an imported task came from: its source.json and `source/`."""
    parts = [sha256(read_if_there(task.directory / "source.json") or b""), tree_digest(task.directory / "source")]
    return sha256(inline(parts).encode("ascii"))


def effective(task: Task) -> dict[str, Any]:
    """The task after defaults, keys sorted, its lists as sorted sets.

    `id_template` and `test_files` are there only where they are set.
    """
    own_names = {"id_template": list(task.id_template)} if task.id_template else {}
    minted_from = {"test_files": list(task.test_files)} if task.test_files else {}
    return {
        "FAIL_TO_PASS": list(task.listed(ListName.F2P)),
        "PASS_TO_PASS": list(task.listed(ListName.P2P)),
        "base_commit": task.base_commit,
        "cpus": task.cpus,
        "env": dict(sorted(task.env.items())),
        "framework": task.framework,
        **own_names,
        "image": task.image,
        "instance_id": task.instance_id,
        "junit": list(task.junit),
        "memory": task.memory,
        "network": task.network,
        "platform": task.platform,
        "select": task.select,
        **minted_from,
        "test_cmd": task.test_cmd if isinstance(task.test_cmd, str) else list(task.test_cmd),
        "timeout": task.timeout,
        "user": task.user,
        "workdir": task.workdir,
    }


def tree_digest(directory: Path) -> str | None:
    """sha256 over the names, kinds, execute bits and contents of a directory's files; None where there is none."""
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
    """Kind and digest of a file or link; what is neither has no content."""
    if path.is_symlink():
        return "link", sha256(os.fsencode(path.readlink()))
    if path.is_file():
        return "run" if path.stat().st_mode & 0o100 else "file", sha256(path.read_bytes())
    return "other", ""


def _raise(err: OSError) -> None:
    raise err


def _utf8(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
