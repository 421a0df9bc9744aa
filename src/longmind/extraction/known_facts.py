"""Lookup of the known facts that an extractor is shown: those nearest to the new messages, and who the user is.

Only facts that hold are shown, and in a shared space only those of the same speaker. Facts that the same messages have
taught before are left out, so that a replay finds them again. One lookup makes a bounded number of recalls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longmind.clock import Clock
from longmind.extraction.candidate import Extracted, Extractor, InformedExtractor, KnownFact, SourceMessage
from longmind.extraction.source_messages import ExtractionInput
from longmind.models.atom import Atom, AtomKind
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.recall.retriever import AtomRetriever
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import atoms

MOST_KNOWN_FACTS = 40
_IDENTITY_FACTS = 10
"""The newest facts about who the user is, which a message can change without sharing a word with them."""
_IDENTITY = ("identity", "home", "work", "family")
_QUERIES = 16
"""The most recalls of one lookup; where more messages are new, neighbours are asked about together."""
_FACTS_A_QUERY = 20
_QUERY_CHARACTERS = 1_000
_FEWEST_CHARACTERS = 100
"""The characters of a message in a query that many messages share."""
_SHOWN_KINDS: tuple[AtomKind, ...] = ("FACT", "RULE", "INTENTION", "EPISODE", "PREFERENCE")
"""The kinds that a message can change: all but patterns."""


class KnownFactFinder:
    """Finds the known facts for an extraction. It holds no state of its own, and threads may share it."""

    def __init__(self, database: Database, retriever: AtomRetriever, clock: Clock) -> None:
        self._database = database
        self._retriever = retriever
        self._clock = clock

    def extract(self, extractor: Extractor, source: ExtractionInput, version: str) -> Extracted:
        """Run an extractor on the messages, with the known facts if it wants them. Not inside a transaction."""
        if isinstance(extractor, InformedExtractor) and extractor.wants_known_facts(version):
            return extractor.extract(source.messages, version, self.find(source))
        return extractor.extract(source.messages, version)

    def find(self, source: ExtractionInput) -> list[KnownFact]:
        """Return the known facts nearest to the new messages, and the newest ones about who the user is."""
        home, space_id = source.destination.home, source.space_id
        if space_id is None or not source.has_new_messages:
            return []
        filters = Filters(self._clock(), kinds=_SHOWN_KINDS)
        if source.destination.speaker is not None:
            filters = filters._replace(positions=self._list_positions(home, space_id, source.destination.speaker))
        nearest = self._find_nearest(home, space_id, filters, source.messages)
        is_identity = filters._replace(category_names=_IDENTITY)
        newest = [hit.atom for hit in self._retriever.list_newest(home, space_id, is_identity, _IDENTITY_FACTS).hits]
        first = MOST_KNOWN_FACTS - len(newest)
        read_now = {message.id for message in source.messages if not message.read_only}
        chosen = dict.fromkeys(
            atom.id
            for atom in (*nearest[:first], *newest, *nearest[first:])
            if read_now.isdisjoint(atom.source_message_ids)
        )
        return self._read(home, space_id, list(chosen)[:MOST_KNOWN_FACTS])

    def _find_nearest(
        self, home: Scope, space_id: str, filters: Filters, messages: Sequence[SourceMessage]
    ) -> list[Atom]:
        """Return the atoms that are nearest to any of the new messages, the nearest first."""
        options = TopicOptions(_FACTS_A_QUERY, exhaustive=False, passages=False)
        best: dict[str, tuple[float, Atom]] = {}
        for query in _build_queries(messages):
            for hit in self._retriever.find_by_topic(home, space_id, RecallRequest(filters, query), options).hits:
                if hit.atom.id not in best or best[hit.atom.id][0] < hit.score:
                    best[hit.atom.id] = hit.score, hit.atom
        return [atom for _, atom in sorted(best.values(), key=lambda each: (-each[0], each[1].id))]

    def _list_positions(self, home: Scope, space_id: str, speaker: str) -> tuple[int, ...]:
        """Return the positions of the atoms of one speaker."""
        with self._retriever.space(home, space_id) as index:
            code = index.speaker_codes.get(speaker)
            return () if code is None else tuple(np.flatnonzero(index.speaker.values == code).tolist())

    def _read(self, home: Scope, space_id: str, atom_ids: Sequence[str]) -> list[KnownFact]:
        """Return the atoms with some ids as known facts, in the order of the ids; one that is gone is left out."""
        with self._retriever.space(home, space_id) as index:
            wanted = [each.encode() for each in atom_ids]
            positions = np.flatnonzero(np.isin(index.ids.values, wanted)).tolist() if wanted else []
        found = self._database.read(home, atoms.read_with_slots_at, space_id, positions) if positions else {}
        facts = {atom.id: KnownFact(atom.id, atom.text, slot[1] if slot else None) for atom, slot in found.values()}
        return [facts[each] for each in atom_ids if each in facts]


def _build_queries(messages: Sequence[SourceMessage]) -> list[str]:
    """Return what the user said, or where the user said nothing, what anybody said, as a bounded number of queries."""
    new = [message for message in messages if not message.read_only]
    said = [each for each in new if each.role == "user"] or new
    step = -(-len(said) // _QUERIES)
    share = max(_QUERY_CHARACTERS // step, _FEWEST_CHARACTERS)
    texts = [message.text[:share] for message in said]
    return [" ".join(texts[at : at + step])[:_QUERY_CHARACTERS] for at in range(0, len(texts), step)]
