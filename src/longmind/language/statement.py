"""The statement that a sentence makes: its subject, its topic, its values, and whether it is denied, hedged or planned.

Facts are compared as statements, so that wording does not matter: "Anna doesn't eat meat any more" and "Anna eats meat"
have one subject and one topic, and one of them is denied.

A text is read in one pass:
1. `_tokenise` splits it into words, numbers and times of day, each with the punctuation before it. Only the first
   `_LONGEST` characters are read, so that the time is bounded.
2. `find_measures` takes out the values. What is left over is read as words.
3. The first word gives the subject, and the words after a possessive what of the subject is meant.
4. The rest is cut into clauses at joining words and punctuation. Each clause has a topic of its own, which is the stems
   of its content words, and may be denied, hedged or planned. A value is judged by its clause, up to the value.
5. Words and patterns of the whole sentence say whether it is past, an event, current, or says that something ended.

The parser knows English function words only; every other word is part of the topic. Of other languages it sees words
and numbers: equal texts are equal, and little else follows. It raises nothing, whatever the text. A `Statement` is
immutable and cached by its text, so callers in all threads share it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

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
# A question that the extractor quotes: 'Anna asks: "…"'.
_QUOTED_QUESTION = re.compile(r"(?:^|(?<=[.!?] ))[A-Z]\w* asks(?: \w+)?: \"[^\"]*\"")
_CLINGING = ("'s", "'re", "'ve", "'ll", "'d", "'m")
_SENTENCE_END = re.compile(r"[!?？]|\.(?:\s|$)")  # noqa: RUF001
_INNER_PUNCTUATION = ',()"“”'
_POSSESSIVE = re.compile(r"(?:the )?[^\W_]+['’]s\b|my\b|our\b", re.IGNORECASE)  # noqa: RUF001
_JOINING = frozenset("and but so because while although though where when".split())
_OPENING = USER | PRONOUNS | frozenset(("there", "then"))
"""Words that begin a clause after a comma; other words there only add to the clause before."""
_LONGEST = 2_000
"""Characters of a text that are read: facts are short, and a long text says early what it is about."""


@dataclass(frozen=True)
class Clause:
    """One clause of a sentence."""

    topic: frozenset[str]
    """Stems of its content words, without values, denials and words that only say when or how surely."""
    denied: bool
    hedged: bool
    planned: bool
    """True where it says what somebody intends to do."""


class MeasureContext(NamedTuple):
    """The words around a value, which show what it is the value of."""

    clause: Clause
    topic: frozenset[str]
    """The topic of its clause and of the one before."""


@dataclass(frozen=True)
class Statement:
    """A sentence, reduced to what is compared."""

    subject: str | None
    """`user`, or somebody's first name; None where the sentence begins with neither."""
    possession: str | None
    """The relative or thing of the subject that it speaks of: "sister" in "User's sister sings". None for the subject
    itself."""
    topic: frozenset[str]
    """The topic of all clauses."""
    names: frozenset[str]
    """Words of the topic that are written like names."""
    written_words: frozenset[str]
    """Words in lower case, not stemmed."""
    stems: frozenset[str]
    """Stems of all words except values and stop words."""
    main: Clause
    """The first clause that has a topic or gives a value."""
    measures: Mapping[Measure, MeasureContext]
    """The values that it gives, each with the words around it."""
    rejected: frozenset[str]
    """Words for what is no longer so, named next to what is so now: "from Lisbon to Oslo", "Thursday, not Tuesday"."""
    says_ended: bool
    """True where it says that something is over, by an adverb or by a verb."""
    says_no_longer: bool
    """True where it says so by an adverb: "no longer", "any more", "used to"."""
    reports_change: bool
    """True for a change after which something else is so: "started", "turned", "raised"."""
    is_past: bool
    is_event: bool
    """True for an event: something was done, has been done, or was not done at a time."""
    is_single_sentence: bool
    begins_with_question: bool
    is_current: bool
    """True where it says how things stand by now: "now", "so far", "already"."""


@lru_cache(maxsize=8192)
def parse_statement(text: str) -> Statement:
    """Parse the statement that a sentence makes.

    Results are cached, since facts are compared again and again. A text of several sentences is parsed as one statement
    with several clauses; its first sentence gives the subject.
    """
    if " asks" in text:
        # A question that is quoted beside a statement states nothing itself.
        text = _QUOTED_QUESTION.sub("", text).strip() or text
    tokens = _tokenise(text.removeprefix("User says: "))
    words = [token.word for token in tokens]
    measures, measured = find_measures(tokens)
    subject, first = _find_subject(tokens)
    clauses: list[Clause] = []
    clause_of: list[int] = []
    names: set[str] = set()
    for start, end in pairwise(_find_boundaries(tokens)):
        topic = set()
        for place in range(max(start, first), end):
            word = words[place]
            if word not in _IGNORED and place not in measured:
                stem = stem_of(SAME_AS.get(word, word))
                topic.add(stem)
                if tokens[place].is_name:
                    names.add(stem)
        clause_of += [len(clauses)] * (end - start)
        clauses.append(_build_clause(tokens[start:end], words[start:end], topic))
    is_current = not NOW.isdisjoint(words)
    says_no_longer = _says_no_longer(words)
    is_past = begins_in_past(words, first)
    valued = {measure: clause_of[measure.place] for measure in measures}
    main = next((place for place, clause in enumerate(clauses) if clause.topic or place in valued.values()), None)
    return Statement(
        subject=subject,
        possession=_find_possession(text, words[first:]),
        topic=frozenset().union(*(clause.topic for clause in clauses)),
        names=frozenset(names),
        written_words=frozenset(words[first:]),
        stems=frozenset(
            stem_of(word)
            for place, word in enumerate(words)
            if word not in STOP_WORDS and place >= first and place not in measured
        ),
        main=_EMPTY_CLAUSE if main is None else clauses[main],
        measures={
            measure: MeasureContext(
                _hedge_up_to(clauses[place], tokens[clause_of.index(place) : measure.place + 1], is_current),
                clauses[place].topic | (clauses[place - 1].topic if place else frozenset()),
            )
            for measure, place in valued.items()
        },
        rejected=_find_rejected(words),
        says_ended=says_no_longer or _says_stopped(words),
        says_no_longer=says_no_longer,
        reports_change=not TURNS.isdisjoint(words[first : first + 6]),
        is_past=is_past,
        # "has read 12 books" is a running count, not an event.
        is_event=(is_past or (reports_event(text) and not any(measure.kind == "count" for measure in measures)))
        and not is_still_true(text),
        is_single_sentence=sum(token.begins_sentence for token in tokens) <= 1,
        begins_with_question=(_SENTENCE_END.search(text) or ".")[0] == "?",
        is_current=is_current,
    )


_EMPTY_CLAUSE = Clause(frozenset(), denied=False, hedged=False, planned=False)


def _find_boundaries(tokens: Sequence[Token]) -> list[int]:
    """Return the indexes at which clauses begin, and the end of the last one."""
    begins = [
        place
        for place, token in enumerate(tokens)
        if (token.word in _JOINING and not _joins_people(tokens, place))
        or token.boundary == "sentence"
        or (token.boundary and token.word in _OPENING)
    ]
    return [0, *(place for place in begins if place), len(tokens)]


def _joins_people(tokens: Sequence[Token], place: int) -> bool:
    """Return whether an "and" stands within the subject: "User and others", "Marta and User"."""
    after = tokens[place + 1].word if place + 1 < len(tokens) else ""
    return (after == "others" and place < _NEAR) or (after == "user" and place == 1 and tokens[0].word not in USER)


def _build_clause(tokens: Sequence[Token], words: Sequence[str], topic: set[str]) -> Clause:
    """Return the clause that some tokens form."""
    # "never stops" denies nothing.
    denied = _says_no_longer(words) or _says_stopped(words) != _denies(tokens, words)
    hedged = not HEDGES.isdisjoint(words) and _hedges(tokens)
    return Clause(frozenset(topic), denied, hedged, planned=_plans(words))


def _plans(words: Sequence[str]) -> bool:
    """Return whether words state an intention; "has been going to the gym" states none."""
    return any(word in PLANS and not (word == "going" and "been" in words[:place]) for place, word in enumerate(words))


def _hedge_up_to(clause: Clause, tokens: Sequence[Token], is_current: bool) -> Clause:
    """Return a clause as it is meant where a value is given in it.

    tokens: the clause up to the value, since a hedge after the value does not make it less sure.
    """
    if not clause.hedged:
        return clause
    reason = next((place for place in range(len(tokens) - 1, 0, -1) if tokens[place].word in _REASONS), 0)
    return replace(
        clause, hedged=_hedges([token for token in tokens[reason:] if not is_current or token.word not in _BELIEVING])
    )


_BELIEVING = frozenset(("think", "thinks", "probably"))
"""Hedges that do not count in a current statement: "I think it's twelve by now" still states a count."""
_REASONS = frozenset(("since", "because", "considering"))
"""Words before a reason, which is stated as true: "Maybe I should rest, since I ran 10 km"."""


def _hedges(tokens: Sequence[Token]) -> bool:
    """Return whether a hedging word is among tokens; May and Will are people."""
    return any(token.word in HEDGES and not token.is_name for token in tokens)


_IGNORED = EMPTY | STOP_WORDS | USER | PRONOUNS | DENIALS | ENDINGS | HEDGES | NOW | frozenset(DAYS) | frozenset(MONTHS)

_IGNORED_BUT_DAYS = _IGNORED - frozenset(DAYS)


def find_topic_stems(phrase: str) -> list[str]:
    """Return the content words of a phrase in the form in which topics are compared."""
    words = (token.word for token in _tokenise(phrase) if token.kind == "word")
    return [stem_of(SAME_AS.get(word, word)) for word in words if word not in _IGNORED]


def _tokenise(text: str) -> list[Token]:
    """Split a text into tokens, each of which knows the punctuation before it."""
    tokens: list[Token] = []
    begins_sentence = True
    boundary: Literal["", "part", "sentence"] = "sentence"
    depth = 0
    for found in _TOKEN.finditer(unicodedata.normalize("NFKC", text[:_LONGEST])):
        kind, raw = found.lastgroup, found[0]
        if kind == "stop":
            boundary = "part" if raw in _INNER_PUNCTUATION else "sentence"
            begins_sentence = begins_sentence or raw in ".!?"
            depth = max(depth + (raw == "(") - (raw == ")"), 0)
            continue
        word = raw.lower().replace("’", "'")  # noqa: RUF001
        if "'" in word:
            word = next((word.removesuffix(end) for end in _CLINGING if word.endswith(end)), word).replace("'", "")
        is_name = kind == "word" and raw[0].isupper() and not begins_sentence and word not in USER
        tokens.append(Token(word, kind, is_name, begins_sentence, boundary, depth > 0))  # type: ignore[arg-type]  # groups are kinds
        begins_sentence, boundary = False, ""
    return tokens


def _find_subject(tokens: Sequence[Token]) -> tuple[str | None, int]:
    """Return the subject of a sentence, and the index at which its predicate begins."""
    first = 1 if tokens and tokens[0].word == "the" else 0
    if first >= len(tokens):
        return None, 0
    word = tokens[first].word
    if word in USER:
        return "user", first + 1
    if [token.word for token in tokens[first + 1 : first + 3]] == ["and", "user"]:
        return "user", first
    return (None, 0) if first or word in _IGNORED else (word, 1)


def _find_possession(text: str, predicate: Sequence[str]) -> str | None:
    """Return the first content word after a possessive that begins the text; None if no possessive does."""
    if _POSSESSIVE.match(text) is None:
        return None
    return next((word for word in predicate if word not in _IGNORED), None)


def _says_no_longer(words: Sequence[str]) -> bool:
    """Return whether an adverb says that something is over."""
    # Most sentences have none of these words, and a set is quicker than going through pairs.
    return not _ENDING.isdisjoint(words) and ("anymore" in words or any(pair in _OVER for pair in pairwise(words)))


_OVER = frozenset({("no", "longer"), ("any", "more"), ("used", "to")})
_ENDING = frozenset({"anymore", "longer", "more", "used"})


def _find_rejected(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of what a sentence says is no longer so, where it names what is so now as well."""
    if _REJECTING.isdisjoint(words):
        return frozenset()
    moves = not _CHANGING.isdisjoint(words)
    ends = _says_no_longer(words)
    found: set[str] = set()
    for place, (word, after) in enumerate(pairwise(words)):
        from_to = word == "from" and moves and "to" in words[place + 2 : place + 6]
        not_but = word in _NOT and after not in ("only", "just") and (ends or "but" in words[place + 2 : place + 6])
        if from_to or not_but or (word, after) in _IN_PLACE:
            near = words[place + 1 : place + 1 + _NEAR]
            content_words = [each for each in near if each not in _IGNORED_BUT_DAYS][:_FEW]
            found.update(DAYS.get(each, stem_of(SAME_AS.get(each, each))) for each in content_words)
    return frozenset(found)


_REJECTING = frozenset({"from", "not", "isnt", "arent", "instead", "rather", "longer"})
_CHANGING = frozenset(
    "moved moves moving relocated changed changes changing switched switches switching transferred rescheduled shifted "
    "postponed upgraded converted".split()
)
"""Verbs of a change "from" an old value "to" a new one."""
_IN_PLACE = frozenset({("instead", "of"), ("rather", "than"), ("no", "longer")})
_NOT = frozenset({"not", "isnt", "arent"})
_FEW = 3
_NEAR = 5


def _denies(tokens: Sequence[Token], words: Sequence[str]) -> bool:
    """Return whether something is denied; the "no" of "No, it is ten" answers another speaker and denies nothing."""
    if DENIALS.isdisjoint(words):
        return False
    return any(
        token.word in DENIALS and (token.word != "no" or not after.boundary)
        for token, after in zip(tokens, [*tokens[1:], _END], strict=True)
    )


_END = Token("", "word", is_name=False, begins_sentence=True, boundary="sentence")


def _says_stopped(words: Sequence[str]) -> bool:
    """Return whether a verb says that something is over: "stopped", "gave up"."""
    return not ENDINGS.isdisjoint(words) or ("up" in words and any(pair in _GIVING_UP for pair in pairwise(words)))


_GIVING_UP = frozenset({("gave", "up"), ("given", "up"), ("giving", "up")})
