"""`longmind jobs`: list jobs of all users, show why they failed, and retry them.

Operators use these commands, so they see the jobs of all users and need no user. A job that fails is retried by itself
with growing pauses; one that has used all of its attempts is dead until `retry`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Url, open_without_models, require_database
from longmind.cli.output import AsJson, print_json, print_line, print_table
from longmind.errors import NotFound
from longmind.models.job import Job, JobStatus
from longmind.scope import Scope

app = typer.Typer(help="Background jobs of all users.", no_args_is_help=True)

_ERROR_CHARACTERS = 60


@app.command("list")
def list_jobs(
    url: Url = None,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs with this status.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind, such as memory.extract.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of results.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    with open_without_models(require_database(url)) as engine:
        found = engine.find_jobs(status=status, kind=kind, limit=limit)
    if as_json:
        print_json([_describe_job(scope, job) for scope, job in found])
        return
    print_table(
        ("id", "kind", "status", "attempts", "tenant", "app", "user", "error"),
        (
            (job.id, job.kind, job.status, _format_attempts(job), *_list_owner(scope), _shorten(job.error))
            for scope, job in found
        ),
        empty="There are no such jobs.",
    )


@app.command("show")
def show(
    job_id: Annotated[str, typer.Argument(help="The id of the job.")], url: Url = None, as_json: AsJson = True
) -> None:
    """Show all fields of a job. Its payload and result can be any JSON, so the output always is."""
    with open_without_models(require_database(url)) as engine:
        found = engine.find_jobs(job_id=job_id, limit=1)
    if not found:
        raise NotFound("job", job_id)
    print_json(_describe_job(*found[0]))


@app.command("retry")
def retry(
    job_id: Annotated[str, typer.Argument(help="The id of the job.")], url: Url = None, as_json: AsJson = False
) -> None:
    """Queue a failed or dead job again with all of its attempts, for a worker."""
    with open_without_models(require_database(url)) as engine:
        job = engine.retry_job(job_id)
    if as_json:
        print_json(job.model_dump(mode="json"))
    else:
        print_line(f"Queued {job.id}.")


def _format_attempts(job: Job) -> str:
    """Return the number of attempts used and allowed."""
    return f"{job.attempts}/{job.max_attempts}"


def _list_owner(scope: Scope) -> tuple[str, str, str]:
    """Return the tenant, the app and the user of a job."""
    return scope.tenant_id, scope.app_id, scope.user_id


def _shorten(error: str | None) -> str:
    """Return the beginning of an error, to fit into a table."""
    return (error or "")[:_ERROR_CHARACTERS]


def _describe_job(scope: Scope, job: Job) -> dict[str, object]:
    """Return a job with its owner, for JSON."""
    owner = {"tenantId": scope.tenant_id, "appId": scope.app_id, "userId": scope.user_id}
    return {**owner, **job.model_dump(mode="json")}
