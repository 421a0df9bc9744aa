"""`longmind migrate`: show the schema version of a database, and apply missing migrations.

Every command that opens a database migrates it too; these commands let an operator look first, or migrate at a time of
their choosing.
"""

from __future__ import annotations

import typer

from longmind.change_feed import ChangeFeed
from longmind.cli.exit_codes import Exit
from longmind.cli.options import Url
from longmind.cli.output import AsJson, print_json, print_line, stderr
from longmind.cli.typing_mistakes import find_address
from longmind.errors import SchemaTooNew
from longmind.settings import load_settings
from longmind.store.database_url import open_database
from longmind.store.schema_state import SchemaState, read_schema_state

app = typer.Typer(help="The database schema. Opening a database migrates it too.", no_args_is_help=True)


@app.command("status")
def status(url: Url = None, as_json: AsJson = False) -> None:
    """Show the schema version without changing it; exit with 1 if migrations are missing."""
    state = read_schema_state(load_settings({"url": find_address(url)}))
    _refuse_newer(state)
    if as_json:
        print_json(_describe_state(state))
    else:
        at = f"version {state.applied[-1]}" if state.applied else "empty or missing"
        print_line(f"The database schema is {at}; this Longmind has version {state.known[-1].version}.")
        for migration in state.missing:
            print_line(f"- {migration.version:04} {migration.name} is missing")
    if state.missing:
        raise typer.Exit(Exit.FAILED)


@app.command("apply")
def apply(url: Url = None, as_json: AsJson = False) -> None:
    """Apply missing migrations, all or none; other processes that open the database wait."""
    settings = load_settings({"url": find_address(url)})
    # Read first, so that the answer can name what was applied.
    before = read_schema_state(settings)
    with stderr.status("migrating the schema"):
        open_database(settings, ChangeFeed()).close()
    if as_json:
        print_json({**_describe_state(read_schema_state(settings)), "done": [each.version for each in before.missing]})
    else:
        print_line(f"Applied {len(before.missing)} migrations; the schema is version {before.known[-1].version}.")


def _describe_state(state: SchemaState) -> dict[str, object]:
    """Return the applied and the missing migrations, for JSON."""
    missing = [{"version": each.version, "name": each.name} for each in state.missing]
    return {"applied": state.applied, "missing": missing, "newest": state.known[-1].version}


def _refuse_newer(state: SchemaState) -> None:
    """Raise SchemaTooNew if a newer version of Longmind has migrated the database."""
    if state.too_new:
        raise SchemaTooNew(
            f"The database has schema version {max(state.too_new)}, but this Longmind knows versions up to"
            f" {state.known[-1].version}."
        )
