"""What was recalled as a value for programs, which the text for the model stands beside."""

from __future__ import annotations

from pydantic import ConfigDict

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.models.atom import AtomKind, Trust
from longmind.models.recall import Hit, Recall
from longmind.models.value import Value


class RecalledFact(Value):
    """A fact, when it is true, and the messages it can be traced to."""

    model_config = ConfigDict(alias_generator=None)

    id: str
    text: str
    kind: AtomKind
    behavioral: bool
    trust: Trust
    valid_from: str
    valid_to: str | None
    superseded_by: str | None
    source_message_ids: list[str]
    score: float


class RecalledFacts(Value):
    model_config = ConfigDict(alias_generator=None)

    facts: list[RecalledFact]
    notice: str | None = None
    """How to take the behavioural ones among them."""


def recalled_facts(recall: Recall) -> RecalledFacts:
    behavioral = any(hit.atom.behavioral for hit in recall.hits)
    return RecalledFacts(facts=[_fact(hit) for hit in recall.hits], notice=SUGGESTIONS_NOTICE if behavioral else None)


def _fact(hit: Hit) -> RecalledFact:
    atom = hit.atom
    return RecalledFact(
        id=atom.id,
        text=atom.text,
        kind=atom.category.kind,
        behavioral=atom.behavioral,
        trust=atom.trust,
        valid_from=atom.valid_from,
        valid_to=atom.valid_to,
        superseded_by=atom.superseded_by,
        source_message_ids=atom.source_message_ids,
        score=hit.score,
    )
