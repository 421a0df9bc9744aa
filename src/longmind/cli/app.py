"""The command tree of `longmind`. Its help texts are the docstrings of the commands, one module each."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind import __version__
from longmind.cli.commands import (
    audit,
    blocks,
    context,
    conversations,
    database_backup,
    database_copy,
    doctor,
    erase,
    events,
    jobs,
    keys,
    mcp,
    memory,
    memory_add,
    memory_search,
    migrate,
    models,
    recall,
    reindex,
    serve,
    skill,
    tool_call,
    users,
)
from longmind.cli.output import write_text

app = typer.Typer(
    name="longmind",
    no_args_is_help=True,
    # Errors of ours are translated in entry_point.py; a traceback of typer would show local variables.
    pretty_exceptions_enable=False,
    # Many programs accept -h; click by default does not.
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    """Print the version and end, before any command runs."""
    if requested:
        write_text(__version__)
        raise typer.Exit


@app.callback()
def longmind(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for AI agents."""


# In the order in which --help lists them: memory, services, operation, whole users, maintenance.
app.command("add")(memory_add.add)
app.command("search")(memory_search.search)
app.command("context")(context.context)
app.add_typer(conversations.app, name="conversations")
app.add_typer(memory.app, name="memory")
app.add_typer(recall.app, name="recall")
app.add_typer(blocks.app, name="blocks")
app.add_typer(events.app, name="events")
app.command("serve")(serve.serve)
app.command("worker")(serve.worker)
app.command("mcp")(mcp.mcp)
app.command("tool")(tool_call.tool)
app.command("skill")(skill.skill)
app.add_typer(keys.app, name="keys")
app.add_typer(jobs.app, name="jobs")
app.add_typer(audit.app, name="audit")
app.command("doctor")(doctor.doctor)
app.add_typer(migrate.app, name="migrate")
app.add_typer(erase.app, name="erase")
app.command("export")(users.export)
app.command("import")(users.import_)
app.command("backup")(database_backup.backup)
app.command("restore")(database_backup.restore)
app.command("copy")(database_copy.copy)
app.command("reindex")(reindex.reindex)
app.add_typer(models.app, name="models")
