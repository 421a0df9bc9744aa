"""Search once more, as plainly as it can be written: every event is looked at, one after the other.

It shares constants with Longmind, and with the reference of recall the ways in which words and vectors are measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import longmind
from longmind.clock import to_micros
from longmind.providers.embedder import Embedder
from longmind.recall.question import understand_question
from longmind.recall.ranking.events import MEANING_SHARE, NEAR, UNKNOWN_USUAL, WORDS_SHARE
from tests.recall.reference import Known, Reference, _standardised


@dataclass(frozen=True)
class Asked:
    query: str
    mode: str
    kinds: Sequence[str] | None = None
    tags: Sequence[str] = ()
    run_id: str | None = None
    since: int | None = None


def expected(events: Sequence[longmind.Event], embedder: Embedder | None, asked: Asked) -> dict[str, float]:
    """The score of each event that is to be found, by its id; those of a structural search are instants."""
    passing = [event for event in events if _passes(event, asked)]
    if asked.mode == "structural":
        return {event.event_id: float(to_micros(event.ts)) for event in passing}
    there = [_known(event, position) for position, event in enumerate(events)]
    reference = Reference(embedder, there)
    question = understand_question(asked.query, (), 0, by_words=embedder is None or asked.mode == "lexical")
    words = reference._words(question.terms, there) if question.terms else dict.fromkeys(_ids(events), 0.0)
    if embedder is None or asked.mode == "lexical":
        return {each: words[each] / math.sqrt(len(question.terms)) for each in _ids(passing) if words[each] > 0}
    # What says nothing has no vector.
    compared = reference._cosines(asked.query, [each for each in there if each.text])
    cosines = dict.fromkeys(_ids(events)) | {each: pair and pair[1] for each, pair in compared.items()}
    near = _standardised({each: None if one is None else (one, one) for each, one in cosines.items()}, UNKNOWN_USUAL)
    found = [each for each in _ids(passing) if words[each] > 0 or near[each] >= NEAR]
    meaning = {each: cosines[each] or 0.0 for each in found}
    if asked.mode == "semantic":
        return {each: min(max(meaning[each], 0.0), 1.0) for each in found}
    return {
        each: MEANING_SHARE * _share(meaning[each], meaning.values())
        + WORDS_SHARE * _share(words[each], [words[other] for other in found])
        for each in found
    }


def _passes(event: longmind.Event, asked: Asked) -> bool:
    return (
        (asked.kinds is None or event.kind in asked.kinds)
        and set(event.tags or ()) >= set(asked.tags)
        and (asked.run_id is None or event.run_id == asked.run_id)
        and (asked.since is None or to_micros(event.ts) >= asked.since)
    )


def _ids(events: Sequence[longmind.Event]) -> list[str]:
    return [event.event_id for event in events]


def _share(value: float, values: Iterable[float]) -> float:
    among = list(values)
    least, most = min(among), max(among)
    return float((value - least) / (most - least)) if most > least else float(value > 0)


def _known(event: longmind.Event, position: int) -> Known:
    at = to_micros(event.ts)
    return Known(
        id=event.event_id,
        position=position,
        text=event.text or "",
        around=(),
        category="event",
        kind="EPISODE",
        importance=3,
        tags=frozenset(),
        trust="user",
        speaker=None,
        entities=set(),
        valid_from=at,
        valid_to=None,
        open_until=None,
        created_at=at,
    )
