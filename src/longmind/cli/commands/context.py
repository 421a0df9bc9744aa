"""`longmind context`: show the memory that a model would receive in its prompt.

It builds exactly what a program would get, so it answers "what will the model know?".
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from longmind.cli.options import MemoryAccess, Space, provide_known_memory
from longmind.cli.output import AsJson, print_json, stderr, write_text
from longmind.models.working_context import WorkingContext

_CONVERSATION = re.compile(r"conv_[0-9a-f]{32}")
_TOKENS, _TOKENS_WITH_TURNS = 800, 8_000


@provide_known_memory
def context(
    memory: MemoryAccess,
    about: Annotated[
        list[str] | None, typer.Argument(help="The question of the user; the conversation to continue may precede it.")
    ] = None,
    space: Space = None,
    turns: Annotated[int, typer.Option(help="The number of recent turns of a conversation.")] = 10,
    recall: Annotated[int, typer.Option(help="The number of recalled facts, and of quotes.")] = 8,
    budget: Annotated[
        int | None, typer.Option(help=f"The token budget: {_TOKENS}, or {_TOKENS_WITH_TURNS} with a conversation.")
    ] = None,
    always_on: Annotated[list[str] | None, typer.Option(help="A category to include always; may be repeated.")] = None,
    summary: Annotated[bool, typer.Option("--summary/--no-summary", help="Include the rolling summary.")] = True,
    quotes: Annotated[bool, typer.Option("--quotes/--no-quotes", help="Include quotes from conversations.")] = True,
    profile: Annotated[bool, typer.Option("--profile/--no-profile", help="Include the profile of the user.")] = True,
    known_at: Annotated[str | None, typer.Option(help="Use only what was recorded by this ISO 8601 instant.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the memory part of a prompt for a question: profile, facts with their sources, and quotes.

    With the id of a conversation, the summary and the recent turns of it are added.
    """
    words = list(about or ())
    conversation_id = words.pop(0) if words and _CONVERSATION.fullmatch(words[0]) else None
    shared: dict[str, Any] = {
        "recall_limit": recall,
        "include_quotes": quotes,
        "include_profile": profile,
        "always_on_category_names": always_on or (),
        "known_at": known_at,
    }
    # Words without quotation marks around them are one question.
    query = " ".join(words) or None
    space_id = memory.choose_space(space).id
    contexts = memory.context.working_context
    if conversation_id is None:
        built = contexts.build_memory_context(space_id, query=query, token_budget=budget or _TOKENS, **shared)
    else:
        built = contexts.build_working_context(
            conversation_id,
            memory_space_id=space_id,
            recall_query=query,
            recent_turns=turns,
            token_budget=budget or _TOKENS_WITH_TURNS,
            include_rolling_summary=summary,
            **shared,
        )
    print_json(built) if as_json else _print_context(built)


def _print_context(built: WorkingContext) -> None:
    """Print the block alone to standard output, ready to be pasted into a prompt, and its size beside it."""
    write_text(built.context_block)
    quoted = sum(len(section.message_ids) for section in built.sections if section.name == "quotes")
    stderr.print(
        f"{built.tokens_estimated:,} tokens, {len(built.atoms_used)} facts, {quoted} quotes,"
        f" {len(built.messages)} messages",
        style="dim",
        highlight=False,
    )
