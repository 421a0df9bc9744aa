"""The engine's operations over all users: upkeep, jobs of everybody, measures and the database check."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from longmind.conversations.validation import validate_idle, validate_namespace
from longmind.engine_parts import EngineParts, ServiceFactory
from longmind.errors import InvalidInput, NotFound, StoreError
from longmind.events.mirror.rebuild import Progress, RebuildResult, ignore_progress
from longmind.models.engine_measures import Measures
from longmind.models.job import Job, JobStatus
from longmind.recall.embedding_jobs import fill_vectors
from longmind.scope import Scope, validate_identity
from longmind.store.migrations import load_migrations
from longmind.store.tables import conversations, jobs, metrics, passages, spaces
from longmind.store.triggers.extraction_requests import EXTRACT
from longmind.store.triggers.passage_requests import FIRST_KIND, LAST_KIND
from longmind.tools.superseded_purge import START_LIMIT, purge
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT

_log = logging.getLogger("longmind.engine")


class Maintenance:
    """The part of the engine that a host calls on a schedule or by hand; none of it belongs to one user."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._services = ServiceFactory(parts)

    def close_stale(self, idle: timedelta | float, *, namespace: str | None = None) -> int:
        """Close the open conversations of all users that nothing was appended to for `idle`; return how many.

        For a scheduled job. `idle` is a timedelta or a number of seconds from 0.
        """
        parts = self._parts
        chosen = None if namespace is None else validate_namespace(namespace)
        before = parts.clock() - validate_idle(idle)
        # A context per owner, since no statement on user data runs without a scope.
        owners = parts.database.read(None, conversations.list_owners_of_stale, chosen, before)
        contexts = map(self._services.make_context, owners)
        return sum(len(context.conversations.close_stale(idle, namespace=namespace)) for context in contexts)

    def purge_superseded(self) -> int:
        """Remove memory tool entries superseded more than `purge_superseded_days` ago; return how many.

        For a scheduled job. Opening an engine also removes up to 100 of them.
        """
        return purge(self._parts.database, self._parts.clock(), self._parts.settings.purge_superseded_days)

    def _purge_at_start(self) -> None:
        parts = self._parts
        try:
            purge(parts.database, parts.clock(), parts.settings.purge_superseded_days, START_LIMIT)
        except StoreError as error:
            # The next start can do it; a database that cannot be written may still be read.
            _log.warning("superseded entries were not purged: %s", error)

    def rebuild_jsonl(
        self,
        *,
        tenant_id: str | None = None,
        app_id: str | None = None,
        user_id: str | None = None,
        progress: Progress = ignore_progress,
    ) -> RebuildResult:
        """Rewrite the JSONL files of events from the ledger, of all users or of those named.

        Other processes may go on writing; files and ledger agree afterwards. `progress` is called now and then with
        the number of events written and the number expected.
        """
        return self._parts.mirror_rebuild().rebuild_all(tenant_id, app_id, user_id, progress)

    def forget_jsonl(self, scope: Scope) -> None:
        """Remove the JSONL files of a user whose events were erased; late appends do not bring them back."""
        self._parts.forget_jsonl(scope)

    def reindex(self, on_progress: Callable[[int, int, int], object] | None = None) -> int:
        """Make the missing vectors of this engine's embedder for all atoms and messages now; return how many were made.

        `on_progress` is called again and again with the number of vectors made, of spaces done and of all spaces to
        do. Raises InvalidInput if the engine has no embedder.
        """
        parts, embedding = self._parts, self._parts.embedding
        if embedding is None:
            raise InvalidInput(
                "The engine has no embedder to compute vectors.",
                hint="Pass embedder='local:arctic-s' to longmind.open, or --embedder local:arctic-s to the command.",
            )
        incomplete = parts.database.read(None, spaces.list_lacking_vectors, embedding.stamp)
        made = 0
        for done, (scope, space_id) in enumerate(incomplete):

            def report(made_here: int, made: int = made, done: int = done) -> None:
                if on_progress is not None:
                    on_progress(made + made_here, done, len(incomplete))

            made += fill_vectors(parts.database, scope, space_id, embedding, parts.clock(), report)
        # Of messages each piece has a vector. Users whose messages have theirs take no longer than a recall.
        return made + sum(parts.passages.embed(scope)[0] for scope in parts.database.read(None, passages.list_owners))

    def list_users(self, *, tenant_id: str, app_id: str) -> list[str]:
        """Return the users of an app who have memory, in alphabetical order: those with a memory space."""
        parts = self._parts
        parts.check_open()
        tenant, app = validate_identity("tenant_id", tenant_id), validate_identity("app_id", app_id)
        return parts.database.read(None, spaces.list_users, tenant, app)

    def find_jobs(
        self, *, status: JobStatus | None = None, kind: str | None = None, job_id: str | None = None, limit: int = 100
    ) -> list[tuple[Scope, Job]]:
        """Return the jobs of all users, newest first, each with its owner's scope."""
        self._parts.check_open()
        count = LIMIT.check("limit", limit)
        wanted_kind = None if kind is None else validate_id("kind", kind)
        wanted_id = None if job_id is None else validate_id("job_id", job_id)
        return self._parts.database.read(None, jobs.list_of_all_scopes, status, wanted_kind, wanted_id, count)

    def retry_job(self, job_id: str) -> Job:
        """Queue a failed or dead job of any user again, with all its attempts."""
        found = self.find_jobs(job_id=validate_id("job_id", job_id), limit=1)
        if not found:
            raise NotFound("job", job_id)
        # The job is queued again as its owner, by the operation that the owner has.
        scope, _ = found[0]
        return self._services.make_context(scope).jobs.retry_job(job_id)

    def measures(self) -> Measures:
        """Measure the queue of all users, the lag of extraction, and the memory that this process uses for caches."""
        self._parts.check_open()
        database, indexes, now = self._parts.database, self._parts.indexes, self._parts.clock()
        return Measures(
            queue=database.read(None, metrics.measure_queue, now),
            passage_lag=database.read(None, metrics.measure_passage_lag, FIRST_KIND, LAST_KIND, now),
            extraction_lag=database.read(None, metrics.measure_extraction_lag, EXTRACT, now),
            cached_spaces=indexes.spaces,
            cached_bytes=indexes.nbytes,
            cache_limit_bytes=int(self._parts.settings.cache_megabytes * 1024 * 1024),
            embedder=self._parts.embedder_choice.describe(),
        )

    def check_database(self) -> None:
        """Raise StoreError if the database cannot be reached, lacks a migration, or lately could not be written."""
        self._parts.check_open()
        database = self._parts.database
        applied = database.read(None, metrics.list_schema_versions)
        missing = {migration.version for migration in load_migrations(database.engine)} - set(applied)
        if missing:
            raise StoreError(
                f"The database lacks the migrations {sorted(missing)}.", hint="Open the database again to apply them."
            )
        database.write_health.check()
