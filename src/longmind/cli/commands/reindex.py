"""`longmind reindex`: compute missing vectors for all memory.

Vectors of different embedders cannot be compared, so a change of the embedder makes this necessary. It can be stopped
at any time and continues where it stopped.
"""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Url, require_database
from longmind.cli.output import AsJson, make_progress_bar, print_json, print_line
from longmind.engine import open
from longmind.providers.provider_registry import AUTO


def reindex(
    url: Url = None,
    embedder: Annotated[str, typer.Option(help="The embedder: vendor:model, or auto.")] = AUTO,
    as_json: AsJson = False,
) -> None:
    """Compute vectors for memory that was written with another embedder or none. Recall keeps working."""
    with open(require_database(url), embedder=embedder) as engine, make_progress_bar() as bar:
        task = bar.add_task("computing vectors", total=None)

        def report(made: int, spaces: int, of: int) -> None:
            # The number of vectors is not known in advance; the bar counts spaces.
            bar.update(task, description=f"{made:,} vectors", completed=spaces, total=of)

        made = engine.reindex(report)
    if as_json:
        print_json({"vectors": made})
    else:
        print_line(f"Computed {made:,} vectors.")
