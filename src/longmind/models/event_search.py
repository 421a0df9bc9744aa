"""Results of a search among events."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from longmind.models.event import Event
from longmind.models.recall import WEAK_BELOW
from longmind.models.value import Value

SearchMode = Literal["auto", "semantic", "lexical", "hybrid", "structural"]


class SearchItem(Value):
    """The entry of the search index for a hit."""

    model_config = ConfigDict(serialize_by_alias=False)

    item_id: str
    corpus: str
    score: float
    metadata: dict[str, Any]


class EventSearchResult(Value):
    """An event that was found, with its score."""

    model_config = ConfigDict(serialize_by_alias=False)

    item: SearchItem
    event: Event
    weak: bool = False
    """True if the score is too low for the event to count as an answer."""

    @property
    def score(self) -> float:
        """The probability, from 0 to 1, that the event is about the query; 0 where the search had no query."""
        return self.item.score

    @classmethod
    def from_event(cls, event: Event, score: float) -> EventSearchResult:
        """Make a result from an event and its score."""
        metadata = {name: getattr(event, name) for name in _METADATA}
        item = SearchItem(item_id=event.event_id, corpus="event", score=score, metadata=metadata)
        # Without a query the score is exactly 0, which a probability never is.
        return cls(item=item, event=event, weak=0.0 < score < WEAK_BELOW)


_METADATA = (
    "kind", "stage", "ts", "tags", "topic", "severity", "signal", "scope_id", "session_id", "run_id", "user_id",
    "org_id",
)  # fmt: skip
