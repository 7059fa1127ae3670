"""Why a test is no pass, as one line that is the same in every run: the text that records and tables show.

Pure. Raw text stays in the logs; what differs from run to run without meaning anything is replaced here.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 300
MAX_READ = 20_000  # of a text; what follows no cause needs

_SPACE = re.compile(r"\s+")
_STYLING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (_STYLING, ""),
    (re.compile(r"/\.repair-[0-9a-f]+"), "/.repair"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "0x…"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"/pytest-of-[^/\s'\"]+/pytest-\d+"), "/pytest"),
    (re.compile(r"(?:/private)?(?:/var)?/tmp/[^\s'\",:;)\]]+"), "/tmp/…"),  # noqa: S108
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<hex>"),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} [\d:]{8} \d{4}\b"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)? ?(?:ns|us|µs|ms|s|sec|secs|seconds?|minutes?)\b"), "<duration>"),
    (re.compile(r"\b(pid|PID|port|thread|Thread|process|worker)([ =:#-]+)\d+"), r"\1\2<n>"),
    (re.compile(r"\b\d{5,}\b"), "<n>"),
)
_SET = re.compile(r"\{([^{}:,]*(?:,[^{}:,]*)+)\}")


def normalise(text: str) -> str:
    """One line without addresses, durations, times, temporary paths, counters or set order; 300 characters at most."""
    text = text[:MAX_READ]
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = _SET.sub(lambda m: "{" + ", ".join(sorted(part.strip() for part in m[1].split(","))) + "}", text)
    text = printable(_SPACE.sub(" ", text).strip())
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def first_line(text: str) -> str:
    """The first line of `text` that is not blank, normalised."""
    return normalise(next((line for line in text.splitlines() if line.strip()), ""))


def shown_line(line: str) -> str:
    """One line of a log as a terminal or a page may show it: without styling, controls spelt as escapes."""
    return printable(_STYLING.sub("", line.rstrip("\r\n")).expandtabs())


def printable(text: str) -> str:
    """`text` with controls, bidirectional marks and lone surrogates spelt as escapes, so that no reader is fooled."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


_NO_SPACE = re.compile("no space left on device|disk quota exceeded|disk is full", re.IGNORECASE)


def says_no_space(text: str) -> bool:
    """Does a text hold the words by which systems and SQLite say that a disk is full?"""
    return _NO_SPACE.search(text) is not None


def of_collection(where: str, text: str) -> str:
    """The cause of a collector that failed: `where: ExceptionType: message`, read from pytest's long text.

    pytest prefixes the lines of an exception with `E`; of a chain the last one is what was raised.
    """
    raised = [line[1:].strip() for line in text.splitlines() if re.match(r"E {1,3}[^ ]", line)]
    named = [line for line in raised if re.match(r"[A-Za-z_][\w.]*(?::|$)", line)]
    line = (named or raised or [text])[-1]
    return normalise(f"{where}: {first_line(line)}" if where else first_line(line))


def startup_error(log: str, workdir: str, *, by_usage: bool) -> str | None:
    """pytest's message why it could not start, from the end of its output; None where it says no such thing.

    `by_usage`: it ended with the status for usage errors, with which other programs end as well. Otherwise only a
    plugin that does not import counts.
    """
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    raised = [line[1:].strip() for line in lines if re.match(r"E {1,3}[^ ]", line)]
    conftest = [m[1] for m in (re.match(r"ImportError while loading conftest '(.+)'", line) for line in lines) if m]
    if by_usage and conftest:
        where = conftest[-1].removeprefix(workdir.rstrip("/") + "/")
        return of_collection(where, "\n".join(f"E   {line}" for line in raised) or lines[-1])
    said = [line for line in lines if re.match(r"(.*: )?error: |ERROR: (?!usage: )", line)]
    if by_usage and said:
        return normalise(said[-1])
    plugin = [line for line in lines if re.search('Error (importing|while loading) plugin "', line)]
    if plugin:
        return normalise(": ".join([plugin[-1].rstrip("."), *raised[-1:]]))
    if any("in load_setuptools_entrypoints" in line or "in import_plugin" in line for line in lines):
        return normalise(f"a plugin of the image does not import: {lines[-1]}")
    return None


def is_encodable(text: str) -> bool:
    """Can a text be written as UTF-8? One with half a character, or with bytes that are none, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
