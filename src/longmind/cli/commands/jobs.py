"""`longmind jobs`: what is queued, what has failed and why, and trying it again."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.cli.options import Url, existing, open_plain
from longmind.cli.output import AsJson, answer, answer_json, answer_table
from longmind.errors import NotFound
from longmind.models.job import Job, JobStatus
from longmind.scope import Scope

app = typer.Typer(help="The jobs of all users: what is queued, what has failed and why.", no_args_is_help=True)

_WORDS_SHOWN = 60


@app.command("list")
def list_jobs(
    url: Url = None,
    status: Annotated[JobStatus | None, typer.Option(help="Only those in this state.")] = None,
    kind: Annotated[str | None, typer.Option(help="A kind of job, such as memory.extract.")] = None,
    limit: Annotated[int, typer.Option(help="How many to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show jobs, newest first."""
    with open_plain(existing(url)) as engine:
        found = engine.find_jobs(status=status, kind=kind, limit=limit)
    if as_json:
        answer_json([_described(scope, job) for scope, job in found])
        return
    answer_table(
        ("id", "kind", "status", "attempts", "tenant", "app", "user", "error"),
        ((job.id, job.kind, job.status, _attempts(job), *_owner(scope), _begin(job.error)) for scope, job in found),
        empty="There are no such jobs.",
    )


@app.command("show")
def show(job_id: Annotated[str, typer.Argument(help="Which job.")], url: Url = None, as_json: AsJson = True) -> None:
    """Show all there is to know of a job. Its payload and its result may be anything, so it is always JSON."""
    with open_plain(existing(url)) as engine:
        found = engine.find_jobs(job_id=job_id, limit=1)
    if not found:
        raise NotFound("job", job_id)
    answer_json(_described(*found[0]))


@app.command("retry")
def retry(job_id: Annotated[str, typer.Argument(help="Which job.")], url: Url = None, as_json: AsJson = False) -> None:
    """Queue a failed or dead job again, with all its attempts. A worker does it."""
    with open_plain(existing(url)) as engine:
        job = engine.retry_job(job_id)
    if as_json:
        answer_json(job.model_dump(mode="json"))
    else:
        answer(f"{job.id} is queued.")


def _attempts(job: Job) -> str:
    return f"{job.attempts}/{job.max_attempts}"


def _owner(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant_id, scope.app_id, scope.user_id


def _begin(error: str | None) -> str:
    return (error or "")[:_WORDS_SHOWN]


def _described(scope: Scope, job: Job) -> dict[str, object]:
    whose = {"tenantId": scope.tenant_id, "appId": scope.app_id, "userId": scope.user_id}
    return {**whose, **job.model_dump(mode="json")}
