"""The rolling summary of a conversation: refreshed by hand or by a job, and never at odds with another refresh."""

from __future__ import annotations

from collections.abc import Callable

from longmind.clock import Clock
from longmind.errors import LongmindError
from longmind.extraction.source_messages import to_source_message
from longmind.models.conversation import RollingSummary, SummaryOutcome
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import summaries
from longmind.store.tables.summaries import NewSummary, StandingSummary, Unsummarised
from longmind.summaries.summariser import Summariser
from longmind.validation.text import validate_text


class RollingSummaries:
    def __init__(self, database: Database, summariser: Callable[[], Summariser], clock: Clock, limit: int) -> None:
        self._database = database
        self._summariser = summariser
        self._clock = clock
        self._limit = limit

    def refresh(self, scope: Scope, conversation_id: str) -> RollingSummary:
        """Bring a summary up to the last turn that is finished. What the summariser raises is told as `failed`."""
        while True:
            found = self._database.read(scope, summaries.read_unsummarised, conversation_id, self._clock())
            try:
                new = self._summarised(found)
            except Exception as error:
                return _told("failed", found.standing, _words(error))
            if new is None:
                return _told("unchanged" if found.standing.text else "skipped_empty", found.standing)
            if self._database.write(
                scope, summaries.replace, scope, conversation_id, found.standing, new, self._clock()
            ):
                return _told("updated", StandingSummary(new.text, new.until))
            # Another refresh was faster. If it went as far, it has done all that was asked for here.
            standing = self._database.read(scope, summaries.find_latest, conversation_id)
            if standing.until >= new.until:
                return _told("unchanged", standing)

    def _summarised(self, found: Unsummarised) -> NewSummary | None:
        """What follows the standing summary; None when there is nothing to add to it."""
        messages = [source for source in map(to_source_message, found.messages) if source is not None]
        if not messages:
            return None
        summariser = self._summariser()
        text = summariser.summarise(None if found.anew else found.standing.text, messages, self._limit)
        text = validate_text("The summary", text, limit=self._limit).strip()
        return NewSummary(text, found.until, summariser.name) if text else None


def _told(outcome: SummaryOutcome, standing: StandingSummary, error: str | None = None) -> RollingSummary:
    return RollingSummary(
        outcome=outcome,
        rolling_summary=standing.text,
        rolling_summary_until_seq=standing.until,
        error=error,
    )


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, LongmindError) else f"{type(error).__name__}: {error}"
