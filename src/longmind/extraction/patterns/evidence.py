"""The evidence of patterns when an event that showed them is deleted."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.extraction.patterns.detection import FEWEST, day_of
from longmind.models.atom import Atom
from longmind.recall.index import storage as index_storage
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms, spaces


def remove_event(run: Transaction, scope: Scope, space_id: str, atom_id: str, now: Micros) -> None:
    """Take a deleted event out of the evidence of all patterns, in the transaction that deletes it.

    A pattern that keeps too few events is deleted too. It leaves no tombstone: nobody has said that it is wrong, and it
    is found again when it happens again.
    """
    for pattern in atoms.list_patterns_resting_on(run, space_id, atom_id):
        events = [event for each in pattern.evidence if each != atom_id and (event := atoms.get(run, each))]
        if len({day_of(event) for event in events}) < FEWEST:
            index_storage.scrub(run, *atoms.delete(run, scope, pattern.id, now))
        else:
            _replace_evidence(run, space_id, pattern, events, now)


def _replace_evidence(run: Transaction, space_id: str, pattern: Atom, events: list[Atom], now: Micros) -> None:
    """Let a pattern rest on some events, and on the messages that those come from."""
    sources = dict.fromkeys(source for event in events for source in event.source_message_ids)
    revision = spaces.begin_change(run, space_id, now).revision
    atoms.put_evidence(run, pattern.id, [event.id for event in events], list(sources), revision, now)
