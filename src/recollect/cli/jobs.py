"""`recollect jobs`: what is queued, what has failed and why, and trying it again."""

from __future__ import annotations

from typing import Annotated, get_args

import typer
from rich.table import Table
from rich.text import Text

from recollect.cli.output import AsJson, answer_json, answers
from recollect.engine import open
from recollect.errors import InvalidInput, NotFound
from recollect.models.job import Job, JobStatus
from recollect.scope import Scope

app = typer.Typer(help="The jobs of all users: what is queued, what has failed and why.", no_args_is_help=True)

Url = Annotated[str | None, typer.Option(help="Where the memory is kept; RECOLLECT_URL by default.")]
_WORDS_SHOWN = 60


@app.command("list")
def list_jobs(
    url: Url = None,
    status: Annotated[str | None, typer.Option(help=f"One of {', '.join(get_args(JobStatus))}.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of job, such as memory.extract.")] = None,
    limit: Annotated[int, typer.Option(help="How many to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show jobs, newest first."""
    if status is not None and status not in get_args(JobStatus):
        raise InvalidInput(f"status is {status!r}.", hint=f"It is one of {', '.join(get_args(JobStatus))}.")
    with open(url, extractor="none", summariser="extractive", embedder=None) as engine:
        found = engine.find_jobs(status=status, kind=kind, limit=limit)  # type: ignore[arg-type]  # checked above
    if as_json:
        answer_json([_described(scope, job) for scope, job in found])
        return
    table = Table("id", "kind", "status", "attempts", "tenant", "app", "user", "error")
    for scope, job in found:
        error = (job.error or "")[:_WORDS_SHOWN]
        whose = (scope.tenant_id, scope.app_id, scope.user_id)
        cells = (job.id, job.kind, job.status, f"{job.attempts}/{job.max_attempts}", *whose, error)
        # What a user wrote is shown as it is, never read as markup.
        table.add_row(*(Text(cell) for cell in cells))
    answers.print(table)


@app.command("show")
def show(job_id: Annotated[str, typer.Argument(help="Which job.")], url: Url = None) -> None:
    """Show all there is to know of a job, as JSON."""
    with open(url, extractor="none", summariser="extractive", embedder=None) as engine:
        found = engine.find_jobs(job_id=job_id, limit=1)
    if not found:
        raise NotFound("job", job_id)
    answer_json(_described(*found[0]))


@app.command("retry")
def retry(job_id: Annotated[str, typer.Argument(help="Which job.")], url: Url = None, as_json: AsJson = False) -> None:
    """Queue a failed or dead job again, with all its attempts. A worker does it."""
    with open(url, extractor="none", summariser="extractive", embedder=None) as engine:
        job = engine.retry_job(job_id)
    if as_json:
        answer_json(job.model_dump(mode="json"))
    else:
        answers.print(Text(f"{job.id} is queued."))


def _described(scope: Scope, job: Job) -> dict[str, object]:
    whose = {"tenantId": scope.tenant_id, "appId": scope.app_id, "userId": scope.user_id}
    return {**whose, **job.model_dump(mode="json")}
