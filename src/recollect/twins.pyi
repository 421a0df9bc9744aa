from datetime import timedelta
from recollect.clock import Instant
from recollect.conversations import Conversations
from recollect.hop import Hop
from recollect.jobs import Jobs
from recollect.models.content import Content
from recollect.models.conversation import Conversation, ConversationStatus
from recollect.models.job import Job, JobStatus
from recollect.models.message import AssistantTurn, Message, Turn, Usage, Visibility
from recollect.models.value import Page
from typing import Any

class AsyncConversations:
    def __init__(self, original: Conversations, hop: Hop) -> None: ...
    async def create_conversation(self, namespace: str, *, title: str | None=None, session_id: str | None=None, metadata: dict[str, Any] | None=None) -> Conversation:
        """Begin a conversation. The namespace names its kind, for example `daily-checkin`."""
    async def get_conversation(self, conversation_id: str) -> Conversation | None:
        """Look a conversation up; None when there is none with this id, or it is not this user's."""
    async def list_conversations(self, *, namespace: str | None=None, status: ConversationStatus | None=None, limit: int | None=None, cursor: str | None=None) -> Page[Conversation]:
        """List the user's conversations, newest first. With a limit, `next_cursor` of the answer leads on."""
    async def close_conversation(self, conversation_id: str) -> Conversation:
        """Close a conversation for good. Closing it again changes nothing."""
    async def close_stale(self, idle: timedelta | float, *, namespace: str | None=None) -> list[Conversation]:
        """Close the user's open conversations that nothing was appended to for this long (a timedelta, or seconds)."""
    async def append_user_message(self, conversation_id: str, content: Content, *, idempotency_key: str | None=None, trace_id: str | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append what the user said; it opens a new turn. A repeated idempotency key gives the first message back."""
    async def append_assistant_turn(self, conversation_id: str, content: Content, *, stop_reason: str | None=None, model: str | None=None, provider: str | None=None, usage: Usage | dict[str, Any] | None=None, trace_id: str | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append what the assistant said, in the turn that is open."""
    async def append_tool_result(self, conversation_id: str, tool_use_id: str, content: Content, *, tool_name: str | None=None, is_error: bool=False, trace_id: str | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append a tool's answer to a tool_use block."""
    async def append_system_message(self, conversation_id: str, content: Content, *, visibility: Visibility='internal', trace_id: str | None=None, created_at: Instant | None=None) -> Message:
        """Append what the application itself says; by default the model sees it and the user does not."""
    async def append_turn(self, conversation_id: str, *, user_content: Content, assistant: AssistantTurn | dict[str, Any], user_visibility: Visibility='user', idempotency_key: str | None=None, trace_id: str | None=None, created_at: Instant | None=None) -> Turn:
        """Append the user's message and the assistant's answer side by side, under one turn id, in one write.
    
            A repeated idempotency key finds the user's message of the first time; the answer is always a new row, since
            two model calls do not say the same.
            """
    async def get_messages(self, conversation_id: str, *, limit: int=50, include_internal: bool=False, before: int | None=None) -> list[Message]:
        """The last messages that the user may see, oldest first; `before` a sequence number goes further back."""
    async def get_raw_turns(self, conversation_id: str, *, limit: int=50, include_hidden: bool=False, latest_attempts: bool=False, before: int | None=None) -> list[Message]:
        """The last messages with the internal ones, for replay, debugging or a model.
    
            `latest_attempts` leaves out answers that were replaced by a retry of their turn, as a model should see it.
            """

class AsyncJobs:
    def __init__(self, original: Jobs, hop: Hop) -> None: ...
    async def enqueue(self, kind: str, payload: dict[str, Any] | None=None, *, run_at: Instant | None=None, unique_key: str | None=None, max_attempts: int | None=None) -> Job:
        """Queue a job. With a unique key that was used before for this kind, the job of that time is given back."""
    async def get_job(self, job_id: str) -> Job | None:
        """Look a job up; None when there is none with this id, or it is not this user's."""
    async def list_jobs(self, *, status: JobStatus | None=None, kind: str | None=None, limit: int=100, cursor: str | None=None) -> Page[Job]:
        """List the user's jobs, newest first."""
    async def retry_job(self, job_id: str) -> Job:
        """Queue a failed or dead job again, with all its attempts."""
