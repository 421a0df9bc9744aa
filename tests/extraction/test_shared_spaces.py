"""A shared space that is bound for everybody: each user writes to it, and none changes what another said."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.extraction.pipeline import PreparedExtraction
from tests.extraction.conftest import current_texts, talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor
from tests.extraction.test_bindings import EVERYBODY, read_spaces, user
from tests.memory.facts import at_once

SAID = ["I like tea.", "The rain is wet.", "My cat sleeps.", "Books are heavy.", "Trams are red."]


@pytest.fixture
def insights(admin: longmind.Context) -> longmind.MemorySpace:
    """A shared space of the administrator, bound to the conversations of all users."""
    space = admin.memory.create_memory_space("insights", kind="shared")
    admin.memory.create_binding(EVERYBODY, [space.id])
    return space


@pytest.mark.conforms("A5.7", "T5")
def test_extraction_for_everybody_into_a_shared_space_writes_to_that_space(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    ada, bob = user(engine, "ada"), user(engine, "bob")
    said = {each.scope.user_id: talk(each, f"I am {each.scope.user_id}.") for each in (ada, bob, admin)}
    stranger = user(engine, "ada", tenant_id="other")
    talk(stranger, "I am somebody else.")
    assert engine.work().succeeded == 3
    assert sorted(texts(admin, insights.id)) == ["I am ada.", "I am bob.", "I am root."]
    assert read_spaces(ada) == read_spaces(bob) == read_spaces(stranger) == {}
    # Each leads back to who said it, and belongs to whose space it is.
    for atom in admin.memory.list_atoms(insights.id):
        name = atom.text.removeprefix("I am ").removesuffix(".")
        assert (atom.user_id, atom.source_conversation_id) == ("root", said[name].id)
        assert user(engine, name).conversations.get_messages(said[name].id)[0].id in atom.source_message_ids
    # To be heard is not to read: that takes a grant.
    assert ada.memory.get_memory_space(insights.id) is None
    admin.memory.grant_space(insights.id, "*")
    assert "I am bob." in [hit.atom.text for hit in ada.memory.recall_by_topic(insights.id, "bob").hits]


@pytest.mark.conforms("T5")
def test_only_an_admin_who_owns_a_shared_space_binds_others_to_it(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    eve = user(engine, "eve")
    own = eve.memory.create_memory_space("trap", kind="shared")
    with pytest.raises(longmind.Forbidden):
        eve.memory.create_binding(EVERYBODY, [own.id])
    admin.memory.grant_space(insights.id, "*")
    with pytest.raises(longmind.NotFound):
        eve.memory.create_binding({"namespace": "chat", "userId": "eve"}, [insights.id])
    # A shared space stands for itself, so that it needs no name.
    unnamed = admin.memory.create_memory_space(kind="shared")
    assert admin.memory.create_binding(EVERYBODY, [unnamed.id]).memory_space_ids == [unnamed.id]


@pytest.mark.conforms("T5")
def test_a_private_space_of_the_same_name_is_left_alone(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    ada = user(engine, "ada")
    own, roots = (each.memory.create_memory_space("insights") for each in (ada, admin))
    talk(ada, "I like tea.")
    engine.work()
    assert (texts(ada, own.id), texts(admin, roots.id), texts(admin, insights.id)) == ([], [], ["I like tea."])


@pytest.mark.conforms("T5")
def test_a_user_neither_confirms_nor_replaces_facts_of_another_user(database_url: str) -> None:
    # With the extractor of rules, which knows that one lives in one place at a time.
    with longmind.open(database_url, embedder="none") as engine:
        admin = user(engine, "root", capabilities={"admin"})
        space = admin.memory.create_memory_space("insights", kind="shared")
        admin.memory.create_binding(EVERYBODY, [space.id])
        for name, said in [("ada", "I live in Graz."), ("bob", "I live in Linz."), ("root", "I live in Wels.")]:
            talk(user(engine, name), said)
            engine.work()
        assert len(current_texts(admin, space.id)) == 3
        talk(user(engine, "ada"), "I moved to Vienna. I live in Vienna now.")
        engine.work()
        left = " ".join(current_texts(admin, space.id))
        assert ["Graz" in left, "Vienna" in left, "Linz" in left, "Wels" in left] == [False, True, True, True]


@pytest.mark.conforms("T5", "T6")
def test_the_result_of_a_job_does_not_reveal_the_content_of_a_shared_space(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    ada = user(engine, "ada")
    conversation = talk(ada, "I like tea.")
    engine.work()
    (job,) = ada.jobs.list_jobs()
    assert job.status == "succeeded"
    assert set(job.result) == {"messages", "cost"}
    assert not [atom.id for atom in admin.memory.list_atoms(insights.id) if atom.id in repr(job)]
    (preview,) = ada.memory.run_extraction_for_conversation(conversation.id, dry_run=True)
    assert isinstance(preview, longmind.ExtractionPreview)
    assert [each.text for each in preview.added] == ["I like tea."]
    assert (preview.reinforced, preview.superseded, preview.skipped) == ([], [], [])
    assert texts(admin, insights.id) == ["I like tea."]


@pytest.mark.conforms("T4", "T5")
def test_nothing_is_extracted_twice_into_a_shared_space(
    engine: longmind.Engine, admin: longmind.Context, extractor: SentenceExtractor
) -> None:
    space = admin.memory.create_memory_space("insights", kind="shared")
    admin.memory.create_binding(EVERYBODY, [space.id], {"windowed": True, "windowTurns": 2})
    ada = user(engine, "ada")
    conversation = ada.conversations.create_conversation("chat")
    for said in SAID:
        ada.conversations.append_turn(conversation.id, user_content=said, assistant={"content": ""})
    ada.conversations.close_conversation(conversation.id)
    engine.work()
    assert extractor.read == [SAID[:2], SAID[2:4], SAID[4:]]
    # By hand all is read again, and nothing is learned again; with another version it is told anew.
    for version, left in (("v1", SAID), ("v2", [f"(v2) {said}" for said in SAID])):
        ada.memory.run_extraction_for_conversation(conversation.id, extraction_version=version)
        assert engine.work().succeeded == 1
        assert current_texts(admin, space.id) == left


@pytest.mark.conforms("T5")
def test_a_forged_job_writes_into_no_shared_space(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    (binding,) = admin.memory.list_bindings()
    eve = user(engine, "eve")
    uncovered = talk(eve, "I am in.", namespace="elsewhere")
    private = admin.memory.create_memory_space("private")
    for space_id, conversation_id in (
        (insights.id, uncovered.id),
        (insights.id, "conv_none"),
        (private.id, uncovered.id),
    ):
        payload: dict[str, Any] = {
            "bindingId": binding.id,
            "memorySpaceId": space_id,
            "memorySpaceName": "private",
            "conversationId": conversation_id,
            "trigger": "closed",
            "extractionVersion": "v1",
            "untilSequence": 2,
        }
        eve.jobs.enqueue("memory.extract", payload)
    assert engine.work().succeeded == 3
    assert {repr(job.result) for job in eve.jobs.list_jobs()} == {repr(eve.jobs.list_jobs()[0].result)}
    assert "skipped" in eve.jobs.list_jobs()[0].result
    assert (texts(admin, insights.id), texts(admin, private.id), read_spaces(eve)) == ([], [], {})


def test_a_shared_space_that_was_deleted_is_written_to_no_more(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    ada = user(engine, "ada")
    talk(ada, "I like tea.")
    admin.memory.delete_memory_space(insights.id)
    talk(ada, "I like rain.")
    assert engine.work().succeeded == 1
    assert "deleted" in ada.jobs.list_jobs()[0].result["skipped"]
    assert (extractor.asked, read_spaces(ada), read_spaces(admin)) == ([], {}, {})


@pytest.mark.conforms("T4", "T5")
def test_a_job_that_dies_after_it_has_written_into_a_shared_space_does_not_do_so_again(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    ada = user(engine, "ada")
    talk(ada, "I like tea.")
    (job,) = ada.jobs.list_jobs()
    # What the worker does first; its process ends before it can say that the job is done.
    pipeline = engine._parts.pipeline
    prepared = pipeline.prepare(ada.scope, job.payload)
    assert isinstance(prepared, PreparedExtraction)
    pipeline.plan_write(prepared)
    (atom,) = admin.memory.list_atoms(insights.id)
    assert engine.work().succeeded == 1
    assert admin.memory.list_atoms(insights.id) == [atom]
    assert len(extractor.asked) == 1


@pytest.mark.conforms("T5")
def test_many_users_write_to_a_shared_space_at_once(
    engine: longmind.Engine, admin: longmind.Context, insights: longmind.MemorySpace
) -> None:
    names = [f"user-{number}" for number in range(12)]
    for name in names:
        talk(user(engine, name), f"I am {name}.")
    reports = at_once(4, lambda _: engine.work())
    assert sum(report.succeeded for report in reports) == len(names)
    assert sorted(texts(admin, insights.id)) == sorted(f"I am {name}." for name in names)
