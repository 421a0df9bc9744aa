"""Messages: the rows of the ledger that have a place in a conversation."""

from __future__ import annotations

from longmind.store.database import Transaction


def count(run: Transaction) -> int:
    """Return how many messages a user has, of every visibility."""
    row = run.one("count_messages")
    return int(row[0]) if row else 0


def find_conversation(run: Transaction, message_id: str) -> str | None:
    """Return the id of the conversation that a message is in; None when the scope has no such message."""
    row = run.one("message_conversation", event_id=message_id)
    return None if row is None else row[0]
