"""Operations on the conversations of one user.

Each append is one transaction of the store: it numbers the message, writes it, and queues the extraction and the
summary that are due. Arguments are checked before the transaction begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from longmind.clock import Clock, Instant
from longmind.conversations.message_batches import MessageBatches
from longmind.conversations.validation import (
    fingerprint,
    parse_cursor,
    validate_assistant,
    validate_cancel,
    validate_idle,
    validate_listener,
    validate_namespace,
    validate_options,
    validate_policy,
    validate_question,
    validate_time,
    validate_title,
    validate_usage,
    validate_visibility,
)
from longmind.errors import InvalidInput
from longmind.models.block import MemoryPolicy
from longmind.models.content import Content, UserContent, encode_content, encode_tool_result
from longmind.models.conversation import Conversation, ConversationStatus, RollingSummary
from longmind.models.message import AssistantTurn, Message, Turn, Usage, Visibility
from longmind.models.turn import TurnOptions, TurnResult
from longmind.models.value import Page
from longmind.providers.language_model import BoundTool, Cancel, LanguageModel, OnText, Tool, ToolHandler
from longmind.providers.model_pool import ModelPool
from longmind.scope import IDENTITY_LIMIT, Scope, validate_identity
from longmind.store.database import Database
from longmind.store.tables import conversations as store
from longmind.store.tables.conversations import NewConversation
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers import conversation_writes
from longmind.store.triggers.conversation_writes import Closing
from longmind.store.triggers.job_policy import JobPolicy
from longmind.summaries.rolling_summaries import RollingSummaries
from longmind.validation.identifiers import validate_id, validate_label, validate_metadata
from longmind.validation.parameter_limits import (
    CYCLES,
    LIMIT,
    TAIL_LIMIT,
    ConversationCursor,
    ConversationId,
    Cycles,
    Identity,
    Idle,
    Label,
    Limit,
    Namespace,
    SpokenText,
    TailLimit,
    Title,
)
from longmind.validation.text import validate_text

if TYPE_CHECKING:
    from longmind.conversations.registered_tools import ToolSource
    from longmind.conversations.turn_memory import PromptBlocks, PromptBrief

T = TypeVar("T")

_USUAL_JOBS = JobPolicy()
_EVERYTHING = 2**53  # more than any user has conversations


class Conversations(MessageBatches):
    """Append-only conversations of the current user."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        models: ModelPool,
        rolling: RollingSummaries,
        blocks: PromptBlocks,
        brief: PromptBrief,
        tools: ToolSource,
        job_policy: JobPolicy = _USUAL_JOBS,
        wake_workers: Callable[[], None] = lambda: None,
        note_unbound: Callable[[str], None] = lambda conversation_id: None,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._models = models
        self._rolling = rolling
        self._job_policy = job_policy
        self._blocks = blocks
        self._brief = brief
        self._tools = tools
        self._wake_workers = wake_workers
        self._note_unbound = note_unbound

    def create_conversation(
        self,
        namespace: Namespace,
        *,
        title: Title | None = None,
        session_id: Identity | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Conversation:
        """Start a conversation.

        namespace: its kind, for example `daily-checkin`; bindings and lists select by it. title: at most 1,000
        characters.
        session_id: by default that of the context.
        metadata: up to 64 KiB of JSON of the app's own.
        """
        new = NewConversation(
            namespace=validate_namespace(namespace),
            title=validate_title(title),
            session_id=self._scope.session_id if session_id is None else validate_identity("session_id", session_id),
            metadata=validate_metadata(metadata),
        )
        return self._database.write(self._scope, store.create, self._scope, new, self._clock())

    def get_conversation(self, conversation_id: ConversationId) -> Conversation | None:
        """Return a conversation, or None if this user has none with this id.

        conversation_id: the conversation.
        """
        return self._database.read(self._scope, store.get, validate_id("conversation_id", conversation_id))

    def list_conversations(
        self,
        *,
        namespace: Namespace | None = None,
        status: ConversationStatus | None = None,
        limit: Limit | None = None,
        cursor: ConversationCursor | None = None,
    ) -> Page[Conversation]:
        """List the user's conversations, newest first.

        namespace: only those of this namespace. status: only `open` or only `closed` ones, by default both.
        limit: from 1 to 10,000; by default all of them.
        cursor: `next_cursor` of the previous page; by default the newest.
        """
        if status not in (None, "open", "closed"):
            raise InvalidInput(f"status is {status!r}.", hint="Pass 'open' or 'closed'.")
        if namespace is not None:
            namespace = validate_namespace(namespace)
        # One more than asked for shows whether there is a next page.
        most = _EVERYTHING if limit is None else LIMIT.check("limit", limit)
        before = None if cursor is None else parse_cursor(cursor)
        found = self._database.read(self._scope, store.list_newest_first, namespace, status, before, most + 1)
        more = len(found) > most
        return Page(found[:most], f"{found[most - 1].created_at}/{found[most - 1].id}" if more else None)

    def close_conversation(self, conversation_id: ConversationId) -> Conversation:
        """Close a conversation for good; closing it again changes nothing.

        Its extraction is queued in the same transaction, for each binding that asks for one at this point.

        conversation_id: the conversation.
        """
        checked = validate_id("conversation_id", conversation_id)
        closing = self._database.write(
            self._scope, conversation_writes.close, self._scope, checked, self._clock(), self._job_policy
        )
        return self._finish_closing([closing])[0]

    def close_stale(self, idle: Idle, *, namespace: Namespace | None = None) -> list[Conversation]:
        """Close the user's open conversations without a new message for `idle`; return them.

        idle: a timedelta or a number of seconds from 0. namespace: only conversations of this namespace; by default
        all.
        """
        if namespace is not None:
            namespace = validate_namespace(namespace)
        before = self._clock() - validate_idle(idle)
        # Each is closed in a transaction of its own, which looks again: a message may have come in between.
        stale = self._database.read(self._scope, store.list_stale, namespace, before)
        close, scope = conversation_writes.close_if_stale, self._scope
        closings = [
            self._database.write(scope, close, scope, each, before, self._clock(), self._job_policy) for each in stale
        ]
        # None stands for a conversation that went on, and so stays open.
        return self._finish_closing([closing for closing in closings if closing is not None])

    def _finish_closing(self, closings: list[Closing]) -> list[Conversation]:
        """Note what no binding covers, wake the workers, and return the conversations."""
        for closing in closings:
            if closing.is_unbound:
                self._note_unbound(closing.conversation.id)
        self._wake_workers()
        return [closing.conversation for closing in closings]

    def append_user_message(
        self,
        conversation_id: ConversationId,
        content: Content,
        *,
        idempotency_key: Label | None = None,
        trace_id: Label | None = None,
        visibility: Visibility = "user",
        created_at: Instant | None = None,
    ) -> Message:
        """Append a message of the user, which opens a new turn.

        conversation_id: an open conversation. content: a text or a list of content blocks, up to 1 MiB of JSON.
        idempotency_key: a repeated key returns the first message, with `replayed` set. With other content it raises
        IdempotencyMismatch.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now.

        Raises ConversationClosed, and LimitExceeded for content of more than 1 MiB.
        """
        return self._append(
            conversation_id, self._make_user_message(content, visibility, idempotency_key, trace_id, created_at)
        )

    def append_assistant_turn(
        self,
        conversation_id: ConversationId,
        content: Content,
        *,
        stop_reason: Label | None = None,
        model: Label | None = None,
        provider: Label | None = None,
        usage: Usage | dict[str, Any] | None = None,
        trace_id: Label | None = None,
        visibility: Visibility = "user",
        created_at: Instant | None = None,
    ) -> Message:
        """Append a message of the assistant to the open turn.

        conversation_id: an open conversation. content: a text or a list of content blocks; it may be empty.
        stop_reason, model, provider: of the model call that made it, each at most 255 characters.
        usage: `input_tokens`, `output_tokens` and `latency_ms` of that call, each from 0 or left out.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now.
        """
        new = NewMessage(
            role="assistant",
            content=encode_content(content, may_be_empty=True),
            visibility=validate_visibility(visibility),
            at=validate_time(created_at, self._clock()),
            stop_reason=validate_label("stop_reason", stop_reason),
            model=validate_label("model", model),
            provider=validate_label("provider", provider),
            usage=validate_usage(usage),
            trace_id=validate_label("trace_id", trace_id),
        )
        return self._append(conversation_id, new)

    def append_tool_result(
        self,
        conversation_id: ConversationId,
        tool_use_id: Label,
        content: Content,
        *,
        tool_name: Label | None = None,
        is_error: bool = False,
        trace_id: Label | None = None,
        visibility: Visibility = "user",
        created_at: Instant | None = None,
    ) -> Message:
        """Append a tool's result for the assistant's tool_use block with the id `tool_use_id`.

        conversation_id: an open conversation. tool_use_id: the call that it answers, at most 255 characters.
        content: a text, or a list of texts and images. tool_name: the name of the tool. is_error: True if the tool
        failed.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now.
        """
        tool_use_id = validate_text("tool_use_id", tool_use_id, limit=IDENTITY_LIMIT, blank=False)
        if not isinstance(is_error, bool):
            raise InvalidInput(f"is_error must be True or False, not {is_error!r}.")
        new = NewMessage(
            role="tool",
            content=encode_tool_result(tool_use_id, content, is_error),
            visibility=validate_visibility(visibility),
            at=validate_time(created_at, self._clock()),
            tool_use_id=tool_use_id,
            tool_name=validate_label("tool_name", tool_name),
            is_error=is_error,
            trace_id=validate_label("trace_id", trace_id),
        )
        return self._append(conversation_id, new)

    def append_system_message(
        self,
        conversation_id: ConversationId,
        content: Content,
        *,
        visibility: Visibility = "internal",
        trace_id: Label | None = None,
        created_at: Instant | None = None,
    ) -> Message:
        """Append a message of the application; by default the model sees it and the user does not.

        conversation_id: an open conversation. content: a text or a list of content blocks, up to 1 MiB of JSON.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        trace_id: the caller's own id for tracing, at most 255 characters.
        created_at: the time of an imported message; by default now.
        """
        new = NewMessage(
            role="system",
            content=encode_content(content),
            visibility=validate_visibility(visibility),
            at=validate_time(created_at, self._clock()),
            trace_id=validate_label("trace_id", trace_id),
        )
        return self._append(conversation_id, new)

    def append_turn(
        self,
        conversation_id: ConversationId,
        *,
        user_content: UserContent,
        assistant: AssistantTurn | dict[str, Any],
        user_visibility: Visibility = "user",
        idempotency_key: Label | None = None,
        trace_id: Label | None = None,
        created_at: Instant | None = None,
    ) -> Turn:
        """Append the user's message and the assistant's answer under one turn id, in one write.

        conversation_id: an open conversation. user_content: a text or a list of content blocks, up to 1 MiB of JSON.
        assistant: the answer with its `content`, and `stop_reason`, `model`, `provider` and `usage` if they are known.
        user_visibility: `user`, `internal` or `hidden`, of the user's message alone; the answer is for the user.
        idempotency_key: a repeated key finds the first user message. The answer is always a new row, since a second
        model call may return another one.
        trace_id: the caller's own id for tracing, at most 255 characters. created_at: the time of imported messages; by
        default now.
        """
        user = self._make_user_message(
            user_content, user_visibility, idempotency_key, trace_id, created_at, field="user_content"
        )
        turn = validate_assistant(assistant)
        answer = NewMessage(
            role="assistant",
            content=encode_content(turn.content, "assistant.content", may_be_empty=True),
            visibility="user",
            at=user.at,
            stop_reason=validate_label("stop_reason", turn.stop_reason),
            model=validate_label("model", turn.model),
            provider=validate_label("provider", turn.provider),
            usage=validate_usage(turn.usage),
            trace_id=user.trace_id,
        )
        return self._write(conversation_writes.append_turn, conversation_id, user, answer)

    def run_turn(
        self,
        conversation_id: ConversationId,
        *,
        model: Label | LanguageModel,
        provider: Label | None = None,
        user_text: SpokenText | None = None,
        content: Content | None = None,
        tools: Sequence[str | Tool | BoundTool | dict[str, Any]] = (),
        tool_handler: ToolHandler | None = None,
        tool_arguments: dict[str, Any] | None = None,
        options: TurnOptions | dict[str, Any] | None = None,
        max_cycles: Cycles = 8,
        tail_limit: TailLimit = 50,
        idempotency_key: Label | None = None,
        trace_id: Label | None = None,
        on_text: OnText | None = None,
        cancel: Cancel | None = None,
        memory_policy: MemoryPolicy | dict[str, Any] | None = None,
        agent_id: Identity | None = None,
    ) -> TurnResult:
        """Let a model answer the user, with tool calls as needed, and store everything under one turn id.

        conversation_id: an open conversation. user_text, content: what the user says; pass one of the two.
        model: a name such as `openai:gpt-5-mini`, or an object. provider: the vendor, if the name does not begin with
        it.
        tools: tools with their functions, names of registered tools (see `engine.register_tool`), and recall tools as
        an agent's JSON defines them. tool_handler: runs the tools that do not run themselves.
        tool_arguments: values for memory spaces that recall tools write as `$name`.
        options: `system_prompt`, `max_tokens` and `temperature` of the model calls, each by default unset.
        max_cycles: how often the model may be asked, from 1 to 1,000. on_text: receives each piece of the answer.
        tail_limit: how many earlier rows the model sees at most, in whole turns, from 0 to 10,000.
        idempotency_key: a repeated key finds the first user message and starts another answer.
        trace_id: the caller's own id for tracing, on all rows. cancel: a `Cancel` that stops the turn from any thread.
        memory_policy, agent_id: the memory after the system prompt; by default core blocks and the brief of the tools.

        Wrong input raises and writes nothing. Once the user's message is stored, only an error of `on_text` is raised;
        if the model or the store fails, the result has the status `error`.
        """
        # Imported late: programs that run no turns need not wait for it.
        from longmind.conversations.turn_memory import TurnMemory
        from longmind.conversations.turn_runner import RunningTurn, TurnPlan
        from longmind.conversations.turn_tools import make_toolbox

        plan = TurnPlan(
            conversation_id=validate_id("conversation_id", conversation_id),
            user=self._make_user_message(
                validate_question(user_text, content),
                "user",
                idempotency_key,
                trace_id,
                None,
                field="content" if user_text is None else "user_text",
            ),
            toolbox=make_toolbox(
                self._tools.expand(tools, tool_arguments), tool_handler, self._models.wait_for, validate_cancel(cancel)
            ),
            options=validate_options(options),
            max_cycles=CYCLES.check("max_cycles", max_cycles),
            tail_limit=TAIL_LIMIT.check("tail_limit", tail_limit),
            on_text=validate_listener(on_text),
            memory=TurnMemory(
                self._blocks,
                self._brief,
                validate_policy(memory_policy),
                self._scope.agent_id if agent_id is None else validate_identity("agent_id", agent_id),
            ),
            # Chosen last, because making a model may take a second.
            model=self._models.choose(model, provider),
        )
        return RunningTurn(self._database, self._scope, self._clock, self._job_policy, plan).run()

    def refresh_rolling_summary(self, conversation_id: ConversationId) -> RollingSummary:
        """Bring the summary of a conversation up to the last finished turn now.

        A failing summariser is no error: the outcome is then `failed`, `error` says why, and the summary is unchanged.

        conversation_id: the conversation.
        """
        return self._rolling.refresh(self._scope, validate_id("conversation_id", conversation_id))

    def _make_user_message(
        self,
        content: Content,
        visibility: Visibility,
        idempotency_key: str | None,
        trace_id: str | None,
        created_at: Instant | None,
        field: str = "content",
    ) -> NewMessage:
        encoded = encode_content(content, field)
        visibility = validate_visibility(visibility, "user_visibility" if field == "user_content" else "visibility")
        return NewMessage(
            role="user",
            content=encoded,
            visibility=visibility,
            at=validate_time(created_at, self._clock()),
            trace_id=validate_label("trace_id", trace_id),
            idempotency_key=validate_label("idempotency_key", idempotency_key),
            fingerprint=fingerprint(encoded, visibility) if idempotency_key is not None else None,
        )

    def _append(self, conversation_id: str, new: NewMessage) -> Message:
        return self._write(conversation_writes.append, conversation_id, new)

    def _write(self, work: Callable[..., T], conversation_id: str, *new: NewMessage) -> T:
        return self._database.write(
            self._scope,
            work,
            self._scope,
            validate_id("conversation_id", conversation_id),
            *new,
            self._clock(),
            self._job_policy,
        )
