"""The operations on memory blocks, for one scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from longmind.blocks.reader import BlockReader
from longmind.blocks.tools import build_tools
from longmind.blocks.validation import (
    validate_agent,
    validate_content,
    validate_expectation,
    validate_idle,
    validate_place,
)
from longmind.clock import Clock, Instant, Micros
from longmind.conversations.validation import validate_policy
from longmind.errors import BlockConflict, InvalidInput
from longmind.models.block import (
    Block,
    BlockLine,
    BlockRevision,
    BlockType,
    MemoryPolicy,
    SleepTime,
    Writer,
)
from longmind.models.value import Page
from longmind.providers.language_model import BoundTool
from longmind.scope import Scope, ScopedService
from longmind.store.database import Database, Transaction
from longmind.store.tables import blocks as store
from longmind.store.tables import ledger, sleep_time_rules
from longmind.store.tables.blocks import BlockPlace
from longmind.store.tables.sleep_time_rules import SleepRule
from longmind.validation.identifiers import validate_count
from longmind.validation.parameter_limits import HITS, Hits, Identity, Limit, Ordinal, Query, Text
from longmind.validation.text import quote_value, validate_text

_QUERY_LIMIT = 10_000
_DEFAULT_IDLE_SECONDS = 600.0
_EDIT_ATTEMPTS = 5


class Blocks(ScopedService):
    """The core and archival blocks of the current user, and those of each agent for this user.

    They belong to the user of this app or, in an app of `apps_sharing_blocks`, to the user in the whole tenant.

    Without an `agent_id` an operation is about the user's own blocks, also in a context that has an agent: to write
    blocks that only one agent sees, name it. The operations for prompts (`user_memory`, `reminders`, `tools`) use the
    agent of the context where none is named.
    """

    def __init__(
        self, database: Database, scope: Scope, clock: Clock, reader: BlockReader, usual_idle: Micros | None
    ) -> None:
        self._database = database
        self._scope = scope
        self._owner = scope.block_owner
        self._clock = clock
        self._reader = reader
        self._usual_idle = usual_idle

    def get(self, block_type: BlockType, *, agent_id: Identity | None = None) -> Block | None:
        """Return a block of the user, or with an agent id of that agent; None if there is none.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block.
        """
        return self._database.read(self._owner, store.get, validate_place(block_type, agent_id))

    def list(self, scope: Literal["all", "user", "agent"] = "all", agent_id: Identity | None = None) -> Page[Block]:
        """List all blocks, the user's first; with an agent id, leave out those of other agents.

        scope: whose blocks: `all`, `user` or `agent`. agent_id: only this agent's; by default those of every agent. The
        scope `user` takes none.
        """
        if scope not in ("all", "user", "agent"):
            raise InvalidInput(f"scope is {quote_value(scope)}.", hint="Use 'all', 'user' or 'agent'.")
        agent = validate_agent(agent_id)
        if scope == "user" and agent is not None:
            raise InvalidInput("The scope 'user' takes no agent_id.", hint="Leave agent_id out, or pass scope='agent'.")
        return Page(
            self._database.read(
                self._owner, store.list_all, users=scope != "agent", agents=scope != "user", agent_id=agent
            )
        )

    def update(
        self,
        block_type: BlockType,
        content: str,
        expected_updated_at: Instant | None,
        *,
        agent_id: Identity | None = None,
    ) -> Block:
        """Replace a whole block, or with `expected_updated_at=None` create one that does not exist yet.

        The instant is the `updated_at` that was last read, in any ISO form or zone; without a zone it is UTC. If
        another writer was faster, `BlockConflict` is raised, whose `current` is the block as it is now.

        block_type: `core` or `archival`. content: the new text: at most 4,000 characters in 20 lines that are not blank
        for a core block, and 8,000 characters for an archival one; a longer text is refused. agent_id: the agent whose
        block is meant; None means the user's own block.
        """
        return self._write(validate_place(block_type, agent_id), content, expected_updated_at, "app")

    def delete(
        self, block_type: BlockType, *, agent_id: Identity | None = None, expected_updated_at: Instant | None = None
    ) -> None:
        """Delete a block with its revisions; with an instant, only if it has not been written since it was read.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block.
        expected_updated_at: the `updated_at` that was last read; None deletes the block in any state.
        """
        self._database.write(
            self._owner,
            store.delete,
            self._scope,
            validate_place(block_type, agent_id),
            validate_expectation(expected_updated_at),
            self._clock(),
        )

    def recall(self, query: Query, *, agent_id: Identity | None = None, limit: Hits = 10) -> Page[BlockLine]:
        """Find lines of the user's archival block and, with an agent id, of that agent's; best first.

        An empty query lists the lines in their order.

        query: at most 10,000 characters. agent_id: the agent whose lines are searched too; by default none's.
        limit: at most that many lines, 1 to 200.
        """
        text = validate_text("query", query, limit=_QUERY_LIMIT)
        limit = HITS.check("limit", limit)
        return Page(self._reader.find(text, validate_agent(agent_id), limit))

    def revisions(
        self, block_type: BlockType, *, agent_id: Identity | None = None, limit: Limit = 20
    ) -> Page[BlockRevision]:
        """List earlier contents of a block, newest first.

        block_type: `core` or `archival`. agent_id: the agent whose block is meant; None means the user's own block.
        limit: at most that many, 1 to 120.
        """
        limit = validate_count("limit", limit, most=store.REVISIONS_KEPT + store.MARKED_REVISIONS_KEPT)
        return Page(self._database.read(self._owner, store.list_revisions, validate_place(block_type, agent_id), limit))

    def restore(
        self,
        block_type: BlockType,
        revision: Ordinal,
        expected_updated_at: Instant | None,
        *,
        agent_id: Identity | None = None,
    ) -> Block:
        """Write the content of a revision again; the present content becomes a revision in turn.

        block_type: `core` or `archival`. revision: its number, as `revisions` lists it. expected_updated_at: the
        `updated_at` of the block that was last read; if another writer was faster, `BlockConflict` is raised. agent_id:
        the agent whose block is meant; None means the user's own block.
        """
        return self._database.write(
            self._owner,
            store.restore,
            self._scope,
            validate_place(block_type, agent_id),
            validate_count("revision", revision, most=2**62),
            validate_expectation(expected_updated_at),
            self._clock(),
        )

    def user_memory(self, agent_id: Identity | None = None, policy: MemoryPolicy | dict[str, Any] | None = None) -> str:
        """Return the section of a system prompt with the core memory of user and active agent; empty if there is none.

        It is read from the database each time, so that every write is in the next prompt.

        agent_id: the active agent; by default that of the context. policy: the core blocks to include; by default both.
        """
        return self._reader.read_section(self._reader.choose_agent(agent_id), validate_policy(policy))

    def reminders(
        self, text: Text, *, agent_id: Identity | None = None, policy: MemoryPolicy | dict[str, Any] | None = None
    ) -> Page[str]:
        """Return archival memory related to a message of the user, as texts for the model only.

        Empty unless the policy's `archival_mode` is `auto`; its limit and minimum score bound the lines.

        text: the message. agent_id: the active agent; by default that of the context. policy: the rules for archival
        memory; by default `tool_only`, so that the answer is empty.
        """
        chosen, message = validate_policy(policy), validate_text("text", text)
        return Page(self._reader.list_reminders(message, self._reader.choose_agent(agent_id), chosen))

    def tools(self, agent_id: Identity | None = None) -> Page[BoundTool]:
        """Return the tools `update_memory` and `recall_memory` for a model, bound to this user and the active agent.

        agent_id: the active agent; by default that of the context.
        """
        return Page(build_tools(self, self._reader.choose_agent(agent_id)))

    def set_sleep_time(
        self, enabled: bool, *, agent_id: Identity | None = None, idle_seconds: float = 600.0
    ) -> SleepTime:
        """Turn updates of blocks from closed or idle conversations on or off; they are on unless the settings say not.

        Without an agent it applies to the user's blocks and all conversations. An agent's own setting takes precedence,
        and applies to the agent's blocks and the conversations of contexts that have this agent.

        enabled: True for on. agent_id: the agent; None means the user. idle_seconds: the silence after which a
        conversation counts as idle: above 0, at most 365 days.
        """
        if not isinstance(enabled, bool):
            raise InvalidInput(f"enabled must be True or False, not {quote_value(enabled)}.")
        rule = SleepRule(enabled, validate_idle(idle_seconds), validate_agent(agent_id))
        self._database.write(self._scope, _put_rule, self._scope, rule, self._clock())
        return _to_sleep_time(rule)

    def get_sleep_time(self, *, agent_id: Identity | None = None) -> SleepTime:
        """Return the rule by which the blocks of the user, or of an agent, are updated from conversations.

        An agent without a rule of its own has the user's; without any, the settings of the engine decide.

        agent_id: the agent; None means the user.
        """
        rule = self._database.read(self._scope, sleep_time_rules.find, validate_agent(agent_id))
        rule = rule or sleep_time_rules.make_usual(self._usual_idle)
        return _to_sleep_time(rule) if rule else SleepTime(enabled=False, idle_seconds=_DEFAULT_IDLE_SECONDS)

    def _write(self, place: BlockPlace, content: str, expected_updated_at: Instant | None, by: Writer) -> Block:
        text = validate_content(place.block_type, content)
        expected = validate_expectation(expected_updated_at)
        return self._database.write(self._owner, store.update, self._scope, place, text, expected, by, self._clock())

    def _edit(self, place: BlockPlace, change: Callable[[str], str], by: Writer) -> Block:
        """Apply a change to the present content of a block. Concurrent writers of the block wait for each other."""
        # The lock covers a block that exists. One that another writer creates at the same time takes a second attempt.
        for _ in range(_EDIT_ATTEMPTS):
            edited = self._database.write(self._owner, _edit_block, self._scope, place, change, by, self._clock())
            if edited is not None:
                return edited
        raise BlockConflict(place.name, self.get(place.block_type, agent_id=place.agent_id), None)


def _edit_block(
    run: Transaction, scope: Scope, place: BlockPlace, change: Callable[[str], str], by: Writer, now: Micros
) -> Block | None:
    """Apply a change in a transaction; None if another writer was faster."""
    store.hold(run, place)
    known = store.find(run, place)
    before = known.block.content if known else ""
    content = validate_content(place.block_type, change(before))
    if known is not None and content == before:
        return known.block
    return store.write(run, scope, place, content, known, by, now)


def _put_rule(run: Transaction, scope: Scope, rule: SleepRule, now: Micros) -> None:
    sleep_time_rules.put(run, rule, now)
    ledger.record_change(run, scope, "sleep_time.updated", now, agent_id=rule.agent_id, enabled=rule.enabled)


def _to_sleep_time(rule: SleepRule) -> SleepTime:
    return SleepTime(enabled=rule.enabled, idle_seconds=rule.idle / 1_000_000)
