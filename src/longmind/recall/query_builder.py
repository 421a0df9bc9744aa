"""The step from a request to a query: what a question means in the space that it is asked in.

The same words mean different things in different spaces: names of speakers and entities are the space's own, and a
vector can be compared only where the space has vectors of the same model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from longmind.providers.embedder import CheckedEmbedder
from longmind.recall.embedding_jobs import reindex_kind
from longmind.recall.embedding_requests import EmbeddingRequest, EmbeddingRequests
from longmind.recall.index.space_index import SpaceState
from longmind.recall.question import Question, understand_question
from longmind.recall.ranking.atoms import AtomQuery
from longmind.recall.request import Filters, RecallRequest
from longmind.recall.space_indexes import SpaceIndexes
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import entities


class Mentions(NamedTuple):
    """The positions of the atoms that mention the entities of a question."""

    named: Mapping[str, tuple[int, ...]]
    """Positions of atoms, by the id of each entity that the question names."""
    about: tuple[int, ...] | None
    """Positions of the atoms about the entity that every hit has to mention; None if there is none."""


_NO_MENTIONS = Mentions({}, None)


class QueryBuilder:
    """Understands questions, with the embedder of an engine if it has one."""

    def __init__(
        self, database: Database, indexes: SpaceIndexes, embedding: CheckedEmbedder | None, *, overlap_only: bool
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._embedding = embedding
        self._overlap_only = overlap_only
        self._embedding_requests = EmbeddingRequests(database)

    def build(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        before: AtomQuery | None = None,
        *,
        fresh: bool = False,
    ) -> AtomQuery:
        """Return the query of a request, understood by the index of the space.

        Requests a job that embeds the atoms of the space if some lack a vector of this engine's embedder.

        before: an earlier query of the same request, whose vector is used again.
        fresh: pass True to refresh the index first; by default it is used as it is in memory.
        """
        filters, query, embedding = request.filters, request.query, self._embedding
        if query is None and request.entity is None:
            return build_empty_query(filters)
        with self._indexes.open(scope, space_id, fresh=fresh) as index:
            state = index.describe_for(query or "", filters.known_at)
        if embedding is not None and query is not None and state.filled:
            # Only a question of this engine shows that somebody needs its vectors here.
            changes = state.model is not None and state.model != embedding.stamp
            if state.model != embedding.stamp or state.lacks_vectors:
                work = EmbeddingRequest(reindex_kind(embedding.model), {"spaceId": space_id}, embedding.stamp, changes)
                self._embedding_requests.make(scope, work, state.revision, filters.now)
        mentions = _NO_MENTIONS
        if state.named or request.entity is not None:
            mentions = self._database.read(scope, read_mentions, space_id, state.named, request.entity)
        return self._build(state, request, mentions, before, embed=True)

    def rebuild(self, state: SpaceState, request: RecallRequest, mentions: Mentions, before: AtomQuery) -> AtomQuery:
        """Return the query of a request without calling the embedder: with the vector of `before`, if it has one.

        It may run in a transaction, since it neither reads the database nor waits for a provider.
        """
        return self._build(state, request, mentions, before, embed=False)

    def build_for_texts(self, query: str, now: int) -> AtomQuery:
        """Return a query for texts that this engine has indexed in memory alone, such as the lines of blocks."""
        embedding = self._embedding
        question = understand_question(query, (), now, by_words=embedding is None, of_facts=True)
        if embedding is None:
            return AtomQuery(question, None, None, None, False, self._overlap_only, {})
        return AtomQuery(
            question, embedding.query(question.to_embed), embedding.stamp, embedding.usual, True, False, {}
        )

    def _build(
        self, state: SpaceState, request: RecallRequest, mentions: Mentions, before: AtomQuery | None, *, embed: bool
    ) -> AtomQuery:
        query, filters = request.query or "", request.filters
        # The share of common words is that of the question's own.
        names = () if self._overlap_only else state.names
        question = understand_question(
            query, state.speakers, filters.as_of, names, by_words=self._embedding is None, of_facts=True
        )._replace(names=state.names)
        embedding, vector, usual, by_meaning = self._embedding, None, None, False
        if embedding is not None:
            usual = embedding.usual
            by_meaning = state.filled and bool(query.strip())
            # Vectors of another model cannot be compared with the query, so it is not embedded for them.
            if by_meaning and state.model == embedding.stamp:
                if before is not None and (before.question.to_embed == question.to_embed or not embed):
                    vector = before.vector
                if vector is None and embed:
                    vector = embedding.query(question.to_embed)
        return AtomQuery(
            question,
            vector,
            state.model,
            usual,
            by_meaning,
            self._overlap_only,
            mentions.named,
            filters.known_at,
            state.revision,
            mentions.about,
            filters.valid_at,
        )


def build_empty_query(filters: Filters) -> AtomQuery:
    """Return the query of a request that asks nothing, and only filters."""
    return AtomQuery(Question("", (), None, ()), None, None, None, False, False, {}, filters.known_at)


def read_mentions(run: Transaction, space_id: str, named: list[str], entity: str | None) -> Mentions:
    """Read the positions of the atoms that mention some entities, and those of one by its id or name."""
    about = None if entity is None else entities.list_positions_by_name(run, space_id, entity)
    return Mentions(entities.map_positions(run, space_id, named), about)
