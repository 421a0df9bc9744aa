"""How somebody is reached, as a slot, and the one name of what goes by several: an e-mail address is an email."""

from __future__ import annotations

import re

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, normalise_phrase
from longmind.extraction.rules.slots.pattern import SOON, SlotPattern, compile_pattern

_CONTACT = r"(?P<what>(?:(?:e-?mail|cell|mobile|phone|work) )*(?:address|number|e-?mail))"
_REACHED_AT = r"(?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[+\d][\d ()-]{5,}\d)"
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
    """The attribute that a word stands for."""
    name = normalise_phrase(what).removeprefix("current ")
    return _ONE_NAME.get(name, name)


def _contact(found: re.Match[str], _: str) -> str:
    what = to_attribute(found["what"])
    return "email" if what == "address" and "@" in found["value"] else what


CONTACTS: tuple[SlotPattern, ...] = (
    compile_pattern(
        _contact,
        "address|number|mail",
        rf"{WHO} {SOON}(?:got |has |have )?(?:an? )?(?:new|different) {_CONTACT}(?::|,| -|, it's|, which is| is) "
        rf"{_REACHED_AT}",
    ),
    compile_pattern(
        _contact,
        "address|number|mail",
        rf"{WHO} {SOON}changed (?:[A-Z]\w*'s )?{_CONTACT} (?:from \S+ )?to {_REACHED_AT}",
    ),
    compile_pattern(
        _contact,
        "address|number|mail",
        rf"{_REACHED_AT}\b[^.!?]*?(?:\bis|\bthat's|\bthat is|\bas|,) (?:now )?{OWNER} (?:new |current )*{_CONTACT}\b",
    ),
)
