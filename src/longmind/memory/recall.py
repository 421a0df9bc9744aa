"""The three ways of recall: by topic, by entity and as a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from longmind.clock import Instant, to_iso
from longmind.errors import InvalidInput, NotFound
from longmind.memory.service_base import MemoryBase
from longmind.memory.validation import (
    validate_importance,
    validate_instant,
    validate_kinds,
    validate_metadata_filter,
    validate_names,
    validate_status,
    validate_trusts,
)
from longmind.models.atom import AtomKind, AtomStatus, MetadataFilter, Trust
from longmind.models.recall import Effort, Recall, WhyNot
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.store.tables import atoms
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import HITS, QUERY, SCORE, AtomId, Hits, Importance, Query, Score, SpaceId
from longmind.validation.text import quote_value, validate_text


class Recalls(MemoryBase):
    """Recall from a memory space of the user, or one that is shared with the user."""

    def recall_by_topic(
        self,
        memory_space_id: SpaceId,
        query: Query,
        *,
        limit: Hits = 10,
        category_names: Sequence[str] | None = None,
        kinds: Sequence[AtomKind] | None = None,
        tags: Sequence[str] | None = None,
        metadata: MetadataFilter | None = None,
        min_importance: Importance | None = None,
        status: AtomStatus | None = "ACTIVE",
        trust: Sequence[Trust] | None = None,
        entity: str | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
        min_score: Score | None = None,
        effort: Effort = "normal",
        exhaustive: bool | None = None,
        passages: bool = True,
        explain: bool = False,
    ) -> Recall:
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
        explain: return the factors of each score too.
        """
        filters = self._filters(
            category_names, kinds, tags, metadata, min_importance, status, trust, valid_at, known_at
        )
        asked = QUERY.check("query", query)
        options = TopicOptions(
            HITS.check("limit", limit),
            bool(explain),
            _validate_min_score(min_score),
            _validate_effort(effort),
            None if exhaustive is None else bool(exhaustive),
            bool(passages),
        )
        named = None if entity is None else _validate_entity("entity", entity)

        request = RecallRequest(filters, asked, named)
        space_id = self._find_space(memory_space_id)
        return self._read_space(
            space_id, lambda scope: self._retriever.find_by_topic(scope, space_id, request, options)
        )

    def why_not(
        self,
        atom_id: AtomId,
        query: Query,
        *,
        limit: Hits = 10,
        category_names: Sequence[str] | None = None,
        kinds: Sequence[AtomKind] | None = None,
        tags: Sequence[str] | None = None,
        metadata: MetadataFilter | None = None,
        min_importance: Importance | None = None,
        status: AtomStatus | None = "ACTIVE",
        trust: Sequence[Trust] | None = None,
        entity: str | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
    ) -> WhyNot:
        """Explain why `recall_by_topic` with the same arguments does not find an atom.

        atom_id: the atom. query: what that recall asked, at most 10,000 characters. limit: its limit, from 1 to 200.
        category_names, kinds, tags, metadata, min_importance, status, trust, entity, valid_at, known_at: the filters of
        that recall.

        The answer names the filter that excludes the atom, or says that it has ended, or gives its rank. Raises
        NotFound for an atom that the user may not read.
        """
        checked = validate_id("atom_id", atom_id)
        filters = self._filters(
            category_names, kinds, tags, metadata, min_importance, status, trust, valid_at, known_at
        )
        asked = QUERY.check("query", query)
        most = HITS.check("limit", limit)
        named = None if entity is None else _validate_entity("entity", entity)
        found = self._find_by_id(lambda scope: self._database.read(scope, atoms.get, checked))
        if found is None:
            raise NotFound("atom", atom_id)
        atom, scope = found
        return self._retriever.explain_absence(scope, atom, RecallRequest(filters, asked, named), most)

    def _filters(
        self,
        category_names: Sequence[str] | None,
        kinds: Sequence[AtomKind] | None,
        tags: Sequence[str] | None,
        metadata: MetadataFilter | None,
        min_importance: int | None,
        status: AtomStatus | None,
        trust: Sequence[Trust] | None,
        valid_at: Instant | None,
        known_at: Instant | None,
    ) -> Filters:
        """Check the filters that recalls by topic share, and take the time."""
        now = self._clock()
        by_what = category_names is None and kinds is None and tags is None and min_importance is None
        if by_what and metadata is None and trust is None and valid_at is None and known_at is None:
            # Most questions have no filter; this path skips the checks.
            return Filters(now, status=validate_status(status))
        return Filters(
            now=now,
            category_names=validate_names("category_names", category_names),
            kinds=validate_kinds(kinds),
            tags=validate_names("tags", tags),
            metadata=_validate_metadata(metadata),
            min_importance=None if min_importance is None else validate_importance("min_importance", min_importance),
            status=validate_status(status),
            trust=validate_trusts(trust),
            valid_at=validate_instant("valid_at", valid_at),
            known_at=validate_instant("known_at", known_at),
        )

    def recall_by_entity(
        self,
        memory_space_id: SpaceId,
        entity_id_or_name: str,
        *,
        limit: Hits = 20,
        category_names: Sequence[str] | None = None,
        metadata: MetadataFilter | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
        min_score: Score | None = None,
    ) -> Recall:
        """Find all atoms that mention an entity, newest first; an unknown name finds nothing.

        memory_space_id: the id or the name of a space. entity_id_or_name: an entity.
        limit: from 1 to 200. category_names: only atoms with one of these categories.
        metadata, valid_at, known_at, min_score: as in `recall_by_topic`; an atom that mentions the entity has the score
        1.
        """
        filters = Filters(
            now=self._clock(),
            category_names=validate_names("category_names", category_names),
            metadata=_validate_metadata(metadata),
            valid_at=validate_instant("valid_at", valid_at),
            known_at=validate_instant("known_at", known_at),
        )
        most = HITS.check("limit", limit)
        entity = _validate_entity("entity_id_or_name", entity_id_or_name)

        least = _validate_min_score(min_score)
        request = RecallRequest(filters, entity=entity)
        space_id = self._find_space(memory_space_id)
        return self._read_space(
            space_id, lambda scope: self._retriever.find_by_time(scope, space_id, "BY_ENTITY", request, most, least)
        )

    def recall_timeline(
        self,
        memory_space_id: SpaceId,
        *,
        entity_id_or_name: str | None = None,
        query: Query | None = None,
        from_: Instant | None = None,
        to: Instant | None = None,
        limit: Hits = 50,
        include_superseded: bool = True,
        metadata: MetadataFilter | None = None,
        known_at: Instant | None = None,
        min_score: Score | None = None,
    ) -> Recall:
        """Find how facts have changed, oldest first: about an entity, about a topic, or all within a window.

        memory_space_id: the id or the name of a space. entity_id_or_name, query: at most one of the two.
        from_, to: only what was true within this window. limit: from 1 to 200.
        include_superseded: False leaves out facts that newer versions replaced; facts that only ended stay.
        metadata, known_at, min_score: as in `recall_by_topic`; without a query every fact has the score 1.
        """
        if entity_id_or_name is not None and query is not None:
            raise InvalidInput("A timeline takes an entity or a query, not both.", hint="Pass one of the two.")
        start, end = validate_instant("from_", from_), validate_instant("to", to)
        if start is not None and end is not None and start > end:
            raise InvalidInput(
                f"from_ {to_iso(start)} is after to {to_iso(end)}.", hint="Pass a window that begins before it ends."
            )
        filters = Filters(
            now=self._clock(),
            include_superseded=bool(include_superseded),
            include_ended=True,
            window=(start, end),
            metadata=_validate_metadata(metadata),
            known_at=validate_instant("known_at", known_at),
        )
        asked = None if query is None else QUERY.check("query", query)
        most = HITS.check("limit", limit)
        entity = None if entity_id_or_name is None else _validate_entity("entity_id_or_name", entity_id_or_name)

        least = _validate_min_score(min_score)
        request = RecallRequest(filters, asked, entity)
        space_id = self._find_space(memory_space_id)
        return self._read_space(
            space_id, lambda scope: self._retriever.find_by_time(scope, space_id, "TIMELINE", request, most, least)
        )


def _validate_metadata(given: MetadataFilter | None) -> tuple[tuple[str, object], ...] | None:
    checked = validate_metadata_filter(given)
    return tuple(checked.items()) if checked else None


def _validate_min_score(given: object) -> float:
    return 0.0 if given is None else float(SCORE.check("min_score", given))


def _validate_effort(given: object) -> Effort:
    if given not in get_args(Effort):
        raise InvalidInput(f"effort is {quote_value(given)}.", hint="Pass normal or high.")
    return cast(Effort, given)


def _validate_entity(where: str, id_or_name: str) -> str:
    return validate_text(where, id_or_name, blank=False)
