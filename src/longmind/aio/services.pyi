from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from longmind.admin.service import Admin, ImportSource
from longmind.agents.service import Agents
from longmind.blocks.service import Blocks
from longmind.clock import Instant
from longmind.conversations.service import Conversations
from longmind.engine import Engine
from longmind.events.mirror.rebuild import Progress, RebuildResult, ignore_progress
from longmind.events.service import Events
from longmind.jobs.service import Jobs
from longmind.keys.service import AccessKeys
from longmind.memory.attribute_history import USER
from longmind.memory.service import Memory
from longmind.models.agent import Agent, AgentDefinition
from longmind.models.atom import Atom, AtomInput, AtomKind, AtomStatus, MetadataFilter, Trust
from longmind.models.binding import Binding, ExtractionPreview, PolicyInput, ScopeInput
from longmind.models.block import Block, BlockLine, BlockRevision, BlockType, MemoryPolicy, SleepTime
from longmind.models.content import Content, UserContent
from longmind.models.conversation import Conversation, ConversationStatus, RollingSummary
from longmind.models.decision import AtomDecision
from longmind.models.engine_measures import Measures
from longmind.models.entity import Entity, EntityType
from longmind.models.event import ChatRole, Event, EventUsage, STATE_SNAPSHOT
from longmind.models.event_search import EventSearchResult, SearchMode
from longmind.models.grant import SpaceGrant
from longmind.models.job import Job, JobStatus, WorkReport
from longmind.models.key import AccessKey, MadeKey
from longmind.models.message import AppendedMessages, AssistantTurn, GivenMessage, Message, Turn, Usage, Visibility
from longmind.models.profile import Profile
from longmind.models.recall import Effort, Recall, WhyNot
from longmind.models.space import MemorySpace, SpaceKind
from longmind.models.tool import AuditEntry, Brief, DeletedEntry, EntryType, FoundEntries, Outcome, StoredEntry
from longmind.models.turn import TurnOptions, TurnResult
from longmind.models.value import Page
from longmind.models.working_context import WorkingContext
from longmind.providers.language_model import BoundTool, Cancel, LanguageModel, OnText, Tool, ToolHandler
from longmind.runtime.thread_pool import Hop
from longmind.scope import Level, Scope
from longmind.store.tables.keys import KeyCount
from longmind.tools.service import Tools
from longmind.tools.user_consent import Confirm
from longmind.validation.parameter_limits import AtomId, Attempts, BindingId, CategoryName, Confidence, ConversationCursor, ConversationId, Cycles, DecisionCursor, DecisionId, Description, EntityId, HistoryLimit, Hits, Identity, Idle, Importance, JobId, JobKind, Label, Limit, MessageId, Name, Namespace, NumberCursor, Ordinal, Query, RecalledHits, RecentTurns, Score, SpaceId, SpokenText, TailLimit, Text, Title, TokenBudget, ToolName
from longmind.working_context.service import WorkingContexts
from pathlib import Path
from typing import Any, IO, Literal, Self

class AsyncConversations:
    def __init__(self, original: Conversations, hop: Hop) -> None: ...
    async def append_messages(self, messages: Sequence[GivenMessage | dict[str, Any]], *, conversation_id: ConversationId | None=None, namespace: Namespace | None=None, title: Title | None=None, metadata: dict[str, Any] | None=None, extract: bool=False, fact_metadata: dict[str, Any] | None=None) -> AppendedMessages:
        """Append up to 10,000 messages of any roles in one transaction: all of them, or none.

        messages: each has a `role` and `content`; a tool's message also the `tool_use_id` of the call that it answers.
        conversation_id: an open conversation; by default a new one.
        namespace, title, metadata: of the new conversation, as in `create_conversation`.
        extract: queue the extraction of what was not read yet, for each binding, without closing the conversation.
        fact_metadata: with `extract`, the metadata of the facts that are learned: at most 64 keys and 16 KiB of JSON."""
    async def find_messages(self, message_ids: Sequence[MessageId]) -> list[Message]:
        """Return the messages with some ids, such as the sources of a fact, in the order in which they were said.

        message_ids: at most 1,000; those of no message of the user, and of hidden messages, are left out."""
    async def get_messages(self, conversation_id: ConversationId, *, limit: Limit=50, include_internal: bool=False, before: Ordinal | None=None) -> list[Message]:
        """Return the last messages that the user may see, oldest first.

        conversation_id: the conversation. limit: at most that many, from 1 to 10,000.
        include_internal: True also returns the internal messages, which a model sees and the user does not.
        before: a sequence number; only earlier messages are returned."""
    async def get_raw_turns(self, conversation_id: ConversationId, *, limit: Limit=50, include_hidden: bool=False, latest_attempts: bool=False, before: Ordinal | None=None) -> list[Message]:
        """Return the last messages, internal ones included, for replay, debugging or a model.

        conversation_id: the conversation. limit: at most that many messages, from 1 to 10,000.
        include_hidden: also return rows that no model may see.
        latest_attempts: leave out answers that a retry of their turn replaced; models should read it this way.
        before: a sequence number; only earlier messages are returned."""
    async def create_conversation(self, namespace: Namespace, *, title: Title | None=None, session_id: Identity | None=None, metadata: dict[str, Any] | None=None) -> Conversation:
        """Start a conversation.

        namespace: its kind, for example `daily-checkin`; bindings and lists select by it. title: at most 1,000
        characters.
        session_id: by default that of the context.
        metadata: up to 64 KiB of JSON of the app's own."""
    async def get_conversation(self, conversation_id: ConversationId) -> Conversation | None:
        """Return a conversation, or None if this user has none with this id.

        conversation_id: the conversation."""
    async def list_conversations(self, *, namespace: Namespace | None=None, status: ConversationStatus | None=None, limit: Limit | None=None, cursor: ConversationCursor | None=None) -> Page[Conversation]:
        """List the user's conversations, newest first.

        namespace: only those of this namespace. status: only `open` or only `closed` ones, by default both.
        limit: from 1 to 10,000; by default all of them.
        cursor: `next_cursor` of the previous page; by default the newest."""
    async def close_conversation(self, conversation_id: ConversationId) -> Conversation:
        """Close a conversation for good; closing it again changes nothing.

        Its extraction is queued in the same transaction, for each binding that asks for one at this point.

        conversation_id: the conversation."""
    async def close_stale(self, idle: Idle, *, namespace: Namespace | None=None) -> list[Conversation]:
        """Close the user's open conversations without a new message for `idle`; return them.

        idle: a timedelta or a number of seconds from 0. namespace: only conversations of this namespace; by default
        all."""
    async def append_user_message(self, conversation_id: ConversationId, content: Content, *, idempotency_key: Label | None=None, trace_id: Label | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append a message of the user, which opens a new turn.

        conversation_id: an open conversation. content: a text or a list of content blocks, up to 1 MiB of JSON.
        idempotency_key: a repeated key returns the first message, with `replayed` set. With other content it raises
        IdempotencyMismatch.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now.

        Raises ConversationClosed, and LimitExceeded for content of more than 1 MiB."""
    async def append_assistant_turn(self, conversation_id: ConversationId, content: Content, *, stop_reason: Label | None=None, model: Label | None=None, provider: Label | None=None, usage: Usage | dict[str, Any] | None=None, trace_id: Label | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append a message of the assistant to the open turn.

        conversation_id: an open conversation. content: a text or a list of content blocks; it may be empty.
        stop_reason, model, provider: of the model call that made it, each at most 255 characters.
        usage: `input_tokens`, `output_tokens` and `latency_ms` of that call, each from 0 or left out.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now."""
    async def append_tool_result(self, conversation_id: ConversationId, tool_use_id: Label, content: Content, *, tool_name: Label | None=None, is_error: bool=False, trace_id: Label | None=None, visibility: Visibility='user', created_at: Instant | None=None) -> Message:
        """Append a tool's result for the assistant's tool_use block with the id `tool_use_id`.

        conversation_id: an open conversation. tool_use_id: the call that it answers, at most 255 characters.
        content: a text, or a list of texts and images. tool_name: the name of the tool. is_error: True if the tool
        failed.
        trace_id: the caller's own id for tracing, at most 255 characters.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        created_at: the time of an imported message; by default now."""
    async def append_system_message(self, conversation_id: ConversationId, content: Content, *, visibility: Visibility='internal', trace_id: Label | None=None, created_at: Instant | None=None) -> Message:
        """Append a message of the application; by default the model sees it and the user does not.

        conversation_id: an open conversation. content: a text or a list of content blocks, up to 1 MiB of JSON.
        visibility: `user`, `internal` (a model sees it, the user does not) or `hidden` (neither does).
        trace_id: the caller's own id for tracing, at most 255 characters.
        created_at: the time of an imported message; by default now."""
    async def append_turn(self, conversation_id: ConversationId, *, user_content: UserContent, assistant: AssistantTurn | dict[str, Any], user_visibility: Visibility='user', idempotency_key: Label | None=None, trace_id: Label | None=None, created_at: Instant | None=None) -> Turn:
        """Append the user's message and the assistant's answer under one turn id, in one write.

        conversation_id: an open conversation. user_content: a text or a list of content blocks, up to 1 MiB of JSON.
        assistant: the answer with its `content`, and `stop_reason`, `model`, `provider` and `usage` if they are known.
        user_visibility: `user`, `internal` or `hidden`, of the user's message alone; the answer is for the user.
        idempotency_key: a repeated key finds the first user message. The answer is always a new row, since a second
        model call may return another one.
        trace_id: the caller's own id for tracing, at most 255 characters. created_at: the time of imported messages; by
        default now."""
    async def run_turn(self, conversation_id: ConversationId, *, model: Label | LanguageModel, provider: Label | None=None, user_text: SpokenText | None=None, content: Content | None=None, tools: Sequence[str | Tool | BoundTool | dict[str, Any]]=(), tool_handler: ToolHandler | None=None, tool_arguments: dict[str, Any] | None=None, options: TurnOptions | dict[str, Any] | None=None, max_cycles: Cycles=8, tail_limit: TailLimit=50, idempotency_key: Label | None=None, trace_id: Label | None=None, on_text: OnText | None=None, cancel: Cancel | None=None, memory_policy: MemoryPolicy | dict[str, Any] | None=None, agent_id: Identity | None=None) -> TurnResult:
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
        if the model or the store fails, the result has the status `error`."""
    async def refresh_rolling_summary(self, conversation_id: ConversationId) -> RollingSummary:
        """Bring the summary of a conversation up to the last finished turn now.

        A failing summariser is no error: the outcome is then `failed`, `error` says why, and the summary is unchanged.

        conversation_id: the conversation."""

class AsyncMemory:
    def __init__(self, original: Memory, hop: Hop) -> None: ...
    async def get_history(self, memory_space_id: SpaceId, attribute: Name, *, subject: Name=USER, limit: Limit=100) -> list[Atom]:
        """Get the values that an attribute has had, oldest first; one that nothing is known about has none.

        memory_space_id: the id or the name of a space.
        attribute: words such as `home`, `phone number` or `favourite colour`; all attributes that have these words.
        subject: the name of another person or thing, by default the user.
        limit: from 1 to 10,000, of the newest values.

        Only facts that extraction has learned name their attribute. Newer versions of them belong to the history too."""
    async def get_profile(self, memory_space_id: SpaceId, *, entity_id: EntityId | None=None, known_at: Instant | None=None) -> Profile:
        """Get what is stable about the user in at most 150 tokens: lines for every prompt, with the facts they cite.

        Identity comes first, then standing rules, health and diet, home, work and family, then what is important. Only
        what the user or the app stated is in it. In a shared space, it is about what this user said there.

        memory_space_id: the id or the name of a space. entity_id: the entity to describe in place of the user.
        known_at: the profile as it was at that instant. Raises NotFound for an unknown space or entity."""
    async def recall_by_topic(self, memory_space_id: SpaceId, query: Query, *, limit: Hits=10, category_names: Sequence[str] | None=None, kinds: Sequence[AtomKind] | None=None, tags: Sequence[str] | None=None, metadata: MetadataFilter | None=None, min_importance: Importance | None=None, status: AtomStatus | None='ACTIVE', trust: Sequence[Trust] | None=None, entity: str | None=None, valid_at: Instant | None=None, known_at: Instant | None=None, min_score: Score | None=None, effort: Effort='normal', exhaustive: bool | None=None, passages: bool=True, explain: bool=False) -> Recall:
        """Find what is known about a topic, best first: facts in `hits`, and in `passages` quotes from conversations.

        memory_space_id: the id or the name of a space.
        query: a question or a few words, at most 10,000 characters. limit: from 1 to 200, of hits and of passages.
        category_names, kinds, tags, min_importance, trust: only atoms with one of these, or at least that importance.
        metadata: only atoms that have all of these keys with these values at the top level of their metadata.
        entity: only atoms about this entity, by its id or name.
        status: `ACTIVE`, `ARCHIVED` or None for both.
        valid_at: what was true at an instant. known_at: what had been recorded by then. By default now.
        min_score: the least score of a hit or passage, from 0 to 1; by default all are returned, and weak ones marked.
        effort: `high` may spend up to half a second on better results.
        exhaustive: collect everything relevant, even beyond the limit, for lists and counts; by default where the
        question asks for all.
        passages: False leaves quotes out. They have no entity, category, kind, tag, metadata or importance, so a
        filter by one of these leaves them out too, like the status `ARCHIVED`.
        explain: return the factors of each score too."""
    async def why_not(self, atom_id: AtomId, query: Query, *, limit: Hits=10, category_names: Sequence[str] | None=None, kinds: Sequence[AtomKind] | None=None, tags: Sequence[str] | None=None, metadata: MetadataFilter | None=None, min_importance: Importance | None=None, status: AtomStatus | None='ACTIVE', trust: Sequence[Trust] | None=None, entity: str | None=None, valid_at: Instant | None=None, known_at: Instant | None=None) -> WhyNot:
        """Explain why `recall_by_topic` with the same arguments does not find an atom.

        atom_id: the atom. query: what that recall asked, at most 10,000 characters. limit: its limit, from 1 to 200.
        category_names, kinds, tags, metadata, min_importance, status, trust, entity, valid_at, known_at: the filters of
        that recall.

        The answer names the filter that excludes the atom, or says that it has ended, or gives its rank. Raises
        NotFound for an atom that the user may not read."""
    async def recall_by_entity(self, memory_space_id: SpaceId, entity_id_or_name: str, *, limit: Hits=20, category_names: Sequence[str] | None=None, metadata: MetadataFilter | None=None, valid_at: Instant | None=None, known_at: Instant | None=None, min_score: Score | None=None) -> Recall:
        """Find all atoms that mention an entity, newest first; an unknown name finds nothing.

        memory_space_id: the id or the name of a space. entity_id_or_name: an entity.
        limit: from 1 to 200. category_names: only atoms with one of these categories.
        metadata, valid_at, known_at, min_score: as in `recall_by_topic`; an atom that mentions the entity has the score
        1."""
    async def recall_timeline(self, memory_space_id: SpaceId, *, entity_id_or_name: str | None=None, query: Query | None=None, from_: Instant | None=None, to: Instant | None=None, limit: Hits=50, include_superseded: bool=True, metadata: MetadataFilter | None=None, known_at: Instant | None=None, min_score: Score | None=None) -> Recall:
        """Find how facts have changed, oldest first: about an entity, about a topic, or all within a window.

        memory_space_id: the id or the name of a space. entity_id_or_name, query: at most one of the two.
        from_, to: only what was true within this window. limit: from 1 to 200.
        include_superseded: False leaves out facts that newer versions replaced; facts that only ended stay.
        metadata, known_at, min_score: as in `recall_by_topic`; without a query every fact has the score 1."""
    async def create_binding(self, conversation_scope: ScopeInput, memory_space_ids: list[SpaceId], extraction_policy: PolicyInput | None=None) -> Binding:
        """Bind conversations to memory spaces: conversations of the scope are extracted into them.

        If the user has made a binding of the same scope and spaces, it is returned unchanged. Raises Conflict if it has
        another policy than the one that is given; change that with `update_binding`.

        conversation_scope: a namespace and a user, each `*` for all, or a list of up to 1,000 such pairs.
        memory_space_ids: at most 1,000 spaces of the user, by their ids or names. What other users say goes into a
        shared space, or else into their own space of the same name.
        extraction_policy: when to extract; by default when a conversation closes.

        Binding conversations of other users needs the capability `admin`."""
    async def get_binding(self, binding_id: BindingId) -> Binding | None:
        """Return a binding, or None if this user has none with this id.

        binding_id: the binding."""
    async def list_bindings(self, *, limit: Limit=100, cursor: str | None=None) -> Page[Binding]:
        """List the bindings of the user, newest first; with the capability `admin`, all of the app.

        limit: at most that many, from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the newest."""
    async def update_binding(self, binding_id: BindingId, *, extraction_policy: PolicyInput | None=None, enabled: bool | None=None) -> Binding:
        """Change the policy of a binding, or pause and resume it. The scope never changes.

        binding_id: the binding. extraction_policy: the fields to change; the others keep their values.
        enabled: False pauses, True resumes. Queued extractions wait for the end of the pause; conversations that close
        in it are not extracted."""
    async def delete_binding(self, binding_id: BindingId) -> None:
        """Delete a binding: nothing more is extracted by it, queued jobs included. Memory stays.

        binding_id: the binding."""
    async def run_extraction_for_conversation(self, conversation_id: ConversationId, *, extraction_version: Label | None=None, dry_run: bool=False) -> list[Job] | list[ExtractionPreview]:
        """Extract a whole conversation again: queue a job for each binding and space that covers it; return the jobs.

        conversation_id: the conversation.
        extraction_version: with another version than before, the facts of the earlier one are superseded.
        dry_run: write nothing, and return what would be added, reinforced, superseded and skipped."""
    async def create_entity(self, memory_space_id: SpaceId, type: EntityType, canonical_name: Name, *, description: Description | None=None, attributes: dict[str, Any] | None=None, aliases: Sequence[Name]=()) -> Entity:
        """Create an entity, or return the existing one of that type and name unchanged.

        memory_space_id: the id or the name of a space. type: for example `PERSON`. canonical_name: at most 255
        characters.
        description: at most 10,000 characters. attributes: up to 64 KiB of JSON. aliases: other names, at most 1,000.

        A name belongs to one entity of a type: raises Conflict, which names the owner, for an alias that is taken."""
    async def get_entity(self, entity_id: EntityId) -> Entity | None:
        """Return an entity, or None. A merged one is returned as it is, with the id that it was merged into.

        entity_id: the entity."""
    async def find_entity_by_name(self, memory_space_id: SpaceId, type: EntityType, name: Name) -> Entity | None:
        """Return the entity of a type with exactly this name or alias, ignoring case, or None.

        memory_space_id: the id or the name of a space. type: for example `PERSON`. name: at most 255 characters."""
    async def merge_entities(self, canonical_id: EntityId, alias_id: EntityId) -> Entity:
        """Merge one entity into another: its atoms and names move, and its id then leads to the other.

        canonical_id: the entity that stays. alias_id: the one that is merged into it.

        Raises InvalidInput for entities of different spaces, or if both are the same already."""
    async def search_entities(self, memory_space_id: SpaceId, query: Text, *, type: EntityType | None=None, limit: Limit=20) -> list[Entity]:
        """Search entities with a name like the query, the most similar first.

        Equal names come before beginnings, parts, shared words and similar letters.

        memory_space_id: the id or the name of a space. query: a name or a part of one. type: only entities of this
        type, for example `PERSON`. limit: from 1 to 10,000."""
    async def list_decisions(self, memory_space_id: SpaceId, *, atom_id: AtomId | None=None, limit: Limit=100, cursor: DecisionCursor | None=None) -> Page[AtomDecision]:
        """List what extraction has changed in a space, newest first, each with its reason.

        memory_space_id: the id or the name of a space. atom_id: only decisions that have changed this atom.
        limit: from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the newest."""
    async def undo_decision(self, decision_id: DecisionId, *, take_back: bool=False) -> AtomDecision:
        """Undo a decision of extraction and return the `undo` that records it. Undoing it again changes nothing.

        decision_id: the decision. take_back: also archive the new atom of a `supersede`, which stays by default.

        An added atom is archived and not learned again from the same messages; a confirmed one has its former figures
        and sources; what was superseded or has ended holds as before. Raises Conflict, which says what to undo first,
        if an atom of it was changed since."""
    async def add_atom(self, memory_space_id: SpaceId, atom: AtomInput, *, kind: AtomKind | None=None, category: CategoryName | None=None, importance: Importance | None=None, confidence: Confidence | None=None, tags: Sequence[str] | None=None, metadata: dict[str, Any] | None=None, key: Name | None=None, valid_from: Instant | None=None, valid_to: Instant | None=None, trust: Trust | None=None) -> Atom:
        """Add one fact and return it as stored. Raises InvalidInput and LimitExceeded like `add_atoms`.

        memory_space_id: the id or the name of a space.
        atom: a text, or a `NewAtom` or a dict of its fields.
        kind, category: how the platform treats the fact, and the app's own word for it; by default `FACT` and `note`.
        importance: from 1 to 5, by default 3. confidence: from 0 to 1, by default 1.
        tags, metadata: the app's own, for filters; metadata has at most 64 keys and 16 KiB of JSON.
        key: the app's own name for the fact.
        valid_from, valid_to: the time in which it is true, by default from now on.
        trust: who stated it, by default the app. These keywords win over the fields of `atom`.

        A fact that is known already is reinforced and returned: one with the same text, category, speaker and trust
        that holds now. Letter case, white space and a full stop at the end make no difference; an `EPISODE` is the same
        only if it begins at the same instant. Under a `key` the space has one fact: another text supersedes it."""
    async def add_atoms(self, memory_space_id: SpaceId, atoms: Sequence[AtomInput]) -> list[Atom]:
        """Add up to 100,000 facts in one transaction: all of them, or none.

        memory_space_id: the id or the name of a space. atoms: each a text, a `NewAtom` or a dict of its fields.

        A text has at most 1,048,576 characters, a name 255 and a list 1,000 members. Sources and entities must exist. A
        fact that was deleted before may be recalled again once the app adds it.

        Every fact becomes an atom of its own, also one that is known already: a bulk is a copy of memory from
        elsewhere, with its repetitions and its history. Only a fact with a `key` reinforces or supersedes another."""
    async def mine_patterns(self, memory_space_id: SpaceId) -> list[Atom]:
        """Find patterns in the episodes of a space now; return the new and changed ones.

        memory_space_id: the id or the name of a space."""
    async def get_atom(self, atom_id: AtomId) -> Atom | None:
        """Return an atom, or None if there is none with this id that the user may read.

        atom_id: the atom."""
    async def supersede_atom(self, atom_id: AtomId, atom: AtomInput, *, kind: AtomKind | None=None, category: CategoryName | None=None, importance: Importance | None=None, confidence: Confidence | None=None, tags: Sequence[str] | None=None, metadata: dict[str, Any] | None=None, key: Name | None=None, valid_from: Instant | None=None, valid_to: Instant | None=None, trust: Trust | None=None) -> Atom:
        """Replace a fact that has changed by a newer version; return the new atom.

        atom_id: the version that is replaced. atom: the new one, a text, a `NewAtom` or a dict of its fields.
        kind, category: as in `add_atom`; without either, both are those of the old version.
        importance, confidence, tags, metadata, valid_from, valid_to, trust: as in `add_atom`, with the same defaults.
        key: the app's own name for the fact; by default that of the old version.

        The older versions are kept, and end where the new one begins at the latest. A version that was superseded or
        has ended raises Conflict, which names the newest version."""
    async def archive_atom(self, atom_id: AtomId, *, rejected: bool=False) -> None:
        """Remove an atom from recall; it can still be listed. Archiving it again changes nothing.

        atom_id: the atom. rejected: the fact is wrong or unwanted, so extraction does not learn it again."""
    async def delete_atom(self, atom_id: AtomId) -> None:
        """Delete an atom for good, from the store and the search index. Older versions stay superseded.

        Keyed hashes of the fact remain, so that extraction does not learn it again.

        atom_id: the atom."""
    async def forget_messages(self, message_ids: Sequence[MessageId]) -> None:
        """Stop quoting messages, for good: recall finds them no more.

        The messages stay in their conversations, and facts that were learned from them stay too.

        message_ids: at most 1,000; those of no message of the user are ignored."""
    async def restore_atom(self, atom_id: AtomId) -> Atom:
        """Restore the older version of a fact after the newer one was deleted; needs the capability `admin`.

        The atom gets back its own end. Raises Conflict if the newer version exists, which it names, or if this one was
        archived. A version that was never superseded, or is restored already, is returned unchanged.

        atom_id: the older version."""
    async def list_atoms(self, memory_space_id: SpaceId, *, category: CategoryName | None=None, status: AtomStatus | None='ACTIVE', tags: Sequence[str] | None=None, metadata: MetadataFilter | None=None, valid_at: Instant | None=None, limit: Limit=100, cursor: NumberCursor | None=None) -> Page[Atom]:
        """List the atoms of a space, newest first.

        memory_space_id: the id or the name of a space. category: the name of a category.
        status: `ACTIVE`, `ARCHIVED` or None for both.
        tags: only atoms with all of these. metadata: only atoms that have all of these keys with these values.
        valid_at: only facts that were true then. limit: from 1 to 10,000.
        cursor: `next_cursor` of the previous page; by default the newest."""
    async def grant_space(self, memory_space_id: SpaceId, reader: Identity) -> SpaceGrant:
        """Allow a user of the same tenant and app, or all of them with `*`, to read a space of the kind `shared`.

        Only the owner may grant, and only the owner writes to the space. Granting again returns the existing grant.

        memory_space_id: the id or the name of the space. reader: the id of the user who may read it, or `*`."""
    async def revoke_space(self, memory_space_id: SpaceId, reader: Identity) -> None:
        """Revoke a grant: the reader's next call, in any process, no longer finds the space.

        A grant is revoked as it was given: revoking one user leaves a grant to `*` in place. Revoking a grant that does
        not exist is no error.

        memory_space_id: the id or the name of the space. reader: the user, or `*`, that the grant names."""
    async def list_grants(self, memory_space_id: SpaceId) -> list[SpaceGrant]:
        """List the grants of one of the user's spaces, oldest first.

        memory_space_id: the id or the name of the space."""
    async def list_shared_spaces(self, *, limit: Limit=100, cursor: str | None=None) -> Page[MemorySpace]:
        """List the spaces of other users that the user may read, oldest first.

        limit: at most that many, from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the first
        page."""
    async def create_memory_space(self, name: Name | None=None, *, kind: SpaceKind='user', metadata: dict[str, Any] | None=None) -> MemorySpace:
        """Create a space, or return the user's live space of that name and kind unchanged.

        name: at most 255 characters; a space may have none.
        kind: `user`, or `shared` for a space of the user's own that others may be granted to read.
        metadata: up to 64 KiB of JSON of the app's own."""
    async def open_default_space(self) -> MemorySpace:
        """Return the space to use where none is named; for a user without spaces, create it.

        It is the user's only space of the kinds `user` and `shared`, or of several the one called `default`; a user
        with neither gets that of the context's group, or a new space called `default`. A binding leads from the user's
        conversations in the namespace `chat` into it: one that was paused stays paused, one that is missing is created.
        Safe to call from many threads and processes at once.

        Raises InvalidInput if the user has several spaces and none is called `default`."""
    async def get_memory_space(self, memory_space_id: SpaceId) -> MemorySpace | None:
        """Return a space, or None if it does not exist, was deleted, or is not the user's nor shared with them.

        memory_space_id: the id or the name of a space."""
    async def list_memory_spaces(self) -> list[MemorySpace]:
        """List the user's own spaces, oldest first."""
    async def delete_memory_space(self, memory_space_id: SpaceId) -> None:
        """Delete a space: nobody finds it or its memory any more, and nothing is extracted into it.

        Its rows stay until the user is erased.

        memory_space_id: the id or the name of a space of the user."""
    async def agent_tools(self, definitions: dict[str, Any] | Sequence[dict[str, Any]], arguments: Mapping[str, Any] | None=None) -> list[BoundTool]:
        """Make the recall tools that an agent's definition lists, ready to be passed to a model and run.

        definitions: an agent's JSON, one definition or a list of them; tools of other types are skipped.
        arguments: values for memory spaces written as `$name`. A space, and the right to
        read it, are checked only when the tool runs."""

class AsyncWorkingContexts:
    def __init__(self, original: WorkingContexts, hop: Hop) -> None: ...
    async def build_working_context(self, conversation_id: ConversationId, *, memory_space_id: SpaceId, recall_query: str | None=None, recent_turns: RecentTurns=10, recall_limit: RecalledHits=8, token_budget: TokenBudget=8000, include_rolling_summary: bool=True, include_quotes: bool=True, include_profile: bool=True, always_on_category_names: Sequence[str]=(), template_id: str | None=None, known_at: Instant | None=None, memory_policy: MemoryPolicy | dict[str, Any] | None=None, agent_id: Identity | None=None) -> WorkingContext:
        """Build the context for a model's next answer: the summary, its memory and the last turns.

        conversation_id: the conversation. memory_space_id: the id or the name of a space.
        recall_query: the topic to recall atoms and quotes about; without it, only always-on atoms are shown.
        recent_turns: 0 to 1,000. recall_limit: 0 to 200, of atoms and of quotes. token_budget: 1 to 10,000,000.
        include_rolling_summary: False leaves out the summary of the conversation.
        include_quotes: False leaves out what was said in conversations that lead to the space. Quotes that repeat other
        parts of the context or taught a fact that has changed since are left out. Weak facts are marked as perhaps
        unrelated; weak quotes as well, and they are left out where something fits the query far better.
        include_profile: False leaves out the profile of the user, which takes at most 150 tokens, and a fifth of
        the budget (see `get_profile`).
        always_on_category_names: categories whose atoms are shown whatever the query is, at most 100.
        template_id: one of `engine.templates`; by default the plain one.
        known_at: build the context as it would have been at that instant.
        memory_policy: the memory blocks to show: by default the core blocks of the user and of the agent; archival
        lines about the query too where the policy says so. agent_id: the agent; by default that of the context.

        If the budget is short, weak hits and quotes are dropped first, then the oldest turns, then the other hits and
        quotes, the least relevant first, then the least important always-on atoms, then lines of blocks, then those of
        the profile; at last the summary is cut. Raises NotFound for an unknown conversation or space."""
    async def build_memory_context(self, memory_space_id: SpaceId, *, query: str | None=None, recall_limit: RecalledHits=8, token_budget: TokenBudget=800, include_quotes: bool=True, include_profile: bool=True, always_on_category_names: Sequence[str]=(), template_id: str | None=None, known_at: Instant | None=None, memory_policy: MemoryPolicy | dict[str, Any] | None=None, agent_id: Identity | None=None) -> WorkingContext:
        """Build the memory part of a prompt, without a conversation: the profile, and facts and quotes about a query.

        memory_space_id: the id or the name of a space.
        query: the topic to recall facts and quotes about; without it, only the profile and always-on facts are shown.
        recall_limit: 0 to 200, of facts and of quotes. token_budget: 1 to 10,000,000.
        include_quotes, include_profile, always_on_category_names, template_id, known_at, memory_policy, agent_id: as in
        `build_working_context`.

        Raises NotFound for an unknown space."""

class AsyncBlocks:
    def __init__(self, original: Blocks, hop: Hop) -> None: ...
    async def get(self, block_type: BlockType, *, agent_id: Identity | None=None) -> Block | None:
        """Return a block of the user, or with an agent id of that agent; None if there is none.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block."""
    async def list(self, scope: Literal['all', 'user', 'agent']='all', agent_id: Identity | None=None) -> Page[Block]:
        """List all blocks, the user's first; with an agent id, leave out those of other agents.

        scope: whose blocks: `all`, `user` or `agent`. agent_id: only this agent's; by default those of every agent. The
        scope `user` takes none."""
    async def update(self, block_type: BlockType, content: str, expected_updated_at: Instant | None, *, agent_id: Identity | None=None) -> Block:
        """Replace a whole block, or with `expected_updated_at=None` create one that does not exist yet.

        The instant is the `updated_at` that was last read, in any ISO form or zone; without a zone it is UTC. If
        another writer was faster, `BlockConflict` is raised, whose `current` is the block as it is now.

        block_type: `core` or `archival`. content: the new text: at most 4,000 characters in 20 lines that are not blank
        for a core block, and 8,000 characters for an archival one; a longer text is refused. agent_id: the agent whose
        block is meant; None means the user's own block."""
    async def delete(self, block_type: BlockType, *, agent_id: Identity | None=None, expected_updated_at: Instant | None=None) -> None:
        """Delete a block with its revisions; with an instant, only if it has not been written since it was read.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block.
        expected_updated_at: the `updated_at` that was last read; None deletes the block in any state."""
    async def recall(self, query: Query, *, agent_id: Identity | None=None, limit: Hits=10) -> Page[BlockLine]:
        """Find lines of the user's archival block and, with an agent id, of that agent's; best first.

        An empty query lists the lines in their order.

        query: at most 10,000 characters. agent_id: the agent whose lines are searched too; by default none's.
        limit: at most that many lines, 1 to 200."""
    async def revisions(self, block_type: BlockType, *, agent_id: Identity | None=None, limit: Limit=20) -> Page[BlockRevision]:
        """List earlier contents of a block, newest first.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block.
        limit: at most that many, 1 to 120."""
    async def restore(self, block_type: BlockType, revision: Ordinal, expected_updated_at: Instant | None, *, agent_id: Identity | None=None) -> Block:
        """Write the content of a revision again; the present content becomes a revision in turn.

        block_type: `core` or `archival`. revision: its number, as `revisions` lists it. expected_updated_at: the
        `updated_at` of the block that was last read; if another writer was faster, `BlockConflict` is raised. agent_id:
        the agent whose block is meant; None means the user's own block."""
    async def user_memory(self, agent_id: Identity | None=None, policy: MemoryPolicy | dict[str, Any] | None=None) -> str:
        """Return the section of a system prompt with the core memory of user and active agent; empty if there is none.

        It is read from the database each time, so that every write is in the next prompt.

        agent_id: the active agent; by default that of the context. policy: the core blocks to include; by default both."""
    async def reminders(self, text: Text, *, agent_id: Identity | None=None, policy: MemoryPolicy | dict[str, Any] | None=None) -> Page[str]:
        """Return archival memory related to a message of the user, as texts for the model only.

        Empty unless the policy's `archival_mode` is `auto`; its limit and minimum score bound the lines.

        text: the message. agent_id: the active agent; by default that of the context. policy: the rules for archival
        memory; by default `tool_only`, so that the answer is empty."""
    async def tools(self, agent_id: Identity | None=None) -> Page[BoundTool]:
        """Return the tools `update_memory` and `recall_memory` for a model, bound to this user and the active agent.

        agent_id: the active agent; by default that of the context."""
    async def set_sleep_time(self, enabled: bool, *, agent_id: Identity | None=None, idle_seconds: float=600.0) -> SleepTime:
        """Turn updates of blocks from closed or idle conversations on or off; they are on unless the settings say not.

        Without an agent it applies to the user's blocks and all conversations. An agent's own setting takes precedence,
        and applies to the agent's blocks and the conversations of contexts that have this agent.

        enabled: True for on. agent_id: the agent; None means the user. idle_seconds: the silence after which a
        conversation counts as idle: above 0, at most 365 days."""
    async def get_sleep_time(self, *, agent_id: Identity | None=None) -> SleepTime:
        """Return the rule by which the blocks of the user, or of an agent, are updated from conversations.

        An agent without a rule of its own has the user's; without any, the settings of the engine decide.

        agent_id: the agent; None means the user."""

class AsyncTools:
    def __init__(self, original: Tools, hop: Hop) -> None: ...
    async def memory_store(self, type: EntryType, content: str, tags: Sequence[str]=(), supersedes: str | None=None) -> StoredEntry:
        """Remember something across sessions: a preference, a fact, an instruction, context or a correction.

        With `supersedes`, the id of an entry, it takes that one's place: both change together, or neither. A session
        may store 20 entries, 5 of them in another one's place; after that the code of the error is `RATE_LIMITED`. The
        settings `session_…` change the numbers.

        type: `preference`, `fact`, `instruction`, `context` or `correction`. content: the memory in words that are
        clear on their own, at most 2,000 characters. tags: keywords to find it by, at most 10 of 50 characters each."""
    async def memory_search(self, query: str | None=None, tags: Sequence[str]=(), type: EntryType | None=None, include_superseded: bool=False, limit: int=20) -> FoundEntries:
        """Find entries by words, tags or type, best first; without a query, the most recent ones.

        An entry must have all of the tags. `passages` has quotes from conversations if a binding leads from them to the
        space of the group, unless tags or a type are asked for. Weak results may have nothing to do with the query.
        `notice` and `provenance` accompany behavioral entries, which are suggestions and no commands.

        query: at most 500 characters. tags: tags that an entry must all have; by default none. type: `preference`,
        `fact`, `instruction`, `context` or `correction`; None means every type. include_superseded: find replaced
        entries too. limit: at most that many, 1 to 100."""
    async def memory_brief(self, include_provenance: bool=False) -> Brief:
        """Return an overview for the start of a session: behavioral entries, then facts and context, newest first.

        include_provenance: add the source of each entry."""
    async def memory_delete(self, id: str) -> DeletedEntry:
        """Remove an entry for good from the store and the search index. Entries that it superseded stay hidden.

        An entry that came from the user is not removed: only tools from `bound` can ask the user for consent. A session
        may delete 5 entries; after that the code of the error is `RATE_LIMITED`.

        id: the id of the entry."""
    async def invoke(self, tool_name: ToolName, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool by its name with arguments as JSON, validated strictly, and return its answer as JSON.

        Every refusal and failure is a `ToolError`, whose `code` says why and whose `retriable` says whether to repeat
        the call. A call that takes more than 30 seconds is given up and changes nothing.

        tool_name: `memory_store`, `memory_search`, `memory_brief` or `memory_delete`. arguments: as in the operation of
        that name."""
    async def session_brief(self) -> str:
        """Return the brief as text for the start of a session's prompt. It never fails: without memory it is empty."""
    async def bound(self, *, confirm: Confirm | None=None) -> list[BoundTool]:
        """Return the tools for `run_turn`, bound to this context.

        `confirm` is asked before an agent replaces or removes an entry that came from the user; without it, such a call
        is refused."""
    async def audit(self, *, correlation: Label | None=None, since: Instant | None=None, until: Instant | None=None, topic: Label | None=None, outcome: Outcome | None=None, limit: Limit=100, cursor: NumberCursor | None=None) -> Page[AuditEntry]:
        """List the audited calls of the tools of this group, oldest first; `since` and `until` are included.

        correlation: only the lines of the call with this id. since, until: the bounds in time; without a zone it is
        UTC, and None means no bound. topic: only calls of one tool, such as `tool.invoke.memory_store`. outcome:
        `routed`, `rejected`, `sanitized` or `error`. limit: at most that many lines, 1 to 10,000. cursor: `next_cursor`
        of the page before; None begins with the oldest line."""

class AsyncEvents:
    def __init__(self, original: Events, hop: Hop) -> None: ...
    def at(self, level: Level | None=None, *, bucket: str | None=None) -> Self:
        """Return the same service for the timeline of another level, or of a bucket that the caller names.

        Each timeline has its own events: what is recorded at one is not read at another. Where the context lacks the
        id of the level there is nothing to read, and recording is refused."""
    def scope_id(self) -> str | None:
        """Return the bucket that the timeline belongs to, such as `session:s1`; None if the context lacks the id."""
    def memory_level(self) -> str | None:
        """Return the level that was asked for: `session` unless another one was, None for a named bucket."""
    def bucket_level(self) -> str | None:
        """Return the level of the timeline: `user` where there is no session; None for a global or a named bucket."""
    def timeline(self) -> str | None:
        """Return the id of the timeline; None if the context lacks the id of the level that was asked for."""
    def scope_info(self) -> dict[str, Any]:
        """Return the timeline, the levels and the ids of the context, for inspection."""
    def debug_print_scope(self, prefix: str='[MEM]') -> None:
        """Print the entries of `scope_info`, one to a line."""
    async def record_raw(self, *, base: dict[str, Any], text: Text | None=None, metrics: dict[str, float] | None=None) -> Event:
        """Record an event from its fields. Without a text, one is derived from `base["data"]`.

        `base` may hold kind, stage, data, tags, severity, signal, topic, inputs, outputs and more, and ts for an event
        of the past. The context decides who records and where: `base` cannot name anybody else.

        text, metrics: as in `record`; they take precedence over those in `base`."""
    async def record(self, kind: str, data: Any, tags: Sequence[str] | None=None, severity: int=2, stage: str | None=None, inputs_ref: Sequence[Any] | None=None, outputs_ref: Sequence[Any] | None=None, metrics: dict[str, float] | None=None, signal: float | None=None, text: Text | None=None) -> Event:
        """Record an event of a kind.

        A dict in `data` is stored as it is, a text becomes the event's text, and anything else is stored as the `value`
        of a dict, or as its repr() where JSON cannot express it. `signal`, from 0 to 1, says how much the event
        matters; without it, it is estimated.

        kind: at most 255 characters. tags: at most 100. severity: 1 for low, 2 for medium, 3 for high. stage: any step
        or role of the caller's own. inputs_ref, outputs_ref: lists of JSON, at most 1 MiB each. metrics: numbers by
        name. text: at most 1,048,576 characters; by default it is derived from the data."""
    async def record_many(self, events: Sequence[dict[str, Any]]) -> list[Event]:
        """Record many events at once, all or none; each is given by its fields, as the base of `record_raw` is."""
    async def record_chat(self, role: ChatRole, text: Text, *, tags: Sequence[str] | None=None, data: dict[str, Any] | None=None, severity: int=2, signal: float | None=None) -> Event:
        """Record a chat turn. A role or a text in `data` does not replace the given ones.

        role: `user`, `assistant`, `system` or `tool`. text: the words, at most about 1 MiB. data: further fields. tags,
        severity, signal: as in `record`; the tag `chat` is added."""
    async def record_chat_user(self, text: Text, *, tags: Sequence[str] | None=None, data: dict[str, Any] | None=None, severity: int=2, signal: float | None=None) -> Event:
        """Record a chat turn of the user.

        text, tags, data, severity, signal: as in `record_chat`."""
    async def record_chat_assistant(self, text: Text, *, tags: Sequence[str] | None=None, data: dict[str, Any] | None=None, severity: int=2, signal: float | None=None) -> Event:
        """Record a chat turn of the assistant.

        text, tags, data, severity, signal: as in `record_chat`."""
    async def record_chat_system(self, text: Text, *, tags: Sequence[str] | None=None, data: dict[str, Any] | None=None, severity: int=1, signal: float | None=None) -> Event:
        """Record a chat turn of the system.

        text, tags, data, severity, signal: as in `record_chat`; the severity is low by default."""
    async def record_tool_result(self, *, tool: str, inputs: Sequence[dict[str, Any]] | None=None, outputs: Sequence[dict[str, Any]] | None=None, tags: Sequence[str] | None=None, metrics: dict[str, float] | None=None, message: str | None=None, severity: int=3) -> Event:
        """Record the input and the output of a tool call; `message` describes it in words.

        tool: the name of the tool. inputs, outputs: lists of JSON, at most 1 MiB each; None means an empty list. tags,
        metrics, severity: as in `record`; the severity is high by default."""
    async def record_state(self, key: str, value: Any, *, tags: Sequence[str] | None=None, meta: dict[str, Any] | None=None, severity: int=2, signal: float | None=None, kind: str=STATE_SNAPSHOT, stage: str | None=None) -> Event:
        """Record the present value of a state.

        Dataclasses, pydantic models, sets, tuples, enums and times become plain JSON. Any other value is stored
        as its repr() under `__repr__`, and `kept_as_text` in the event's data lists the places.

        key: the name of the state, at most 249 characters. meta: further fields to store with the value. tags,
        severity, signal, stage: as in `record`; the tags `state` and `state:` with the key are added. kind: another
        kind keeps a separate history."""
    async def recent(self, *, kinds: Sequence[str] | None=None, limit: Limit=50, level: Level | None=None, return_event: bool=True) -> list[Any]:
        """Return the last events of the hot log, newest last.

        The hot log is the newest part of the timeline; `recent_persisted` also finds older events. A level admits only
        what was recorded in the same session or run, and nothing if the context has none.

        kinds: only events of these kinds; None means all. limit: at most that many, 1 to 10,000. level: `session`,
        `run`, `user`, `org` or `scope`; None and the last three admit all. return_event: with False, each event is a
        plain dict."""
    async def recent_persisted(self, *, kinds: Sequence[str] | None=None, tags: Sequence[str] | None=None, limit: Limit=50, level: Level | None=None, since: Instant | None=None, until: Instant | None=None, offset: int=0, return_event: bool=True) -> list[Any]:
        """Return the last events of the whole timeline, newest last, leaving out the `offset` newest ones.

        An event must have all of the tags. `since` and `until` are included.

        kinds, limit, level, return_event: as in `recent`. tags: at most 100. since, until: without a zone they are UTC;
        None means no bound. offset: from 0."""
    async def recent_chat(self, *, limit: Limit=50, roles: Sequence[str] | None=None, tags: Sequence[str] | None=None, level: Level | None=None, use_persistence: bool=False, return_event: bool=False) -> list[Any]:
        """Return the last chat turns, newest last: recorded turns and messages of conversations on the timeline.

        Of several answers to one message the last one counts, and hidden messages are left out. A turn must have at
        least one of the tags. Each is a dict of ts, role, text and tags, or with `return_event` an event.

        limit: at most that many, 1 to 10,000. roles: some of `user`, `assistant`, `system` and `tool`; None means all.
        level: as in `recent`. use_persistence: read the whole timeline instead of the hot log."""
    async def recent_tool_results(self, *, tool: str, limit: Limit=10, return_event: bool=True) -> list[Any]:
        """Return the last results of one tool in the hot log, newest last.

        tool: the name of the tool. limit: at most that many, 1 to 10,000. return_event: with False, each event is a
        plain dict."""
    async def latest_state(self, key: str, *, tags: Sequence[str] | None=None, level: Level | None=None, user_persistence: bool=False, use_persistence: bool=False, kind: str=STATE_SNAPSHOT) -> Any:
        """Return the newest value under a key; None if there is none.

        It is read from the hot log, or with `use_persistence`, also spelled `user_persistence`, from the whole
        timeline. A snapshot must have all of the tags.

        key: the name of the state, at most 249 characters. level: as in `recent`. kind: the kind that the state was
        recorded with."""
    async def state_history(self, key: str, *, tags: Sequence[str] | None=None, limit: Limit=50, level: Level | None=None, kind: str=STATE_SNAPSHOT, use_persistence: bool=False) -> list[Event]:
        """Return the last snapshots under a key, newest last, with everything recorded along with the value.

        key, level, kind: as in `latest_state`. tags: tags that a snapshot must all have. limit: at most that many, 1 to
        10,000. use_persistence: read the whole timeline instead of the hot log."""
    async def get_event(self, event_id: str) -> Event | None:
        """Return one event of the user, on whichever timeline it is; None if there is none.

        event_id: the id of the event."""
    async def usage(self, *, since: Instant | None=None) -> list[EventUsage]:
        """Count the user's events by kind on all timelines: those since an instant, or all."""
    async def search(self, query: str | None=None, kinds: Sequence[str] | None=None, tags: Sequence[str] | None=None, limit: Limit=100, use_embedding: bool=True, level: Level | None=None, time_window: str | None=None, mode: SearchMode | None=None, min_score: Score | None=None) -> list[Event]:
        """Find events of the whole timeline about a query, best first; without a query, the newest first.

        `semantic` ranks by meaning, `lexical` by words, `hybrid` by both, `structural` by time alone; `auto` is
        structural without a query, and semantic with one. Without an embedder, or with `use_embedding=False`, words
        decide. An event must have all of the tags, and lie in the time window, such as `90s`, `15m`, `12h` or `7d`. If
        no event is related to the query, the list is empty. Messages that a forgotten fact has cited are in listings,
        but not found here. min_score: the least probability, from 0 to 1, that an event is about the query, whatever
        the mode.

        query: the first 10,000 characters count. kinds: only events of these kinds; None means all. limit: at most that
        many, 1 to 10,000. level: as in `recent`. time_window: the time until now; None means all time."""
    async def search_state(self, query: str, *, key: str | None=None, tags: Sequence[str] | None=None, top_k: int=10, time_window: str | None=None, created_at_min: str | datetime | float | None=None, created_at_max: str | datetime | float | None=None, min_score: Score | None=None) -> list[EventSearchResult]:
        """Find snapshots of states about a query, best first, of one key or of all.

        A snapshot must have all of the tags. `created_at_min` and `created_at_max` are included, as ISO 8601, a
        datetime or seconds since 1970, and take precedence over the bounds of the time window. As in recall, a score is
        the probability that a snapshot is about the query, and min_score the least one.

        query: the first 10,000 characters count. top_k: at most that many, 1 to 10,000. time_window: as in `search`;
        None means all time."""
    async def distill_long_term(self, scope_id: str | None=None, *, summary_tag: str='session', summary_kind: str='long_term_summary', include_kinds: Sequence[str] | None=None, include_tags: Sequence[str] | None=None, max_events: int=200, min_signal: float | None=None, use_llm: bool=False, level: Level | None=None, model: Label | LanguageModel | None=None) -> dict[str, Any]:
        """Summarise the newest events, record the summary as an event, and return it; `{}` if there are no events.

        Without `use_llm` it is a digest that needs no model. An event must have all of the tags, and at least the
        signal. Summaries and records of loaded ones are left out, unless `include_kinds` names their kind and it is
        not `summary_kind`.

        scope_id: the timeline to read and to file on, a bucket or a name of the caller's own; None means this one.
        summary_tag, summary_kind: the tag and the kind of the new summary. include_kinds, include_tags: the kinds and
        the tags of the events; None means all. max_events: at most that many, 1 to 10,000. min_signal: from 0 to 1;
        None means the setting `distill_min_signal`. level: as in `recent`. model: the model for `use_llm`; by default
        that of the engine's summariser."""
    async def distill_meta_summary(self, scope_id: str | None=None, *, source_kind: str='long_term_summary', source_tag: str='session', summary_kind: str='meta_summary', summary_tag: str='meta', max_summaries: int=20, min_signal: float | None=None, use_llm: bool=True, level: Level | None=None, model: Label | LanguageModel | None=None) -> dict[str, Any]:
        """Summarise the newest summaries of a kind and a tag, record and return the result; `{}` if there are none.

        With `use_llm=False` it is a digest that needs no model.

        scope_id: as in `distill_long_term`. source_kind, source_tag: those of the summaries to read. summary_kind,
        summary_tag: those of the new one; at least one of the two must differ. max_summaries: at most that many, 1 to
        200. min_signal, level, model: as in `distill_long_term`."""
    async def load_recent_summaries(self, scope_id: str | None=None, *, summary_tag: str='session', limit: Limit=3) -> list[dict[str, Any]]:
        """Return the newest summaries of a tag, of every kind, newest last.

        scope_id: where they were filed, a bucket or a name of the caller's own; None means this timeline. summary_tag:
        the tag. limit: at most that many, 1 to 200."""
    async def load_last_summary(self, scope_id: str | None=None, *, summary_tag: str='session', summary_kind: str='long_term_summary', level: Level | None='scope') -> dict[str, Any] | None:
        """Return the newest summary of a kind and a tag; None if there is none.

        scope_id, summary_tag: as in `load_recent_summaries`. summary_kind: the kind. level: as in `recent`."""
    async def soft_hydrate_last_summary(self, scope_id: str | None=None, *, summary_tag: str='session', summary_kind: str='long_term_summary', level: Level | None='scope') -> dict[str, Any] | None:
        """Load the newest summary and record on this timeline that it was loaded; None, and no record, without one.

        scope_id, summary_tag, summary_kind, level: as in `load_last_summary`."""
    async def chat_history_for_llm(self, *, limit: HistoryLimit=20, include_system_summary: bool=True, summary_tag: str='session', summary_scope_id: str | None=None, max_summaries: int=3) -> dict[str, Any]:
        """Return the last messages in the form that chat models take, after a system message with the newest summaries.

        `summary` is the text of that system message, or empty where there is none.

        limit: at most that many messages, 0 to 10,000. include_system_summary: with False, there is no system message.
        summary_tag, summary_scope_id: the tag of the summaries, and where they were filed; None means this timeline.
        max_summaries: at most that many, 0 to 200."""
    async def build_prompt_segments(self, *, recent_chat_limit: int=12, include_long_term: bool=True, summary_tag: str='session', max_summaries: int=3, include_recent_tools: bool=False, tool: str | None=None, tool_limit: int=10) -> dict[str, Any]:
        """Return material for a prompt: the newest summaries, the last messages, and the last results of tools.

        Texts are sanitised: each is on one line and cannot be taken for a part of the prompt around it.

        recent_chat_limit, tool_limit: at most that many messages and results of tools, each 0 to 10,000.
        include_long_term, include_recent_tools: with False, summaries or results are left out. summary_tag: the tag of
        the summaries. max_summaries: at most that many, 0 to 200. tool: only the results of this tool; None means all
        tools."""
    def uri_of(self, event: Event) -> str:
        """Return the address of an event of this user: `file://…`, ending in `#` and its id, if events are mirrored.

        Without a mirror it is `longmind://mem/<timeline>/events/<event id>`, and for a summary the place where it is
        filed, `longmind://mem/<scope id>/summaries/<tag>/<ts>#<event id>`."""
    def jsonl_files(self) -> list[Path]:
        """Return the files that mirror this timeline, by day; none where events are not mirrored."""

class AsyncJobs:
    def __init__(self, original: Jobs, hop: Hop) -> None: ...
    async def enqueue(self, kind: JobKind, payload: dict[str, Any] | None=None, *, run_at: Instant | None=None, unique_key: Label | None=None, max_attempts: Attempts | None=None) -> Job:
        """Queue a job and return it, or return the earlier job of this kind that has the same unique key.

        kind: at most 100 lower-case letters, digits, `_`, `-` and `.`. payload: JSON for the handler, at most 1 MiB;
        None means `{}`. run_at: the earliest time of the first attempt; None means now. unique_key: at most 255
        characters; None always queues a new job. max_attempts: from 1 to 100; None means the setting `job_attempts`."""
    async def get_job(self, job_id: JobId) -> Job | None:
        """Return a job, or None if this user has none with this id.

        job_id: the id of the job."""
    async def list_jobs(self, *, status: JobStatus | None=None, kind: JobKind | None=None, limit: Limit=100, cursor: str | None=None) -> Page[Job]:
        """List the user's jobs, newest first.

        status: `queued`, `running`, `succeeded`, `failed` or `dead`; None means all. kind: only jobs of this kind; None
        means all. limit: at most that many, 1 to 10,000. cursor: `next_cursor` of the page before; None begins with the
        newest job."""
    async def retry_job(self, job_id: JobId) -> Job:
        """Queue a failed or dead job again, with all its attempts.

        job_id: the id of the job. Raises NotFound if there is none, and Conflict if it is neither failed nor dead."""
    async def run_job(self, job_id: JobId) -> Job:
        """Make one attempt at a job in this thread, due or not, and return the job as it is after that.

        If another worker has the job, this waits for the end of that attempt. A job that has succeeded or is dead is
        returned as it is. Raises Conflict if this engine has no handler for jobs of its kind.

        job_id: the id of the job."""

class AsyncAccessKeys:
    def __init__(self, original: AccessKeys, hop: Hop) -> None: ...
    async def create(self, *, tenant_id: str, app_id: str, user_id: str | None=None, any_user: bool=False, admin: bool=False, name: str='', expires_at: Instant | None=None, rate: str | None=None) -> MadeKey:
        """Create a key for one user, for any user that a request names, or for administration.

        The `token` of the result is shown only here. rate: the limit of its requests, such as `600/minute`."""
    async def list(self, *, tenant_id: str | None=None, app_id: str | None=None) -> Page[AccessKey]:
        """Return the keys of all tenants, of one, or of one app, oldest first; revoked ones are included."""
    async def revoke(self, key_id: str) -> AccessKey:
        """Revoke a key by its id. Every server of this database refuses its next request."""
    async def count(self) -> KeyCount:
        """Return the number of keys that were ever created, and of those that are valid."""
    async def any_made(self) -> bool:
        """Return whether a key was ever created."""
    async def check(self, token: str) -> AccessKey:
        """Return the key of a request's token; raise Unauthenticated if it is unknown, wrong, revoked or expired."""
    async def settle(self) -> None:
        """Wait until the last uses of keys are stored, which happens in the background."""

class AsyncAgents:
    def __init__(self, original: Agents, hop: Hop) -> None: ...
    async def register(self, definition: AgentDefinition | dict[str, Any]) -> Agent:
        """Register an agent for all users of the app. It replaces one of the same name.

        definition: its JSON, at most 64 KiB. A text that is a `$` and a name stands for the argument of that name."""
    async def get(self, name: Name) -> Agent | None:
        """Return an agent, or None if the app has none of this name.

        name: at most 64 letters, digits, `_` and `-`."""
    async def list(self, *, limit: Limit=100, cursor: str | None=None) -> Page[Agent]:
        """List the agents of the app by name; pass `next_cursor` of the page as `cursor` for more.

        limit: at most that many, 1 to 10,000."""
    async def remove(self, name: Name) -> None:
        """Remove an agent. Removing one that does not exist is no error; conversations with it stay.

        name: at most 64 letters, digits, `_` and `-`."""
    async def invoke(self, name: Name, *, arguments: dict[str, Any] | None=None, conversation_id: ConversationId | None=None, model: Label | LanguageModel | None=None, idempotency_key: Label | None=None, trace_id: Label | None=None, on_text: OnText | None=None, cancel: Cancel | None=None) -> TurnResult:
        """Let an agent answer the user in one turn, with its memory and its tools.

        name: the agent's name.
        arguments: the values of the `$variables` in its definition, such as `userMessage`; others are ignored.
        conversation_id: the conversation to go on with; by default a new one begins, whose id is in every message.
        model: a model in place of the agent's own.
        idempotency_key: as in `run_turn`; it counts within a conversation, so it needs `conversation_id`.
        trace_id: stored with every message of the turn; at most 255 characters.
        on_text: receives each piece of the answer. cancel: by this `Cancel` another thread can end the model's call.

        Raises NotFound for an unknown agent, and InvalidInput for a missing argument; nothing is written then."""

class AsyncAdmin:
    def __init__(self, original: Admin, hop: Hop) -> None: ...
    async def export_user_data(self, user_id: str | None=None) -> dict[str, Any]:
        """Return everything stored about a user as one document, ready for JSON.

        It has `conversations` with their messages of all visibilities, `spaces`, `atoms`, `entities`, `bindings`,
        `grants`, `blocks` with their revisions, `events`, `summaries`, `jobs`, `quotas`, `sleep_time` and `audit`; and
        `records`, the plain rows, for an import. Two exports are equal if nothing changed in between.

        user_id: by default the current user; another one needs the capability `admin`."""
    async def export_user_archive(self, target: str | Path | IO[bytes], user_id: str | None=None) -> dict[str, int]:
        """Write everything stored about a user to a ZIP archive, row by row: for users of any size.

        Returns the number of lines of each file in the archive. A path must not exist yet; the new file is readable by
        its owner alone, and a failed export leaves no file.

        target: the path, or a binary file that is open for writing. user_id: by default the current user; another one
        needs the capability `admin`."""
    async def import_user_data(self, source: ImportSource, user_id: str | None=None) -> dict[str, Any]:
        """Import an export, a document or an archive, all of it or nothing; ids stay as they are.

        The data becomes that of `user_id`, by default the current user. It needs the capability `admin`, since an
        export can hold what a user may not do alone. Raises InvalidInput for an incomplete export, and Conflict if its
        ids belong to other data; importing the same one again changes nothing.

        source: the document, the path of an export, or a binary file that is open for reading and can be rewound."""
    async def delete_user_data(self, user_id: str | None=None, *, confirm: bool=False) -> dict[str, Any]:
        """Erase a user for good: every row, and everything derived from the rows. `confirm` must be True.

        Returns the numbers of `deleted` rows, by place, and the `receipt`, which stands in the log of the app. Erasing
        again finds nothing more. Work of the user that is under way can no longer write.

        The changes of the user are erased as well. The app has one more, `user.erased`, which names the user only by
        the hash that stays with the epoch.

        user_id: by default the current user; another one needs the capability `admin`."""
    async def verify_receipt(self, receipt: Mapping[str, Any]) -> bool:
        """Return whether the log of this app holds the receipt of an erasure unchanged, chained to the rest."""

class AsyncEngineOperations:
    def __init__(self, original: Engine, hop: Hop) -> None: ...
    async def close_stale(self, idle: timedelta | float, *, namespace: str | None=None) -> int:
        """Close the open conversations of all users that nothing was appended to for `idle`; return how many.

        For a scheduled job. `idle` is a timedelta or a number of seconds from 0."""
    async def purge_superseded(self) -> int:
        """Remove memory tool entries superseded more than `purge_superseded_days` ago; return how many.

        For a scheduled job. Opening an engine also removes up to 100 of them."""
    async def rebuild_jsonl(self, *, tenant_id: str | None=None, app_id: str | None=None, user_id: str | None=None, progress: Progress=ignore_progress) -> RebuildResult:
        """Rewrite the JSONL files of events from the ledger, of all users or of those named.

        Other processes may go on writing; files and ledger agree afterwards. `progress` is called now and then with
        the number of events written and the number expected."""
    async def forget_jsonl(self, scope: Scope) -> None:
        """Remove the JSONL files of a user whose events were erased; late appends do not bring them back."""
    async def reindex(self, on_progress: Callable[[int, int, int], object] | None=None) -> int:
        """Make the missing vectors of this engine's embedder for all atoms and messages now; return how many were made.

        `on_progress` is called again and again with the number of vectors made, of spaces done and of all spaces to
        do. Raises InvalidInput if the engine has no embedder."""
    async def list_users(self, *, tenant_id: str, app_id: str) -> list[str]:
        """Return the users of an app who have memory, in alphabetical order: those with a memory space."""
    async def find_jobs(self, *, status: JobStatus | None=None, kind: str | None=None, job_id: str | None=None, limit: int=100) -> list[tuple[Scope, Job]]:
        """Return the jobs of all users, newest first, each with its owner's scope."""
    async def retry_job(self, job_id: str) -> Job:
        """Queue a failed or dead job of any user again, with all its attempts."""
    async def measures(self) -> Measures:
        """Measure the queue of all users, the lag of extraction, and the memory that this process uses for caches."""
    async def check_database(self) -> None:
        """Raise StoreError if the database cannot be reached, lacks a migration, or lately could not be written."""
    async def last_cursor(self) -> int:
        """Return the cursor of the newest change; follow from it to see only changes to come."""
    async def work(self, limit: int | None=None) -> WorkReport:
        """Do the jobs that are due, in this thread, until none is left or `limit` are done; return how many ended how.

        limit: from 1 to 1,000,000, by default no limit."""
    def start_workers(self, count: int=1) -> None:
        """Start 1 to 64 threads that do jobs in the background until `stop_workers()` or `close()`."""
    async def stop_workers(self, timeout: float | None=None) -> bool:
        """Stop the workers after their present jobs; return False if one is still busy after `timeout` seconds.

        timeout: None waits as long as it takes. Called by a job handler, it does not wait at all."""
