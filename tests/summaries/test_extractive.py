"""The extractive summariser: what it keeps, what it leaves out, and what it never does."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.summaries.extractive import ExtractiveSummariser

SAID = to_micros("2026-03-04T10:00:00Z")
WORD = re.compile(r"[^\W_]+")
DAY = re.compile(r"^\d{1,2} [A-Z][a-z]+ \d{4}$", re.MULTILINE)


def talk(*said: str, at: int = SAID) -> list[SourceMessage]:
    """What the user and the assistant say in turn."""
    roles = ("user", "assistant")
    return [SourceMessage(f"m{place}", roles[place % 2], text, at) for place, text in enumerate(said)]  # type: ignore[arg-type]


def summary(*said: str, earlier: str | None = None, limit: int = 1_000) -> str:
    return ExtractiveSummariser().summarise(earlier, talk(*said), limit)


def test_facts_are_kept_in_their_order_with_who_said_them_and_when() -> None:
    assert summary(
        "Hi! My name is Ada and I work as a nurse in Graz.",
        "Hello Ada, nice to meet you! How can I help?",
        "I want to book a table for 6 people at Luigi's.",
        "I have booked a table at Luigi's for 7 pm.",
    ) == (
        "4 March 2026\n"
        "User: My name is Ada and I work as a nurse in Graz. I want to book a table for 6 people at Luigi's.\n"
        "Assistant: I have booked a table at Luigi's for 7 pm."
    )


def test_questions_courtesies_and_repetitions_are_left_out() -> None:
    told = summary(
        "Hey there! How are you?",
        "Great, thanks! What can I do for you?",
        "Thanks! My flight to Lisbon leaves on Friday. My flight to Lisbon leaves on Friday.",
        "Sounds good!",
    )
    assert told.count("Lisbon") == 1
    assert "?" not in told
    assert "Sounds good" not in told
    assert "Thanks" not in told


def test_relative_dates_are_made_whole() -> None:
    assert "I saw the dentist yesterday (3 March 2026)." in summary("I saw the dentist yesterday.")


def test_a_short_answer_stands_with_its_question() -> None:
    told = summary("I moved.", "Where do you live now?", "In Graz.")
    assert 'In Graz (asked "Where do you live now").' in told


def test_a_short_answer_stands_with_all_the_questions_it_may_be_one_to() -> None:
    said = (
        "I am so tired.",
        "I am sorry. How long has this been going on? Are you sleeping well?",
        "About three weeks.",
    )
    told = summary(*said)
    assert 'About three weeks (asked "How long has this been going on / Are you sleeping well").' in told
    assert summary(earlier=told) == told


@pytest.mark.parametrize(
    ("asked", "answered", "told"),
    [
        ("Are you allergic to nuts?", "Yes.", 'Yes (asked "Are you allergic to nuts").'),
        ("Do you smoke?", "no", 'No (asked "Do you smoke").'),
        (
            "Shall I book the flight for 300 euros?",
            "Yes please!",
            'Yes (asked "Shall I book the flight for 300 euros").',
        ),
        ("Do you have kids?", "No, two cats.", 'No, two cats (asked "Do you have kids").'),
    ],
)
def test_a_yes_or_a_no_is_told_with_what_was_asked(asked: str, answered: str, told: str) -> None:
    assert told in summary("I would like some advice from you on a trip.", asked, answered)


def test_a_yes_or_a_no_to_nothing_or_to_a_courtesy_is_left_out() -> None:
    told = summary(
        "I live in Graz.", "Noted. Is there anything else I can help you with?", "No, thanks!", "Bye.", "Yes."
    )
    assert "I live in Graz." in told
    assert "asked" not in told
    assert "Yes" not in told


def test_a_summary_that_is_gone_on_with_has_the_same_sentences() -> None:
    told = summary("I moved.", "Where do you live now?", "In Graz!", "Noted. The order of Dr. Huber costs $4.50.")
    assert summary(earlier=told) == told


def test_the_output_of_a_tool_is_told_in_words_and_not_as_data() -> None:
    row = SourceMessage("t", "tool", '{"id": 7781, "t": [21.5, 22.0, 19.8], "s": {"a": 1, "b": 2, "c": 3}}', SAID)
    words = SourceMessage("u", "tool", "The train to Linz leaves at 9:40 from platform 3.", SAID)
    assert ExtractiveSummariser().summarise(None, [row, words], 500) == (
        "4 March 2026\nTool: The train to Linz leaves at 9:40 from platform 3."
    )


def test_a_denial_does_not_repeat_what_it_denies() -> None:
    told = summary("I live in Oslo.", "", "I do not live in Oslo now.")
    assert "I live in Oslo." in told
    assert "I do not live in Oslo now" in told


def test_only_courtesies_give_nothing() -> None:
    assert summary("Hi!", "Hello! How are you?", "Thanks, bye!") == ""


def test_sentences_with_names_numbers_and_decisions_win_when_there_is_little_room() -> None:
    told = summary(
        "It was such a nice time and I really like it all so much, you know, it is always good.",
        "That is just so wonderful to hear, and it must really feel good to have such a time.",
        "We will move to Porto on 12 May and pay 1,450 euros of rent.",
        limit=200,
    )
    assert "We will move to Porto on 12 May 2026 and pay 1,450 euros of rent." in told


def test_what_the_user_says_counts_more_than_what_the_assistant_says() -> None:
    told = summary("My allergy is peanuts and shellfish.", "An allergy is often peanuts or shellfish.", limit=80)
    assert "User: My allergy is peanuts and shellfish." in told
    assert "Assistant" not in told


def test_speakers_with_names_keep_them() -> None:
    messages = talk("Ada: I adopted a cat named Miso.", "Bob: I bought a red bicycle in Utrecht.")
    assert ExtractiveSummariser().summarise(None, messages, 500) == (
        "4 March 2026\nAda: I adopted a cat named Miso.\nBob: I bought a red bicycle in Utrecht."
    )


def test_an_earlier_summary_goes_on_and_its_facts_do_not_vanish() -> None:
    first = summary("My sister Mona lives in Oslo with 3 children.")
    later = to_micros("2026-03-09T10:00:00Z")
    second = ExtractiveSummariser().summarise(first, talk("I bought a boat called Wanda.", at=later), 1_000)
    assert second == (
        "4 March 2026\nUser: My sister Mona lives in Oslo with 3 children.\n"
        "9 March 2026\nUser: I bought a boat called Wanda."
    )


def test_old_and_new_sentences_compete_for_the_room_there_is() -> None:
    earlier = summary(
        "My sister Mona lives in Oslo with 3 children.", "", "It is nice to be here with all of this again."
    )
    told = summary("My brother Theo moved to Bergen in 2019.", earlier=earlier, limit=125)
    assert "Mona lives in Oslo" in told
    assert "Theo moved to Bergen" in told
    assert "nice to be here" not in told


def test_a_summary_that_a_model_wrote_is_gone_on_with() -> None:
    told = summary("I bought a boat called Wanda.", earlier="Ada is a nurse. She lives in Graz.")
    assert told == "Ada is a nurse. She lives in Graz.\n4 March 2026\nUser: I bought a boat called Wanda."


@pytest.mark.parametrize("text", ["Ich wohne seit 2019 in Graz.", "私は2019年から東京に住んでいます。"])
def test_other_languages_are_kept_in_their_words(text: str) -> None:
    assert text in summary(text)


def test_a_sentence_without_end_leaves_room_for_others() -> None:
    told = summary("word " * 5_000, "", "My dentist is Dr. Huber.", limit=200)
    assert "Huber" in told


PHRASES = st.sampled_from(
    "I moved to Oslo.|My sister Mona has 3 children.|What do you think?|Thanks!|I paid $1,450 for a boat.|"
    "We decided to meet Theo at Luigi's.|It was nice.|Call me at 555-0199.|ok|If I were rich, I would travel.|"
    "Please book a room for 2 people.|Note: 17 apples|\u00c9mile l'a fait|```x = 5```|[shared photo: a red kite]".split(
        "|"
    )
)
TEXTS = st.one_of(st.lists(PHRASES, max_size=5).map(" ".join), st.text(max_size=80))


def messages_of(texts: Sequence[str]) -> list[SourceMessage]:
    return talk(*texts)


@settings(deadline=None, max_examples=150)
@given(parts=st.lists(st.lists(TEXTS, max_size=6), min_size=1, max_size=4), limit=st.integers(1, 600))
def test_a_summary_keeps_to_its_length_and_says_nothing_that_was_not_said(parts: list[list[str]], limit: int) -> None:
    summariser, told, source = ExtractiveSummariser(), None, ""
    for texts in parts:
        again = summariser.summarise(told, messages_of(texts), limit)
        assert again == summariser.summarise(told, messages_of(texts), limit)
        told = again
        source += " ".join(texts).casefold() + " "
        assert len(told) <= limit
        # The days of the messages, the labels of roles, and the words that a question or a picture is put in.
        own = {"user", "assistant", "asked", "shares", "a"}
        words = set(WORD.findall(DAY.sub("", told).casefold())) - own
        assert words <= set(WORD.findall(source))
