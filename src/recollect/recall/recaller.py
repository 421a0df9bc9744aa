"""The one retriever: indexes what is written, and finds it again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from recollect.models.atom import Atom
from recollect.models.recall import Hit, Recall, RecallMode, WhyNot
from recollect.providers.embedder import Embedding, Vectors
from recollect.providers.reranker import Reranking
from recollect.recall.asking import Question, understand
from recollect.recall.cache import IndexCache
from recollect.recall.drafting import Choose, Chosen, Draft, drafted, explanation, shown, told
from recollect.recall.filters import Filters
from recollect.recall.indexing import Indexing
from recollect.recall.loading import Unsettled, of_one_epoch, refresh, unless_changed
from recollect.recall.passing import Mask, allowed
from recollect.recall.ranking import Query, best, ranked, related, score, unasked, weigh
from recollect.recall.reasons import reasons_against
from recollect.recall.reindexing import reindex_kind
from recollect.recall.segments import IndexedText, VectorsSegment, WordsSegment
from recollect.recall.space_index import Heard, SpaceIndex
from recollect.recall.wishing import Wishes
from recollect.recall.writing import Indexed
from recollect.scope import Scope
from recollect.store import atoms, entities
from recollect.store.atoms import CheckedAtom
from recollect.store.database import Database, Transaction

RERANKED = 20
"""How many of the best hits a reranker reads."""
WORDS_BEFORE = 30
_LOOKS = 3
"""How often a space is looked at when what was chosen there has changed before it can be fetched."""
_NO_OPINIONS: Mapping[int, float] = {}


class Recaller:
    def __init__(
        self,
        database: Database,
        embedding: Embedding | None,
        indexes: IndexCache,
        *,
        overlap_only: bool = False,
        reranking: Reranking | None = None,
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._overlap_only = overlap_only
        self._reranking = reranking
        self._wishes = Wishes(database)
        self.indexes = indexes

    def index(self, checked: Sequence[CheckedAtom]) -> Indexed:
        """Prepare what the search index keeps of atoms. It may take long, so it happens outside of a transaction."""
        return self.indexing(checked).finished()

    def indexing(self, checked: Sequence[CheckedAtom]) -> Indexing:
        """The same for who writes them: where a server takes a while for that, only the embedding is done already."""
        embedded = self._embedded([atom.text for atom in checked])
        indexing = Indexing(checked, embedded, None if embedded is None else self._stamp)
        if not self._database.far:
            # All who want to write to a file wait for the one who does.
            indexing.finished()
        return indexing

    def index_texts(self, texts: Sequence[IndexedText]) -> Indexed:
        own = [each.text for each in texts]
        words, embedded = WordsSegment.of(own, [each.around for each in texts]), self._embedded(own)
        if embedded is None:
            return Indexed(words, None, None)
        return Indexed(words, VectorsSegment.of(embedded), self._stamp)

    def _embedded(self, texts: Sequence[str]) -> Vectors | None:
        return None if self._embedding is None or not texts else self._embedding.texts(texts)

    @property
    def _stamp(self) -> str | None:
        return None if self._embedding is None else self._embedding.stamp

    def ask_texts(self, query: str, now: int) -> Query:
        """A question to texts of which this engine's index is in memory alone."""
        question = understand(query, (), now)
        embedding = self._embedding
        if embedding is None:
            return Query(question, None, None, None, False, self._overlap_only, {})
        return Query(question, embedding.query(question.to_embed), embedding.stamp, embedding.usual, True, False, {})

    def space(self, scope: Scope, space_id: str) -> AbstractContextManager[SpaceIndex]:
        """The index of a space with everything that was committed before this call; one caller at a time has it."""
        return self._current(scope, space_id)

    def _current(self, scope: Scope, space_id: str, *, fresh: bool = True) -> AbstractContextManager[SpaceIndex]:
        def look(index: SpaceIndex) -> bool:
            try:
                news = self._database.read(scope, refresh, space_id, index)
            except Unsettled:
                news = self._database.read_at_once(scope, refresh, space_id, index) or True
            index.quiet = not news
            return news

        return self.indexes.current(scope, space_id, SpaceIndex, look, fresh=fresh)

    def by_topic(
        self,
        scope: Scope,
        space_id: str,
        query: str,
        filters: Filters,
        limit: int,
        *,
        explain: bool = False,
        related_only: bool = False,
    ) -> Recall:
        """What is known about a topic, best first; all there is, however far away, or only what is related to it."""
        began = time.perf_counter()

        def choosing(asked: Query, opinions: Mapping[int, float]) -> Choose:
            plain = asked.by_meaning and not (asked.overlap_only or opinions or explain or related_only)

            def choose(index: SpaceIndex, passing: Mask) -> Chosen:
                if plain:
                    return *ranked(index, asked, passing, limit, filters.as_of), None
                evidence = weigh(index, asked, opinions)
                matching = passing if evidence.matches is None else passing & evidence.matches
                if related_only:
                    matching = matching & related(index, asked, evidence)
                return best(index, asked, evidence, matching, limit, filters.as_of), _count(matching), evidence

            return choose

        asked, opinions = self._ask(scope, space_id, query, filters), _NO_OPINIONS
        if self._reranking is not None:
            opinions = self._read_again(scope, space_id, asked, query, filters)
        elif self._is_quiet(scope, space_id):
            recall = self._foreseen(scope, space_id, asked, filters, choosing(asked, opinions), began, explain)
            if recall is not None:
                return recall
        read_at = asked.revision

        def choosing_now(asked: Query) -> Choose:
            return choosing(asked, opinions if of_one_epoch(asked.revision, read_at) else _NO_OPINIONS)

        draft = self._settled(scope, space_id, filters, choosing_now, asked, query, explain=explain)
        return told(draft, shown(draft), "BY_TOPIC", began)

    def _is_quiet(self, scope: Scope, space_id: str) -> bool:
        """Whether an answer may well hold that is made before the database has said that nothing has changed."""
        index = self.indexes.peek(scope, space_id) if self._database.far else None
        return index is not None and index.quiet

    def _foreseen(
        self,
        scope: Scope,
        space_id: str,
        asked: Query,
        filters: Filters,
        choose: Choose,
        began: float,
        explain: bool,
    ) -> Recall | None:
        """The answer of a space in which nothing has changed, made while the database says whether that is so.

        There is none if something has changed, and it is not tried again before a look has found nothing new.
        """

        def answer(index: SpaceIndex) -> tuple[Draft | None, list[Hit] | None]:
            if asked.revision != index.revision:
                # Somebody else has looked since, and it was understood by what was known before.
                return None, None
            draft = drafted(index, filters, choose, explain)
            return draft, None if draft.lacking() else shown(draft)

        with self._current(scope, space_id, fresh=False) as index:
            held = self._database.read(scope, unless_changed, space_id, index, answer)
            index.quiet = held is not None
        draft, hits = held or (None, None)
        if draft is not None and hits is None:
            self._fetch(scope, space_id, draft, filters)
            hits = None if draft.lacking() else shown(draft)
        return None if draft is None or hits is None else told(draft, hits, "BY_TOPIC", began)

    def _read_again(
        self, scope: Scope, space_id: str, asked: Query, query: str, filters: Filters
    ) -> Mapping[int, float]:
        """What the reranker thinks of the best hits, by their position. It takes long, so nobody else waits for it."""
        if self._reranking is None or not query.strip():
            return {}
        with self._current(scope, space_id, fresh=False) as index:
            evidence = weigh(index, asked)
            passed = allowed(index, filters)
            matching = passed if evidence.matches is None else passed & evidence.matches
            places = best(index, asked, evidence, matching, RERANKED, filters.as_of).places
        texts = self._database.read(scope, atoms.texts_at, space_id, places) if places else {}
        thoughts = self._reranking.score(query, [_in_context(*texts[place]) for place in texts]) if texts else []
        return dict(zip(texts, thoughts, strict=True))

    def by_time(
        self, scope: Scope, space_id: str, mode: RecallMode, filters: Filters, limit: int, query: str | None = None
    ) -> Recall:
        """What passes the filters, in the order of time: newest first by entity, oldest first on a timeline.

        With a query, a timeline is of what is about it: the best hits of the topic, put into their order.
        """
        began = time.perf_counter()

        def choosing(asked: Query) -> Choose:
            def choose(index: SpaceIndex, passing: Mask) -> Chosen:
                def in_order(places: NDArray[np.intp]) -> NDArray[np.intp]:
                    order = np.lexsort((places, index.valid_from.values[places]))
                    return (order if mode == "TIMELINE" else order[::-1])[:limit]

                if query is None:
                    places = passing.nonzero()[0]
                    return _unasked(index, filters, places[in_order(places)], len(places))
                evidence = weigh(index, asked)
                matching = passing if evidence.matches is None else passing & evidence.matches
                scores = best(index, asked, evidence, matching, limit, filters.as_of)
                return scores.taken(in_order(np.array(scores.places, np.intp)).tolist()), _count(matching), evidence

            return choose

        asked = _nothing(filters) if query is None else self._ask(scope, space_id, query, filters)
        draft = self._settled(scope, space_id, filters, choosing, asked, query)
        return told(draft, shown(draft), mode, began)

    def standing(self, scope: Scope, space_id: str, filters: Filters, limit: int) -> dict[int, Atom]:
        """What passes the filters whatever is asked, by its position: the most important first, then the newest."""

        def choose(index: SpaceIndex, passing: Mask) -> Chosen:
            places = passing.nonzero()[0]
            order = np.lexsort(
                (
                    index.ids.values[places],
                    -index.valid_from.values[places],
                    -index.importance.values[places].astype(np.int16),
                )
            )
            return _unasked(index, filters, places[order[:limit]], len(places))

        draft = self._settled(scope, space_id, filters, lambda _: choose, _nothing(filters))
        return {place: atom for place, atom in zip(draft.scores.places, draft.atoms, strict=True) if atom is not None}

    def newest(self, scope: Scope, space_id: str, filters: Filters, limit: int) -> Recall:
        """What passes the filters, the one that was recorded last first."""
        began = time.perf_counter()

        def choose(index: SpaceIndex, passing: Mask) -> Chosen:
            places = passing.nonzero()[0]
            order = np.lexsort((places, index.created_at.values[places]))[::-1][:limit]
            return _unasked(index, filters, places[order], len(places))

        draft = self._settled(scope, space_id, filters, lambda _: choose, _nothing(filters))
        return told(draft, shown(draft), "TIMELINE", began)

    def why_not(self, scope: Scope, atom: Atom, query: str, filters: Filters, limit: int) -> WhyNot:
        """What keeps an atom from being found, or at which place among the hits it is."""
        space_id = atom.memory_space_id
        position = self._database.read(scope, atoms.position, atom.id)
        asked = self._ask(scope, space_id, query, filters)
        opinions = self._read_again(scope, space_id, asked, query, filters) if self._reranking is not None else {}
        with self._current(scope, space_id) as index:
            reasons = reasons_against(index, filters, atom, position)
            evidence = weigh(index, asked, opinions)
            passed = allowed(index, filters)
            matching = passed if evidence.matches is None else passed & evidence.matches
            order = best(index, asked, evidence, matching, index.atoms, filters.as_of).places
            own = score(index, asked, evidence, np.array([position]), filters.as_of)
            described = explanation(own, evidence, passed, 0)
        rank = order.index(position) + 1 if position in order else None
        if rank is None and not reasons:
            reasons.append("it has no word of the query, and there is no vector to compare")
        if rank is not None and rank > limit:
            reasons.append(f"it is at place {rank}, and the limit is {limit}")
        found = rank is not None and rank <= limit
        return WhyNot(atom_id=atom.id, found=found, rank=rank, reasons=reasons, explanation=described)

    def _ask(
        self,
        scope: Scope,
        space_id: str,
        query: str,
        filters: Filters,
        before: Query | None = None,
    ) -> Query:
        """A question as it is understood by what is in memory of a space; one asked before is not embedded again."""
        with self._current(scope, space_id, fresh=False) as index:
            heard = index.hear(query, filters.known_at)
        embedding = self._embedding
        if embedding is not None and heard.filled and (heard.model != embedding.stamp or heard.lacks_vectors):
            # It has another embedder's vectors, or not all: they are made in the background.
            kind = reindex_kind(embedding.model)
            key = f"{space_id}:{embedding.stamp}"
            self._wishes.make(scope, kind, {"spaceId": space_id}, key, filters.now)
        named = heard.named
        mentioned = self._database.read(scope, entities.positions_of_each, space_id, named) if named else {}
        return self._query(heard, query, filters, mentioned, before)

    def _query(
        self,
        heard: Heard,
        query: str,
        filters: Filters,
        mentioned: Mapping[str, tuple[int, ...]],
        before: Query | None = None,
    ) -> Query:
        question = understand(query, heard.speakers, filters.as_of)
        embedding, vector, usual, by_meaning = self._embedding, None, None, False
        if embedding is not None:
            usual = embedding.usual
            by_meaning = heard.filled and bool(query.strip())
            if by_meaning and heard.model == embedding.stamp:
                if before is not None and before.question.to_embed == question.to_embed:
                    vector = before.vector
                vector = embedding.query(question.to_embed) if vector is None else vector
        return Query(
            question,
            vector,
            heard.model,
            usual,
            by_meaning,
            self._overlap_only,
            mentioned,
            filters.known_at,
            heard.revision,
        )

    def _settled(
        self,
        scope: Scope,
        space_id: str,
        filters: Filters,
        choosing: Callable[[Query], Choose],
        asked: Query,
        query: str | None = None,
        *,
        explain: bool = False,
    ) -> Draft:
        """What is chosen in a space as it was at one instant of this call, with all of its atoms as they were then."""
        looked = False
        for _ in range(_LOOKS):
            with self._current(scope, space_id, fresh=not looked) as index:
                understood = query is None or asked.revision == index.revision
                draft = drafted(index, filters, choosing(asked), explain) if understood else None
            if draft is None:
                # It was understood by what was known before others have written, or it took long to be embedded.
                asked, looked = self._ask(scope, space_id, query or "", filters, before=asked), True
                continue
            self._fetch(scope, space_id, draft, filters)
            if not draft.lacking():
                return draft
            # Some have changed since they were chosen, and what has come instead of them may not have been seen.
            looked = False
        return self._settled_at_once(scope, space_id, filters, choosing(asked), explain)

    def _settled_at_once(self, scope: Scope, space_id: str, filters: Filters, choose: Choose, explain: bool) -> Draft:
        """The same of a space in which others write all the time. They can go on, but who else recalls there waits."""
        drafts: list[Draft] = []

        def work(run: Transaction, index: SpaceIndex) -> bool:
            news = refresh(run, space_id, index)
            draft = drafted(index, filters, choose, explain)
            draft.complete(atoms.at_positions(run, space_id, draft.lacking(), filters.known_at))
            drafts.append(draft)
            return news

        def look(index: SpaceIndex) -> bool:
            return self._database.read_at_once(scope, work, index)

        with self.indexes.current(scope, space_id, SpaceIndex, look):
            return drafts[-1]

    def _fetch(self, scope: Scope, space_id: str, draft: Draft, filters: Filters) -> None:
        """Complete a draft with the atoms that were not at hand, as far as they are still as they were."""
        lacking = draft.lacking()
        if not lacking:
            return
        now = filters.known_at is None
        # What was known at an instant stays what it is.
        unchanged_since = draft.revision if now else None
        fetched = self._database.read(
            scope, atoms.at_positions, space_id, lacking, filters.known_at, unchanged_since=unchanged_since
        )
        if now:
            with self.indexes.if_kept(scope, space_id) as index:
                if index is not None:
                    index.keep(fetched, draft.revision)
        draft.complete(fetched)


def _in_context(text: str, around: Sequence[str]) -> str:
    """A text after the end of what was said before it, without which an answer often cannot be told for one."""
    before = " ".join(around[0].split()[-WORDS_BEFORE:]) if around else ""
    return f"{before} {text}" if before else text


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))


def _unasked(index: SpaceIndex, filters: Filters, places: NDArray[np.intp], candidates: int) -> Chosen:
    """Atoms that were chosen by something else than a question."""
    evidence = unasked(index)
    return score(index, _nothing(filters), evidence, places, filters.as_of), candidates, evidence


def _nothing(filters: Filters) -> Query:
    """What is asked where there is no query."""
    return Query(Question("", (), None, ()), None, None, None, False, False, {}, filters.known_at)
