"""The index of a timeline is a cache of the ledger: current, bounded, and never in the way of a record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

import longmind
from harness.crew import Line, start_process
from longmind.events import search_index
from longmind.models.event_search import SearchMode
from longmind.store.database import Transaction
from longmind.store.tables import erasures, ledger
from tests.events.samples import context_of, texts
from tests.events.synonym_embedder import MeaningEmbedder


@pytest.fixture(autouse=True)
def _patient_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search waits for all vectors, however slow the machine is."""
    monkeypatch.setattr(search_index, "_PATIENCE_SECONDS", 600.0)


@pytest.fixture
def embedder() -> MeaningEmbedder:
    return MeaningEmbedder()


@pytest.fixture
def engine(database_url: str, embedder: MeaningEmbedder) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=embedder) as engine:
        yield engine


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    return context_of(engine, session_id="s1")


def record_when_told(line: Line, url: str) -> None:
    with longmind.open(url, embedder=None) as engine:
        events = context_of(engine, session_id="s1").events
        for text in iter(line.hear, None):
            events.record("note", text)
            line.say("recorded")


@pytest.mark.patient
def test_what_another_process_records_is_found_at_once(database_url: str, ctx: longmind.Context) -> None:
    ctx.events.record("note", "the first zebra")
    with start_process(record_when_told, database_url) as other:
        for number in range(3):
            assert len(ctx.events.search("zebra")) == 1 + number
            other.say(f"zebra number {number}")
            other.hear()
            assert texts(ctx.events.search(f"zebra number {number}", limit=1)) == [f"zebra number {number}"]
        other.say(None)
        other.result()


def test_what_tells_of_the_past_is_found_too(ctx: longmind.Context) -> None:
    ctx.events.record("note", "a zebra of today")
    assert len(ctx.events.search("zebra")) == 1
    ctx.events.record_raw(base={"kind": "note", "ts": "2020-01-01T00:00:00Z"}, text="a zebra of long ago")
    assert texts(ctx.events.search("zebra of long ago", limit=1)) == ["a zebra of long ago"]
    assert texts(ctx.events.search(tags=[], limit=1)) == ["a zebra of today"]


def test_a_restart_embeds_nothing_again(database_url: str, ctx: longmind.Context, embedder: MeaningEmbedder) -> None:
    said = [f"item {number}" for number in range(100)]
    ctx.events.record_many([{"kind": "note", "text": text} for text in said])
    assert embedder.embedded == []
    ctx.events.search("item")
    # One by one, so that there are many small segments, which are joined.
    for number in range(100, 140):
        said.append(f"item {number}")
        ctx.events.record("note", said[-1])
        assert said[-1] in texts(ctx.events.search(said[-1], limit=3))
    assert sorted(embedder.embedded) == sorted(said)
    later = MeaningEmbedder()
    with longmind.open(database_url, embedder=later) as again:
        events = context_of(again, session_id="s1").events
        assert len(events.search("item", limit=1000)) == 140
        assert later.embedded == []
        events.record("note", "the automobile of ada")
        assert texts(events.search("car")) == ["the automobile of ada"]
        assert later.embedded == ["the automobile of ada"]


def test_another_embedder_makes_its_own_vectors_and_none_are_mixed(
    database_url: str, ctx: longmind.Context, engine: longmind.Engine
) -> None:
    ctx.events.record_many([{"kind": "note", "text": text} for text in ("a car", "a rollout", "some tea")])
    assert texts(ctx.events.search("automobile")) == ["a car"]
    for other in (MeaningEmbedder(dimension=512), MeaningEmbedder(model="test:other")):
        with longmind.open(database_url, embedder=other) as again:
            assert texts(context_of(again, session_id="s1").events.search("automobile")) == ["a car"]
            assert len(other.embedded) == 3
    assert texts(ctx.events.search("automobile")) == ["a car"]


def test_what_has_no_vector_yet_is_found_by_its_words(
    ctx: longmind.Context, embedder: MeaningEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    ctx.events.record_many([{"kind": "note", "text": f"note {number} on tea"} for number in range(10)])
    assert len(ctx.events.search("tea", mode="semantic")) == 10
    embedder.fails = True
    recorded = ctx.events.record("note", "a zebra drinks tea")
    with caplog.at_level(logging.WARNING, "longmind.events"):
        modes: tuple[SearchMode, ...] = ("semantic", "hybrid", "auto")
        for mode in modes:
            found = ctx.events.search("zebra tea", mode=mode)
            assert found[0] == recorded
            assert len(found) == 11
    assert "no line to the model" in caplog.text
    embedder.fails = False
    assert ctx.events.search("zebra tea")[0] == recorded
    assert embedder.embedded[-1] == "a zebra drinks tea"


def test_a_search_makes_some_vectors_and_a_job_the_rest(
    ctx: longmind.Context, engine: longmind.Engine, embedder: MeaningEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_index, "_PATIENCE_SECONDS", 0.0)
    ctx.events.record("note", "the oldest automobile")
    ctx.events.record_many([{"kind": "note", "text": f"item {number}"} for number in range(200)])
    assert ctx.events.search("car") == []
    made = len(embedder.embedded)
    assert 0 < made < 201
    # The newest have theirs first.
    assert "item 199" in embedder.embedded
    assert engine.work().succeeded == 1
    assert len(embedder.embedded) == 201
    assert texts(ctx.events.search("car")) == ["the oldest automobile"]
    assert len(embedder.embedded) == 201


def test_recording_asks_no_embedder_and_needs_none(ctx: longmind.Context, embedder: MeaningEmbedder) -> None:
    embedder.fails = True
    ctx.events.record("note", "tea")
    ctx.events.record_state("planner", {"mode": "fast"})
    assert embedder.embedded == []
    assert texts(ctx.events.search("tea")) == ["tea"]


def test_after_an_erasure_nothing_of_before_is_kept_in_any_process(
    database_url: str, ctx: longmind.Context, engine: longmind.Engine
) -> None:
    ctx.events.record("note", "a zebra")
    with longmind.open(database_url, embedder=MeaningEmbedder()) as other:
        elsewhere = context_of(other, session_id="s1").events
        assert len(elsewhere.search("zebra")) == len(ctx.events.search("zebra")) == 1
        kept = engine._parts.retriever.indexes.nbytes
        assert kept > 0
        engine._parts.event_retriever.forget(ctx.scope)
        assert engine._parts.retriever.indexes.nbytes == 0
        # As erasure does it: the epoch rises, and with it whatever was read before is void.
        engine._database.write(ctx.scope, erasures.raise_epoch)
        assert len(elsewhere.search("zebra")) == len(ctx.events.search("zebra")) == 1


def test_vectors_that_were_being_made_during_an_erasure_are_not_written(
    ctx: longmind.Context, engine: longmind.Engine, embedder: MeaningEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx.events.record("note", "a zebra")
    embed = embedder.embed_texts

    def embed_while_erased(given: Sequence[str]) -> list[list[float]]:
        monkeypatch.undo()
        engine._database.write(ctx.scope, erasures.raise_epoch)
        return embed(given)

    monkeypatch.setattr(embedder, "embed_texts", embed_while_erased)
    assert len(ctx.events.search("zebra")) == 1
    # It was made again, in the new epoch.
    assert embedder.embedded == ["a zebra", "a zebra"]


def test_the_indexes_of_all_timelines_share_the_memory_they_may_take(database_url: str) -> None:
    limit = 0.5
    with longmind.open(database_url, embedder=MeaningEmbedder(dimension=256), cache_megabytes=limit) as engine:
        most = one = 0
        for session in range(6):
            events = context_of(engine, session_id=f"s{session}").events
            events.record_many([{"kind": "note", "text": f"zebra {number}"} for number in range(400)])
            assert len(events.search("zebra", limit=1000)) == 400
            most = max(most, engine._parts.retriever.indexes.nbytes)
            one = one or most
        assert one > 400 * 256
        assert most <= limit * 1024 * 1024 + one
        assert len(context_of(engine, session_id="s0").events.search("zebra", limit=1000)) == 400


def test_threads_that_search_and_record_at_once_get_right_answers(ctx: longmind.Context) -> None:
    def work(number: int) -> bool:
        recorded = ctx.events.record("note", f"zebra{number} in the savanna")
        found = ctx.events.search(f"zebra{number}", mode="hybrid" if number % 2 else "lexical")
        return recorded.event_id in {event.event_id for event in found}

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(60)))
    assert len(ctx.events.search("savanna", limit=100)) == 60


def test_a_commit_that_comes_late_is_found_behind_one_that_came_first(postgres_url: str) -> None:
    """On PostgreSQL a transaction may take its place in the ledger first and commit last."""
    took_its_place, may_commit = threading.Event(), threading.Event()

    def hold(run: Transaction) -> None:
        ledger.record(
            run,
            context.scope,
            event_id="evt_late",
            kind="chat.turn",
            at=1,
            timeline_id=context.events.timeline(),
            stage="user",
            content='[{"type":"text","text":"a late zebra"}]',
        )
        run.one("scope_epoch")
        took_its_place.set()
        assert may_commit.wait(60)

    with longmind.open(postgres_url, embedder=None) as engine, ThreadPoolExecutor(1) as thread:
        context = context_of(engine, session_id="s1")
        late = thread.submit(engine._database.write, context.scope, hold)
        assert took_its_place.wait(60)
        context.events.record("note", "an early zebra")
        try:
            assert texts(context.events.search("zebra")) == ["an early zebra"]
            assert texts(context.events.search("zebra")) == ["an early zebra"]
        finally:
            may_commit.set()
        late.result(60)
        assert sorted(str(text) for text in texts(context.events.search("zebra"))) == ["a late zebra", "an early zebra"]
        assert len(context.events.search("zebra")) == 2
