"""Sleep-time memory: when a conversation has settled, the blocks take in what it told.

Thinking happens outside of a transaction, against the blocks as they are then. The transaction that writes compares
and sets; when somebody was faster, all is read and merged anew. At the third time both happen in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from longmind.blocks.fact_merge import Merge, merge
from longmind.clock import Clock, Micros
from longmind.errors import NotFound
from longmind.extraction.conversation_facts import ConversationFactReader, ConversationFacts
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import blocks, conversations, sleep_rules
from longmind.store.tables.blocks import BlockPlace, StoredBlock
from longmind.store.tables.jobs import JobPostponement
from longmind.store.triggers.sleep_time import IdleState, read_idle_state

Result = dict[str, Any]
Write = Callable[[Transaction], Result]
PATIENT_ROUNDS = 2
_MOMENT: Micros = 1_000

_OFF = "Sleep-time memory is off."


@dataclass(frozen=True)
class _Work:
    conversation_id: str
    idle: IdleState
    agent_id: str | None
    told: ConversationFacts


class SleepTimeUpdater:
    def __init__(self, database: Database, telling: ConversationFactReader, clock: Clock) -> None:
        self._database = database
        self._telling = telling
        self._clock = clock

    def prepare(
        self, scope: Scope, conversation_id: str, kept: dict[str, Any], *, patient: bool
    ) -> Result | JobPostponement | Write:
        """Do all up to the transaction that writes, or say why there is nothing to write, or not yet.

        What was told is kept for when this is asked again: a model costs money.
        """
        try:
            found = self._database.read(scope, read_idle_state, conversation_id, self._clock())
        except NotFound:
            return {"skipped": "The conversation is gone."}
        if found.rule is None or not found.rule.enabled:
            return {"skipped": _OFF}
        if not found.settled:
            # It went on since, or the time of silence was made longer. Seconds are rounded: a moment is always waited.
            return JobPostponement(max(found.settles_at - self._clock(), _MOMENT) / 1_000_000)
        if found.until <= found.begun_at:
            return {"skipped": "Nothing was said since."}
        part = (found.begun_at, found.until)
        if kept.get("part") != part:
            kept["part"], kept["told"] = part, self._telling.tell(scope, conversation_id, *part)
        work = _Work(conversation_id, found, found.rule.agent_id, kept["told"])
        if not patient:
            return lambda run: self._merge_and_write(run, scope, work)
        known = self._database.read(scope, _blocks_of, work.agent_id)
        made = merge(*known, work.told.facts)
        return lambda run: self._write(run, scope, work, known, made)

    def _merge_and_write(self, run: Transaction, scope: Scope, work: _Work) -> Result:
        known = _blocks_of(run, work.agent_id, held=True)
        return self._write(run, scope, work, known, merge(*known, work.told.facts))

    def _write(
        self,
        run: Transaction,
        scope: Scope,
        work: _Work,
        known: tuple[StoredBlock | None, StoredBlock | None],
        made: Merge,
    ) -> Result:
        rule = sleep_rules.find(run, work.agent_id)
        if rule is None or not rule.enabled:
            return {"skipped": _OFF}
        if not conversations.move_sleep_mark(run, work.conversation_id, work.idle.begun_at, work.idle.until):
            raise EffectConflict("The conversation was read by another job at the same time.")
        now = self._clock()
        for draft, before in zip(made.drafts, known, strict=True):
            if draft.changed:
                place = BlockPlace(draft.block_type, work.agent_id)
                if blocks.write(run, scope, place, draft.content, before, "sleep", now, draft.said_at) is None:
                    raise EffectConflict("A block was written while a conversation was read.")
        # Numbers, never what was said, which may have to be forgotten later.
        told = work.told
        return {
            **made.counts,
            "messages": told.messages,
            "cost": asdict(told.cost),
            **({"note": told.note} if told.note else {}),
        }


def _blocks_of(
    run: Transaction, agent_id: str | None, held: bool = False
) -> tuple[StoredBlock | None, StoredBlock | None]:
    core, archival = BlockPlace("core", agent_id), BlockPlace("archival", agent_id)
    if held:
        blocks.hold(run, core)
        blocks.hold(run, archival)
    return blocks.find(run, core), blocks.find(run, archival)
