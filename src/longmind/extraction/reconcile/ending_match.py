"""Which known facts are over when a sentence says that something is.

What it ends was told in other words: "sold the Civic" ends "drives a Honda Civic", and "quit the ukulele" ends "is
learning to play the ukulele". So the verb says which facts it can end, and the words after it say of what.
"""

from __future__ import annotations

import re
from typing import Literal

from longmind.extraction.reconcile.endings import Ending, EndingKind, find_endings, strip_speaker
from longmind.language.statement import Statement, find_topic_stems

Certainty = Literal["surely", "perhaps"]

_ANYTHING = re.compile(r"\b(?:is|are|has|have|been|[a-z]+s)\b")
_FITTING: dict[EndingKind, re.Pattern[str]] = {
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
"""What a fact says that an ending of the sort can end."""
_PLACED = re.compile(r"\b(?:is|are|takes place|will be|has|have) .*?\b(?:at|in) ")
_LIKING = re.compile(r"\b(?:likes?|loves?|enjoys?|hates?|prefers?|wants?|thinks?|adores?|favou?rite|fan)\b")
"""Who sells a thing or changes it for another may like it as before."""
_PEOPLE = re.compile(
    r"^[A-Z]\w*'s (?:\w+ )?(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc\w+|mother|mom|mum|father|dad|"
    r"parents|sister|brother|son|daughter|kids?|child|children|grand\w+|aunt|uncle|cousin|niece|nephew|roommate|boss|"
    r"manager|colleague|coworker|neighbou?r|friend|best friend)\b(?!'s|\u2019s| is (?:called|named))"
)
_OF_ANYBODY: tuple[EndingKind, ...] = ("life", "bond", "time")
_OF_MANY: tuple[EndingKind, ...] = ("plan", "time", "life", "having", "job")
"""One has many of these, so a word for any of its kind does not tell which."""
_GENERIC = frozenset(
    "trip plan visit booking reserv ticket appoint job posit place hous apart flat home account lesson class practic "
    "habit journei relationship stai studi school train".split()
)
"""Words for any matter of their kind: beside a word that names it, they may be missing elsewhere."""
_VERBS = frozenset(
    "drive own us ride live work learn plai read watch studi train plan name call date engag marri rent subscrib "
    "bank".split()
)
_MOST_BESIDE = 3
"""Telling words that a fact may have beside its verb and what is over."""
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?|[^\w\s]")
_AFTER_A_THING = frozenset("named called is are with at in on for to and from by of as every since".split())


def match_ending(new: Statement, new_text: str, old: Statement, old_text: str) -> Certainty | None:
    """Whether a sentence says that what was stated before is over.

    Perhaps where it names it by less than what is known of it: "the meeting" may be any of several.
    """
    if (
        new.begins_with_question
        or old.begins_with_question
        or not old.is_single_sentence
        or old.is_event
        or old.main.denied
    ):
        return None
    if old.main.hedged and not _FITTING["plan"].search(old_text):
        return None
    new_text, old_text = strip_speaker(new_text), strip_speaker(old_text)
    for ending in find_endings(new_text):
        if _can_end(ending, new, new_text, old, old_text) and (certainty := _names(ending, old, old_text)):
            return certainty
    return None


def _can_end(ending: Ending, new: Statement, new_text: str, old: Statement, old_text: str) -> bool:
    """Whether it may be said of a fact of this form, and of this person."""
    if not _FITTING[ending.sort].search(old_text):
        return False
    if ending.sort == "time":
        return (old.subject or "user") == ending.owner and _is_at_another_time(ending, new, old, old_text)
    if ending.sort != "doing" and _LIKING.search(old_text):
        return False
    if ending.sort in _OF_ANYBODY or ending.owner != "user":
        return (old.subject or "user") == ending.owner
    return (new.subject or "user") == (old.subject or "user") and _person(new_text) == _person(old_text)


def _person(text: str) -> str:
    """Which person of somebody's a sentence begins with."""
    found = _PEOPLE.match(text)
    return found[0] if found else ""


def _is_at_another_time(ending: Ending, new: Statement, old: Statement, old_text: str) -> bool:
    mine, theirs = (
        {("day" if measure.kind == "date" else measure.kind): measure.value for measure in each.measures}
        for each in (new, old)
    )
    shared = (mine.keys() & theirs.keys()) - {"count"}
    if shared:
        return any(mine[kind] != theirs[kind] for kind in shared)
    return not mine and not theirs and bool(ending.moved_to) and _PLACED.search(old_text) is not None


def _names(ending: Ending, old: Statement, old_text: str) -> Certainty | None:
    """Whether the words for what is over are the words for what was stated."""
    if ending.sort == "job":
        return "perhaps"
    if ending.sort == "value" and ending.head not in find_topic_stems(old_text.partition(" is ")[0]):
        return None
    what = ending.what if ending.what <= old.topic else ending.what - _GENERIC
    if not what or not what <= old.topic or not any(_is_a_thing(stem, old_text) for stem in what):
        return None
    beside = old.topic - what - _VERBS
    if len(beside) > _MOST_BESIDE:
        return None
    alone = len(what) == 1 and what.isdisjoint(old.names)
    return "perhaps" if beside and alone and ending.sort in _OF_MANY else "surely"


def _is_a_thing(stem: str, text: str) -> bool:
    """Whether a word stands for something itself, and does not only describe the next word, like "Spanish" in "Spanish
    food"."""
    words = _WORD.findall(text)
    for word, after in zip(words, [*words[1:], "."], strict=True):
        if stem in find_topic_stems(word.removesuffix("'s")) and (
            after.lower() in _AFTER_A_THING or not find_topic_stems(after)
        ):
            return True
    return False
