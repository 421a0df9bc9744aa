"""Matching of an ending with the known fact that it ends.

The fact was stated in other words: "sold the Civic" ends "drives a Honda Civic", and "quit the ukulele" ends "is
learning to play the ukulele". So the verb decides which form of fact can end, and the words after it which thing.

A wrong match hides a true fact, so every doubt is against it: the fact must be one sentence with few other words, of
the same person, and stated as true.
"""

from __future__ import annotations

import re
from typing import Literal

from longmind.extraction.reconcile.ending_statements import Ending, EndingKind, find_endings, strip_speaker
from longmind.language.statement import Statement, find_topic_stems

Certainty = Literal["surely", "perhaps"]

# Any statement that is true now.
_ANYTHING = re.compile(r"\b(?:is|are|has|have|been|[a-z]+s)\b")
_ENDABLE: dict[EndingKind, re.Pattern[str]] = {
    "having": re.compile(
        r"\b(?:has|have|owns?|drives?|driving|rides?|riding|uses?|using|keeps?|wears?|plays?)\b|'s .*\b(?:is|are)\b"
    ),
    "doing": _ANYTHING,
    "being": re.compile(r"\b(?:is|works? as|serves? as)\b"),
    "value": re.compile(r"^[A-Z]\w*'s (?:[\w-]+ ){1,4}(?:is|are)\b"),
    "search": re.compile(
        r"\b(?:look(?:s|ing) for|search(?:es|ing) for|hunting for|shopping for|in the market for|wait ?list for|"
        r"waiting for|applied for|looking to (?:buy|adopt|hire|rent|book))\b"
    ),
    "exchange": _ANYTHING,
    "place": re.compile(
        r"\b(?:lives?|living|rents?|renting|stays?|staying|resides?|based|is (?:still )?(?:in|at|on))\b"
    ),
    "plan": re.compile(
        r"\b(?:has|have|plans?|planning|planned|going|booked|will|scheduled|subscribes?|subscribed|flying|visiting|"
        r"travell?ing|attending|signed|looking forward|meeting|is (?:on|at|in|set)|pays?)\b"
    ),
    "work": re.compile(
        r"\b(?:works?|working|employed|job|studies|studying|reading|watching|playing|training|preparing|taking|writing|"
        r"building|knitting|learning|listening|plays (?:for|in|with)|member|employer|enrolled|attends?|attending)\b"
    ),
    "job": re.compile(r"\b(?:works?|working|employed) (?:at|for|as)\b|'s (?:job|employer) is\b"),
    "life": re.compile(r"\b(?:has|have|owns?|lives?|called|named|name is|is \w+)\b"),
    "bond": re.compile(
        r"\b(?:girlfriend|boyfriend|partner|wife|husband|fianc\w+|dating|engaged|married|relationship|together|seeing|"
        r"lives? with)\b"
    ),
    "time": re.compile(r"\b(?:has|have|is|are|takes?|starts?|begins?|leaves?|scheduled|due|will|ends?)\b"),
}
"""For each kind of ending, the words of a fact that it can end."""
_AT_A_PLACE = re.compile(r"\b(?:is|are|takes place|will be|has|have) .*?\b(?:at|in) ")
_LIKING = re.compile(r"\b(?:likes?|loves?|enjoys?|hates?|prefers?|wants?|thinks?|adores?|favou?rite|fan)\b")
"""Words of liking: one may sell a thing and still like it."""
_PEOPLE = re.compile(
    r"^[A-Z]\w*'s (?:\w+ )?(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc\w+|mother|mom|mum|father|dad|"
    r"parents|sister|brother|son|daughter|kids?|child|children|grand\w+|aunt|uncle|cousin|niece|nephew|roommate|boss|"
    r"manager|colleague|coworker|neighbou?r|friend|best friend)\b(?!'s|\u2019s| is (?:called|named))"
)
_NOT_ONLY_OWN: tuple[EndingKind, ...] = ("life", "bond", "time")
_OF_MANY: tuple[EndingKind, ...] = ("plan", "time", "life", "having", "job")
"""Kinds of which one has many, so that a general word does not say which one is over."""
_GENERIC = frozenset(
    "trip plan visit booking reserv ticket appoint job posit place hous apart flat home account lesson class practic "
    "habit journei relationship stai studi school train".split()
)
"""General words, which may be missing in the fact where a more specific word names the thing."""
_VERBS = frozenset(
    "drive own us ride live work learn plai read watch studi train plan name call date engag marri rent subscrib "
    "bank".split()
)
_MOST_OTHERS = 3
"""Content words that a fact may have besides its verb and the thing that is over."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[^\w\s]")
_WORDS_AFTER_THING = frozenset("named called is are with at in on for to and from by of as every since".split())


def match_ending(new: Statement, new_text: str, old: Statement, old_text: str) -> Certainty | None:
    """Return how certainly a new statement says that an old one is over; None if it does not say so.

    It is "perhaps" where the words are less specific than the known fact: "the meeting" may be any of several.
    """
    if (
        new.begins_with_question
        or old.begins_with_question
        or not old.is_single_sentence
        or old.is_event
        or old.main.denied
    ):
        return None
    if old.main.hedged and not _ENDABLE["plan"].search(old_text):
        return None
    new_text, old_text = strip_speaker(new_text), strip_speaker(old_text)
    for ending in find_endings(new_text):
        if _can_end(ending, new, new_text, old, old_text) and (certainty := _match_thing(ending, old, old_text)):
            return certainty
    return None


def _can_end(ending: Ending, new: Statement, new_text: str, old: Statement, old_text: str) -> bool:
    """Return whether an ending can apply to a fact of this form, and of this person."""
    if not _ENDABLE[ending.kind].search(old_text):
        return False
    if ending.kind == "time":
        return (old.subject or "user") == ending.owner and _is_at_another_time(ending, new, old, old_text)
    if ending.kind != "doing" and _LIKING.search(old_text):
        return False
    if ending.kind in _NOT_ONLY_OWN or ending.owner != "user":
        return (old.subject or "user") == ending.owner
    return (new.subject or "user") == (old.subject or "user") and _find_relation(new_text) == _find_relation(old_text)


def _find_relation(text: str) -> str:
    """Return the relation that a sentence begins with, such as "User's sister", or nothing."""
    found = _PEOPLE.match(text)
    return found[0] if found else ""


def _is_at_another_time(ending: Ending, new: Statement, old: Statement, old_text: str) -> bool:
    """Return whether an appointment was moved to another day, time or place than the fact gives."""
    new_values, old_values = (
        {("day" if measure.kind == "date" else measure.kind): measure.value for measure in each.measures}
        for each in (new, old)
    )
    shared = (new_values.keys() & old_values.keys()) - {"count"}
    if shared:
        return any(new_values[kind] != old_values[kind] for kind in shared)
    return not new_values and not old_values and bool(ending.moved_to) and _AT_A_PLACE.search(old_text) is not None


def _match_thing(ending: Ending, old: Statement, old_text: str) -> Certainty | None:
    """Return how surely the thing that is over is the one in the fact, or None."""
    if ending.kind == "job":
        return "perhaps"
    if ending.kind == "value" and ending.head not in find_topic_stems(old_text.partition(" is ")[0]):
        return None
    words = ending.stems if ending.stems <= old.topic else ending.stems - _GENERIC
    if not words or not words <= old.topic or not any(_is_thing(stem, old_text) for stem in words):
        return None
    others = old.topic - words - _VERBS
    if len(others) > _MOST_OTHERS:
        return None
    is_single_word = len(words) == 1 and words.isdisjoint(old.names)
    return "perhaps" if others and is_single_word and ending.kind in _OF_MANY else "surely"


def _is_thing(stem: str, text: str) -> bool:
    """Return whether a word stands for a thing, and does not describe the next word: "Spanish" in "Spanish food"."""
    words = _WORD.findall(text)
    for word, after in zip(words, [*words[1:], "."], strict=True):
        if stem in find_topic_stems(word.removesuffix("'s")) and (
            after.lower() in _WORDS_AFTER_THING or not find_topic_stems(after)
        ):
            return True
    return False
