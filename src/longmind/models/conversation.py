"""Conversations: append-only streams of messages of one user in one namespace.

A closed conversation takes no more messages. Its rolling summary covers whole turns from the beginning up to a
sequence number.
"""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

ConversationStatus = Literal["open", "closed"]


class Conversation(Value):
    """A conversation in its present state, without its messages."""

    id: str
    tenant_id: str
    app_id: str
    namespace: str
    user_id: str
    title: str | None
    session_id: str | None
    status: ConversationStatus
    metadata: dict[str, Any]
    # Derived from its messages.
    message_count: int
    rolling_summary: str | None
    rolling_summary_until_seq: int
    created_at: str
    updated_at: str
    closed_at: str | None


SummaryOutcome = Literal["updated", "unchanged", "skipped_empty", "failed"]


class RollingSummary(Value):
    """The outcome of a refresh of a rolling summary, and the summary as it is now."""

    outcome: SummaryOutcome
    """`unchanged`: no turn was finished since; `skipped_empty`: there is nothing to summarise yet."""
    rolling_summary: str | None
    rolling_summary_until_seq: int
    """The last message that is covered, always the end of a turn."""
    error: str | None = None
    """The reason why the refresh `failed`; the summary is then unchanged."""
