"""The answer of a recall as one ranked list, of facts and quoted messages together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.evaluation.scoring import Memory
from benchmarks.evaluation.token_counter import Tokenizer
from longmind.models.recall import Hit, Passage, Recall


class TextTokens:
    """The tokens of texts, each counted once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._count = tokenizer.count
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text]


def list_memories(answer: Recall, turn_of: Mapping[str, str], tokens: TextTokens) -> list[Memory]:
    """Return hits and passages in one list, best first; of equal scores the hit comes first.

    A passage of several messages takes one place for each, so that a long one has no advantage.
    """
    found: list[Hit | Passage] = [*answer.hits, *answer.passages]
    # Sorting is stable, so hits stay before passages, and each kind in its order.
    found.sort(key=lambda each: -each.score)
    return [memory for each in found for memory in _list_places(each, turn_of, tokens)]


def _list_places(found: Hit | Passage, turn_of: Mapping[str, str], tokens: TextTokens) -> Iterator[Memory]:
    if isinstance(found, Hit):
        turns = tuple(turn_of[id] for id in found.atom.source_message_ids)
        yield Memory(turns, tokens.count(found.atom.text), found.score)
    else:
        for message in found.messages:
            yield Memory((turn_of[message.id],), tokens.count(message.text), found.score)
