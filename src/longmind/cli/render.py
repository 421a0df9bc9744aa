"""How facts are told to a person: what they say, where they were said, and why they were found."""

from __future__ import annotations

from rich.text import Text

from longmind.cli.output import answers
from longmind.models.atom import Atom
from longmind.models.recall import Explanation, Hit, Recall


def tell_recall(recall: Recall) -> None:
    """All hits, each with its source and, where it was asked for, its explanation."""
    if not recall.hits:
        answers.print("Nothing is remembered about that.")
        return
    for place, hit in enumerate(recall.hits, 1):
        _tell_hit(place, hit)
    answers.print(
        f"\n{len(recall.hits)} of {recall.total_candidates} candidates, {recall.latency_ms:.1f} ms",
        style="dim",
        highlight=False,
    )


def tell_atom(atom: Atom) -> None:
    """A fact with everything that says something about it."""
    answers.print(Text(atom.text, "bold"), soft_wrap=True)
    told = {
        "id": atom.id,
        "kind": f"{atom.category.kind} ({atom.category.name}), importance {atom.importance}",
        "true": when(atom),
        "status": atom.status,
        "told by": f"{atom.trust}, by way of {atom.origin}",
        "said in": ", ".join(atom.source_message_ids),
        "of the conversation": atom.source_conversation_id,
        "replaces": atom.supersedes,
        "replaced by": atom.superseded_by,
        "tags": ", ".join(atom.tags),
        "because": atom.because,
        "recorded": atom.created_at,
    }
    for name, value in told.items():
        if value:
            answers.print(Text.assemble((f"  {name}: ", "cyan"), value), soft_wrap=True)


def tell_explanation(explanation: Explanation) -> None:
    """How a hit came to its score, one factor to a line."""
    ranks = {"by meaning": explanation.dense_rank, "by words": explanation.lexical_rank}
    places = ", ".join(f"{name} number {rank}" for name, rank in ranks.items() if rank is not None)
    factors = {
        "similarity": explanation.similarity,
        "importance": explanation.importance_weight,
        "age": explanation.decay_weight,
        "entity": explanation.entity_match_bonus,
        "reranked": explanation.rerank,
    }
    told = "  ".join(f"{name} {value:.3f}" for name, value in factors.items() if value is not None)
    answers.print(Text(f"     {told}" + (f"  ({places})" if places else ""), "dim"), soft_wrap=True)


def when(atom: Atom) -> str:
    """When a fact is true, in days."""
    ends = atom.valid_to or atom.superseded_at
    return f"since {atom.valid_from[:10]}" + (f" until {ends[:10]}" if ends else "")


def _tell_hit(place: int, hit: Hit) -> None:
    atom = hit.atom
    source = f", said in {atom.source_message_ids[0]}" if atom.source_message_ids else ""
    superseded = ", superseded" if atom.superseded_by else ""
    answers.print(
        Text.assemble((f"{place:>3}  ", "cyan"), (atom.text, "bold"), (f"  {hit.score:.3f}", "green")), soft_wrap=True
    )
    answers.print(Text(f"     {atom.id}, {when(atom)}{superseded}{source}", "dim"), soft_wrap=True)
    if hit.explanation is not None:
        tell_explanation(hit.explanation)
