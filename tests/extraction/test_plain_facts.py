"""Facts that say something by themselves, and those that lean on what was said around them."""

from __future__ import annotations

import pytest

from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.reader.plain_facts import says_enough
from longmind.models.atom import AtomKind


def judge(fact: str, message: str, *, kind: AtomKind = "FACT", valued: bool = False) -> bool:
    quoted = fact.partition(': "')[2].rstrip('."')
    begins = max(0, message.find(quoted))
    value = (begins, begins + 3) if valued else None
    reading = Reading(begins, begins + len(quoted or message), value, "other", kind, "work", 3, 0.9)
    return says_enough(fact, reading, message)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("User lives in Graz.", "I live in Graz."),
        ('User: "the rent in Graz is half, no lie"', "the rent in Graz is half, no lie"),
        ('User: "I rent a room from an old couple"', "Hello! I rent a room from an old couple."),
        ('User: "14 March it is"', "ok, 14 March it is"),
        ('Asked "Any allergies?", User: "those again"', "those again"),
        ("User is looking forward to the concert in Oslo.", "I'm looking forward to the concert in Oslo."),
    ],
)
def test_what_can_be_understood_stays(fact: str, message: str) -> None:
    assert judge(fact, message)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("John wants John's kids to learn that too.", "I want my kids to learn that too."),
        ('User: "moving half of the savings into it"', "I am really thinking of moving half of the savings into it"),
        ('User: "Premium on April 7"', "I'm worried that the money I spent on Grammarly Premium on April 7 is lost"),
        ('User: "thanks to you I sleep"', "thanks to you I sleep"),
        ('User: "shall I buy the house in Graz?"', "shall I buy the house in Graz?"),
        ("User is kinda stuck on the letter.", "I'm kinda stuck on the letter."),
        (
            'User: "Members respect all opinions of others"',
            "Contract:\n* Members meet\n* Members respect all opinions of others\n"
            + "* Members listen and care\n" * 30,
        ),
    ],
)
def test_what_leans_on_something_else_is_left_out(fact: str, message: str) -> None:
    assert not judge(fact, message)


def test_a_value_makes_a_hint_worth_having() -> None:
    message = "we keep them in the shed now"
    assert judge(f'User: "{message}"', message, valued=True)
    assert not judge(f'User: "{message}"', message)


def test_a_rule_is_an_order() -> None:
    assert judge("Never use tables.", "never use tables", kind="RULE")
    assert not judge("User's answers get cut off.", "my answers get cut off", kind="RULE")
