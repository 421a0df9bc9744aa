"""Composition root: builds everything an open engine consists of.

`EngineParts` opens the database and chooses the providers. What computes with numpy (the retriever, the extraction
pipeline and the finders of lines and events) is built on first use, because importing numpy takes longer than importing
the rest of Longmind. `ServiceFactory` builds the services of one user; a context asks for each on first use.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from longmind.admin import Admin
from longmind.agents import Agents
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import TokenCounter, choose_counter
from longmind.blocks import BlockReader, Blocks
from longmind.blocks.sharing_apps import SharingApps
from longmind.change_feed import ChangeFeed
from longmind.clock import Clock, system_clock
from longmind.context import Context
from longmind.conversations import Conversations
from longmind.conversations.registered_tools import ToolRegistry, ToolSource
from longmind.conversations.unbound_closings import UnboundClosings
from longmind.errors import EngineClosed, InvalidInput, StoreError
from longmind.events import Events
from longmind.events.mirror.rebuild import MirrorRebuilder
from longmind.events.mirror.writer import Mirror
from longmind.events.timeline import TimelineLog
from longmind.extraction.candidate import Extractor
from longmind.extraction.extraction_versions import ExtractionVersions
from longmind.extraction.extractor_registry import choose_extractor, limit_sleep_time
from longmind.jobs import Jobs
from longmind.jobs.handler_registry import HandlerRegistry
from longmind.jobs.wakeup import Bell
from longmind.jobs.worker import Worker
from longmind.memory import Memory
from longmind.models.job import WorkReport
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.embedder import CheckedEmbedder, Embedder
from longmind.providers.embedder_choice import EmbedderChoice
from longmind.providers.model_files import choose_file_source
from longmind.providers.model_pool import ModelPool
from longmind.providers.reranker import CAREFUL_RERANKER, Reranker, choose_reranker
from longmind.recall.embedding_jobs import passages_kind
from longmind.recall.index.cache import IndexCache
from longmind.runtime.fork_safety import survive_forks
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.store.database_url import open_database
from longmind.store.tables.mirror_rows import find_newest_place
from longmind.store.tables.quotas import QuotaLimits
from longmind.store.triggers.job_policy import JobPolicy
from longmind.store.whole_tables.user_rows import UserTableColumns
from longmind.summaries.distiller_registry import Distillers
from longmind.summaries.rolling_summaries import RollingSummaries
from longmind.summaries.summariser import Summariser
from longmind.summaries.summariser_registry import choose_summariser
from longmind.tools import Tools
from longmind.tools.session_memory import SessionMemory
from longmind.working_context import WorkingContexts

if TYPE_CHECKING:
    from longmind.blocks.line_search import LineRetriever
    from longmind.events.search_index import EventRetriever
    from longmind.extraction.pipeline import Pipeline
    from longmind.providers.local.text_encoder import TextEncoder
    from longmind.recall.passage_indexes import PassageIndexes
    from longmind.recall.retriever import AtomRetriever

_log = logging.getLogger("longmind.engine")


class EngineParts:
    """The parts of one open engine, shared by its contexts, its jobs and its maintenance operations.

    If a provider cannot be chosen, the database is closed again and the error is raised. Public attributes are set
    once; after a fork the child renews the lock and the bell, and each part renews its own threads and connections.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        embedder: str | Embedder | None,
        reranker: str | Reranker | None,
        extractor: str | Extractor,
        summariser: str | Summariser,
        token_counter: str | TokenCounter,
    ) -> None:
        self.settings = settings
        self.closed = False
        self.sharing_apps = SharingApps(settings.apps_sharing_blocks)
        self.templates = Templates()
        self.extraction_versions = ExtractionVersions(extractor)
        self.count_tokens = choose_counter(token_counter)
        self.mirror = (
            Mirror(Path(settings.events_jsonl_dir), settings.events_jsonl_fsync) if settings.events_jsonl_dir else None
        )
        self.changes = ChangeFeed(self.mirror.append if self.mirror else None)
        self.handlers = HandlerRegistry()
        self.registered_tools = ToolRegistry()
        self.unbound_closings = UnboundClosings()
        self.bell = Bell()
        self.loop = BackgroundLoop()
        self.models = ModelPool(self.loop, settings)
        models, find_files = Path(settings.models_folder), choose_file_source(offline=settings.offline)
        self.embedder_choice = EmbedderChoice(embedder, models, self.loop, find_files)
        self.reranking = choose_reranker(reranker, models, find_files)
        # After the providers: if one of them cannot be chosen, there is no database to close yet.
        self.database = database = open_database(settings, self.changes)
        # Machines that share a database must agree on the time even if the clock of one of them is wrong.
        self.clock = clock if clock is not system_clock else lambda: system_clock() + database.clock_error
        self.tables = UserTableColumns(database)
        self.indexes = IndexCache(settings.cache_megabytes)
        self._overlap_only = embedder is None or embedder == "none"
        self._retriever: AtomRetriever | None = None
        self._pipeline: Pipeline | None = None
        self._line_retriever: LineRetriever | None = None
        self._event_retriever: EventRetriever | None = None
        self._passages: PassageIndexes | None = None
        model = self.embedder_choice.model
        self.passages_kind = None if model is None else passages_kind(model)
        """The kind of the job that each append asks for; None without an embedder."""
        self._retriever_lock = threading.Lock()
        try:
            if self.mirror is not None:
                self.mirror.position_at_opening = database.read(None, find_newest_place)
            self.extractor_of = choose_extractor(
                extractor,
                settings,
                self.loop,
                database,
                self.clock,
                self._find_encoder,
            )
            summariser_of = choose_summariser(summariser, settings, self.loop)
        except BaseException:
            self.close()
            raise
        idle = round(settings.sleep_time_idle_seconds * 1_000_000)
        # Without an extractor nothing could read the conversations, and the jobs would wait for ever.
        sleeps = settings.sleep_time == "on" and self.extractor_of is not None
        self.job_policy = JobPolicy(
            settings.job_attempts, settings.rolling_summary_turns, self.passages_kind, idle if sleeps else None
        )
        self.rolling = RollingSummaries(database, summariser_of, self.clock, settings.rolling_summary_characters)
        self.distillers = Distillers(self.models, summariser_of)
        survive_forks(self)

    def renew_after_fork(self) -> None:
        self.bell = Bell()
        self._retriever_lock = threading.Lock()

    def close(self) -> None:
        """Close the providers' event loop and the database."""
        self.loop.close()
        self.database.close()

    def check_open(self) -> None:
        """Raise EngineClosed if the engine is closed."""
        if self.closed:
            raise EngineClosed

    def wake_workers(self) -> None:
        """Wake the workers of this process. Looks the bell up each time: contexts outlive a fork, the bell does not."""
        self.bell.ring()

    @property
    def embedding(self) -> CheckedEmbedder | None:
        """The embedder; the default one is fetched at the first use, and None if it cannot be had."""
        return self.embedder_choice.decide()

    def _find_encoder(self) -> TextEncoder | None:
        """Return the encoder of the local embedder, for the local reader; None if there is none."""
        return None if self.embedding is None else self.embedding.encoder

    @property
    def retriever(self) -> AtomRetriever:
        """The retriever of atoms. There is only one, because it caches the index of every space."""
        if self._retriever is None:
            # Imported late, because it loads numpy, which takes longer than opening a database.
            from longmind.recall.retriever import AtomRetriever

            with self._retriever_lock:
                if self._retriever is None:
                    self._retriever = AtomRetriever(
                        self.database,
                        self.embedding,
                        self.indexes,
                        overlap_only=self._overlap_only,
                        reranking=self.reranking,
                        careful_reranking=choose_reranker(CAREFUL_RERANKER, Path(self.settings.models_folder)),
                        passages=self.passages,
                        notice=self.embedder_choice.notice,
                    )
        return self._retriever

    @property
    def pipeline(self) -> Pipeline:
        """The extraction pipeline. It holds no state, so a second one made by a race is harmless."""
        if self._pipeline is None:
            from longmind.extraction.pipeline import Pipeline

            self._pipeline = Pipeline(
                self.database,
                self.retriever,
                self.extractor_of,
                limit_sleep_time(self.extractor_of, self.settings, self.database, self.clock),
                self.extraction_versions,
                self.clock,
                self.settings.job_attempts,
            )
        return self._pipeline

    @property
    def line_retriever(self) -> LineRetriever:
        """The retriever of block lines. A second one made by a race only starts with an empty cache."""
        if self._line_retriever is None:
            from longmind.blocks.line_search import LineRetriever

            self._line_retriever = LineRetriever(self.retriever)
        return self._line_retriever

    @property
    def event_retriever(self) -> EventRetriever:
        """The retriever of events. A second one made by a race may only request the same embedding job twice."""
        if self._event_retriever is None:
            from longmind.events.search_index import EventRetriever

            self._event_retriever = EventRetriever(self.database, self.indexes, self.embedding)
        return self._event_retriever

    @property
    def passages(self) -> PassageIndexes:
        """The indexes of messages. A second one made by a race may only request the same job twice."""
        if self._passages is None:
            from longmind.recall.passage_indexes import PassageIndexes

            self._passages = PassageIndexes(self.database, self.indexes, self.embedding, self.settings.job_attempts)
        return self._passages

    def mirror_rebuild(self) -> MirrorRebuilder:
        """Return the rebuild of the JSONL files; raise InvalidInput if `events_jsonl_dir` is not set."""
        self.check_open()
        if self.mirror is None:
            raise InvalidInput(
                "events_jsonl_dir is not set, so there are no JSONL files.", hint="Set events_jsonl_dir to a folder."
            )
        return MirrorRebuilder(self.database, self.mirror, self.settings.busy_timeout_seconds)

    def forget_jsonl(self, scope: Scope) -> None:
        """Remove the JSONL files of a user, if there is a mirror."""
        if self.mirror is not None:
            self.mirror_rebuild().forget(scope)

    def forget_user(self, scope: Scope) -> str | None:
        """Drop the caches and files of an erased user; return a warning about files that remain.

        Other processes drop their caches when they next read the database.
        """
        # Caches first, so that no recall of this process answers from them while files are removed.
        self.indexes.forget(scope)
        # The line cache is keyed by text, not by user, so all of it goes.
        self._line_retriever = None
        try:
            self.forget_jsonl(scope)
        except StoreError as error:
            _log.warning("JSONL files of an erased user remain: %s", error.message)
            return f"JSONL files of the user remain. {error.message} Fix this, then erase the user again."
        return None

    def rewrite_jsonl(self, scope: Scope) -> None:
        """Rewrite a user's JSONL files after an import, which bypasses the mirror."""
        if self.mirror is not None:
            self.mirror_rebuild().rewrite_user(scope)


class ServiceFactory:
    """Builds the services of a context, one method per service."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def make_context(self, scope: Scope) -> Context:
        """Return a context of a user. The settings decide whether its scope shares memory blocks with other apps."""
        return Context(self._parts.sharing_apps.mark(scope), self)

    def make_conversations(self, scope: Scope) -> Conversations:
        parts = self._parts
        return Conversations(
            parts.database,
            scope,
            parts.clock,
            parts.models,
            parts.rolling,
            self._block_reader(scope),
            SessionMemory(parts.database, scope, parts.clock),
            ToolSource(
                parts.registered_tools,
                lambda: self.make_context(scope),
                lambda definitions, arguments: self.make_memory(scope).agent_tools(definitions, arguments),
            ),
            parts.job_policy,
            parts.wake_workers,
            parts.unbound_closings.note,
        )

    def make_memory(self, scope: Scope) -> Memory:
        parts = self._parts
        return Memory(
            parts.database,
            scope,
            parts.clock,
            lambda: parts.retriever,
            lambda: parts.pipeline,
            parts.settings.job_attempts,
            parts.wake_workers,
            parts.count_tokens,
            parts.extraction_versions,
        )

    def make_working_context(self, scope: Scope) -> WorkingContexts:
        parts = self._parts
        return WorkingContexts(
            parts.database,
            scope,
            parts.clock,
            lambda: parts.retriever,
            self._block_reader(scope),
            parts.templates,
            parts.count_tokens,
        )

    def make_blocks(self, scope: Scope) -> Blocks:
        parts = self._parts
        return Blocks(parts.database, scope, parts.clock, self._block_reader(scope), parts.job_policy.sleep_idle)

    def make_tools(self, scope: Scope) -> Tools:
        parts = self._parts
        settings = parts.settings
        limits: QuotaLimits = {
            "stores": settings.session_stores,
            "supersedes": settings.session_supersedes,
            "deletes": settings.session_deletes,
        }
        return Tools(parts.database, scope, parts.clock, lambda: parts.retriever, settings.audit_key, limits)

    def make_events(self, scope: Scope) -> Events:
        parts = self._parts
        log = TimelineLog(parts.database, scope, parts.clock, parts.settings)
        return Events(log, parts.indexes, lambda: parts.event_retriever, parts.distillers)

    def make_agents(self, scope: Scope) -> Agents:
        parts = self._parts
        return Agents(
            parts.database, scope, parts.clock, self.make_conversations(scope), self.make_working_context(scope)
        )

    def make_jobs(self, scope: Scope) -> Jobs:
        parts = self._parts

        def attempt(owner: Scope, job_id: str) -> WorkReport:
            worker = Worker(parts.database, parts.handlers, parts.settings, parts.clock, self.make_context)
            return worker.work_on(owner, job_id)

        return Jobs(parts.database, scope, parts.clock, parts.settings, parts.wake_workers, parts.handlers, attempt)

    def make_admin(self, scope: Scope) -> Admin:
        parts = self._parts
        return Admin(
            parts.database,
            scope,
            parts.clock,
            parts.tables,
            parts.settings.audit_key,
            parts.settings.erasure_rebuild_megabytes,
            parts.forget_user,
            parts.rewrite_jsonl,
        )

    def _block_reader(self, scope: Scope) -> BlockReader:
        parts = self._parts
        return BlockReader(parts.database, scope, parts.clock, lambda: parts.line_retriever)
