"""Writes to a space through the engine, and keeps what the reference has to know of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from longmind.clock import to_iso, to_micros
from longmind.memory import Memory
from longmind.models.atom import Atom
from longmind.models.entity import fold_name
from longmind.models.recall import Recall
from longmind.providers.embedder import Embedder
from tests.clock import SettableClock
from tests.recall.reference import Asked, Expected, Known, Reference


class World:
    def __init__(self, memory: Memory, clock: SettableClock, embedder: Embedder | None) -> None:
        self.clock = clock
        self.space_id = memory.create_memory_space().id
        self.reference = Reference(embedder)

    @property
    def atoms(self) -> list[Known]:
        return self.reference.atoms

    def add(self, memory: Memory, inputs: Sequence[dict[str, Any]]) -> list[Atom]:
        added = memory.add_atoms(self.space_id, inputs)
        for atom, given in zip(added, inputs, strict=True):
            self.know(atom.id, given)
        return added

    def know(self, atom_id: str, given: dict[str, Any]) -> Known:
        """Take in an atom that was added, also by somebody else."""
        created_at = to_micros(given["created_at"]) if "created_at" in given else self.clock.now
        until = to_micros(given["valid_to"]) if "valid_to" in given else None
        around = given.get("search_context", ())
        trust = given.get("trust", "app")
        known = Known(
            id=atom_id,
            position=len(self.atoms),
            text=given["text"],
            around=(around,) if isinstance(around, str) else tuple(around),
            category=given["category"]["name"],
            kind=given["category"]["kind"],
            importance=given.get("importance", 3),
            tags=frozenset(given.get("tags", ())),
            trust=trust,
            speaker=given.get("speaker") or {"user": "user", "assistant": "assistant"}.get(trust),
            entities={self.reference.redirects.get(each, each) for each in given.get("entity_ids", ())},
            valid_from=to_micros(given["valid_from"]) if "valid_from" in given else created_at,
            valid_to=until,
            open_until=until,
            created_at=created_at,
        )
        self.atoms.append(known)
        return known

    def supersede(self, memory: Memory, old: Known, given: dict[str, Any]) -> None:
        self.know_superseded(old, memory.supersede_atom(old.id, given).id, given)

    def know_superseded(self, old: Known, new_id: str, given: dict[str, Any]) -> None:
        new = self.know(new_id, given)
        for version in self.atoms:
            if version is old or any(later is old for later in version.later):
                version.later.append(new)
                # An end that came before stays, and nothing ends before it begins.
                ended = new.valid_from if version.valid_to is None else min(version.valid_to, new.valid_from)
                version.valid_to = max(version.valid_from, ended)
        old.superseded_at = new.created_at

    def archive(self, memory: Memory, atom: Known) -> None:
        memory.archive_atom(atom.id)
        atom.archived_at = atom.archived_at or self.clock.now

    def delete(self, memory: Memory, atom: Known) -> None:
        memory.delete_atom(atom.id)
        atom.deleted = True

    def create_entity(self, memory: Memory, name: str, aliases: Sequence[str] = ()) -> str:
        entity = memory.create_entity(self.space_id, "PERSON", name, aliases=aliases)
        names = self.reference.names.setdefault(entity.id, {})
        for each in (name, *aliases):
            names.setdefault(fold_name(each), self.clock.now)
        return entity.id

    def merge(self, memory: Memory, canonical: str, alias: str) -> None:
        memory.merge_entities(canonical, alias)
        self.reference.names[canonical] |= self.reference.names.pop(alias)
        self.reference.redirects[alias] = canonical
        for atom in self.atoms:
            if alias in atom.entities:
                atom.entities = atom.entities - {alias} | {canonical}

    def check_topic(self, memory: Memory, query: str, asked: Asked, limit: int) -> None:
        found = memory.recall_by_topic(self.space_id, query, limit=limit, explain=True, **_as_given(asked))
        expected = self.reference.by_topic(query, asked, self.clock.now)
        assert found.mode == "BY_TOPIC"
        assert_same(found, expected, len(expected), limit)
        for hit, after in zip(found.hits, found.hits[1:], strict=False):
            # Where the curve ends, odds that differ give one score.
            if hit.score == after.score and 0.001 < hit.score < 0.999:
                assert hit.atom.valid_from >= after.atom.valid_from
                assert hit.atom.valid_from > after.atom.valid_from or hit.atom.id < after.atom.id

    def check_entity(self, memory: Memory, id_or_name: str, asked: Asked, limit: int) -> None:
        given = _as_given(Asked(asked.category_names, valid_at=asked.valid_at, known_at=asked.known_at))
        found = memory.recall_by_entity(self.space_id, id_or_name, limit=limit, **given)
        narrower = Asked(asked.category_names, valid_at=asked.valid_at, known_at=asked.known_at)
        expected = self.reference.by_entity(id_or_name, narrower, self.clock.now)
        assert found.mode == "BY_ENTITY"
        assert_same(found, expected, len(expected), limit, exactly=True)

    def check_timeline(
        self,
        memory: Memory,
        *,
        query: str | None = None,
        entity: str | None = None,
        window: tuple[int | None, int | None] = (None, None),
        include_superseded: bool = True,
        known_at: int | None = None,
        limit: int = 50,
    ) -> None:
        asked = Asked(entity=entity, known_at=known_at)
        found = memory.recall_timeline(
            self.space_id,
            query=query,
            entity_id_or_name=entity,
            from_=_iso(window[0]),
            to=_iso(window[1]),
            limit=limit,
            include_superseded=include_superseded,
            known_at=_iso(known_at),
        )
        expected, total = self.reference.timeline(
            asked, self.clock.now, query=query, window=window, include_superseded=include_superseded, limit=limit
        )
        assert found.mode == "TIMELINE"
        by_time = [(hit.atom.valid_from, self._position(hit.atom)) for hit in found.hits]
        assert by_time == sorted(by_time)
        if query is None:
            assert_same(found, expected, total, limit, exactly=True)
            return
        assert found.total_candidates == total
        scores = sorted(hit.score for hit in found.hits)
        assert_close(scores, sorted(one.score for one in expected))

    def _position(self, atom: Atom) -> int:
        return next(known.position for known in self.atoms if known.id == atom.id)


def assert_same(found: Recall, expected: Sequence[Expected], total: int, limit: int, *, exactly: bool = False) -> None:
    """The same hits in the same order with the same scores; near equals may stand in either order."""
    assert found.total_candidates == total
    assert len(found.hits) == min(limit, len(expected))
    known = {one.atom.id: one for one in expected}
    for hit, place in zip(found.hits, expected, strict=False):
        assert hit.atom.id in known, hit.atom.text
        mine = known[hit.atom.id]
        if exactly or mine is not place:
            assert not exactly or mine is place, (hit.atom.text, place.atom.text)
            assert_close([mine.score], [place.score])
            assert math.isclose(mine.odds, place.odds, rel_tol=1e-5, abs_tol=1e-5), (hit.atom.text, place.atom.text)
        assert_close([hit.score, hit.decay_weight, hit.entity_match_bonus], [mine.score, mine.decay, mine.bonus])
        assert hit.atom.text == mine.atom.text


def assert_close(found: Sequence[float], expected: Sequence[float]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-12), (found, expected)


def _as_given(asked: Asked) -> dict[str, Any]:
    """The filters as a caller writes them."""
    given = {name: value for name, value in vars(asked).items() if value is not None}
    return {name: _iso(value) if name in ("valid_at", "known_at") else value for name, value in given.items()}


def _iso(instant: int | None) -> str | None:
    return None if instant is None else to_iso(instant)
