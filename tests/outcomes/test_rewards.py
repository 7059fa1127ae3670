"""The reward that a task's own verifier leaves: a missing one is no zero."""

from __future__ import annotations

import pytest

from repair.errors import NoEvidence
from repair.outcomes.rewards import REWARD_JSON, REWARD_TEXT, reward

REWARDS: dict[str, tuple[dict[str, bytes], float]] = {
    "the text": ({REWARD_TEXT: b"1\n"}, 1.0),
    "the text, a fraction": ({REWARD_TEXT: b" 0.25 "}, 0.25),
    "zero is a reward": ({REWARD_TEXT: b"0"}, 0.0),
    "the key reward": ({REWARD_JSON: b'{"reward": 0.5}'}, 0.5),
    "the key reward beside others": ({REWARD_JSON: b'{"passed": 3, "reward": 1}'}, 1.0),
    "JSON before text": ({REWARD_JSON: b'{"reward": 0}', REWARD_TEXT: b"1"}, 0.0),
    "the text where JSON has no reward": ({REWARD_JSON: b'{"passed": 1}', REWARD_TEXT: b"0"}, 0.0),
    "the text where JSON's reward is no number": ({REWARD_JSON: b'{"reward": true}', REWARD_TEXT: b"0"}, 0.0),
    "the one number": ({REWARD_JSON: b'{"score": 0.75, "note": "x", "done": true}'}, 0.75),
    "the one number beside an empty text": ({REWARD_JSON: b'{"score": 1}', REWARD_TEXT: b"\n"}, 1.0),
    "a file that is neither is not read": ({REWARD_TEXT: b"1", "/logs/verifier/output.json": b"{"}, 1.0),
}


@pytest.mark.parametrize("name", REWARDS)
def test_a_reward(name: str) -> None:
    files, expected = REWARDS[name]
    assert reward(files) == expected
    assert isinstance(reward(files), float)


NO_REWARDS: dict[str, tuple[dict[str, bytes], str]] = {
    "no file": ({}, "left no reward"),
    "an empty text": ({REWARD_TEXT: b""}, "reward.txt is empty"),
    "a text that is no number": ({REWARD_TEXT: b"passed"}, "reward.txt holds no number: passed"),
    "a boolean in the text": ({REWARD_TEXT: b"True"}, "holds no number"),
    "not a number": ({REWARD_TEXT: b"nan"}, "holds nan"),
    "infinity": ({REWARD_TEXT: b"inf"}, "holds inf"),
    "above one": ({REWARD_TEXT: b"1.01"}, "holds 1.01"),
    "below zero": ({REWARD_JSON: b'{"reward": -1}'}, "holds -1"),
    "not a number in JSON": ({REWARD_JSON: b'{"reward": NaN}'}, "holds nan"),
    "an empty JSON beside a text": ({REWARD_JSON: b"", REWARD_TEXT: b"1"}, "reward.json is empty"),
    "a cut JSON beside a text": ({REWARD_JSON: b'{"rew', REWARD_TEXT: b"1"}, "reward.json is no JSON"),
    "JSON that is not UTF-8": ({REWARD_JSON: b'{"reward\xff": 1}'}, "reward.json is no JSON"),
    "JSON nested without end": ({REWARD_JSON: b"[" * 200_000}, "reward.json is no JSON"),
    "a bare number in JSON": ({REWARD_JSON: b"1"}, "holds no object"),
    "a boolean": ({REWARD_JSON: b'{"reward": true}'}, 'has no number "reward"'),
    "a text in JSON": ({REWARD_JSON: b'{"reward": "1"}'}, 'has no number "reward"'),
    "several rewards and none of that name": ({REWARD_JSON: b'{"b": 1, "a": 0}'}, "only a, b"),
}


@pytest.mark.parametrize("name", NO_REWARDS)
def test_no_reward_is_no_evidence(name: str) -> None:
    files, said = NO_REWARDS[name]
    with pytest.raises(NoEvidence) as caught:
        reward(files)
    assert said in caught.value.message
    assert caught.value.next
