"""What becomes of patterns when an event that showed them is deleted."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.extraction.patterns.detection import FEWEST, day_of
from longmind.models.atom import Atom
from longmind.recall.index import storage as writing
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atoms, spaces


def withdraw(run: Transaction, scope: Scope, space_id: str, atom_id: str, now: Micros) -> None:
    """Let no pattern rest on an event any more; one that too few events are left of is deleted with it.

    It leaves no tombstone: nobody has said that it is not so, and it is found again when it happens again.
    """
    for pattern in atoms.list_patterns_resting_on(run, space_id, atom_id):
        events = [event for each in pattern.evidence if each != atom_id and (event := atoms.get(run, each))]
        if len({day_of(event) for event in events}) < FEWEST:
            writing.scrub(run, *atoms.delete(run, scope, pattern.id, now))
        else:
            _put(run, space_id, pattern, events, now)


def _put(run: Transaction, space_id: str, pattern: Atom, events: list[Atom], now: Micros) -> None:
    sources = dict.fromkeys(source for event in events for source in event.source_message_ids)
    revision = spaces.begin_change(run, space_id, now).revision
    atoms.put_evidence(run, pattern.id, [event.id for event in events], list(sources), revision, now)
