"""Harbor task directories, Terminal-Bench 2's layout: task.toml, instruction.md, environment/, solution/, tests/.

tests/config.json is the row that an adapter made the task from, so the row's own format says what its columns mean.
Harbor's own files replace what the row says of name, image, instruction, limits, and command (tests/test.sh).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from repair.formats.base import DirectoryFormat, Draft, Row, RowError, RowFormat, Wants, optional_text
from repair.formats.directories import files, harbor_script
from repair.formats.raw import lists
from repair.formats.raw.json_text import replace_values
from repair.formats.rows import multi_swebench, swe_gym, swe_rebench, swe_smith, swebench, swebench_live, swebench_pro
from repair.model import Verifier
from repair.outcomes.rewards import DIRECTORIES, REWARDS
from repair.panel import read

SETTINGS, CONFIG, INSTRUCTION, DOCKERFILE = "task.toml", "tests/config.json", "instruction.md", "environment/Dockerfile"
DEPTH = 3  # most levels below a path at which a task directory lies
IMAGES = "localhost/repair-import"  # how the names of images that environment/ builds begin
MAX_SCANNED = 16 << 20  # bytes of the largest file that is searched for lists
NO_RUNNER = f"no runner is seen in its {harbor_script.NAME}: what its row says runs in its place"
ROWS = (
    swebench.CLASSIC,
    swebench.FIVE,
    swe_smith.FORMAT,
    swebench_pro.FORMAT,
    multi_swebench.FORMAT,
    swebench_live.FORMAT,
    swe_gym.FORMAT,
    swe_rebench.V1,
    swe_rebench.V2,
)


def _tasks(path: Path) -> Iterable[Path]:
    return files.marked(path, SETTINGS, DEPTH)


def _draft(directory: Path, wants: Wants) -> Draft:
    name = directory.absolute().name if directory.name != ".." else directory.resolve().name
    settings = _settings(directory)
    row, known = _row(directory)
    row, borrowed = _with_oracle(directory, row, known)
    image = wants.image_template or _docker_image(settings) or _built(directory, name)
    script = None if wants.test_cmd is not None else files.optional_text(directory, harbor_script.NAME)
    own = harbor_script.runtime(script, wants) if script is not None else None
    # where the script runs a command, it does not matter which one the row has, or that it has none
    command = "true" if own else wants.test_cmd
    drafted = _drafted(known, row, replace(wants, image_template=image, test_cmd=command))
    if borrowed and drafted.entry_patch is not None:
        raise RowError(CONFIG, "holds no bug patch, and a solution's diff is none")
    limits, notes = _limits(settings)
    unseen = (NO_RUNNER,) if script is not None and own is None else ()
    notes = (*drafted.notes, *(own[1] if own else unseen), *notes)
    checkout = swebench_pro.checkout(row) if known is swebench_pro.FORMAT else None
    runtime = {**(_running(drafted.runtime, own[0], checkout) if own else drafted.runtime), **limits}
    if drafted.entry_patch is not None and image == _built_name(directory, name) and _has_entry(directory, row):
        drafted = replace(drafted, entry_patch=None)
        notes = (*notes, "its Dockerfile checks out the bug: no entry patch")
    return replace(
        drafted,
        instance_id=name,
        instruction=files.text(directory, INSTRUCTION),
        runtime=runtime,
        notes=tuple(dict.fromkeys(notes)),
    )


def _running(row: Mapping[str, Any], script: Mapping[str, Any], checkout: str | None) -> dict[str, Any]:
    """The row's runtime with the script's command, after a checkout of the hidden tests, in place of the row's."""
    command = {"framework", "test_cmd", "select", "id_template", "junit"}
    runtime = {key: item for key, item in row.items() if key not in command} | dict(script)
    if checkout is not None:
        then = " || exit\n" if "\n" in script["test_cmd"] else " && "
        runtime["test_cmd"] = f"{checkout}{then}{script['test_cmd']}"
    return runtime


# ---- the row


def _row(directory: Path) -> tuple[dict[str, Any], RowFormat]:
    if not files.is_there(directory, CONFIG):
        raise RowError(CONFIG, "is missing; an adapter's row is there, which holds the lists")
    row = _parsed(files.text(directory, CONFIG))
    fits = swebench.fitting(ROWS, row) or _by_lists({name: value for name, value in row.items() if value is not None})
    if len(fits) != 1:
        names = " and ".join(known.name for known in fits)
        raise RowError(
            CONFIG,
            f"fits {names}, and nothing in it tells which; keep more of the row, such as test_patch"
            if fits
            else "fits no format that is known by its columns",
        )
    return row, fits[0]


def _by_lists(row: Row) -> list[RowFormat]:
    """The formats that a row may be of by its list columns alone, for an adapter that drops other columns.

    Many formats share SWE-bench's names. They mean the same in all of these where no column shows another format, and
    hidden tests show that the patch is not a bug.
    """
    fits = [known for known in ROWS if swebench.has(row, *known.f2p, *known.p2p)]
    if swebench.CLASSIC in fits and "test_patch" in row and not any(name in row for name in swebench.OTHERS):
        return [swebench.CLASSIC]
    return fits


def _parsed(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise RowError(CONFIG, "is nested too deeply") from None
    except ValueError as err:
        raise RowError(CONFIG, f"is no valid JSON: {err}") from None
    if not isinstance(row, dict):
        raise RowError(CONFIG, f"expected an object, found {type(row).__name__}")
    return row


def _drafted(known: RowFormat, row: Row, wants: Wants) -> Draft:
    try:
        return known.draft(row, wants)
    except RowError as err:
        raise RowError(f"{CONFIG} {err.field}".rstrip(), err.problem) from None


def _oracle_column(known: RowFormat) -> str:
    return "fix_patch" if known is multi_swebench.FORMAT else "patch"


def _with_oracle(directory: Path, row: dict[str, Any], known: RowFormat) -> tuple[dict[str, Any], bool]:
    """The row with its reference diff, and whether that is from solution/ since the row has none. Raises `RowError`."""
    column = _oracle_column(known)
    if optional_text(row, column) is not None:
        return row, False
    diffs = [
        f"solution/{file.name}" for file in files.tree(directory, "solution") if file.name.endswith((".patch", ".diff"))
    ]
    if len(diffs) != 1:
        problem = f"holds several diffs: {', '.join(diffs)}" if diffs else "holds a script and no diff"
        raise RowError("solution", f"{problem}, and {CONFIG} has no {column}")
    return {**row, column: files.text(directory, diffs[0])}, True


# ---- the image


def _docker_image(settings: Mapping[str, Any]) -> str | None:
    named = optional_text(_section(settings, "environment"), "docker_image")
    return named.strip() if named else None


def _built(directory: Path, name: str) -> str:
    if not files.is_there(directory, DOCKERFILE):
        raise RowError("environment", f"has no Dockerfile, and {SETTINGS} names no docker_image; give --image-template")
    return _built_name(directory, name)


def _built_name(directory: Path, name: str) -> str:
    """The name of the image that environment/ builds. Other files give another name."""
    digest = hashlib.sha256()
    for file in files.tree(directory, "environment"):
        kind = "run" if file.mode & 0o100 else "file"
        line = [file.name, kind, hashlib.sha256(file.content).hexdigest()]
        digest.update((json.dumps(line) + "\n").encode())
    path = "-".join(re.findall(r"[a-z0-9]+(?:__?[a-z0-9]+)*", name.lower())) or "task"
    return f"{IMAGES}/{path}:{digest.hexdigest()[:12]}"


def _has_entry(directory: Path, row: Row) -> bool:
    """Whether the Dockerfile checks out the branch of SWE-smith that has the bug and the name of the instance."""
    branch = re.escape(str(row.get("instance_id")))
    return bool(re.search(rf"\bgit\s[^\n]*\bcheckout\s[^\n]*{branch}\b", files.text(directory, DOCKERFILE)))


# ---- task.toml


def _settings(directory: Path) -> dict[str, Any]:
    settings = _toml(files.text(directory, SETTINGS))
    if str(_section(settings, "environment").get("os", "linux")).lower() != "linux":
        raise RowError(f"{SETTINGS} environment.os", "only Linux images can be run")
    return settings


def _toml(text: str) -> dict[str, Any]:
    try:
        return read.parse_toml(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as err:
        raise RowError(SETTINGS, f"is no valid TOML: {err}") from None


def _section(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = settings.get(name, {})
    if not isinstance(section, dict):
        raise RowError(f"{SETTINGS} {name}", "expected a table")
    return section


def _limits(settings: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of task.json that task.toml sets, and notes on what is left out. Raises `RowError`."""
    environment, verifier = _section(settings, "environment"), _section(settings, "verifier")
    keys: dict[str, Any] = {}
    if "cpus" in environment:
        keys["cpus"] = _positive(environment["cpus"], "environment.cpus")
    if "memory_mb" in environment or "memory" in environment:
        keys["memory"] = _memory(environment)
    if "timeout_sec" in verifier:
        keys["timeout"] = _positive(verifier["timeout_sec"], "verifier.timeout_sec")
    if "workdir" in environment:
        keys["workdir"] = _workdir(environment["workdir"])
    if "user" in verifier:
        keys["user"] = _user(verifier["user"])
    env, left = _env(settings)
    if env:
        keys["env"] = env
    return keys, ((f"{SETTINGS} takes {', '.join(left)} from the host: left out",) if left else ())


def _positive(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise RowError(f"{SETTINGS} {key}", "expected a number above 0")
    return value


def _workdir(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("/"):
        raise RowError(f"{SETTINGS} environment.workdir", "expected an absolute path")
    return value


def _user(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise RowError(f"{SETTINGS} verifier.user", "expected a user's name or number")
    return str(value)


def _memory(environment: Mapping[str, Any]) -> int:
    """The memory in bytes, from `memory_mb` or else from the older `memory`, such as "4G"."""
    if "memory_mb" in environment:
        size = environment["memory_mb"]
        if isinstance(size, bool) or not isinstance(size, int):
            raise RowError(f"{SETTINGS} environment.memory_mb", "expected a whole number")
        return size << 20
    size = environment["memory"]
    match = (
        re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([KMG])i?B?\s*", size, re.IGNORECASE)
        if isinstance(size, str)
        else None
    )
    if match is None:
        raise RowError(f"{SETTINGS} environment.memory", 'expected a size such as "4G"')
    return int(float(match[1]) * (1 << {"K": 10, "M": 20, "G": 30}[match[2].upper()]))


def _env(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The variables of the environment, with those of the verifier over them; and the names that need the host."""
    variables: dict[str, str] = {}
    for name in ("environment", "verifier"):
        table = _section(settings, name).get("env", {})
        if not isinstance(table, dict) or not all(isinstance(item, str) for item in table.values()):
            raise RowError(f"{SETTINGS} {name}.env", "expected a table of texts")
        variables |= table
    plain = {key: item for key, item in variables.items() if "${" not in item}
    return plain, sorted(variables.keys() - plain.keys())


# ---- the verifier


def verifier(directory: Path) -> Verifier | None:
    """The task's own verifier; None where it has no tests/test.sh. Raises `RowError`."""
    if not files.is_there(directory, harbor_script.NAME):
        return None
    settings = _settings(directory)
    timeout = _positive(_section(settings, "verifier").get("timeout_sec", 600.0), "verifier.timeout_sec")
    return Verifier(
        files=tuple((f"/tests/{file.name}", file.content, file.mode) for file in files.tree(directory, "tests")),
        command=("bash", f"/{harbor_script.NAME}"),
        rewards=REWARDS,
        directories=DIRECTORIES,
        env=_env(settings)[0],
        timeout=float(timeout),
    )


# ---- the trimmed task


def _trimmed(
    directory: Path, dropped_f2p: frozenset[str], dropped_p2p: frozenset[str], record: str | None
) -> Mapping[str, bytes]:
    changed: dict[str, str] = {}
    if dropped_f2p or dropped_p2p:
        row, known = _row(directory)
        columns = {
            **{name: _among(known, dropped_f2p | dropped_p2p) for name in known.also},
            **{name: _among(known, dropped_f2p) for name in known.f2p},
            **{name: _among(known, dropped_p2p) for name in known.p2p},
        }
        changed[CONFIG] = _trimmed_config(files.text(directory, CONFIG), columns)
        changed |= _trimmed_verifier(directory, _lists(row, known, columns, dropped_f2p, dropped_p2p))
    if record is not None:
        changed[SETTINGS] = _recorded(files.text(directory, SETTINGS), record)
    written = {name: text.encode() for name, text in changed.items()}
    return {name: content for name, content in written.items() if content != files.content(directory, name)}


def _among(known: RowFormat, dropped: frozenset[str]) -> lists.Goes:
    """A test of list items: whether an item of the format is one of these ids."""
    return lambda item: isinstance(item, str) and known.plain(item) in dropped


def _trimmed_config(text: str, columns: Mapping[str, lists.Goes]) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    try:
        return mark + replace_values(text.removeprefix(mark), harbor_script.changes(columns))
    except (ValueError, SyntaxError) as err:
        raise RowError(CONFIG, f"cannot be trimmed: {err}") from None


def _lists(
    row: Row,
    known: RowFormat,
    columns: Mapping[str, lists.Goes],
    dropped_f2p: frozenset[str],
    dropped_p2p: frozenset[str],
) -> harbor_script.Lists:
    column = _oracle_column(known)
    oracle = optional_text(row, column) or "-"
    task = _drafted(known, {**row, column: oracle}, Wants(image_template="-", test_cmd="true"))
    patches = tuple(row[name] for name in ("test_patch", column) if optional_text(row, name))
    return harbor_script.Lists(
        frozenset(task.f2p), frozenset(task.p2p), dropped_f2p, dropped_p2p, columns, known.plain, patches
    )


def _trimmed_verifier(directory: Path, known: harbor_script.Lists) -> dict[str, str]:
    """The other text files of tests/, with the lists trimmed in those that hold them a second time."""
    texts = {}
    for file in files.tree(directory, "tests"):
        name = f"tests/{file.name}"
        if name == CONFIG or len(file.content) > MAX_SCANNED:
            continue
        try:
            text = file.content.decode()
        except UnicodeDecodeError:
            continue
        texts[name] = harbor_script.trimmed(name, text, known, strict=name.endswith(".sh"))
    return texts


_METADATA = re.compile(r"^[ \t]*\[[ \t]*metadata[ \t]*\][^\r\n]*(\r?\n|\Z)", re.MULTILINE)
_RECORD = re.compile(r"^[ \t]*repair_record[ \t]*=[^\r\n]*", re.MULTILINE)


def _recorded(text: str, record: str) -> str:
    """task.toml with the record's digest under [metadata] and all else as it came; unchanged where this fails."""
    value = record if record.startswith("sha256:") else f"sha256:{record}"
    line = f'repair_record = "{value}"'
    end = "\r\n" if "\r\n" in text else "\n"
    table = _METADATA.search(text)
    if table is None:
        gap = "" if not text or text.endswith("\n") else end
        new = f"{text}{gap}{end if text else ''}[metadata]{end}{line}{end}"
    elif _RECORD.search(text):
        new = _RECORD.sub(lambda _: line, text, count=1)
    else:
        new = text[: table.end()] + ("" if table[1] else end) + line + (table[1] or end) + text[table.end() :]
    before = _toml(text)
    metadata = before.get("metadata", {})
    try:
        wanted = {**before, "metadata": {**metadata, "repair_record": value}}
        return new if read.parse_toml(new.removeprefix("\ufeff")) == wanted else text
    except (ValueError, TypeError):
        return text


FORMAT = DirectoryFormat(
    name="harbor",
    title="Harbor task directories (Terminal-Bench 2)",
    tasks=_tasks,
    draft=_draft,
    trimmed=_trimmed,
    verifier=lambda directory, _: verifier(directory),
)
