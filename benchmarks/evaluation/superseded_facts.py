"""Changed facts: does extraction close the old version, and does recall then answer with the new one?"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.evaluation.dataset import Statement, Update
from benchmarks.evaluation.scripted_clock import ScriptedClock
from longmind.clock import to_micros
from longmind.context import Context
from longmind.engine import Engine

_LIMIT = 20
SUPERSEDED = "old superseded"
ANSWERED = "recall answers the new"
BOTH = "old superseded, and recall answers the new"


def measure_superseding(engine: Engine, clock: ScriptedClock, updates: Sequence[Update]) -> dict[str, object]:
    """Return the share of facts whose old version is superseded, and of those that recall answers with the new one.

    Each fact is a user of its own, with one conversation for the old statements and one for the new. The old version is
    superseded if an atom from the first conversation was superseded by one from the second. Recall answers with the new
    version if the first hit that cites either conversation cites the second. Quotes are left out, since what was said
    stays said.
    """
    superseded, answered = [], []
    for number, update in enumerate(updates):
        context = engine.context(tenant_id="bench", app_id="changes", user_id=f"user {number}")
        space_id = context.memory.create_memory_space("memory").id
        context.memory.create_binding({"namespace": "talks", "userId": context.scope.user_id}, [space_id])
        old, new = (_say_statements(engine, context, clock, each) for each in (update.old, update.new))
        atoms = context.memory.list_atoms(space_id, status=None, limit=1000)
        by_id = {atom.id: atom for atom in atoms}
        superseded.append(
            any(
                atom.superseded_by in by_id and new & set(by_id[atom.superseded_by].source_message_ids)
                for atom in atoms
                if old & set(atom.source_message_ids)
            )
        )
        hits = context.memory.recall_by_topic(space_id, update.question, limit=_LIMIT, passages=False).hits
        cited = [set(hit.atom.source_message_ids) for hit in hits]
        first = next((each for each in cited if each & (old | new)), set())
        answered.append(bool(first & new))
    both = [one and other for one, other in zip(superseded, answered, strict=True)]
    return {
        "facts": len(updates),
        SUPERSEDED: _compute_share(superseded),
        ANSWERED: _compute_share(answered),
        BOTH: _compute_share(both),
    }


def _say_statements(
    engine: Engine, context: Context, clock: ScriptedClock, statements: Sequence[Statement]
) -> set[str]:
    conversations = context.conversations
    conversation = conversations.create_conversation("talks")
    ids = set()
    for each in statements:
        clock.now = to_micros(each.at)
        append = conversations.append_user_message if each.role == "user" else conversations.append_assistant_turn
        ids.add(append(conversation.id, each.text, created_at=each.at).id)
    conversations.close_conversation(conversation.id)
    engine.work()
    return ids


def _compute_share(right: Sequence[bool]) -> float:
    return round(sum(right) / len(right), 4)
