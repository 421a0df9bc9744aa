"""Facts and recalls as text for a terminal: the fact, its time, its source, and why it was found.

Texts of facts are wrapped in rich Text objects, which are never parsed as markup.
"""

from __future__ import annotations

from rich.text import Text

from longmind.cli.output import stdout
from longmind.models.atom import Atom
from longmind.models.recall import Explanation, Hit, Recall


def print_recall(recall: Recall) -> None:
    """Print all hits, each with its source and, if it was requested, its explanation."""
    if not recall.hits:
        stdout.print("Nothing is remembered about that.")
        return
    for place, hit in enumerate(recall.hits, 1):
        _print_hit(place, hit)
    stdout.print(
        f"\n{len(recall.hits)} of {recall.total_candidates} candidates, {recall.latency_ms:.1f} ms",
        style="dim",
        highlight=False,
    )


def print_atom(atom: Atom) -> None:
    """Print a fact with all of its fields."""
    stdout.print(Text(atom.text, "bold"), soft_wrap=True)
    fields = {
        "id": atom.id,
        "kind": f"{atom.category.kind} ({atom.category.name}), importance {atom.importance}",
        "true": format_validity(atom),
        "status": atom.status,
        "source": f"{atom.trust}, by way of {atom.origin}",
        "messages": ", ".join(atom.source_message_ids),
        "conversation": atom.source_conversation_id,
        "replaces": atom.supersedes,
        "replaced by": atom.superseded_by,
        "tags": ", ".join(atom.tags),
        "because": atom.because,
        "recorded": atom.created_at,
    }
    for name, value in fields.items():
        if value:
            stdout.print(Text.assemble((f"  {name}: ", "cyan"), value), soft_wrap=True)


def print_explanation(explanation: Explanation) -> None:
    """Print the factors of a score, and the ranks by meaning and by words."""
    ranks = {"by meaning": explanation.dense_rank, "by words": explanation.lexical_rank}
    places = ", ".join(f"number {rank} {name}" for name, rank in ranks.items() if rank is not None)
    factors = {
        "similarity": explanation.similarity,
        "importance": explanation.importance_weight,
        "age": explanation.decay_weight,
        "entity": explanation.entity_match_bonus,
        "reranked": explanation.rerank,
    }
    line = "  ".join(f"{name} {value:.3f}" for name, value in factors.items() if value is not None)
    stdout.print(Text(f"     {line}" + (f"  ({places})" if places else ""), "dim"), soft_wrap=True)


def format_validity(atom: Atom) -> str:
    """Return the days from and until which a fact is true."""
    # A superseded fact without an end of its own ends when it was replaced.
    ends = atom.valid_to or atom.superseded_at
    return f"since {atom.valid_from[:10]}" + (f" until {ends[:10]}" if ends else "")


def _print_hit(place: int, hit: Hit) -> None:
    """Print one hit: rank, text and score, and below it id, validity and source."""
    atom = hit.atom
    # The first source is enough here; `memory show` lists all.
    source = f", said in {atom.source_message_ids[0]}" if atom.source_message_ids else ""
    superseded = ", superseded" if atom.superseded_by else ""
    stdout.print(
        Text.assemble((f"{place:>3}  ", "cyan"), (atom.text, "bold"), (f"  {hit.score:.3f}", "green")), soft_wrap=True
    )
    stdout.print(Text(f"     {atom.id}, {format_validity(atom)}{superseded}{source}", "dim"), soft_wrap=True)
    if hit.explanation is not None:
        print_explanation(hit.explanation)
