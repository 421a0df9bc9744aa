"""Memory in three lines: add, search, context, and all that can be done with what is known."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.providers.testing import ScriptedModel
from tests.clock import SettableClock


def texts(items: Any) -> list[str]:
    return [item.text for item in items]


def test_three_lines_are_enough(memory: longmind.Memory) -> None:
    added = memory.add("I live in Vienna. I'm allergic to peanuts.")
    assert texts(added) == texts(added.learned) == ["User lives in Vienna.", "User is allergic to peanuts."]
    found = memory.search("peanuts")
    assert (found[0].text, found[0].kind) == ("User is allergic to peanuts.", "fact")
    assert 0 < found[0].score <= 1
    assert "User is allergic to peanuts." in memory.context("peanuts for dinner?", tokens=800)


def test_what_was_learned_cites_the_words_it_rests_on(memory: longmind.Memory) -> None:
    added = memory.add(
        [
            {"role": "user", "content": "I live in Vienna."},
            {"role": "assistant", "content": "How nice!"},
            {"role": "user", "content": "My sister Anna lives in Oslo."},
        ]
    )
    first, second = added.learned
    assert [str(each) for each in first.source] == ['user: "I live in Vienna."']
    assert texts(second.source) == ["My sister Anna lives in Oslo."]
    assert first.source[0].message_id == added.message_ids[0]
    assert first.source[0].conversation_id == added.conversation_id
    assert first.said_at == first.source[0].said_at
    assert (len(added), len(added.message_ids), added.pending, added.replaced) == (2, 3, False, [])


def test_a_newer_value_replaces_the_older_one(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna.")
    added = memory.add("I live in Graz.")
    (replaced,) = added.replaced
    assert (replaced.fact.text, replaced.by, texts(added)) == (
        "User lives in Vienna.",
        added.learned[0],
        ["User lives in Graz."],
    )
    assert replaced.because
    assert replaced.fact.source[0].text == "I live in Vienna."
    assert texts(memory.facts()) == ["User lives in Graz."]
    assert texts(memory.facts(past=True)) == ["User lives in Graz.", "User lives in Vienna."]
    history = memory.history("home")
    assert texts(history) == ["User lives in Vienna.", "User lives in Graz."]
    assert [fact.holds for fact in history] == [False, True]


def test_the_same_again_confirms_and_does_not_double(memory: longmind.Memory) -> None:
    first = memory.add("I'm allergic to peanuts.")
    again = memory.add("I'm allergic to peanuts.")
    assert (texts(again.learned), [fact.id for fact in again.confirmed]) == ([], [first.learned[0].id])
    assert len(memory.facts()) == 1


def test_a_conversation_goes_on_where_it_stopped(memory: longmind.Memory) -> None:
    begun = memory.add({"role": "user", "content": "My sister is called Anna."})
    memory.add([{"role": "assistant", "content": "Where does she live?"}], conversation=begun.conversation_id)
    went_on = memory.add("She lives in Oslo.", conversation=begun.conversation_id)
    assert went_on.conversation_id == begun.conversation_id
    assert len(memory.ctx.conversations.get_messages(str(begun.conversation_id))) == 3
    (conversation,) = memory.ctx.conversations.list_conversations()
    assert (conversation.namespace, conversation.status) == ("chat", "open")
    other = memory.add("I like tea.", metadata={"thread": 7})
    assert other.conversation_id != begun.conversation_id
    assert [fact.metadata for fact in other] == [{"thread": 7}]


def test_older_conversations_keep_their_time(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna.", at="2024-05-01")
    memory.add(
        [
            {"role": "user", "content": "I live in Graz.", "created_at": "2025-01-01T10:00:00Z"},
            {"role": "user", "content": "I play the cello."},
        ],
        at="2025-06-01",
    )
    vienna, graz = memory.history("home")
    assert (vienna.said_at[:10], graz.said_at[:10]) == ("2024-05-01", "2025-01-01")
    assert texts(memory.search("Vienna Graz cello", until="2024-12-31", quotes=False, limit=5)) == []
    assert {item.said_at[:10] for item in memory.search("live Graz cello", since="2025-01-01")} == {
        "2025-01-01",
        "2025-06-01",
    }
    assert {item.said_at[:4] for item in memory.search("live Vienna Graz", until="2024-12-31")} == {"2024"}


def test_metadata_stays_with_what_was_learned_and_filters(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna.", metadata={"source": "form", "page": 2})
    memory.add("I'm allergic to peanuts.", metadata={"source": "chat"})
    memory.add("My name is Ada.")
    assert texts(memory.facts(metadata={"source": "form"})) == ["User lives in Vienna."]
    assert texts(memory.search("Vienna peanuts Ada", metadata={"source": "chat"})) == ["User is allergic to peanuts."]
    (found,) = memory.search("Vienna", metadata={"source": "form", "page": 2})
    assert (found.metadata, found.source[0].text) == ({"source": "form", "page": 2}, "I live in Vienna.")
    assert memory.update(found.id, "User lives in Graz.").metadata == {"source": "form", "page": 2}
    moved = memory.add("I live in Linz.", metadata={"source": "form", "page": 3}, wait=False)
    assert moved.message_ids
    memory.flush()
    assert texts(memory.facts(metadata={"page": 3})) == ["User lives in Linz."]
    too_much: list[Any] = [["form"], "form", {"a": object()}, {str(number): 1 for number in range(65)}]
    for metadata in too_much:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.add("I like tea.", metadata=metadata)


def test_a_key_names_one_fact_which_a_newer_text_replaces(memory: longmind.Memory) -> None:
    first = memory.add("The plan of Ada is Pro.", key="plan", metadata={"source": "billing"})
    assert (texts(first), first.learned[0].key, first.conversation_id) == (["The plan of Ada is Pro."], "plan", None)
    again = memory.add("The plan of Ada is Pro.", key="plan")
    assert (again.learned, texts(again.confirmed)) == ([], ["The plan of Ada is Pro."])
    newer = memory.add("The plan of Ada is Team.", key="plan", at="2026-01-01")
    assert (texts(newer), texts(each.fact for each in newer.replaced)) == (
        ["The plan of Ada is Team."],
        ["The plan of Ada is Pro."],
    )
    assert texts(memory.facts()) == ["The plan of Ada is Team."]
    assert memory.update(newer.learned[0].id, "The plan of Ada is Free.").key == "plan"
    gold = memory.add("The plan of Ada is Gold.", key="plan")
    assert [each.fact.text for each in gold.replaced] == ["The plan of Ada is Free."]
    wrong: list[Any] = [[{"role": "user", "content": "Hi."}], "", None]
    for content in wrong:
        with pytest.raises(longmind.InvalidInput, match="With a key, one text is added"):
            memory.add(content, key="plan")
    with pytest.raises(longmind.InvalidInput, match="belongs to no conversation"):
        memory.add("Hi.", key="plan", conversation="conv_1")


def test_search_finds_facts_and_quotes_best_first(memory: longmind.Memory) -> None:
    memory.add([{"role": "user", "content": "The plumber comes on Friday, or so he said."}])
    memory.add("I live in Vienna.")
    found = memory.search("When does the plumber come?")
    assert found[0].text == "The plumber comes on Friday, or so he said."
    assert found[0].source[0].role == "user"
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert len(list(found)) == len(found) >= 1
    assert found.found
    assert not memory.search("quantum chromodynamics").found
    assert len(memory.search("plumber Vienna Friday", limit=1)) == 1
    assert all(item.kind == "fact" for item in memory.search("plumber Vienna", quotes=False))
    assert list(memory.search("plumber", min_score=1.0)) == []


def test_context_fits_the_budget_and_is_empty_without_memory(memory: longmind.Memory) -> None:
    assert memory.context("Plan a dinner") == memory.context() == ""
    memory.add("My name is Ada. I'm allergic to peanuts. I live in Vienna. I prefer short answers.")
    assert "peanuts" in memory.context()
    small = memory.context("Plan a dinner", tokens=60)
    assert len(small) < len(memory.context("Plan a dinner"))


def test_the_profile_says_who_it_is(memory: longmind.Memory) -> None:
    memory.add("My name is Ada. I'm allergic to peanuts.")
    assert "User's name is Ada." in str(memory.profile())
    assert str(memory.profile()) == memory.profile().text


def test_facts_are_listed_by_category_and_kind(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna. I'm allergic to peanuts. I prefer tea.")
    home = memory.history("home")[0].category
    assert "User lives in Vienna." in texts(memory.facts(category=home))
    assert memory.facts(category="nothing") == []
    assert texts(memory.facts(kind="PREFERENCE")) == ["User prefers tea."]
    assert len(memory.facts(limit=2)) == 2


def test_a_fact_is_read_updated_and_kept_in_its_history(memory: longmind.Memory) -> None:
    (fact,) = memory.add("I live in Vienna.").learned
    assert memory.get(fact.id) == fact
    assert memory.get("atom_none") is None
    newer = memory.update(fact.id, "User lives in Graz.")
    assert (newer.text, newer.replaces, newer.category, newer.kind) == (
        "User lives in Graz.",
        fact.id,
        fact.category,
        "FACT",
    )
    assert memory.update(newer.id, "User lives in Graz.") == newer
    assert texts(memory.history("home")) == ["User lives in Vienna.", "User lives in Graz."]
    assert texts(memory.facts()) == ["User lives in Graz."]
    with pytest.raises(longmind.Conflict):
        memory.update(fact.id, "User lives in Linz.")
    with pytest.raises(longmind.NotFound):
        memory.update("atom_none", "User lives in Linz.")


def test_a_fact_is_forgotten_by_its_id_and_not_learned_again(memory: longmind.Memory) -> None:
    added = memory.add("I'm allergic to peanuts.")
    gone = memory.forget(added.learned[0].id)
    assert (texts(gone.facts), gone.done) == (["User is allergic to peanuts."], True)
    assert memory.facts() == []
    assert list(memory.search("peanuts")) == []
    assert memory.add("I'm allergic to peanuts.").learned == []
    with pytest.raises(longmind.NotFound):
        memory.forget(added.learned[0].id)


def test_forgetting_by_a_query_shows_first_what_would_go(memory: longmind.Memory) -> None:
    memory.add("I'm allergic to peanuts.")
    memory.add("I live in Vienna.")
    memory.add("The peanuts are in the cupboard, or so he said.")
    plan = memory.forget(query="peanuts")
    assert not plan.done
    assert texts(plan.facts) == ["User is allergic to peanuts."]
    assert "The peanuts are in the cupboard, or so he said." in texts(plan.quotes)
    assert len(memory.facts()) == 2
    done = memory.forget(plan)
    assert (done.done, texts(done.facts)) == (True, ["User is allergic to peanuts."])
    assert texts(memory.facts()) == ["User lives in Vienna."]
    assert list(memory.search("peanuts", min_score=0.1)) == []
    # Once is enough, and what is gone already is no error.
    assert memory.forget(done) == done
    assert memory.forget(plan).facts == []
    assert not memory.forget(query="peanuts")
    assert texts(memory.forget(query="Vienna", preview=False).facts) == ["User lives in Vienna."]
    assert memory.facts() == []


def test_a_quote_is_forgotten_by_its_id(memory: longmind.Memory) -> None:
    memory.add("The plumber comes on Friday, or so he said.")
    quote = memory.search("plumber")[0]
    assert texts(memory.forget(quote.id).quotes) == [quote.text]
    assert list(memory.search("plumber")) == []


def test_everything_is_exported(memory: longmind.Memory, tmp_path: Path) -> None:
    memory.add("I live in Vienna.")
    document = memory.export()
    assert [atom["text"] for atom in document["atoms"]] == ["User lives in Vienna."]
    counts = memory.export(tmp_path / "ada.zip")
    assert sum(counts.values()) > 0
    assert zipfile.is_zipfile(tmp_path / "ada.zip")


def test_erasure_leaves_nothing_and_proves_it(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna.")
    erased = memory.erase()
    assert erased.deleted["atoms"] == 1
    assert memory.ctx.admin.verify_receipt(erased.receipt)
    assert (memory.facts(), list(memory.search("Vienna")), memory.context()) == ([], [], "")
    assert memory.ctx.conversations.list_conversations() == []
    assert texts(memory.add("I live in Graz.")) == ["User lives in Graz."]


def test_without_waiting_it_is_found_as_a_quote_and_read_afterwards(memory: longmind.Memory) -> None:
    memory.engine.stop_workers()
    added = memory.add("I live in Vienna.", wait=False)
    assert (added.pending, added.learned) == (True, [])
    assert texts(memory.search("Vienna")) == ["I live in Vienna."]
    assert memory.flush() == 1
    assert texts(memory.facts()) == ["User lives in Vienna."]
    assert memory.flush() == 0


def test_a_worker_reads_what_was_added_without_waiting(memory: longmind.Memory) -> None:
    from harness.crew import wait_until

    memory.add("I live in Vienna.", wait=False)
    wait_until(lambda: len(memory.facts()) == 1, 30)


def test_users_are_texts_numbers_and_uuids_each_with_a_memory_of_their_own(database_url: str) -> None:
    from uuid import UUID

    users: list[Any] = ["ada", 7, UUID(int=7), "Zoë"]
    for user in users:
        with longmind.Memory(user, url=database_url, embedder=None) as memory:
            assert memory.facts() == []
            memory.add("I live in Vienna.")
            assert memory.user == str(user)
    with longmind.Memory("7", url=database_url, embedder=None) as memory:
        assert texts(memory.facts()) == ["User lives in Vienna."]


def test_tenants_and_apps_keep_users_apart(database_url: str) -> None:
    with longmind.Memory("ada", url=database_url, tenant="acme", app="support", embedder=None) as memory:
        memory.add("I live in Vienna.")
    with longmind.Memory("ada", url=database_url, embedder=None) as memory:
        assert memory.facts() == []
        scope = memory.ctx.scope
        assert (scope.tenant_id, scope.app_id) == ("local", "ipc")


def test_the_user_may_come_from_the_environment(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGMIND_USER", "grace")
    monkeypatch.setenv("LONGMIND_URL", database_url)
    with longmind.Memory(embedder=None) as memory:
        assert memory.user == "grace"
    monkeypatch.delenv("LONGMIND_USER")
    with longmind.Memory(embedder=None) as memory:
        assert memory.user == "default"


def test_a_named_space_is_a_memory_of_its_own(database_url: str) -> None:
    with (
        longmind.Memory("ada", url=database_url, embedder=None) as own,
        longmind.Memory("ada", url=database_url, embedder=None, space="work") as work,
    ):
        own.add("I live in Vienna.")
        work.add("My role is editor.")
        assert texts(own.facts()) == ["User lives in Vienna."]
        assert texts(work.facts()) == ["User's role is editor."]
        assert all("editor" not in text for text in texts(own.search("editor")))
        with longmind.Memory("ada", url=database_url, embedder=None, space=work.space.id) as same:
            assert texts(same.facts()) == ["User's role is editor."]
        assert len(own.ctx.memory.list_bindings()) == 2
        with pytest.raises(longmind.NotFound):
            longmind.Memory("ada", url=database_url, embedder=None, space="ms_none")


def test_a_space_that_another_deletes_is_created_anew(memory: longmind.Memory) -> None:
    memory.add("I live in Vienna.")
    memory.ctx.memory.delete_memory_space(memory.space.id)
    assert memory.facts() == []
    assert texts(memory.add("I live in Graz.")) == ["User lives in Graz."]


def test_a_language_model_may_read(database_url: str) -> None:
    answer = '{"facts": []}'
    with longmind.Memory("ada", url=database_url, embedder=None, model=ScriptedModel([answer] * 4)) as memory:
        assert memory.engine._parts.extractor_of is not None
        memory.add("I live in Vienna.", wait=False)


def test_a_reader_that_fails_says_so_and_what_was_said_is_read_later(database_url: str) -> None:
    class Failing:
        name = "failing"
        fails = True

        def extract(self, messages: Any, version: str) -> Any:
            if self.fails:
                raise longmind.ModelFailed("401: wrong key", hint="Check the key.")
            from longmind.extraction.rules import RulesExtractor

            return RulesExtractor().extract(messages, version)

    reader = Failing()
    with longmind.Memory("ada", url=database_url, embedder=None, model=reader, job_retry_seconds=60.0) as memory:
        with pytest.raises(longmind.ExtractionFailed) as failed:
            memory.add("I live in Vienna.")
        assert failed.value.message.endswith("could not be read: ModelFailed: 401: wrong key")
        assert (
            failed.value.hint == "What was said is stored, and is read again later: do not add it again. Check the key."
        )
        assert texts(memory.search("Vienna")) == ["I live in Vienna."]
        reader.fails = False
        assert memory.flush() == 1
        assert texts(memory.facts()) == ["User lives in Vienna."]


def test_a_memory_lives_by_the_clock_it_is_given(sqlite_url: str) -> None:
    clock = SettableClock()
    with longmind.Memory("ada", url=sqlite_url, embedder=None, clock=clock) as memory:
        assert memory.add("I live in Vienna.").learned[0].said_at == "2026-03-01T09:30:00.000000Z"


def test_representations_say_what_it_is(memory: longmind.Memory) -> None:
    added = memory.add("I live in Vienna. I'm allergic to peanuts.")
    assert repr(added) == "Added(learned ['User lives in Vienna.', 'User is allergic to peanuts.'])"
    assert repr(added.learned[0]).startswith("Fact('User lives in Vienna.', ")
    assert "user: " in repr(added.learned[0].source[0])
    moved = memory.add("I live in Graz.")
    assert "replaced ['User lives in Vienna.']" in repr(moved)
    assert repr(moved.replaced[0]) == "Replaced('User lives in Vienna.' by 'User lives in Graz.')"
    found = memory.search("peanuts")
    assert repr(found).startswith("Found(")
    assert str(found).splitlines() == [item.text for item in found]
    assert "score=" in repr(memory.search("peanuts")[0])
    assert str(memory.search("peanuts")[0]) == "User is allergic to peanuts."
    assert "not done yet" in repr(memory.forget(query="peanuts"))
    assert repr(memory).startswith("Memory('ada', ")
    assert "to be read in the background" in repr(memory.add("I like tea.", wait=False))
    assert "rows deleted, receipt 'era_" in repr(memory.erase())
