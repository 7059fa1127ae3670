"""A task's own verifier, such as Harbor's: what goes into the container, what is run there, and the reward it leaves.

Pure. A reward that is not there is a failure of the infrastructure and no zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from repair.errors import NoEvidence
from repair.model import Verifier
from repair.text import printable

LOGS = "/logs/verifier"
DIRECTORIES = (LOGS, "/tests")
REWARD_JSON, REWARD_TEXT = f"{LOGS}/reward.json", f"{LOGS}/reward.txt"
REWARDS = (REWARD_JSON, REWARD_TEXT)  # in the order in which they count
_AGAIN = "see the verifier's log, and run again"


def score(verifier: Verifier, files: Mapping[str, bytes], log: bytes) -> float:
    """The reward, from 0 to 1, of the files that a verifier left or of what it printed. Raises `NoEvidence`."""
    return reward(files) if verifier.rewards else reward_of_log(log, verifier.ids)


def reward(files: Mapping[str, bytes]) -> float:
    """The reward, from 0 to 1, of what a verifier left, by path in the container.

    As Harbor reads it: reward.json counts, values in it that are no numbers don't, and where it has no `reward`
    that of reward.txt is taken. Its one number is the reward where there is no other. Harbor makes no one number of
    several rewards, so without a `reward` they are none. Raises `NoEvidence`.
    """
    if REWARD_JSON not in files:
        if REWARD_TEXT not in files:
            raise NoEvidence("the verifier left no reward", _AGAIN)
        return _of_text(files[REWARD_TEXT])
    numbers = _numbers(files[REWARD_JSON])
    if "reward" in numbers:
        return _checked(numbers["reward"], REWARD_JSON)
    if files.get(REWARD_TEXT, b"").strip():
        return _of_text(files[REWARD_TEXT])
    if len(numbers) == 1:
        return _checked(next(iter(numbers.values())), REWARD_JSON)
    named = ", ".join(printable(name) for name in sorted(numbers)[:5])
    raise NoEvidence(f'{REWARD_JSON} has no number "reward"' + (f", only {named}" if named else ""), _AGAIN)


BEGIN, END = ">>>>> Start Test Output", ">>>>> End Test Output"
_SUMMARY = re.compile(r"(PASSED|XFAIL|FAILED|ERROR|SKIPPED|XPASS) (.+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def reward_of_log(log: bytes, ids: Collection[str]) -> float:
    """1.0 where pytest's summary between the two markers names every id as passed or expected to fail, else 0.0.

    So SWE-bench reads its eval scripts' output. Raises `NoEvidence` where the markers are not there.
    """
    text = log.decode("utf-8", "replace")
    begin, end = text.rfind(BEGIN), text.rfind(END)
    if begin < 0 or end < begin:
        raise NoEvidence(f"the eval script printed nothing between {BEGIN} and {END}", _AGAIN)
    lines = (_SUMMARY.fullmatch(_COLOUR.sub("", line).strip()) for line in text[begin:end].splitlines())
    said = [(line[1], line[2]) for line in lines if line]
    if not said:
        raise NoEvidence("the eval script printed no summary of tests between its markers", _AGAIN)
    passed = {test for word, test in said if word == "PASSED"}
    passed |= {known for word, test in said if word == "XFAIL" for known in ids if f"{test} ".startswith(f"{known} ")}
    failed = {known for word, test in said if word in ("FAILED", "ERROR") for known in (test, test.split(" - ")[0])}
    return float(bool(ids) and (passed - failed).issuperset(ids))


def _numbers(content: bytes) -> dict[str, float]:
    if not content.strip():
        raise NoEvidence(f"{REWARD_JSON} is empty", _AGAIN)
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise NoEvidence(f"{REWARD_JSON} is no JSON", _AGAIN) from None
    if not isinstance(found, dict):
        raise NoEvidence(f"{REWARD_JSON} holds no object", _AGAIN)
    return {key: item for key, item in found.items() if isinstance(item, int | float) and not isinstance(item, bool)}


def _of_text(content: bytes) -> float:
    text = content.decode("utf-8", "replace").strip()
    if not text:
        raise NoEvidence(f"{REWARD_TEXT} is empty", _AGAIN)
    if not re.fullmatch(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf(?:inity)?)", text, re.IGNORECASE):
        raise NoEvidence(f"{REWARD_TEXT} holds no number: {printable(text[:60])}", _AGAIN)
    return _checked(float(text), REWARD_TEXT)


def _checked(value: float, name: str) -> float:
    if not 0 <= value <= 1:  # false for NaN too
        raise NoEvidence(f"{name} holds {str(value)[:20]}, which is no reward from 0 to 1", _AGAIN)
    return abs(float(value))  # no -0.0
