"""The entries of messages in the search index of passages: their pieces, and the words and vectors of each.

They are derived from the texts of messages, which stay in the ledger: a piece is a span of characters. Stored as a
segment, entries hold no text, but words are stored as hashes and vectors can be compared with those of guessed texts.
So what is forgotten is removed from them to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.language.speaker_labels import split_label
from longmind.recall.index.segments import VectorsSegment, WordsSegment, damage_error, seal, unseal
from longmind.recall.message_pieces import split_message

Integers = NDArray[Any]

_MARK = b"PSG1"
NO_NAME = -1
"""The code of a speaker without a name, known by the role of the message alone."""


@dataclass(frozen=True)
class PassageEntries:
    """The entries of some messages of one user, and of their pieces in the same order."""

    positions: NDArray[np.int64]
    """Positions in the ledger, ascending."""
    counts: Integers
    """The number of pieces of each message; 0 for one without text, or one that was forgotten."""
    speakers: Integers
    """The speaker that each message names, as an index of `names`, or `NO_NAME`."""
    names: tuple[str, ...]
    begins: Integers
    ends: Integers
    """The span of each piece, in characters of the text of its message."""
    words: WordsSegment
    vectors: VectorsSegment | None = None

    @property
    def messages(self) -> int:
        return len(self.positions)

    @property
    def pieces(self) -> int:
        return len(self.begins)

    @classmethod
    def from_texts(cls, positions: Sequence[int], texts: Sequence[str]) -> PassageEntries:
        """Split messages into pieces, and return their entries without vectors."""
        spans = [split_message(text) for text in texts]
        labels = [split_label(text)[0] for text in texts]
        names = {name: code for code, name in enumerate(dict.fromkeys(label for label in labels if label is not None))}
        pieces = [text[begins:ends] for text, each in zip(texts, spans, strict=True) for begins, ends in each]
        return cls(
            np.array(positions, np.int64),
            np.array([len(each) for each in spans], np.uint32),
            np.array([NO_NAME if label is None else names[label] for label in labels], np.int32),
            tuple(names),
            np.array([begins for each in spans for begins, _ in each], np.uint32),
            np.array([ends for each in spans for _, ends in each], np.uint32),
            WordsSegment.from_texts(pieces, [()] * len(pieces)) if pieces else NO_WORDS,
        )

    def cut(self, texts: Sequence[str]) -> list[str]:
        """Return the text of each piece, given the texts of the messages."""
        of_pieces = (text for text, count in zip(texts, self.counts.tolist(), strict=True) for _ in range(count))
        spans = zip(of_pieces, self.begins.tolist(), self.ends.tolist(), strict=True)
        return [text[begins:ends] for text, begins, ends in spans]

    @classmethod
    def join(cls, parts: Sequence[PassageEntries]) -> PassageEntries:
        """Join entries of one embedder. Of a message that several have, the first one counts."""
        names = {name: code for code, name in enumerate(dict.fromkeys(name for part in parts for name in part.names))}
        speakers = []
        for part in parts:
            codes = np.array([*(names[name] for name in part.names), NO_NAME], np.int32)
            # The code for no name is the last one from the end.
            speakers.append(codes[part.speakers])
        vectors = [part.vectors for part in parts if part.vectors is not None]
        whole = cls(
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate(speakers),
            tuple(names),
            np.concatenate([part.begins for part in parts]),
            np.concatenate([part.ends for part in parts]),
            WordsSegment.join([part.words for part in parts]),
            VectorsSegment.join(vectors) if vectors else None,
        )
        _, first = np.unique(whole.positions, return_index=True)
        return whole.select(first)

    def select(self, chosen: Integers) -> PassageEntries:
        """Return the entries of some messages, by their indexes, in the given order."""
        counts = self.counts[chosen]
        places = self.find_pieces(chosen)
        names = tuple(self.names[code] for code in np.unique(self.speakers[chosen]).tolist() if code != NO_NAME)
        recode = np.full(len(self.names) + 1, NO_NAME, np.int32)
        for code, name in enumerate(self.names):
            recode[code] = names.index(name) if name in names else NO_NAME
        return PassageEntries(
            self.positions[chosen],
            counts,
            recode[self.speakers[chosen]],
            names,
            self.begins[places],
            self.ends[places],
            self.words.select(places.tolist()),
            None if self.vectors is None else self.vectors.select(places.tolist()),
        )

    def copy_without_vectors(self) -> PassageEntries:
        """Return a copy without vectors, which are of another model."""
        return replace(self, vectors=None)

    def find_pieces(self, chosen: Integers) -> Integers:
        """Return the indexes of the pieces of some messages."""
        starts = np.zeros(self.messages + 1, np.int64)
        np.cumsum(self.counts, out=starts[1:])
        counts = self.counts[chosen].astype(np.int64)
        before = np.zeros(len(counts), np.int64)
        np.cumsum(counts[:-1], out=before[1:])
        return np.arange(int(counts.sum())) + np.repeat(starts[chosen] - before, counts)

    def copy_without(self, positions: Integers) -> PassageEntries:
        """Return a copy in which the messages at some positions have no pieces, and nothing else is left of them."""
        kept = ~np.isin(self.positions, positions)
        rest = self.select(kept.nonzero()[0])
        counts = np.where(kept, self.counts, 0).astype(np.uint32)
        speakers = np.full(self.messages, NO_NAME, np.int32)
        speakers[kept] = rest.speakers
        return PassageEntries(
            self.positions, counts, speakers, rest.names, rest.begins, rest.ends, rest.words, rest.vectors
        )

    def encode(self) -> bytes:
        """Return the entries as bytes, with a version and a checksum."""
        words = np.frombuffer(self.words.encode(), np.uint8)
        names = np.frombuffer(json.dumps(self.names, ensure_ascii=False).encode(), np.uint8)
        vectors = self.vectors
        return seal(
            _MARK,
            0 if vectors is None else vectors.dimension,
            (self.messages, self.pieces, len(words)),
            np.array([len(names)], "<u4"),
            names,
            self.positions.astype("<i8", copy=False),
            self.counts.astype("<u4", copy=False),
            self.speakers.astype("<i4", copy=False),
            self.begins.astype("<u4", copy=False),
            self.ends.astype("<u4", copy=False),
            words,
            *(() if vectors is None else vectors.to_columns()),
        )

    @classmethod
    def decode(cls, blob: bytes) -> PassageEntries:
        """Read entries. Raises `StoreError` if they are damaged."""
        dimension, (messages, pieces, size), take = unseal(blob, _MARK)
        try:
            names = tuple(json.loads(take("u1", int(take("<u4", 1)[0])).tobytes()))
        except ValueError as error:
            raise damage_error() from error
        positions, counts, speakers = take("<i8", messages), take("<u4", messages), take("<i4", messages)
        begins, ends = take("<u4", pieces), take("<u4", pieces)
        words = WordsSegment.decode(take("u1", size).tobytes())
        if words.atoms != pieces or int(counts.sum()) != pieces:
            raise damage_error()
        vectors = VectorsSegment.from_columns(take, pieces, dimension, is_rough=False) if dimension else None
        return cls(positions.astype(np.int64, copy=False), counts, speakers, names, begins, ends, words, vectors)


NO_WORDS = WordsSegment.from_texts(["", ""], [(), ()]).select([])
