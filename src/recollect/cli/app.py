"""All commands, put together."""

from __future__ import annotations

import typer

from recollect.cli import audit, bench, jobs, models, reindex, skill

app = typer.Typer(
    name="recollect", help="A memory engine for AI agents.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(models.app, name="models")
app.add_typer(bench.app, name="bench")
app.add_typer(jobs.app, name="jobs")
app.add_typer(audit.app, name="audit")
app.command("reindex")(reindex.reindex)
app.command("skill")(skill.skill)
