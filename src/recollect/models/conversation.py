"""A conversation: an append-only stream of messages of one user in one namespace."""

from __future__ import annotations

from typing import Any, Literal

from recollect.models.value import Value

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
