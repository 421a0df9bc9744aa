"""`longmind context`: what a model would be given so that it remembers."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Opened, Space, opened
from longmind.cli.output import AsJson, answer_json, problems, write


@opened
def context(
    memory: Opened,
    conversation_id: Annotated[str, typer.Argument(help="The conversation that is gone on with.")],
    query: Annotated[str | None, typer.Argument(help="What the user asks; it decides what is recalled.")] = None,
    space: Space = None,
    turns: Annotated[int, typer.Option(help="How many of the last turns.")] = 10,
    recall: Annotated[int, typer.Option(help="How many recalled facts.")] = 8,
    budget: Annotated[int, typer.Option(help="How many tokens at most.")] = 8000,
    always_on: Annotated[
        list[str] | None, typer.Option(help="A category that is always there; give it once for each.")
    ] = None,
    summary: Annotated[bool, typer.Option("--summary/--no-summary", help="With the summary.")] = True,
    known_at: Annotated[str | None, typer.Option(help="As it would have been at this instant, in ISO 8601.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the part of a prompt that remembers: summary, facts with their sources, and the last turns."""
    built = memory.context.working_context.build_working_context(
        conversation_id,
        memory_space_id=memory.space(space).id,
        recall_query=query,
        recent_turns=turns,
        recall_limit=recall,
        token_budget=budget,
        include_rolling_summary=summary,
        always_on_category_names=always_on or (),
        known_at=known_at,
    )
    if as_json:
        answer_json(built)
        return
    write(built.context_block)
    problems.print(
        f"{built.tokens_estimated:,} tokens, {len(built.atoms_used)} facts, {len(built.messages)} messages",
        style="dim",
        highlight=False,
    )
