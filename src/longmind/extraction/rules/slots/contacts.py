"""Addresses and numbers under which somebody is reached, as slots; an e-mail address is an `email` by any name."""

from __future__ import annotations

import re

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, normalise_phrase
from longmind.extraction.rules.slots.slot_pattern import SOON, SlotPattern, compile_pattern

_CONTACT = r"(?P<what>(?:(?:e-?mail|cell|mobile|phone|work) )*(?:address|number|e-?mail))"
_REACHED_AT = r"(?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[+\d][\d ()-]{5,}\d)"
# The attribute for each of its other names.
_ONE_NAME = {
    "e-mail": "email",
    "email address": "email",
    "e-mail address": "email",
    "number": "phone number",
    "cell number": "phone number",
    "cell phone number": "phone number",
    "mobile number": "phone number",
    "mobile phone number": "phone number",
    "home address": "address",
    "mailing address": "address",
    "city": "home",
    "title": "job",
    "job title": "job",
    "role": "job",
    "position": "job",
    "last name": "surname",
}


def to_attribute(what: str) -> str:
    """Return the attribute that a phrase stands for: "cell phone number" is a phone number."""
    name = normalise_phrase(what).removeprefix("current ")
    return _ONE_NAME.get(name, name)


def _name_contact(found: re.Match[str], _: str) -> str:
    """Return the attribute of a contact; an address with an "@" is an email."""
    what = to_attribute(found["what"])
    return "email" if what == "address" and "@" in found["value"] else what


CONTACTS: tuple[SlotPattern, ...] = (
    # "User has a new email: ada@example.org".
    compile_pattern(
        _name_contact,
        "address|number|mail",
        rf"{WHO} {SOON}(?:got |has |have )?(?:an? )?(?:new|different) {_CONTACT}(?::|,| -|, it's|, which is| is) "
        rf"{_REACHED_AT}",
    ),
    # "User changed User's number to 555 0100".
    compile_pattern(
        _name_contact,
        "address|number|mail",
        rf"{WHO} {SOON}changed (?:[A-Z]\w*'s )?{_CONTACT} (?:from \S+ )?to {_REACHED_AT}",
    ),
    # "ada@example.org is now User's work email".
    compile_pattern(
        _name_contact,
        "address|number|mail",
        rf"{_REACHED_AT}\b[^.!?]*?(?:\bis|\bthat's|\bthat is|\bas|,) (?:now )?{OWNER} (?:new |current )*{_CONTACT}\b",
    ),
)
