"""Dates and people that a question names."""

from __future__ import annotations

from datetime import date

import pytest

from longmind.clock import to_micros
from longmind.language.dates import may_ask_for_dates
from longmind.language.words import terms_of, words_of
from longmind.recall.question import find_intervals, understand_question

NOW = to_micros("2026-03-15T12:00:00Z")


def days_in(question: str) -> list[tuple[str, str]]:
    return sorted((found.first.isoformat(), found.last.isoformat()) for found in find_intervals(question, NOW))


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what happened on 2025-05-07?", "2025-05-07", "2025-05-07"),
        ("on 7 May 2025", "2025-05-07", "2025-05-07"),
        ("on the 7th of May, 2025", "2025-05-07", "2025-05-07"),
        ("on May 7th, 2025", "2025-05-07", "2025-05-07"),
        ("on may 7", "2025-05-07", "2025-05-07"),
        ("on 3 March", "2026-03-03", "2026-03-03"),
        ("on Dec. 24", "2025-12-24", "2025-12-24"),
        ("in May 2025", "2025-05-01", "2025-05-31"),
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("during December", "2025-12-01", "2025-12-31"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in 2024", "2024-01-01", "2024-12-31"),
        ("yesterday", "2026-03-14", "2026-03-14"),
        ("today", "2026-03-15", "2026-03-15"),
        ("last week", "2026-03-01", "2026-03-15"),
        ("last month", "2026-01-12", "2026-03-15"),
        ("two weeks ago", "2026-02-26", "2026-03-04"),
        ("3 days ago", "2026-03-11", "2026-03-13"),
        ("a year ago", "2024-12-15", "2025-06-13"),
    ],
)
def test_a_date_is_found(question: str, first: str, last: str) -> None:
    assert days_in(question) == [(first, last)]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("last Friday", "2026-03-13", "2026-03-13"),
        ("what did I do on Friday?", "2026-03-13", "2026-03-13"),
        ("last night", "2026-03-14", "2026-03-14"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("on 5/12/2025", "2025-05-12", "2025-05-12"),
        ("the week before 9 June 2025", "2025-06-02", "2025-06-08"),
        ("early June 2025", "2025-06-01", "2025-06-10"),
        ("between 7 May and 9 June", "2025-05-07", "2025-06-09"),
        ("in the last week", "2026-03-01", "2026-03-15"),
        ("over the past three months", "2025-12-01", "2026-03-15"),
        ("what do I usually do in May?", "2025-05-01", "2025-05-31"),
        ("what do I still have to do today?", "2026-03-15", "2026-03-15"),
        ("what will I do on 7 May?", "2025-05-07", "2025-05-07"),
    ],
)
def test_a_question_names_dates_as_a_message_does_and_means_the_past(question: str, first: str, last: str) -> None:
    assert days_in(question) == [(first, last)]
    assert understand_question(question, (), NOW).dates


@pytest.mark.parametrize(
    "question", ["", "what does Ada drink?", "how many days did I hike?", "what does she do in the morning?"]
)
def test_most_questions_are_not_searched_for_dates(question: str) -> None:
    assert not may_ask_for_dates(question, words_of(question))


@pytest.mark.parametrize("question", ["what do I do every Friday?", "how often do I run on Mondays?"])
def test_a_habit_is_no_time_to_look_at(question: str) -> None:
    assert days_in(question) == []


@pytest.mark.parametrize(
    "question",
    [
        "",
        "may I ask you something",
        "what did Jan say",
        "march on",
        "on 2025-13-45",
        "call 2024 now",
        "20240101",
        "the price is 12.5",
    ],
)
def test_what_is_no_date_is_left_alone(question: str) -> None:
    assert days_in(question) == []


def test_several_dates_are_all_found_and_none_twice() -> None:
    assert days_in("between 7 May 2025 and in June 2025, not 2025-05-07") == [
        ("2025-05-07", "2025-05-07"),
        ("2025-05-07", "2025-05-07"),
        ("2025-06-01", "2025-06-30"),
    ]


@pytest.mark.parametrize(
    "question", ["999 years ago", "on 1 January 0001", "in May 9999", "in December 9999", "0000-01-01"]
)
def test_dates_at_the_edge_of_the_calendar_do_no_harm(question: str) -> None:
    for found in find_intervals(question, NOW):
        assert date.min <= found.first <= found.last <= date.max


def test_a_day_that_does_not_exist_is_taken_for_its_month() -> None:
    assert days_in("on 30 February 2025") == [("2025-02-01", "2025-02-28")]
    assert days_in("on 29 February") == [("2026-02-01", "2026-02-28")]
    assert days_in("the 99th of May") == [("2025-05-01", "2025-05-31")]


def test_a_question_about_somebody_is_for_what_they_said() -> None:
    both = ["Ben Okri", "Carla"]
    assert understand_question("what does Ben like?", both, NOW).speakers == {"Ben Okri": 1.0}
    assert understand_question("what did Carla tell Ben?", both, NOW).speakers == {"Carla": 1.0, "Ben Okri": 0.5}
    assert understand_question("what do Carla and Ben like?", both, NOW).speakers == {"Carla": 1.0, "Ben Okri": 1.0}
    assert understand_question("what does Dora like?", both, NOW).speakers is None
    assert understand_question("what does Carla's mother like?", both, NOW).to_embed == "what does mother like?"
    assert understand_question("Carla", both, NOW).to_embed == "Carla"


def test_a_question_in_the_first_person_is_for_what_the_user_said() -> None:
    roles = ["user", "assistant"]
    assert understand_question("where did I put my keys?", roles, NOW).speakers == {"user": 1.0}
    assert understand_question("what is the capital?", roles, NOW).speakers is None
    assert understand_question("what did you recommend to me?", roles, NOW).speakers is None
    assert understand_question("where did I put my keys?", ["Ben"], NOW).speakers is None


def test_words_that_ask_for_a_number_are_not_looked_for() -> None:
    assert list(understand_question("how many days did I hike?", [], NOW).terms) == terms_of("hike")
    assert list(understand_question("how many days?", [], NOW).terms) == terms_of("how many days?")
    assert understand_question("tea tea TEA", [], NOW).terms == tuple(terms_of("tea"))


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Is the user vegetarian?", "vegetarian"),
        ("What has the assistant said about tea?", "tea"),
        ("Which users asked for tea?", "users tea"),
        ("Who is the user?", "user"),
        ("How many days did the user hike?", "hike"),
        ("How many users?", "users"),
        ("Who?", "Who?"),
    ],
)
def test_words_that_nearly_every_fact_has_count_only_where_nothing_else_is_left(question: str, content: str) -> None:
    asked = understand_question(question, [], NOW, of_facts=True)
    assert sorted(asked.terms) == sorted(terms_of(content))
    assert set(asked.of_reader) == set(understand_question(question, [], NOW).terms) - set(asked.terms)
