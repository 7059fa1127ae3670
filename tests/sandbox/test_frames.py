"""The engine's stream of a log: frames with headers, cut into chunks wherever the network cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.errors import EngineError
from repair.sandbox.container import FRAME, unframed


def framed(*parts: bytes) -> bytes:
    return b"".join(FRAME.pack(1 + number % 2, len(part)) + part for number, part in enumerate(parts))


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 30))
def test_what_was_printed_comes_out_however_it_is_cut(parts: list[bytes], size: int) -> None:
    assert b"".join(unframed(chunks(framed(*parts), size))) == b"".join(parts)


@pytest.mark.parametrize("left", [1, 7, 8, 10])
def test_a_stream_that_ends_in_a_frame_is_no_log(left: int) -> None:
    with pytest.raises(EngineError, match="ends early") as caught:
        list(unframed([framed(b"abc")[:left]]))
    assert caught.value.transient


def test_no_output_is_none() -> None:
    assert list(unframed([])) == []
