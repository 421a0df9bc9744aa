"""`longmind reindex`: vectors of the embedder that is set, for all memory."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Url, existing
from longmind.cli.output import AsJson, answer, answer_json, progress_bar
from longmind.engine import open
from longmind.providers.registry import AUTO


def reindex(
    url: Url = None,
    embedder: Annotated[str, typer.Option(help="Whose vectors: vendor:model, or auto.")] = AUTO,
    as_json: AsJson = False,
) -> None:
    """Make the vectors of all memory that was written with another embedder, or with none. Recall goes on meanwhile."""
    with open(existing(url), embedder=embedder) as engine, progress_bar() as bar:
        task = bar.add_task("making vectors", total=None)

        def tell(made: int, spaces: int, of: int) -> None:
            bar.update(task, description=f"{made:,} vectors", completed=spaces, total=of)

        made = engine.reindex(tell)
    if as_json:
        answer_json({"vectors": made})
    else:
        answer(f"{made:,} vectors were made.")
