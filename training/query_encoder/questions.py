"""Made-up questions and remarks, as people put them to a memory: the same ones in every run.

They are made here, so that the weights depend on nobody's conversations and on no benchmark.
"""

from __future__ import annotations

import random

PEOPLE = (
    "Anna", "my sister", "Mr. Okafor", "Priya", "the landlord", "our team", "my boss", "Tom and Ines", "the plumber",
    "Dr. Weiss", "my mother", "Luca", "the new intern", "my ex", "Grandpa", "the client from Lyon", "Mei", "our cat",
)  # fmt: skip
THINGS = (
    "the kitchen renovation", "my allergy medicine", "the trip to Norway", "the budget spreadsheet", "piano lessons",
    "the login bug", "a mortgage", "the wedding playlist", "the marathon", "my passport", "the staging server",
    "the vegetable garden", "the job interview", "an electric bike", "the science fair", "the quarterly report",
    "the adoption papers", "my left knee", "the pottery class", "a puppy", "the database migration", "the book club",
    "the insurance claim", "a surprise party", "the camping gear", "my savings goal", "the violin recital",
    "the tax return", "the sourdough starter", "a podcast about history", "the hiking boots", "the divorce",
    "my thesis on coral reefs", "the support group", "the coffee machine", "a vintage camera", "the language exam",
)  # fmt: skip
ACTIONS = (
    "buy", "cancel", "paint", "finish", "plan", "talk about", "pay for", "repair", "sign up for", "give up",
    "recommend", "start with", "worry about", "celebrate", "compare", "order", "write down", "get rid of",
)  # fmt: skip
TIMES = (
    "last week", "in March", "before the move", "two years ago", "yesterday", "on 14 May 2023", "this summer",
    "after the surgery", "over the weekend", "in the first meeting", "recently", "by Friday", "on her birthday",
)  # fmt: skip
PLACES = ("Lisbon", "the office", "the beach", "Chicago", "the hospital", "school", "her parents' house", "the gym")

QUESTIONS = (
    "When did {person} {action} {thing}?",
    "What did {person} say about {thing} {time}?",
    "Where did I {action} {thing}?",
    "Who helped me with {thing}?",
    "Why did {person} decide to {action} {thing} {time}?",
    "How many times did I {action} {thing} {time}?",
    "How long has {person} been busy with {thing}?",
    "How much did I spend on {thing}?",
    "What is the name of the place in {place} where {person} went {time}?",
    "Which did I do first, {thing} or {other}?",
    "What does {person} think of {other}?",
    "Did {person} ever {action} {thing}?",
    "Is {person} still interested in {thing}?",
    "What kind of present would {person} like?",
    "Would {person} enjoy a holiday in {place}?",
    "How many days passed between {thing} and {other}?",
    "What are {person}'s plans for {time}?",
    "What was the reason for {thing}?",
    "Can you remind me what I wanted to {action} {time}?",
    "Can you recommend something for {thing}, given what I told you {time}?",
    "In what order did I deal with {thing}, {other} and the visit to {place}?",
    "What has {person} done to prepare for {thing}?",
    "How did {person} feel when we came back from {place}?",
    "What changed about {thing} since {time}?",
    "Do I have any appointments in {place} {time}?",
    "What is my current address?",
    "What is the latest version of {thing}?",
    "How old was I when {person} moved to {place}?",
)
REMARKS = (
    "I want to {action} {thing} but I am not sure how to begin.",
    "Please summarise what we agreed about {thing} and {other}.",
    "I'm going to {place} with {person} {time}, what should I pack?",
    "Continue with {thing} from {time}.",
    "Tell me everything about {person}.",
    "{thing} {place}",
    "favourite food of {person}",
    "{person} and {thing}",
    "Help me write an email to {person} about {thing}; keep the tone we used {time}.",
    "Regarding {thing}, I have sent you the details. What else do you need from me to {action} {other}?",
    "I have been feeling tired since {thing}, and {person} keeps asking me to {action} {other}.",
    "Give me a plan to {action} {thing} {time} that takes {other} into account.",
)


def make_questions(count: int) -> list[str]:
    """Return this many different questions and remarks, three of four of them questions."""
    chance = random.Random("questions to a memory")
    made: dict[str, None] = {}
    while len(made) < count:
        pattern = chance.choice(QUESTIONS if chance.random() < 0.75 else REMARKS)
        thing, other = chance.sample(THINGS, 2)
        made[
            pattern.format(
                person=chance.choice(PEOPLE),
                thing=thing,
                other=other,
                action=chance.choice(ACTIONS),
                time=chance.choice(TIMES),
                place=chance.choice(PLACES),
            )
        ] = None
    return list(made)
