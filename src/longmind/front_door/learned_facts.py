"""The facts that extraction has learned from messages, read from its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longmind.context import Context
from longmind.conversations.message_batches import MOST_FOUND
from longmind.front_door.memory_results import Added, RememberedFact, Replaced, make_fact
from longmind.models.atom import Atom
from longmind.models.decision import AtomDecision
from longmind.models.message import AppendedMessages, Message

_PAGE = 200


def read_facts(ctx: Context, atoms: Sequence[Atom], known: Iterable[Message] = ()) -> list[RememberedFact]:
    """Return atoms as facts with the messages that they cite.

    known: messages at hand, which are not read again.
    """
    messages = {message.id: message for message in known}
    wanted = sorted({each for atom in atoms for each in atom.source_message_ids} - messages.keys())
    for begin in range(0, len(wanted), MOST_FOUND):
        found = ctx.conversations.find_messages(wanted[begin : begin + MOST_FOUND])
        messages |= {message.id: message for message in found}
    return [make_fact(atom, messages) for atom in atoms]


def read_learned(ctx: Context, space_id: str, appended: AppendedMessages, *, pending: bool) -> Added:
    """Return what was learned from messages that were just appended."""
    message_ids = [message.id for message in appended.messages]
    decisions = [] if pending or not appended.jobs else _list_decisions(ctx, space_id, appended)
    atoms = _read_atoms(ctx, decisions)
    facts = {fact.id: fact for fact in read_facts(ctx, list(atoms.values()), appended.messages)}
    learned: dict[str, RememberedFact] = {}
    confirmed: dict[str, RememberedFact] = {}
    replaced: list[Replaced] = []
    for decision in decisions:
        # None if it was forgotten since.
        fact = facts.get(decision.atom_id)
        if fact is None:
            continue
        if decision.action in ("add", "supersede"):
            learned[fact.id] = fact
        elif decision.action == "reinforce":
            confirmed[fact.id] = fact
        elif decision.action == "end":
            replaced.append(Replaced(fact=fact, by=None, because=decision.because))
        if decision.action == "supersede":
            former = [facts[each] for each in decision.changed_atom_ids if each in facts]
            replaced += [Replaced(fact=each, by=fact, because=decision.because) for each in former]
    return Added(
        conversation_id=appended.conversation.id,
        message_ids=message_ids,
        learned=list(learned.values()),
        confirmed=[fact for fact in confirmed.values() if fact.id not in learned],
        replaced=replaced,
        pending=pending,
    )


def _list_decisions(ctx: Context, space_id: str, appended: AppendedMessages) -> list[AtomDecision]:
    """Return the decisions that rest on the messages, in the order in which they were made."""
    since = min(job.created_at for job in appended.jobs)
    ids = {message.id for message in appended.messages}
    found: list[AtomDecision] = []
    cursor: str | None = None
    while True:
        page = ctx.memory.list_decisions(space_id, limit=_PAGE, cursor=cursor)
        found += [each for each in page if not ids.isdisjoint(each.source_message_ids)]
        # Newest first: what was decided before the messages came cannot rest on them.
        if page.next_cursor is None or page[-1].decided_at < since:
            return found[::-1]
        cursor = page.next_cursor


def _read_atoms(ctx: Context, decisions: Sequence[AtomDecision]) -> dict[str, Atom]:
    """Return the atoms of decisions, without those that were deleted since."""
    ids = dict.fromkeys(each for decision in decisions for each in (decision.atom_id, *decision.changed_atom_ids))
    atoms = (ctx.memory.get_atom(each) for each in ids)
    return {atom.id: atom for atom in atoms if atom is not None}
