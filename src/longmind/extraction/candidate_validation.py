"""Validation of candidates, which are not trusted: they may come from a model that was talked into something.

Values are repaired where that is possible: numbers are clamped, texts are trimmed, and citations of unknown messages
are dropped. A candidate that cannot be repaired is refused with a reason, and the others are not affected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from longmind.clock import Micros, to_iso
from longmind.errors import InvalidInput, LimitExceeded
from longmind.extraction.candidate import Candidate, Change, Mention, Slot, SourceMessage
from longmind.extraction.source_trust import find_trust, may_say_kind
from longmind.models.atom import AtomKind, Precision
from longmind.models.entity import EntityType, fold_name
from longmind.validation.text import validate_text

MOST_ATOMS = 500
"""Candidates of one job that may become atoms."""
_MOST_MEMBERS = 50
_TEXT_LIMIT = 10_000
_NAME_LIMIT = 255


def validate_candidates(
    candidates: Iterable[Candidate], messages: Sequence[SourceMessage]
) -> list[tuple[Candidate, str | None]]:
    """Return the candidates, repaired where possible, each with the reason to refuse it, or None.

    messages: the messages that were read; a candidate must rest on at least one that is new.
    """
    by_id = {message.id: message for message in messages}
    validated: list[tuple[Candidate, str | None]] = []
    accepted = 0
    for candidate in candidates:
        repaired, refusal = _repair(candidate, by_id)
        if refusal is None and accepted >= MOST_ATOMS:
            refusal = f"One extraction makes at most {MOST_ATOMS} atoms."
        accepted += refusal is None
        validated.append((repaired, refusal))
    return validated


def find_time(candidate: Candidate, messages: Mapping[str, SourceMessage]) -> Micros:
    """Return when the newest message that a candidate rests on was said."""
    return max(messages[each].said_at for each in candidate.source_message_ids)


def _repair(candidate: Candidate, messages: Mapping[str, SourceMessage]) -> tuple[Candidate, str | None]:
    """Return a candidate with valid values, and the reason to refuse it, or None."""
    cited = tuple(dict.fromkeys(each for each in candidate.source_message_ids if each in messages))
    candidate = replace(candidate, source_message_ids=cited)
    if all(messages[each].read_only for each in cited):
        return candidate, "It cites no message that was extracted."
    if candidate.kind not in get_args(AtomKind):
        return candidate, "Its kind is unknown."
    if candidate.kind == "PATTERN":
        return candidate, "Only the platform makes patterns, from many episodes."
    text = _repair_text(candidate.text, _TEXT_LIMIT)
    if text is None:
        return candidate, "Its text is blank, too long or cannot be stored."
    # Never more than the word of the messages it rests on, whatever the extractor says.
    trust = find_trust(candidate.trust, {messages[each].role for each in cited})
    candidate = replace(
        candidate,
        text=text,
        trust=trust,
        category_name=_repair_text(candidate.category_name, _NAME_LIMIT) or candidate.kind.lower(),
        importance=round(_clamp(candidate.importance, 1, 5, otherwise=3)),
        confidence=float(_clamp(candidate.confidence, 0, 1, otherwise=0.5)),
        tags=_repair_names(candidate.tags),
        mentions=_repair_mentions(candidate.mentions),
        speaker=_repair_text(candidate.speaker, _NAME_LIMIT),
        search_context=tuple(
            _repair_text(each, _TEXT_LIMIT) or "" for each in candidate.search_context[:_MOST_MEMBERS]
        ),
        slot=validate_slot(candidate.slot),
        precision=candidate.precision if candidate.precision in get_args(Precision) else "instant",
        valid_from=_repair_instant(candidate.valid_from),
        valid_to=_repair_instant(candidate.valid_to),
        change=candidate.change if candidate.change in get_args(Change) else "none",
        changes_atom=_repair_text(candidate.changes_atom, _NAME_LIMIT),
    )
    begins = find_time(candidate, messages) if candidate.valid_from is None else candidate.valid_from
    if candidate.valid_to is not None and candidate.valid_to <= begins:
        candidate = replace(candidate, valid_to=None)
    if not may_say_kind(trust, candidate.kind):
        return candidate, "Only the user can state a rule or a preference."
    return candidate, None


def _repair_instant(instant: object) -> Micros | None:
    """Return an instant that can be stored, or None."""
    if isinstance(instant, bool) or not isinstance(instant, int):
        return None
    try:
        to_iso(instant)
    except (OverflowError, ValueError):
        return None
    return instant


def _clamp(number: object, least: float, most: float, otherwise: float) -> float:
    """Return a number within its bounds, or `otherwise` for anything that is not a finite number."""
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return min(most, max(least, number))
    return otherwise


def _repair_mentions(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Return the valid mentions, each entity once."""
    valid: dict[tuple[str, str], Mention] = {}
    for mention in mentions:
        name = _repair_text(mention.name, _NAME_LIMIT)
        if name is not None and mention.type in get_args(EntityType):
            aliases = _repair_names(mention.aliases)
            valid.setdefault((mention.type, fold_name(name)), Mention(name, mention.type, aliases))
    return tuple(valid.values())[:_MOST_MEMBERS]


def validate_slot(slot: Slot | None) -> Slot | None:
    """Return a slot in the form in which slots are compared, or None if a part of it is not valid."""
    if slot is None:
        return None
    parts = [_repair_text(each, _NAME_LIMIT) for each in (slot.subject, slot.attribute, slot.value)]
    return None if None in parts else Slot(*(fold_name(each) for each in parts if each is not None))


def _repair_names(names: Iterable[object]) -> tuple[str, ...]:
    """Return the valid names, each once."""
    valid = (_repair_text(each, _NAME_LIMIT) for each in names)
    return tuple(dict.fromkeys(each for each in valid if each is not None))[:_MOST_MEMBERS]


def _repair_text(text: object, limit: int) -> str | None:
    """Return a text that can be stored, without space around it, or None."""
    try:
        return validate_text("text", text, limit=limit, blank=False).strip()
    except (InvalidInput, LimitExceeded):
        return None
