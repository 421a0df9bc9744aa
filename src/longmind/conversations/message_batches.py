"""Operations on many messages at a time: appends of whole conversations, reads of the last, and look-ups by id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from longmind.clock import Clock
from longmind.conversations.validation import (
    validate_messages,
    validate_namespace,
    validate_time,
    validate_title,
    validate_usage,
    validate_visibility,
)
from longmind.errors import InvalidInput, LimitExceeded
from longmind.models.content import encode_content, encode_tool_result
from longmind.models.message import AppendedMessages, GivenMessage, Message, Visibility
from longmind.scope import Scope, ScopedService
from longmind.store.database import Database
from longmind.store.tables import messages
from longmind.store.tables.conversations import NewConversation
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers import conversation_writes
from longmind.store.triggers.job_policy import JobPolicy
from longmind.validation.identifiers import (
    validate_atom_metadata,
    validate_count,
    validate_id,
    validate_label,
    validate_metadata,
)
from longmind.validation.parameter_limits import LIMIT, ConversationId, Limit, MessageId, Namespace, Ordinal, Title

MOST_FOUND = 1_000
"""Messages that are looked up by their ids at a time."""
_BEYOND_ALL = 2**53  # more than any conversation has messages


class MessageBatches(ScopedService):
    """Appends, reads and look-ups of many messages. The service of conversations stands on it."""

    _database: Database
    _scope: Scope
    _clock: Clock
    _job_policy: JobPolicy
    _wake_workers: Callable[[], None]

    def append_messages(
        self,
        messages: Sequence[GivenMessage | dict[str, Any]],
        *,
        conversation_id: ConversationId | None = None,
        namespace: Namespace | None = None,
        title: Title | None = None,
        metadata: dict[str, Any] | None = None,
        extract: bool = False,
        fact_metadata: dict[str, Any] | None = None,
    ) -> AppendedMessages:
        """Append up to 10,000 messages of any roles in one transaction: all of them, or none.

        messages: each has a `role` and `content`; a tool's message also the `tool_use_id` of the call that it answers.
        conversation_id: an open conversation; by default a new one.
        namespace, title, metadata: of the new conversation, as in `create_conversation`.
        extract: queue the extraction of what was not read yet, for each binding, without closing the conversation.
        fact_metadata: with `extract`, the metadata of the facts that are learned: at most 64 keys and 16 KiB of JSON.
        """
        checked_title = validate_title(title)
        if (conversation_id is None) == (namespace is None):
            raise InvalidInput(
                "Messages are appended to an open conversation or to a new one.",
                hint="Pass either conversation_id, or the namespace of a new conversation.",
            )
        if conversation_id is not None and (title is not None or metadata is not None):
            raise InvalidInput("The conversation exists, so it takes no title and no metadata.", hint="Leave them out.")
        target: str | NewConversation
        if conversation_id is not None:
            target = validate_id("conversation_id", conversation_id)
        else:
            target = NewConversation(
                validate_namespace(namespace),
                checked_title,
                self._scope.session_id,
                validate_metadata(metadata),
            )
        learned = "{}" if fact_metadata is None else validate_atom_metadata("fact_metadata", fact_metadata)
        if fact_metadata is not None and not extract:
            raise InvalidInput("fact_metadata is for extracted facts.", hint="Pass extract=True with it.")
        new = [self._make_message(each, f"messages[{place}]") for place, each in enumerate(validate_messages(messages))]
        appended = self._database.write(
            self._scope,
            conversation_writes.append_all,
            self._scope,
            target,
            new,
            self._clock(),
            self._job_policy,
            fact_metadata=learned if extract else None,
        )
        self._wake_workers()
        return appended

    def find_messages(self, message_ids: Sequence[MessageId]) -> list[Message]:
        """Return the messages with some ids, such as the sources of a fact, in the order in which they were said.

        message_ids: at most 1,000; those of no message of the user, and of hidden messages, are left out.
        """
        if isinstance(message_ids, str) or not isinstance(message_ids, list | tuple):
            raise InvalidInput(f"message_ids must be a list, not {type(message_ids).__name__}.")
        if len(message_ids) > MOST_FOUND:
            raise LimitExceeded("message_ids", limit=MOST_FOUND, given=len(message_ids), unit="at a time")
        checked = [validate_id(f"message_ids[{place}]", each) for place, each in enumerate(message_ids)]
        return self._database.read(self._scope, messages.read_visible, checked)

    def get_messages(
        self,
        conversation_id: ConversationId,
        *,
        limit: Limit = 50,
        include_internal: bool = False,
        before: Ordinal | None = None,
    ) -> list[Message]:
        """Return the last messages that the user may see, oldest first.

        conversation_id: the conversation. limit: at most that many, from 1 to 10,000.
        include_internal: True also returns the internal messages, which a model sees and the user does not.
        before: a sequence number; only earlier messages are returned.
        """
        return self._read(conversation_id, limit, before, internal=bool(include_internal))

    def get_raw_turns(
        self,
        conversation_id: ConversationId,
        *,
        limit: Limit = 50,
        include_hidden: bool = False,
        latest_attempts: bool = False,
        before: Ordinal | None = None,
    ) -> list[Message]:
        """Return the last messages, internal ones included, for replay, debugging or a model.

        conversation_id: the conversation. limit: at most that many messages, from 1 to 10,000.
        include_hidden: also return rows that no model may see.
        latest_attempts: leave out answers that a retry of their turn replaced; models should read it this way.
        before: a sequence number; only earlier messages are returned.
        """
        return self._read(
            conversation_id,
            limit,
            before,
            internal=True,
            hidden=bool(include_hidden),
            latest_attempts=bool(latest_attempts),
        )

    def _make_message(self, given: GivenMessage, field: str) -> NewMessage:
        """Return a message of any role, checked; errors name its place in the list."""
        usual: Visibility = "internal" if given.role == "system" else "user"
        visibility = usual if given.visibility is None else validate_visibility(given.visibility, f"{field}.visibility")
        at = validate_time(given.created_at, self._clock())
        if given.role == "tool":
            if given.tool_use_id is None:
                raise InvalidInput(
                    f"{field} is a tool's message without tool_use_id.", hint="Name the call that it answers."
                )
            content = encode_tool_result(given.tool_use_id, given.content, given.is_error)
            return NewMessage(
                "tool", content, visibility, at,
                tool_use_id=given.tool_use_id, tool_name=validate_label("tool_name", given.tool_name),
                is_error=given.is_error,
            )  # fmt: skip
        content = encode_content(given.content, f"{field}.content", may_be_empty=given.role == "assistant")
        if given.role != "assistant":
            return NewMessage(given.role, content, visibility, at)
        return NewMessage(
            "assistant", content, visibility, at,
            stop_reason=validate_label("stop_reason", given.stop_reason), model=validate_label("model", given.model),
            provider=validate_label("provider", given.provider), usage=validate_usage(given.usage),
        )  # fmt: skip

    def _read(
        self,
        conversation_id: str,
        limit: int,
        before: int | None,
        *,
        internal: bool,
        hidden: bool = False,
        latest_attempts: bool = False,
    ) -> list[Message]:
        return self._database.read(
            self._scope,
            messages.read_last,
            validate_id("conversation_id", conversation_id),
            limit=LIMIT.check("limit", limit),
            before=_BEYOND_ALL if before is None else validate_count("before", before, most=_BEYOND_ALL),
            internal=internal,
            hidden=hidden,
            latest_attempts=latest_attempts,
        )
