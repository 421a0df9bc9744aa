"""Messages are split into pieces that hold all of them, once."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.recall.message_pieces import WHOLE, split_message

PARTS = st.sampled_from(
    [*"word a Sentence. Why? 3.14 我今天去了商店。 買 e\u0301 🎉".split(), "\n", "\n\n", "  ", "x" * 400, '"Yes!"']
)
TEXTS = st.lists(PARTS, max_size=600).map(" ".join) | st.text(max_size=2000)


@given(TEXTS)
def test_pieces_ascend_and_hold_everything_that_is_not_blank(text: str) -> None:
    spans = split_message(text)
    until = 0
    for begins, ends in spans:
        assert begins < ends
        assert not text[until:begins].strip()
        assert begins >= until
        assert text[begins:ends].strip()
        until = ends
    assert until <= len(text)
    assert not text[until:].strip()


@given(TEXTS)
def test_a_piece_is_short_and_a_short_message_is_whole(text: str) -> None:
    spans = split_message(text)
    assert all(len(text[begins:ends].split()) <= 200 for begins, ends in spans)
    if text.strip() and len(text) <= WHOLE:
        assert spans == [(0, len(text))]


def test_a_long_message_is_split_at_the_ends_of_sentences_and_lines() -> None:
    text = "\n".join(f"Step {number}: mix it well, and let it rest for a while. Then go on." for number in range(30))
    pieces = [text[begins:ends] for begins, ends in split_message(text)]
    assert len(pieces) > 3
    assert all(piece.rstrip().endswith(".") for piece in pieces)
    assert all(50 <= len(piece.split()) <= 90 for piece in pieces[:-1])


@pytest.mark.parametrize("part", ["a ", "a. ", "\n", "x", "我", "。", "' "])
def test_the_longest_message_takes_time_in_proportion(part: str) -> None:
    # Eight times the text takes eight times as long, or 64 times if it were quadratic.
    least = max(0.005, min(time_split((part * 100_000)[:100_000]) for _ in range(3)))
    longest = (part * 800_000)[:800_000]
    assert any(time_split(longest) < 30 * least for _ in range(3))


def time_split(text: str) -> float:
    """Return the processor time of one split by this thread, without what others do meanwhile."""
    gc.disable()
    try:
        began = time.thread_time()
        split_message(text)
        return time.thread_time() - began
    finally:
        gc.enable()
