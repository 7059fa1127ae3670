"""The rooms of the package: what each may import, what is pure, who alone imports an outside library."""

from __future__ import annotations

# What a room may import of the others: packages, or single modules of one. A room may import its own modules.
BASE = ("model", "errors", "text", "files")
ROOMS: dict[str, tuple[str, ...]] = {
    "model": (),
    "errors": (),
    "text": (),
    "files": ("errors", "text"),
    "rules": ("model", "errors", "text"),
    "words": ("model",),
    "table": ("model", "errors", "text"),
    "sandbox": BASE,
    "outcomes": BASE,
    "panel": (*BASE, "outcomes.spelling"),
    "controls": (*BASE, "sandbox", "outcomes", "panel", "table"),
    "records": (*BASE, "panel", "rules", "words"),
    "formats": (*BASE, "records.check", "panel", "outcomes", "rules", "sandbox.references"),
    "mint": (*BASE, "controls", "sandbox", "records", "panel", "outcomes", "rules", "table"),
    "pipeline": (*BASE, "controls", "sandbox", "records", "panel", "outcomes", "rules", "table"),
    "report": (*BASE, "pipeline", "formats", "mint", "controls", "records", "panel", "outcomes", "rules", "words"),
    "cli": ("*",),
    "__main__": ("cli",),
}

# Modules that take values and give values: no clock, disk, network or chance, and no process.
PURE = (
    *("model", "errors", "text", "rules", "words", "table"),
    *("outcomes", "records.diff.compare", "mint.classes", "mint.against", "mint.steadiness", "formats.rows", "report"),
)
NOT_PURE = ("outcomes.evidence", "outcomes.logs", "outcomes.report_files", "report.page.build", "report.progress")
IMPURE = frozenset(
    {
        *("os", "io.open", "shutil", "glob", "tempfile", "fcntl", "fileinput"),
        *("time", "datetime", "random", "secrets", "uuid"),
        *("socket", "ssl", "http", "urllib", "subprocess", "multiprocessing", "threading", "asyncio", "signal"),
        *("sys", "platform", "locale", "logging", "importlib", "ctypes"),
        *("docker", "requests", "urllib3", "filelock", "orjson", "typer"),
    }
)
# The one importer of each of these.
ONLY = {
    "docker": "repair.sandbox",
    "junitparser": "repair.outcomes.junit",
    "typer": "repair.cli",
    "filelock": "repair.controls.workspace",
    "pyarrow": "repair.formats.raw.parquet",
    "yaml": "repair.formats.directories.swebench_repo",
}
