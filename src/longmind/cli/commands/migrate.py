"""`longmind migrate`: whether a database has the schema of this version, and giving it that."""

from __future__ import annotations

import typer

from longmind.change_feed import ChangeFeed
from longmind.cli.exit_codes import Exit
from longmind.cli.options import Url
from longmind.cli.output import AsJson, answer, answer_json, problems
from longmind.errors import SchemaTooNew
from longmind.settings import load_settings
from longmind.store.database_url import open_database
from longmind.store.schema_state import SchemaState, read_schema_state

app = typer.Typer(help="The schema of the database. Opening it brings it up to date as well.", no_args_is_help=True)


@app.command("status")
def status(url: Url = None, as_json: AsJson = False) -> None:
    """Show how far the schema is, and change nothing. It ends with 1 when there is something to apply."""
    state = read_schema_state(load_settings({"url": url}))
    _refuse_newer(state)
    if as_json:
        answer_json(_described(state))
    else:
        at = f"version {state.applied[-1]}" if state.applied else "empty, or not there yet"
        answer(f"The database is {at}; this Longmind has version {state.known[-1].version}.")
        for migration in state.missing:
            answer(f"- {migration.version:04} {migration.name} is missing")
    if state.missing:
        raise typer.Exit(Exit.FAILED)


@app.command("apply")
def apply(url: Url = None, as_json: AsJson = False) -> None:
    """Bring the schema up to date, all or nothing; other processes that open the database wait for it."""
    settings = load_settings({"url": url})
    before = read_schema_state(settings)
    with problems.status("bringing the schema up to date"):
        open_database(settings, ChangeFeed()).close()
    if as_json:
        answer_json({**_described(read_schema_state(settings)), "done": [each.version for each in before.missing]})
    else:
        answer(f"{len(before.missing)} migrations were applied; it is version {before.known[-1].version} now.")


def _described(state: SchemaState) -> dict[str, object]:
    missing = [{"version": each.version, "name": each.name} for each in state.missing]
    return {"applied": state.applied, "missing": missing, "newest": state.known[-1].version}


def _refuse_newer(state: SchemaState) -> None:
    if state.too_new:
        raise SchemaTooNew(
            f"The database has schema version {max(state.too_new)}, and this Longmind knows versions up to"
            f" {state.known[-1].version}."
        )
