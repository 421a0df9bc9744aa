"""What an extraction begins with: the messages after the mark, as an extractor reads them, and where they lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.clock import to_micros
from recollect.extraction.candidate import SourceMessage
from recollect.models.content import Block, TextBlock, ToolResultBlock
from recollect.models.message import Message
from recollect.store import bindings, conversations, spaces, triggers
from recollect.store.database import Transaction
from recollect.store.triggers import Order

_CONTEXT = 6
"""Messages before the mark that are shown to the extractor for what they say about the others."""


@dataclass(frozen=True)
class Reading:
    """What there is to extract, as of one look at the database."""

    active: bool
    mark: int
    space_id: str | None
    """The space to write to, in the memory of whose conversation it is; None when there is none of that name yet."""
    messages: tuple[SourceMessage, ...]

    def begins_like(self, other: Reading) -> bool:
        """Whether there is the same to extract."""
        return (self.mark, self.messages) == (other.mark, other.messages)


def read(run: Transaction, order: Order) -> Reading:
    """Look at all that an extraction begins with."""
    begun_at, _ = triggers.mark(run, order)
    after = 0 if order.is_replay else begun_at
    until = max(order.until, after)
    found = conversations.last_messages(
        run,
        order.conversation_id,
        limit=until - after + _CONTEXT,
        before=until + 1,
        internal=True,
        hidden=False,
        latest_attempts=True,
    )
    first = _first_shown(found, after)
    messages = (_source(message, after) for message in found[first:])
    return Reading(
        active=bindings.is_active(run, order.binding_id, order.space_id),
        mark=begun_at,
        space_id=target_if_there(run, order),
        messages=tuple(message for message in messages if message is not None),
    )


def _first_shown(messages: Sequence[Message], after: int) -> int:
    new = next((place for place, message in enumerate(messages) if message.sequence > after), len(messages))
    return max(0, new - _CONTEXT)


def _source(message: Message, after: int) -> SourceMessage | None:
    """A message as an extractor reads it. What the application itself says is nobody's word."""
    text = "\n".join(part for part in map(_words, message.content) if part)
    if message.role == "system" or not text.strip():
        return None
    return SourceMessage(message.id, message.role, text, to_micros(message.created_at), message.sequence <= after)


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


def target_if_there(run: Transaction, order: Order) -> str | None:
    """The space to write to: the one that is bound, if it is this user's, and else theirs of the same name."""
    if spaces.get(run, order.space_id) is not None:
        return order.space_id
    return None if order.space_name is None else spaces.named(run, order.space_name)
