"""Conversations that took place elsewhere, written whole: with their messages and times, and closed.

The id of such a conversation is made from its name at the source. So the same conversation is found again whenever it
is imported, also by two imports at once, and only the messages that it has gained since are written. A closed
conversation takes no more messages; what it has gained becomes a further part, a conversation of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from longmind.clock import Micros
from longmind.conversations.service import Conversations
from longmind.conversations.validation import validate_namespace, validate_title
from longmind.errors import LongmindError
from longmind.ids import id_of
from longmind.models.content import Content, encode_content
from longmind.models.message import Message, Role, Visibility
from longmind.scope import IDENTITY_LIMIT, Scope
from longmind.store.database import RowRefused, Transaction
from longmind.store.tables import conversations as store
from longmind.store.tables import messages
from longmind.store.tables.conversations import NewConversation
from longmind.store.tables.messages import BEYOND_ALL_SEQUENCES, NewMessage
from longmind.store.triggers import conversation_writes
from longmind.validation.identifiers import validate_label, validate_metadata
from longmind.validation.text import to_storable

_MOST_PARTS = 1_000
_VISIBILITY: dict[Role, Visibility] = {"user": "user", "assistant": "user", "tool": "internal", "system": "internal"}


@dataclass(frozen=True)
class ArchivedMessage:
    """A message to import. Its key identifies it in its conversation."""

    key: str
    role: Role
    content: Content
    at: Micros | None = None
    model: str | None = None


@dataclass(frozen=True)
class ArchivedConversation:
    """A conversation to import. Its source identifies it among all of the user's."""

    source: str
    messages: Sequence[ArchivedMessage]
    title: str | None = None
    began_at: Micros | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    former_id: str | None = None
    """The id of the conversation that was exported, for one that comes back from Longmind's own notations."""


@dataclass(frozen=True)
class NewPart:
    """The messages of a conversation that are not stored yet, and the part that they become."""

    conversation_id: str
    number: int
    messages: Sequence[ArchivedMessage]


class ConversationArchive:
    """Imports conversations of the user whose conversations it is given."""

    def __init__(self, conversations: Conversations) -> None:
        # Both stand in one room: an import is an append of many messages in one transaction.
        self._service = conversations

    def find_new(self, conversation: ArchivedConversation) -> NewPart:
        """Return the messages of a conversation that are not stored yet."""
        service = self._service
        return service._database.read(service._scope, _find_new, service._scope, conversation)

    def write(self, conversation: ArchivedConversation, namespace: str) -> NewPart:
        """Write the messages of a conversation that are not stored yet, and close it, in one transaction.

        Messages without a time get that of the message before them. Returns what was written.
        """
        service = self._service
        prepared = {each.key: _prepare(each, at) for each, at in _list_times(conversation, service._clock())}
        # Under no session: those of the source are not sessions here.
        new = NewConversation(
            validate_namespace(namespace),
            validate_title(conversation.title),
            None,
            validate_metadata(conversation.metadata),
        )

        def write(run: Transaction) -> NewPart:
            part = _find_new(run, service._scope, conversation)
            if part.messages:
                self._write_part(run, part, new, [prepared[each.key] for each in part.messages])
            return part

        written = self._write_once(conversation, write)
        service._wake_workers()
        return written

    def _write_once(self, conversation: ArchivedConversation, write: Callable[[Transaction], NewPart]) -> NewPart:
        """Run a write; if another import has written the part in between, do what is left."""
        service = self._service
        while True:
            missing = self.find_new(conversation)
            try:
                return service._database.write(service._scope, write)
            except RowRefused:
                # Two imports make the same id. The part is there now, unless the row was refused for another reason.
                if self.find_new(conversation) == missing:
                    raise

    def _write_part(
        self,
        run: Transaction,
        part: NewPart,
        new: NewConversation,
        prepared: Sequence[NewMessage],
    ) -> None:
        service, now = self._service, self._service._clock()
        store.create(run, service._scope, new, min(prepared[0].at, now), part.conversation_id)
        # Summaries are for conversations that go on, so none is queued.
        policy = replace(service._job_policy, summary_turns=0)
        for message in prepared:
            conversation_writes.append(run, service._scope, part.conversation_id, message, now, policy)
        conversation_writes.close(run, service._scope, part.conversation_id, now, policy)


def explain_refusal(message: ArchivedMessage) -> str | None:
    """Return why a message cannot be stored; None if it can."""
    try:
        encode_content(message.content)
    except LongmindError as error:
        return error.message
    return None


def _find_new(run: Transaction, scope: Scope, conversation: ArchivedConversation) -> NewPart:
    known: set[str | None] = set()
    if conversation.former_id is not None:
        # Its messages are named by their own ids in an export.
        known.update(row.id for row in _read_all(run, conversation.former_id))
    for number in range(1, _MOST_PARTS):
        conversation_id = _make_id(scope, conversation, number)
        if store.read_status(run, conversation_id) is None:
            new = [each for each in conversation.messages if _label(each.key) not in known]
            return NewPart(conversation_id, number, new)
        known.update(row.trace_id for row in _read_all(run, conversation_id))
    return NewPart(_make_id(scope, conversation, _MOST_PARTS), _MOST_PARTS, [])


def _read_all(run: Transaction, conversation_id: str) -> list[Message]:
    """Return all messages of a conversation; none if the user has no such one."""
    return messages.read_before(run, conversation_id, BEYOND_ALL_SEQUENCES, BEYOND_ALL_SEQUENCES, None)


def _make_id(scope: Scope, conversation: ArchivedConversation, number: int) -> str:
    """Return the id of a part: always the same for the same user, source and number."""
    digest = hashlib.blake2b(digest_size=8, person=b"longmind.import")
    for piece in (scope.id, conversation.source, str(number)):
        encoded = piece.encode("utf-8", "replace")
        digest.update(len(encoded).to_bytes(4) + encoded)
    # The time of an id only orders it, and the source may learn of a time later: it stays out of the identity.
    return id_of("conv", 0, digest.hexdigest())


def _label(key: str) -> str:
    """Return a key as it is stored: cut to the length of a label, with a hash that keeps it unique."""
    storable = to_storable(key) or "-"
    if len(storable) <= IDENTITY_LIMIT:
        return storable
    # Two long keys may begin alike.
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"{storable[: IDENTITY_LIMIT - len(digest) - 1]}#{digest}"


def _list_times(conversation: ArchivedConversation, now: Micros) -> list[tuple[ArchivedMessage, Micros]]:
    """Return each message with its time. A clock that was wrong does not keep a message out."""
    dated = []
    latest = conversation.began_at
    for each in conversation.messages:
        latest = each.at if each.at is not None else latest
        dated.append((each, now if latest is None else max(0, min(latest, now))))
    return dated


def _prepare(message: ArchivedMessage, at: Micros) -> NewMessage:
    return NewMessage(
        role=message.role,
        content=encode_content(message.content),
        visibility=_VISIBILITY[message.role],
        at=at,
        model=validate_label("model", message.model),
        trace_id=_label(message.key),
        **_find_tool_call(message),
    )


def _find_tool_call(message: ArchivedMessage) -> dict[str, Any]:
    """Return the columns of a tool's message, which name the call that it answers."""
    if message.role != "tool" or not isinstance(message.content, list):
        return {}
    for block in message.content:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            return {"tool_use_id": block.get("toolUseId"), "is_error": bool(block.get("isError", False))}
    return {}
