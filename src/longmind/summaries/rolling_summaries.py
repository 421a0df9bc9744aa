"""Rolling summaries: one text for each conversation that grows with it.

A refresh reads the standing summary and the finished turns after it, summarises them outside any transaction, and
writes the result only if the standing summary is still the one it read. Two refreshes at once therefore never undo each
other: the slower one notices, and stops if the faster one went at least as far.
"""

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
    """The refresh of rolling summaries, called by an operation and by a job."""

    def __init__(self, database: Database, summariser: Callable[[], Summariser], clock: Clock, limit: int) -> None:
        self._database = database
        self._summariser = summariser
        self._clock = clock
        self._limit = limit

    def refresh(self, scope: Scope, conversation_id: str) -> RollingSummary:
        """Bring the summary of a conversation up to its last finished turn.

        A failure of the summariser is returned as the outcome `failed` with its message, and changes nothing.
        """
        # Each turn of the loop means that another refresh wrote in between, so it ends as soon as that one stops.
        while True:
            found = self._database.read(scope, summaries.read_unsummarised, conversation_id, self._clock())
            try:
                new = self._summarise(found)
            except Exception as error:
                return _to_rolling_summary("failed", found.standing, _describe_error(error))
            if new is None:
                return _to_rolling_summary("unchanged" if found.standing.text else "skipped_empty", found.standing)
            if self._database.write(
                scope, summaries.replace, scope, conversation_id, found.standing, new, self._clock()
            ):
                return _to_rolling_summary("updated", StandingSummary(new.text, new.until))
            # Another refresh was faster. If it reached the same turn, there is nothing left to do.
            standing = self._database.read(scope, summaries.find_latest, conversation_id)
            if standing.until >= new.until:
                return _to_rolling_summary("unchanged", standing)

    def _summarise(self, found: Unsummarised) -> NewSummary | None:
        """Return the summary that is to replace the standing one; None when there is nothing to add."""
        messages = [source for source in map(to_source_message, found.messages) if source is not None]
        if not messages:
            return None
        summariser = self._summariser()
        text = summariser.summarise(None if found.from_start else found.standing.text, messages, self._limit)
        # A summariser of the host may return anything; what is stored is checked like any other input.
        text = validate_text("The summary", text, limit=self._limit).strip()
        return NewSummary(text, found.until, summariser.name) if text else None


def _to_rolling_summary(outcome: SummaryOutcome, standing: StandingSummary, error: str | None = None) -> RollingSummary:
    return RollingSummary(
        outcome=outcome,
        rolling_summary=standing.text,
        rolling_summary_until_seq=standing.until,
        error=error,
    )


def _describe_error(error: Exception) -> str:
    return str(error) if isinstance(error, LongmindError) else f"{type(error).__name__}: {error}"
