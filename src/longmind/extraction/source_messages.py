"""What an extraction begins with: the messages after the mark, as an extractor reads them, and where they lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.models.content import Block, TextBlock, ToolResultBlock
from longmind.models.message import Message
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import bindings, conversations, extraction_marks, messages, spaces
from longmind.store.triggers.extraction_orders import ExtractionOrder

_CONTEXT = 6
"""Messages before the mark that are shown to the extractor for what they say about the others."""


@dataclass(frozen=True)
class Destination:
    """Where what is extracted goes."""

    home: Scope
    """Whose memory: that of whose conversation it is, or of the owner of a shared space that is bound for others."""
    speaker: str | None = None
    """In a shared space, where many are heard: who it is here. What others have said there is left alone."""


@dataclass(frozen=True)
class ExtractionInput:
    """What there is to extract, as of one look at the database."""

    destination: Destination
    mark: int
    space_id: str | None
    """The space to write to; None when there is none of that name yet."""
    messages: tuple[SourceMessage, ...]

    def begins_like(self, other: ExtractionInput) -> bool:
        """Whether there is the same to extract."""
        return (self.mark, self.messages) == (other.mark, other.messages)


def find_destination(run: Transaction, scope: Scope, order: ExtractionOrder) -> Destination | bindings.BindingState:
    """Where an extraction of a user's conversation goes, or that the binding is paused, or it or its space is gone.

    The order alone opens nobody else's memory: the binding must name the space, and cover the conversation.
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
    return Destination(Scope(scope.tenant_id, scope.app_id, space.owner), scope.user_id)


def find_watermark(run: Transaction, order: ExtractionOrder) -> tuple[int, str | None]:
    """How far the conversation was extracted, and the space to write to. Both are kept where the memory is."""
    return extraction_marks.read(run, order.target)[0], find_target_space(run, order)


def read_messages(run: Transaction, order: ExtractionOrder, begun_at: int) -> tuple[SourceMessage, ...]:
    """The messages after the mark, and some before it."""
    after = 0 if order.is_replay else begun_at
    return read_messages_between(run, order.conversation_id, after, max(order.until, after))


def read_messages_between(run: Transaction, conversation_id: str, after: int, until: int) -> tuple[SourceMessage, ...]:
    """What was said after one message of a conversation up to another, with some of what was said before it."""
    found = messages.read_last(
        run,
        conversation_id,
        limit=until - after + _CONTEXT,
        before=until + 1,
        internal=True,
        hidden=False,
        latest_attempts=True,
    )
    first = _first_shown(found, after)
    read = (to_source_message(message, read_only=message.sequence <= after) for message in found[first:])
    return tuple(message for message in read if message is not None)


def _first_shown(messages: Sequence[Message], after: int) -> int:
    new = next((place for place, message in enumerate(messages) if message.sequence > after), len(messages))
    return max(0, new - _CONTEXT)


def to_source_message(message: Message, *, read_only: bool = False) -> SourceMessage | None:
    """A message as an extractor reads it. What the application itself says is nobody's word."""
    text = "\n".join(part for part in map(_words, message.content) if part)
    if message.role == "system" or not text.strip():
        return None
    return SourceMessage(message.id, message.role, text, to_micros(message.created_at), read_only)


def _words(block: Block) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolResultBlock(content=str(text)):
            return text
        case ToolResultBlock(content=parts):
            return "\n".join(part.text for part in parts if isinstance(part, TextBlock))
        case _:
            return ""


def find_target_space(run: Transaction, order: ExtractionOrder) -> str | None:
    """The space to write to: the one that is bound, if it is this user's, and else theirs of the same name."""
    if spaces.get(run, order.space_id) is not None:
        return order.space_id
    return None if order.space_name is None else spaces.find_id(run, order.space_name)
