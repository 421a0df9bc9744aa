"""Messages are found by words at once and by meaning after a job, and what is forgotten leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import longmind
from longmind.language.words import terms_of
from longmind.models.content import extract_text
from longmind.recall.index.passage_entries import PassageEntries
from longmind.recall.passage_indexes import PassageIndexes
from longmind.store.database import Transaction
from longmind.store.tables import passage_segments
from longmind.store.tables import passages as rows
from tests.passages.pieces import CountingEmbedder, pieces_of_index

FACT = {"category": {"name": "notes", "kind": "FACT"}}


def find(passages: PassageIndexes, context: longmind.Context, words: str) -> list[str]:
    """Return the pieces that hold all of some words."""
    with passages.open(context.scope) as index:
        held = np.logical_and.reduce([index.word_scores([term]) > 0 for term in terms_of(words)])
        places = index.describe((held & index.present.values).nonzero()[0])
    return [quote.text for quote in passages.read_quotes(context.scope, places)]


def job_states(context: longmind.Context) -> list[str]:
    return [job.status for job in context.jobs.list_jobs() if job.kind.startswith("passages.embed.")]


def segments(engine: longmind.Engine, context: longmind.Context) -> list[tuple[str, PassageEntries, bytes]]:
    def read(run: Transaction) -> list[tuple[str, PassageEntries, bytes]]:
        bodies = [(span[0], passage_segments.read_body(run, *span[:3])) for span in passage_segments.read_spans(run)]
        return [(model, PassageEntries.decode(body), body) for model, body in bodies if body is not None]

    return engine._database.read(context.scope, read)


def test_a_message_is_found_by_its_words_in_the_next_call(
    ctx: longmind.Context, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    for number in range(5):
        said = f"zebra number {number}"
        ctx.conversations.append_user_message(conversation.id, said)
        assert find(passages, ctx, said) == [said]
    assert embedder.given == []


def test_one_job_makes_the_vectors_of_all_new_messages(
    ctx: longmind.Context,
    engine: longmind.Engine,
    space_id: str,
    passages: PassageIndexes,
    embedder: CountingEmbedder,
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    said = [f"item {number}" for number in range(100)]
    for text in said:
        ctx.conversations.append_user_message(conversation.id, text)
    assert job_states(ctx) == ["queued"]
    engine.work()
    assert sorted(embedder.given) == sorted(said)
    with passages.open(ctx.scope) as index:
        assert not index.lacks_vectors
    ctx.conversations.append_user_message(conversation.id, "one more")
    assert job_states(ctx) == ["queued"]
    engine.work()
    assert embedder.given[100:] == ["one more"]


def test_messages_that_no_binding_covers_are_neither_indexed_nor_embedded(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    conversation = ctx.conversations.create_conversation("diary")
    ctx.conversations.append_user_message(conversation.id, "a secret zebra")
    assert job_states(ctx) == []
    assert find(passages, ctx, "zebra") == []
    made = ctx.memory.create_binding({"user_id": "ada", "namespace": "*"}, [space_id])
    assert find(passages, ctx, "zebra") == ["a secret zebra"]
    with passages.open(ctx.scope) as index:
        passages.request_vectors(ctx.scope, index, 1)
    engine.work()
    assert embedder.given == ["a secret zebra"]
    ctx.memory.delete_binding(made.id)
    with passages.open(ctx.scope) as index:
        assert not index.mask_namespaces(passages.find_namespaces(ctx.scope, index, space_id)).any()


def test_another_engine_finds_words_and_vectors_without_reading_texts(
    database_url: str, ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    for number in range(300):
        ctx.conversations.append_user_message(conversation.id, f"Anna: item {number}")
    engine.work()
    later = CountingEmbedder()
    with longmind.open(database_url, embedder=later) as again:
        context = again.context(tenant_id="acme", app_id="support", user_id="ada")
        assert pieces_of_index(again._parts.passages, context.scope) == pieces_of_index(passages, ctx.scope)
        with again._parts.passages.open(context.scope) as index:
            assert not index.lacks_vectors
            assert index.unstored == 0
        assert again.work().succeeded == 0
        assert later.given == []


def test_vectors_of_two_embedders_are_never_mixed(
    database_url: str, ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "some tea")
    engine.work()
    other = CountingEmbedder(dimension=16)
    with longmind.open(database_url, embedder=other) as again:
        context = again.context(tenant_id="acme", app_id="support", user_id="ada")
        with again._parts.passages.open(context.scope) as index:
            assert index.similarity(np.ones(16, np.float32)) is None
            assert index.lacks_vectors
        assert again.reindex() == 1
        with again._parts.passages.open(context.scope) as index:
            assert not index.lacks_vectors
        assert {model for model, _, _ in segments(again, context)} == {"test:words@16"}
    with passages.open(ctx.scope) as index:
        assert not index.lacks_vectors


def test_a_forgotten_message_leaves_no_byte_in_any_segment(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    said = [ctx.conversations.append_user_message(conversation.id, f"Anna: item {n} zebra{n}") for n in range(20)]
    secret = ctx.conversations.append_user_message(conversation.id, "Bertold: my secret is xylophone")
    engine.work()
    entries = PassageEntries.from_texts([1], ["Bertold: my secret is xylophone"])
    terms = [int(term).to_bytes(4, "little") for term in terms_of("xylophone secret Bertold")]
    (before,) = [body for _, _, body in segments(engine, ctx)]
    assert all(term in before for term in terms)
    assert b"Bertold" in before
    atom = ctx.memory.add_atom(space_id, {"text": "Her secret.", **FACT, "source_message_ids": [secret.id]})
    ctx.memory.delete_atom(atom.id)
    ((_, kept, body),) = segments(engine, ctx)
    assert not any(term in body for term in terms)
    assert b"Bertold" not in body
    assert kept.pieces == len(said)
    assert kept.messages == len(said) + 1
    assert entries.pieces == 1
    assert find(passages, ctx, "xylophone") == []
    # The ledger has it until the user is erased; nothing makes a passage of it again.
    assert extract_text(ctx.conversations.get_messages(conversation.id)[-1].content).endswith("xylophone")
    engine._parts.indexes.forget(ctx.scope)
    assert find(passages, ctx, "xylophone") == []
    assert passages.embed(ctx.scope) == (0, True)


def test_a_rejected_fact_is_forgotten_too_and_an_archived_one_is_not(
    ctx: longmind.Context, space_id: str, passages: PassageIndexes
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    kept, gone = (ctx.conversations.append_user_message(conversation.id, text) for text in ("a zebra", "a lion"))
    for message, rejected in ((kept, False), (gone, True)):
        atom = ctx.memory.add_atom(space_id, {"text": "An animal.", **FACT, "source_message_ids": [message.id]})
        ctx.memory.archive_atom(atom.id, rejected=rejected)
    assert find(passages, ctx, "zebra") == ["a zebra"]
    assert find(passages, ctx, "lion") == []


def test_a_message_that_is_forgotten_while_its_vector_is_made_is_not_stored(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    message = ctx.conversations.append_user_message(conversation.id, "xylophone")
    atom = ctx.memory.add_atom(space_id, {"text": "Music.", **FACT, "source_message_ids": [message.id]})
    original = embedder.embed_texts

    def forget_first(texts: Sequence[str]) -> Any:
        ctx.memory.delete_atom(atom.id)
        return original(texts)

    embedder.embed_texts = forget_first  # type: ignore[method-assign]  # acts in the middle of the job
    engine.work()
    assert [entries.pieces for _, entries, _ in segments(engine, ctx)] == [0]
    assert find(passages, ctx, "xylophone") == []


def test_a_message_that_comes_while_the_job_ends_is_not_missed(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "the first")
    embed = passages.embed

    def append_afterwards(scope: Any) -> Any:
        made = embed(scope)
        if len(embedder.given) == 1:
            ctx.conversations.append_user_message(conversation.id, "the second")
            ctx.conversations.append_user_message(conversation.id, "the third")
        return made

    passages.embed = append_afterwards  # type: ignore[method-assign]  # acts just before the job ends
    engine.work()
    assert embedder.given[0] == "the first"
    assert sorted(embedder.given[1:]) == ["the second", "the third"]
    assert job_states(ctx) == ["succeeded"]


@pytest.mark.patient
def test_nothing_is_missed_with_writers_and_workers_at_once(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes, embedder: CountingEmbedder
) -> None:
    engine.start_workers(2)

    def talk(who: int) -> None:
        conversation = ctx.conversations.create_conversation("chat")
        for number in range(40):
            ctx.conversations.append_user_message(conversation.id, f"speaker{who} says item{number}")
            assert find(passages, ctx, f"speaker{who} item{number}")

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.stop_workers()
    engine.work()
    assert len(set(embedder.given)) == 120
    with passages.open(ctx.scope) as index:
        assert not index.lacks_vectors
        assert np.count_nonzero(index.present.values) == 120


def test_an_erasure_leaves_nothing(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    message = ctx.conversations.append_user_message(conversation.id, "xylophone")
    engine.work()
    atom = ctx.memory.add_atom(space_id, {"text": "Music.", **FACT, "source_message_ids": [message.id]})
    ctx.memory.delete_atom(atom.id)
    admin = engine.context(tenant_id="acme", app_id="support", user_id="ada", capabilities={"admin"})
    deleted = admin.admin.delete_user_data(confirm=True)["deleted"]
    assert deleted["passage_segments"] == 1
    assert deleted["unquotable_messages"] == 1
    assert segments(engine, ctx) == []
    assert find(passages, ctx, "xylophone") == []
    assert engine._database.read(ctx.scope, rows.list_unquotable_positions) == []


def test_nothing_is_read_where_nothing_has_changed(
    ctx: longmind.Context, engine: longmind.Engine, space_id: str, passages: PassageIndexes
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "a zebra")
    with engine._parts.retriever.space(ctx.scope, space_id) as space:
        seen = space.passages
    assert seen is not None
    with passages.open(ctx.scope, seen=seen) as index:
        assert index.is_current(seen)
    read = engine._database.read

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the database was read")

    engine._database.read = refuse  # type: ignore[method-assign]  # nothing may be read
    try:
        with passages.open(ctx.scope, seen=seen) as index:
            assert index.atoms == 1
    finally:
        engine._database.read = read  # type: ignore[method-assign]


def test_the_lag_is_measured(ctx: longmind.Context, engine: longmind.Engine, space_id: str) -> None:
    assert engine.measures().passage_lag.users == 0
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "a zebra")
    assert engine.measures().passage_lag.waiting_seconds > 0
    engine.work()
    lag = engine.measures().passage_lag
    assert (lag.users, lag.waiting_seconds) == (1, 0)
    assert 0 < lag.median_seconds == lag.longest_seconds < 60
