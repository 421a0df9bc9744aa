"""What counts the tokens."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import longmind
from longmind.assembly.byte_pairs import ENCODINGS, BytePairCounter
from longmind.assembly.tokens import TokenCounter, choose_counter, estimate
from tests.clock import SettableClock
from tests.working_context.conftest import of

BYTE_PAIRS = {name: BytePairCounter(encoding) for name, encoding in ENCODINGS.items()}


def published(name: str) -> TokenCounter:
    """What counts by the published tables."""
    openai = pytest.importorskip("rs_bpe.bpe").openai
    counter: TokenCounter = getattr(openai, ENCODINGS[name].file)().count
    return counter


PARTS = (
    "\n", "\n", "\n\n", "\r", " ", "  ", "\t", "\u2028", "\x85", "\x1c", "/", "//", ".", "...\n", "!\n/", "'s", "'",
    "a", "The", "don't", "DON'T", "camelCase", "unbelievably", "Z\u00fcrich", "\u041f\u0420\u0418\u0432\u0435\u0442",
    "\ud55c\uad6d\uc5b4", "\u01c5", "\u02b0", "1", "2345", "- [1] ", "User: ", "\u0301", "\u6f22", "\U0001f600",
    "\u200d", "<|endoftext|>",
)  # fmt: skip
"""What the tokens of a line may begin or end with."""


@pytest.mark.conforms("R-E")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_estimate_is_four_bytes_a_token_and_a_chinese_character_one(text: str) -> None:
    counted = estimate(text)
    assert counted >= math.ceil(len(text.encode()) / 4)
    assert counted <= len(text.encode())
    assert estimate("\u4f60\u597d" * 10) == 20
    assert estimate("abcde") == 2
    assert estimate("") == 0


@pytest.mark.parametrize(("name", "tokens"), [("o200k", 2), ("cl100k", 2), ("estimate", 3), ("auto", 2)])
def test_a_counter_is_chosen_by_its_name(sqlite_url: str, name: str, tokens: int) -> None:
    assert choose_counter(name)("hello world") == tokens
    with longmind.open(sqlite_url, token_counter=name) as engine:
        assert engine.settings.token_counter == name


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
@given(parts=st.lists(st.sampled_from(PARTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)))
def test_lines_are_counted_apart_and_add_up_to_the_tokens_of_the_text(name: str, parts: list[str]) -> None:
    text = "".join(parts)
    whole = published(name)(text)
    counter = choose_counter(name)
    # The second time from what is remembered of the first.
    assert (counter(text), counter(text)) == (whole, whole)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
@given(st.text(st.sampled_from("aAzé漢\u0301 \n.'0")))
def test_a_text_without_spaces_is_joined_as_the_vocabulary_says(name: str, text: str) -> None:
    assert BYTE_PAIRS[name](text) == published(name)(text)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_a_word_as_long_as_a_book_is_counted_in_a_moment(name: str) -> None:
    started = time.monotonic()
    assert BYTE_PAIRS[name]("a" * 100_000) == 12_500
    # A time that grew with the square of the length would be hours.
    assert time.monotonic() - started < 30


def test_half_of_a_character_pair_is_counted_like_a_character() -> None:
    assert choose_counter("o200k")("a\ud800") > 1


def test_what_is_remembered_of_counted_lines_is_not_their_text() -> None:
    counter = choose_counter("o200k")
    for number in range(30_000):
        counter(f"{number}\nThe user has a secret.")
    remembered = vars(counter)["_counted"]
    assert 0 < len(remembered) <= 10_000
    assert {type(part) for key in remembered for part in key} == {int}


@pytest.mark.conforms("R-E")
def test_a_function_of_the_hosts_counts(sqlite_url: str) -> None:
    clock = SettableClock()
    with longmind.open(sqlite_url, token_counter=len, clock=clock, embedder=None) as engine:
        ada = of(engine, clock)
        ada.say("Hello there", "Hi")
        built = ada.build()
        assert built.tokens_estimated == len(built.context_block) > 20
        assert ada.build(token_budget=built.tokens_estimated - 1).tokens_estimated < built.tokens_estimated


@pytest.mark.parametrize("answer", [-1, 1.5, None, True, "3"])
def test_a_counter_that_gives_no_number_is_refused(sqlite_url: str, answer: object) -> None:
    clock = SettableClock()
    with longmind.open(sqlite_url, token_counter=lambda _: answer, clock=clock) as engine:  # type: ignore[arg-type, return-value]
        ada = of(engine, clock)
        ada.say("Hello there", "Hi")
        with pytest.raises(longmind.InvalidInput, match="token counter returned"):
            ada.build()


@pytest.mark.parametrize("chosen", ["gpt2", 7, ""])
def test_a_counter_that_there_is_not_is_refused(sqlite_url: str, chosen: object) -> None:
    with pytest.raises(longmind.InvalidInput, match="token"):
        longmind.open(sqlite_url, token_counter=chosen)  # type: ignore[arg-type]
