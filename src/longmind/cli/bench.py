"""`longmind bench`: how well recall finds what it should."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from longmind.cli.output import AsJson, answer_json, problems, progress
from longmind.errors import InvalidInput
from longmind.providers.registry import AUTO
from longmind.settings import load_settings

app = typer.Typer(help="Measure Longmind.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure Longmind."""


@app.command("recall")
def recall(
    data: Annotated[Path, typer.Option(help="A folder of conversations with questions.", exists=True, file_okay=False)],
    output: Annotated[Path | None, typer.Option(help="A file for the results, as JSON.", dir_okay=False)] = None,
    limit_corpora: Annotated[
        int | None, typer.Option(help="Only the first so many histories of each set.", min=1)
    ] = None,
    embedder: Annotated[str, typer.Option(help="Whose vectors: vendor:model, auto or none.")] = AUTO,
    as_json: AsJson = False,
) -> None:
    """Put conversations into memory, ask the questions, and see whether the turns with the answer are found."""
    # It takes minutes to measure, and would be for nothing.
    if output is not None:
        _check_writable(output)
    # What measures takes longer to load than all other commands.
    from longmind.cli.measured import show
    from longmind.quality.benchmark import Means, measure_recall

    settings = load_settings({"embedder": None if embedder == AUTO else embedder})
    results = measure_recall(data, Means.of_settings(settings, progress), limit_corpora)
    if output is not None:
        output.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", "utf-8")
        problems.print(f"written to {output}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        answer_json(results)
    else:
        show(results)


def _check_writable(output: Path) -> None:
    if not output.parent.is_dir():
        raise InvalidInput(f"There is no folder {output.parent} to write {output.name} into.", hint="Make it first.")
    if not os.access(output if output.exists() else output.parent, os.W_OK):
        raise InvalidInput(f"{output} cannot be written.", hint="Choose another file, or mend who may write there.")
