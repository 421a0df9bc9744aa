"""Sleep-time memory: once a conversation is idle or closed, its facts are merged into the blocks.

Facts are read and merged outside of a transaction, against the blocks as they are then. The transaction that writes
compares and sets; if another writer was faster, the blocks are read and merged again. After two such rounds the merge
happens inside the transaction, with the blocks locked, so that a busy block cannot starve the job. The transaction also
moves the conversation's mark, so that each message is merged exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from longmind.blocks.fact_merge import BlockMerge, merge_facts
from longmind.clock import Clock, Micros
from longmind.errors import NotFound
from longmind.extraction.conversation_facts import ConversationFactReader, ConversationFacts
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import blocks, conversations, extraction_marks, sleep_time_rules
from longmind.store.tables.blocks import BlockPlace, StoredBlock
from longmind.store.tables.jobs import JobPostponement
from longmind.store.tables.sleep_time_rules import SleepRule
from longmind.store.triggers.sleep_time import IdleState, read_idle_state

Result = dict[str, Any]
Write = Callable[[Transaction], Result | JobPostponement]
OPTIMISTIC_ROUNDS = 2
"""Rounds in which the merge happens outside of the transaction."""
_MIN_WAIT: Micros = 1_000
MOST_MESSAGES = 500
"""Messages that one run reads at the most; it then goes on with the next ones."""
_EXTRACTION_SECONDS = 60.0
"""Interval at which a conversation is looked at again of which an extraction is queued; its end makes the job due."""
_PATIENCE: Micros = 3600 * 1_000_000
"""Time after which an extraction that is queued is not waited for any longer."""

_OFF = "Sleep-time memory is off."


@dataclass(frozen=True)
class _FactMergeWork:
    """The part of a conversation that one run covers, and the facts found in it."""

    conversation_id: str
    idle: IdleState
    until: int
    """The sequence number of the last message that it covers."""
    agent_id: str | None
    found: ConversationFacts


class SleepTimeUpdater:
    """Merges the facts of one conversation into the blocks of a user or an agent."""

    def __init__(
        self, database: Database, fact_reader: ConversationFactReader, clock: Clock, usual: SleepRule | None
    ) -> None:
        self._database = database
        self._fact_reader = fact_reader
        self._clock = clock
        self._usual = usual

    def prepare(
        self, scope: Scope, conversation_id: str, notes: dict[str, Any], *, in_transaction: bool
    ) -> Result | JobPostponement | Write:
        """Do all the work except the write, which is returned for the transaction that ends the job.

        Returns a result instead if there is nothing to write, and a postponement if the conversation is not idle yet.
        notes: holds the facts for the next round, since finding them again may cost money.
        in_transaction: merge in the transaction that writes, with the blocks locked.
        """
        try:
            idle = self._database.read(scope, read_idle_state, conversation_id, self._clock(), self._usual)
        except NotFound:
            return {"skipped": "The conversation was deleted."}
        if idle.rule is None or not idle.rule.enabled:
            return {"skipped": _OFF}
        if not idle.settled:
            # The conversation went on, or the idle time was raised. The minimum makes up for the rounding of seconds.
            return JobPostponement(max(idle.settles_at - self._clock(), _MIN_WAIT) / 1_000_000)
        if idle.until <= idle.begun_at:
            return {"skipped": "The conversation has no new message."}
        if self._clock() < idle.settles_at + _PATIENCE and self._is_being_extracted(scope, conversation_id):
            # Its facts are read back then, which costs nothing; to extract them twice would.
            return JobPostponement(_EXTRACTION_SECONDS)
        span = (idle.begun_at, min(idle.until, idle.begun_at + MOST_MESSAGES))
        if notes.get("span") != span:
            notes["span"], notes["found"] = span, self._fact_reader.read(scope, conversation_id, *span)
        work = _FactMergeWork(conversation_id, idle, span[1], idle.rule.agent_id, notes["found"])
        if in_transaction:
            return lambda run: self._merge_and_write(run, scope, work)
        stored = self._database.read(scope.block_owner, _read_blocks, work.agent_id)
        merged = merge_facts(*stored, work.found.facts)
        return lambda run: self._write(run, scope, work, stored, merged)

    def _is_being_extracted(self, scope: Scope, conversation_id: str) -> bool:
        return self._database.read(scope, extraction_marks.is_awaited, conversation_id)

    def _merge_and_write(self, run: Transaction, scope: Scope, work: _FactMergeWork) -> Result | JobPostponement:
        with run.bind_scope(scope.block_owner) as owner_run:
            stored = _read_blocks(owner_run, work.agent_id, lock=True)
        return self._write(run, scope, work, stored, merge_facts(*stored, work.found.facts))

    def _write(
        self,
        run: Transaction,
        scope: Scope,
        work: _FactMergeWork,
        stored: tuple[StoredBlock | None, StoredBlock | None],
        merged: BlockMerge,
    ) -> Result | JobPostponement:
        # Read again in this transaction: the user may have turned it off since.
        rule = sleep_time_rules.find(run, work.agent_id) or self._usual
        if rule is None or not rule.enabled:
            return {"skipped": _OFF}
        if not conversations.move_sleep_mark(run, work.conversation_id, work.idle.begun_at, work.until):
            raise EffectConflict("Another job read the conversation at the same time.")
        now = self._clock()
        # The mark belongs to the user of the app, and the blocks to whom the scope says.
        with run.bind_scope(scope.block_owner) as owner_run:
            for draft, before in zip(merged.drafts, stored, strict=True):
                if draft.changed:
                    place = BlockPlace(draft.block_type, work.agent_id)
                    said_at = draft.said_at
                    if blocks.write(owner_run, scope, place, draft.content, before, "sleep", now, said_at) is None:
                        raise EffectConflict("Another writer changed a block while the job read the conversation.")
        if work.until < work.idle.until:
            return JobPostponement(0.0)
        # Numbers, never words of the conversation, which may have to be erased later.
        found = work.found
        return {
            **merged.counts,
            "messages": found.messages,
            "cost": asdict(found.cost),
            **({"note": found.note} if found.note else {}),
        }


def _read_blocks(
    run: Transaction, agent_id: str | None, lock: bool = False
) -> tuple[StoredBlock | None, StoredBlock | None]:
    core, archival = BlockPlace("core", agent_id), BlockPlace("archival", agent_id)
    # Always in this order, so that two transactions cannot deadlock.
    if lock:
        blocks.hold(run, core)
        blocks.hold(run, archival)
    return blocks.find(run, core), blocks.find(run, archival)
