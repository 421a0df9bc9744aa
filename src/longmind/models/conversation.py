"""A conversation: an append-only stream of messages of one user in one namespace."""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

ConversationStatus = Literal["open", "closed"]


class Conversation(Value):
    id: str
    tenant_id: str
    app_id: str
    namespace: str
    user_id: str
    title: str | None
    session_id: str | None
    status: ConversationStatus
    metadata: dict[str, Any]
    message_count: int
    rolling_summary: str | None
    rolling_summary_until_seq: int
    created_at: str
    updated_at: str
    closed_at: str | None


SummaryOutcome = Literal["updated", "unchanged", "skipped_empty", "failed"]


class RollingSummary(Value):
    """What a refresh of a rolling summary came to, and the summary as it is now."""

    outcome: SummaryOutcome
    """`unchanged`: no turn was finished since; `skipped_empty`: nothing was said yet that a summary could tell."""
    rolling_summary: str | None
    rolling_summary_until_seq: int
    """The last message that is covered, always the end of a turn."""
    error: str | None = None
    """Why it has `failed`. The summary is then what it was before."""
