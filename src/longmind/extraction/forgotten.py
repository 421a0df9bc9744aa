"""Forgotten facts: what a user deleted or rejected is not learned again.

A deleted fact leaves tombstones, which are hashes keyed with a secret of its space:
- the hash of its content words, whatever their order and form: no conversation brings those words back;
- the hashes of its slot, with the value as it is and with its content words alone: the same value does not come back in
  other words, while another value of the slot does;
- for each message it rested on, the hashes of its content words with any one of them left out: the fact comes back from
  that message neither with one word more nor with one word less.
A fact that has another word in the place of one is another fact, so the rest of a message is learned as before. The
words cannot be read back from a hash without guessing all of them at once.

A text of several sentences leaves tombstones for each of them, and a forgotten sentence is cut out of a longer text.
An atom that the app itself adds lifts its tombstones: the app means it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from longmind.extraction.candidate import Candidate
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.store.database import Transaction
from longmind.store.tables import tombstones
from longmind.store.tables.atom_rows import Slot

_FEWEST_LEFT = 3
"""Words that must be left of a fact for it to be recognised by them alone."""
_MOST_SOURCES = 20
_NEGATIONS = frozenset(
    "no not dont doesnt didnt isnt arent wasnt werent cant cannot couldnt wont wouldnt hasnt havent hadnt".split()
)
_FILLERS = frozenset("user say says still really now just actually already currently very".split())
_IGNORED = (STOP_WORDS | _FILLERS) - _NEGATIONS
_FEWEST_OF_A_SENTENCE = 2
"""Content words from which a sentence is recognised by itself: "It was great" is said of many things."""
_POINTING = frozenset("it its this that these those they them he him she her there one ones".split())
_INNER_END = re.compile(r"[.!?]\S*\s+\S|[\u3002\uff01\uff1f].")


@dataclass(frozen=True)
class ForgettableFact:
    """The parts of a fact that tombstones are made of."""

    text: str
    slot: Slot | None = None
    message_ids: tuple[str, ...] = ()

    @classmethod
    def from_candidate(cls, candidate: Candidate) -> Self:
        """Return the fact by which a candidate would be recognised after it was forgotten."""
        slot = candidate.slot
        row = None if slot is None else (slot.subject, slot.attribute, slot.value)
        return cls(candidate.text, row, candidate.source_message_ids)


def bury(run: Transaction, space_id: str, fact: ForgettableFact) -> None:
    """Keep a fact from being learned again. The caller has begun to change the space in this transaction."""
    key = tombstones.take_key(run, space_id, fresh=secrets.token_hex(32))
    if key is None:
        return
    hasher = _FactHasher(key)
    for each in (fact, *_split_fact(fact)):
        tombstone = secrets.token_hex(8)
        for hash in dict.fromkeys(
            (*hasher.hash_anywhere(each), *hasher.hash_one_less_to_keep(each), *hasher.hash_exactly(each))
        ):
            tombstones.insert(run, space_id, hash, tombstone)


def lift(run: Transaction, space_id: str, key: str, facts: Sequence[ForgettableFact]) -> None:
    """Let facts be learned again, since the app itself adds them. `key` is the secret of the space."""
    hasher = _FactHasher(key)
    hashes = [hash for fact in facts for each in (fact, *_split_fact(fact)) for hash in hasher.hash_anywhere(each)]
    for tombstone in {tombstone for _, tombstone in _find(run, space_id, hashes)}:
        tombstones.drop(run, space_id, tombstone)


def find_forgotten(run: Transaction, space_id: str, facts: Sequence[ForgettableFact]) -> set[int]:
    """Return the indexes of the facts that must not be learned."""
    return {place for place, text in enumerate(remove_forgotten(run, space_id, facts)) if not text}


def remove_forgotten(run: Transaction, space_id: str, facts: Sequence[ForgettableFact]) -> list[str]:
    """Return what may be learned of each fact: its text, its text without forgotten sentences, or nothing."""
    key = tombstones.read_key(run, space_id)
    if key is None:
        return [fact.text for fact in facts]
    hasher = _FactHasher(key)
    of_facts = [hasher.to_recognise(fact) for fact in facts]
    of_sentences = [[(part.text, hasher.to_recognise(part)) for part in _split_fact(fact)] for fact in facts]
    # One query for all hashes of all facts.
    hashes = {hash for each in of_facts for hash in each}
    hashes |= {hash for each in of_sentences for _, known_by in each for hash in known_by}
    buried = {hash for hash, _ in _find(run, space_id, hashes)}
    return [
        "" if known_by & buried else _cut_sentences(fact.text, [text for text, part in parts if part & buried])
        for fact, known_by, parts in zip(facts, of_facts, of_sentences, strict=True)
    ]


def is_like(fact: ForgettableFact, other: ForgettableFact) -> bool:
    """Return whether a fact of a message says what another one of it said, perhaps in one word more or less."""
    if not set(fact.message_ids) & set(other.message_ids):
        return False
    if fact.slot is not None and other.slot is not None:
        return _reduce_slot(fact.slot) == _reduce_slot(other.slot)
    words, others = set(_content_words(fact)), set(_content_words(other))
    return words == others or (len(words & others) >= _FEWEST_OF_A_SENTENCE and len(words ^ others) <= 1)


def _cut_sentences(text: str, forgotten: Sequence[str]) -> str:
    """Return a text without its forgotten sentences."""
    if not forgotten:
        return text
    return " ".join(sentence for sentence in _split_text(text) if sentence not in forgotten)


def _split_fact(fact: ForgettableFact) -> list[ForgettableFact]:
    """Return the sentences of a fact that can be recognised by themselves, if it has several."""
    sentences = _split_text(fact.text)
    parts = [ForgettableFact(each, None, fact.message_ids) for each in sentences] if len(sentences) > 1 else []
    return [part for part in parts if _is_recognisable(part)]


def _is_recognisable(sentence: ForgettableFact) -> bool:
    """Return whether a sentence says enough to be recognised elsewhere."""
    number = len(_content_words(sentence))
    return number >= _FEWEST_OF_A_SENTENCE or (number > 0 and _POINTING.isdisjoint(words_of(sentence.text)))


def _split_text(text: str) -> list[str]:
    """Return the sentences of a text."""
    if not _INNER_END.search(text):
        return [text]
    # Loaded on use: a fact that is deleted by hand seldom has more than one sentence.
    from longmind.language.sentences import split_sentences

    return split_sentences(text)


def _find(run: Transaction, space_id: str, hashes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the hashes that are among the tombstones of a space, each with its tombstone."""
    checked = list(hashes)
    return tombstones.find(run, space_id, checked) if checked else []


class _FactHasher:
    """Computes the hashes of facts under the key of one space."""

    def __init__(self, key: str) -> None:
        self._key = bytes.fromhex(key)

    def to_recognise(self, fact: ForgettableFact) -> set[str]:
        """Return all hashes by which a forgotten fact is recognised."""
        return {*self.hash_anywhere(fact), *self.hash_one_more(fact), *self.hash_one_less(fact)}

    def hash_anywhere(self, fact: ForgettableFact) -> list[str]:
        """Return the hashes of a fact in any message: of its words, and of its slot."""
        words = _content_words(fact)
        found = [self._hash("words", *words)] if words else [self._hash("text", fact.text)]
        slot = fact.slot or _find_slot(fact.text)
        if slot is None:
            return found
        return [*found, self._hash("slot", *slot), self._hash("value", *_reduce_slot(slot))]

    def hash_exactly(self, fact: ForgettableFact) -> list[str]:
        """Return the hashes to keep so that a fact of the same message with one word more is recognised."""
        words = _content_words(fact)
        if len(words) < _FEWEST_LEFT:
            return []
        return [self._hash("whole", message, *words) for message in fact.message_ids[:_MOST_SOURCES]]

    def hash_one_less_to_keep(self, fact: ForgettableFact) -> list[str]:
        """Return the hashes to keep so that a fact of the same message with one word less is recognised."""
        messages = fact.message_ids[:_MOST_SOURCES]
        return [hash for message in messages for hash in self._leave_one_out(fact, "part", message)]

    def hash_one_more(self, fact: ForgettableFact) -> list[str]:
        """Return the hashes to look for: a forgotten fact may have had one word less."""
        return [hash for message in fact.message_ids for hash in self._leave_one_out(fact, "whole", message)]

    def hash_one_less(self, fact: ForgettableFact) -> list[str]:
        """Return the hashes to look for: a forgotten fact may have had one word more."""
        words = _content_words(fact)
        return [self._hash("part", message, *words) for message in fact.message_ids]

    def _leave_one_out(self, fact: ForgettableFact, label: str, message: str) -> list[str]:
        """Return the hashes of the words of a fact with each one of them left out in turn."""
        words = _content_words(fact)
        if len(words) <= _FEWEST_LEFT:
            return []
        return [self._hash(label, message, *words[:place], *words[place + 1 :]) for place in range(len(words))]

    def _hash(self, *parts: str) -> str:
        # The former name of the product: stored tombstones were derived from it.
        digest = hashlib.blake2b(digest_size=16, key=self._key, person=b"recollect.gone")
        for part in parts:
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(4) + encoded)
        return digest.hexdigest()


@lru_cache(maxsize=4096)
def _find_slot(text: str) -> Slot | None:
    """Return the slot of a fact that came without one, as from the app; None if it has several sentences or no slot."""
    if _INNER_END.search(text):
        return None
    from longmind.extraction.rules.slots.finder import find_slot

    slot = find_slot(_THE_USER.sub("User", text))
    return None if slot is None else (slot.subject, slot.attribute, slot.value)


_THE_USER = re.compile(r"^The user\b")


def _reduce_slot(slot: Slot) -> Slot:
    """Return a slot with the content words of its value: "in Oslo" is Oslo, and "not in Oslo" is not."""
    subject, attribute, value = slot
    words = words_of(value)
    content_words = {stem_of(word) for word in words if word not in STOP_WORDS or word in _NEGATIONS}
    return subject, attribute, " ".join(sorted(content_words) or words)


def _content_words(fact: ForgettableFact) -> list[str]:
    """Return the stems of the content words of a fact, sorted. All negations count as one word."""
    content_words = (word for word in words_of(fact.text) if word not in _IGNORED)
    return sorted({"not" if word in _NEGATIONS else stem_of(word) for word in content_words})
