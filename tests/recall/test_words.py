"""From a text to its words, in any language."""

# ruff: noqa: RUF001  # letters of other scripts are what this is about

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.language import word_batches as reading
from longmind.language.word_batches import terms_of_each
from longmind.language.words import MOST_STATED, STOP_WORDS, count_statement_words, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("... !? -", []),
        ("😀🎉", []),
        ("Hello, World!", ["hello", "world"]),
        ("user-id snake_case C++ a.b", ["user", "id", "snake", "case", "c", "a", "b"]),
        ("Anna's dog", ["anna", "dog"]),
        ("Anna\u2019s dog", ["anna", "dog"]),
        ("don't", ["dont"]),
        ("we'll they've I'm he'd", ["we", "they", "i", "he"]),
        ("o'clock rock'n'roll", ["oclock", "rocknroll"]),
        ("'quoted'", ["quoted"]),
        ("Straße ÉCOLE naïve", ["straße", "école", "naïve"]),
        ("e\u0301cole", ["école"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ ﬁne", ["full", "width", "fine"]),
        ("Привет, мир", ["привет", "мир"]),
        ("7 May 2023", ["7", "may", "2023"]),
    ],
)
def test_a_text_is_cut_into_its_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東", ["東"]),
        ("東京", ["東京"]),
        ("東京に住む", ["東京", "京に", "に住", "住む"]),
        ("住在北京，喜欢", ["住在", "在北", "北京", "喜欢"]),
        ("東京Tower 42", ["東京", "tower", "42"]),
        ("ข้าว", ["ข้", "้า", "าว"]),
        ("ラーメン", ["ラー", "ーメ", "メン"]),
    ],
)
def test_what_has_no_spaces_is_cut_into_pairs_of_characters(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("word", "text"),
    [("猫", "我有一只猫"), ("茶", "用户每天早上喝茶"), ("犬", "犬が好きです"), ("他喜欢茶吗?", "用户喝茶")],
)
def test_a_word_of_a_single_character_is_found_within_others(word: str, text: str) -> None:
    assert set(terms_of(word)) & set(terms_of(text))


def test_characters_of_scripts_in_which_they_are_no_words_count_in_pairs_only() -> None:
    assert len(terms_of("ラーメン")) == 3
    assert not set(terms_of("ข")) & set(terms_of("ข้าว"))
    assert len(terms_of("茶")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("नमस्ते", "नमस्ते दुनिया"),
        ("مرحبا", "مَرْحَبًا"),
        ("שלום", "שָׁלוֹם"),
    ],
)
def test_marks_that_cling_to_a_letter_do_not_cut_a_word(one: str, other: str) -> None:
    assert len(words_of(one)) == 1
    assert set(words_of(one)) <= set(words_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("apples", "Apple"),
        ("vegetarians", "vegetarian"),
        ("Anna's", "anna"),
        ("DON'T", "don\u2019t"),
        ("ﬁne", "fine"),
    ],
)
def test_forms_of_a_word_have_the_same_term(one: str, other: str) -> None:
    assert terms_of(one) == terms_of(other)
    assert len(terms_of(one)) == 1


def test_different_words_have_different_terms() -> None:
    words = ("apple", "pear", "run", "東京", "ข้าว", "नमस्ते", "42")
    assert len({term for word in words for term in terms_of(word)}) >= len(words)


def test_words_that_say_nothing_count_only_where_there_are_no_others() -> None:
    assert terms_of("the cat is on the mat") == terms_of("cat mat")
    assert len(terms_of("who is the one that was")) == 1
    assert len(terms_of("to be or not to be")) == 6
    assert "cat" not in STOP_WORDS


def test_a_term_is_the_same_in_every_process() -> None:
    """It is written down, so it must not depend on the hashing of one run."""
    assert terms_of("stamps") == [1_431_215_880]
    assert all(0 <= term < 2**32 for term in terms_of("any word of any language 東京"))


def test_threads_may_share_it() -> None:
    texts = [f"running word{number} flies happily 東京" for number in range(2_000)]
    alone = [terms_of(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(terms_of, texts)) == alone


@pytest.mark.patient
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_is_forked_in_the_middle_of_a_word_reads_on() -> None:
    enough = threading.Event()

    def read_new_words() -> None:
        for number in count():
            terms_of(f"running{number}")
            if enough.is_set():
                return

    with ThreadPoolExecutor() as threads:
        threads.submit(read_new_words)
        try:
            for number in range(50):
                child = os.fork()
                if child == 0:
                    # A child that hangs is ended by the alarm, and so is seen.
                    signal.alarm(60)
                    terms_of(f"flying{number}")
                    os._exit(0)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        finally:
            enough.set()


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", 0),
        ("I like tea.", 3),
        ("Do you like tea?", 0),
        ("I like tea. Do you?", 3),
        ("Really? Yes! I do.", 3),
        ("東京に住んでいますか？", 0),
        ("one\ntwo\nthree?", 2),
        ("word " * 500, MOST_STATED),
    ],
)
def test_words_outside_of_questions_are_counted(text: str, stated: int) -> None:
    assert count_statement_words(text) == stated


ASCII = st.text(st.characters(max_codepoint=127))


@given(ASCII, ASCII)
def test_the_words_of_plain_texts_do_not_depend_on_how_they_are_found(one: str, other: str) -> None:
    # An apostrophe, or a letter that is not of ASCII, has the text read in another way.
    assert words_of(f"{one} x' {other}") == [*words_of(one), "x", *words_of(f" {other}")]
    assert words_of(f"{one} é {other}") == [*words_of(one), "é", *words_of(other)]


PIECES = st.sampled_from([*"aB1 _-.'\u2019\x00\x1c\nüß東京", " the ", " is ", " it's ", " tea "])
ODD = st.lists(st.lists(PIECES, max_size=12).map("".join))


@given(ODD)
def test_the_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    terms, places = terms_of_each(texts)
    found = list(zip(places.tolist(), terms.tolist(), strict=True))
    assert found == [(place, term) for place, text in enumerate(texts) for term in terms_of(text)]


def test_texts_are_told_apart_also_when_another_thread_has_just_forgotten_all_words() -> None:
    terms_of_each(["red tea", "green tea"])
    reading._cached_number.__self__.clear()  # type: ignore[attr-defined]  # a method of the dict
    _, places = terms_of_each(["red tea", "green tea"])
    assert places.tolist() == [0, 0, 1, 1]


@given(st.text("ab .!?\n", max_size=20))
def test_the_words_of_one_sentence_are_counted_as_those_of_several(sentence: str) -> None:
    assert count_statement_words(f"One two.x{sentence}") == 2 + count_statement_words(f"x{sentence}")


@pytest.mark.patient
def test_long_texts_take_no_long_time() -> None:
    for text in ("a" * 1_000_000, "'" * 1_000_000, "a'" * 500_000, "東" * 300_000, "? " * 500_000, "a\u0301" * 300_000):
        terms_of(text)
        terms_of_each([text])
        count_statement_words(text)
