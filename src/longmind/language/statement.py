"""What a sentence states, as far as its words tell: of whom, about what, with which values, and whether it is denied.

It reads English. Of other languages it knows words and numbers only: equal texts are equal, and little else is
concluded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from longmind.language.measures import DAYS, MONTHS, Measure, Token, find_measures
from longmind.language.verbs import begins_in_past, is_still_true, reports_event
from longmind.language.vocabulary import (
    DENIALS,
    EMPTY,
    ENDINGS,
    HEDGES,
    NOW,
    PLANS,
    PRONOUNS,
    SAME_AS,
    TURNS,
    USER,
)
from longmind.language.words import STOP_WORDS, stem_of

_TOKEN = re.compile(
    r"(?P<clock>\b\d{1,2}(?::\d{2})?\s?[ap]\.?m\b\.?|\b\d{1,2}:\d{2}\b)"
    r"|(?<![\w-])(?P<number>[$€£]?\d+(?:[.,/:–-]\d+)*(?:st|nd|rd|th|%)?(?![^\W_]))"  # noqa: RUF001
    r"|(?P<word>\d[\d.,–-]*[^\W\d_][^\W_]*|[^\W_]+(?:['’][^\W_]+)*[+#]*)"  # noqa: RUF001  # "70-200mm" and "C++" are words
    r"|(?P<stop>[.,;:!?()\"“”–—]|\s-\s)"  # noqa: RUF001
)
_ASKED = re.compile(r"(?:^|(?<=[.!?] ))[A-Z]\w* asks(?: \w+)?: \"[^\"]*\"")
_CLINGING = ("'s", "'re", "'ve", "'ll", "'d", "'m")
_ENDS = re.compile(r"[!?？]|\.(?:\s|$)")  # noqa: RUF001
_WITHIN = ',()"“”'
_POSSESSIVE = re.compile(r"(?:the )?[^\W_]+['’]s\b|my\b|our\b", re.IGNORECASE)  # noqa: RUF001
_JOINING = frozenset("and but so because while although though where when".split())
_OPENING = USER | PRONOUNS | frozenset(("there", "then"))
"""Words that begin a clause after a comma; other words after one only add to what stands before."""
_LONGEST = 2_000
"""Characters of a text that are read: facts are short, and a long text says early what it is about."""


@dataclass(frozen=True)
class Clause:
    topic: frozenset[str]
    """Stems of the telling words, without values, denials, and what only says when or how surely."""
    denied: bool
    hedged: bool
    planned: bool
    """Whether it says what somebody means to do."""


@dataclass(frozen=True)
class Statement:
    subject: str | None
    """`user`, or somebody's first name; None where the sentence begins with neither."""
    owned: str | None
    """What of the subject it speaks of: "sister" in "User's sister sings"; None where it is the subject itself."""
    topic: frozenset[str]
    """That of all clauses."""
    names: frozenset[str]
    """Those of the topic that are written like names."""
    things: frozenset[str]
    """All words in lower case, as they are written."""
    words: frozenset[str]
    """Stems of all words but values and those that stand in any sentence."""
    main: Clause
    """The first one that says something or gives a value."""
    measures: Mapping[Measure, tuple[Clause, frozenset[str]]]
    """The values it gives, each with the clause it stands in, and what that and the one before are about."""
    rejected: frozenset[str]
    """What it says is so no longer, beside what is so now: "from Lisbon to Oslo", "not Tuesday any more: Thursday"."""
    ended: bool
    """Whether it says that something holds no longer."""
    lapsed: bool
    """Whether it says so by "no longer" or "any more", and not by a verb."""
    turns: bool
    """Whether it tells of a change after which something else is so: "started", "turned", "raised"."""
    past: bool
    happened: bool
    """Whether it tells of an event: what was done, has been done, or was not done at a time."""
    single: bool
    """Whether it is one sentence."""
    asks: bool
    """Whether the first thing it does is to ask."""
    fresh: bool
    """Whether it says that it is so by now: "now", "so far", "already"."""


@lru_cache(maxsize=8192)
def parse_statement(text: str) -> Statement:
    """Read a sentence. What was read before is remembered."""
    if " asks" in text:
        # A question beside what is told states nothing.
        text = _ASKED.sub("", text).strip() or text
    tokens = _tokens(text.removeprefix("User says: "))
    words = [token.word for token in tokens]
    measures, measured = find_measures(tokens)
    subject, first = _subject(tokens)
    clauses: list[Clause] = []
    clause_of: list[int] = []
    names: set[str] = set()
    for start, end in pairwise(_boundaries(tokens)):
        topic = set()
        for place in range(max(start, first), end):
            word = words[place]
            if word not in _IGNORED and place not in measured:
                stem = stem_of(SAME_AS.get(word, word))
                topic.add(stem)
                if tokens[place].named:
                    names.add(stem)
        clause_of += [len(clauses)] * (end - start)
        clauses.append(_clause(tokens[start:end], words[start:end], topic))
    fresh = not NOW.isdisjoint(words)
    lapsed = _says_that_it_ended(words)
    past = begins_in_past(words, first)
    valued = {measure: clause_of[measure.place] for measure in measures}
    main = next((place for place, clause in enumerate(clauses) if clause.topic or place in valued.values()), None)
    return Statement(
        subject=subject,
        owned=_owned(text, words[first:]),
        topic=frozenset().union(*(clause.topic for clause in clauses)),
        names=frozenset(names),
        things=frozenset(words[first:]),
        words=frozenset(
            stem_of(word)
            for place, word in enumerate(words)
            if word not in STOP_WORDS and place >= first and place not in measured
        ),
        main=_NOTHING if main is None else clauses[main],
        measures={
            measure: (
                _up_to(clauses[place], tokens[clause_of.index(place) : measure.place + 1], fresh),
                clauses[place].topic | (clauses[place - 1].topic if place else frozenset()),
            )
            for measure, place in valued.items()
        },
        rejected=_rejected(words),
        ended=lapsed or _stops(words),
        lapsed=lapsed,
        turns=not TURNS.isdisjoint(words[first : first + 6]),
        past=past,
        # Who keeps count of what has been done tells how things stand.
        happened=(past or (reports_event(text) and not any(measure.kind == "count" for measure in measures)))
        and not is_still_true(text),
        single=sum(token.opens for token in tokens) <= 1,
        asks=(_ENDS.search(text) or ".")[0] == "?",
        fresh=fresh,
    )


_NOTHING = Clause(frozenset(), denied=False, hedged=False, planned=False)


def _boundaries(tokens: Sequence[Token]) -> list[int]:
    """Where clauses begin, and where the last one ends."""
    begins = [
        place
        for place, token in enumerate(tokens)
        if (token.word in _JOINING and not _joins_people(tokens, place))
        or token.begins == "sentence"
        or (token.begins and token.word in _OPENING)
    ]
    return [0, *(place for place in begins if place), len(tokens)]


def _joins_people(tokens: Sequence[Token], place: int) -> bool:
    """Whether an "and" stands within the subject: "User and others", "Marta and User"."""
    after = tokens[place + 1].word if place + 1 < len(tokens) else ""
    return (after == "others" and place < _NEAR) or (after == "user" and place == 1 and tokens[0].word not in USER)


def _clause(tokens: Sequence[Token], words: Sequence[str], topic: set[str]) -> Clause:
    # "never stops" denies nothing.
    denied = _says_that_it_ended(words) or _stops(words) != _denies(tokens, words)
    hedged = not HEDGES.isdisjoint(words) and _hedges(tokens)
    return Clause(frozenset(topic), denied, hedged, planned=_plans(words))


def _plans(words: Sequence[str]) -> bool:
    """Who has been going somewhere does not mean to."""
    return any(word in PLANS and not (word == "going" and "been" in words[:place]) for place, word in enumerate(words))


def _up_to(clause: Clause, tokens: Sequence[Token], fresh: bool) -> Clause:
    """A clause as it is meant where a value is given in it: what follows the value does not make it less sure."""
    if not clause.hedged:
        return clause
    reason = next((place for place in range(len(tokens) - 1, 0, -1) if tokens[place].word in _REASONS), 0)
    return replace(
        clause, hedged=_hedges([token for token in tokens[reason:] if not fresh or token.word not in _BELIEVING])
    )


_BELIEVING = frozenset(("think", "thinks", "probably"))
"""Who thinks that it is so many by now tells it."""
_REASONS = frozenset(("since", "because", "considering"))
"""What is told after them is so, for which somebody wonders about something else."""


def _hedges(tokens: Sequence[Token]) -> bool:
    return any(token.word in HEDGES and not token.named for token in tokens)


_IGNORED = EMPTY | STOP_WORDS | USER | PRONOUNS | DENIALS | ENDINGS | HEDGES | NOW | frozenset(DAYS) | frozenset(MONTHS)

_EMPTY = _IGNORED - frozenset(DAYS)


def find_topic_stems(phrase: str) -> list[str]:
    """The telling words of a phrase in the form in which topics are compared."""
    words = (token.word for token in _tokens(phrase) if token.kind == "word")
    return [stem_of(SAME_AS.get(word, word)) for word in words if word not in _IGNORED]


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    opens = True
    begins: Literal["", "part", "sentence"] = "sentence"
    aside = 0
    for found in _TOKEN.finditer(unicodedata.normalize("NFKC", text[:_LONGEST])):
        kind, raw = found.lastgroup, found[0]
        if kind == "stop":
            begins = "part" if raw in _WITHIN else "sentence"
            opens = opens or raw in ".!?"
            aside = max(aside + (raw == "(") - (raw == ")"), 0)
            continue
        word = raw.lower().replace("’", "'")  # noqa: RUF001
        if "'" in word:
            word = next((word.removesuffix(end) for end in _CLINGING if word.endswith(end)), word).replace("'", "")
        named = kind == "word" and raw[0].isupper() and not opens and word not in USER
        tokens.append(Token(word, kind, named, opens, begins, aside > 0))  # type: ignore[arg-type]  # groups are kinds
        opens, begins = False, ""
    return tokens


def _subject(tokens: Sequence[Token]) -> tuple[str | None, int]:
    """Of whom a sentence speaks, and where what it says begins."""
    first = 1 if tokens and tokens[0].word == "the" else 0
    if first >= len(tokens):
        return None, 0
    word = tokens[first].word
    if word in USER:
        return "user", first + 1
    if [token.word for token in tokens[first + 1 : first + 3]] == ["and", "user"]:
        return "user", first
    return (None, 0) if first or word in _IGNORED else (word, 1)


def _owned(text: str, following: Sequence[str]) -> str | None:
    if _POSSESSIVE.match(text) is None:
        return None
    return next((word for word in following if word not in _IGNORED), None)


def _says_that_it_ended(words: Sequence[str]) -> bool:
    # Most sentences have none of these words, and a set is quicker than going through pairs.
    return not _ENDING.isdisjoint(words) and ("anymore" in words or any(pair in _OVER for pair in pairwise(words)))


_OVER = frozenset({("no", "longer"), ("any", "more"), ("used", "to")})
_ENDING = frozenset({"anymore", "longer", "more", "used"})


def _rejected(words: Sequence[str]) -> frozenset[str]:
    if _REJECTING.isdisjoint(words):
        return frozenset()
    moves = not _CHANGING.isdisjoint(words)
    ends = _says_that_it_ended(words)
    found: set[str] = set()
    for place, (word, after) in enumerate(pairwise(words)):
        from_to = word == "from" and moves and "to" in words[place + 2 : place + 6]
        not_but = word in _NOT and after not in ("only", "just") and (ends or "but" in words[place + 2 : place + 6])
        if from_to or not_but or (word, after) in _IN_PLACE:
            following = [each for each in words[place + 1 : place + 1 + _NEAR] if each not in _EMPTY][:_FEW]
            found.update(DAYS.get(each, stem_of(SAME_AS.get(each, each))) for each in following)
    return frozenset(found)


_REJECTING = frozenset({"from", "not", "isnt", "arent", "instead", "rather", "longer"})
_CHANGING = frozenset(
    "moved moves moving relocated changed changes changing switched switches switching transferred rescheduled shifted "
    "postponed upgraded converted".split()
)
"""What goes from one thing to another by these verbs is the other one then."""
_IN_PLACE = frozenset({("instead", "of"), ("rather", "than"), ("no", "longer")})
_NOT = frozenset({"not", "isnt", "arent"})
_FEW = 3
_NEAR = 5


def _denies(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    """Whether something is denied; the "no" of "No, it is ten" denies what somebody else said."""
    if DENIALS.isdisjoint(words):
        return False
    return any(
        token.word in DENIALS and (token.word != "no" or not after.begins)
        for token, after in zip(tokens, [*tokens[1:], _END], strict=True)
    )


_END = Token("", "word", named=False, opens=True, begins="sentence")


def _stops(words: Sequence[str]) -> bool:
    return not ENDINGS.isdisjoint(words) or ("up" in words and any(pair in _GIVING_UP for pair in pairwise(words)))


_GIVING_UP = frozenset({("gave", "up"), ("given", "up"), ("giving", "up")})
