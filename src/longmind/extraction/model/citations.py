"""Candidates from the facts of a model, limited by the messages that the facts cite.

A fact that cites no new message of its window is dropped. Its trust is that of its least trusted source, and it is a
rule or a preference only if the user said it. What a fact does to a known one stays a proposal, which reconciliation
checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from longmind.extraction.candidate import Candidate, Change, Slot, SourceMessage
from longmind.extraction.model.answer_schema import AnyFact, FactDecision, FactV2, FactV3, read_moment
from longmind.extraction.model.numbered_facts import NumberedFacts
from longmind.extraction.model.transcript import TranscriptWindow
from longmind.extraction.slot_types import SLOT_TYPES
from longmind.extraction.source_trust import find_least_trusted
from longmind.models.atom import BEHAVIORAL_KINDS, AtomKind
from longmind.models.entity import fold_name

_CONTEXT_WORDS = 50
_GENERAL = "general"
"""The category of a fact that has none."""
_CHANGES: dict[FactDecision, Change] = {"replace": "replaces", "correct": "corrects", "end": "ends"}
_QUALIFIED = frozenset(
    "account appointment budget deadline favourite host measurement repository schedule tool_version".split()
)
"""Attributes of which one has several at a time: without a qualifier, a value could replace that of something else."""


def build_candidates(
    facts: Sequence[AnyFact], window: TranscriptWindow, messages: Sequence[SourceMessage], known: NumberedFacts
) -> Iterator[Candidate]:
    """Yield the candidates of the facts that rest on a new message of the window.

    Numbers that are not in the window are ignored. `messages` are those of the whole conversation, and `known` are the
    facts that the model was shown with it.
    """
    for fact in facts:
        cited = {message.id: message for number in fact.sources if (message := window.find_message(number.strip()))}
        kind, sources = _limit_kind(fact.kind, list(cited.values()))
        if any(window.is_new(message) for message in sources):
            candidate = _build_candidate(fact, kind, sources, messages)
            yield _add_decision(candidate, fact, known) if isinstance(fact, FactV3) else candidate


def count_unknown(facts: Iterable[AnyFact], known: NumberedFacts) -> int:
    """Return how many decisions name a fact that the model was not shown."""
    return sum(isinstance(fact, FactV3) and _names_unknown(fact, known) for fact in facts)


def _names_unknown(fact: FactV3, known: NumberedFacts) -> bool:
    """Return whether a decision names a fact that the model was not shown."""
    return fact.decision != "add" and fact.of is not None and known.find_atom_id(fact.of) is None


def _build_candidate(
    fact: AnyFact, kind: AtomKind, cited: Sequence[SourceMessage], messages: Sequence[SourceMessage]
) -> Candidate:
    """Return the candidate of a fact that rests on some messages."""
    begun = read_moment(fact.valid_from)
    if begun and begun[0] > max(message.said_at for message in cited):
        # A plan is true from when it was made; the day it is for stands in its text.
        begun = None
    candidate = Candidate(
        text=fact.text,
        category_name=fact.category or _GENERAL,
        kind=kind,
        trust=find_least_trusted(message.role for message in cited),
        source_message_ids=tuple(message.id for message in cited),
        importance=fact.importance,
        confidence=fact.confidence,
        valid_from=begun[0] if begun else None,
        precision=begun[1] if begun else "instant",
        mentions=fact.to_mentions(),
        search_context=_build_search_context(cited[0], messages),
    )
    return _add_details(candidate, fact) if isinstance(fact, FactV2) else candidate


def _limit_kind(kind: AtomKind, cited: list[SourceMessage]) -> tuple[AtomKind, list[SourceMessage]]:
    """Return the kind that a fact may have, and the messages that it then rests on.

    Only the user may say how an agent is to behave; the words of others about it are plain facts.
    """
    if kind not in BEHAVIORAL_KINDS:
        return kind, cited
    by_user = [message for message in cited if message.role == "user"]
    if not by_user or any(message.role == "tool" for message in cited):
        return "FACT", cited
    # A proposal of the assistant that the user agreed to rests on the agreement.
    return kind, by_user


def _add_details(candidate: Candidate, fact: FactV2) -> Candidate:
    """Return a candidate with the fields that only the second version of the prompt asks for."""
    ended = read_moment(fact.valid_to)
    # A month or a year shows its precision by itself.
    is_exact = candidate.valid_from is not None and candidate.precision in ("instant", "day")
    slot = fact.slot
    return replace(
        candidate,
        valid_to=ended[0] if ended and (candidate.valid_from is None or ended[0] > candidate.valid_from) else None,
        precision=fact.precision if is_exact else candidate.precision,
        slot=Slot(*map(fold_name, (slot.subject, slot.attribute, slot.value))) if slot else None,
        corrects=fact.corrects,
        tags=tuple(dict.fromkeys(fact.tags)),
    )


def _add_decision(candidate: Candidate, fact: FactV3, known: NumberedFacts) -> Candidate:
    """Return a candidate with its slot, and with what it does to a known fact.

    It only adds if the speaker hedges, and if it names a fact that the model was not shown.
    """
    candidate = replace(candidate, category_name=fact.category or _find_category(fact), slot=_find_slot(fact))
    if fact.decision == "add" or fact.is_hedged or _names_unknown(fact, known):
        return candidate
    change = _CHANGES.get(fact.decision, "none")
    return replace(candidate, change=change, changes_atom=known.find_atom_id(fact.of), corrects=change != "none")


def _find_category(fact: FactV3) -> str:
    """Return the usual category of the attribute of a fact."""
    slot_type = SLOT_TYPES.get(_to_attribute(fact))
    return _GENERAL if slot_type is None else slot_type.category


def _find_slot(fact: FactV3) -> Slot | None:
    """Return the slot that a fact fills, or None unless it states the one value of an attribute that holds now."""
    attribute, slot_type = _to_attribute(fact), SLOT_TYPES.get(_to_attribute(fact))
    if slot_type is None or not slot_type.single or fact.value is None:
        return None
    if fact.negated or fact.is_hedged or fact.decision == "end":
        return None
    if fact.kind == "INTENTION" and slot_type.kind != "INTENTION":
        return None
    if fact.qualifier is None and attribute in _QUALIFIED:
        return None
    # "Anna (sister)" is Anna.
    subject = fold_name(fact.subject.partition(" (")[0]).removeprefix("the ")
    return Slot(subject, fold_name(f"{attribute} {fact.qualifier or ''}"), fold_name(fact.value))


def _to_attribute(fact: FactV3) -> str:
    """Return the attribute of a fact in the form of the table of slots."""
    return fold_name(fact.attribute or "").replace(" ", "_")


def _build_search_context(source: SourceMessage, messages: Sequence[SourceMessage]) -> tuple[str, ...]:
    """Return the words of the message that a fact was said in, then those before and after it."""
    place = next(place for place, message in enumerate(messages) if message.id == source.id)
    before = messages[place - 1].text.split()[-_CONTEXT_WORDS:] if place > 0 else []
    after = messages[place + 1].text.split()[:_CONTEXT_WORDS] if place + 1 < len(messages) else []
    return tuple(" ".join(words) for words in (source.text.split()[:_CONTEXT_WORDS], before, after))
