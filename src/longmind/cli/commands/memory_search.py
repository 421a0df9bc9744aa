"""`longmind search`: find what is known about a question."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.memory_text import print_recall
from longmind.cli.options import MemoryAccess, Space, provide_known_memory
from longmind.cli.output import AsJson, print_json
from longmind.errors import InvalidInput


@provide_known_memory
def search(
    memory: MemoryAccess,
    words: Annotated[list[str], typer.Argument(help="A few words, or a question.")],
    space: Space = None,
    limit: Annotated[int, typer.Option(help="The maximum number of facts, and of quotes.")] = 10,
    min_score: Annotated[
        float | None, typer.Option(help="The least score, from 0 to 1; without it weak hits are marked.")
    ] = None,
    quotes: Annotated[bool, typer.Option("--quotes/--no-quotes", help="Show quotes from conversations.")] = True,
    as_json: AsJson = False,
) -> None:
    """Find what is known about a question: facts, and quotes of what was said. `longmind recall` has more options."""
    # Words without quotation marks around them are one question.
    query = " ".join(words)
    if not query.strip():
        raise InvalidInput(
            "The question is empty.", hint='Write it after the command: longmind search "where do I live?"'
        )
    found = memory.context.memory.recall_by_topic(
        memory.choose_space(space).id, query, limit=limit, min_score=min_score, passages=quotes
    )
    print_json(found) if as_json else print_recall(found)
