"""What sets extraction off: a conversation that is closed, so many answered turns, or somebody by hand.

The jobs are queued in the transaction of the change that causes them, one for each binding and space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.errors import Conflict
from longmind.models.binding import Binding
from longmind.models.conversation import Conversation
from longmind.models.job import Job
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.store.database import Transaction
from longmind.store.tables import bindings, jobs
from longmind.store.tables.bindings import BoundSpace
from longmind.store.tables.jobs import NewJob
from longmind.validation.text import encode_json

EXTRACT = "memory.extract"
"""The kind of the jobs that make memory of conversations."""
MINE = "memory.mine_patterns"
"""The kind of the jobs that look for what recurs among the events of a space."""
USUAL_ATTEMPTS = Settings().job_attempts

_FIELDS = {
    "binding_id": "bindingId",
    "space_id": "memorySpaceId",
    "space_name": "memorySpaceName",
    "conversation_id": "conversationId",
    "trigger": "trigger",
    "version": "extractionVersion",
    "until": "untilSequence",
}


@dataclass(frozen=True)
class Order:
    """The extraction of a conversation for one binding and space, up to one of its messages."""

    binding_id: str
    space_id: str
    """The space that the binding names; in the memory of another user it stands for theirs of the same name."""
    space_name: str | None
    conversation_id: str
    trigger: str
    """`closed`, `window` or `manual`."""
    version: str
    until: int

    @classmethod
    def of_payload(cls, payload: dict[str, Any]) -> Order:
        return cls(**{field: payload[name] for field, name in _FIELDS.items()})

    @property
    def payload(self) -> dict[str, Any]:
        return {name: getattr(self, field) for field, name in _FIELDS.items()}

    @property
    def is_replay(self) -> bool:
        return self.trigger == "manual"

    @property
    def unique_key(self) -> str | None:
        """The same cause queues one job, however often it is told; by hand each call is a cause of its own."""
        if self.is_replay:
            return None
        cause = f"{self.trigger}-{self.until}"
        return ":".join((self.binding_id, self.space_id, self.conversation_id, cause, self.version))


def on_closed(run: Transaction, scope: Scope, closed: Conversation, now: Micros, attempts: int) -> None:
    for binding, space in _targets(run, scope, closed.namespace):
        if binding.extraction_policy.on_conversation_closed:
            _request(run, scope, _order(binding, space, closed.id, closed.message_count, "closed"), now, attempts)


def on_answer(
    run: Transaction, scope: Scope, conversation_id: str, namespace: str, sequence: int, now: Micros, attempts: int
) -> None:
    """Look whether an answer that was put at a place of a conversation completes a window."""
    for binding, space in _targets(run, scope, namespace):
        policy = binding.extraction_policy
        if not policy.windowed:
            continue
        order = _order(binding, space, conversation_id, sequence, "window")
        _, requested = mark(run, order)
        counted = run.one("count_answered_turns", conversation_id=conversation_id, after=requested)
        if counted and counted[0] >= policy.window_turns:
            _request(run, scope, order, now, attempts)


def by_hand(
    run: Transaction, scope: Scope, conversation: Conversation, version: str | None, now: Micros, attempts: int
) -> list[Job]:
    """Queue the extraction of a whole conversation anew, for each binding and space that it falls under."""
    orders = replays(run, scope, conversation, version)
    return [_enqueue(run, scope, order, now, attempts) for order in orders]


def replays(run: Transaction, scope: Scope, conversation: Conversation, version: str | None) -> list[Order]:
    targets = list(_targets(run, scope, conversation.namespace))
    if not targets:
        raise Conflict(
            f"No binding that is enabled matches conversation {conversation.id!r}.",
            hint=f"Create one for the namespace {conversation.namespace!r}, or resume the one that is paused.",
        )
    return [
        _order(binding, space, conversation.id, conversation.message_count, "manual", version)
        for binding, space in targets
    ]


def on_events(run: Transaction, scope: Scope, space_id: str, atoms: int, now: Micros, attempts: int) -> None:
    """Have patterns looked for in a space that has learned of events, and has so many atoms now.

    That is done once a day, and on the same day again when the space has grown to twice its size.
    """
    payload = encode_json("payload", {"memorySpaceId": space_id})
    key = f"{space_id}:{to_iso(now)[:10]}:{atoms.bit_length()}"
    jobs.enqueue(run, scope, NewJob(MINE, payload, due_at=now, max_attempts=attempts, unique_key=key), now)


def mark(run: Transaction, order: Order) -> tuple[int, int]:
    """How far the conversation was extracted, and how far that was asked for."""
    row = run.one("extraction_mark", **_key(order))
    return (row[0], row[1]) if row else (0, 0)


def move_mark(run: Transaction, order: Order, begun_at: int, until: int) -> bool:
    """Say how far it is extracted now; False when somebody else has moved the mark since this extraction began."""
    moved = run.one("move_extraction_mark", from_sequence=begun_at, until_sequence=until, **_key(order))
    return moved is not None


def _key(order: Order) -> dict[str, str]:
    return {
        "conversation_id": order.conversation_id,
        "binding_id": order.binding_id,
        "space_id": order.space_id,
    }


def _order(
    binding: Binding,
    space: BoundSpace,
    conversation_id: str,
    until: int,
    trigger: str,
    version: str | None = None,
) -> Order:
    chosen = version or binding.extraction_policy.extraction_version
    # A shared space has no namesake in the memory of others.
    name = space.name if space.owner is None else None
    return Order(binding.id, space.id, name, conversation_id, trigger, chosen, until)


def _targets(run: Transaction, scope: Scope, namespace: str) -> Iterator[tuple[Binding, BoundSpace]]:
    for binding, bound in bindings.of_conversation(run, scope.user_id, namespace):
        for space in bound:
            yield binding, space


def _request(run: Transaction, scope: Scope, order: Order, now: Micros, attempts: int) -> None:
    # The next window is counted from here, whether or not this one has been extracted by then.
    run.send("request_extraction", requested_sequence=order.until, **_key(order))
    _enqueue(run, scope, order, now, attempts)


def _enqueue(run: Transaction, scope: Scope, order: Order, now: Micros, attempts: int) -> Job:
    payload = encode_json("payload", order.payload)
    new = NewJob(EXTRACT, payload, due_at=now, max_attempts=attempts, unique_key=order.unique_key)
    return jobs.enqueue(run, scope, new, now)
