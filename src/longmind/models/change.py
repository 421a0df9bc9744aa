"""Changes: entries of the ledger as subscribers and followers receive them.

A change is written in the transaction that it reports, so there is none without its effect, and no effect without
its change.
"""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

ChangeKind = Literal[
    "conversation.created",
    "conversation.closed",
    "conversation.summarised",
    "message.appended",
    "event.recorded",
    "space.created",
    "space.deleted",
    "space.granted",
    "space.revoked",
    "atoms.added",
    "atom.superseded",
    "atom.ended",
    "atom.restored",
    "atom.archived",
    "atom.reinforced",
    "atom.deleted",
    "decision.undone",
    "entity.created",
    "entity.merged",
    "binding.created",
    "binding.updated",
    "binding.deleted",
    "block.created",
    "block.updated",
    "block.deleted",
    "agent.registered",
    "agent.removed",
    "sleep_time.updated",
    "user.imported",
    "user.erased",
]
"""The kinds that this version writes, and that one can subscribe to."""


class Change(Value):
    """A committed change. `cursor` is its position in the ledger; follow on from it.

    It has ids and numbers and never any content. Those of a user are erased with the user; what follows is a change of
    the app, whose user id is `*`: `user.erased` has the id of the scope, which is a hash, and the epoch that began.
    """

    cursor: int
    kind: str
    """A `ChangeKind`, or one that a later version has written to the same database."""
    tenant_id: str
    app_id: str
    user_id: str
    # Only a change of a conversation has one.
    conversation_id: str | None
    event_id: str
    """The id of the ledger row; for message.appended it is the message's id."""
    at: str
    data: dict[str, Any]
    """The ids needed to act on the change without another read; never any content."""
