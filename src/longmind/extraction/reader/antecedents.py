"""Persons for "he" and "she": the one whom the message named before, by role or name.

"My grandson is at college. He is in second year" says that "User's grandson is in second year". Where two persons may
be meant, the pronoun is not replaced, since a wrong name would make a false memory.
"""

from __future__ import annotations

import re

from longmind.language import gazetteer as known

_FEMALE = (
    r"sister|mother|mom|mum|mama|wife|girlfriend|fianc\u00e9e|daughter|grandmother|grandma|gran|nan|granddaughter|aunt|"
    r"auntie|niece|stepmother|stepmom|stepsister|stepdaughter|landlady|mother-in-law|sister-in-law|daughter-in-law"
)
_MALE = (
    r"brother|father|dad|papa|husband|boyfriend|fianc\u00e9|son|grandfather|grandpa|grandson|uncle|nephew|stepfather|"
    r"stepdad|stepbrother|stepson|landlord|father-in-law|brother-in-law|son-in-law"
)
_EITHER = (
    r"boss|manager|friend|colleague|coworker|neighbou?r|doctor|dentist|cousin|partner|baby|kid|child|teacher|flatmate|"
    r"roommate|bandmate|student|coach|client|customer|supervisor|professor|tutor|lawyer|accountant|therapist|surgeon|"
    r"mate|ex|bf|gf|lad|lass|fella|guy|man|woman|girl|boy|lady|dog|cat|puppy|kitten|horse|daughter|son"
)
_PERSON = re.compile(
    rf"(?:\b(?P<owner>[Mm]y|[Oo]ur|[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Tt]heir)\s+(?:[\w-]+\s+){{0,2}}?"
    rf"(?P<role>{_FEMALE}|{_MALE}|{_EITHER})s?\b(?:\s+(?P<name>[A-Z]\w+))?|(?<![\w'])(?P<alone>[A-Z][\w-]+))"
)
_PRONOUN = re.compile(r"(?<![\w'])(?P<word>[Ss]he|[Hh]e|[Hh]ers?|[Hh]is|[Hh]im)(?:'(?P<clitic>s|ll|d))?(?![\w-])")
_OBJECT_BEFORE = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:and|or|but|to|in|on|at|for|with|from|about|by|as|that|when|while|because|so|if|a|an|the|"
    r"is|was|very|too|again|now|yesterday|today|tomorrow|last|every|this|out|up|off|there|here|some|more|how|what|who|"
    r"where|since|after|before|not|never|back|home|all|one)\b"
)
# Before a capital letter that begins a sentence, or that of a place, a title, a month.
_NO_PERSON = re.compile(r"(?:^|[.!?:\"\u201c(\n]\s*|\b(?:in|at|from|to|of|near|on|by|since|the|a|an|I|until)\s+)$")
_YOUR = re.compile(r"\b[Yy]our\b")
_NAMES_SOMEBODY = re.compile(
    rf"\b(?i:my|our|an?|the) (?:[\w-]+ ){{0,2}}?(?:{_FEMALE}|{_MALE}|{_EITHER})s?\b"
    r"|\b(?!(?:I|The|My|Our|A|An|And|But|So|He|She|His|Her|When|If|Since|In|On|At|Then|Now|It|That|This|Yes|"
    r"No)\b)[A-Z]\w+"
)
_UNKNOWN = "unknown"
_FAR = 600
_NEAR = 300
_PERFECT = re.compile(
    r"\s+(?:(?:just|already|never|also|always) )*(?:got|been|had|gone|done|\w+ed|given|taken|moved)\b"
)


def resolve_persons(clause: str, before: str, answered: str, speaker: str) -> str | None:
    """Return a clause with persons for its pronouns; None if it is uncertain which ones are meant.

    before: what the message says before the clause; answered: the message that it answers, for "How is your mother?".
    """
    first = _PRONOUN.search(clause)
    if first is None or _NAMES_SOMEBODY.search(clause, 0, first.start()):
        # The clause names somebody itself.
        return clause
    genders = {"f" if found["word"].lower() in ("she", "her", "hers") else "m" for found in _PRONOUN.finditer(clause)}
    if len(genders) != 1:
        return None
    gender = genders.pop()
    persons = _find_persons(before, speaker) or _find_persons(_YOUR.sub("my", answered[-_NEAR:]), speaker)
    fitting = {name for name, each in persons.items() if each in (gender, "?", _UNKNOWN)}
    if len(fitting) != 1 or persons[name := fitting.pop()] == _UNKNOWN:
        return None
    return _replace(clause, name)


def _replace(clause: str, person: str) -> str:
    def put(found: re.Match[str]) -> str:
        word = found["word"].lower()
        if found["clitic"] == "s" and word in ("he", "she"):
            return f"{person} {'has' if _PERFECT.match(clause, found.end()) else 'is'}"
        if found["clitic"]:
            return f"{person} {'will' if found['clitic'] == 'll' else 'would'}"
        owns = word in ("his", "hers") or (word == "her" and not _OBJECT_BEFORE.match(clause, found.end()))
        return f"{person}'s" if owns else person

    return _PRONOUN.sub(put, clause)


def _find_persons(text: str, speaker: str) -> dict[str, str]:
    """Return the persons that a text names, with their gender; a role and its name are one person."""
    persons: dict[str, str] = {}
    text = text[-_FAR:]
    for found in _PERSON.finditer(text):
        if found["alone"]:
            if found["alone"] in known.FIRST_NAMES:
                _note_name(persons, found["alone"])
            elif not _NO_PERSON.search(text, max(0, found.start() - 12), found.start()):
                # It may be a person or none, so that nobody is certain.
                persons.setdefault(found["alone"], _UNKNOWN)
            continue
        role, name = found["role"], found["name"]
        gender = "f" if re.fullmatch(_FEMALE, role) else "m" if re.fullmatch(_MALE, role) else "?"
        if found["owner"].lower() in ("my", "our"):
            persons[name or f"{speaker}'s {_write_role(found[0])}"] = gender
        else:
            persons[name or found[0]] = gender if name else _UNKNOWN
    return persons


def _note_name(persons: dict[str, str], name: str) -> None:
    if name in persons:
        return
    gender = "?" if name in known.EITHER_NAMES else "f" if name in known.FEMALE_NAMES else "m"
    unnamed = [each for each, other in persons.items() if "'s " in each and other in (gender, "?")]
    if len(unnamed) == 1:
        # "My grandson, Declan": the name of the one who was spoken of.
        del persons[unnamed[0]]
    persons[name] = gender


def _write_role(words: str) -> str:
    return " ".join(words.split()[1:])
