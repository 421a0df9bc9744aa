"""Operations on the decisions of extraction: list them, and undo one."""

from __future__ import annotations

import re
from functools import partial

from longmind.clock import Micros
from longmind.errors import InvalidInput
from longmind.memory.service_base import MemoryBase
from longmind.models.decision import AtomDecision
from longmind.models.value import Page
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atom_decisions as store
from longmind.store.tables import spaces, undone_decisions
from longmind.store.tables.atom_decisions import DecisionPlace
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT, AtomId, DecisionCursor, DecisionId, Limit, SpaceId


class Decisions(MemoryBase):
    """The decisions of extraction about the atoms of memory spaces."""

    def list_decisions(
        self,
        memory_space_id: SpaceId,
        *,
        atom_id: AtomId | None = None,
        limit: Limit = 100,
        cursor: DecisionCursor | None = None,
    ) -> Page[AtomDecision]:
        """List what extraction has changed in a space, newest first, each with its reason.

        memory_space_id: the id or the name of a space. atom_id: only decisions that have changed this atom.
        limit: from 1 to 10,000. cursor: `next_cursor` of the previous page; by default the newest.
        """
        most = LIMIT.check("limit", limit)
        listed = partial(
            _list_newest_first,
            atom_id=None if atom_id is None else validate_id("atom_id", atom_id),
            before=None if cursor is None else _read_cursor(cursor),
            limit=most + 1,
            space_id=(space_id := self._find_space(memory_space_id)),
        )
        # One more than asked for shows whether there is a next page.
        found = self._read_space(space_id, lambda scope: self._database.read(scope, listed))
        last = found[most - 1][0] if len(found) > most else None
        return Page([each for _, each in found[:most]], None if last is None else f"{last.revision}-{last.ordinal}")

    def undo_decision(self, decision_id: DecisionId, *, take_back: bool = False) -> AtomDecision:
        """Undo a decision of extraction and return the `undo` that records it. Undoing it again changes nothing.

        decision_id: the decision. take_back: also archive the new atom of a `supersede`, which stays by default.

        An added atom is archived and not learned again from the same messages; a confirmed one has its former figures
        and sources; what was superseded or has ended holds as before. Raises Conflict, which says what to undo first,
        if an atom of it was changed since.
        """
        checked = validate_id("decision_id", decision_id)
        return self._database.write(self._scope, _undo, self._scope, checked, bool(take_back), self._clock())


def _list_newest_first(
    run: Transaction, space_id: str, atom_id: str | None, before: DecisionPlace | None, limit: int
) -> list[tuple[DecisionPlace, AtomDecision]]:
    spaces.require(run, space_id)
    return store.list_newest_first(run, space_id, atom_id=atom_id, before=before, limit=limit)


def _undo(run: Transaction, scope: Scope, decision_id: str, take_back: bool, now: Micros) -> AtomDecision:
    # All in one transaction: an undo that fails half-way leaves nothing.
    undone = undone_decisions.undo(run, scope, decision_id, take_back, now)
    for atom in undone.taken_back:
        # A pattern that loses an episode may no longer have enough evidence.
        if atom.category.kind == "EPISODE":
            from longmind.extraction.patterns import evidence

            evidence.remove_event(run, scope, atom.memory_space_id, atom.id, now)
    found = store.find(run, undone.id)
    assert found is not None
    return store.to_decision(found)


# The revision and the ordinal of the last decision on a page: ids of one revision are not in order.
_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


def _read_cursor(cursor: object) -> DecisionPlace:
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None:
        raise InvalidInput(f"cursor {cursor!r} is not valid.", hint="Pass next_cursor of the previous page.")
    return DecisionPlace(int(match[1]), int(match[2]))
