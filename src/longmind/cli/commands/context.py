"""`longmind context`: show the memory that a model would receive in its prompt.

It builds exactly the working context that a program would get, so it answers "what will the model know?".
"""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import MemoryAccess, Space, provide_memory
from longmind.cli.output import AsJson, print_json, stderr, write_text


@provide_memory
def context(
    memory: MemoryAccess,
    conversation_id: Annotated[str, typer.Argument(help="The conversation to continue.")],
    query: Annotated[str | None, typer.Argument(help="The question of the user, for recall.")] = None,
    space: Space = None,
    turns: Annotated[int, typer.Option(help="The number of recent turns.")] = 10,
    recall: Annotated[int, typer.Option(help="The number of recalled facts, and of quotes.")] = 8,
    budget: Annotated[int, typer.Option(help="The token budget.")] = 8000,
    always_on: Annotated[list[str] | None, typer.Option(help="A category to include always; may be repeated.")] = None,
    summary: Annotated[bool, typer.Option("--summary/--no-summary", help="Include the rolling summary.")] = True,
    quotes: Annotated[bool, typer.Option("--quotes/--no-quotes", help="Include quotes from conversations.")] = True,
    profile: Annotated[bool, typer.Option("--profile/--no-profile", help="Include the profile of the user.")] = True,
    known_at: Annotated[str | None, typer.Option(help="Use only what was recorded by this ISO 8601 instant.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the memory part of a prompt: summary, facts with their sources, quotes and recent turns."""
    built = memory.context.working_context.build_working_context(
        conversation_id,
        memory_space_id=memory.choose_space(space).id,
        recall_query=query,
        recent_turns=turns,
        recall_limit=recall,
        token_budget=budget,
        include_rolling_summary=summary,
        include_quotes=quotes,
        include_profile=profile,
        always_on_category_names=always_on or (),
        known_at=known_at,
    )
    if as_json:
        print_json(built)
        return
    # The block alone goes to standard output, ready to be pasted into a prompt.
    write_text(built.context_block)
    quoted = sum(len(section.message_ids) for section in built.sections if section.name == "quotes")
    stderr.print(
        f"{built.tokens_estimated:,} tokens, {len(built.atoms_used)} facts, {quoted} quotes,"
        f" {len(built.messages)} messages",
        style="dim",
        highlight=False,
    )
