"""The engine: one open database, the contexts made from it, its changes and its workers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_args

from longmind.admin import Admin
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import TokenCounter, choose_counter
from longmind.blocks import BlockReader, Blocks
from longmind.change_cursor import Following
from longmind.change_feed import Changes, Subscriber
from longmind.clock import Clock, system_clock
from longmind.context import Context
from longmind.conversations import Conversations
from longmind.conversations.validation import validate_idle, validate_namespace
from longmind.errors import EngineClosed, InvalidInput, NotFound, StoreBusy, StoreError, SummariserFailed
from longmind.events import Events
from longmind.events.distill_job import DISTILL, Drafting
from longmind.events.mirror.rebuild import Progress, Rebuilding, Rebuilt, told_to_nobody
from longmind.events.mirror.writer import Mirror
from longmind.extraction.candidate import Extractor
from longmind.extraction.registry import RULES, choose_extractor
from longmind.jobs import Effect, Handler, JobRun, Jobs, Worker
from longmind.jobs.handlers import Handlers
from longmind.jobs.wakeup import Bell
from longmind.jobs.worker import at_work
from longmind.keys import AccessKeys
from longmind.memory import Memory
from longmind.models.change import Change, ChangeKind
from longmind.models.engine_measures import Measures
from longmind.models.job import Job, JobStatus, WorkReport
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.embedder import Embedder, Embedding
from longmind.providers.model_pool import NamedModels
from longmind.providers.registry import AUTO, choose_embedder
from longmind.providers.reranker import Reranker, choose_reranker
from longmind.recall.embedding_jobs import embed_kind, fill_vectors, reindex_kind
from longmind.recall.embedding_requests import left_to_others
from longmind.recall.index.cache import IndexCache
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Capability, Scope
from longmind.settings import Settings, load_settings
from longmind.store.database_url import open_database
from longmind.store.migrations import load_migrations
from longmind.store.tables import conversations, jobs, ledger, spaces
from longmind.store.tables import metrics as measuring
from longmind.store.tables.jobs import Later
from longmind.store.tables.mirror_rows import newest_place
from longmind.store.triggers.extraction import EXTRACT, MINE
from longmind.store.triggers.rolling_summary import SUMMARISE
from longmind.store.triggers.sleep_time import SLEEP
from longmind.store.whole_tables.rows import Tables
from longmind.summaries.distiller_registry import Distillers
from longmind.summaries.registry import EXTRACTIVE, choose_summariser
from longmind.summaries.rolling import RollingSummaries
from longmind.summaries.summariser import Summariser
from longmind.tools import Tools
from longmind.tools.purge import AT_START, purge
from longmind.validation.identifiers import READ_LIMIT, validate_count, validate_id
from longmind.validation.text import quote_value
from longmind.working_context import WorkingContexts

if TYPE_CHECKING:
    from longmind.blocks.line_search import LineFinder
    from longmind.events.search import EventFinder
    from longmind.extraction.pipeline import Pipeline
    from longmind.recall.retriever import Recaller

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger("longmind.engine")

_PATIENT_ROUNDS = 2
"""How often an extraction decides before it writes; when it was overtaken so often, it does both at once."""


def open(
    url: str | None = None,
    *,
    embedder: str | Embedder | None = AUTO,
    reranker: str | Reranker | None = None,
    extractor: str | Extractor | None = None,
    summariser: str | Summariser | None = None,
    token_counter: str | TokenCounter | None = None,
    clock: Clock = system_clock,
    **settings: Any,
) -> Engine:
    """Open the memory kept at an address, and make it if it is not there yet.

    The address is `sqlite:///file.db`, `sqlite:///:memory:` or `postgresql://…`; by default it is taken from the
    environment variable `LONGMIND_URL`, and else it is the file `.longmind/longmind.db` in the home folder.
    """
    if isinstance(embedder, str) and embedder != AUTO:
        settings["embedder"] = embedder
    if isinstance(reranker, str):
        settings["reranker"] = reranker
    if isinstance(extractor, str):
        settings["extractor"] = extractor
    if isinstance(summariser, str):
        settings["summariser"] = summariser
    if isinstance(token_counter, str):
        settings["token_counter"] = token_counter
    loaded = load_settings({"url": url, **settings})
    return Engine(
        loaded,
        clock,
        loaded.embedder if embedder == AUTO else embedder,
        loaded.reranker if reranker is None else reranker,
        loaded.extractor if extractor is None else extractor,
        loaded.summariser if summariser is None else summariser,
        loaded.token_counter if token_counter is None else token_counter,
    )


class Engine:
    """An open engine. Close it when done, or use it in a `with` statement. Threads may share it."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock = system_clock,
        embedder: str | Embedder | None = AUTO,
        reranker: str | Reranker | None = None,
        extractor: str | Extractor = RULES,
        summariser: str | Summariser = EXTRACTIVE,
        token_counter: str | TokenCounter = AUTO,
    ) -> None:
        self.settings = settings
        self.templates = Templates()
        """The templates that working contexts are laid out by; more can be registered."""
        self._count_tokens = choose_counter(token_counter)
        self._clock = clock
        self._mirror = _mirror_of(settings)
        self._changes = Changes(self._mirror.append if self._mirror else None)
        self._handlers = Handlers()
        self._workers: set[threading.Thread] = set()
        self._stop = threading.Event()
        self._bell = Bell()
        self._closed = False
        self._loop = BackgroundLoop()
        self._models = NamedModels(self._loop, settings)
        self._embedding = choose_embedder(embedder, Path(settings.models_folder), self._loop)
        self._reranking = choose_reranker(reranker, Path(settings.models_folder))
        self._database = database = open_database(settings, self._changes)
        if clock is system_clock:
            # Machines that share a database have to agree on the time, also when the clock of one of them is wrong.
            self._clock = clock = lambda: system_clock() + database.clock_error
        if self._mirror is not None:
            self._mirror.place_at_opening = self._or_close(self._database.read, None, newest_place)
        self.keys = AccessKeys(self._database, clock)
        """The keys that requests to the server are checked against."""
        self._tables = Tables(self._database)
        self._overlap_only = embedder is None or embedder == "none"
        self._indexes = IndexCache(settings.cache_megabytes)
        self._made_recaller: Recaller | None = None
        self._making_recaller = threading.Lock()
        if self._embedding is not None:
            embedding = self._embedding
            self._handlers.register(reindex_kind(embedding.model), partial(self._reindex_space, embedding))
            self._handlers.register(embed_kind(embedding.model), partial(self._embed_events, embedding))
        self._extractor_of = self._or_close(choose_extractor, extractor, settings, self._loop, self._database, clock)
        summariser_of = self._or_close(choose_summariser, summariser, settings, self._loop)
        self._rolling = RollingSummaries(self._database, summariser_of, clock, settings.rolling_summary_characters)
        self._distillers = Distillers(self._models, summariser_of)
        self._made_pipeline: Pipeline | None = None
        self._made_line_finder: LineFinder | None = None
        self._made_event_finder: EventFinder | None = None
        if self._extractor_of is not None:
            # Without an extractor the jobs wait for an engine that has one.
            self._handlers.register(EXTRACT, self._extract)
            self._handlers.register(SLEEP, self._sleep)
        self._handlers.register(MINE, self._mine_patterns)
        self._handlers.register(SUMMARISE, self._summarise)
        for kind in DISTILL:
            self._handlers.register(kind, self._distill)
        survive_forks(self)
        self._purge_some()

    def _or_close(self, choose: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What is chosen; with a name that is wrong the engine is not opened, and what it holds is given back."""
        try:
            return choose(*args, **kwargs)
        except BaseException:
            self._loop.close()
            self._database.close()
            raise

    def _purge_some(self) -> None:
        try:
            purge(self._database, self._clock(), self.settings.purge_superseded_days, AT_START)
        except StoreError as error:
            # It can wait for the next start; who only reads a database that cannot be written may go on.
            _log.warning("superseded entries were not purged: %s", error)

    def renew_after_fork(self) -> None:
        # Threads stay with the parent: a child that wants workers starts its own.
        self._workers = set()
        self._stop = threading.Event()
        self._bell = Bell()
        self._making_recaller = threading.Lock()

    def context(
        self,
        *,
        tenant_id: str,
        app_id: str,
        user_id: str,
        agent_id: str | None = None,
        group: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        client_id: str | None = None,
        graph_id: str | None = None,
        node_id: str | None = None,
        capabilities: Iterable[Capability] = (),
    ) -> Context:
        """Bind the engine to one user. The host gives what it knows to be true, never what a user sent."""
        scope = Scope(
            tenant_id=tenant_id,
            app_id=app_id,
            user_id=user_id,
            agent_id=agent_id,
            group=group,
            session_id=session_id,
            run_id=run_id,
            client_id=client_id,
            graph_id=graph_id,
            node_id=node_id,
            capabilities=capabilities,  # type: ignore[arg-type]  # made a frozenset, and checked, by Scope
        )
        return self._context(scope)

    def _context(self, scope: Scope) -> Context:
        reader = BlockReader(self._database, scope, self._clock, lambda: self._line_finder)
        blocks = Blocks(self._database, scope, self._clock, reader)
        return Context(
            scope,
            conversations=Conversations(
                self._database,
                scope,
                self._clock,
                self._models,
                self._rolling,
                blocks,
                self.settings.rolling_summary_turns,
                self.settings.job_attempts,
                self._wake_workers,
            ),
            memory=Memory(
                self._database,
                scope,
                self._clock,
                lambda: self._recaller,
                lambda: self._pipeline,
                self.settings.job_attempts,
                self._wake_workers,
            ),
            working_context=WorkingContexts(
                self._database, scope, self._clock, lambda: self._recaller, reader, self.templates, self._count_tokens
            ),
            blocks=blocks,
            tools=Tools(self._database, scope, self._clock, lambda: self._recaller, self.settings.audit_key),
            events=Events(
                self._database,
                scope,
                self._clock,
                self.settings,
                self._indexes,
                lambda: self._event_finder,
                self._distillers,
            ),
            jobs=Jobs(self._database, scope, self._clock, self.settings, self._wake_workers),
            admin=Admin(
                self._database,
                scope,
                self._clock,
                self._tables,
                self.settings.audit_key,
                self.settings.erasure_rebuild_megabytes,
                self._forget,
                self._mirror_anew,
            ),
        )

    def _forget(self, scope: Scope) -> str | None:
        """Let go of what is kept of a user beside the database: in memory, and in files; tells what is still there.

        Other processes forget what they have in memory when they next look at the database.
        """
        self._indexes.forget(scope)
        # It keeps lines by what they say, and not by whose they are.
        self._made_line_finder = None
        try:
            self.forget_jsonl(scope)
        except StoreError as error:
            _log.warning("JSONL files of a user who was erased are still there: %s", error.message)
            return f"JSONL files of the user are still there. {error.message} See to it, then erase the user again."
        return None

    def _mirror_anew(self, scope: Scope) -> None:
        """Have the JSONL files of a user show what was brought in, which no file was told of."""
        if self._mirror is not None:
            self._rebuilding().mirror_anew(scope)

    @property
    def _recaller(self) -> Recaller:
        """Made when memory is first used: it computes with numpy, which takes longer to load than all of the rest."""
        if self._made_recaller is None:
            from longmind.recall.retriever import Recaller

            with self._making_recaller:
                if self._made_recaller is None:
                    self._made_recaller = Recaller(
                        self._database,
                        self._embedding,
                        self._indexes,
                        overlap_only=self._overlap_only,
                        reranking=self._reranking,
                    )
        return self._made_recaller

    @property
    def _pipeline(self) -> Pipeline:
        """Made late for the same reason. It holds nothing, so that a second one does no harm."""
        if self._made_pipeline is None:
            from longmind.extraction.pipeline import Pipeline

            self._made_pipeline = Pipeline(
                self._database, self._recaller, self._extractor_of, self._clock, self.settings.job_attempts
            )
        return self._made_pipeline

    @property
    def _line_finder(self) -> LineFinder:
        """Made late too. A second one would only remember less."""
        if self._made_line_finder is None:
            from longmind.blocks.line_search import LineFinder

            self._made_line_finder = LineFinder(self._recaller)
        return self._made_line_finder

    @property
    def _event_finder(self) -> EventFinder:
        """Made late too. A second one would only ask twice for the same job."""
        if self._made_event_finder is None:
            from longmind.events.search import EventFinder

            self._made_event_finder = EventFinder(self._database, self._indexes, self._embedding)
        return self._made_event_finder

    def _wake_workers(self) -> None:
        # Looked up at each ring: contexts outlive a fork, and the bell does not.
        self._bell.ring()

    def subscribe(self, subscriber: Subscriber, *, kinds: Iterable[ChangeKind] | None = None) -> Callable[[], None]:
        """Have a function called with every change this process commits, after the commit. Call the answer to stop."""
        return self._changes.subscribe(subscriber, None if kinds is None else _validate_kinds(kinds))

    def follow(self, after: int | None = None, *, wait: bool | float = False) -> Iterator[Change]:
        """Read the changes of all processes and all scopes in their order, from a cursor on; None is the beginning.

        It ends when there is nothing more, or nothing that may be given out yet since a write before it is still under
        way. With `wait=True` it waits for more until the engine is closed, with a number it gives up when none came
        for so many seconds.
        """
        return self._changes_of(self.following(after, wait=wait))

    def following(self, after: int | None = None, *, wait: bool | float = False) -> Following:
        """The way of one follower, to be read step by step: for programs that wait in their own manner."""
        self._check_open()
        return Following(self._database, after, wait)

    def _changes_of(self, following: Following) -> Iterator[Change]:
        while not following.ended:
            try:
                changes = following.read()
            except EngineClosed:
                # To who waits for more, that is the end. Others would take what they have got for all there is.
                if self._closed and following.waits:
                    return
                raise
            yield from changes
            if following.waiting and not following.ended:
                time.sleep(following.pause_seconds)

    def last_cursor(self) -> int:
        """The cursor of the newest change: follow from here to see only what comes."""
        newest = self._database.read(None, ledger.last_position)
        # A write that is under way may hold a lower place, and its change is still to come.
        if not self._database.settle(self.settings.busy_timeout_seconds):
            raise StoreBusy("A transaction has been writing for too long to tell where the changes end.")
        return newest

    def close_stale(self, idle: timedelta | float, *, namespace: str | None = None) -> int:
        """Close the open conversations of all users that nothing was appended to for this long; for a scheduled job."""
        chosen = None if namespace is None else validate_namespace(namespace)
        before = self._clock() - validate_idle(idle)
        owners = self._database.read(None, conversations.owners_of_stale, chosen, before)
        contexts = (self._context(scope) for scope in owners)
        return sum(len(context.conversations.close_stale(idle, namespace=namespace)) for context in contexts)

    def purge_superseded(self) -> int:
        """Remove entries of the memory tools that were superseded too long ago; for a scheduled job.

        Opening an engine does some of it too. `purge_superseded_days` says how long that is; gives how many they were.
        """
        return purge(self._database, self._clock(), self.settings.purge_superseded_days)

    def rebuild_jsonl(
        self,
        *,
        tenant_id: str | None = None,
        app_id: str | None = None,
        user_id: str | None = None,
        progress: Progress = told_to_nobody,
    ) -> Rebuilt:
        """Write the JSONL files of events anew from the ledger, of everybody or of whom is named; others may write on.

        Files and ledger agree afterwards. `progress` is told now and then how many events of how many are written.
        """
        return self._rebuilding().rebuild_all(tenant_id, app_id, user_id, progress)

    def forget_jsonl(self, scope: Scope) -> None:
        """Remove the JSONL files of a user whose events have been erased, so that no late append brings them back."""
        if self._mirror is not None:
            self._rebuilding().forget(scope)

    def _rebuilding(self) -> Rebuilding:
        self._check_open()
        if self._mirror is None:
            raise InvalidInput("There are no JSONL files: events_jsonl_dir is not set.", hint="Set it to a folder.")
        return Rebuilding(self._database, self._mirror, self.settings.busy_timeout_seconds)

    def reindex(self, on_progress: Callable[[int, int, int], object] | None = None) -> int:
        """Give all atoms that have no vector of this engine's embedder theirs, now; gives how many were made.

        `on_progress` is told again and again how many were made, how many spaces are done, and how many there are.
        """
        if self._embedding is None:
            raise InvalidInput(
                "There is no embedder to make vectors with.",
                hint="Choose one, such as local:arctic-s, by embedder= of longmind.open, or --embedder of a command.",
            )
        todo = self._database.read(None, spaces.lacking_vectors, self._embedding.stamp)
        made = 0
        for done, (scope, space_id) in enumerate(todo):

            def tell(of_this_space: int, made: int = made, done: int = done) -> None:
                if on_progress is not None:
                    on_progress(made + of_this_space, done, len(todo))

            made += fill_vectors(self._database, scope, space_id, self._embedding, self._clock(), tell)
        return made

    def _reindex_space(self, embedding: Embedding, run: JobRun) -> dict[str, int] | Later:
        left, space_id = left_to_others(run.job, embedding.stamp, self._clock()), run.job.payload["spaceId"]
        if left is not None:
            return left
        return {"vectors": fill_vectors(self._database, run.scope, space_id, embedding, self._clock())}

    def _embed_events(self, embedding: Embedding, run: JobRun) -> dict[str, int] | Later:
        left = left_to_others(run.job, embedding.stamp, self._clock())
        if left is not None:
            return left
        return {"vectors": self._event_finder.embed(run.scope, run.job.payload["timelineId"])}

    def _extract(self, run: JobRun) -> Effect | Later | dict[str, Any]:
        outcome = self._pipeline.extract(run.scope, run.job.payload, run.kept, patient=run.round <= _PATIENT_ROUNDS)
        return Effect(outcome) if callable(outcome) else outcome

    def _sleep(self, run: JobRun) -> Effect | Later | dict[str, Any]:
        from longmind.blocks.sleep_time_job import PATIENT_ROUNDS, Sleeping

        sleeping = Sleeping(self._database, self._pipeline.telling, self._clock)
        outcome = sleeping.digest(
            run.scope, run.job.payload["conversationId"], run.kept, patient=run.round <= PATIENT_ROUNDS
        )
        return Effect(outcome) if callable(outcome) else outcome

    def _mine_patterns(self, run: JobRun) -> Effect | dict[str, Any]:
        try:
            return Effect(self._pipeline.mining.mine(run.scope, run.job.payload["memorySpaceId"]))
        except NotFound:
            return {"skipped": "The space is deleted."}

    def _summarise(self, run: JobRun) -> dict[str, Any]:
        try:
            refreshed = self._rolling.refresh(run.scope, run.job.payload["conversationId"])
        except NotFound:
            return {"skipped": "The conversation is deleted."}
        if refreshed.outcome == "failed":
            raise SummariserFailed(refreshed.error)
        return {"outcome": refreshed.outcome, "untilSeq": refreshed.rolling_summary_until_seq}

    def _distill(self, run: JobRun) -> Effect:
        return Effect(Drafting(run.context.events).draft(run.job.kind, run.job.payload))

    def register_job(self, kind: str, handler: Handler) -> None:
        """Say what is to be done with jobs of a kind. A job of a kind nobody has registered waits."""
        self._check_open()
        self._handlers.register(kind, handler)
        self._bell.ring()

    def find_jobs(
        self, *, status: JobStatus | None = None, kind: str | None = None, job_id: str | None = None, limit: int = 100
    ) -> list[tuple[Scope, Job]]:
        """The jobs of all users, newest first, each with whose it is; for the host to see what has failed."""
        self._check_open()
        most = validate_count("limit", limit, most=READ_LIMIT)
        asked_kind = None if kind is None else validate_id("kind", kind)
        asked_id = None if job_id is None else validate_id("job_id", job_id)
        return self._database.read(None, jobs.of_all_scopes, status, asked_kind, asked_id, most)

    def retry_job(self, job_id: str) -> Job:
        """Queue a failed or dead job of any user again, with all its attempts."""
        found = self.find_jobs(job_id=validate_id("job_id", job_id), limit=1)
        if not found:
            raise NotFound("job", job_id)
        scope, _ = found[0]
        return self._context(scope).jobs.retry_job(job_id)

    def measures(self) -> Measures:
        """How long the queue of all users is, how far extraction is behind, and what this process keeps in memory."""
        self._check_open()
        now = self._clock()
        return Measures(
            queue=self._database.read(None, measuring.queue, now),
            extraction_lag=self._database.read(None, measuring.extraction_lag, now),
            cached_spaces=self._indexes.spaces,
            cached_bytes=self._indexes.nbytes,
            cache_limit_bytes=int(self.settings.cache_megabytes * 1024 * 1024),
        )

    def check_database(self) -> None:
        """Raise an error when the database cannot be reached, or lacks a migration that this engine needs.

        One that this process could not write a moment ago, for want of room or rights, is an error too.
        """
        self._check_open()
        applied = self._database.read(None, measuring.schema_versions)
        missing = {migration.version for migration in load_migrations(self._database.engine)} - set(applied)
        if missing:
            raise StoreError(
                f"The database lacks the migrations {sorted(missing)}.", hint="Open it anew: that applies them."
            )
        self._database.trouble.check()

    def work(self, limit: int | None = None) -> WorkReport:
        """Do the jobs that are due, now, in this thread, and tell what became of them."""
        self._check_open()
        most = None if limit is None else validate_count("limit", limit, most=1_000_000)
        return self._worker().work(most)

    def start_workers(self, count: int = 1) -> None:
        """Start threads that work jobs off in the background, until `stop_workers()` or `close()`."""
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 64:
            raise InvalidInput(f"count is {quote_value(count)}.", hint="Start between 1 and 64 workers.")
        self._check_open()
        for _ in range(count):
            thread = threading.Thread(
                target=self._worker().run_until, args=(self._stop, self._bell), name="longmind-worker", daemon=True
            )
            thread.start()
            self._workers.add(thread)

    def stop_workers(self, timeout: float | None = None) -> bool:
        """Let the workers finish the jobs at hand and stop. False when one was still busy after the time given.

        A handler that calls this is such a job at hand: nothing is waited for then.
        """
        deadline = time.monotonic() + (threading.TIMEOUT_MAX if timeout is None else _validate_seconds(timeout))
        # Workers that are started from now on have another sign to heed.
        stop, self._stop = self._stop, threading.Event()
        stop.set()
        self._bell.ring()
        waits = at_work.get() not in self._workers
        for thread in list(self._workers):
            if waits:
                thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
            if not thread.is_alive():
                self._workers.discard(thread)
        return not self._workers

    def _worker(self) -> Worker:
        return Worker(self._database, self._handlers, self.settings, self._clock, self._context)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed

    def close(self) -> None:
        """Stop the workers and close the database. What was written stays written; closing again does nothing."""
        if not self._closed:
            self.stop_workers()
            self._changes.finish()
            self._closed = True
            if self._mirror is not None:
                self._mirror.sync()
            self._loop.close()
            self._database.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _mirror_of(settings: Settings) -> Mirror | None:
    return Mirror(Path(settings.events_jsonl_dir), settings.events_jsonl_fsync) if settings.events_jsonl_dir else None


def _validate_kinds(kinds: object) -> frozenset[str]:
    known = get_args(ChangeKind)
    hint = f"Pass a list of some of these: {', '.join(known)}."
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds is {kinds!r}.", hint=hint)
    wanted = list(kinds)
    unknown = [kind for kind in wanted if kind not in known]
    if unknown:
        raise InvalidInput(f"Unknown kinds {unknown!r}.", hint=hint)
    return frozenset(wanted)


def _validate_seconds(timeout: object) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= threading.TIMEOUT_MAX:
        raise InvalidInput(
            f"timeout is {quote_value(timeout)}.",
            hint="It is a number of seconds, or None to wait as long as it takes.",
        )
    return timeout
