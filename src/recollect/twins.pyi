from collections.abc import Sequence
from datetime import timedelta
from recollect.clock import Instant
from recollect.conversations import Conversations
from recollect.hop import Hop
from recollect.jobs import Jobs
from recollect.memory import Memory
from recollect.models.atom import Atom, AtomInput, AtomStatus
from recollect.models.atom import AtomKind, AtomStatus, Trust
from recollect.models.binding import Binding, ExtractionPreview, PolicyInput, ScopeInput
from recollect.models.content import Content
from recollect.models.conversation import Conversation, ConversationStatus
from recollect.models.entity import Entity, EntityType
from recollect.models.job import Job
from recollect.models.job import Job, JobStatus
from recollect.models.message import AssistantTurn, Message, Turn, Usage, Visibility
from recollect.models.recall import Recall, WhyNot
from recollect.models.space import MemorySpace
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

class AsyncMemory:
    def __init__(self, original: Memory, hop: Hop) -> None: ...
    async def create_memory_space(self, name: str | None=None, *, metadata: dict[str, Any] | None=None) -> MemorySpace:
        """Make a space. If the user has a live one of that name, that one is given back as it is."""
    async def get_memory_space(self, memory_space_id: str) -> MemorySpace | None:
        """Look a space up; None when there is none with this id, it was deleted, or it is not this user's."""
    async def list_memory_spaces(self) -> list[MemorySpace]:
        """The user's spaces, oldest first."""
    async def delete_memory_space(self, memory_space_id: str) -> None:
        """Put a space away: it and its memory are found no more, and nothing is extracted into it.
    
            Erasing the user removes them for good.
            """
    async def add_atom(self, memory_space_id: str, atom: AtomInput) -> Atom:
        """Remember one fact."""
    async def add_atoms(self, memory_space_id: str, atoms: Sequence[AtomInput]) -> list[Atom]:
        """Remember many facts in one transaction: all of them, or none."""
    async def mine_patterns(self, memory_space_id: str) -> list[Atom]:
        """Look now for what recurs among the events of a space; gives the patterns that are new or have changed."""
    async def get_atom(self, atom_id: str) -> Atom | None:
        """Look an atom up; None when there is none with this id, or it is not this user's."""
    async def supersede_atom(self, atom_id: str, atom: AtomInput) -> Atom:
        """Replace a fact that has changed: the old version ends where the new one begins, and both are kept.
    
            A version that was superseded, or has ended, is closed: that is a conflict, which names the newest version.
            """
    async def archive_atom(self, atom_id: str, *, rejected: bool=False) -> None:
        """Take an atom out of recall; it can still be listed. Doing it again changes nothing.
    
            One that is rejected, because it is wrong or unwanted, is not learned again from what is said.
            """
    async def delete_atom(self, atom_id: str) -> None:
        """Remove an atom for good, from the store and the search index. Older versions of the fact stay superseded.
    
            A keyed hash of it stays behind, so that it is not learned again from what was said.
            """
    async def list_atoms(self, memory_space_id: str, *, category: str | None=None, status: AtomStatus | None='ACTIVE', valid_at: Instant | None=None, limit: int=100, cursor: str | None=None) -> Page[Atom]:
        """The atoms of a space, newest first; `category` is a category's name, `status=None` is any status."""
    async def create_entity(self, memory_space_id: str, type: EntityType, canonical_name: str, *, description: str | None=None, attributes: dict[str, Any] | None=None, aliases: Sequence[str]=()) -> Entity:
        """Make an entity. If the space knows one of that type by that name, that one is given back as it is.
    
            A name belongs to one entity of a type: an alias that is another one's is a conflict that names the owner.
            """
    async def get_entity(self, entity_id: str) -> Entity | None:
        """Look an entity up. One that was merged is given as it is, with the id it was merged into."""
    async def find_entity_by_name(self, memory_space_id: str, type: EntityType, name: str) -> Entity | None:
        """The entity of a type that is known by exactly this name, or has it as an alias; case does not matter."""
    async def merge_entities(self, canonical_id: str, alias_id: str) -> Entity:
        """Fold one entity into another: its atoms and names go over, and its id leads there from now on."""
    async def search_entities(self, memory_space_id: str, query: str, *, type: EntityType | None=None, limit: int=20) -> list[Entity]:
        """Entities whose names are like the query, the most alike first."""
    async def create_binding(self, conversation_scope: ScopeInput, memory_space_ids: list[str], extraction_policy: PolicyInput | None=None) -> Binding:
        """Have conversations made into memory: those of a namespace and a user, `*` for all, or a list of such.
    
            What other users say goes into their own space of the same name. To bind conversations of others takes the
            capability `admin`.
            """
    async def get_binding(self, binding_id: str) -> Binding | None:
        """Look a binding up; None when there is none with this id, or it is not this user's."""
    async def list_bindings(self, *, limit: int=100, cursor: str | None=None) -> Page[Binding]:
        """The bindings that the user has made, newest first; with the capability `admin`, all of the app."""
    async def update_binding(self, binding_id: str, *, extraction_policy: PolicyInput | None=None, enabled: bool | None=None) -> Binding:
        """Change the policy, of which what is left out stays as it is, or pause and resume. The scope is for ever."""
    async def delete_binding(self, binding_id: str) -> None:
        """Have nothing more extracted by a binding, also not what is queued already. Memory stays."""
    async def run_extraction_for_conversation(self, conversation_id: str, *, extraction_version: str | None=None, dry_run: bool=False) -> list[Job] | list[ExtractionPreview]:
        """Extract a whole conversation again: a job for each binding and space that it falls under.
    
            With another version, what the earlier one has made of this conversation is superseded. A dry run writes
            nothing, and gives what would be added, reinforced, superseded and skipped.
            """
    async def recall_by_topic(self, memory_space_id: str, query: str, *, limit: int=10, category_names: Sequence[str] | None=None, kinds: Sequence[AtomKind] | None=None, tags: Sequence[str] | None=None, min_importance: int | None=None, status: AtomStatus | None='ACTIVE', trust: Sequence[Trust] | None=None, entity: str | None=None, valid_at: Instant | None=None, known_at: Instant | None=None, explain: bool=False) -> Recall:
        """Find what is known about a topic, best first.
    
            `valid_at` asks for what was true at an instant, `known_at` for what had been recorded by then; `status` may ask
            for what was archived instead, and `status=None` for both.
            """
    async def why_not(self, atom_id: str, query: str, *, limit: int=10, category_names: Sequence[str] | None=None, kinds: Sequence[AtomKind] | None=None, tags: Sequence[str] | None=None, min_importance: int | None=None, status: AtomStatus | None='ACTIVE', trust: Sequence[Trust] | None=None, entity: str | None=None, valid_at: Instant | None=None, known_at: Instant | None=None) -> WhyNot:
        """Why `recall_by_topic` does not find an atom: which filter leaves it out, or at which place it is."""
    async def recall_by_entity(self, memory_space_id: str, entity_id_or_name: str, *, limit: int=20, category_names: Sequence[str] | None=None, valid_at: Instant | None=None, known_at: Instant | None=None) -> Recall:
        """Everything that mentions an entity, newest first; an unknown name finds nothing."""
    async def recall_timeline(self, memory_space_id: str, *, entity_id_or_name: str | None=None, query: str | None=None, from_: Instant | None=None, to: Instant | None=None, limit: int=50, include_superseded: bool=True, known_at: Instant | None=None) -> Recall:
        """How things have changed, oldest first: of an entity, of a topic, or of everything between two instants."""

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
