"""The extraction pipeline: messages are read once, and the atoms are written once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

import longmind
from longmind.clock import system_clock
from longmind.extraction.candidate import Extracted, SourceMessage
from longmind.store.tables import erasures
from tests.embedder import WordsEmbedder
from tests.extraction.conftest import current_texts, talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor

MINE: dict[str, Any] = {"namespace": "chat", "userId": "ada"}


@pytest.fixture(autouse=True)
def binding(ctx: longmind.Context, space: longmind.MemorySpace) -> longmind.Binding:
    return ctx.memory.create_binding(MINE, [space.id])


def find_newest_job(ctx: longmind.Context) -> longmind.Job:
    return ctx.jobs.list_jobs(kind="memory.extract", limit=1)[0]


@pytest.mark.conforms("A3.6", "A4.8", "A5.14")
def test_an_atom_cites_its_message_and_says_why_it_is_there(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "I met Anna.")
    (message, _) = ctx.conversations.get_messages(conversation.id)
    engine.work()
    (atom,) = ctx.memory.list_atoms(space.id)
    assert (atom.text, atom.category, atom.origin, atom.trust) == (
        "I met Anna.",
        longmind.Category(name="said", kind="FACT"),
        "extraction",
        "user",
    )
    assert (atom.source_conversation_id, atom.source_message_ids) == (conversation.id, [message.id])
    assert (atom.valid_from, atom.valid_to) == (message.created_at, None)
    assert (atom.decision, atom.precision, atom.extraction_version) == ("add", "instant", "v1")
    assert atom.because
    anna = ctx.memory.find_entity_by_name(space.id, "PERSON", "anna")
    assert anna is not None
    assert atom.entity_ids == [anna.id]
    hit = ctx.memory.recall_by_topic(space.id, "Whom have I met?").hits[0]
    assert hit.atom == atom
    assert [each.atom.id for each in ctx.memory.recall_by_entity(space.id, "Anna").hits] == [atom.id]


def test_the_result_of_a_job_has_numbers_and_ids_and_no_texts(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "My home is Oslo. I like tea.")
    engine.work()
    first = find_newest_job(ctx).result
    home, tea = (atom.id for atom in reversed(ctx.memory.list_atoms(space.id)))
    assert first["counts"] == {"added": 2, "reinforced": 0, "superseded": 0, "skipped": 0}
    assert first["added"] == [home, tea]
    assert first["messages"] == 1
    assert first["cost"] == {"inputTokens": 1, "outputTokens": 2, "dollars": None}
    talk(ctx, "My home is Bergen. I like tea.")
    engine.work()
    second = find_newest_job(ctx).result
    bergen = ctx.memory.list_atoms(space.id)[0]
    assert second["counts"] == {"added": 0, "reinforced": 1, "superseded": 1, "skipped": 0}
    assert second["reinforced"] == [tea]
    assert second["superseded"] == [{"atomId": home, "supersededBy": bergen.id}]
    for word in ("Oslo", "Bergen", "tea"):
        assert word not in str(first) + str(second)


def test_a_repeated_fact_is_reinforced(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append, kinds=["atom.reinforced"])
    talk(ctx, "I like tea.")
    engine.work()
    (before,) = ctx.memory.list_atoms(space.id)
    again = talk(ctx, "I like tea.")
    engine.work()
    (after,) = ctx.memory.list_atoms(space.id)
    message = ctx.conversations.get_messages(again.id)[0]
    assert after.id == before.id
    assert after.source_message_ids == [*before.source_message_ids, message.id]
    assert after.confidence > before.confidence
    assert after.confidence <= 1.0
    assert after.last_confirmed_at == message.created_at
    assert [change.data["atomId"] for change in told] == [before.id]


def test_a_changed_fact_supersedes_the_old_one_also_within_one_conversation(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "My home is Oslo.", "My home is Bergen.")
    engine.work()
    bergen, oslo = ctx.memory.list_atoms(space.id)
    assert (oslo.superseded_by, bergen.supersedes) == (bergen.id, oslo.id)
    assert (oslo.valid_to, bergen.valid_to) == (bergen.valid_from, None)
    assert bergen.decision == "supersede"
    assert [hit.atom.id for hit in ctx.memory.recall_by_topic(space.id, "home").hits] == [bergen.id]


@pytest.mark.conforms("T2", "A1.16")
def test_only_the_latest_answer_to_a_turn_is_read_and_nothing_that_is_hidden(
    engine: longmind.Engine, ctx: longmind.Context, extractor: SentenceExtractor
) -> None:
    chat = ctx.conversations
    conversation = chat.create_conversation("chat")
    chat.append_system_message(conversation.id, "Be kind.")
    for answer in ("First answer.", "Second answer."):
        chat.append_turn(conversation.id, user_content="Hello.", assistant={"content": answer}, idempotency_key="hello")
    chat.append_user_message(conversation.id, "A secret.", visibility="hidden")
    chat.append_user_message(conversation.id, "For the model.", visibility="internal")
    chat.append_assistant_turn(conversation.id, [{"type": "tool_use", "id": "t", "name": "look", "arguments": {}}])
    chat.append_tool_result(conversation.id, "t", [{"type": "text", "text": "A result."}])
    chat.close_conversation(conversation.id)
    engine.work()
    (messages, _) = extractor.asked[0]
    assert [(message.role, message.text) for message in messages] == [
        ("user", "Hello."),
        ("assistant", "Second answer."),
        ("user", "For the model."),
        ("tool", "A result."),
    ]


@pytest.mark.conforms("A5.14", "A5.15")
def test_a_failing_extractor_harms_no_close_and_its_job_is_retried_then_dead_then_retried_by_hand(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    failing = True
    extract = extractor.extract

    def sometimes(messages: Sequence[SourceMessage], version: str) -> Extracted:
        if failing:
            raise RuntimeError("the model is on strike")
        return extract(messages, version)

    extractor.extract = sometimes  # type: ignore[method-assign]
    assert talk(ctx, "I like tea.").status == "closed"
    report = longmind.WorkReport()
    while not report.dead:
        report = report + engine.work()
    assert report == longmind.WorkReport(failed=engine.settings.job_attempts - 1, dead=1)
    job = find_newest_job(ctx)
    assert (job.status, job.attempts) == ("dead", engine.settings.job_attempts)
    assert job.error == "RuntimeError: the model is on strike"
    failing = False
    assert ctx.jobs.retry_job(job.id).status == "queued"
    assert engine.work().succeeded == 1
    assert texts(ctx, space.id) == ["I like tea."]


@pytest.mark.conforms("A5.9")
def test_a_replay_by_hand_makes_a_fresh_job_and_changes_nothing_that_is_known(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "My home is Oslo. I like tea.", "My home is Bergen.")
    engine.work()
    before = ctx.memory.list_atoms(space.id, status=None)
    for _ in range(2):
        (job,) = ctx.memory.run_extraction_for_conversation(conversation.id)
        assert isinstance(job, longmind.Job)
        assert (job.status, job.unique_key) == ("queued", None)
        assert engine.work().succeeded == 1
        assert find_newest_job(ctx).result["counts"] == {"added": 0, "reinforced": 0, "superseded": 0, "skipped": 3}
    assert ctx.memory.list_atoms(space.id, status=None) == before


@pytest.mark.conforms("A5.9")
def test_a_replay_of_an_open_conversation_moves_the_watermark(
    engine: longmind.Engine, ctx: longmind.Context, extractor: SentenceExtractor, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "I like tea.", close=False)
    ctx.memory.run_extraction_for_conversation(conversation.id)
    engine.work()
    ctx.conversations.append_turn(conversation.id, user_content="I like rain.", assistant={"content": ""})
    ctx.conversations.close_conversation(conversation.id)
    engine.work()
    assert extractor.read == [["I like tea."], ["I like rain."]]
    assert texts(ctx, space.id) == ["I like tea.", "I like rain."]


@pytest.mark.conforms("A5.9")
def test_a_replay_needs_a_conversation_and_a_binding_that_matches_it(ctx: longmind.Context) -> None:
    unbound = talk(ctx, "I like tea.", namespace="mail")
    for dry_run in (False, True):
        with pytest.raises(longmind.Conflict, match="No enabled binding matches"):
            ctx.memory.run_extraction_for_conversation(unbound.id, dry_run=dry_run)
        with pytest.raises(longmind.NotFound):
            ctx.memory.run_extraction_for_conversation("conv_none", dry_run=dry_run)
    with pytest.raises(longmind.InvalidInput):
        ctx.memory.run_extraction_for_conversation(unbound.id, extraction_version="")


@pytest.mark.conforms("A5.9", "A5.15")
def test_a_replay_with_another_version_supersedes_what_the_earlier_one_has_made(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    other = talk(ctx, "I like rain.")
    conversation = talk(ctx, "My home is Oslo.", "My home is Bergen. My pet is a cat.")
    engine.work()
    earlier = {atom.text: atom for atom in ctx.memory.list_atoms(space.id)}
    (job,) = ctx.memory.run_extraction_for_conversation(conversation.id, extraction_version="v2")
    assert isinstance(job, longmind.Job)
    assert job.payload["extractionVersion"] == "v2"
    engine.work()
    now = {atom.text: atom for atom in ctx.memory.list_atoms(space.id)}
    assert current_texts(ctx, space.id) == ["I like rain.", "(v2) My home is Bergen.", "(v2) My pet is a cat."]
    assert now["(v2) My home is Bergen."].extraction_version == "v2"
    for text in ("My home is Bergen.", "My pet is a cat."):
        assert now[text].superseded_by == now[f"(v2) {text}"].id
    assert now["I like rain."] == earlier["I like rain."]
    assert now["I like rain."].source_conversation_id == other.id
    after = ctx.memory.list_atoms(space.id, status=None)
    ctx.memory.run_extraction_for_conversation(conversation.id, extraction_version="v2")
    engine.work()
    assert ctx.memory.list_atoms(space.id, status=None) == after


@pytest.mark.conforms("A5.15")
def test_a_new_version_archives_what_it_no_longer_finds_unless_another_conversation_confirmed_it(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    conversation = talk(ctx, "I like tea. I like rain.")
    talk(ctx, "I like rain.")
    engine.work()
    extractor.extract = lambda messages, version: Extracted([])  # type: ignore[method-assign]
    ctx.memory.run_extraction_for_conversation(conversation.id, extraction_version="v2")
    engine.work()
    assert texts(ctx, space.id) == ["I like rain."]
    assert texts(ctx, space.id, status="ARCHIVED") == ["I like tea."]


@pytest.mark.conforms("A5.9")
def test_a_dry_run_reports_the_changes_and_writes_nothing(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, binding: longmind.Binding
) -> None:
    talk(ctx, "My home is Oslo. I like tea.")
    engine.work()
    home, tea = (atom.id for atom in reversed(ctx.memory.list_atoms(space.id)))
    conversation = talk(ctx, "My home is Bergen. I like tea. I like rain.", close=False)
    before = (ctx.memory.list_atoms(space.id, status=None), ctx.jobs.list_jobs(), engine.last_cursor())
    (preview,) = ctx.memory.run_extraction_for_conversation(conversation.id, dry_run=True)
    assert isinstance(preview, longmind.ExtractionPreview)
    assert (preview.binding_id, preview.memory_space_id, preview.extraction_version) == (binding.id, space.id, "v1")
    assert [each.text for each in preview.added] == ["I like rain."]
    assert [(each.text, each.atom_id) for each in preview.reinforced] == [("I like tea.", tea)]
    assert [(each.text, each.atom_id) for each in preview.superseded] == [("My home is Bergen.", home)]
    assert preview.skipped == []
    assert all(each.because for each in (*preview.added, *preview.reinforced, *preview.superseded))
    assert (ctx.memory.list_atoms(space.id, status=None), ctx.jobs.list_jobs(), engine.last_cursor()) == before


def test_a_dry_run_for_a_space_that_is_not_there_yet_does_not_make_it(
    engine: longmind.Engine, admin: longmind.Context
) -> None:
    admin.memory.create_binding({"namespace": "mail", "userId": "*"}, [admin.memory.create_memory_space("mail").id])
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    conversation = talk(bob, "I like tea.", namespace="mail", close=False)
    (preview,) = bob.memory.run_extraction_for_conversation(conversation.id, dry_run=True)
    assert isinstance(preview, longmind.ExtractionPreview)
    assert (preview.memory_space_id, [each.text for each in preview.added]) == (None, ["I like tea."])
    assert bob.memory.list_memory_spaces() == []


@pytest.mark.conforms("T9")
def test_an_extraction_that_began_before_an_erasure_writes_nothing_after_it(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    extract = extractor.extract

    def erase_meanwhile(messages: Sequence[SourceMessage], version: str) -> Extracted:
        engine._database.write(ctx.scope, erasures.raise_epoch)
        return extract(messages, version)

    extractor.extract = erase_meanwhile  # type: ignore[method-assign]
    talk(ctx, "I like tea.")
    assert engine.work() == longmind.WorkReport(lost=1)
    assert texts(ctx, space.id) == []
    assert engine.work() == longmind.WorkReport()


class MeddlingClock:
    """A clock that, once armed, writes to a space whenever it is read."""

    def __init__(self) -> None:
        self.meddle: Callable[[], object] | None = None

    def __call__(self) -> int:
        meddle, self.meddle = self.meddle, None
        if meddle is not None:
            meddle()
            self.meddle = meddle
        return system_clock()


def test_a_space_that_keeps_changing_is_planned_in_the_transaction_at_last_with_one_call_of_the_extractor(
    database_url: str,
) -> None:
    clock, extractor = MeddlingClock(), SentenceExtractor()
    with longmind.open(database_url, extractor=extractor, embedder="none", clock=clock) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="eve")
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding({"namespace": "chat", "userId": "eve"}, [space.id])
        talk(ctx, "I like tea. I like rain.")
        notes = {"category": {"name": "notes", "kind": "FACT"}}
        numbers = count()

        def add() -> None:
            number = next(numbers)
            ctx.memory.add_atom(space.id, {"text": "I like tea." if number == 2 else f"Note {number}.", **notes})

        clock.meddle = add
        assert engine.work().succeeded == 1
        clock.meddle = None
        (job,) = ctx.jobs.list_jobs(kind="memory.extract")
        assert (job.attempts, job.result["counts"]["added"], job.result["counts"]["reinforced"]) == (1, 1, 1)
        assert texts(ctx, space.id).count("I like tea.") == 1
        assert extractor.read == [["I like tea. I like rain."]]
        assert next(numbers) > 4


def test_the_same_conversation_in_two_namespaces_of_one_space_from_two_workers_at_once_is_as_if_fed_once(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    ctx.memory.create_binding({"namespace": "mail", "userId": "ada"}, [space.id])
    said = ["My home is Oslo. I like tea.", "I met Anna. My pet is a cat."]
    for namespace in ("chat", "mail"):
        conversation = ctx.conversations.create_conversation(namespace)
        for number, text in enumerate(said):
            at = f"2026-03-01T09:3{number}:00Z"
            ctx.conversations.append_turn(conversation.id, user_content=text, assistant={"content": ""}, created_at=at)
        ctx.conversations.close_conversation(conversation.id)
    gate = threading.Barrier(2)
    extract = extractor.extract

    def together(messages: Sequence[SourceMessage], version: str) -> Extracted:
        # Both have looked at the space before either writes.
        if len(extractor.asked) < 2:
            gate.wait(60)
        return extract(messages, version)

    extractor.extract = together  # type: ignore[method-assign]
    reports: list[longmind.WorkReport] = []
    workers = [threading.Thread(target=lambda: reports.append(engine.work(limit=1))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [report.succeeded for report in reports] == [1, 1]
    assert sorted(texts(ctx, space.id)) == ["I like tea.", "I met Anna.", "My home is Oslo.", "My pet is a cat."]
    assert all(len(atom.source_message_ids) == 2 for atom in ctx.memory.list_atoms(space.id))
    assert len(ctx.memory.search_entities(space.id, "")) == 2


def test_the_close_of_one_conversation_by_many_queues_one_job(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "I like tea.", close=False)
    closers = [threading.Thread(target=ctx.conversations.close_conversation, args=(conversation.id,)) for _ in range(8)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()
    assert len(ctx.jobs.list_jobs()) == 1


def test_extracted_and_added_atoms_have_the_same_index_entries(database_url: str) -> None:
    with longmind.open(database_url, extractor=SentenceExtractor(), embedder=WordsEmbedder()) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="eve")
        space = context.memory.create_memory_space("daily")
        context.memory.create_binding({"namespace": "chat", "userId": "eve"}, [space.id])
        talk(context, "I like tea. My home is Oslo.", "I like tea. I play chess.")
        talk(context, "I play chess. I sail.")
        engine.work()
        assert texts(context, space.id) == ["I like tea.", "My home is Oslo.", "I play chess.", "I sail."]
        for query in ("tea", "Oslo", "chess", "sail"):
            hit = context.memory.recall_by_topic(space.id, query, explain=True).hits[0]
            assert query in hit.atom.text
            assert hit.explanation is not None
            assert hit.explanation.dense is not None
        assert engine.reindex() == 0
