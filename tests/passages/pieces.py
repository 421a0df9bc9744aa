"""The pieces of a user's messages: as an index has them, and as they follow from the ledger alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import longmind
from harness.embedder import WordsEmbedder
from longmind.language.words import terms_of
from longmind.models.content import extract_text
from longmind.models.message import Message
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.passage_index import PassageIndex
from longmind.recall.message_pieces import split_message
from longmind.recall.passage_indexes import PassageIndexes
from longmind.scope import Scope


class CountingEmbedder(WordsEmbedder):
    """Remembers what it was given."""

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension=dimension)
        self.given: list[str] = []

    def embed_texts(self, texts: Sequence[str]) -> Any:
        self.given += texts
        return super().embed_texts(texts)


class Piece(NamedTuple):
    """A piece, as far as it does not depend on the order in which messages were read."""

    message_id: str
    text: str
    role: str
    namespace: str
    is_replaced: bool
    before: str | None
    after: str | None
    """The texts of the pieces before and after; None for a piece that was replaced."""


def pieces_of_index(passages: PassageIndexes, scope: Scope) -> list[Piece]:
    """Return the pieces of an index that was brought up to date, and check that they are found by their words."""
    with passages.open(scope) as index:
        rows = index.present.values.nonzero()[0]
        quotes = passages.read_quotes(scope, index.describe(range(index.atoms)))
        text_of = {(quote.position, quote.begins): (quote.message_id, quote.text) for quote in quotes}
        spans = index.describe(range(index.atoms))
        texts = [text_of.get((span.position, span.begins), ("", "")) for span in spans]
        roles = {code: name for name, code in index.speakers.items()}
        namespaces = {code: name for name, code in index.namespaces.items()}

        def near(row: int, link: np.ndarray[Any, Any]) -> str | None:
            other = int(link[row])
            return None if other < 0 else texts[other][1]

        found = []
        for row in rows.tolist():
            is_replaced = bool(index.replaced_at.values[row] != FOREVER)
            found.append(
                Piece(
                    *texts[row],
                    roles[int(index.role.values[row])],
                    namespaces[int(index.namespace.values[row])],
                    is_replaced,
                    None if is_replaced else near(row, index.previous.values),
                    None if is_replaced else near(row, index.next.values),
                )
            )
            check_words(index, row, texts[row][1])
    return sorted(found)


def check_words(index: PassageIndex, row: int, text: str) -> None:
    terms = terms_of(text)
    if terms:
        assert index.word_scores(terms)[row] > 0, text


def pieces_of_ledger(context: longmind.Context, covered: set[str], unquotable: set[str]) -> list[Piece]:
    """Return the pieces that an index must have, from nothing but what the operations return."""
    found: list[Piece] = []
    for conversation in context.conversations.list_conversations():
        if conversation.namespace not in covered and "*" not in covered:
            continue
        messages = read_all(context, conversation.id, latest=False)
        latest = {message.id for message in read_all(context, conversation.id, latest=True)}
        rows = [
            (message, text[begins:ends], message.id not in latest)
            for message in messages
            if message.role != "system" and message.id not in unquotable
            for text in [extract_text(message.content)]
            for begins, ends in split_message(text)
        ]
        live = [text for _, text, is_replaced in rows if not is_replaced]
        number = 0
        for message, text, is_replaced in rows:
            before = after = None
            if not is_replaced:
                before = live[number - 1] if number else None
                after = live[number + 1] if number + 1 < len(live) else None
                number += 1
            found.append(Piece(message.id, text, message.role, conversation.namespace, is_replaced, before, after))
    return sorted(found)


def read_all(context: longmind.Context, conversation_id: str, *, latest: bool) -> list[Message]:
    return context.conversations.get_raw_turns(conversation_id, limit=1000, latest_attempts=latest)
