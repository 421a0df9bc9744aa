"""Handlers of the jobs that the engine queues for itself: extraction, blocks, patterns, summaries and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longmind.errors import NotFound, SummariserFailed
from longmind.events.distill_job import DISTILL, prepare_distillation
from longmind.jobs import Effect, JobRun
from longmind.recall.embedding_jobs import embed_kind, fill_vectors, passages_kind, reindex_kind
from longmind.recall.embedding_requests import defer_to_other_engine
from longmind.store.tables.jobs import JobPostponement
from longmind.store.tables.sleep_time_rules import make_usual
from longmind.store.triggers import passage_requests
from longmind.store.triggers.extraction_requests import CONSOLIDATE, EXTRACT, MINE
from longmind.store.triggers.rolling_summary import SUMMARISE
from longmind.store.triggers.sleep_time import SLEEP

if TYPE_CHECKING:
    from longmind.engine_parts import EngineParts

_OPTIMISTIC_ROUNDS = 2
"""Rounds in which an extraction decides outside the transaction; after that it decides and writes in one."""


class JobHandlers:
    """The handlers, bound to the parts of one engine.

    A handler thinks outside a transaction. It returns a value to keep with the job, a `JobPostponement` to be called
    again later, or an `Effect`, which the worker commits together with the end of the job.
    """

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def register(self) -> None:
        """Register a handler for each kind of job that this engine can do; jobs of other kinds wait for another one."""
        handlers, model = self._parts.handlers, self._parts.embedder_choice.model
        if model is not None:
            handlers.register(reindex_kind(model), self._embed_space)
            handlers.register(embed_kind(model), self._embed_events)
            handlers.register(passages_kind(model), self._embed_passages)
        # Also with an embedder, since the default one may turn out not to be had.
        handlers.register(passages_kind(None), self._embed_passages)
        # An engine without an extractor leaves these jobs to another one.
        if self._parts.extractor_of is not None:
            handlers.register(EXTRACT, self._extract)
            handlers.register(SLEEP, self._update_blocks)
        handlers.register(MINE, self._mine_patterns)
        handlers.register(CONSOLIDATE, self._consolidate)
        handlers.register(SUMMARISE, self._summarise)
        for kind in DISTILL:
            handlers.register(kind, self._distill)

    def _embed_space(self, run: JobRun) -> dict[str, int] | JobPostponement:
        parts, embedding = self._parts, self._parts.embedding
        postponement = defer_to_other_engine(run.job, None if embedding is None else embedding.stamp, parts.clock())
        if embedding is None or postponement is not None:
            return postponement or {"vectors": 0}
        space_id = run.job.payload["spaceId"]
        return {"vectors": fill_vectors(parts.database, run.scope, space_id, embedding, parts.clock())}

    def _embed_events(self, run: JobRun) -> dict[str, int] | JobPostponement:
        embedding = self._parts.embedding
        stamp = None if embedding is None else embedding.stamp
        postponement = defer_to_other_engine(run.job, stamp, self._parts.clock())
        if postponement is not None:
            return postponement
        return {"vectors": self._parts.event_retriever.embed(run.scope, run.job.payload["timelineId"])}

    def _embed_passages(self, run: JobRun) -> Effect:
        made, is_complete = self._parts.passages.embed(run.scope)
        return Effect(passage_requests.end, (run.job.id, made, is_complete))

    def _extract(self, run: JobRun) -> Effect | JobPostponement | dict[str, Any]:
        pipeline = self._parts.pipeline
        prepared = pipeline.prepare(run.scope, run.job.payload, run.kept.get("extraction"))
        if isinstance(prepared, JobPostponement | dict):
            return prepared
        # Kept for the next round of this attempt, should another transaction come between: a model costs money.
        run.kept["extraction"] = prepared
        outcome = pipeline.plan_write(prepared, in_transaction=run.round > _OPTIMISTIC_ROUNDS)
        return Effect(outcome) if callable(outcome) else outcome

    def _update_blocks(self, run: JobRun) -> Effect | JobPostponement | dict[str, Any]:
        from longmind.blocks.sleep_time_job import OPTIMISTIC_ROUNDS, SleepTimeUpdater

        parts = self._parts
        usual = make_usual(parts.job_policy.sleep_idle)
        updater = SleepTimeUpdater(parts.database, parts.pipeline.fact_reader, parts.clock, usual)
        outcome = updater.prepare(
            run.scope, run.job.payload["conversationId"], run.kept, in_transaction=run.round > OPTIMISTIC_ROUNDS
        )
        return Effect(outcome) if callable(outcome) else outcome

    def _mine_patterns(self, run: JobRun) -> Effect | dict[str, Any]:
        try:
            return Effect(self._parts.pipeline.pattern_finder.find(run.scope, run.job.payload["memorySpaceId"]))
        except NotFound:
            # Deleted after the job was queued: there is nothing left to do, and no reason to try again.
            return {"skipped": "The space is deleted."}

    def _consolidate(self, run: JobRun) -> Effect | dict[str, Any]:
        try:
            return Effect(
                self._parts.pipeline.consolidator.prepare(
                    run.scope, run.job.payload["memorySpaceId"], in_transaction=run.round > _OPTIMISTIC_ROUNDS
                )
            )
        except NotFound:
            # Deleted after the job was queued: there is nothing left to do, and no reason to try again.
            return {"skipped": "The space is deleted."}

    def _summarise(self, run: JobRun) -> dict[str, Any]:
        try:
            refreshed = self._parts.rolling.refresh(run.scope, run.job.payload["conversationId"])
        except NotFound:
            return {"skipped": "The conversation is deleted."}
        if refreshed.outcome == "failed":
            raise SummariserFailed(refreshed.error)
        return {"outcome": refreshed.outcome, "untilSeq": refreshed.rolling_summary_until_seq}

    def _distill(self, run: JobRun) -> Effect:
        return Effect(prepare_distillation(run.context.events, run.job.kind, run.job.payload))
