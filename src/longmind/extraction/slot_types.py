"""The closed list of slots: what can change about a person or a thing, and its wording.

A slot holds the value of one attribute of one subject: the home of the user, the version of a tool. Where a slot holds
one value at a time, a new value ends the old one; where it holds many, a new value stands beside the others, unless a
message says that it replaces one of them. A qualifier separates two values of one attribute that hold at the same
time: a phone number at home and a mobile one.

The table is read by the local reader, by the model's prompt, and by the reconciliation.
"""

from __future__ import annotations

from dataclasses import dataclass

from longmind.models.atom import AtomKind


@dataclass(frozen=True)
class SlotType:
    """An attribute that has slots."""

    attribute: str
    single: bool
    """True if a subject has one value at a time, of each qualifier."""
    category: str
    kind: AtomKind
    importance: int
    template: str | None = None
    """The text of a fact about the user, with `{value}`; None where the speaker's own words say it better."""


_TABLE = (
    # attribute, single, category, kind, importance, template
    SlotType("name", True, "identity", "FACT", 5, "User's name is {value}."),
    SlotType("pronouns", True, "identity", "FACT", 5, "User's pronouns are {value}."),
    SlotType("birthday", True, "identity", "FACT", 4, "User's birthday is {value}."),
    SlotType("age", True, "identity", "FACT", 4, "User is {value} years old."),
    SlotType("home", True, "home", "FACT", 4, "User lives in {value}."),
    SlotType("hometown", True, "identity", "FACT", 3, "User is from {value}."),
    SlotType("workplace", True, "work", "FACT", 4, "User works at {value}."),
    SlotType("role", True, "identity", "FACT", 4, "User's role is {value}."),
    SlotType("education", False, "education", "FACT", 4),
    SlotType("language", False, "identity", "FACT", 4, "User speaks {value}."),
    SlotType("relationship_status", True, "family", "FACT", 4, "User is {value}."),
    SlotType("family_member", False, "family", "FACT", 4),
    SlotType("friend", False, "people", "FACT", 3),
    SlotType("colleague", False, "people", "FACT", 3),
    SlotType("pet", False, "pet", "FACT", 3),
    SlotType("possession", False, "possession", "FACT", 3),
    SlotType("vehicle", False, "possession", "FACT", 3),
    SlotType("diet", True, "identity", "FACT", 5),
    SlotType("allergy", False, "health", "FACT", 5, "User is allergic to {value}."),
    SlotType("health", False, "health", "FACT", 4),
    SlotType("medication", False, "health", "FACT", 5),
    SlotType("measurement", True, "health", "FACT", 3),
    SlotType("phone", True, "identity", "FACT", 4, "User's phone number is {value}."),
    SlotType("email", True, "identity", "FACT", 4, "User's e-mail address is {value}."),
    SlotType("address", True, "home", "FACT", 4, "User's address is {value}."),
    SlotType("website", True, "identity", "FACT", 3, "User's website is {value}."),
    SlotType("account", True, "identity", "FACT", 3),
    SlotType("tool", False, "project", "FACT", 4),
    SlotType("tool_version", True, "project", "FACT", 4),
    SlotType("host", True, "project", "FACT", 4),
    SlotType("repository", True, "project", "FACT", 4),
    SlotType("convention", False, "project", "RULE", 5),
    SlotType("decision", False, "project", "FACT", 4),
    SlotType("project", False, "project", "FACT", 4),
    SlotType("deadline", True, "plan", "INTENTION", 4),
    SlotType("appointment", True, "plan", "INTENTION", 4),
    SlotType("travel", False, "travel", "INTENTION", 3),
    SlotType("plan", False, "plan", "INTENTION", 3),
    SlotType("goal", False, "goal", "INTENTION", 4),
    SlotType("habit", False, "hobby", "FACT", 3),
    SlotType("hobby", False, "hobby", "FACT", 3),
    SlotType("skill", False, "education", "FACT", 3),
    SlotType("favourite", True, "taste", "PREFERENCE", 3),
    SlotType("preference", False, "taste", "PREFERENCE", 4),
    SlotType("dislike", False, "taste", "PREFERENCE", 3),
    SlotType("rule", False, "rule", "RULE", 5),
    SlotType("budget", True, "finance", "FACT", 4),
    SlotType("income", True, "finance", "FACT", 4),
    SlotType("schedule", True, "plan", "FACT", 3),
    SlotType("membership", False, "hobby", "FACT", 3),
)
ABOUT = "about "
"""The beginning of an attribute that says what a fact is about, such as "about home".

The reader is not sure enough of it that another value would end the fact; it is one sign of a change among others.
"""
SLOT_TYPES: dict[str, SlotType] = {slot.attribute: slot for slot in _TABLE}
