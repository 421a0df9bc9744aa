"""Facts and recalls as text for a terminal: the fact, its time, its source, and why it was found.

Texts of facts are wrapped in rich Text objects, which are never parsed as markup.
"""

from __future__ import annotations

from rich.text import Text

from longmind.cli.output import report_progress, stdout
from longmind.memory.recalled_text import NOT_LINKED
from longmind.models.atom import Atom
from longmind.models.recall import Explanation, Hit, Passage, QuotedMessage, Recall


def print_recall(recall: Recall) -> None:
    """Print all hits, each with its source and, if it was requested, the reasons for its score; then all quotes."""
    if not recall.hits and not recall.passages:
        stdout.print("Nothing is remembered about that.")
        if recall.mode == "BY_ENTITY":
            report_progress(NOT_LINKED)
        return
    if not recall.found:
        stdout.print("Nothing relevant is known; the nearest:")
    for place, hit in enumerate(recall.hits, 1):
        _print_hit(place, hit)
    if recall.passages:
        stdout.print(Text("Said in conversations:", "bold"))
    for passage in recall.passages:
        for message in passage.messages:
            _print_quote(passage, message)
        if passage.explanation is not None:
            print_explanation(passage.explanation)
    quotes = len(recall.passages)
    counts = f"{len(recall.hits)} of {recall.total_candidates} facts, {quotes} {'quote' if quotes == 1 else 'quotes'}"
    stdout.print(f"\n{counts}, {recall.latency_ms:.1f} ms", style="dim", highlight=False)


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
    """Print the reasons for a score, one on each line."""
    for reason in explanation.reasons:
        stdout.print(Text(f"     - {reason}", "dim"), soft_wrap=True)


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
        Text.assemble((f"{place:>3}  ", "cyan"), (atom.text, "bold"), *_format_score(hit.score, hit.weak)),
        soft_wrap=True,
    )
    stdout.print(Text(f"     {atom.id}, {format_validity(atom)}{superseded}{source}", "dim"), soft_wrap=True)
    if hit.explanation is not None:
        print_explanation(hit.explanation)


def _print_quote(passage: Passage, message: QuotedMessage) -> None:
    """Print a message: its text and score, and below it who said it, when and where."""
    text = " ".join(message.text.split())
    stdout.print(Text.assemble("  \u201c", text, "\u201d", *_format_score(passage.score, passage.weak)), soft_wrap=True)
    source = f"{message.role}, {message.said_at[:10]}, {message.id} in {passage.conversation_id}"
    stdout.print(Text(f"     {source}", "dim"), soft_wrap=True)


def _format_score(score: float, weak: bool) -> list[tuple[str, str]]:
    """Return a score in two digits, as the parts of a line."""
    return [(f"  {score:.2f}", "dim" if weak else "green"), (" weak" if weak else "", "dim")]
