"""From a model's facts to candidates: what they may be is decided by the messages that they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from longmind.extraction.candidate import Candidate, Slot, SourceMessage
from longmind.extraction.model.answer_schema import Fact, FactV2, read_moment
from longmind.extraction.model.transcript import TranscriptWindow
from longmind.models.atom import BEHAVIORAL_KINDS, AtomKind
from longmind.models.entity import fold_name

_FROM_MOST_TRUSTED = ("user", "assistant", "tool")
_WORDS_AROUND = 50
_GENERAL = "general"


def build_candidates(
    facts: Sequence[Fact], window: TranscriptWindow, messages: Sequence[SourceMessage]
) -> Iterator[Candidate]:
    """Those facts that rest on something new in the window. Numbers of messages that are not in it are passed over."""
    for fact in facts:
        cited = {message.id: message for number in fact.sources if (message := window.cited(number.strip()))}
        kind, sources = _kind_and_sources(fact.kind, list(cited.values()))
        if any(window.is_new(message) for message in sources):
            yield _candidate(fact, kind, sources, messages)


def _candidate(
    fact: Fact, kind: AtomKind, cited: Sequence[SourceMessage], messages: Sequence[SourceMessage]
) -> Candidate:
    begun = read_moment(fact.valid_from)
    if begun and begun[0] > max(message.said_at for message in cited):
        # A plan is known, and to be found, from when it was made: the day it is for stands in its text.
        begun = None
    candidate = Candidate(
        text=fact.text,
        category_name=fact.category or _GENERAL,
        kind=kind,
        trust=max((message.role for message in cited), key=_FROM_MOST_TRUSTED.index),
        source_message_ids=tuple(message.id for message in cited),
        importance=fact.importance,
        confidence=fact.confidence,
        valid_from=begun[0] if begun else None,
        precision=begun[1] if begun else "instant",
        mentions=fact.mentions(),
        search_context=_around(cited[0], messages),
    )
    return _detailed(candidate, fact) if isinstance(fact, FactV2) else candidate


def _kind_and_sources(kind: AtomKind, cited: list[SourceMessage]) -> tuple[AtomKind, list[SourceMessage]]:
    """How to behave is the user's to say. What others said of it is a fact, trusted as far as they are."""
    if kind not in BEHAVIORAL_KINDS:
        return kind, cited
    by_user = [message for message in cited if message.role == "user"]
    if not by_user or any(message.role == "tool" for message in cited):
        return "FACT", cited
    # What the assistant proposed and the user agreed to rests on the agreement.
    return kind, by_user


def _detailed(candidate: Candidate, fact: FactV2) -> Candidate:
    ended = read_moment(fact.valid_to)
    # A month or a year says by itself how exact it is.
    exact = candidate.valid_from is not None and candidate.precision in ("instant", "day")
    slot = fact.slot
    return replace(
        candidate,
        valid_to=ended[0] if ended and (candidate.valid_from is None or ended[0] > candidate.valid_from) else None,
        precision=fact.precision if exact else candidate.precision,
        slot=Slot(*map(fold_name, (slot.subject, slot.attribute, slot.value))) if slot else None,
        corrects=fact.corrects,
        tags=tuple(dict.fromkeys(fact.tags)),
    )


def _around(source: SourceMessage, messages: Sequence[SourceMessage]) -> tuple[str, ...]:
    """The words a fact was said in, then those before and after."""
    place = next(place for place, message in enumerate(messages) if message.id == source.id)
    before = messages[place - 1].text.split()[-_WORDS_AROUND:] if place > 0 else []
    after = messages[place + 1].text.split()[:_WORDS_AROUND] if place + 1 < len(messages) else []
    return tuple(" ".join(words) for words in (source.text.split()[:_WORDS_AROUND], before, after))
