"""The section of a working context with quotes: what was said about the query, where it adds something to the rest.

Quotes stand in the order of conversation and time, so that an answer follows its question. Each can be dropped alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter

from longmind.assembly.sections import Piece, Section
from longmind.assembly.wording import make_quote_piece
from longmind.models.recall import Passage, QuotedMessage
from longmind.working_context.turns import Turn

_MOST_SPARE = 40
_LEAST_SCORE = 0.02
"""The score below which a weak quote is not worth its tokens."""
_FAR_BEHIND = 0.1
"""The share of the best score that a weak quote needs: where something fits the question, the rest is noise."""
_DENIALS = frozenset(("no", "not"))
"""Words that are too common to tell what a text is about, and turn around what it says."""
_SENTENCE_BREAK = re.compile("\n|(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f])")

Quote = tuple[Passage, QuotedMessage]
"""A message of a passage."""


def count_spare_passages(turns: Iterable[Turn]) -> int:
    """Return how many passages to look for beyond those that are wanted, since the turns may show as many already."""
    return min(sum(map(len, turns)), _MOST_SPARE)


def make_quotes_section(
    passages: Iterable[Passage],
    query: str,
    turns: Sequence[Turn],
    said: Iterable[str],
    limit: int,
    best_score: float = 0.0,
) -> Section:
    """Return the section with the best passages that add something; the worst is dropped first.

    passages: best first. turns: those that the context shows as well. said: the texts of its other sections; a message
    adds nothing if one of these texts, or another quote, has all of its words. best_score: that of the best fact.
    """
    shown = {message.id for turn in turns for message in turn}
    relevant = _drop_far_behind(list(passages), best_score)
    candidates = [(each, message) for each in relevant for message in each.messages if message.id not in shown]
    if not candidates:
        return Section("quotes", "quotes")
    spoken = (message.text for turn in turns for message in turn)
    known = [_list_words(text) for text in (*spoken, *said)]
    asked, chosen = _normalise(query), list[Quote]()
    for passage, message in candidates:
        if len(chosen) == limit:
            break
        words = _list_words(message.text)
        if _normalise(message.text) != asked and not any(words <= others for others in known):
            chosen.append((passage, message))
            known.append(words)
    return _to_section(chosen)


def _drop_far_behind(passages: Sequence[Passage], best_score: float) -> list[Passage]:
    """Return passages without the weak ones that something else is far ahead of, or that say next to nothing."""
    best = max((passage.score for passage in passages), default=0.0)
    least = max(_LEAST_SCORE, _FAR_BEHIND * max(best, best_score))
    return [passage for passage in passages if not passage.weak or passage.score >= least]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a summary, each of which may say what a message says."""
    return [sentence for sentence in _SENTENCE_BREAK.split(text) if sentence]


def _normalise(text: str) -> str:
    return " ".join(text.split()).casefold()


def _list_words(text: str) -> frozenset[str]:
    """Return the words of which another text must have all to say the same: one name or number less is another fact."""
    # Imported late: stemming is loaded with the first search, and importing Longmind need not wait for it.
    from longmind.language.words import words_of
    from longmind.recall.repetition import list_content_words

    return list_content_words([text]) | _DENIALS.intersection(words_of(text))


def _to_section(best_first: Sequence[Quote]) -> Section:
    """Return the section of messages in the order in which their conversations began to be quoted."""
    begins: dict[str, str] = {}
    for passage, message in best_first:
        begins[passage.conversation_id] = min(message.said_at, begins.get(passage.conversation_id, message.said_at))
    placed: list[tuple[str, str, int, int, Piece]] = sorted(
        (
            (
                begins[passage.conversation_id],
                passage.conversation_id,
                message.sequence,
                rank,
                make_quote_piece(passage, message),
            )
            for rank, (passage, message) in enumerate(best_first)
        ),
        key=itemgetter(0, 1, 2, 3),
    )
    ranks = [rank for *_, rank, _ in placed]
    last_to_go = tuple(sorted(range(len(placed)), key=ranks.__getitem__))
    return Section("quotes", "quotes", tuple(piece for *_, piece in placed), last_to_go)
