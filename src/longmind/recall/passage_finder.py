"""The finder of passages: the messages of a user that a question is about, quoted from the ledger.

It ranks pieces of messages in memory and quotes the best messages, each with those of its pieces that were found. A
message is found by its best piece, and takes one place however long it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from longmind.clock import to_iso
from longmind.errors import EmbedderFailed
from longmind.models.recall import WEAK_BELOW, Explanation, Passage, QuotedMessage
from longmind.providers.embedder import CheckedEmbedder, Vectors
from longmind.recall.index.passage_index import PassageIndex, PieceSpan
from longmind.recall.passage_explanations import explain_pieces
from longmind.recall.passage_indexes import PassageIndexes, Quote
from longmind.recall.question import Question, understand_question
from longmind.recall.ranking.passages import PassageQuery, mask_known, rank_pieces
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.recall.reranked_results import Surroundings
from longmind.scope import Scope
from longmind.store.tables.passages import PassageState

_PIECES_BESIDE = 10
"""Pieces that are ranked beyond two for each message that is asked for."""
_AS_GOOD = 0.5
"""The share of the score of a message's best piece from which another one is quoted with it."""
_log = logging.getLogger("longmind.recall")


class AskedOfAtoms(NamedTuple):
    """A question as it was understood for the atoms of the space, with its vector, to be used again."""

    question: Question
    vector: Vectors | None


class FoundMessage(NamedTuple):
    """A message that was found: the score of its best piece, and the pieces to quote in their order."""

    score: float
    pieces: tuple[PieceSpan, ...]
    first_row: int
    last_row: int
    explanation: Explanation | None = None


class FoundPassages(NamedTuple):
    """Passages, best first, and what was said around them."""

    passages: list[Passage]
    around: Mapping[str, Surroundings] = {}
    """By message id, what stands beside it in the conversation; only with high effort."""


NOTHING_FOUND = FoundPassages([])


class PassageFinder:
    """Finds passages for all users of an engine. Threads may share it."""

    def __init__(self, passages: PassageIndexes, embedding: CheckedEmbedder | None) -> None:
        self._passages = passages
        self._embedding = embedding

    def find(
        self,
        scope: Scope,
        space_id: str,
        request: RecallRequest,
        options: TopicOptions,
        seen: PassageState | None,
        asked: AskedOfAtoms,
        limit: int,
    ) -> FoundPassages:
        """Return the passages of a space that a question is about, best first.

        seen: the state of the user's messages as it was read since the request began, if it was.
        limit: replaces that of the options.
        """
        text, filters = request.query or "", request.filters
        if not text.strip() or not may_quote(filters) or request.entity is not None:
            return NOTHING_FOUND
        if seen is not None and not seen.newest:
            # The user has said nothing.
            return NOTHING_FOUND
        with self._passages.open(scope, seen=seen) as index:
            if not index.atoms:
                return NOTHING_FOUND
            namespaces = self._passages.find_namespaces(scope, index, space_id)
            if not namespaces:
                return NOTHING_FOUND
            # A message is learned at the time at which it is said, so both instants bound the same time.
            instants = [each for each in (filters.valid_at, filters.known_at) if each is not None]
            instant = min(instants, default=None)
            model, speakers = index.model, index.list_speakers(namespaces, instant)
            self._passages.request_vectors(scope, index, filters.now)
        query = self._understand(text, filters, model, speakers, asked)._replace(instant=instant)
        with self._passages.open(scope, fresh=False) as index:
            # The lock was released while the question was embedded, so another thread may have changed the model.
            if index.model != model or not index.has_vectors:
                query = query._replace(vector=None)
            found = _find_messages(index, query, namespaces, limit, options)
            beside = _find_beside(index, query, namespaces, found) if options.effort == "high" else {}
        return self._quote(scope, found, beside)

    def _understand(
        self, text: str, filters: Filters, model: str | None, speakers: Sequence[str], asked: AskedOfAtoms
    ) -> PassageQuery:
        embedding = self._embedding
        names, dates = asked.question.names, asked.question.dates
        question = understand_question(text, speakers, filters.as_of, names, by_words=embedding is None, dates=dates)
        query = PassageQuery(question, None, None, trust=filters.trust)
        if embedding is None:
            return query
        query = query._replace(usual=embedding.usual)
        # Vectors of another model cannot be compared with the question.
        if model is None or model != embedding.stamp:
            return query
        if asked.question.to_embed == question.to_embed and asked.vector is not None:
            return query._replace(vector=asked.vector)
        try:
            return query._replace(vector=embedding.query(question.to_embed))
        except EmbedderFailed as error:
            _log.warning("messages are found by words alone: %s", error)
            return query

    def _quote(
        self, scope: Scope, found: Mapping[int, FoundMessage], beside: Mapping[int, Sequence[PieceSpan | None]]
    ) -> FoundPassages:
        """Return the messages that may still be quoted, in their order."""
        by_message: dict[int, list[Quote]] = {}
        for quote in self._passages.read_quotes(scope, [piece for each in found.values() for piece in each.pieces]):
            by_message.setdefault(quote.position, []).append(quote)
        passages = [_to_passage(found[position], parts) for position, parts in by_message.items()]
        spans = [span for each in beside.values() for span in each if span is not None]
        said = {PieceSpan(*quote[:3]): quote.text for quote in self._passages.read_quotes(scope, spans)}
        around = {
            by_message[position][0].message_id: Surroundings(
                *["" if span is None else said.get(span, "") for span in each]
            )
            for position, each in beside.items()
            if position in by_message
        }
        return FoundPassages(passages, around)


def may_quote(filters: Filters) -> bool:
    """Return whether passages can pass the filters: they have no category, kind, tag, importance or status."""
    of_atoms = (filters.category_names, filters.kinds, filters.tags, filters.metadata, filters.min_importance)
    return all(each is None for each in of_atoms) and filters.status != "ARCHIVED"


def _find_messages(
    index: PassageIndex, query: PassageQuery, namespaces: frozenset[str], limit: int, options: TopicOptions
) -> dict[int, FoundMessage]:
    """Return the best messages by their positions, best first."""
    there, pieces = index.mask_namespaces(namespaces), 2 * options.limit + _PIECES_BESIDE
    while True:
        ranked = rank_pieces(index, query, there, pieces)
        positions = index.position.values[ranked.rows].tolist()
        best: dict[int, float] = {}
        for position, score in zip(positions, ranked.scores, strict=True):
            best.setdefault(position, score)
        # A few long messages can take all the places of the pieces.
        if len(best) >= limit or len(ranked.rows) < pieces:
            break
        pieces *= 4
    chosen = {position: score for position, score in islice(best.items(), limit) if score >= options.min_score}
    rows = [
        row
        for position, score, row in zip(positions, ranked.scores, ranked.rows, strict=True)
        if position in chosen and score >= _AS_GOOD * chosen[position]
    ]
    parts: dict[int, list[tuple[PieceSpan, int]]] = {position: [] for position in chosen}
    for span, row in zip(index.describe(rows), rows, strict=True):
        parts[span.position].append((span, row))
    found = {position: _to_found(score, parts[position]) for position, score in chosen.items()}
    if not options.explain:
        return found
    # Of each message the best piece, which stands first.
    own = [ranked.rows[positions.index(position)] for position in found]
    explained = explain_pieces(index, query, there, own, list(chosen.values()))
    return {
        position: found[position]._replace(explanation=each) for position, each in zip(found, explained, strict=True)
    }


def _to_found(score: float, parts: list[tuple[PieceSpan, int]]) -> FoundMessage:
    # The parts of one message, in the order of where they begin.
    parts.sort()
    return FoundMessage(score, tuple([span for span, _ in parts]), parts[0][1], parts[-1][1])


def _to_passage(found: FoundMessage, parts: Sequence[Quote]) -> Passage:
    """Return the passage of one message."""
    first, score = parts[0], found.score
    text = parts[0].text.strip()
    for before, part in pairwise(parts):
        text += ("\n" if part.begins == before.ends else " … ") + part.text.strip()
    said_at = to_iso(first.said_at)
    message = QuotedMessage.from_trusted(
        {"id": first.message_id, "sequence": first.sequence, "role": first.role, "text": text, "said_at": said_at}
    )
    return Passage.from_trusted(
        {
            "conversation_id": first.conversation_id,
            "messages": [message],
            "score": score,
            "weak": score < WEAK_BELOW,
            "said_at": said_at,
            "explanation": found.explanation,
        }
    )


def _find_beside(
    index: PassageIndex, query: PassageQuery, namespaces: frozenset[str], found: Mapping[int, FoundMessage]
) -> dict[int, tuple[PieceSpan | None, PieceSpan | None]]:
    """Return for each message, by its position, the pieces before and after it in the conversation, as far as known."""
    known = mask_known(index, query.instant, index.mask_namespaces(namespaces))
    columns = []
    for links, ends in (
        (index.previous.values, [message.first_row for message in found.values()]),
        (index.next.values, [message.last_row for message in found.values()]),
    ):
        rows = links[ends].tolist()
        columns.append([index.describe([row])[0] if row >= 0 and known[row] else None for row in rows])
    return dict(zip(found, zip(*columns, strict=True), strict=True))
