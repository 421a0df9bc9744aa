"""The input of an extraction: the messages since the watermark, as an extractor reads them, and the space they lead to.

The watermark is the last message of a conversation that was extracted into a space. It is kept with the memory, which
may belong to another user than the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.models.content import extract_text
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, conversations, extraction_marks, messages, spaces
from longmind.store.triggers.extraction_requests import ExtractionOrder

_CONTEXT = 6
"""Messages before the watermark that the extractor reads for what they say about the new ones."""


@dataclass(frozen=True)
class Destination:
    """The memory that an extraction writes to."""

    home: Scope
    """The owner of the memory: the user of the conversation, or the owner of a shared space."""
    speaker: str | None = None
    """In a shared space, the user as a speaker there. Atoms of other speakers are neither compared nor changed."""


@dataclass(frozen=True)
class ExtractionInput:
    """Everything there is to extract, as one look at the database shows it."""

    destination: Destination
    watermark: int
    space_id: str | None
    """The space to write to; None when there is none of that name yet."""
    messages: tuple[SourceMessage, ...]

    @property
    def has_new_messages(self) -> bool:
        """True if a message is there for more than its context."""
        return any(not message.read_only for message in self.messages)

    def has_same_messages(self, other: ExtractionInput) -> bool:
        """Return whether another look found the same to extract."""
        return (self.watermark, self.messages) == (other.watermark, other.messages)


def find_destination(run: Transaction, scope: Scope, order: ExtractionOrder) -> Destination | bindings.BindingState:
    """Return the destination of an extraction, or the state of the binding: paused, or gone with its space.

    An order alone gives no access to another user's memory: the binding must name the space and cover the conversation.
    """
    state, space = bindings.find_space(run, order.binding_id, order.space_id)
    if space is None or state != "active":
        return state
    if space.owner is None or space.owner == scope.user_id:
        return Destination(scope, space.owner)
    conversation = conversations.get(run, order.conversation_id)
    covering = bindings.list_matching(run, scope.user_id, conversation.namespace) if conversation else []
    if all(binding.id != order.binding_id for binding, _ in covering):
        return "gone"
    return Destination(scope.make_for_user(space.owner), scope.user_id)


def find_watermark(run: Transaction, order: ExtractionOrder) -> tuple[int, str | None]:
    """Return the watermark of a conversation, and the space to write to, both from where the memory is."""
    return extraction_marks.read(run, order.target)[0], find_target_space(run, order)


def read_messages(run: Transaction, order: ExtractionOrder, watermark: int) -> tuple[SourceMessage, ...]:
    """Return the messages after the watermark with some before it as context; a replay returns all as new."""
    after = 0 if order.is_replay else watermark
    return read_messages_between(run, order.conversation_id, after, max(order.until, after))


def read_messages_between(run: Transaction, conversation_id: str, after: int, until: int) -> tuple[SourceMessage, ...]:
    """Return the messages after one sequence number up to another, with some before them as read-only context."""
    found = messages.read_last(
        run,
        conversation_id,
        limit=until - after + _CONTEXT,
        before=until + 1,
        internal=True,
        hidden=False,
        latest_attempts=True,
    )
    first = _find_first(found, after)
    sources = (to_source_message(message, read_only=message.sequence <= after) for message in found[first:])
    return tuple(source for source in sources if source is not None)


def _find_first(found: Sequence[Message], after: int) -> int:
    """Return the index of the first message that is shown as context."""
    new = next((place for place, message in enumerate(found) if message.sequence > after), len(found))
    return max(0, new - _CONTEXT)


def to_source_message(message: Message, *, read_only: bool = False) -> SourceMessage | None:
    """Return a message as an extractor reads it, or None for one without text or from the application itself."""
    text = extract_text(message.content)
    if message.role == "system" or not text.strip():
        return None
    return SourceMessage(message.id, message.role, text, to_micros(message.created_at), read_only)


def find_target_space(run: Transaction, order: ExtractionOrder) -> str | None:
    """Return the bound space if it is this user's, else the user's own space of the same name, if there is one."""
    if spaces.get(run, order.space_id) is not None:
        return order.space_id
    return None if order.space_name is None else spaces.find_id(run, order.space_name)
