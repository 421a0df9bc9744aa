"""Orders to extract memory from a conversation: when it is closed, after a number of answered turns, or by request.

The jobs are queued in the transaction of the change that causes them, one for each binding and space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.errors import Conflict
from longmind.models.binding import Binding
from longmind.models.conversation import Conversation
from longmind.models.job import Job
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, extraction_marks, jobs
from longmind.store.tables.bindings import BoundSpace
from longmind.store.tables.extraction_marks import ExtractionTarget
from longmind.store.tables.jobs import NewJob
from longmind.validation.text import encode_json

EXTRACT = "memory.extract"
"""The kind of the jobs that make memory of conversations."""
MINE = "memory.mine_patterns"
"""The kind of the jobs that look for what recurs among the events of a space."""
CONSOLIDATE = "memory.consolidate"
"""The kind of the jobs that merge the facts of a space that say the same, and close those that are over."""
_SETTLING: Micros = 60 * 1_000_000
"""The delay in which more facts may be learned before a space is consolidated."""

_FIELDS = {
    "binding_id": "bindingId",
    "space_id": "memorySpaceId",
    "space_name": "memorySpaceName",
    "conversation_id": "conversationId",
    "trigger": "trigger",
    "version": "extractionVersion",
    "until": "untilSequence",
}
_METADATA = "metadata"


@dataclass(frozen=True)
class ExtractionOrder:
    """The extraction of a conversation for one binding and space, up to one of its messages."""

    binding_id: str
    space_id: str
    """The space that the binding names; in the memory of another user it stands for theirs of the same name."""
    space_name: str | None
    conversation_id: str
    trigger: str
    """`closed`, `window`, `asked` or `manual`."""
    version: str
    until: int
    metadata: str = "{}"
    """The metadata of the facts that are learned, as JSON."""

    @classmethod
    def from_payload(cls, payload: dict[str, Any]) -> ExtractionOrder:
        """Return the order that a job was queued with."""
        return cls(**{field: payload[name] for field, name in _FIELDS.items()}, metadata=payload.get(_METADATA, "{}"))

    @property
    def payload(self) -> dict[str, Any]:
        """The order as its job keeps it."""
        payload = {name: getattr(self, field) for field, name in _FIELDS.items()}
        return payload if self.metadata == "{}" else {**payload, _METADATA: self.metadata}

    @property
    def is_replay(self) -> bool:
        """True if it was requested, and reads the whole conversation again."""
        return self.trigger == "manual"

    @property
    def target(self) -> ExtractionTarget:
        """The conversation, binding and space whose marks it moves."""
        return ExtractionTarget(self.conversation_id, self.binding_id, self.space_id)

    @property
    def unique_key(self) -> str | None:
        """A key by which one cause queues one job, however often it is reported; each request is a cause of its own."""
        if self.is_replay:
            return None
        cause = f"{self.trigger}-{self.until}"
        return ":".join((self.binding_id, self.space_id, self.conversation_id, cause, self.version))


def on_closed(run: Transaction, scope: Scope, closed: Conversation, now: Micros, attempts: int) -> None:
    """Order the extraction of a conversation that was closed, for the bindings that want that."""
    for binding, space in _targets(run, scope, closed.namespace):
        if binding.extraction_policy.on_conversation_closed:
            _request(run, scope, _order(binding, space, closed.id, closed.message_count, "closed"), now, attempts)


def on_answer(
    run: Transaction, scope: Scope, conversation_id: str, namespace: str, sequence: int, now: Micros, attempts: int
) -> None:
    """Order an extraction where the answer at a sequence number completes a window of a binding."""
    for binding, space in _targets(run, scope, namespace):
        policy = binding.extraction_policy
        if not policy.windowed:
            continue
        order = _order(binding, space, conversation_id, sequence, "window")
        # A window is counted from where the last extraction was requested, not from where it ended.
        _, requested = extraction_marks.read(run, order.target)
        if extraction_marks.count_answered_turns(run, conversation_id, requested) >= policy.window_turns:
            _request(run, scope, order, now, attempts)


def on_asked(
    run: Transaction, scope: Scope, asked: Conversation, metadata: str, now: Micros, attempts: int
) -> list[Job]:
    """Order the extraction of what nobody has read yet of a conversation, for each binding and space.

    metadata: that of the facts that are learned, as JSON.
    """
    orders = [
        _order(binding, space, asked.id, asked.message_count, "asked")
        for binding, space in _targets(run, scope, asked.namespace)
    ]
    return [_request(run, scope, replace(order, metadata=metadata), now, attempts) for order in orders]


def queue_replays(
    run: Transaction, scope: Scope, conversation: Conversation, version: str | None, now: Micros, attempts: int
) -> list[Job]:
    """Queue the extraction of a whole conversation once more, for each binding and space that it falls under."""
    orders = list_replays(run, scope, conversation, version)
    return [_enqueue(run, scope, order, now, attempts) for order in orders]


def list_replays(
    run: Transaction, scope: Scope, conversation: Conversation, version: str | None
) -> list[ExtractionOrder]:
    """Return the orders that a replay of a conversation consists of; raise Conflict if no binding matches it."""
    targets = list(_targets(run, scope, conversation.namespace))
    if not targets:
        raise Conflict(
            f"No enabled binding matches conversation {conversation.id!r}.",
            hint=f"Create one for the namespace {conversation.namespace!r}, or resume the one that is paused.",
        )
    return [
        _order(binding, space, conversation.id, conversation.message_count, "manual", version)
        for binding, space in targets
    ]


def on_events(run: Transaction, scope: Scope, space_id: str, atoms: int, now: Micros, attempts: int) -> None:
    """Queue a search for patterns in a space that has learned of events; `atoms` is its size now.

    It is queued once a day, and again on the same day when the number of atoms passes a power of two.
    """
    payload = encode_json("payload", {"memorySpaceId": space_id})
    # The number of bits of the size changes when it doubles.
    key = f"{space_id}:{to_iso(now)[:10]}:{atoms.bit_length()}"
    jobs.enqueue(run, scope, NewJob(MINE, payload, due_at=now, max_attempts=attempts, unique_key=key), now)


def on_facts(run: Transaction, scope: Scope, space_id: str, now: Micros, attempts: int) -> None:
    """Queue the consolidation of a space that has learned something, in a minute, unless one is queued already."""
    payload = encode_json("payload", {"memorySpaceId": space_id})
    # While a worker consolidates the space, it may have begun before this change: another job follows.
    for key in (space_id, f"{space_id}:again"):
        known = jobs.find_by_key(run, CONSOLIDATE, key)
        if known is not None and known.status in ("queued", "failed"):
            return
        if jobs.put_off_waiting(run, scope, NewJob(CONSOLIDATE, payload, now + _SETTLING, attempts, key), now):
            return


def _order(
    binding: Binding,
    space: BoundSpace,
    conversation_id: str,
    until: int,
    trigger: str,
    version: str | None = None,
) -> ExtractionOrder:
    chosen = version or binding.extraction_policy.extraction_version
    # A shared space has no namesake in the memory of others.
    name = space.name if space.owner is None else None
    return ExtractionOrder(binding.id, space.id, name, conversation_id, trigger, chosen, until)


def _targets(run: Transaction, scope: Scope, namespace: str) -> Iterator[tuple[Binding, BoundSpace]]:
    for binding, bound in bindings.list_matching(run, scope.user_id, namespace):
        for space in bound:
            yield binding, space


def _request(run: Transaction, scope: Scope, order: ExtractionOrder, now: Micros, attempts: int) -> Job:
    # The next window is counted from here, whether or not this one has been extracted by then.
    extraction_marks.request(run, order.target, order.until)
    return _enqueue(run, scope, order, now, attempts)


def _enqueue(run: Transaction, scope: Scope, order: ExtractionOrder, now: Micros, attempts: int) -> Job:
    payload = encode_json("payload", order.payload)
    new = NewJob(EXTRACT, payload, due_at=now, max_attempts=attempts, unique_key=order.unique_key)
    return jobs.enqueue(run, scope, new, now)
