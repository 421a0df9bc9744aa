"""The parts of a question that recall treats apart: its words, its speakers and its dates.

Understanding costs a few microseconds, since dates are parsed only where a cheap check finds a word that can begin one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from longmind.clock import Micros
from longmind.language.calendar import day_of
from longmind.language.dates import DateSpan, find_dates, may_ask_for_dates
from longmind.language.words import READER_WORDS, STOP_WORDS, terms_among, terms_of, terms_of_characters, words_of

_FIRST_PERSON = frozenset(("i", "me", "my", "mine", "myself"))
_ABOUT_ANSWERS = re.compile(
    r"\byou(?:['\u2019]ve)?(?: (?:have|had|just|also|already|previously|once|earlier|first|originally))*"
    r" (?:said|told|mentioned|recommended|suggested|provided|gave|listed|explained|described|advised|proposed)\b"
    r"|\b(?:did|have|had) you (?:\w+ )?(?:say|said|tell|told|mention|recommend|suggest|provide|give|gave|list|explain"
    r"|describe|advise|propose)\w*"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|advice|list|explanation|answer|description|proposal|reply"
    r"|response)s?\b",
    re.IGNORECASE,
)
"""Words that ask for what the assistant itself has said; "can you list" only asks for an answer."""
_HOW_MUCH = re.compile(
    r"\bhow (?:many|much|long|often|old)\b(?: (?:more|less|total|different))?"
    r"(?: (?:days?|weeks?|months?|years?|hours?|minutes?|times?)\b(?: (?:ago|in total|passed|before))?)?",
    re.IGNORECASE,
)
ROLES = ("user", "assistant")

_SLACK = {"instant": 7.0, "day": 7.0, "week": 7.0, "month": 10.0, "season": 30.0, "year": 30.0}
"""Days outside an interval within which a memory is still near, by the precision of the date."""
_COUNTED = {"day": (1.0, 1, 2.0), "week": (7.0, 3, 3.0), "month": (30.4, 7, 7.0), "year": (365.25, 90, 60.0)}
"""For "two weeks ago": the days of one unit, the days on each side of the day that is counted to, and the slack."""
_RECENT = {"week": 14, "weekend": 14, "month": 62}
"""For "last week" and "this month": the days up to today in which to look, since people confuse the two."""


class Interval(NamedTuple):
    """Days that a question asks about, the first and the last of them included."""

    first: date
    last: date
    slack: float
    """The days outside the interval within which a memory is still near."""


class Question(NamedTuple):
    """A question, taken apart."""

    to_embed: str
    """The question without the names of speakers, which `speakers` accounts for."""
    terms: tuple[int, ...]
    """Its words, with all names of the entities that it names: a text may call somebody by another one."""
    speakers: dict[str, float] | None
    """The weights, from 0 to 1, of the speakers in question; None if there is nobody in particular."""
    dates: tuple[Interval, ...]
    opposed: tuple[int, ...] = ()
    """Words that say the opposite of what a question about likes or dislikes asks for."""
    is_plain: bool = True
    """True for a question or a few words to look up, and False for a message of a conversation. What a message is about
    says less in its words and more in its meaning, and "I" in it does not ask for what the user has said."""
    names: tuple[str, ...] = ()
    """The names, all of them, of the entities that it names."""
    of_reader: tuple[int, ...] = ()
    """Its words by which facts say who spoke: a fact that shares nothing else has nothing to do with it."""


def understand_question(
    query: str,
    speakers: Collection[str],
    now: Micros,
    names: tuple[str, ...] = (),
    *,
    by_words: bool = False,
    of_facts: bool = False,
    dates: tuple[Interval, ...] | None = None,
) -> Question:
    """Return the parts of a question, given the speakers of the space.

    now: the instant from which "last week" counts.
    names: all names of the entities that the question names.
    by_words: no embedder is used, so every word counts. With one, "how many days" asks for a number and not for days.
    of_facts: facts are searched. Most of them name the user, so sharing "user" alone means nothing.
    dates: the dates of the query as of `now`, if they were found before; to find them takes the longest.
    """
    known = _map_words_to_speakers(tuple(speakers))
    words = words_of(query)
    is_plain = is_plain_question(query, words)
    named = [(place, known[word]) for place, word in enumerate(words) if word in known] if known else []
    if names and known:
        # Somebody who speaks under one name may be asked about under another.
        named += [(len(words), known[word]) for name in names for word in words_of(name) if word in known]
    asked, replaced = _HOW_MUCH.subn(" ", query) if "how" in words and not by_words else (query, 0)
    remaining = words_of(asked) if replaced else words
    remaining = words if STOP_WORDS.issuperset(remaining) else remaining
    of_reader = [word for word in remaining if word in READER_WORDS] if of_facts else []
    if of_reader:
        content = [word for word in remaining if word not in READER_WORDS]
        remaining, of_reader = (remaining, []) if STOP_WORDS.issuperset(content) else (content, of_reader)
    if dates is None:
        dates = find_intervals(query, now) if may_ask_for_dates(query, words) else ()
    terms = terms_among(remaining)
    if not query.isascii():
        terms += terms_of_characters(query)
    for name in names:
        terms += terms_of(name)
    return Question(
        to_embed=_drop_names(known, query) if named else query,
        terms=tuple(dict.fromkeys(terms)),
        speakers=_weigh_speakers(query, words, named, speakers, by_role=is_plain),
        dates=dates,
        opposed=_find_opposed(words) if is_plain else (),
        is_plain=is_plain,
        names=names,
        of_reader=tuple(dict.fromkeys(terms_among(of_reader))),
    )


_LIKING = frozenset(
    "prefer prefers preferred preference preferences favourite favourites favorite favorites like likes liked "
    "love loves enjoy enjoys".split()
)
_DISLIKING = frozenset("dislike dislikes disliked hate hates hated avoid avoids detest detests loathe loathes".split())
_NEGATING = frozenset("not dont doesnt didnt never no".split())
_LIKING_TERMS, _DISLIKING_TERMS = (tuple(sorted(set(terms_among(sorted(group))))) for group in (_LIKING, _DISLIKING))


def _find_opposed(words: Sequence[str]) -> tuple[int, ...]:
    """Return the terms of dislikes for a question about likes, and the other way round; none for other questions."""
    if not _DISLIKING.isdisjoint(words):
        return _LIKING_TERMS
    return () if _LIKING.isdisjoint(words) or not _NEGATING.isdisjoint(words) else _DISLIKING_TERMS


def is_plain_question(query: str, words: Sequence[str]) -> bool:
    """Return whether a query is a question, or a few words to look up, rather than a message of a conversation.

    A question may be followed by wishes for the answer, as in "Which courses did I take? Name three.", but a message
    also says something.
    """
    stripped = query.strip()
    end = _SENTENCE_BREAK.search(stripped)
    first = stripped if end is None else stripped[: end.start() + 1]
    if not (first.endswith(("?", "\uff1f")) or _ASKS.match(first)):
        return end is None and _CONVERSING.isdisjoint(words)
    return end is None or _CONVERSING.isdisjoint(words_of(stripped[end.start() + 1 :]))


_SENTENCE_BREAK = re.compile(r"[.!?]\s+\S|\n\s*\S|[\u3002\uff01\uff1f].")
_ASKS = re.compile(
    r"(?:(?:and|so|also|ok|okay|well|hey|hi|please)\b\W*)?(?:who|whom|whose|what|which|where|when|why|how|is|are|was|were"
    r"|am|do|does|did|have|has|had|can|could|will|would|should|may|might|(?:in|at|on|for|to|from|with|by|about) (?:what"
    r"|which|whom|how)|list|tell|name|summari[sz]e|remind|show|give|find|any)\b",
    re.IGNORECASE,
)
"""The beginning of a question or of a request, which need no question mark."""
_CONVERSING = frozenset(("i", "im", "ive", "we", "weve", "you", "youve", "lets"))
"""Words of somebody who talks, rather than names what to look up."""


# A space asks with the same speakers every time.
@lru_cache(maxsize=256)
def _map_words_to_speakers(speakers: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the speakers that each word names; the roles are no names."""
    known: dict[str, set[str]] = {}
    for speaker in speakers:
        if speaker not in ROLES:
            for word in words_of(speaker):
                known.setdefault(word, set()).add(speaker)
    return known


def _weigh_speakers(
    query: str, words: list[str], named: list[tuple[int, set[str]]], speakers: Collection[str], *, by_role: bool
) -> dict[str, float] | None:
    """Return how much each speaker is asked about; None if nobody in particular is.

    by_role: pass True if "I" in the query asks for what the user has said.
    """
    if named:
        order = list(dict.fromkeys(speaker for _, group in named for speaker in sorted(group)))
        first = named[0][1]
        together = "both" in words or any(
            words[place - 1] == "and" for (place, group) in named[1:] if group != first and place > 0
        )
        return {speaker: 1.0 if together or speaker in first else 0.5 for speaker in order}
    if by_role and "user" in speakers and not _FIRST_PERSON.isdisjoint(words) and not _ABOUT_ANSWERS.search(query):
        return {"user": 1.0}
    return None


def _drop_names(known: dict[str, set[str]], query: str) -> str:
    """Return a question without the names of speakers, or the whole question if nothing is left."""
    kept = [token for token in query.split() if not (words_of(token)[:1] and words_of(token)[0] in known)]
    return " ".join(kept) or query


def find_intervals(query: str, now: Micros) -> tuple[Interval, ...]:
    """Return the intervals that a question names, in its order; a habit, such as "every Friday", names none."""
    found = find_dates(query, now, is_question=True)
    return tuple([_to_interval(each, day_of(now)) for each in found if each.relation != "recurring"])


def _to_interval(found: DateSpan, today: date) -> Interval:
    """Return the days in which to look for what happened on a date, as exactly as people remember such dates."""
    first, last, slack = found.first, found.last, _SLACK[found.precision]
    distance = found.distance
    if found.relation == "duration":
        # "In the past three months": the date is that on which the time began.
        last = max(last, today)
    try:
        if distance is None or distance.amount > 0:
            pass
        elif distance.is_period:
            if distance.amount >= -1 and distance.unit in _RECENT:
                first, last, slack = today - timedelta(days=_RECENT[distance.unit]), today, 7.0
        elif distance.unit in _COUNTED:
            length, width, slack = _COUNTED[distance.unit]
            middle = today - timedelta(days=round(-length * distance.amount))
            first, last = middle - timedelta(days=width), middle + timedelta(days=width)
    except OverflowError:
        # The interval would begin before the calendar does.
        pass
    return Interval(first, last, slack)
