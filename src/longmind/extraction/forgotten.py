"""What was deleted stays deleted: hashes of forgotten facts, by which extraction knows what not to bring back.

A fact leaves, keyed with a secret of its space,
- the hash of its telling words, whatever their order and form: no conversation brings those words back;
- the hashes of its slot, with the value as it is and with its telling words alone: the same value, however it is
  worded, does not come back, while another value of the slot does;
- for each message it rested on, the hashes of its telling words with any one of them left out: from that message the
  fact comes back neither with one word more nor with one word less.
A fact with another word in the place of one is another fact, so what else a message says is learned as before. Nothing
of the hashed words can be read back without guessing all of them at once.

A text of several sentences is buried with each of them, and a forgotten sentence is taken out of a text that tells
more.

What the app itself adds is meant: it lifts the tombstone.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.store.database import Transaction
from longmind.store.tables import tombstones
from longmind.store.tables.atom_rows import Slot

_FEWEST_LEFT = 3
"""Words that must be left of a fact for it to be known again by them alone."""
_MOST_SOURCES = 20
_NEGATIONS = frozenset(
    "no not dont doesnt didnt isnt arent wasnt werent cant cannot couldnt wont wouldnt hasnt havent hadnt".split()
)
_FILLERS = frozenset("user say says still really now just actually already currently very".split())
_SAYS_NOTHING = (STOP_WORDS | _FILLERS) - _NEGATIONS
_FEWEST_OF_A_SENTENCE = 2
"""Telling words of a sentence that is known again whatever it points to: "It was great" is said of many things."""
_POINTING = frozenset("it its this that these those they them he him she her there one ones".split())
_INNER_END = re.compile(r"[.!?]\S*\s+\S|[\u3002\uff01\uff1f].")


@dataclass(frozen=True)
class Fact:
    """As much of a fact as tombstones are made of."""

    text: str
    slot: Slot | None = None
    message_ids: tuple[str, ...] = ()


def bury(run: Transaction, space_id: str, fact: Fact) -> None:
    """Keep a fact from being learned again. The caller has begun to change the space."""
    key = tombstones.take_key(run, space_id, fresh=secrets.token_hex(32))
    if key is None:
        return
    marks = _Marks(key)
    for each in (fact, *_parts(fact)):
        buried = secrets.token_hex(8)
        for mark in dict.fromkeys((*marks.anywhere(each), *marks.less(each), *marks.exact(each))):
            tombstones.insert(run, space_id, mark, buried)


def lift(run: Transaction, space_id: str, key: str, facts: Sequence[Fact]) -> None:
    """Let facts be learned again that the app has told itself."""
    marks = _Marks(key)
    asked = [mark for fact in facts for each in (fact, *_parts(fact)) for mark in marks.anywhere(each)]
    for buried in {fact for _, fact in _found(run, space_id, asked)}:
        tombstones.drop(run, space_id, buried)


def buried(run: Transaction, space_id: str, facts: Sequence[Fact]) -> set[int]:
    """Which of some facts must not be learned, by their places in the list."""
    return {place for place, text in enumerate(remaining(run, space_id, facts)) if not text}


def remaining(run: Transaction, space_id: str, facts: Sequence[Fact]) -> list[str]:
    """What may be learned of each fact: its text, or what is left without forgotten sentences, or nothing."""
    key = tombstones.read_key(run, space_id)
    if key is None:
        return [fact.text for fact in facts]
    marks = _Marks(key)
    whole = [marks.known_by(fact) for fact in facts]
    parts = [[(part.text, marks.known_by(part)) for part in _parts(fact)] for fact in facts]
    asked = {mark for each in whole for mark in each} | {mark for each in parts for _, of in each for mark in of}
    there = {mark for mark, _ in _found(run, space_id, asked)}
    return [
        "" if of & there else _without(fact.text, [text for text, known in sentences if known & there])
        for fact, of, sentences in zip(facts, whole, parts, strict=True)
    ]


def _without(text: str, forgotten: Sequence[str]) -> str:
    if not forgotten:
        return text
    return " ".join(sentence for sentence in _sentences(text) if sentence not in forgotten)


def _parts(fact: Fact) -> list[Fact]:
    """The sentences of a fact that can be known again by themselves, if it has several."""
    sentences = _sentences(fact.text)
    parts = [Fact(sentence, None, fact.message_ids) for sentence in sentences] if len(sentences) > 1 else []
    return [part for part in parts if _is_known_by_itself(part)]


def _is_known_by_itself(sentence: Fact) -> bool:
    telling = len(_words(sentence))
    return telling >= _FEWEST_OF_A_SENTENCE or (telling > 0 and _POINTING.isdisjoint(words_of(sentence.text)))


def _sentences(text: str) -> list[str]:
    if not _INNER_END.search(text):
        return [text]
    # Loaded where it is needed: what is deleted by hand seldom has more than one sentence.
    from longmind.language.sentences import split_sentences

    return split_sentences(text)


def _found(run: Transaction, space_id: str, marks: Iterable[str]) -> list[tuple[str, str]]:
    asked = list(marks)
    return tombstones.find(run, space_id, asked) if asked else []


class _Marks:
    """The hashes of facts under the key of one space."""

    def __init__(self, key: str) -> None:
        self._key = bytes.fromhex(key)

    def known_by(self, fact: Fact) -> set[str]:
        """All by which a forgotten fact is known again."""
        return {*self.anywhere(fact), *self.one_more(fact), *self.one_less(fact)}

    def anywhere(self, fact: Fact) -> list[str]:
        words = _words(fact)
        found = [self._hash("words", *words)] if words else [self._hash("text", fact.text)]
        slot = fact.slot or _slot_in(fact.text)
        return [*found, self._hash("slot", *slot), self._hash("value", *_telling(slot))] if slot else found

    def exact(self, fact: Fact) -> list[str]:
        """To be found by a fact of the same message that has one word more."""
        words = _words(fact)
        if len(words) < _FEWEST_LEFT:
            return []
        return [self._hash("whole", message, *words) for message in fact.message_ids[:_MOST_SOURCES]]

    def less(self, fact: Fact) -> list[str]:
        """To be found by a fact of the same message that has one word less."""
        return [
            mark for message in fact.message_ids[:_MOST_SOURCES] for mark in self._without_one(fact, "part", message)
        ]

    def one_more(self, fact: Fact) -> list[str]:
        return [mark for message in fact.message_ids for mark in self._without_one(fact, "whole", message)]

    def one_less(self, fact: Fact) -> list[str]:
        words = _words(fact)
        return [self._hash("part", message, *words) for message in fact.message_ids]

    def _without_one(self, fact: Fact, label: str, message: str) -> list[str]:
        words = _words(fact)
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
def _slot_in(text: str) -> Slot | None:
    """The slot of a fact that came without one, as from the app, if it is a single sentence."""
    if _INNER_END.search(text):
        return None
    from longmind.extraction.rules.slots.finder import find_slot

    slot = find_slot(_THE_USER.sub("User", text))
    return None if slot is None else (slot.subject, slot.attribute, slot.value)


_THE_USER = re.compile(r"^The user\b")


def _telling(slot: Slot) -> Slot:
    """A slot with the telling words of its value: "in Oslo" is Oslo, and "not in Oslo" is not."""
    subject, attribute, value = slot
    words = words_of(value)
    telling = {stem_of(word) for word in words if word not in STOP_WORDS or word in _NEGATIONS}
    return subject, attribute, " ".join(sorted(telling) or words)


def _words(fact: Fact) -> list[str]:
    """The telling words of a fact in the form in which they are compared. That something is not so tells much."""
    telling = (word for word in words_of(fact.text) if word not in _SAYS_NOTHING)
    return sorted({"not" if word in _NEGATIONS else stem_of(word) for word in telling})
