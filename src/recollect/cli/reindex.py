"""`recollect reindex`: vectors of the embedder that is set, for all memory."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.output import AsJson, answer_json, answers, problems
from recollect.engine import open
from recollect.providers.choosing import AUTO


def reindex(
    url: Annotated[str | None, typer.Option(help="Where the memory is kept; RECOLLECT_URL by default.")] = None,
    embedder: Annotated[str, typer.Option(help="Whose vectors: vendor:model, or auto.")] = AUTO,
    as_json: AsJson = False,
) -> None:
    """Make the vectors of all memory that was written with another embedder, or with none. Recall goes on meanwhile."""
    with open(url, embedder=embedder) as engine, problems.status("making vectors"):
        made = engine.reindex()
    if as_json:
        answer_json({"vectors": made})
    else:
        answers.print(f"{made:,} vectors were made.", highlight=False)
