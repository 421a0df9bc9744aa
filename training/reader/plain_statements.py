"""Plain statements for the training: what people type first, and what the written conversations hardly have.

The writers were asked to avoid the obvious words, so without these examples the network would know "the rent in Graz is
half" and not "I live in Graz". Each row is a sentence with its value in braces; values are drawn by a fixed seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from training.reader.conversations import DEFAULTS, LabelledMessage

_NAMES = (
    "Marta Jonas Priya Owen Lucía Tariq Ingrid Mateus Chloé Dmitri Aiko Ruben Zanele Pavel Noor Hugo Sanne Elif"
).split()
_PLACES = (
    "Graz Oslo Lisbon Porto Austin Utrecht Kraków Nairobi Osaka Leeds Montréal Bergen Seville Adelaide Tbilisi"
).split()
_COMPANIES = (
    "Northwind",
    "Acme",
    "Helio Labs",
    "Brightline",
    "the city library",
    "Vestas",
    "a small bakery",
    "Kestrel Bank",
)
_ROLES = (
    "nurse",
    "backend engineer",
    "teacher",
    "CTO",
    "product manager",
    "plumber",
    "data analyst",
    "translator",
    "chef",
)
_FOODS = ("peanuts", "shellfish", "lactose", "penicillin", "cats", "pollen", "eggs", "sesame")
_LIKES = (
    "jazz",
    "hiking",
    "dark chocolate",
    "tea",
    "black coffee",
    "thrillers",
    "window seats",
    "quiet hotels",
    "sushi",
)
_TOOLS = ("pnpm", "uv", "Postgres 16", "Neovim", "Sentry", "Terraform", "pytest", "Redis", "Tailwind", "dark mode")
_PETS = ("a dog called Rex", "two cats", "a parrot", "a hamster named Pip", "an old tabby called Milo")
_DAYS = ("on Friday", "tomorrow at 10", "on 12 March", "next Tuesday", "in two weeks", "on the 3rd of June at 14:30")
_KIN = ("sister", "brother", "wife", "husband", "mother", "son", "daughter", "boss", "best friend", "roommate")
_LANGUAGES = ("German", "Spanish", "Dutch", "Hindi", "Portuguese", "English")
_NUMBERS = ("42", "29", "61", "35", "54")
_MAILS = ("marta@example.org", "o.berg@example.com", "priya.k@mail.example", "jonas@work.example")
_PHONES = ("+43 660 1234567", "0171 555 0199", "+1 512 555 0148")
_DOSES = ("20 mg", "5 mg of ramipril", "metformin", "500 mg", "an inhaler")
_GOALS = (
    "run a marathon",
    "learn Spanish",
    "save 10,000 euros",
    "finish my thesis by June",
    "lose five kilos",
    "buy a flat",
)
_RULES = (
    "Always answer in English",
    "Never use tables",
    "Keep your answers short",
    "Please use metric units",
    "Call me Max",
    "Don't use emoji",
    "Always cite your sources",
    "No bullet points please",
    "Use British spelling",
    "Never suggest pork",
    "From now on, write in German",
    "Always run the tests before you commit",
    "Don't apologise so much",
)
_CARS = ("a blue Skoda", "a Tesla Model 3", "an old Volvo", "a cargo bike", "a Brompton")

_Row = tuple[str, tuple[str, ...], str, str, str, int]
_ROWS: tuple[_Row, ...] = (
    ("My name is {}", tuple(_NAMES), "name", "FACT", "identity", 5),
    ("I'm {}", tuple(_NAMES), "name", "FACT", "identity", 5),
    ("I am called {}", tuple(_NAMES), "name", "FACT", "identity", 5),
    ("I live in {}", tuple(_PLACES), "home", "FACT", "home", 4),
    ("we live in {} now", tuple(_PLACES), "home", "FACT", "home", 4),
    ("I moved to {} last month", tuple(_PLACES), "home", "FACT", "home", 4),
    ("I'm from {} originally", tuple(_PLACES), "hometown", "FACT", "identity", 3),
    ("I was born in {}", tuple(_PLACES), "hometown", "FACT", "identity", 3),
    ("I work at {}", _COMPANIES, "workplace", "FACT", "work", 4),
    ("I work for {}", _COMPANIES, "workplace", "FACT", "work", 4),
    ("I work as a {}", _ROLES, "role", "FACT", "work", 4),
    ("I'm a {}", _ROLES, "role", "FACT", "work", 4),
    ("my role is {}", _ROLES, "role", "FACT", "work", 4),
    ("I'm allergic to {}", _FOODS, "allergy", "FACT", "health", 5),
    ("I have an allergy to {}", _FOODS, "allergy", "FACT", "health", 5),
    ("I'm {}", ("vegetarian", "vegan", "pescatarian", "gluten free"), "diet", "FACT", "identity", 5),
    ("I don't eat {}", ("meat", "pork", "fish", "dairy", "gluten"), "diet", "FACT", "food", 5),
    ("I love {}", _LIKES, "preference", "PREFERENCE", "taste", 3),
    ("I really like {}", _LIKES, "preference", "PREFERENCE", "taste", 3),
    ("I prefer {}", (*_LIKES, *_TOOLS), "preference", "PREFERENCE", "taste", 4),
    ("I hate {}", _LIKES, "dislike", "PREFERENCE", "taste", 3),
    ("I can't stand {}", _LIKES, "dislike", "PREFERENCE", "taste", 3),
    ("my favourite drink is {}", ("tea", "green tea", "cold brew", "kombucha"), "favourite", "PREFERENCE", "taste", 3),
    ("my favorite color is {}", ("green", "dark blue", "orange"), "favourite", "PREFERENCE", "taste", 3),
    ("we use {}", _TOOLS, "tool", "FACT", "project", 4),
    ("we use {} for everything", _TOOLS, "tool", "FACT", "project", 4),
    ("our staging database is {}", ("pg-stage-2", "db3.internal", "stage.example.net"), "host", "FACT", "project", 4),
    ("I use {} on my laptop", _TOOLS, "tool", "FACT", "project", 3),
    ("I have {}", _PETS, "pet", "FACT", "pet", 3),
    ("I drive {}", _CARS, "vehicle", "FACT", "possession", 3),
    ("I bought {}", _CARS, "vehicle", "FACT", "possession", 3),
    ("my dentist appointment is {}", _DAYS, "appointment", "INTENTION", "plan", 4),
    ("the deadline is {}", _DAYS, "deadline", "INTENTION", "plan", 4),
    ("I have an interview {}", _DAYS, "appointment", "INTENTION", "plan", 4),
    ("my flight to Rome is {}", _DAYS, "travel", "INTENTION", "travel", 4),
    (
        "my birthday is {}",
        ("12 May", "the 3rd of June", "on 1 August", "28 November"),
        "birthday",
        "FACT",
        "identity",
        4,
    ),
    ("I'm {} years old", _NUMBERS, "age", "FACT", "identity", 4),
    ("I speak {}", _LANGUAGES, "language", "FACT", "identity", 4),
    ("my native language is {}", _LANGUAGES, "language", "FACT", "identity", 4),
    ("my email is {}", _MAILS, "email", "FACT", "identity", 4),
    ("my phone number is {}", _PHONES, "phone", "FACT", "identity", 4),
    ("my pronouns are {}", ("she/her", "they/them", "he/him"), "pronouns", "FACT", "identity", 5),
    ("I take {} every morning", _DOSES, "medication", "FACT", "health", 5),
    ("I want to {}", _GOALS, "goal", "INTENTION", "goal", 4),
    ("my goal is to {}", _GOALS, "goal", "INTENTION", "goal", 4),
    ("I'm planning to {}", _GOALS, "plan", "INTENTION", "plan", 3),
    ("my budget is {}", ("800 euros", "2,000 dollars", "about 150", "£40"), "budget", "FACT", "finance", 4),
    ("I'm {}", ("married", "single", "divorced", "engaged"), "relationship_status", "FACT", "family", 4),
    ("I play the {}", ("violin", "guitar", "drums", "cello"), "hobby", "FACT", "hobby", 3),
    ("I go {} every Sunday", ("running", "swimming", "climbing", "to church"), "habit", "FACT", "hobby", 3),
    ("I'm learning {}", (*_LANGUAGES, "the piano", "Rust"), "skill", "FACT", "education", 3),
    ("I study {} at the university", ("law", "physics", "nursing", "history"), "education", "FACT", "education", 4),
    (
        "I have {}",
        ("diabetes", "asthma", "a bad knee", "migraines", "high blood pressure"),
        "health",
        "FACT",
        "health",
        4,
    ),
)
_PEOPLE: tuple[tuple[str, str], ...] = (
    ("My {kin} {name} lives in {place}", "place"),
    ("my {kin}'s name is {name}", "name"),
    ("my {kin} {name} is a {role}", "role"),
    ("{name} is my {kin}", "name"),
)
_ASKED: tuple[tuple[str, tuple[str, ...], str, str, str, int], ...] = (
    ("Do you have any allergies?", _FOODS, "allergy", "FACT", "health", 5),
    ("What is your name?", tuple(_NAMES), "name", "FACT", "identity", 5),
    ("Where do you live?", tuple(_PLACES), "home", "FACT", "home", 4),
    ("What do you do for a living?", _ROLES, "role", "FACT", "work", 4),
    ("When is your test?", ("28 November", "next Friday", "12 March"), "deadline", "INTENTION", "plan", 4),
    ("Which package manager do you use?", ("pnpm", "uv", "poetry"), "tool", "FACT", "project", 4),
    ("How old are you?", _NUMBERS, "age", "FACT", "identity", 4),
)
_ENDINGS = (".", ".", "", "", "!")
_OPENINGS = ("", "", "", "Hi, ", "hello! ", "btw ", "Just so you know, ", "yes. ", "Thanks. ", "ok so ")
_CLOSINGS = (
    "",
    "",
    "",
    " What can I cook tonight?",
    " Can you help me with that?",
    " Thanks!",
    " What do you suggest?",
)
_NOTHING = (
    "What can I cook tonight?",
    "Can you make it shorter?",
    "Thanks, that's perfect!",
    "What's the capital of Peru?",
    "ok",
    "Write a poem about cats.",
    "How do I sort a list in Python?",
    "Tell me a joke.",
    "Great, thank you so much!",
    "yes",
    "Please summarise this text.",
    "What is a good sauce for noodles?",
    "Can you explain that again?",
    "lol",
    "no",
    "Give me three ideas for dinner.",
    "Translate 'good morning' into French.",
    "Why is the sky blue?",
    "sounds good",
    "Could you check this paragraph?",
    "hmm, not sure",
    "I don't understand.",
    "I'm tired today.",
    "That's interesting.",
    "How long does it take to fly to Tokyo?",
    "What's the weather like?",
    "I see.",
    "Let me think about it.",
    "hi there",
)
_COPIES = 6


def make_plain_messages(seed: int = 11) -> list[LabelledMessage]:
    """Return the plain statements with their labels: the same ones each time."""
    chance = random.Random(seed)
    return [
        LabelledMessage(f"plain#{number}", "plain", "plain", "2026-03-02T09:00", before, text, facts, nothing)
        for number, (before, text, facts, nothing) in enumerate(_make_all(chance))
    ]


def _make_all(chance: random.Random) -> Iterator[tuple[str, str, list[dict[str, Any]], str | None]]:
    for _ in range(_COPIES):
        for row in _ROWS:
            first = _fill(row, chance)
            second = _fill(chance.choice(_ROWS), chance) if chance.random() < 0.3 else None
            parts = [first] if second is None else [first, second]
            yield _join(parts, chance)
        for text in _RULES:
            label = _label(text, None, "rule", "RULE", "rule", 5)
            yield _join([(text, label)], chance)
        for pattern, valued in _PEOPLE:
            yield _join([_fill_person(pattern, valued, chance)], chance)
        for question, values, attribute, kind, category, importance in _ASKED:
            value = chance.choice(values)
            yield question, value, [_label(value, value, attribute, kind, category, importance)], None
        for text in _NOTHING:
            yield "", text, [], "small_talk"


def _fill(row: _Row, chance: random.Random) -> tuple[str, dict[str, Any]]:
    pattern, values, attribute, kind, category, importance = row
    value = chance.choice(values)
    text = pattern.format(value)
    return text, _label(text, value, attribute, kind, category, importance)


def _fill_person(pattern: str, valued: str, chance: random.Random) -> tuple[str, dict[str, Any]]:
    words = {"kin": _KIN, "name": _NAMES, "place": _PLACES, "role": _ROLES}
    chosen = {key: chance.choice(each) for key, each in words.items()}
    text = pattern.format(**chosen)
    label = _label(text, chosen[valued], "family_member", "FACT", "family", 4)
    return text, {**label, "subject": chosen["name"]}


def _join(
    parts: list[tuple[str, dict[str, Any]]], chance: random.Random
) -> tuple[str, str, list[dict[str, Any]], str | None]:
    """Return a message that says one or two things, in some style, and the labels that fit its letters."""
    text = chance.choice((" and ", ". ", ", ")).join(part for part, _ in parts)
    text = chance.choice(_OPENINGS) + text + chance.choice(_ENDINGS)
    closing = chance.choice(_CLOSINGS)
    text = (text if not closing or text[-1] in ".!" else f"{text}.") + closing
    facts = [label for _, label in parts]
    if chance.random() < 0.35:
        text = text.lower()
        facts = [
            {**fact, "quote": fact["quote"].lower(), "value": fact["value"] and fact["value"].lower()} for fact in facts
        ]
    if chance.random() < 0.2:
        drop = re.compile(r"(?<=\bi)'(?=m\b)", re.IGNORECASE)
        text = drop.sub("", text)
        facts = [{**fact, "quote": drop.sub("", fact["quote"])} for fact in facts]
    return "", text, facts, None


def _label(quote: str, value: str | None, attribute: str, kind: str, category: str, importance: int) -> dict[str, Any]:
    return {
        **DEFAULTS,
        "text": quote,
        "quote": quote,
        "value": value,
        "attribute": attribute,
        "kind": kind,
        "category": category,
        "importance": importance,
    }
