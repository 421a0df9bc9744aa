"""Texts of facts whose value is plain: "User lives in Vienna (since 2019).".

A template takes the place of the speaker's words only where they say nothing else: a frame that is known for the
attribute, the value, and perhaps a date. A short answer is read with the question that it answers.
"""

from __future__ import annotations

import re
from dataclasses import replace

from longmind.clock import Micros
from longmind.extraction.reader.foreign_text import find_verbatim
from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.slot_types import SLOT_TYPES
from longmind.language.calendar import day_of
from longmind.language.dates import find_dates, resolve_dates
from longmind.language.dates.annotation import write_days

_HOLE = "\u0000"
_I_AM = r"(?:i'?m|i am|we'?re|we are)"
_NOW = r"(?:(?:now|currently|still|actually|already|just|really|here) )*"
_VALUE_FORMS: dict[str, re.Pattern[str]] = {
    "name": re.compile(r"[^\W\d_][\w'.-]*(?: [^\W\d_][\w'.-]*){0,3}"),
    "pronouns": re.compile(r"\w+/\w+(?:/\w+)?"),
    "age": re.compile(r"\d{1,3}"),
    "home": re.compile(r"[^\W\d_][\w' -]*(?:, [A-Z][\w' -]*)?"),
    "hometown": re.compile(r"[^\W\d_][\w' -]*(?:, [A-Z][\w' -]*)?"),
    "workplace": re.compile(r"[A-Z\u00c0-\u024f][\w'&. -]*"),
    "language": re.compile(r"[^\W\d_]+"),
    "relationship_status": re.compile(r"married|single|divorced|engaged|widowed|separated"),
    "allergy": re.compile(r"[a-z][a-z -]{2,30}"),
    "phone": re.compile(r"\+?[\d][\d ()/-]{4,20}\d"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "website": re.compile(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+\S*"),
    "birthday": re.compile(r"[\w., /-]*\d[\w., /-]*"),
}
"""The form of a value that a template may take in; other attributes keep the speaker's words."""
_QUALIFIER = r"(?P<qualifier>work|private|personal|business|home|mobile|cell|school|office|uni) "
_CONTACT = rf"my (?:new )?(?:{_QUALIFIER})?"
_FRAMES: dict[str, re.Pattern[str]] = {
    "name": re.compile(
        rf"(?:{_I_AM}|(?:my (?:full |real |first |own )?)?name(?:'?s| is)|this is|call me|i'?m called) {_HOLE}", re.I
    ),
    "pronouns": re.compile(rf".{{0,40}}\bpronouns\b.{{0,20}}{_HOLE}|{_HOLE}|{_I_AM} {_HOLE}|{_HOLE} pronouns", re.I),
    "age": re.compile(
        rf"(?:{_I_AM}|i (?:just |recently )?turned) {_NOW}{_HOLE}(?: (?:years|yrs|y\.?)[ .]?(?:old|o)?)?", re.I
    ),
    "home": re.compile(
        rf"(?:{_I_AM} {_NOW}(?:living|based|located)|(?:i|we) {_NOW}live|(?:i|we)(?:'ve| have) (?:been living|lived)|"
        rf"(?:(?:i|we) )?(?:just |recently |finally )?moved) {_NOW}(?:in|to) {_HOLE}(?: now)?",
        re.I,
    ),
    "hometown": re.compile(
        rf"(?:{_I_AM}|i come) (?:originally )?from {_HOLE}(?: originally)?|i grew up in {_HOLE}", re.I
    ),
    "workplace": re.compile(
        rf"(?:i {_NOW}work|{_I_AM} {_NOW}(?:working|employed)|i(?:'ve| have) (?:been working|worked)) {_NOW}(?:at|for) "
        rf"{_HOLE}(?: now)?",
        re.I,
    ),
    "language": re.compile(rf"i (?:also )?speak {_HOLE}", re.I),
    "relationship_status": re.compile(rf"(?:{_I_AM}|i got|i am getting) {_NOW}{_HOLE}", re.I),
    "allergy": re.compile(
        rf"{_I_AM} (?:very |badly |severely |also )?allergic to {_HOLE}|(?:i have )?(?:an? |my )?{_HOLE} allergy", re.I
    ),
    "phone": re.compile(
        rf"{_CONTACT}(?:phone |cell |mobile )?(?:phone|number|cell|mobile)(?:'s| is|:)? (?:now )?{_HOLE}", re.I
    ),
    "email": re.compile(rf"{_CONTACT}(?:e-?mail|mail)(?: address)?(?:'s| is|:)? (?:now )?{_HOLE}", re.I),
    "website": re.compile(
        rf"(?:my|our) (?:web ?site|site|homepage|blog|portfolio) (?:is|lives)(?: at| on)? {_HOLE}", re.I
    ),
    "birthday": re.compile(
        rf"(?:my|mine) (?:birthday|bday|b-day)(?:'s| is)? (?:on )?(?:the )?{_HOLE}|i was born on {_HOLE}", re.I
    ),
}
_QUESTIONS: dict[str, re.Pattern[str]] = {
    "name": re.compile(r"\byour (?:full |first )?name\b|\b(?:should|may|shall) i call you\b", re.I),
    "age": re.compile(r"\bhow old are you\b|\byour age\b", re.I),
    "home": re.compile(r"\b(?:where|which (?:city|town)).{0,20}\b(?:live|living|based)\b", re.I),
    "workplace": re.compile(r"\b(?:where|who|which company).{0,20}\bwork (?:for|at)?\b|\byour employer\b", re.I),
    "language": re.compile(r"\b(?:which|what) (?:other )?languages? do you speak\b", re.I),
    "phone": re.compile(r"\byour (?:phone |mobile )?(?:number|phone)\b", re.I),
    "email": re.compile(r"\byour e-?mail\b", re.I),
    "birthday": re.compile(r"\byour birthday\b|\bwhen were you born\b", re.I),
    "allergy": re.compile(r"\b(?:are you|you're) allergic\b|\byour allerg|\bany allergies\b", re.I),
}
"""Questions of the assistant to which a bare value is an answer."""
_LASTS = frozenset(("home", "workplace", "relationship_status", "email", "phone"))
"""Attributes that a date beside the value is the beginning of."""
_CONTACTS = frozenset(("email", "phone", "website"))
_BOUNDARY = re.compile(r",\s|[.;!?](?=\s|$)|\n|\s-\s|\s(?=(?:and|but|so|if|in case)\s)")
_PROPER = frozenset(("name", "home", "hometown", "language"))
_NO_VALUE = re.compile(
    r"\b(?:I|my|me|we|our|you|your|it|this|that|there|here|is|was|am|same|again|now|not|no|the|a|an|ok|okay|fine|good|"
    r"back|"
    r"sure|sorry|done|ready|from|in|at|of|and|but)\b",
    re.I,
)
_PERSONS = frozenset(("family_member", "friend", "colleague", "pet"))
_PERSON = re.compile(
    r"(?:(?:and|with|to|for|by|from|also|hey|yes|ok|so) )?[Mm]y (?P<role>(?:(?:little|older|younger|big|small|best|"
    r"new|old|"
    r"late|grand|step|twin|doctoral|middle|eldest|youngest|oldest) ?)?[a-z-]{2,20}),? (?:called |named |is called |is "
    r"named |is |\()?(?P<name>[A-Z\u00c0-\u024f][\w'-]+(?: [A-Z][\w'-]+)?)\)?"
)
_NO_NAMES = frozenset(("english", "german", "french", "irish"))
_LEADING = re.compile(
    r"(?:hi|hello|hey|and|so|well|yes|btw|oh|ok|also|by the way|ps|for (?:context|info)|fyi)[,!.]? +", re.I
)
_PREPOSITION = re.compile(r"\b(?:since|on|from|in|until|for|about|around|as of)\s*$", re.I)


def fill_template(text: str, reading: Reading, said_at: Micros, question: str | None) -> str | None:
    """Return the text of a slot whose value is plain, or None.

    text: the message; question: what the message answers.
    """
    slot = SLOT_TYPES.get(reading.attribute)
    form = _VALUE_FORMS.get(reading.attribute)
    if slot is None or slot.template is None or form is None or reading.value is None or not _is_plain(reading):
        return None
    reading = _take_whole_value(text, reading, reading.value)
    value = text[slice(*reading.value or (0, 0))].strip()
    if form.fullmatch(value) is None or len(value.split()) > 4:
        return None
    if reading.attribute not in _CONTACTS and _NO_VALUE.search(value):
        return None
    found = _match_frame(text, reading, said_at, question)
    if found is None:
        return None
    qualifier, began = found
    filled = slot.template.format(value=_write_value(reading.attribute, value, said_at))
    if qualifier:
        filled = filled.replace("User's ", f"User's {qualifier.lower()} ", 1)
    return f"{filled[:-1]} (since {began})." if began else filled


def introduce_person(text: str, reading: Reading) -> str | None:
    """Return the text of a person or an animal that is only named: "my daughter Lena"; None where more is said."""
    if reading.attribute not in _PERSONS or reading.negated or reading.unsure or reading.change == "ends":
        return None
    found = _PERSON.fullmatch(" ".join(text[reading.begins : reading.ends].split()).strip(" .,!"))
    if found is None or found["name"].lower() in _NO_NAMES:
        return None
    name = found["name"].title() if found["name"].islower() else found["name"]
    return f"User's {found['role']} is called {name}."


def _take_whole_value(text: str, reading: Reading, value: tuple[int, int]) -> Reading:
    """Return the reading with a value that ends where an address or a path ends, of which it may be a part."""
    for low, high in find_verbatim(text[reading.begins : reading.ends]):
        start, end = reading.begins + low, reading.begins + high
        if start < value[1] and end > value[0]:
            return replace(reading, value=(min(start, value[0]), max(end, value[1])))
    return reading


def _is_plain(reading: Reading) -> bool:
    # Whose address it is stands before it: "my work mail is …".
    owned = reading.of_user or reading.attribute in _CONTACTS
    return owned and not reading.negated and not reading.unsure and reading.change != "ends"


def _match_frame(text: str, reading: Reading, said_at: Micros, question: str | None) -> tuple[str | None, str] | None:
    """Return the qualifier and the beginning that are said beside a value, or None if something else is said."""
    low, high = reading.value or (0, 0)
    before, after = text[reading.begins : low], text[high : reading.ends]
    if reading.attribute in _CONTACTS:
        # What else is said beside an address is a statement of its own.
        before, after = _BOUNDARY.split(before)[-1], _BOUNDARY.split(after)[0]
    words = before + _HOLE + after
    began = ""
    for span in find_dates(words, said_at):
        if span.start <= words.find(_HOLE) < span.end:
            continue
        lasting = reading.attribute in _LASTS and span.relation in ("on", "since", "duration")
        if began or not lasting or span.first > day_of(said_at):
            return None
        began = write_days(span)
        before = _PREPOSITION.sub("", words[: span.start])
        words = before + words[span.end :]
    words = " ".join(words.replace("\u2019", "'").split()).strip(" .,!:;-")
    words = _LEADING.sub("", words) if _LEADING.match(words) else words
    asked = _QUESTIONS.get(reading.attribute)
    if words == _HOLE and not began:
        return (None, "") if question and asked is not None and asked.search(question) else None
    found = _FRAMES[reading.attribute].fullmatch(words.strip(" ,"))
    return None if found is None else (found.groupdict().get("qualifier"), began)


def _write_value(attribute: str, value: str, said_at: Micros) -> str:
    """Return a value as it is written: with its year, or with the capitals of a name."""
    if attribute == "birthday":
        return resolve_dates(value, find_dates(value, said_at))
    return value.title() if attribute in _PROPER and value.islower() else value
