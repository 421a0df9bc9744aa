"""How a stretch of a message is put into words: a template, the third person, or an exact quote."""

from __future__ import annotations

from typing import Any

import pytest

from longmind.clock import to_micros
from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.reader.statement_writer import StatementWriter

SAID_AT = to_micros("2026-11-02T10:00:00Z")
"""A Monday."""


def write(
    text: str, stretch: str = "", *, before: str = "", speaker: str = "User", value: str = "", **said: Any
) -> str:
    """Return the text for a stretch of a message; for all of it where none is given."""
    begins = text.index(stretch)
    start = text.index(value) if value else 0
    reading = Reading(
        begins,
        begins + len(stretch or text),
        (start, start + len(value)) if value else None,
        attribute=said.pop("attribute", "other"),
        kind=said.pop("kind", "FACT"),
        category=said.pop("category", "people"),
        importance=3,
        confidence=0.9,
        **said,
    )
    addressee = "Assistant" if speaker == "User" else "Melanie"
    return StatementWriter(text, speaker, addressee, SAID_AT, before).write(reading)


@pytest.mark.parametrize(
    ("text", "attribute", "value", "written"),
    [
        ("I live in Vienna now", "home", "Vienna", "User lives in Vienna."),
        ("we've been living in vienna since 2019", "home", "vienna", "User lives in Vienna (since 2019)."),
        ("moved to Vienna yesterday", "home", "Vienna", "User lives in Vienna (since 1 November 2026)."),
        ("My name's Łukasz Żak", "name", "Łukasz Żak", "User's name is Łukasz Żak."),
        ("my work mail is lisa.b@proton.me, the old one bounces", "email", "lisa.b@proton.me",
         "User's work e-mail address is lisa.b@proton.me."),
        ("I'm allergic to penicillin", "allergy", "penicillin", "User is allergic to penicillin."),
        ("my daughter Lena", "family_member", "Lena", "User's daughter is called Lena."),
    ],
)  # fmt: skip
def test_a_plain_value_fills_a_template(text: str, attribute: str, value: str, written: str) -> None:
    assert write(text, attribute=attribute, value=value) == written


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("the clinic that we open in Tamale", "workplace", "Tamale"),
        ("my best nineteen years were at Grosmont", "workplace", "Grosmont"),
        ("my birthday january nineteenth I am eighty", "birthday", "january nineteenth"),
        ("I move to Vienna next month", "home", "Vienna"),
    ],
)
def test_a_template_is_left_where_something_else_is_said(text: str, attribute: str, value: str) -> None:
    assert not write(text, attribute=attribute, value=value).startswith(("User works", "User lives", "User's birthday"))


def test_a_short_answer_is_read_with_its_question() -> None:
    question = "Nice to meet you! Where do you live?"
    assert write("Tampere", before=question, attribute="home", value="Tampere") == "User lives in Tampere."
    assert write("twice a week", before="How often do you swim?") == (
        'Asked "How often do you swim?", User: "twice a week"'
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("and btw I have a dog lol", "User has a dog."),
        ("Since I recently upgraded my router", "User recently upgraded User's router."),
        ("Went to the opera with a friend", "User went to the opera with a friend."),
        ("i dont eat meat", "User doesn't eat meat."),
        ("On Fridays I work at the bakery", "On Fridays User works at the bakery."),
        ("I should like to revise my will", "User would like to revise User's will."),
        ("So, I'm curious about the tree I got for my cat.", "User is curious about the tree User got for User's cat."),
        ("I'm planning a trip and was wondering if you could help", "User is planning a trip."),
        ("I think I'll set a budget of $100", "User will probably set a budget of $100."),
        ("we live in a small flat", "User lives in a small flat."),
        ("My docs are in /home/me/our/notes.md", "User's docs are in /home/me/our/notes.md."),
    ],
)  # fmt: skip
def test_a_whole_sentence_is_told_in_the_third_person(text: str, written: str) -> None:
    assert write(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "my birthday january nineteenth I am eighty",
        "I sold it to my cousin",
        "Cumin I can take or leave",
        "in Dallas you need a car for everything",
        "we met at university",
        "operated in August",
        "I do not, for the time being",
        "no more nights for him",
        "was at market! 19 mug sold",
        "I'm finishing there in june",
    ],
)
def test_what_cannot_stand_by_itself_is_quoted(text: str) -> None:
    assert write(text) == f'User: "{text}"'.replace("in August", "in August 2026").replace("in june", "in june 2027")


def test_a_quote_takes_the_sentence_before_along_where_it_points_there() -> None:
    text = "I bought a piano. It cost 900 euros."
    assert write(text, "It cost 900 euros.") == 'User: "I bought a piano. It cost 900 euros."'


@pytest.mark.parametrize(
    ("text", "stretch", "written"),
    [
        ("My grandson studies. He is in second year.", "He is in second year.", "User's grandson is in second year."),
        ("I called my sister Anna. She's moving to Graz.", "She's moving to Graz.", "Anna is moving to Graz."),
    ],
)  # fmt: skip
def test_a_pronoun_is_the_one_person_whom_the_message_named(text: str, stretch: str, written: str) -> None:
    assert write(text, stretch) == written


@pytest.mark.parametrize(
    "text",
    [
        "Anna met Maria. She is moving to Graz.",
        "Austria is far, says Gregor. He lives with his parents.",
        "My dog and my brother came. He is ill.",
    ],
)
def test_a_pronoun_stays_where_two_persons_may_be_meant(text: str) -> None:
    assert write(text, text.split(". ")[1]).startswith("User: ")


def test_the_question_before_names_the_person_of_an_answer() -> None:
    assert write("she is seventy-one", before="How old is your mother?") == "User's mother is seventy-one."


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("We moved to uv last week.", "User's team moved to uv last week (26 October \N{EN DASH} 1 November 2026)."),
        (
            "we pinned numpy because 2.x broke scipy for us",
            "User's team pinned numpy because 2.x broke scipy for them.",
        ),
        ("we're keeping Postgres", "User's team is keeping Postgres."),
    ],
)
def test_we_is_the_team_in_a_project(text: str, written: str) -> None:
    assert write(text, category="project", attribute="tool") == written


def test_a_rule_is_told_to_the_assistant() -> None:
    assert write("pls never use tables in my mails", kind="RULE") == "Never use tables in User's mails."
    assert write("you can correct my mistakes", kind="RULE") == "Assistant can correct User's mistakes."


def test_a_quote_has_none_of_what_is_not_the_speakers() -> None:
    text = "it's for Aylin's birthday, make a poem, start with \"I was a sailor from Peru\""
    assert "sailor" not in write(text)


def test_the_date_of_a_plan_lies_ahead() -> None:
    assert write("The exam is on 15 May", attribute="deadline") == "The exam is on 15 May 2027."


def test_a_named_speaker_stands_in_the_place_of_the_user() -> None:
    assert write("I live in Graz", speaker="Caroline", attribute="home", value="Graz") == "Caroline lives in Graz."
    assert write("I love your painting", speaker="Caroline") == "Caroline loves Melanie's painting."
    assert write("no way, not that", speaker="Caroline").startswith("Caroline: ")
