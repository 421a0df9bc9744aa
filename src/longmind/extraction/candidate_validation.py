"""What an extractor gives is not trusted: it may come from a model that was talked into something.

A candidate that cannot be mended is left out; nothing of it stops the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidInput, LimitExceeded
from longmind.extraction.candidate import Candidate, Mention, Slot, SourceMessage
from longmind.models.atom import BEHAVIORAL_KINDS, AtomKind, Precision, Trust
from longmind.models.entity import EntityType, fold_name
from longmind.validation.text import validate_text

MOST_ATOMS = 500
"""Candidates of one job."""
_MOST_MEMBERS = 50
_TEXT_LIMIT = 10_000
_NAME_LIMIT = 255
_TRUST_OF: dict[str, Trust] = {"user": "user", "assistant": "assistant", "tool": "tool"}


def validate_candidates(
    candidates: Iterable[Candidate], messages: Sequence[SourceMessage]
) -> list[tuple[Candidate, str | None]]:
    """The candidates as far as they can be believed, each with the reason to leave it out, if there is one."""
    by_id = {message.id: message for message in messages}
    found: list[tuple[Candidate, str | None]] = []
    kept = 0
    for candidate in candidates:
        checked, refusal = _checked(candidate, by_id)
        if refusal is None and kept >= MOST_ATOMS:
            refusal = f"One extraction gives at most {MOST_ATOMS} atoms."
        kept += refusal is None
        found.append((checked, refusal))
    return found


def find_time(candidate: Candidate, messages: Mapping[str, SourceMessage]) -> Micros:
    """When the newest message that a candidate rests on was said."""
    return max(messages[each].said_at for each in candidate.source_message_ids)


def _checked(candidate: Candidate, messages: Mapping[str, SourceMessage]) -> tuple[Candidate, str | None]:
    cited = tuple(dict.fromkeys(each for each in candidate.source_message_ids if each in messages))
    candidate = replace(candidate, source_message_ids=cited)
    if all(messages[each].read_only for each in cited):
        return candidate, "It rests on no message of what is extracted."
    if candidate.kind not in get_args(AtomKind):
        return candidate, "There is no such kind."
    if candidate.kind == "PATTERN":
        return candidate, "Patterns are found by the platform, from many episodes."
    text = _text(candidate.text, _TEXT_LIMIT)
    if text is None:
        return candidate, "Its text is blank, too long or cannot be stored."
    trust = _trust(candidate, messages)
    candidate = replace(
        candidate,
        text=text,
        trust=trust,
        category_name=_text(candidate.category_name, _NAME_LIMIT) or candidate.kind.lower(),
        importance=round(_clamped(candidate.importance, 1, 5, otherwise=3)),
        confidence=float(_clamped(candidate.confidence, 0, 1, otherwise=0.5)),
        tags=_texts(candidate.tags),
        mentions=_mentions(candidate.mentions),
        speaker=_text(candidate.speaker, _NAME_LIMIT),
        search_context=tuple(_text(each, _TEXT_LIMIT) or "" for each in candidate.search_context[:_MOST_MEMBERS]),
        slot=validate_slot(candidate.slot),
        precision=candidate.precision if candidate.precision in get_args(Precision) else "instant",
        valid_from=_instant(candidate.valid_from),
        valid_to=_instant(candidate.valid_to),
    )
    begins = find_time(candidate, messages) if candidate.valid_from is None else candidate.valid_from
    if candidate.valid_to is not None and candidate.valid_to <= begins:
        candidate = replace(candidate, valid_to=None)
    if candidate.kind in BEHAVIORAL_KINDS and trust != "user":
        return candidate, "Only what the user says makes a rule or a preference."
    return candidate, None


def _trust(candidate: Candidate, messages: Mapping[str, SourceMessage]) -> Trust:
    """Whose word it is: never more than that of those who said it."""
    roles = {messages[each].role for each in candidate.source_message_ids}
    if candidate.trust in roles:
        return candidate.trust
    return _TRUST_OF["tool" if roles == {"tool"} else "assistant" if "user" not in roles else "user"]


def _instant(instant: object) -> Micros | None:
    if isinstance(instant, bool) or not isinstance(instant, int):
        return None
    try:
        to_iso(instant)
    except (OverflowError, ValueError):
        return None
    return instant


def _clamped(number: object, least: float, most: float, otherwise: float) -> float:
    """The number within its bounds, or something in the middle in the place of what is no number."""
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return min(most, max(least, number))
    return otherwise


def _mentions(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    kept: dict[tuple[str, str], Mention] = {}
    for mention in mentions:
        name = _text(mention.name, _NAME_LIMIT)
        if name is not None and mention.type in get_args(EntityType):
            kept.setdefault((mention.type, fold_name(name)), Mention(name, mention.type, _texts(mention.aliases)))
    return tuple(kept.values())[:_MOST_MEMBERS]


def validate_slot(slot: Slot | None) -> Slot | None:
    """The slot in the form in which slots are compared; None if that is not possible."""
    if slot is None:
        return None
    parts = [_text(each, _NAME_LIMIT) for each in (slot.subject, slot.attribute, slot.value)]
    return None if None in parts else Slot(*(fold_name(each) for each in parts if each is not None))


def _texts(texts: Iterable[object]) -> tuple[str, ...]:
    kept = (_text(each, _NAME_LIMIT) for each in texts)
    return tuple(dict.fromkeys(each for each in kept if each is not None))[:_MOST_MEMBERS]


def _text(text: object, limit: int) -> str | None:
    """A text that can be stored, or None."""
    try:
        return validate_text("text", text, limit=limit, blank=False).strip()
    except (InvalidInput, LimitExceeded):
        return None
